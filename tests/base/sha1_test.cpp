// The examples of FIPS 180-4.
#include "base/sha1.h"

#include <gtest/gtest.h>

namespace convoy::sha1_test {
namespace {

TEST(Sha1, AgreesWithTheStandardsExamples) {
  EXPECT_EQ(sha1_hex(bytes_of("abc")), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(sha1_hex(bytes_of("")), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(sha1_hex(bytes_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
}

}  // namespace
}  // namespace convoy::sha1_test
