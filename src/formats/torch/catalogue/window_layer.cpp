#include "formats/torch/catalogue/window_layer.h"

#include "formats/torch/catalogue/windows.h"

#include <fmt/format.h>

namespace convoy::torch {

WindowNumbers numbers_of(const std::vector<Window>& windows, const std::vector<Padding>& paddings) {
  WindowNumbers all;
  for (const Window& w : windows) {
    all.kernel.push_back(w.kernel);
    all.stride.push_back(w.stride);
    all.dilation.push_back(w.dilation);
  }
  for (const Padding& p : paddings) all.padding.push_back(p.spelling == Spelling::Explicit ? p.before : 0);
  return all;
}

std::vector<std::string> arguments_of(const WindowLayer& layer, bool says_defaults) {
  std::vector<std::string> arguments = layer.in_front;
  const auto& [kernel, stride, padding, dilation] = layer.numbers;
  const bool transposed = layer.kind == "ConvTranspose";
  const auto dilate = [&] { add_numbers(arguments, "dilation", dilation, 1); };
  arguments.push_back(tuple_or_one(kernel));
  if (!layer.pools()) add_numbers(arguments, "stride", stride, 1, says_defaults);
  else if (stride != kernel) add_numbers(arguments, "stride", stride, 0);
  if (layer.is_same) arguments.emplace_back("padding=\"same\"");
  else if (!padding.empty()) add_numbers(arguments, "padding", padding, 0, says_defaults && !layer.pools());
  add_numbers(arguments, "output_padding", layer.output_padding, 0);
  if (!transposed) dilate();
  if (layer.groups != "1") arguments.push_back("groups=" + layer.groups);
  if (!layer.biased) arguments.emplace_back("bias=False");
  if (transposed) dilate();
  if (layer.padding_mode != "zeros") arguments.push_back("padding_mode=" + python::quoted(layer.padding_mode));
  if (layer.ceils) arguments.emplace_back("ceil_mode=True");
  if (!layer.counts_padding) arguments.emplace_back("count_include_pad=False");
  if (layer.divisor) arguments.push_back(fmt::format("divisor_override={}", *layer.divisor));
  return arguments;
}

std::string constructor_of(const WindowLayer& layer) {
  return fmt::format("nn.{}{}d({})", layer.kind, layer.numbers.kernel.size(), joined(arguments_of(layer)));
}

}  // namespace convoy::torch
