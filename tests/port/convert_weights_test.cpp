#include "port/convert_weights.h"
#include "support/refusal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace convoy::convert_weights_test {
namespace {

namespace fs = std::filesystem;

class ConvertWeights : public ::testing::Test {
 protected:
  ConvertWeights() {
    std::string pattern = (fs::temp_directory_path() / "weights.XXXXXX").string();
    folder = mkdtemp(pattern.data());
  }
  ~ConvertWeights() override { fs::remove_all(folder); }

  fs::path folder;
};

std::map<std::string, Tensor> named(const fs::path& file) {
  auto all = load_weights(file);
  EXPECT_TRUE(all) << message(all.error());
  std::map<std::string, Tensor> names;
  for (auto& [name, tensor] : *all) names.emplace(name, tensor);
  return names;
}

// torch.save of a training script: nested dictionaries, views, half and bfloat16 numbers (see checkpoints/generate.py).
const fs::path checkpoint = "tests/data/checkpoints/views.pt";
const fs::path keras = "tests/data/corpus/keras/old_nested/model.keras";

TEST_F(ConvertWeights, EveryTensorKeepsNameShapeTypeAndBytes) {
  for (const fs::path& source : {checkpoint, keras}) {
    const auto before = named(source);
    for (const char* name : {"a.safetensors", "a.weights.h5", "a.pt"}) {
      const auto done =
          convert_weights(source, {.output = folder / name, .below = {}, .plain = false, .overwrites = true});
      ASSERT_TRUE(done) << message(done.error());
      const auto after = named(folder / name);
      ASSERT_EQ(after.size(), before.size()) << name;
      for (const auto& [tensor, value] : before)
        EXPECT_TRUE(same_bytes(after.at(tensor), value)) << name << " " << tensor;
    }
  }
}

TEST_F(ConvertWeights, NumpyArchivesWidenBfloat16AndSaySo) {
  const auto before = named(checkpoint);
  const auto done = convert_weights(checkpoint, {.output = folder / "a.npz", .below = {}});
  ASSERT_TRUE(done) << message(done.error());
  bool widened = false;
  for (const auto& [name, tensor] : named(folder / "a.npz")) {
    const Tensor& source = before.at(name);
    const bool brain = source.dtype() == DType::BF16;
    widened |= brain;
    EXPECT_TRUE(same_bytes(tensor, brain ? source.converted(DType::F32) : source)) << name;
  }
  EXPECT_EQ(done->notes.size(), widened ? 1U : 0U);
}

TEST_F(ConvertWeights, OnlyNamesOfKerasMakeAFileThatKerasLoads) {
  const auto flat = convert_weights(checkpoint, {.output = folder / "flat.weights.h5", .below = {}});
  ASSERT_TRUE(flat) << message(flat.error());
  ASSERT_EQ(flat->notes.size(), 1U);
  EXPECT_TRUE(flat->notes[0].contains("load_weights cannot place them"));
  const auto own = convert_weights(keras, {.output = folder / "own.weights.h5", .below = {}});
  ASSERT_TRUE(own) << message(own.error());
  EXPECT_TRUE(own->notes.empty());
}

TEST_F(ConvertWeights, EmptyStepsOfANameAreLeftOutWhereFilesHaveNone) {
  const Tensor numbers = Tensor::of({3}, std::vector<float>{1, -2, 3});
  const auto write = [&](const fs::path& file, std::vector<LoadedTensor> tensors) {
    std::ofstream out(file, std::ios::binary);
    return write_weights_file(file, {.tensors = std::move(tensors)}, [&](std::span<const std::byte> bytes) -> Status {
      out.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
      return {};
    });
  };
  ASSERT_TRUE(write(folder / "a.safetensors", {{"/Relu//zero_point", numbers}}));
  for (const char* name : {"a.npz", "a.weights.h5"}) {
    const auto done = convert_weights(folder / "a.safetensors", {.output = folder / name, .below = {}});
    ASSERT_TRUE(done) << message(done.error());
    EXPECT_TRUE(same_bytes(named(folder / name).at("Relu/zero_point"), numbers)) << name;
    EXPECT_TRUE(std::ranges::any_of(
        done->notes, [](const auto& note) { return note.contains("'/Relu//zero_point' is 'Relu/zero_point' there"); }));
  }
  ASSERT_TRUE(write(folder / "b.safetensors", {{"/b", numbers}, {"b", numbers}}));
  EXPECT_TRUE(refusal(convert_weights(folder / "b.safetensors", {.output = folder / "b.npz", .below = {}}))
                  .contains("two tensors are named 'b'"));
}

TEST(NameBelow, IsWhatFollowsAWholeStepOfTheName) {
  EXPECT_EQ(name_below("state_dict.module.conv.weight", "state_dict.module"), "conv.weight");
  EXPECT_EQ(name_below("state_dict.module.conv.weight", "state_dict.module."), "conv.weight");
  EXPECT_EQ(name_below("layers/dense/vars/0", "layers"), "dense/vars/0");
  EXPECT_EQ(name_below("modules.conv", "module"), std::nullopt);
  EXPECT_EQ(name_below("module", "module"), std::nullopt);
  EXPECT_EQ(name_below("module.", "module"), std::nullopt);
  EXPECT_EQ(name_below("a.b", ""), "a.b");
}

TEST_F(ConvertWeights, WhatCannotBeDoneLeavesNothingBehind) {
  EXPECT_TRUE(refusal(convert_weights(checkpoint, {.output = folder / "a.bin", .below = {}}))
                  .contains(".weights.h5, .npz or .pt"));
  EXPECT_TRUE(refusal(convert_weights(checkpoint, {.output = folder / "a.npz", .below = "no.such"}))
                  .contains("no tensor lies below"));
  EXPECT_TRUE(refusal(convert_weights("tests/data/README.md", {.output = folder / "a.npz", .below = {}}))
                  .contains("README.md"));
  EXPECT_TRUE(fs::is_empty(folder));
  ASSERT_EQ(refusal(convert_weights(checkpoint, {.output = folder / "a.npz", .below = {}})), "");
  EXPECT_TRUE(refusal(convert_weights(checkpoint, {.output = folder / "a.npz", .below = {}})).contains("exists"));
  EXPECT_EQ(refusal(convert_weights(checkpoint,
                                    {.output = folder / "a.npz", .below = {}, .plain = false, .overwrites = true})),
            "");
}

TEST_F(ConvertWeights, RealNumbersBecomeTheTypeThatIsAskedFor) {
  const fs::path wide = folder / "wide.safetensors", half = folder / "half.safetensors";
  const auto write = [&](std::vector<float> numbers) {
    WeightsFile file;
    file.tensors = {{"w", Tensor::of({2}, std::move(numbers))},
                    {"x", Tensor::of({1}, std::vector<std::int64_t>{70000})}};
    std::ofstream out(wide, std::ios::binary);
    return write_weights_file(wide, file, [&](std::span<const std::byte> bytes) -> Status {
      out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
      return {};
    });
  };
  ASSERT_TRUE(write({1, 0.1F}));
  const WeightsOptions options{.output = half, .below = {}, .plain = false, .overwrites = true, .reals = DType::F16};
  const auto done = convert_weights(wide, options);
  ASSERT_TRUE(done) << message(done.error());
  const auto of_w = std::ranges::find(done->tensors, DType::F32, &ConvertedTensor::read);
  ASSERT_NE(of_w, done->tensors.end());
  EXPECT_EQ(of_w->written, DType::F16);
  EXPECT_EQ(done->notes.front(), "1 tensors become float16, by 2.4e-05 of a tensor's largest number at most (in 'w')");
  EXPECT_EQ(named(half).at("w").doubles(), (std::vector<double>{1, 0.0999755859375}));
  EXPECT_EQ(named(half).at("x").integers(), (std::vector<std::int64_t>{70000}));

  ASSERT_TRUE(write({1, 70000}));
  const auto refused = convert_weights(wide, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(message(refused.error()),
            "wide.safetensors: 'w' holds 70000, which float16 does not reach; leave --float16 out");
}

}  // namespace
}  // namespace convoy::convert_weights_test
