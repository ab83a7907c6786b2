// Which free sizes are equal: what a value is as long as, also where a size of 1 would be stretched.
#include "formats/unknown_sizes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace convoy {
namespace {

constexpr Dim unknown = Dim::unknown();

struct Made {
  Graph graph;
  UnknownSizes sizes;

  ValueId input(const std::string& name, Shape shape, const std::vector<std::string>& words) {
    const ValueId value = graph.input(name, {DType::F32, std::move(shape)});
    sizes.add_input(graph, value, words);
    return value;
  }
  ValueId add(Op op, std::vector<ValueId> inputs) {
    auto made = graph.add(std::move(op), std::move(inputs), "layer", "Layer");
    EXPECT_TRUE(made) << (made ? "" : made.error().what);
    return made ? made->front() : ValueId{};
  }
  bool equal(ValueId a, std::size_t axis, ValueId b, std::size_t other) {
    return sizes.are_equal(graph, {a, axis}, {b, other});
  }
};

TEST(UnknownSizes, AreEqualByTheirWords) {
  Made m;
  const ValueId a = m.input("a", {unknown, 3}, {"n"}), b = m.input("b", {unknown, unknown}, {"n", ""});
  const ValueId c = m.input("c", {unknown}, {});
  EXPECT_TRUE(m.equal(a, 0, b, 0));
  EXPECT_FALSE(m.equal(b, 0, b, 1));
  EXPECT_FALSE(m.equal(a, 0, c, 0));
  EXPECT_FALSE(m.equal(a, 1, a, 1));  // known
  EXPECT_FALSE(m.equal(a, 7, a, 7));
}

TEST(UnknownSizes, OfASumOfRowsAreNeitherOfBoth) {
  for (const Op& op : {Op(Binary{BinaryFunction::Add}), Op(Binary{BinaryFunction::Minimum}), Op(MatMul{})}) {
    Made m;
    const ValueId a = m.input("a", {unknown, 3, 3}, {"n"}), b = m.input("b", {unknown, 3, 3}, {"m"});
    const ValueId c = m.input("c", {unknown, 3, 3}, {"n"});
    const ValueId unlike = m.add(op, {a, b}), alike = m.add(op, {a, c});
    EXPECT_FALSE(m.equal(unlike, 0, a, 0));
    EXPECT_FALSE(m.equal(unlike, 0, b, 0));
    EXPECT_TRUE(m.equal(alike, 0, a, 0));
    const ValueId more = m.add(Unary{Function::Exp}, {unlike});
    EXPECT_TRUE(m.equal(more, 0, unlike, 0));
  }
}

TEST(UnknownSizes, StayWhatTheyAreBesideASizeThatIsKnown) {
  Made m;
  const ValueId a = m.input("a", {unknown, 3}, {"n"}), row = m.input("row", {1, 3}, {});
  EXPECT_TRUE(m.equal(m.add(Binary{BinaryFunction::Multiply}, {a, row}), 0, a, 0));
}

TEST(UnknownSizes, AreEqualWhereTheyAreMadeAlike) {
  Made m;
  const ValueId a = m.input("a", {unknown, 3}, {"n"}), b = m.input("b", {unknown, 3}, {"n"});
  const ValueId c = m.input("c", {unknown, 3}, {"m"});
  const auto shorter = [&](ValueId x) { return m.add(Slice{.axis = 0, .start = 2, .stop = {}}, {x}); };
  EXPECT_TRUE(m.equal(shorter(a), 0, shorter(b), 0));
  EXPECT_FALSE(m.equal(shorter(a), 0, shorter(c), 0));
  EXPECT_FALSE(m.equal(shorter(a), 0, a, 0));
}

}  // namespace
}  // namespace convoy
