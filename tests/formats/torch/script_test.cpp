// Archives of torch.jit.save, put together here: code that is followed, and code that is refused with its place.
#include "formats/torch/script/reader.h"

#include "containers/zip.h"
#include "formats/torch/catalogue/catalogue.h"
#include "run/run.h"

#include <gtest/gtest.h>

namespace convoy::torch::script_test {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

std::string zipped(const Files& files) {
  std::string bytes;
  ZipWriter writer([&](Bytes more) -> Status {
    bytes += text_of(more);
    return {};
  });
  for (const auto& [name, content] : files) EXPECT_TRUE(writer.add("net/" + name, bytes_of(content)));
  EXPECT_TRUE(writer.finish());
  return bytes;
}

// A module of class __torch__.m.Net with attribute n = 3 and training = True.
const std::string data(
    "\x80\x02"
    "c__torch__.m\nNet\n)\x81}(X\x01\x00\x00\x00nK\x03X\x08\x00\x00\x00training\x88ub.",
    48);
const std::string no_constants("\x80\x02).", 4);

Result<Graph> graph_of(const std::string& forward, const std::string& more = "", const LoadOptions& options = {}) {
  const std::string bytes = zipped({{"data.pkl", data},
                                    {"code/__torch__/m.py",
                                     "class Net(Module):\n  __parameters__ = []\n  __buffers__ = []\n  n : int\n"
                                     "  __annotations__[\"0\"] = __torch__.never.made.Layer\n" +
                                         forward},
                                    {"code/__torch__/free.py", more},
                                    {"constants.pkl", no_constants}});
  auto zip = ZipArchive::open({bytes_of(bytes), nullptr});
  if (!zip) return pass(zip);
  return read_script(*zip, options);
}

LoadOptions shaped(Shape shape) {
  LoadOptions options;
  options.shapes["x"] = std::move(shape);
  return options;
}

std::vector<double> numbers_of(const std::string& forward, Shape shape, std::vector<float> input,
                               const std::string& more = "") {
  Sizes sizes;
  for (const Dim d : shape) sizes.push_back(*d);
  const auto graph = graph_of(forward, more, shaped(std::move(shape)));
  EXPECT_TRUE(graph) << (graph ? "" : message(graph.error()));
  if (!graph) return {};
  const auto values = run(*graph, {Tensor::of(sizes, std::move(input))});
  EXPECT_TRUE(values) << (values ? "" : message(values.error()));
  return values ? values->at(graph->outputs[0]).doubles() : std::vector<double>{};
}

std::string refusal(const std::string& forward, const std::string& more = "") {
  const auto graph = graph_of(forward, more, shaped({Dim(2), Dim(3)}));
  return graph ? "read" : message(graph.error());
}

using Numbers = std::vector<double>;

TEST(TorchScript, FollowsLoopsBranchesAndFunctionsOfTheArchive) {
  // n is 3: x -> 2x, then +1, then 2x.
  EXPECT_EQ(numbers_of("  def forward(self: __torch__.m.Net,\n    x: Tensor) -> Tensor:\n"
                       "    n = self.n\n    y = x\n"
                       "    for i in range(n):\n"
                       "      _0 = torch.eq(torch.remainder(i, 2), 0)\n"
                       "      if _0:\n        z = __torch__.free.twice(y, )\n"
                       "      else:\n        z = torch.add(y, 1)\n"
                       "      y = z\n    return y\n",
                       {Dim(2), Dim(1)}, {5, -3},
                       "def twice(a: Tensor,\n    inplace: bool=False) -> Tensor:\n"
                       "  if inplace:\n    ops.prim.RaiseException(\"never\")\n    b = uninitialized(Tensor)\n"
                       "  else:\n    b = torch.mul(a, 2)\n  return b\n"),
            (Numbers{22, -10}));
}

// Two files of one name hold a class of one name each: both are what their own file says.
TEST(TorchScript, TellsFilesOfOneNameInTwoFoldersApart) {
  // A module with attributes a and b of classes __torch__.p.block.Block and __torch__.q.block.Block.
  const char pickled[] =
      "\x80\x02"
      "c__torch__.m\nNet\n)\x81}(X\x01\x00\x00\x00"
      "ac__torch__.p.block\nBlock\n)\x81}b"
      "X\x01\x00\x00\x00"
      "bc__torch__.q.block\nBlock\n)\x81}bub.";
  const std::string own(pickled, sizeof pickled - 1);
  const auto block = [](const std::string& folder, const std::string& function) {
    return "class Block(Module):\n  __parameters__ = []\n  __buffers__ = []\n  def forward(self: __torch__." + folder +
           ".block.Block, x: Tensor) -> Tensor:\n    return torch." + function + "(x)\n";
  };
  const std::string bytes = zipped(
      {{"data.pkl", own},
       {"code/__torch__/m.py",
        "class Net(Module):\n  __parameters__ = []\n  __buffers__ = []\n  def forward(self: __torch__.m.Net, x: "
        "Tensor) -> Tensor:\n    a = (self.a).forward(x, )\n    b = (self.b).forward(x, )\n    return torch.sub(a, "
        "b)\n"},
       {"code/__torch__/p/block.py", block("p", "relu")},
       {"code/__torch__/q/block.py", block("q", "neg")},
       {"constants.pkl", no_constants}});
  auto zip = ZipArchive::open({bytes_of(bytes), nullptr});
  ASSERT_TRUE(zip) << message(zip.error());
  const auto graph = read_script(*zip, shaped({Dim(2)}));
  ASSERT_TRUE(graph) << message(graph.error());
  const auto values = run(*graph, {Tensor::of({2}, std::vector<float>{5, -3})});
  ASSERT_TRUE(values) << message(values.error());
  EXPECT_EQ(values->at(graph->outputs[0]).doubles(), (Numbers{10, -3}));  // relu(x) - (-x)
}

TEST(TorchScript, IsReadAtRestWhateverWasSaved) {
  EXPECT_EQ(numbers_of("  def forward(self: __torch__.m.Net, x: Tensor) -> Tensor:\n"
                       "    training = self.training\n    return torch.dropout(x, 0.5, training)\n",
                       {Dim(2)}, {5, -3}),
            (Numbers{5, -3}));
}

// The volume says its windows besides the size, which is all that counts: maxima of pairs go back to where they stood.
TEST(TorchScript, PutsMaximaOfAVolumeBack) {
  EXPECT_EQ(numbers_of("  def forward(self: __torch__.m.Net, x: Tensor) -> Tensor:\n"
                       "    y, i = torch.max_pool3d_with_indices(x, [1, 1, 2], [1, 1, 2])\n"
                       "    return torch.max_unpool3d(y, i, [1, 3, 4], [1, 1, 2], [0, 0, 0])\n",
                       {Dim(1), Dim(1), Dim(1), Dim(3), Dim(4)}, {5, -3, 1, 2, 7, 8, 6, 4, -2, -1, 9, 0}),
            (Numbers{5, 0, 0, 2, 0, 8, 6, 0, 0, -1, 9, 0}));
}

// As pads are spelt that torch.export and older tracers have taken apart.
TEST(TorchScript, ReadsPadsOfEachModeByTheirOwnNames) {
  const auto padded = [](const std::string& call) {
    return numbers_of("  def forward(self: __torch__.m.Net, x: Tensor) -> Tensor:\n    return torch." + call + "\n",
                      {Dim(1), Dim(1), Dim(4)}, {5, -3, 1, 2});
  };
  EXPECT_EQ(padded("reflection_pad1d(x, [2, 1])"), (Numbers{1, -3, 5, -3, 1, 2, 1}));
  EXPECT_EQ(padded("replication_pad1d(x, [2, 1])"), (Numbers{5, 5, 5, -3, 1, 2, 2}));
  EXPECT_EQ(padded("constant_pad_nd(x, [1, 2], 7)"), (Numbers{7, 5, -3, 1, 2, 7, 7}));
}

TEST(TorchScript, TakesArgumentsByPlaceAndNameAsTheOverloadOrdersThem) {
  EXPECT_EQ(numbers_of("  def forward(self: __torch__.m.Net, x: Tensor) -> Tensor:\n"
                       "    a, b = torch.split(x, [1, 2], 1)\n"
                       "    c = torch.sub(a, torch.slice(b, 1, 1, 9223372036854775807), alpha=2)\n"
                       "    return torch.rsub(c, 10)\n",
                       {Dim(1), Dim(3)}, {4, 5, 6}),
            (Numbers{18}));  // 10 - (4 - 2 * 6)
}

TEST(TorchScript, ComputesWithSizesAsNumbers) {
  EXPECT_EQ(numbers_of("  def forward(self: __torch__.m.Net, x: Tensor) -> Tensor:\n"
                       "    _0 = ops.prim.NumToTensor(torch.size(x, 1))\n"
                       "    _1 = torch.floor_divide(_0, 2)\n"
                       "    _2 = annotate(List[int], [int(_1), int(torch.sub(_0, _1)), -1])\n"
                       "    return torch.sum(torch.reshape(x, _2), [2])\n",
                       {Dim(1), Dim(4), Dim(3)}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
            (Numbers{6, 15, 24, 33}));
}

TEST(TorchScript, ChangesInPlaceWhatHasTheName) {
  EXPECT_EQ(numbers_of("  def forward(self: __torch__.m.Net, x: Tensor) -> Tensor:\n"
                       "    y = torch.mul(x, 2)\n    _0 = torch.relu_(y)\n    return torch.add(y, x)\n",
                       {Dim(2)}, {5, -3}),
            (Numbers{15, -3}));
}

TEST(TorchScript, RefusesByNameAndLine) {
  const std::string begin = "  def forward(self: __torch__.m.Net, x: Tensor) -> Tensor:\n";
  const auto says = [&](const std::string& body, const char* words) {
    const std::string got = refusal(begin + body);
    EXPECT_NE(got.find(words), std::string::npos) << got;
    EXPECT_NE(got.find("code/__torch__/m.py:7:"), std::string::npos) << got;
  };
  says("    return torch.fft_rfft(x)\n", "operator 'torch.fft_rfft' is not known here");
  says("    return ops.torchvision.nms(x, x, 0.5)\n", "operator 'ops.torchvision.nms' is not known here");
  says("    return torch.relu(x, 1, 2)\n", "no form here that takes (Tensor, int, int)");
  says("    if bool(torch.gt(torch.sum(x), 0)):\n      y = x\n    else:\n      y = torch.neg(x)\n    return y\n",
       "comes only when the model runs");
  says("    self.n = 4\n    return x\n", "the model changes its own 'n'");
  says("    ops.prim.RaiseException(\"too small\")\n    return x\n", "raises an exception: too small");
  says("    return torch.batch_norm(x, None, None, x, x, True, 0.1, 1e-05, True)\n", "was saved for training");
  says("    return (self.layer).forward(x, )\n", "has no attribute 'layer'");
  says("    return __torch__.gone.f(x, )\n", "no code for '__torch__.gone'");
  says("    return x.__class__\n", "has no attribute '__class__'");
}

TEST(TorchScript, EndsEndlessCodeByItsSteps) {
  const std::string begin = "  def forward(self: __torch__.m.Net, x: Tensor) -> Tensor:\n";
  EXPECT_NE(refusal(begin + "    while True:\n      pass\n    return x\n").find("steps"), std::string::npos);
  EXPECT_NE(refusal(begin + "    y = x\n    while True:\n      y = torch.relu(y)\n    return y\n").find("the program"),
            std::string::npos);
  EXPECT_NE(refusal(begin + "    return (self).forward(x, )\n").find("nested too deep"), std::string::npos);
  EXPECT_NE(refusal(begin + "    y = [0]\n    while True:\n      y = torch.add(y, y)\n    return x\n").find("MiB"),
            std::string::npos);
}

TEST(TorchScript, KnowsEverySchemasKinds) {
  for (const Schema& schema : schemas())
    for (const SchemaParameter& parameter : parameters_of(schema))
      EXPECT_NE(std::string_view("TLiIfFnbstd").find(parameter.kind), std::string_view::npos)
          << schema.name << " " << parameter.name;
}

}  // namespace
}  // namespace convoy::torch::script_test
