#include "diagnose/whole_numbers.h"

#include "ops/expect.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace convoy::diagnose {

namespace {

bool is_whole(double x) { return x == std::nearbyint(x); }

// Makes whole numbers of whole ones, whatever type holds them.
bool keeps_whole_numbers(const Op& op) {
  if (traits_of(op).moves_numbers() || holds_alternative<Cast>(op)) return true;
  if (const auto* unary = get_if<Unary>(&op)) return keeps_whole(unary->function);
  if (const auto* affine = get_if<Affine>(&op)) return is_whole(affine->scale) && is_whole(affine->offset);
  const auto* binary = get_if<Binary>(&op);
  if (!binary) return false;
  switch (binary->function) {
    case BinaryFunction::Add:
    case BinaryFunction::Subtract:
    case BinaryFunction::Multiply:
    case BinaryFunction::Maximum:
    case BinaryFunction::Minimum: return true;
    default: return false;
  }
}

enum class Made : std::uint8_t { OfOthers, OfWhole, Source };

// Of each value: whether it holds whole numbers, and is made of such.
std::vector<Made> made_of(const Graph& piece, const std::function<bool(std::size_t)>& is_whole_input) {
  std::vector<Made> made(piece.values.size(), Made::OfOthers);
  for (std::size_t i = 0; i < made.size(); ++i) {
    const Value& value = piece.values[i];
    if (value.constant && std::ranges::all_of(value.constant->doubles(), is_whole)) made[i] = Made::OfWhole;
  }
  for (std::size_t i = 0; i < piece.inputs.size(); ++i)
    if (is_whole_input(i)) made[piece.inputs[i].slot()] = Made::Source;
  for (const Node& node : piece.nodes) {
    const bool keeps = keeps_whole_numbers(node.op) && std::ranges::all_of(node.inputs, [&](ValueId v) {
                         return !v || made[v.slot()] != Made::OfOthers;
                       });
    for (const ValueId v : node.outputs)
      if (v && keeps) made[v.slot()] = Made::OfWhole;
      else if (v && !is_floating(piece[v].type.dtype)) made[v.slot()] = Made::Source;
  }
  return made;
}

}  // namespace

std::optional<WholeNumbers> whole_numbers_of(const Graph& piece,
                                             const std::function<bool(std::size_t)>& is_whole_input) {
  const auto made = made_of(piece, is_whole_input);
  if (made[piece.outputs[0].slot()] == Made::OfOthers) return std::nullopt;
  WholeNumbers found;
  std::vector<bool> is_needed(piece.values.size(), false);
  is_needed[piece.outputs[0].slot()] = true;
  const auto add = [&](ValueId v) {
    const Value& value = piece[v];
    if (made[v.slot()] == Made::Source) {
      found.sources.push_back(v);
      const bool is_wide = bytes_of(value.type.dtype) > 2;  // else float32 holds all that there are
      const bool is_bounded = value.producer && !holds_alternative<Cast>(piece[value.producer].op);
      found.may_be_large = found.may_be_large || (is_wide && !is_bounded);
    } else if (is_floating(value.type.dtype) && value.producer) {
      found.carried_by = piece[value.producer].layer, found.kind = piece[value.producer].kind;
    }
  };
  for (std::size_t n = piece.nodes.size(); n-- > 0;) {
    const Node& node = piece.nodes[n];
    bool follows = false;
    for (const ValueId v : node.outputs) {
      if (!v || !is_needed[v.slot()]) continue;
      add(v);
      follows = follows || made[v.slot()] == Made::OfWhole;
    }
    for (const ValueId v : node.inputs)
      if (v && follows) is_needed[v.slot()] = true;
  }
  for (const ValueId v : piece.inputs)
    if (is_needed[v.slot()]) add(v);
  return found;
}

}  // namespace convoy::diagnose
