// What the rows of Keras's catalogue mean for each kind of name.
#include "formats/keras/catalogue/write.h"
#include "formats/keras/source/signatures.h"
#include "formats/source.h"
#include "run/run.h"

#include <gtest/gtest.h>
#include <string>

namespace convoy::keras::catalogue_test {
namespace {

std::string words(std::string_view kind, std::string_view name) {
  const CatalogueRow* row = catalogued(kind, name);
  return row ? words_of(*row, kind == "layers" ? Use::Kind::Layer : Use::Kind::Operation) : "not there";
}

TEST(KerasCatalogue, GivesEveryNameItsOwnArguments) {
  EXPECT_EQ(words("layers", "ELU"), "alpha");
  EXPECT_EQ(words("ops", "Elu"), "x alpha");
  EXPECT_EQ(words("activations", "elu"), "x alpha");
  EXPECT_EQ(words("ops", "Relu"), "x");
  EXPECT_EQ(words("activations", "relu"), "x negative_slope max_value threshold");
  EXPECT_EQ(words("ops", "ELU"), "not there");
  EXPECT_EQ(signature_of("LeakyReLU"), "negative_slope");
  EXPECT_EQ(catalogued("layers", "MaxPooling9D"), nullptr);
}

TEST(KerasCatalogue, KnowsWhatIsLeftOut) {
  const auto slope = [](std::string_view kind, std::string_view name) {
    for (const CatalogueParameter& one : parameters_of(*catalogued(kind, name)))
      if (one.name == "negative_slope") return std::string(one.otherwise);
    return std::string("not there");
  };
  EXPECT_EQ(slope("layers", "LeakyReLU"), "0.3");
  EXPECT_EQ(slope("ops", "LeakyRelu"), "0.2");
  EXPECT_EQ(parameters_of(*catalogued("layers", "LeakyReLU")).front().old, "alpha");
}

// Every function of one number is written, by a word where there is one.
TEST(KerasCatalogue, SpellsEveryFunctionOfOneNumber) {
  for (int i = 0; i <= static_cast<int>(Function::Not); ++i)
    EXPECT_FALSE(writing::written_name(static_cast<Function>(i)).empty()) << i;
  EXPECT_EQ(writing::written_name(Function::Gelu), "activations.gelu");
  EXPECT_EQ(writing::written_name(Function::GeluTanh), "nn.Gelu");
}

Result<Graph> read_function(const std::string& call) {
  return read_source_text(
      "import keras\nimport tensorflow as tf\nx = keras.Input((2,))\nnet = keras.Model(x, " + call + ")\n", "net", {});
}

std::vector<float> answer(const std::string& call) {
  const auto graph = read_function(call);
  EXPECT_TRUE(graph) << call << (graph ? "" : message(graph.error()));
  if (!graph) return {};
  const auto values = convoy::run(*graph, {Tensor::of({1, 2}, std::vector<float>{-1, 2.5F})}, {});
  EXPECT_TRUE(values) << call;
  return values ? values->at(graph->outputs[0]).floats() : std::vector<float>();
}

// The same name means another thing in keras.ops than in keras.activations. Numbers: Keras 3.15 on TensorFlow.
TEST(KerasCatalogue, TakesTheDefaultsOfTheFunctionThatIsCalled) {
  for (const char* call : {"keras.activations.gelu(x)", "tf.nn.gelu(x)", "keras.ops.gelu(x, approximate=False)"}) {
    const auto exact = answer(call);
    ASSERT_EQ(exact.size(), 2u) << call;
    EXPECT_NEAR(exact[0], -0.15865526, 1e-6) << call;
    EXPECT_NEAR(exact[1], 2.4844759, 1e-6) << call;
  }
  const auto rough = answer("keras.ops.gelu(x)");
  ASSERT_EQ(rough.size(), 2u);
  EXPECT_NEAR(rough[0], -0.158808, 1e-6);
}

TEST(KerasCatalogue, LeavesNoArgumentUnread) {
  EXPECT_EQ(answer("keras.activations.relu(x, 0.3)"), (std::vector<float>{-0.3F, 2.5F}));
  EXPECT_EQ(answer("keras.activations.relu(x, max_value=0.5)"), (std::vector<float>{0, 0.5F}));
  EXPECT_EQ(answer("keras.ops.relu(x)"), (std::vector<float>{0, 2.5F}));
  const auto refused = read_function("keras.ops.relu(x, 0.3)");
  ASSERT_FALSE(refused);
  EXPECT_NE(message(refused.error()).find("argument 1 is not understood"), std::string::npos)
      << message(refused.error());
}

TEST(KerasCatalogue, ReadsLogarithmsToOtherBases) {
  const auto of_two = answer("keras.ops.log2(x + 2)"), of_ten = answer("keras.ops.log10(x + 2)");
  ASSERT_EQ(of_two.size(), 2u);
  ASSERT_EQ(of_ten.size(), 2u);
  EXPECT_NEAR(of_two[1], 2.169925, 1e-6);  // of 4.5
  EXPECT_NEAR(of_ten[1], 0.6532125, 1e-6);
}

// x / sqrt(mean(x * x) + 1e-7)
TEST(KerasCatalogue, ReadsRootsOfMeanSquaresByTheirFunction) {
  const auto normal = answer("keras.ops.rms_normalization(x)");
  ASSERT_EQ(normal.size(), 2u);
  EXPECT_NEAR(normal[0], -0.5252257, 1e-6);
  EXPECT_NEAR(normal[1], 1.3130643, 1e-6);
}

// A model of one call on an input of unlike lengths, or why there is none.
std::string shape_after(const std::string& call, const std::string& input) {
  const auto graph = read_source_text(
      "import keras\nimport tensorflow as tf\nx = keras.Input((" + input + "))\nnet = keras.Model(x, " + call + ")\n",
      "net", {});
  if (!graph) return message(graph.error());
  std::string text;
  for (const Dim n : (*graph)[graph->outputs[0]].type.shape) text += n.known() ? " " + std::to_string(*n) : " ?";
  return text;
}

// Shapes: Keras 3.15.
TEST(KerasCatalogue, PadsAndCropsByTheDefaultsOfEachLayer) {
  EXPECT_EQ(shape_after("keras.layers.ZeroPadding1D()(x)", "11, 3"), " ? 13 3");
  EXPECT_EQ(shape_after("keras.layers.ZeroPadding2D()(x)", "12, 9, 3"), " ? 14 11 3");
  EXPECT_EQ(shape_after("keras.layers.ZeroPadding3D()(x)", "5, 6, 7, 3"), " ? 7 8 9 3");
  EXPECT_EQ(shape_after("keras.layers.Cropping1D()(x)", "11, 3"), " ? 9 3");
  EXPECT_EQ(shape_after("keras.layers.Cropping2D()(x)", "12, 9, 3"), " ? 12 9 3");
  EXPECT_EQ(shape_after("keras.layers.Cropping3D()(x)", "5, 6, 7, 3"), " ? 3 4 5 3");
}

TEST(KerasCatalogue, CutsOutTheMiddleOfImagesOfAKnownSize) {
  EXPECT_EQ(shape_after("keras.layers.CenterCrop(5, 4)(x)", "12, 9, 3"), " ? 5 4 3");
  EXPECT_EQ(shape_after("keras.layers.CenterCrop(20, 4)(x)", "12, 9, 3"), " ? 20 4 3");
  EXPECT_EQ(shape_after("keras.layers.CenterCrop(5, 4, data_format='channels_first')(x)", "3, 12, 9"), " ? 3 5 4");
  EXPECT_NE(shape_after("keras.layers.CenterCrop(5, 4)(x)", "None, 9, 3").find("give it by --size"), std::string::npos);
  EXPECT_NE(shape_after("keras.layers.CenterCrop(0, 4)(x)", "12, 9, 3").find("0 x 4 cells"), std::string::npos);
}

// Activations of an LSTM: of the output, then of the gates.
TEST(KerasCatalogue, TakesTheArgumentsOfCellsInTheOrderOfKeras) {
  EXPECT_EQ(signature_of("LSTM")->substr(0, 46), "units activation recurrent_activation use_bias");
  EXPECT_EQ(signature_of("SimpleRNN")->substr(0, 25), "units activation use_bias");
  EXPECT_EQ(shape_after("keras.layers.LSTM(4, 'relu', 'hard_sigmoid')(x)", "11, 3"), " ? 4");
}

TEST(KerasCatalogue, ReadsEveryArgumentOfAFunctionByItsPlace) {
  EXPECT_EQ(shape_after("keras.ops.max_pool(x, 2, 3, 'same', 'channels_first')", "12, 9, 7"), " ? 12 3 3");
  EXPECT_EQ(shape_after("keras.ops.average_pool(x, (3, 2), 2)", "12, 9, 7"), " ? 5 4 7");
  EXPECT_EQ(shape_after("tf.nn.avg_pool(x, 2, 2, 'VALID')", "12, 9, 7"), " ? 6 4 7");
  EXPECT_EQ(shape_after("keras.ops.zeros_like(x, dtype='int32')", "12, 9, 7"), " ? 12 9 7");
  EXPECT_EQ(shape_after("keras.ops.argmin(x, axis=-1)", "12, 9, 7"), " ? 12 9");
  EXPECT_EQ(shape_after("keras.ops.top_k(x, k=2)[0]", "12, 9, 7"), " ? 12 9 2");
  EXPECT_EQ(shape_after("keras.ops.where(condition=x > 0, x1=x, x2=0)", "12, 9, 7"), " ? 12 9 7");
  EXPECT_EQ(shape_after("keras.ops.max(x, 1, True, None)", "12, 9, 7"), " ? 1 9 7");
  EXPECT_NE(shape_after("keras.ops.max(x, 1, True, 0.5)", "12, 9, 7").find("argument 'initial' is 0.5, expected null"),
            std::string::npos);
  EXPECT_NE(shape_after("keras.ops.prod(x, 1, False, 'float32')", "12, 9, 7").find("is not understood"),
            std::string::npos);
  EXPECT_NE(shape_after("keras.ops.add(x, 2, 3)", "12, 9, 7").find("argument 2 is not understood"), std::string::npos);
  EXPECT_NE(shape_after("keras.ops.average_pool(x, 2, 2, 'full')", "12, 9, 7").find("'full', expected 'valid'"),
            std::string::npos);
}

TEST(KerasCatalogue, FillsWithNumbersOfTheTypeThatIsAsked) {
  for (const auto& [call, dtype] : {std::pair("keras.ops.zeros_like(x)", DType::F32),
                                    std::pair("keras.ops.zeros_like(x, dtype='int32')", DType::I32),
                                    std::pair("keras.ops.ones_like(x, dtype='int64')", DType::I64)}) {
    const auto graph = read_source_text(
        "import keras\nx = keras.Input((3, 5))\nnet = keras.Model(x, " + std::string(call) + ")\n", "net", {});
    ASSERT_TRUE(graph) << message(graph.error());
    EXPECT_EQ((*graph)[graph->outputs[0]].type.dtype, dtype) << call;
  }
}

}  // namespace
}  // namespace convoy::keras::catalogue_test
