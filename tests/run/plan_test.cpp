// Plans: what is taken together, laid into one another or left to the plain kernels gives what the nodes give one by one.
#include "convoy/cancellation.h"
#include "run/net.h"

#include <limits>
#include <thread>

namespace convoy::plan_test {
namespace {

using test::expect_agreement;
using test::Net;
using test::random;
using test::steps_of;
using test::whole_floats;

TEST(Plan, TakesNormSumAndReluIntoTheConvolution) {
  Net net;
  const ValueId x = net.input({1, 12, 9, 11});
  const ValueId wide = net.add(Relu{}, {net.norm(net.conv(x, 12, 20, 3), 20)});
  const ValueId sum = net.add(Binary{}, {net.norm(net.conv(wide, 20, 20, 3), 20), wide});
  net.give(net.add(Relu{}, {sum}));
  const std::vector<Tensor> inputs{random({1, 12, 9, 11}, 5)};
  expect_agreement(net.graph, inputs);
  EXPECT_EQ(steps_of(net.graph, inputs), (std::vector<std::string>{"turn channels last", "conv + norm + relu",
                                                                   "conv + norm + sum + relu", "turn channels first"}));
}

TEST(Plan, IsNotMadeForWhoWantsItNoLonger) {
  Net net;
  net.give(net.conv(net.input({1, 3, 9, 11}), 3, 5, 3));
  const std::vector<Tensor> inputs{random({1, 3, 9, 11}, 5)};
  const Engine engine(std::make_shared<const Graph>(net.graph));
  Cancellation stop;
  stop.cancel();
  {
    const Listening listening(stop);
    const auto plan = engine.plan_for(inputs, {});
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().fault, Fault::Cancelled);
  }
  const auto plan = engine.plan_for(inputs, {});  // half of one is not kept
  ASSERT_TRUE(plan && *plan);
  expect_agreement(net.graph, inputs);
}

TEST(Plan, LeavesAloneWhatSomebodyElseReads) {
  Net net;
  const ValueId x = net.input({2, 6, 7, 5});
  const ValueId y = net.conv(x, 6, 18, 3, 2);
  net.give(y);  // before the norm
  net.give(net.add(Relu{}, {net.norm(y, 18)}));
  net.give(net.add(Unary{Function::Tanh}, {y}));
  expect_agreement(net.graph, {random({2, 6, 7, 5}, 5)});
}

TEST(Plan, WritesPartsOfAConcatenationInPlace) {
  Net net;
  const ValueId x = net.input({1, 5, 8, 6});
  ValueId all = net.conv(x, 5, 7, 1);
  for (const Size channels : {7, 10, 13}) {  // each layer reads all before it
    const ValueId more = net.add(Relu{}, {net.conv(all, channels, 3, 3)});
    all = net.add(Concat{1}, {all, more});
  }
  net.give(net.add(Concat{1}, {all, all}));
  net.give(net.conv(all, 16, 4, 3));
  const std::vector<Tensor> inputs{random({1, 5, 8, 6}, 5)};
  expect_agreement(net.graph, inputs);
}

TEST(Plan, WritesNothingOverAConcatenationWhosePartsAreReadLater) {
  Net net;
  const ValueId x = net.input({2, 3, 4, 5});
  const ValueId part = net.add(Unary{Function::Tanh}, {x});
  const ValueId inner = net.add(Concat{3}, {x, part});
  net.give(net.add(Relu{}, {net.add(Concat{3}, {x, inner})}));
  net.give(net.add(Softmax{{3}}, {part}));  // made behind the sum above
  net.give(part);
  expect_agreement(net.graph, {random({2, 3, 4, 5}, 5)});
}

TEST(Plan, ConcatenatesAlongAnyAxis) {
  for (const Size axis : {0, 1, 2}) {
    Net net;
    const ValueId a = net.input({3, 4, 5, 6}), b = net.input({3, 4, 5, 6});
    const ValueId both = net.add(Concat{axis}, {a, net.add(Relu{}, {b}), net.weight({3, 4, 5, 6}), a});
    net.give(net.add(Unary{Function::Tanh}, {both}));
    const std::vector<Tensor> inputs{random({3, 4, 5, 6}, 5), random({3, 4, 5, 6}, 6)};
    expect_agreement(net.graph, inputs);
    for (const std::string& step : steps_of(net.graph, inputs))
      EXPECT_TRUE(step == "copy a part" || step == "relu" || step == "tanh") << step;
  }
}

TEST(Plan, LeavesNumbersWhereTheyAreWhenAxesOfOneCellMove) {
  Net net;
  const ValueId x = net.add(Relu{}, {net.input({1, 7, 1, 5})});
  const ValueId y = net.add(Transpose{{1, 2, 0, 3}}, {x});
  net.give(net.add(Transpose{{3, 0, 2, 1}}, {y}));
  net.give(net.add(Transpose{{1, 0, 3, 2}}, {y}));
  const std::vector<Tensor> inputs{random({1, 7, 1, 5}, 5)};
  expect_agreement(net.graph, inputs, 0);
  EXPECT_EQ(std::ranges::count(steps_of(net.graph, inputs), "transpose"), 1);
}

TEST(Plan, ScalesChannelsAndGatesWithOneStepEach) {
  Net net;
  const ValueId x = net.input({2, 24, 6, 5});
  const ValueId y = net.conv(x, 24, 24, 3, 1, 24);
  const ValueId silu = net.add(Binary{BinaryFunction::Multiply}, {y, net.add(Unary{Function::Sigmoid}, {y})});
  const ValueId mean = net.add(Reduce{Reduction::Mean, {2, 3}, true}, {silu});
  const ValueId gate =
      net.add(Unary{Function::Sigmoid}, {net.conv(net.add(Relu{}, {net.conv(mean, 24, 6, 1)}), 6, 24, 1)});
  net.give(net.conv(net.add(Binary{BinaryFunction::Multiply}, {silu, gate}), 24, 40, 1));
  const std::vector<Tensor> inputs{random({2, 24, 6, 5}, 5)};
  expect_agreement(net.graph, inputs);
  const auto steps = steps_of(net.graph, inputs);
  EXPECT_NE(std::ranges::find(steps, "conv depthwise + silu"), steps.end());
  EXPECT_NE(std::ranges::find(steps, "scale channels"), steps.end());
}

TEST(Plan, LeavesWhatItDoesNotKnowToThePlainKernels) {
  Net net;
  const ValueId x = net.input({1, 9, 8, 6});
  const ValueId y = net.conv(x, 9, 12, 3);
  const ValueId rolled = net.add(Slice{2, 1, 7, 2}, {y});
  net.give(net.add(Softmax{{1}, true}, {net.conv(rolled, 12, 5, 1)}));
  net.give(net.add(ArgExtreme{}, {y}));
  net.give(x);
  expect_agreement(net.graph, {random({1, 9, 8, 6}, 5)});
}

TEST(Plan, SumsLargeConvolutionsByWinogradUnlessToldOtherwise) {
  Net net;
  const ValueId x = net.input({2, 21, 33, 26});
  const ValueId y = net.add(Relu{}, {net.conv(x, 21, 37, 3)});
  net.give(net.add(Relu{}, {net.add(Binary{}, {net.norm(net.conv(y, 37, 37, 3), 37), y})}));
  const std::vector<Tensor> inputs{random({2, 21, 33, 26}, 5)};
  expect_agreement(net.graph, inputs, 1e-5);  // the factors of the algorithm round more
  const auto steps = steps_of(net.graph, inputs);
  EXPECT_NE(std::ranges::find(steps, "conv by winograd + relu"), steps.end());
  EXPECT_NE(std::ranges::find(steps, "conv by winograd + norm + sum + relu"), steps.end());
  const auto direct = Engine(std::make_shared<const Graph>(net.graph)).plan_for(inputs, {}, false);
  ASSERT_TRUE(direct && *direct);
  for (const auto& step : (*direct)->steps()) EXPECT_FALSE(step->what.contains("winograd"));
}

TEST(Plan, ReadsChannelsOfAValueWhereTheyLie) {
  Net net;
  const ValueId x = net.input({2, 12, 9, 7});
  const ValueId y = net.conv(x, 12, 40, 3);
  const ValueId a = net.add(Slice{1, {}, 18}, {y}), b = net.add(Slice{1, 18, {}}, {y});
  const ValueId gated =
      net.add(Binary{BinaryFunction::Multiply}, {net.add(Unary{Function::Tanh}, {a}), net.add(Slice{1, 0, 18}, {b})});
  net.give(net.conv(gated, 18, 5, 1));
  net.give(b);
  net.give(net.add(Relu{}, {y}));
  net.give(net.add(Reduce{Reduction::Mean, {2, 3}, false}, {b}));
  net.give(net.add(Concat{1}, {b, a}));
  net.give(net.add(Slice{3, 2, 5}, {x}));
  const std::vector<Tensor> inputs{random({2, 12, 9, 7}, 5)};
  expect_agreement(net.graph, inputs);
  const auto steps = steps_of(net.graph, inputs);
  EXPECT_EQ(std::ranges::find(steps, "slice (plain)"), steps.end());
}

TEST(Plan, TakesPadsIntoConvolutions) {
  Net net;
  net.whole = true;
  const ValueId x = net.input({1, 6, 9, 14});
  const ValueId padded = net.add(Pad{{0, 0, 2, 1}, {0, 0, 0, 3}}, {x});
  net.give(net.conv(padded, 6, 18, 3, 2));
  const ValueId kept = net.add(Pad{{0, 0, 1, 0}, {0, 0, 0, 2}}, {x});  // two readers
  net.give(net.conv(kept, 6, 4, 3));
  net.give(net.conv(kept, 6, 5, 1));
  net.give(net.conv(net.add(Pad{{0, 1, 1, 0}, {0, 0, 0, 2}}, {x}), 7, 5, 3));  // a channel, too
  const std::vector<Tensor> inputs{whole_floats({1, 6, 9, 14}, 5)};
  expect_agreement(net.graph, inputs, 0);
  const auto steps = steps_of(net.graph, inputs);
  EXPECT_EQ(std::ranges::count(steps, "pad + conv"), 1);
  EXPECT_EQ(std::ranges::count(steps, "pad (plain)"), 2);
}

TEST(Plan, ResizesAndNormsRows) {
  Net net;
  const ValueId x = net.input({2, 19, 7, 9});
  for (const Interpolation how : {Interpolation::Nearest, Interpolation::Linear, Interpolation::Cubic}) {
    Resize resize;
    resize.sizes = {15, 11}, resize.interpolation = how;
    net.give(net.add(resize, {x}));
  }
  const ValueId last = net.add(Transpose{{0, 2, 3, 1}}, {x});
  const ValueId norm = net.add(LayerNorm{.axes = {3}, .epsilon = 1e-6}, {last, net.weight({19}), net.weight({19})});
  net.give(net.add(Unary{Function::Erf}, {norm}));
  const std::vector<Tensor> inputs{random({2, 19, 7, 9}, 5)};
  expect_agreement(net.graph, inputs);
  const auto steps = steps_of(net.graph, inputs);
  EXPECT_EQ(std::ranges::count(steps, "resize + turn channels first"), 3);
  EXPECT_EQ(std::ranges::count(steps, "layer norm"), 1);
  for (const std::string& step : steps) EXPECT_FALSE(step.contains("(plain)")) << step;
}

// Attention: two products of computed matrices, of which one may stand for all.
TEST(Plan, MultipliesComputedMatrices) {
  Net net;
  net.whole = true;
  const ValueId a = net.input({2, 3, 37, 20}), b = net.input({2, 3, 20, 45}), c = net.input({20, 11});
  net.give(net.add(MatMul{}, {a, b}));
  net.give(net.add(MatMul{}, {a, c}));
  const std::vector<Tensor> inputs{whole_floats({2, 3, 37, 20}, 5), whole_floats({2, 3, 20, 45}, 6),
                                   whole_floats({20, 11}, 7)};
  expect_agreement(net.graph, inputs, 0);
  EXPECT_EQ(std::ranges::count(steps_of(net.graph, inputs), "matmul"), 2);
}

// Heads side by side: each is written where it lies among the others.
TEST(Plan, MultipliesComputedMatricesIntoAConcatenation) {
  Net net;
  net.whole = true;
  const ValueId a = net.input({2, 6, 5}), b = net.input({2, 5, 4}), c = net.input({2, 5, 7});
  const ValueId both = net.add(Concat{2}, {net.add(MatMul{}, {a, b}), net.add(MatMul{}, {a, c})});
  net.give(net.add(Relu{}, {both}));
  expect_agreement(net.graph, {whole_floats({2, 6, 5}, 5), whole_floats({2, 5, 4}, 6), whole_floats({2, 5, 7}, 7)}, 0);
}

TEST(Plan, SumsDilatedImagesByWinograd) {
  for (const Size dilation : {2, 6}) {
    Net net;
    const ValueId x = net.input({1, 21, 50, 43});
    const Conv op{.axes = {Order::ChannelsFirst, 2},
                  .windows = {{3, 1, dilation}, {3, 1, dilation - 1}},
                  .paddings = {{Spelling::SameUpper, 0, 0, {}}, {Spelling::Explicit, 3, 1, {}}}};
    net.give(net.add(Relu{}, {net.add(op, {x, net.weight({37, 21, 3, 3}), net.weight({37})})}));
    const std::vector<Tensor> inputs{random({1, 21, 50, 43}, 5)};
    expect_agreement(net.graph, inputs, 1e-5);
    const auto steps = steps_of(net.graph, inputs);
    EXPECT_NE(std::ranges::find(steps, "conv by winograd + relu"), steps.end());
  }
}

TEST(Plan, SumsVolumesByWinograd) {
  for (const Size stride : {1, 2})
    for (const Size dilation : {1, 2}) {
      Net net;
      const ValueId x = net.input({2, 19, 9, 14, 17});
      const Conv op{
          .axes = {Order::ChannelsFirst, 3},
          .windows = {{stride + 1, stride, dilation}, {3, 1, dilation}, {3, 1, 1}},
          .paddings = {
              {Spelling::Explicit, 2, 1, {}}, {Spelling::SameUpper, 0, 0, {}}, {Spelling::Explicit, 0, 2, {}}}};
      net.give(net.add(Relu{}, {net.add(op, {x, net.weight({37, 19, stride + 1, 3, 3}), net.weight({37})})}));
      const std::vector<Tensor> inputs{random({2, 19, 9, 14, 17}, 5)};
      expect_agreement(net.graph, inputs, 1e-5);
      const auto steps = steps_of(net.graph, inputs);
      EXPECT_NE(std::ranges::find(steps, "conv by winograd + relu"), steps.end());
    }
}

TEST(Plan, TurnsAndSplitsAxesOfAnyValue) {
  Net net;
  const ValueId x = net.input({2, 7, 3, 4, 5});
  const ValueId turned = net.add(Transpose{{2, 0, 3, 1, 4}}, {x});
  const auto parts = net.graph.add(Split{3, {2, 4, 1}}, {turned}, "split");
  ASSERT_TRUE(parts) << message(parts.error());
  net.give(net.add(Transpose{{0, 1, 2, 4, 3}}, {parts->at(1)}));
  net.give(parts->at(2));
  net.give(net.add(Relu{}, {net.add(Transpose{{4, 1, 0, 2, 3}}, {turned})}));
  expect_agreement(net.graph, {random({2, 7, 3, 4, 5}, 5)}, 0);
  const auto steps = steps_of(net.graph, {random({2, 7, 3, 4, 5}, 5)});
  EXPECT_NE(std::ranges::find(steps, "transpose"), steps.end());
  EXPECT_EQ(std::ranges::count(steps, "split"), 1);  // what is transposed behind it is copied once
}

TEST(Plan, FollowsNumbersThatWereMovedWithoutACopy) {
  Net net;
  const ValueId x = net.input({2, 3, 4, 5});
  const ValueId y = net.add(Relu{}, {net.conv(x, 3, 18, 3)});
  // Cells become rows of channels, as they lie.
  const ValueId rows = net.add(Transpose{{0, 2, 1}}, {net.add(Reshape{{2, 18, 20}}, {y})});
  net.give(net.add(Softmax{{2}, false}, {rows}));
  // Parts of parts, with and without axes of one cell, and one that only a copy can give.
  const ValueId parts = net.add(Transpose{{2, 0, 3, 1, 4}}, {net.add(Reshape{{2, 20, 3, 2, 3}}, {rows})});
  const ValueId second = net.add(Slice{0, 1, 2, 1}, {parts});
  net.give(net.add(Relu{}, {net.add(Reshape{{4, 20, 3}}, {second})}));
  const ValueId third = net.add(Slice{3, 2, 19, 1}, {net.add(Slice{0, 2, 3, 1}, {parts})});
  net.give(net.add(Relu{}, {net.add(Reshape{{2, 2, 51}}, {third})}));
  const ValueId image = net.add(Transpose{{1, 3, 0, 2}}, {net.add(Reshape{{2, 2, 17, 3}}, {third})});
  net.give(net.conv(image, 3, 5, 3));
  net.give(net.add(Unary{Function::Tanh}, {image}));
  const std::vector<Tensor> inputs{random({2, 3, 4, 5}, 5)};
  // What is written into a part of something longer.
  const ValueId half =
      net.add(Reshape{{2, 9, 4, 5}}, {net.add(Slice{1, 9, 18, 1}, {net.add(Reshape{{2, 18, 20}}, {y})})});
  net.give(net.conv(net.add(Concat{1}, {half, net.conv(half, 9, 6, 3)}), 15, 4, 1));
  // A lone channel among several.
  const ValueId lone =
      net.add(Reshape{{2, 2, 3}},
              {net.add(Slice{3, 1, 2, 1}, {net.add(Slice{2, 0, 3, 1}, {net.add(Slice{1, 0, 2, 1}, {x})})})});
  const ValueId row = net.add(Reshape{{4, 3, 1}}, {net.add(Transpose{{1, 0, 2}}, {lone})});
  net.give(net.add(Concat{2}, {row, net.add(Tile{1, 3}, {net.add(Slice{1, 1, 2, 1}, {row})})}));
  expect_agreement(net.graph, inputs);
  EXPECT_GE(std::ranges::count(steps_of(net.graph, inputs), "transpose"), 1);
}

TEST(Plan, MakesResultsWhereTheyAreHandedOut) {
  Net net;
  const ValueId x = net.input({2, 3, 9, 7});
  const ValueId y = net.conv(x, 3, 18, 3);
  Resize resize;
  resize.sizes = {19, 32}, resize.interpolation = Interpolation::Linear;
  net.give(net.add(resize, {y}));
  net.give(net.add(Reshape{{36, 63}}, {y}));  // the same numbers twice
  net.give(y);
  const ValueId wide = net.add(Tile{2, 5}, {net.add(Slice{2, 0, 1, 1}, {x})});
  net.give(net.add(Concat{1}, {net.conv(x, 3, 4, 1), net.add(Tile{2, 9}, {net.add(Slice{2, 8, 9, 1}, {x})})}));
  net.give(net.conv(wide, 3, 2, 3));
  net.give(wide);
  const std::vector<Tensor> inputs{random({2, 3, 9, 7}, 5)};
  expect_agreement(net.graph, inputs);
  const auto steps = steps_of(net.graph, inputs);
  EXPECT_NE(std::ranges::find(steps, "resize + turn channels first"), steps.end());
}

// Queries, keys and values of `heads` heads that one product gives, or three; with what transformers put between.
struct AttentionCase {
  Size images = 1, queries = 19, heads = 2, depth = 5;
  bool is_scaled = true, is_turned = true;
  Sizes added{};  // the shape of what is added
  bool is_added_computed = false;
};

TEST(Plan, TakesAttentionAsOneStep) {
  for (const AttentionCase& c :
       {AttentionCase{}, AttentionCase{.images = 3, .queries = 70, .heads = 1, .depth = 16},
        AttentionCase{.is_scaled = false, .is_turned = false}, AttentionCase{.queries = 1},
        AttentionCase{.images = 2, .added = {19, 19}}, AttentionCase{.images = 2, .added = {2, 1, 1, 19}},
        AttentionCase{.heads = 3, .added = {1, 3, 19, 19}},
        AttentionCase{.added = {1, 1, 19}, .is_added_computed = true},
        AttentionCase{.queries = 130, .heads = 1, .depth = 1}}) {
    Net net;
    const Size features = c.heads * c.depth;
    const ValueId x = net.input({c.images, c.queries, features});
    const ValueId all = net.add(MatMul{}, {x, net.weight({features, 3 * features})});
    const ValueId turned =
        net.add(Transpose{{2, 0, 3, 1, 4}}, {net.add(Reshape{{c.images, c.queries, 3, c.heads, c.depth}}, {all})});
    const auto part = [&](Size i) { return net.add(Squeeze{{0}}, {net.add(Slice{0, i, i + 1, 1}, {turned})}); };
    const ValueId query = part(0), keys = net.add(Transpose{{0, 1, 3, 2}}, {part(1)}), values = part(2);
    ValueId y = net.add(MatMul{}, {query, keys});
    if (c.is_scaled)
      y = net.add(Binary{BinaryFunction::Multiply},
                  {y, net.graph.constant("scale", Tensor::of(Sizes{}, std::vector{0.3F}))});
    if (!c.added.empty()) {
      ValueId added = net.weight(c.added);
      if (c.is_added_computed)
        added = net.add(Unary{Function::Tanh}, {net.input(Shape(c.added.begin(), c.added.end()))});
      y = net.add(Binary{BinaryFunction::Add}, {added, y});
    }
    y = net.add(MatMul{}, {net.add(Softmax{{3}, false}, {y}), values});
    if (c.is_turned) y = net.add(Reshape{{c.images, c.queries, features}}, {net.add(Transpose{{0, 2, 1, 3}}, {y})});
    net.give(net.add(Relu{}, {y}));
    std::vector<Tensor> inputs{random({c.images, c.queries, features}, 5)};
    if (c.is_added_computed) inputs.push_back(random(c.added, 6));
    // Scores reach some 50, whose rounding, 3e-6, is that of their exponentials.
    expect_agreement(net.graph, inputs, 1e-5);
    const auto steps = steps_of(net.graph, inputs);
    EXPECT_NE(std::ranges::find(steps, c.is_turned ? "attention + transpose" : "attention"), steps.end());
    EXPECT_EQ(std::ranges::count(steps, "transpose") + std::ranges::count(steps, "slice"), 0);
  }
}

TEST(Plan, LeavesAttentionWhoseWeightsAreReadElsewhere) {
  Net net;
  const ValueId q = net.input({1, 2, 9, 5}), k = net.input({1, 2, 5, 7}), v = net.input({1, 2, 7, 5});
  const ValueId weights = net.add(Softmax{{3}, false}, {net.add(MatMul{}, {q, k})});
  net.give(net.add(MatMul{}, {weights, v}));
  net.give(weights);
  const ValueId wide = net.input({3, 2, 7, 5});  // one of all weights for each
  net.give(net.add(MatMul{}, {net.add(Softmax{{3}, false}, {net.add(MatMul{}, {k, v})}), net.add(Relu{}, {k})}));
  net.give(net.add(MatMul{}, {net.add(Softmax{{3}, false}, {net.add(MatMul{}, {q, k})}), wide}));
  const std::vector<Tensor> inputs{random({1, 2, 9, 5}, 5), random({1, 2, 5, 7}, 6), random({1, 2, 7, 5}, 7),
                                   random({3, 2, 7, 5}, 8)};
  expect_agreement(net.graph, inputs);
  EXPECT_EQ(std::ranges::count(steps_of(net.graph, inputs), "attention"), 1);
}

TEST(Plan, CutsCellsOfAnyAxis) {
  Net net;
  const ValueId x = net.input({3, 7, 4, 5});
  for (const Size axis : {0, 1, 2}) net.give(net.add(Relu{}, {net.add(Slice{axis, 1, 3}, {x})}));
  const ValueId y = net.add(Relu{}, {net.conv(x, 7, 6, 3)});
  net.give(net.add(Unary{Function::Tanh}, {net.add(Slice{2, -2, {}}, {y})}));
  const std::vector<Tensor> inputs{random({3, 7, 4, 5}, 5)};
  expect_agreement(net.graph, inputs);
  EXPECT_EQ(std::ranges::count(steps_of(net.graph, inputs), "slice"), 4);
}

TEST(Plan, ViewsAPartThatIsTheWhole) {
  Net net;
  const ValueId x = net.input({2, 1, 3, 5});
  const ValueId pooled = net.add(Unary{Function::Tanh}, {x});
  const ValueId channel = net.add(Slice{1, 0, 1, 1}, {pooled});
  const ValueId rows = net.add(Reshape{{2, 3, 5}}, {channel});
  net.give(net.add(Binary{BinaryFunction::Subtract}, {rows, net.add(Softmax{{1}, false}, {rows})}));
  const ValueId last = net.add(Slice{3, 0, 5, 1}, {pooled});
  net.give(net.add(Softmax{{2}, false}, {net.add(Reshape{{2, 1, 15}}, {last})}));
  expect_agreement(net.graph, {random({2, 1, 3, 5}, 3)});
}

TEST(Plan, TakesAGeluThatIsWrittenOutAsOne) {
  Net net;
  const ValueId x = net.input({2, 9, 21});
  const auto number = [&](float v) {
    return net.graph.constant(net.graph.unique_name("c"), Tensor::of(Sizes{}, std::vector{v}));
  };
  const auto gelu = [&](ValueId y) {
    const ValueId e = net.add(Unary{Function::Erf}, {net.add(Binary{BinaryFunction::Divide}, {y, number(1.4142135F)})});
    const ValueId one = net.add(Binary{BinaryFunction::Add}, {e, number(1)});
    return net.add(Binary{BinaryFunction::Multiply},
                   {net.add(Binary{BinaryFunction::Multiply}, {y, one}), number(0.5F)});
  };
  const ValueId y = gelu(net.add(MatMul{}, {x, net.weight({21, 37})}));
  net.give(gelu(net.add(Softmax{{2}, false}, {y})));
  net.give(net.add(Unary{Function::Gelu}, {net.add(Softmax{{1}, false}, {y})}));
  const std::vector<Tensor> inputs{random({2, 9, 21}, 5)};
  expect_agreement(net.graph, inputs);
  const auto steps = steps_of(net.graph, inputs);
  EXPECT_NE(std::ranges::find(steps, "matmul + gelu"), steps.end());
  EXPECT_EQ(std::ranges::count(steps, "gelu"), 2);
}

TEST(Plan, TakesARowBehindAProductForItsBias) {
  Net net;
  const ValueId x = net.input({2, 9, 21});
  const ValueId y = net.add(Binary{}, {net.weight({37}), net.add(MatMul{}, {x, net.weight({21, 37})})});
  net.give(net.add(Binary{}, {y, net.input({2, 9, 37})}));
  const std::vector<Tensor> inputs{random({2, 9, 21}, 5), random({2, 9, 37}, 6)};
  expect_agreement(net.graph, inputs);
  const auto steps = steps_of(net.graph, inputs);
  EXPECT_NE(std::ranges::find(steps, "matmul + bias + sum"), steps.end());
}

// One row reads several panels of weights at once, and what is left of them.
TEST(Plan, GivesTheBitsOfTheNodesForSingleRows) {
  for (const Size outputs : {5, 64, 128, 300}) {
    Net net;
    net.whole = true;
    const ValueId x = net.input({1, 700});
    const ValueId y =
        net.add(Linear{.order = LinearOrder::OutIn}, {x, net.weight({outputs, 700}), net.weight({outputs})});
    net.give(net.add(Relu{.max_value = 900}, {y}));
    expect_agreement(net.graph, {whole_floats({1, 700}, 5)}, 0);
  }
}

TEST(Plan, SumsDilatedConvolutionsOfThreeCellsByWinograd) {
  for (const Size dilation : {1, 2, 5, 16})
    for (const Size length : {203, 512}) {
      Net net;
      const ValueId x = net.input({2, 53, length});
      const auto conv = [&](ValueId from, Size channels, Spelling spelling) {
        const Conv op{
            .axes = {Order::ChannelsFirst, 1}, .windows = {{3, 1, dilation}}, .paddings = {{spelling, 0, 0, {}}}};
        return net.add(op, {from, net.weight({61, channels, 3}), net.weight({61})});
      };
      const ValueId y = net.add(Unary{Function::Tanh}, {conv(x, 53, Spelling::Causal)});
      net.give(net.add(Relu{}, {net.add(Binary{}, {conv(y, 61, Spelling::SameUpper), y})}));
      const std::vector<Tensor> inputs{random({2, 53, length}, 5)};
      expect_agreement(net.graph, inputs, 1e-5);
      const auto steps = steps_of(net.graph, inputs);
      EXPECT_NE(std::ranges::find(steps, "conv by winograd + tanh"), steps.end());
      EXPECT_NE(std::ranges::find(steps, "conv by winograd + sum + relu"), steps.end());
    }
}

// More cells along one axis are taken in threes, the last of which may be fewer.
TEST(Plan, SumsLongConvolutionsByWinograd) {
  for (const Size taps : {5, 7, 8, 11})
    for (const Size dilation : {1, 3}) {
      Net net;
      const ValueId x = net.input({2, 53, 203});
      const auto conv = [&](ValueId from, Size channels, Size outputs) {
        const Conv op{.axes = {Order::ChannelsFirst, 1},
                      .windows = {{taps, 1, dilation}},
                      .paddings = {{Spelling::SameUpper, 0, 0, {}}}};
        return net.add(op, {from, net.weight({outputs, channels, taps}), net.weight({outputs})});
      };
      const ValueId y = net.add(Relu{.negative_slope = 0.125}, {conv(x, 53, 61)});
      net.give(net.add(Binary{}, {conv(y, 61, 61), y}));
      const std::vector<Tensor> inputs{random({2, 53, 203}, 5)};
      expect_agreement(net.graph, inputs, 1e-5);
      const auto steps = steps_of(net.graph, inputs);
      EXPECT_NE(std::ranges::find(steps, "conv by winograd + leaky relu"), steps.end());
      EXPECT_NE(std::ranges::find(steps, "conv by winograd + sum"), steps.end());
    }
}

// Rows whose distance puts them into one set of the cache lie further apart.
TEST(Plan, SumsFewBlocksOfManyChannelsByWinograd) {
  Net net;
  const ValueId x = net.input({1, 256, 13, 15});
  net.give(net.add(Relu{}, {net.conv(x, 256, 512, 3)}));
  const std::vector<Tensor> inputs{random({1, 256, 13, 15}, 5)};
  expect_agreement(net.graph, inputs, 1e-5);
  const auto steps = steps_of(net.graph, inputs);
  EXPECT_NE(std::ranges::find(steps, "conv by winograd + relu"), steps.end());
}

// Several outputs of a line are one row of the product; the last of a line are fewer.
TEST(Plan, SumsFewChannelsOfSeveralOutputsAtOnce) {
  for (const Size channels : {1, 3, 5, 8, 16})
    for (const Size width : {13, 40}) {
      Net net;
      net.whole = true;
      const ValueId x = net.input({2, 7, 11, width});
      const ValueId y = net.add(Relu{}, {net.conv(x, 7, channels, 7)});
      const ValueId sum = net.add(Binary{}, {net.conv(y, channels, channels, 5), y});
      net.give(net.add(Relu{.negative_slope = 0.5}, {sum}));
      const ConvTranspose up{.axes = {Order::ChannelsFirst, 2},
                             .windows = {{4, 2, 1}, {4, 2, 1}},
                             .paddings = {{CropSpelling::Explicit, 1, 1, {}}, {CropSpelling::Explicit, 0, 1, {}}}};
      net.give(net.add(up, {y, net.weight({channels, channels, 4, 4}), net.weight({channels})}));
      expect_agreement(net.graph, {whole_floats({2, 7, 11, width}, 5)}, 0);
    }
}

TEST(Plan, KeepsWhatIsNoNumberToTheOutputsThatReadIt) {
  Net net;
  const ValueId x = net.input({1, 4, 9, 21});
  net.give(net.conv(x, 4, 3, 5));
  for (const float odd : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> numbers = random({1, 4, 9, 21}, 5).floats();
    numbers[200] = odd;
    const std::vector<Tensor> inputs{Tensor::of({1, 4, 9, 21}, numbers)};
    const auto plain = run(net.graph, inputs, {.threads = 1, .kernels = KernelChoice::Plain});
    const auto fast = Engine(std::make_shared<const Graph>(net.graph)).run(inputs);
    ASSERT_TRUE(plain && fast);
    const auto wanted = plain->at(net.graph.outputs[0]).doubles(), got = (*fast)[0].doubles();
    for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_EQ(std::isfinite(wanted[i]), std::isfinite(got[i])) << i;
  }
}

// The wide numbers between are large enough to be computed some lines at a time.
TEST(Plan, ComputesWideBlocksInStrips) {
  for (const Size taps : {3, 5})
    for (const Size stride : {1, 2}) {
      Net net;
      const ValueId x = net.input({2, 12, 47, 39});
      const ValueId wide = net.add(Relu{.max_value = 6}, {net.norm(net.conv(x, 12, 72, 1), 72)});
      const ValueId deep = net.add(Unary{Function::Silu}, {net.conv(wide, 72, 72, taps, stride, 72)});
      ValueId y = net.norm(net.conv(deep, 72, 12, 1), 12);
      if (stride == 1) y = net.add(Binary{}, {y, x});
      net.give(net.add(Relu{}, {y}));
      const std::vector<Tensor> inputs{random({2, 12, 47, 39}, 5)};
      expect_agreement(net.graph, inputs);
      const auto steps = steps_of(net.graph, inputs);
      EXPECT_TRUE(std::ranges::any_of(steps, [](const std::string& step) { return step.ends_with("in strips"); }));
    }
}

// Whole numbers give the same bits, with or without a product before and behind; a value that is read twice is kept.
TEST(Plan, GivesTheBitsOfTheNodesInStrips) {
  for (int parts = 0; parts < 4; ++parts) {
    Net net;
    net.whole = true;
    const bool expands = parts != 1, projects = parts != 2;
    ValueId x = net.input({1, expands ? 7 : 81, 53, 61});
    if (expands) x = net.add(Relu{}, {net.conv(x, 7, 81, 1)});
    const ValueId deep = net.add(Relu{.max_value = 40}, {net.conv(x, 81, 81, 3, 1, 81)});
    if (parts == 3) net.give(deep);
    net.give(projects ? net.conv(deep, 81, 9, 1) : net.add(Relu{}, {deep}));
    const std::vector<Tensor> inputs{whole_floats({1, expands ? 7 : 81, 53, 61}, 5)};
    expect_agreement(net.graph, inputs, 0);
  }
}

TEST(Plan, PoolsLineByLine) {
  for (const Size stride : {1, 2, 3})
    for (const Size channels : {1, 19, 40}) {
      Net net;
      const ValueId x = net.input({2, channels, 23, 31});
      const std::vector<Window> windows{{3, stride, 1}, {2, stride, 2}};
      const std::vector<Padding> paddings{{Spelling::Explicit, 1, 2, {}}, {Spelling::SameUpper, 0, 0, {}}};
      net.give(net.add(MaxPool{.axes = {Order::ChannelsFirst, 2}, .windows = windows, .paddings = paddings}, {x}));
      net.give(net.add(AveragePool{.axes = {Order::ChannelsFirst, 2}, .windows = windows, .paddings = paddings}, {x}));
      auto numbers = random({2, channels, 23, 31}, 5).floats();
      numbers[100] = std::numeric_limits<float>::quiet_NaN(), numbers[300] = -std::numeric_limits<float>::infinity();
      const std::vector<Tensor> inputs{Tensor::of({2, channels, 23, 31}, numbers)};
      const auto plain = run(net.graph, inputs, {.threads = 1, .kernels = KernelChoice::Plain});
      const auto fast = Engine(std::make_shared<const Graph>(net.graph)).run(inputs, {.threads = 1});
      ASSERT_TRUE(plain && fast);
      for (std::size_t i = 0; i < 2; ++i) {
        const auto wanted = plain->at(net.graph.outputs[i]).doubles(), got = (*fast)[i].doubles();
        ASSERT_EQ(wanted.size(), got.size());
        for (std::size_t k = 0; k < wanted.size(); ++k)
          ASSERT_TRUE(wanted[k] == got[k] || (std::isnan(wanted[k]) && std::isnan(got[k])) ||
                      (i == 1 && std::abs(wanted[k] - got[k]) < 1e-6))
              << i << ", " << k << ": " << got[k] << ", expected " << wanted[k];
      }
    }
}

TEST(Plan, IsSharedByManyThreadsAndMadeForEveryShape) {
  Net net;
  const ValueId x = net.input({Dim::unknown(), 4, Dim::unknown(), 9});
  net.give(net.add(Relu{}, {net.conv(net.conv(x, 4, 16, 3, 2), 16, 8, 3)}));
  const Engine engine(std::make_shared<const Graph>(net.graph));
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 20; ++i) {
        const std::vector<Tensor> inputs{
            random({1 + static_cast<Size>(t % 2), 4, 5 + static_cast<Size>(i % 12), 9}, t + i)};
        const auto got = engine.run(inputs, {.threads = 1});
        const auto wanted = run(net.graph, inputs, {.threads = 1, .kernels = KernelChoice::Plain});
        ASSERT_TRUE(got && wanted);
        const auto a = (*got)[0].doubles(), b = wanted->at(net.graph.outputs[0]).doubles();
        for (std::size_t k = 0; k < a.size(); ++k) ASSERT_NEAR(a[k], b[k], 1e-4);
      }
    });
}

}  // namespace
}  // namespace convoy::plan_test
