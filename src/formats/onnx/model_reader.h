// Makes a graph of a model, node by node: known numbers are computed, shape computations followed, everything else goes
// through the rows of the operators. Nodes that no output needs are not looked at.
#pragma once
#include "formats/format.h"
#include "formats/free_parts.h"
#include "formats/onnx/catalogue/catalogue.h"
#include "formats/onnx/constants.h"
#include "formats/onnx/file_names.h"
#include "formats/onnx/known.h"
#include "formats/onnx/model.h"
#include "formats/onnx/oldest_operators.h"
#include "formats/onnx/tensor.h"
#include "formats/shape_inputs.h"
#include "formats/unknown_sizes.h"

#include <algorithm>
#include <span>
#include <unordered_set>

namespace convoy::onnx {

// The names that a node reads, by itself and within its graphs.
void names_read(const ModelNode& node, std::unordered_set<std::string>& names);

class ModelReader {
 public:
  ModelReader(const Model& model, TensorSource source, const LoadOptions& options,
              const std::map<std::string, Tensor>& given)
      : model_(model),
        source_(std::move(source)),
        options_(options),
        given_(given) {}

  Result<Graph> read();

 private:
  // What the file says of an output is what its operators give, where no other sizes were asked for.
  Status check_output(const std::string& name, const TensorType& type) const;
  // The element types that the file tells of the values in between.
  Status check_infos(Names& names) const;
  Status check_model();
  // Names of values or of nodes, which stand for their first result.
  Result<std::vector<std::string>> wanted_outputs() const;
  Status add_initializers(const ModelGraph& graph, Names& names);
  Status add_inputs(Names& names);
  void tell_defaults(const std::vector<std::string>& names) const;
  Status add_input(const ValueInfo& info, Names& names, std::size_t inputs);  // one of so many
  // What the outputs need, in the file's order, which must be one of computation.
  Status add_nodes(const ModelGraph& graph, Names& names);
  Status add_node(const ModelNode& node, const std::string& name, Names& names);
  void note_product_scales(const ModelNode& node, const std::string& name, Names& names);
  // Of ONNX's own domain, in the words of an opset that the catalogue tells of.
  Status add_own_node(const ModelNode& node, const std::string& name, Names& names);
  Status add_in_its_way(const ModelNode& node, const std::string& name, const std::vector<Known*>& inputs,
                        Names& names);
  // The narrow type that a node gives; 0: none. Fails: a node that would compute in one.
  static Result<Size> narrow_result(const ModelNode& node, const std::vector<Known*>& inputs);
  Status add_narrow_quantize(const ModelNode& node, const std::string& name, Size type,
                             const std::vector<Known*>& inputs, Names& names);
  InputFacts facts_of(Known* known);
  // By the catalogue's opset.
  Size row_opset() const { return std::max(opset_, oldest_read); }

  // Nodes that are told by numbers which follow from free sizes.
  Status add_range(const ModelNode& node, const std::string& name, const std::vector<Known*>& inputs, Names& names);
  Status add_free(const ModelNode& node, Result<ValueId> made, Names& names);
  // Remembers which node it is that sizes are not followed through.
  void note_unfollowed(const ModelNode& node, const std::string& name, const std::vector<Known*>& inputs, Names& names);
  // What all cells of a name are, in every run; nothing: they may differ.
  std::optional<Number> each_of(Known* known);
  std::optional<Number> each_of_result(const ModelNode& node, const std::vector<Known*>& inputs);
  // Whether all cells are as large as the axis is long.
  bool are_as_long(Known* known, Known* x, std::size_t axis);
  static const Numbers* open_numbers(const std::vector<Known*>& inputs, std::size_t i);
  static bool is_told_freely(const ModelNode& node, const std::vector<Known*>& inputs);
  Status add_told_freely(const ModelNode& node, const std::string& name, const std::vector<Known*>& inputs,
                         Names& names);
  Status add_largest(const FreeReading& in, ValueId x, const ModelNode& node, const std::vector<Known*>& inputs,
                     Names& names);
  Result<ValueId> cut_freely(const FreeReading& in, ValueId x, const std::vector<Known*>& inputs);
  Result<ValueId> pad_freely(const FreeReading& in, ValueId x, const ModelNode& node,
                             const std::vector<Known*>& inputs);
  Result<ValueId> tile_freely(const FreeReading& in, ValueId x, const std::vector<Known*>& inputs);

  // Nodes whose results are known beforehand, or follow from shapes.
  // One number, as many times as a shape says.
  Status add_filled(const ModelNode& node, const std::vector<Known*>& inputs, Names& names);
  // To a shape with sizes that are not known beforehand and that the value has not itself.
  bool stretches(const ModelNode& node, const std::vector<Known*>& inputs);
  Status add_stretched(const ModelNode& node, const std::string& name, const std::vector<Known*>& inputs, Names& names);
  Status add_constant(const ModelNode& node, Names& names);
  // One branch of an If whose condition is known stands in the node's place; of one that is computed, both, and a choice.
  Status add_branch(const ModelNode& node, const std::string& name, const std::vector<Known*>& inputs, Names& names);
  Result<std::vector<Known>> results_of_branch(const ModelNode& node, bool taken, Names& names);
  Status add_both_branches(const ModelNode& node, const std::string& name, Known& condition, Names& names);
  // Loops whose turns are known stand turn behind turn.
  Status begin_turns(const ModelGraph& body, const std::vector<Known*>& carried, const std::vector<std::string>& outer,
                     Names& shared);
  Result<std::vector<Known>> turn(const ModelGraph& body, Size number, std::vector<Known> given, Names& shared);
  Result<Known> stacked(std::vector<Known> turns, Size axis, const std::string& name);
  Status end_turns(const ModelNode& node, std::vector<Known> carried, std::vector<std::vector<Known>> given,
                   const Sizes& axes, Names& names);
  Status add_loop(const ModelNode& node, const std::vector<Known*>& inputs, Names& names);
  Status add_scan(const ModelNode& node, const std::vector<Known*>& inputs, Names& names);
  Status add_shape(const ModelNode& node, const std::vector<Known*>& inputs, Names& names);

  // What these are in the one run that the model is read for, of which they are then known; how many were not before.
  Result<std::size_t> ask(std::span<Known* const> wanted);
  // As `numbers`, asked for where they are not known.
  Result<const Numbers*> needed_numbers(Known* known);
  Status add_by_its_kind(const ModelNode& node, const std::string& name, const std::vector<Known*>& inputs,
                         Names& names);
  // The numbers of a name, where they are few; null where there are none beforehand.
  const Numbers* numbers(Known& known);
  // Shape computations, and nodes of known tensors alone. False: the node is neither.
  Result<bool> add_computed(const ModelNode& node, const std::vector<Known*>& inputs, Names& names);
  std::vector<ValueId> add_values(const ModelNode& node, const std::vector<Known*>& inputs,
                                  const std::vector<Numbers>& results);
  // The value of a name in the graph.
  Result<ValueId> value_of(const std::string& name, Known& known);
  // Shapes computed from unknown sizes, as the row can read them.
  void adapt(const ModelNode& node, const std::string& name, const std::vector<Known*>& inputs, RowCall& call,
             std::vector<std::optional<Tensor>>& instead, TensorArguments& tensors);
  void resize_by_owners(const Numbers& wanted, const Shaped& data, RowCall& call, std::optional<Tensor>& instead,
                        const std::string& name, TensorArguments& tensors);
  void reshape_by_owners(const Numbers& shape, const Shaped& data, RowCall& call, std::optional<Tensor>& instead,
                         const std::string& name, TensorArguments& tensors);
  // What the operator's row makes of these.
  Result<std::vector<ValueId>> call_row(const ModelNode& node, const std::string& name, const RowCall& call,
                                        TensorArguments tensors);
  Status add_row(const ModelNode& node, const std::string& name, const std::vector<Known*>& inputs, Names& names);

  const Model& model_;
  TensorSource source_;
  const LoadOptions& options_;
  const std::map<std::string, Tensor>& given_;
  Size opset_ = 0;
  Graph graph_;
  UnknownSizes sizes_;
  FileNames file_names_;
  Allowance allowance_;
  std::unordered_set<std::string> read_;  // names that an output needs
  std::string turn_;  // behind the names of layers within a loop: "/3"
};

}  // namespace convoy::onnx
