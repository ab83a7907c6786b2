// TFLite files: names, free sizes, refusals.
#include "base/mapped_file.h"
#include "formats/format.h"
#include "formats/tflite/tflite.h"
#include "run/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>

namespace convoy::read_test {
namespace {

std::filesystem::path model(const char* name) {
  return std::filesystem::path("tests/data/corpus/tflite") / name / "model.tflite";
}

TEST(ReadTflite, InputsAndOutputsAreCalledAsTheOnlySignatureSays) {
  const auto graph = load(model("two_inputs"));
  ASSERT_TRUE(graph) << message(graph.error());
  EXPECT_EQ((*graph)[graph->inputs[0]].name, "picture");
  EXPECT_EQ((*graph)[graph->inputs[1]].name, "meta");
  EXPECT_EQ(text_of((*graph)[graph->inputs[0]].type.shape), "[N, 6, 8, 3]");
  EXPECT_EQ(graph->output_names, (std::vector<std::string>{"output_1", "output_0"}));
}

TEST(ReadTflite, AFreeSizeIsFollowedThroughTheShapeOfATransposedConvolution) {
  LoadOptions free;
  free.size = {std::nullopt, std::nullopt};
  const auto graph = load(model("transpose_conv_same"), free);
  ASSERT_TRUE(graph) << message(graph.error());
  EXPECT_FALSE((*graph)[graph->outputs[0]].type.shape[1].known());
}

TEST(ReadTflite, QuantisedNumbersAreRefusedUnlessTheyAreToStandForRealOnes) {
  const auto refused = load(model("mobile_int8"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::Unsupported);
  EXPECT_NE(refused.error().what.find("--dequantize"), std::string::npos) << refused.error().what;
  LoadOptions real;
  real.dequantizes = true;
  std::vector<std::string> remarks;
  real.remarks = &remarks;
  const auto graph = load(model("mobile_int8"), real);
  ASSERT_TRUE(graph) << message(graph.error());
  EXPECT_EQ(remarks.size(), 1U);
  for (const Value& value : graph->values) EXPECT_NE(value.type.dtype, DType::I8) << value.name;
}

// The steps of one ReLU6 end at 6, those of the other one before that.
TEST(ReadTflite, ARangeOfStepsIsAClipWhereNothingElseKeepsNumbersInIt) {
  LoadOptions real;
  real.dequantizes = true;
  const auto graph = load(model("mobile_int8"), real);
  ASSERT_TRUE(graph) << message(graph.error());
  std::size_t bounded = 0, clips = 0, cut = 0;
  for (const Node& node : graph->nodes) {
    if (holds_alternative<Relu>(node.op)) ++bounded;
    const auto* clip = get_if<Clip>(&node.op);
    if (!clip) continue;
    ++clips;
    const NodeId before = (*graph)[node.inputs[0]].producer;
    ASSERT_TRUE(before);
    if (!holds_alternative<Relu>((*graph)[before].op)) continue;
    ++cut;
    EXPECT_LT(*clip->most, 6 - *clip->most / 255) << node.layer;
  }
  EXPECT_LT(cut, bounded);
  EXPECT_LT(cut, clips);
}

TEST(ReadTflite, OutputsMayBeCutByName) {
  LoadOptions cut;
  cut.outputs = {"net_1/dense_1/Sigmoid"};
  const auto graph = load(model("two_inputs"), cut);
  ASSERT_TRUE(graph) << message(graph.error());
  EXPECT_EQ(graph->outputs.size(), 1U);
  EXPECT_EQ(text_of((*graph)[graph->outputs[0]].type.shape), "[N, 4]");
}

// Every [6, 8, 1] of the file says [6, 8, 3]: a sum over the last axis gives something else.
TEST(ReadTflite, AResultThatIsNotAsTheFileTellsIsRefused) {
  const auto file = open_file(model("two_inputs"));
  ASSERT_TRUE(file) << message(file.error());
  const Bytes bytes = (*file)->bytes();
  std::vector<std::byte> other(bytes.begin(), bytes.end());
  const std::array<std::int32_t, 3> said{6, 8, 1}, wrong{6, 8, 3};
  const auto sought = std::as_bytes(std::span(said)), put = std::as_bytes(std::span(wrong));
  for (auto at = std::ranges::search(other, sought); !at.empty();
       at = std::ranges::search(at.begin(), other.end(), sought.begin(), sought.end()))
    std::ranges::copy(put, at.begin());
  const auto changed = file_of(std::move(other));
  const auto graph = tflite::read_model(blob_of(changed), {});
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().fault, Fault::Unsupported);
  EXPECT_NE(message(graph.error()).find("gives float32 [N, 6, 8, 3] as the file tells"), std::string::npos)
      << message(graph.error());
}

}  // namespace
}  // namespace convoy::read_test
