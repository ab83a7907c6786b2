// Source: keras/src/dtype_policies, layers/layer.py (autocast), layers/normalization; checked against Keras 3.15 on TensorFlow 2.21.
#include "formats/keras/policy.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace convoy::keras {

namespace {

struct Named {
  std::string_view word;
  Policy policy;
};
constexpr std::array policies{Named{"float32", {}},
                              Named{"mixed_float16", {DType::F32, DType::F16}},
                              Named{"mixed_bfloat16", {DType::F32, DType::BF16}},
                              Named{"float16", {DType::F16, DType::F16}},
                              Named{"bfloat16", {DType::BF16, DType::BF16}},
                              Named{"float64", {DType::F64, DType::F64}}};

constexpr auto per_operator = std::to_array<std::string_view>({"Activation",
                                                               "ActivityRegularization",
                                                               "AdaptiveMaxPooling1D",
                                                               "AdaptiveMaxPooling2D",
                                                               "AdaptiveMaxPooling3D",
                                                               "Add",
                                                               "AdditiveAttention",
                                                               "AlphaDropout",
                                                               "Attention",
                                                               "Average",
                                                               "AveragePooling1D",
                                                               "AveragePooling2D",
                                                               "AveragePooling3D",
                                                               "Bidirectional",
                                                               "Concatenate",
                                                               "Conv1D",
                                                               "Conv1DTranspose",
                                                               "Conv2D",
                                                               "Conv2DTranspose",
                                                               "Conv3D",
                                                               "Conv3DTranspose",
                                                               "Cropping1D",
                                                               "Cropping2D",
                                                               "Cropping3D",
                                                               "Dense",
                                                               "DepthwiseConv1D",
                                                               "DepthwiseConv2D",
                                                               "Dot",
                                                               "Dropout",
                                                               "ELU",
                                                               "EinsumDense",
                                                               "Embedding",
                                                               "Flatten",
                                                               "GRU",
                                                               "GaussianDropout",
                                                               "GaussianNoise",
                                                               "GlobalAveragePooling1D",
                                                               "GlobalAveragePooling2D",
                                                               "GlobalAveragePooling3D",
                                                               "GlobalMaxPooling1D",
                                                               "GlobalMaxPooling2D",
                                                               "GlobalMaxPooling3D",
                                                               "GroupQueryAttention",
                                                               "GroupedQueryAttention",
                                                               "Identity",
                                                               "InputLayer",
                                                               "LSTM",
                                                               "LeakyReLU",
                                                               "Masking",
                                                               "MaxPooling1D",
                                                               "MaxPooling2D",
                                                               "MaxPooling3D",
                                                               "Maximum",
                                                               "Minimum",
                                                               "MultiHeadAttention",
                                                               "Multiply",
                                                               "Normalization",
                                                               "PReLU",
                                                               "Permute",
                                                               "RMSNormalization",
                                                               "RNN",
                                                               "ReLU",
                                                               "RepeatVector",
                                                               "Rescaling",
                                                               "Reshape",
                                                               "Resizing",
                                                               "SeparableConv1D",
                                                               "SeparableConv2D",
                                                               "SimpleRNN",
                                                               "Softmax",
                                                               "SpatialDropout1D",
                                                               "SpatialDropout2D",
                                                               "SpatialDropout3D",
                                                               "Subtract",
                                                               "TimeDistributed",
                                                               "UnitNormalization",
                                                               "UpSampling1D",
                                                               "UpSampling2D",
                                                               "UpSampling3D",
                                                               "ZeroPadding1D",
                                                               "ZeroPadding2D",
                                                               "ZeroPadding3D"});
constexpr auto in_single =
    std::to_array<std::string_view>({"BatchNormalization", "GroupNormalization", "LayerNormalization"});

}  // namespace

std::string policy_word(const Json& dtype) {
  std::string name;
  if (dtype.is_string()) name = dtype.get<std::string>();
  if (!dtype.is_object()) return name;
  const auto config = dtype.find("config");
  if (config == dtype.end() || !config->is_object()) return name;
  for (const char* key : {"name", "mode"})
    if (const auto it = config->find(key); it != config->end() && it->is_string()) name = it->get<std::string>();
  return name;
}

bool is_plain_int8(const Json& dtype, const Json* quantization) {
  const auto at = [](const Json* object, const char* key) -> const Json* {
    if (!object || !object->is_object()) return nullptr;
    const auto it = object->find(key);
    return it == object->end() || it->is_null() ? nullptr : &*it;
  };
  const auto says = [](const Json* value, const Json& wanted) { return value && *value == wanted; };
  const Json* config = at(&dtype, "config");
  if (!says(at(config, "mode"), "int8") || !says(at(config, "source_name"), "float32")) return false;
  if (!quantization) return true;
  const Json *of_all = at(quantization, "config"), *inputs = at(of_all, "activation_quantizer");
  const Json* quantizer = at(inputs, "config");
  return !at(of_all, "weight_quantizer") && says(at(inputs, "class_name"), "AbsMaxQuantizer") &&
         says(at(quantizer, "value_range"), Json::array({-127, 127})) && says(at(quantizer, "output_dtype"), "int8") &&
         says(at(quantizer, "epsilon"), 1e-7);
}

Result<Policy> policy_of(std::string_view word) {
  const auto known = std::ranges::find(policies, word, &Named::word);
  if (known != policies.end()) return known->policy;
  return fail(Fault::Unsupported, "computes in " + std::string(word) + ", which this version does not carry");
}

double far_below(DType computes) { return computes == DType::F16 ? -3e4 : -1e9; }

InHalves in_halves(std::string_view class_name) {
  if (std::ranges::find(per_operator, class_name) != per_operator.end()) return InHalves::PerOperator;
  if (std::ranges::find(in_single, class_name) != in_single.end()) return InHalves::InSingle;
  return InHalves::Unknown;
}

}  // namespace convoy::keras
