// Which sizes that are not known beforehand are equal in every run of a graph, and how they follow from others.
#pragma once
#include "formats/numbers.h"
#include "graph/graph.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

  // A value of the graph and its axis that has this size, or is as long as a formula that was followed and raised; inputs before all
  // others, no constants. Nothing: none has.
  using Axis = std::pair<ValueId, std::size_t>;
  std::optional<Axis> axis_of_size(const Graph& graph, SizeId size);
  std::optional<Axis> axis_as_long(const Graph& graph, const SizeFormula& formula);
  // Whether two free axes are equally long in every run.
  bool are_equal(const Graph& graph, Axis a, Axis b);

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
  void find_axes(const Graph& graph);  // of the values that came since

  std::map<std::string, SizeId> words_;
  std::vector<std::vector<SizeId>> sizes_;  // by value
  std::map<SizeId, Made> made_;
  std::map<SizeId, Axis> by_size_;
  std::map<std::string, Axis> by_formula_;  // by its text
  std::vector<SizeId> unnamed_;  // of by_size_, whose formulas nobody asked for yet
  std::size_t nodes_ = 0, values_ = 0;
  SizeId next_ = 0;
};

// Whether an axis of one value is as long as the same one of another in every run, because both sizes come from one; every free size of
// an input is its own.
bool has_same_size(const Graph& graph, ValueId a, ValueId b, std::size_t axis);

}  // namespace convoy
