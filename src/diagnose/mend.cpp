#include "diagnose/mend.h"

#include "diagnose/align.h"
#include "diagnose/comparable.h"
#include "diagnose/piece.h"
#include "graph/patch.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace convoy::diagnose {

namespace {

ValueId named(const Graph& graph, const std::string& name) {
  for (std::size_t i = 0; i < graph.values.size(); ++i)
    if (graph.values[i].name == name) return {static_cast<std::int32_t>(i)};
  return {};
}

Result<std::pair<Graph, Graph>> both_forms(const Graph& a, const Graph& b, Unsaid unsaid) {
  const Outsides outsides = outsides_of(a, b, unsaid);
  auto first = comparable(a, outsides.a), second = comparable(b, outsides.b);
  if (!first) return pass(first);
  if (!second) return pass(second);
  if (first->inputs.size() != second->inputs.size()) return fail(Fault::Unsupported, "another number of inputs");
  return std::pair{*std::move(first), *std::move(second)};
}

// The axes of size 1 in which two shapes of the same numbers differ.
struct UnitAxes {
  Sizes gone, added;
};
std::optional<UnitAxes> unit_axes(const Sizes& from, const Sizes& to) {
  UnitAxes axes;
  std::size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    if (i < from.size() && j < to.size() && from[i] == to[j]) ++i, ++j;
    else if (j < to.size() && to[j] == 1) axes.added.push_back(static_cast<Size>(j++));
    else if (i < from.size() && from[i] == 1) axes.gone.push_back(static_cast<Size>(i++));
    else return std::nullopt;
  }
  return axes;
}

class Mender {
 public:
  Mender(const Graph& a, Graph& b, const Diagnosis& diagnosis)
      : a_(a),
        b_(b),
        diagnosis_(diagnosis),
        matched_(a.values.size(), false) {
    for (std::size_t i = 0; i < std::min(a.inputs.size(), b.inputs.size()); ++i)
      match(a.inputs[i], {b[b.inputs[i]].name, {}, {}, {}});
    for (const Layer& layer : diagnosis.layers)
      if (const ValueId v = named(a, layer.value_a))
        match(v, {layer.value_b, layer.permutation, layer.sizes_a, layer.sizes_b});
  }

  Status run() {
    int mended = 0;
    for (const Layer& layer : diagnosis_.layers) {
      if (layer.same) continue;
      if (auto done = put_right(layer); !done) return within("layer '" + layer.b + "'", std::move(done));
      ++mended;
    }
    if (mended == 0) return fail(Fault::Unsupported, "no stretch of b holds the difference alone");
    return {};
  }

 private:
  struct Other {
    std::string name;  // b's value
    Sizes permutation;
    Sizes sizes_a, sizes_b;  // of both values, at one size of the inputs; none: of the inputs themselves
  };

  void match(ValueId v, Other other) {
    matched_[v.slot()] = true;
    others_[v] = std::move(other);
  }

  // `from_sizes`, `to_sizes`: at one size of the inputs, what `wanted` leaves free.
  Result<ValueId> turned(Patch& patch, const Node& like, ValueId v, const Sizes& order, const Shape& wanted,
                         Sizes from_sizes, const Sizes& to_sizes) const {
    if (!order.empty() && !is_identity(order) && static_cast<Size>(order.size()) == patch.type(v).rank()) {
      auto made = patch.one(like, Transpose{order}, {v});
      if (!made) return made;
      v = *made;
      const Sizes before = from_sizes;
      for (std::size_t i = 0; i < before.size() && before.size() == order.size(); ++i)
        from_sizes[i] = before[static_cast<std::size_t>(order[i])];
    }
    if (patch.type(v).rank() != std::ssize(wanted))
      if (const auto axes = unit_axes(from_sizes, to_sizes)) return with_unit_axes(patch, like, v, *axes);
    const auto from = sizes_of(patch.type(v).shape), to = sizes_of(wanted);
    if (from && to && *from != *to && checked_count(*from) == checked_count(*to))
      return patch.one(like, Reshape{*to}, {v});
    return v;
  }

  static Result<ValueId> with_unit_axes(Patch& patch, const Node& like, ValueId v, const UnitAxes& axes) {
    Result<ValueId> made = v;
    if (!axes.gone.empty()) made = patch.one(like, Squeeze{axes.gone}, {*made});
    if (made && !axes.added.empty()) made = patch.one(like, Unsqueeze{axes.added}, {*made});
    return made;
  }

  // a's operators between b's values, in the place of b's own.
  Status put_right(const Layer& layer) {
    const ValueId from = named(a_, layer.value_a), to = named(b_, layer.value_b);
    if (!from || !to) return fail(Fault::Unsupported, "what differs is not a value of b by itself");
    const Piece piece = cut(a_, from, boundary_of(a_, from, matched_));
    if (piece.graph.nodes.empty()) return fail(Fault::Unsupported, "what differs is no computation of a by itself");
    Patch patch(b_);
    std::vector<ValueId> now(piece.graph.values.size());
    Node like = piece.graph.nodes.back();
    like.layer = layer.b;
    like.scopes.clear();
    for (std::size_t i = 0; i < piece.from.size(); ++i) {
      const auto other = others_.find(piece.from[i]);
      const ValueId source = other == others_.end() ? ValueId{} : named(b_, other->second.name);
      if (!source) return fail(Fault::Unsupported, "reads what b has no counterpart of");
      const Sizes& order = other->second.permutation;
      auto read = turned(patch, like, source, order.empty() ? order : inverse(order), a_[piece.from[i]].type.shape,
                         other->second.sizes_b, other->second.sizes_a);
      if (!read) return pass(read);
      now[piece.graph.inputs[i].slot()] = *read;
    }
    for (const Node& node : piece.graph.nodes) {
      std::vector<ValueId> inputs;
      for (const ValueId v : node.inputs) {
        ValueId read = v ? now[v.slot()] : ValueId{};
        if (v && !read && piece.graph[v].constant) {
          read = patch.constant(b_.unique_name(layer.b + "/mended/" + piece.graph[v].name), *piece.graph[v].constant,
                                piece.graph[v].trainable);
          now[v.slot()] = read;
        }
        inputs.push_back(read);
      }
      like.kind = node.kind;
      auto made = patch.node(like, node.op, std::move(inputs), node.outputs.size());
      if (!made) return pass(made);
      for (std::size_t i = 0; i < made->size(); ++i) now[node.outputs[i].slot()] = (*made)[i];
    }
    const ValueId result = now[piece.graph.outputs[0].slot()];
    const auto count = [](const Shape& shape) { return checked_count(sizes_of(shape).value_or(Sizes{})); };
    const bool fits = count(patch.type(result).shape) == count(b_[to].type.shape);
    const bool has_other_rank = patch.type(result).rank() != b_[to].type.rank();
    auto given =
        turned(patch, like, result, layer.permutation,
               fits || has_other_rank ? b_[to].type.shape : patch.type(result).shape, layer.sizes_a, layer.sizes_b);
    if (!given) return pass(given);
    patch.replace(to, *given);
    return apply(b_, std::move(patch));
  }

  const Graph& a_;
  Graph& b_;
  const Diagnosis& diagnosis_;
  std::vector<bool> matched_;
  std::map<ValueId, Other> others_;
};

}  // namespace

Result<Graph> mend(const Graph& a, const Graph& b, const Diagnosis& diagnosis) {
  for (const Finding& finding : diagnosis.findings)
    if (finding.cause == "input_hw_swapped")
      return fail(Fault::Unsupported, "the whole model takes rows for columns: exchange them in front of it");
  auto forms = both_forms(a, b, diagnosis.unsaid);
  if (!forms) return pass(forms);
  Graph& mended = forms->second;
  if (auto done = Mender(forms->first, mended, diagnosis).run(); !done) {
    done.error().fault = Fault::Unsupported;
    return pass(done);
  }
  for (Value& value : mended.values) value.origin.reset();
  mended.name = b.name;
  mended.source_format = b.source_format;
  mended.output_names = b.output_names;
  return std::move(mended);
}

}  // namespace convoy::diagnose
