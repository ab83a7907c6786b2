#include "diagnose/piece.h"

#include "diagnose/alike.h"
#include "diagnose/comparable.h"
#include "graph/element_types.h"
#include "prove/beforehand.h"
#include "run/run.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <set>

namespace convoy::diagnose {

Size numbers_in(const Graph& graph) {
  Size all = 0;
  for (const Value& value : graph.values)
    if (const auto sizes = sizes_of(value.type.shape)) all += checked_count(*sizes).value_or(0);
  return all;
}

Piece cut(const Graph& graph, ValueId to, const std::vector<ValueId>& boundary) {
  Piece piece;
  piece.from = boundary;
  std::map<ValueId, ValueId> now;
  for (const ValueId v : boundary) now[v] = piece.graph.input(graph[v].name, graph[v].type);
  // Backward from `to`: a piece costs what it holds, not what the graph holds.
  std::set<std::int32_t> chosen;
  std::vector<NodeId> open{graph[to].producer};
  while (!open.empty()) {
    const NodeId n = open.back();
    open.pop_back();
    if (!n || !chosen.insert(n.index).second) continue;
    for (const ValueId v : graph[n].inputs)
      if (v && (v == to || !now.contains(v))) open.push_back(graph[v].producer);
  }
  if (chosen.empty()) return piece;
  const auto added = [&](ValueId v) {
    const ValueId id{static_cast<std::int32_t>(piece.graph.values.size())};
    Value value = graph[v];
    value.producer = {};
    piece.graph.values.push_back(std::move(value));
    return id;
  };
  const auto placed = [&](ValueId v, bool makes) {
    if (!v) return ValueId{};
    // A layer whose other output is needed makes this one again: what reads it reads what is fed.
    if (makes && v != to && std::ranges::find(boundary, v) != boundary.end()) return added(v);
    if (const auto it = now.find(v); it != now.end() && !(makes && v == to)) return it->second;
    return now[v] = added(v);
  };
  for (const std::int32_t i : chosen) {
    Node node = graph[NodeId{i}];
    for (ValueId& v : node.inputs) v = placed(v, false);
    for (ValueId& v : node.outputs) v = placed(v, true);
    for (const ValueId v : node.outputs)
      piece.graph[v].producer = {static_cast<std::int32_t>(piece.graph.nodes.size())};
    piece.graph.nodes.push_back(std::move(node));
  }
  piece.graph.outputs = {now.at(to)};
  piece.graph.output_names = {graph[to].name};
  return piece;
}

namespace {

using Change =
    std::function<Tensor(const Tensor&)>;  // of a constant, of what is made of constants alone or by inexact ones

Result<std::vector<Tensor>> values_changed(const Graph& piece, const std::vector<Tensor>& inputs, int threads,
                                           const Change& change) {
  std::vector<Tensor> values(piece.values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (piece.values[i].constant) values[i] = change ? change(*piece.values[i].constant) : *piece.values[i].constant;
  std::vector<bool> is_fed(piece.values.size(), false);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values[piece.inputs[i].slot()] = inputs[i];
    is_fed[piece.inputs[i].slot()] = true;
  }
  for (const Node& node : piece.nodes) {
    const bool reads_fed = std::ranges::any_of(node.inputs, [&](ValueId v) { return v && is_fed[v.slot()]; });
    std::vector<const Tensor*> read;
    for (const ValueId v : node.inputs) read.push_back(v ? &values[v.slot()] : nullptr);
    std::vector<Input> seen;
    std::vector<TensorType> types(read.size());
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (read[i]) types[i] = type_of(*read[i]);
      const bool is_constant = node.inputs[i] && piece[node.inputs[i]].constant;
      seen.push_back({read[i] ? &types[i] : nullptr, is_constant ? read[i] : nullptr});
    }
    // The kernels trust what shape inference has accepted.
    if (auto accepted = infer(node.op, convoy::Inputs(seen)); !accepted)
      return within(place_of(node), Result<std::vector<Tensor>>(pass(accepted)));
    auto made = run_node_of(piece, node, read, Precision::Double, threads);
    if (!made) return pass(made);
    for (std::size_t i = 0; i < made->size() && i < node.outputs.size(); ++i) {
      const auto at = node.outputs[i].slot();
      values[at] = change && (!reads_fed || is_steered_inexactly(node.op)) ? change((*made)[i]) : std::move((*made)[i]);
      is_fed[at] = reads_fed;
    }
  }
  return values;
}

}  // namespace

Result<std::vector<Tensor>> values_of(const Graph& piece, const std::vector<Tensor>& inputs, int threads) {
  return values_changed(piece, inputs, threads, {});
}

namespace {

// A number of few binary digits is no result of rounding: 0.5, 3, 100.
bool is_meant(double value) {
  int exponent = 0;
  const double digits = std::frexp(value, &exponent) * 0x1p12;
  return digits == std::trunc(digits);
}

}  // namespace

Result<std::vector<Tensor>> shaken_values_of(const Graph& piece, const std::vector<Tensor>& inputs, double by,
                                             std::uint64_t seed, int threads) {
  std::mt19937_64 random(seed);
  return values_changed(piece, inputs, threads, [&](const Tensor& tensor) {
    if (tensor.dtype() > DType::F64) return tensor;
    auto values = tensor.doubles();
    for (double& value : values) {
      const double side = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
      if (!is_meant(value)) value *= 1 + by * side;
    }
    return Tensor::of(tensor.shape(), std::move(values));
  });
}

bool all_finite(const Tensor& tensor) {
  return std::ranges::all_of(tensor.doubles(), [](double x) { return std::isfinite(x); });
}

Result<Tensor> evaluate(const Graph& piece, const std::vector<Tensor>& inputs, int threads) {
  auto values = values_of(piece, inputs, threads);
  if (!values) return pass(values);
  return (*values)[piece.outputs[0].slot()];
}

Result<Rounded> evaluate_rounded(const Graph& piece, const std::vector<Tensor>& inputs, int threads) {
  std::vector<Rounded> held(piece.values.size());
  for (std::size_t i = 0; i < held.size(); ++i)
    if (piece.values[i].constant) held[i].value = *piece.values[i].constant;
  for (std::size_t i = 0; i < inputs.size(); ++i) held[piece.inputs[i].slot()].value = inputs[i];
  for (const Node& node : piece.nodes) {
    std::vector<const Tensor*> read, errors;
    std::vector<TensorType> types(node.inputs.size());
    std::vector<Input> seen;
    Size terms = 0;
    double limit = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId v = node.inputs[i];
      const Rounded* one = v ? &held[v.slot()] : nullptr;
      read.push_back(one ? &one->value : nullptr);
      errors.push_back(one && one->error ? &*one->error : nullptr);
      if (one) types[i] = type_of(one->value);
      seen.push_back({one ? &types[i] : nullptr, v && piece[v].constant ? &one->value : nullptr});
      if (one) terms = std::max(terms, one->terms), limit = std::max(limit, one->limit);
    }
    if (auto accepted = infer(node.op, convoy::Inputs(seen)); !accepted)
      return within(place_of(node), Result<Rounded>(pass(accepted)));
    auto made = run_node_of(piece, node, read, Precision::Single, threads);
    if (!made) return pass(made);
    auto bound = bound_of({node, read, errors, *made, threads, types_of(piece, node.outputs)});
    if (!bound) return pass(bound);
    for (std::size_t i = 0; i < made->size() && i < node.outputs.size(); ++i)
      held[node.outputs[i].slot()] = {std::move((*made)[i]), std::move(bound->errors[i]), std::max(terms, bound->terms),
                                      std::max(limit, bound->limit)};
  }
  return std::move(held[piece.outputs[0].slot()]);
}

std::vector<float> telling(const Tensor& error, const Tensor& value) {
  auto bound = error.floats();
  double scale = 0;
  for (const double x : value.doubles())
    if (std::isfinite(x)) scale = std::max(scale, std::abs(x));
  for (float& one : bound)
    if (!(static_cast<double>(one) <= scale)) one = static_cast<float>(scale);
  return bound;
}

Result<Rounded> evaluate_sharply(const Graph& piece, const std::vector<Tensor>& inputs, double sharpness, int threads) {
  auto got = evaluate_rounded(piece, inputs, threads);
  if (!got || sharpness >= 1 || !got->error) return got;
  auto value = evaluate(piece, inputs, threads);
  if (!value) return pass(value);
  got->value = *std::move(value);
  auto error = telling(*got->error, got->value);
  for (float& one : error) one *= static_cast<float>(sharpness);
  got->error = Tensor::of(got->value.shape(), std::move(error));
  return got;
}

namespace {

void add_error(Rounded& got, const Tensor& more, Size terms, double limit, const Sizes& permutation) {
  const Tensor brought = arranged(more, permutation, got.value.shape());
  if (brought.shape() != got.value.shape()) return;  // another shape is no matter of rounding
  auto error = brought.floats();
  const auto own = got.error ? got.error->floats() : std::vector<float>(error.size(), 0.0F);
  for (std::size_t i = 0; i < error.size(); ++i) error[i] += own[i];
  got.error = Tensor::of(got.value.shape(), std::move(error));
  got.terms = std::max(got.terms, terms);
  got.limit =
      std::max({got.limit, limit, 1.0});  // what rounds nothing itself has none, and r would be 0 whatever differs
}

}  // namespace

Status allow_for_float64(Rounded& got, const Graph& a, const std::vector<Tensor>& inputs, const Sizes& permutation,
                         int threads) {
  auto own = evaluate_rounded(a, inputs, threads);
  if (!own) return pass(own);
  if (!own->error) return {};
  auto error = telling(*own->error, own->value);
  for (float& one : error) one *= static_cast<float>(exact_share);
  add_error(got, Tensor::of(own->error->shape(), std::move(error)), got.terms, got.limit, permutation);
  return {};
}

Status allow_for_known(Rounded& got, const Graph& a, const std::vector<Tensor>& inputs, const Sizes& permutation,
                       int threads) {
  const auto is_known = [&](const Node& node) {
    return !node.inputs.empty() && std::ranges::all_of(node.inputs, [&](ValueId v) { return !v || a[v].constant; });
  };
  if (std::ranges::none_of(a.nodes, is_known)) return {};
  auto values = values_of(a, inputs, threads);
  if (!values) return pass(values);
  std::vector<Beforehand> found(a.values.size());
  for (std::size_t i = 0; i < found.size(); ++i) found[i].known = a.values[i].constant.has_value();
  const auto at = [](ValueId v) { return v.slot(); };
  for (const Node& node : a.nodes) {
    std::vector<const Tensor*> numbers;
    std::vector<const Beforehand*> read;
    for (const ValueId v : node.inputs) {
      numbers.push_back(v ? &(*values)[at(v)] : nullptr);
      read.push_back(v ? &found[at(v)] : nullptr);
    }
    std::vector<Tensor> outputs;
    for (const ValueId v : node.outputs) outputs.push_back((*values)[at(v)]);
    auto followed = followed_beforehand(node, numbers, read, outputs, types_of(a, node.outputs), threads);
    if (!followed) return pass(followed);
    for (std::size_t i = 0; i < followed->size(); ++i) found[at(node.outputs[i])] = std::move((*followed)[i]);
  }
  const Beforehand& known = found[at(a.outputs[0])];
  if (!known.error) return {};
  add_error(got, *known.error, known.terms, known.limit, permutation);
  return {};
}

Status allow_for_folded(Rounded& got, const Graph& a, const Graph& b, const std::vector<Tensor>& inputs,
                        const Sizes& permutation, int threads) {
  const auto scales = [](const Graph& graph) {
    return std::ranges::count_if(graph.nodes, [&](const Node& node) {
      const bool reads_constant =
          std::ranges::any_of(node.inputs, [&](ValueId v) { return v && graph[v].constant.has_value(); });
      return holds_alternative<BatchNorm>(node.op) || holds_alternative<Affine>(node.op) ||
             (holds_alternative<Binary>(node.op) && reads_constant);
    });
  };
  const auto norms = [](const Graph& graph) {
    return std::ranges::count_if(graph.nodes, [](const Node& n) { return holds_alternative<BatchNorm>(n.op); });
  };
  if (scales(a) <= scales(b) && norms(a) <= norms(b)) return {};
  auto own = evaluate_rounded(a, inputs, threads);
  if (!own) return pass(own);
  if (own->error) add_error(got, *own->error, own->terms, own->limit, permutation);
  return {};
}

Gap of_another_shape(const Gap& gap) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  return {infinite, gap.limit, infinite, 1, gap.terms, false, true};
}

Gap gap_between(const Rounded& got, const Tensor& wanted, const Sizes& permutation) {
  Gap gap;
  gap.terms = got.terms;
  gap.limit = got.error ? got.limit : 0;
  const Tensor brought = arranged(wanted, permutation, got.value.shape());
  if (brought.shape() != got.value.shape()) return of_another_shape(gap);
  const Difference difference = compare(got.value, brought, got.error, gap.limit);
  gap.r = difference.r;
  gap.largest = difference.largest;
  gap.same = difference.same;
  if (gap.same) return gap;
  const auto x = got.value.doubles(), y = brought.doubles();
  const auto error = got.error ? got.error->floats() : std::vector<float>(x.size(), 0.0F);
  std::size_t beyond = 0;
  for (std::size_t i = 0; i < x.size(); ++i) beyond += !(std::abs(x[i] - y[i]) <= static_cast<double>(error[i]));
  gap.share = x.empty() ? 0 : static_cast<double>(beyond) / static_cast<double>(x.size());
  return gap;
}

}  // namespace convoy::diagnose
