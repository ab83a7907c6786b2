#include "containers/safetensors.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace convoy::safetensors_test {
namespace {

Blob blob_of(const std::string& text) {
  auto kept = std::make_shared<std::string>(text);
  return {bytes_of(*kept), kept};
}

std::string file_of_header(const std::string& header, const std::string& data) {
  std::string length;
  for (int i = 0; i < 8; ++i) length += static_cast<char>(header.size() >> (8 * i));
  return length + header + data;
}

std::string written(std::vector<NamedTensor> tensors) {
  std::string all;
  EXPECT_TRUE(write_safetensors(std::move(tensors), {{"format", "pt"}}, [&](Bytes bytes) -> Status {
    all += text_of(bytes);
    return {};
  }));
  return all;
}

TEST(Safetensors, WhatIsWrittenReadsBackTheSame) {
  const Tensor a = Tensor::of({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  const Tensor n = Tensor::of({}, std::vector<std::int64_t>{7});
  const std::string file = written({{"conv.weight", a}, {"norm.num_batches_tracked", n}});
  const auto back = read_safetensors(blob_of(file));
  ASSERT_TRUE(back) << message(back.error());
  ASSERT_EQ(back->size(), 2u);
  EXPECT_EQ((*back)[0].name, "norm.num_batches_tracked");  // wider numbers first keep every tensor aligned
  EXPECT_TRUE(same_bytes((*back)[0].tensor, n));
  EXPECT_TRUE(same_bytes((*back)[1].tensor, a));
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const std::string file = written({{"w", Tensor::of({3}, std::vector<float>{1, 2, 3})}});
  for (std::size_t n = 0; n < file.size(); ++n) EXPECT_FALSE(read_safetensors(blob_of(file.substr(0, n)))) << n;
}

TEST(Safetensors, TheTensorsMustCoverTheBufferExactlyOnce) {
  const auto refused = [](const std::string& header, const std::string& data) {
    return !read_safetensors(blob_of(file_of_header(header, data)));
  };
  EXPECT_TRUE(refused(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "abc"));   // a gap behind
  EXPECT_TRUE(refused(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})", "abc"));   // a gap in front
  EXPECT_TRUE(refused(
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
      "abc"));
  EXPECT_TRUE(refused(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,2]}})", "ab"));
  EXPECT_TRUE(refused(R"({"a":{"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]}})", "abcd"));
  EXPECT_FALSE(refused(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "ab"));
}

}  // namespace
}  // namespace convoy::safetensors_test
