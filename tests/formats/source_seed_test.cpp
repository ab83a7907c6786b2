// Initial weights by --seed: the numbers that PyTorch 2.13.0 gives behind torch.manual_seed(n), and Keras 3.15.1 on
// TensorFlow behind keras.utils.set_random_seed(n).
#include "formats/source.h"

#include <gtest/gtest.h>
#include <algorithm>

namespace convoy::source_seed_test {
namespace {

// The first numbers of the weight of this name, or a part of it.
std::vector<float> drawn(const std::string& program, std::uint64_t seed, const std::string& weight, const Shape& x,
                         std::size_t count) {
  LoadOptions options;
  options.seed = seed;
  if (!x.empty()) options.shapes[""] = x;
  const auto graph = read_source_text(program, "net", options);
  EXPECT_TRUE(graph) << (graph ? "" : message(graph.error()));
  if (!graph) return {};
  for (const Value& value : graph->values)
    if (value.constant && value.name.find(weight) != std::string::npos) {
      auto numbers = value.constant->floats();
      numbers.resize(std::min(numbers.size(), count));
      return numbers;
    }
  ADD_FAILURE() << "no weight '" << weight << "'";
  return {};
}

void expect_near(const std::vector<float>& got, const std::vector<float>& want, float most = 1e-6F) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], most) << i;
}

const std::string torch = "import torch\nfrom torch import nn\n";

TEST(Seed, OfPyTorchIsThatOfManualSeedWithItsLow32BitsAndTwosComplement) {
  const std::string net = torch + "net = nn.Linear(3, 2)\n";
  const auto weight = [&](std::uint64_t seed) { return drawn(net, seed, "weight", {}, 4); };
  const std::vector<float> of_seven{0.04032507538795471F, -0.3477921187877655F, 0.18384182453155518F,
                                    0.1811612844467163F};
  EXPECT_EQ(weight(7), of_seven);
  EXPECT_EQ(weight((std::uint64_t{1} << 32U) + 7), of_seven);
  EXPECT_EQ(weight(static_cast<std::uint64_t>(-5)),
            (std::vector<float>{0.4974624216556549F, 0.18558834493160248F, 0.5551440715789795F, 0.4993036985397339F}));
  EXPECT_EQ(weight(~std::uint64_t{0}),
            (std::vector<float>{0.5701904296875F, 0.08233747631311417F, 0.08083832263946533F, -0.5201882719993591F}));
  EXPECT_EQ(drawn(net, 7, "bias", {}, 2), (std::vector<float>{-0.33822792768478394F, 0.1498066484928131F}));
}

TEST(Seed, DrawsNormalNumbersOfPyTorchOneByOneAndInBlocks) {
  const Shape words{Dim(1), Dim(2)};
  expect_near(drawn(torch + "net = nn.Embedding(3, 2)\n", 3, "weight", words, 4),
              {0.8032760620117188F, 0.17483338713645935F, 0.08897809684276581F, -0.6137180328369141F});
  const std::string both = torch + "first = nn.Embedding(3, 2)\nnet = nn.Embedding(5, 4)\n";
  expect_near(drawn(both, 3, "weight", words, 4),
              {-0.3397901654243469F, 0.22252526879310608F, 0.3169765770435333F, 1.1059221029281616F});
}

TEST(Seed, FollowsParametersOfRandomTensorsAndWhatIsDrawnBehindThem) {
  const std::string net = torch + R"(
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(2, 3) * 0.5)
        self.conv = nn.Conv2d(1, 1, 2)
    def forward(self, x):
        return self.conv(x) + self.table.sum()
net = Net()
)";
  const Shape image{Dim(1), Dim(1), Dim(4), Dim(5)};
  expect_near(drawn(net, 3, "table", image, 4),
              {0.4016380310058594F, 0.08741669356822968F, 0.044489048421382904F, -0.30685901641845703F});
  EXPECT_EQ(drawn(net, 3, "conv.weight", image, 4), (std::vector<float>{-0.3501591086387634F, -0.09853118658065796F,
                                                                        -0.445823073387146F, -0.04059475660324097F}));
}

TEST(Seed, MakesNoBiasOfANormThatIsToldSo) {
  const auto biases = [](const std::string& layer) {
    LoadOptions options;
    options.seed = 3;
    options.shapes[""] = {Dim(2), Dim(6), Dim(5), Dim(4)};
    const auto graph = read_source_text(torch + "net = nn." + layer + "\n", "net", options);
    EXPECT_TRUE(graph) << layer << (graph ? "" : message(graph.error()));
    return !graph ? -1 : std::ranges::count_if(graph->values, [](const Value& value) {
      return value.constant && value.name.find("bias") != std::string::npos;
    });
  };
  for (const std::string layer : {"BatchNorm2d(6", "GroupNorm(3, 6", "InstanceNorm2d(6, affine=True", "LayerNorm(4"}) {
    EXPECT_EQ(biases(layer + ")"), 1) << layer;
    EXPECT_EQ(biases(layer + ", bias=False)"), 0) << layer;
  }
}

TEST(Seed, FollowsInitialisersOfPyTorchInTheOrderOfTheProgram) {
  std::string net = torch + "net = nn.Linear(3, 2)\n";
  const auto weight = [&] { return drawn(net, 3, "weight", {}, 4); };
  net += "nn.init.kaiming_normal_(net.weight, mode='fan_out', nonlinearity='relu')\n";
  expect_near(weight(), {0.04618244990706444F, -1.3682591915130615F, 0.3374950885772705F, 1.0111159086227417F});
  net += "nn.init.xavier_uniform_(net.weight, gain=2)\n";
  expect_near(weight(), {0.6498637199401855F, -1.2498689889907837F, 1.9687559604644775F, -2.1378326416015625F});
  net += "nn.init.orthogonal_(net.weight)\n";
  expect_near(weight(), {-0.5393691062927246F, 0.8272395133972168F, 0.15733905136585236F, -0.8412042260169983F});
  net += "nn.init.trunc_normal_(net.weight, std=.5, a=-.3, b=.4)\n";
  expect_near(weight(), {0.04452601447701454F, 0.269869327545166F, -0.1521451771259308F, -0.04571930319070816F});
  net += "torch.manual_seed(7)\nnet.reset_parameters()\n";
  EXPECT_EQ(weight(), drawn(torch + "net = nn.Linear(3, 2)\n", 7, "weight", {}, 4));
}

const std::string tells_its_size = torch + R"(
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(2, 3, 2)
        self.bn = nn.BatchNorm1d(3)
        self.drop = nn.Dropout(RATE)
        BEFORE
        size = self.features(torch.ones(1, 2, 5) * torch.arange(5)).view(1, -1).shape[1]
        self.fc = nn.Linear(size, 2)
    def features(self, x):
        return self.bn(self.drop(self.conv(x)))
    def forward(self, x):
        return self.fc(self.features(x).flatten(1))
net = Net()
)";

std::string told(const std::string& rate, const std::string& before = "") {
  std::string net = tells_its_size;
  net.replace(net.find("RATE"), 4, rate);
  return net.replace(net.find("BEFORE"), 6, before.empty() ? "pass" : before);
}

TEST(Seed, FollowsAForwardInTrainingThatTellsASize) {
  const Shape steps{Dim(1), Dim(2), Dim(5)};
  const auto net = told("0");
  expect_near(drawn(net, 3, "bn.running_mean", steps, 3),
              {-0.35836896300315857F, -0.022377176210284233F, 0.134072408080101F});
  expect_near(drawn(net, 3, "bn.running_var", steps, 3),
              {1.3146824836730957F, 0.9003728032112122F, 0.9894992709159851F});
  const std::vector<float> drawn_last{-0.023437393829226494F, -0.18728940188884735F, 0.25933584570884705F};
  EXPECT_EQ(drawn(net, 3, "fc.weight", steps, 3), drawn_last);
  const auto at_rest = told("0.5", "self.eval()");
  EXPECT_EQ(drawn(at_rest, 3, "bn.running_mean", steps, 3), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(drawn(at_rest, 3, "fc.weight", steps, 3), drawn_last);
}

TEST(Seed, IsNotFollowedBehindADropoutInTraining) {
  LoadOptions options;
  options.shapes[""] = {Dim(1), Dim(2), Dim(5)};
  const auto graph = read_source_text(told("0.5"), "net", options);
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().fault, Fault::Unsupported);
  EXPECT_NE(message(graph.error()).find("call behind a dropout while the module is built"), std::string::npos);
  options.structure_only = true;
  EXPECT_TRUE(read_source_text(told("0.5"), "net", options));
}

TEST(Seed, LeavesNumbersThatAModuleComputedWhileItWasBuiltUnknown) {
  LoadOptions options;
  options.shapes[""] = {Dim(1), Dim(2), Dim(5)};
  auto net = told("0", "self.level = self.conv(torch.ones(1, 2, 5)).mean()");
  EXPECT_TRUE(read_source_text(net, "net", options));
  net.replace(net.find("flatten(1))"), 11, "flatten(1)) + self.level");
  const auto graph = read_source_text(net, "net", options);
  ASSERT_FALSE(graph);
  EXPECT_NE(message(graph.error()).find("computed from weights while the module was built"), std::string::npos);
}

// The weight comes first, also where the argument 'bias' is given.
TEST(Seed, DrawsTheParametersOfALayerInTheirOrder) {
  const std::string again = "torch.manual_seed(7)\nnet.reset_parameters()\n";
  const Shape image{Dim(1), Dim(2), Dim(4), Dim(5)};
  for (const std::string layer : {"nn.Linear(3, 2, bias=True)", "nn.Linear(3, 2)"})
    EXPECT_EQ(drawn(torch + "net = " + layer + "\n" + again, 3, "weight", {}, 4),
              drawn(torch + "net = nn.Linear(3, 2)\n", 7, "weight", {}, 4));
  EXPECT_EQ(drawn(torch + "net = nn.Conv2d(2, 3, 2)\n" + again, 3, "weight", image, 4),
            drawn(torch + "net = nn.Conv2d(2, 3, 2)\n", 7, "weight", image, 4));
}

const std::string keras = "import keras\nfrom keras import layers as L\n";

TEST(Seed, OfKerasIsThatOfSetRandomSeed) {
  EXPECT_EQ(
      drawn(keras + "net = keras.Sequential([L.Input((3,)), L.Dense(2)])\n", 0, "kernel", {}, 4),
      (std::vector<float>{0.03436267375946045F, -0.41832423210144043F, 0.7425023317337036F, -0.8618922233581543F}));
  const std::string net = keras + R"(
net = keras.Sequential([L.Input((5, 3)), L.Conv1D(2, 2, kernel_initializer='he_normal'), L.Dropout(.5), L.LSTM(2),
                        L.Dense(3, bias_initializer=keras.initializers.RandomNormal(stddev=.1))])
)";
  expect_near(drawn(net, 11, "conv1d/kernel", {}, 4),
              {0.7840781211853027F, 0.3074962794780731F, 0.5549955368041992F, -0.32237598299980164F});
  expect_near(drawn(net, 11, "lstm/kernel", {}, 4),
              {-0.2613223195075989F, 0.37252819538116455F, 0.5774663686752319F, -0.7320423722267151F}, 0);
  expect_near(drawn(net, 11, "lstm/recurrent_kernel", {}, 4),
              {0.09298467636108398F, 0.21476639807224274F, 0.4137231707572937F, -0.16880737245082855F});
  expect_near(drawn(net, 11, "lstm/bias", {}, 8), {0, 0, 1, 1, 0, 0, 0, 0}, 0);
  expect_near(drawn(net, 11, "dense/kernel", {}, 4),
              {0.08710825443267822F, 0.25993645191192627F, 0.28478729724884033F, -0.9180834293365479F}, 0);
  expect_near(drawn(net, 11, "dense/bias", {}, 3),
              {-0.04051344841718674F, -0.24559617042541504F, 0.0013856245204806328F});
}

TEST(Seed, OfKerasCountsWhatCopiesOfALayerDraw) {
  const std::string net = keras + "net = keras.Sequential([L.Input((5, 3)), L.Bidirectional(L.GRU(2)), L.Dense(1)])\n";
  expect_near(drawn(net, 0, "forward_gru/kernel", {}, 4),
              {-0.25169533491134644F, 0.3868788480758667F, -0.11265295743942261F, -0.14442181587219238F}, 0);
  expect_near(drawn(net, 0, "backward_gru/kernel", {}, 4),
              {-0.12023276090621948F, -0.3557165861129761F, 0.42381584644317627F, 0.6823338270187378F}, 0);
  expect_near(drawn(net, 0, "dense/kernel", {}, 4),
              {0.7629916667938232F, -0.8840419054031372F, -0.7458555698394775F, 0.2592806816101074F}, 0);
}

TEST(Seed, OfKerasHas32Bits) {
  LoadOptions options;
  options.seed = std::uint64_t{1} << 32U;
  const auto graph = read_source_text(keras + "net = keras.Sequential([L.Input((3,)), L.Dense(2)])\n", "net", options);
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().fault, Fault::Usage);
}

TEST(Remarks, NameTheStatementsThatWereReadOver) {
  std::string program =
      "from torch import nn\nnet = nn.Linear(3, 2)\nimport gym\nenvironment = gym.make('x', n=1)[0]\n";
  for (int i = 0; i < 6; ++i) program += "spare" + std::to_string(i) + " = unknown_to_all(" + std::to_string(i) + ")\n";
  std::vector<std::string> remarks;
  LoadOptions options;
  options.remarks = &remarks;
  ASSERT_TRUE(read_source_text(program, "net", options));
  ASSERT_EQ(remarks.size(), 6U);
  EXPECT_EQ(remarks[0], "the text:4 was read over: environment = gym.make('x', n=1)[0]");
  EXPECT_EQ(remarks[1], "the text:5 was read over: spare0 = unknown_to_all(0)");
  EXPECT_EQ(remarks[5], "2 more statements of the text were read over");
}

}  // namespace
}  // namespace convoy::source_seed_test
