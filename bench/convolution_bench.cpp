// How many products and sums a second the convolution kernels reach, on one thread.
#include "run/run.h"

#include <benchmark/benchmark.h>

namespace {

using namespace convoy;

// Arguments: channels in, channels out, size, kernel, stride, groups, channels last, float64.
void convolution(benchmark::State& state) {
  const Size in = state.range(0), out = state.range(1), size = state.range(2), kernel = state.range(3);
  const Size stride = state.range(4), groups = state.range(5);
  const bool last = state.range(6) != 0;
  const auto precision = state.range(7) != 0 ? Precision::Double : Precision::Single;
  Conv conv{.axes = {last ? Order::ChannelsLast : Order::ChannelsFirst, 2},
            .kernel_order = last ? KernelOrder::SpaceInOut : KernelOrder::OutInSpace,
            .windows = {{kernel, stride, 1}, {kernel, stride, 1}},
            .paddings = {{Spelling::SameUpper}, {Spelling::SameUpper}},
            .groups = groups};
  const auto filled = [&](Sizes shape) {
    const auto count = static_cast<std::size_t>(*checked_count(shape));
    return precision == Precision::Double ? Tensor::of(std::move(shape), std::vector<double>(count, 0.5))
                                          : Tensor::of(std::move(shape), std::vector<float>(count, 0.5F));
  };
  const Tensor x = filled(last ? Sizes{1, size, size, in} : Sizes{1, in, size, size});
  const Tensor w = filled(last ? Sizes{kernel, kernel, in / groups, out} : Sizes{out, in / groups, kernel, kernel});
  const Node node{.op = conv};
  const Size cells = ceil_div(size, stride) * ceil_div(size, stride);
  for (auto _ : state) benchmark::DoNotOptimize(run_node(node, {&x, &w}, precision, 1));
  state.counters["FLOP/s"] =
      benchmark::Counter(2.0 * static_cast<double>(cells * out * in / groups * kernel * kernel),
                         benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}

void shapes(benchmark::internal::Benchmark* b) {
  for (const Size last : {0, 1})
    for (const Size wide : {0, 1}) {
      b->Args({3, 64, 224, 7, 2, 1, last, wide});
      b->Args({64, 64, 56, 3, 1, 1, last, wide});
      b->Args({256, 64, 56, 1, 1, 1, last, wide});
      b->Args({512, 512, 7, 3, 1, 1, last, wide});
      b->Args({256, 256, 28, 3, 1, 256, last, wide});
      b->Args({128, 128, 28, 3, 1, 32, last, wide});
    }
}

BENCHMARK(convolution)->Apply(shapes)->Unit(benchmark::kMillisecond);

}  // namespace
