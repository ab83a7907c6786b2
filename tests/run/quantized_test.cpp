// Whole numbers that stand for real ones: what TensorFlow 2.21's interpreter answers by its reference kernels, one operator each.
#include "run/one_node.h"

#include <cstring>

namespace convoy {
namespace {

template <class T>
Tensor whole(DType dtype, Sizes shape, const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return *Tensor::owning(dtype, std::move(shape), std::move(bytes));
}
Tensor bytes(Sizes shape, const std::vector<std::int8_t>& values) { return whole(DType::I8, std::move(shape), values); }

struct Steps {
  float scale = 1;
  std::int64_t zero = 0;
  DType dtype = DType::I8;
};
std::shared_ptr<const Quantization> held(const Steps& steps) {
  return std::make_shared<const Quantization>(Quantization{steps.dtype, {steps.scale}, {steps.zero}});
}

// One node whose inputs are the graph's, but for weights, which are constants.
class OneNode {
 public:
  ValueId input(const Steps& steps, const Tensor& numbers) {
    Shape shape;
    for (const Size n : numbers.shape()) shape.emplace_back(n);
    const ValueId v = graph_.input(graph_.unique_name("x"), {DType::F32, shape});
    graph_[v].quantization = held(steps);
    inputs_.push_back(numbers);
    return v;
  }
  ValueId constant(Quantization quantization, Tensor numbers) {
    const ValueId v = graph_.constant(graph_.unique_name("w"), std::move(numbers));
    graph_[v].type.dtype = DType::F32;
    graph_[v].quantization = std::make_shared<const Quantization>(std::move(quantization));
    return v;
  }
  Result<Tensor> run(Op op, const std::vector<ValueId>& inputs, const std::optional<Steps>& result) {
    auto made = graph_.add(std::move(op), inputs, "layer");
    if (!made) return pass(made);
    if (result) graph_[made->front()].quantization = held(*result);
    graph_.outputs = *made, graph_.output_names = {"y"};
    if (auto sound = check(graph_); !sound) return pass(sound);
    auto values = convoy::run(graph_, inputs_);
    if (!values) return pass(values);
    return values->at(made->front());
  }

 private:
  Graph graph_;
  std::vector<Tensor> inputs_;
};

using Numbers = std::vector<std::int64_t>;
const std::vector<std::int8_t> x{-128, -60, -3, 0, 17, 90, 127}, backwards{127, 90, 17, 0, -3, -60, -128};

Numbers answer(Op op, const Steps& in, const Tensor& numbers, const std::optional<Steps>& out) {
  OneNode node;
  const ValueId v = node.input(in, numbers);
  const auto y = node.run(std::move(op), {v}, out);
  EXPECT_TRUE(y) << y.error().what;
  return y ? y->integers() : Numbers{};
}
Numbers of_two(Op op, const std::optional<Steps>& out = Steps{0.06F, 11},
               const std::vector<std::int8_t>& other = backwards) {
  OneNode node;
  const ValueId a = node.input({0.05F, 3}, bytes({1, 7}, x)), b = node.input({0.02F, -7}, bytes({1, 7}, other));
  const auto y = node.run(std::move(op), {a, b}, out);
  EXPECT_TRUE(y) << y.error().what;
  return y ? y->integers() : Numbers{};
}

TEST(Quantized, SoftmaxOfBytesAndOf16BitsIsTheInterpreters) {
  EXPECT_EQ(answer(Softmax{{1}, false}, {0.05F, 3}, bytes({1, 7}, x), Steps{1 / 256.F, -128}),
            (Numbers{-128, -128, -128, -128, -127, -93, 92}));
  const std::vector<std::int16_t> wide{-32768, -9000, -700, 0, 1234, 20000, 32767};
  EXPECT_EQ(answer(Softmax{{1}, false}, {0.0002F, 0, DType::I16}, whole(DType::I16, {1, 7}, wide),
                   Steps{1 / 32768.F, 0, DType::I16}),
            (Numbers{2, 7, 38, 42, 55, 2356, 30266}));
}

TEST(Quantized, FunctionsComeFromTablesAsTheInterpretersDo) {
  const std::vector<std::int16_t> wide{-32768, -9000, -700, 0, 1234, 20000, 32767};
  const Tensor numbers = whole(DType::I16, {1, 7}, wide);
  const Steps unit{1 / 32768.F, 0, DType::I16};
  EXPECT_EQ(answer(Unary{Function::Sigmoid}, {0.0003F, 0, DType::I16}, numbers, unit),
            (Numbers{2, 2064, 14670, 16384, 19382, 32687, 32766}));
  EXPECT_EQ(answer(Unary{Function::Tanh}, {0.0001F, 0, DType::I16}, numbers, unit),
            (Numbers{-32675, -23472, -2289, 0, 4022, 31589, 32675}));
  EXPECT_EQ(answer(Unary{Function::Sigmoid}, {0.06F, 3}, bytes({1, 7}, x), Steps{1 / 256.F, -128}),
            (Numbers{-128, -122, -23, -11, 51, 127, 127}));
  EXPECT_EQ(answer(Unary{Function::HardSwish}, {0.06F, 3}, bytes({1, 7}, x), Steps{0.03F, -100}),
            (Numbers{-100, -100, -105, -103, -82, 74, 127}));
}

TEST(Quantized, FunctionsOfSixteenBitsAreStraightPieces) {
  const std::vector<std::int16_t> wide{-32768, -9000, -700, 0, 1234, 20000, 32767};
  const std::vector<std::int16_t> lengths{32767, 9000, 700, 0, 1234, 20000, 32767};
  const Steps in{0.0001F, 0, DType::I16};
  EXPECT_EQ(answer(Unary{Function::Exp}, in, whole(DType::I16, {1, 7}, wide), Steps{0.0009F, 0, DType::I16}),
            (Numbers{42, 451, 1036, 1111, 1257, 8210, 29429}));
  EXPECT_EQ(answer(Unary{Function::Rsqrt}, in, whole(DType::I16, {1, 7}, lengths), Steps{0.0003F, 0, DType::I16}),
            (Numbers{1841, 3514, 12626, 32767, 9496, 2357, 1841}));
}

TEST(Quantized, RootsLogarithmsAndMagnitudesAreTheInterpreters) {
  const Tensor numbers = bytes({1, 7}, x);
  EXPECT_EQ(answer(Unary{Function::Abs}, {0.05F, 3}, numbers, Steps{0.04F, -100}),
            (Numbers{64, -21, -92, -96, -82, 9, 55}));
  EXPECT_EQ(answer(Unary{Function::Log}, {0.05F, 3}, numbers, Steps{0.02F, 7}),
            (Numbers{-128, -128, -128, -128, -11, 81, 98}));
  EXPECT_EQ(answer(Unary{Function::Sqrt}, {0.05F, -128}, numbers, Steps{0.02F, -120}),
            (Numbers{-120, -28, 5, 6, 14, 45, 58}));
  EXPECT_EQ(answer(Unary{Function::Rsqrt}, {0.05F, -128}, numbers, Steps{0.02F, -120}),
            (Numbers{127, -93, -100, -100, -101, -105, -106}));
  EXPECT_EQ(answer(Unary{Function::Gelu}, {0.04F, 3}, numbers, Steps{0.03F, -90}),
            (Numbers{-90, -90, -93, -92, -77, 26, 75}));
  EXPECT_EQ(answer(LengthNorm{{1}}, {0.05F, 3}, numbers, Steps{1 / 128.F, 0}), (Numbers{-80, -38, -4, -2, 9, 53, 75}));
}

TEST(Quantized, LogarithmsOfSoftmaxAndProductsOfAllAreTheInterpreters) {
  EXPECT_EQ(answer(Softmax{{1}, true}, {0.05F, 3}, bytes({1, 7}, x), Steps{1 / 16.F, 127}),
            (Numbers{-79, -25, 21, 23, 37, 95, 125}));
  EXPECT_EQ(
      answer(Reduce{Reduction::Product, {1}}, {0.05F, 3}, bytes({2, 3}, {-60, 17, 30, 0, 90, -3}), Steps{0.1F, -2}),
      (Numbers{-32, 0}));
}

TEST(Quantized, MatricesAreMultipliedInWholeNumbers) {
  OneNode node;
  const ValueId a = node.input({0.05F, 3}, bytes({2, 3}, {-128, -60, -3, 0, 17, 90}));
  const ValueId b = node.input({0.02F, -7}, bytes({3, 2}, {127, 90, 17, 1, -3, -60}));
  const auto y = node.run(MatMul{}, {a, b}, Steps{0.3F, 11});
  ASSERT_TRUE(y) << y.error().what;
  EXPECT_EQ(y->integers(), (Numbers{-53, -32, 12, -5}));
}

TEST(Quantized, ComparisonsAreOfRealNumbers) {
  EXPECT_EQ(of_two(Binary{BinaryFunction::Greater}, std::nullopt), (Numbers{0, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(of_two(Binary{BinaryFunction::LessOrEqual}, std::nullopt), (Numbers{1, 1, 1, 1, 0, 0, 0}));
}

TEST(Quantized, ArithmeticRoundsAtEachFactor) {
  EXPECT_EQ(of_two(Binary{BinaryFunction::Divide}, Steps{0.1F, 11}, {127, 90, 17, 1, -3, -60, -128}),
            (Numbers{-13, -5, 5, 2, 98, -30, -15}));
  EXPECT_EQ(of_two(Binary{BinaryFunction::Add}), (Numbers{-54, -9, 14, 11, 24, 66, 74}));
  EXPECT_EQ(of_two(Binary{BinaryFunction::Multiply}), (Numbers{-128, -91, 9, 11, 12, -66, -128}));
}

// Kernel [1, 3, 2, 2] of which output o is 19 * (6 o - 6 + 2 j + c) at tap j and channel c.
TEST(Quantized, AConvolutionHasAScaleForEachChannel) {
  std::vector<std::int8_t> kernel;
  for (int j = 0; j < 3; ++j)
    for (int c = 0; c < 2; ++c)
      for (int o = 0; o < 2; ++o) kernel.push_back(static_cast<std::int8_t>(19 * (6 * o - 6 + 2 * j + c)));
  OneNode node;
  const ValueId in = node.input({0.05F, 3}, bytes({1, 1, 4, 2}, {-128, -60, -3, 0, 17, 90, 127, -45}));
  const ValueId w = node.constant({DType::I8, {0.01F, 0.02F}, {0, 0}, 3}, bytes({1, 3, 2, 2}, kernel));
  const ValueId b = node.constant({DType::I32, {0.0005F, 0.001F}, {0, 0}, 0},
                                  whole(DType::I32, {2}, std::vector<std::int32_t>{1000, -700}));
  const Padding same{Spelling::SameUpper};
  const Conv conv{{Order::ChannelsLast, 2}, KernelOrder::SpaceInOut, {{1, 1, 1}, {3, 2, 1}}, {same, same}, 1};
  const auto y = node.run(conv, {in, w, b}, Steps{0.3F, -9});
  ASSERT_TRUE(y) << y.error().what;
  EXPECT_EQ(y->integers(), (Numbers{25, 14, -35, 1}));
  EXPECT_EQ(y->dtype(), DType::I8);
}

TEST(Quantized, AveragesMeansAndResizesRoundToSteps) {
  const Padding same{Spelling::SameUpper};
  const AveragePool pool{{Order::ChannelsLast, 2}, {{1, 1, 1}, {3, 2, 1}}, {same, same}};
  const Steps steps{0.05F, 3};
  EXPECT_EQ(answer(pool, steps, bytes({1, 1, 7, 1}, x), steps), (Numbers{-94, -21, 36, 109}));
  EXPECT_EQ(answer(Reduce{Reduction::Mean, {1}}, steps, bytes({1, 7}, x), Steps{0.04F, -2}), (Numbers{2}));
  Resize resize;
  resize.axes = {1, 2}, resize.sizes = {1, 5}, resize.interpolation = Interpolation::Linear;
  EXPECT_EQ(answer(resize, steps, bytes({1, 1, 7, 1}, x), steps), (Numbers{-114, -26, 0, 46, 120}));
}

TEST(Quantized, NumbersGoIntoOtherStepsAndBack) {
  const Steps steps{0.05F, 3};
  EXPECT_EQ(answer(Identity{}, steps, bytes({1, 7}, x), Steps{0.03F, 100, DType::U8}),
            (Numbers{0, 0, 90, 95, 123, 245, 255}));
  OneNode node;
  const ValueId in = node.input({0.5F, 3}, bytes({3}, {-1, 3, 8}));
  const auto real = node.run(Identity{}, {in}, std::nullopt);
  ASSERT_TRUE(real) << real.error().what;
  EXPECT_EQ(real->doubles(), (std::vector<double>{-2, 0, 2.5}));
}

TEST(Quantized, APadIsZeroInRealNumbers) {
  const Steps steps{0.05F, 3};
  EXPECT_EQ(answer(Pad{{1}, {2}, PadMode::Constant, 0}, steps, bytes({2}, {-5, 9}), steps), (Numbers{3, -5, 9, 3, 3}));
  EXPECT_EQ(answer(SpaceToBatch{{1}, {2}, {1}, {2}}, steps, bytes({1, 3, 1}, {-5, 9, 7}), steps),
            (Numbers{3, 9, 3, -5, 7, 3}));
}

TEST(Quantized, WhatHasNoKernelIsRefusedByName) {
  OneNode node;
  const ValueId in = node.input({0.5F, 3}, bytes({3}, {-1, 3, 8}));
  const auto y = node.run(Unary{Function::Sin}, {in}, Steps{});
  ASSERT_FALSE(y);
  EXPECT_EQ(y.error().fault, Fault::Unsupported);
  EXPECT_NE(y.error().what.find("--dequantize"), std::string::npos) << y.error().what;
}

TEST(Quantized, AnInputIsAskedForInItsOwnType) {
  Graph graph;
  const ValueId v = graph.input("image", {DType::F32, {Dim(2)}});
  graph[v].quantization = held({0.5F, 3});
  graph.outputs = {v}, graph.output_names = {"y"};
  const auto refused = run(graph, {test::numbers({2}, {1, 2})});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::Usage);
  EXPECT_NE(refused.error().what.find("expected int8"), std::string::npos) << refused.error().what;
}

}  // namespace
}  // namespace convoy
