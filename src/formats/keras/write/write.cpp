// A graph becomes a document: each node is written by its row.
#include "formats/keras/keras.h"
#include "formats/keras/write/sink.h"
#include "formats/source_text.h"
#include "run/run.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>

namespace convoy::keras {
namespace {

using namespace writing;

auto all_rows() {
  return std::array{convolution_rows(),   pooling_rows(),    unfold_rows(),      pad_rows(),       linear_rows(),
                    normalization_rows(), activation_rows(), elementwise_rows(), reduction_rows(), reshape_rows(),
                    slice_concat_rows(),  resize_rows(),     recurrent_rows()};
}

Status write_node(NodeId at, Sink& sink) {
  sink.begin(at);
  if (const BothWays* pair = sink.both_ways(at)) return write_both_ways(*pair, at, sink);
  const Node& node = sink.node();
  static const auto rows = by_operator(all_rows());
  const Row& row = rows.at(name_of(node.op));
  if (!row.write) return fail(Fault::Unsupported, std::string(row.why_not));
  return row.write(node.op, sink);
}

// What is computed from numbers known beforehand is known beforehand: Keras's nodes need a tensor of the model. Values keep
// their places.
Result<Graph> without_constant_nodes(const Graph& graph) {
  Graph all = graph;
  all.nodes.clear();
  for (const Node& node : graph.nodes) {
    std::vector<const Tensor*> inputs;
    bool known = true, trainable = true;
    for (const ValueId v : node.inputs) {
      inputs.push_back(v && all[v].constant ? &*all[v].constant : nullptr);
      known = known && (!v || all[v].constant);
      trainable = trainable && v && all[v].trainable;
    }
    if (!known || node.inputs.empty()) {
      for (const ValueId v : node.outputs) all[v].producer = {static_cast<std::int32_t>(all.nodes.size())};
      all.nodes.push_back(node);
      continue;
    }
    auto made = within(place_of(node), run_node_of(graph, node, inputs, Precision::Single));
    if (!made) return pass(made);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      Value& value = all[node.outputs[i]];
      value.constant = (*made)[i].dtype() == value.type.dtype || value.type.dtype >= DType::I8
                           ? (*made)[i]
                           : (*made)[i].converted(value.type.dtype);
      value.trainable = trainable;
      value.producer = {};
    }
  }
  return all;
}

void tensors_of(const Argument& argument, std::vector<Reference>& all) {
  if (const auto* one = std::get_if<Reference>(&argument)) all.push_back(*one);
  if (const auto* list = std::get_if<std::vector<Item>>(&argument))
    for (const Item& item : *list)
      if (const auto* one = std::get_if<Reference>(&item)) all.push_back(*one);
}

// Keras's walk over the calls of a model.
class Walk {
 public:
  explicit Walk(const Document& document) : document_(document) {
    for (const DocumentLayer& layer : document.layers) {
      first_.push_back(state_.size());
      state_.resize(state_.size() + layer.calls.size());
      for (std::size_t i = 0; i < layer.calls.size(); ++i) layer_of_.push_back(first_.size() - 1);
    }
    index_.resize(document.layers.size());
    depth_of_layer_.resize(document.layers.size(), 0);
  }

  std::vector<std::size_t> order() {
    for (const std::size_t i : outputs_as_keras_flattens_them()) visit(call_at(document_.outputs[i]));
    std::vector<Size> depth(state_.size(), 0);
    for (auto at = finished_.rbegin(); at != finished_.rend(); ++at) {
      Size& of_layer = depth_of_layer_[layer_of_[*at]];
      of_layer = depth[*at] = std::max(depth[*at], of_layer);
      for (const std::size_t parent : parents_of(*at)) depth[parent] = std::max(depth[parent], depth[*at] + 1);
    }
    std::vector<std::size_t> layers(document_.layers.size());
    std::iota(layers.begin(), layers.end(), 0);
    // Inputs that nothing reads stand at depth 0, before everything else there.
    const auto place = [&](std::size_t l) { return index_[l] ? static_cast<Size>(*index_[l]) : Size{-1}; };
    std::ranges::stable_sort(layers, [&](std::size_t a, std::size_t b) {
      return std::pair(-depth_of_layer_[a], place(a)) < std::pair(-depth_of_layer_[b], place(b));
    });
    return layers;
  }

 private:
  enum class State : std::uint8_t { New, Open, Done };
  // A dictionary by its keys.
  std::vector<std::size_t> outputs_as_keras_flattens_them() const {
    std::vector<std::size_t> order(document_.outputs.size());
    std::iota(order.begin(), order.end(), 0);
    if (!document_.output_keys.empty())
      std::ranges::stable_sort(order, {}, [&](std::size_t i) -> std::string_view { return document_.output_keys[i]; });
    return order;
  }

  std::size_t call_at(const Reference& r) const { return first_[r.layer] + r.call; }

  std::vector<std::size_t> parents_of(std::size_t at) const {
    const DocumentCall& call = document_.layers[layer_of_[at]].calls[at - first_[layer_of_[at]]];
    std::vector<Reference> all;
    for (const Argument& argument : call.args) tensors_of(argument, all);
    auto named = call.kwargs;
    std::ranges::stable_sort(named, {}, [](const auto& one) { return one.first; });
    for (const auto& [word, argument] : named) tensors_of(argument, all);
    std::vector<std::size_t> parents;
    for (const Reference& r : all) parents.push_back(call_at(r));
    return parents;
  }

  void visit(std::size_t first) {
    struct Frame {
      std::size_t at, next;
      std::vector<std::size_t> parents;
    };
    std::vector<Frame> open;
    const auto enter = [&](std::size_t at) {
      if (state_[at] != State::New) return;
      state_[at] = State::Open;
      if (auto& index = index_[layer_of_[at]]; !index) index = counted_++;
      open.push_back({at, 0, parents_of(at)});
    };
    enter(first);
    while (!open.empty()) {
      Frame& top = open.back();
      if (top.next < top.parents.size()) {
        enter(top.parents[top.next++]);
        continue;
      }
      state_[top.at] = State::Done;
      finished_.push_back(top.at);
      open.pop_back();
    }
  }

  const Document& document_;
  std::vector<std::size_t> first_, layer_of_, finished_;
  std::vector<State> state_;
  std::vector<std::optional<std::size_t>> index_;
  std::vector<Size> depth_of_layer_;
  std::size_t counted_ = 0;
};

}  // namespace

bool Document::is_sequential() const {
  if (inputs.size() != 1 || outputs.size() != 1 || layers.size() < 2) return false;
  if (!input_keys.empty() || !output_keys.empty()) return false;
  for (std::size_t i = 1; i < layers.size(); ++i) {
    const DocumentLayer& layer = layers[i];
    if (layer.is_operation() || layer.calls.size() != 1) return false;
    const DocumentCall& call = layer.calls.front();
    const auto* read = call.args.size() == 1 && call.kwargs.empty() ? std::get_if<Reference>(&call.args[0]) : nullptr;
    if (!read || *read != Reference{i - 1, 0, 0}) return false;
  }
  return outputs.front() == Reference{layers.size() - 1, 0, 0};
}

std::vector<std::size_t> order_in_keras(const Document& document) { return Walk(document).order(); }

std::vector<std::pair<std::string_view, std::string_view>> operators() {
  std::vector<std::pair<std::string_view, std::string_view>> all;
  for (const auto& family : all_rows())
    for (const Row& row : family) all.emplace_back(row.op, row.why_not);
  return all;
}

Result<Document> document_of(const Graph& whole, std::span<const std::string_view> always) {
  auto folded = without_constant_nodes(whole);
  if (!folded) return pass(folded);
  const Graph& graph = *folded;
  Document document;
  document.name = graph.name.empty() ? "model" : graph.name;
  std::ranges::replace(document.name, '/', '_');
  Sink sink(graph, document, always);
  for (const ValueId v : graph.inputs) sink.input(v);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeId at{static_cast<std::int32_t>(i)};
    if (sink.is_made(at)) continue;
    if (auto written = within(place_of(graph[at]), write_node(at, sink)); !written) return pass(written);
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    auto given = sink.output(graph.outputs[i]);
    if (!given) return within("output '" + graph.output_names[i] + "'", Result<Document>(pass(given)));
    document.outputs.push_back(*given);
  }
  for (const ValueId v : graph.inputs) {
    if (!graph.inputs_by_name) break;
    document.input_keys.push_back(python::input_name(graph, v));
    document.carried.emplace(document.input_keys.back(), v);
  }
  if (graph.outputs_by_name) document.output_keys = graph.output_names;
  for (const ValueId v : graph.inputs)
    document.lying.push_back("input " + python::input_name(graph, v) + " " + python::lying_text(graph[v]));
  for (std::size_t i = 0; i < graph.outputs.size(); ++i)
    document.lying.push_back("output " + python::output_name(graph, i) + " " +
                             python::lying_text(graph[graph.outputs[i]]));
  return document;
}

}  // namespace convoy::keras
