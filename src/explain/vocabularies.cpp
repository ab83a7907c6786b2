#include "explain/vocabularies.h"

#include "base/words.h"
#include "formats/keras/source/signatures.h"
#include "formats/onnx/catalogue/catalogue.h"
#include "formats/tf/functions.h"
#include "formats/torch/catalogue/catalogue.h"

#include <algorithm>
#include <array>

namespace convoy::explain {
namespace {

struct Signature {
  std::string_view name, parameters;
};

// The layers of Keras that have windows; the names of Keras 1 at the end.
constexpr std::array<std::string_view, 35> keras_layers{"Conv1D",
                                                        "Conv2D",
                                                        "Conv3D",
                                                        "DepthwiseConv1D",
                                                        "DepthwiseConv2D",
                                                        "SeparableConv1D",
                                                        "SeparableConv2D",
                                                        "Conv1DTranspose",
                                                        "Conv2DTranspose",
                                                        "Conv3DTranspose",
                                                        "MaxPooling1D",
                                                        "MaxPooling2D",
                                                        "MaxPooling3D",
                                                        "MaxPool1D",
                                                        "MaxPool2D",
                                                        "MaxPool3D",
                                                        "AveragePooling1D",
                                                        "AveragePooling2D",
                                                        "AveragePooling3D",
                                                        "AvgPool1D",
                                                        "AvgPool2D",
                                                        "AvgPool3D",
                                                        "ZeroPadding1D",
                                                        "ZeroPadding2D",
                                                        "ZeroPadding3D",
                                                        "Cropping1D",
                                                        "Cropping2D",
                                                        "Cropping3D",
                                                        "Convolution1D",
                                                        "Convolution2D",
                                                        "Convolution3D",
                                                        "AtrousConvolution1D",
                                                        "AtrousConvolution2D",
                                                        "SeparableConvolution2D",
                                                        "Deconvolution2D"};

// As their constructors take them, up to the first word that no window depends on. Empty: no such layer.
std::string_view keras_parameters(std::string_view name) {
  if (std::ranges::find(keras_layers, name) == keras_layers.end()) return {};
  const auto old = keras::old_signature_of(name), now = keras::signature_of(name);
  const std::string_view all = old ? *old : now.value_or("");
  const auto initializer = std::min(all.find("_initializer"), all.size());
  return initializer == all.size() ? all : all.substr(0, all.rfind(' ', initializer));
}
// What every layer of Keras takes and no window depends on.
constexpr std::string_view keras_ignored =
    "name trainable dtype autocast input_shape batch_input_shape batch_shape batch_size input_dim input_length "
    "kernel_initializer bias_initializer depthwise_initializer pointwise_initializer kernel_regularizer "
    "bias_regularizer "
    "depthwise_regularizer pointwise_regularizer activity_regularizer kernel_constraint bias_constraint "
    "depthwise_constraint pointwise_constraint W_regularizer b_regularizer W_constraint b_constraint bias";
constexpr std::string_view keras_old_convolution =
    "nb_filter filter_length nb_row nb_col border_mode subsample subsample_length dim_ordering atrous_rate init "
    "weights";
constexpr std::string_view keras_old_pool = "border_mode dim_ordering pool_length stride";

constexpr std::string_view onnx_operators[] = {"Conv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool", "Pad"};

// Without those that have become inputs since.
std::vector<std::string_view> onnx_attributes(std::string_view name) {
  std::vector<std::string_view> all;
  if (std::ranges::find(onnx_operators, name) == std::end(onnx_operators)) return all;
  const onnx::Signature& signature = *onnx::signature_of(name);
  for (const onnx::Parameter& attribute : signature.attributes)
    if (!signature.input(attribute.name)) all.push_back(attribute.name);
  return all;
}

template <class Table>
std::string_view find(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &Signature::name);
  return found == table.end() ? std::string_view() : found->parameters;
}

void append(std::vector<std::string>& all, std::string_view list) {
  for (const std::string_view word : words_in(list)) all.emplace_back(word);
}

std::span<const FunctionRow> rows_of(Framework framework) {
  switch (framework) {
    case Framework::Torch: return torch::functions();
    case Framework::TensorFlow: return tf::functions();
    case Framework::Onnx: return onnx::functions();
    default: return {};
  }
}

}  // namespace

std::optional<std::string_view> parameters_of(const Named& named) {
  if (named.framework == Framework::Keras) {
    const auto found = keras_parameters(named.function);
    return found.empty() ? std::nullopt : std::optional(found);
  }
  const FunctionRow* row = row_of(rows_of(named.framework), named.function);
  if (!row || (named.framework == Framework::Onnx && onnx_attributes(named.function).empty())) return std::nullopt;
  return row->parameters;
}

std::vector<std::string> keywords_of(const Named& named) {
  std::vector<std::string> all;
  append(all, parameters_of(named).value_or(""));
  if (named.framework == Framework::Keras) {
    const bool pools = named.function.find("Pool") != std::string::npos;
    if (named.function.find("onv") != std::string::npos) append(all, keras_old_convolution);
    else if (pools) append(all, keras_old_pool);
    // Convolution2D is also Keras 2's word for Conv2D.
    if (named.function.find("onvolution") != std::string::npos)
      append(all, keras_parameters("SeparableConv2D")), append(all, "groups");
  } else if (named.framework == Framework::Onnx) {
    for (const std::string_view word : onnx_attributes(named.function)) all.emplace_back(word);
  } else if (named.framework == Framework::TensorFlow) {
    all.emplace_back("name");
  }
  return all;
}

bool takes(const Named& named, std::string_view keyword) {
  const auto has = [&](const auto& words) { return std::ranges::find(words, keyword) != words.end(); };
  return has(keywords_of(named)) || (named.framework == Framework::Keras && has(words_in(keras_ignored)));
}

std::vector<Named> all_names() {
  std::vector<Named> all;
  for (const std::string_view name : keras_layers) all.push_back({Framework::Keras, std::string(name)});
  for (const Framework f : {Framework::Torch, Framework::TensorFlow})
    for (const FunctionRow& row : rows_of(f)) all.push_back({f, std::string(row.name)});
  for (const std::string_view name : onnx_operators) all.push_back({Framework::Onnx, std::string(name)});
  return all;
}

}  // namespace convoy::explain
