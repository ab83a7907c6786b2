// What rounding in float32 would cover is found all the same, and what is equal stays equal however it is written.
#include "diagnose/diagnose.h"
#include "graph/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

namespace convoy::diagnose::exactly_test {
namespace {

Graph exactly_parsed(const std::string& text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.has_value()) << text << message(graph.error());
  return graph ? *graph : Graph{};
}

// With the numbers of one constant changed.
Graph with(Graph graph, const std::string& name, const std::function<void(std::vector<float>&)>& change) {
  for (Value& value : graph.values) {
    if (value.name != name || !value.constant) continue;
    auto numbers = value.constant->floats();
    change(numbers);
    value.constant = Tensor::of(value.constant->shape(), std::move(numbers));
  }
  return graph;
}

Diagnosis diagnosed(const Graph& a, const Graph& b) {
  auto found = diagnose(a, b);
  EXPECT_TRUE(found.has_value()) << message(found.error());
  return found ? *found : Diagnosis{};
}

struct Weight {
  std::string name, text, constant;
  std::function<void(std::vector<float>&)> change;
  std::string says = " in a, ";  // the place and both numbers, unless there is a more exact word for the change
};

const char* const wide =
    "input x float32[1,20000]\nconst k float32[2,20000] = seed 1\nconst c float32[2] = seed 2\ny = linear(x, k, c)\n"
    "output y\n";

std::vector<Weight> changed_weights() {
  const auto nudge = [](std::size_t at) {
    return [at](std::vector<float>& numbers) { numbers[at] = std::nextafter(numbers[at], 9.0F); };
  };
  const std::string image = "input x float32[1,3,8,11]\n";
  return {
      {"a last bit among 20000", wide, "k", nudge(31234)},
      {"a bias halved behind 20000 products", wide, "c", [](auto& n) { n[1] *= 0.5F; }},
      {"two columns exchanged", wide, "k", [](auto& n) { std::swap(n[7], n[19990]), std::swap(n[20007], n[39990]); },
       "the input channels 7 and 19990 exchanged"},
      {"two rows exchanged", wide, "k",
       [](auto& n) { std::swap_ranges(n.begin(), n.begin() + 20000, n.begin() + 20000); },
       "the output channels in reverse order"},
      {"the last row of a table",
       "input x int64[1,5]\nconst t float32[900,4] = seed 1\ny = embedding(x, t)\noutput y\n", "t",
       [](auto& n) { n[3597] += 0.5F; }},
      {"a kernel",
       image + "const k float32[4,3,3,3] = seed 1\ny = conv(x, k, _) windows=3,3 paddings=0:0,0:0\noutput y\n", "k",
       nudge(61)},
      {"a variance",
       image + "const g float32[3] = seed 3\nconst o float32[3] = seed 4\nconst m float32[3] = seed 5\nconst v "
               "float32[3] = "
               "seed 6 positive\ny = batch_norm(x, g, o, m, v)\noutput y\n",
       "v", [](auto& n) { n[2] *= 1.00001F; }},
      {"a slope", image + "const s float32[3,1,1] = seed 1\ny = prelu(x, s)\noutput y\n", "s", nudge(2), "slopes"},
      {"a constant that is added", image + "const d float32[1,3,8,11] = seed 1\ny = binary(x, d)\noutput y\n", "d",
       nudge(100)},
      {"a forget gate's bias",
       "input x float32[1,7,4]\nconst k float32[24,4] = seed 1\nconst r float32[24,6] = seed 2\nconst c float32[24] = "
       "seed "
       "3\ny = lstm(x, k, r, c) gates=torch\noutput y\n",
       "c", [](auto& n) { n[8] += 1e-4F; }},
  };
}

TEST(SameExactly, ANumberThatRoundingWouldCoverIsFoundAndItsPlaceIsSaid) {
  for (const Weight& row : changed_weights()) {
    const Graph a = with(exactly_parsed(row.text), row.constant, [](auto& numbers) {
      for (float& x : numbers) x *= 0.37F;
    });
    EXPECT_TRUE(diagnosed(a, a).same) << row.name;
    const Diagnosis found = diagnosed(a, with(a, row.constant, row.change));
    ASSERT_EQ(found.findings.size(), 1) << row.name;
    EXPECT_EQ(found.findings[0].a, "y") << row.name;
    EXPECT_NE(found.findings[0].says.find(row.says), std::string::npos)
        << row.name << ": " << found.findings[0].cause << ", " << found.findings[0].says;
  }
}

struct Unreached {
  std::string name, before, a, b;
};

TEST(SameExactly, LimitsThatProbesDoNotReachAreReached) {
  const std::string image = "input x float32[1,3,8,11]\n";
  const std::string number = image + "const n float32[1] = seed 1\n";
  const std::vector<Unreached> rows{
      {"a ReLU that ends", image, "y = relu(x)\n", "y = clip(x) least=0 most=500\n"},
      {"another end", image, "y = clip(x) least=-300 most=500\n", "y = clip(x) least=-400 most=500\n"},
      {"a far threshold", image, "y = identity(x)\n", "y = threshold(x) threshold=-1000 value=-1000\n"},
      {"close to zero", image, "y = shrink(x) lambda=0.00001\n", "y = identity(x)\n"},
      {"the threshold of a softplus", image + "const t float32[1] = 12\n", "y = softplus(x) beta=2 threshold=11\n",
       "s = affine(x) scale=2\nf = unary(s) function=softplus\nh = affine(f) scale=0.5\n"
       "c = binary(s, t) function=greater\ny = where(c, x, h)\n"},
      {"behind a function", image, "z = relu(x)\ny = clip(z) least=0 most=700\n", "z = relu(x)\ny = identity(z)\n"},
  };
  for (const Unreached& row : rows) {
    const Graph a = exactly_parsed(row.before + row.a + "output y\n"),
                b = exactly_parsed(row.before + row.b + "output y\n");
    EXPECT_FALSE(diagnosed(a, b).same) << row.name;
    EXPECT_FALSE(diagnosed(b, a).same) << row.name << ", the other way round";
  }
}

TEST(SameExactly, WhatIsWrittenOtherwiseStaysTheSame) {
  const std::string image = "input x float32[1,3,8,11]\n";
  const std::vector<Unreached> rows{
      {"a ReLU as a clip", image, "y = relu(x)\n", "y = clip(x) least=0\n"},
      {"twice", image, "z = relu(x)\ny = identity(z)\n", "z = relu(x)\ny = relu(z)\n"},
      {"ends at 6", image, "y = relu(x) max_value=6\n", "y = clip(x) least=0 most=6\n"},
      {"a function in two steps", image, "y = unary(x) function=silu\n",
       "z = unary(x) function=sigmoid\ny = binary(x, z) function=multiply\n"},
      {"operands exchanged", image + "const d float32[1,3,8,11] = seed 1\n", "y = binary(x, d)\n",
       "y = binary(d, x)\n"},
      {"a softplus and its threshold", image + "const t float32[1] = 20\n", "y = softplus(x) beta=2 threshold=20\n",
       "s = affine(x) scale=2\nf = unary(s) function=softplus\nh = affine(f) scale=0.5\n"
       "c = binary(s, t) function=greater\ny = where(c, x, h)\n"},
      {"a softplus below a threshold that shows", image + "const t float32[1] = 3\n",
       "y = softplus(x) beta=2 threshold=6\n",
       "s = affine(x) scale=2\nf = unary(s) function=softplus\nh = affine(f) scale=0.5\n"
       "c = binary(x, t) function=less_or_equal\ny = where(c, h, x)\n"},
      {"slopes of channels with an axis for the batch",
       image + "const s float32[1,3,1,1] = 0.1 0.2 0.3\nconst t "
               "float32[3,1,1] = 0.1 0.2 0.3\nconst n float32[] = 0\n",
       "y = prelu(x, t)\n",
       "m = binary(x, s) function=multiply\ng = binary(x, n) function=greater\ny = where(g, x, m)\n"},
      {"slopes of columns",
       image + "const s float32[2] = 0.1 0.2\nconst t float32[1,1,2] = 0.1 0.2\n"
               "const n float32[] = 0\nz = slice(x) axis=3 start=0 stop=2\n",
       "y = prelu(z, t)\n",
       "m = binary(z, s) function=multiply\ng = binary(z, n) function=greater\ny = where(g, z, m)\n"},
      {"slopes of examples",
       image + "const s float32[2,1,1,1] = 0.1 0.2\nconst n float32[] = 0\n"
               "z = concat(x, x) axis=0\n",
       "m = binary(z, s) function=multiply\ng = binary(z, n) function=greater\n"
       "y = where(g, z, m)\n",
       "m = binary(z, s) function=multiply\ng = binary(z, n) function=less_or_equal\ny = where(g, m, z)\n"},
  };
  for (const Unreached& row : rows) {
    const Graph a = exactly_parsed(row.before + row.a + "output y\n"),
                b = exactly_parsed(row.before + row.b + "output y\n");
    EXPECT_TRUE(diagnosed(a, b).same) << row.name;
    EXPECT_TRUE(diagnosed(b, a).same) << row.name << ", the other way round";
  }
}

// A norm folded in as a program folds it, in float32.
Graph folded(const Graph& a, float change_of_one, float epsilon = 1e-3F) {
  const auto numbers = [&](const std::string& name) {
    for (const Value& value : a.values)
      if (value.name == name) return value.constant->floats();
    return std::vector<float>{};
  };
  const auto g = numbers("g"), o = numbers("o"), m = numbers("m"), v = numbers("v");
  Graph b = exactly_parsed(
      "input x float32[1,600,5,6]\nconst k float32[4,600,3,3] = seed 1\nconst c float32[4] = seed 2\n"
      "y = conv(x, k, c) windows=3,3 paddings=0:0,0:0\noutput y\n");
  b = with(b, "k", [&](auto& n) {
    for (std::size_t i = 0; i < n.size(); ++i) {
      const std::size_t channel = i / 5400;
      n[i] = n[i] * (g[channel] / std::sqrt(v[channel] + epsilon));
    }
    n[7000] *= change_of_one;
  });
  return with(b, "c", [&](auto& n) {
    for (std::size_t i = 0; i < n.size(); ++i) n[i] = o[i] - m[i] * (g[i] / std::sqrt(v[i] + epsilon));
  });
}

TEST(SameExactly, AFoldedNormIsTheSameAndOneNumberOfItsKernelIsNot) {
  const Graph a = exactly_parsed(
      "input x float32[1,600,5,6]\nconst k float32[4,600,3,3] = seed 1\nconst g float32[4] = seed 3\nconst o "
      "float32[4] = "
      "seed 4\nconst m float32[4] = seed 5\nconst v float32[4] = seed 6 positive\n"
      "z = conv(x, k, _) windows=3,3 paddings=0:0,0:0\ny = batch_norm(z, g, o, m, v) epsilon=0.001\noutput y\n");
  EXPECT_TRUE(diagnosed(a, folded(a, 1)).same);
  const Diagnosis found = diagnosed(a, folded(a, 1.0001F));
  ASSERT_EQ(found.findings.size(), 1);
  EXPECT_NE(found.findings[0].says.find("kernel [1, 1600]"), std::string::npos) << found.findings[0].says;
}
// Variances so large that another epsilon moves each number by less than rounding might, but all of them to one side.
TEST(SameExactly, AFoldedNormWithAnotherEpsilonMovesAllNumbersToOneSide) {
  const Graph a = with(
      exactly_parsed("input x float32[1,600,5,6]\nconst k float32[4,600,3,3] = seed 1\nconst g float32[4] = seed 3\n"
                     "const o float32[4] = seed 4\nconst m float32[4] = seed 5\nconst v float32[4] = seed 6\n"
                     "z = conv(x, k, _) windows=3,3 paddings=0:0,0:0\n"
                     "y = batch_norm(z, g, o, m, v) epsilon=0.001\noutput y\n"),
      "v", [](auto& n) { n = {240, 390, 640, 790}; });
  EXPECT_TRUE(diagnosed(a, folded(a, 1)).same);
  EXPECT_TRUE(diagnosed(folded(a, 1), a).same);
  const Diagnosis found = diagnosed(a, folded(a, 1, 1e-5F));
  ASSERT_EQ(found.findings.size(), 1);
  EXPECT_EQ(found.findings[0].cause, "bn_eps");
  EXPECT_EQ(found.findings[0].a, "y");
  EXPECT_EQ(found.findings[0].says, "epsilon 1e-05 in place of 0.001");
  EXPECT_EQ(found.findings[0].fix.torch, "nn.BatchNorm2d(4, eps=0.001, momentum=0.01)");
}

// A factor on the kernel and the bias is no norm's epsilon: its shift would not be multiplied.
TEST(SameExactly, AKernelAndABiasMultipliedAlikeAreNoEpsilon) {
  const Graph a = exactly_parsed(
      "input x float32[1,3,5,6]\nconst k float32[4,3,3,3] = seed 1\nconst c float32[4] = seed 2\n"
      "y = conv(x, k, c) windows=3,3 paddings=0:0,0:0\noutput y\n");
  const auto times = [](const Graph& graph, const std::vector<float>& factors) {
    const auto multiply = [&](auto& n) {
      for (std::size_t i = 0; i < n.size(); ++i) n[i] *= factors[i * factors.size() / n.size()];
    };
    return with(with(graph, "k", multiply), "c", multiply);
  };
  for (const std::vector<float>& factors : {std::vector(4, 1.01F), {1.01F, 1.02F, 1.015F, 1.005F}}) {
    const Diagnosis found = diagnosed(a, times(a, factors));
    ASSERT_EQ(found.findings.size(), 1);
    EXPECT_EQ(found.findings[0].cause, "weights_differ");
  }
  const Diagnosis found = diagnosed(a, with(times(a, {1.01F, 1.02F, 1.015F, 1.005F}), "c", [](auto& n) {
                                      for (std::size_t i = 0; i < 4; ++i) n[i] += 0.01F;
                                    }));
  ASSERT_EQ(found.findings.size(), 1);
  EXPECT_EQ(found.findings[0].cause, "bn_eps");
}

// PyTorch's softplus is x itself beyond 20, where the exponential says the same in float32; beyond 10 it does not.
TEST(SameExactly, ALimitBeyondFloat32sDigitsIsNone) {
  const auto model = [](const std::string& step) {
    return exactly_parsed("input x float32[2,5,6]\ny = " + step + "\noutput y\n");
  };
  const Graph exact = model("unary(x) function=softplus");
  EXPECT_TRUE(diagnosed(exact, model("softplus(x) threshold=20")).same);
  EXPECT_TRUE(diagnosed(model("softplus(x) beta=2 threshold=20"), model("softplus(x) beta=2")).same);
  EXPECT_FALSE(diagnosed(exact, model("softplus(x) threshold=10")).same);
}

// Whole numbers that are carried in float32 on the way are others beyond 2^24, however little that is of their size.
TEST(SameExactly, WholeNumbersInFloat32AreNoRounding) {
  const auto model = [](int number, bool carried) {
    const std::string begin =
        "input x float32[2,5,6]\nconst s float32[] = 1000\nu = binary(x, s) function=multiply\n"
        "v = cast(u) to=int32\n";
    const std::string n = std::to_string(number);
    return exactly_parsed(begin +
                          (carried
                               ? "const n float32[] = " + n + "\nf = cast(v)\nw = binary(f, n)\ny = cast(w) to=int32\n"
                               : "const n int32[] = " + n + "\ny = binary(v, n)\n") +
                          "output y\n");
  };
  const Diagnosis found = diagnosed(model(16777220, false), model(16777220, true));
  ASSERT_EQ(found.findings.size(), 1);
  EXPECT_EQ(found.findings[0].cause, "whole_rounded");
  EXPECT_TRUE(found.findings[0].certain);
  EXPECT_FALSE(found.outputs_agree);
  const Diagnosis back = diagnosed(model(16777220, true), model(16777220, false));
  ASSERT_EQ(back.findings.size(), 1);
  EXPECT_EQ(back.findings[0].cause, "whole_not_rounded");
  // Small ones are the same, and what was not asked is said.
  const Diagnosis small = diagnosed(model(3, false), model(3, true));
  EXPECT_TRUE(small.same);
  EXPECT_EQ(small.scope.not_reached, std::vector<std::string>{"whole numbers beyond 2^24 at 'f'"});
  EXPECT_TRUE(diagnosed(model(16777220, true), model(16777220, true)).same);
}

// A bias taken off in the norm's mean instead of added in the layer.
TEST(SameExactly, ABiasMayMoveIntoTheMeanOfTheNormBehindIt) {
  const Graph a = exactly_parsed(
      "input x float32[1,3,5,6]\nconst k float32[4,3,3,3] = seed 1\nconst c float32[4] = seed 2\n"
      "const g float32[4] = seed 3\nconst o float32[4] = seed 4\nconst m float32[4] = seed 5\n"
      "const v float32[4] = seed 6 positive\nz = conv(x, k, c) windows=3,3 paddings=0:0,0:0\n"
      "y = batch_norm(z, g, o, m, v) epsilon=0.001\noutput y\n");
  std::vector<float> bias;
  with(a, "c", [&](auto& n) { bias = n; });
  const auto moved = [&](float more) {
    const Graph b = with(a, "c", [](auto& n) { n.assign(n.size(), 0); });
    return with(b, "m", [&](auto& n) {
      for (std::size_t i = 0; i < n.size(); ++i) n[i] -= bias[i];
      n[2] += more;
    });
  };
  EXPECT_TRUE(diagnosed(a, moved(0)).same);
  EXPECT_TRUE(diagnosed(moved(0), a).same);
  EXPECT_FALSE(diagnosed(a, moved(1e-4F)).same);
}

// One convolution in parts, each with the activation that reads it, in front of a layer that both models have.
TEST(SameExactly, ALayerMayBeWrittenAsSeveralSideBySide) {
  const std::string image = "input x float32[1,3,8,11]\nconst l float32[4,6,3,3] = seed 9\n";
  const std::string end = "y = conv(r, l, _) windows=3,3 paddings=0:0,0:0\noutput y\n";
  const Graph a = exactly_parsed(image +
                                 "const k float32[6,3,3,3] = seed 1\nconst c float32[6] = seed 2\n"
                                 "z = conv(x, k, c) windows=3,3 paddings=1:1,1:1\nr = relu(z)\n" +
                                 end);
  Graph b = exactly_parsed(
      image +
      "const k1 float32[2,3,3,3] = seed 1\nconst c1 float32[2] = seed 2\nconst k2 float32[4,3,3,3] = seed 1\n"
      "const c2 float32[4] = seed 2\np = conv(x, k1, c1) windows=3,3 paddings=1:1,1:1\ns = relu(p)\n"
      "q = conv(x, k2, c2) windows=3,3 paddings=1:1,1:1\nt = relu(q)\nr = concat(s, t)\n" +
      end);
  const auto part = [&](const std::string& of, std::size_t first, const std::string& name) {
    std::vector<float> all;
    with(a, of, [&](auto& n) { all = n; });
    b = with(b, name,
             [&](auto& n) { std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(first), n.size(), n.begin()); });
  };
  part("k", 0, "k1"), part("c", 0, "c1"), part("k", 54, "k2"), part("c", 2, "c2");
  EXPECT_TRUE(diagnosed(a, b).same);
  EXPECT_TRUE(diagnosed(b, a).same);
  EXPECT_FALSE(diagnosed(a, with(b, "k2", [](auto& n) { n[70] += 1e-4F; })).same);
}

// Attention of two heads of three units each, which b has the other way round in all that it is projected to and from.
TEST(SameExactly, HeadsMayStandInAnotherOrder) {
  std::string text = "input x float32[2,4,6]\n";
  for (const auto& [name, seed, turned] :
       {std::tuple("q", "1", "0,2,1,3"), std::tuple("k", "2", "0,2,3,1"), std::tuple("v", "3", "0,2,1,3")}) {
    const std::string n = name;
    text += "const w" + n + " float32[6,6] = seed " + seed + "\nconst b" + n + " float32[6] = seed 1" + seed + "\n";
    text += n + " = linear(x, w" + n + ", b" + n + ")\n" + n + "s = reshape(" + n + ") to=2,4,2,3\n" + n +
            "t = transpose(" + n + "s) permutation=" + turned + "\n";
  }
  const Graph a = exactly_parsed(text +
                                 "const wo float32[5,6] = seed 4\ns = matmul(qt, kt)\np = softmax(s) axes=3\n"
                                 "z = matmul(p, vt)\nu = transpose(z) permutation=0,2,1,3\nr = reshape(u) to=2,4,6\n"
                                 "y = linear(r, wo)\noutput y\n");
  constexpr std::size_t head = 3, width = 6;
  const auto by_rows = [](std::size_t row) {
    return [row](auto& n) { std::rotate(n.begin(), n.begin() + static_cast<std::ptrdiff_t>(head * row), n.end()); };
  };
  const auto by_columns = [](auto& n) {
    for (std::size_t i = 0; i < n.size(); i += width)
      std::rotate(n.begin() + static_cast<std::ptrdiff_t>(i), n.begin() + static_cast<std::ptrdiff_t>(i + head),
                  n.begin() + static_cast<std::ptrdiff_t>(i + width));
  };
  Graph b = with(a, "wo", by_columns);
  for (const char* name : {"wq", "wk"}) b = with(b, name, by_rows(width));
  for (const char* name : {"bq", "bk"}) b = with(b, name, by_rows(1));
  const Graph without_values = b;
  b = with(with(b, "wv", by_rows(width)), "bv", by_rows(1));
  EXPECT_TRUE(diagnosed(a, b).same);
  EXPECT_TRUE(diagnosed(b, a).same);
  EXPECT_FALSE(diagnosed(a, without_values).same);
  EXPECT_FALSE(diagnosed(a, with(b, "wk", [](auto& n) { n[7] += 1e-4F; })).same);
}

// The matrix of b turned round, and what it makes back: unlike only where two of the numbers to choose from are equal.
TEST(SameExactly, EqualNumbersThatNoInputMadeAreSaid) {
  const auto both = [](const std::string& bias) {
    const std::string head =
        "input x float32[2,5]\nconst k float32[7,5] = seed 1\n"
        "const c float32[7] = 0.013 0.029 0.041 0.053 0.067 0.071 0.083\n" +
        std::string("const six int64[] = 6\nz = linear(x, k, ") + bias + ")\n";
    return std::pair(exactly_parsed(head + "y = arg_extreme(z) axis=1\noutput y\n"),
                     exactly_parsed(head + "f = slice(z) axis=1 step=-1\ni = arg_extreme(f) axis=1\n"
                                           "y = binary(six, i) function=subtract\noutput y\n"));
  };
  const auto [a, b] = both("c");
  const Diagnosis found = diagnosed(a, b);
  EXPECT_TRUE(found.same);
  EXPECT_EQ(found.scope.not_reached, (std::vector<std::string>{"equal numbers at 'y'", "equal numbers at 'i'"}));
  const auto [p, q] = both("_");
  EXPECT_FALSE(diagnosed(p, q).same);  // zeros make them where nothing is added
}

TEST(SameExactly, WhatNoNumberMakesInOneModelOnlyIsSaid) {
  const Graph a = exactly_parsed("input x float32[2,5]\ny = relu(x)\noutput y\n");
  const Graph b = exactly_parsed(
      "input x float32[2,5]\nconst n float32[] = 0\nr = relu(x)\np = binary(r, r) function=equal\n"
      "y = where(p, r, n)\noutput y\n");
  const Diagnosis found = diagnosed(a, b);
  EXPECT_TRUE(found.same);
  EXPECT_EQ(found.scope.not_finite, std::vector<std::string>{"'y' of b where it reads what is no number"});
  EXPECT_TRUE(diagnosed(a, a).scope.not_finite.empty());
}

struct Reached {
  std::string name, inputs, a, b;  // the last value is y
};

// What made inputs do not come by: both compute the same with nearly all numbers.
std::vector<Reached> rarely_reached() {
  const std::string x = "input x float32[3,5]\n", two = "input x float32[3,5]\ninput z float32[3,5]\n";
  const std::string whole = "input x int64[3,5]\ninput z int64[3,5]\n",
                    truth = "input x float32[3,5]\ninput z bool[3,5]\n";
  const std::string numbers = "const p float32[] = 2\nconst q float32[] = 2.001\nconst n float32[] = 0\n";
  const auto above = [](const std::string& factor) {
    return "m = binary(z, " + factor + ") function=multiply\ng = binary(x, m) function=greater\ny = where(g, x, n)\n";
  };
  const auto divided = [](const std::string& by) {
    return "u = unary(x) function=abs\ns = reduce(u) axes=1 keeps_axes=true reduction=sum\ne = affine(s) offset=" + by +
           "\ny = binary(x, e) function=divide\n";
  };
  return {
      {"a threshold", x, "y = threshold(x) threshold=0.5\n", "y = threshold(x) threshold=0.49\n"},
      {"a comparison of two", two + numbers, above("p"), above("q")},
      {"a comparison with the mean", x + numbers,
       "m = reduce(x) axes=1 keeps_axes=true\nt = binary(m, p) function=multiply\ng = binary(x, t) function=greater\n"
       "y = where(g, x, n)\n",
       "m = reduce(x) axes=1 keeps_axes=true\nt = binary(m, q) function=multiply\ng = binary(x, t) function=greater\n"
       "y = where(g, x, n)\n"},
      {"equal whole numbers", whole, "g = binary(x, z) function=greater\ny = cast(g) to=int64\n",
       "g = binary(x, z) function=greater_or_equal\ny = cast(g) to=int64\n"},
      {"a small number that is added to what divides", x, divided("1e-07"), divided("1e-09")},
      {"a gate far out, where other numbers overflow", x,
       "d = affine(x) scale=-1 offset=200\ne = unary(d) function=exp\nf = affine(e) offset=1\n"
       "y = binary(x, f) function=divide\n",
       "d = affine(x) scale=-1 offset=201\ne = unary(d) function=exp\nf = affine(e) offset=1\n"
       "y = binary(x, f) function=divide\n"},
      {"a sum that overflows 32 bits", whole, "y = reduce(x) axes=1 reduction=sum\n",
       "n = cast(x) to=int32\ns = reduce(n) axes=1 reduction=sum\ny = cast(s) to=int64\n"},
      {"equal numbers behind a factor", x + "const c float32[] = 1\n",
       "s = affine(x) scale=4\ng = binary(s, c) function=greater\ny = cast(g) to=float32\n",
       "s = affine(x) scale=4\ng = binary(s, c) function=greater_or_equal\ny = cast(g) to=float32\n"},
      {"halves behind a factor", x, "s = affine(x) scale=4\ny = unary(s) function=round\n",
       "s = affine(x) scale=4 offset=0.5\ny = unary(s) function=floor\n"},
      {"what holds for none", truth + numbers,
       "t = cast(z) to=float32\nw = reduce(t) axes=1 keeps_axes=true reduction=maximum\ny = binary(x, w) "
       "function=multiply\n",
       "y = affine(x)\n"},
  };
}

TEST(SameExactly, WhatMadeNumbersRarelyReachIsReached) {
  for (const Reached& row : rarely_reached()) {
    const Graph a = exactly_parsed(row.inputs + row.a + "output y\n"),
                b = exactly_parsed(row.inputs + row.b + "output y\n");
    EXPECT_FALSE(diagnosed(a, b).same) << row.name;
    EXPECT_FALSE(diagnosed(b, a).same) << row.name;
    EXPECT_TRUE(diagnosed(a, a).same) << row.name;
  }
}

TEST(SameExactly, AConditionThatNeverHeldIsSaid) {
  const std::string head = "input x float32[3,5]\nconst n float32[] = 0\nconst k float32[] = 123.4567\n";
  const Graph a = exactly_parsed(head + "y = affine(x)\noutput y\n");
  const Graph b = exactly_parsed(head +
                                 "s = reduce(x) axes=1 keeps_axes=true reduction=sum\nd = unary(s) function=floor\n"
                                 "e = binary(d, k) function=equal\ny = where(e, n, x)\noutput y\n");
  EXPECT_EQ(diagnosed(a, b).scope.not_reached, std::vector<std::string>{"what is true at 'e'"});
}

// Even halves of bytes are no float32 times 255: which way they go is float32's rounding, in either model.
TEST(SameExactly, AStepThatNoNumberLiesOnIsSaid) {
  const std::string head = "input x float32[3,5]\nc = clip(x) least=0 most=1\n";
  const Graph a = exactly_parsed(head + "s = affine(c) scale=255\ny = unary(s) function=round\noutput y\n");
  const Graph b = exactly_parsed(head + "s = affine(c) scale=255 offset=0.5\ny = unary(s) function=floor\noutput y\n");
  EXPECT_TRUE(diagnosed(a, b).same);
  EXPECT_EQ(diagnosed(a, b).scope.not_reached, std::vector<std::string>{"numbers on a step at 'y'"});
}

// A leaky ReLU in front of a maximum, or behind it; a batch norm behind a ReLU as a factor and a term, or in the layer behind.
TEST(SameExactly, WhatStandsElsewhereIsNoDifference) {
  const std::string x = "input x float32[2,3,9,11]\n";
  const Graph a = exactly_parsed(
      x + "p = max_pool(x) windows=3/2,3/2 paddings=0:0,0:0\ny = relu(p) negative_slope=0.1\noutput y\n");
  const Graph b = exactly_parsed(
      x + "p = relu(x) negative_slope=0.1\ny = max_pool(p) windows=3/2,3/2 paddings=0:0,0:0\noutput y\n");
  EXPECT_TRUE(diagnosed(a, b).same);
  EXPECT_TRUE(diagnosed(b, a).same);
}

// Of two numbers that one operator adds, what reads them shows the difference where it changes most: no made input lies there.
// Both follow from one number, and only with such as follow from one do the models agree.
TEST(SameExactly, TwoNumbersThatHangOnEachOtherAreNotMadeUpApart) {
  const std::string head =
      "input x float32[3,5]\nt = unary(x) function=tanh\np = affine(t) scale=2\nq = affine(t) scale=3\n";
  const Graph a = exactly_parsed(head +
                                 "u = affine(p) scale=3\nv = affine(q) scale=2\nw = binary(u, v) function=subtract\n"
                                 "z = binary(w, t) function=add\ny = unary(z) function=sigmoid\noutput p\noutput q\n"
                                 "output y\n");
  const Graph b = exactly_parsed(head + "y = unary(t) function=sigmoid\noutput p\noutput q\noutput y\n");
  EXPECT_TRUE(diagnosed(a, b).same);
  EXPECT_TRUE(diagnosed(b, a).same);
}

TEST(SameExactly, AShiftFarOutInFrontOfAFlatFunctionIsSeen) {
  const auto net = [](const std::string& function, const std::string& shift, const std::string& scale) {
    return exactly_parsed("input x float32[2,7]\ns = affine(x) scale=" + scale + " offset=" + shift +
                          "\nf = unary(s) function=" + function + "\ny = binary(x, f)\noutput y\n");
  };
  for (const std::string function : {"sigmoid", "tanh", "erf"}) {
    EXPECT_TRUE(diagnosed(net(function, "-300", "1"), net(function, "-300", "1")).same) << function;
    EXPECT_FALSE(diagnosed(net(function, "-300", "1"), net(function, "-301", "1")).same) << function;
  }
  EXPECT_FALSE(diagnosed(net("round", "0", "0.000001"), net("round", "0", "0.000002")).same);
  EXPECT_FALSE(diagnosed(net("floor", "0.5", "0.001"), net("floor", "0.499", "0.001")).same);
}

// A sigmoid of -15 is rounding beside 1, and the whole answer where a product makes much of it.
TEST(SameExactly, ALimitWhereAFunctionIsNearlyFlatIsSeen) {
  const std::string before = "input x float32[2,7]\n";
  const Graph a =
      exactly_parsed(before + "f = unary(x) function=sigmoid\ny = binary(x, f) function=multiply\noutput y\n");
  const Graph b = exactly_parsed(before +
                                 "c = clip(x) least=-15 most=15\nf = unary(c) function=sigmoid\n"
                                 "y = binary(x, f) function=multiply\noutput y\n");
  EXPECT_FALSE(diagnosed(a, b).same);
  EXPECT_FALSE(diagnosed(b, a).same);
}

TEST(SameExactly, ALayerCalledTwiceOnOneInputIsOneCall) {
  const std::string before = "input x float32[2,5]\nconst k float32[3,5] = seed 1\nconst c float32[3] = seed 2\n";
  const Graph once = exactly_parsed(before +
                                    "p = linear(x, k, c)\nf = unary(p) function=sigmoid\n"
                                    "y = binary(p, f) function=multiply\noutput y\n");
  const Graph twice = exactly_parsed(before +
                                     "p = linear(x, k, c)\nq = linear(x, k, c)\nf = unary(q) function=sigmoid\n"
                                     "y = binary(p, f) function=multiply\noutput y\n");
  EXPECT_TRUE(diagnosed(once, twice).same);
  EXPECT_TRUE(diagnosed(twice, once).same);
  const Graph other = with(twice, "c", [](auto& n) { n[1] += 1; });
  EXPECT_FALSE(diagnosed(once, other).same);
}

TEST(SameExactly, ALayerForTwoInputsMayBeCalledOnEachAgain) {
  const std::string before =
      "input x float32[2,5]\ninput z float32[2,5]\nconst k float32[3,5] = seed 1\nconst c float32[3] = seed 2\n";
  const std::string behind =
      "d = binary(P, Q) function=subtract\nf = unary(R) function=tanh\ng = unary(S) function=tanh\n"
      "m = binary(f, g) function=multiply\ny = concat(d, m) axis=1\noutput y\n";
  const auto told = [&](const std::string& calls, const std::string& reads) {
    std::string text = behind;
    for (std::size_t i = 0; i < 4; ++i) text.replace(text.find("PQRS"[i]), 1, 1, reads[i]);
    return exactly_parsed(before + calls + text);
  };
  const std::string h = "h = linear(x, k, c)\n", i = "i = linear(z, k, c)\n", p = "p = linear(x, k, c)\n",
                    q = "q = linear(z, k, c)\n";
  const Graph four = told(h + i + p + q, "hipq"), crosswise = told(q + p + i + h, "pqhi"), two = told(h + i, "hihi");
  for (const Graph* other : {&crosswise, &two}) {
    EXPECT_TRUE(diagnosed(four, *other).same);
    EXPECT_TRUE(diagnosed(*other, four).same);
  }
  EXPECT_FALSE(diagnosed(four, told(h + i + p + q, "hiqq")).same);
}

// Queries and keys: nothing but what was made in front of them tells their steps apart.
TEST(SameExactly, StepsWithTheSameNumbersStandForThoseThatMakeTheSame) {
  const std::string before =
      "input x float32[2,6,4]\nconst k float32[4,4] = seed 1\nconst l float32[4,4] = seed 2\nconst c float32[6,4] = "
      "seed 3\nconst s float32[6,4] = seed 4\n";
  const auto turned = [](const std::string& name, const std::string& kernel) {
    return name + " = linear(x, " + kernel + ")\n" + name + "c = binary(" + name + ", c) function=multiply\n" + name +
           "t = unary(" + name + ") function=tanh\n" + name + "s = binary(" + name + "t, s) function=multiply\n" +
           name + "r = binary(" + name + "c, " + name + "s)\n";
  };
  const auto graph = [&](const std::string& steps, const std::string& first, const std::string& second) {
    return exactly_parsed(before + steps + "u = transpose(" + second + ") permutation=0,2,1\ny = matmul(" + first +
                          ", u)\noutput y\n");
  };
  const Graph a = graph(turned("p", "k") + turned("q", "l"), "pr", "qr");
  const Graph b = graph(turned("q", "l") + turned("p", "k"), "pr", "qr");
  const Graph exchanged = graph(turned("p", "k") + turned("q", "l"), "qr", "pr");
  EXPECT_TRUE(diagnosed(a, b).same);
  EXPECT_TRUE(diagnosed(b, a).same);
  EXPECT_FALSE(diagnosed(a, exchanged).same);
}

// What TensorFlow's converter makes of a hard sigmoid: its 3 is added to the bias, and the sixth stands behind the limit.
TEST(SameExactly, WhatIsAddedInAFunctionMayBePartOfTheBias) {
  const std::string before =
      "input x float32[2,5]\nconst k float32[3,5] = seed 1\nconst c float32[3] = seed 2\nconst m float32[2,3] = seed "
      "3\n";
  const Graph a = exactly_parsed(before +
                                 "p = linear(x, k, c)\nf = hard_sigmoid(p)\ny = binary(f, m) function=multiply\n"
                                 "output y\n");
  const Graph b = with(
      exactly_parsed(before + "const n float32[1] = 0.16666667\np = linear(x, k, c)\nf = relu(p) max_value=6\n"
                              "s = binary(f, n) function=multiply\ny = binary(s, m) function=multiply\noutput y\n"),
      "c", [](auto& n) {
        for (float& x : n) x += 3;
      });
  EXPECT_TRUE(diagnosed(a, b).same);
  EXPECT_TRUE(diagnosed(b, a).same);
  const Diagnosis found = diagnosed(a, with(b, "k", [](auto& n) { n[7] *= 1.00001F; }));
  ASSERT_EQ(found.findings.size(), 1);
  EXPECT_NE(found.findings[0].says.find("kernel [1, 2]"), std::string::npos) << found.findings[0].says;
  EXPECT_FALSE(diagnosed(a, with(b, "c", [](auto& n) { n[1] += 0.0001F; })).same);
}

// With a stride of 5 a further cell of padding makes a further window at every fifth size alone.
TEST(SameExactly, SizesAreTriedUntilEveryStrideHasLeftOverAllThatItMay) {
  const std::string before = "input x float32[1,2,?,?]\nconst k float32[3,2,3,3] = seed 1\n";
  const Graph a = exactly_parsed(before + "y = conv(x, k, _) windows=3/5,3/5 paddings=1:1,1:1\noutput y\n");
  const Graph b = exactly_parsed(before + "y = conv(x, k, _) windows=3/5,3/5 paddings=1:2,1:2\noutput y\n");
  EXPECT_TRUE(diagnosed(a, a).same);
  EXPECT_FALSE(diagnosed(a, b).same);
  EXPECT_FALSE(diagnosed(b, a).same);
}

TEST(SameExactly, WhatIsGivenInADictionaryGoesByItsName) {
  const std::string before = "input x float32[2,7]\nf = unary(x) function=sigmoid\ng = unary(x) function=tanh\n";
  Graph a = exactly_parsed(before + "output f\noutput g\n"), b = exactly_parsed(before + "output g\noutput f\n");
  a.outputs_by_name = b.outputs_by_name = true;
  a.output_names = {"gate", "state"};
  b.output_names = {"state", "gate"};
  EXPECT_TRUE(diagnosed(a, b).same);
  b.output_names = {"gate", "state"};
  EXPECT_FALSE(diagnosed(a, b).same);
}

// A step that is written down twice, in both models, may be laid side by side crosswise; an encoder of two inputs too.
TEST(Exactly, WhatStandsTwiceIsTheSameInWhateverOrder) {
  const std::string head = "input x float32[2,3,5,7]\nm = reduce(x) reduction=mean axes=1,2,3 keeps_axes=true\n";
  const std::string first = "p = binary(x, m) function=subtract\n", second = "q = binary(x, m) function=subtract\n",
                    behind =
                        "s = unary(SQUARED) function=square\nv = reduce(s) reduction=mean axes=1,2,3 "
                        "keeps_axes=true\nr = unary(v) function=sqrt\ny = binary(DIVIDED, r) function=divide\n"
                        "output y\n";
  const auto told = [&](const std::string& squared, const std::string& divided) {
    std::string text = head + first + second + behind;
    text.replace(text.find("SQUARED"), 7, squared);
    text.replace(text.find("DIVIDED"), 7, divided);
    return exactly_parsed(text);
  };
  EXPECT_TRUE(diagnosed(told("p", "q"), told("q", "p")).findings.empty());
  EXPECT_TRUE(diagnosed(told("p", "q"), told("p", "p")).findings.empty());

  const std::string inputs = "input x float32[2,6]\ninput z float32[2,6]\nconst k float32[4,6] = seed 1\n";
  const std::string of_x = "a = linear(x, k)\n", of_z = "b = linear(z, k)\n";
  const std::string difference = "y = binary(a, b) function=subtract\n", half = "o = affine(y) scale=0.5\noutput o\n",
                    halves = "h = affine(y) scale=0.25\no = binary(h, h) function=add\noutput o\n";
  EXPECT_TRUE(diagnosed(exactly_parsed(inputs + of_x + of_z + difference + half),
                        exactly_parsed(inputs + of_z + of_x + difference + halves))
                  .findings.empty());
  const Diagnosis exchanged =
      diagnosed(exactly_parsed(inputs + of_x + of_z + difference + half),
                exactly_parsed(inputs + of_z + of_x + "y = binary(b, a) function=subtract\n" + half));
  EXPECT_FALSE(exchanged.findings.empty());
}

// Behind a number that is none, and with no example, every two models would be the same.
TEST(Exactly, NumbersThatTellNothingAreRefused) {
  const Graph a = exactly_parsed("input x float32[2,3]\ny = relu(x)\noutput y\n"),
              b = exactly_parsed("input x float32[2,3]\ny = unary(x) function=tanh\noutput y\n");
  const auto refused = [&](std::vector<Tensor> inputs) {
    Options options;
    options.inputs = std::move(inputs);
    const auto found = diagnose(a, b, options);
    return !found && found.error().fault == Fault::Usage;
  };
  const Tensor sound = Tensor::of({2, 3}, std::vector<float>(6, 1.0F));
  EXPECT_TRUE(refused({Tensor::of({2, 3}, std::vector<float>{0, 1, 2, NAN, 4, 5})}));
  EXPECT_TRUE(refused({Tensor::of({2, 3}, std::vector<float>{0, 1, 2, 3, INFINITY, 5})}));
  EXPECT_TRUE(refused({Tensor::of({0, 3}, std::vector<float>{})}));
  EXPECT_TRUE(refused({sound, sound}));
  EXPECT_FALSE(refused({sound}));
}

// What rounds to 16 bits meets numbers of 16 bits.
TEST(Exactly, AModelOf16BitsIsTheSameAsItself) {
  for (const char* type : {"float16", "bfloat16"}) {
    const Graph graph = exactly_parsed("input x float32[4,8]\nh = cast(x) to=" + std::string(type) + "\nconst k " +
                                       type + "[3,8] = seed 1\nl = linear(h, k)\ny = identity(l)\noutput y\n");
    EXPECT_TRUE(diagnosed(graph, graph).findings.empty()) << type;
  }
}

}  // namespace
}  // namespace convoy::diagnose::exactly_test
