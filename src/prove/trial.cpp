#include "prove/trial.h"

#include "base/long_work.h"
#include "graph/element_types.h"
#include "ops/expect.h"
#include "prove/bound_operators.h"
#include "prove/magnified.h"
#include "run/held.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <ranges>
#include <utility>

namespace convoy {

namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", value);
  return text;
}

}  // namespace

Trial::Trial(const Graph& source, const Graph& target, Numbers numbers, const ProofOptions& options, Proof& proof,
             const WholeWeights* weights)
    : numbers_(numbers),
      weights_(weights),
      source_(source),
      target_(target),
      options_(options),
      proof_(proof),
      names_(names_of(source)),
      counterpart_(counterparts(names_, target)),
      budget_(options.memory_limit),
      reference_(source, roles(), options, budget_) {}

Reference::Roles Trial::roles() const {
  return {uses(), meeting(source_, target_, counterpart_),
          numbers_ == Numbers::OfTheSource ? std::vector<bool>(source_.values.size(), false)
                                           : replaceable(source_, target_, counterpart_),
          numbers_ == Numbers::Whole ? whole_ranges(source_, target_) : std::vector<WholeRange>(), weights_};
}

// Every computed value of the target asks once for its counterpart; outputs are asked for once more.
std::vector<int> Trial::uses() const {
  std::vector<int> count(source_.values.size(), 0);
  for (const Node& node : target_.nodes) {
    for (const ValueId v : node.outputs) {
      const ValueId s = counterpart_[v.slot()];
      if (s) ++count[s.slot()];
    }
  }
  for (const ValueId v : source_.outputs) ++count[v.slot()];
  for (const ValueId v : target_.outputs) {
    const ValueId s = counterpart_[v.slot()];
    if (s) ++count[s.slot()];
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

void Trial::keep(ValueId v, LiveValue held) {
  if (is_read(v)) held_[v.slot()] = std::move(held);
}

void Trial::release(ValueId v) {
  const auto i = v.slot();
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
      if (v) ++readers_[v.slot()];
    }
  }
  inputs_ = &inputs;
  reference_.feed(inputs);
  for (std::size_t i = 0; i < inputs_of_target.size(); ++i) keep(target_.inputs[i], {inputs_of_target[i], {}, 0, 0});
  LongWork work("proving", target_.nodes.size());
  for (const Node& node : target_.nodes) {
    work.next(node.layer);
    if (auto done = within(place_of(node), run_one(node)); !done) return done;
  }
  for (std::size_t i = 0; i < target_.outputs.size(); ++i) {
    if (auto done = check_output(i); !done) return done;
  }
  return {};
}

Status Trial::run_one(const Node& node) {
  std::vector<const Tensor*> inputs, errors;
  std::vector<Tensor> made;
  made.reserve(node.inputs.size());
  Size terms = 0;
  double limit = 0;
  const Node* rounds = nullptr;
  for (const ValueId v : node.inputs) {
    inputs.push_back(nullptr);
    errors.push_back(nullptr);
    if (!v) continue;
    if (target_[v].constant) continue;  // drawn where they are read
    const auto& held = held_[v.slot()];
    if (!held) return fail(Fault::Internal, "reads '" + target_[v].name + "' before it is there");
    inputs.back() = &held->tensor;
    if (held->error) errors.back() = &*held->error;
    terms = std::max(terms, held->terms);
    limit = std::max(limit, held->limit);
    if (!rounds) rounds = held->rounds;
  }
  for (const ValueId v : node.outputs) {
    const Size bytes = bytes_of(target_[v].type, 8);  // with its bound
    if (auto taken = budget_.take(bytes, "its output"); !taken) return taken;
    bytes_[v.slot()] = bytes;
  }
  const auto is_alike = pass_alike(node, inputs);
  if (!is_alike) return std::unexpected(is_alike.error());
  if (*is_alike) {
    end(node);
    return {};
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueId v = node.inputs[i];
    if (!v || !target_[v].constant) continue;
    if (weights_) made.push_back(weights_->of_target(target_[v]));
    inputs[i] = weights_ ? &made.back() : &*target_[v].constant;
  }
  auto outputs = run_node_of(target_, node, inputs, Precision::Single, options_.threads);
  if (!outputs) return pass(outputs);
  const bool is_whole = numbers_ == Numbers::Whole;
  if (is_whole && !rounds && !outputs->empty() && !is_exact(node, inputs, outputs->front().shape())) rounds = &node;
  auto bound = is_whole ? NodeBound{std::vector<std::optional<Tensor>>(outputs->size()), 0, 0}
                        : bound_of({node, inputs, errors, *outputs, options_.threads, types_of(target_, node.outputs)});
  if (!bound) return pass(bound);
  if (outputs->size() != node.outputs.size() || bound->errors.size() != outputs->size()) {
    return fail(Fault::Internal, "made too few values");
  }
  made.clear();  // the source's follow
  for (const ValueId v : node.inputs)
    if (v && target_[v].constant) target_[v].constant->let_go();
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    LiveValue held{std::move((*outputs)[i]), std::move(bound->errors[i]), std::max(terms, bound->terms),
                   std::max(limit, bound->limit), rounds};
    const ValueId v = node.outputs[i];
    if (auto done = settle(node, v, std::move(held)); !done) return done;
  }
  end(node);
  return {};
}

// Lets go of what nobody reads any more.
void Trial::end(const Node& node) {
  for (const ValueId v : node.outputs)
    if (!is_read(v)) budget_.give(std::exchange(bytes_[v.slot()], 0));
  for (const ValueId v : node.inputs) {
    if (!v) continue;
    if (target_[v].constant) target_[v].constant->let_go();
    else release(v);
  }
}

// A product that both graphs make of the same numbers is neither computed nor compared. True: it was one, and is settled.
Result<bool> Trial::pass_alike(const Node& node, const std::vector<const Tensor*>& inputs) {
  if (numbers_ == Numbers::OfTheSource || node.outputs.size() != 1) return false;
  const ValueId v = node.outputs[0], s = counterpart_[v.slot()];
  if (!s || std::ranges::find(target_.outputs, v) != target_.outputs.end()) return false;
  const auto is_alike = reference_.is_made_alike(s, target_, node, inputs);
  if (!is_alike || !*is_alike) return is_alike;
  const auto forced = reference_.met(s);
  if (!forced) return std::unexpected(forced.error());
  auto next = carried(*forced, *target_[v].origin, *sizes_of(target_[v].type.shape));
  if (!next) return std::unexpected(next.error());
  reference_.release(s);
  if (numbers_ == Numbers::Whole) ++layer_of(node).structure.compared;
  if (is_read(v)) keep(v, {*std::move(next), {}, 0, 0});
  return true;
}

// A value that the source has too is compared, and the source's own numbers go on in its place.
Status Trial::settle(const Node& node, ValueId v, LiveValue held) {
  const ValueId s = counterpart_[v.slot()];
  if (!s) {
    keep(v, std::move(held));
    return {};
  }
  auto wanted = reference_.value(s);
  if (!wanted) return pass(wanted);
  auto forced = is_read(v) ? reference_.met(s) : wanted;
  if (!forced) return pass(forced);
  return numbers_ == Numbers::Whole ? settle_whole(node, v, std::move(held), *wanted, *forced)
                                    : settle_rounded(node, v, std::move(held), *wanted, *forced);
}

// What the source makes of constants alone may have been computed when the port was written: its rounding is then in the
// port's constants, which are taken to be exact, and not in its nodes.
void Trial::add_beforehand(ValueId v, LiveValue& held) const {
  const Beforehand& bound = reference_.beforehand(counterpart_[v.slot()]);
  if (!bound.error) return;
  auto error = carried(*bound.error, *target_[v].origin, held.tensor.shape());
  if (!error) return;  // the values cannot be compared either, which is said then
  held.error = held.error ? magnitude(*error, 1, &*held.error) : *std::move(error);
  held.terms = std::max(held.terms, bound.terms);
  held.limit = std::max(held.limit, bound.limit);
}

namespace {

// Infinite where a type of 16 bits has no number that large.
Tensor within_range(Tensor tensor, DType dtype) {
  if (!is_half(dtype)) return tensor;
  const auto halves = rounded_to_half(tensor, dtype).doubles();
  if (std::ranges::none_of(halves, [](double half) { return std::isinf(half); })) return tensor;
  auto numbers = tensor.doubles();
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (std::isinf(halves[i])) numbers[i] = halves[i];
  Tensor limited = Tensor::of(tensor.shape(), std::move(numbers));
  return tensor.dtype() == DType::F32 ? limited.converted(DType::F32) : limited;
}

// What a type of 16 bits makes of the source's number where nothing else is rounded, and beyond its range.
Tensor as_held(const Tensor& wanted, const LiveValue& held, DType dtype) {
  return held.error || !is_half(dtype) ? within_range(wanted, dtype) : rounded_to_half(wanted, dtype);
}

// More precise numbers are other numbers too.
std::string other_reals(DType source, DType target) {
  if (source == target || !is_floating(source) || !is_floating(target)) return {};
  return "computes in " + std::string(name_of(target)) + ", the source in " + std::string(name_of(source));
}

}  // namespace

// Within the bound.
Status Trial::settle_rounded(const Node& node, ValueId v, LiveValue held, const Tensor& wanted, const Tensor& forced) {
  add_beforehand(v, held);
  reference_.release(counterpart_[v.slot()]);
  auto brought = carried(wanted, *target_[v].origin, held.tensor.shape());
  if (!brought) {
    record(node, {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(), -1, false}, held,
           brought.error().what);
    keep(v, std::move(held));
    return {};
  }
  if (!held.error) held.terms = 0, held.limit = 0;
  const ValueId s = counterpart_[v.slot()];
  const DType dtype = target_[v].type.dtype;
  // ONNX Runtime keeps numbers beyond the range, which whoever hands them out rounds.
  const auto difference =
      compare(within_range(held.tensor, dtype), as_held(*brought, held, dtype), held.error, held.limit);
  auto trouble = other_reals(source_[s].type.dtype, dtype);
  const auto magnified = trouble.empty() ? is_magnified(node, v, difference, held) : false;
  if (!magnified) return std::unexpected(magnified.error());
  if (!*magnified) record(node, difference, held, std::move(trouble));
  if (!is_read(v)) return {};
  auto next = carried(forced, *target_[v].origin, held.tensor.shape());
  if (!next) return pass(next);
  keep(v, {*std::move(next), {}, 0, 0});
  return {};
}

// The same with whole numbers: every bit, unless one of the graphs rounds.
Status Trial::settle_whole(const Node& node, ValueId v, LiveValue held, const Tensor& wanted, const Tensor& forced) {
  const ValueId s = counterpart_[v.slot()];
  const bool is_compared = !held.rounds && reference_.is_exact(s);
  if (!is_compared) {
    LayerStructure& structure = layer_of(node).structure;
    if (structure.rounds.empty()) {
      structure.rounds = held.rounds ? name_of(held.rounds->op) : name_of(source_[source_[s].producer].op);
    }
  }
  reference_.release(s);
  auto next = carried(forced, *target_[v].origin, held.tensor.shape());
  auto brought = is_compared ? carried(wanted, *target_[v].origin, held.tensor.shape()) : next;
  if (!next || !brought) {
    record_whole(node, {}, held.tensor.shape(), next ? brought.error().what : next.error().what);
    keep(v, std::move(held));
    return {};
  }
  if (is_compared) record_whole(node, compare(held.tensor, *brought, {}, 0), held.tensor.shape(), {});
  if (is_read(v)) keep(v, {*std::move(next), {}, 0, 0});
  return {};
}

LayerProof& Trial::layer_of(const Node& node) {
  auto at = std::ranges::find_if(proof_.layers, [&](const LayerProof& l) { return l.layer == node.layer; });
  if (at == proof_.layers.end()) {
    LayerProof layer;
    layer.layer = node.layer;
    layer.kind = node.kind;
    at = proof_.layers.insert(at, std::move(layer));
  }
  return *at;
}

void Trial::record_whole(const Node& node, const Difference& difference, const Sizes& shape, std::string trouble) {
  LayerProof& layer = layer_of(node);
  ++layer.structure.compared;
  if (difference.same && trouble.empty()) return;
  const std::string where = trouble.empty() ? place_in(shape, difference.index) : trouble;
  if (layer.same) layer.where = where;
  layer.same = false;
  layer.structure.same = false;
  layer.largest = std::max(layer.largest, difference.largest);
  differ(place_of(node) + (trouble.empty()
                               ? " differs in structure: fed with whole numbers, which nothing rounds, it differs by " +
                                     number(difference.largest) + " at " + where
                               : ": " + trouble));
}

Result<bool> Trial::is_magnified(const Node& node, ValueId v, const Difference& difference, const LiveValue& held) {
  const bool is_asked =
      !difference.same && held.error && held.limit > 0 && proof_.reason.empty() && !is_half(target_[v].type.dtype);
  if (!is_asked) return false;
  const BeyondBound at{source_, target_, counterpart_, v, *held.error, held.limit, difference.largest};
  const auto own = magnified_rounding(at, roles(), *inputs_, options_, budget_);
  if (!own) return std::unexpected(own.error());
  if (!*own) return false;
  LayerProof& layer = layer_of(node);
  layer.largest = std::max(layer.largest, difference.largest);
  layer.magnified = std::max(layer.magnified, **own);
  return true;
}

void Trial::record(const Node& node, const Difference& difference, const LiveValue& held, std::string trouble) {
  LayerProof& layer = layer_of(node);
  layer.largest = std::max(layer.largest, difference.largest);
  // Of several values of one layer the one nearest to its limit stands for it.
  const auto strain = [](double r, double limit) { return limit > 0 ? r / limit : r > 0 ? 1e300 : 0.0; };
  if (strain(difference.r, held.limit) >= strain(layer.r, layer.limit)) {
    layer.r = difference.r;
    layer.limit = held.limit;
    layer.terms = held.terms;
  }
  if (difference.same && trouble.empty()) return;
  const std::string where = trouble.empty() ? place_in(held.tensor.shape(), difference.index) : trouble;
  if (layer.same) layer.where = where;
  layer.same = false;
  if (!trouble.empty()) return differ(place_of(node) + ": " + trouble);
  differ(place_of(node) + " differs from the source by up to " + number(difference.largest) + ", most at " + where +
         (held.limit > 0 ? ": r is " + number(difference.r) + ", rounding explains " + number(held.limit)
                         : ", where every bit must agree"));
}

// What the source's nodes from `from` to `to` make of these numbers. Nothing: they do not only move them.
Result<std::optional<Tensor>> Trial::moved_to(ValueId to, ValueId from, Tensor numbers) const {
  std::vector<const Node*> path;
  const ValueId start = canonical(source_, from);
  for (ValueId v = to; v != from && v != start; v = path.back()->inputs[0]) {
    if (!v || !source_[v].producer) return std::nullopt;
    const Node& node = source_[source_[v].producer];
    const auto is_computed = [&](ValueId input) { return input && !source_[input].constant; };
    if (!traits_of(node.op).moves_numbers() || node.outputs.size() != 1 ||
        std::ranges::count_if(node.inputs, is_computed) != 1 || !is_computed(node.inputs[0]))
      return std::nullopt;
    path.push_back(&node);
  }
  for (const Node* node : std::views::reverse(path)) {
    std::vector<const Tensor*> inputs{&numbers};
    for (std::size_t i = 1; i < node->inputs.size(); ++i)
      inputs.push_back(node->inputs[i] ? &*source_[node->inputs[i]].constant : nullptr);
    auto next = within(place_of(*node), run_node_of(source_, *node, inputs, Precision::Double, options_.threads));
    if (!next) return pass(next);
    numbers = std::move(next->front());
  }
  return numbers;
}

// An output stands for the source's output of the same number: by name, because the numbers are the same, or because what lies
// between the two brings each number back to its place.
Status Trial::check_output(std::size_t i) {
  const ValueId v = target_.outputs[i];
  const std::string name = i < target_.output_names.size() ? target_.output_names[i] : target_[v].name;
  const bool is_input = std::ranges::find(target_.inputs, v) != target_.inputs.end();
  const ValueId s = is_input ? source_of_input(names_, target_, v) : counterpart_[v.slot()];
  if (!s) {
    differ("output '" + name + "' does not say which value of the source it is");
    return {};
  }
  if (canonical(source_, s) == canonical(source_, source_.outputs[i])) return {};
  auto claimed = reference_.value(s), wanted = reference_.value(source_.outputs[i]);
  if (!claimed) return pass(claimed);
  if (!wanted) return pass(wanted);
  // An input is as it was fed, what is computed from it has twice the digits.
  const auto wide = [](const Tensor& x) { return x.dtype() == DType::F32 ? x.converted(DType::F64) : x; };
  if (same_bytes(wide(*claimed), wide(*wanted))) return {};
  auto moved = moved_to(source_.outputs[i], s, *claimed);
  if (!moved) return pass(moved);
  if (!*moved || !same_bytes(wide(**moved), wide(*claimed))) {
    differ("output '" + name + "' carries '" + source_[s].name + "' of the source, not its output '" +
           source_[source_.outputs[i]].name + "'");
  }
  return {};
}

}  // namespace convoy
