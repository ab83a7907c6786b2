// The pages about frameworks against numbers of PyTorch 2.13, TensorFlow 2.21, Keras 3.15.1, ONNX Runtime 1.30 and TFLite.
#include "explain/about.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace convoy::explain::about_test {
namespace {

// The results beside the words that begin so; of several rows the first.
std::string beside(std::string_view framework, std::string_view words) {
  const auto page = about(framework);
  if (!page) return message(page.error());
  for (const auto& row : page->rows)
    if (row.words.starts_with(words)) {
      std::string all;
      for (const auto& shown : row.shown) all += (all.empty() ? "" : " | ") + shown.numbers;
      return all;
    }
  return "no such row";
}

TEST(About, ShowsWhatPyTorchGives) {
  EXPECT_EQ(beside("torch", "padding=1"), "32 321 3210 2100 | 32 3210");
  EXPECT_EQ(beside("torch", "padding='same'"), "21 210 2100 1000");
  EXPECT_EQ(beside("torch", "F.pad(x, (0, 1))"), "321 2100");
  EXPECT_EQ(beside("torch", "padding_mode='reflect'"), "10 [1 10 100 1000] 100");
  EXPECT_EQ(beside("torch", "  'circular'"), "1000 [1 10 100 1000] 1");
  EXPECT_EQ(beside("torch", "conv_transpose1d"), "1 2 13 20 130 200 300");
  EXPECT_EQ(beside("torch", "  padding=1"), "2 13 20 130 200");
  EXPECT_EQ(beside("torch", "  output_padding=1"), "2 13 20 130 200 300");
  EXPECT_EQ(beside("torch", "max_pool1d(-x"), "-1 -10");
  EXPECT_EQ(beside("torch", "avg_pool1d"), "3.667 370");
  EXPECT_EQ(beside("torch", "  count_include_pad"), "5.5 370");
  EXPECT_EQ(beside("torch", "max_pool1d(x, 3, 2)"), "100");
  EXPECT_EQ(beside("torch", "  ceil_mode"), "100 1000");
}

TEST(About, ShowsWhatKerasAndTensorFlowGive) {
  EXPECT_EQ(beside("keras", "padding=\"same\""), "32 321 3210 2100 | 321 2100");
  EXPECT_EQ(beside("keras", "padding=\"causal\""), "3 32 321 3210 | 3 321");
  EXPECT_EQ(beside("keras", "  padding=\"same\""), "1 2 13 20 130 200");
  EXPECT_EQ(beside("keras", "  \"same\", output_padding=0"), "2 13 20 130 200");
  EXPECT_EQ(beside("keras", "  kernel 2, strides=3"), "1 2 0 10 20 0 100 200 0");
  EXPECT_EQ(beside("keras", "MaxPooling1D"), "-1 -100");
  EXPECT_EQ(beside("keras", "AveragePooling1D"), "37 550");
  EXPECT_EQ(beside("tensorflow", "  [1, 8, 1]"), "1 2 13 20 130 200 300 0");
  EXPECT_EQ(beside("tensorflow", "  [1, 5, 1]"), "2 13 20 130 200");
  EXPECT_EQ(beside("tensorflow", "  \"SYMMETRIC\""), "1 [1 10 100 1000] 1000");
}

TEST(About, ShowsWhatOnnxTFLiteAndCoreMlGive) {
  EXPECT_EQ(beside("onnx", "  auto_pad=SAME_LOWER"), "32 3210");
  EXPECT_EQ(beside("onnx", "  pads=[1, 1] output_padding"), "2 13 20 130 200 300");
  EXPECT_EQ(beside("onnx", "  output_shape=[6]"), "2 13 20 130 200 300");
  EXPECT_EQ(beside("onnx", "  ceil_mode"), "37 550");
  EXPECT_EQ(beside("tflite", "  SAME, 6"), "1 2 13 20 130 200");
  EXPECT_EQ(beside("tflite", "AVERAGE_POOL_2D"), "37 550");
  EXPECT_EQ(beside("coreml", "avg_pool"), "3.667 370");
}

TEST(About, RefusesOtherNamesAndSaysTheSameInJson) {
  EXPECT_EQ(beside("jax", ""), "--about 'jax': there are pages about torch, keras, tensorflow, onnx, tflite or coreml");
  const auto page = about("torch");
  ASSERT_TRUE(page);
  EXPECT_EQ(json_of(*page)["rows"][0]["results"][1]["numbers"], "32 3210");
  EXPECT_TRUE(text_of(*page).contains("x = 1 10 100 1000   w = 1 2 3   (transposed: x = 1 10 100)"));
}

}  // namespace
}  // namespace convoy::explain::about_test
