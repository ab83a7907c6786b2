#include "containers/hdf5_write.h"
#include "support/refusal.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace convoy::hdf5_write_test {
namespace {

std::string written(const Hdf5Node& root) {
  const auto layout = Hdf5Layout::of(root);
  EXPECT_TRUE(layout) << message(layout.error());
  std::string all;
  EXPECT_TRUE(layout->write([&](Bytes bytes) -> Status {
    all += text_of(bytes);
    return {};
  }));
  EXPECT_EQ(static_cast<Size>(all.size()), layout->size());
  return all;
}

Hdf5Object opened(const std::string& bytes) {
  const auto keeper = std::make_shared<const std::string>(bytes);
  auto file = Hdf5File::open({bytes_of(*keeper), keeper});
  EXPECT_TRUE(file) << message(file.error());
  return file->root();
}

Tensor counted(DType dtype, Sizes shape) {
  std::size_t bytes = static_cast<std::size_t>(bytes_of(dtype));
  for (const Size n : shape) bytes *= static_cast<std::size_t>(n);
  std::vector<std::byte> content(bytes);
  for (std::size_t i = 0; i < bytes; ++i) content[i] = static_cast<std::byte>(dtype == DType::Bool ? i % 2 : 3 * i + 1);
  return *Tensor::owning(dtype, std::move(shape), std::move(content));
}

TEST(Hdf5Write, DatasetsOfEveryTypeAreReadBackByteForByte) {
  Hdf5Node root;
  std::vector<Tensor> all;
  for (const DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64, DType::I8, DType::I16, DType::I32,
                            DType::I64, DType::U8, DType::U16, DType::U32, DType::U64, DType::Bool}) {
    all.push_back(counted(dtype, {2, 3, 5}));
    root.dataset("types/" + std::string(name_of(dtype)), all.back());
  }
  const auto file = opened(written(root));
  for (const Tensor& tensor : all) {
    const auto back = file.dataset("types/" + std::string(name_of(tensor.dtype())));
    ASSERT_TRUE(back) << message(back.error());
    EXPECT_TRUE(same_bytes(*back, tensor)) << name_of(tensor.dtype());
  }
}

TEST(Hdf5Write, OneNumberAndNoNumberAreShapesOfTheirOwn) {
  Hdf5Node root;
  root.dataset("one", Tensor::of({}, std::vector<double>{2.5}));
  root.dataset("none", Tensor::of({0, 3}, std::vector<float>{}));
  root.group("empty");
  const auto file = opened(written(root));
  EXPECT_EQ(file.dataset("one")->shape(), Sizes{});
  EXPECT_EQ(file.dataset("one")->doubles().front(), 2.5);
  EXPECT_EQ(file.dataset("none")->shape(), (Sizes{0, 3}));
  EXPECT_TRUE(file.group("empty")->names()->empty());
}

TEST(Hdf5Write, AttributesAreStringsOfAnyLengthListsAndNumbers) {
  const std::string config(200'000, 'x');
  Hdf5Node root;
  root.set("model_config", config);
  root.set("nothing", std::string());
  root.set("layer_names", std::vector<std::string>{"conv2d_1", "größe", ""});
  root.set("weight_names", Tensor::of({0}, std::vector<double>{}));
  root.set("count", Tensor::of({}, std::vector<std::int64_t>{-5}));
  root.dataset("d", Tensor::of({1}, std::vector<float>{1})).set("dtype", std::string("float32"));
  const auto file = opened(written(root));
  EXPECT_EQ(std::get<std::string>(*file.attribute("model_config")), config);
  EXPECT_EQ(std::get<std::string>(*file.attribute("nothing")), "");
  EXPECT_EQ(std::get<std::vector<std::string>>(*file.attribute("layer_names")),
            (std::vector<std::string>{"conv2d_1", "größe", ""}));
  EXPECT_EQ(std::get<Tensor>(*file.attribute("weight_names")).shape(), Sizes{0});
  EXPECT_EQ(std::get<Tensor>(*file.attribute("count")).integers().front(), -5);
  EXPECT_EQ(std::get<std::string>(*file.open("d")->attribute("dtype")), "float32");
}

// 8 names fill a node of symbols, 32 of those a node of the tree, 32 of those one of the level above.
TEST(Hdf5Write, AGroupHoldsAsManyChildrenAsItIsGiven) {
  for (const int count : {7, 8, 9, 256, 257, 9000}) {
    Hdf5Node root;
    for (int i = 0; i < count; ++i)
      root.dataset("many/" + std::to_string(i), Tensor::of({1}, std::vector<std::int64_t>{i}));
    const auto file = opened(written(root));
    const auto names = file.group("many")->names();
    ASSERT_TRUE(names) << message(names.error());
    EXPECT_EQ(names->size(), static_cast<std::size_t>(count));
    for (const int i : {0, count / 2, count - 1})
      EXPECT_EQ(file.dataset("many/" + std::to_string(i))->integers().front(), i);
    EXPECT_FALSE(file.has("many/" + std::to_string(count)));
  }
}

TEST(Hdf5Write, TheSameDocumentGivesTheSameBytesInAnyOrder) {
  Hdf5Node one, other;
  one.dataset("a", counted(DType::F32, {3}));
  one.dataset("b/c", counted(DType::I8, {5}));
  other.dataset("b/c", counted(DType::I8, {5}));
  other.dataset("a", counted(DType::F32, {3}));
  EXPECT_EQ(written(one), written(other));
}

TEST(Hdf5Write, WhatCannotBeWrittenIsRefusedWithItsPlace) {
  Hdf5Node unnamed;
  unnamed.group("a//b");
  EXPECT_EQ(refusal(Hdf5Layout::of(unnamed)), "'a': '' is no name that HDF5 takes");
  Hdf5Node zero;
  zero.group("a").set("text", std::string("x\0y", 3));
  EXPECT_EQ(refusal(Hdf5Layout::of(zero)), "'a': attribute 'text': the string has a zero byte in it");
  Hdf5Node large;
  large.group("a").set("list", std::vector<std::string>(7000, "0123456789"));
  EXPECT_EQ(refusal(Hdf5Layout::of(large)), "'a': attribute 'list' takes 70040 bytes, the limit is 65528");
}

}  // namespace
}  // namespace convoy::hdf5_write_test
