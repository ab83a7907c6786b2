// Pickles as data: every kind of value, what is called but never runs, and streams that lie.
#include "containers/pickle.h"

#include "base/budget.h"

#include <gtest/gtest.h>

namespace convoy::pickle_test {
namespace {

Result<Pickle> parse(std::string_view text) { return Pickle::parse(bytes_of(text)); }

// pickle.dumps([1, -2, 300, 2.5, "ab", b"c", True, None, (3, 4), {"k": 5}], 2), written out by hand.
TEST(Pickle, HoldsEveryKindOfValue) {
  using namespace std::string_view_literals;
  const auto pickle = parse(
      "\x80\x02](K\x01J\xfe\xff\xff\xffM\x2c\x01G\x40\x04\0\0\0\0\0\0X\x02\0\0\0ab"
      "C\x01"
      "c\x88NK\x03K\x04\x86}X\x01\0\0\0kK\x05se."sv);
  ASSERT_TRUE(pickle) << message(pickle.error());
  const auto& items = (*pickle)[pickle->root()].items;
  ASSERT_EQ(items.size(), 10U);
  EXPECT_EQ((*pickle)[items[0]].integer, 1);
  EXPECT_EQ((*pickle)[items[1]].integer, -2);
  EXPECT_EQ((*pickle)[items[2]].integer, 300);
  EXPECT_EQ((*pickle)[items[3]].number, 2.5);
  EXPECT_EQ((*pickle)[items[4]].text, "ab");
  EXPECT_TRUE(pickle->is(items[5], PickleKind::ByteText));
  EXPECT_TRUE(pickle->is(items[6], PickleKind::Bool));
  EXPECT_TRUE(pickle->is(items[7], PickleKind::None));
  EXPECT_EQ((*pickle)[items[8]].items.size(), 2U);
  EXPECT_EQ((*pickle)[pickle->at(items[9], "k")].integer, 5);
}

TEST(Pickle, KeepsACallWithoutMakingIt) {
  const auto pickle = parse("cos\nsystem\n(S'echo harm'\ntR.");
  ASSERT_TRUE(pickle) << message(pickle.error());
  const PickleValue& call = (*pickle)[pickle->root()];
  EXPECT_EQ(call.kind, PickleKind::Call);
  EXPECT_EQ(pickle->global(call.callee), "os system");
}

TEST(Pickle, ReadsLongNumbersOfEitherSign) {
  using namespace std::string_view_literals;
  EXPECT_EQ(parse("\x80\x02\x8a\x01\xff."sv).value()[PickleId{0}].integer, -1);
  EXPECT_EQ(parse("\x80\x02\x8a\x02\xff\0."sv).value()[PickleId{0}].integer, 255);
  EXPECT_EQ(parse("\x80\x02\x8a\0."sv).value()[PickleId{0}].integer, 0);
}

TEST(Pickle, SaysHowFarItWent) { EXPECT_EQ(parse("K\x01.K\x02.").value().length(), 3); }

TEST(Pickle, RefusesWhatDoesNotFit) {
  using namespace std::string_view_literals;
  for (const auto text :
       {""sv, "."sv, "t."sv, "a."sv, "K\x01s."sv, "]K\x01s."sv, "h\x05."sv, "R."sv, "\x80\x09N."sv, "\xff."sv,
        "X\xff\xff\xff\x7f"
        "a."sv,
        "\x8d\xff\xff\xff\xff\xff\xff\xff\xff."sv, "(K\x01R."sv, "I12x\n."sv, "Vno end"sv})
    EXPECT_FALSE(parse(text)) << text;
  // What lies below a mark belongs to the outside.
  EXPECT_FALSE(parse("K\x01(\x85."sv));
}

TEST(Pickle, RefusesMoreValuesThanItIsGranted) {
  budget::begin(Size{64} << 20);
  const auto pickle = parse(std::string(4'000'001, 'N'));
  budget::end();
  ASSERT_FALSE(pickle);
  EXPECT_EQ(pickle.error().fault, Fault::Budget);
}

}  // namespace
}  // namespace convoy::pickle_test
