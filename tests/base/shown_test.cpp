// Names that files and attackers chose, as a terminal gets them. Bytes of UTF-8: RFC 3629.
#include "base/shown.h"

#include <gtest/gtest.h>

#include <string>

namespace convoy::shown_test {
namespace {

using namespace std::string_literals;

TEST(Shown, WritesOutWhatWouldSteerATerminal) {
  const std::pair<std::string, std::string> rows[] = {
      {"conv_1/größe 层 😀", "conv_1/größe 层 😀"},
      {"a\x1b[31mb\x07", "a\\x1b[31mb\\x07"},
      {"a\nb\tc\r", "a\\nb\\tc\\r"},
      {"nul\0in"s, "nul\\x00in"},
      {"\x7f\xc2\x9b", "\\x7f\\x9b"},                    // delete, and the one byte that begins a sequence
      {"left\xe2\x80\xaeright", "left\\u202eright"},    // turned round
      {"w\xff\xfe", "w\\xff\\xfe"},                      // no UTF-8
      {"cut\xe5\xb1", "cut\\xe5\\xb1"},                  // its last byte is missing
      {"\xc0\xaf|\xed\xa0\x80", "\\xc0\\xaf|\\xed\\xa0\\x80"},  // longer than it need be; half of a pair
      {"", ""}};
  for (const auto& [text, wanted] : rows) EXPECT_EQ(shown(text), wanted);
}

TEST(Shown, KeepsEndsOfLinesWhereTheyAreOurs) {
  EXPECT_EQ(shown_lines("a\nb\x1b"), "a\nb\\x1b");
  EXPECT_EQ(shown_sentence("is broken\n    x = 1\nconvoy: fine"), "is broken\n    x = 1\\nconvoy: fine");
}

TEST(Shown, KnowsUtf8) {
  for (const char* text : {"", "plain", "größe", "层", "😀"}) EXPECT_TRUE(is_utf8(text)) << text;
  for (const char* text : {"\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\x80"})
    EXPECT_FALSE(is_utf8(text));
}

}  // namespace
}  // namespace convoy::shown_test
