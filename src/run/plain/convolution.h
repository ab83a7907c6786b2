// What the kernels of convolutions share: any of them, whatever the order of its axes and of its kernel, as one set of strides.
#pragma once
#include "run/plain/kernels.h"
#include "run/plain/windows.h"

namespace convoy::plain {

// Any convolution, plain or transposed, as strides into its four tensors: output (n, o, position) sums over taps and
// channels of its group. All orders of axes and of kernels come down to this.
template <class T>
struct Problem {
  Walk walk;
  Size batch = 1, groups = 1, inputs = 1, outputs = 1;  // channels per group
  const T* x = nullptr;
  const T* kernel = nullptr;
  const T* bias = nullptr;
  T* y = nullptr;
  Size x_batch = 0, x_channel = 0, x_cell = 0;
  Size y_batch = 0, y_channel = 0, y_cell = 0;
  Size k_group = 0, k_tap = 0, k_channel = 0, k_output = 0;

  double operations() const {
    return 2.0 * static_cast<double>(batch) * static_cast<double>(walk.positions()) * static_cast<double>(walk.taps()) *
           static_cast<double>(groups * inputs) * static_cast<double>(outputs);
  }
};

template <class T>
inline void set_kernel_strides(Problem<T>& p, KernelOrder order) {
  const Size taps = p.walk.taps();
  switch (order) {
    case KernelOrder::OutInSpace:
      p.k_tap = 1, p.k_channel = taps, p.k_output = taps * p.inputs, p.k_group = p.outputs * p.k_output;
      return;
    case KernelOrder::SpaceInOut:
      p.k_output = 1, p.k_group = p.outputs, p.k_channel = p.outputs * p.groups, p.k_tap = p.inputs * p.k_channel;
      return;
    case KernelOrder::InOutSpace:
      p.k_tap = 1, p.k_output = taps, p.k_channel = taps * p.outputs, p.k_group = p.inputs * p.k_channel;
      return;
    case KernelOrder::SpaceOutIn:
      p.k_channel = 1, p.k_group = p.inputs, p.k_output = p.inputs * p.groups, p.k_tap = p.outputs * p.k_output;
      return;
    case KernelOrder::SpaceInMultiplier:
      p.k_output = 1, p.k_group = p.outputs, p.k_channel = 0, p.k_tap = p.outputs * p.groups;
      return;
  }
}

template <class T>
Problem<T> problem_of(const Axes& axes, KernelOrder order, Size groups, std::vector<AxisWalk> walks,
                      const Call<T>& call) {
  Problem<T> p{.walk = Walk(std::move(walks))};
  p.batch = call.in[0].shape[0];
  p.groups = groups;
  p.inputs = call.in[0].shape[static_cast<std::size_t>(axes.channel())] / groups;
  p.outputs = call.out[0].shape[static_cast<std::size_t>(axes.channel())] / groups;
  p.x = call.data(0), p.kernel = call.data(1), p.bias = call.optional(2), p.y = call.out[0].values.data();
  const Size x_channels = p.inputs * groups, y_channels = p.outputs * groups;
  p.x_batch = x_channels * p.walk.cells(), p.y_batch = y_channels * p.walk.positions();
  const bool first = axes.order == Order::ChannelsFirst;
  p.x_channel = first ? p.walk.cells() : 1, p.x_cell = first ? 1 : x_channels;
  p.y_channel = first ? p.walk.positions() : 1, p.y_cell = first ? 1 : y_channels;
  set_kernel_strides(p, order);
  return p;
}

// How the windows go over an input of this shape.
Result<std::vector<AxisWalk>> walks_of(const Conv& op, const Sizes& x);
Result<std::vector<AxisWalk>> walks_of(const ConvTranspose& op, const Sizes& x);

template <class Op, class T>
Result<Problem<T>> problem_of(const Op& op, const Call<T>& call) {
  auto walks = walks_of(op, call.in[0].shape);
  if (!walks) return pass(walks);
  return problem_of(op.axes, op.kernel_order, op.groups, *std::move(walks), call);
}

}  // namespace convoy::plain
