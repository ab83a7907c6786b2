#include "prove/weights.h"

#include "prove/compare.h"

#include <map>

namespace convoy {

namespace {

// The same numbers in the target's element type: readers of half-precision files may widen.
bool same_numbers(const Tensor& a, const Tensor& b) {
  return a.dtype() != b.dtype() && a.shape() == b.shape() && a.doubles() == b.doubles();
}

bool is_as_it_was(const Origin& origin) { return origin.permutation.empty() || is_identity(origin.permutation); }

}  // namespace

std::string compare_weights(const Graph& source, const Graph& target, Proof& proof) {
  std::map<std::string_view, const Tensor*> constants;
  for (const Value& value : source.values) {
    if (value.constant) constants.emplace(value.name, &*value.constant);
  }
  std::string reason;
  for (const Value& value : target.values) {
    if (!value.constant) continue;
    const auto it = value.origin ? constants.find(value.origin->source) : constants.end();
    if (it == constants.end()) {
      ++proof.weights_folded;
      continue;
    }
    const auto wanted = carried(*it->second, *value.origin, value.constant->shape());
    if (wanted && (same_bytes(*wanted, *value.constant) || same_numbers(*wanted, *value.constant))) {
      ++(is_as_it_was(*value.origin) ? proof.weights_equal : proof.weights_reordered);
      continue;
    }
    ++proof.weights_different;
    if (!reason.empty()) continue;
    reason = "weight '" + value.name + "' is not '" + value.origin->source + "' of the source" +
             (wanted ? std::string(" in the order it should have") : ": " + message(wanted.error()));
  }
  return reason;
}

}  // namespace convoy
