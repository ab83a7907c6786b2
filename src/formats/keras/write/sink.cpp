// Names of layers, each once, and how a node's inputs become arguments.
#include "formats/keras/write/sink.h"

#include "base/shown.h"
#include "formats/keras/weights.h"
#include "formats/shortest.h"
#include "graph/path.h"
#include "ops/expect.h"

#include <algorithm>

namespace convoy::keras::writing {
namespace {

// What to call a layer beside the main one of its source layer.
std::string word_of(const Op& op) {
  if (holds_alternative<Transpose>(op)) return "permute";
  if (const auto* pad = get_if<Pad>(&op))
    return std::ranges::any_of(pad->before, [](Size n) { return n < 0; }) ||
                   std::ranges::any_of(pad->after, [](Size n) { return n < 0; })
               ? "crop"
               : "pad";
  if (holds_alternative<Unary>(op) || holds_alternative<Relu>(op) || holds_alternative<Clip>(op) ||
      holds_alternative<Elu>(op) || holds_alternative<Softmax>(op))
    return "activation";
  return std::string(name_of(op));
}

bool has_weights(const Graph& graph, const Node& node) {
  return std::ranges::any_of(node.inputs, [&](ValueId v) { return v && graph[v].constant.has_value(); });
}

}  // namespace

Json one_or_all(const Sizes& sizes) {
  if (!sizes.empty() && std::ranges::all_of(sizes, [&](Size n) { return n == sizes.front(); })) return sizes.front();
  return sizes;
}

Json one_or_list(const Sizes& sizes) { return sizes.size() == 1 ? Json(sizes.front()) : Json(sizes); }

std::string class_of(std::string_view stem, Size space, std::string_view tail) {
  return std::string(stem) + std::to_string(space) + "D" + std::string(tail);
}

std::string layer_name(const Node& node) {
  std::string name;
  for (const char c : as_utf8(path_of(node))) {
    const bool parts = c == '/' || c == '.' || c == ':' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
    if (!parts) name += c;
    else if (!name.empty() && name.back() != '_') name += '_';
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  if (name.empty()) name = snake_case(node.kind.empty() ? std::string(name_of(node.op)) : node.kind);
  return name;
}

Sink::Sink(const Graph& graph, Document& document, std::span<const std::string_view> always)
    : graph_(graph),
      document_(document),
      always_(always),
      pairs_(writing::both_ways(graph)) {
  // Of the nodes that one source layer became, the one that holds its weights takes its name, else the last.
  std::map<std::string, std::size_t> main;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    bases_of_nodes_.push_back(layer_name(graph.nodes[i]));
    const auto known = main.find(bases_of_nodes_.back());
    if (known == main.end()) main.emplace(bases_of_nodes_.back(), i);
    else if (!has_weights(graph, graph.nodes[known->second])) known->second = i;
  }
  for (const ValueId v : graph.inputs)
    names_of_inputs_[v] = unique(layer_name({Identity{}, {}, {}, graph[v].name, {}, {}}));
  std::set<std::size_t> mains;
  for (const auto& [name, i] : main) mains.insert(i);
  names_of_nodes_.resize(graph.nodes.size());
  for (const std::size_t i : mains) names_of_nodes_[i] = unique(bases_of_nodes_[i]);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (!mains.contains(i)) names_of_nodes_[i] = unique(bases_of_nodes_[i] + "_" + word_of(graph.nodes[i].op));
  // What merges two cells takes the name of the layer that all of them come from.
  for (const auto& [merge, pair] : pairs_.merged) {
    const auto at = merge.slot(), forward = pair.forward.slot();
    if (bases_of_nodes_[at] == bases_of_nodes_[forward]) std::swap(names_of_nodes_[at], names_of_nodes_[forward]);
  }
}

const BothWays* Sink::both_ways(NodeId node) const {
  const auto found = pairs_.merged.find(node);
  return found == pairs_.merged.end() ? nullptr : &found->second;
}

void Sink::begin(NodeId node) { at_ = node; }

bool Sink::always_says(std::string_view argument) const {
  return std::ranges::find(always_, argument) != always_.end();
}

const Tensor* Sink::constant(std::size_t i) const {
  return has(i) && graph_[node().inputs[i]].constant ? &*graph_[node().inputs[i]].constant : nullptr;
}

bool Sink::is_read(std::size_t result) const {
  const ValueId v = node().outputs[result];
  const auto among = [&](const std::vector<ValueId>& all) { return std::ranges::find(all, v) != all.end(); };
  return among(graph_.outputs) ||
         std::ranges::any_of(graph_.nodes, [&](const Node& reader) { return among(reader.inputs); });
}

Argument Sink::argument(std::size_t i) const {
  const Tensor* known = constant(i);
  if (!known) return given_.at(node().inputs[i]);
  if (known->rank() > 0) return *known;
  if (known->dtype() == DType::F32) return Json(shortest(known->floats()[0]));
  if (known->dtype() == DType::Bool) return Json(known->integers()[0] != 0);
  if (known->dtype() >= DType::I8) return Json(known->integers()[0]);
  return Json(known->doubles()[0]);
}

void Sink::operand(LayerConfig& config, std::size_t place, std::size_t i, std::string word) const {
  config.args.resize(std::max(config.args.size(), place + 1));
  config.args[place] = argument(i);
  if (constant(i)) config.numbers.emplace_back(std::move(word), node().inputs[i]);
}

LayerConfig Sink::layer(std::string class_name) const {
  LayerConfig config;
  config.class_name = std::move(class_name);
  config.args = {argument(0)};
  return config;
}

LayerConfig Sink::operation(std::string_view file, std::string class_name) const {
  LayerConfig config = layer(std::move(class_name));
  config.module = "keras.src.ops." + std::string(file);
  return config;
}

Status Sink::weigh(LayerConfig& config, std::size_t i, std::string name, std::string part) const {
  const Tensor* known = constant(i);
  if (!known) return refused("a " + name + " that the model computes");
  const Value& value = graph_[node().inputs[i]];
  config.carried.emplace_back(name, node().inputs[i]);
  config.weights.push_back({std::move(part), std::move(name), *known, value.trainable});
  return {};
}

std::size_t Sink::add(LayerConfig config, const std::string& name) {
  DocumentLayer layer{.class_name = std::move(config.class_name),
                      .module = std::move(config.module),
                      .name = name,
                      .layer = node().layer,
                      .scopes = node().scopes,
                      .arguments = std::move(config.arguments),
                      .weights = std::move(config.weights),
                      .calls = {}};
  // Without its own type, a layer computes in float32 and turns what comes in into that.
  const DType computes = result_type().dtype;
  if (!layer.is_operation() && is_floating(computes) && computes != DType::F32)
    layer.arguments["dtype"] = std::string(convoy::name_of(computes));
  const auto statistics = [](const DocumentWeight& w) { return w.name.starts_with("moving_"); };
  const auto count = std::ranges::count_if(layer.weights, [&](const auto& w) { return !statistics(w); });
  layer.trainable = count == 0 || std::ranges::any_of(layer.weights, &DocumentWeight::trainable);
  layer.calls.push_back({std::move(config.args), std::move(config.kwargs), {}});
  for (const auto& [word, value] : config.carried) document_.carried.emplace(name + "/" + word, value);
  for (const auto& [word, value] : config.numbers) document_.carried.emplace(name + "/" + word, value);
  document_.layers.push_back(std::move(layer));
  return document_.layers.size() - 1;
}

Argument Sink::step(LayerConfig config, std::string_view suffix, TensorType result) {
  const std::size_t at = add(std::move(config), unique(names_of_nodes_[at_.slot()] + "_" + std::string(suffix)));
  document_.layers[at].calls.back().results = {std::move(result)};
  return Reference{at, 0, 0};
}

// The same layer called with other inputs: the same weights (the very constants of the graph) and the same arguments.
bool Sink::call_again(const LayerConfig& config, const Giving& giving) {
  std::vector<std::int32_t> weights;
  for (const auto& [word, value] : config.carried) weights.push_back(value.index);
  if (weights.empty()) return false;
  for (const std::size_t at : weighted_[weights]) {
    DocumentLayer& layer = document_.layers[at];
    if (layer.class_name != config.class_name || layer.arguments != config.arguments) continue;
    carry(layer.name, config.results);
    layer.calls.push_back({config.args, config.kwargs, {}});
    give(config.results, giving, at, layer.calls.size() - 1);
    return true;
  }
  weighted_[weights].push_back(document_.layers.size());
  return false;
}

// The results of the node, the first `results` at most, as a call of the layer gives them.
void Sink::give(std::size_t results, const Giving& giving, std::size_t layer, std::size_t call) {
  std::vector<TensorType>& types = document_.layers[layer].calls[call].results;
  types = giving.types;
  for (std::size_t i = 0; i < std::min(results, node().outputs.size()); ++i) {
    given_[node().outputs[i]] = {layer, call, giving.places.empty() ? i : giving.places[i]};
    if (giving.types.empty()) types.push_back(result_type(i));
  }
}

Status Sink::last(LayerConfig config) { return last(std::move(config), {}); }

Status Sink::last(LayerConfig config, const Giving& giving) {
  if (call_again(config, giving)) return {};
  const std::size_t results = std::min(config.results, node().outputs.size());
  const std::size_t at = add(std::move(config), names_of_nodes_[at_.slot()]);
  give(results, giving, at, 0);
  carry(document_.layers[at].name, results);
  return {};
}

void Sink::give_instead(std::size_t result, std::string_view suffix, LayerConfig config) {
  given_[node().outputs[result]] = std::get<Reference>(step(std::move(config), suffix, result_type(result)));
}

// Where the file is read again, the values that a layer makes are numbered from call to call.
void Sink::carry(const std::string& layer, std::size_t results) {
  std::size_t& made = made_by_[layer];
  for (std::size_t i = 0; i < std::min(results, node().outputs.size()); ++i)
    document_.carried.emplace(layer + (made + i == 0 ? "" : "." + std::to_string(made + i)), node().outputs[i]);
  made += node().outputs.size();
}

void Sink::input(ValueId value) {
  const Value& v = graph_[value];
  DocumentLayer layer{.class_name = "InputLayer",
                      .module = "keras.layers",
                      .name = names_of_inputs_.at(value),
                      .layer = v.name,
                      .scopes = {},
                      .arguments = Json::object(),
                      .weights = {},
                      .calls = {}};
  Json shape = Json::array();
  for (const Dim n : v.type.shape) shape.push_back(n.known() ? Json(*n) : Json());
  layer.arguments["batch_shape"] = std::move(shape);
  if (v.type.dtype != DType::F32) layer.arguments["dtype"] = std::string(convoy::name_of(v.type.dtype));
  layer.calls.push_back({{}, {}, {v.type}});
  given_[value] = {document_.layers.size(), 0, 0};
  document_.carried.emplace(layer.name, value);
  document_.inputs.push_back({document_.layers.size(), 0, 0});
  document_.layers.push_back(std::move(layer));
}

Result<Reference> Sink::output(ValueId value) {
  const auto found = given_.find(value);
  if (found == given_.end()) return refused("an output that does not depend on any input");
  return found->second;
}

}  // namespace convoy::keras::writing
