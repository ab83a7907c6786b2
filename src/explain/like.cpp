#include "explain/like.h"

#include "ops/pad_solutions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace convoy::explain {
namespace {

std::string cells_text(Size n) { return n == 1 ? "one cell" : fmt::format("{} cells", n); }

std::string remainders(const Agreement& agreement) {
  if (agreement.always()) return "the same at every size";
  if (agreement.never()) return "never the same";
  std::vector<Size> all;
  for (const Residues& r : agreement.residues)
    for (Size n = r.first; n <= r.last; n += r.step) all.push_back(n);
  if (static_cast<Size>(all.size()) == agreement.period)
    return fmt::format("the same from {} cells on", agreement.from);
  const std::string which = agreement.period == 2
                                ? (all.front() == 0 ? "even sizes" : "odd sizes")
                                : fmt::format("n mod {} = {}", agreement.period, fmt::join(all, " or "));
  return "the same for " + which;
}

// One axis of the layer and another padding of it, at this size or at every one.
std::string beside(Padding layer, Padding other, Window w, std::optional<Size> in, bool& same) {
  if (!in) {
    const Agreement found = agreement(layer, other, w);
    same = same && found.always();
    return remainders(found);
  }
  const auto a = place(layer, w, *in), b = place(other, w, *in);
  if (!a || !b || a->out != b->out) {
    same = false;
    return b ? fmt::format("{} outputs", b->out) : "no window fits";
  }
  if (a->before == b->before) return "the same";
  same = false;
  const Size earlier = b->before - a->before;
  return fmt::format("starts {} {}", cells_text(std::abs(earlier)), earlier > 0 ? "earlier" : "later");
}

std::string beside(TransposedPadding layer, TransposedPadding other, Window w, std::optional<Size> in, bool& same) {
  const Size n = in.value_or(ample_size(w));
  const auto a = place(layer, w, n), b = place(other, w, n);
  if (a && b && *a == *b) return "the same";
  same = false;
  if (!a || !b) return "refused";
  if (a->out != b->out)
    return fmt::format("{} {}", cells_text(std::abs(b->out - a->out)), b->out > a->out ? "longer" : "shorter");
  const Size later = a->before - b->before;
  return fmt::format("every value {} {}",
                     later == 1 || later == -1 ? "one place" : fmt::format("{} places", std::abs(later)),
                     later > 0 ? "later" : "earlier");
}

// What people write for "same" in PyTorch: the cells in front that SAME adds where the stride is 1.
Size half_of(Window w) {
  const auto cells = pads_at_every_size({Spelling::SameUpper}, {w.kernel, 1, w.dilation});
  return cells ? cells->before : 0;
}

std::optional<Size> size_of(const Layer& layer, std::size_t axis) {
  if (axis >= layer.in.size() || !layer.in[axis].known()) return std::nullopt;
  return *layer.in[axis];
}

template <class Paddings, class Other>
void compare(LikeAnswer& answer, const Layer& layer, const Paddings& paddings, std::string words, Other other) {
  LikeWord word{std::move(words), {}, true};
  for (std::size_t i = 0; i < layer.windows.size(); ++i)
    word.holds.push_back(beside(paddings[i], other(i), layer.windows[i], size_of(layer, i), word.same));
  answer.words.push_back(std::move(word));
}

std::string numbers_text(const Sizes& numbers) {
  return numbers.size() == 1 || std::ranges::all_of(numbers, [&](Size n) { return n == numbers.front(); })
             ? fmt::format("{}", numbers.front())
             : fmt::format("({})", fmt::join(numbers, ", "));
}

Result<LikeAnswer> like_windows(const Layer& layer) {
  LikeAnswer answer;
  Sizes symmetric;
  for (std::size_t i = 0; i < layer.windows.size(); ++i) {
    const Window w = layer.windows[i];
    const std::string name = layer.windows.size() == 1 ? "" : axis_name(i, layer.windows.size());
    LikeAxis axis{name, w, size_of(layer, i), {}, {}, {}};
    if (axis.in) {
      const auto at = place(layer.paddings[i], w, *axis.in);
      if (!at)
        return within(name, Result<LikeAnswer>(fail(Fault::Usage, fmt::format("no window fits {} cells", *axis.in))));
      axis.out = at->out;
      axis.before = at->before;
      axis.after = afters_like(*at, w, *axis.in);
    } else if (const auto always = pads_at_every_size(layer.paddings[i], w)) {
      axis.before = always->before;
      // One window more would fit at some size.
      axis.after = Range{always->after, always->after};
    }
    symmetric.push_back(axis.before.value_or(half_of(w)));
    answer.axes.push_back(std::move(axis));
  }
  const auto all = [](Padding p) { return [p](std::size_t) { return p; }; };
  compare(answer, layer, layer.paddings, "same by TensorFlow's rule", all({Spelling::SameUpper}));
  compare(answer, layer, layer.paddings, "same with the odd cell in front (SAME_LOWER)", all({Spelling::SameLower}));
  compare(answer, layer, layer.paddings, "valid", all({}));
  if (layer.windows.size() == 1) compare(answer, layer, layer.paddings, "causal", all({Spelling::Causal}));
  compare(answer, layer, layer.paddings, fmt::format("PyTorch padding={}", numbers_text(symmetric)),
          [&](std::size_t i) { return Padding{Spelling::Explicit, symmetric[i], symmetric[i]}; });
  Sizes half;
  for (const Window& w : layer.windows) half.push_back(half_of(w));
  if (half != symmetric)
    compare(answer, layer, layer.paddings, fmt::format("PyTorch padding={}", numbers_text(half)),
            [&](std::size_t i) { return Padding{Spelling::Explicit, half[i], half[i]}; });
  return answer;
}

Result<LikeAnswer> like_transposed(const Layer& layer) {
  LikeAnswer answer;
  answer.transposed = true;
  Sizes padding, extra;
  bool torch = true;
  for (std::size_t i = 0; i < layer.windows.size(); ++i) {
    const Window w = layer.windows[i];
    const std::string name = layer.windows.size() == 1 ? "" : axis_name(i, layer.windows.size());
    LikeAxis axis{name, w, size_of(layer, i), {}, {}, {}};
    const auto at = place(layer.crops[i], w, axis.in.value_or(ample_size(w)));
    if (!at) return within(name, Result<LikeAnswer>(fail(Fault::Usage, "nothing is left of the scatter")));
    if (axis.in) axis.out = at->out;
    axis.before = at->before;
    axis.after = Range{at->after, at->after};
    padding.push_back(at->before);
    extra.push_back(at->before - at->after);
    torch = torch && torch_crops(padding.back(), extra.back(), w).has_value();
    answer.axes.push_back(std::move(axis));
  }
  const auto all = [](TransposedPadding p) { return [p](std::size_t) { return p; }; };
  compare(answer, layer, layer.crops, "same by TensorFlow's rule, n * stride long", all({CropSpelling::KerasSame}));
  compare(answer, layer, layer.crops, "valid by Keras' rule", all({CropSpelling::KerasValid}));
  compare(answer, layer, layer.crops, "the whole scatter", all(crops(0, 0)));
  if (torch)
    compare(answer, layer, layer.crops,
            fmt::format("PyTorch padding={}, output_padding={}", numbers_text(padding), numbers_text(extra)),
            [&](std::size_t i) { return crops(padding[i], padding[i] - extra[i]); });
  return answer;
}

}  // namespace

Result<LikeAnswer> like(const Layer& layer) {
  auto answer = layer.does == Does::Transpose ? like_transposed(layer) : like_windows(layer);
  if (answer) std::ranges::stable_partition(answer->words, [](const LikeWord& w) { return w.same; });
  return answer;
}

std::string text_of(const LikeAnswer& answer) {
  std::string text;
  for (const auto& axis : answer.axes) {
    text += fmt::format("  {}{}kernel {}  stride {}  dilation {}", axis.name, axis.name.empty() ? "" : "   ",
                        axis.window.kernel, axis.window.stride, axis.window.dilation);
    if (axis.in && axis.out) text += fmt::format("   {} -> {}", *axis.in, *axis.out);
    text += answer.transposed ? "   cut " : "   ";
    if (!axis.before) text += "what is added changes with the size";
    else if (!axis.after || axis.after->least == axis.after->most)
      text += fmt::format("before {}, after {}", *axis.before, axis.after ? axis.after->least : 0);
    else
      text += fmt::format("before {}, after {} to {}: all read the same cells", *axis.before, axis.after->least,
                          axis.after->most);
    text += "\n";
  }
  text += "\n";
  std::size_t widest = 0;
  for (const auto& word : answer.words) widest = std::max(widest, word.words.size());
  for (const auto& word : answer.words) {
    std::string holds;
    for (std::size_t i = 0; i < word.holds.size(); ++i)
      holds += fmt::format("{}{}{}", i == 0 ? "" : "; ", answer.axes[i].name.empty() ? "" : answer.axes[i].name + ": ",
                           word.holds[i]);
    const bool alike = std::ranges::all_of(word.holds, [&](const std::string& h) { return h == word.holds.front(); });
    text += fmt::format("  {}  {:<{}}  {}\n", word.same ? "=" : " ", word.words, widest,
                        alike ? word.holds.front() : holds);
  }
  return text;
}

Json json_of(const LikeAnswer& answer) {
  Json axes = Json::array(), words = Json::array();
  for (const auto& axis : answer.axes) {
    Json one{{"kernel", axis.window.kernel}, {"stride", axis.window.stride}, {"dilation", axis.window.dilation}};
    one["in"] = axis.in ? Json(*axis.in) : Json(nullptr);
    one["out"] = axis.out ? Json(*axis.out) : Json(nullptr);
    one["before"] = axis.before ? Json(*axis.before) : Json(nullptr);
    one["after"] = axis.after ? Json{axis.after->least, axis.after->most} : Json(nullptr);
    axes.push_back(std::move(one));
  }
  for (const auto& word : answer.words)
    words.push_back({{"words", word.words}, {"same", word.same}, {"axes", word.holds}});
  return {{"schema", 1}, {"transposed", answer.transposed}, {"axes", std::move(axes)}, {"words", std::move(words)}};
}

}  // namespace convoy::explain
