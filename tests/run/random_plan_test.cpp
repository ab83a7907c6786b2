// Plans of random networks: what moves numbers, what is written over them, and what reads them later, in any order, gives what the
// plain kernels give node by node.
#include "run/net.h"

namespace convoy::plan_test {
namespace {

using test::Net;
using test::whole_floats;

class RandomNet {
 public:
  explicit RandomNet(unsigned seed) : random_(seed) {
    static const std::vector<Sizes> shapes{{2, 3, 4, 5},  {1, 6, 5, 4},  {3, 4, 8}, {2, 7, 6},
                                           {2, 16, 6, 6}, {1, 24, 5, 7}, {4, 6}};
    shape_ = shapes[below(shapes.size())];
    values_.push_back(net_.input(Shape(shape_.begin(), shape_.end())));
    net_.whole = true;
    net_.seed = seed;
    const std::size_t steps = 6 + below(16);
    for (std::size_t i = 0; i < steps; ++i) grow();
    net_.give(values_.back());
    for (std::size_t i = below(4); i > 0; --i) net_.give(values_[below(values_.size())]);
  }

  const Graph& graph() const { return net_.graph; }
  const Sizes& shape() const { return shape_; }

 private:
  std::size_t below(std::size_t n) { return n == 0 ? 0 : random_() % n; }
  Sizes sizes(ValueId v) const {
    Sizes all;
    for (const Dim size : net_.graph[v].type.shape) all.push_back(*size);
    return all;
  }
  // A recent value; those of other shapes are looked for behind it.
  ValueId recent() { return values_[values_.size() - 1 - below(std::min<std::size_t>(values_.size(), 5))]; }
  template <class Fits>
  ValueId other(Fits fits) {
    std::vector<ValueId> all;
    for (const ValueId v : values_)
      if (fits(sizes(v))) all.push_back(v);
    return all.empty() ? ValueId{} : all[below(all.size())];
  }
  void add(Op op, std::vector<ValueId> inputs) {
    auto made = net_.graph.add(std::move(op), std::move(inputs), "layer" + std::to_string(values_.size()));
    ASSERT_TRUE(made) << message(made.error());
    values_.insert(values_.end(), made->begin(), made->end());
  }

  void grow() {
    const ValueId x = recent();
    const Sizes s = sizes(x);
    const auto rank = static_cast<Size>(s.size());
    if (*checked_count(s) > 20000 || rank > 6 || rank < 1) return;
    const auto axis = static_cast<Size>(below(s.size()));
    const Size length = s[static_cast<std::size_t>(axis)];
    switch (below(14)) {
      case 0:
      case 1:
      case 2: {
        Sizes permutation(s.size());
        std::iota(permutation.begin(), permutation.end(), Size{0});
        std::ranges::shuffle(permutation, random_);
        return add(Transpose{permutation}, {x});
      }
      case 3: {
        const auto first = static_cast<Size>(below(static_cast<std::size_t>(length)));
        const Size end = first + 1 + static_cast<Size>(below(static_cast<std::size_t>(length - first)));
        return add(Slice{.axis = axis, .start = first, .stop = end}, {x});
      }
      case 4:
        if (length % 2 == 0) add(Split{axis, {length / 2, length / 2}}, {x});
        return;
      case 5: return reshape(x, s);
      case 6: return add(Relu{}, {x});
      case 7: return add(Unary{below(2) == 0 ? Function::Negate : Function::Sigmoid}, {x});
      case 8: return add(Binary{}, {x, other([&](const Sizes& t) { return t == s; })});
      case 9: {
        const ValueId y = other([&](Sizes t) {
          if (t.size() != s.size()) return false;
          t[static_cast<std::size_t>(axis)] = length;
          return t == s;
        });
        return add(Concat{axis}, below(2) == 0 ? std::vector{x, y} : std::vector{y, x});
      }
      case 10: return add(Softmax{{rank - 1}}, {x});
      case 11: return multiply(x, s);
      case 12:
        if (length == 1) return add(Tile{axis, 3}, {x});
        return add(Reduce{Reduction::Mean, {axis}, true}, {x});
      default:
        if (rank == 4) values_.push_back(net_.conv(x, s[1], Size{1} << below(5), 3));
    }
  }

  void reshape(ValueId x, const Sizes& s) {
    Sizes t = s;
    const std::size_t at = below(s.size());
    if (at + 1 < s.size() && below(2) == 0) {
      t[at] *= t[at + 1];
      t.erase(t.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    } else if (s[at] % 2 == 0) {
      t[at] /= 2;
      t.insert(t.begin() + static_cast<std::ptrdiff_t>(at), 2);
    }
    add(Reshape{t}, {x});
  }

  void multiply(ValueId x, const Sizes& s) {
    if (s.size() < 2) return;
    const ValueId y = other([&](const Sizes& t) {
      return t.size() == s.size() && t[t.size() - 2] == s.back() && std::equal(s.begin(), s.end() - 2, t.begin());
    });
    add(MatMul{}, {x, y && below(4) != 0 ? y : net_.weight({s.back(), 2 + static_cast<Size>(below(7))})});
  }

  std::mt19937 random_;
  Net net_;
  Sizes shape_;
  std::vector<ValueId> values_;
};

TEST(Plan, GivesWhatTheNodesOfRandomNetworksGive) {
  for (unsigned seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(seed);
    const RandomNet net(seed);
    const Graph& graph = net.graph();
    const std::vector<Tensor> inputs{whole_floats(net.shape(), seed)};
    const auto plain = run(graph, inputs, {.threads = 1, .kernels = KernelChoice::Plain});
    ASSERT_TRUE(plain) << message(plain.error());
    const Engine engine(std::make_shared<const Graph>(graph));
    const auto one = engine.run(inputs, {.threads = 1}), two = engine.run(inputs, {.threads = 2});
    ASSERT_TRUE(one && two);
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      const auto wanted = plain->at(graph.outputs[i]).doubles(), got = (*one)[i].doubles();
      ASSERT_EQ(wanted.size(), got.size());
      double most = 1;
      for (const double v : wanted) most = std::max(most, std::abs(v));
      for (std::size_t k = 0; k < wanted.size(); ++k) ASSERT_NEAR(wanted[k], got[k], 2e-5 * most) << i << ", " << k;
      ASSERT_TRUE(std::ranges::equal((*one)[i].bytes(), (*two)[i].bytes()));
    }
  }
}

}  // namespace
}  // namespace convoy::plan_test
