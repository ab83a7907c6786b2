// Branches that cross: two values each read where the other belongs, the operands of an operation exchanged, a value read
// from another layer than it should be.
#include "diagnose/hypothesis.h"

#include <fmt/format.h>

#include <algorithm>

namespace convoy::diagnose {

namespace {

constexpr std::string_view crossed = "branches_exchanged";
constexpr std::size_t most_values = 40;

std::string name_of(const Scene& scene, ValueId v) {
  const auto& constant = scene.a[v].constant;
  if (!constant) return about_value(scene, v).layer;
  return constant->count() == 1 ? number_text(constant->doubles()[0]) : scene.a[v].name;
}

void add_read(Guesses& guesses, std::string_view cause, const Node& about, ValueId was, ValueId now,
              std::string_view words, Graph piece) {
  const std::string first = name_of(guesses.scene, now), second = name_of(guesses.scene, was);
  guesses.add(cause, about, fmt::format(fmt::runtime(words), first, second), std::move(piece));
  Edit& edit = guesses.all.back().edits.back();
  edit.was = second, edit.now = first;
}

// Whether the order of these inputs matters.
bool tells_operands(const Op& op) {
  if (holds_alternative<MatMul>(op) || holds_alternative<Einsum>(op) || holds_alternative<Where>(op)) return true;
  const auto* binary = get_if<Binary>(&op);
  return binary && binary->function != BinaryFunction::Add && binary->function != BinaryFunction::Multiply &&
         binary->function != BinaryFunction::Maximum && binary->function != BinaryFunction::Minimum &&
         binary->function != BinaryFunction::Equal && binary->function != BinaryFunction::NotEqual &&
         binary->function != BinaryFunction::And && binary->function != BinaryFunction::Or &&
         binary->function != BinaryFunction::Xor && !works_on_bits(binary->function);
}

// x and y as operands of one operation.
void guess_operands(Guesses& guesses, const Node& about, std::size_t node) {
  for (std::size_t i = 0; i < about.inputs.size(); ++i)
    for (std::size_t j = i + 1; j < about.inputs.size(); ++j) {
      if (!about.inputs[i] || !about.inputs[j] || about.inputs[i] == about.inputs[j]) continue;
      if (holds_alternative<Where>(about.op) && i == 0) continue;
      Graph changed = guesses.scene.a;
      std::swap(changed.nodes[node].inputs[i], changed.nodes[node].inputs[j]);
      add_read(guesses, crossed, about, about.inputs[i], about.inputs[j], "the operands '{1}' and '{0}' exchanged",
               std::move(changed));
    }
}

// Per value, the values that it is computed from.
std::vector<std::vector<bool>> sources(const Graph& piece) {
  std::vector<std::vector<bool>> all(piece.values.size(), std::vector<bool>(piece.values.size(), false));
  for (const Node& node : piece.nodes)
    for (const ValueId out : node.outputs)
      for (const ValueId in : node.inputs) {
        if (!in) continue;
        const auto to = out.slot(), from = in.slot();
        all[to][from] = true;
        for (std::size_t v = 0; v < all.size(); ++v)
          if (all[from][v]) all[to][v] = true;
      }
  return all;
}

std::size_t count_readers(const Graph& piece, ValueId v) {
  return static_cast<std::size_t>(std::ranges::count_if(
      piece.nodes, [&](const Node& n) { return std::ranges::find(n.inputs, v) != n.inputs.end(); }));
}

// Three inputs of the stretch, each read where the next one belongs.
void guess_turned_round(Guesses& guesses) {
  const Scene& scene = guesses.scene;
  constexpr std::size_t most_inputs = 6;
  const auto& inputs = scene.a.inputs;
  if (inputs.size() > most_inputs) return;
  for (const ValueId x : inputs)
    for (const ValueId y : inputs)
      for (const ValueId z : inputs) {
        const bool are_alike = scene.shape(x) == scene.shape(y) && scene.shape(y) == scene.shape(z);
        if (!are_alike || x.index >= y.index || x.index >= z.index || y == z) continue;
        add_read(guesses, crossed, about_value(scene, x), x, y, "'{1}', '{0}' and one more in another order",
                 with_reads_exchanged(with_reads_exchanged(scene.a, x, y), y, z));
      }
}

void guess_crossed(Guesses& guesses) {
  const Scene& scene = guesses.scene;
  std::vector<ValueId> values;
  for (std::size_t v = 0; v < scene.shapes.size(); ++v) {
    const ValueId value{static_cast<std::int32_t>(v)};
    if (!scene.a[value].constant && count_readers(scene.a, value) > 0 && scene.shapes[v].size() > 0)
      values.push_back(value);
  }
  if (values.size() > most_values) return;
  const auto from = sources(scene.a);
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = i + 1; j < values.size(); ++j) {
      const ValueId x = values[i], y = values[j];
      const auto p = x.slot(), q = y.slot();
      if (scene.shapes[p] != scene.shapes[q] || from[p][q] || from[q][p]) continue;
      add_read(guesses, crossed, about_value(scene, x), x, y, "'{1}' and '{0}' exchanged",
               with_reads_exchanged(scene.a, x, y));
    }
}

// A value that only b's stretch reads, in the place of one that a's reads.
void guess_elsewhere(Guesses& guesses) {
  const Scene& scene = guesses.scene;
  for (const ValueId other : scene.only_b)
    for (std::size_t n = 0; n < scene.a.nodes.size(); ++n) {
      const Node& about = scene.a.nodes[n];
      for (std::size_t i = 0; i < about.inputs.size(); ++i) {
        const ValueId own = about.inputs[i];
        if (!own || own == other || scene.a[own].constant || scene.shape(own) != scene.shape(other)) continue;
        add_read(guesses, "reads_another", about, own, other, "reads '{0}' in place of '{1}'",
                 with_read(scene.a, n, i, other));
      }
    }
}

}  // namespace

void guess_branches(Guesses& guesses) {
  const Scene& scene = guesses.scene;
  guess_elsewhere(guesses);
  for (std::size_t n = 0; n < scene.a.nodes.size(); ++n)
    if (tells_operands(scene.a.nodes[n].op)) guess_operands(guesses, scene.a.nodes[n], n);
  if (!guesses.so_far.empty()) return;
  guess_crossed(guesses);
  guess_turned_round(guesses);
}

}  // namespace convoy::diagnose
