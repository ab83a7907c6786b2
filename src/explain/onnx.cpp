// A layer as ONNX's operators with their attributes, as ONNX Runtime runs them.
#include "explain/line.h"

#include <fmt/format.h>

#include <algorithm>

namespace convoy::explain {
namespace {

Line onnx_line(std::vector<std::string> code, std::string holds, std::string remark = {}) {
  return {Framework::Onnx, std::move(code), std::move(holds), true, std::move(remark)};
}
Line onnx_none(std::string why) { return {Framework::Onnx, {}, {}, true, std::move(why)}; }

std::string begins_then_ends(const Sizes& before, const Sizes& after) {
  Sizes all = before;
  all.insert(all.end(), after.begin(), after.end());
  return list(all);
}

class Onnx {
 public:
  explicit Onnx(const Layer& layer) : l_(layer) {}

  std::vector<Line> windows() const {
    if (l_.front) return {with_front()};
    std::vector<Line> lines;
    auto said = direct(Framework::Onnx, l_);
    if (l_.divisor && said && said->form != Form::Valid) said.reset();  // every window is a whole one
    if (l_.does == Does::PowerNorm && said && said->form == Form::RoundedUp)
      return {onnx_none("PyTorch scales a window that hangs over up to a whole one")};
    // Numbers before a word, where the size is known.
    if (said && (said->form == Form::SameUpper || said->form == Form::SameLower) && l_.size_known())
      if (const auto numbers = direct(Framework::Onnx, l_, Form::Numbers, false))
        lines.push_back(onnx_line(scaled({node(attributes(*numbers))}), numbers->validity.words));
    if (said && !(l_.does == Does::Average && said->form == Form::RoundedUp && !said->validity.always))
      lines.push_back(onnx_line(scaled({node(attributes(*said))}), said->validity.words));
    if (lines.empty() || lines.back().holds != "every size")
      if (const auto word = l_.divisor ? std::nullopt : direct(Framework::Onnx, l_, Form::SameUpper, true))
        lines.push_back(onnx_line(scaled({node(attributes(*word))}), "every size"));
    if (!lines.empty()) return lines;
    if (said) return {onnx_line(scaled({node(attributes(*said))}), said->validity.words)};
    const auto cells = in_front(l_);
    if (!cells) return {onnx_none("the pads change with the size, and auto_pad is refused with dilation; give --size")};
    if (l_.does == Does::Average && !l_.counts_padding && !l_.divisor)
      return {onnx_none("ONNX Runtime takes no pad as long as the kernel; divide by an average of ones")};
    std::vector<std::string> code;
    if (!cells->none()) code.push_back(pad(cells->before, cells->after, l_.does == Does::Maximum ? "value=-inf" : ""));
    code.push_back(node({}));
    return {onnx_line(scaled(std::move(code)), cells->validity.words)};
  }

  std::vector<Line> transposed() const {
    const auto crops = cuts_of(l_);
    if (!crops) return {};
    Sizes before, after, extra, more_before, more_after;
    for (std::size_t i = 0; i < l_.space(); ++i) {
      const Size end = crops->after[i];
      Size more = 0;  // output_padding stays below the stride
      while (more < -end && more + 1 < l_.windows[i].stride) ++more;
      before.push_back(std::max<Size>(crops->before[i], 0));
      after.push_back(std::max<Size>(end, 0));
      extra.push_back(more);
      more_before.push_back(std::max<Size>(-crops->before[i], 0));
      more_after.push_back(std::max<Size>(-end - extra[i], 0));
    }
    std::vector<std::string> padding;
    if (!all_are(before, 0) || !all_are(after, 0)) padding.push_back("pads=" + begins_then_ends(before, after));
    if (!all_are(extra, 0)) padding.push_back("output_padding=" + list(extra));
    std::vector<std::string> code{node(padding)};
    const bool extends = !all_are(more_before, 0) || !all_are(more_after, 0);
    if (extends) code.push_back(pad(more_before, more_after, ""));
    return {onnx_line(std::move(code), "every size", extends && l_.biased ? "the bias is added behind the Pad" : "")};
  }

 private:
  std::vector<std::string> attributes(const Direct& said) const {
    if (said.form == Form::SameUpper) return {"auto_pad=\"SAME_UPPER\""};
    if (said.form == Form::SameLower) return {"auto_pad=\"SAME_LOWER\""};
    Sizes before, after;
    for (const Padding& p : said.paddings) {
      before.push_back(p.spelling == Spelling::Explicit ? p.before : 0);
      after.push_back(p.spelling == Spelling::Explicit ? p.after : 0);
    }
    std::vector<std::string> all;
    if (!all_are(before, 0) || !all_are(after, 0)) {
      all.push_back("pads=" + begins_then_ends(before, after));
      if (l_.does == Does::Average && l_.counts_padding) all.emplace_back("count_include_pad=1");
    }
    if (said.form == Form::RoundedUp) all.emplace_back("ceil_mode=1");
    return all;
  }

  std::string node(const std::vector<std::string>& padding) const {
    std::vector<std::string> arguments{"kernel_shape=" + list(kernels(l_))};
    if (!all_are(strides(l_), 1)) arguments.push_back("strides=" + list(strides(l_)));
    if (!all_are(dilations(l_), 1)) arguments.push_back("dilations=" + list(dilations(l_)));
    if (l_.depthwise) arguments.push_back("group=" + l_.channels.text());
    else if (l_.groups > 1) arguments.push_back(fmt::format("group={}", l_.groups));
    arguments.insert(arguments.end(), padding.begin(), padding.end());
    if (l_.does == Does::PowerNorm) arguments.push_back(fmt::format("p={}", l_.power));
    switch (l_.does) {
      case Does::Convolve: return call("Conv", arguments);
      case Does::Transpose: return call("ConvTranspose", arguments);
      case Does::Maximum: return call("MaxPool", arguments);
      case Does::Average: return call("AveragePool", arguments);
      case Does::PowerNorm: return call("LpPool", arguments);
    }
    return {};
  }

  // pads of Pad stand for all axes.
  std::string pad(Sizes before, Sizes after, const std::string& more) const {
    before.insert(before.begin(), {0, 0});
    after.insert(after.begin(), {0, 0});
    std::vector<std::string> arguments{"pads=" + begins_then_ends(before, after)};
    if (!more.empty()) arguments.push_back(more);
    return call("Pad", arguments);
  }

  std::vector<std::string> scaled(std::vector<std::string> code) const {
    if (!l_.divisor) return code;
    Size cells = 1;
    for (const Window& w : l_.windows) cells *= w.kernel;
    code.push_back(fmt::format("Mul({} / {})", cells, *l_.divisor));
    return code;
  }

  Line with_front() const {
    const FrontPad& front = *l_.front;
    std::string more;
    if (front.mode == PadMode::Reflect) more = "mode=\"reflect\"";
    else if (front.mode == PadMode::Edge) more = "mode=\"edge\"";
    else if (front.mode == PadMode::Wrap) more = "mode=\"wrap\"";
    else if (front.mode == PadMode::Symmetric) return onnx_none("no symmetric mode; Gather the mirrored cells");
    else if (front.value != 0) more = fmt::format("value={}", front.value);
    return onnx_line({pad(front.before, front.after, more), node({})}, "every size",
                     front.mode == PadMode::Wrap ? "from opset 19" : "");
  }

  const Layer& l_;
};

}  // namespace

std::vector<Line> lines_in_onnx(const Layer& layer) {
  const Onnx onnx(layer);
  return layer.does == Does::Transpose ? onnx.transposed() : onnx.windows();
}

}  // namespace convoy::explain
