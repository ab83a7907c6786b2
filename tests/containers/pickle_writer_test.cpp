#include "containers/pickle_writer.h"

#include "containers/zip.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace convoy::pickle_writer_test {
namespace {

std::string written(const std::vector<NamedTensor>& tensors) {
  std::string all;
  const auto done = write_state_dict(tensors, [&](Bytes bytes) -> Status {
    all += text_of(bytes);
    return {};
  });
  return done ? all : message(done.error());
}

TEST(StateDict, IsAZipOfOnePickleAndAlignedStorages) {
  const Tensor w = Tensor::of({2, 1}, std::vector<float>{1, 2});
  const Tensor n = Tensor::of({}, std::vector<std::int64_t>{70'000});
  auto kept = std::make_shared<std::string>(written({{"w", w}, {"tied", w}, {"n", n}}));
  const auto zip = ZipArchive::open({bytes_of(*kept), kept});
  ASSERT_TRUE(zip) << message(zip.error());
  std::vector<std::string> names;
  for (const ZipEntry& e : zip->entries()) names.push_back(e.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"archive/data.pkl", "archive/.format_version", "archive/.storage_alignment",
                                      "archive/byteorder", "archive/data/0", "archive/data/1", "archive/version"}));
  EXPECT_EQ(text_of(zip->read("archive/version")->bytes), "3\n");
  EXPECT_EQ(zip->read("archive/data/0")->bytes.size(), 8U);
  const std::string pickle(text_of(zip->read("archive/data.pkl")->bytes));
  using std::string_view_literals::operator""sv;
  const auto one_tensor =
      "X\x01\0\0\0wctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\n"
      "X\x01\0\0\0"
      "0X\x03\0\0\0cpuK\x02tQK\0(K\x02K\x01t(K\x01K\x01t\x89"
      "ccollections\nOrderedDict\n)RtR"sv;
  EXPECT_NE(pickle.find(one_tensor), std::string::npos);
  EXPECT_EQ(pickle.substr(0, 2), "\x80\x02");
  EXPECT_EQ(pickle.back(), '.');
}

TEST(StateDict, TheSameTensorsGiveTheSameBytes) {
  const Tensor w = Tensor::of({2, 1}, std::vector<float>{1, 2});
  EXPECT_EQ(written({{"w", w}}), written({{"w", w}}));
}

// As torch 2.13 writes torch.tensor([1, 2], dtype=torch.uint16): counted in bytes, the type named after the hooks.
TEST(StateDict, UnsignedNumbersLieInUntypedStorages) {
  const auto u16 = Tensor::owning(DType::U16, {2}, std::vector<std::byte>(4));
  const std::string file = written({{"a", *u16}});
  using namespace std::string_view_literals;
  const std::string_view tensor =
      "X\x01\0\0\0actorch._utils\n_rebuild_tensor_v3\n((X\x07\0\0\0storagectorch.storage\nUntypedStorage\n"
      "X\x01\0\0\0"
      "0X\x03\0\0\0cpuK\x04tQK\0(K\x02t(K\x01t\x89"
      "ccollections\nOrderedDict\n)Rctorch\nuint16\ntR"sv;
  EXPECT_NE(file.find(tensor), std::string::npos);
}

TEST(StateDict, WhatTorchCannotHoldIsRefused) {
  const Tensor w = Tensor::of({1}, std::vector<float>{1});
  EXPECT_EQ(written({{"w", w}, {"w", w}}), "two tensors named 'w'");
}

}  // namespace
}  // namespace convoy::pickle_writer_test
