#include "containers/npy.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace convoy::npy_test {
namespace {

Blob blob_of(const std::string& text) {
  auto kept = std::make_shared<std::string>(text);
  return {bytes_of(*kept), kept};
}

std::string npy(const std::string& dictionary, const std::string& data) {
  std::string text = dictionary;
  text.append((64 - (10 + text.size() + 1) % 64) % 64, ' ');
  text += '\n';
  std::string head("\x93NUMPY\x01\x00", 8);
  head += static_cast<char>(text.size() & 0xFF);
  head += static_cast<char>(text.size() >> 8);
  return head + text + data;
}

std::string written(const Tensor& t) {
  std::string all;
  const auto done = write_npy(t, [&](Bytes bytes) -> Status {
    all += text_of(bytes);
    return {};
  });
  EXPECT_TRUE(done);
  return all;
}

TEST(Npy, WhatIsWrittenReadsBackTheSame) {
  const Tensor t = Tensor::of({2, 1, 3}, std::vector<float>{1, -2, 3.5F, 0, 1e-30F, 7});
  const std::string file = written(t);
  EXPECT_EQ((file.size() - 24) % 64, 0u);
  const auto back = read_npy(blob_of(file));
  ASSERT_TRUE(back) << message(back.error());
  EXPECT_TRUE(same_bytes(*back, t));
}

TEST(Npy, FortranOrderIsReadByItsAxes) {
  // numpy.asfortranarray([[1, 2, 3], [4, 5, 6]], dtype='u1')
  const auto t =
      read_npy(blob_of(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", "\x01\x04\x02\x05\x03\x06")));
  ASSERT_TRUE(t) << message(t.error());
  EXPECT_EQ(t->shape(), (Sizes{2, 3}));
  EXPECT_EQ(t->integers(), (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, BigEndianNumbersAreTurned) {
  const auto t = read_npy(
      blob_of(npy("{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }", std::string("\x00\x05\x01\x00", 4))));
  ASSERT_TRUE(t) << message(t.error());
  EXPECT_EQ(t->integers(), (std::vector<std::int64_t>{5, 256}));
}

TEST(Npy, EveryTruncationIsRefused) {
  const std::string file = written(Tensor::of({3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6}));
  for (std::size_t n = 0; n < file.size(); ++n) EXPECT_FALSE(read_npy(blob_of(file.substr(0, n)))) << n;
  EXPECT_FALSE(read_npy(blob_of(file + "x")));
}

TEST(Npy, ObjectsAndHostileShapesAreRefused) {
  EXPECT_FALSE(read_npy(blob_of(npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "x"))));
  EXPECT_FALSE(
      read_npy(blob_of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387905,), }", "abcd"))));
  EXPECT_FALSE(read_npy(blob_of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "abcd"))));
  EXPECT_FALSE(read_npy(blob_of(npy("{'descr': '<f4', 'shape': (1,), }", "abcd"))));
  EXPECT_FALSE(read_npy(blob_of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}", "abcd"))));
}

}  // namespace
}  // namespace convoy::npy_test
