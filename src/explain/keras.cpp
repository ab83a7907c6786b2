// A layer in Keras' words: `same`, `valid` and `causal`, and layers of padding and cropping around them.
#include "explain/line.h"
#include "formats/keras/catalogue/layer_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace convoy::explain {
namespace {

Line keras_line(std::vector<std::string> code, std::string holds, std::string remark = {}) {
  return {Framework::Keras, std::move(code), std::move(holds), true, std::move(remark)};
}
Line keras_none(std::string why) { return {Framework::Keras, {}, {}, true, std::move(why)}; }

class Keras {
 public:
  explicit Keras(const Layer& layer) : l_(layer) {}

  std::vector<Line> windows() const {
    if (l_.front) return {with_front()};
    if (l_.pools() && !all_are(dilations(l_), 1)) return {keras_none("Keras' pools have no dilation")};
    if (l_.does == Does::PowerNorm) return {keras_none("Keras has no pool of powers")};
    const auto said = direct(Framework::Keras, l_);
    if (said && takes_divisor(*said)) return {keras_line(scaled({layer(word(*said))}), said->validity.words)};
    const auto cells = in_front(l_);
    if (!cells) return {keras_none("the pads in front change with the size; give --size")};
    if (strided_and_dilated()) return {sampled(*cells)};
    if (l_.does == Does::Maximum)
      return {keras_line({padded_with("float(\"-inf\")", *cells), layer("")}, cells->validity.words)};
    if (l_.does == Does::Average && !(l_.counts_padding && cells->validity.here)) return {average(*cells)};
    std::vector<std::string> code;
    if (!cells->none()) code.push_back(zeros(cells->before, cells->after));
    code.push_back(layer(""));
    return {keras_line(scaled(std::move(code)), cells->validity.words)};
  }

  std::vector<Line> transposed() const {
    if (l_.groups > 1)
      return {keras_none("Keras' transposed layers have no groups: split the channels, one layer each, concatenate")};
    if (!all_are(dilations(l_), 1) && !all_are(strides(l_), 1))
      return {
          keras_none("Keras refuses strides with dilation: spread the kernel with zeros and leave the dilation out")};
    const auto crops = cuts_of(l_);
    if (!crops) return {};
    if (auto direct = transposed_word(*crops)) return {std::move(*direct)};
    Sizes cut_before, cut_after, more_before, more_after;
    for (std::size_t i = 0; i < l_.space(); ++i) {
      const auto own = explicit_crops({CropSpelling::KerasValid, 0, 0, {}}, l_.windows[i]);
      const Size before = crops->before[i] - (own ? own->before : 0), after = crops->after[i] - (own ? own->after : 0);
      cut_before.push_back(std::max<Size>(before, 0));
      cut_after.push_back(std::max<Size>(after, 0));
      more_before.push_back(std::max<Size>(-before, 0));
      more_after.push_back(std::max<Size>(-after, 0));
    }
    const bool extends = !all_are(more_before, 0) || !all_are(more_after, 0);
    std::vector<std::string> code{transposed_layer("", {}, !extends)};
    if (!all_are(cut_before, 0) || !all_are(cut_after, 0))
      code.push_back(
          keras::layer_text("layers.Cropping" + dimensions(l_), {{"cropping", pads(cut_before, cut_after)}}));
    if (extends) code.push_back(zeros(more_before, more_after));
    return {
        keras_line(std::move(code), "every size", extends && l_.biased ? "the bias is added behind the padding" : "")};
  }

 private:
  // With a divisor of its own every window is a whole one.
  bool takes_divisor(const Direct& said) const { return !l_.divisor || said.form == Form::Valid; }
  bool strided_and_dilated() const {
    return !l_.pools() && !l_.depthwise && !all_are(dilations(l_), 1) && !all_are(strides(l_), 1);
  }

  static std::string word(const Direct& said) {
    if (said.form == Form::SameUpper) return "same";
    return said.form == Form::Causal ? "causal" : "";
  }

  // One number for all axes, or one each.
  static Json numbers(const Sizes& sizes) { return all_are(sizes, sizes.front()) ? Json(sizes.front()) : Json(sizes); }
  // 1, (1, 2) of one axis or of several alike on both sides, ((1, 2), (0, 0)).
  static Json pads(const Sizes& before, const Sizes& after) {
    if (before == after && (before.size() > 1 || all_are(before, before.front()))) return numbers(before);
    Json all = Json::array();
    for (std::size_t i = 0; i < before.size(); ++i) all.push_back(Json::array({before[i], after[i]}));
    return before.size() == 1 ? all[0] : all;
  }

  static Json whole_or_name(const Channels& channels) {
    return channels.number ? Json(*channels.number) : keras::verbatim(channels.name);
  }
  Json filters() const { return keras::verbatim(filters_text(l_)); }

  std::string layer(std::string_view word, bool strided = true) const {
    const Json kernel = numbers(kernels(l_)), dilation = numbers(dilations(l_)),
               padding = std::string(word.empty() ? "valid" : word), stride = strided ? numbers(strides(l_)) : Json(1);
    if (l_.pools())
      return keras::layer_text(
          (l_.does == Does::Maximum ? "layers.MaxPooling" : "layers.AveragePooling") + dimensions(l_),
          {{"pool_size", kernel}, {"strides", stride == kernel ? Json() : stride}, {"padding", padding}});
    if (l_.depthwise && l_.space() < 3)
      return keras::layer_text("layers.DepthwiseConv" + dimensions(l_), {{"kernel_size", kernel},
                                                                         {"strides", stride},
                                                                         {"padding", padding},
                                                                         {"depth_multiplier", l_.multiplier},
                                                                         {"dilation_rate", dilation},
                                                                         {"use_bias", l_.biased}});
    return keras::layer_text("layers.Conv" + dimensions(l_),
                             {{"filters", filters()},
                              {"kernel_size", kernel},
                              {"strides", stride},
                              {"padding", padding},
                              {"dilation_rate", dilation},
                              {"groups", l_.depthwise ? whole_or_name(l_.channels) : Json(l_.groups)},
                              {"use_bias", l_.biased}});
  }
  std::string zeros(const Sizes& before, const Sizes& after) const {
    return keras::layer_text("layers.ZeroPadding" + dimensions(l_), {{"padding", pads(before, after)}});
  }

  // divisor_override: a factor behind the average.
  std::vector<std::string> scaled(std::vector<std::string> code) const {
    if (!l_.divisor) return code;
    Size cells = 1;
    for (const Window& w : l_.windows) cells *= w.kernel;
    code.push_back(fmt::format("layers.Rescaling({} / {})", cells, *l_.divisor));
    return code;
  }

  std::string padded_with(std::string_view value, const InFront& cells) const {
    if (cells.none()) return "x = x";
    return fmt::format("x = keras.ops.pad(x, {}, constant_values={})",
                       pairs_of_all_axes(Order::ChannelsLast, cells.before, cells.after), value);
  }

  // Keras refuses a stride beside a dilation: every stride-th of the cells with stride 1.
  void add_sampled(std::vector<std::string>& code) const {
    code.push_back(layer("", false));
    std::string every = "x = x[:";
    for (const Size s : strides(l_)) every += fmt::format(", ::{}", s);
    code.push_back(every + "]");
  }
  static constexpr std::string_view why_sampled = "Keras refuses strides with dilation";

  Line sampled(const InFront& cells) const {
    std::vector<std::string> code;
    if (!cells.none()) code.push_back(zeros(cells.before, cells.after));
    add_sampled(code);
    return keras_line(std::move(code), cells.validity.words, std::string(why_sampled));
  }

  Line average(const InFront& cells) const {
    if (l_.divisor) {
      std::vector<std::string> code;
      if (!cells.none()) code.push_back(zeros(cells.before, cells.after));
      code.push_back(layer(""));
      return keras_line(scaled(std::move(code)), cells.validity.words);
    }
    const std::string pads = pairs_of_all_axes(Order::ChannelsLast, cells.before, cells.after);
    const std::string window = tuple_or_one(kernels(l_)) + ", " + tuple_or_one(strides(l_));
    std::string ones = fmt::format("keras.ops.pad(keras.ops.ones_like(x), {})", pads);
    if (l_.counts_padding) {
      const auto [declared, beyond] = declared_pads(cells);
      ones = fmt::format("keras.ops.pad(keras.ops.pad(keras.ops.ones_like(x), {}, constant_values=1.0), {})", declared,
                         beyond);
    }
    return keras_line(
        {"ones = " + ones,
         fmt::format("x = keras.ops.average_pool(keras.ops.pad(x, {0}), {1}) / keras.ops.average_pool(ones, {1})", pads,
                     window)},
        cells.validity.words, "what a window counts is what it divides by");
  }

  // The padding that counts, and the overhang of a ceil window, which does not.
  std::pair<std::string, std::string> declared_pads(const InFront& cells) const {
    Sizes after, over, nothing(l_.space(), 0);
    for (std::size_t i = 0; i < l_.space(); ++i) {
      const auto at = place(l_.paddings[i], l_.windows[i], l_.in[i].size().value_or(1));
      after.push_back(std::min(cells.after[i], at ? at->after : 0));
      over.push_back(cells.after[i] - after[i]);
    }
    return {pairs_of_all_axes(Order::ChannelsLast, cells.before, after),
            pairs_of_all_axes(Order::ChannelsLast, nothing, over)};
  }

  Line with_front() const {
    const FrontPad& front = *l_.front;
    std::vector<std::string> code;
    if (front.mode == PadMode::Constant) {
      code.push_back(fmt::format("x = keras.ops.pad(x, {}, constant_values={})",
                                 pairs_of_all_axes(Order::ChannelsLast, front.before, front.after), front.value));
    } else if (front.mode == PadMode::Reflect || front.mode == PadMode::Symmetric) {
      code.push_back(fmt::format("x = keras.ops.pad(x, {}, mode=\"{}\")",
                                 pairs_of_all_axes(Order::ChannelsLast, front.before, front.after),
                                 front.mode == PadMode::Reflect ? "reflect" : "symmetric"));
    } else {
      for (std::size_t i = 0; i < l_.space(); ++i) {
        const auto parts = with_border(front, i, "keras.ops.repeat");
        if (parts.size() > 1)
          code.push_back(fmt::format("x = keras.ops.concatenate([{}], axis={})", fmt::join(parts, ", "), i + 1));
      }
    }
    std::vector<std::string_view> why;
    if (front.mode == PadMode::Wrap || front.mode == PadMode::Edge) why.push_back("Keras has no such mode of padding");
    if (strided_and_dilated()) add_sampled(code), why.push_back(why_sampled);
    else code.push_back(layer(""));
    return keras_line(std::move(code), "every size", fmt::format("{}", fmt::join(why, "; ")));
  }

  std::string transposed_layer(std::string_view word, const Sizes& extra, bool bias) const {
    return keras::layer_text(fmt::format("layers.Conv{}DTranspose", l_.space()),
                             {{"filters", filters()},
                              {"kernel_size", numbers(kernels(l_))},
                              {"strides", numbers(strides(l_))},
                              {"padding", std::string(word.empty() ? "valid" : word)},
                              {"output_padding", extra.empty() ? Json() : numbers(extra)},
                              {"dilation_rate", numbers(dilations(l_))},
                              {"use_bias", bias && l_.biased}});
  }

  // One word for all axes whose crops are these, with output_padding where that takes it.
  std::optional<Line> transposed_word(const Cuts& crops) const {
    for (const auto spelling : {CropSpelling::KerasSame, CropSpelling::KerasValid})
      for (const bool padded : {false, true}) {
        Sizes extra;
        for (std::size_t i = 0; i < l_.space(); ++i) {
          const Window w = l_.windows[i];
          const Size most = padded ? w.stride : 1;
          for (Size e = 0; e < most && e < 64; ++e) {
            const TransposedPadding said{spelling, 0, 0, padded ? std::optional(e) : std::nullopt};
            const auto own = explicit_crops(said, w);
            if (!own || own->before != crops.before[i] || own->after != crops.after[i]) continue;
            extra.push_back(e);
            break;
          }
          if (extra.size() <= i) break;
        }
        if (extra.size() == l_.space())
          return keras_line(
              {transposed_layer(spelling == CropSpelling::KerasSame ? "same" : "", padded ? extra : Sizes{}, true)},
              "every size");
      }
    return std::nullopt;
  }

  const Layer& l_;
};

}  // namespace

std::vector<Line> lines_in_keras(const Layer& layer) {
  const Keras keras(layer);
  return layer.does == Does::Transpose ? keras.transposed() : keras.windows();
}

}  // namespace convoy::explain
