#include "containers/json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace convoy::json_test {
namespace {

std::string failure(std::string_view text) {
  const auto json = parse_json(text);
  return json ? "" : message(json.error());
}

TEST(Json, KeepsTheOrderOfKeysAndTheKindsOfNumbers) {
  const auto json = parse_json(
      R"({"z": [1, -2, 9223372036854775807, 18446744073709551615, 1.5, 1e3], "a": {"b": null, "c": [true, false, {}, []]}})");
  ASSERT_TRUE(json);
  EXPECT_EQ(json->begin().key(), "z");
  const Json& z = (*json)["z"];
  EXPECT_EQ(z[2].get<std::int64_t>(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(z[3].get<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_TRUE(z[0].is_number_integer());
  EXPECT_TRUE(z[4].is_number_float());
  EXPECT_TRUE(z[5].is_number_float());
  EXPECT_EQ(
      json->dump(),
      R"({"z":[1,-2,9223372036854775807,18446744073709551615,1.5,1000.0],"a":{"b":null,"c":[true,false,{},[]]}})");
}

TEST(Json, PythonsWordsForWhatIsNoNumberAreNumbers) {
  const auto json = parse_json("[NaN, Infinity, -Infinity]");
  ASSERT_TRUE(json);
  EXPECT_TRUE(std::isnan((*json)[0].get<double>()));
  EXPECT_EQ((*json)[1].get<double>(), std::numeric_limits<double>::infinity());
  EXPECT_EQ((*json)[2].get<double>(), -std::numeric_limits<double>::infinity());
}

TEST(Json, EscapesBecomeUtf8) {
  const auto json = parse_json(R"(["\u00e9\u20ac\ud83d\ude00\n\/\"", "é€"])");
  ASSERT_TRUE(json);
  EXPECT_EQ((*json)[0].get<std::string>(), "é€😀\n/\"");
  EXPECT_EQ((*json)[1].get<std::string>(), "é€");
}

TEST(Json, EveryMistakeIsNamedWithLineAndColumn) {
  EXPECT_EQ(failure("{\"a\": 1,\n \"a\": 2}"), "line 1, column 1: key 'a' occurs twice in the object");
  EXPECT_EQ(failure("[1,\n 2 3]"), "line 2, column 4: ',' or ']' is expected");
  EXPECT_EQ(failure("{\"a\" 1}"), "line 1, column 6: ':' is expected");
  EXPECT_EQ(failure("{a: 1}"), "line 1, column 2: a key in quotes is expected");
  EXPECT_EQ(failure("[01]"), "line 1, column 2: a number begins with 0");
  EXPECT_EQ(failure("[1e999]"), "line 1, column 2: number 1e999 is outside the range of a double");
  EXPECT_EQ(failure("[\"\\ud800\"]"), "line 1, column 3: first half of a surrogate pair without the second");
  EXPECT_EQ(failure("[\"\\udc00\"]"), "line 1, column 3: second half of a surrogate pair without the first");
  EXPECT_EQ(failure("[\"\xC0\x80\"]"), "line 1, column 3: a string is not UTF-8");
  EXPECT_EQ(failure("[\"\xED\xA0\x80\"]"), "line 1, column 3: a string is not UTF-8");
  EXPECT_EQ(failure("[\"a\nb\"]"), "line 1, column 4: a control character stands in a string");
  EXPECT_EQ(failure("[1] x"), "line 1, column 5: text after the end of the value");
  EXPECT_EQ(failure("[1,]"), "line 1, column 4: a value is expected");
  EXPECT_EQ(failure("[nul]"), "line 1, column 2: a value is expected");
}

TEST(Json, NestingHasALimit) {
  EXPECT_TRUE(parse_json(std::string(512, '[') + "1" + std::string(512, ']')));
  EXPECT_EQ(failure(std::string(513, '[')), "line 1, column 513: nested deeper than 512");
  EXPECT_FALSE(parse_json(std::string(1 << 20, '[')));
}

TEST(Json, AFileCutAnywhereIsTruncated) {
  const std::string text =
      R"({"name": "cé\u00e9\ud83d\ude00", "n": [1.5, -12, 1e5, true, null, NaN, -Infinity], "o": {"p": []}})";
  ASSERT_TRUE(parse_json(text));
  for (std::size_t n = 0; n < text.size(); ++n) {
    const auto json = parse_json(std::string_view(text).substr(0, n));
    ASSERT_FALSE(json) << n;
    EXPECT_TRUE(json.error().fault == Fault::Truncated || json.error().fault == Fault::Format) << n;
  }
}

TEST(Json, ManyKeysInOneObjectAreCheckedQuickly) {
  std::string text = "{";
  for (int i = 0; i < 100'000; ++i) text += "\"" + std::to_string(i) + "\":0,";
  EXPECT_TRUE(parse_json(text + "\"x\":0}"));
  EXPECT_FALSE(parse_json(text + "\"77777\":0}"));
}

}  // namespace
}  // namespace convoy::json_test
