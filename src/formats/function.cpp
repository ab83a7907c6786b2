// Calls of functions: their tensors, and the nodes they add.
#include "formats/function.h"

#include "base/permute.h"
#include "formats/einsum_steps.h"
#include "formats/unknown_sizes.h"
#include "graph/filled_like.h"
#include "ops/axes.h"
#include "ops/expect.h"

#include <algorithm>

namespace convoy {

FunctionCall::FunctionCall(Graph& graph, std::string called, const Json& arguments, TensorArguments tensors,
                           std::string layer, CallSetting setting)
    : name(std::move(called)),
      opset(setting.opset),
      results(setting.results),
      attrs(arguments),
      graph_(graph),
      tensors_(std::move(tensors)),
      layer_(std::move(layer)),
      sizes_(setting.sizes) {
  for (const auto& [argument, value] : tensors_) attrs.given_as_tensor(argument);
}

ValueId FunctionCall::tensor(std::string_view argument) {
  const ValueId value = optional(argument);
  if (!value) refuse(Fault::Format, "argument '" + std::string(argument) + "' is missing");
  return value;
}

ValueId FunctionCall::optional(std::string_view argument) {
  asked_.emplace(argument);
  attrs.ignore({argument});
  const auto found = tensors_.find(argument);
  return found == tensors_.end() ? ValueId{} : found->second;
}

std::vector<ValueId> FunctionCall::several(std::string_view argument) {
  std::vector<ValueId> all;
  for (;;) {
    const ValueId value = optional(std::string(argument) + "." + std::to_string(all.size()));
    if (!value) return all;
    all.push_back(value);
  }
}

const Op* FunctionCall::made_by(ValueId value) const {
  return value && graph_[value].producer ? &graph_[graph_[value].producer].op : nullptr;
}

const TensorType& FunctionCall::type(ValueId value) const {
  static const TensorType nothing;
  return value ? graph_[value].type : nothing;
}

Dim FunctionCall::dim(ValueId value, Size axis) const {
  const Shape& all = shape(value);
  return axis >= 0 && axis < static_cast<Size>(all.size()) ? all[static_cast<std::size_t>(axis)] : Dim::unknown();
}

bool FunctionCall::is_as_long(ValueId value, Size axis, ValueId other, Size other_axis) {
  const Dim one = dim(value, axis), two = dim(other, other_axis);
  if (one.known() || two.known()) return one == two;
  if (failed() || axis < 0 || other_axis < 0 || axis >= rank(value) || other_axis >= rank(other)) return false;
  if (!sizes_) {
    own_sizes_ = std::make_shared<UnknownSizes>();
    for (const ValueId input : graph_.inputs) own_sizes_->add_input(graph_, input, {});
    sizes_ = own_sizes_.get();
  }
  return sizes_->are_equal(graph_, {value, static_cast<std::size_t>(axis)},
                           {other, static_cast<std::size_t>(other_axis)});
}

const Tensor* FunctionCall::constant(ValueId value) const {
  return value && graph_[value].constant ? &*graph_[value].constant : nullptr;
}

const Tensor* FunctionCall::known(ValueId value, const std::string& what) {
  const Tensor* tensor = constant(value);
  if (!tensor) refuse(Fault::Unsupported, what + " is known only when the model runs; it must be known beforehand");
  return tensor;
}

std::optional<Sizes> FunctionCall::known_integers(ValueId value, const std::string& what) {
  const Tensor* tensor = known(value, what);
  if (!tensor) return std::nullopt;
  if (!is_floating(tensor->dtype())) return tensor->integers();
  refuse(Fault::Format, what + " holds no whole numbers");
  return std::nullopt;
}

namespace {

template <class... Ops>
bool is_one(const Op& op) {
  return (holds_alternative<Ops>(op) || ...);
}

}  // namespace

ValueId FunctionCall::before_widening(ValueId value) const {
  while (value && graph_[value].producer) {
    const Node& node = graph_[graph_[value].producer];
    if (!is_one<Cast>(node.op)) return value;
    const ValueId from = node.inputs.front();
    const DType narrow = graph_[from].type.dtype, wide = graph_[value].type.dtype;
    const bool one_kind = is_floating(narrow) == is_floating(wide) && narrow != DType::Bool && narrow != DType::U64;
    if (!one_kind || meeting(narrow, wide) != wide) return value;
    value = from;
  }
  return value;
}

// Zeros that are moved, repeated or cut stay zeros.
bool FunctionCall::is_zeros(ValueId value) const {
  while (value && !graph_[value].constant) {
    const NodeId producer = graph_[value].producer;
    if (!producer) return false;
    const Node& node = graph_[producer];
    if (!is_one<ExpandLike, Tile, Reshape, Flatten, Unsqueeze, Squeeze, Transpose, Slice, Split, Identity, Cast>(
            node.op))
      return false;
    value = node.inputs.front();
  }
  return value && std::ranges::all_of(graph_[value].constant->doubles(), [](double v) { return v == 0; });
}

ValueId FunctionCall::add(Op op, std::vector<ValueId> inputs) {
  const auto outputs = add_all(std::move(op), std::move(inputs));
  return outputs.empty() ? ValueId{} : outputs.front();
}

void FunctionCall::leave_to_training(const std::string& what, ValueId weight) {
  if (!failed()) graph_.left_to_training.push_back(what + " of '" + (weight ? graph_[weight].name : layer_) + "'");
}

ValueId FunctionCall::stopped(ValueId x) {
  if (failed() || !is_floating(type(x).dtype)) return x;
  if (!constant(x)) return add(Identity{true}, {x});
  if (graph_[x].trainable) leave_to_training("detach()", x);
  return x;
}

ValueId FunctionCall::filled_like(ValueId one, ValueId like) {
  if (failed()) return {};
  return convoy::filled_like(shape(like), one, like,
                             [&](Op op, std::vector<ValueId> in) { return add(std::move(op), std::move(in)); });
}

// m + log(sum(exp(x - m))) with m the largest number, a finite one: it is taken from infinities, too.
ValueId FunctionCall::log_sum_exp(ValueId x, const Sizes& axes, bool keeps_axes) {
  if (failed()) return {};
  const double finite = largest_finite(type(x).dtype);
  const ValueId most = add(Clip{-finite, finite}, {add(Reduce{Reduction::Maximum, axes, true}, {x})});
  const ValueId powers = add(Unary{Function::Exp}, {add(Binary{BinaryFunction::Subtract}, {x, most})});
  const ValueId sum = add(Unary{Function::Log}, {add(Reduce{Reduction::Sum, axes, keeps_axes}, {powers})});
  return add(Binary{BinaryFunction::Add}, {sum, keeps_axes ? most : add(Squeeze{axes}, {most})});
}

std::vector<ValueId> FunctionCall::add_all(Op op, std::vector<ValueId> inputs) {
  if (failed()) return {};
  while (!inputs.empty() && !inputs.back()) inputs.pop_back();
  auto outputs = graph_.add(std::move(op), std::move(inputs), layer_, name);
  if (outputs) return std::move(*outputs);
  outputs.error().where.clear();  // the caller knows the place better
  attrs.refuse(std::move(outputs.error()));
  return {};
}

ValueId FunctionCall::einsum(const std::string& equation, const std::vector<ValueId>& operands) {
  if (failed()) return {};
  std::vector<Shape> shapes;
  for (const ValueId operand : operands) shapes.push_back(shape(operand));
  auto steps = einsum_steps(equation, shapes);
  if (!steps) {
    refuse(steps.error().fault, steps.error().what);
    return {};
  }
  std::vector<ValueId> values = operands;
  for (EinsumStep& step : *steps) {
    std::vector<ValueId> inputs;
    for (const std::size_t one : step.of) inputs.push_back(values[one]);
    values.push_back(add(std::move(step.op), std::move(inputs)));
  }
  return values.back();
}

std::vector<ValueId> FunctionCall::through(const FunctionRow& row, const Json& arguments, TensorArguments tensors,
                                           std::size_t wanted) {
  if (failed()) return {};
  FunctionCall inner(graph_, std::string(row.name), arguments, std::move(tensors), layer_, {opset, wanted, sizes_});
  auto made = row.read(inner);
  auto said = inner.done();
  if (said) return made;
  attrs.refuse(std::move(said.error()));
  return {};
}

ValueId FunctionCall::make_constant(std::string_view word, Tensor tensor) {
  const bool literal = tensor.rank() == 0;
  const ValueId made = graph_.constant(layer_ + "/" + std::string(word), std::move(tensor), false);
  graph_[made].literal = literal;
  return made;
}

ValueId FunctionCall::turned(std::string_view word, ValueId constant, const Sizes& permutation, const Sizes& shape) {
  const Value& before = graph_[constant];
  Tensor tensor = before.constant->permuted(permutation);
  std::optional<Origin> origin = Origin{before.name, before.constant->shape(), permutation};
  if (before.origin) {
    // What was turned and then reshaped has no axes of the file's any more.
    const auto& [source, split, first] = *before.origin;
    origin.reset();
    if (in_order(split, first) == before.constant->shape()) origin = Origin{source, split, compose(first, permutation)};
  }
  if (!shape.empty()) tensor = tensor.reshaped(shape);
  const ValueId made = make_constant(word, std::move(tensor));
  graph_[made].origin = std::move(origin);
  return made;
}

const Quantization* FunctionCall::quantization(ValueId value) const {
  return value ? graph_[value].quantization.get() : nullptr;
}

void FunctionCall::set_quantization(ValueId value, Quantization quantization) {
  graph_[value].quantization = std::make_shared<const Quantization>(std::move(quantization));
}

ValueId FunctionCall::remade(ValueId constant, Tensor tensor, std::shared_ptr<const Quantization> quantization) {
  const ValueId made =
      graph_.constant(graph_.unique_name(graph_[constant].name), std::move(tensor), graph_[constant].trainable);
  std::swap(graph_[made].name, graph_[constant].name);
  graph_[made].type.dtype = graph_[constant].type.dtype;
  graph_[made].quantization = std::move(quantization);
  return made;
}

Status FunctionCall::done() {
  if (auto said = attrs.done(); !said) return said;
  for (const auto& [argument, unused] : tensors_)
    if (!asked_.contains(argument)) return fail(Fault::Unsupported, "argument '" + argument + "' may not be a tensor");
  return {};
}

const FunctionRow* row_of(std::span<const FunctionRow> rows, std::string_view name) {
  const auto found = std::ranges::find(rows, name, &FunctionRow::name);
  return found == rows.end() ? nullptr : &*found;
}

Result<std::vector<ValueId>> call_function(std::span<const FunctionRow> rows, Graph& graph, const std::string& name,
                                           const Json& arguments, TensorArguments tensors, const std::string& layer,
                                           CallSetting setting) {
  const FunctionRow* row = row_of(rows, name);
  if (!row) return fail(Fault::Unsupported, "function '" + name + "' is not known");
  FunctionCall call(graph, name, arguments, std::move(tensors), layer, setting);
  auto outputs = row->read(call);
  if (auto s = call.done(); !s) return pass(s);
  if (outputs.empty()) return fail(Fault::Internal, "function '" + name + "' gives nothing and does not say why");
  return outputs;
}

Size known_size(FunctionCall& call, ValueId x, Size axis) {
  const Dim size = call.dim(x, axis);
  if (!size.known()) call.refuse(Fault::Unsupported, "cuts up an axis whose size is free; give the input a size");
  return size.known() ? *size : 1;
}

}  // namespace convoy
