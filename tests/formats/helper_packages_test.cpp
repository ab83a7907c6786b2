// What programs take from packages around the frameworks, and what they ask of the world outside.
#include "formats/source.h"

#include <gtest/gtest.h>

namespace convoy::helper_packages_test {
namespace {

// The output's shape of the program's model for this shape, or the sentence of the refusal.
std::string shape_of(const std::string& text, const std::string& part = "", const Shape& shape = {2, 3, 8, 6},
                     const std::vector<std::string>& names = {}) {
  LoadOptions options;
  if (!shape.empty()) options.shapes[""] = shape;
  options.names = names;
  const auto graph = read_source_text(text, part, options);
  if (!graph) return message(graph.error());
  std::string sizes;
  for (const Dim n : (*graph)[graph->outputs[0]].type.shape) sizes += (n.known() ? std::to_string(*n) : "?") + " ";
  return sizes;
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A layer whose count of channels is what `count` gives.
std::string counted(const std::string& imports, const std::string& count) {
  return "import torch\nimport torch.nn as nn\n" + imports + "net = nn.Sequential(nn.Conv2d(3, " + count + ", 1))\n";
}

TEST(HelperPackages, EinopsMovesSplitsAndJoinsAxesByName) {
  const auto net = [](const std::string& made) {
    return "import torch.nn as nn\nfrom einops import rearrange, repeat, reduce\n"
           "class Net(nn.Module):\n  def forward(self, x):\n    return " +
           made + "\n";
  };
  EXPECT_EQ(shape_of(net("rearrange(x, 'b c h w -> b (h w) c')")), "2 48 3 ");
  EXPECT_EQ(shape_of(net("rearrange(x, 'b c (h p) (w q) -> b h w (p q c)', p=4, q=3)")), "2 2 2 36 ");
  EXPECT_EQ(shape_of(net("rearrange(x, 'b ... -> b (...)')")), "2 144 ");
  EXPECT_EQ(shape_of(net("rearrange(x, 'b c h w -> b 1 w c h')")), "2 1 6 3 8 ");
  EXPECT_EQ(shape_of(net("repeat(x, 'b c h w -> b c (h n) w', n=5)")), "2 3 40 6 ");
  EXPECT_EQ(shape_of(net("reduce(x, 'b c h w -> b w', 'mean')")), "2 6 ");
  EXPECT_TRUE(holds(shape_of(net("rearrange(x, 'b c h w -> b c h')")), "not the same on both sides"));
  EXPECT_TRUE(holds(shape_of(net("rearrange(x, 'b 1 h w -> b h w')")), "axis 1 is not 1"));
  EXPECT_TRUE(holds(shape_of(net("rearrange(x, 'b c h -> b h c')")), "the tensor has 4"));
  // Sizes that are free stay free.
  EXPECT_EQ(
      shape_of(net("rearrange(x, 'b c h w -> b (h w) c')"), "", {Dim::unknown(), 3, Dim::unknown(), Dim::unknown()}),
      "? ? 3 ");
}

TEST(HelperPackages, EinopsKeepsTheNumbersInOrder) {
  const std::string first = "from einops import rearrange, repeat\nx = torch.arange(24).reshape(2, 3, 4)\n";
  // x[1, 2, 3] = 23 moves to [3, 1, 2]; the second of four split as (2, 2) is x[:, :, 0 * 2 + 1].
  EXPECT_EQ(shape_of(counted(first, "rearrange(x, 'a b c -> c a b')[3, 1, 2].item()")), "2 23 8 6 ");
  EXPECT_EQ(shape_of(counted(first, "rearrange(x, 'a b (c d) -> d c b a', c=2)[1, 0, 2, 1].item()")), "2 21 8 6 ");
  EXPECT_EQ(shape_of(counted(first, "rearrange(x, 'a b c -> (b c) a')[7, 1].item()")), "2 19 8 6 ");
}

TEST(HelperPackages, TimmsPartsAreKnown) {
  EXPECT_EQ(shape_of("import torch.nn as nn\n"
                     "from timm.models.layers import DropPath, to_2tuple, trunc_normal_\n"
                     "class Net(nn.Module):\n"
                     "  def __init__(self):\n"
                     "    super().__init__()\n"
                     "    self.c = nn.Conv2d(3, 5, to_2tuple(3))\n"
                     "    self.d = DropPath(0.4)\n"
                     "    trunc_normal_(self.c.weight, std=.02)\n"
                     "  def forward(self, x):\n"
                     "    return self.d(self.c(x))\n",
                     "Net"),
            "2 5 6 4 ");
}

TEST(HelperPackages, TheShapeOfANetworksImagesIsWhatKerasMadeOfIt) {
  const auto net = [](const std::string& given) {
    return "from keras.layers import Input, Conv2D\nfrom keras.models import Model\n"
           "from keras_applications.imagenet_utils import _obtain_input_shape\n"
           "x = Input(_obtain_input_shape(" +
           given + "))\nmodel = Model(x, Conv2D(4, 1)(x))\n";
  };
  EXPECT_EQ(shape_of(net("None, 224, 32, 'channels_last', True"), "", {}), "? 224 224 4 ");
  EXPECT_EQ(shape_of(net("None, 224, 32, 'channels_last', False"), "", {}), "? ? ? 4 ");
  EXPECT_EQ(shape_of(net("(40, 50, 6), default_size=224, min_size=32, data_format=None, include_top=False"), "", {}),
            "? 40 50 4 ");
  EXPECT_TRUE(holds(shape_of(net("(20, 50, 6), 224, 32, None, True"), "", {}), "at least 32"));
}

TEST(HelperPackages, ArgumentsOfTheCommandLineHaveTheirDefaults) {
  const std::string parser =
      "import argparse\np = argparse.ArgumentParser()\n"
      "p.add_argument('-n', '--out-planes', type=int, default='7')\n"
      "p.add_argument('--wide', action='store_true')\n"
      "p.add_argument('folder')\nargs = p.parse_args()\n";
  EXPECT_EQ(shape_of(counted(parser, "9 if args.wide else args.out_planes")), "2 7 8 6 ");
  EXPECT_TRUE(holds(shape_of(counted(parser, "args.folder")), "which is not read"));
}

TEST(HelperPackages, VersionsAreComparedByTheirNumbers) {
  const std::string version = "from distutils.version import LooseVersion as V\n";
  EXPECT_EQ(shape_of(counted(version, "5 if V('1.10.0') > V('1.9') else 6")), "2 5 8 6 ");
  EXPECT_EQ(shape_of(counted(version, "5 if V('2.0') <= '1.13.1' else 6")), "2 6 8 6 ");
}

TEST(SourceAround, FilesOfTheProgramAreNotOpenedAndEndNothing) {
  EXPECT_EQ(shape_of(counted("with open('labels.txt') as f:\n  labels = f.read().split()\n", "4")), "2 4 8 6 ");
  EXPECT_TRUE(holds(shape_of(counted("n = len(open('labels.txt').readlines())\n", "n")), "open().readlines()"));
  // Whether there is one decides which way a program goes, and nobody knows.
  const std::string tried = "try:\n  open('big')\n  n = 64\nexcept IOError:\n  n = 8\n";
  EXPECT_TRUE(holds(shape_of(counted(tried, "n")), "whether 'open' finds its file is not known"));
}

TEST(SourceAround, AnUndefinedNameIsGivenByTheUser) {
  const std::string text = counted("", "planes");
  EXPECT_TRUE(holds(shape_of(text), "'planes' is not defined"));
  EXPECT_TRUE(holds(shape_of(text), "--set planes=... gives its value"));
  EXPECT_EQ(shape_of(text, "", {2, 3, 8, 6}, {"planes=2 + 3"}), "2 5 8 6 ");
  // What a statement that is not read would have bound, as well; what the program itself says stays.
  EXPECT_EQ(shape_of(counted("import data\nplanes = data.load().shape[1]\n", "planes"), "", {2, 3, 8, 6}, {"planes=4"}),
            "2 4 8 6 ");
  EXPECT_TRUE(holds(shape_of(counted("planes = 6\n", "planes"), "", {2, 3, 8, 6}, {"planes=4"}), "--set planes:"));
  EXPECT_TRUE(holds(shape_of(text, "", {2, 3, 8, 6}, {"4planes"}), "is not NAME=VALUE"));
}

TEST(SourceAround, AFunctionThatNeedsArgumentsSaysWhich) {
  const std::string text =
      "from keras.layers import Conv2D\nfrom keras.models import Sequential\n"
      "def build(classes, size, deep=2):\n"
      "  return Sequential([Conv2D(classes, 1, input_shape=(size, size, 3))])\n";
  EXPECT_TRUE(holds(shape_of(text, "", {}), "it has build(classes, size); name one of them with its arguments"));
  EXPECT_EQ(shape_of(text, "build(5, 7)", {}), "? 7 7 5 ");
}

TEST(SourceAround, WeightsAreGoneThroughByNameWhileAModuleIsBuilt) {
  EXPECT_EQ(shape_of("import numpy as np\nimport torch\nimport torch.nn as nn\n"
                     "class Net(nn.Module):\n"
                     "  def __init__(self):\n"
                     "    super().__init__()\n"
                     "    self.conv, self.bn = nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4)\n"
                     "    n = 0\n"
                     "    for key in self.state_dict():\n"
                     "      n += 1\n"
                     "      if key == 'conv.weight':\n"
                     "        nn.init.kaiming_normal_(self.state_dict()[key], mode='fan_out')\n"
                     "      elif key.startswith('bn'):\n"
                     "        self.state_dict()[key][...] = 0\n"
                     "    self.last = nn.Conv2d(4, n + int(np.eye(3)[1, 1]), 1)\n"
                     "  def forward(self, x):\n"
                     "    return self.last(self.bn(self.conv(x)))\n"),
            "2 8 8 6 ");
}

TEST(SourceAround, AModuleIsMadeInTrainingAndCalledAtRest) {
  EXPECT_EQ(shape_of("import torch.nn as nn\n"
                     "class Net(nn.Module):\n"
                     "  def __init__(self):\n"
                     "    super().__init__()\n"
                     "    self.c = nn.Conv2d(3, 5 if self.training else 7, 1)\n"
                     "  def forward(self, x):\n"
                     "    return self.c(x).mean(1) if self.training else self.c(x)\n",
                     "Net"),
            "2 5 8 6 ");
}

TEST(SourceAround, ClassesDeriveFromWhatFrameworksOnlyTrainOrCountWith) {
  EXPECT_EQ(
      shape_of("import torch.nn as nn\nfrom torch.nn.modules.batchnorm import _BatchNorm\n"
               "class Norm(_BatchNorm):\n"
               "  def _check_input_dim(self, x):\n"
               "    super()._check_input_dim(x)\n"
               "is_one = isinstance(nn.BatchNorm3d(4), _BatchNorm) and not isinstance(nn.Conv2d(1, 1, 1), _BatchNorm)\n"
               "net = nn.Sequential(nn.Conv2d(3, 4 if is_one else 5, 1), Norm(4))\n"),
      "2 4 8 6 ");
  EXPECT_EQ(shape_of("from keras.callbacks import Callback\nfrom keras.layers import Conv2D\n"
                     "from keras.models import Sequential\n"
                     "class Told(Callback):\n  def on_epoch_end(self, epoch, logs=None):\n    print(epoch)\n"
                     "model = Sequential([Conv2D(4, 3, input_shape=(7, 8, 2))])\n",
                     "", {}),
            "? 5 6 4 ");
}

}  // namespace
}  // namespace convoy::helper_packages_test
