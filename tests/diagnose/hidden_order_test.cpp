// Channels between two layers that lie in another order in the other model, and in all that reads them: no difference.
#include "diagnose/diagnose.h"
#include "graph/text.h"
#include "support/graphs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace convoy::diagnose {
namespace {

Diagnosis of_orders(const Graph& a, const Graph& b) {
  auto found = diagnose(a, b);
  EXPECT_TRUE(found.has_value()) << message(found.error());
  return found ? *found : Diagnosis{};
}

std::vector<float> numbers_of(const Graph& graph, const std::string& name) {
  for (const Value& value : graph.values)
    if (value.name == name) return value.constant->floats();
  return {};
}

void set_numbers(Graph& graph, const std::string& name, const std::vector<float>& numbers) {
  for (Value& value : graph.values)
    if (value.name == name) value.constant = Tensor::of(value.constant->shape(), numbers);
}

// The slices along an axis, of `inner` numbers each, in another order.
std::vector<float> reordered(const std::vector<float>& numbers, const std::vector<std::size_t>& order,
                             std::size_t inner) {
  std::vector<float> result;
  const std::size_t run = order.size() * inner;
  for (std::size_t outer = 0; outer < numbers.size() / run; ++outer)
    for (const std::size_t slice : order)
      for (std::size_t i = 0; i < inner; ++i) result.push_back(numbers[outer * run + slice * inner + i]);
  return result;
}

constexpr const char* kernels =
    "input x float32[2,3,8,11]\nconst k float32[5,3,3,3] = seed 1\nconst l float32[4,5,3,3] = seed 2\n";
constexpr const char* convolved = "z = conv(x, k, c) windows=3,3 paddings=1:1,1:1\n";
constexpr const char* to_the_end = "y = conv(r, l, _) windows=3,3 paddings=1:1,1:1\noutput y\n";

// A network with a norm, and the same with the norm folded into the first kernel as a program folds it.
Graph with_norm() {
  return graph_of(
      std::string(kernels) +
      "const g float32[5] = 1.5 -0.7 2.1 0.3 1.1\nconst o float32[5] = seed 4\nconst m float32[5] = seed 5\n"
      "const v float32[5] = 1.2 0.4 3.3 0.9 2.2\nz = conv(x, k, _) windows=3,3 paddings=1:1,1:1\n"
      "n = batch_norm(z, g, o, m, v) epsilon=0.001\nr = relu(n)\n" +
      to_the_end);
}

Graph with_norm_folded(const std::vector<std::size_t>& order, bool is_read_so) {
  const Graph a = with_norm();
  Graph b = graph_of(std::string(kernels) + "const c float32[5] = seed 3\n" + convolved + "r = relu(z)\n" + to_the_end);
  const auto g = numbers_of(a, "g"), o = numbers_of(a, "o"), m = numbers_of(a, "m"), v = numbers_of(a, "v");
  std::vector<float> kernel = numbers_of(a, "k"), bias;
  for (std::size_t i = 0; i < kernel.size(); ++i) kernel[i] *= g[i / 27] / std::sqrt(v[i / 27] + 1e-3F);
  for (std::size_t i = 0; i < 5; ++i) bias.push_back(o[i] - m[i] * (g[i] / std::sqrt(v[i] + 1e-3F)));
  set_numbers(b, "k", reordered(kernel, order, 27));
  set_numbers(b, "c", reordered(bias, order, 1));
  if (is_read_so) set_numbers(b, "l", reordered(numbers_of(b, "l"), order, 9));
  return b;
}

TEST(HiddenOrder, BehindANormThatOneModelHasFoldedItIsNoDifference) {
  const Graph a = with_norm(), b = with_norm_folded({3, 0, 4, 1, 2}, true);
  for (const bool is_turned : {false, true}) {
    const Diagnosis found = is_turned ? of_orders(b, a) : of_orders(a, b);
    EXPECT_TRUE(found.same) << (found.findings.empty() ? "" : found.findings[0].cause);
    EXPECT_EQ(found.hidden_orders, std::vector<std::string>{"z"});
  }
}

TEST(HiddenOrder, BehindAFoldedNormWhatIsReadInTheOldOrderDiffers) {
  const Diagnosis found = of_orders(with_norm(), with_norm_folded({3, 0, 4, 1, 2}, false));
  ASSERT_EQ(found.findings.size(), 1U);
  EXPECT_EQ(found.findings[0].cause, "channel_order");
  EXPECT_EQ(found.findings[0].a, "z");
}

struct Network {
  std::string name, text;
  // Constants that follow the channels, and how many numbers lie in one slice of them.
  std::vector<std::pair<std::string, std::size_t>> follow;
};

std::vector<Network> networks() {
  const std::string second = std::string(kernels) + "const e float32[5,3,3,3] = seed 3\n";
  const std::string both =
      "p = conv(x, k, _) windows=3,3 paddings=1:1,1:1\nq = conv(x, e, _) windows=3,3 paddings=1:1,1:1\n";
  return {
      {"added to what another layer makes",
       second + both + "s = binary(p, q)\nr = relu(s)\n" + to_the_end,
       {{"k", 27}, {"e", 27}, {"l", 9}}},
      {"read again by what they are added to",
       std::string(kernels) +
           "const e float32[5,5,3,3] = seed 3\np = conv(x, k, _) windows=3,3 paddings=1:1,1:1\n"
           "q = conv(p, e, _) windows=3,3 paddings=1:1,1:1\nr = binary(p, q)\n" +
           to_the_end,
       {{"k", 27}, {"e", 45}, {"e", 9}, {"l", 9}}},
      {"gated by their means",
       std::string(kernels) +
           "const s float32[2,5,1,1] = seed 3\nconst t float32[5,2,1,1] = seed 4\n"
           "p = conv(x, k, _) windows=3,3 paddings=1:1,1:1\nm = reduce(p) axes=2,3 keeps_axes=true\n"
           "h = conv(m, s, _) windows=1,1 paddings=0:0,0:0\ng = conv(h, t, _) windows=1,1 "
           "paddings=0:0,0:0\nw = unary(g) function=sigmoid\nr = binary(p, w) function=multiply\n" +
           to_the_end,
       {{"k", 27}, {"s", 1}, {"t", 2}, {"l", 9}}},
      {"through a softmax",
       std::string(kernels) + "p = conv(x, k, _) windows=3,3 paddings=1:1,1:1\nr = softmax(p) axes=1\n" + to_the_end,
       {{"k", 27}, {"l", 9}}},
  };
}

Graph with_follower(Graph graph, const std::string& name, std::size_t inner) {
  set_numbers(graph, name, reordered(numbers_of(graph, name), {3, 0, 4, 1, 2}, inner));
  return graph;
}

TEST(HiddenOrder, AllThatHoldsTheChannelsMayBeInTheOrderAndNoneMayStayBehind) {
  for (const Network& row : networks()) {
    const Graph a = graph_of(row.text);
    Graph b = a;
    for (const auto& [name, inner] : row.follow) b = with_follower(b, name, inner);
    const Diagnosis found = of_orders(a, b);
    EXPECT_TRUE(found.same) << row.name << ": " << (found.findings.empty() ? "" : found.findings[0].cause);
    EXPECT_FALSE(found.hidden_orders.empty()) << row.name;
    for (std::size_t left = 0; left < row.follow.size(); ++left) {
      Graph c = a;
      for (std::size_t i = 0; i < row.follow.size(); ++i)
        if (i != left) c = with_follower(c, row.follow[i].first, row.follow[i].second);
      EXPECT_FALSE(of_orders(a, c).same) << row.name << ", without '" << row.follow[left].first << "'";
    }
  }
}

TEST(HiddenOrder, OfOnePartOfWhatIsPutSideBySide) {
  const std::string text =
      "input x float32[2,3,8,11]\nconst k float32[5,3,3,3] = seed 1\nconst e float32[2,3,3,3] = seed 2\n"
      "const l float32[4,7,1,1] = seed 3\np = conv(x, e, _) windows=3,3 paddings=1:1,1:1\n"
      "q = conv(x, k, _) windows=3,3 paddings=1:1,1:1\nr = concat(p, q)\ny = conv(r, l, _) windows=1,1 "
      "paddings=0:0,0:0\noutput y\n";
  const Graph a = graph_of(text);
  Graph b = with_follower(a, "k", 27);
  EXPECT_FALSE(of_orders(a, b).same);
  set_numbers(b, "l", reordered(numbers_of(a, "l"), {0, 1, 5, 2, 6, 3, 4}, 1));
  const Diagnosis found = of_orders(a, b);
  EXPECT_TRUE(found.same) << (found.findings.empty() ? "" : found.findings[0].cause);
  EXPECT_EQ(found.hidden_orders, std::vector<std::string>{"q"});
}

}  // namespace
}  // namespace convoy::diagnose
