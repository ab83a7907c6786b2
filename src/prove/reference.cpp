#include "prove/reference.h"

#include "base/budget.h"
#include "graph/element_types.h"
#include "prove/compare.h"
#include "prove/drawn_numbers.h"
#include "run/run.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace convoy {

Status Budget::take(Size bytes, std::string_view what) {
  const auto sum = checked_add(used_, bytes);
  if (!sum || *sum > limit_) {
    return fail(Fault::Budget, "comparing " + std::string(what) + " needs " +
                                   (sum ? std::to_string(*sum) : "too many") + " bytes, the limit is " +
                                   std::to_string(limit_));
  }
  if (auto held = budget::afford(bytes, "comparing " + std::string(what)); !held) return held;
  used_ = *sum;
  return {};
}

Size bytes_of(const TensorType& type, Size width) {
  const auto sizes = sizes_of(type.shape);
  const auto count = sizes ? checked_count(*sizes) : std::nullopt;
  return count ? checked_multiply(*count, width).value_or(std::numeric_limits<Size>::max()) : 0;
}

Result<std::vector<Tensor>> outputs_of(const Graph& graph, const std::vector<Tensor>& inputs, Precision precision,
                                       const ProofOptions& options) {
  RunOptions run_options;
  run_options.precision = precision;
  run_options.threads = options.threads;
  run_options.memory_limit = options.memory_limit;
  run_options.lets_go_of_weights = true;
  auto values = run(graph, inputs, run_options);
  if (!values) return pass(values);
  std::vector<Tensor> outputs;
  for (const ValueId v : graph.outputs) outputs.push_back(values->at(v));
  return outputs;
}

Reference::Reference(const Graph& graph, Roles roles, const ProofOptions& options, Budget& budget)
    : graph_(graph),
      held_(graph.values.size()),
      meets_(std::move(roles.meets)),
      fresh_(std::move(roles.fresh)),
      whole_(std::move(roles.whole)),
      weights_(roles.weights),
      is_left_out_(graph.values.size(), false),
      threads_(options.threads),
      seed_(options.seed),
      budget_(budget) {
  for (std::size_t i = 0; i < held_.size(); ++i) held_[i].uses = roles.uses[i];
  for (const Node& node : graph.nodes) {
    for (const ValueId v : node.inputs) {
      if (v) ++held_[v.slot()].uses;
    }
  }
}

namespace {

// Both signs, magnitudes from 2^-17 to 8, each octave as likely as the next; of float16 to 512, whose square it does not hold.
Tensor fresh_numbers(const Sizes& shape, DType dtype, std::uint64_t seed) {
  const std::uint32_t octaves = dtype == DType::F16 ? 26 : 20;
  std::vector<float> values(static_cast<std::size_t>(checked_count(shape).value_or(0)));
  draw_into<float>(values, Draws(seed), [octaves](std::uint32_t bits) {
    // A sign, an exponent and a fraction, put together: a network has millions of these.
    const std::uint32_t sign = bits & 1, fraction = bits >> 9,
                        exponent = ((bits >> 1 & 0xFF) * octaves >> 8) + (127 - 17);
    return std::bit_cast<float>(sign << 31 | exponent << 23 | fraction);
  });
  return Tensor::of(shape, std::move(values));
}

}  // namespace

void Reference::feed(const std::vector<Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) held_[graph_.inputs[i].slot()].exact = inputs[i];
}

Result<Tensor> Reference::value(ValueId v) {
  if (graph_[v].constant) return weights_ ? weights_->of_source(graph_[v]) : *graph_[v].constant;
  const Held& held = held_[v.slot()];
  while (!held.exact && next_ < graph_.nodes.size()) {
    if (auto done = compute_next(); !done) return pass(done);
  }
  if (!held.exact) return fail(Fault::Internal, "value '" + graph_[v].name + "' was dropped too early");
  return *held.exact;
}

Result<Tensor> Reference::met(ValueId v) {
  const auto i = v.slot();
  if (graph_[v].constant || !meets_[i]) return value(v);
  Held& held = held_[i];
  if (!held.met) {
    auto exact = value(v);
    if (!exact) return exact;
    const std::uint64_t seed = seed_ * 0x9E3779B97F4A7C15 + i;
    const bool floats = exact->dtype() == DType::F64 || (!whole_.empty() && exact->dtype() == DType::F32);
    if (!fresh_[i] || !floats) held.met = rounded(*exact, graph_[v].type.dtype);
    else
      held.met = whole_.empty()
                     ? rounded(fresh_numbers(exact->shape(), graph_[v].type.dtype, seed), graph_[v].type.dtype)
                     : whole_numbers(exact->shape(), whole_[i], seed);
  }
  return *held.met;
}

void Reference::release(ValueId v) {
  Held& held = held_[v.slot()];
  if (--held.uses > 0 || graph_[v].constant) return;
  budget_.give(held.bytes);
  held.bytes = 0;
  held.exact.reset();
  held.met.reset();
  held.beforehand.error.reset();
}

namespace {

bool are_equal(const Tensor& a, const Tensor& b) {
  return a.identity() == b.identity() ? a.dtype() == b.dtype() && a.shape() == b.shape() : same_bytes(a, b);
}

}  // namespace

bool Reference::are_alike(ValueId of_source, const Value& of_target) const {
  const Value& own = graph_[of_source];
  if (!weights_) return are_equal(*own.constant, *of_target.constant);
  return weights_->are_surely_alike(own, of_target) ||
         are_equal(weights_->of_source(own), weights_->of_target(of_target));
}

Result<bool> Reference::is_made_alike(ValueId v, const Graph& target, const Node& node,
                                      const std::vector<const Tensor*>& inputs) {
  const auto i = v.slot();
  if (!graph_[v].producer || held_[i].exact || !fresh_[i] || !meets_[i] || graph_[v].type.dtype != DType::F32)
    return false;
  const Node& own = graph_[graph_[v].producer];
  if (own.outputs.size() != 1 || !traits_of(node.op).is_product() || !(own.op == node.op) ||
      own.inputs.size() != inputs.size())
    return false;
  if (std::ranges::find(graph_.outputs, v) != graph_.outputs.end()) return false;  // its numbers are asked for
  bool reads_computed = false;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const ValueId in = own.inputs[k], other = node.inputs[k];
    if (static_cast<bool>(in) != static_cast<bool>(other)) return false;
    if (!in) continue;
    const bool is_constant = graph_[in].constant.has_value();
    if (is_constant != target[other].constant.has_value()) return false;
    if (is_constant) {
      if (!are_alike(in, target[other])) return false;
      continue;
    }
    if (!meets_[in.slot()] && graph_[in].producer) return false;
    const auto numbers = met(in);
    if (!numbers) return std::unexpected(numbers.error());
    if (!are_equal(*numbers, *inputs[k])) return false;
    reads_computed = true;
  }
  is_left_out_[i] = reads_computed;
  return reads_computed;
}

// For values that are neither compared nor read, because both graphs go on from other numbers: the same zeros for all of them.
std::vector<Tensor> Reference::placeholders(const Node& node) {
  const DType dtype = whole_.empty() ? DType::F64 : DType::F32;
  std::vector<Tensor> outputs;
  for (const ValueId v : node.outputs) {
    const Sizes shape = *sizes_of(graph_[v].type.shape);
    const auto bytes = static_cast<std::size_t>(*checked_count(shape) * convoy::bytes_of(dtype));
    if (!zeros_ || zeros_->size() < bytes) zeros_ = std::make_shared<const std::vector<std::byte>>(bytes);
    outputs.push_back(*Tensor::view(dtype, shape, std::span(*zeros_).first(bytes), zeros_));
  }
  return outputs;
}

// Where nothing is rounded float32 gives what float64 would.
Result<std::vector<Tensor>> Reference::evaluate(const Node& node, const std::vector<const Tensor*>& inputs) {
  if (is_left_out_[node.outputs[0].slot()]) return placeholders(node);
  if (whole_.empty()) return run_node_of(graph_, node, inputs, Precision::Double, threads_);
  bool exact = convoy::is_exact(node, inputs, *sizes_of(graph_[node.outputs[0]].type.shape));
  for (const ValueId v : node.inputs) {
    if (!v || graph_[v].constant || meets_[v.slot()]) continue;
    exact = exact && held_[v.slot()].is_exact;
  }
  bool is_read = false;
  for (const ValueId v : node.outputs) {
    const auto i = v.slot();
    held_[i].is_exact = exact;
    is_read = is_read || !fresh_[i] || !meets_[i] || graph_[v].type.dtype != DType::F32;
  }
  if (!exact && !is_read) return placeholders(node);
  return run_node_of(graph_, node, inputs, exact ? Precision::Single : Precision::Double, threads_);
}

// Values that the port makes as well are compared and forced, which ends what they carry.
Status Reference::follow_known(const Node& node, const std::vector<const Tensor*>& inputs,
                               const std::vector<Tensor>& outputs) {
  std::vector<Beforehand> forced(node.inputs.size());
  std::vector<const Beforehand*> read;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId v = node.inputs[i];
    const auto at = static_cast<std::size_t>(v ? v.index : 0);
    const bool is_constant = v && graph_[v].constant;
    forced[i].known = is_constant || (v && held_[at].beforehand.known);
    read.push_back(!v ? nullptr : is_constant || meets_[at] ? &forced[i] : &held_[at].beforehand);
  }
  auto followed = followed_beforehand(node, inputs, read, outputs, types_of(graph_, node.outputs), threads_);
  if (!followed) return pass(followed);
  for (std::size_t i = 0; i < followed->size(); ++i)
    held_[node.outputs[i].slot()].beforehand = std::move((*followed)[i]);
  return {};
}

Status Reference::compute_next() {
  const Node& node = graph_.nodes[next_++];
  std::vector<Tensor> read_values(node.inputs.size());
  std::vector<const Tensor*> inputs;
  const bool is_drawn_for_nothing = weights_ && is_left_out_[node.outputs[0].slot()];
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] && !is_drawn_for_nothing) {
      auto tensor = met(node.inputs[i]);
      if (!tensor) return pass(tensor);
      read_values[i] = *std::move(tensor);
    }
    inputs.push_back(node.inputs[i] ? &read_values[i] : nullptr);
  }
  for (const ValueId v : node.outputs) {
    const Size bytes = bytes_of(graph_[v].type, 16);  // in float64 and rounded, with its bound
    if (auto taken = within(place_of(node), budget_.take(bytes, "its output")); !taken) return taken;
    held_[v.slot()].bytes = bytes;
  }
  auto outputs = within(place_of(node), evaluate(node, inputs));
  if (!outputs) return pass(outputs);
  if (outputs->size() != node.outputs.size()) return fail(Fault::Internal, place_of(node) + " made too few values");
  if (whole_.empty()) {
    if (auto followed = within(place_of(node), follow_known(node, inputs, *outputs)); !followed) return followed;
  }
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    Held& held = held_[node.outputs[i].slot()];
    held.exact = std::move((*outputs)[i]);
    if (held.uses == 0) held.uses = 1, release(node.outputs[i]);
  }
  for (const ValueId v : node.inputs) {
    if (!v) continue;
    if (graph_[v].constant) graph_[v].constant->let_go();
    release(v);
  }
  return {};
}

}  // namespace convoy
