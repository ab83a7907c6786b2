#include "diagnose/carry.h"

#include "diagnose/carrier.h"
#include "diagnose/comparable.h"
#include "diagnose/hypothesis.h"
#include "diagnose/kinds.h"
#include "diagnose/moved.h"
#include "graph/stored.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <map>
#include <utility>

namespace convoy::diagnose {

namespace {

// ---- layers that may be exchanged ------------------------------------------------------------------------------------

std::string plain_name(const std::string& name) {
  std::string plain;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) plain += static_cast<char>(std::tolower(c));
  return plain;
}

// Layers that read the same and that no structure tells apart are told apart by their names, where both models agree
// on them. Fails (Proof): they do not.
Result<std::vector<std::pair<NodeId, NodeId>>> settled(const Graph& a, const Graph& b, const Alignment& alignment,
                                                       const Guide& guide) {
  std::vector<bool> matched(a.values.size(), false);
  for (const Match& match : alignment.matches) matched[match.a.slot()] = true;
  std::map<std::pair<std::uint64_t, std::vector<ValueId>>, std::vector<const Match*>> groups;
  for (const Match& match : alignment.matches) {
    if (!match.node_a || !match.node_b || !constant_of(a, a[match.node_a], kernel_slot(a, a[match.node_a]))) continue;
    if (family_of(a[match.node_a].op) == Family::Norm) continue;
    auto before = boundary_of(a, a[match.node_a].outputs[0], matched);
    std::ranges::sort(before);
    groups[{guide.kinds_a[match.node_a.slot()], before}].push_back(&match);
  }
  std::vector<std::pair<NodeId, NodeId>> pairs;
  for (const auto& [kind, group] : groups) {
    if (group.size() < 2) continue;
    std::vector<std::string> names_a, names_b;
    for (const Match* match : group) {
      names_a.push_back(a[match->node_a].layer);
      names_b.push_back(b[match->node_b].layer);
    }
    for (const Match* match : group) {
      const std::string name = plain_name(a[match->node_a].layer);
      const auto fits = [&](const Match* other) { return plain_name(b[other->node_b].layer) == name; };
      if (std::ranges::count_if(group, fits) != 1)
        return fail(Fault::Proof,
                    fmt::format("the match is not certain: layers {} of a may each be any of {} of b: they read the "
                                "same, are of one size, and what reads them is alike; give them the same names in both",
                                listed(names_a), listed(names_b)));
      pairs.emplace_back(match->node_a, (*std::ranges::find_if(group, fits))->node_b);
    }
  }
  return pairs;
}

// ---- b with the numbers ----------------------------------------------------------------------------------------------

struct Filling {
  std::vector<float> values;
  std::vector<Size> places;  // in a's file; -1: computed
  Size done = 0;
  std::string how;
  NodeId node_a, node_b;
};

Result<std::map<ValueId, Filling>> fillings(const std::map<ValueId, CarriedNumbers>& carried, const Graph& form_b,
                                            const Numbering& of_a, const Numbering& of_b) {
  std::map<ValueId, Filling> all;
  for (const auto& [v, numbers] : carried) {
    const auto cells = form_b[v].constant->floats(), values = numbers.values.floats();
    const auto places = numbers.places ? numbers.places->floats() : std::vector<float>();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const auto to = of_b.place(cells[i]);
      if (!to) {
        if (values[i] == 0) continue;
        return fail(Fault::Proof,
                    "layer '" + form_b[numbers.node_b].layer + "' of b has no weight for what a has there");
      }
      const auto [weight, at] = of_b.cell(*to);
      Filling& filling = all[weight];
      if (filling.values.empty()) {
        const auto count = static_cast<std::size_t>(of_b.graph()[weight].constant->count());
        filling.values.assign(count, 0);
        filling.places.assign(count, -2);
        filling.how = numbers.how;
        filling.node_a = numbers.node_a;
        filling.node_b = numbers.node_b;
      }
      const auto cell = static_cast<std::size_t>(at);
      const auto from = places.empty() ? std::nullopt : of_a.place(places[i]);
      const bool is_new = filling.places[cell] == -2;
      if (!is_new && std::bit_cast<std::uint32_t>(filling.values[cell]) != std::bit_cast<std::uint32_t>(values[i]))
        return fail(Fault::Proof, "weight '" + of_b.graph()[weight].name +
                                      "' of b is used more than once, and a has other numbers there");
      filling.done += is_new;
      filling.values[cell] = values[i];
      filling.places[cell] = from.value_or(-1);
    }
  }
  return all;
}

std::vector<Size> places_as_stored(const Value& constant, const std::vector<Size>& places) {
  if (!constant.origin) return places;
  const std::vector<double> read(places.begin(), places.end());
  const auto stored = as_stored(constant, Tensor::of(constant.constant->shape(), read)).doubles();
  return {stored.begin(), stored.end()};
}

}  // namespace

Result<CarriedModel> carry(const Graph& a, const Graph& b) {
  for (const Value& value : b.values)
    if (value.constant && value.trainable &&
        (value.constant->dtype() == DType::F16 || value.constant->dtype() == DType::BF16))
      return fail(Fault::Unsupported, "weight '" + value.name + "' of b is " + std::string(name_of(value.type.dtype)) +
                                          "; weights are copied into float32 models");
  const Numbering of_a(a), of_b(b);
  auto real = at_one_size(a, of_b.graph(), 0, 0, {});
  if (!real) return pass(real);
  auto numbered = at_one_size(of_a.graph(), of_b.graph(), 0, 0, {});
  if (!numbered) return pass(numbered);
  if (numbered->a.nodes.size() != real->a.nodes.size())
    return fail(Fault::Internal, "the form of a depends on its numbers");
  Guide guide;
  guide.by_numbers = false;
  guide.kinds_a = kinds_of(real->a);
  guide.kinds_b = kinds_of(real->b);
  Alignment alignment = align(real->a, real->b, guide);
  auto pairs = settled(real->a, real->b, alignment, guide);
  if (!pairs) return pass(pairs);
  if (!pairs->empty()) {
    guide.known = *std::move(pairs);
    alignment = align(real->a, real->b, guide);
  }
  const Sides sides{real->a, numbered->a, real->b};
  const auto carried = carried_numbers(sides, alignment, of_b);
  if (!carried) return std::unexpected(carried.error());
  auto filled_weights = fillings(*carried, real->b, of_a, of_b);
  if (!filled_weights) return pass(filled_weights);

  CarriedModel result;
  result.b = b;
  std::map<std::string, Tensor> stored;  // as they lie in b's file
  for (std::size_t i = 0; i < b.values.size(); ++i) {
    const ValueId v{static_cast<std::int32_t>(i)};
    if (!b[v].constant || b[v].constant->dtype() != DType::F32) continue;
    const auto found = filled_weights->find(v);
    const Size count = b[v].constant->count();
    if (found == filled_weights->end()) continue;
    Filling& filling = found->second;
    if (filling.done != count)
      return fail(Fault::Proof, fmt::format("weight '{}' of b is used in part alone ({} of {} numbers)", b[v].name,
                                            filling.done, count));
    CarriedWeight row{real->a[filling.node_a].layer,
                      real->b[filling.node_b].layer,
                      {},
                      stored_name(b[v]),
                      {},
                      stored_shape(b[v]),
                      filling.how};
    const Sizes& shape = b[v].constant->shape();
    const Tensor numbers = Tensor::of(shape, std::move(filling.values));
    const auto [known, is_new] = stored.emplace(row.target, as_stored(b[v], numbers));
    result.b[v].constant = numbers;
    if (!is_new) {
      if (same_bytes(known->second, as_stored(b[v], numbers))) continue;
      return fail(Fault::Proof,
                  "weight '" + row.target + "' of b is used more than once, and a has other numbers there");
    }
    const Moved moved = moved_from(a, of_a, places_as_stored(b[v], filling.places), row.shape);
    row.source = moved.source;
    row.source_shape = moved.shape;
    if (row.how.empty()) row.how = moved.source.empty() ? "zeros: a has none" : moved.how;
    result.weights.push_back(std::move(row));
  }
  for (std::size_t i = 0; i < b.values.size(); ++i) {
    const ValueId v{static_cast<std::int32_t>(i)};
    if (!b[v].constant || b[v].constant->dtype() != DType::F32 || filled_weights->contains(v)) continue;
    if (const auto given = stored.find(stored_name(b[v])); given != stored.end())
      result.b[v].constant = as_read(b[v], given->second);
    else result.kept.push_back(b[v].name);
  }
  if (result.weights.empty()) return fail(Fault::Unsupported, "b has no weights that a could give");
  return result;
}

}  // namespace convoy::diagnose
