// Protocol buffers byte by byte, written out by hand from the encoding's own description.
#include "containers/proto.h"

#include <gtest/gtest.h>

namespace convoy::proto_test {
namespace {

Result<std::vector<ProtoField>> fields(std::string_view text) {
  std::vector<ProtoField> all;
  auto done = each_field(bytes_of(text), [&](const ProtoField& field) -> Status {
    all.push_back(field);
    return {};
  });
  if (!done) return pass(done);
  return all;
}

TEST(Proto, FieldsComeInOrderWithTheirKinds) {
  using namespace std::string_view_literals;
  const auto all = fields("\x08\x96\x01\x12\x02hi\x1d\x00\x00\x80\x3f"sv);
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 3U);
  EXPECT_EQ((*all)[0].integer(), 150);
  EXPECT_EQ((*all)[1].text(), "hi");
  EXPECT_EQ((*all)[2].real(), 1.0F);
}

TEST(Proto, PackedAndSingleNumbersAreTheSameList) {
  std::vector<std::int64_t> numbers;
  for (const char* text : {"\x0a\x03\x01\x96\x01", "\x08\x07"}) {
    const auto all = fields(text);
    ASSERT_TRUE(all);
    for (const ProtoField& field : *all) EXPECT_TRUE(add_integers(field, numbers));
  }
  EXPECT_EQ(numbers, (std::vector<std::int64_t>{1, 150, 7}));
}

TEST(Proto, WhatLeavesTheMessageIsRefused) {
  EXPECT_EQ(fields("\x12\x05hi").error().fault, Fault::Truncated);
  EXPECT_EQ(fields("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").error().fault, Fault::Format);
  EXPECT_EQ(fields("\x0b").error().fault, Fault::Format);  // a group
  EXPECT_FALSE(fields("\x08"));
}

}  // namespace
}  // namespace convoy::proto_test
