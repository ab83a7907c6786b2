#include "prove/weights.h"

#include "ops/expect.h"
#include "prove/compare.h"
#include "prove/stretch.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace convoy {

namespace {

// The same numbers in the target's element type: readers of half-precision files may widen.
bool same_numbers(const Tensor& a, const Tensor& b) {
  if (a.dtype() == b.dtype() || a.shape() != b.shape()) return false;
  const bool whole = !is_floating(a.dtype()) && !is_floating(b.dtype());
  return whole ? a.integers() == b.integers() : a.doubles() == b.doubles();
}

struct LetGo {
  const Tensor &source, &target;
  ~LetGo() { source.let_go(), target.let_go(); }
};

bool is_as_it_was(const Origin& origin) { return origin.permutation.empty() || is_identity(origin.permutation); }

}  // namespace

namespace {

// The layers that constants which a pass computed serve, by the stretches they stand in.
void tell_computed(const Graph& source, const Graph& target, std::map<ValueId, std::size_t> computed, Proof& proof,
                   std::set<std::string>& carried_on) {
  for (const Stretch& stretch : stretches_of(source, target, counterparts(names_of(source), target))) {
    for (const ValueId c : stretch.target.constants) {
      const auto at = computed.find(c);
      if (at == computed.end()) continue;
      WeightProof& weight = proof.weights[at->second];
      if (weight.layer.empty()) weight.layer = target[target[stretch.of_target].producer].layer;
      for (const ValueId from : stretch.source.constants) {
        const std::string& name = source[from].name;
        carried_on.insert(name);
        if (std::ranges::find(weight.made_of, name) == weight.made_of.end()) weight.made_of.push_back(name);
      }
    }
  }
}

}  // namespace

std::string compare_weights(const Graph& source, const Graph& target, Proof& proof) {
  std::map<std::string_view, const Tensor*> constants;
  for (const Value& value : source.values) {
    if (value.constant) constants.emplace(value.name, &*value.constant);
  }
  std::string reason;
  std::map<ValueId, std::size_t> computed;
  std::set<std::string> carried_on;
  for (std::size_t i = 0; i < target.values.size(); ++i) {
    const Value& value = target.values[i];
    if (!value.constant) continue;
    WeightProof& weight = proof.weights.emplace_back();
    weight.name = value.name;
    const auto it = value.origin ? constants.find(value.origin->source) : constants.end();
    if (it == constants.end()) {
      weight.kept = Kept::Computed;
      computed.emplace(ValueId{static_cast<std::int32_t>(i)}, proof.weights.size() - 1);
      ++proof.weights_folded;
      continue;
    }
    weight.source = value.origin->source;
    weight.split = value.origin->split;
    weight.permutation = value.origin->permutation;
    carried_on.insert(weight.source);
    const auto wanted = carried(*it->second, *value.origin, value.constant->shape());
    const LetGo both{*it->second, *value.constant};
    if (wanted && (same_bytes(*wanted, *value.constant) || same_numbers(*wanted, *value.constant))) {
      weight.kept = is_as_it_was(*value.origin) ? Kept::AsItWas : Kept::Reordered;
      ++(weight.kept == Kept::AsItWas ? proof.weights_equal : proof.weights_reordered);
      continue;
    }
    weight.kept = Kept::Different;
    ++proof.weights_different;
    if (!reason.empty()) continue;
    reason = "weight '" + value.name + "' is not '" + value.origin->source + "' of the source" +
             (wanted ? std::string(" in the order it should have") : ": " + message(wanted.error()));
  }
  if (!computed.empty()) tell_computed(source, target, std::move(computed), proof, carried_on);
  for (const Value& value : source.values) {
    if (value.constant && value.type.dtype <= DType::F64 && !carried_on.contains(value.name)) {
      proof.weights_left.push_back(value.name);
    }
  }
  return reason;
}

}  // namespace convoy
