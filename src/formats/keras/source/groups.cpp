#include "formats/keras/source/groups.h"

#include "formats/keras/source/signatures.h"
#include "formats/keras/weights.h"

#include <algorithm>

namespace convoy::keras {

namespace {

SourceLayer* layer_of(const Value& value) {
  const auto* instance = value.as<Instance>();
  return instance ? dynamic_cast<SourceLayer*>(instance->extra) : nullptr;
}

std::string joined(const std::string& path, const std::string& name) { return path.empty() ? name : path + "/" + name; }

std::string numbered_name(const std::string& name, std::map<std::string, int>& used) {
  const int n = used[name]++;
  return n ? name + "_" + std::to_string(n) : name;
}

ValueList items_of(const Value& container) {
  if (const auto* all = container.as<python::Sequence>()) return all->items;
  ValueList items;
  if (const auto* map = container.as<python::Mapping>(); map && !map->is_set)
    for (const auto& [key, one] : map->entries) items.push_back(one);
  return items;
}

// Lists and dictionaries, in each other as well: by the classes of what they hold.
void add_container(const ValueList& items, const std::string& path, Groups& groups, int depth) {
  std::map<std::string, int> used;
  for (const Value& one : items) {
    if (SourceLayer* layer = layer_of(one)) {
      add_groups(*layer, joined(path, numbered_name(snake_case(layer->own_class()), used)), groups);
    } else if (const ValueList inner = items_of(one); !inner.empty() && depth < 16) {
      add_container(inner, joined(path, numbered_name("container", used)), groups, depth + 1);
    }
  }
}

// A model's layers in the order in which they became its attributes, those in lists as well.
void tracked(const ValueList& items, ValueList& into, int depth) {
  for (const Value& one : items) {
    if (layer_of(one)) into.push_back(one);
    else if (depth < 16) tracked(items_of(one), into, depth + 1);
  }
}

}  // namespace

std::vector<std::string> numbered(const std::vector<SourceLayer*>& layers) {
  std::map<std::string, int> used;
  std::vector<std::string> names;
  for (const SourceLayer* layer : layers) names.push_back(numbered_name(snake_case(layer->own_class()), used));
  return names;
}

void add_groups(SourceLayer& layer, const std::string& path, Groups& groups) {
  if (!groups.emplace(&layer, path).second) return;
  for (const SourceLayer* variable : layer.variables) groups.emplace(variable, path);
  if (layer.class_name == "Sequential" && layer.holds_own()) {
    std::vector<SourceLayer*> held;
    for (SourceLayer* one : layer.layers)
      if (one->class_name != "InputLayer") held.push_back(one);
    const auto names = numbered(held);
    for (std::size_t i = 0; i < held.size(); ++i) add_groups(*held[i], joined(path, "layers/" + names[i]), groups);
  }
  if (!layer.is_own()) return;
  std::vector<std::pair<std::string, Value>> attributes;
  ValueList all;
  for (const auto& [name, value] : layer.instance->attributes.all()) {
    if (name.starts_with("__") || name.starts_with("$")) continue;
    attributes.emplace_back(name.starts_with("_") ? "~" + name : name, value);
    tracked({value}, all, 0);
  }
  const bool is_model =
      std::ranges::any_of(layer.instance->type->order, [](const python::Class* c) { return c->native == "Model"; });
  if (is_model) attributes.emplace_back("layers", Value());
  std::ranges::stable_sort(attributes, {}, &std::pair<std::string, Value>::first);
  for (const auto& [key, value] : attributes) {
    const std::string name = key.starts_with("~") ? key.substr(1) : key;
    if (name == "layers" && is_model) add_container(all, joined(path, name), groups, 0);
    else if (SourceLayer* inner = layer_of(value)) add_groups(*inner, joined(path, name), groups);
    else add_container(items_of(value), joined(path, name), groups, 0);
  }
}

}  // namespace convoy::keras
