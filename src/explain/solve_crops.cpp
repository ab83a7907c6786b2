// Which cells to cut so that a transposed convolution gives a size.
#include "explain/line.h"
#include "explain/solve_answers.h"
#include "explain/solve_words.h"
#include "ops/agreement.h"
#include "ops/pad_solutions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace convoy::explain {
namespace {

struct CropSolver {
  std::vector<SolveAxis> axes;
  std::vector<Window> windows;
  std::vector<std::optional<Size>> in;
  SolveAnswer answer{};

  Crop crop(std::size_t i, Size before) const {
    const Size total = axes[i].ranges.front().least, n = in[i].value_or(ample_size(windows[i]));
    return crop_by(before, total - before, windows[i], n);
  }
  void add(const std::vector<Crop>& crops, std::string meaning);
  void list();
  void torch();
};

void CropSolver::add(const std::vector<Crop>& crops, std::string meaning) {
  std::vector<Added> cells;
  for (const Crop& c : crops) cells.push_back({c.before, c.after});
  for (Solution& s : answer.solutions)
    if (alike(s.cells, cells)) {
      s.meaning += "; " + meaning;
      return;
    }
  answer.solutions.push_back({cells, std::move(meaning), lines_of_crops(windows, in, crops)});
}

// padding=p cuts p in front, output_padding=e gives e back at the end: 2p - e cells in all.
void CropSolver::torch() {
  std::vector<Crop> crops;
  Sizes padding, output_padding;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Size total = axes[i].ranges.front().least;
    const Size p = std::max<Size>(ceil_div(total, 2), 0), e = 2 * p - total;
    if (e >= std::max(windows[i].stride, windows[i].dilation)) {
      answer.notes.push_back(fmt::format(
          "{}no padding and output_padding of PyTorch make it: output_padding would have to be {}, and must be smaller "
          "than the stride or the dilation",
          axes[i].name.empty() ? "" : axes[i].name + ": ", e));
      return;
    }
    crops.push_back(crop(i, p));
    padding.push_back(p);
    output_padding.push_back(e);
  }
  add(crops, fmt::format("PyTorch padding={}, output_padding={}", tuple_or_one(padding), tuple_or_one(output_padding)));
  for (std::size_t i = 0; i < axes.size(); ++i)
    for (Size p = padding[i] + 1, e = output_padding[i] + 2; e < std::max(windows[i].stride, windows[i].dilation);
         ++p, e += 2)
      answer.notes.push_back(fmt::format("padding={}, output_padding={} gives the size as well{}, {} later", p, e,
                                         axes[i].name.empty() ? "" : " in " + axes[i].name,
                                         counted(p - padding[i], "cell")));
}

void CropSolver::list() {
  std::vector<Crop> same, front;
  bool is_same = true;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Size n = in[i].value_or(ample_size(windows[i])),
               out = crop_by(axes[i].ranges.front().least, 0, windows[i], n).out;
    same.push_back(crop_to_same(out, windows[i], n));
    is_same = is_same && crop_to_gradient({Spelling::SameUpper}, windows[i], n, out);
    front.push_back(crop(i, 0));
  }
  if (is_same) add(same, "same by TensorFlow's rule");
  torch();
  if (!is_same) add(front, "everything at the end");
  std::vector<std::string> totals;
  for (const auto& axis : axes)
    totals.push_back(
        fmt::format("{}before + after = {}", axis.name.empty() ? "" : axis.name + ": ", axis.ranges.front().least));
  answer.notes.push_back(
      fmt::format("any   {}; a negative count adds cells that hold the bias alone; "
                  "each cell more in front moves every value one place",
                  fmt::join(totals, ", ")));
}

}  // namespace

Result<SolveAnswer> solve_crops(const SolveQuestion& q) {
  CropSolver solver{{}, q.windows, q.in};
  for (std::size_t i = 0; i < q.windows.size(); ++i) {
    const Window w = q.windows[i];
    const Size n = q.in[i].value_or(ample_size(w));
    const auto same = place(TransposedPadding{CropSpelling::KerasSame, 0, 0, {}}, w, n);
    const Size out = q.out[i] ? *q.out[i] : same ? same->out : 1, total = crop_total_for(out, w, n).value_or(0);
    SolveAxis axis{told_apart(i, q.windows.size()), w, q.in[i], q.in[i] ? std::optional(out) : std::nullopt, {}};
    axis.ranges.push_back({0, total, total, {}});
    solver.axes.push_back(std::move(axis));
  }
  solver.list();
  solver.answer.transposed = true;
  solver.answer.axes = std::move(solver.axes);
  return std::move(solver.answer);
}

}  // namespace convoy::explain
