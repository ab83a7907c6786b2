#include "base/sha256.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace convoy::sha256_test {
namespace {

// Source: FIPS 180-4 examples and Python's hashlib.
TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(sha256_hex({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex(bytes_of("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(bytes_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, DoesNotCareHowTheBytesArrive) {
  const std::string text(1000, 'a');
  for (const std::size_t step : {1u, 7u, 63u, 64u, 65u, 500u}) {
    Sha256 hash;
    for (std::size_t i = 0; i < text.size(); i += step) hash.update(bytes_of(std::string_view(text).substr(i, step)));
    EXPECT_EQ(hash.finish_hex(), "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3") << step;
  }
}

}  // namespace
}  // namespace convoy::sha256_test
