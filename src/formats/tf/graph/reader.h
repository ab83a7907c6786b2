// Makes a graph of a TensorFlow graph, from its outputs back: functions are walked where they are called, branches and loops
// are followed where what decides them is known beforehand, shape computations are computed, everything else goes through
// the rows of the operators. What no output needs is not looked at.
#pragma once
#include "base/fresh_names.h"
#include "containers/json.h"
#include "formats/format.h"
#include "formats/numbers.h"
#include "formats/tf/graph/messages.h"
#include "formats/unknown_sizes.h"
#include "run/cost.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace convoy::tf {

struct Known;
using Slot = std::shared_ptr<Known>;

// Cells of x that were moved into the batch, and what was done to them there.
struct Spread {
  Slot x;
  Sizes block, axes;  // axes: where the blocked ones lie by now
  Numbers paddings;  // before and after, for each blocked axis
  Size rank = 0;
  Sizes convolved;  // where they lay for the convolution; empty: there was none yet
  std::vector<const GraphNode*> nodes;
  std::vector<std::vector<Slot>> inputs;
};

// What is known of one result of a node: a value of the graph, numbers, a variable, or why there is nothing.
struct Known {
  ValueId value;
  std::optional<Tensor> tensor;
  std::optional<Numbers> numbers;
  bool of_shapes = false;  // computed from shapes, not given
  std::string name;  // of the weight whose numbers these are
  std::optional<Tensor> filled;  // one number, as many times as `fill` says, of which not all is known beforehand
  std::optional<Numbers> fill;
  std::string variable;  // a resource: the node that holds it
  bool dead = false;  // of a branch that is not taken
  std::optional<Error> error;  // why it is not carried, said where it is needed
  std::shared_ptr<const Spread> spread;
  std::shared_ptr<const std::vector<Slot>> list;  // null: an item that was not written
  // Drawn by chance, in the shape `fill`: from this number on, below the next whole step.
  std::optional<double> least_of_chance;
};

// Where names point within one list of nodes.
struct NodeIndex {
  std::unordered_map<std::string_view, std::size_t> by_name;
};

// One walk through a list of nodes: the main graph, a call of a function, one turn of a loop.
struct Frame {
  const std::vector<GraphNode>* nodes = nullptr;
  const NodeIndex* index = nullptr;
  std::string way;  // the calls that lead here: "call/inner/"
  bool main = false;
  std::map<std::string, Slot, std::less<>> arguments;
  std::vector<std::vector<Slot>> results;  // by node; empty: not asked for yet
  std::vector<char> open;  // by node: being walked
  Frame* around = nullptr;  // of a turn of a loop: where the loop stands
  std::map<std::string, std::map<std::size_t, Slot>> loops;  // by the loop's name: what its Exit nodes give
  int depth = 0;
};

// An input or an output of the model: what it is called, and the place that the graph gives it.
struct Endpoint {
  std::string name, place;  // "x", "serving_default_x:0"
  std::optional<Shape> shape{};
  std::optional<DType> dtype{};
};

// The numbers of the variable that a node holds.
using VariableSource = std::function<Result<Tensor>(const GraphNode&)>;

class GraphReader {
 public:
  GraphReader(const StoredGraph& graph, std::shared_ptr<const void> keeper, const LoadOptions& options,
              VariableSource variables);

  // `inputs`: places of the main graph that the model is given; none: its placeholders, in their order.
  // `outputs`: none: what no other node reads.
  Result<Graph> read(std::vector<Endpoint> inputs, std::vector<Endpoint> outputs);

  // Of the main graph: "node:output:0" of constants, followed through Identity; for what a file says in text.
  const GraphNode* node(std::string_view name) const;

 private:
  using Slots = std::vector<Slot>;
  struct Reference {
    std::string_view node, output;
    Size place = 0;
    bool control = false;
  };

  // ---- reader.cpp: the walk
  Status add_inputs(std::vector<Endpoint>& inputs, const std::vector<Endpoint>& outputs);
  Status add_input(const Endpoint& input, std::size_t inputs);
  std::vector<Endpoint> sinks() const;
  // Fails where the graph trains as well: then nothing says which of its nodes answer.
  Status expect_no_training() const;
  // Of each node, which of these it is computed from, a bit for each; those beyond 63 share one. What is computed of a shape alone
  // may count as well, or not.
  std::vector<std::uint64_t> computed_from(const std::vector<std::size_t>& roots, bool by_shapes) const;
  std::vector<std::size_t> input_nodes() const;
  std::vector<std::vector<std::size_t>> readers_of_nodes() const;
  std::vector<char> needed_by(const std::vector<Endpoint>& outputs) const;
  std::optional<std::size_t> index_of(const Frame& frame, std::string_view name) const;
  Reference reference_in(const Frame& frame, std::string_view text) const;
  Result<Slot> evaluate(Frame& frame, const std::string& text);
  Result<Slot> found(Frame& frame, const std::string& text);  // of what was walked already
  Status walk(Frame& frame, std::size_t node);
  std::vector<std::string> reads(const Frame& frame, const GraphNode& node) const;
  Result<Slots> evaluate_node(Frame& frame, const GraphNode& node, std::size_t place);
  bool is_resized() const { return !options_.size.empty() || !options_.shapes.empty(); }
  Status check_recorded(const GraphNode& node, const Slots& results) const;
  Status check_output(const Endpoint& output, const TensorType& read) const;
  Frame frame_of(const std::vector<GraphNode>& nodes, std::string way);

  // ---- structure.cpp: nodes that are no operators
  Result<Slots> structural(Frame& frame, const GraphNode& node, const Slots& inputs, bool& handled);
  bool is_behind_change(const Frame& frame, const GraphNode& node) const;
  void note_changes(Frame& frame);
  // Says which variables a call leaves behind for the next one.
  void remark_on_memory() const;
  Result<Slots> placeholder(const GraphNode& node, const Slots& inputs);
  Result<Slots> constant(const Frame& frame, const GraphNode& node);
  Result<Slots> variable(const GraphNode& node, const std::string& name);
  Result<Slots> shape(const GraphNode& node, const Known& x);
  Result<Slots> filled(const GraphNode& node, const Slots& inputs);
  Result<Slots> call(Frame& frame, const GraphNode& node, const std::string& function, const Slots& arguments);
  Result<Slots> branch(Frame& frame, const GraphNode& node, const Slots& inputs);
  Result<ValueId> one_of(ValueId condition, Known& if_true, Known& if_false, const std::string& layer);
  Result<Slots> while_loop(Frame& frame, const GraphNode& node, const Slots& inputs);
  Result<Slots> exit_of_loop(Frame& frame, const GraphNode& node, std::size_t place);
  Status run_loop(Frame& frame, const std::string& name);
  std::optional<bool> truth_of(Known& known);

  // ---- spread.cpp: what several nodes mean as one
  std::shared_ptr<const Spread> spread_by(const GraphNode& node, const Slots& inputs);
  Result<std::optional<Slots>> gathered(const GraphNode& node, const Slots& inputs);
  Result<std::optional<Slots>> repeated_cells(const GraphNode& node, const Slots& inputs, const std::string& layer);

  // ---- lists.cpp
  Result<std::optional<Slots>> of_lists(Frame& frame, const GraphNode& node, const Slots& inputs);
  Result<Slot> empty_list(Known& length);
  Result<Slots> items_of(Frame& frame, const GraphNode& node, const Slot& tensor);
  Result<std::optional<Slots>> of_arrays(Frame& frame, const GraphNode& node, const Slots& inputs);
  std::optional<Slots> of_chance(const GraphNode& node, const Slots& inputs);

  // ---- node.cpp: operators
  Result<Slots> operate(Frame& frame, const GraphNode& node, const Slots& inputs);
  Result<bool> computed(const GraphNode& node, const Slots& inputs, Slots& results);
  // `said`: attributes in place of the node's own.
  Result<Slots> by_row(const GraphNode& node, const Slots& inputs, const std::string& layer,
                       const Json* said = nullptr);
  Result<Slots> stretched(const GraphNode& node, const Slots& inputs, const std::string& layer);
  const Numbers* numbers(Known& known);
  Result<ValueId> value_of(Known& known, const std::string& name);
  std::string layer_of(const Frame& frame, const GraphNode& node);

  const StoredGraph& stored_;
  std::shared_ptr<const void> keeper_;
  const LoadOptions& options_;
  VariableSource variables_;
  Graph graph_;
  UnknownSizes sizes_;
  Allowance allowance_;
  std::map<const void*, std::unique_ptr<NodeIndex>> indices_;  // in front of whatever points into them
  Frame main_;
  std::map<std::string, Slot> variables_read_;
  std::map<std::string, std::string> changed_;  // variables that each call assigns to, by the node that does
  FreshNames layers_;
  SizeId unnamed_ = -1;  // of numbers that follow from unknown sizes in ways that are not followed: each is its own
};

}  // namespace convoy::tf
