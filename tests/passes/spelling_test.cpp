#include "passes/semantics.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

namespace convoy::spelling_test {
namespace {

// Every small window, fixed and free sizes: the numbers stay, and nothing is left that the target cannot say.
struct Case {
  Size kernel, stride, dilation, in;
};

std::vector<Case> cases(bool dilates) {
  std::vector<Case> all;
  for (Size kernel = 1; kernel <= 4; ++kernel)
    for (Size stride = 1; stride <= 3; ++stride)
      for (Size dilation = 1; dilation <= (dilates && stride == 1 ? 2 : 1); ++dilation)
        for (Size in = 7; in <= 8; ++in) all.push_back({kernel, stride, dilation, in});
  return all;
}

std::string window(const Case& c) {
  return fmt::format("{}/{}{}", c.kernel, c.stride, c.dilation > 1 ? fmt::format("@{}", c.dilation) : "");
}

// The second axis has another window and another size than the first.
void expect_same_for(const std::string& op, const std::string& constants, const std::string& arguments, const Case& c,
                     const std::string& padding, Size channels) {
  for (const bool fixed : {true, false}) {
    const std::string height = fixed ? std::to_string(c.in) : "?", width = fixed ? std::to_string(c.in + 2) : "?";
    SCOPED_TRACE(fmt::format("{} {} {} of {}x{}", op, window(c), padding, height, width));
    expect_same_numbers(
        fmt::format("input x float32[?,{},{},{}]\n{}y = {}({}) axes=channels_last/2 windows={},3/{} "
                    "paddings={},{}{}\noutput y\n",
                    height, width, channels, constants, op, arguments, window(c), c.stride, padding, padding,
                    op == "conv"             ? " kernel_order=space_in_out"
                    : op == "conv_transpose" ? " kernel_order=space_out_in"
                                             : ""),
        {{1, c.in, c.in + 2, channels}});
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Spelling, ConvolutionsReadTheSameCells) {
  for (const Case& c : cases(true))
    for (const char* padding : {"same", "valid", "same_lower", "1:0", "0:2"})
      expect_same_for("conv",
                      fmt::format("const k float32[{},3,2,3] = seed 3\nconst b float32[3] = seed 4\n", c.kernel),
                      "x, k, b", c, padding, 2);
}

TEST(Spelling, MaximaIgnorePadding) {
  for (const Case& c : cases(false))
    for (const char* padding : {"same", "valid"}) expect_same_for("max_pool", "", "x", c, padding, 2);
}

TEST(Spelling, AveragesNeverCountPadding) {
  for (const Case& c : cases(false))
    for (const char* padding : {"same", "valid"}) expect_same_for("average_pool", "", "x", c, padding, 2);
}

TEST(Spelling, TransposedConvolutionsKeepTheirCrops) {
  for (const Case& c : cases(true))
    for (const char* padding : {"keras_same", "keras_valid", "1:0", "0:1", "-1:2", "1:-2", "-1:-2"})
      expect_same_for("conv_transpose",
                      fmt::format("const k float32[{},3,3,2] = seed 3\nconst b float32[3] = seed 4\n", c.kernel),
                      "x, k, b", c, padding, 2);
}

TEST(Spelling, SaysSameInTheWordsOfTheTarget) {
  const auto text_after = [](const char* windows, const char* size) {
    const Graph target = rewritten(parsed(fmt::format(
        "input x float32[?,{0},{0},2]\nconst k float32[{1},2,3] = seed 1\ny = conv(x, k, _) axes=channels_last/2 "
        "kernel_order=space_in_out windows={2} paddings=same,same\noutput y\n",
        size, windows[0] == '3' ? "3,3" : "4,4", windows)));
    std::string all;
    for (const Node& node : target.nodes) all += text_of(node.op) + "; ";
    return all;
  };
  EXPECT_EQ(text_after("3,3", "?"), "conv windows=3,3 paddings=1:1,1:1; ");
  EXPECT_EQ(text_after("4,4", "?"), "conv windows=4,4 paddings=same,same; ");
  EXPECT_EQ(text_after("3/2,3/2", "9"), "conv windows=3/2,3/2 paddings=1:1,1:1; ");
  EXPECT_EQ(text_after("3/2,3/2", "8"),
            "pad before=0,0,0,0 after=0,0,1,1; conv windows=3/2,3/2 paddings=valid,valid; ");
  EXPECT_EQ(text_after("3/2,3/2", "?"),
            "pad_to_window axes=2,3 windows=3/2,3/2 paddings=same,same; conv windows=3/2,3/2 paddings=valid,valid; ");
}

TEST(Spelling, DepthwiseKernelsBecomeOutInSpace) {
  expect_same_numbers(R"(
input x float32[?,7,6,3]
const k float32[3,2,3,2] = seed 1
const b float32[6] = seed 2
y = conv(x, k, b) axes=channels_last/2 kernel_order=space_in_multiplier windows=3/2,2/2 paddings=same,same groups=3
output y
)",
                      {{2, 7, 6, 3}});
}

TEST(Spelling, ShufflesChannelsInTheConvolutionInFront) {
  const char* text = R"(
input x float32[?,5,4,3]
const k float32[3,2,3,8] = seed 1
const b float32[8] = seed 2
y = conv(x, k, b) axes=channels_last/2 kernel_order=space_in_out windows=3,2 paddings=same,same
up = depth_to_space(y) order=channels_last
down = space_to_depth(up) order=channels_last
again = depth_to_space(down) order=channels_last
output up
output again
)";
  expect_same_numbers(text, {{2, 5, 4, 3}});
}

TEST(Spelling, ResizesAsTheSourceDoes) {
  for (const char* how :
       {"factors=2,3", "sizes=7,9", "sizes=7,9 rounding=round_half_up", "sizes=7,9 coordinates=asymmetric",
        "sizes=7,9 coordinates=align_corners rounding=round_half_up", "sizes=7,9 interpolation=linear",
        "sizes=3,9 interpolation=linear antialias=true drops_outside=true",
        "sizes=7,9 interpolation=linear coordinates=asymmetric",
        "sizes=7,9 interpolation=cubic cubic_a=-0.5 drops_outside=true", "sizes=7,9 interpolation=lanczos3"})
    expect_same_numbers(fmt::format("input x float32[?,5,4,3]\nup = resize(x) axes=1,2 {}\noutput up\n", how),
                        {{2, 5, 4, 3}});
}

TEST(Spelling, CarriesMaximaBackAndTheirNeighbours) {
  expect_same_numbers(R"(
input x float32[?,7,6,3]
top, at = max_pool(x) axes=channels_last/2 windows=2/2,3/2 paddings=valid,valid positions=plane
back = max_unpool(top, at) axes=channels_last/2 out=7,6
norm = lp_pool(back) axes=channels_last/2 windows=3/2,2 paddings=same,same p=3
calm = local_response_norm(norm) axis=3 before=1 after=1 alpha=0.1
unit = length_norm(calm) axes=3 p=1
soft = softplus(unit) beta=2 threshold=1
high = threshold(soft) threshold=0.4 value=-1
output back
output high
)",
                      {{2, 7, 6, 3}});
}

// TensorFlow 2.20 on the processor and TFLite's reference kernel: -3.4028235e38 over nothing but minus infinity; PyTorch 2.13: -inf.
TEST(Spelling, AMaximumOverNothingButThePadStaysFiniteAsInTensorFlow) {
  const auto text = [](const char* between, const char* windows) {
    return fmt::format(
        "input x float32[2,5,4,3]\np = pad(x) before=0,2,0,0 after=0,0,0,0 value=-inf\n{}y = max_pool({}) "
        "axes=channels_last/2 windows={} paddings=valid,valid\noutput y\n",
        between, *between ? "q" : "p", windows);
  };
  const char* turned = "q = transpose(p) permutation=0,2,1,3\n";
  for (const auto& [between, windows, stays] :
       {std::tuple{"", "2/2,3", true}, {"", "3,3", false}, {turned, "3,3", true}}) {
    Graph graph = parsed(text(between, windows));
    graph.rules = tensorflow_rules;
    for (const Target& target : {torch_target(), onnx_target(17), keras_target()}) {
      const Graph to = rewritten(graph, {"fold_padding"}, target);
      const bool clips =
          std::ranges::any_of(to.nodes, [](const Node& node) { return holds_alternative<Clip>(node.op); });
      EXPECT_EQ(clips, stays && target.framework != Framework::Keras) << between << windows << "\n" << text_of(to);
      Graph there = to;
      there.rules = target.framework == Framework::Keras ? tensorflow_rules : torch_rules;
      expect_same_numbers(graph, there, {{2, 5, 4, 3}});
    }
  }
}

TEST(Spelling, RefusesToMoveThePositionsOfMaxima) {
  Graph graph = parsed(
      "input x float32[?,8,8,3]\ny, at = max_pool(x) axes=channels_last/2 windows=2,3/2 paddings=same,same "
      "positions=plane\noutput y\noutput at\n");
  EXPECT_FALSE(run_passes(graph, torch_target()));
}

// Whatever is switched off, the numbers stay.
TEST(Passes, EachCanBeLeftOut) {
  const Graph source = parsed(R"(
input x float32[?,8,7,3]
const k float32[3,2,3,8] = seed 1
const j float32[3,2,4,8] = seed 2
const b float32[4] = seed 3
const u float32[140,5] = seed 6
const v float32[4] = seed 7 positive
conv = conv(x, k, _) axes=channels_last/2 kernel_order=space_in_out windows=3/2,2/2 paddings=same,same
same = identity(conv)
deep = space_to_depth(same) order=channels_last
up = depth_to_space(deep) order=channels_last
back = conv_transpose(up, j, b) axes=channels_last/2 kernel_order=space_out_in windows=3/2,2/1 paddings=keras_same,1:-1
pool = average_pool(back) axes=channels_last/2 windows=3/2,2/1 paddings=same,same
size = resize(pool) axes=1,2 sizes=7,5 interpolation=linear coordinates=asymmetric
norm = batch_norm(size, _, _, b, v) axis=3
calm = affine(norm) scale=0.01
soft = softmax(calm) axes=1,2
flat = flatten(soft)
out = linear(flat, u, _) order=in_out
output out
output size
)");
  if (source.outputs.empty()) return;
  for (const Pass& left_out : torch_target().passes) {
    SCOPED_TRACE(left_out.name);
    expect_same_numbers(source, rewritten(source, {std::string(left_out.name)}), {{2, 8, 7, 3}});
  }
}

TEST(Spelling, RefusesAFreeResizeThatTheTargetCannotSay) {
  Graph graph = parsed(
      "input x float32[?,?,4,3]\nup = resize(x) axes=1,2 factors=2,2 interpolation=cubic cubic_a=-0.5\n"
      "output up\n");
  auto done = run_passes(graph, torch_target());
  EXPECT_FALSE(done);
}

// ONNX and Keras have no square root of whole numbers, and PyTorch none of their averages.
TEST(Spelling, WhatMakesFractionsOfWholeNumbersReadsACast) {
  const auto kinds = [](const char* text, const Target& target) {
    Graph graph = parsed(text);
    EXPECT_TRUE(run_passes(graph, target));
    std::string names;
    for (const Node& node : graph.nodes) names += std::string(name_of(node.op)) + " ";
    return names;
  };
  const char* root = "input x int32[?,3]\ny = unary(x) function=sqrt\noutput y\n";
  EXPECT_EQ(kinds(root, onnx_target(17)), "cast unary ");
  EXPECT_EQ(kinds(root, keras_target()), "cast unary ");
  EXPECT_EQ(kinds(root, torch_target()), "unary ");
  const char* mean = "input x int32[?,3,5]\ny = reduce(x) axes=1 reduction=mean\noutput y\n";
  EXPECT_EQ(kinds(mean, torch_target()), "cast reduce ");
  EXPECT_EQ(kinds("input x int32[?,3]\ny = unary(x) function=floor\noutput y\n", onnx_target(17)), "identity ");
  EXPECT_EQ(kinds("input x int32[?,3]\ny = unary(x) function=abs\noutput y\n", onnx_target(17)), "unary ");
  EXPECT_EQ(kinds("input x float32[?,3]\ny = unary(x) function=sqrt\noutput y\n", onnx_target(17)), "unary ");
}

// Neither ONNX's ReLU of unsigned numbers nor Keras's extremes of truths run.
TEST(Spelling, WholeNumbersWithoutASignAndTruthsAreSaidByWhatTheTargetRuns) {
  const auto only = [](const std::string& text, const Target& target) {
    Graph graph = parsed(text);
    EXPECT_TRUE(run_passes(graph, target));
    EXPECT_EQ(graph.nodes.size(), 1U);
    return graph.nodes.front().op;
  };
  const char* relu = "input x uint8[?,3]\ny = relu(x)\noutput y\n";
  EXPECT_EQ(only(relu, onnx_target(17)), Op(Identity{}));
  EXPECT_EQ(only("input x int8[?,3]\ny = relu(x)\noutput y\n", onnx_target(17)), Op(Relu{}));
  EXPECT_EQ(only("input x uint8[?,3]\ny = relu(x) max_value=6\noutput y\n", onnx_target(17)), Op(Relu{.max_value = 6}));
  const std::string inputs = "input x bool[?,3]\ninput w bool[?,3]\ny = binary(x, w) function=";
  EXPECT_EQ(only(inputs + "maximum\noutput y\n", keras_target()), Op(Binary{BinaryFunction::Or}));
  EXPECT_EQ(only(inputs + "minimum\noutput y\n", keras_target()), Op(Binary{BinaryFunction::And}));
  EXPECT_EQ(only(inputs + "maximum\noutput y\n", torch_target()), Op(Binary{BinaryFunction::Maximum}));
}

// Neither ONNX nor TensorFlow negates a type without a sign, and TensorFlow orders no truths.
TEST(Spelling, BytesAreNegatedWithASignAndTruthsOrderedAsNumbers) {
  const auto check = [](const std::string& text, const Target& target, std::size_t nodes, const Tensor& x,
                        const std::vector<std::int64_t>& wanted) {
    Graph graph = parsed(text);
    ASSERT_TRUE(run_passes(graph, target));
    EXPECT_EQ(graph.nodes.size(), nodes);
    const auto values = run(graph, {x}, {});
    ASSERT_TRUE(values);
    EXPECT_EQ(values->at(graph.outputs[0]).integers(), wanted);
  };
  const Tensor bytes = Tensor::of({3}, std::vector<std::int64_t>{0, 1, 250});
  const char* negated = "input x uint8[3]\ny = unary(x) function=negate\noutput y\n";
  check(negated, onnx_target(17), 3, bytes, {0, 255, 6});
  check(negated, keras_target(), 3, bytes, {0, 255, 6});
  check(negated, torch_target(), 1, bytes, {0, 255, 6});
  const Tensor truths = Tensor::of({4}, std::vector<std::int64_t>{0, 1, 0, 1});
  check("input x bool[4]\ny, i = top_k(x) count=4 axis=0\noutput y\n", keras_target(), 3, truths, {1, 1, 0, 0});
}

TEST(Spelling, RunningSumsFromTheEndAreThoseOfTurnedNumbersTowardKeras) {
  const auto check = [](const std::string& fields, const Target& target, std::size_t nodes,
                        const std::vector<std::int64_t>& wanted) {
    Graph graph = parsed("input x int32[?,4]\ny = accumulate(x) axis=1 " + fields + "\noutput y\n");
    ASSERT_TRUE(run_passes(graph, target));
    EXPECT_EQ(graph.nodes.size(), nodes) << fields;
    const auto values = run(graph, {Tensor::of({1, 4}, std::vector<std::int64_t>{2, 3, -5, 7})}, {});
    ASSERT_TRUE(values);
    EXPECT_EQ(values->at(graph.outputs[0]).integers(), wanted) << fields;
  };
  const std::string sum = "reduction=sum ", product = "reduction=product ";
  check(sum + "exclusive=false backwards=true", keras_target(), 3, {7, 5, 2, 7});
  check(sum + "exclusive=true backwards=true", keras_target(), 5, {5, 2, 7, 0});
  check(product + "exclusive=true backwards=false", keras_target(), 3, {1, 2, 6, -30});
  check(sum + "exclusive=true backwards=true", torch_target(), 1, {5, 2, 7, 0});
}

TEST(Spelling, AClipWithoutABoundSaysInfinityTowardOnnxAlone) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const auto said = [](const std::string& text, const Target& target, bool of_onnx = false) {
    Graph graph = parsed("input x " + text + "\noutput y\n");
    graph.rules.open_bounds_are_finite = of_onnx;
    EXPECT_TRUE(run_passes(graph, target));
    return graph.nodes.empty() ? std::optional<Clip>() : get<Clip>(graph.nodes[0].op);
  };
  const std::string below = "float32[4]\ny = clip(x) least=-1";
  EXPECT_EQ(said(below, onnx_target(17)), (Clip{-1, infinite}));
  EXPECT_EQ(said(below, onnx_target(17), true), (Clip{-1, std::nullopt}));
  EXPECT_EQ(said("int32[4]\ny = clip(x) least=-1", onnx_target(17)), (Clip{-1, std::nullopt}));
  EXPECT_EQ(said(below + " most=inf", torch_target()), (Clip{-1, std::nullopt}));
  EXPECT_EQ(said("float32[4]\ny = clip(x) least=-inf most=inf", keras_target()), std::nullopt);
}

TEST(Spelling, TruthsAreChosenByLogicTowardOnnxRuntime) {
  Graph graph = parsed("input c bool[4]\ninput a bool[4]\ninput b bool[4]\ny = where(c, a, b)\noutput y\n");
  ASSERT_TRUE(run_passes(graph, onnx_target(17)));
  EXPECT_EQ(graph.nodes.size(), 4U);
  const auto truths = [](std::vector<std::int64_t> all) { return Tensor::of({4}, std::move(all)); };
  const auto values = run(graph, {truths({1, 1, 0, 0}), truths({1, 0, 1, 0}), truths({0, 1, 0, 1})}, {});
  ASSERT_TRUE(values);
  EXPECT_EQ(values->at(graph.outputs[0]).integers(), (std::vector<std::int64_t>{1, 0, 0, 1}));
}

// Keras multiplies matrices of whole numbers in float32: 65536 * 65536 + 15 would come back as 0.
TEST(Spelling, ProductsOfWholeNumbersAreWrittenOutTowardKeras) {
  const std::string text = "input a int32[?,2,3]\ninput b int32[3,4]\ny = matmul(a, b)\noutput y\n";
  Graph graph = parsed(text), kept = parsed(text);
  ASSERT_TRUE(run_passes(kept, torch_target()));
  EXPECT_EQ(kept.nodes.size(), 1U);
  ASSERT_TRUE(run_passes(graph, keras_target()));
  EXPECT_EQ(graph.nodes.size(), 4U);
  const Tensor a = Tensor::of({1, 2, 3}, std::vector<std::int64_t>{65536, 3, 1, -7, 2, 0});
  const Tensor b = Tensor::of({3, 4}, std::vector<std::int64_t>{65536, 1, 0, 2, 5, -1, 1, 0, 0, 0, 9, 1});
  const auto values = run(graph, {a, b}, {});
  ASSERT_TRUE(values);
  EXPECT_EQ(values->at(graph.outputs[0]).integers(),
            (std::vector<std::int64_t>{15, 65533, 12, 131073, -458742, -9, 2, -14}));
}

TEST(Passes, AnUnknownNameIsAUsageError) {
  Graph graph = parsed("input x float32[?,3]\ny = relu(x)\noutput y\n");
  auto done = run_passes(graph, torch_target(), {"sweep_floor"});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().fault, Fault::Usage);
}

TEST(Passes, AugmentationGoesWithARemark) {
  Graph graph =
      parsed("input x float32[?,3]\ny = dropout(x) noise=augmentation\nz = identity(y)\nw = relu(z)\noutput w\n");
  auto done = run_passes(graph, torch_target());
  ASSERT_TRUE(done);
  EXPECT_EQ(graph.nodes.size(), 1U);
  ASSERT_EQ(done->size(), 1U);
  EXPECT_EQ(done->front().remarks.front().layer, "y");
}

}  // namespace
}  // namespace convoy::spelling_test
