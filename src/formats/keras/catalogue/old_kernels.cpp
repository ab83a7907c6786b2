#include "formats/keras/catalogue/old_kernels.h"

namespace convoy::keras {
namespace {

// Kernels of Theano models are true convolutions: every spatial axis runs the other way.
Tensor flipped(const Tensor& kernel, std::size_t first, std::size_t space) {
  const auto from = kernel.floats();
  std::vector<float> to(from.size());
  const Sizes& shape = kernel.shape();
  Sizes at(shape.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) {
    Size place = 0;
    for (std::size_t a = 0; a < shape.size(); ++a) {
      const bool turned = a >= first && a < first + space;
      place = place * shape[a] + (turned ? shape[a] - 1 - at[a] : at[a]);
    }
    to[static_cast<std::size_t>(place)] = from[i];
    for (std::size_t a = shape.size(); a-- > 0;)
      if (++at[a] < shape[a]) break;
      else at[a] = 0;
  }
  return Tensor::of(shape, std::move(to));
}

}  // namespace

Kernel kernel_value(Call& call, std::string_view name, const Shape& expected, KernelOrder order, std::size_t space) {
  if (!call.builder().theano) return {call.weight(name, expected), order};
  if (const auto known = call.bound(name)) return {*known, order};
  const Tensor tensor = call.take(name, expected);
  if (call.failed()) return {};
  return {call.make_constant(name, flipped(tensor, 0, space), true), order};
}

Kernel kernel_of_keras_1(Call& call, const Sizes& kernel, Dim in, Size filters, Order order) {
  const bool theano = call.builder().theano;
  KernelOrder stored = KernelOrder::SpaceInOut;
  Shape expected(kernel.begin(), kernel.end());
  expected.insert(expected.end(), {in, Dim(filters)});
  if (kernel.size() == 1) {
    expected = {kernel[0], 1, in, filters};
  } else if (order == Order::ChannelsFirst) {
    stored = KernelOrder::OutInSpace;
    expected = {filters, in};
    expected.insert(expected.end(), kernel.begin(), kernel.end());
  }
  if (const auto known = call.bound("kernel")) return {*known, stored};
  Tensor tensor = call.take("kernel", kernel.size() == 1 ? Shape(4) : expected);
  if (call.failed()) return {};
  if (kernel.size() == 1) {
    const Sizes& s = tensor.shape();
    if (s[0] == filters && s[3] == 1 && (s[1] != 1 || filters == kernel[0]))
      tensor = tensor.permuted(Sizes{2, 3, 1, 0});
    if (tensor.shape()[0] != kernel[0] || tensor.shape()[1] != 1 || tensor.shape()[3] != filters) {
      call.refuse(Fault::Format,
                  "kernel is not [" + std::to_string(kernel[0]) + ", 1, channels, " + std::to_string(filters) + "]");
      return {};
    }
    tensor = tensor.reshaped({kernel[0], tensor.shape()[2], filters});
  }
  if (theano) tensor = flipped(tensor, stored == KernelOrder::OutInSpace ? 2 : 0, kernel.size());
  return {call.make_constant("kernel", std::move(tensor), true), stored};
}

Kernel kernel_of_deconvolution(Call& call, const Sizes& kernel, Dim channels, Size filters, Order order) {
  const bool first = order == Order::ChannelsFirst;
  const KernelOrder stored = first ? KernelOrder::InOutSpace : KernelOrder::SpaceOutIn;
  if (const auto known = call.bound("kernel")) return {*known, stored};
  Tensor tensor = call.take("kernel", first ? Shape{channels, filters, kernel[0], kernel[1]}
                                            : Shape{kernel[0], kernel[1], channels, filters});
  if (call.failed()) return {};
  if (!first) tensor = tensor.permuted(Sizes{0, 1, 3, 2});
  if (call.builder().theano) tensor = flipped(tensor, first ? 2 : 0, 2);
  return {call.make_constant("kernel", std::move(tensor), true), stored};
}

}  // namespace convoy::keras
