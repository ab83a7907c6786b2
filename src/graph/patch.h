// What a pass wants changed. A pass reads the graph and returns a patch; it never touches the graph.
#pragma once
#include "graph/graph.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace convoy {

// One thing a pass did, for the user: which layer, what, and why.
struct Remark {
  std::string layer;
  std::string text;
};

class Patch {
 public:
  explicit Patch(const Graph& graph) : graph_(&graph), next_value_(static_cast<std::int32_t>(graph.values.size())) {}

  // A new constant; its id may be used in this patch at once.
  ValueId constant(std::string name, Tensor tensor, bool trainable = true, std::optional<Origin> origin = {});
  // A new node that comes from the same layer as `like` (name, kind and scopes are taken from it). Its outputs' types
  // are inferred at once; their names are the layer's and the operator's until they replace a value. Returns their ids.
  Result<std::vector<ValueId>> node(const Node& like, Op op, std::vector<ValueId> inputs, std::size_t outputs = 1);
  // The same of an operator with one result.
  Result<ValueId> one(const Node& like, Op op, std::vector<ValueId> inputs);
  // The node goes and `now` stands for its one result; where making `now` failed, that is passed on.
  Status become(NodeId node, Result<ValueId> now);
  // The node goes (its outputs must be replaced or unused).
  void remove(NodeId node) { removed_.insert(node); }
  // Every later use of `before`, also as output of the graph, becomes `now`; `now` inherits the origin of `before`,
  // changed by `permutation` (applied behind the one `before` already has), and its name.
  void replace(ValueId before, ValueId now, Sizes permutation = {});
  // States an origin outright (where feature order changes, say).
  void origin(ValueId value, Origin origin) { origins_[value] = std::move(origin); }
  // The graph's input takes another shape (inputs reordered by a pass); nodes made later in this patch see that shape.
  void reshape_input(ValueId input, Shape shape, Origin origin);
  void remark(const Node& node, std::string text) { remarks_.push_back({node.layer, std::move(text)}); }

  // The type of a value of the graph or of this patch.
  const TensorType& type(ValueId value) const;
  bool empty() const;
  const std::vector<Remark>& remarks() const { return remarks_; }

 private:
  friend Status apply(Graph& graph, Patch patch);

  struct Replaced {
    ValueId now;
    Sizes permutation;
  };
  const Graph* graph_;
  std::int32_t next_value_;
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::set<NodeId> removed_;
  std::map<ValueId, Replaced> replaced_;
  std::map<ValueId, Origin> origins_;
  std::map<ValueId, std::pair<TensorType, Origin>> inputs_;
  std::vector<Remark> remarks_;
};

// Carries the patch out, sorts the nodes anew (stable), prunes what became unused, infers all types and checks.
Status apply(Graph& graph, Patch patch);

}  // namespace convoy
