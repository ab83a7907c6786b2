// Models that break one of ONNX's own rules. Each is y = (x + a) + b, with one thing wrong.
#include "formats/onnx/check.h"
#include "base/mapped_file.h"
#include "formats/onnx/onnx.h"
#include "formats/onnx/write/document.h"

#include <gtest/gtest.h>

#include <functional>

namespace convoy::check_test {
namespace {

using onnx::Document, onnx::own_producer;
using Change = std::function<void(Document&)>;

Document sound() {
  const TensorType three{DType::F32, {3}};
  const Tensor numbers = Tensor::of({3}, std::vector<float>{1, 2, 4});
  return {.producer = "test",
          .producer_version = "1",
          .graph_name = "sum",
          .opset = 17,
          .nodes = {{"Add", "first", {"x", "a"}, {"t"}, {}}, {"Add", "second", {"t", "b"}, {"y"}, {}}},
          .initializers = {{"a", numbers}, {"b", numbers}},
          .inputs = {{"x", three, {""}}},
          .outputs = {{"y", three, {""}}},
          .values = {}};
}

// What the reader says to the file.
std::string answer(const Change& change) {
  Document document = sound();
  change(document);
  std::vector<std::byte> bytes;
  const auto append = [&](Bytes more) -> Status {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return {};
  };
  if (!write_document(document, append)) return "not written";
  const auto read = onnx::read_model(blob_of(file_of(std::move(bytes))), ".", {});
  if (read) return "read";
  EXPECT_EQ(read.error().fault, Fault::Format);
  return message(read.error());
}

// What the writer says before it writes.
std::string own_answer(const Change& change) {
  Document document = sound();
  change(document);
  const auto checked = check_model(model_of(document), onnx::Maker::Convoy);
  if (checked) return "sound";
  EXPECT_EQ(checked.error().fault, Fault::Internal);
  return message(checked.error());
}

TEST(OnnxCheck, TakesASoundModel) {
  EXPECT_EQ(answer([](Document&) {}), "read");
  EXPECT_EQ(own_answer([](Document&) {}), "sound");
}

TEST(OnnxCheck, GivesEveryNameOnce) {
  EXPECT_EQ(answer([](Document& d) { d.nodes[1].outputs = {"t"}; }),
            "node 'second' (Add, opset 17): the name 't' is given twice");
  EXPECT_EQ(answer([](Document& d) { d.nodes[0].outputs = {"x"}; }),
            "node 'first' (Add, opset 17): the name 'x' is given twice");
  EXPECT_EQ(answer([](Document& d) { d.nodes[0].outputs = {"b"}; }),
            "node 'first' (Add, opset 17): the name 'b' is given twice");
  EXPECT_EQ(answer([](Document& d) { d.initializers[1].name = "a"; }),
            "the name 'a' is given twice, by two initializers");
  EXPECT_EQ(answer([](Document& d) { d.inputs.push_back(d.inputs[0]); }), "the name 'x' is given twice");
}

TEST(OnnxCheck, WantsNodesInAnOrderOfComputation) {
  EXPECT_EQ(answer([](Document& d) { std::swap(d.nodes[0], d.nodes[1]); }),
            "node 'second' (Add, opset 17): reads 't', which no node before it gives: node 'first' gives it further "
            "down, and nodes have to stand in an order of computation");
  EXPECT_EQ(answer([](Document& d) { d.nodes[0].inputs = {"x", "y"}; }),
            "node 'first' (Add, opset 17): reads 'y', which no node before it gives: node 'second' gives it further "
            "down, and nodes have to stand in an order of computation");
  EXPECT_EQ(answer([](Document& d) { d.nodes[0].inputs = {"x", "t"}; }),
            "node 'first' (Add, opset 17): reads 't', which it gives itself");
  EXPECT_EQ(answer([](Document& d) { d.nodes[0].inputs = {"x", "z"}; }),
            "node 'first' (Add, opset 17): reads 'z', which no node before it gives");
  EXPECT_EQ(answer([](Document& d) { d.outputs[0].name = "z"; }), "output 'z' is given by no node");
}

TEST(OnnxCheck, HoldsAttributesToTheirKinds) {
  const auto with = [](onnx::Attributes attributes) {
    return [attributes](Document& d) { d.nodes[1] = {"Softmax", "second", {"t"}, {"y"}, attributes}; };
  };
  EXPECT_EQ(answer(with({{"axis", Size{0}}})), "read");
  EXPECT_EQ(answer(with({{"axis", 0.5}})),
            "node 'second' (Softmax, opset 17): attribute 'axis' holds a number, expected a whole number");
  EXPECT_EQ(answer(with({{"axis", Sizes{0}}})),
            "node 'second' (Softmax, opset 17): attribute 'axis' holds whole numbers, expected a whole number");
  EXPECT_EQ(answer(with({{"axis", Size{0}}, {"axis", Size{0}}})),
            "node 'second' (Softmax, opset 17): attribute 'axis' is given twice");
}

TEST(OnnxCheck, CountsInputsAndResults) {
  EXPECT_EQ(answer([](Document& d) { d.nodes[1].inputs = {"t"}; }),
            "node 'second' (Add, opset 17): has 1 inputs, expected 2");
  EXPECT_EQ(answer([](Document& d) { d.nodes[1].inputs = {"t", "b", "a"}; }),
            "node 'second' (Add, opset 17): has 3 inputs, expected 2");
  EXPECT_EQ(answer([](Document& d) { d.nodes[1].outputs = {"y", "z"}; }),
            "node 'second' (Add, opset 17): has 2 results, expected 1");
}

TEST(OnnxCheck, HoldsWhatIsWrittenToItsOperatorSet) {
  const auto with = [](Size opset, std::string type, std::vector<std::string> inputs, onnx::Attributes attributes) {
    return [=](Document& d) {
      d.opset = opset;
      d.initializers.resize(inputs.size() - 1);
      d.nodes[0].inputs = {"x", "x"};
      d.nodes[1] = {type, "second", inputs, {"y"}, attributes};
    };
  };
  const onnx::Attributes axes{{"axes", Sizes{0}}};
  EXPECT_EQ(own_answer(with(18, "Mish", {"t"}, {})), "sound");
  EXPECT_EQ(own_answer(with(17, "Mish", {"t"}, {})),
            "node 'second' (Mish, opset 17): is no operator of this operator set");
  EXPECT_EQ(own_answer(with(12, "ReduceSum", {"t"}, axes)), "sound");
  EXPECT_EQ(own_answer(with(13, "ReduceSum", {"t"}, axes)),
            "node 'second' (ReduceSum, opset 13): attribute 'axes' is no such attribute of the operator");
  EXPECT_EQ(own_answer(with(13, "ReduceSum", {"t", "a"}, {})), "sound");
  EXPECT_EQ(own_answer(with(12, "ReduceSum", {"t", "a"}, {})),
            "node 'second' (ReduceSum, opset 12): has 2 inputs, expected 1");
  EXPECT_EQ(own_answer(with(17, "ReduceMax", {"t"}, axes)), "sound");
  EXPECT_EQ(own_answer(with(17, "ReduceMax", {"t", "a"}, {})),
            "node 'second' (ReduceMax, opset 17): has 2 inputs, expected 1");
}

TEST(OnnxCheck, ComparesWhatIsSaidOfOutputsWithWhatTheirNodesGive) {
  EXPECT_EQ(answer([](Document& d) { d.outputs[0].type.dtype = DType::F64; }),
            "output 'y' is float64 by the file, its node gives float32");
  EXPECT_EQ(answer([](Document& d) { d.outputs[0] = {"y", {DType::F32, {1, 3}}, {"", ""}}; }),
            "read");  // as ONNX Runtime does, which warns
  EXPECT_EQ(answer([](Document& d) {
              d.outputs[0] = {"y", {DType::F32, {1, 3}}, {"", ""}};
              d.producer = own_producer;
            }),
            "output 'y' is [1, 3] by the file, its node gives [3]");
}

// What is said of the sizes of a file that is read all the same.
std::vector<std::string> contradictions(const Change& change) {
  Document document = sound();
  change(document);
  std::vector<std::byte> bytes;
  const auto append = [&](Bytes more) -> Status {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return {};
  };
  if (!write_document(document, append)) return {"not written"};
  const auto graph = onnx::read_model(blob_of(file_of(bytes)), ".", {});
  return graph ? onnx::contradicted_sizes(bytes, *graph) : std::vector<std::string>{message(graph.error())};
}

TEST(OnnxCheck, TellsSizesThatContradictTheOperators) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(contradictions([](Document&) {}), Lines{});
  EXPECT_EQ(contradictions([](Document& d) { d.outputs[0] = {"y", {DType::F32, {Dim()}}, {"n"}}; }), Lines{});
  EXPECT_EQ(contradictions([](Document& d) {
              d.outputs[0] = {"y", {DType::F32, {4}}, {""}};
              d.values = {{"t", {DType::F32, {5}}, {""}}};
            }),
            (Lines{"the file says that 'y' is [4], its operators give [3]",
                   "the file says that 't' is [5], its operators give [3]"}));
}

TEST(OnnxCheck, HoldsOurOwnFilesToMore) {
  EXPECT_EQ(own_answer([](Document& d) { d.nodes[1].name = "first"; }),
            "node 'first' (Add, opset 17): has no name of its own");
  EXPECT_EQ(own_answer([](Document& d) { d.nodes[1].name = ""; }), "node 'y' (Add, opset 17): has no name of its own");
  EXPECT_EQ(own_answer([](Document& d) { d.nodes[1].op = "Sum3"; }),
            "node 'second' (Sum3, opset 17): is no operator of ONNX");
  EXPECT_EQ(own_answer([](Document& d) { d.nodes[1].attributes = {{"axis", Size{1}}}; }),
            "node 'second' (Add, opset 17): attribute 'axis' is no such attribute of the operator");
  EXPECT_EQ(own_answer([](Document& d) { d.initializers.push_back({"c", d.initializers[0].tensor}); }),
            "initializer 'c' is read by no node");
}

}  // namespace
}  // namespace convoy::check_test
