#include "prove/prove.h"

#include "prove/bound.h"
#include "prove/compare.h"
#include "prove/reference.h"
#include "prove/weights.h"
#include "run/run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>

namespace convoy {

namespace {

// ---- which values meet -----------------------------------------------------------------------------------------------

using Names = std::map<std::string, ValueId, std::less<>>;

Names names_of(const Graph& graph) {
  Names names;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    names.emplace(graph.values[i].name, ValueId{static_cast<std::int32_t>(i)});
  }
  return names;
}

// For each value of the target, the value of the source that it carries. Nothing: none, or one that does not exist.
std::vector<ValueId> counterparts(const Names& names, const Graph& target) {
  std::vector<ValueId> all(target.values.size());
  for (std::size_t i = 0; i < target.values.size(); ++i) {
    const auto& origin = target.values[i].origin;
    if (!origin) continue;
    const auto it = names.find(origin->source);
    if (it != names.end()) all[i] = it->second;
  }
  return all;
}

// An input that says nothing of its origin is the source's input of that name.
ValueId source_of_input(const Names& names, const Graph& target, ValueId input) {
  const auto& origin = target[input].origin;
  const auto it = names.find(origin ? origin->source : target[input].name);
  return it == names.end() ? ValueId{} : it->second;
}

// Back through what leaves its input as it is.
ValueId canonical(const Graph& graph, ValueId v) {
  while (v && graph[v].producer) {
    const Node& maker = graph[graph[v].producer];
    if (!std::holds_alternative<Identity>(maker.op) && !std::holds_alternative<Dropout>(maker.op)) break;
    v = maker.inputs[0];
  }
  return v;
}

Origin origin_of(const Value& value) { return value.origin ? *value.origin : Origin{value.name, {}, {}}; }

// The source's inputs as the target takes them.
Result<std::vector<Tensor>> target_inputs(const Graph& source, const Graph& target, const std::vector<Tensor>& inputs) {
  const Names names = names_of(source);
  std::vector<Tensor> result;
  for (const ValueId v : target.inputs) {
    const auto at = std::ranges::find(source.inputs, source_of_input(names, target, v));
    if (at == source.inputs.end()) {
      return fail(Fault::Proof, "input '" + target[v].name + "' of the port is no input of the source");
    }
    const Tensor& tensor = inputs[static_cast<std::size_t>(at - source.inputs.begin())];
    const Origin origin = origin_of(target[v]);
    Sizes shape;  // known sizes as declared, the first open one takes what is left
    Size rest = tensor.count();
    for (const Dim dim : target[v].fact.shape) rest = dim.known() && *dim > 0 ? rest / *dim : rest;
    if (origin.permutation.size() == target[v].fact.shape.size() && origin.split.empty()) {
      for (const Size axis : origin.permutation) {
        shape.push_back(axis >= 0 && axis < tensor.rank() ? tensor.shape()[static_cast<std::size_t>(axis)] : 1);
      }
    } else if (target[v].fact.rank() == tensor.rank() && origin.permutation.empty()) {
      shape = tensor.shape();
    } else {
      for (const Dim dim : target[v].fact.shape) shape.push_back(dim.known() ? *dim : std::exchange(rest, 1));
    }
    auto moved = within("input '" + target[v].name + "'", carried(tensor, origin, shape));
    if (!moved) return pass(moved);
    result.push_back(*std::move(moved));
  }
  return result;
}

// ---- one trial -------------------------------------------------------------------------------------------------------

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", value);
  return text;
}

// A value of the target while nodes still read it.
struct Held {
  Tensor tensor;
  std::optional<Tensor> error;  // how far rounding may have moved it; none: not at all
  Size terms = 0;  // the largest of the stretch since the last value that both graphs carry
  double limit = 0;
};

class Trial {
 public:
  Trial(const Graph& source, const Graph& target, const ProofOptions& options, Proof& proof)
      : source_(source),
        target_(target),
        options_(options),
        proof_(proof),
        names_(names_of(source)),
        counterpart_(counterparts(names_, target)),
        budget_(options.memory_limit),
        reference_(source, uses(), meets(), options, budget_) {}

  // Fails: what cannot be run. A difference goes into the proof.
  Status run(const std::vector<Tensor>& inputs, const std::vector<Tensor>& inputs_of_target);
  // The source's outputs in float64, from the rounded numbers of the layers before.
  Result<std::vector<Tensor>> source_outputs();

 private:
  std::vector<int> uses() const;
  std::vector<bool> meets() const;
  Status run_one(const Node& node);
  Status settle(const Node& node, ValueId v, Held held);
  Status check_output(std::size_t i);
  void record(const Node& node, const Difference& difference, const Held& held, std::string trouble);
  void keep(ValueId v, Held held);
  void release(ValueId v);
  void differ(std::string reason) {
    if (proof_.reason.empty()) proof_.reason = std::move(reason);
  }

  const Graph& source_;
  const Graph& target_;
  const ProofOptions& options_;
  Proof& proof_;
  Names names_;
  std::vector<ValueId> counterpart_;
  Budget budget_;
  Reference reference_;
  std::vector<std::optional<Held>> held_;
  std::vector<int> readers_;
  std::vector<Size> bytes_;
};

// Every computed value of the target asks once for its counterpart; outputs are asked for once more.
std::vector<int> Trial::uses() const {
  std::vector<int> count(source_.values.size(), 0);
  for (const Node& node : target_.nodes) {
    for (const ValueId v : node.outputs) {
      const ValueId s = counterpart_[static_cast<std::size_t>(v.index)];
      if (s) ++count[static_cast<std::size_t>(s.index)];
    }
  }
  for (const ValueId v : source_.outputs) ++count[static_cast<std::size_t>(v.index)];
  for (const ValueId v : target_.outputs) {
    const ValueId s = counterpart_[static_cast<std::size_t>(v.index)];
    if (s) ++count[static_cast<std::size_t>(s.index)];
  }
  return count;
}

Result<std::vector<Tensor>> Trial::source_outputs() {
  std::vector<Tensor> outputs;
  for (const ValueId v : source_.outputs) {
    auto value = reference_.value(v);
    if (!value) return pass(value);
    outputs.push_back(*std::move(value));
  }
  return outputs;
}

std::vector<bool> Trial::meets() const {
  std::vector<bool> all(source_.values.size(), false);
  for (const Node& node : target_.nodes) {
    for (const ValueId v : node.outputs) {
      const ValueId s = counterpart_[static_cast<std::size_t>(v.index)];
      if (s) all[static_cast<std::size_t>(s.index)] = true;
    }
  }
  return all;
}

void Trial::keep(ValueId v, Held held) {
  const auto i = static_cast<std::size_t>(v.index);
  if (readers_[i] > 0) held_[i] = std::move(held);
}

void Trial::release(ValueId v) {
  const auto i = static_cast<std::size_t>(v.index);
  if (--readers_[i] > 0) return;
  held_[i].reset();
  budget_.give(std::exchange(bytes_[i], 0));
}

Status Trial::run(const std::vector<Tensor>& inputs, const std::vector<Tensor>& inputs_of_target) {
  held_.resize(target_.values.size());
  readers_.assign(target_.values.size(), 0);
  bytes_.assign(target_.values.size(), 0);
  for (const Node& node : target_.nodes) {
    for (const ValueId v : node.inputs) {
      if (v) ++readers_[static_cast<std::size_t>(v.index)];
    }
  }
  reference_.feed(inputs);
  for (std::size_t i = 0; i < inputs_of_target.size(); ++i) keep(target_.inputs[i], {inputs_of_target[i], {}, 0, 0});
  for (const Node& node : target_.nodes) {
    if (auto done = within(place_of(node), run_one(node)); !done) return done;
  }
  for (std::size_t i = 0; i < target_.outputs.size(); ++i) {
    if (auto done = check_output(i); !done) return done;
  }
  return {};
}

Status Trial::run_one(const Node& node) {
  std::vector<const Tensor*> inputs, errors;
  Size terms = 0;
  double limit = 0;
  for (const ValueId v : node.inputs) {
    inputs.push_back(nullptr);
    errors.push_back(nullptr);
    if (!v) continue;
    if (target_[v].constant) {
      inputs.back() = &*target_[v].constant;
      continue;
    }
    const auto& held = held_[static_cast<std::size_t>(v.index)];
    if (!held) return fail(Fault::Internal, "reads '" + target_[v].name + "' before it is there");
    inputs.back() = &held->tensor;
    if (held->error) errors.back() = &*held->error;
    terms = std::max(terms, held->terms);
    limit = std::max(limit, held->limit);
  }
  for (const ValueId v : node.outputs) {
    const Size bytes = bytes_of(target_[v].fact, 8);  // with its bound
    if (auto taken = budget_.take(bytes, "its output"); !taken) return taken;
    bytes_[static_cast<std::size_t>(v.index)] = bytes;
  }
  auto outputs = run_node(node, inputs, Precision::Single, options_.threads);
  if (!outputs) return pass(outputs);
  auto bound = bound_of({node, inputs, errors, *outputs, options_.threads});
  if (!bound) return pass(bound);
  if (outputs->size() != node.outputs.size() || bound->errors.size() != outputs->size()) {
    return fail(Fault::Internal, "made too few values");
  }
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    Held held{std::move((*outputs)[i]), std::move(bound->errors[i]), std::max(terms, bound->terms),
              std::max(limit, bound->limit)};
    const ValueId v = node.outputs[i];
    if (auto done = settle(node, v, std::move(held)); !done) return done;
    if (readers_[static_cast<std::size_t>(v.index)] == 0) {
      budget_.give(std::exchange(bytes_[static_cast<std::size_t>(v.index)], 0));
    }
  }
  for (const ValueId v : node.inputs) {
    if (v && !target_[v].constant) release(v);
  }
  return {};
}

// A value that the source has too is compared, and the source's own numbers go on in its place.
Status Trial::settle(const Node& node, ValueId v, Held held) {
  const ValueId s = counterpart_[static_cast<std::size_t>(v.index)];
  if (!s) {
    keep(v, std::move(held));
    return {};
  }
  auto wanted = reference_.value(s);
  if (!wanted) return pass(wanted);
  reference_.release(s);
  auto brought = carried(*wanted, *target_[v].origin, held.tensor.shape());
  if (!brought) {
    record(node, {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(), -1, false}, held,
           brought.error().what);
    keep(v, std::move(held));
    return {};
  }
  if (!held.error) held.terms = 0, held.limit = 0;
  record(node, compare(held.tensor, *brought, held.error, held.limit), held, {});
  if (readers_[static_cast<std::size_t>(v.index)] > 0) keep(v, {rounded(*brought), {}, 0, 0});
  return {};
}

void Trial::record(const Node& node, const Difference& difference, const Held& held, std::string trouble) {
  auto at = std::ranges::find_if(proof_.layers, [&](const LayerProof& l) { return l.layer == node.layer; });
  if (at == proof_.layers.end()) {
    LayerProof layer;
    layer.layer = node.layer;
    layer.kind = node.kind;
    at = proof_.layers.insert(at, std::move(layer));
  }
  LayerProof& layer = *at;
  layer.largest = std::max(layer.largest, difference.largest);
  // Of several values of one layer the one nearest to its limit stands for it.
  const auto strain = [](double r, double limit) { return limit > 0 ? r / limit : r > 0 ? 1e300 : 0.0; };
  if (strain(difference.r, held.limit) >= strain(layer.r, layer.limit)) {
    layer.r = difference.r;
    layer.limit = held.limit;
    layer.terms = held.terms;
  }
  if (difference.same) return;
  const std::string where = trouble.empty() ? place_in(held.tensor.shape(), difference.index) : trouble;
  if (layer.same) layer.where = where;
  layer.same = false;
  if (!trouble.empty()) return differ(place_of(node) + ": " + trouble);
  differ(place_of(node) + " differs from the source by up to " + number(difference.largest) + ", most at " + where +
         (held.limit > 0 ? ": r is " + number(difference.r) + ", rounding explains " + number(held.limit)
                         : ", where every bit must agree"));
}

// An output stands for the source's output of the same number: by name, or because the numbers are the same.
Status Trial::check_output(std::size_t i) {
  const ValueId v = target_.outputs[i];
  const std::string name = i < target_.output_names.size() ? target_.output_names[i] : target_[v].name;
  const bool is_input = std::ranges::find(target_.inputs, v) != target_.inputs.end();
  const ValueId s = is_input ? source_of_input(names_, target_, v) : counterpart_[static_cast<std::size_t>(v.index)];
  if (!s) {
    differ("output '" + name + "' does not say which value of the source it is");
    return {};
  }
  if (canonical(source_, s) == canonical(source_, source_.outputs[i])) return {};
  auto claimed = reference_.value(s), wanted = reference_.value(source_.outputs[i]);
  if (!claimed) return pass(claimed);
  if (!wanted) return pass(wanted);
  if (!same_bytes(*claimed, *wanted)) {
    differ("output '" + name + "' carries '" + source_[s].name + "' of the source, not its output '" +
           source_[source_.outputs[i]].name + "'");
  }
  return {};
}

// ---- the whole, run freely -------------------------------------------------------------------------------------------

Result<std::vector<Tensor>> outputs_of(const Graph& graph, const std::vector<Tensor>& inputs, Precision precision,
                                       const ProofOptions& options) {
  RunOptions run_options;
  run_options.precision = precision;
  run_options.threads = options.threads;
  run_options.memory_limit = options.memory_limit;
  auto values = run(graph, inputs, run_options);
  if (!values) return pass(values);
  std::vector<Tensor> outputs;
  for (const ValueId v : graph.outputs) outputs.push_back(values->at(v));
  return outputs;
}

// Interpolation elsewhere computes its coordinates in float32: off by about 4 roundings of the source length, each cell
// then weighs that much more or less. The share of the largest value that this can move, over all resizes of the graph.
double coordinate_rounding(const Graph& graph) {
  double sum = 0;
  for (const Node& node : graph.nodes) {
    const auto* resize = std::get_if<Resize>(&node.op);
    if (!resize || resize->interpolation == Interpolation::Nearest) continue;
    const Shape& shape = graph[node.inputs[0]].fact.shape;
    for (Size i = 0; i < resize->axes.space; ++i) {
      const Dim length = shape[static_cast<std::size_t>(resize->axes.spatial(i))];
      sum += 4 * (4 + static_cast<double>(length.size().value_or(0))) * 0x1p-24;
    }
  }
  return sum;
}

Tensor as_stored(const Tensor& tensor) {
  const bool whole = tensor.dtype() >= DType::I8;
  return whole ? Tensor::of(tensor.shape(), tensor.integers()) : tensor.converted(DType::F32);
}

// Runs the target and compares with the source's outputs. Fills `data` when it is given, and returns the largest
// difference.
Result<double> run_freely(const std::vector<Tensor>& wanted, const Graph& target,
                          const std::vector<Tensor>& inputs_of_target, const ProofOptions& options, CheckData* data) {
  auto got = outputs_of(target, inputs_of_target, Precision::Single, options);
  if (!got) return pass(got);
  if (wanted.size() != got->size()) return fail(Fault::Proof, "the port has another number of outputs");
  double most = 0;
  for (std::size_t i = 0; i < got->size(); ++i) {
    const Tensor& output = (*got)[i];
    auto brought = carried(wanted[i], origin_of(target[target.outputs[i]]), output.shape());
    if (!brought) return pass(brought);
    const Difference difference = compare(output, *brought, {}, 0);
    most = std::max(most, difference.largest);
    if (!data) continue;
    double size = 0;
    for (const double value : brought->doubles()) size = std::isfinite(value) ? std::max(size, std::abs(value)) : size;
    const auto allowed = static_cast<float>(64 * difference.largest + (0x1p-20 + coordinate_rounding(target)) * size);
    data->outputs.push_back(as_stored(*brought));
    data->bounds.push_back(
        Tensor::of(output.shape(), std::vector<float>(static_cast<std::size_t>(output.count()), allowed)));
  }
  if (data) {
    for (const Tensor& input : inputs_of_target) data->inputs.push_back(as_stored(input));
  }
  return most;
}

// ---- sizes -----------------------------------------------------------------------------------------------------------

bool has_free_sizes(const Graph& graph) {
  for (const ValueId v : graph.inputs) {
    const Shape& shape = graph[v].fact.shape;
    for (std::size_t i = 1; i < shape.size(); ++i) {
      if (!shape[i].known()) return true;
    }
  }
  return false;
}

// "64x63": the sizes without the batch and, where the axis of channels is known, without those.
std::string size_text(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::string text;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Size channel = -1;
    for (const Node& node : graph.nodes) {
      if (node.inputs.empty() || node.inputs[0] != graph.inputs[i]) continue;
      std::visit(
          [&]<class O>(const O& op) {
            if constexpr (requires { op.axes.channel(); }) channel = op.axes.channel();
            else if constexpr (std::is_same_v<O, BatchNorm>) channel = op.axis;
          },
          node.op);
    }
    const Sizes& shape = inputs[i].shape();
    std::string one;
    for (std::size_t axis = 1; axis < shape.size(); ++axis) {
      if (static_cast<Size>(axis) != channel || shape.size() < 3) {
        one += (one.empty() ? "" : "x") + std::to_string(shape[axis]);
      }
    }
    text += (i == 0 ? "" : ", ") + one;
  }
  return text;
}

std::vector<Shape> shapes_of(const std::vector<Tensor>& tensors) {
  std::vector<Shape> shapes;
  for (const Tensor& tensor : tensors) shapes.emplace_back(fact_of(tensor).shape);
  return shapes;
}

// The two graphs at the sizes of these inputs.
struct Sized {
  Graph source, target;
  std::vector<Tensor> inputs, inputs_of_target;
};

Result<Sized> sized(const Graph& source, const Graph& target, int trial, const ProofOptions& options) {
  Sized result;
  auto inputs = probing_inputs(source, trial, options.seed);
  if (!inputs) return pass(inputs);
  result.inputs = *std::move(inputs);
  auto for_target = target_inputs(source, target, result.inputs);
  if (!for_target) return pass(for_target);
  result.inputs_of_target = *std::move(for_target);
  auto first = with_input_shapes(source, shapes_of(result.inputs));
  if (!first) return pass(first);
  result.source = *std::move(first);
  auto second = with_input_shapes(target, shapes_of(result.inputs_of_target));
  if (!second) {
    return within("the port at " + size_text(source, result.inputs),
                  Result<Sized>(fail(Fault::Proof, message(second.error()))));
  }
  result.target = *std::move(second);
  return result;
}

Status prove_at(const Graph& source, const Graph& target, int trial, const ProofOptions& options, Proof& proof) {
  auto at = sized(source, target, trial, options);
  if (!at) return pass(at);
  proof.sizes.push_back(size_text(source, at->inputs));
  auto& sizes = proof.input_shapes.emplace_back();
  for (const Tensor& input : at->inputs) sizes.insert(sizes.end(), input.shape().begin(), input.shape().end());
  Trial layers(at->source, at->target, options, proof);
  if (auto done = layers.run(at->inputs, at->inputs_of_target); !done) return done;
  if (!proof.reason.empty()) return {};
  auto wanted = layers.source_outputs();
  if (!wanted) return pass(wanted);
  auto whole = run_freely(*wanted, at->target, at->inputs_of_target, options, trial == 0 ? &proof.check : nullptr);
  if (!whole) return pass(whole);
  proof.whole_largest = std::max(proof.whole_largest, *whole);
  return {};
}

}  // namespace

Result<Proof> prove(const Graph& source, const Graph& target, const ProofOptions& options) {
  Proof proof;
  const bool free = has_free_sizes(source);
  if (target.outputs.size() != source.outputs.size()) {
    proof.reason = "the port has " + std::to_string(target.outputs.size()) + " outputs, the source has " +
                   std::to_string(source.outputs.size());
    return proof;
  }
  proof.reason = compare_weights(source, target, proof);
  for (int trial = 0; trial < (free ? 2 : 1) && proof.reason.empty(); ++trial) {
    auto done = prove_at(source, target, trial, options, proof);
    if (done) continue;
    if (done.error().fault != Fault::Proof) return pass(done);
    proof.reason = message(done.error());
  }
  proof.every_size = free && proof.sizes.size() > 1;
  proof.holds = proof.reason.empty();
  return proof;
}

Result<CheckData> check_data(const Graph& source, const Graph& target, const ProofOptions& options) {
  auto at = sized(source, target, 0, options);
  if (!at) return pass(at);
  CheckData data;
  auto wanted = outputs_of(at->source, at->inputs, Precision::Double, options);
  if (!wanted) return pass(wanted);
  auto done = run_freely(*wanted, at->target, at->inputs_of_target, options, &data);
  if (!done) return pass(done);
  return data;
}

}  // namespace convoy
