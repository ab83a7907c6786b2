#include "prove/reference.h"

#include "prove/compare.h"
#include "run/run.h"

#include <limits>

namespace convoy {

Status Budget::take(Size bytes, std::string_view what) {
  const auto sum = checked_add(used_, bytes);
  if (!sum || *sum > limit_) {
    return fail(Fault::Limit, "comparing " + std::string(what) + " needs " + (sum ? std::to_string(*sum) : "too many") +
                                  " bytes, the limit is " + std::to_string(limit_));
  }
  used_ = *sum;
  return {};
}

Size bytes_of(const Fact& fact, Size width) {
  const auto sizes = sizes_of(fact.shape);
  const auto count = sizes ? checked_count(*sizes) : std::nullopt;
  return count ? checked_multiply(*count, width).value_or(std::numeric_limits<Size>::max()) : 0;
}

Reference::Reference(const Graph& graph, std::vector<int> uses, std::vector<bool> meets, const ProofOptions& options,
                     Budget& budget)
    : graph_(graph),
      held_(graph.values.size()),
      meets_(std::move(meets)),
      threads_(options.threads),
      budget_(budget) {
  for (std::size_t i = 0; i < held_.size(); ++i) held_[i].uses = uses[i];
  for (const Node& node : graph.nodes) {
    for (const ValueId v : node.inputs) {
      if (v) ++held_[static_cast<std::size_t>(v.index)].uses;
    }
  }
}

void Reference::feed(const std::vector<Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    held_[static_cast<std::size_t>(graph_.inputs[i].index)].exact = inputs[i];
}

Result<Tensor> Reference::value(ValueId v) {
  if (graph_[v].constant) return *graph_[v].constant;
  const Held& held = held_[static_cast<std::size_t>(v.index)];
  while (!held.exact && next_ < graph_.nodes.size()) {
    if (auto done = compute_next(); !done) return pass(done);
  }
  if (!held.exact) return fail(Fault::Internal, "value '" + graph_[v].name + "' was dropped too early");
  return *held.exact;
}

// What the source's own nodes go on from: the rounded numbers where the target has them too.
Result<Tensor> Reference::read(ValueId v) {
  Held& held = held_[static_cast<std::size_t>(v.index)];
  if (graph_[v].constant || !meets_[static_cast<std::size_t>(v.index)]) return value(v);
  if (!held.rounded) {
    auto exact = value(v);
    if (!exact) return exact;
    held.rounded = rounded(*exact);
  }
  return *held.rounded;
}

void Reference::release(ValueId v) {
  Held& held = held_[static_cast<std::size_t>(v.index)];
  if (--held.uses > 0 || graph_[v].constant) return;
  budget_.give(held.bytes);
  held.bytes = 0;
  held.exact.reset();
  held.rounded.reset();
}

Status Reference::compute_next() {
  const Node& node = graph_.nodes[next_++];
  std::vector<Tensor> read_values(node.inputs.size());
  std::vector<const Tensor*> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i]) {
      auto tensor = read(node.inputs[i]);
      if (!tensor) return pass(tensor);
      read_values[i] = *std::move(tensor);
    }
    inputs.push_back(node.inputs[i] ? &read_values[i] : nullptr);
  }
  for (const ValueId v : node.outputs) {
    const Size bytes = bytes_of(graph_[v].fact, 12);  // in float64 and rounded
    if (auto taken = within(place_of(node), budget_.take(bytes, "its output")); !taken) return taken;
    held_[static_cast<std::size_t>(v.index)].bytes = bytes;
  }
  auto outputs = within(place_of(node), run_node(node, inputs, Precision::Double, threads_));
  if (!outputs) return pass(outputs);
  if (outputs->size() != node.outputs.size()) return fail(Fault::Internal, place_of(node) + " made too few values");
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    Held& held = held_[static_cast<std::size_t>(node.outputs[i].index)];
    held.exact = std::move((*outputs)[i]);
    if (held.uses == 0) held.uses = 1, release(node.outputs[i]);
  }
  for (const ValueId v : node.inputs) {
    if (v) release(v);
  }
  return {};
}

}  // namespace convoy
