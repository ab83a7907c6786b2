// The words of TFLite's options. Source: schema.fbs.
#include "formats/tflite/options.h"

#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace convoy::tflite {

Sizes per_axis(FunctionCall& call, const std::string& stem, Size space, std::optional<Size> otherwise,
               const std::string& behind) {
  Sizes all;
  const std::string letters = space == 3 ? "dhw" : "hw";
  for (const char letter : letters) {
    const std::string option = stem + letter + behind;
    all.push_back(call.attrs.integer(option, otherwise));
    if (all.back() < 1)
      call.refuse(Fault::Format, "option '" + option + "' is " + std::to_string(all.back()) + ", expected 1 or more");
  }
  return all;
}

std::string word_of(FunctionCall& call, std::string_view option, std::span<const std::string_view> words) {
  const Json* said = call.attrs.raw(option);
  if (!said) return std::string(words.front());
  if (said->is_string()) {
    const auto word = said->get<std::string>();
    if (std::ranges::find(words, word) != words.end()) return word;
  } else if (said->is_number_integer() && *said >= 0 && *said < words.size()) {
    return std::string(words[said->get<std::size_t>()]);
  }
  call.refuse(Fault::Format,
              "option '" + std::string(option) + "' is " + said->dump() + ", which it has no meaning for");
  return std::string(words.front());
}

std::vector<Padding> paddings_of(FunctionCall& call, Size space) {
  const bool same = word_of(call, "padding", padding_words) == "SAME";
  return std::vector<Padding>(static_cast<std::size_t>(space), Padding{same ? Spelling::SameUpper : Spelling::Valid});
}

Sizes numbers(FunctionCall& call, std::string_view tensor) {
  return call.known_integers(call.tensor(tensor), "tensor '" + std::string(tensor) + "'").value_or(Sizes{});
}

ValueId activated(FunctionCall& call, ValueId y) {
  const std::string word = word_of(call, "fused_activation_function", activation_words);
  if (word == "RELU") return call.add(Relu{}, {y});
  if (word == "RELU6") return call.add(Relu{6.0, 0, 0, false}, {y});
  if (word == "RELU_N1_TO_1") return call.add(Clip{-1.0, 1.0}, {y});
  if (word == "TANH") return call.add(Unary{Function::Tanh}, {y});
  if (word == "SIGN_BIT") call.refuse(Fault::Unsupported, "the fused activation SIGN_BIT, which is not carried");
  return y;
}

namespace {

// The quantization of a kernel whose axis `axis` of them becomes another.
std::shared_ptr<const Quantization> with_axis(const Quantization* of, Size axis) {
  if (!of) return nullptr;
  Quantization moved = *of;
  moved.axis = of->per_axis() ? axis : 0;
  return std::make_shared<const Quantization>(std::move(moved));
}

}  // namespace

ValueId permuted(FunctionCall& call, ValueId kernel, const Sizes& axes) {
  const Tensor* known = call.constant(kernel);
  if (!known || call.failed()) return call.add(Transpose{axes}, {kernel});
  const Quantization* held = call.quantization(kernel);
  const Size axis = held ? static_cast<Size>(std::ranges::find(axes, held->axis) - axes.begin()) : 0;
  return call.remade(kernel, known->permuted(axes), with_axis(held, axis));
}

// Scales go on along the axis in front of which as many elements lie.
ValueId reshaped(FunctionCall& call, ValueId kernel, const Sizes& shape) {
  const Tensor* known = call.constant(kernel);
  if (!known || call.failed()) return call.add(Reshape{shape}, {kernel});
  const Quantization* held = call.quantization(kernel);
  Size before = 1, reached = 1, axis = 0;
  for (Size i = 0; held && i < held->axis; ++i) before *= at(known->shape(), i);
  while (axis < static_cast<Size>(shape.size()) && (reached < before || at(shape, axis) == 1))
    reached *= at(shape, axis++);
  return call.remade(kernel, known->reshaped(shape), with_axis(held, axis));
}

std::vector<Window> windows_of(const Sizes& kernel, const Sizes& stride, const Sizes& dilation) {
  std::vector<Window> windows;
  for (std::size_t i = 0; i < kernel.size(); ++i) windows.push_back({kernel[i], stride[i], dilation[i]});
  return windows;
}

}  // namespace convoy::tflite
