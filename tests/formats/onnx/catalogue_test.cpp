// The rows of ONNX's operators, and numbers known beforehand that go through them.
#include "formats/onnx/catalogue/catalogue.h"
#include "formats/onnx/numbers.h"

#include <gtest/gtest.h>
#include <set>
#include <string>

namespace convoy::onnx::catalogue_test {
namespace {

TEST(OnnxCatalogue, SaysSinceAndUntilWhenAnArgumentStands) {
  const Signature& sum = *signature_of("ReduceSum");
  EXPECT_EQ(sum.input("axes")->versions.since, 13);
  EXPECT_EQ(sum.attribute("axes")->versions.until, 12);
  EXPECT_EQ(sum.count_of_inputs(12).most, 1);
  EXPECT_EQ(sum.count_of_inputs(13).most, 2);
  EXPECT_EQ(sum.count_of_inputs(std::nullopt).most, 2);
  EXPECT_EQ(signature_of("Upsample")->row->versions.until, 9);
  EXPECT_EQ(signature_of("Concat")->count_of_inputs(17).least, 1);
  EXPECT_EQ(signature_of("Concat")->count_of_inputs(17).most, any_number);
  EXPECT_EQ(signature_of("Conv")->count_of_inputs(17).least, 2);
  EXPECT_EQ(signature_of("NoSuchOperator"), nullptr);
}

TEST(OnnxCatalogue, HasEveryOperatorOnceAndNamesThoseOfOneMeaning) {
  std::set<std::string_view> names;
  for (const FunctionRow& row : functions()) EXPECT_TRUE(names.insert(row.name).second) << row.name;
  EXPECT_EQ(operator_for(Function::Negate)->name, "Neg");
  EXPECT_EQ(operator_for(BinaryFunction::Add)->name, "Add");
  EXPECT_EQ(operator_for(Reduction::Maximum)->name, "ReduceMax");
  EXPECT_EQ(operator_for(Function::Silu), nullptr);
  EXPECT_EQ(operator_for(Moved{}), nullptr);
}

Numbers whole(std::vector<std::int64_t> all) {
  Numbers numbers{DType::I64, {static_cast<Size>(all.size())}, {}};
  for (const std::int64_t n : all) numbers.all.push_back(Number::of(n));
  return numbers;
}

// fmod: the sign of the first; without it, of the second. (numpy.fmod, numpy.mod.)
TEST(OnnxNumbers, ARemainderByFmodIsNotTakenForTheOther) {
  ModelNode node;
  node.type = "Mod";
  const Numbers a = whole({-7, 7}), b = whole({3, -3});
  const auto plain = computed(node, 17, {&a, &b});
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->front().all, whole({2, -2}).all);
  Attribute fmod;
  fmod.name = "fmod";
  fmod.kind = AttributeKind::Integer;
  fmod.integer = 1;
  node.attributes.push_back(fmod);
  EXPECT_FALSE(computed(node, 17, {&a, &b}));  // the operator's own row and kernel compute it
}

}  // namespace
}  // namespace convoy::onnx::catalogue_test
