// Which values of the two graphs stand for each other, and how the inputs of one become those of the other.
#pragma once
#include "graph/graph.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace convoy {

using Names = std::map<std::string, ValueId, std::less<>>;
Names names_of(const Graph& graph);

// For each value of the target, the value of the source that it carries. Nothing: none, or one that does not exist.
std::vector<ValueId> counterparts(const Names& source, const Graph& target);
// An input that says nothing of its origin is the source's input of that name.
ValueId source_of_input(const Names& source, const Graph& target, ValueId input);
// A value without an origin carries itself.
Origin origin_of(const Value& value);
// Back through what leaves its input as it is.
ValueId canonical(const Graph& graph, ValueId v);
// The source's inputs as the target takes them. Fails: an input of the target that is none of the source's.
Result<std::vector<Tensor>> target_inputs(const Graph& source, const Graph& target, const std::vector<Tensor>& inputs);

// Per value of the source: whether the target computes it too.
std::vector<bool> meeting(const Graph& source, const Graph& target, const std::vector<ValueId>& counterparts);
// Those of them that may be replaced by other numbers in both graphs, because whatever is computed from them is computed
// from the same ones in both: not where one graph reads a value and the other what that was made of. Indices stay.
std::vector<bool> replaceable(const Graph& source, const Graph& target, const std::vector<ValueId>& counterparts);

// The size of the smallest table that each value indexes, 1 where it is free, 0 where there is none.
std::vector<Size> index_ranges(const Graph& graph);
// Whether an index is computed with each value: other numbers in its place, as below zero behind an absolute value, may give places
// that no table has.
std::vector<bool> index_makers(const Graph& graph);

}  // namespace convoy
