#include "ops/convolution.h"

#include "ops/expect.h"

#include <string>

namespace convoy {

Size output_channels(KernelOrder order, const Sizes& kernel, Size groups) {
  const std::size_t last = kernel.size() - 1;
  switch (order) {
    case KernelOrder::OutInSpace: return kernel[0];
    case KernelOrder::SpaceInOut: return kernel[last];
    case KernelOrder::InOutSpace: return kernel[1] * groups;
    case KernelOrder::SpaceOutIn: return kernel[last - 1] * groups;
    case KernelOrder::SpaceInMultiplier: return kernel[last - 1] * kernel[last];
  }
  std::unreachable();
}

Size input_channels_per_group(KernelOrder order, const Sizes& kernel, Size groups) {
  const std::size_t last = kernel.size() - 1;
  switch (order) {
    case KernelOrder::OutInSpace: return kernel[1];
    case KernelOrder::SpaceInOut: return kernel[last - 1];
    case KernelOrder::InOutSpace: return kernel[0] / groups;
    case KernelOrder::SpaceOutIn: return kernel[last] / groups;
    case KernelOrder::SpaceInMultiplier: return 1;
  }
  std::unreachable();
}

namespace {

bool is_transposed(KernelOrder order) { return order == KernelOrder::InOutSpace || order == KernelOrder::SpaceOutIn; }

Sizes space_moved_last(Size space, Size first, Size second) {
  Sizes permutation{first, second};
  for (Size i = 0; i < space; ++i) permutation.push_back(i);
  return permutation;
}

Sizes space_moved_first(Size space, Size first, Size second) {
  Sizes permutation;
  for (Size i = 0; i < space; ++i) permutation.push_back(i + 2);
  permutation.push_back(first);
  permutation.push_back(second);
  return permutation;
}

// The types of a kernel that both directions check: rank, known sizes, one window per axis, equal kernel sizes.
Result<Sizes> kernel_sizes(const Axes& axes, KernelOrder order, const std::vector<Window>& windows,
                           std::size_t paddings, Size groups, const Inputs& in) {
  if (axes.space < 1 || axes.space > 16)
    return fail(Fault::Format, "a convolution over " + std::to_string(axes.space) + " spatial axes");
  if (auto s = expect_rank("input", in[0], axes.rank()); !s) return pass(s);
  if (auto s = expect_rank("kernel", in[1], axes.rank()); !s) return pass(s);
  if (auto s = expect_per_axis("windows", windows.size(), axes.space); !s) return pass(s);
  if (auto s = expect_per_axis("padding", paddings, axes.space); !s) return pass(s);
  auto kernel = sizes_of(in[1].shape);
  if (!kernel) return fail(Fault::Unsupported, "kernel has shape " + text_of(in[1].shape) + ", which is not known");
  if (!checked_count(*kernel)) return fail(Fault::Limit, "kernel of shape " + text_of(*kernel) + " is too large");
  for (const Size n : *kernel)
    if (n < 1) return fail(Fault::Format, "kernel has shape " + text_of(*kernel) + ", which holds no number");
  for (Size i = 0; i < axes.space; ++i) {
    const Window& window = windows[static_cast<std::size_t>(i)];
    const Size stored = at(*kernel, kernel_spatial(order, i));
    if (window.kernel != stored)
      return fail(Fault::Format, "kernel size is " + std::to_string(window.kernel) + " on spatial axis " +
                                     std::to_string(i) + ", but the kernel has shape " + text_of(*kernel));
    if (!window.sane())
      return fail(Fault::Format, "window of " + std::to_string(window.kernel) + " cells, stride " +
                                     std::to_string(window.stride) + " and dilation " +
                                     std::to_string(window.dilation) + " on spatial axis " + std::to_string(i));
  }
  if (groups < 1) return fail(Fault::Format, "groups is " + std::to_string(groups));
  return *std::move(kernel);
}

Status check_bias(const Inputs& in, Size channels) {
  return in.has(2) ? expect_shape("bias", in[2], {Dim(channels)}) : Status{};
}

std::string window_text(const Window& w) {
  return "kernel " + std::to_string(w.kernel) + ", stride " + std::to_string(w.stride) + ", dilation " +
         std::to_string(w.dilation);
}

}  // namespace

Result<Tensor> reordered_kernel(const Tensor& kernel, KernelOrder from, KernelOrder to) {
  if (from == to) return kernel;
  const Size rank = kernel.rank(), space = rank - 2;
  if (space < 1) return fail(Fault::Format, "kernel has rank " + std::to_string(rank) + ", expected 3 or more");
  if (from == KernelOrder::SpaceInMultiplier && to == KernelOrder::OutInSpace) {
    const Tensor moved = kernel.permuted(space_moved_last(space, space, space + 1));
    const auto outputs = checked_multiply(moved.shape()[0], moved.shape()[1]);
    if (!outputs) return fail(Fault::Limit, "kernel of shape " + text_of(kernel.shape()) + " is too large");
    Sizes shape{*outputs, 1};
    shape.insert(shape.end(), moved.shape().begin() + 2, moved.shape().end());
    return moved.reshaped(std::move(shape));
  }
  if (from == KernelOrder::SpaceInMultiplier || to == KernelOrder::SpaceInMultiplier ||
      is_transposed(from) != is_transposed(to))
    return fail(Fault::Internal, "these two orders of kernel axes belong to different operators");
  if (space_comes_first(from)) return kernel.permuted(space_moved_last(space, space + 1, space));
  return kernel.permuted(space_moved_first(space, 1, 0));
}

Result<TensorTypes> infer(const Conv& conv, const Inputs& in) {
  if (is_transposed(conv.kernel_order))
    return fail(Fault::Internal, "a convolution holds a kernel in the order of a transposed one");
  const auto kernel = kernel_sizes(conv.axes, conv.kernel_order, conv.windows, conv.paddings.size(), conv.groups, in);
  if (!kernel) return std::unexpected(kernel.error());
  const Size outputs = output_channels(conv.kernel_order, *kernel, conv.groups);
  const Size per_group = input_channels_per_group(conv.kernel_order, *kernel, conv.groups);
  const Dim channels = at(in[0].shape, conv.axes.channel());
  if (conv.kernel_order == KernelOrder::SpaceInMultiplier && conv.groups != at(*kernel, conv.axes.space))
    return fail(Fault::Format, "groups is " + std::to_string(conv.groups) + ", but the depthwise kernel has shape " +
                                   text_of(*kernel));
  if (outputs % conv.groups != 0)
    return fail(Fault::Format, "groups is " + std::to_string(conv.groups) + ", which does not divide the " +
                                   std::to_string(outputs) + " output channels");
  const auto wanted = checked_multiply(per_group, conv.groups);
  if (!wanted || (channels.known() && *channels != *wanted))
    return fail(Fault::Format, "input has shape " + text_of(in[0].shape) + " with " +
                                   (channels.known() ? std::to_string(*channels) : std::string("?")) +
                                   " channels, but the kernel of shape " + text_of(*kernel) + " reads " +
                                   std::to_string(per_group) + " in each of " + std::to_string(conv.groups) +
                                   " groups");
  if (auto s = check_bias(in, outputs); !s) return pass(s);
  Shape shape = in[0].shape;
  at(shape, conv.axes.channel()) = outputs;
  for (Size i = 0; i < conv.axes.space; ++i) {
    Dim& size = at(shape, conv.axes.spatial(i));
    if (!size.known()) continue;
    const Window& window = conv.windows[static_cast<std::size_t>(i)];
    Padding padding = conv.paddings[static_cast<std::size_t>(i)];
    padding.leftover = Leftover::Drop;
    const auto placed = place(padding, window, *size);
    if (!placed)
      return fail(Fault::Unsupported, "no window fits: input size " + std::to_string(*size) + " on spatial axis " +
                                          std::to_string(i) + ", " + window_text(window));
    size = placed->out;
  }
  return one_type(arithmetic(in[0].dtype), std::move(shape));
}

Result<TensorTypes> infer(const ConvTranspose& conv, const Inputs& in) {
  if (!is_transposed(conv.kernel_order))
    return fail(Fault::Internal, "a transposed convolution holds a kernel in the order of a plain one");
  const auto kernel = kernel_sizes(conv.axes, conv.kernel_order, conv.windows, conv.paddings.size(), conv.groups, in);
  if (!kernel) return std::unexpected(kernel.error());
  const Size inputs = conv.kernel_order == KernelOrder::InOutSpace ? kernel->front() : kernel->back();
  if (inputs % conv.groups != 0)
    return fail(Fault::Format, "groups is " + std::to_string(conv.groups) + ", which does not divide the " +
                                   std::to_string(inputs) + " input channels");
  const Size per_group = conv.kernel_order == KernelOrder::InOutSpace ? at(*kernel, 1) : at(*kernel, conv.axes.space);
  if (!checked_multiply(per_group, conv.groups))
    return fail(Fault::Limit, "groups is " + std::to_string(conv.groups) + ", too many output channels");
  const Dim channels = at(in[0].shape, conv.axes.channel());
  if (channels.known() && *channels != inputs)
    return fail(Fault::Format, "input has shape " + text_of(in[0].shape) + " with " + std::to_string(*channels) +
                                   " channels, but the kernel of shape " + text_of(*kernel) + " reads " +
                                   std::to_string(inputs));
  const Size outputs = output_channels(conv.kernel_order, *kernel, conv.groups);
  if (auto s = check_bias(in, outputs); !s) return pass(s);
  Shape shape = in[0].shape;
  at(shape, conv.axes.channel()) = outputs;
  for (Size i = 0; i < conv.axes.space; ++i) {
    Dim& size = at(shape, conv.axes.spatial(i));
    if (!size.known()) continue;
    const Window& window = conv.windows[static_cast<std::size_t>(i)];
    const auto crop = place(conv.paddings[static_cast<std::size_t>(i)], window, *size);
    if (!crop)
      return fail(Fault::Unsupported, "the transposed convolution leaves no cell or cannot be asked for: input size " +
                                          std::to_string(*size) + " on spatial axis " + std::to_string(i) + ", " +
                                          window_text(window));
    size = crop->out;
  }
  return one_type(arithmetic(in[0].dtype), std::move(shape));
}

}  // namespace convoy
