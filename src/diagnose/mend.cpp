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

class Mender {
 public:
  Mender(const Graph& a, Graph& b, const Diagnosis& diagnosis)
      : a_(a),
        b_(b),
        diagnosis_(diagnosis),
        matched_(a.values.size(), false) {
    for (std::size_t i = 0; i < std::min(a.inputs.size(), b.inputs.size()); ++i)
      match(a.inputs[i], b[b.inputs[i]].name, {});
    for (const Layer& layer : diagnosis.layers)
      if (const ValueId v = named(a, layer.value_a)) match(v, layer.value_b, layer.permutation);
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
  };

  void match(ValueId v, const std::string& other, const Sizes& permutation) {
    matched_[v.slot()] = true;
    others_[v] = {other, permutation};
  }

  Result<ValueId> turned(Patch& patch, const Node& like, ValueId v, const Sizes& order, const Shape& wanted) const {
    if (!order.empty() && !is_identity(order) && static_cast<Size>(order.size()) == patch.type(v).rank()) {
      auto made = patch.one(like, Transpose{order}, {v});
      if (!made) return made;
      v = *made;
    }
    const auto from = sizes_of(patch.type(v).shape), to = sizes_of(wanted);
    if (from && to && *from != *to && checked_count(*from) == checked_count(*to))
      return patch.one(like, Reshape{*to}, {v});
    return v;
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
      auto read = turned(patch, like, source, order.empty() ? order : inverse(order), a_[piece.from[i]].type.shape);
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
    auto given = turned(patch, like, result, layer.permutation, fits ? b_[to].type.shape : patch.type(result).shape);
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
