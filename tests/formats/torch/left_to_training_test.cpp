// What layers of PyTorch do in training alone: carried as nodes of the graph, or noted where no node says it.
#include "formats/source.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace convoy::left_to_training_test {
namespace {

using Notes = std::vector<std::string>;

Graph graph_of(const std::string& init, const std::string& forward, const Shape& shape) {
  const std::string program =
      "import torch\nfrom torch import nn\nfrom torch.nn.utils import weight_norm, spectral_norm\nclass "
      "Net(nn.Module):\n"
      "    def __init__(self):\n        super().__init__()\n        self.a = " +
      init + "\n    def forward(self, x):\n        return " + forward + "\n";
  LoadOptions options;
  options.shapes[""] = shape;
  auto graph = read_source_text(program, "Net", options);
  EXPECT_TRUE(graph) << message(graph.error());
  return graph ? std::move(*graph) : Graph();
}

Notes notes_of(const std::string& init, const std::string& forward = "self.a(x)", const Shape& shape = {2, 3, 5, 7}) {
  return graph_of(init, forward, shape).left_to_training;
}

std::vector<Dropout> dropouts_of(const std::string& init, const std::string& forward, const Shape& shape) {
  std::vector<Dropout> all;
  for (const Node& node : graph_of(init, forward, shape).nodes)
    if (const auto* dropout = get_if<Dropout>(&node.op)) all.push_back(*dropout);
  return all;
}

TEST(LeftToTraining, AveragesOverAllBatchesAndStatisticsOfEachExample) {
  EXPECT_EQ(notes_of("nn.BatchNorm2d(3, momentum=None)"), Notes{"momentum=None, the average over all batches, of 'a'"});
  EXPECT_EQ(notes_of("nn.BatchNorm2d(3)"), Notes{});
  EXPECT_EQ(notes_of("nn.BatchNorm2d(3, momentum=None, track_running_stats=False)"), Notes{});
  EXPECT_EQ(notes_of("nn.InstanceNorm2d(3, track_running_stats=True)"),
            Notes{"statistics of each example by itself of 'a'"});
  EXPECT_EQ(notes_of("nn.InstanceNorm2d(3)"), Notes{});
}

TEST(LeftToTraining, WeightsThatAreMadeOfOthers) {
  EXPECT_EQ(notes_of("weight_norm(nn.Conv2d(3, 4, 2))"), Notes{"weight_norm or spectral_norm of 'a.weight'"});
  EXPECT_EQ(notes_of("spectral_norm(nn.Conv2d(3, 4, 2))"), Notes{"weight_norm or spectral_norm of 'a.weight'"});
  EXPECT_EQ(notes_of("nn.Conv2d(3, 4, 2)"), Notes{});
}

TEST(LeftToTraining, AWeightThatIsDetached) {
  EXPECT_EQ(notes_of("nn.Conv2d(3, 4, 2)", "self.a(x) + self.a.bias.detach().reshape(4, 1, 1)"),
            Notes{"detach() of 'a.bias'"});
  EXPECT_EQ(notes_of("nn.Conv2d(3, 4, 2).requires_grad_(False)", "self.a(x) + self.a.bias.detach().reshape(4, 1, 1)"),
            Notes{});
}

TEST(LeftToTraining, DropoutInsideOfLayersIsCarried) {
  const auto between = dropouts_of("nn.LSTM(7, 4, 3, dropout=0.25)", "self.a(x)[0]", {5, 2, 7});
  ASSERT_EQ(between.size(), 2U);  // not behind the last
  EXPECT_EQ(between[0].rate, 0.25);
  EXPECT_EQ(dropouts_of("nn.GRU(7, 4, 2)", "self.a(x)[0]", {5, 2, 7}).size(), 0U);
  EXPECT_EQ(dropouts_of("nn.MultiheadAttention(4, 2, dropout=0.5)", "self.a(x, x, x)[0]", {5, 2, 4}).size(), 1U);
  EXPECT_EQ(dropouts_of("nn.MultiheadAttention(4, 2)", "self.a(x, x, x)[0]", {5, 2, 4}).size(), 0U);
  EXPECT_EQ(dropouts_of("nn.TransformerEncoderLayer(4, 2, 8)", "self.a(x)", {5, 2, 4}).size(), 4U);
}

TEST(LeftToTraining, DropoutOfChannelsKnowsWhereTheyLie) {
  const auto one = [](const std::string& init, const Shape& shape) {
    const auto all = dropouts_of(init, "self.a(x * 1.5)", shape);
    return all.size() == 1 ? all.front() : Dropout{Noise::Augmentation, 0, -1};
  };
  EXPECT_EQ(one("nn.FeatureAlphaDropout(0.25)", {2, 3, 5}), (Dropout{Noise::FeatureAlphaDropout, 0.25, 1}));
  EXPECT_EQ(one("nn.Dropout1d(0.25)", {2, 3, 5}), (Dropout{Noise::SpatialDropout, 0.25, 1}));
  EXPECT_EQ(one("nn.Dropout1d(0.25)", {3, 5}), (Dropout{Noise::SpatialDropout, 0.25, 0}));
  EXPECT_EQ(one("nn.Dropout2d(0.25)", {2, 3, 5}), (Dropout{Noise::SpatialDropout, 0.25, 1}));
  EXPECT_EQ(one("nn.Dropout3d(0.25)", {3, 4, 5, 6}), (Dropout{Noise::SpatialDropout, 0.25, 0}));
}

}  // namespace
}  // namespace convoy::left_to_training_test
