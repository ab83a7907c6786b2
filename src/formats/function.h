// One call of a framework's function, in that framework's words, while it becomes nodes of a graph. A format's table
// holds one row per function; model files, pasted text and the functions of include/convoy/ all come through it.
#pragma once
#include "formats/attrs.h"
#include "formats/rows.h"
#include "graph/graph.h"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace convoy {

// The tensors among the arguments, by the framework's name for them: {"input", ...}, {"weight", ...}.
using TensorArguments = std::map<std::string, ValueId, std::less<>>;

class UnknownSizes;

// What the meaning of a call depends on besides its arguments.
struct CallSetting {
  Size opset = 0;           // the version of the operator set (ONNX); 0 where functions have no such thing
  std::size_t results = 1;  // how many results are asked for: some functions give more of them on request
  UnknownSizes* sizes = nullptr;  // of the graph that is added to; none: every free size of an input is its own
};

struct FunctionRow;

class FunctionCall {
 public:
  FunctionCall(Graph& graph, std::string name, const Json& arguments, TensorArguments tensors, std::string layer,
               CallSetting setting = {});

  const std::string name;  // of the row: "conv2d"
  const Size opset;
  const std::size_t results;
  Attrs attrs;             // the arguments that are no tensors

  bool failed() const { return attrs.failed(); }
  void refuse(Fault fault, std::string what) { attrs.refuse(fault, std::move(what)); }

  // A tensor among the arguments. `tensor` fails where it is missing.
  ValueId tensor(std::string_view argument);
  ValueId optional(std::string_view argument);  // refers to nothing where it is absent
  // The tensors of an argument that takes any number of them: they came as {"inputs.0", ...}, {"inputs.1", ...}.
  std::vector<ValueId> several(std::string_view argument);
  const TensorType& type(ValueId value) const;
  const Shape& shape(ValueId value) const { return type(value).shape; }
  Size rank(ValueId value) const { return type(value).rank(); }
  Dim dim(ValueId value, Size axis) const;  // unknown where there is no such axis
  // Whether two axes are equally long in every run: known and equal, or free and made of one size. Two free ones that merely may be are
  // not.
  bool is_as_long(ValueId value, Size axis, ValueId other, Size other_axis);
  // The operator whose result it is; null: an input or a constant.
  const Op* made_by(ValueId value) const;
  // The numbers of a tensor that is known beforehand; null where they come only when the model runs.
  const Tensor* constant(ValueId value) const;
  // The same, refused where they come only then; `what` names the tensor: "argument 'perm'".
  const Tensor* known(ValueId value, const std::string& what);
  // Its numbers, refused where they are no whole ones as well.
  std::optional<Sizes> known_integers(ValueId value, const std::string& what);
  // What a value was before it was cast to a type that holds all numbers of its own: of float32 to float64, of int8 to int64. The
  // value itself where it was not.
  ValueId before_widening(ValueId value) const;
  // Whether all its numbers are zeros, however many there are.
  bool is_zeros(ValueId value) const;

  // Adds a node; refers to nothing once the call has failed. Absent inputs at the end may be left out.
  ValueId add(Op op, std::vector<ValueId> inputs);
  std::vector<ValueId> add_all(Op op, std::vector<ValueId> inputs);
  // `one`, a constant of size 1 along every axis, in the shape of another value, whose numbers are not read.
  ValueId filled_like(ValueId one, ValueId like);
  // log(sum(exp(x))), which finite numbers do not overflow; infinities are what the frameworks make of them.
  ValueId log_sum_exp(ValueId x, const Sizes& axes, bool keeps_axes);
  // What an equation makes of these, in the words of the frameworks ("...", no arrow, any number of operands).
  ValueId einsum(const std::string& equation, const std::vector<ValueId>& operands);
  // What another function of the framework makes of these, as part of this call.
  std::vector<ValueId> through(const FunctionRow& row, const Json& arguments, TensorArguments tensors,
                               std::size_t wanted = 1);
  ValueId make_constant(std::string_view word, Tensor tensor);
  // A constant with its axes in another order, under `shape` if that is given: it remembers how it lies in the file.
  ValueId turned(std::string_view word, ValueId constant, const Sizes& permutation, const Sizes& shape = {});
  // Notes what training alone does and no node says, of a weight, or else of the layer.
  void leave_to_training(const std::string& what, ValueId weight = {});
  // x as no gradient comes back through it. Known numbers are handed on: a weight that is read so in one place may learn in
  // another.
  ValueId stopped(ValueId x);
  // The numbers of a constant in another order; what is made takes its name.
  ValueId remade(ValueId constant, Tensor tensor, std::shared_ptr<const Quantization> quantization = {});
  // Null: its numbers are what they are.
  const Quantization* quantization(ValueId value) const;
  void set_quantization(ValueId value, Quantization quantization);

  // Fails with the first failure, and on every argument that nobody asked for.
  Status done();

 private:
  Graph& graph_;
  TensorArguments tensors_;
  std::set<std::string, std::less<>> asked_;
  std::string layer_;
  UnknownSizes* sizes_;
  std::shared_ptr<UnknownSizes> own_sizes_{};  // where none are given, once they are asked for
};

// `parameters`: the names in the order of the framework's own signature, separated by blanks, so that pasted text can
// give them by place: "input weight bias stride padding". A name with "..." behind it takes all tensors that are left.
struct FunctionRow {
  std::string_view name;
  std::string_view parameters;
  std::vector<ValueId> (*read)(FunctionCall&) = nullptr;
};

// Adds the nodes of one call behind the graph; `layer` names them. Fails: a name that is in no table, an argument that
// is not understood, what the framework itself refuses.
Result<std::vector<ValueId>> call_function(std::span<const FunctionRow> rows, Graph& graph, const std::string& name,
                                           const Json& arguments, TensorArguments tensors, const std::string& layer,
                                           CallSetting setting = {});
// The length of an axis that must be known for what is made of it; refuses a free one.
Size known_size(FunctionCall& call, ValueId x, Size axis);

const FunctionRow* row_of(std::span<const FunctionRow> rows, std::string_view name);

}  // namespace convoy
