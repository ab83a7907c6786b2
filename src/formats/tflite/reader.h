// Makes a graph of a subgraph, operator by operator: what is known beforehand is computed, sizes that are computed from
// free ones are followed, everything else goes through the rows of the operators.
#pragma once
#include "formats/tflite/catalogue/catalogue.h"
#include "formats/tflite/model.h"
#include "formats/tflite/sizes.h"
#include "formats/tflite/tflite.h"
#include "run/cost.h"

#include <nlohmann/json.hpp>

#include <map>
#include <set>

namespace convoy::tflite {

// Null: no such place.
template <class T>
const T* item(const std::vector<T>& all, std::int64_t place) {
  return place >= 0 && static_cast<std::size_t>(place) < all.size() ? &all[static_cast<std::size_t>(place)] : nullptr;
}

// The numbers of a tensor of the file, which `keeper` keeps alive; those of 4 bits a byte each.
Result<Tensor> held_numbers(const StoredTensor& stored, Bytes bytes, const std::shared_ptr<const void>& keeper);

class ModelReader {
 public:
  ModelReader(const Model& model, std::shared_ptr<const void> keeper, const LoadOptions& options)
      : model_(model),
        keeper_(std::move(keeper)),
        options_(options) {}

  Result<Graph> read();

 private:
  // Cells that are moved into the batch, padded as free sizes ask for, and what is computed of them there.
  struct Spread {
    std::size_t front = 0;  // the place of the operator that moves them
    Sizes block;
    SizeNumbers paddings;
    Sizes axes;  // of each block
    Size rank = 0;
    Sizes convolved;  // the same as the convolution sees them; empty: there is none yet
    std::vector<std::size_t> operators;
  };
  // What is known of one of the file's tensors.
  struct Known {
    std::optional<Tensor> tensor;  // its numbers
    std::optional<SizeNumbers> sizes;  // whole numbers that follow from free sizes
    ValueId value;
    ValueId imaginary;  // of complex numbers, whose real part is the value
    std::shared_ptr<const Spread> spread;
    std::string variable;  // the name of what is kept between calls, where the tensor stands for that
  };

  Status choose_subgraph();
  Status check() const;
  Result<std::vector<std::int32_t>> wanted_outputs() const;
  // The operators that the outputs need.
  std::vector<char> needed(const std::vector<std::int32_t>& outputs) const;
  Status add_inputs();
  Result<Shape> shape_of_input(const StoredTensor& tensor, const std::string& name) const;
  Status add_operator(std::size_t place);
  Status add_operators(const std::vector<std::int32_t>& outputs);
  Status add_shape(const StoredOperator& op);
  // The rank, or the shape that two meet in: what is known without the numbers.
  Status add_rank(const StoredOperator& op);
  // Of complex numbers: what makes, moves and reads them.
  bool takes_complex(const StoredOperator& op) const;
  Status add_complex(const Operator& row, const StoredOperator& op, const std::string& layer);
  Status add_transform(const StoredOperator& op, const std::string& layer);
  Status add_common_shape(const StoredOperator& op);
  // Numbers up to a size that is free; false: another RANGE.
  Result<bool> add_free_range(const StoredOperator& op, const std::string& layer);
  // A list from as far on as a size that is free. False: another part.
  Result<bool> add_part_behind(const Operator& row, const StoredOperator& op, const std::string& layer);
  Status add_fill(const StoredOperator& op, const std::string& layer);
  // What is kept between calls is an input here, and what it becomes an output.
  Status add_state(const StoredOperator& op, int code);
  bool changes_state(const StoredOperator& op) const;
  // What is assigned to variables once, before the first call, stays there where nothing else is assigned.
  Status begin_states();
  // What a tensor holds, as another subgraph or a variable takes it; weights are one value then, however often they go round.
  Result<Known> passed_on(std::int32_t tensor);
  // The results of another subgraph, operator by operator behind this one; `way` is in front of the names of its layers.
  Result<std::vector<Known>> results_of(std::int64_t subgraph, std::vector<Known> given, const std::string& way);
  Status add_branch(const StoredOperator& op, const std::string& layer);
  Status add_loop(const StoredOperator& op, const std::string& layer);
  // Fails: the model computes it.
  Result<bool> truth_of(const Known& known, std::string_view of) const;
  Status take_results(const StoredOperator& op, std::vector<Known> results);
  Status add_outputs(std::vector<std::int32_t> wanted);
  Status add_states_to_outputs();
  // `instead`: options that the operator does not have in the file; then its results have other sizes than recorded there.
  Status add_row(const Operator& row, const StoredOperator& op, const std::string& layer,
                 const Json* instead = nullptr);
  // Part of what dilates a convolution at free sizes; false: another operator.
  Result<bool> add_spread(const Operator& row, std::size_t place);
  std::shared_ptr<const Spread> spread_by(const Operator& row, std::size_t place);
  Result<bool> gather(const StoredOperator& op, const Spread& spread);
  // Every input is known: so are the results. False: this operator does not say.
  Result<bool> add_computed(const Operator& row, const StoredOperator& op, const Json& attributes);
  // Sizes computed from free ones, as the row can read them; false where they are not understood.
  bool adapt(const Operator& row, const StoredOperator& op, Json& attributes, TensorArguments& tensors);
  Result<Json> options_of(const Operator& row, const StoredOperator& op) const;
  // The numbers of a tensor as the graph holds them. Nothing: the model computes them.
  Result<const Tensor*> known_tensor(std::int32_t tensor);
  // What was computed beforehand; whole numbers in the type that the file tells of the tensor.
  void know(std::int32_t tensor, Tensor numbers);
  const SizeNumbers* known_sizes(std::int32_t tensor);
  Result<ValueId> value_of(std::int32_t tensor);
  Status check_quantization(std::int32_t tensor) const;
  // How its numbers stand for real ones, where they are kept as they are. Null: they are what they are.
  Result<std::shared_ptr<const Quantization>> quantization_of(std::int32_t tensor) const;
  ValueId add_constant(Graph& graph, const std::string& name, const Tensor& tensor,
                       std::shared_ptr<const Quantization> quantization, bool trainable = true) const;
  // What an operator made, from value `given` on, is held as its results are in the file, or as what it only moves.
  Status hold(Graph& graph, std::size_t given, const StoredOperator& op, std::vector<ValueId>& outputs,
              const std::string& layer);
  // Where quantised numbers stand for real ones, results stay within what their steps reach.
  Status keep_ranges(Graph& graph, const StoredOperator& op, std::vector<ValueId>& outputs, const std::string& layer);
  // Of a tensor of whole numbers of 8 or 16 bits with one scale.
  std::optional<Clip> range_of(std::int32_t tensor) const;
  // The type and sizes that the file tells of a result are those that the row gives.
  Status check_recorded(std::int32_t tensor, ValueId read) const;
  void name_values(Graph& graph) const;
  std::string name_of(std::int32_t tensor) const;
  void name_layers();

  const Model& model_;
  std::shared_ptr<const void> keeper_;
  const LoadOptions& options_;
  const SubGraph* subgraph_ = nullptr;
  const Signature* signature_ = nullptr;
  Graph graph_;
  std::vector<std::string> layers_;  // the names of the operators
  std::vector<Known> known_;  // by tensor
  std::vector<std::pair<ValueId, std::string>> names_;
  std::map<std::string, Known> next_states_;  // what was assigned to each variable
  std::map<std::string, Known> begun_states_;  // what those hold that nothing but the file's own beginning assigns to
  std::map<std::size_t, std::vector<Known>> weights_;  // of subgraphs that were gone through, by tensor
  std::map<ValueId, Clip> ranges_;  // what is known to lie within that of its steps
  std::set<std::string> remembering_;  // layers that keep a state of their own
  std::string way_;  // in front of names, inside another subgraph
  int depth_ = 0;  // of subgraphs inside others
  Allowance allowance_;
};

}  // namespace convoy::tflite
