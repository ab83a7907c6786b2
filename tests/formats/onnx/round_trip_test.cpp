// ONNX through convoy to ONNX: names and weights stay, and a second journey changes nothing. The models are the corpus'.
#include "base/mapped_file.h"
#include "formats/onnx/onnx.h"
#include "graph/text.h"
#include "passes/passes.h"
#include "run/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace convoy::round_trip_test {
namespace {

namespace fs = std::filesystem;
const fs::path corpus = "tests/data/corpus/onnx";

struct File {
  std::vector<std::byte> bytes;
  Graph graph;  // as it was read from `before`
};

Result<std::vector<std::byte>> bytes_of_file(const fs::path& path) {
  auto file = open_file(path.string());
  if (!file) return pass(file);
  return std::vector<std::byte>((*file)->bytes().begin(), (*file)->bytes().end());
}

Result<File> carried(std::vector<std::byte> before, const fs::path& folder, Size opset) {
  auto graph = onnx::read_model(blob_of(file_of(std::move(before))), folder, {});
  if (!graph) return pass(graph);
  File file{{}, *graph};
  if (auto passes = run_passes(*graph, onnx_target(static_cast<int>(opset))); !passes) return pass(passes);
  const auto append = [&](std::span<const std::byte> more) -> Status {
    file.bytes.insert(file.bytes.end(), more.begin(), more.end());
    return {};
  };
  if (auto done = onnx::write_model(*graph, {.opset = opset}, append); !done) return pass(done);
  return file;
}

std::vector<fs::path> models() {
  std::vector<fs::path> all;
  for (const auto& entry : fs::directory_iterator(corpus))
    if (fs::exists(entry.path() / "model.onnx")) all.push_back(entry.path());
  std::ranges::sort(all);
  return all;
}

TEST(OnnxRoundTrip, FreeSizesKeepTheirNames) {
  const auto graph =
      parse_graph("input x float32[?,3,?,?]\ninput z float32[?,3,5,?]\ny = relu(x)\nw = relu(z)\noutput y\noutput w\n");
  ASSERT_TRUE(graph);
  onnx::WriteOptions options;
  options.size_words = {{"x", {"batch", "", "N", "columns"}}, {"y", {"batch", "", "N", ""}}};
  std::vector<std::byte> bytes;
  const auto append = [&](std::span<const std::byte> more) -> Status {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return {};
  };
  ASSERT_TRUE(onnx::write_model(*graph, options, append));
  auto words = onnx::size_words_of_model(bytes);
  ASSERT_TRUE(words);
  onnx::SizeWords wanted = options.size_words;
  wanted["z"] = {"N_", "", "", "z_3"};  // the file says N for another size
  wanted["w"] = {"", "", "", ""};
  EXPECT_EQ(*words, wanted);
}

// What no input reaches is stored under another name, and a node gives it under its own; also where another node reads it.
TEST(OnnxRoundTrip, AnOutputThatNoInputReachesKeepsItsNameAndItsNumbers) {
  const auto graph = parse_graph(
      "input x float32[2,3]\nconst w float32[3] = 1 -2 5\nmul = affine(w) scale=2 offset=1\ny = binary(x, mul) "
      "function=add\noutput mul\noutput y\noutput mul\n");
  ASSERT_TRUE(graph) << message(graph.error());
  std::vector<std::byte> bytes;
  const auto append = [&](std::span<const std::byte> more) -> Status {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return {};
  };
  const auto written = onnx::write_model(*graph, {}, append);
  ASSERT_TRUE(written) << message(written.error());
  const auto read = onnx::read_model(blob_of(file_of(bytes)), corpus, {});
  ASSERT_TRUE(read) << message(read.error());
  EXPECT_EQ(read->output_names[0], "mul");
  const auto values = run(*read, {Tensor::of({2, 3}, std::vector<float>{0, 10, 20, 30, 40, 50})});
  ASSERT_TRUE(values) << message(values.error());
  for (const std::size_t i : {0, 2})
    EXPECT_EQ(values->at(read->outputs[i]).doubles(), (std::vector<double>{3, -3, 11})) << i;
  EXPECT_EQ(values->at(read->outputs[1]).doubles(), (std::vector<double>{3, 7, 31, 33, 37, 61}));
}

// ONNX normalises over the second axis; a graph whose layers name no channels may have them elsewhere.
TEST(OnnxRoundTrip, ALocalResponseAlongAnotherAxisIsTurnedAround) {
  const auto graph = parse_graph(
      "input x float32[2,3,5,7]\ny = local_response_norm(x) axis=3 before=1 after=1 alpha=0.5 beta=0.75\noutput y\n");
  ASSERT_TRUE(graph);
  std::vector<std::byte> bytes;
  const auto append = [&](std::span<const std::byte> more) -> Status {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return {};
  };
  ASSERT_TRUE(onnx::write_model(*graph, {}, append));
  const auto back = onnx::read_model(blob_of(file_of(std::move(bytes))), "", {});
  ASSERT_TRUE(back) << message(back.error());
  std::vector<float> numbers;
  for (int i = 0; i < 2 * 3 * 5 * 7; ++i) numbers.push_back(static_cast<float>(i % 11 - 5));
  const std::vector<Tensor> inputs{Tensor::of(Sizes{2, 3, 5, 7}, std::move(numbers))};
  const auto before = run(*graph, inputs, {}), after = run(*back, inputs, {});
  ASSERT_TRUE(before && after);
  EXPECT_EQ(after->at(back->outputs[0]).floats(), before->at(graph->outputs[0]).floats());
}

TEST(OnnxRoundTrip, AnOperatorSetThatLacksAnElementTypeIsNotWrittenWithIt) {
  const struct {
    const char* graph;
    Size opset;
    const char* says;  // empty: it is written
  } rows[] = {
      {"input x int64[2]\ninput y int64[2]\nz = binary(x, y) function=maximum\noutput z\n", 11,
       "Max of int64 needs operator set 12, this is 11: add --opset 12"},
      {"input x int64[2]\ninput y int64[2]\nz = binary(x, y) function=maximum\noutput z\n", 12, ""},
      {"input x uint8[2]\ninput y uint8[2]\nz = binary(x, y) function=add\noutput z\n", 13,
       "Add of uint8 needs operator set 14, this is 13: add --opset 14"},
      {"input x bfloat16[2]\nz = cast(x) to=float32\noutput z\n", 12,
       "Cast of bfloat16 needs operator set 13, this is 12: add --opset 13"},
      {"input x float32[2]\nz = cast(x) to=bfloat16\noutput z\n", 12,
       "Cast of bfloat16 needs operator set 13, this is 12: add --opset 13"},
      {"input x uint8[2]\nz = relu(x)\noutput z\n", 22, "Relu of uint8 has no form in ONNX"},
  };
  const auto nowhere = [](std::span<const std::byte>) -> Status { return {}; };
  for (const auto& row : rows) {
    const auto graph = parse_graph(row.graph);
    ASSERT_TRUE(graph) << message(graph.error());
    const auto written = onnx::write_model(*graph, {.opset = row.opset}, nowhere);
    EXPECT_EQ(written.has_value(), *row.says == 0) << row.graph << row.opset;
    const std::string said = written ? "" : message(written.error());
    EXPECT_NE(said.find(row.says), std::string::npos) << said;
  }
}

TEST(OnnxRoundTrip, AnOutputHasItsNameAlsoWhereAValueInBetweenHadIt) {
  const auto graph = parse_graph(
      "input x float32[2,3]\nbn = affine(x) scale=2 offset=-1\nrelu = relu(bn)\nfc = affine(relu) scale=-3 offset=0\n"
      "output relu as bn\noutput fc\n");
  ASSERT_TRUE(graph) << message(graph.error());
  std::vector<std::byte> bytes;
  const auto append = [&](std::span<const std::byte> more) -> Status {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return {};
  };
  const auto written = onnx::write_model(*graph, {}, append);
  ASSERT_TRUE(written) << message(written.error());
  const auto read = onnx::read_model(blob_of(file_of(bytes)), corpus, {});
  ASSERT_TRUE(read) << message(read.error());
  EXPECT_EQ(read->output_names, (std::vector<std::string>{"bn", "fc"}));
  const auto values = run(*read, {Tensor::of({2, 3}, std::vector<float>{-4, 0, 1, 2, 3, 50})});
  ASSERT_TRUE(values) << message(values.error());
  EXPECT_EQ(values->at(read->outputs[0]).doubles(), (std::vector<double>{0, 0, 1, 3, 5, 99}));
  EXPECT_EQ(values->at(read->outputs[1]).doubles(), (std::vector<double>{0, 0, -3, -9, -15, -297}));
}

TEST(OnnxRoundTrip, ASecondJourneyGivesTheSameBytes) {
  int carried_over = 0;
  for (const fs::path& folder : models())
    for (const Size opset : {17, 22}) {
      const auto once = carried(*bytes_of_file(folder / "model.onnx"), folder, opset);
      if (!once) continue;
      const auto twice = carried(once->bytes, folder, opset);
      ASSERT_TRUE(twice) << folder << " " << opset << ": " << message(twice.error());
      EXPECT_TRUE(once->bytes == twice->bytes) << folder << " at opset " << opset;
      ++carried_over;
    }
  EXPECT_GE(carried_over, 30);
}

TEST(OnnxRoundTrip, EveryWeightKeepsItsNameAndItsBytes) {
  int weights = 0;
  for (const fs::path& folder : models()) {
    const auto before = bytes_of_file(folder / "model.onnx");
    const auto after = carried(*before, folder, 22);
    if (!after) continue;
    std::map<std::string, Tensor> written;
    const auto stored = onnx::weights_of_model(blob_of(file_of(after->bytes)), folder);
    ASSERT_TRUE(stored) << folder << message(stored.error());
    for (const LoadedTensor& one : *stored) written.emplace(one.name, one.tensor);
    const auto source = onnx::weights_of_model(blob_of(file_of(*before)), folder);
    ASSERT_TRUE(source) << folder;
    for (const LoadedTensor& one : *source) {
      const auto read = std::ranges::find(after->graph.values, one.name, &Value::name);
      if (read == after->graph.values.end() || one.tensor.count() < 2) continue;
      const auto found = written.find(one.name);
      ASSERT_NE(found, written.end()) << folder << " " << one.name;
      EXPECT_TRUE(std::ranges::equal(found->second.bytes(), one.tensor.bytes())) << folder << " " << one.name;
      ++weights;
    }
  }
  EXPECT_GE(weights, 15);
}

TEST(OnnxRoundTrip, InputsAndOutputsKeepTheirNames) {
  for (const fs::path& folder : models()) {
    const auto once = carried(*bytes_of_file(folder / "model.onnx"), folder, 22);
    if (!once) continue;
    const auto again = onnx::read_model(blob_of(file_of(once->bytes)), folder, {});
    ASSERT_TRUE(again) << folder << message(again.error());
    EXPECT_EQ(again->output_names, once->graph.output_names) << folder;
    for (std::size_t i = 0; i < again->inputs.size(); ++i)
      EXPECT_EQ((*again)[again->inputs[i]].name, once->graph[once->graph.inputs[i]].name) << folder;
  }
}

}  // namespace
}  // namespace convoy::round_trip_test
