// Where inputs and outputs have to lie: by the rule of the passes and by the walk of the proof, which share no line.
#include "prove/interface.h"

#include "passes/interface.h"
#include "passes/semantics.h"

namespace convoy::interface_test {
namespace {

struct Lies {
  const char* what;
  const char* text;
  Order to;
  std::vector<Sizes> inputs, outputs;
};

const Sizes same3{0, 1, 2}, same4{0, 1, 2, 3}, first3{0, 2, 1}, first4{0, 3, 1, 2}, last4{0, 2, 3, 1}, same2{0, 1};
constexpr Order First = Order::ChannelsFirst, Last = Order::ChannelsLast;

const Lies rows[] = {
    {"a pool with channels last",
     R"(
input x float32[?,8,7,3]
y = max_pool(x) axes=channels_last/2 windows=3,2 paddings=valid,valid
output y
)",
     First,
     {first4},
     {first4}},
    {"the same toward channels last",
     R"(
input x float32[?,8,7,3]
y = max_pool(x) axes=channels_last/2 windows=3,2 paddings=valid,valid
output y
)",
     Last,
     {same4},
     {same4}},
    {"a pool with channels first",
     R"(
input x float32[?,3,8,7]
y = max_pool(x) axes=channels_first/2 windows=3,2 paddings=valid,valid
output y
)",
     Last,
     {last4},
     {last4}},
    {"a transpose that begins the model",
     R"(
input x float32[?,3,7,8]
t = transpose(x) permutation=0,1,3,2
y = max_pool(t) axes=channels_first/2 windows=3,2 paddings=valid,valid
output y
)",
     Last,
     {same4},
     {last4}},
    {"a transpose that ends it",
     R"(
input x float32[?,8,7,3]
p = max_pool(x) axes=channels_last/2 windows=3,2 paddings=valid,valid
y = transpose(p) permutation=0,2,1,3
output y
)",
     First,
     {first4},
     {same4}},
    {"what leaves axes where they are",
     R"(
input x float32[?,8,7,3]
input z float32[?,8,7,3]
a = relu(x)
s = binary(a, z) function=add
p = max_pool(s) axes=channels_last/2 windows=3,2 paddings=valid,valid
y = unary(p) function=sigmoid
output y
)",
     First,
     {first4, first4},
     {first4}},
    {"a series",
     R"(
input x float32[?,9,3]
y = max_pool(x) axes=channels_last/1 windows=2 paddings=valid
output y
)",
     First,
     {first3},
     {first3}},
    {"a sequence that a norm reads",
     R"(
input x float32[?,9,3]
const m float32[3] = seed 1
const v float32[3] = seed 2 positive
y = batch_norm(x, _, _, m, v) axis=2
output y
)",
     First,
     {same3},
     {same3}},
    {"an image that a norm reads",
     R"(
input x float32[?,9,4,3]
const m float32[3] = seed 1
const v float32[3] = seed 2 positive
y = batch_norm(x, _, _, m, v) axis=3
output y
)",
     First,
     {first4},
     {first4}},
    {"two layouts of one input",
     R"(
input x float32[?,8,7,6]
a = max_pool(x) axes=channels_last/2 windows=3,2 paddings=same,same
b = max_pool(x) axes=channels_first/2 windows=3,2 paddings=same,same
output a
output b
)",
     First,
     {same4},
     {first4, same4}},
    {"whole numbers",
     R"(
input x int32[?,8,7,3]
f = cast(x) to=float32
y = max_pool(f) axes=channels_last/2 windows=3,2 paddings=valid,valid
i = cast(y) to=int32
output i
)",
     First,
     {same4},
     {same4}},
    {"a mean over space",
     R"(
input x float32[?,8,7,3]
p = max_pool(x) axes=channels_last/2 windows=3,2 paddings=valid,valid
kept = reduce(p) axes=1,2 keeps_axes=true
gone = reduce(p) axes=1,2
output kept
output gone
)",
     First,
     {first4},
     {first4, same2}},
    {"a matrix behind",
     R"(
input x float32[?,8,7,3]
const w float32[3,5] = seed 1
p = max_pool(x) axes=channels_last/2 windows=3,2 paddings=valid,valid
y = linear(p, w, _) order=in_out
output y
)",
     First,
     {first4},
     {first4}},
    {"a reshape on both sides",
     R"(
input x float32[?,56,3]
r = reshape(x) to=-1,8,7,3
p = max_pool(r) axes=channels_last/2 windows=3,2 paddings=same,same
y = reshape(p) to=-1,56,3
output y
)",
     First,
     {same3},
     {same3}},
};

std::vector<Sizes> permutations_of(const std::vector<Border>& borders) {
  std::vector<Sizes> all;
  for (const Border& border : borders) all.push_back(border.permutation);
  return all;
}

TEST(Interface, IsTheSameByTheRuleAndByTheWalk) {
  for (const Lies& row : rows) {
    const Graph graph = parsed(row.text);
    const Interface rule = interface_of(graph, row.to);
    EXPECT_EQ(permutations_of(rule.inputs), row.inputs) << row.what;
    EXPECT_EQ(permutations_of(rule.outputs), row.outputs) << row.what;
    const Orders walk = expected_orders(graph, Convention{row.to});
    EXPECT_EQ(walk.inputs, row.inputs) << row.what;
    EXPECT_EQ(walk.outputs, row.outputs) << row.what;
  }
}

TEST(Interface, NamesTheLayerThatNamesTheChannels) {
  const Interface rule = interface_of(parsed(rows[0].text), First);
  EXPECT_EQ(rule.inputs[0].channels_of, "y");
  EXPECT_EQ(interface_of(parsed(rows[3].text), Last).inputs[0].channels_of, "");
}

TEST(Interface, KeepsEveryAxisWhereTheSourcesAreAskedFor) {
  for (const Lies& row : rows) {
    const Graph graph = parsed(row.text);
    const Orders walk = expected_orders(graph, Convention{});
    EXPECT_EQ(permutations_of(interface_of_source(graph).inputs), walk.inputs) << row.what;
    for (const Sizes& order : walk.inputs) EXPECT_TRUE(is_identity(order)) << row.what;
    for (const Sizes& order : walk.outputs) EXPECT_TRUE(is_identity(order)) << row.what;
  }
}

TEST(Interface, IsWhatThePassesHandOut) {
  for (const Lies& row : rows) {
    const Graph source = parsed(row.text);
    for (const Outside outside : {Outside::Target, Outside::Source}) {
      Target target = row.to == First ? torch_target() : keras_target();
      target.outside = outside;
      const Graph port = rewritten(source, {}, target);
      const Convention convention{outside == Outside::Target ? std::optional(row.to) : std::nullopt};
      EXPECT_EQ(compare_interface(source, port, expected_orders(source, convention)), "") << row.what;
    }
  }
}

TEST(Prove, FindsAPortThatIsCalledInAnotherWay) {
  const Graph source =
      parsed("\ninput x float32[?,3]\ninput z float32[?,4]\na = relu(x)\nb = relu(z)\noutput a as main\noutput b\n");
  const auto reason = [](const Graph& from, Graph to, const Convention& convention) {
    name_origins(to);
    ProofOptions options;
    options.convention = convention;
    const auto proof = prove(from, to, options);
    EXPECT_TRUE(proof) << message(proof.error());
    EXPECT_EQ(proof && proof->holds, proof && proof->reason.empty());
    return proof ? proof->reason : "";
  };
  const Convention onnx{}, keras{{}, true}, torch{{}, true, true};
  Graph takes = source, gives = source;
  takes.inputs_by_name = true;
  gives.outputs_by_name = true;
  const std::pair<const Graph*, const Graph*> unlike[] = {
      {&source, &takes}, {&takes, &source}, {&source, &gives}, {&gives, &source}};
  for (const auto& [from, to] : unlike) {
    EXPECT_NE(reason(*from, *to, keras).find("dictionary"), std::string::npos);
    EXPECT_NE(reason(*from, *to, torch).find("dictionary"), std::string::npos);
    EXPECT_EQ(reason(*from, *from, torch), "");
  }
  EXPECT_EQ(reason(gives, source, onnx), "") << "ONNX has no dictionaries";
  Graph renamed = gives;
  renamed.output_names[1] = "other";
  EXPECT_NE(reason(gives, renamed, keras).find("has to have 'b'"), std::string::npos);
  const Graph one = parsed("\ninput x float32[?,3]\na = relu(x)\noutput a\n");
  Graph in_tuple = one;
  in_tuple.one_output_in_tuple = true;
  EXPECT_NE(reason(in_tuple, one, torch).find("tuple of one"), std::string::npos);
  EXPECT_NE(reason(one, in_tuple, torch).find("tuple of one"), std::string::npos);
  EXPECT_EQ(reason(in_tuple, in_tuple, torch), "");
  EXPECT_EQ(reason(in_tuple, one, keras), "") << "a Keras model gives a tensor";
}

TEST(Prove, FindsAPortThatTookUpARearrangement) {
  const Graph source = parsed(rows[3].text);
  Graph port = parsed(R"(
input x float32[?,3,8,7] <- x permuted[0,1,3,2]
y = max_pool(x) axes=channels_first/2 windows=3,2 paddings=valid,valid <- y
output y
)");
  ProofOptions options;
  const auto as_declared = prove(source, port, options);
  ASSERT_TRUE(as_declared) << message(as_declared.error());
  EXPECT_TRUE(as_declared->holds) << "a proof that feeds the port by its own word: " << as_declared->reason;
  options.convention = Convention{Order::ChannelsFirst};
  const auto held = prove(source, port, options);
  ASSERT_TRUE(held) << message(held.error());
  EXPECT_FALSE(held->holds);
  EXPECT_NE(held->reason.find("input 'x' of the port has the axes [0, 1, 3, 2]"), std::string::npos) << held->reason;
}

TEST(Prove, FindsInputsThatChangedPlaces) {
  const Graph source =
      parsed("input a float32[?,3]\ninput b float32[?,3]\ny = binary(a, b) function=subtract\noutput y\n");
  const Graph port =
      parsed("input b float32[?,3]\ninput a float32[?,3]\ny = binary(a, b) function=subtract\noutput y\n");
  ProofOptions options;
  options.convention = Convention{Order::ChannelsFirst};
  const auto proof = prove(source, port, options);
  ASSERT_TRUE(proof) << message(proof.error());
  EXPECT_FALSE(proof->holds);
  EXPECT_EQ(proof->reason, "input 0 of the port is 'b', and has to be 'a'");
}

std::string reason_against(const Graph& source, const Graph& port) {
  return compare_interface(source, port, expected_orders(source, Convention{Order::ChannelsFirst}));
}

// The outputs lie in the right places with the right numbers: only the keys are wrong.
TEST(Prove, FindsOtherKeysThanTheSources) {
  const auto pair = [](const char* first, const char* second) {
    Graph graph = parsed("input x float32[?,3]\na = relu(x)\nb = unary(x) function=sigmoid\noutput a\noutput b\n");
    graph.output_names = {first, second};
    return graph;
  };
  Graph source = pair("score", "x");
  source.outputs_by_name = true;
  Graph port = pair("x", "score");
  port.outputs_by_name = true;
  EXPECT_EQ(reason_against(source, port), "output 0 of the port has the name 'x', and has to have 'score'");
  EXPECT_EQ(reason_against(source, pair("other", "x")),
            "output 0 of the port has the name 'other', and has to have 'score'");
  EXPECT_EQ(reason_against(source, pair("score", "x.1")), "") << "an input has the name already";
  EXPECT_EQ(reason_against(source, source), "");
  Graph by_value = pair("a", "b");
  by_value.outputs_by_name = true;
  EXPECT_EQ(reason_against(by_value, pair("b", "a")), "output 0 of the port has the name 'b', and has to have 'a'")
      << "exchanged where only places are known";
  EXPECT_EQ(reason_against(pair("score", "x"), source),
            "the port gives its outputs in a dictionary, and the source gives them by their places");
  Graph named = pair("score", "x");
  named.inputs_by_name = true;
  EXPECT_EQ(reason_against(pair("score", "x"), named),
            "the port takes its inputs in a dictionary, and the source takes them by their places");
}

}  // namespace
}  // namespace convoy::interface_test
