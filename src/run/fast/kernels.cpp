#include "run/fast/kernels.h"

#include "run/fast/convolution.h"
#include "run/fast/finite.h"
#include "run/threads.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>

namespace convoy::fast {

namespace {

template <class T>
bool has_kernels() {
  return kernels<T>().lanes > 1;
}

// Small ones cost more to prepare than to compute.
template <class T>
bool suits(const plain::Problem<T>& p) {
  if (!has_kernels<T>() || p.operations() < 2e4) return false;
  if (!is_within_reach({p.walk.axes(), p.batch, p.groups, p.inputs, p.outputs})) return false;
  const bool multiplies = p.inputs == 1 && p.groups > 1 && p.outputs > 1 && p.outputs < 8;
  return !multiplies && (p.groups == 1 || p.inputs == 1 || p.outputs >= kernels<T>().lanes / 2);
}

// [images][channels][cells] -> [images][cells][channels], or back.
template <class T>
void turn(const T* from, Size images, Size rows, Size columns, T* to, int threads, const Kernels<T>& with) {
  constexpr Size block = 512;  // of what is `columns` long
  const Size blocks = (columns + block - 1) / block;
  for_each_item(threads, images * blocks, [&](Size item) {
    const Size image = item / blocks, first = item % blocks * block;
    with.transpose(from + image * rows * columns + first, rows, std::min(block, columns - first), columns,
                   to + (image * columns + first) * rows, rows);
  });
}

}  // namespace

namespace {

// With a kernel that may be of other numbers than T. False: they are not finite, and nothing was done.
template <class T, class Stored>
bool solve(const plain::Problem<T>& p, const Stored* kernel, int threads, const Kernels<T>& with) {
  const Convolution<T> convolution({p.walk.axes(), p.batch, p.groups, p.inputs, p.outputs}, kernel,
                                   {p.k_group, p.k_tap, p.k_channel, p.k_output}, p.bias, with);
  if (!convolution.is_finite()) return false;
  const Size x_channels = p.groups * p.inputs, y_channels = p.groups * p.outputs;
  const Size cells = p.walk.cells(), positions = p.walk.positions();
  std::unique_ptr<T[]> x, y;
  const T* from = p.x;
  T* to = p.y;
  if (p.x_channel != 1 && x_channels > 1) {
    x = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(p.batch * cells * x_channels));
    turn(p.x, p.batch, x_channels, cells, x.get(), threads, with);
    from = x.get();
  }
  if (p.y_channel != 1 && y_channels > 1) {
    y = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(p.batch * positions * y_channels));
    to = y.get();
  }
  convolution.run(from, to, {}, threads);
  if (to != p.y) turn<T>(to, p.batch, positions, y_channels, p.y, threads, with);
  return true;
}

}  // namespace

template <class T>
void solve(const plain::Problem<T>& p, int threads, const Kernels<T>& with) {
  solve(p, p.kernel, threads, with);
}
template void solve(const plain::Problem<float>&, int, const Kernels<float>&);
template void solve(const plain::Problem<double>&, int, const Kernels<double>&);

namespace {

// The plain kernels take numbers of T alone.
template <class Op, class T>
Status run_plainly(const Op& op, const plain::Call<T>& call) {
  if (!call.in[1].values.empty() || call.in[1].stored->count() == 0) return plain::run_kernel(op, call);
  const std::vector<T> widened = [&] {
    if constexpr (std::is_same_v<T, double>) return call.in[1].stored->doubles();
    else return call.in[1].stored->floats();
  }();
  std::vector<plain::Operand<T>> in(call.in.begin(), call.in.end());
  in[1].values = widened;
  return plain::run_kernel(op, plain::Call<T>{in, call.out, call.threads, call.rules});
}

template <class Op, class T>
Status convolve(const Op& op, const plain::Call<T>& call) {
  const auto problem = plain::problem_of(op, call);
  if (!problem) return std::unexpected(problem.error());
  const int threads = threads_for(call.threads, problem->operations());
  const auto solved_with = [&](const auto* kernel) { return solve(*problem, kernel, threads, kernels<T>()); };
  bool is_solved = false;
  if (suits(*problem)) {
    if constexpr (std::is_same_v<T, double>)
      if (call.in[1].values.empty())
        is_solved = solved_with(reinterpret_cast<const LooseFloat*>(call.in[1].stored->bytes().data()));
    if (!call.in[1].values.empty()) is_solved = solved_with(call.data(1));
  }
  return is_solved ? Status() : run_plainly(op, call);
}

}  // namespace

template <class T>
Status compute(const Conv& op, const plain::Call<T>& call) {
  return convolve(op, call);
}

template <class T>
Status compute(const ConvTranspose& op, const plain::Call<T>& call) {
  return convolve(op, call);
}

namespace {

// y [rows, columns] = x [rows, depth] * kernel + bias; some columns at a time, so that a large kernel is not held twice.
template <class T, class Stored>
void multiply(const T* x, Size rows, Size depth, const Stored* kernel, Size depth_step, Size columns, Size column_step,
              const T* bias, T* y, int wanted_threads) {
  constexpr Size most_packed = Size{1} << 20;  // numbers
  const double operations = 2.0 * static_cast<double>(rows) * static_cast<double>(depth) * static_cast<double>(columns);
  const int threads = threads_for(wanted_threads, operations);
  const Size lanes = kernels<T>().lanes * 2;
  const Size at_once = std::max<Size>(most_packed / std::max<Size>(depth, 1) / lanes, 1) * lanes;
  for (Size first = 0; first < columns; first += at_once) {
    ConvolutionShape shape{{}, rows, 1, depth, std::min(at_once, columns - first)};
    shape.y_step = columns;
    Convolution<T>(std::move(shape), kernel + first * column_step, {0, 0, depth_step, column_step},
                   bias ? bias + first : nullptr, kernels<T>())
        .run(x, y + first, {}, threads);
  }
}

// Packing a matrix costs about as much as two rows times it.
constexpr Size fewest_rows = 6;

}  // namespace

template <class T>
Status compute(const Linear& op, const plain::Call<T>& call) {
  const Sizes& shape = call.in[1].shape;
  const bool in_first = op.order == LinearOrder::InOut;
  const Size inputs = in_first ? shape[0] : shape[1], outputs = in_first ? shape[1] : shape[0];
  const Size rows = outputs ? static_cast<Size>(call.out[0].values.size()) / outputs : 0;
  if (!has_kernels<T>() || rows < fewest_rows || inputs == 0 || !is_within_reach({{}, rows, 1, inputs, outputs}))
    return plain::run_kernel(op, call);
  const auto run = [&](const auto* kernel) {
    multiply(call.data(0), rows, inputs, kernel, in_first ? outputs : 1, outputs, in_first ? 1 : inputs,
             call.optional(2), call.out[0].values.data(), call.threads);
  };
  if (call.in[1].values.empty()) run(call.in[1].stored->template raw<float>().data());
  else run(call.data(1));
  return {};
}

template Status compute(const Conv&, const plain::Call<float>&);
template Status compute(const Conv&, const plain::Call<double>&);
template Status compute(const ConvTranspose&, const plain::Call<float>&);
template Status compute(const ConvTranspose&, const plain::Call<double>&);
template Status compute(const Linear&, const plain::Call<float>&);
template Status compute(const Linear&, const plain::Call<double>&);

}  // namespace convoy::fast
