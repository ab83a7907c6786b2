// Which sizes that are not known beforehand are equal in every run of a graph, and how they follow from others.
#pragma once
#include "formats/numbers.h"
#include "graph/graph.h"

#include <map>

namespace convoy {

class UnknownSizes {
 public:
  // The sizes of an input: equal words are equal sizes, a size without a word is its own.
  void add_input(const Graph& graph, ValueId input, const std::vector<std::string>& words);
  // The outputs of the nodes that were added since the last call. An output's size is taken for an input's where the
  // operator's own rule hands on every one of many different sizes.
  void follow(const Graph& graph);
  // One per axis; those of known sizes say nothing.
  const std::vector<SizeId>& of(ValueId value);
  // How a number follows from sizes of which none follows from another, found by asking the shape rules of the operators in between.
  MaybeFormula followed(const Graph& graph, const SizeFormula& formula);

 private:
  // What a size is that an operator makes of others.
  struct Made {
    NodeId node;
    std::size_t output = 0, axis = 0;
    std::optional<MaybeFormula> formula{};  // once it was asked for
  };
  MaybeFormula made_of(const Graph& graph, SizeId size);
  MaybeFormula fitted(const Graph& graph, const Made& made);

  std::vector<SizeId>& room_for(ValueId value, std::size_t axes);
  void follow_node(const Graph& graph, NodeId id);

  std::map<std::string, SizeId> words_;
  std::vector<std::vector<SizeId>> sizes_;  // by value
  std::map<SizeId, Made> made_;
  std::size_t nodes_ = 0;
  SizeId next_ = 0;
};

}  // namespace convoy
