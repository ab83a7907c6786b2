#include "formats/torch/source/tracer.h"

#include "formats/torch/declared_type.h"
#include "formats/torch/kept_state.h"
#include "formats/torch/source/array.h"
#include "graph/stored.h"
#include "ops/expect.h"
#include "run/cost.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>

namespace convoy::torch {

namespace {

// Zeros that no page stands behind until somebody writes to them.
Result<Tensor> zeros(const Sizes& shape, DType dtype) {
  const auto count = checked_count(shape);
  const auto bytes = count ? checked_multiply(*count, bytes_of(dtype)) : std::nullopt;
  if (!bytes || *bytes > Size{8} << 30) return fail(Fault::Limit, "a weight of more than 8 GiB");
  std::shared_ptr<void> memory(std::calloc(static_cast<std::size_t>(std::max<Size>(*bytes, 1)), 1), std::free);
  if (!memory) return fail(Fault::Limit, "there is no memory for the weights");
  return Tensor::view(dtype, shape, {static_cast<const std::byte*>(memory.get()), static_cast<std::size_t>(*bytes)},
                      memory);
}

}  // namespace

Value Tracer::tensor(Interpreter& in, ValueId value, int storage) {
  const int memory = storage < 0 ? fresh_storage() : storage;
  auto* made = in.make<SourceTensor>(*this, value, memory);
  sharing_[memory].push_back(made);
  if (value) own_storage_.try_emplace(value.index, memory);  // copies of it come later
  return Value::of(made);
}

ValueList Tracer::pieces(Interpreter& in, const std::vector<ValueId>& values, int storage) {
  ++splits_;
  ValueList all;
  for (const ValueId value : values) {
    all.push_back(tensor(in, value, storage));
    all.back().as<SourceTensor>()->split = splits_;
  }
  return all;
}

Result<Value> Tracer::laid_anew(Interpreter& in, ValueId value, int storage) {
  static constexpr FunctionRow row{"alias", "input", [](FunctionCall& call) {
                                     return std::vector<ValueId>{call.add(Identity{}, {call.tensor("input")})};
                                   }};
  const auto other = call(in, row, Json::object(), {{"input", value}});
  if (!other) return std::unexpected(other.error());
  return tensor(in, other->front(), storage);
}

Result<ValueId> Tracer::stopped(ValueId value) {
  if (!is_floating(graph[value].type.dtype)) return value;
  if (graph[value].constant) {
    if (weights.contains(value.index) && graph[value].trainable)
      graph.left_to_training.push_back("detach() of '" + graph[value].name + "'");
    return value;
  }
  if (const auto known = stopped_.find(value.index); known != stopped_.end()) return known->second;
  std::vector<Scope> scopes;
  if (const NodeId producer = graph[value].producer) scopes = graph[producer].scopes;
  const auto made = graph.add(Identity{true}, {value}, graph[value].name + ".detach", "detach", std::move(scopes));
  if (!made) return std::unexpected(made.error());
  return stopped_[value.index] = made->front();
}

Result<ValueId> Tracer::unknown(ValueId value) {
  const auto made = graph.add(Identity{}, {value}, graph[value].name + ".unknown", "unknown");
  if (!made) return std::unexpected(made.error());
  lost_values.insert(made->front().index);
  early_values.emplace(made->front().index, draws.size());
  return made->front();
}

Result<ValueId> Tracer::recorded(ValueId value) {
  return keeps_gradients && unrecorded_.contains(value.index) ? stopped(value) : value;
}

Result<Value> Tracer::detached(Interpreter& in, SourceTensor& tensor) {
  if (!bound || !keeps_gradients || calling.empty()) return Value::of(&tensor);
  const auto value = value_of(tensor);
  if (!value) return std::unexpected(value.error());
  const auto other = stopped(*value);
  if (!other) return std::unexpected(other.error());
  if (*other == *value) return Value::of(&tensor);
  const Value made = this->tensor(in, *other, tensor.storage);
  auto* view = made.as<SourceTensor>();
  view->whole = &tensor;
  view->key = Value::ellipsis();
  view->of_whole = tensor.value;
  return made;
}

Value Tracer::array(Interpreter& in, ValueId value, int storage) {
  auto* made = in.make<Array>(*this, value, storage);
  sharing_[storage].push_back(made);
  return Value::of(made);
}

namespace {

// Truths, whole numbers, fractions: none of them holds what is of a later kind.
int kind_of(DType dtype) { return dtype == DType::Bool ? 0 : is_floating(dtype) ? 2 : 1; }

}  // namespace

Result<ValueId> Tracer::as_written(Interpreter& in, const SourceTensor& tensor, ValueId value) {
  if (!tensor.value || !value) return value;
  const DType own = graph[tensor.value].type.dtype, made = graph[value].type.dtype;
  if (own == made) return value;
  if (kind_of(made) > kind_of(own))
    return fail(Fault::Format, "numbers of type " + std::string(name_of(made)) +
                                   " cannot be written into a tensor of type " + std::string(name_of(own)) +
                                   " in place");
  const auto cast = call_function_named(*this, in, "_to",
                                        Arguments{{this->tensor(in, value), in.text(std::string(name_of(own)))}, {}});
  if (!cast) return std::unexpected(cast.error());
  const auto* held = cast->as<SourceTensor>();
  return held ? held->value : value;
}

Status Tracer::write(Interpreter& in, SourceTensor& tensor, ValueId given) {
  const auto written = as_written(in, tensor, given);
  if (!written) return std::unexpected(written.error());
  const ValueId value = *written;
  if (!bound && tensor.value && weights.contains(tensor.value.index))
    return fail(Fault::Unsupported, "a weight is changed in place while the module is built");
  if (bound && tensor.value && weights.contains(tensor.value.index) && options_.remarks &&
      own_storage_[tensor.value.index] == tensor.storage)
    options_.remarks->push_back(changes_itself(graph[tensor.value].name));
  std::vector<SourceTensor*> wholes;  // that this is a part of, from the nearest on
  ValueId seen = tensor.of_whole;
  for (SourceTensor* one = tensor.whole; one && !one->stale && one->value == seen; one = one->whole) {
    wholes.push_back(one);
    seen = one->of_whole;
  }
  for (SourceTensor* other : sharing_[tensor.storage]) {
    if (other == &tensor || std::ranges::find(wholes, other) != wholes.end()) continue;
    if (other->value == tensor.value) other->value = value;  // the same tensor under another name
    else if (tensor.split == 0 || other->split != tensor.split) other->stale = true;
  }
  tensor.value = value;
  if (wholes.empty()) return {};
  SourceTensor* whole = wholes.front();
  tensor.of_whole = {};
  if (auto done = whole->set_item(in, tensor.key, Value::of(&tensor)); !done) return done;
  tensor.stale = false;
  tensor.of_whole = whole->value;
  return {};
}

void Tracer::leave_stale(const SourceTensor& weight) {
  for (SourceTensor* other : sharing_[weight.storage])
    if (other != &weight && other->value != weight.value) other->stale = true;
}

Value Tracer::constant(Interpreter& in, Tensor numbers) {
  const int n = unnamed_["constant"]++;
  const ValueId made = graph.constant("constant" + (n ? "_" + std::to_string(n) : ""), std::move(numbers), false);
  graph[made].literal = true;
  return tensor(in, made);
}

void Tracer::tell_literals() {
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    auto& value = graph.values[i];
    const bool of_module = weights.contains(index) || reordered.contains(index) || value.trainable;
    value.literal = value.constant && !of_module && (value.literal || value.constant->rank() == 0);
  }
}

Result<Value> Tracer::parameter(Interpreter& in, const Sizes& shape, Filling filling, bool buffer, DType dtype) {
  auto numbers = zeros(shape, dtype);
  if (!numbers) return pass(numbers);
  const int n = unnamed_["parameter"]++;
  const ValueId value = graph.constant("parameter_" + std::to_string(n), std::move(*numbers), !buffer);
  draws.push_back({Draw::What::Fill, value, filling, {}, 0});
  weights.insert(value.index);
  if (bound && !options_.structure_only) {  // made in forward()
    auto filled = filling.how == Filling::How::Constant ? Draws(0).fill(shape, dtype, filling)
                                                        : Result<Tensor>(fail(Fault::Unsupported, "drawn"));
    if (filled) graph[value].constant = std::move(*filled);
    else unfiled_.insert(value.index);
  }
  const Value made = tensor(in, value);
  made.as<SourceTensor>()->is_parameter = !buffer;
  made.as<SourceTensor>()->is_buffer = buffer;
  return made;
}

DType Tracer::dtype_of(const SourceTensor& tensor, DType otherwise) const {
  if (tensor.value) return graph[tensor.value].type.dtype;
  for (const auto* types : {&options_.types, &options_.types_at_hand})
    for (const std::string& name : {tensor.input_name, std::string()})
      if (const auto type = types->find(name); type != types->end()) return type->second;
  return otherwise;
}

Result<ValueId> Tracer::value_of(SourceTensor& tensor, const std::optional<Shape>& wanted, DType dtype) {
  if (tensor.stale)
    return fail(Fault::Unsupported, "reads a tensor that another view of the same memory has changed in place");
  if (tensor.free_pad && !tensor.value)
    return fail(Fault::Usage,
                "pads by the size of the input, which is free, and not for a convolution alone; give the sizes of the "
                "input with --shape");
  if (bound && !options_.structure_only && tensor.value && early_values.contains(tensor.value.index))
    return fail(Fault::Unsupported,
                options_.weights ? "computes with what was computed from weights while the module was built, before a "
                                   "file gave them"
                                 : "computes with what was computed from weights while the module was built");
  const bool is_open = follows_script || options_.structure_only;
  const bool is_of_random = tensor.is_random || (tensor.value && is_drawn(tensor.value) && !is_open);
  if (bound && tensor.value && unfiled_.contains(tensor.value.index))
    return fail(
        Fault::Unsupported,
        "computes with random numbers: a weight that is in no file, as its module is no attribute of the model (is "
        "it in a list that should be an nn.ModuleList, or is it made in forward()?)");
  if (is_of_random && bound) return fail(Fault::Unsupported, "computes with random numbers");
  if (tensor.value) return tensor.value;
  if (!tensor.said) tensor.said = wanted;
  if (!tensor.said)
    return fail(Fault::Usage, "the shape of input '" + tensor.input_name + "' is not known; give it with --shape " +
                                  tensor.input_name + "=1,3,224,224");
  dtype = dtype_of(tensor, dtype);
  tensor.value = graph.input(graph.unique_name(tensor.input_name), TensorType{dtype, *tensor.said});
  return tensor.value;
}

Result<Shape> Tracer::shape_of(SourceTensor& tensor) {
  if (!tensor.value && tensor.said) return *tensor.said;
  const auto value = value_of(tensor);
  if (!value) return std::unexpected(value.error());
  return graph[*value].type.shape;
}

namespace {

bool only_reorders(const Op& op) { return only_reshapes(op) || holds_alternative<Transpose>(op); }

}  // namespace

// Nodes of known numbers become known numbers.
Result<std::vector<ValueId>> Tracer::folded(std::size_t first, std::vector<ValueId> values) {
  const auto is_own = [&](ValueId input) {  // made by a node of this very call
    const NodeId producer = graph[input].producer;
    return producer && producer.slot() >= first;
  };
  for (std::size_t i = first; i < graph.nodes.size(); ++i)
    for (const ValueId input : graph.nodes[i].inputs)
      if (input && !is_own(input) &&
          (!graph[input].constant || weights.contains(input.index) || random_values.contains(input.index) ||
           early_values.contains(input.index)))
        return values;
  const auto is_said = [&](ValueId v) { return graph[v].literal || graph[v].constant->rank() == 0; };
  for (std::size_t i = first; i < graph.nodes.size(); ++i) {
    std::vector<const Tensor*> inputs;
    for (const ValueId input : graph.nodes[i].inputs) inputs.push_back(input ? &*graph[input].constant : nullptr);
    const bool literal = std::ranges::all_of(graph.nodes[i].inputs, [&](ValueId v) { return !v || is_said(v); });
    auto numbers = run_node_of(graph, graph.nodes[i], inputs, Precision::Single, 1);
    if (!numbers) return pass(numbers);
    const auto outputs = graph.nodes[i].outputs;
    for (std::size_t k = 0; k < outputs.size() && k < numbers->size(); ++k) {
      graph[outputs[k]].constant = as_declared((*numbers)[k], graph[outputs[k]].type.dtype);
      graph[outputs[k]].trainable = false;
      graph[outputs[k]].literal = literal;
      graph[outputs[k]].producer = {};
    }
    if (!only_reorders(graph.nodes[i].op)) continue;
    if (const auto of = reordered.find(graph.nodes[i].inputs.front().index); of != reordered.end())
      reordered.emplace(outputs.front().index, of->second);
    if (only_reshapes(graph.nodes[i].op))
      graph[outputs.front()].origin = stored_origin(graph[graph.nodes[i].inputs.front()]);
  }
  graph.nodes.resize(first);
  return values;
}

namespace {

// Room for every number that a call makes, and a step for every 4096 numbers or products.
Status pay_for(Interpreter& in, const Cost& cost) {
  if (auto step = in.step((cost.numbers + cost.products) / 4096); !step) return step;
  return in.charge(checked_multiply(cost.numbers, 4).value_or(Size{1} << 60));
}

}  // namespace

Result<std::vector<ValueId>> Tracer::call(Interpreter& in, const FunctionRow& row, const Json& arguments,
                                          TensorArguments tensors, std::size_t results) {
  if (auto paid = in.charge(1500); !paid) return pass(paid);
  if (auto step = in.step(20); !step) return pass(step);
  std::string layer, kind(row.name);
  kind = kind.substr(0, kind.find('.'));
  const bool within_module = !calling.empty() && !calling.back().path.empty();
  if (within_module && calling.back().leaf) layer = calling.back().path, kind = calling.back().kind;
  else layer = within_module ? calling.back().path + "." + kind : kind;
  for (auto& [word, id] : tensors) {
    const auto read = recorded(id);
    if (!read) return std::unexpected(read.error());
    id = *read;
  }
  const std::size_t first = graph.nodes.size(), first_value = graph.values.size();
  // Weights are paid for by their file; in another order they stay weights.
  const bool of_weights =
      std::ranges::any_of(tensors, [&](const auto& one) { return weights.contains(one.second.index); });
  // No row may compute with numbers that are drawn.
  std::vector<std::pair<ValueId, std::optional<Tensor>>> drawn;
  for (const auto& [word, id] : tensors)
    if (random_values.contains(id.index)) drawn.emplace_back(id, std::exchange(graph[id].constant, std::nullopt));
  std::vector<std::pair<ValueId, ValueId>> whole;  // weights that are given, or constants made of them, with the weight
  for (const auto& [word, id] : tensors) {
    if (weights.contains(id.index)) whole.emplace_back(id, id);
    else if (const auto of = reordered.find(id.index); of != reordered.end()) whole.emplace_back(id, of->second);
  }
  const bool of_nothing = tensors.empty();
  FunctionCall call(graph, std::string(row.name), arguments, std::move(tensors), layer, {0, results});
  auto made = row.read(call);
  for (std::size_t i = first_value; i < graph.values.size() && of_nothing; ++i)
    graph.values[i].literal = graph.values[i].constant.has_value();
  find_reordered(graph, first_value, whole, reordered);
  for (const auto& [made_anew, weight] : reordered)  // of numbers that come later
    if (!bound && static_cast<std::size_t>(made_anew) >= first_value && (options_.weights || !holds_start(weight)))
      early_values.emplace(made_anew, draws.size());
  for (auto& [id, numbers] : drawn)
    if (numbers) graph[id].constant = std::move(numbers);
  if (auto done = call.done(); !done)
    return within(
        calling.empty() || calling.back().path.empty() ? kind + "()" : "module '" + layer + "' (" + kind + ")",
        Result<std::vector<ValueId>>(pass(done)));
  // As many parts as an axis has cells or a list has entries may be none.
  const bool gives_parts = kind == "unbind" || kind.find("split") != std::string::npos || kind == "chunk";
  if (made.empty() && !gives_parts) return fail(Fault::Internal, kind + "() gives nothing and does not say why");
  if (!of_weights)
    if (auto paid = pay_for(in, cost_of(graph, first_value)); !paid) return pass(paid);
  auto values = folded(first, std::move(made));
  if (!values) return values;
  for (std::size_t i = first; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[i];
    node.kind = kind;
    if (std::ranges::any_of(node.inputs, [&](ValueId v) { return v && is_drawn(v); }))
      for (const ValueId output : node.outputs) of_random_values_.insert(output.index);
    const bool is_early = !bound && std::ranges::any_of(node.inputs, [&](ValueId v) {
      return v && (weights.contains(v.index) || early_values.contains(v.index));
    });
    if (is_early)
      for (const ValueId output : node.outputs) early_values.emplace(output.index, draws.size());
    for (const Calling& around : calling)
      if (!around.leaf && !around.path.empty()) node.scopes.push_back({around.path, around.call});
    if (!keeps_gradients)
      for (const ValueId output : node.outputs) unrecorded_.insert(output.index);
  }
  return values;
}

Result<Json> json_of(Interpreter& in, const Value& value, int depth) {
  if (depth > 8) return fail(Fault::Limit, "an argument is nested over 8 deep");
  if (value.is_none()) return Json();
  if (value.is_truth()) return Json(value.whole() != 0);
  if (value.is_whole()) return Json(value.whole());
  if (value.is_real()) return Json(value.real());
  if (const auto* text = value.as<python::Text>()) return Json(text->text);
  if (const auto* all = value.as<python::Sequence>()) {
    Json list = Json::array();
    for (std::size_t i = 0; i < all->items.size(); ++i) {
      auto inner = json_of(in, all->items[i], depth + 1);
      if (!inner) return inner;
      list.push_back(std::move(*inner));
    }
    return list;
  }
  if (const auto* free = value.as<FreeSize>())
    return fail(Fault::Usage, "depends on " + free->text + ", which is free; give the sizes of the input with --shape");
  if (value.as<python::Range>()) {
    const auto all = in.elements(value);
    if (!all) return std::unexpected(all.error());
    return json_of(in, in.list(*all), depth + 1);
  }
  return fail(Fault::Unsupported, "an argument is a " + python::type_name(value) + ", which says nothing here");
}

}  // namespace convoy::torch
