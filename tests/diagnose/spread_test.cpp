// What shows only where numbers of one tensor are unlike in size, or where one that is made of many lies on the far side of a
// limit; and what was not reached is said.
#include "diagnose/diagnose.h"
#include "graph/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace convoy::diagnose::spread_test {
namespace {

Diagnosis told(const std::string& a, const std::string& b) {
  const auto first = parse_graph(a), second = parse_graph(b);
  EXPECT_TRUE(first.has_value()) << a << message(first.error());
  EXPECT_TRUE(second.has_value()) << b << message(second.error());
  if (!first || !second) return {};
  auto found = diagnose(*first, *second);
  EXPECT_TRUE(found.has_value()) << message(found.error());
  return found ? *found : Diagnosis{};
}

struct Pair {
  std::string name, before, a, b;  // the last value is y
};

void expect_unlike(const std::vector<Pair>& rows) {
  for (const Pair& row : rows) {
    const std::string a = row.before + row.a + "output y\n", b = row.before + row.b + "output y\n";
    EXPECT_FALSE(told(a, b).same) << row.name;
    EXPECT_FALSE(told(b, a).same) << row.name << ", the other way round";
    EXPECT_TRUE(told(a, a).same) << row.name;
    EXPECT_TRUE(told(b, b).same) << row.name;
  }
}

void expect_alike(const std::vector<Pair>& rows) {
  for (const Pair& row : rows) {
    const std::string a = row.before + row.a + "output y\n", b = row.before + row.b + "output y\n";
    EXPECT_TRUE(told(a, b).same) << row.name;
    EXPECT_TRUE(told(b, a).same) << row.name << ", the other way round";
  }
}

const char* const sound =
    "input x float32[1,1,1,96]\nconst k float32[3,1,1,8] = seed 1\nconst c float32[3] = seed 2\nconst w "
    "float32[2,3,1,1] = "
    "seed 3\nz = conv(x, k, c) windows=1,8/4 paddings=0:0,0:0\n";
const char* const out = "y = conv(m, w, _) windows=1,1 paddings=0:0,0:0\n";
const std::string loudness = std::string(sound) +
                             "s = unary(z) function=square\nf = clip(s) least=0.00001\nl = unary(f) function=log\n"
                             "g = reduce(l) axes=0,1,2,3 keeps_axes=true reduction=maximum\n";

TEST(Spread, WhatIsHeldAgainstTheLargestNumberIsReached) {
  const std::string gate =
      "u = unary(z) function=abs\nt = reduce(u) axes=0,1,2,3 keeps_axes=true reduction=maximum\nconst n float32[] = "
      "0\n";
  const auto gated = [&](const std::string& share) {
    return gate + "h = affine(t) scale=" + share + "\nq = binary(u, h) function=less\nm = where(q, n, z)\n" + out;
  };
  const std::string plain = std::string("m = identity(z)\n") + out;
  const auto floored = [&](const std::string& by) {
    return "d = affine(g) offset=" + by + "\nm = binary(l, d) function=maximum\n" + out;
  };
  expect_unlike({
      {"a floor under the loudest", loudness, std::string("m = identity(l)\n") + out, floored("-8")},
      {"another floor", loudness, floored("-8"), floored("-8.25")},
      {"a floor of differences", loudness + "d = binary(l, g) function=subtract\n",
       std::string("m = identity(d)\n") + out, std::string("m = clip(d) least=-8\n") + out},
      {"a gate", sound, plain, gated("0.0003")},
      {"a narrow gate", sound, plain, gated("0.00001")},
      {"another gate", sound, gated("0.0003"), gated("0.0004")},
  });
  expect_alike({
      {"a maximum as a choice", loudness + "d = affine(g) offset=-8\n",
       std::string("m = binary(l, d) function=maximum\n") + out,
       std::string("q = binary(l, d) function=greater\nm = where(q, l, d)\n") + out},
      {"differences are never above zero", loudness + "d = binary(l, g) function=subtract\n",
       std::string("m = identity(d)\n") + out, std::string("m = clip(d) most=0\n") + out},
      {"a gate of shares", sound, gated("0.0003"),
       gate + "h = affine(t) scale=0.0003\nq = binary(u, h) function=greater_or_equal\nm = where(q, z, n)\n" + out},
  });
}

TEST(Spread, WhatIsTakenNowhereIsSaid) {
  const std::string head = "input x float32[3,5]\ns = unary(x) function=square\nu = affine(s) offset=1\n";
  const Diagnosis found =
      told(head + "y = affine(u)\noutput y\n", head + "m = binary(u, x) function=maximum\ny = affine(m)\noutput y\n");
  EXPECT_TRUE(found.same);
  EXPECT_EQ(found.scope.not_reached, std::vector<std::string>{"the second of both at 'm'"});
}

TEST(Spread, WhatIsMadeOfManyNumbersReachesBothSides) {
  const std::string image =
      "input x float32[1,3,1,40]\nconst k float32[4,3,1,3] = seed 1\nconst w float32[2,4] = seed 3\n"
      "z = conv(x, k, _) windows=1,3 paddings=0:0,1:1\n";
  const auto of = [](const std::string& reduction, const std::string& step) {
    return "g = reduce(z) axes=2,3 reduction=" + reduction + "\nm = " + step + "\ny = linear(m, w)\n";
  };
  expect_unlike({
      {"a ReLU behind a maximum", image, of("maximum", "identity(g)"), of("maximum", "relu(g)")},
      {"a limit behind a minimum", image, of("minimum", "identity(g)"), of("minimum", "clip(g) most=2")},
  });
  expect_alike({
      {"a maximum less what it is of", image,
       "g = reduce(z) axes=3 keeps_axes=true reduction=maximum\n"
       "d = binary(g, z) function=subtract\ny = affine(d)\n",
       "g = reduce(z) axes=3 keeps_axes=true reduction=maximum\nd = binary(g, z) function=subtract\ny = relu(d)\n"},
  });
}

TEST(Spread, WholeNumbersMeetLimitsBehindShifts) {
  const std::string places =
      "input t int64[2,9]\nconst e float32[16,3] = seed 1\nconst s int64[] = 20\nconst p int64[] = "
      "16\nr = binary(t, p) function=modulo\nv = embedding(r, e)\n"
      "d = binary(t, s) function=subtract\n";
  const auto limited = [](const std::string& most) {
    return "c = clip(d) least=0 most=" + most + "\nf = cast(c) to=float32\ng = reshape(f) to=2,9,1\ny = binary(v, g)\n";
  };
  const std::string words =
      "input t int64[2,9]\nconst e float32[16,3] = seed 1\nconst o int64[] = 0\n"
      "v = embedding(t, e)\nq = binary(t, o) function=not_equal\nf = cast(q) to=float32\n"
      "n = reduce(f) axes=1 keeps_axes=true reduction=sum\n"
      "h = reshape(f) to=2,9,1\nw = binary(v, h) function=multiply\n"
      "u = reduce(w) axes=1 reduction=sum\n";
  const auto counted = [](const std::string& least) {
    return "c = clip(n) least=" + least + "\ny = binary(u, c) function=divide\n";
  };
  expect_unlike({
      {"a limit of places", places, limited("4"), limited("3")},
      {"a count of words", words, counted("1"), counted("2")},
  });
}

}  // namespace
}  // namespace convoy::diagnose::spread_test
