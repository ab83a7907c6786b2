// A layer in the words of TensorFlow's operators: SAME and VALID, a list of pads where one is taken, tf.pad elsewhere.
#include "explain/line.h"

#include <fmt/format.h>

#include <algorithm>

namespace convoy::explain {
namespace {

Line tensorflow_line(std::vector<std::string> code, std::string holds, std::string remark = {}) {
  return {Framework::TensorFlow, std::move(code), std::move(holds), true, std::move(remark)};
}
Line tensorflow_none(std::string why) { return {Framework::TensorFlow, {}, {}, true, std::move(why)}; }

class TensorFlow {
 public:
  explicit TensorFlow(const Layer& layer) : l_(layer) {}

  std::vector<Line> windows() const {
    if (l_.does == Does::PowerNorm) return {tensorflow_none("TensorFlow has no pool of powers")};
    if (l_.pools() && !all_are(dilations(l_), 1) && !all_are(strides(l_), 1))
      return {tensorflow_none("TensorFlow's pools take no stride together with a dilation")};
    if (l_.depthwise && l_.space() != 2)
      return {tensorflow_none(
          l_.space() == 1
              ? "depthwise runs on [n, 1, time, c]: tf.nn.depthwise_conv2d between tf.expand_dims and tf.squeeze"
              : "TensorFlow has no depthwise convolution in 3-D")};
    if (l_.depthwise && !all_are(strides(l_), strides(l_)[0]))
      return {tensorflow_none("tf.nn.depthwise_conv2d takes one stride for both axes")};
    if (l_.depthwise && !all_are(strides(l_), 1) && !all_are(dilations(l_), 1))
      return {tensorflow_none(
          "tf.nn.depthwise_conv2d with stride and dilation is not a dilated convolution; spread the kernel with "
          "zeros")};
    if (l_.groups > 1 && !l_.depthwise && l_.space() == 3) return {tensorflow_none("TensorFlow has no groups in 3-D")};
    if (l_.front) return {with_front()};
    if (const auto said = direct(Framework::TensorFlow, l_); said && takes_divisor(*said))
      return {tensorflow_line(scaled({"x = " + function(word(*said))}), said->validity.words, remark())};
    const auto cells = in_front(l_);
    if (!cells) return {tensorflow_none("the pads in front change with the size; give --size")};
    if (l_.does == Does::Average && !l_.divisor && !(l_.counts_padding && cells->validity.here))
      return {average(*cells)};
    std::vector<std::string> code;
    if (!cells->none())
      code.push_back(fmt::format("x = tf.pad(x, {}{})",
                                 pairs_of_all_axes(Order::ChannelsLast, cells->before, cells->after),
                                 l_.does == Does::Maximum ? ", constant_values=float(\"-inf\")" : ""));
    code.push_back("x = " + function("\"VALID\""));
    return {tensorflow_line(scaled(std::move(code)), cells->validity.words, remark())};
  }

  std::vector<Line> transposed() const {
    if (l_.groups > 1 && l_.space() == 3) return {tensorflow_none("TensorFlow has no groups in 3-D")};
    const auto crops = cuts_of(l_);
    if (!crops) return {};
    std::vector<Line> lines;
    if (auto same = as_same(*crops)) lines.push_back(std::move(*same));
    if (lines.empty()) lines.push_back(as_valid(*crops));
    return lines;
  }

 private:
  // With a divisor of its own every window is a whole one.
  bool takes_divisor(const Direct& said) const { return !l_.divisor || said.form == Form::Valid; }
  std::string remark() const {
    return l_.space() == 3 && !l_.pools() && !all_are(dilations(l_), 1)
               ? "plain CPU kernels refuse dilation in 3-D; XLA takes it"
               : "";
  }

  std::string word(const Direct& said) const {
    if (said.form == Form::SameUpper) return "\"SAME\"";
    if (said.form == Form::Valid) return "\"VALID\"";
    Sizes before, after;
    for (const Padding& p : said.paddings) {
      before.push_back(p.spelling == Spelling::Explicit ? p.before : 0);
      after.push_back(p.spelling == Spelling::Explicit ? p.after : 0);
    }
    return pairs_of_all_axes(Order::ChannelsLast, before, after);
  }

  // Strides and dilations as the function takes them: one number, or one per spatial axis; 3-D and depthwise want all axes.
  static std::string numbers(const Sizes& sizes, bool all_axes) {
    if (all_axes) return fmt::format("[1, {}, 1]", fmt::join(sizes, ", "));
    return all_are(sizes, sizes.front()) ? std::to_string(sizes.front()) : list(sizes);
  }

  std::string function(const std::string& padding) const {
    const std::string d = std::to_string(l_.space()) + "d";
    std::vector<std::string> arguments{"x"};
    if (l_.pools()) {
      if (!all_are(dilations(l_), 1)) {
        return call("tf.nn.pool", {"x", list(kernels(l_)), l_.does == Does::Maximum ? "\"MAX\"" : "\"AVG\"",
                                   "padding=" + padding, "dilations=" + list(dilations(l_))});
      }
      arguments.push_back(numbers(kernels(l_), false));
      arguments.push_back(numbers(strides(l_), false));
      arguments.push_back(padding);
      return call((l_.does == Does::Maximum ? "tf.nn.max_pool" : "tf.nn.avg_pool") + d, arguments);
    }
    arguments.emplace_back("w");
    arguments.push_back(numbers(strides(l_), l_.space() == 3 || l_.depthwise));
    arguments.push_back(padding);
    if (!all_are(dilations(l_), 1))
      arguments.push_back("dilations=" +
                          (l_.depthwise ? list(dilations(l_)) : numbers(dilations(l_), l_.space() == 3)));
    return call(l_.depthwise ? "tf.nn.depthwise_conv2d" : "tf.nn.conv" + d, arguments);
  }

  std::vector<std::string> scaled(std::vector<std::string> code) const {
    if (!l_.divisor) return code;
    Size cells = 1;
    for (const Window& w : l_.windows) cells *= w.kernel;
    code.back() += fmt::format(" * ({} / {})", cells, *l_.divisor);
    return code;
  }

  Line average(const InFront& cells) const {
    const std::string pads = pairs_of_all_axes(Order::ChannelsLast, cells.before, cells.after);
    std::string ones = fmt::format("tf.pad(tf.ones_like(x), {})", pads);
    if (l_.counts_padding) {
      Sizes after, over, nothing(l_.space(), 0);
      for (std::size_t i = 0; i < l_.space(); ++i) {
        const auto at = place(l_.paddings[i], l_.windows[i], l_.in[i].size().value_or(1));
        after.push_back(std::min(cells.after[i], at ? at->after : 0));
        over.push_back(cells.after[i] - after[i]);
      }
      ones = fmt::format("tf.pad(tf.pad(tf.ones_like(x), {}, constant_values=1.0), {})",
                         pairs_of_all_axes(Order::ChannelsLast, cells.before, after),
                         pairs_of_all_axes(Order::ChannelsLast, nothing, over));
    }
    const std::string d = std::to_string(l_.space()) + "d";
    const std::string window = numbers(kernels(l_), false) + ", " + numbers(strides(l_), false) + ", \"VALID\"";
    return tensorflow_line(
        {"ones = " + ones,
         fmt::format("x = tf.nn.avg_pool{0}(tf.pad(x, {1}), {2}) / tf.nn.avg_pool{0}(ones, {2})", d, pads, window)},
        cells.validity.words, "what a window counts is what it divides by");
  }

  Line with_front() const {
    const FrontPad& front = *l_.front;
    const std::string pads = pairs_of_all_axes(Order::ChannelsLast, front.before, front.after);
    std::vector<std::string> code;
    if (front.mode == PadMode::Constant)
      code.push_back(fmt::format("x = tf.pad(x, {}, constant_values={})", pads, front.value));
    else if (front.mode == PadMode::Reflect || front.mode == PadMode::Symmetric)
      code.push_back(fmt::format("x = tf.pad(x, {}, mode=\"{}\")", pads,
                                 front.mode == PadMode::Reflect ? "REFLECT" : "SYMMETRIC"));
    else
      for (std::size_t i = 0; i < l_.space(); ++i) {
        const auto parts = with_border(front, i, "tf.repeat");
        if (parts.size() > 1) code.push_back(fmt::format("x = tf.concat([{}], {})", fmt::join(parts, ", "), i + 1));
      }
    code.push_back("x = " + function("\"VALID\""));
    return tensorflow_line(std::move(code), "every size", remark());
  }

  std::string transposed_call(const std::vector<std::string>& lengths, const std::string& padding) const {
    const std::string d = std::to_string(l_.space()) + "d";
    std::vector<std::string> arguments{"x", "w", fmt::format("[n, {}, {}]", fmt::join(lengths, ", "), filters_text(l_)),
                                       numbers(strides(l_), false), "\"" + padding + "\""};
    if (!all_are(dilations(l_), 1)) arguments.push_back("dilations=" + numbers(dilations(l_), false));
    return call("tf.nn.conv" + d + "_transpose", arguments);
  }
  std::string dilated_remark() const {
    return all_are(dilations(l_), 1) ? "" : "plain CPU kernels refuse dilation here; XLA takes it";
  }

  // A length of the output: a number where the size is known, otherwise computed from x.
  std::string length(std::size_t i, Size before, Size after) const {
    const Window w = l_.windows[i];
    if (l_.in[i].known()) return std::to_string(crop_by(before, after, w, *l_.in[i]).out);
    const Size more = crop_by(before, after, w, 1).out;
    std::string text = fmt::format("(x.shape[{}] - 1)", i + 1);
    if (w.stride > 1) text += fmt::format(" * {}", w.stride);
    return fmt::format("{} {} {}", text, more < 0 ? "-" : "+", more < 0 ? -more : more);
  }

  std::optional<Line> as_same(const Cuts& crops) const {
    const auto said = transposed_arguments(Framework::TensorFlow, l_.crops, l_.windows, l_.sizes());
    if (!said || said->form != CropForm::Same) return std::nullopt;
    std::vector<std::string> lengths;
    for (std::size_t i = 0; i < l_.space(); ++i) lengths.push_back(length(i, crops.before[i], crops.after[i]));
    return tensorflow_line({"x = " + transposed_call(lengths, "SAME")}, lengths_hold(), dilated_remark());
  }

  // The whole scatter, then a slice; zeros where more is wanted than there is.
  Line as_valid(const Cuts& crops) const {
    std::vector<std::string> lengths;
    std::string slice;
    bool cuts = false;
    Sizes before, after;
    for (std::size_t i = 0; i < l_.space(); ++i) {
      const Window w = l_.windows[i];
      const Size behind = crops.after[i];
      // VALID makes up to a stride less one zero cells behind by itself.
      Size own = 0;
      while (own > behind && 1 - own < w.stride) --own;
      lengths.push_back(length(i, 0, own));
      const Size cut_before = std::max<Size>(crops.before[i], 0), cut_after = std::max<Size>(behind, 0);
      before.push_back(std::max<Size>(-crops.before[i], 0));
      after.push_back(std::max<Size>(own - behind, 0));
      if (cut_after == 0 || behind < 0) after.back() = behind < 0 ? own - behind : 0;
      cuts = cuts || cut_before > 0 || cut_after > 0;
      slice += fmt::format(", {}:{}", cut_before > 0 ? std::to_string(cut_before) : "",
                           cut_after > 0 ? "-" + std::to_string(cut_after) : "");
    }
    std::vector<std::string> code{"x = " + transposed_call(lengths, "VALID") + (cuts ? "[:" + slice + "]" : "")};
    if (!all_are(before, 0) || !all_are(after, 0))
      code.push_back(fmt::format("x = tf.pad(x, {})", pairs_of_all_axes(Order::ChannelsLast, before, after)));
    return tensorflow_line(std::move(code), lengths_hold(), dilated_remark());
  }

  // Lengths that are written as numbers belong to one size; the crops are the same at every one.
  std::string lengths_hold() const {
    return std::ranges::none_of(l_.in, &Dim::known) ? "every size" : "this size, which the lengths are for";
  }

  const Layer& l_;
};

}  // namespace

std::vector<Line> lines_in_tensorflow(const Layer& layer) {
  const TensorFlow tensorflow(layer);
  return layer.does == Does::Transpose ? tensorflow.transposed() : tensorflow.windows();
}

}  // namespace convoy::explain
