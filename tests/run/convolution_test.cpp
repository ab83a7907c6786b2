// Convolutions against numbers small enough to redo by hand, and against the definition over many small geometries.
#include "run/one_node.h"

#include <array>
#include <limits>
#include <random>

namespace convoy::convolution_test {
namespace {

using test::counting;
using test::expect_numbers;
using test::numbers;
using test::ran;
using test::whole;

Conv conv1(Window window, Padding padding) {
  return {.axes = {Order::ChannelsFirst, 1}, .windows = {window}, .paddings = {padding}};
}
ConvTranspose transposed1(Window window, Size before, Size after) {
  return {.axes = {Order::ChannelsFirst, 1},
          .windows = {window},
          .paddings = {{CropSpelling::Explicit, before, after, {}}}};
}
const Tensor x3 = numbers({1, 1, 3}, {1, 10, 100}), x4 = numbers({1, 1, 4}, {1, 10, 100, 1000});
const Tensor w3 = numbers({1, 1, 3}, {1, 2, 3}), w2 = numbers({1, 1, 2}, {1, 2});

TEST(Convolution, AStridedSamePadsTheEndFirst) {
  expect_numbers(conv1({3, 2, 1}, {Spelling::SameUpper}), {x4, w3}, {1, 1, 2}, {321, 2100});
  expect_numbers(conv1({3, 2, 1}, {Spelling::SameLower}), {x4, w3}, {1, 1, 2}, {32, 3210});
  expect_numbers(conv1({3, 2, 1}, {Spelling::Explicit, 1, 1}), {x4, w3}, {1, 1, 2}, {32, 3210});
  expect_numbers(conv1({2, 1, 1}, {Spelling::SameUpper}), {x4, w2}, {1, 1, 4}, {21, 210, 2100, 1000});
}

TEST(Convolution, ACausalOneLooksOnlyBack) {
  expect_numbers(conv1({3, 1, 1}, {Spelling::Causal}), {x4, w3}, {1, 1, 4}, {3, 32, 321, 3210});
}

TEST(Convolution, ADepthwiseOneOrdersOutputsByChannelThenMultiplier) {
  const Conv conv{.axes = {Order::ChannelsLast, 1},
                  .kernel_order = KernelOrder::SpaceInMultiplier,
                  .windows = {{}},
                  .paddings = {{}},
                  .groups = 2};
  expect_numbers(conv, {numbers({1, 1, 2}, {1, 10}), numbers({1, 2, 2}, {1, 2, 3, 4})}, {1, 1, 4}, {1, 2, 30, 40});
}

TEST(TransposedConvolution, CropsTheScatterOnTheSideThatIsSaid) {
  const Window w{3, 2, 1};
  expect_numbers(transposed1(w, 0, 0), {x3, w3}, {1, 1, 7}, {1, 2, 13, 20, 130, 200, 300});
  expect_numbers(transposed1(w, 0, 1), {x3, w3}, {1, 1, 6}, {1, 2, 13, 20, 130, 200});
  expect_numbers(transposed1(w, 1, 0), {x3, w3}, {1, 1, 6}, {2, 13, 20, 130, 200, 300});
  expect_numbers(transposed1(w, 1, 1), {x3, w3}, {1, 1, 5}, {2, 13, 20, 130, 200});
}

TEST(TransposedConvolution, AddsTheBiasToExtendedCellsToo) {
  expect_numbers(transposed1({3, 2, 1}, 0, -1), {x3, w3, numbers({1}, {1000})}, {1, 1, 8},
                 {1001, 1002, 1013, 1020, 1130, 1200, 1300, 1000});
}

TEST(TransposedConvolution, LeavesGapsWhereTheStrideIsLongerThanTheKernel) {
  expect_numbers(transposed1({2, 3, 1}, 0, -1), {x3, w2}, {1, 1, 9}, {1, 2, 0, 10, 20, 0, 100, 200, 0});
  expect_numbers(transposed1({3, 1, 2}, 0, 0), {numbers({1, 1, 2}, {1, 10}), w3}, {1, 1, 6}, {1, 10, 2, 20, 3, 30});
}

TEST(TransposedConvolution, GivesEachGroupItsOwnOutputs) {
  ConvTranspose conv = transposed1({1, 1, 1}, 0, 0);
  conv.groups = 2;
  expect_numbers(conv, {numbers({1, 2, 1}, {1, 10}), numbers({2, 2, 1}, {1, 2, 3, 4})}, {1, 4, 1}, {1, 2, 30, 40});
}

TEST(Convolution, APadIsNoProductWithZero) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto out = ran(conv1({3, 1, 1}, {Spelling::Explicit, 1, 1}),
                       {numbers({1, 1, 2}, {1, 2}), numbers({1, 1, 3}, {infinity, 1, 1})});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->front().doubles(), (std::vector<double>{3, infinity}));
}

// Everything about one random geometry over two spatial axes.
struct Geometry {
  std::array<Size, 2> in{}, before{}, after{};
  std::array<Window, 2> windows{};
  Size batch = 1, groups = 1, inputs = 1, outputs = 1;  // channels per group
};

Geometry random_geometry(std::mt19937& random) {
  const auto between = [&](Size low, Size high) {
    return low + static_cast<Size>(random() % static_cast<unsigned>(high - low + 1));
  };
  Geometry g;
  for (std::size_t a = 0; a < 2; ++a) {
    g.windows[a] = {between(1, 4), between(1, 3), between(1, 2)};
    g.before[a] = between(0, 2), g.after[a] = between(0, 2);
    g.in[a] = g.windows[a].reach() + between(0, 6);
  }
  g.batch = between(1, 2), g.groups = between(1, 3), g.inputs = between(1, 5), g.outputs = between(1, 19);
  if (between(0, 3) == 0) g.inputs = 1, g.groups = between(2, 9), g.outputs = between(1, 3);
  return g;
}

// y(n, o, q) over x [N, C, H, W] and a kernel [O, C/groups, k...], by its definition.
std::vector<double> conv_by_definition(const Geometry& g, const std::vector<double>& x, const std::vector<double>& w,
                                       Size out_h, Size out_w) {
  std::vector<double> y;
  const auto [kh, kw] = std::pair{g.windows[0].kernel, g.windows[1].kernel};
  for (Size n = 0; n < g.batch; ++n)
    for (Size o = 0; o < g.groups * g.outputs; ++o)
      for (Size i = 0; i < out_h; ++i)
        for (Size j = 0; j < out_w; ++j) {
          double sum = 0;
          for (Size c = 0; c < g.inputs; ++c)
            for (Size a = 0; a < kh; ++a)
              for (Size b = 0; b < kw; ++b) {
                const Size row = i * g.windows[0].stride - g.before[0] + a * g.windows[0].dilation;
                const Size column = j * g.windows[1].stride - g.before[1] + b * g.windows[1].dilation;
                if (row < 0 || row >= g.in[0] || column < 0 || column >= g.in[1]) continue;
                const Size channel = o / g.outputs * g.inputs + c;
                sum += x[static_cast<std::size_t>(((n * g.groups * g.inputs + channel) * g.in[0] + row) * g.in[1] +
                                                  column)] *
                       w[static_cast<std::size_t>(((o * g.inputs + c) * kh + a) * kw + b)];
              }
          y.push_back(sum);
        }
  return y;
}

// full (n, o, q) scattered from x [N, I, H, W] and a kernel [I, O/groups, k...], then cut out.
std::vector<double> transposed_by_definition(const Geometry& g, const std::vector<double>& x,
                                             const std::vector<double>& w, Size out_h, Size out_w) {
  const auto [kh, kw] = std::pair{g.windows[0].kernel, g.windows[1].kernel};
  const Size all = g.groups * g.outputs, channels = g.groups * g.inputs;
  std::vector<double> y(static_cast<std::size_t>(g.batch * all * out_h * out_w), 0.0);
  for (Size n = 0; n < g.batch; ++n)
    for (Size c = 0; c < channels; ++c)
      for (Size i = 0; i < g.in[0]; ++i)
        for (Size j = 0; j < g.in[1]; ++j)
          for (Size o = 0; o < g.outputs; ++o)
            for (Size a = 0; a < kh; ++a)
              for (Size b = 0; b < kw; ++b) {
                const Size row = i * g.windows[0].stride + a * g.windows[0].dilation - g.before[0];
                const Size column = j * g.windows[1].stride + b * g.windows[1].dilation - g.before[1];
                if (row < 0 || row >= out_h || column < 0 || column >= out_w) continue;
                const Size output = c / g.inputs * g.outputs + o;
                y[static_cast<std::size_t>(((n * all + output) * out_h + row) * out_w + column)] +=
                    x[static_cast<std::size_t>(((n * channels + c) * g.in[0] + i) * g.in[1] + j)] *
                    w[static_cast<std::size_t>(((c * g.outputs + o) * kh + a) * kw + b)];
              }
  return y;
}

// Runs the same convolution in both axis orders and both kernel orders, with both precisions and 1 and 3 threads.
template <class C>
void expect_everywhere(C conv, const Tensor& x, const Tensor& kernel, KernelOrder here, KernelOrder there,
                       const std::vector<double>& wanted) {
  for (const Order order : {Order::ChannelsFirst, Order::ChannelsLast})
    for (const KernelOrder kernel_order : {here, there})
      for (const Precision precision : {Precision::Single, Precision::Double})
        for (const int threads : {1, 3}) {
          conv.axes.order = order;
          conv.kernel_order = kernel_order;
          const auto w = reordered_kernel(kernel, here, kernel_order);
          ASSERT_TRUE(w);
          const bool last = order == Order::ChannelsLast;
          auto y = ran(conv, {last ? x.permuted(to_channels_last(2)) : x, *w}, precision, threads);
          ASSERT_TRUE(y) << message(y.error());
          const Tensor plain = last ? y->front().permuted(to_channels_first(2)) : y->front();
          ASSERT_EQ(plain.doubles(), wanted);
        }
}

TEST(Convolution, EveryOrderAndThreadCountGivesWhatTheDefinitionGives) {
  std::mt19937 random(7);
  for (int round = 0; round < 150; ++round) {
    const Geometry g = random_geometry(random);
    const Tensor x = whole({g.batch, g.groups * g.inputs, g.in[0], g.in[1]}, random());
    const Tensor w = whole({g.groups * g.outputs, g.inputs, g.windows[0].kernel, g.windows[1].kernel}, random());
    Conv conv{.windows = {g.windows[0], g.windows[1]}, .groups = g.groups};
    std::array<Size, 2> out{};
    for (std::size_t a = 0; a < 2; ++a) {
      conv.paddings.push_back({Spelling::Explicit, g.before[a], g.after[a]});
      out[a] = place(conv.paddings[a], g.windows[a], g.in[a])->out;
    }
    const auto wanted = conv_by_definition(g, x.doubles(), w.doubles(), out[0], out[1]);
    expect_everywhere(conv, x, w, KernelOrder::OutInSpace, KernelOrder::SpaceInOut, wanted);
  }
}

TEST(TransposedConvolution, EveryOrderAndThreadCountGivesWhatTheScatterGives) {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    Geometry g = random_geometry(random);
    const Tensor x = whole({g.batch, g.groups * g.inputs, g.in[0], g.in[1]}, random());
    const Tensor w = whole({g.groups * g.inputs, g.outputs, g.windows[0].kernel, g.windows[1].kernel}, random());
    ConvTranspose conv{.windows = {g.windows[0], g.windows[1]}, .groups = g.groups};
    std::array<Size, 2> out{};
    bool leaves_cells = true;
    for (std::size_t a = 0; a < 2; ++a) {
      g.before[a] -= 1;  // from one cell added to one cut off
      conv.paddings.push_back({CropSpelling::Explicit, g.before[a], g.after[a] - 1, {}});
      const auto crop = place(conv.paddings[a], g.windows[a], g.in[a]);
      leaves_cells = leaves_cells && crop;
      out[a] = crop ? crop->out : 0;
    }
    if (!leaves_cells) continue;
    const auto wanted = transposed_by_definition(g, x.doubles(), w.doubles(), out[0], out[1]);
    expect_everywhere(conv, x, w, KernelOrder::InOutSpace, KernelOrder::SpaceOutIn, wanted);
  }
}

TEST(Convolution, WalksThreeAxesOfDifferentSizes) {
  // A kernel of ones sums the 2x3x1 block that each output reads.
  const Conv conv{
      .axes = {Order::ChannelsFirst, 3}, .windows = {{2, 1, 1}, {3, 1, 1}, {1, 2, 1}}, .paddings = {{}, {}, {}}};
  const Tensor ones = numbers({1, 1, 2, 3, 1}, {1, 1, 1, 1, 1, 1});
  expect_numbers(conv, {counting({1, 1, 2, 3, 4}), ones}, {1, 1, 1, 1, 2}, {66, 78});
}

TEST(Convolution, ManyChannelsAddUpInTheSameOrderForAnyNumberOfThreads) {
  const Conv conv{.axes = {Order::ChannelsLast, 2},
                  .kernel_order = KernelOrder::SpaceInOut,
                  .windows = {{3, 1, 1}, {2, 1, 1}},
                  .paddings = {{Spelling::SameUpper}, {Spelling::SameUpper}}};
  std::vector<float> x(19 * 23 * 70), w(3 * 2 * 70 * 37);
  std::mt19937 random(3);
  for (float& value : x) value = static_cast<float>(random()) / 4e9F;
  for (float& value : w) value = static_cast<float>(random()) / 4e9F - 0.5F;
  const std::vector<Tensor> inputs{Tensor::of({1, 19, 23, 70}, x), Tensor::of({3, 2, 70, 37}, w)};
  const auto one = ran(conv, inputs, Precision::Single, 1), four = ran(conv, inputs, Precision::Single, 4);
  ASSERT_TRUE(one && four);
  EXPECT_TRUE(same_bytes(one->front(), four->front()));
  const auto exact = ran(conv, inputs, Precision::Double, 2);
  ASSERT_TRUE(exact);
  const auto close = one->front().doubles(), reference = exact->front().doubles();
  for (std::size_t i = 0; i < close.size(); ++i) ASSERT_NEAR(close[i], reference[i], 2e-4);
}

}  // namespace
}  // namespace convoy::convolution_test
