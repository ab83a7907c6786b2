// Files that h5py wrote in the oldest and in the newest layout (tests/data/containers/make_hdf5.py), and what
// becomes of them when they are cut or damaged.
#include "containers/hdf5.h"

#include "base/mapped_file.h"
#include "support/files.h"

#include <gtest/gtest.h>

#include <ctime>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace convoy::hdf5_test {
namespace {

Result<Hdf5File> open(const std::string& bytes) {
  auto kept = std::make_shared<std::string>(bytes);
  return Hdf5File::open({bytes_of(*kept), kept});
}

// Asks for everything a file holds; a damaged one must answer with errors.
void read_all(const Hdf5Object& object, int& left) {
  if (--left < 0) return;
  if (const auto names = object.attribute_names()) {
    for (const auto& name : *names) (void)object.attribute(name);
  }
  if (object.is_dataset()) {
    (void)object.value();
    return;
  }
  const auto names = object.names();
  if (!names) return;
  for (const auto& name : *names) {
    if (const auto child = object.open(name)) read_all(*child, left);
  }
}

class Hdf5 : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    bytes_ = content_of("tests/data/containers/" + GetParam());
    ASSERT_FALSE(bytes_.empty());
    auto file = open(bytes_);
    ASSERT_TRUE(file) << message(file.error());
    root_ = file->root();
  }
  std::string refusal(const std::string& path) const {
    const auto tensor = root_.dataset(path);
    return tensor ? "" : message(tensor.error());
  }
  std::string bytes_;
  Hdf5Object root_;
};

TEST_P(Hdf5, EveryLayoutOfTheSameNumbersReadsTheSame) {
  std::vector<double> expected;
  for (int i = 0; i < 35; ++i) expected.push_back(i);
  for (const std::string name :
       {"plain", "big_endian", "half", "bfloat16", "chunked", "packed", "one_chunk", "growing", "compact"}) {
    const auto tensor = root_.dataset(name);
    ASSERT_TRUE(tensor) << message(tensor.error());
    EXPECT_EQ(tensor->shape(), (Sizes{5, 7})) << name;
    EXPECT_EQ(tensor->doubles(), expected) << name;
  }
  EXPECT_EQ(root_.dataset("big_endian")->dtype(), DType::F64);
  EXPECT_EQ(root_.dataset("half")->dtype(), DType::F16);
  EXPECT_EQ(root_.dataset("bfloat16")->dtype(), DType::BF16);
  EXPECT_EQ(root_.dataset("truth")->dtype(), DType::Bool);
  EXPECT_EQ(root_.dataset("truth")->integers()[17], 1);
  EXPECT_EQ(root_.dataset("scalar")->integers(), std::vector<std::int64_t>{-3});
  EXPECT_EQ(root_.dataset("empty")->shape(), (Sizes{0, 4}));
  const auto paged = root_.dataset("paged");
  ASSERT_TRUE(paged) << message(paged.error());
  for (std::size_t i = 0; i < 1100; ++i) ASSERT_EQ(paged->integers()[i], static_cast<std::int8_t>(i));
}

TEST_P(Hdf5, AttributesAreTextsListsOrNumbers) {
  std::string expected;
  for (int i = 0; i < 200; ++i) expected += "héllo ";
  using Texts = std::vector<std::string>;
  EXPECT_EQ(std::get<std::string>(*root_.attribute("long")), expected);
  EXPECT_EQ(std::get<std::string>(*root_.attribute("fixed")), "abc");
  EXPECT_EQ(std::get<Texts>(*root_.attribute("names")), (Texts{"a", "bcd"}));
  EXPECT_EQ(std::get<Texts>(*root_.attribute("long_names")), (Texts{"k", "", "lm"}));
  EXPECT_EQ(std::get<Tensor>(*root_.attribute("no_names")).count(), 0);
  EXPECT_EQ(std::get<Tensor>(*root_.attribute("number")).integers(), std::vector<std::int64_t>{5});
  EXPECT_FALSE(root_.has_attribute("missing"));
  EXPECT_EQ(message(root_.attribute("missing").error()), "the root group: has no attribute 'missing'");
  EXPECT_EQ(std::get<Texts>(*root_.open("strings")->value()), (Texts{"x", "yé"}));
}

TEST_P(Hdf5, AGroupThatRecordsItsOrderKeepsItAndManyAttributesAreFound) {
  const auto many = root_.group("many");
  ASSERT_TRUE(many) << message(many.error());
  const auto names = many->names();
  ASSERT_TRUE(names) << message(names.error());
  ASSERT_EQ(names->size(), 40U);
  EXPECT_EQ(names->front(), "layer_39");
  EXPECT_EQ(names->back(), "layer_0");
  for (Size i = 0; i < 40; ++i) {
    const auto value = many->attribute("a" + std::to_string(i));
    ASSERT_TRUE(value) << message(value.error());
    EXPECT_EQ(std::get<Tensor>(*value).count(), i);
  }
}

TEST_P(Hdf5, WhatIsNotReadIsRefusedByName) {
  EXPECT_NE(refusal("lzf").find("filter lzf; deflate, shuffle and fletcher32 are read"), std::string::npos);
  EXPECT_NE(refusal("compound").find("elements are compounds"), std::string::npos);
  EXPECT_NE(refusal("soft").find("member 'soft' is a soft link to '/plain'; links are not followed"),
            std::string::npos);
  EXPECT_NE(refusal("external").find("member 'external' is an external link"), std::string::npos);
  EXPECT_EQ(refusal("many/nothing"), "'many': has no member 'nothing'");
  EXPECT_EQ(refusal("many"), "'many': is not a dataset");
  EXPECT_EQ(refusal("plain/x"), "'plain': is a dataset, expected a group");
  EXPECT_FALSE(root_.has("nothing"));
  EXPECT_TRUE(root_.has("many/layer_7"));
}

TEST_P(Hdf5, ContiguousNumbersAreViewsOfTheFile) {
  auto kept = std::make_shared<std::string>(bytes_);
  const auto file = Hdf5File::open({bytes_of(*kept), kept});
  const auto tensor = file->root().dataset("plain");
  ASSERT_TRUE(tensor);
  const auto* at = reinterpret_cast<const char*>(tensor->bytes().data());
  EXPECT_TRUE(at >= kept->data() && at < kept->data() + kept->size());
}

TEST_P(Hdf5, AFileCutAnywhereIsRefused) {
  auto kept = std::make_shared<std::string>(bytes_);
  for (std::size_t n = 0; n < bytes_.size(); ++n) {
    const auto file = Hdf5File::open({bytes_of(*kept).first(n), kept});
    ASSERT_FALSE(file) << n;
    EXPECT_TRUE(file.error().fault == Fault::Truncated || file.error().fault == Fault::Format) << n;
  }
}

TEST_P(Hdf5, DamagedFilesAnswerQuickly) {
  constexpr std::uint64_t extremes[] = {0,
                                        1,
                                        16,
                                        24,
                                        0x7FFFFFFF,
                                        0x80000000,
                                        0xFFFFFFFF,
                                        std::uint64_t{1} << 62,
                                        ~std::uint64_t{0} >> 1,
                                        std::uint64_t{1} << 63,
                                        ~std::uint64_t{0}};
  std::mt19937_64 random(7);
  for (int i = 0; i < 1500; ++i) {
    std::string damaged = bytes_;
    std::size_t at = random() % damaged.size();
    if (i % 3 == 0) {
      damaged[at] ^= static_cast<char>(1 << random() % 8);
    } else {  // a hostile length, or an address of something else
      const std::uint64_t value = i % 3 == 1 ? extremes[random() % std::size(extremes)] : random() % damaged.size();
      at &= ~std::size_t{3};
      for (std::size_t b = 0; b < 8 && at + b < damaged.size(); ++b)
        damaged[at + b] = static_cast<char>(value >> 8 * b);
    }
    const auto start = std::clock();
    int objects = 500;
    if (const auto file = open(damaged)) read_all(file->root(), objects);
    EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 5.0) << i;  // 1 s without sanitizers
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, Hdf5, testing::Values("old.h5", "new.h5"),
                         [](const auto& layout) { return layout.param.substr(0, 3); });

TEST(Hdf5Open, WhatIsNoHdf5IsSaid) {
  EXPECT_EQ(message(open("hello").error()), "no HDF5 signature in 5 bytes");
  EXPECT_FALSE(open(""));
  EXPECT_FALSE(Hdf5File::begins({}));
}

}  // namespace
}  // namespace convoy::hdf5_test
