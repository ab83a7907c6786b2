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

std::optional<std::string_view> words(const CatalogueRow* row) {
  static const auto all = [] {
    std::map<const CatalogueRow*, std::string> made;
    for (const auto kind : {"layers", "keras1"})
      for (const auto name : names_of(kind)) {
        const CatalogueRow* one = catalogued(kind, name);
        made.emplace(one, words_of(*one, Use::Kind::Layer));
      }
    return made;
  }();
  return row ? std::optional<std::string_view>(all.at(row)) : std::nullopt;
}

void rename(Json& config, const char* from, const char* to) {
  const auto found = config.find(from);
  if (found == config.end()) return;
  Json value = *found;
  config.erase(from);
  if (!config.contains(to)) config[to] = std::move(value);
}

}  // namespace

std::optional<std::string_view> signature_of(std::string_view class_name) {
  return words(catalogued("layers", class_name));
}
std::optional<std::string_view> old_signature_of(std::string_view class_name) {
  return words(catalogued("keras1", class_name));
}

void modernise(const std::string& class_name, Json& config) {
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
  if (const CatalogueRow* row = catalogued("layers", class_name))
    for (const CatalogueParameter& one : parameters_of(*row))
      for (const auto old : std::views::split(one.old, '|'))
        rename(config, std::string(old.begin(), old.end()).c_str(), std::string(one.name).c_str());
  config.erase("weights");
  config.erase("output_shape_ignored");
}

std::string usual_layer_name(const std::string& class_name) { return snake_case(class_name); }

}  // namespace convoy::keras
