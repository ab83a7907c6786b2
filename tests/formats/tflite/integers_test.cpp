// Steps of 8 bits in a TFLite file: which operators compute in whole numbers, and what stays float32 beside them.
#include "base/mapped_file.h"
#include "formats/tflite/model.h"
#include "formats/tflite/tflite.h"

#include <gtest/gtest.h>

#include <limits>

namespace convoy::integers_test {
namespace {

class Model {
 public:
  Graph graph;
  HeldWeights held;

  ValueId number(double value) {
    return graph.constant(graph.unique_name("number"), Tensor::of({}, std::vector<float>{static_cast<float>(value)}),
                          false);
  }
  ValueId add(Op op, std::vector<ValueId> inputs, const std::string& layer) {
    auto made = graph.add(std::move(op), std::move(inputs), layer);
    EXPECT_TRUE(made) << message(made.error());
    return made->front();
  }
  // Rounded to int8 and widened again.
  ValueId stepped(ValueId x, double scale, double zero) {
    const std::string round = graph.unique_name("round"), widen = graph.unique_name("widen");
    ValueId y = add(Binary{BinaryFunction::Divide}, {x, number(scale)}, round);
    y = add(Unary{Function::Round}, {y}, round);
    y = add(Binary{BinaryFunction::Add}, {y, number(zero)}, round);
    y = add(Cast{DType::I8}, {add(Clip{-128, 127}, {y}, round)}, round);
    y = add(Cast{DType::F32}, {y}, widen);
    y = add(Binary{BinaryFunction::Subtract}, {y, number(zero)}, widen);
    return add(Binary{BinaryFunction::Multiply}, {y, number(scale)}, widen);
  }
  ValueId weight() {
    held.emplace("w", HeldWeight{*Tensor::owning(DType::I8, {2, 3}, std::vector<std::byte>(6, std::byte{5})),
                                 {DType::I8, {0.25F}, {0}, 0}});
    return graph.constant("w", Tensor::of({2, 3}, std::vector<float>(6, 1.25F)));
  }
};

struct Written {
  tflite::IntegerReport report;
  std::vector<std::byte> bytes;
  std::vector<int> codes;
  tflite::Model file;
};

Written written(Model& model, ValueId y) {
  model.graph.outputs = {y};
  model.graph.output_names = {"y"};
  Written made;
  const auto done = tflite::write_model(model.graph,
                                        [&](std::span<const std::byte> more) {
                                          made.bytes.insert(made.bytes.end(), more.begin(), more.end());
                                          return Status();
                                        },
                                        {.in_integers = true, .held = model.held, .report = &made.report});
  EXPECT_TRUE(done) << message(done.error());
  auto file = tflite::parse_model(made.bytes);
  EXPECT_TRUE(file) << message(file.error());
  made.file = *std::move(file);
  for (const auto& op : made.file.subgraphs[0].operators) made.codes.push_back(made.file.codes[op.code].builtin);
  return made;
}

constexpr int add = 0, concatenation = 2, dequantize = 6, fully_connected = 9, logistic = 14, reshape = 22,
              quantize = 114;

ValueId dense(Model& model, ValueId x) {
  const ValueId b = model.graph.constant("b", Tensor::of({3}, std::vector<float>{0.375F, -0.25F, 1}));
  return model.add(Linear{LinearOrder::InOut}, {x, model.weight(), b}, "dense");
}

TEST(TfliteIntegers, ALayerBetweenStepsComputesInWholeNumbers) {
  Model model;
  const ValueId x = model.stepped(model.graph.input("x", {DType::F32, {Dim(4), Dim(2)}}), 0.5, 3);
  const Written made = written(model, model.stepped(dense(model, x), 2, -1));
  EXPECT_EQ(made.codes, (std::vector<int>{quantize, fully_connected, dequantize}));
  EXPECT_EQ(made.report.whole, 1U);
  EXPECT_TRUE(made.report.left.empty());
  const auto& graph = made.file.subgraphs[0];
  const auto tensor = [&](std::size_t input) {
    return graph.tensors[static_cast<std::size_t>(graph.operators[1].inputs[input])];
  };
  EXPECT_EQ(tensor(0).quantization.scale, std::vector<float>{0.5F});
  EXPECT_EQ(tensor(0).quantization.zero_point, std::vector<std::int64_t>{3});
  EXPECT_EQ(tensor(1).quantization.scale, std::vector<float>{0.25F});
  EXPECT_EQ(tensor(2).quantization.scale, std::vector<float>{0.125F});  // the product of both
  const Bytes bias = made.file.buffers[tensor(2).buffer];
  ASSERT_EQ(bias.size(), 12U);
  EXPECT_EQ(std::to_integer<int>(bias[0]), 3);
  EXPECT_EQ(std::to_integer<int>(bias[8]), 8);
}

TEST(TfliteIntegers, WeightsWithoutWholeNumbersStayReal) {
  Model model;
  const ValueId x = model.stepped(model.graph.input("x", {DType::F32, {Dim(4), Dim(2)}}), 0.5, 3);
  const ValueId y = dense(model, x);
  model.held.clear();
  const Written made = written(model, model.stepped(y, 2, -1));
  EXPECT_EQ(made.codes, (std::vector<int>{quantize, dequantize, fully_connected, quantize, dequantize}));
  ASSERT_EQ(made.report.left.size(), 1U);
  EXPECT_EQ(made.report.left[0].second, "FULLY_CONNECTED: its weights are not whole numbers of 8 bits");
}

TEST(TfliteIntegers, ABiasBesideTheStepsOfTheProductStaysReal) {
  Model model;
  const ValueId x = model.stepped(model.graph.input("x", {DType::F32, {Dim(4), Dim(2)}}), 0.5, 3);
  const ValueId b = model.graph.constant("b", Tensor::of({3}, std::vector<float>{0.3F, -0.25F, 1}));
  const ValueId y = model.add(Linear{LinearOrder::InOut}, {x, model.weight(), b}, "dense");
  const Written made = written(model, model.stepped(y, 2, -1));
  ASSERT_EQ(made.report.left.size(), 1U);
  EXPECT_EQ(made.report.left[0].second,
            "FULLY_CONNECTED: its bias is not whole in steps of the input's times the weights'");
}

TEST(TfliteIntegers, WhatOnlyMovesNumbersMovesWholeOnesOnEitherSideOfARounding) {
  Model model;
  const ValueId x = model.graph.input("x", {DType::F32, {Dim(4), Dim(2)}});
  const ValueId flat = model.add(Reshape{{8}}, {model.stepped(x, 0.5, 3)}, "flat");
  const ValueId sum = model.add(Binary{BinaryFunction::Add}, {flat, flat}, "sum");
  const ValueId wide = model.add(Reshape{{2, 4}}, {sum}, "wide");
  const Written made = written(model, model.stepped(wide, 1, 3));
  EXPECT_EQ(made.codes, (std::vector<int>{quantize, reshape, add, reshape, dequantize}));
}

TEST(TfliteIntegers, WhatIsRoundedTwiceIsATensorOfItsOwnWhereBothAreRead) {
  for (const bool both : {false, true}) {
    Model model;
    const ValueId x = model.graph.input("x", {DType::F32, {Dim(4), Dim(2)}});
    const ValueId once = model.stepped(x, 0.5, 3), twice = model.stepped(once, 0.5, 3);
    const ValueId a = model.add(Reshape{{8}}, {both ? once : twice}, "a"), b = model.add(Reshape{{8}}, {twice}, "b");
    const Written made = written(model, model.stepped(model.add(Binary{}, {a, b}, "sum"), 1, 3));
    EXPECT_EQ(made.codes, both ? (std::vector<int>{quantize, quantize, reshape, reshape, add, dequantize})
                               : (std::vector<int>{quantize, reshape, reshape, add, dequantize}));
  }
}

TEST(TfliteIntegers, PartsWithOtherStepsAreRoundedThroughRealNumbers) {
  Model model;
  const ValueId x = model.graph.input("x", {DType::F32, {Dim(4), Dim(2)}});
  const ValueId a = model.stepped(x, 0.5, 3), b = model.stepped(x, 0.25, 3);
  const ValueId y = model.add(Concat{1}, {a, b}, "joined");
  const Written made = written(model, model.stepped(y, 0.5, 3));
  EXPECT_EQ(made.codes, (std::vector<int>{quantize, quantize, dequantize, quantize, concatenation, dequantize}));
  ASSERT_EQ(made.report.left.size(), 1U);
  EXPECT_EQ(made.report.left[0].second, "QUANTIZE: from steps of another scale");
}

TEST(TfliteIntegers, KernelsWithStepsOfTheirOwnWantThese) {
  for (const bool fits : {true, false}) {
    Model model;
    const ValueId x = model.stepped(model.graph.input("x", {DType::F32, {Dim(4), Dim(2)}}), 0.5, 3);
    const ValueId y = model.add(Unary{Function::Sigmoid}, {x}, "sigmoid");
    const Written made = written(model, model.stepped(y, fits ? 0x1p-8 : 0x1p-7, -128));
    if (fits) EXPECT_EQ(made.codes, (std::vector<int>{quantize, logistic, dequantize}));
    else EXPECT_EQ(made.codes, (std::vector<int>{quantize, dequantize, logistic, quantize, dequantize}));
  }
}

TEST(TfliteIntegers, WhatIsPaddedWithMinusInfinityIsNotRounded) {
  Model model;
  const ValueId x = model.stepped(model.graph.input("x", {DType::F32, {Dim(1), Dim(5), Dim(6), Dim(2)}}), 0.5, 3);
  Pad pad{.before = {0, 1, 1, 0}, .after = {0, 1, 1, 0}};
  pad.value = -std::numeric_limits<double>::infinity();
  const ValueId padded = model.add(pad, {x}, "pad");
  const MaxPool pool{
      {Order::ChannelsLast, 2}, {Window{2, 1, 1}, Window{2, 1, 1}}, {{Spelling::Valid}, {Spelling::Valid}}};
  const Written made = written(model, model.stepped(model.add(pool, {padded}, "pool"), 0.5, 3));
  EXPECT_EQ(made.codes, (std::vector<int>{quantize, dequantize, 60, 17, quantize, dequantize}));
}

TEST(TfliteIntegers, WholeNumbersThatAreReadAsSuchAreNoSteps) {
  Model model;
  const ValueId x = model.graph.input("x", {DType::F32, {Dim(4), Dim(2)}});
  const ValueId y = model.stepped(x, 0.5, 3);
  const ValueId whole = model.graph.nodes[4].outputs[0];
  const ValueId read = model.add(Cast{DType::F32}, {whole}, "read");
  const Written made = written(model, model.add(Binary{BinaryFunction::Add}, {y, read}, "sum"));
  EXPECT_EQ(std::ranges::count(made.codes, quantize), 0);
  for (const auto& tensor : made.file.subgraphs[0].tensors) EXPECT_FALSE(tensor.is_quantized());
}

}  // namespace
}  // namespace convoy::integers_test
