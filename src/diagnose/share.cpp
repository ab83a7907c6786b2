#include "diagnose/share.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace convoy::diagnose {

namespace {

// Scales of a batch norm have both signs: a maximum in front of it is another one than behind it.
Tensor varied(const Tensor& weight, int which, bool has_signs) {
  if (weight.dtype() != DType::F32 || weight.count() < 2) return weight;
  const auto old = weight.floats();
  if (std::ranges::any_of(old, [&](float n) { return n != old[0]; })) return weight;
  std::vector<float> numbers;
  for (std::size_t i = 0; i < old.size(); ++i) {
    const float step = static_cast<float>((i * 5 + static_cast<std::size_t>(which) * 3) % 13) - 6;
    numbers.push_back((old[0] + step / 16) * (has_signs && i % 3 == 2 ? -1.0F : 1.0F));
  }
  return Tensor::of(weight.shape(), std::move(numbers));
}

void vary(Graph& graph, int which) {
  for (const Node& node : graph.nodes) {
    const bool is_norm = holds_alternative<BatchNorm>(node.op);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i] || !graph[node.inputs[i]].constant) continue;
      Value& value = graph[node.inputs[i]];
      if (value.trainable || is_norm) value.constant = varied(*value.constant, which++, is_norm && i == 1);
    }
  }
}

// ---- the order of features ---------------------------------------------------------------------------------------------

// A matrix of a comparable form, and which output and input of its own file each row and column is.
struct Features {
  std::vector<Size> rows, columns;
};

bool is_every(std::vector<Size> order) {
  std::ranges::sort(order);
  for (std::size_t i = 0; i < order.size(); ++i)
    if (order[i] != static_cast<Size>(i)) return false;
  return true;
}

// How the file's matrix lies, by the layer that reads it.
std::optional<LinearOrder> order_in_file(const Graph& model, ValueId weight) {
  for (const Node& node : model.nodes)
    if (const auto* linear = get_if<Linear>(&node.op))
      if (node.inputs.size() > 1 && node.inputs[1] == weight) return linear->order;
  return std::nullopt;
}

// [O, I], or a vector, whose numbers are places.
std::optional<Features> features_of(const Tensor& places, const Numbering& of, bool is_matrix) {
  const auto numbers = places.floats();
  std::vector<Numbering::Cell> cells;
  for (const float number : numbers) {
    const auto place = of.place(number);
    if (!place) return std::nullopt;
    cells.push_back(of.cell(*place));
    if (cells.back().weight != cells.front().weight) return std::nullopt;
  }
  Features found;
  if (!is_matrix) {
    for (const auto& cell : cells) found.rows.push_back(cell.at);
    found.columns = {0};
  } else {
    const auto order = order_in_file(of.graph(), cells.front().weight);
    if (!order || places.rank() != 2) return std::nullopt;
    const Size out = places.shape()[0], in = places.shape()[1];
    const auto row = [&](Size at) { return *order == LinearOrder::InOut ? at % out : at / in; };
    const auto column = [&](Size at) { return *order == LinearOrder::InOut ? at / out : at % in; };
    for (Size o = 0; o < out; ++o) found.rows.push_back(row(cells[static_cast<std::size_t>(o * in)].at));
    for (Size i = 0; i < in; ++i) found.columns.push_back(column(cells[static_cast<std::size_t>(i)].at));
  }
  if (!is_every(found.rows) || !is_every(found.columns)) return std::nullopt;
  return found;
}

// For each feature of b, where the one of the same number in the files lies in a.
std::vector<Size> from_b_to_a(const std::vector<Size>& a, const std::vector<Size>& b) {
  std::vector<Size> where(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) where[static_cast<std::size_t>(a[i])] = static_cast<Size>(i);
  std::vector<Size> result;
  for (const Size feature : b) result.push_back(where[static_cast<std::size_t>(feature)]);
  return result;
}

// A's numbers as b's layer would hold them.
Tensor as_loaded(const Tensor& ours, const Features& a, const Features& b) {
  const auto rows = from_b_to_a(a.rows, b.rows), columns = from_b_to_a(a.columns, b.columns);
  const auto numbers = ours.floats();
  std::vector<float> result;
  for (const Size row : rows)
    for (const Size column : columns)
      result.push_back(numbers[static_cast<std::size_t>(row) * columns.size() + static_cast<std::size_t>(column)]);
  return Tensor::of(ours.shape(), std::move(result));
}

bool has_features(const Op& op, std::size_t input) {
  return (holds_alternative<Linear>(op) && (input == 1 || input == 2)) ||
         (holds_alternative<BatchNorm>(op) && input > 0);
}

// Nothing: the same in both, as far as is known.
std::optional<std::pair<Features, Features>> features(const Sized& at, const Places& places, const Match& match,
                                                      std::size_t input) {
  const Graph &a = places.at.a, &b = places.at.b;
  if (a.nodes.size() != at.a.nodes.size() || b.nodes.size() != at.b.nodes.size()) return std::nullopt;
  const Node &of_a = a[match.node_a], &of_b = b[match.node_b];
  if (!has_features(of_a.op, input) || of_a.op.index() != of_b.op.index()) return std::nullopt;
  const bool is_matrix = holds_alternative<Linear>(of_a.op) && input == 1;
  const auto &x = a[of_a.inputs[input]].constant, &y = b[of_b.inputs[input]].constant;
  if (!x || !y || x->shape() != y->shape()) return std::nullopt;
  auto ours = features_of(*x, places.a, is_matrix), theirs = features_of(*y, places.b, is_matrix);
  if (!ours || !theirs) return std::nullopt;
  return std::pair{*std::move(ours), *std::move(theirs)};
}

// The same numbers under a kernel whose height and width are exchanged.
std::optional<Tensor> turned_kernel(const Tensor& ours, const Sizes& shape) {
  const Sizes& own = ours.shape();
  if (own.size() != 4 || shape != Sizes{own[0], own[1], own[3], own[2]}) return std::nullopt;
  return ours.permuted(Sizes{0, 1, 3, 2});
}

// Whether it is a program, whose weights are said elsewhere.
bool is_program(const Graph& graph) { return graph.source_format.ends_with(" source"); }

// Whether a program says these numbers itself: no file of weights will hold others. `numbered`: the same form of the model
// whose weights are numbered; may be missing.
bool says_numbers(const Graph& graph, const Node& node, std::size_t input, const Graph* numbered, const Numbering* of) {
  const Value& value = graph[node.inputs[input]];
  if (!is_program(graph) || value.trainable || holds_alternative<BatchNorm>(node.op)) return false;
  if (value.literal) return true;
  if (numbered && numbered->nodes.size() == graph.nodes.size()) {
    const Node& twin = numbered->nodes[static_cast<std::size_t>(&node - graph.nodes.data())];
    const ValueId v = input < twin.inputs.size() ? twin.inputs[input] : ValueId{};
    const auto& places = v ? (*numbered)[v].constant : std::optional<Tensor>();
    if (places && places->dtype() == DType::F32 && places->count() > 0)
      if (const auto place = of->place(places->floats()[0])) return of->graph()[of->cell(*place).weight].literal;
  }
  return traits_of(node.op).learnt != Learnt::Weights;
}

// The ones and zeros of a norm in a file stay what they were where the program's own leaves scales and offsets out.
void keep_idle_scales(Graph& file, const Graph& before, const std::set<ValueId>& said_by_both) {
  if (is_program(file)) return;
  for (const Node& node : file.nodes) {
    if (family_of(node.op) != Family::Norm) continue;
    for (const ValueId v : node.inputs)
      if (v && file[v].constant && !said_by_both.contains(v)) file[v].constant = before[v].constant;
  }
}

// The constants of each model that have a partner in the other's layer.
std::pair<std::set<ValueId>, std::set<ValueId>> said_by_both(const Sized& at, const Alignment& alignment) {
  std::set<ValueId> of_a, of_b;
  for (const Match& match : alignment.matches) {
    if (!match.node_a || !match.node_b) continue;
    const auto &here = at.a[match.node_a].inputs, &there = at.b[match.node_b].inputs;
    for (std::size_t i = 0; i < std::min(here.size(), there.size()); ++i)
      if (here[i] && there[i]) of_a.insert(here[i]), of_b.insert(there[i]);
  }
  return {std::move(of_a), std::move(of_b)};
}

}  // namespace

std::optional<Places> places_of(const Graph& a, const Graph& b, int trial, std::uint64_t seed,
                                const std::vector<Tensor>& given) {
  Numbering of_a(a), of_b(b);
  auto at = at_one_size(of_a.graph(), of_b.graph(), trial, seed, given);
  if (!at) return std::nullopt;
  return Places{std::move(of_a), std::move(of_b), *std::move(at)};
}

int share_weights(Sized& at, const Alignment& alignment, const std::optional<Places>& places) {
  const Graph before_a = at.a, before_b = at.b;
  vary(at.a, 0);
  vary(at.b, 1);
  const auto [of_a, of_b] = said_by_both(at, alignment);
  keep_idle_scales(at.a, before_a, of_a);
  keep_idle_scales(at.b, before_b, of_b);
  int shared = 0;
  for (const Match& match : alignment.matches) {
    if (!match.node_a || !match.node_b) continue;
    const Node &a = at.a[match.node_a], &b = at.b[match.node_b];
    for (std::size_t i = 0; i < std::min(a.inputs.size(), b.inputs.size()); ++i) {
      if (!a.inputs[i] || !b.inputs[i]) continue;
      const auto& ours = at.a[a.inputs[i]].constant;
      auto& theirs = at.b[b.inputs[i]].constant;
      if (!ours || !theirs || ours->dtype() != theirs->dtype()) continue;
      if (says_numbers(at.a, a, i, places ? &places->at.a : nullptr, places ? &places->a : nullptr) ||
          says_numbers(at.b, b, i, places ? &places->at.b : nullptr, places ? &places->b : nullptr))
        continue;
      if (ours->shape() != theirs->shape()) {
        if (auto turned = turned_kernel(*ours, theirs->shape())) theirs = *std::move(turned), ++shared;
        continue;
      }
      const auto orders = places ? features(at, *places, match, i) : std::nullopt;
      theirs = orders ? as_loaded(*ours, orders->first, orders->second) : *ours;
      ++shared;
    }
  }
  return shared;
}

}  // namespace convoy::diagnose
