#include "formats/torch/source/parameters.h"

#include <algorithm>

namespace convoy::torch {

namespace {

constexpr std::string_view norms_of = "norms of ";  // no attribute of a program has a space in its name

std::string text_of_name(const std::optional<Value>& said) {
  const auto* text = said ? said->as<python::Text>() : nullptr;
  return text ? text->text : "weight";
}

void add_normed(const Instance& module, const std::string& path, std::vector<std::string>& names, int depth) {
  if (depth > 64) return;
  for (const auto& [name, value] : module.attributes.all())
    if (name.starts_with(norms_of)) names.push_back(path + name.substr(norms_of.size()));
  for (const auto& [name, child] : children_of(module)) add_normed(*child, path + name + ".", names, depth + 1);
}

Size norms_in(const Instance& module, std::set<const Instance*>& seen, int depth) {
  if (depth > 64 || !seen.insert(&module).second) return 0;
  Size count = 0;
  for (const auto& [name, value] : module.attributes.all())
    if (name.starts_with(norms_of) && value.is_whole()) count += value.whole();
  for (const auto& [name, child] : children_of(module)) count += norms_in(*child, seen, depth + 1);
  return count;
}

Size cells_of(const Graph& graph, ValueId value) {
  const auto& numbers = graph[value].constant;
  return numbers ? numbers->count() : 0;
}

}  // namespace

Made weight_norm(Tracer& tracer, Arguments& given) {
  const auto taken = python::bound(given, "module name dim", 1, "weight_norm");
  if (!taken) return std::unexpected(taken.error());
  auto* module = (*taken)[0]->as<Instance>();
  if (!module || !is_module(*(*taken)[0])) return fail(Fault::Format, "weight_norm() of what is no module");
  const std::string name = text_of_name((*taken)[1]);
  const Value* found = module->attributes.find(name);
  const auto* weight = found ? found->as<SourceTensor>() : nullptr;
  if (!weight || !weight->is_parameter)
    return fail(Fault::Format, "weight_norm(): the module has no parameter '" + name + "'");
  const Sizes& shape = tracer.graph[weight->value].constant->shape();
  const auto& said = (*taken)[2];
  const Size rank = std::ssize(shape), axis = !said ? 0 : said->is_whole() ? said->whole() : -1;
  if (axis < -rank || axis >= rank) return fail(Fault::Format, "weight_norm(): axis " + std::to_string(axis));
  const Size norms = axis == -1 ? 1 : shape[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
  module->attributes.set(std::string(norms_of) + name, Value::of(norms));
  return *(*taken)[0];
}

Made without_weight_norm(Arguments& given) {
  if (given.placed.empty()) return fail(Fault::Format, "takes a module");
  if (auto* module = given.placed[0].as<Instance>()) {
    std::optional<Value> name;
    if (given.placed.size() > 1) name = given.placed[1];
    for (const auto& [word, value] : given.named)
      if (word == "name" || word == "tensor_name") name = value;
    module->attributes.erase(std::string(norms_of) + text_of_name(name));
  }
  return given.placed[0];
}

std::vector<std::string> parametrized(Tracer& tracer, const Instance& module, const Tracer::NamedWeights& named) {
  std::vector<std::string> names;
  add_normed(module, "", names, 0);
  for (const auto& [name, tensor] : named)
    if (tracer.spectral.contains(tensor->value.index)) names.push_back(name);
  return names;
}

LiveParameters::LiveParameters(Tracer& tracer, const Instance& module, const Tracer::NamedWeights& named)
    : tracer_(tracer),
      module_(module),
      named_(named) {
  const Graph& graph = tracer.graph;
  std::vector<ValueId> open = graph.outputs;
  while (!open.empty()) {
    const ValueId value = open.back();
    open.pop_back();
    if (!value || !live_.insert(value.index).second) continue;
    if (const NodeId producer = graph[value].producer)
      open.insert(open.end(), graph[producer].inputs.begin(), graph[producer].inputs.end());
  }
  for (const auto& [made, weight] : tracer.reordered)
    if (live_.contains(made) && !live_.contains(weight.index)) instead_.emplace(weight.index, ValueId{made});
}

bool LiveParameters::is_left_out(ValueId weight) const {
  return !live_.contains(weight.index) && !instead_.contains(weight.index);
}

void LiveParameters::tell(std::vector<std::string>& remarks) const {
  Size count = 0;
  std::size_t tensors = 0;
  std::string names;
  std::set<std::int32_t> counted;
  for (const auto& [name, tensor] : named_) {
    if (!tensor->is_parameter || !tensor->value || !is_left_out(tensor->value)) continue;
    if (!counted.insert(tensor->value.index).second) continue;
    count += cells_of(tracer_.graph, tensor->value);
    if (tensors++ < 3) names += (names.empty() ? "" : ", ") + name;
  }
  if (tensors > 3) names += " and " + std::to_string(tensors - 3) + " more";
  if (count > 0)
    remarks.push_back(std::to_string(count) + " parameters that no output depends on are left out: " + names);
  tell_counts(count, remarks);
}

void LiveParameters::tell_counts(Size left_out, std::vector<std::string>& remarks) const {
  const Graph& graph = tracer_.graph;
  std::set<const Instance*> seen;
  const Size norms = norms_in(module_, seen, 0);
  if (!tracer_.options().structure_only && norms == 0) return;
  Size all = norms, frozen = 0, trained = 0;
  std::set<std::int32_t> counted;
  for (const auto& [name, tensor] : named_) {
    if (!tensor->is_parameter || !tensor->value || !counted.insert(tensor->value.index).second) continue;
    all += cells_of(graph, tensor->value);
    if (!graph[tensor->value].trainable) frozen += cells_of(graph, tensor->value);
  }
  for (const std::int32_t index : live_)
    if (graph[ValueId{index}].trainable && !graph.tied.contains(graph[ValueId{index}].name))
      trained += cells_of(graph, ValueId{index});
  if (all == trained) return;
  std::string parts;
  const auto part = [&](Size count, const std::string& words) {
    if (count > 0) parts += (parts.empty() ? ", " : "; ") + std::to_string(count) + " of them " + words;
  };
  part(norms, "norms that weight_norm keeps beside weights that are plain here");
  part(frozen, "without a gradient");
  part(left_out, "left out here");
  remarks.push_back("parameters() of PyTorch counts " + std::to_string(all) + parts);
}

}  // namespace convoy::torch
