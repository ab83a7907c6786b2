#include "prove/beforehand.h"

#include "prove/compare.h"

#include <algorithm>

namespace convoy {

namespace {

// The part of a bound that the inputs' errors make: all of it less what stands there without them.
Tensor carried_part(const Tensor& all, const Tensor& own) {
  auto rest = all.floats();
  const auto less = own.floats();
  for (std::size_t i = 0; i < rest.size(); ++i) rest[i] = rest[i] > less[i] ? rest[i] - less[i] : 0;
  return Tensor::of(all.shape(), std::move(rest));
}

// Whether the node looks places up in one input that it computes from another, which is known: a port that says so in single
// steps holds these computed, and rounded.
bool looks_up_known_places(const Node& node, const std::vector<const Beforehand*>& read) {
  return holds_alternative<GridSample>(node.op) && read.size() > 1 && read[1] && read[1]->known;
}

}  // namespace

Result<std::vector<Beforehand>> followed_beforehand(const Node& node, const std::vector<const Tensor*>& inputs,
                                                    const std::vector<const Beforehand*>& read,
                                                    const std::vector<Tensor>& outputs, const std::vector<DType>& types,
                                                    int threads) {
  std::vector<const Tensor*> errors;
  Beforehand common{!read.empty(), {}, 0, 0};
  for (const Beforehand* one : read) {
    errors.push_back(one && one->error ? &*one->error : nullptr);
    common.known = common.known && (!one || one->known);
    if (!errors.back()) continue;
    common.terms = std::max(common.terms, one->terms);
    common.limit = std::max(common.limit, one->limit);
  }
  std::vector<Beforehand> result(outputs.size(), common);
  const bool is_off = std::ranges::any_of(errors, [](const Tensor* error) { return error != nullptr; });
  const bool is_computed = common.known || looks_up_known_places(node, read);
  if (!is_computed && !is_off) return result;
  std::vector<Tensor> single_inputs(inputs.size()), single_outputs;
  std::vector<const Tensor*> numbers;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]) single_inputs[i] = rounded(*inputs[i]);
    numbers.push_back(inputs[i] ? &single_inputs[i] : nullptr);
  }
  for (const Tensor& output : outputs) single_outputs.push_back(rounded(output));
  auto all = bound_of({node, numbers, errors, single_outputs, threads, types});
  if (!all) return pass(all);
  NodeBound own;
  if (!is_computed) {  // what the node rounds itself counts where it is run
    auto bound =
        bound_of({node, numbers, std::vector<const Tensor*>(inputs.size(), nullptr), single_outputs, threads, types});
    if (!bound) return pass(bound);
    own = *std::move(bound);
  }
  for (std::size_t i = 0; i < std::min(result.size(), all->errors.size()); ++i) {
    if (!all->errors[i]) continue;
    const bool has_own = i < own.errors.size() && own.errors[i];
    result[i].error = has_own ? carried_part(*all->errors[i], *own.errors[i]) : *all->errors[i];
    if (!is_computed) continue;
    result[i].terms = std::max(common.terms, all->terms);
    result[i].limit = std::max(common.limit, all->limit);
  }
  return result;
}

}  // namespace convoy
