#include "diagnose/separate.h"

#include "diagnose/comparable.h"
#include "diagnose/hypothesis.h"
#include "diagnose/piece.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace convoy::diagnose {

namespace {

constexpr Size most_steps = 4;  // of the size that was tried, per axis

std::optional<Sizes> sizes_in(const std::string& text) {
  Sizes sizes;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, 'x');) {
    if (word.empty() || word.find_first_not_of("0123456789") != std::string::npos || word.size() > 6)
      return std::nullopt;
    sizes.push_back(std::stoll(word));
  }
  return sizes;
}

// The layer with windows, alone, with the model's input at this size. Nothing: the model does not take it.
std::optional<Piece> layer_at(const Graph& a, const std::string& layer, const Sizes& space) {
  const Value& input = a[a.inputs[0]];
  Shape shape = input.type.shape;
  const auto form = comparable(a);
  if (!form || shape.size() != space.size() + 2) return std::nullopt;
  const auto& origin = (*form)[form->inputs[0]].origin;
  const bool is_last =
      origin && origin->split.empty() && origin->permutation == to_channels_first(static_cast<Size>(space.size()));
  for (std::size_t i = 0; i < space.size(); ++i) shape[i + (is_last ? 1 : 2)] = Dim(space[i]);
  if (!shape[0].known()) shape[0] = Dim(2);
  const auto sized = with_input_shapes(a, {shape});
  if (!sized) return std::nullopt;
  const auto at = comparable(*sized);
  if (!at) return std::nullopt;
  for (const Node& node : at->nodes) {
    const bool has_windows = node.op.visit([]<class O>(const O& op) {
      return requires {
        op.windows;
        op.paddings;
      };
    });
    if (node.layer == layer && has_windows) return cut(*at, node.outputs[0], {node.inputs[0]});
  }
  return std::nullopt;
}

// What the layer computes with this mistake; as it is where the mistake changes nothing.
std::optional<Tensor> with_mistake(const Scene& scene, const std::vector<Hypothesis>& guesses, std::string_view cause,
                                   const std::vector<Tensor>& inputs) {
  const auto it = std::ranges::find_if(guesses, [&](const Hypothesis& one) { return one.edits.back().cause == cause; });
  const auto value = evaluate(it == guesses.end() ? scene.a : it->piece, inputs, 1);
  return value ? std::optional(*value) : std::nullopt;
}

bool agree(const Tensor& x, const Tensor& y) {
  if (x.shape() != y.shape()) return false;
  const auto p = x.doubles(), q = y.doubles();
  for (std::size_t i = 0; i < p.size(); ++i)
    if (std::abs(p[i] - q[i]) > 1e-9 * (1 + std::abs(p[i]))) return false;
  return true;
}

bool separates(const Piece& piece, const Finding& finding) {
  const auto shape = sizes_of(piece.graph[piece.graph.inputs[0]].type.shape);
  if (!shape) return false;
  std::vector<float> numbers(static_cast<std::size_t>(checked_count(*shape).value_or(0)));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>((i * 2654435761U >> 7) % 2003) - 1500.0F;
  const std::vector<Tensor> inputs{Tensor::of(*shape, std::move(numbers))};
  const auto values = values_of(piece.graph, inputs, 1);
  if (!values) return false;
  std::vector<Sizes> shapes;
  for (const Tensor& value : *values) shapes.push_back(value.shape());
  const Scene scene{piece.graph, piece.graph, *values, shapes, false, {}, nullptr};
  const auto guesses = guesses_for(scene);
  const auto named = with_mistake(scene, guesses, finding.cause, inputs);
  return named && std::ranges::all_of(finding.also, [&](const std::string& cause) {
           const auto other = with_mistake(scene, guesses, cause, inputs);
           return other && !agree(*named, *other);
         });
}

}  // namespace

std::string separating_size(const Graph& a, const Finding& finding) {
  const auto tried = sizes_in(finding.size);
  if (finding.also.empty() || !tried || tried->empty() || tried->size() > 2 || a.inputs.size() != 1) return {};
  const Size across = tried->size() == 2 ? most_steps : 0;
  for (Size steps = 0; steps <= most_steps + across; ++steps) {
    for (Size rows = 0; rows <= std::min(steps, most_steps); ++rows) {
      if (steps - rows > across) continue;
      Sizes space = *tried;
      space[0] += rows;
      if (space.size() == 2) space[1] += steps - rows;
      const auto piece = layer_at(a, finding.a, space);
      if (!piece) {
        if (steps == 0) return {};
        continue;
      }
      if (!separates(*piece, finding)) continue;
      if (steps == 0) return {};  // other numbers of the size that was tried would do, which nobody needs be told
      return space.size() == 2 ? std::to_string(space[0]) + "x" + std::to_string(space[1]) : std::to_string(space[0]);
    }
  }
  return {};
}

}  // namespace convoy::diagnose
