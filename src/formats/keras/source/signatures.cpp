#include "formats/keras/source/signatures.h"

#include "formats/keras/catalogue/catalogue.h"
#include "formats/keras/weights.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <ranges>

namespace convoy::keras {
namespace {

struct Signature {
  std::string_view name, parameters;
};

constexpr std::string_view conv =
    "filters kernel_size strides padding data_format dilation_rate groups activation use_bias kernel_initializer "
    "bias_initializer kernel_regularizer bias_regularizer activity_regularizer kernel_constraint bias_constraint";
constexpr std::string_view depthwise =
    "kernel_size strides padding depth_multiplier data_format dilation_rate activation use_bias depthwise_initializer "
    "bias_initializer depthwise_regularizer bias_regularizer activity_regularizer depthwise_constraint bias_constraint";
constexpr std::string_view separable =
    "filters kernel_size strides padding data_format dilation_rate depth_multiplier activation use_bias "
    "depthwise_initializer pointwise_initializer bias_initializer depthwise_regularizer pointwise_regularizer "
    "bias_regularizer activity_regularizer depthwise_constraint pointwise_constraint bias_constraint";
constexpr std::string_view transposed =
    "filters kernel_size strides padding output_padding data_format dilation_rate activation use_bias "
    "kernel_initializer bias_initializer kernel_regularizer bias_regularizer activity_regularizer kernel_constraint "
    "bias_constraint";
constexpr std::string_view transposed_3d =
    "filters kernel_size strides padding data_format output_padding dilation_rate activation use_bias "
    "kernel_initializer bias_initializer kernel_regularizer bias_regularizer activity_regularizer kernel_constraint "
    "bias_constraint";
constexpr std::string_view recurrent =
    "units activation use_bias kernel_initializer recurrent_initializer bias_initializer unit_forget_bias "
    "return_sequences return_state go_backwards stateful unroll time_major reset_after implementation dropout "
    "recurrent_dropout recurrent_activation kernel_regularizer recurrent_regularizer bias_regularizer seed";
constexpr std::array signatures{
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
    Signature{"LSTM", recurrent},
    Signature{"GRU", recurrent},
    Signature{"SimpleRNN", recurrent},
    Signature{"Bidirectional", "layer merge_mode weights backward_layer"},
    Signature{"TimeDistributed", "layer"},
    Signature{"SpectralNormalization", "layer power_iterations"},
};

constexpr std::array old_signatures{
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

struct Alias {
  std::string_view name, usual;
};
constexpr std::array aliases{
    Alias{"Convolution1D", "Conv1D"},
    Alias{"Convolution2D", "Conv2D"},
    Alias{"Convolution3D", "Conv3D"},
    Alias{"AtrousConvolution1D", "Conv1D"},
    Alias{"AtrousConvolution2D", "Conv2D"},
    Alias{"SeparableConvolution1D", "SeparableConv1D"},
    Alias{"SeparableConvolution2D", "SeparableConv2D"},
    Alias{"Convolution2DTranspose", "Conv2DTranspose"},
    Alias{"Convolution3DTranspose", "Conv3DTranspose"},
    Alias{"Deconvolution2D", "Conv2DTranspose"},
};

template <class Table>
std::optional<std::string_view> find(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &Signature::name);
  return found == table.end() ? std::nullopt : std::optional(found->parameters);
}

void rename(Json& config, const char* from, const char* to) {
  const auto found = config.find(from);
  if (found == config.end()) return;
  Json value = *found;
  config.erase(from);
  if (!config.contains(to)) config[to] = std::move(value);
}

}  // namespace

std::string usual_name(const std::string& class_name) {
  const auto found = std::ranges::find(aliases, class_name, &Alias::name);
  return std::string(found == aliases.end() ? usual_name(std::string_view(class_name)) : found->usual);
}

std::optional<std::string_view> signature_of(std::string_view class_name) {
  const std::string name = usual_name(std::string(class_name));
  static const auto catalogued_signatures = [] {
    std::map<std::string_view, std::string> made;
    for (const LayerRow& one : catalogued_layers())
      if (const CatalogueRow* row = catalogued("layers", one.type))
        made.emplace(one.type, words_of(*row, Use::Kind::Layer));
    return made;
  }();
  const auto found = catalogued_signatures.find(name);
  return found == catalogued_signatures.end() ? find(signatures, name) : found->second;
}
std::optional<std::string_view> old_signature_of(std::string_view class_name) {
  return find(old_signatures, class_name);
}

void modernise(const std::string& class_name, Json& config) {
  rename(config, "nb_filter", "filters");
  rename(config, "filter_length", "kernel_size");
  rename(config, "border_mode", "padding");
  rename(config, "subsample", "strides");
  rename(config, "subsample_length", "strides");
  rename(config, "atrous_rate", "dilation_rate");
  rename(config, "init", "kernel_initializer");
  rename(config, "W_regularizer", "kernel_regularizer");
  rename(config, "b_regularizer", "bias_regularizer");
  if (config.contains("nb_row") && config.contains("nb_col")) {
    config["kernel_size"] = Json::array({config["nb_row"], config["nb_col"]});
    config.erase("nb_row");
    config.erase("nb_col");
  }
  if (config.contains("kernel_dim1")) {
    config["kernel_size"] = Json::array({config["kernel_dim1"], config["kernel_dim2"], config["kernel_dim3"]});
    for (const char* one : {"kernel_dim1", "kernel_dim2", "kernel_dim3"}) config.erase(one);
  }
  if (const auto order = config.find("dim_ordering"); order != config.end()) {
    const Json word = *order == "th" ? Json("channels_first") : *order == "tf" ? Json("channels_last") : Json();
    config.erase("dim_ordering");
    if (!word.is_null()) config["data_format"] = word;
  }
  if (class_name == "LSTM" || class_name == "GRU" || class_name == "SimpleRNN") rename(config, "output_dim", "units");
  if (const CatalogueRow* row = catalogued("layers", class_name))
    for (const CatalogueParameter& one : parameters_of(*row))
      for (const auto old : std::views::split(one.old, '|'))
        rename(config, std::string(old.begin(), old.end()).c_str(), std::string(one.name).c_str());
  if (class_name.find("onv") != std::string::npos) rename(config, "bias", "use_bias");
  config.erase("weights");
  config.erase("output_shape_ignored");
}

std::string usual_layer_name(const std::string& class_name) { return snake_case(class_name); }

}  // namespace convoy::keras
