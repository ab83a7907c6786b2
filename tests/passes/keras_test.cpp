// Graphs in PyTorch's words, brought into Keras's: what they become, and that they compute the same.
#include "ops/vocabulary.h"
#include "passes/semantics.h"

#include <fmt/format.h>

namespace convoy::keras_test {
namespace {

std::size_t count(const Graph& graph, std::string_view op) {
  std::size_t n = 0;
  for (const Node& node : graph.nodes) n += name_of(node.op) == op;
  return n;
}

// The operators and their fields, one per line.
std::string words_of(const Graph& graph) {
  std::string all;
  for (const Node& node : graph.nodes) all += (all.empty() ? "" : "; ") + text_of(node.op);
  return all;
}

TEST(TowardKeras, PutsChannelsLastAndFoldsTheFlattenIntoTheLinear) {
  const char* text = R"(
input x float32[?,3,8,7]
const k float32[4,3,3,2] = seed 1
const b float32[4] = seed 2
const mean float32[4] = seed 3
const variance float32[4] = seed 4 positive
const gamma float32[4] = seed 5
const w float32[5,144] = seed 6
conv = conv(x, k, b) axes=channels_first/2 windows=3,2 paddings=valid,valid
norm = batch_norm(conv, gamma, _, mean, variance) axis=1
act = relu(norm)
flat = flatten(act)
drop = dropout(flat)
out = linear(drop, w, _) order=out_in
output out
)";
  const Graph target = in_keras(text);
  EXPECT_EQ(count(target, "transpose"), 0U) << text_of(target);
  EXPECT_EQ(target[target.inputs[0]].type.shape, (Shape{Dim(), 8, 7, 3}));
  EXPECT_EQ(words_of(target),
            "conv axes=channels_last/2 kernel_order=space_in_out windows=3,2 paddings=valid,valid; batch_norm axis=3; "
            "relu; flatten; dropout; "
            "linear order=in_out");
  expect_same_in_keras(text, {{2, 3, 8, 7}});
}

// Of old operator sets: Keras has a layer of softmax over several axes, and no logarithm of one.
TEST(TowardKeras, SpellsOutTheLogarithmOfASoftmaxOverSeveralAxes) {
  const char* text = "input x float32[2,4,3,5]\nlog = softmax(x) axes=1,2,3 logarithm=true\noutput log\n";
  EXPECT_EQ(count(in_keras(text), "softmax"), 0U);
  expect_same_in_keras(text, {{2, 4, 3, 5}});
  EXPECT_EQ(count(in_keras("input x float32[2,4,3,5]\ny = softmax(x) axes=1,2,3\noutput y\n"), "softmax"), 1U);
}

// Along the channels of three examples; the first of equal numbers is the largest.
TEST(TowardKeras, SpellsOutAHardmaxOverChannelsThatComeLast) {
  const char* text = "input x float32[3,4,2,5]\nc = relu(x) max_value=0.5\ny = hardmax(c) axis=1\noutput y\n";
  EXPECT_EQ(count(in_keras(text), "hardmax"), 0U);
  EXPECT_EQ(count(in_keras(text), "arg_extreme"), 1U);
  expect_same_in_keras(text, {{3, 4, 2, 5}});
}

TEST(TowardKeras, ChangesNothingTwice) {
  const char* text = R"(
input x float32[?,3,?,?]
const k float32[4,3,3,2] = seed 1
const t float32[4,2,4,3] = seed 2
conv = conv(x, k, _) axes=channels_first/2 windows=3/2,2 paddings=1:1,0:1
up = conv_transpose(conv, t, _) axes=channels_first/2 windows=4/2,3 paddings=1:1,1:0
pool = max_pool(up) axes=channels_first/2 windows=3/2,2 paddings=1:1,valid
output pool
)";
  Graph target = in_keras(text);
  const std::string once = text_of(target);
  ASSERT_TRUE(run_passes(target, keras_target()));
  EXPECT_EQ(text_of(target), once);
}

TEST(TowardKeras, SaysSameOnlyWhereItMeansTheSameAtEverySize) {
  const auto conv = [](const char* window, const char* padding, const char* size) {
    return words_of(
        in_keras(fmt::format("input x float32[?,2,{2},{2}]\nconst k float32[3,2,{3},{3}] = seed 1\n"
                             "y = conv(x, k, _) axes=channels_first/2 windows={0},{0} paddings={1},{1}\n"
                             "output y\n",
                             window, padding, size, window[0])));
  };
  const std::string head = "conv axes=channels_last/2 kernel_order=space_in_out windows=";
  EXPECT_EQ(conv("3", "1:1", "?"), head + "3,3 paddings=same,same");
  EXPECT_EQ(conv("3/2", "1:1", "7"), head + "3/2,3/2 paddings=same,same");  // of odd sizes
  EXPECT_EQ(conv("3/2", "1:1", "8"), "pad before=0,1,1,0 after=0,0,0,0; " + head + "3/2,3/2 paddings=valid,valid");
  EXPECT_EQ(conv("3/2", "1:1", "?"), "pad before=0,1,1,0 after=0,1,1,0; " + head + "3/2,3/2 paddings=valid,valid");
  EXPECT_EQ(conv("4", "1:2", "?"), head + "4,4 paddings=same,same");
}

// Nothing is left that no layer of Keras says.
void expect_words_of_keras(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    SCOPED_TRACE(text_of(node.op));
    if (const auto* conv = get_if<Conv>(&node.op)) {
      const bool depthwise = conv->kernel_order == KernelOrder::SpaceInMultiplier;
      const Speaker speaker{Framework::Keras, depthwise ? Windowed::Depthwise : Windowed::Convolutions};
      EXPECT_TRUE(speaks(speaker, conv->paddings, conv->windows));
    }
    if (const auto* pool = get_if<MaxPool>(&node.op)) {
      EXPECT_TRUE(speaks({Framework::Keras, Windowed::MaxPools}, pool->paddings, pool->windows));
    }
    if (const auto* pool = get_if<AveragePool>(&node.op)) {
      EXPECT_TRUE(speaks({Framework::Keras, Windowed::Averages}, pool->paddings, pool->windows));
      EXPECT_FALSE(pool->divisor);
    }
    if (const auto* conv = get_if<ConvTranspose>(&node.op)) {
      EXPECT_EQ(conv->groups, 1);
      for (const TransposedPadding& p : conv->paddings) EXPECT_NE(p.spelling, CropSpelling::Explicit);
    }
  }
}

struct Size2 {
  Size kernel, stride, dilation, in;
};

std::vector<Size2> windows() {
  std::vector<Size2> all;
  for (Size kernel = 1; kernel <= 4; ++kernel)
    for (Size stride = 1; stride <= 3; ++stride)
      for (Size dilation = 1; dilation <= 2; ++dilation)
        for (Size in = 8; in <= 9; ++in) all.push_back({kernel, stride, dilation, in});
  return all;
}

std::string written(const Size2& c) {
  return fmt::format("{}/{}{}", c.kernel, c.stride, c.dilation > 1 ? fmt::format("@{}", c.dilation) : "");
}

// The second axis has another window and another size than the first; `arguments` is the rest of the line.
void expect_same_window(const std::string& constants, const std::string& op, const std::string& arguments,
                        Size channels, const Size2& c, const std::string& padding) {
  for (const bool fixed : {true, false}) {
    const std::string height = fixed ? std::to_string(c.in) : "?", width = fixed ? std::to_string(c.in + 2) : "?";
    SCOPED_TRACE(fmt::format("{} {} {} of {}x{}", op, written(c), padding, height, width));
    const std::string text = fmt::format(
        "input x float32[?,{},{},{}]\n{}y = {} axes=channels_first/2 windows={},3/{} paddings={},{} {}\n"
        "output y\n",
        channels, height, width, constants, op, written(c), c.stride, padding, padding, arguments);
    expect_same_in_keras(text, {{1, channels, c.in, c.in + 2}});
    expect_words_of_keras(in_keras(text));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(TowardKeras, ConvolutionsReadTheSameCells) {
  for (const Size2& c : windows())
    for (const char* padding : {"valid", "1:1", "2:0"})
      expect_same_window(fmt::format("const k float32[3,2,{},3] = seed 3\nconst b float32[3] = seed 4\n", c.kernel),
                         "conv(x, k, b)", "", 2, c, padding);
}

TEST(TowardKeras, GroupsAndDepthsStayApart) {
  for (const Size2& c : windows()) {
    expect_same_window(fmt::format("const k float32[6,2,{},3] = seed 3\nconst b float32[6] = seed 4\n", c.kernel),
                       "conv(x, k, b)", "groups=2", 4, c, "1:1");
    expect_same_window(fmt::format("const k float32[6,1,{},3] = seed 3\nconst b float32[6] = seed 4\n", c.kernel),
                       "conv(x, k, b)", "groups=3", 3, c, "1:1");
  }
}

// As TFLite says a depthwise layer over a series; TensorFlow's kernels for plain processors take equal strides alone.
TEST(TowardKeras, DepthwiseLayersOfUnequalStridesHaveGroups) {
  const auto text = [](const char* windows) {
    return fmt::format(
        "input x float32[?,4,9,3]\nconst k float32[2,3,3,2] = seed 1\nconst b float32[6] = seed 2\ny = conv(x, k, b) "
        "axes=channels_last/2 kernel_order=space_in_multiplier windows={} paddings=valid,valid groups=3\noutput y\n",
        windows);
  };
  for (const char* unequal : {"2,3/2", "2/2,3"}) {
    EXPECT_EQ(
        words_of(in_keras(text(unequal))),
        fmt::format("conv axes=channels_last/2 kernel_order=space_in_out windows={} paddings=valid,valid groups=3",
                    unequal));
    expect_same_in_keras(text(unequal), {{2, 4, 9, 3}});
    EXPECT_NE(words_of(rewritten(parsed(text(unequal)), {}, tflite_target())).find("multiplier"), std::string::npos);
  }
  for (const char* equal : {"2/2,3/2", "2,3", "2/2,3@2"})
    EXPECT_NE(words_of(in_keras(text(equal))).find("multiplier"), std::string::npos) << equal;
}

TEST(TowardKeras, TransposedConvolutionsKeepTheirCrops) {
  for (const Size2& c : windows())
    for (const char* padding : {"0:0", "1:1", "1:0", "0:-1", "1:-1"}) {
      expect_same_window(fmt::format("const k float32[2,3,{},3] = seed 3\nconst b float32[3] = seed 4\n", c.kernel),
                         "conv_transpose(x, k, b)", "", 2, c, padding);
      expect_same_window(fmt::format("const k float32[4,3,{},3] = seed 3\nconst b float32[6] = seed 4\n", c.kernel),
                         "conv_transpose(x, k, b)", "groups=2", 4, c, padding);
    }
}

TEST(TowardKeras, SaysTransposedConvolutionsByTheirWord) {
  const auto up = [](const char* window, const char* padding) {
    return words_of(
        in_keras(fmt::format("input x float32[?,2,?,?]\nconst k float32[2,3,{2},{2}] = seed 1\n"
                             "y = conv_transpose(x, k, _) axes=channels_first/2 windows={0},{0} "
                             "paddings={1},{1}\noutput y\n",
                             window, padding, window[0])));
  };
  const std::string head = "conv_transpose axes=channels_last/2 kernel_order=space_out_in windows=";
  EXPECT_EQ(up("2/2", "0:0"), head + "2/2,2/2 paddings=keras_same,keras_same");
  EXPECT_EQ(up("4/2", "1:1"), head + "4/2,4/2 paddings=keras_same,keras_same");
  EXPECT_EQ(up("3/2", "1:0"), head + "3/2,3/2 paddings=keras_valid,keras_valid; pad before=0,-1,-1,0 after=0,0,0,0");
}

TEST(TowardKeras, PoolsReadTheSameCells) {
  for (const Size2& c : windows())
    for (const char* padding : {"valid", "1:1", "1:1:ceil_inside"}) {
      if (c.kernel < 2) continue;
      expect_same_window("", "max_pool(x)", "", 2, c, padding);
      if (c.dilation > 1) continue;
      for (const char* counts : {"", "counts_padding=true", "divisor=5", "counts_padding=true divisor=3"})
        expect_same_window("", "average_pool(x)", counts, 2, c, padding);
    }
}

TEST(TowardKeras, AddsTheTwoBiasesOfACell) {
  const char* lstm = R"(
input x float32[?,5,3]
const k float32[8,3] = seed 1
const r float32[8,2] = seed 2
const b float32[8] = seed 3
const c float32[8] = seed 4
cell = lstm(x, k, r, b, c) gates=torch returns_sequence=true
output cell
)";
  EXPECT_EQ(words_of(in_keras(lstm)), "lstm returns_sequence=true");
  expect_same_in_keras(lstm, {{2, 5, 3}});
  const char* gru = R"(
input x float32[?,5,3]
const k float32[6,3] = seed 1
const r float32[6,2] = seed 2
const b float32[6] = seed 3
const c float32[6] = seed 4
cell = gru(x, k, r, b, c) gates=torch backwards=true
output cell
)";
  EXPECT_EQ(words_of(in_keras(gru)), "gru backwards=true");
  expect_same_in_keras(gru, {{2, 5, 3}});
}

TEST(TowardKeras, ShufflesChannelsBesideEachOther) {
  const char* text = R"(
input x float32[?,2,5,4]
const k float32[6,2,3,3] = seed 1
conv = conv(x, k, _) axes=channels_first/2 windows=3,3 paddings=1:1,1:1
parts = reshape(conv) to=0,2,3,5,4
swapped = transpose(parts) permutation=0,2,1,3,4
shuffled = reshape(swapped) to=0,6,5,4
pool = max_pool(shuffled) axes=channels_first/2 windows=2,3 paddings=valid,valid
output pool
)";
  const Graph target = in_keras(text);
  EXPECT_EQ(count(target, "transpose"), 1U) << text_of(target);
  expect_same_in_keras(text, {{2, 2, 5, 4}});
}

TEST(TowardKeras, PixelShufflesReadChannelsInTheOtherOrder) {
  const char* text = R"(
input x float32[?,2,5,4]
const k float32[12,2,3,3] = seed 1
const b float32[12] = seed 2
conv = conv(x, k, b) axes=channels_first/2 windows=3,3 paddings=1:1,1:1
up = depth_to_space(conv) order=channels_first block=2 depth_first=false
down = space_to_depth(up) order=channels_first block=2 depth_first=false
more = depth_to_space(down) order=channels_first block=2 depth_first=false
output more
)";
  const Graph target = in_keras(text);
  EXPECT_EQ(count(target, "transpose"), 0U) << text_of(target);
  expect_same_in_keras(text, {{2, 2, 5, 4}});
}

TEST(TowardKeras, PadsOfEveryMode) {
  for (const char* mode : {"constant", "reflect", "symmetric", "edge", "wrap"})
    for (const char* size : {"6,5", "?,?"})
      for (const char* cells : {"before=0,0,2,1 after=0,0,1,3", "before=0,0,-1,2 after=0,0,3,-2"})
        for (const char* cutting : {"first", "last"}) {
          SCOPED_TRACE(fmt::format("{} {} {} {}", mode, size, cells, cutting));
          expect_same_in_keras(fmt::format("input x float32[?,2,{}]\nconst k float32[3,2,1,1] = seed 1\n"
                                           "y = pad(x) {} mode={} cutting={}\n"
                                           "z = conv(y, k, _) axes=channels_first/2 windows=1,1 paddings=valid,valid\n"
                                           "output z\n",
                                           size, cells, mode, cutting),
                               {{2, 2, 6, 5}});
        }
}

// Keras cuts no axis down to nothing; what is added is added before.
TEST(TowardKeras, APadMayCutOffAllThatItAddsTo) {
  for (const char* cells : {"before=0,0,0,1 after=0,0,2,-2", "before=0,0,-2,-2 after=0,0,3,4"})
    for (const Sizes& shape : {Sizes{2, 3, 2, 2}, Sizes{2, 3, 5, 4}})
      expect_same_in_keras(fmt::format("input x float32[?,3,?,?]\nconst k float32[4,3,1,1] = seed 1\n"
                                       "z = conv(x, k, _) axes=channels_first/2 windows=1,1 paddings=valid,valid\n"
                                       "y = pad(z) {} value=1.5\noutput y\n",
                                       cells),
                           {shape});
}

TEST(TowardKeras, ResizesInItsWordsOrByWeights) {
  for (const char* how :
       {"factors=2,3 coordinates=asymmetric fixed=equal_and_double", "sizes=10,8 coordinates=asymmetric",
        "sizes=7,9 coordinates=asymmetric", "sizes=7,9 interpolation=linear fixed=equal",
        "factors=2,2 interpolation=linear fixed=equal", "sizes=7,9 interpolation=linear coordinates=align_corners",
        "sizes=8,7 interpolation=cubic", "factors=1.5,1.7 interpolation=linear"}) {
    SCOPED_TRACE(how);
    expect_same_in_keras(fmt::format("input x float32[?,2,5,4]\ny = resize(x) axes=2,3 {}\noutput y\n", how),
                         {{2, 2, 5, 4}});
  }
  expect_same_in_keras("input x float32[?,2,?]\ny = resize(x) axes=2 factors=2 interpolation=linear\noutput y\n",
                       {{2, 2, 5}});
}

TEST(TowardKeras, AdaptivePoolsOfEveryLength) {
  for (const char* kind : {"average", "maximum"})
    for (const char* out : {"1,1", "3,5", "2,5", "1,2", "4,1"}) {
      SCOPED_TRACE(fmt::format("{} {}", kind, out));
      expect_same_in_keras(fmt::format("input x float32[?,2,6,5]\n"
                                       "y = adaptive_pool(x) axes=channels_first/2 kind={} out={}\noutput y\n",
                                       kind, out),
                           {{2, 2, 6, 5}});
    }
  const char* free = "input x float32[?,2,?,?]\ny = adaptive_pool(x) axes=channels_first/2 out=1,1\noutput y\n";
  EXPECT_EQ(count(in_keras(free), "reduce"), 1U);
  expect_same_in_keras(free, {{2, 2, 6, 5}});
}

TEST(TowardKeras, SpellsOutPowers) {
  for (const char* rule : {"rule=norm p=2", "rule=norm p=3", "rule=signed p=2"})
    for (const char* padding : {"valid", "valid:ceil_inside"}) {
      SCOPED_TRACE(fmt::format("{} {}", rule, padding));
      expect_same_in_keras(fmt::format("input x float32[?,2,6,5]\ny = lp_pool(x) axes=channels_first/2 windows=3/2,2/2 "
                                       "paddings={0},{0} {1}\noutput y\n",
                                       padding, rule),
                           {{2, 2, 6, 5}});
    }
  expect_same_in_keras(
      "input x float32[?,5,4,?]\ny = local_response_norm(x) axis=1 before=2 after=1 alpha=0.3 beta=0.75 bias=2\n"
      "z = max_pool(y) axes=channels_first/2 windows=2,1 paddings=valid,valid\noutput z\n",
      {{2, 5, 4, 3}});
}

TEST(TowardKeras, LaysPatchesOutAndAddsThemBackByConvolutions) {
  const char* columns = "input x float32[?,3,6,7]\ny = unfold(x) windows=3/2,2 paddings=1:1,valid\noutput y\n";
  EXPECT_EQ(count(in_keras(columns), "unfold"), 0U);
  EXPECT_EQ(count(in_keras(columns), "conv"), 1U);
  expect_same_in_keras(columns, {{2, 3, 6, 7}});
  const char* free = "input x float32[?,2,?,?]\ny = unfold(x) windows=3@2,2/3 paddings=valid,1:1\noutput y\n";
  expect_same_in_keras(free, {{2, 2, 8, 7}});
  // 3 by 6 windows; the last row of the output is read by none.
  const char* image = "input x float32[?,18,18]\ny = fold(x) windows=3/2,2 paddings=1:1,valid out=6,7\noutput y\n";
  EXPECT_EQ(count(in_keras(image), "fold"), 0U);
  expect_same_in_keras(image, {{2, 18, 18}});
}

}  // namespace
}  // namespace convoy::keras_test
