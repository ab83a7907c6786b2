// Every fast kernel against the plain one: whole numbers, whose sums are exact in any order, must give the same bits, for any
// window, on every instruction set that the machine has, and on any number of threads.
#include "run/fast/kernels.h"
#include "run/fast/reads.h"
#include "run/one_node.h"
#include "support/share.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <span>

namespace convoy::fast_test {
namespace {

using test::ran;

class Chance {
 public:
  explicit Chance(unsigned seed) : engine_(seed) {}
  Size within(Size low, Size high) {
    return low + static_cast<Size>(engine_() % static_cast<unsigned>(high - low + 1));
  }
  template <class T>
  T one_of(std::initializer_list<T> all) {
    return *(all.begin() + within(0, static_cast<Size>(all.size()) - 1));
  }

 private:
  std::mt19937 engine_;
};

// How many geometries are tried: CONVOY_GEOMETRIES, or as many as take a second.
int geometries(int usual) {
  const char* const wanted = std::getenv("CONVOY_GEOMETRIES");
  return wanted ? std::atoi(wanted) : usual / test::share;
}

void expect_same(const std::vector<double>& wanted, const std::vector<double>& got, const std::string& what) {
  ASSERT_EQ(wanted.size(), got.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    ASSERT_TRUE(wanted[i] == got[i] || (std::isnan(wanted[i]) && std::isnan(got[i])))
        << what << ", number " << i << " of " << wanted.size() << ": " << got[i] << ", expected " << wanted[i];
}

std::vector<Tensor> by(KernelChoice kernels, const Op& op, const std::vector<Tensor>& inputs, Precision precision) {
  Node node{.op = op};
  std::vector<const Tensor*> given;
  for (const Tensor& input : inputs) given.push_back(&input);
  auto results = run_node(node, given, precision, 1, {}, kernels);
  EXPECT_TRUE(results) << message(results.error());
  return results ? *std::move(results) : std::vector<Tensor>();
}

// As a user's run chooses them.
void expect_same(const Op& op, const std::vector<Tensor>& inputs, const std::string& what) {
  for (const Precision precision : {Precision::Single, Precision::Double})
    expect_same(by(KernelChoice::Plain, op, inputs, precision)[0].doubles(),
                by(KernelChoice::Fast, op, inputs, precision)[0].doubles(), what);
}

// The fast kernels of one instruction set, however small the case.
template <class T, class O>
void expect_same_on(int instruction_set, const O& op, const std::vector<Tensor>& inputs, const Tensor& wanted,
                    const std::string& what) {
  std::vector<std::vector<T>> numbers;
  for (const Tensor& input : inputs) {
    const auto values = input.doubles();
    numbers.emplace_back(values.begin(), values.end());
  }
  std::vector<plain::Operand<T>> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) operands.push_back({numbers[i], inputs[i].shape(), true, &inputs[i]});
  std::vector<T> values(static_cast<std::size_t>(wanted.count()), T{-77});
  const plain::Output<T> output{values, wanted.shape(), {}};
  const auto problem = plain::problem_of(op, plain::Call<T>{operands, {&output, 1}});
  ASSERT_TRUE(problem);
  const auto& with = fast::kernels_of<T>(instruction_set);
  fast::solve(*problem, 1 + instruction_set, with);
  expect_same(wanted.doubles(), {values.begin(), values.end()}, std::string(with.name) + ", " + what);
}

template <class O>
void expect_same_everywhere(const O& op, const std::vector<Tensor>& inputs, const std::string& what) {
  const auto wanted = by(KernelChoice::Plain, op, inputs, Precision::Single);
  ASSERT_EQ(wanted.size(), 1U);
  for (int set = 0; set < fast::instruction_sets(); ++set) {
    expect_same_on<float>(set, op, inputs, wanted[0], what);
    expect_same_on<double>(set, op, inputs, wanted[0], what);
  }
}

Sizes kernel_shape(KernelOrder order, Size outputs, Size inputs, const Sizes& taps) {
  Sizes shape;
  switch (order) {
    case KernelOrder::OutInSpace: shape = {outputs, inputs}; break;
    case KernelOrder::InOutSpace: shape = {inputs, outputs}; break;
    default: break;
  }
  shape.insert(shape.end(), taps.begin(), taps.end());
  if (order == KernelOrder::SpaceInOut) shape.insert(shape.end(), {inputs, outputs});
  if (order == KernelOrder::SpaceOutIn) shape.insert(shape.end(), {outputs, inputs});
  return shape;
}

Sizes data_shape(const Axes& axes, Size batch, Size channels, const Sizes& space) {
  Sizes shape{batch};
  if (axes.order == Order::ChannelsFirst) shape.push_back(channels);
  shape.insert(shape.end(), space.begin(), space.end());
  if (axes.order == Order::ChannelsLast) shape.push_back(channels);
  return shape;
}

struct Geometry {
  Axes axes;
  Size batch = 1, groups = 1, inputs = 1, outputs = 1;  // channels of all groups
  Sizes space, taps, strides, dilations, before, after;

  std::string text() const {
    const auto list = [](const Sizes& sizes) {
      std::string all;
      for (const Size s : sizes) all += std::to_string(s) + " ";
      return all;
    };
    return "batch " + std::to_string(batch) + " groups " + std::to_string(groups) + " channels " +
           std::to_string(inputs) + " to " + std::to_string(outputs) + " space " + list(space) + "taps " + list(taps) +
           "strides " + list(strides) + "dilations " + list(dilations) + "before " + list(before) + "after " +
           list(after) + (axes.order == Order::ChannelsFirst ? "channels first" : "channels last");
  }
};

Geometry any_geometry(Chance& chance) {
  Geometry g;
  const Size space = chance.one_of<Size>({1, 1, 2, 2, 2, 3});
  g.axes = {chance.one_of({Order::ChannelsFirst, Order::ChannelsLast}), space};
  g.batch = chance.within(1, 3);
  switch (chance.within(0, 3)) {
    case 0:  // depthwise
      g.groups = g.inputs = g.outputs = chance.within(2, 40);
      break;
    case 1:
      g.groups = chance.within(2, 4);
      g.inputs = g.groups * chance.within(1, 9), g.outputs = g.groups * chance.within(1, 20);
      break;
    default: g.inputs = chance.within(1, 40), g.outputs = chance.within(1, 70); break;
  }
  for (Size i = 0; i < space; ++i) {
    const Size most = space == 1 ? 60 : space == 2 ? 17 : 7;
    g.space.push_back(chance.within(1, most));
    g.taps.push_back(chance.within(1, space == 1 ? 11 : space == 2 ? 5 : 3));
    g.strides.push_back(chance.within(1, 3));
    g.dilations.push_back(chance.within(1, 3));
    g.before.push_back(chance.within(0, 7)), g.after.push_back(chance.within(0, 7));
  }
  return g;
}

std::vector<Window> windows_of(const Geometry& g) {
  std::vector<Window> windows;
  for (std::size_t i = 0; i < g.taps.size(); ++i) windows.push_back({g.taps[i], g.strides[i], g.dilations[i]});
  return windows;
}

TEST(FastKernels, ConvolutionsGiveTheBitsOfThePlainOnes) {
  Chance chance(7);
  int ran_cases = 0;
  const int all = geometries(4000);
  for (int i = 0; i < all; ++i) {
    const Geometry g = any_geometry(chance);
    Conv conv{.axes = g.axes, .kernel_order = chance.one_of({KernelOrder::OutInSpace, KernelOrder::SpaceInOut})};
    conv.windows = windows_of(g), conv.groups = g.groups;
    bool fits = true;
    for (std::size_t a = 0; a < g.space.size(); ++a) {
      conv.paddings.push_back({Spelling::Explicit, g.before[a], g.after[a], {}});
      fits = fits && g.space[a] + g.before[a] + g.after[a] >= conv.windows[a].reach();
    }
    if (!fits) continue;
    ++ran_cases;
    std::vector<Tensor> inputs{test::whole(data_shape(g.axes, g.batch, g.inputs, g.space), static_cast<unsigned>(i)),
                               test::whole(kernel_shape(conv.kernel_order, g.outputs, g.inputs / g.groups, g.taps),
                                           static_cast<unsigned>(i) + 1)};
    if (chance.within(0, 1)) inputs.push_back(test::whole({g.outputs}, 5));
    expect_same_everywhere(conv, inputs, g.text());
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(ran_cases, all / 2);
}

TEST(FastKernels, TransposedConvolutionsGiveTheBitsOfThePlainOnes) {
  Chance chance(11);
  int ran_cases = 0;
  const int all = geometries(3000);
  for (int i = 0; i < all; ++i) {
    const Geometry g = any_geometry(chance);
    ConvTranspose conv{.axes = g.axes,
                       .kernel_order = chance.one_of({KernelOrder::InOutSpace, KernelOrder::SpaceOutIn})};
    conv.windows = windows_of(g), conv.groups = g.groups;
    bool fits = true;
    for (std::size_t a = 0; a < g.space.size(); ++a) {
      const Size before = g.before[a] - 2, after = g.after[a] - 2;  // negative ones extend
      conv.paddings.push_back({CropSpelling::Explicit, before, after, {}});
      fits = fits && full_length(conv.windows[a], g.space[a]) > before + after;
    }
    if (!fits) continue;
    ++ran_cases;
    // The kernel's groups lie along its inputs where these come first, along its outputs otherwise.
    const bool first = conv.kernel_order == KernelOrder::InOutSpace;
    std::vector<Tensor> inputs{test::whole(data_shape(g.axes, g.batch, g.inputs, g.space), static_cast<unsigned>(i)),
                               test::whole(kernel_shape(conv.kernel_order, g.outputs / g.groups, g.inputs, g.taps),
                                           static_cast<unsigned>(i) + 1)};
    if (!first && g.groups > 1) continue;
    if (chance.within(0, 1)) inputs.push_back(test::whole({g.outputs}, 5));
    expect_same_everywhere(conv, inputs, g.text());
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(ran_cases, all / 2);
}

// One cell every other output: those between read none.
TEST(FastKernels, OutputsThatReadNothingAreLeftEmptyBesideOthers) {
  const ConvTranspose conv{.axes = {Order::ChannelsLast, 1},
                           .kernel_order = KernelOrder::InOutSpace,
                           .windows = {{1, 2, 1}},
                           .paddings = {{CropSpelling::Explicit, 0, 0, {}}}};
  expect_same_everywhere(conv, {test::whole({2, 17, 7}, 3), test::whole({7, 5, 1}, 4)}, "every other output");
}

TEST(FastKernels, LinearLayersGiveTheBitsOfThePlainOnes) {
  Chance chance(13);
  const int all = geometries(300);
  for (int i = 0; i < all; ++i) {
    const Size rows = chance.within(1, 40), inputs = chance.within(1, 700), outputs = chance.within(1, 90);
    const Linear linear{.order = chance.one_of({LinearOrder::InOut, LinearOrder::OutIn})};
    const bool in_first = linear.order == LinearOrder::InOut;
    std::vector<Tensor> given{test::whole({rows, inputs}, static_cast<unsigned>(i)),
                              test::whole(in_first ? Sizes{inputs, outputs} : Sizes{outputs, inputs}, 3)};
    if (chance.within(0, 1)) given.push_back(test::whole({outputs}, 5));
    expect_same(Op(linear), given,
                std::to_string(rows) + " rows " + std::to_string(inputs) + " to " + std::to_string(outputs));
    if (HasFatalFailure()) return;
  }
}

// As they lie in a file that is read in place, and are widened there.
TEST(FastKernels, TakeKernelsOfFloat32AtAnyAddress) {
  const Conv conv{.axes = {Order::ChannelsFirst, 2},
                  .windows = {{3, 1, 1}, {2, 1, 1}},
                  .paddings = {{Spelling::SameUpper, 0, 0, {}}, {Spelling::Valid, 0, 0, {}}}};
  const auto x = test::numbers({1, 9, 13, 11}, test::whole({1, 9, 13, 11}, 3).doubles());
  for (const float odd : {0.0F, std::numeric_limits<float>::infinity()}) {
    auto numbers = test::whole({37, 9, 3, 2}, 4).floats();
    if (odd != 0) numbers[20] = odd;
    const auto bytes = std::make_shared<std::vector<std::byte>>(numbers.size() * sizeof(float) + 1);
    std::memcpy(bytes->data() + 1, numbers.data(), bytes->size() - 1);
    const auto loose = Tensor::view(DType::F32, {37, 9, 3, 2}, std::span(*bytes).subspan(1), bytes);
    ASSERT_TRUE(loose);
    const auto wanted = by(KernelChoice::Plain, conv, {x, Tensor::of({37, 9, 3, 2}, numbers)}, Precision::Double);
    for (const KernelChoice kernels : {KernelChoice::Fast, KernelChoice::Plain})
      expect_same(wanted[0].doubles(), by(kernels, conv, {x, *loose}, Precision::Double)[0].doubles(),
                  "at an odd address");
  }
}

template <class T>
void expect_transposed(int instruction_set, Size rows, Size columns, Size more) {
  const auto& with = fast::kernels_of<T>(instruction_set);
  const Size from_step = columns + more, to_step = rows + 2 * more;
  std::vector<T> from(static_cast<std::size_t>(rows * from_step)),
      to(static_cast<std::size_t>(columns * to_step), T{-1});
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>(i);
  with.transpose(from.data(), rows, columns, from_step, to.data(), to_step);
  for (Size c = 0; c < columns; ++c)
    for (Size r = 0; r < to_step; ++r)
      ASSERT_EQ(to[static_cast<std::size_t>(c * to_step + r)], r < rows ? static_cast<T>(r * from_step + c) : T{-1})
          << with.name << ", " << rows << " x " << columns << ", row " << r << ", column " << c;
}

TEST(FastKernels, TransposeMatricesOfAnySize) {
  for (int set = 0; set < fast::instruction_sets(); ++set)
    for (Size rows = 1; rows <= 37; ++rows)
      for (Size columns = 1; columns <= 35; ++columns)
        for (const Size more : {0, 3}) {
          expect_transposed<float>(set, rows, columns, more);
          expect_transposed<double>(set, rows, columns, more);
        }
}

// Beside what is no number a padded zero must not become one.
TEST(FastKernels, TreatWhatIsNoNumberAsThePlainOnesDo) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const double odd : {infinity, -infinity, nan, 1e-42, 0x1p127}) {
    const Conv conv{.axes = {Order::ChannelsFirst, 2},
                    .windows = {{3, 1, 1}, {5, 2, 1}},
                    .paddings = {{Spelling::Explicit, 2, 1, {}}, {Spelling::Explicit, 3, 4, {}}}};
    for (const bool in_kernel : {false, true}) {
      auto x = test::whole({1, 7, 9, 11}, 3).doubles(), w = test::whole({19, 7, 3, 5}, 4).doubles();
      (in_kernel ? w : x)[50] = odd;
      expect_same(Op(conv), {test::numbers({1, 7, 9, 11}, x), test::numbers({19, 7, 3, 5}, w)}, std::to_string(odd));
    }
  }
}

// One cell is scattered over as many outputs as there are taps: none of them is multiplied with zeros for the others.
TEST(FastKernels, MultiplyEveryTapOfASingleCellOnce) {
  const auto alone = fast::phases_of(plain::AxisWalk{.in = 1, .out = 4, .taps = 4, .transposed = true});
  ASSERT_EQ(alone.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(alone[i].first, static_cast<Size>(i));
    EXPECT_EQ(alone[i].taps, std::vector<Size>{static_cast<Size>(i)});
  }
  EXPECT_EQ(fast::phases_of(plain::AxisWalk{.in = 2, .out = 5, .taps = 4, .transposed = true}).size(), 1U);
  for (const Size stride : {1, 3}) {
    const ConvTranspose up{.axes = {Order::ChannelsFirst, 2},
                           .windows = {{4, stride, 1}, {5, 1, 1}},
                           .paddings = {{CropSpelling::Explicit, 1, 0, {}}, {CropSpelling::Explicit, 0, 2, {}}}};
    for (const Size width : {1, 2})
      expect_same(Op(up), {test::whole({9, 40, 1, width}, 3), test::whole({40, 33, 4, 5}, 4)}, std::to_string(stride));
  }
}

TEST(FastKernels, GiveTheSameBitsOnAnyNumberOfThreads) {
  std::mt19937 engine(3);
  std::normal_distribution<double> normal;
  const auto random = [&](Sizes shape) {
    std::vector<double> values(static_cast<std::size_t>(*checked_count(shape)));
    for (double& value : values) value = normal(engine);
    return test::numbers(std::move(shape), std::move(values));
  };
  const std::vector<Tensor> given{random({2, 37, 13, 17}), random({150, 37, 3, 2}), random({150})};
  const Conv conv{.axes = {Order::ChannelsFirst, 2},
                  .windows = {{3, 1, 1}, {2, 1, 2}},
                  .paddings = {{Spelling::SameUpper, 0, 0, {}}, {Spelling::Causal, 0, 0, {}}}};
  for (const Precision precision : {Precision::Single, Precision::Double}) {
    const auto one = ran(conv, given, precision, 1);
    ASSERT_TRUE(one);
    for (int threads = 2; threads <= 8; ++threads) {
      const auto more = ran(conv, given, precision, threads);
      ASSERT_TRUE(more);
      const auto a = one->front().bytes(), b = more->front().bytes();
      EXPECT_TRUE(std::ranges::equal(a, b)) << threads;
    }
  }
}

}  // namespace
TEST(Fast, TurnsRowsWhateverTheDistanceOfLines) {
  for (int set = 0; set < fast::instruction_sets(); ++set)
    for (const Size rows : {15, 16, 37, 300})
      for (const Size columns : {3, 5, 21, 40})
        for (const Size step : {rows, Size{512}, Size{1024}, Size{1030}}) {
          const Size to_step = std::max(step, rows);
          const auto count = [](Size n) { return static_cast<std::size_t>(n); };
          std::vector<float> from(count(rows * (columns + 2))), to(count(columns * to_step), -7);
          for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
          fast::kernels_of<float>(set).transpose(from.data(), rows, columns, columns + 2, to.data(), to_step);
          for (Size c = 0; c < columns; ++c)
            for (Size r = 0; r < to_step; ++r)
              ASSERT_EQ(to[count(c * to_step + r)], r < rows ? from[count(r * (columns + 2) + c)] : -7)
                  << rows << ", " << columns << ", " << to_step;
        }
}

}  // namespace convoy::fast_test
