// The archive and the older file: where the variables of each layer lie.
#include "formats/keras/write/files.h"

#include "containers/hdf5_write.h"
#include "containers/zip.h"
#include "formats/keras/weights.h"

#include <map>

namespace convoy::keras {
namespace {

// "forward_layer/cell" of a Bidirectional: parts are groups below the layer's.
std::string below(const std::string& group, const std::string& part) {
  return part.empty() ? group : group + "/" + part;
}

// h5py has no numbers of bfloat16; loading rounds to what the variable is, which these are already.
Tensor storable(const Tensor& tensor) { return tensor.dtype() == DType::BF16 ? tensor.converted(DType::F32) : tensor; }

// layers/<class>_<n>/vars/<i>: classes are counted over all layers in Keras's own order, operations left out.
Hdf5Node weights_tree(const Document& document) {
  Hdf5Node root;
  root.group("vars").set("name", document.name);  // loaders before Keras 3.6 ask for it
  std::map<std::string, int> counts;
  const bool chain = document.is_sequential();
  for (const std::size_t at : order_in_keras(document)) {
    const DocumentLayer& layer = document.layers[at];
    if (layer.is_operation() || (chain && layer.class_name == "InputLayer")) continue;
    const std::string base = snake_case(layer.class_name);
    const int n = counts[base]++;
    const std::string group = "layers/" + base + (n ? "_" + std::to_string(n) : "");
    root.group(group + "/vars").set("name", layer.name);
    std::map<std::string, int> places;
    for (const DocumentWeight& weight : layer.weights) {
      const std::string vars = below(group, weight.part) + "/vars";
      const int place = places[weight.part]++;
      if (place == 0 && !weight.part.empty()) root.group(vars).set("name", base + "_cell");
      root.dataset(vars + "/" + std::to_string(place), storable(weight.tensor));
    }
  }
  return root;
}

Tensor no_numbers() { return Tensor::of({0}, std::vector<double>()); }

// A list of names, cut into parts where one attribute could not hold it.
void set_names(Hdf5Node& node, const std::string& attribute, const std::vector<std::string>& names) {
  if (names.empty()) return node.set(attribute, no_numbers());
  std::size_t longest = 1;
  for (const std::string& name : names) longest = std::max(longest, name.size());
  const std::size_t most = std::max<std::size_t>(static_cast<std::size_t>(Hdf5Layout::longest_list) / longest, 1);
  if (names.size() <= most) return node.set(attribute, names);
  for (std::size_t first = 0, part = 0; first < names.size(); first += most, ++part) {
    const auto from = names.begin() + static_cast<std::ptrdiff_t>(first);
    const auto to = names.begin() + static_cast<std::ptrdiff_t>(std::min(first + most, names.size()));
    node.set(attribute + std::to_string(part), std::vector<std::string>(from, to));
  }
}

void set_version(Hdf5Node& node) {
  node.set("backend", std::string("tensorflow"));
  node.set("keras_version", std::string(written_version));
}

// "lstm_cell/" in front of the name of a cell's weight, "forward_lstm/lstm_cell/" inside a Bidirectional.
std::string legacy_part(const DocumentLayer& layer, const std::string& part) {
  if (part.empty()) return "";
  if (!layer.arguments.contains("layer")) return snake_case(layer.class_name) + "_cell/";
  const std::string inner = snake_case(layer.arguments["layer"]["class_name"].get<std::string>());
  return part.substr(0, part.find('_') + 1) + inner + "/" + inner + "_cell/";
}

// Keras drops an `axis` that lists several when it loads the older form, and goes on with its default.
Status check_legacy(const DocumentLayer& layer) {
  if (layer.is_operation())
    return fail(Fault::Unsupported,
                "is an operation of keras.ops, which Keras does not load from an .h5 file; write a .keras file");
  const auto axis = layer.arguments.find("axis");
  if (axis != layer.arguments.end() && axis->is_array())
    return fail(Fault::Unsupported,
                "acts on several axes, which Keras does not load from an .h5 file; write a .keras file");
  return {};
}

}  // namespace

Status write_weights(const Document& document, const AppendBytes& append) {
  const auto layout = Hdf5Layout::of(weights_tree(document));
  if (!layout) return std::unexpected(layout.error());
  return layout->write(append);
}

Status write_archive(const Document& document, const AppendBytes& append) {
  const auto layout = Hdf5Layout::of(weights_tree(document));
  if (!layout) return std::unexpected(layout.error());
  ZipWriter zip(append);
  const std::string metadata =
      python_json({{"keras_version", std::string(written_version)}, {"interface", document.lying}});
  const std::string config = python_json(config_of(document));
  if (auto ok = zip.add("metadata.json", bytes_of(metadata)); !ok) return ok;
  if (auto ok = zip.add("config.json", bytes_of(config)); !ok) return ok;
  const auto produce = [&](const ZipWriter::Append& out) { return layout->write(out); };
  if (auto ok = zip.add_stream("model.weights.h5", layout->size(), produce); !ok) return ok;
  return zip.finish();
}

Status write_hdf5(const Document& document, const AppendBytes& append) {
  for (const DocumentLayer& layer : document.layers)
    if (auto ok = check_legacy(layer); !ok)
      return within("layer '" + layer.name + "' (" + layer.class_name + ")", std::move(ok));
  Hdf5Node root;
  set_version(root);
  set_names(root, "interface", document.lying);
  root.set("model_config", python_json(config_of(document, true)));
  Hdf5Node& weights = root.group("model_weights");
  set_version(weights);
  const bool chain = document.is_sequential();
  std::vector<std::string> layers;
  for (const std::size_t at : order_in_keras(document)) {
    const DocumentLayer& layer = document.layers[at];
    if (chain && layer.class_name == "InputLayer") continue;
    layers.push_back(layer.name);
    std::vector<std::string> names;
    for (const bool trainable : {true, false})  // as Keras lists a layer's weights
      for (const DocumentWeight& weight : layer.weights)
        if (weight.name.starts_with("moving_") != trainable)
          names.push_back(layer.name + "/" + legacy_part(layer, weight.part) + weight.name);
    for (const DocumentWeight& weight : layer.weights)
      weights.dataset(layer.name + "/" + layer.name + "/" + legacy_part(layer, weight.part) + weight.name,
                      storable(weight.tensor));
    set_names(weights.group(layer.name), "weight_names", names);
  }
  set_names(weights, "layer_names", layers);
  set_names(weights.group("top_level_model_weights"), "weight_names", {});
  const auto layout = Hdf5Layout::of(root);
  if (!layout) return std::unexpected(layout.error());
  return layout->write(append);
}

}  // namespace convoy::keras
