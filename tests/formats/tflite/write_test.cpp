// TFLite files that are written: read back they compute the same, constants lie where kernels want them, and bytes depend on
// the model alone.
#include "base/mapped_file.h"
#include "formats/tflite/model.h"
#include "formats/tflite/tflite.h"
#include "passes/passes.h"
#include "run/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

namespace convoy::write_test {
namespace {

std::vector<std::byte> written(const Graph& graph) {
  std::vector<std::byte> bytes;
  const auto done = tflite::write_model(graph, [&](std::span<const std::byte> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return Status();
  });
  EXPECT_TRUE(done) << message(done.error());
  return bytes;
}

Graph rewritten(const char* name) {
  auto graph = load(std::filesystem::path("tests/data/corpus/keras") / name / "model.keras");
  EXPECT_TRUE(graph) << message(graph.error());
  const auto passes = run_passes(*graph, tflite_target());
  EXPECT_TRUE(passes) << message(passes.error());
  return *graph;
}

Tensor filled(const Shape& shape) {
  Sizes sizes;
  for (const Dim n : shape) sizes.push_back(n.known() ? *n : 7 + static_cast<Size>(sizes.size()));
  std::vector<float> values(static_cast<std::size_t>(*checked_count(sizes)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 37 % 101) / 50.0F - 1.0F;
  return Tensor::of(sizes, std::move(values));
}

class WriteTflite : public testing::TestWithParam<const char*> {};

TEST_P(WriteTflite, WhatIsReadBackComputesTheSame) {
  const Graph graph = rewritten(GetParam());
  const auto bytes = written(graph);
  const auto file = file_of(bytes);
  const auto read = tflite::read_model(blob_of(file), {});
  ASSERT_TRUE(read) << message(read.error());
  std::vector<Tensor> inputs;
  for (const ValueId v : graph.inputs) inputs.push_back(filled(graph[v].type.shape));
  const auto want = run(graph, inputs), got = run(*read, inputs);
  ASSERT_TRUE(want && got);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const auto a = want->at(graph.outputs[i]).doubles(), b = got->at(read->outputs[i]).doubles();
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t k = 0; k < a.size(); ++k) ASSERT_NEAR(a[k], b[k], 1e-5) << k;
  }
}

TEST_P(WriteTflite, BytesDependOnTheModelAloneAndConstantsAreAligned) {
  const Graph graph = rewritten(GetParam());
  const auto bytes = written(graph);
  EXPECT_EQ(bytes, written(graph));
  const auto file = file_of(bytes);
  const auto model = tflite::parse_model(file->bytes());
  ASSERT_TRUE(model) << message(model.error());
  EXPECT_TRUE(model->buffers.at(0).empty());
  for (std::size_t i = 1; i < model->buffers.size(); ++i)
    EXPECT_EQ((model->buffers[i].data() - file->bytes().data()) % 16, 0) << i;
}

INSTANTIATE_TEST_SUITE_P(Models, WriteTflite,
                         testing::Values("conv2d_same_k3_s2_even", "separable2d_same_s2", "conv1d_groups", "bn_default",
                                         "act_many_2"));

}  // namespace
}  // namespace convoy::write_test
