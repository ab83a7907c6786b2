// What layers cost, by arithmetic; unlike sizes on every axis.
#include "report/summary.h"

#include "report/cost.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace convoy::summary_test {
namespace {

Tensor zeros(const Sizes& shape) {
  Size count = 1;
  for (const Size n : shape) count *= n;
  return Tensor::of(shape, std::vector<float>(static_cast<std::size_t>(count)));
}

// The one node of a graph with these inputs and weights.
struct OneNode {
  Graph graph;
  OneNode(Op op, const Shape& x, const std::vector<Sizes>& weights, DType dtype = DType::F32) {
    std::vector<ValueId> inputs{graph.input("x", {dtype, x})};
    for (std::size_t i = 0; i < weights.size(); ++i)
      inputs.push_back(graph.constant("layer/w" + std::to_string(i), zeros(weights[i])));
    const auto made = graph.add(std::move(op), inputs, "layer");
    EXPECT_TRUE(made) << (made ? "" : message(made.error()));
    if (made) graph.outputs = {made->front()};
    graph.output_names = {"layer"};
  }
  std::optional<Size> products() const { return multiply_adds(graph, graph.nodes.at(0)); }
};

Conv conv(std::vector<Window> windows, Size groups = 1, Order order = Order::ChannelsFirst) {
  Conv c;
  c.axes.order = order;
  c.axes.space = static_cast<Size>(windows.size());
  c.paddings.resize(windows.size());
  c.windows = std::move(windows);
  c.groups = groups;
  return c;
}

TEST(LayerCost, a_convolution_has_one_product_for_each_cell_of_its_kernel_and_output) {
  // [2, 6, 11, 17] by 10 filters of [3, 2, 4] in 2 groups, stride 3 and 2: [2, 10, (11-2)/3+1 = 4, (17-4)/2+1 = 7].
  const OneNode one(conv({{2, 3, 1}, {4, 2, 1}}, 2), {Dim(2), Dim(6), Dim(11), Dim(17)}, {{10, 3, 2, 4}, {10}});
  EXPECT_EQ(one.products(), 2 * 10 * 4 * 7 * (3 * 2 * 4));
  EXPECT_EQ(bytes_given(one.graph, one.graph.nodes.at(0)), 2 * 10 * 4 * 7 * 4);
}

TEST(LayerCost, a_free_batch_counts_as_one_and_another_free_size_not_at_all) {
  const OneNode batch(conv({{3, 1, 1}}), {Dim::unknown(), Dim(5), Dim(13)}, {{7, 5, 3}});
  EXPECT_EQ(batch.products(), 7 * 11 * 5 * 3);
  const OneNode free(conv({{3, 1, 1}}), {Dim(2), Dim(5), Dim::unknown()}, {{7, 5, 3}});
  EXPECT_EQ(free.products(), std::nullopt);
  EXPECT_EQ(cost_of(free.graph).multiply_adds, std::nullopt);
  EXPECT_EQ(cost_of(free.graph).parameters, 7 * 5 * 3 * 4);
}

TEST(LayerCost, a_transposed_convolution_scatters_its_input) {
  ConvTranspose up;
  up.axes.space = 1;
  up.windows = {{4, 3, 1}};
  up.paddings.resize(1);
  up.groups = 2;
  // [3, 6, 5] by a kernel [6, 10/2, 4]: every one of 3*6*5 numbers goes to 5*4 places.
  const OneNode one(up, {Dim(3), Dim(6), Dim(5)}, {{6, 5, 4}});
  EXPECT_EQ(one.products(), 3 * 6 * 5 * (5 * 4));
}

TEST(LayerCost, linear_layers_and_products_of_matrices) {
  const OneNode linear(Linear{}, {Dim(3), Dim(4), Dim(7)}, {{11, 7}, {11}});
  EXPECT_EQ(linear.products(), 3 * 4 * 11 * 7);
  Graph graph;
  const ValueId a = graph.input("a", {DType::F32, {Dim(2), Dim(3), Dim(5)}});
  const ValueId b = graph.input("b", {DType::F32, {Dim(2), Dim(5), Dim(7)}});
  ASSERT_TRUE(graph.add(MatMul{}, {a, b}, "product"));
  EXPECT_EQ(multiply_adds(graph, graph.nodes[0]), 2 * 3 * 7 * 5);
  ASSERT_TRUE(graph.add(Einsum{"bik,bkj->bij"}, {a, b}, "einsum"));
  EXPECT_EQ(multiply_adds(graph, graph.nodes[1]), 2 * 3 * 7 * 5);
  ASSERT_TRUE(graph.add(Relu{}, {a}, "relu"));
  EXPECT_EQ(multiply_adds(graph, graph.nodes[2]), 0);
}

TEST(LayerCost, what_is_held_at_once_goes_behind_its_last_reader) {
  Graph graph;
  const ValueId x = graph.input("x", {DType::F32, {Dim(1), Dim(10)}});
  const auto wide = graph.add(Linear{}, {x, graph.constant("a/w", zeros({100, 10}))}, "a");
  const auto narrow = graph.add(Linear{}, {wide->front(), graph.constant("b/w", zeros({3, 100}))}, "b");
  const auto again = graph.add(Linear{}, {narrow->front(), graph.constant("c/w", zeros({50, 3}))}, "c");
  graph.outputs = {again->front()};
  const Cost cost = cost_of(graph);
  EXPECT_EQ(cost.activations, 4 * (100 + 3 + 50));
  EXPECT_EQ(cost.most_at_once, 4 * (10 + 100));  // x and a's; b's 3 come when x is gone
  EXPECT_EQ(cost.parameters, 4 * (1000 + 300 + 150));
  EXPECT_EQ(cost.multiply_adds, 1000 + 300 + 150);
}

// Two modules of two layers each, and one behind them.
Graph nested() {
  Graph graph;
  graph.source_format = "PyTorch";
  ValueId v = graph.input("x", {DType::F32, {Dim(1), Dim(5)}});
  const auto layer = [&](const char* name, std::vector<Scope> scopes, Size from, Size to, bool trainable) {
    v = graph
            .add(Linear{}, {v, graph.constant(std::string(name) + ".weight", zeros({to, from}), trainable)}, name,
                 "Linear", std::move(scopes))
            ->front();
  };
  layer("stem.a", {{"stem", 0}}, 5, 7, true);
  layer("stem.b", {{"stem", 0}}, 7, 11, false);
  layer("body.0.a", {{"body", 0}, {"body.0", 0}}, 11, 2, true);
  layer("head", {}, 2, 13, true);
  graph.outputs = {v};
  graph.output_names = {"head"};
  return graph;
}

TEST(Summary, modules_deeper_than_depth_are_one_row) {
  const Json whole = summary_json(nested(), "net.pt2", {.depth = 1});
  ASSERT_EQ(whole["layers"].size(), 3u);
  const Json& stem = whole["layers"][0];
  EXPECT_EQ(stem["path"], "stem");
  EXPECT_EQ(stem["operators"], 2);
  EXPECT_EQ(stem["parameters"], 5 * 7 + 7 * 11);
  EXPECT_EQ(stem["trainable"], 5 * 7);
  EXPECT_EQ(stem["multiply_adds"], 5 * 7 + 7 * 11);
  EXPECT_EQ(stem["bytes"], 4 * (7 + 11));
  EXPECT_EQ(stem["output"], (Json{1, 11}));
  EXPECT_EQ(stem["weights"][1], (Json{{"name", "stem.b.weight"}, {"shape", {11, 7}}, {"trainable", false}}));
  EXPECT_EQ(whole["layers"][1]["path"], "body");
  EXPECT_EQ(summary_json(nested(), "net.pt2", {.depth = 2})["layers"][2]["path"], "body.0");
  EXPECT_EQ(summary_json(nested(), "net.pt2")["layers"].size(), 4u);
}

TEST(Summary, the_dearest_stand_first_where_that_is_asked_for) {
  const Json sorted = summary_json(nested(), "net.pt2", {.sort = "parameters"});
  EXPECT_EQ(sorted["layers"][0]["path"], "stem.b");
  EXPECT_EQ(sorted["layers"][1]["path"], "stem.a");
  EXPECT_EQ(sorted["layers"][2]["path"], "head");
  EXPECT_EQ(summary_json(nested(), "net.pt2", {.sort = "memory"})["layers"][0]["path"], "head");
}

TEST(Summary, a_table_fits_its_terminal) {
  Graph graph = nested();
  const std::string wide = summary_text(graph, "net.pt2");
  EXPECT_NE(wide.find("11x7"), std::string::npos) << wide;
  EXPECT_NE(wide.find("multiply-adds"), std::string::npos);
  graph.nodes[1].layer = std::string(90, 'n');
  for (const std::size_t width : {120, 80, 60}) {
    const std::string text = summary_text(graph, "net.pt2", {.width = width});
    const std::string table = text.substr(text.find("\n\n") + 2, text.find("\n\noutputs") - text.find("\n\n") - 2);
    for (std::size_t from = 0; from < table.size();) {
      const std::size_t end = std::min(table.find('\n', from), table.size());
      EXPECT_LE(end - from, width) << table;
      from = end + 1;
    }
    EXPECT_NE(text.find("[1, 13]"), std::string::npos);
  }
}

}  // namespace
}  // namespace convoy::summary_test
