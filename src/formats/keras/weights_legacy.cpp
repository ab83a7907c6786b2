// The groups of an old .h5: layer_names, and in every group weight_names in the layer's order. A nested model is one
// group, trainable arrays first: there the names tell which array belongs to which layer.
#include "formats/keras/weights.h"

#include <algorithm>
#include <map>

namespace convoy::keras {
namespace {

// "net/conv2d/kernel:0" -> "net/conv2d/kernel"
std::string without_output_number(const std::string& name) {
  const auto colon = name.rfind(':');
  const bool digits = colon != std::string::npos && colon + 1 < name.size() &&
                      name.find_first_not_of("0123456789", colon + 1) == std::string::npos;
  return digits ? name.substr(0, colon) : name;
}

bool belongs(const std::string& weight, const std::string& layer) {
  if (weight.starts_with(layer + "/") || weight.find("/" + layer + "/") != std::string::npos) return true;
  // Keras 1: "convolution2d_1_W"
  return weight.find('/') == std::string::npos && weight.starts_with(layer + "_") &&
         weight.find_first_of("0123456789", layer.size()) == std::string::npos;
}

class Groups : public WeightSource {
 public:
  explicit Groups(Hdf5Object group) : group_(std::move(group)) {}
  bool nests() const override { return false; }

  Result<Variables> of(const Location& location) override {
    if (location.names.empty()) return Variables{};
    auto whole = group_of(in_words_of_keras_2(location.names.front()));
    if (!whole) return pass(whole);
    Variables part;
    for (const Variable& variable : **whole) {
      if (location.names.size() > 1 && !belongs(variable.name, location.names.back())) continue;
      Variable one = variable;
      one.name = last_word(one.name);
      part.all.push_back(std::move(one));
    }
    return part;
  }

 private:
  static std::string last_word(const std::string& name) {
    const auto slash = name.rfind('/');
    return slash == std::string::npos ? name : name.substr(slash + 1);
  }

  // Models that a program gives no name are counted from "functional" by Keras 3, from "model" before.
  std::string in_words_of_keras_2(const std::string& name) const {
    constexpr std::string_view now = "functional";
    const bool counted = name.starts_with(now) && (name.size() == now.size() || name[now.size()] == '_');
    return counted && !group_.has(name) ? "model" + name.substr(now.size()) : name;
  }

  Result<const std::vector<Variable>*> group_of(const std::string& layer) {
    if (const auto known = groups_.find(layer); known != groups_.end()) return &known->second;
    std::vector<Variable> all;
    if (group_.has(layer)) {
      auto group = group_.group(layer);
      if (!group) return pass(group);
      auto names = strings_of(*group, "weight_names");
      if (!names) return within("group '" + layer + "'", Result<const std::vector<Variable>*>(pass(names)));
      for (const std::string& name : *names) {
        auto tensor = group->dataset(name);
        if (!tensor) return within("array '" + name + "'", Result<const std::vector<Variable>*>(pass(tensor)));
        all.push_back({without_output_number(name), std::move(*tensor), false});
      }
    }
    return &groups_.emplace(layer, std::move(all)).first->second;
  }

  Hdf5Object group_;
  std::map<std::string, std::vector<Variable>> groups_;
};

class GivenTensors : public WeightSource {
 public:
  explicit GivenTensors(std::vector<Tensor> tensors) {
    for (Tensor& tensor : tensors) variables_.all.push_back({{}, std::move(tensor), false});
  }
  bool nests() const override { return false; }
  Result<Variables> of(const Location&) override { return variables_; }

 private:
  Variables variables_;
};

Status list_dataset(const Hdf5Object& object, const std::string& name, std::vector<LoadedTensor>& out) {
  auto tensor = object.dataset(name);
  if (!tensor) return pass(tensor);
  out.push_back({name, std::move(*tensor)});
  return {};
}

Result<std::vector<LoadedTensor>> list_legacy(const Hdf5Object& group) {
  std::vector<LoadedTensor> out;
  auto layers = strings_of(group, "layer_names");
  if (!layers) return pass(layers);
  for (const std::string& layer : *layers) {
    if (!group.has(layer)) continue;
    auto inner = group.group(layer);
    if (!inner) return pass(inner);
    auto names = strings_of(*inner, "weight_names");
    if (!names) return pass(names);
    for (const std::string& name : *names) {
      auto tensor = inner->dataset(name);
      if (!tensor) return within("array '" + name + "'", Result<std::vector<LoadedTensor>>(pass(tensor)));
      out.push_back({layer + "/" + name, std::move(*tensor)});
    }
  }
  return out;
}

// Every dataset below, depth first; numbers in their own order, not in that of their letters.
Status list_tree(const Hdf5Object& group, const std::string& path, int depth, std::vector<LoadedTensor>& out) {
  if (depth > 64) return fail(Fault::Limit, "groups nest deeper than 64");
  if (out.size() > 1000000) return fail(Fault::Limit, "holds more than 1000000 arrays");
  auto names = group.names();
  if (!names) return pass(names);
  std::sort(names->begin(), names->end(), [](const std::string& a, const std::string& b) {
    const bool numbers = a.find_first_not_of("0123456789") == std::string::npos &&
                         b.find_first_not_of("0123456789") == std::string::npos;
    return numbers && a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  for (const std::string& name : *names) {
    auto child = group.open(name);
    if (!child) return pass(child);
    const std::string full = path.empty() ? name : path + "/" + name;
    if (child->is_group()) {
      if (auto ok = list_tree(*child, full, depth + 1, out); !ok) return ok;
      continue;
    }
    std::vector<LoadedTensor> one;
    // Datasets of strings and of other things that are no numbers are not weights.
    if (auto ok = list_dataset(group, name, one); !ok) return within("array '" + full + "'", std::move(ok));
    out.push_back({full, std::move(one.front().tensor)});
  }
  return {};
}

}  // namespace

Result<std::string> string_of(const Hdf5Object& object, const std::string& attribute) {
  if (!object.has_attribute(attribute)) return std::string();
  auto value = object.attribute(attribute);
  if (!value) return pass(value);
  if (auto* text = std::get_if<std::string>(&*value)) return std::move(*text);
  if (auto* many = std::get_if<std::vector<std::string>>(&*value); many && many->size() == 1)
    return std::move(many->front());
  return fail(Fault::Format, "attribute '" + attribute + "' is not one string");
}

Result<std::vector<std::string>> strings_of(const Hdf5Object& object, const std::string& attribute) {
  std::vector<std::string> all;
  const auto append = [&](const std::string& name) -> Status {
    auto value = object.attribute(name);
    if (!value) return pass(value);
    if (const auto* one = std::get_if<std::string>(&*value)) {
      all.push_back(*one);
    } else if (const auto* many = std::get_if<std::vector<std::string>>(&*value)) {
      all.insert(all.end(), many->begin(), many->end());
    } else if (std::get<Tensor>(*value).count() != 0) {  // a layer without weights has an empty list of numbers
      return fail(Fault::Format, "attribute '" + name + "' is not a list of strings");
    }
    return {};
  };
  if (object.has_attribute(attribute)) {
    if (auto ok = append(attribute); !ok) return pass(ok);
    return all;
  }
  if (!object.has_attribute(attribute + "0")) return fail(Fault::Format, "attribute '" + attribute + "' is missing");
  for (int i = 0; object.has_attribute(attribute + std::to_string(i)); ++i)
    if (auto ok = append(attribute + std::to_string(i)); !ok) return pass(ok);
  return all;
}

Result<std::unique_ptr<WeightSource>> weights_legacy(const Hdf5Object& group) {
  return std::make_unique<Groups>(group);
}
std::unique_ptr<WeightSource> weights_given(std::vector<Tensor> tensors) {
  return std::make_unique<GivenTensors>(std::move(tensors));
}

bool is_legacy_weights(const Hdf5Object& root) {
  return root.has_attribute("layer_names") || root.has_attribute("layer_names0") || root.has("model_weights");
}

Result<std::unique_ptr<WeightSource>> weights_of_file(const Hdf5Object& root) {
  if (!is_legacy_weights(root)) return weights_v3(root, false);
  if (!root.has("model_weights")) return weights_legacy(root);
  auto group = root.group("model_weights");
  if (!group) return pass(group);
  return weights_legacy(*group);
}

Result<std::vector<LoadedTensor>> list_weights(const Hdf5Object& root) {
  if (is_legacy_weights(root)) {
    if (!root.has("model_weights")) return list_legacy(root);
    auto group = root.group("model_weights");
    if (!group) return pass(group);
    return list_legacy(*group);
  }
  std::vector<LoadedTensor> out;
  if (auto ok = list_tree(root, "", 0, out); !ok) return pass(ok);
  return out;
}

}  // namespace convoy::keras
