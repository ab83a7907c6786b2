#include "explain/vocabularies.h"

#include "formats/onnx/functions.h"
#include "formats/tf/functions.h"
#include "formats/torch/functions/functions.h"

#include <algorithm>
#include <array>

namespace convoy::explain {
namespace {

struct Signature {
  std::string_view name, parameters;
};

// Keras 3.15; the names of Keras 1 at the end.
constexpr std::string_view conv =
    "filters kernel_size strides padding data_format dilation_rate groups activation use_bias";
constexpr std::string_view depthwise =
    "kernel_size strides padding depth_multiplier data_format dilation_rate activation use_bias";
constexpr std::string_view separable =
    "filters kernel_size strides padding data_format dilation_rate depth_multiplier activation use_bias";
constexpr std::string_view transposed =
    "filters kernel_size strides padding output_padding data_format dilation_rate activation use_bias";
constexpr std::string_view transposed_3d =
    "filters kernel_size strides padding data_format output_padding dilation_rate activation use_bias";
constexpr std::string_view pool = "pool_size strides padding data_format";
constexpr std::array keras{
    Signature{"Conv1D", conv},
    Signature{"Conv2D", conv},
    Signature{"Conv3D", conv},
    Signature{"DepthwiseConv1D", depthwise},
    Signature{"DepthwiseConv2D", depthwise},
    Signature{"SeparableConv1D", separable},
    Signature{"SeparableConv2D", separable},
    Signature{"Conv1DTranspose", transposed},
    Signature{"Conv2DTranspose", transposed},
    Signature{"Conv3DTranspose", transposed_3d},
    Signature{"MaxPooling1D", pool},
    Signature{"MaxPooling2D", pool},
    Signature{"MaxPooling3D", pool},
    Signature{"MaxPool1D", pool},
    Signature{"MaxPool2D", pool},
    Signature{"MaxPool3D", pool},
    Signature{"AveragePooling1D", pool},
    Signature{"AveragePooling2D", pool},
    Signature{"AveragePooling3D", pool},
    Signature{"AvgPool1D", pool},
    Signature{"AvgPool2D", pool},
    Signature{"AvgPool3D", pool},
    Signature{"ZeroPadding1D", "padding data_format"},
    Signature{"ZeroPadding2D", "padding data_format"},
    Signature{"ZeroPadding3D", "padding data_format"},
    Signature{"Cropping1D", "cropping"},
    Signature{"Cropping2D", "cropping data_format"},
    Signature{"Cropping3D", "cropping data_format"},
    Signature{"Convolution1D", "nb_filter filter_length init activation weights border_mode subsample_length"},
    Signature{"Convolution2D", "nb_filter nb_row nb_col init activation weights border_mode subsample dim_ordering"},
    Signature{
        "Convolution3D",
        "nb_filter kernel_dim1 kernel_dim2 kernel_dim3 init activation weights border_mode subsample dim_ordering"},
    Signature{"AtrousConvolution1D",
              "nb_filter filter_length init activation weights border_mode subsample_length atrous_rate"},
    Signature{"AtrousConvolution2D",
              "nb_filter nb_row nb_col init activation weights border_mode subsample atrous_rate dim_ordering"},
    Signature{"SeparableConvolution2D",
              "nb_filter nb_row nb_col init activation weights border_mode subsample depth_multiplier dim_ordering"},
    Signature{"Deconvolution2D",
              "nb_filter nb_row nb_col output_shape init activation weights border_mode subsample dim_ordering"},
};

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

constexpr std::array onnx_attributes{
    Signature{"Conv", "auto_pad dilations group kernel_shape pads strides"},
    Signature{"ConvTranspose", "auto_pad dilations group kernel_shape output_padding output_shape pads strides"},
    Signature{"MaxPool", "auto_pad ceil_mode dilations kernel_shape pads storage_order strides"},
    Signature{"AveragePool", "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides"},
    Signature{"LpPool", "auto_pad ceil_mode dilations kernel_shape p pads strides"},
    Signature{"Pad", "mode value"},
};

template <class Table>
std::string_view find(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &Signature::name);
  return found == table.end() ? std::string_view() : found->parameters;
}

std::vector<std::string> words_of(std::string_view list) {
  std::vector<std::string> words;
  for (std::size_t from = 0; from < list.size();) {
    const std::size_t to = std::min(list.find(' ', from), list.size());
    if (to > from) words.emplace_back(list.substr(from, to - from));
    from = to + 1;
  }
  return words;
}
void append(std::vector<std::string>& all, std::string_view list) {
  for (auto& word : words_of(list)) all.push_back(std::move(word));
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
    const auto found = find(keras, named.function);
    return found.empty() ? std::nullopt : std::optional(found);
  }
  const FunctionRow* row = row_of(rows_of(named.framework), named.function);
  if (!row || (named.framework == Framework::Onnx && find(onnx_attributes, named.function).empty()))
    return std::nullopt;
  return row->parameters;
}

std::vector<std::string> keywords_of(const Named& named) {
  std::vector<std::string> all = words_of(parameters_of(named).value_or(""));
  if (named.framework == Framework::Keras) {
    const bool pools = named.function.find("Pool") != std::string::npos;
    if (named.function.find("onv") != std::string::npos) append(all, keras_old_convolution);
    else if (pools) append(all, keras_old_pool);
    // Convolution2D is also Keras 2's word for Conv2D.
    if (named.function.find("onvolution") != std::string::npos) append(all, separable), append(all, "groups");
  } else if (named.framework == Framework::Onnx) {
    append(all, find(onnx_attributes, named.function));
  } else if (named.framework == Framework::TensorFlow) {
    all.emplace_back("name");
  }
  return all;
}

bool takes(const Named& named, std::string_view keyword) {
  const auto has = [&](const std::vector<std::string>& words) {
    return std::ranges::find(words, keyword) != words.end();
  };
  return has(keywords_of(named)) || (named.framework == Framework::Keras && has(words_of(keras_ignored)));
}

std::vector<Named> all_names() {
  std::vector<Named> all;
  for (const Signature& s : keras) all.push_back({Framework::Keras, std::string(s.name)});
  for (const Framework f : {Framework::Torch, Framework::TensorFlow})
    for (const FunctionRow& row : rows_of(f)) all.push_back({f, std::string(row.name)});
  for (const Signature& s : onnx_attributes)
    if (row_of(rows_of(Framework::Onnx), s.name)) all.push_back({Framework::Onnx, std::string(s.name)});
  return all;
}

}  // namespace convoy::explain
