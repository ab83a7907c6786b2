// Which cells to add so that windows give a size.
#include "explain/solve_answers.h"
#include "explain/solve_words.h"
#include "formats/torch/catalogue/same_pad.h"
#include "ops/agreement.h"
#include "ops/pad_solutions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace convoy::explain {
namespace {

Size same_out(Window w, Size in) {
  const auto at = place(Padding{Spelling::SameUpper}, w, in);
  return at ? at->out : 0;
}

SolveRange range_of(Window w, Size in, Size out) {
  const Range totals = totals_for(out, w, in);
  SolveRange range{in % w.stride, totals.least, totals.most, {}};
  if (const auto same = pads_to_window(Padding{Spelling::SameUpper}, w, in)) range.same = *same;
  return range;
}

// How many remainders are listed one by one.
constexpr Size most_remainders = 64;

Result<SolveAxis> axis_of(const SolveQuestion& q, std::size_t i) {
  const Window w = q.windows[i];
  SolveAxis axis{told_apart(i, q.windows.size()), w, q.in[i], q.out[i], {}};
  if (axis.in) {
    if (!axis.out) axis.out = same_out(w, *axis.in);
    axis.ranges.push_back(range_of(w, *axis.in, *axis.out));
    return axis;
  }
  if (w.stride > most_remainders)
    return within(axis.name, Result<SolveAxis>(fail(
                                 Fault::Usage,
                                 fmt::format("a free size with stride {} has that many cases; give --in", w.stride))));
  for (Size r = 0; r < w.stride; ++r) {
    const Size in = settled_size(r, w);
    axis.ranges.push_back(range_of(w, in, same_out(w, in)));
    axis.ranges.back().remainder = r;
  }
  return axis;
}

// Which other strides make this output of this input with SAME.
std::optional<Size> stride_for(Size in, Size out) {
  const Size stride = ceil_div(in, out);
  return ceil_div(in, stride) == out ? std::optional(stride) : std::nullopt;
}

// Nothing can be added where even no padding gives too many windows.
Status too_small(const SolveAxis& axis) {
  const Size most = axis.ranges.front().most;
  if (most >= 0) return {};
  const auto bare = place(Padding{}, axis.window, *axis.in);
  std::string what =
      fmt::format("no padding makes {} of {}: without any, kernel {}", *axis.out, *axis.in, axis.window.kernel);
  if (axis.window.dilation > 1) what += fmt::format(", dilation {}", axis.window.dilation);
  what += fmt::format(" and stride {} already make {}; ", axis.window.stride, bare ? bare->out : 0);
  const auto stride = stride_for(*axis.in, *axis.out);
  if (stride && *stride != axis.window.stride) what += fmt::format("stride {} makes it with SAME, or ", *stride);
  what += fmt::format("cut at least {} away", counted(-most, "cell"));
  return within(axis.name, Status(fail(Fault::Usage, std::move(what))));
}

bool one_range(const SolveAxis& axis) { return axis.ranges.size() == 1; }
bool allows(const SolveRange& range, Size total) { return total >= range.least && total <= range.most; }

// Cells per axis chosen by `choose`; nothing where an axis has none.
template <class Choose>
std::optional<std::vector<Added>> chosen(const std::vector<SolveAxis>& axes, Choose choose) {
  std::vector<Added> cells;
  for (const auto& axis : axes) {
    const std::optional<Added> one = choose(axis);
    if (!one) return std::nullopt;
    cells.push_back(*one);
  }
  return cells;
}

struct WindowSolver {
  std::vector<SolveAxis> axes;
  std::vector<Window> windows;
  bool is_same = true;  // the sizes asked for are those of SAME
  std::vector<Added> fewest{};  // halved, the odd cell behind
  SolveAnswer answer{};

  void list();
  void fewest_first();
  std::string fewest_words() const;
  void mirrored();
  void causal();
  void symmetric();
  void any();
  void padding_only();
  void read_alike();
  void free_sizes();
  // `of`: the frameworks whose words are worth reading here; none: all of them.
  void add(std::vector<Added> cells, std::string meaning, Spelling spelling, std::set<std::string> of = {}) {
    auto lines = lines_of_pads(windows, {sizes(), cells, spelling});
    if (!of.empty()) std::erase_if(lines, [&](const SolveLine& line) { return !of.contains(line.framework); });
    answer.solutions.push_back({std::move(cells), std::move(meaning), std::move(lines)});
  }
  std::vector<std::optional<Size>> sizes() const {
    std::vector<std::optional<Size>> all;
    for (const SolveAxis& axis : axes) all.push_back(axis.in);
    return all;
  }
  bool listed(const std::vector<Added>& cells) const {
    return std::ranges::any_of(answer.solutions, [&](const Solution& s) { return alike(s.cells, cells); });
  }
  // "reads the same cells as same", "starts one cell earlier than same in rows".
  std::string beside_fewest(const std::vector<Added>& cells) const;
};

std::string WindowSolver::beside_fewest(const std::vector<Added>& cells) const {
  const std::string other = is_same ? "same" : "the first";
  std::vector<std::pair<Size, std::string>> shifts;  // cells earlier, in which axes
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Size earlier = cells[i].before - fewest[i].before;
    if (earlier == 0) continue;
    const auto known = std::ranges::find(shifts, earlier, &std::pair<Size, std::string>::first);
    if (known == shifts.end()) shifts.emplace_back(earlier, axes[i].name.empty() ? "" : " in " + axes[i].name);
    else known->second += " and " + axes[i].name;
  }
  if (shifts.empty()) return "reads the same cells as " + other;
  std::string words;
  for (const auto& [earlier, where] : shifts)
    words += fmt::format("{}{} {} than {}{}", words.empty() ? "starts " : ", ", counted(std::abs(earlier), "cell"),
                         earlier > 0 ? "earlier" : "later", other, where);
  return words;
}

std::string WindowSolver::fewest_words() const {
  const bool odd = std::ranges::any_of(fewest, [](const Added& a) { return a.before != a.after; });
  return odd ? "the fewest cells, an odd one at the end" : "the fewest cells, half on each side";
}

void WindowSolver::fewest_first() {
  for (const auto& axis : axes) {
    const SolveRange& range = axis.ranges.front();
    const auto same = place(Padding{Spelling::SameUpper}, axis.window, axis.in.value_or(settled_size(0, axis.window)));
    const bool here = !axis.in || (same && same->out == *axis.out);
    is_same = is_same && here;
    fewest.push_back(here ? range.same : onnx_halves(std::max<Size>(range.least, 0), false));
  }
  const bool none = alike(fewest, std::vector<Added>(axes.size()));
  if (is_same)
    add(fewest, none ? "same by TensorFlow's rule, and valid: nothing is added" : "same by TensorFlow's rule",
        none ? Spelling::Valid : Spelling::SameUpper);
  else add(fewest, none ? "valid: nothing is added" : fewest_words(), none ? Spelling::Valid : Spelling::Explicit);
}

void WindowSolver::mirrored() {
  std::vector<Added> cells;
  for (const Added& a : fewest) cells.push_back({a.after, a.before});
  if (listed(cells)) return;
  add(cells,
      (is_same ? "same with the odd cell in front (SAME_LOWER); " : "the odd cell in front; ") + beside_fewest(cells),
      is_same ? Spelling::SameLower : Spelling::Explicit, {"PyTorch", "ONNX"});
}

void WindowSolver::causal() {
  if (axes.size() != 1) return;
  const auto at = pads_to_window(Padding{Spelling::Causal}, windows.front(),
                                 axes.front().in.value_or(settled_size(0, windows.front())));
  if (!at || !allows(axes.front().ranges.front(), at->before + at->after) || at->before == 0) return;
  const std::vector<Added> cells{*at};
  if (!listed(cells))
    add(cells, "causal: no output sees a later cell; " + beside_fewest(cells), Spelling::Causal, {"PyTorch", "Keras"});
}

void WindowSolver::symmetric() {
  std::vector<std::string> others, without;
  const auto cells = chosen(axes, [&](const SolveAxis& axis) -> std::optional<Added> {
    const SolveRange& range = axis.ranges.front();
    const Size least = ceil_div(std::max<Size>(range.least, 0), 2), most = floor_div(range.most, 2);
    const std::string in_axis = axis.name.empty() ? "" : " in " + axis.name;
    if (least > most) {
      without.push_back(fmt::format("{}{}", counted(range.most, "cell"), in_axis));
      return std::nullopt;
    }
    if (most > least)
      others.push_back(fmt::format("padding={}{} gives the size as well{}", least + 1,
                                   most == least + 1 ? "" : fmt::format(" to {}", most), in_axis));
    return Added{least, least};
  });
  if (!cells) {
    answer.notes.push_back(fmt::format("no symmetric padding can, {} it takes an odd number: {}; write  {}",
                                       axes.size() == 1 ? "as" : "where", fmt::join(without, ", "),
                                       answer.solutions.front().lines.front().code));
    return;
  }
  if (!listed(*cells)) add(*cells, "symmetric: " + beside_fewest(*cells), Spelling::Explicit, {"PyTorch"});
  for (auto& o : others) answer.notes.push_back(std::move(o));
}

void WindowSolver::any() {
  std::vector<std::string> limits;
  for (const auto& axis : axes) {
    const SolveRange& range = axis.ranges.front();
    const std::string sum = axis.name.empty() ? "before + after" : fmt::format("before + after in {}", axis.name);
    limits.push_back(range.least == range.most
                         ? fmt::format("{} = {}", sum, range.most)
                         : fmt::format("{} <= {} <= {}", std::max<Size>(range.least, 0), sum, range.most));
  }
  answer.notes.push_back(
      fmt::format("any   0 <= before, 0 <= after, {}: F.pad(x, ...) and padding=0; cells in front "
                  "decide which ones are read, those behind only whether there are enough",
                  fmt::join(limits, ", ")));
}

// An output that sees nothing but padding is rarely what was meant.
void WindowSolver::padding_only() {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto& axis = axes[i];
    if (!axis.in) continue;
    const Placement at{fewest[i].before, *axis.out, fewest[i].after};
    const Size last = cell(at, axis.window, at.out - 1, 0);
    if (at.before < axis.window.reach() && last < *axis.in) continue;
    answer.notes.push_back(
        fmt::format("{}some of the {} outputs see nothing but padding; to make more cells of few is "
                    "the work of a transposed convolution (--transpose)",
                    axis.name.empty() ? "" : axis.name + ": ", *axis.out));
  }
}

void WindowSolver::list() {
  fewest_first();
  mirrored();
  causal();
  symmetric();
  any();
  padding_only();
  const auto total = [](const Solution& s) {
    Size cells = 0;
    for (const Added& a : s.cells) cells += a.before + a.after;
    return cells;
  };
  std::ranges::stable_sort(answer.solutions, {}, total);
  read_alike();
}

// Solutions that begin at the same cell say so of each other.
void WindowSolver::read_alike() {
  const auto begins_alike = [](const Solution& a, const Solution& b) {
    return std::ranges::equal(a.cells, b.cells, {}, &Added::before, &Added::before);
  };
  for (std::size_t i = 0; i < answer.solutions.size(); ++i)
    for (std::size_t j = i + 1; j < answer.solutions.size(); ++j) {
      Solution &a = answer.solutions[i], &b = answer.solutions[j];
      if (!begins_alike(a, b) || a.meaning.contains("same cells") || b.meaning.contains("same cells")) continue;
      std::string cells;
      for (const Added& one : b.cells)
        cells += fmt::format("{}{},{}", cells.empty() ? "" : "  ", one.before, one.after);
      a.meaning += fmt::format("; reads the same cells as {}", cells);
    }
}

// ---- free sizes

// Of one axis: the remainders where `before` and `after` give the size of SAME, and those where they read its cells.
struct Holds {
  std::set<Size> size, cells;
};
Holds holds(const SolveAxis& axis, Added a) {
  Holds h;
  for (const SolveRange& range : axis.ranges)
    if (allows(range, a.before + a.after)) {
      h.size.insert(range.remainder);
      if (a.before == range.same.before) h.cells.insert(range.remainder);
    }
  return h;
}

std::string sizes_words(const std::set<Size>& remainders, Size stride) {
  if (static_cast<Size>(remainders.size()) == stride) return "every size";
  if (remainders.empty()) return "no size";
  if (stride == 2) return remainders.contains(0) ? "even sizes" : "odd sizes";
  return fmt::format("sizes n with n mod {} = {}", stride, fmt::join(remainders, " or "));
}

void WindowSolver::free_sizes() {
  answer.solutions.push_back(
      {{}, "same by TensorFlow's rule, for every size", lines_of_pads(windows, {sizes(), {}, Spelling::SameUpper})});
  std::vector<std::string> sizes, reads;  // of the free axes
  const auto cells = chosen(axes, [&](const SolveAxis& axis) -> std::optional<Added> {
    std::optional<Added> best;
    Holds held;
    for (Size p = 0; p <= axis.window.reach(); ++p) {
      const Holds h = holds(axis, {p, p});
      if (h.size.empty() || (best && (h.size.size() < held.size.size() ||
                                      (h.size.size() == held.size.size() && h.cells.size() <= held.cells.size()))))
        continue;
      best = {p, p};
      held = h;
    }
    if (!best) return best;
    const std::string in_axis = axis.name.empty() ? "" : " in " + axis.name;
    if (axis.in) {
      if (held.cells.empty()) reads.push_back("none" + in_axis);
      return best;
    }
    sizes.push_back(sizes_words(held.size, axis.window.stride) + in_axis);
    reads.push_back(sizes_words(held.cells, axis.window.stride) + in_axis);
    return best;
  });
  if (cells) {
    add(*cells,
        fmt::format("symmetric: the right size for {}; the cells of same for {}", fmt::join(sizes, ", "),
                    fmt::join(reads, ", ")),
        Spelling::Explicit, {"PyTorch"});
  } else {
    answer.notes.push_back("no symmetric padding gives this size");
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Window w = axes[i].window;
    const std::string n = axes.size() == 1 ? "n" : fmt::format("n{}", i);
    answer.notes.push_back(
        fmt::format("t{} = {}", i, torch::same_total(n, std::to_string(w.stride), std::to_string(w.reach()))));
  }
}

}  // namespace

Result<SolveAnswer> solve_windows(const SolveQuestion& question) {
  WindowSolver solver{{}, question.windows};
  for (std::size_t i = 0; i < question.windows.size(); ++i) {
    auto axis = axis_of(question, i);
    if (!axis) return pass(axis);
    if (axis->in)
      if (auto fits = too_small(*axis); !fits) return pass(fits);
    solver.axes.push_back(std::move(*axis));
  }
  if (std::ranges::all_of(solver.axes, one_range)) {
    solver.list();
    solver.answer.axes = std::move(solver.axes);
    return std::move(solver.answer);
  }
  for (const SolveAxis& axis : solver.axes)
    if (axis.in && *axis.out != same_out(axis.window, *axis.in))
      return fail(Fault::Usage,
                  fmt::format("--out {} is not ceil({} / {}), and the other sizes are free; give --in for all",
                              *axis.out, *axis.in, axis.window.stride));
  solver.free_sizes();
  solver.answer.axes = std::move(solver.axes);
  return std::move(solver.answer);
}

}  // namespace convoy::explain
