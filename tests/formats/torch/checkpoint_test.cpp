// Checkpoints of torch.save against the same tensors as torch itself laid them out, and checkpoints that are broken.
#include "formats/torch/checkpoint.h"
#include "formats/format.h"
#include "support/files.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <limits>
#include <map>

namespace convoy::checkpoint_test {
namespace {

const std::string folder = "tests/data/checkpoints/";

std::map<std::string, Tensor> tensors(const std::string& file) {
  auto all = load_weights(folder + file);
  EXPECT_TRUE(all) << message(all.error());
  std::map<std::string, Tensor> named;
  if (all)
    for (auto& [name, tensor] : *all) named.emplace(name, std::move(tensor));
  return named;
}

void expect_equal(const std::string& file, const std::string& dense) {
  const auto got = tensors(file), want = tensors(dense);
  EXPECT_FALSE(want.empty());
  EXPECT_EQ(got.size(), want.size());
  for (const auto& [name, tensor] : want) {
    ASSERT_TRUE(got.contains(name)) << file << ": " << name;
    EXPECT_TRUE(same_bytes(got.at(name), tensor)) << file << ": " << name;
  }
}

TEST(Checkpoint, ReadsViewsAsTorchShowsThem) { expect_equal("views.pt", "views.safetensors"); }

TEST(Checkpoint, FindsTheTensorsOfATrainingScript) {
  expect_equal("training.pt", "training.safetensors");
  expect_equal("training.stream.pt", "training.safetensors");
}

TEST(Checkpoint, SaysThatWeightsHaveNoGraph) {
  for (const char* file : {"training.pt", "training.stream.pt"}) {
    const auto graph = load(folder + file);
    ASSERT_FALSE(graph);
    EXPECT_EQ(graph.error().fault, Fault::Unsupported);
    EXPECT_NE(graph.error().what.find("torch.export.save("), std::string::npos);
  }
}

Result<std::vector<LoadedTensor>> weights_of(const std::string& bytes) {
  const Blob blob{bytes_of(bytes), nullptr};
  if (torch::begins_stream(blob.bytes)) return torch::weights_of_stream(blob);
  const auto zip = ZipArchive::open(blob);
  if (!zip) return std::unexpected(zip.error());
  return torch::weights_of_zip(*zip);
}

TEST(Checkpoint, RefusesEveryCut) {
  for (const char* file : {"views.pt", "training.stream.pt"}) {
    const std::string whole = content_of(folder + file);
    for (std::size_t n = 0; n < whole.size(); ++n)
      EXPECT_FALSE(weights_of(whole.substr(0, n))) << file << " cut at " << n;
  }
}

// A flipped bit may leave a file that is right; it must not leave one that does harm.
TEST(Checkpoint, SurvivesEveryFlippedByte) {
  const std::string whole = content_of(folder + "training.stream.pt");
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (const int bits : {0x01, 0x80, 0xff}) {
      std::string broken = whole;
      broken[i] = static_cast<char>(broken[i] ^ bits);
      if (const auto read = weights_of(broken)) {
        for (const auto& [name, tensor] : *read)
          EXPECT_EQ(tensor.count() * bytes_of(tensor.dtype()), static_cast<Size>(tensor.bytes().size())) << name;
      }
    }
}

Blob storage(const std::vector<float>& values) { return {std::as_bytes(std::span(values)), nullptr}; }

TEST(StridedTensor, StaysInsideItsStorage) {
  const std::vector<float> six{0, 1, 2, 3, 4, 5};
  EXPECT_EQ(torch::strided_tensor(DType::F32, {3, 2}, {1, 3}, 0, storage(six)).value().floats(),
            (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(torch::strided_tensor(DType::F32, {2, 2}, {0, 2}, 1, storage(six)).value().floats(),
            (std::vector<float>{1, 3, 1, 3}));
  constexpr Size last = std::numeric_limits<Size>::max();  // an axis of one cell may have any stride
  EXPECT_EQ(torch::strided_tensor(DType::F32, {2, 1, 2}, {3, last, 2}, 0, storage(six)).value().floats(),
            (std::vector<float>{0, 2, 3, 5}));
  EXPECT_FALSE(torch::strided_tensor(DType::F32, {3, 2}, {1, 3}, 1, storage(six)));
  EXPECT_FALSE(torch::strided_tensor(DType::F32, {2}, {-1}, 3, storage(six)));
  EXPECT_FALSE(torch::strided_tensor(DType::F32, {2}, {1}, -1, storage(six)));
  EXPECT_FALSE(torch::strided_tensor(DType::F32, {2, 2}, {1}, 0, storage(six)));
  constexpr Size huge = Size{1} << 62;
  EXPECT_FALSE(torch::strided_tensor(DType::F32, {2, 2}, {huge, huge}, 0, storage(six)));
  EXPECT_FALSE(torch::strided_tensor(DType::F32, {huge, 4}, {0, 0}, 0, storage(six)));
  EXPECT_FALSE(torch::strided_tensor(DType::F32, {Size{1} << 30, 1}, {0, 0}, 0, storage(six)));
}

TEST(StridedTensor, AxesOfOneCellDoNotHideADenseOrder) {
  const std::vector<float> six{0, 1, 2, 3, 4, 5};
  EXPECT_EQ(torch::strided_tensor(DType::F32, {3, 1, 2}, {1, 7, 3}, 0, storage(six)).value().floats(),
            (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

// A few bytes with strides of 0 could ask for a gigabyte, tensor after tensor.
TEST(ViewRoom, IsSharedByAllViewsOfAFile) {
  const std::vector<float> six{0, 1, 2, 3, 4, 5};
  torch::ViewRoom room(storage(six));
  constexpr Size half = Size{32} << 20;  // 128 MiB of float32
  EXPECT_TRUE(room.take(DType::F32, {half}, {0}));
  EXPECT_TRUE(room.take(DType::F32, {half}, {0}));
  EXPECT_TRUE(room.take(DType::F32, {half}, {1}));  // dense: nothing beside the storage
  const auto refused = room.take(DType::F32, {25}, {0});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::Limit);
  EXPECT_TRUE(room.take(DType::F32, {24}, {0}));  // 4 * 24 bytes of storage are left
}

}  // namespace
}  // namespace convoy::checkpoint_test
