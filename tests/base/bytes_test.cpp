#include "base/bytes.h"

#include "base/crc32.h"
#include "base/mapped_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

namespace convoy::bytes_test {
namespace {

TEST(ByteReader, ReadsLittleEndianNumbersOfAnyWidth) {
  ByteReader r(bytes_of(std::string_view("\x01\x02\x03\x04\x05\x06\x07", 7)));
  EXPECT_EQ(r.u8(), 1);
  EXPECT_EQ(r.number(3), 0x040302U);
  EXPECT_EQ(r.number(0), 0U);
  EXPECT_EQ(r.left(), 3);
  EXPECT_TRUE(r.ok());
}

TEST(ByteReader, TheFirstReadThatDoesNotFitFailsForGood) {
  ByteReader r(bytes_of("abcde"), 100);
  r.skip(3);
  EXPECT_EQ(r.u32(), 0U);
  EXPECT_EQ(r.u8(), 0U);
  EXPECT_FALSE(r.ok());
  EXPECT_EQ(r.failure("the count").error().what, "ends at byte 105, the count needs 4 bytes at byte 103");
}

TEST(ByteReader, NegativeAndHugeCountsDoNotMove) {
  for (const Size n : {Size{-1}, std::numeric_limits<Size>::max(), std::numeric_limits<Size>::min()}) {
    ByteReader r(bytes_of("abc"));
    EXPECT_TRUE(r.take(n).empty());
    EXPECT_FALSE(r.ok());
    EXPECT_EQ(r.at(), 0);
  }
}

TEST(Crc32, IsThatOfZipAtEveryLengthAndCanBeContinued) {
  EXPECT_EQ(crc32_of(bytes_of("123456789")), 0xCBF43926U);
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7 + 3);
  for (std::size_t n = 0; n < text.size(); ++n) {
    std::uint32_t slow = ~0U;
    for (const char c : text.substr(0, n)) {
      slow ^= static_cast<unsigned char>(c);
      for (int i = 0; i < 8; ++i) slow = (slow >> 1) ^ ((slow & 1) != 0 ? 0xEDB88320U : 0U);
    }
    EXPECT_EQ(crc32_of(bytes_of(text.substr(0, n))), ~slow) << n;
    EXPECT_EQ(crc32_of(bytes_of(text.substr(n)), crc32_of(bytes_of(text.substr(0, n)))), crc32_of(bytes_of(text)));
  }
}

class OpenFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "convoy-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::filesystem::path directory_;
};

TEST_F(OpenFile, GivesTheBytesAndNoticesAChange) {
  const auto path = directory_ / "a";
  std::ofstream(path) << "hello";
  const auto file = open_file(path);
  ASSERT_TRUE(file);
  EXPECT_EQ(text_of((*file)->bytes()), "hello");
  EXPECT_TRUE((*file)->unchanged());
  std::ofstream(path, std::ios::app) << "!";
  EXPECT_FALSE((*file)->unchanged());
}

TEST_F(OpenFile, AnEmptyFileHasNoBytes) {
  std::ofstream(directory_ / "empty").close();
  const auto file = open_file(directory_ / "empty");
  ASSERT_TRUE(file);
  EXPECT_TRUE((*file)->bytes().empty());
}

TEST_F(OpenFile, WhatIsNoRegularFileIsRefusedByItsPath) {
  const auto missing = open_file(directory_ / "missing");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().fault, Fault::Io);
  EXPECT_EQ(message(missing.error()), (directory_ / "missing").string() + ": does not exist");
  const auto folder = open_file(directory_);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().what, "is a directory, expected a file");
  const auto device = open_file("/dev/null");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().what, "is a device or a pipe, expected a regular file");
}

}  // namespace
}  // namespace convoy::bytes_test
