// Layers that a Keras program writes itself: what they hold, compute and start with, by arithmetic.
#include "formats/source.h"
#include "run/run.h"

#include <gtest/gtest.h>

namespace convoy::own_layers_test {
namespace {

const std::string head = "import keras\nimport keras.backend as K\nfrom keras.layers import *\n";

Result<Graph> read(const std::string& program) { return read_source_text(head + program, "net", {}); }

std::vector<float> answer(const std::string& program, const Tensor& x) {
  const auto graph = read(program);
  EXPECT_TRUE(graph) << (graph ? "" : message(graph.error()));
  if (!graph) return {};
  const auto values = run(*graph, {x}, {});
  EXPECT_TRUE(values) << (values ? "" : message(values.error()));
  return values ? values->at(graph->outputs[0]).floats() : std::vector<float>();
}

const Tensor pairs = Tensor::of({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});

const std::string scale = R"(
class Scale(Layer):
    def build(self, input_shape):
        self.shift = self.add_weight(name='shift', shape=(input_shape[-1],), initializer='ones', trainable=False)
        self.gamma = self.add_variable('gamma', (1, input_shape[-1]), initializer=keras.initializers.Constant(0.5))
    def call(self, x):
        return (x - self.shift) * self.gamma
net = keras.Sequential([Input((3,)), Scale(), Scale()])
)";

TEST(OwnLayers, ComputeWithTheWeightsThatTheyAdd) {
  // ((x - 1) / 2 - 1) / 2
  EXPECT_EQ(answer(scale, pairs), (std::vector<float>{-0.5F, -0.25F, 0, 0.25F, 0.5F, 0.75F}));
}

TEST(OwnLayers, SayWhichWeightsAreTrained) {
  const auto graph = read(scale);
  ASSERT_TRUE(graph) << message(graph.error());
  std::map<std::string, bool> trained;
  for (const Value& value : graph->values)
    if (value.constant && value.constant->count() == 3) trained[value.name] = value.trainable;
  EXPECT_EQ(trained,
            (std::map<std::string, bool>{
                {"scale/gamma", true}, {"scale/shift", false}, {"scale_1/gamma", true}, {"scale_1/shift", false}}));
}

TEST(OwnLayers, AreGivenTheShapesOfAllTheirInputs) {
  EXPECT_EQ(answer(R"(
class Weighted(Layer):
    def build(self, shapes):
        self.w = self.add_weight(shape=(len(shapes), shapes[1][-1]), initializer='ones')
    def call(self, inputs, training):
        a, b = inputs
        return a * self.w[0] + (b if not training else a)
x = Input((3,))
net = keras.Model(x, Weighted()([x, x * 2]))
)",
                   pairs),
            (std::vector<float>{3, 6, 9, 12, 15, 18}));
}

TEST(OwnLayers, HoldProductsAndFunctions) {
  EXPECT_EQ(answer(R"(
class Project(Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], 2), initializer=keras.initializers.Identity(gain=3))
        super().build(shape)
    def call(self, x):
        return K.dot(x, self.w)
net = keras.Sequential([Input((3,)), Lambda(lambda x, by: x - by, arguments={'by': 1}), Project()])
)",
                   pairs),
            (std::vector<float>{0, 3, 9, 12}));
}

TEST(KerasPrograms, SetTheOrderOfTheAxesForAllLayersBehind) {
  const auto graph = read(R"(
K.set_image_data_format('channels_first')
net = keras.Sequential([Input((3, 5, 4)), ZeroPadding2D((1, 0))])
)");
  ASSERT_TRUE(graph) << message(graph.error());
  EXPECT_EQ(text_of((*graph)[graph->outputs[0]].type.shape), "[N, 3, 7, 4]");
  const auto unknown = read("K.set_floatx('float16')\nnet = keras.Sequential([Input((3,)), ReLU()])\n");
  ASSERT_FALSE(unknown);
  EXPECT_NE(message(unknown.error()).find("set_floatx"), std::string::npos);
}

TEST(KerasPrograms, AskForLayersAndTheirTensors) {
  EXPECT_EQ(answer(R"(
base = keras.Sequential([Input((3,)), Lambda(lambda x: x * 2, name='twice'), Lambda(lambda x: x + 1), ReLU()])
base.pop()
assert base.output_shape == (None, 3) and len(base.layers) == 2 and base.layers[-1].input_shape == (None, 3)
net = keras.Model(base.input, [base.get_layer('twice').output])
)",
                   pairs),
            (std::vector<float>{2, 4, 6, 8, 10, 12}));
  const auto missing = read(
      "net = keras.Sequential([Input((3,)), ReLU(name='a')])\nx = net.get_layer('b').output\n"
      "net = keras.Model(net.input, x)\n");
  ASSERT_FALSE(missing);
  EXPECT_NE(message(missing.error()).find("has no layer 'b'; it has a"), std::string::npos) << message(missing.error());
}

TEST(KerasPrograms, MergeAsKeras1Did) {
  EXPECT_EQ(answer(R"(
x = Input((3,))
y = keras.layers.merge([x, x], mode='mul')
net = keras.Model(input=x, output=merge([y, x], mode=lambda t: t[0] - t[1], output_shape=(3,)))
)",
                   pairs),
            (std::vector<float>{0, 2, 6, 12, 20, 30}));
  EXPECT_FALSE(read("x = Input((3,))\nnet = keras.Model(x, merge([x, x], mode='cos'))\n"));
}

TEST(OwnLayers, MayNotDrawOrBeOfOtherElements) {
  const auto half = read(
      "class A(Layer):\n    def build(self, s):\n        self.w = self.add_weight(shape=(3,), dtype='float16')\n"
      "    def call(self, x):\n        return x * self.w\nx = Input((3,))\nnet = keras.Model(x, A()(x))\n");
  ASSERT_FALSE(half);
  EXPECT_NE(message(half.error()).find("element type float16"), std::string::npos) << message(half.error());
  const auto size = read(
      "class A(Layer):\n    def build(self, s):\n        self.w = self.add_weight(shape=(s[0],))\n"
      "    def call(self, x):\n        return x * self.w\nx = Input((3,))\nnet = keras.Model(x, A()(x))\n");
  ASSERT_FALSE(size);
  EXPECT_NE(message(size.error()).find("holds what is no size"), std::string::npos) << message(size.error());
}

}  // namespace
}  // namespace convoy::own_layers_test
