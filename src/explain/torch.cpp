// A layer in PyTorch's words: symmetric numbers where they do, a pad in front where they do not, and for a free size the
// pads computed from it.
#include "explain/line.h"
#include "formats/torch/catalogue/same_pad.h"
#include "formats/torch/catalogue/window_layer.h"

#include <fmt/format.h>

#include <algorithm>

namespace convoy::explain {
namespace {

// F.pad's pairs, last axis first.
std::string reversed_pairs(const Sizes& before, const Sizes& after) {
  std::string all;
  for (std::size_t i = before.size(); i-- > 0;)
    all += fmt::format("{}{}, {}", all.empty() ? "" : ", ", before[i], after[i]);
  return "(" + all + ")";
}

std::string mode_word(PadMode mode) {
  if (mode == PadMode::Reflect) return "reflect";
  if (mode == PadMode::Edge) return "replicate";
  return mode == PadMode::Wrap ? "circular" : "constant";
}

class Torch {
 public:
  explicit Torch(const Layer& layer) : l_(layer) {}

  std::vector<Line> windows() {
    if (l_.front) return {with_front()};
    if (l_.does == Does::PowerNorm && !ceils_none())
      return {none("PyTorch scales a window that hangs over up to a whole one")};
    if (l_.does == Does::Average && !all_are(dilations(l_), 1)) return {none("PyTorch's average has no dilation")};
    std::vector<Line> lines;
    const auto said = direct(Framework::Torch, l_);
    if (said && said->form == Form::SameUpper) {
      if (const auto numbers = direct(Framework::Torch, l_, Form::Numbers, true)) lines.push_back(spoken(*numbers));
      else if (const auto cells = in_front(l_)) lines.push_back(padded(*cells));
      lines.push_back(spoken(*said));
    } else if (said) {
      lines.push_back(spoken(*said));
    } else if (const auto cells = in_front(l_); cells && (l_.does != Does::Average || l_.divisor)) {
      lines.push_back(padded(*cells));
    } else if (cells) {
      lines.push_back(average(*cells));
    }
    const bool holds_always = std::ranges::any_of(lines, [](const Line& l) { return l.holds == "every size"; });
    if (!holds_always) lines.push_back(any_size());
    if (auto half = half_kernel())
      if (std::ranges::none_of(lines, [&](const Line& l) { return l.code == half->code; }))
        lines.push_back(std::move(*half));
    return lines;
  }

  std::vector<Line> transposed() {
    const auto crops = cuts_of(l_);
    if (!crops) return {};
    bool says = true;
    Sizes padding, extra;
    for (std::size_t i = 0; i < l_.space(); ++i) {
      const Size before = crops->before[i], more = before - crops->after[i];
      const Window w = l_.windows[i];
      says = says && before >= 0 && more >= 0 && more < std::max(w.stride, w.dilation);
      padding.push_back(before);
      extra.push_back(more);
    }
    if (says) return {line({layer_transposed(padding, extra, true)}, "every size")};
    // The least of both sides is cut by the layer, the rest by F.pad, which cuts where a number is negative.
    Sizes cut, before, after;
    bool extends = false;
    for (std::size_t i = 0; i < l_.space(); ++i) {
      cut.push_back(std::max<Size>(0, std::min(crops->before[i], crops->after[i])));
      before.push_back(cut[i] - crops->before[i]);
      after.push_back(cut[i] - crops->after[i]);
      extends = extends || before[i] > 0 || after[i] > 0;
    }
    Line made = line({layer_transposed(cut, Sizes(cut.size(), 0), !extends),
                      fmt::format("x = F.pad(x, {})", reversed_pairs(before, after))},
                     "every size");
    if (extends && l_.biased) made.remark = "the bias is added behind the pad: + b[:, None" + more_axes() + "]";
    return {made};
  }

 private:
  bool ceils_none() const {
    return std::ranges::all_of(l_.paddings, [](const Padding& p) { return p.leftover == Leftover::Drop; });
  }
  static Line line(std::vector<std::string> code, std::string holds, std::string remark = {}) {
    return {Framework::Torch, std::move(code), std::move(holds), true, std::move(remark)};
  }
  static Line none(std::string why) { return {Framework::Torch, {}, {}, true, std::move(why)}; }
  std::string more_axes() const { return l_.space() == 1 ? "" : l_.space() == 2 ? ", None" : ", None, None"; }

  // The layer without padding, in the words of PyTorch's writer.
  torch::WindowLayer unpadded() const {
    torch::WindowLayer layer{.kind = "Conv", .in_front = {}, .numbers = torch::numbers_of(l_.windows)};
    layer.biased = l_.biased;
    if (l_.does == Does::Maximum) layer.kind = "MaxPool";
    else if (l_.does == Does::Average) layer.kind = "AvgPool";
    else if (l_.does == Does::PowerNorm) layer.kind = "LPPool";
    else if (l_.does == Does::Transpose) layer.kind = "ConvTranspose";
    if (!l_.pools()) layer.in_front = {l_.channels.text(), filters_text(l_)};
    else layer.biased = true;
    if (l_.does == Does::PowerNorm) layer.in_front = {fmt::format("{}", l_.power)};
    layer.groups = l_.depthwise ? l_.channels.text() : std::to_string(l_.groups);
    layer.divisor = l_.divisor;
    return layer;
  }
  std::string layer() const { return torch::constructor_of(unpadded()); }

  Line spoken(const Direct& said) const {
    torch::WindowLayer layer = unpadded();
    layer.is_same = said.form == Form::SameUpper;
    layer.numbers.padding = torch::numbers_of(l_.windows, said.paddings).padding;
    layer.ceils = said.form == Form::RoundedUp;
    layer.counts_padding =
        l_.does != Does::Average || l_.counts_padding || l_.divisor || all_are(layer.numbers.padding, 0);
    return line({torch::constructor_of(layer)}, said.validity.words, layer.is_same ? "stride 1 only" : "");
  }

  std::string fill() const { return l_.does == Does::Maximum ? ", value=float(\"-inf\")" : ""; }

  Line padded(const InFront& cells) const {
    std::vector<std::string> code;
    if (!cells.none()) code.push_back("x = F.pad(x, " + reversed_pairs(cells.before, cells.after) + fill() + ")");
    code.push_back(layer());
    return line(std::move(code), cells.validity.words);
  }

  // Sums over windows by sums of ones: what a window counts is what it divides by.
  Line average(const InFront& cells) const {
    const std::string pads = reversed_pairs(cells.before, cells.after),
                      pool = "F.avg_pool" + std::to_string(l_.space()) + "d";
    const std::string window = tuple_or_one(kernels(l_)) + ", " + tuple_or_one(strides(l_));
    Validity here = cells.validity;
    std::string ones = "torch.ones_like(x)";
    if (l_.counts_padding) {
      Sizes before, after, over_before, over_after;
      for (std::size_t i = 0; i < l_.space(); ++i) {
        const auto at = place(l_.paddings[i], l_.windows[i], l_.in[i].size().value_or(1));
        before.push_back(cells.before[i]);
        after.push_back(std::min(cells.after[i], at ? at->after : 0));
        over_before.push_back(0);
        over_after.push_back(cells.after[i] - after[i]);
      }
      ones = fmt::format("F.pad({}, {}, value=1.0)", ones, reversed_pairs(before, after));
      ones = fmt::format("F.pad({}, {})", ones, reversed_pairs(over_before, over_after));
    } else {
      ones = fmt::format("F.pad({}, {})", ones, pads);
    }
    return line({"ones = " + ones, fmt::format("x = {0}(F.pad(x, {1}), {2}) / {0}(ones, {2})", pool, pads, window)},
                here.words, "padding is left out of the average");
  }

  // SAME of any size, computed from it.
  Line any_size() const {
    std::vector<std::string> code;
    std::string pads;
    for (std::size_t i = l_.space(); i-- > 0;) {
      const Window w = l_.windows[i];
      const Padding p = l_.paddings[i];
      const std::string t = l_.space() == 1 ? "t" : "t" + axis_name(i, l_.space()).substr(0, 1);
      const bool same = p.spelling == Spelling::SameUpper || p.spelling == Spelling::SameLower;
      if (const auto fixed = pads_at_every_size(p, w)) {
        pads += fmt::format("{}{}, {}", pads.empty() ? "" : ", ", fixed->before, fixed->after);
        continue;
      }
      if (!same) return none("the pads in front change with the size; give --size");
      const std::string n = fmt::format("x.shape[-{}]", l_.space() - i);
      code.push_back(t + " = " + torch::same_total(n, std::to_string(w.stride), std::to_string(w.reach())));
      pads += (pads.empty() ? "" : ", ") + torch::same_halves(t, p.spelling == Spelling::SameLower);
    }
    if (l_.does == Does::Average) {
      const std::string pool = "F.avg_pool" + std::to_string(l_.space()) + "d";
      const std::string window = tuple_or_one(kernels(l_)) + ", " + tuple_or_one(strides(l_));
      code.push_back(fmt::format("ones = F.pad(torch.ones_like(x), ({}))", pads));
      code.push_back(fmt::format("x = {0}(F.pad(x, ({1})), {2}) / {0}(ones, {2})", pool, pads, window));
    } else {
      code.push_back(fmt::format("x = F.pad(x, ({}){})", pads, fill()));
      code.push_back(layer());
    }
    return line(std::move(code), "every size");
  }

  // padding=kernel//2, which is what many write for SAME.
  std::optional<Line> half_kernel() const {
    std::vector<Padding> said;
    Sizes numbers;
    bool same = true, strided = false;
    for (std::size_t i = 0; i < l_.space(); ++i) {
      const Window w = l_.windows[i];
      same = same && l_.paddings[i].spelling == Spelling::SameUpper && w.reach() % 2 == 1;
      strided = strided || (w.stride > 1 && w.reach() > 1);
      if (!same) return std::nullopt;
      const auto middle = pads_to_window({Spelling::SameUpper}, {w.kernel, 1, w.dilation}, w.reach());
      numbers.push_back(middle ? middle->before : 0);
      said.push_back({Spelling::Explicit, numbers.back(), numbers.back()});
    }
    if (!strided) return std::nullopt;
    if (l_.pools())
      for (std::size_t i = 0; i < l_.space(); ++i)
        if (2 * numbers[i] > l_.windows[i].kernel) return std::nullopt;
    const Validity v = validity(l_, said);
    if (v.always) return std::nullopt;
    Direct direct{Form::Numbers, said, v};
    Line made = spoken(direct);
    made.equal = false;
    made.remark = v.here && l_.size_known() ? "equal here, but not at every size" : "not equal: " + shifted(said);
    if (!v.never) made.remark += "; equal for " + v.words;
    made.holds = v.never ? "no size" : v.words;
    return made;
  }

  // "reads one cell earlier": where the first window starts, at the size asked about or the first at which they differ.
  std::string shifted(const std::vector<Padding>& said) const {
    for (std::size_t i = 0; i < l_.space(); ++i) {
      const Window w = l_.windows[i];
      const auto in = l_.in[i].known() ? l_.in[i].size() : agreement(l_.paddings[i], said[i], w).differs;
      if (!in) continue;
      const auto a = place(l_.paddings[i], w, *in), b = place(said[i], w, *in);
      if (!a || !b || a->reads_like(*b)) continue;
      const Size by = b->before - a->before;
      if (by == 0) return "it has another number of windows";
      const std::string cells = by * by == 1 ? "one cell" : std::to_string(by < 0 ? -by : by) + " cells";
      return "reads " + cells + (by > 0 ? " earlier" : " later");
    }
    return "it reads other cells";
  }

  std::string mirrored() const {
    torch::WindowLayer layer = unpadded();
    layer.numbers.padding = l_.front->before;
    layer.padding_mode = mode_word(l_.front->mode);
    return torch::constructor_of(layer);
  }

  Line with_front() const {
    const FrontPad& front = *l_.front;
    const bool symmetric = front.before == front.after && l_.does == Does::Convolve;
    if (front.mode == PadMode::Symmetric) return none("no symmetric mode; concatenate the mirrored borders");
    if (symmetric && front.mode != PadMode::Constant) return line({mirrored()}, "every size");
    std::string more;
    if (front.mode != PadMode::Constant) more = ", mode=\"" + mode_word(front.mode) + "\"";
    else if (front.value != 0) more = fmt::format(", value={}", front.value);
    return line({"x = F.pad(x, " + reversed_pairs(front.before, front.after) + more + ")", layer()}, "every size");
  }

  std::string layer_transposed(const Sizes& padding, const Sizes& extra, bool bias) const {
    torch::WindowLayer layer = unpadded();
    layer.numbers.padding = padding;
    layer.output_padding = extra;
    layer.biased = bias && l_.biased;
    return torch::constructor_of(layer);
  }

  const Layer& l_;
};

}  // namespace

std::vector<Line> lines_in_torch(const Layer& layer) {
  Torch torch(layer);
  return layer.does == Does::Transpose ? torch.transposed() : torch.windows();
}

}  // namespace convoy::explain
