// Cells that are put, added and taken by places, on known numbers: each answer is a count of channels, worked out by hand.
#include "formats/source.h"

#include <gtest/gtest.h>

namespace convoy::torch::places_test {
namespace {

// The whole number that the expression gives, or the sentence of the refusal.
std::string number_of(const std::string& lines, const std::string& expression) {
  LoadOptions options;
  options.shapes[""] = {2, 3, 8, 6};
  const auto graph = read_source_text(
      "import torch\nimport torch.nn as nn\n" + lines + "\nnet = nn.Conv2d(3, int((" + expression + ").item()), 1)\n",
      "", options);
  if (!graph) return message(graph.error());
  return std::to_string(*(*graph)[graph->outputs[0]].type.shape[1]);
}

TEST(TorchPlaces, ScatterPutsTheLastOfSeveralAndLeavesTheRest) {
  const std::string x =
      "x = torch.arange(1., 13.).reshape(3, 4)\nindex = torch.tensor([[0, 2, 0], [1, 1, 3], [3, 0, 2]])\n";
  const std::string from = "src = torch.arange(20., 29.).reshape(3, 3)\n";
  EXPECT_EQ(number_of(x + from, "x.scatter(1, index, src)[0, 0]"), "22");
  EXPECT_EQ(number_of(x + from, "x.scatter(1, index, src)[0, 1]"), "2");
  EXPECT_EQ(number_of(x + from, "x.scatter(1, index, src)[1, 1]"), "24");
  EXPECT_EQ(number_of(x + from, "x.scatter(1, index, src)[2, 3]"), "26");
  EXPECT_EQ(number_of(x, "x.scatter(1, index, 7.)[2, 2]"), "7");
  EXPECT_EQ(number_of(x + from, "x.scatter_add(1, index, src)[0, 0]"), "43");  // 1 + 20 + 22
  EXPECT_EQ(number_of(x + from, "x.scatter_reduce(1, index, src, 'amax', include_self=False)[1, 1]"), "24");
  EXPECT_EQ(number_of(x + from, "x.scatter_reduce(1, index, src, 'sum', include_self=False)[0, 0]"), "42");
  EXPECT_EQ(number_of(x + from, "x.scatter_reduce(1, index, src, 'prod')[2, 2]"), "308");  // 11 * 28
  EXPECT_EQ(number_of(x + from, "x.scatter_reduce(1, index, src, 'mean')[2, 3]"), "19");  // (12 + 26) / 2
  EXPECT_EQ(number_of(x + from, "x.scatter_reduce(1, index, src, 'mean', include_self=False)[0, 0]"), "21");
  EXPECT_EQ(number_of(x + from, "x.scatter(1, index[:2], src)[1, 1]"), "24");
  EXPECT_EQ(number_of(x + from, "x.scatter(1, index[:2], src)[2, 3]"), "12");
}

TEST(TorchPlaces, RowsAreAddedByAList) {
  const std::string x = "x = torch.arange(1., 7.).reshape(2, 3)\ny = torch.tensor([[10., 20.], [30., 40.]])\n";
  EXPECT_EQ(number_of(x, "x.index_add(1, torch.tensor([2, 0]), y)[1, 0]"), "44");
  EXPECT_EQ(number_of(x, "x.index_add(1, torch.tensor([2, 2]), y, alpha=2)[0, 2]"), "63");  // 3 + 2 * (10 + 20)
  EXPECT_EQ(number_of(x, "x.index_copy(1, torch.tensor([2, 0]), y)[1, 2]"), "30");
  EXPECT_EQ(number_of(x, "x.index_fill(0, torch.tensor([1]), 9.)[1, 1]"), "9");
  EXPECT_EQ(number_of(x, "x.index_fill(0, torch.tensor([1]), 9.)[0, 1]"), "2");
}

TEST(TorchPlaces, DiagonalsAreTakenAndMade) {
  const std::string x = "x = torch.arange(24.).reshape(2, 3, 4)\n";
  EXPECT_EQ(number_of(x, "torch.diagonal(x, 1, 1, 2)[1, 2]"), "23");  // x[1, 2, 3]
  EXPECT_EQ(number_of(x, "x.diagonal(offset=-1, dim1=1, dim2=2)[0, 1]"), "9");  // x[0, 2, 1]
  EXPECT_EQ(number_of(x, "x.diagonal(dim1=2, dim2=0)[2, 1]"), "21");  // x[1, 2, 1]
  EXPECT_EQ(number_of(x, "torch.diag_embed(x, -1)[1, 2, 4, 3]"), "23");
  EXPECT_EQ(number_of(x, "torch.diag_embed(x, -1)[1, 2, 3, 3] + 5"), "5");
  EXPECT_EQ(number_of(x, "torch.diag(x[1, 2], 1)[2, 3]"), "22");
  EXPECT_EQ(number_of(x, "torch.diag(x[1], 1)[1]"), "18");
  EXPECT_EQ(number_of(x, "torch.trace(x[0])"), "15");  // 0 + 5 + 10
}

TEST(TorchPlaces, OtherWordsOfTheSame) {
  EXPECT_EQ(number_of("x = torch.tensor([3., 5.])", "torch.hypot(x, torch.tensor([4., 12.])).sum()"), "18");
  EXPECT_EQ(number_of("x = torch.tensor([3e30])", "torch.round(torch.hypot(x, torch.tensor([4e30])) / 1e30)"), "5");
  EXPECT_EQ(number_of("x = torch.tensor([3., 50.])", "torch.clamp(x, torch.tensor([4., 6.]), 8).sum()"), "12");
  EXPECT_EQ(number_of("x = torch.arange(6.).reshape(2, 3)", "torch.roll(x, 2)[0, 2] + 1"), "1");
  EXPECT_EQ(number_of("x = torch.arange(6.).reshape(2, 3)", "torch.roll(x, -1)[0, 2]"), "3");
  EXPECT_EQ(number_of("x = torch.tensor([True, True, False, True])", "torch.cumsum(x, 0, dtype=torch.float32)[3]"),
            "3");
}

}  // namespace
}  // namespace convoy::torch::places_test
