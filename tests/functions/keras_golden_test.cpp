// The recorded answers of Keras through the public functions: options, defaults and weights arrive where they should.
#include "containers/json.h"
#include "convoy/keras.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>

namespace convoy::keras_golden_test {
namespace {

using Result1 = Result<Tensor>;

// The arguments of one recorded call.
struct Recorded {
  const Json& attrs;
  std::map<std::string, Tensor> arrays;

  View x() const { return arrays.at("x"); }
  View weight(const char* name) const { return arrays.at(name); }
  std::string word(const char* key) const { return attrs.at(key).get<std::string>(); }
  PerAxis per_axis(const char* key) const {
    const Json& said = attrs.at(key);
    return said.is_array() ? PerAxis(said.get<Sizes>()) : PerAxis(said.get<Size>());
  }
  std::optional<PerAxis> optional(const char* key) const {
    if (attrs.at(key).is_null()) return {};
    return per_axis(key);
  }
};

Tensor array(const Json& said) {
  std::vector<float> values;
  for (const Json& one : said.at("data"))
    values.push_back(one.is_number() ? one.get<float>() : one == "-inf" ? -INFINITY : NAN);
  return Tensor::of(said.at("shape").get<Sizes>(), std::move(values));
}

template <class Options>
Options windowed(const Recorded& c) {
  Options o;
  o.strides = c.per_axis("strides");
  o.padding = c.word("padding");
  o.data_format = c.word("data_format");
  o.dilation_rate = c.per_axis("dilation_rate");
  return o;
}

template <auto function>
Result1 conv(const Recorded& c) {
  auto o = windowed<keras::Conv>(c);
  o.groups = c.attrs.at("groups").get<Size>();
  const View bias = c.weight("bias");
  return function(c.x(), c.weight("kernel"), &bias, o);
}

template <auto function>
Result1 depthwise(const Recorded& c) {
  const View bias = c.weight("bias");
  return function(c.x(), c.weight("kernel"), &bias, windowed<keras::DepthwiseConv>(c));
}

template <auto function>
Result1 separable(const Recorded& c) {
  const View bias = c.weight("bias");
  return function(c.x(), c.weight("depthwise_kernel"), c.weight("pointwise_kernel"), &bias,
                  windowed<keras::DepthwiseConv>(c));
}

template <auto function>
Result1 transposed(const Recorded& c) {
  auto o = windowed<keras::ConvTranspose>(c);
  o.output_padding = c.optional("output_padding");
  const View bias = c.weight("bias");
  return function(c.x(), c.weight("kernel"), &bias, o);
}

template <auto function>
Result1 pool(const Recorded& c) {
  return function(c.x(), {c.per_axis("pool_size"), c.optional("strides"), c.word("padding"), c.word("data_format")});
}

template <auto function>
Result1 global(const Recorded& c) {
  return function(c.x(), {c.word("data_format"), c.attrs.at("keepdims").get<bool>()});
}

template <auto function>
Result1 adaptive(const Recorded& c) {
  return function(c.x(), c.per_axis("output_size"), c.word("data_format"));
}

keras::Borders borders(const Json& said) {
  if (!said.is_array()) return said.get<Size>();
  std::vector<keras::Sides> each;
  if (said.size() == 2 && !said[0].is_array()) return {{said[0].get<Size>(), said[1].get<Size>()}};
  for (const Json& one : said) each.push_back({one[0].get<Size>(), one[1].get<Size>()});
  return each;
}

template <auto function>
Result1 padded(const Recorded& c) {
  return function(c.x(), borders(c.attrs.at("padding")), c.word("data_format"));
}

using Caller = std::function<Result1(const Recorded&)>;
const std::map<std::string, Caller>& callers() {
  using namespace keras;
  static const std::map<std::string, Caller> all{
      {"Conv1D", conv<conv1d>},
      {"Conv2D", conv<conv2d>},
      {"Conv3D", conv<conv3d>},
      {"DepthwiseConv1D", depthwise<depthwise_conv1d>},
      {"DepthwiseConv2D", depthwise<depthwise_conv2d>},
      {"SeparableConv1D", separable<separable_conv1d>},
      {"SeparableConv2D", separable<separable_conv2d>},
      {"Conv1DTranspose", transposed<conv1d_transpose>},
      {"Conv2DTranspose", transposed<conv2d_transpose>},
      {"Conv3DTranspose", transposed<conv3d_transpose>},
      {"MaxPooling1D", pool<max_pooling1d>},
      {"MaxPooling2D", pool<max_pooling2d>},
      {"MaxPooling3D", pool<max_pooling3d>},
      {"AveragePooling1D", pool<average_pooling1d>},
      {"AveragePooling2D", pool<average_pooling2d>},
      {"AveragePooling3D", pool<average_pooling3d>},
      {"GlobalMaxPooling2D", global<global_max_pooling2d>},
      {"GlobalAveragePooling3D", global<global_average_pooling3d>},
      {"AdaptiveMaxPooling2D", adaptive<adaptive_max_pooling2d>},
      {"AdaptiveAveragePooling1D", adaptive<adaptive_average_pooling1d>},
      {"ZeroPadding1D", padded<zero_padding1d>},
  };
  return all;
}

void compare(const std::string& id, const Result1& got, const Json& line) {
  if (line.contains("error")) {
    EXPECT_FALSE(got) << id << " answers what Keras refuses";
    return;
  }
  ASSERT_TRUE(got) << id << ": " << message(got.error());
  const Tensor want = array(line.at("output"));
  ASSERT_EQ(got->shape(), want.shape()) << id;
  const auto have = got->floats(), wanted = want.floats();
  const bool exact = id.find("Average") == std::string::npos;
  for (std::size_t i = 0; i < have.size(); ++i)
    if (exact) EXPECT_EQ(have[i], wanted[i]) << id << " at " << i;
    else EXPECT_NEAR(have[i], wanted[i], 2e-4) << id << " at " << i;
}

int compare_file(const std::string& name) {
  std::ifstream file("tests/data/golden/" + name);
  EXPECT_TRUE(file) << name;
  int compared = 0;
  for (std::string text; std::getline(file, text);) {
    if (text.empty()) continue;
    const auto line = parse_json(text);
    if (!line) {
      ADD_FAILURE() << name << ": " << message(line.error()) << ": " << text.substr(0, 80);
      continue;
    }
    const auto id = line->at("id").get<std::string>();
    const auto found = callers().find(id.substr(6, id.find('/', 6) - 6));
    if (found == callers().end()) continue;
    Recorded recorded{line->at("attrs"), {}};
    for (const auto& [key, value] : line->at("inputs").items()) recorded.arrays.emplace(key, array(value));
    compare(id, found->second(recorded), *line);
    ++compared;
  }
  return compared;
}

TEST(KerasFunctions, AnswerTheRecordedCallsAsKerasDoes) {
  EXPECT_EQ(compare_file("keras_convolution.jsonl"), 387);
  EXPECT_EQ(compare_file("keras_conv_transpose.jsonl"), 270);
  EXPECT_GT(compare_file("keras_pooling.jsonl"), 250);
  EXPECT_GT(compare_file("keras_padding.jsonl"), 5);
}

}  // namespace
}  // namespace convoy::keras_golden_test
