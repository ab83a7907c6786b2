#include "containers/zip.h"

#include "base/crc32.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <string>
#include <vector>

namespace convoy::zip_test {
namespace {

std::string little(std::uint64_t value, int width) {
  std::string text;
  for (int i = 0; i < width; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

std::string deflated(const std::string& text) {
  std::string out(text.size() + 100, '\0');
  z_stream s{};
  deflateInit2(&s, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY);
  s.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  s.avail_in = static_cast<uInt>(text.size());
  s.next_out = reinterpret_cast<Bytef*>(out.data());
  s.avail_out = static_cast<uInt>(out.size());
  deflate(&s, Z_FINISH);
  out.resize(s.total_out);
  deflateEnd(&s);
  return out;
}

// One member as a hand-made archive says it; every field can lie.
struct Member {
  std::string name, content;
  bool deflate = false;
  bool descriptor = false;
  std::uint64_t flags = 0, attributes = 0, made_by = 20;
  std::string local_name;  // empty: the same
  std::int64_t claimed = -1;
  std::uint32_t crc_flip = 0;
};

struct Made {
  std::string body, directory;
  int count = 0;

  void add(const Member& m) {
    const std::string stored = m.deflate ? deflated(m.content) : m.content;
    const auto crc = crc32_of(bytes_of(m.content)) ^ m.crc_flip;
    const auto size = m.claimed < 0 ? m.content.size() : static_cast<std::uint64_t>(m.claimed);
    const std::string method = little(m.deflate ? 8 : 0, 2), flags = little(m.flags | (m.descriptor ? 8 : 0), 2);
    const std::string sizes = little(crc, 4) + little(stored.size(), 4) + little(size, 4);
    const std::string local = m.local_name.empty() ? m.name : m.local_name;
    directory += little(0x02014B50, 4) + little(m.made_by, 2) + little(20, 2) + flags + method + little(0, 4) + sizes +
                 little(m.name.size(), 2) + little(0, 8) + little(m.attributes, 4) + little(body.size(), 4) + m.name;
    body += little(0x04034B50, 4) + little(20, 2) + flags + method + little(0, 4) +
            (m.descriptor ? std::string(12, '\0') : sizes) + little(local.size(), 2) + little(0, 2) + local + stored;
    if (m.descriptor) body += little(0x08074B50, 4) + sizes;
    ++count;
  }
  std::string bytes(const std::string& hidden = "") const {
    return body + hidden + directory + little(0x06054B50, 4) + little(0, 4) + little(static_cast<unsigned>(count), 2) +
           little(static_cast<unsigned>(count), 2) + little(directory.size(), 4) +
           little(body.size() + hidden.size(), 4) + little(0, 2);
  }
};

Result<ZipArchive> open(const std::string& bytes) {
  auto kept = std::make_shared<std::string>(bytes);
  return ZipArchive::open({bytes_of(*kept), kept});
}

std::string refusal(const Member& m) {
  Made made;
  made.add(m);
  const auto zip = open(made.bytes());
  return zip ? "" : message(zip.error());
}

std::string written() {
  std::string all;
  ZipWriter writer([&](Bytes bytes) -> Status {
    all += text_of(bytes);
    return {};
  });
  EXPECT_TRUE(writer.add("archive/data.pkl", bytes_of("hello")));
  EXPECT_TRUE(writer.add("archive/data/0", bytes_of(std::string(1000, 'x'))));
  EXPECT_TRUE(writer.add("archive/empty", {}));
  EXPECT_TRUE(writer.finish());
  return all;
}

TEST(Zip, WhatIsWrittenIsReadAsViewsAtMultiplesOf64) {
  const auto zip = open(written());
  ASSERT_TRUE(zip) << message(zip.error());
  ASSERT_EQ(zip->entries().size(), 3U);
  for (const ZipEntry& e : zip->entries()) EXPECT_EQ(e.at % 64, 0);
  EXPECT_EQ(text_of(zip->read("archive/data.pkl")->bytes), "hello");
  EXPECT_EQ(zip->read("archive/data/0")->bytes.size(), 1000U);
  EXPECT_EQ(written(), written());
}

TEST(Zip, AStreamedMemberIsWrittenWithoutGoingBack) {
  std::string all;
  ZipWriter writer([&](Bytes bytes) -> Status {
    all += text_of(bytes);
    return {};
  });
  const Bytes parts[] = {bytes_of("two "), bytes_of("parts")};
  EXPECT_TRUE(writer.add_parts("parts", parts));
  EXPECT_TRUE(writer.add_stream("streamed", 11, [](const ZipWriter::Append& append) -> Status {
    if (auto done = append(bytes_of("hello ")); !done) return done;
    return append(bytes_of("world"));
  }));
  EXPECT_TRUE(writer.add("after", bytes_of("it")));
  EXPECT_TRUE(writer.finish());
  const auto zip = open(all);
  ASSERT_TRUE(zip) << message(zip.error());
  EXPECT_EQ(text_of(zip->read("parts")->bytes), "two parts");
  EXPECT_EQ(text_of(zip->read("streamed")->bytes), "hello world");
  EXPECT_EQ(text_of(zip->read("after")->bytes), "it");
  EXPECT_EQ(zip->find("streamed")->at % 64, 0);

  const auto short_one =
      writer.add_stream("less", 3, [](const ZipWriter::Append& append) { return append(bytes_of("ab")); });
  ASSERT_FALSE(short_one);
  EXPECT_EQ(message(short_one.error()), "member 'less' was to have 3 bytes and has 2");
}

TEST(Zip, DeflatedMembersAndDescriptorsAndDirectoriesAreRead) {
  Made made;
  made.add({.name = "dir/"});
  made.add({.name = "dir/a", .content = std::string(5000, 'a') + "b", .deflate = true, .descriptor = true});
  made.add({.name = "b", .content = "stored", .descriptor = true});
  const auto zip = open(made.bytes());
  ASSERT_TRUE(zip) << message(zip.error());
  EXPECT_EQ(zip->entries().size(), 2U);
  EXPECT_EQ(text_of(zip->read("dir/a")->bytes), std::string(5000, 'a') + "b");
  EXPECT_EQ(text_of(zip->read("b")->bytes), "stored");
  EXPECT_EQ(message(zip->read("c").error()), "has no member 'c'");
}

TEST(Zip, NamesThatCouldLeaveADirectoryAreRefused) {
  for (const std::string name : {"../x", "a/../../x", "/x", "a\\x", "C:x", "a//x", "./x", ".."}) {
    Made made;
    made.add({.name = name, .content = "x"});
    const auto zip = open(made.bytes());
    ASSERT_FALSE(zip) << name;
    EXPECT_EQ(zip.error().fault, Fault::UnsafePath) << name;
  }
  EXPECT_EQ(refusal({.name = "x", .content = "/etc/passwd", .attributes = 0xA1FF0000, .made_by = 0x0314}),
            "at byte 42: member 'x' is a symbolic link");
}

TEST(Zip, WhatTwoReadersCouldSeeDifferentlyIsRefused) {
  EXPECT_NE(refusal({.name = "a", .content = "x", .local_name = "b"}).find("is named 'b' in its local header"),
            std::string::npos);
  EXPECT_NE(refusal({.name = "a", .content = "x", .flags = 1}).find("is encrypted"), std::string::npos);
  EXPECT_NE(refusal({.name = "a", .content = "xy", .claimed = 3}).find("has two sizes"), std::string::npos);

  Made twice;
  twice.add({.name = "a", .content = "1"});
  twice.add({.name = "a", .content = "2"});
  EXPECT_EQ(message(open(twice.bytes()).error()), "member 'a' occurs twice");

  Made one;
  one.add({.name = "a", .content = "1"});
  EXPECT_NE(message(open(one.bytes("hidden")).error()).find("6 bytes that belong to no member"), std::string::npos);
  EXPECT_FALSE(open("x" + one.bytes()));
  EXPECT_FALSE(open(one.bytes() + "x"));

  Made overlapping;
  overlapping.add({.name = "a", .content = "1"});
  overlapping.directory += overlapping.directory;
  overlapping.count = 2;
  EXPECT_FALSE(open(overlapping.bytes()));
}

TEST(Zip, ContentIsHeldToItsSizeAndCrc) {
  Made wrong;
  wrong.add({.name = "a", .content = "1", .crc_flip = 4});
  const auto zip = open(wrong.bytes());
  ASSERT_TRUE(zip);
  EXPECT_EQ(message(zip->read("a").error()), "member 'a' at byte 31: does not have the CRC it declares");

  for (const std::int64_t claimed : {4999, 5001}) {
    Made size;
    size.add({.name = "a", .content = std::string(5000, 'a'), .deflate = true, .claimed = claimed});
    const auto lying = open(size.bytes());
    ASSERT_TRUE(lying) << message(lying.error());
    EXPECT_FALSE(lying->read("a"));
  }
  EXPECT_NE(refusal({.name = "a", .content = std::string(5000, 'a'), .deflate = true, .claimed = 1 << 30})
                .find("more than deflate can hold"),
            std::string::npos);
}

TEST(Zip, AnArchiveCutAnywhereIsRefused) {
  const std::string whole = written();
  for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_FALSE(open(whole.substr(0, n))) << n;
}

TEST(Zip, FlippedBitsNeverGiveOtherContent) {
  const std::string whole = written();
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    std::string bytes = whole;
    bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    const auto zip = open(bytes);
    if (!zip) continue;
    const auto content = zip->read("archive/data.pkl");
    EXPECT_TRUE(!content || text_of(content->bytes) == "hello");
  }
}

}  // namespace
}  // namespace convoy::zip_test
