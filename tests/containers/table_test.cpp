// Sorted tables and what compresses their blocks, in bytes made by hand.
#include "containers/table.h"
#include "base/crc32c.h"
#include "containers/snappy.h"

#include <gtest/gtest.h>

namespace convoy::table_test {
namespace {

std::string little(std::uint32_t n) {
  std::string text;
  for (int i = 0; i < 4; ++i) text += static_cast<char>(n >> (8 * i) & 0xff);
  return text;
}

// Entries without shared beginnings; one restart.
std::string block(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string text;
  for (const auto& [key, value] : entries)
    text += std::string{'\0', static_cast<char>(key.size()), static_cast<char>(value.size())} + key + value;
  return text + little(0) + little(1);
}
std::string with_trailer(const std::string& content, char kind) {
  const std::string summed = content + kind;
  return summed + little(masked_crc32c(crc32c_of(bytes_of(summed))));
}
std::string place(std::size_t offset, std::size_t size) { return {static_cast<char>(offset), static_cast<char>(size)}; }
std::string table(const std::string& data, const std::vector<std::pair<std::string, std::string>>& index) {
  const std::string index_block = block(index);
  std::string footer = place(0, 0) + place(data.size(), index_block.size());
  footer.resize(40);
  return data + with_trailer(index_block, '\0') + footer + "\x57\xfb\x80\x8b\x24\x75\x47\xdb";
}

TEST(Crc32c, IsCastagnolis) {
  EXPECT_EQ(crc32c_of(bytes_of("123456789")), 0xe3069283U);  // the check value of RFC 3720
  EXPECT_EQ(crc32c_of({}), 0U);
}

TEST(Table, EntriesComeInTheirOrder) {
  const std::string content = block({{"a", "1"}, {"b", "22"}});
  const auto read = read_table(bytes_of(table(with_trailer(content, '\0'), {{"b", place(0, content.size())}})));
  ASSERT_TRUE(read) << message(read.error());
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ(read->at(1).key, "b");
  EXPECT_EQ(read->at(1).value, "22");
}

TEST(Table, ABlockMayBeCompressed) {
  const std::string content = block({{"a", "1"}});
  // One literal holds the whole block.
  const std::string compressed =
      std::string{static_cast<char>(content.size()), static_cast<char>((content.size() - 1) << 2)} + content;
  const auto read = read_table(bytes_of(table(with_trailer(compressed, '\1'), {{"a", place(0, compressed.size())}})));
  ASSERT_TRUE(read) << message(read.error());
  EXPECT_EQ(read->front().value, "1");
}

TEST(Table, BlocksThatOverlapOrLeaveTheFileAreRefused) {
  const std::string content = block({{"a", "1"}});
  const std::string data = with_trailer(content, '\0');
  const auto twice =
      read_table(bytes_of(table(data, {{"a", place(0, content.size())}, {"b", place(0, content.size())}})));
  ASSERT_FALSE(twice);
  EXPECT_TRUE(twice.error().what.contains("overlaps")) << twice.error().what;
  const auto outside = read_table(bytes_of(table(data, {{"a", place(100, 20)}})));
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().fault, Fault::Truncated);
}

TEST(Table, ADamagedBlockIsRefused) {
  const std::string content = block({{"a", "1"}});
  std::string data = with_trailer(content, '\0');
  data[4] = '2';
  const auto read = read_table(bytes_of(table(data, {{"a", place(0, content.size())}})));
  ASSERT_FALSE(read);
  EXPECT_TRUE(read.error().what.contains("checksum")) << read.error().what;
}

TEST(Snappy, CopiesMayOverlapThemselves) {
  const std::string bytes{'\x0a', '\x04', 'a', 'b', '\x1e', '\x02', '\x00'};  // "ab", then 8 bytes from 2 back
  const auto read = unsnap(bytes_of(bytes));
  ASSERT_TRUE(read) << message(read.error());
  EXPECT_EQ(text_of(*read), "ababababab");
}

TEST(Snappy, LengthsAndDistancesAreChecked) {
  EXPECT_FALSE(unsnap(bytes_of(std::string{'\x0a', '\x04', 'a', 'b'})));  // shorter than it says
  EXPECT_FALSE(
      unsnap(bytes_of(std::string{'\x0a', '\x04', 'a', 'b', '\x1e', '\x03', '\x00'})));  // from before the beginning
  EXPECT_FALSE(unsnap(bytes_of(std::string{'\xff', '\xff', '\xff', '\xff', '\x0f', '\x00', 'a'})));  // four gigabytes
}

}  // namespace
}  // namespace convoy::table_test
