#include "formats/torch/tied_weights.h"

#include "graph/stored.h"

#include <algorithm>
#include <map>

namespace convoy::torch {
namespace {

// "blocks.0.head.weight" as "self.blocks[0].head.weight": a Sequential counts its modules.
std::string expression_of(const std::string& name) {
  std::string text = "self";
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('.', at), name.size());
    const std::string word = name.substr(at, end - at);
    const bool is_number = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
    text += is_number ? "[" + word + "]" : "." + word;
    at = end + 1;
  }
  return text;
}

// A part of a weight, and a weight that stands otherwise in the module, are none of its own.
bool same_numbers(const Graph& graph, const Parameter& a, const Parameter& b) {
  const auto whole = [&](const Parameter& p) { return p.tensor.count() == graph[p.value].constant->count(); };
  return whole(a) && whole(b) && a.tensor.shape() == b.tensor.shape() && a.tensor.dtype() == b.tensor.dtype() &&
         same_bytes(a.tensor, b.tensor);
}

}  // namespace

std::vector<std::string> tying_statements(const Graph& graph, const std::vector<Parameter>& parameters) {
  std::vector<std::string> statements;
  std::map<std::string, std::vector<const Parameter*>> known;
  for (const Parameter& p : parameters) {
    if (p.buffer || !p.value) continue;
    const std::string weight = learnt_weight(graph, p.value);
    if (weight.empty()) continue;
    auto& others = known[weight];
    const auto same =
        std::ranges::find_if(others, [&](const Parameter* other) { return same_numbers(graph, *other, p); });
    if (same == others.end()) others.push_back(&p);
    else statements.push_back(expression_of(p.name) + " = " + expression_of((*same)->name));
  }
  return statements;
}

}  // namespace convoy::torch
