// Ports of models that compute in types of 16 bits, and ports that change the type.
#include "port/element_types.h"
#include "prove/prove.h"
#include "support/graphs.h"

#include <gtest/gtest.h>

#include <string>

namespace convoy::prove_test {
namespace {

std::string network(const std::string& type, const std::string& own = {}) {
  return "input  x " + type + "[2,3,9,12]\n" + "const  k " + type + "[4,3,3,3] = seed 1\n" + "const  b " + type +
         "[4] = seed 2\n" +
         "conv = conv(x, k, b) axes=channels_first/2 kernel_order=out_in_space windows=3/2,3/2 paddings=1:1,1:1\n" +
         own + "act = unary(conv) function=sigmoid\n" + "soft = softmax(act) axes=1\n" + "output soft\n";
}

Proof proof_in(const std::string& source, const std::string& target) {
  auto proof = prove(graph_with_origins(source), graph_with_origins(target), {});
  EXPECT_TRUE(proof) << message(proof.error());
  return proof ? *std::move(proof) : Proof{};
}

TEST(ElementTypes, APortInTheSameTypeHolds) {
  for (const std::string type : {"float16", "bfloat16", "float64"}) {
    const Proof proof = proof_in(network(type), network(type));
    EXPECT_TRUE(proof.holds) << type << ": " << proof.reason;
    EXPECT_FALSE(proof.layers.empty());
    for (const LayerProof& layer : proof.layers) EXPECT_TRUE(layer.structure.same) << layer.layer;
  }
}

TEST(ElementTypes, MorePreciseNumbersAreOtherNumbersToo) {
  const Proof proof = proof_in(network("float16"), network("float32"));
  EXPECT_FALSE(proof.holds);
  EXPECT_NE(proof.reason.find("computes in float32, the source in float16"), std::string::npos) << proof.reason;
}

// float16 in the middle of a float32 network loses more than rounding in float32 explains.
TEST(ElementTypes, ACastThatIsLeftOutIsFound) {
  const std::string through =
      "cast = cast(conv) to=float16\nback = cast(cast) to=float32\nact = unary(back) function=sigmoid\n";
  std::string source = network("float32", through);
  source.erase(source.find("act = unary(conv) function=sigmoid\n"),
               std::string("act = unary(conv) function=sigmoid\n").size());
  EXPECT_TRUE(proof_in(source, source).holds);
  EXPECT_FALSE(proof_in(source, network("float32")).holds);
}

TEST(ElementTypes, AnotherTypeIsSaidWithWhatItChanges) {
  auto graph = graph_with_origins(network("float16"));
  const auto said = carry_reals_as(graph, DType::F32, {});
  ASSERT_TRUE(said) << message(said.error());
  ASSERT_EQ(said->size(), 3);
  EXPECT_EQ(said->at(0),
            "float16 becomes float32 in 4 values and 2 constants; the proof holds the model as it is then");
  EXPECT_TRUE(said->at(1).starts_with("the outputs move by ")) << said->at(1);
  EXPECT_TRUE(said->at(2).starts_with("layers that lose most: '")) << said->at(2);
  EXPECT_TRUE(prove(graph, graph_with_origins(network("float32")), {}).has_value());
  const auto again = carry_reals_as(graph, DType::F32, {});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->front(), "all real numbers are of float32 already");
}

}  // namespace
}  // namespace convoy::prove_test
