#include "formats/torch/source/stored_tensor.h"

#include "ops/expect.h"

#include <algorithm>

namespace convoy::torch {

using python::Arguments;
using python::Instance;
using python::Interpreter;
using python::Value;
using Made = Result<Value>;

namespace {

// Whether a weight that this was computed of has taken other numbers since.
bool is_outdated(const Tracer& tracer, ValueId value) {
  std::set<std::int32_t> seen;
  for (std::vector<ValueId> open{value}; !open.empty();) {
    const ValueId one = open.back();
    open.pop_back();
    const NodeId producer = one ? tracer.graph[one].producer : NodeId{};
    if (!producer || !seen.insert(one.index).second) continue;
    const auto made = tracer.early_values.find(one.index);
    for (const ValueId input : tracer.graph[producer].inputs) {
      open.push_back(input);
      if (!input || made == tracer.early_values.end() || !tracer.weights.contains(input.index)) continue;
      const auto later = std::ranges::find(tracer.draws.begin() + static_cast<std::ptrdiff_t>(made->second),
                                           tracer.draws.end(), input, &Tracer::Draw::value);
      if (later != tracer.draws.end()) return true;
    }
  }
  return false;
}

// A weight that takes the numbers of this value, which are drawn or computed, when all are.
Made computed_weight(Tracer& tracer, Interpreter& in, ValueId value, bool is_buffer) {
  const TensorType& type = tracer.graph[value].type;
  const auto sizes = sizes_of(type.shape);
  if (!sizes) return fail(Fault::Unsupported, "random numbers of a free shape");
  const bool is_early = tracer.early_values.contains(value.index);
  if (is_early && !tracer.options().weights && (tracer.graph[value].constant || is_outdated(tracer, value)))
    return fail(Fault::Unsupported, tracer.graph[value].constant
                                        ? "numbers of a weight in another order; give them with --weights"
                                        : "numbers that are computed from weights which are changed behind it");
  auto made = tracer.parameter(in, *sizes, Filling{}, is_buffer, type.dtype);
  if (!made) return made;
  tracer.draws.pop_back();
  tracer.draws.push_back({Tracer::Draw::What::Compute, made->as<SourceTensor>()->value, {}, value, 0, {}});
  return made;
}

bool is_computed(const Tracer& tracer, ValueId value) {
  return !tracer.weights.contains(value.index) &&
         (tracer.is_drawn(value) || tracer.early_values.contains(value.index) || !tracer.graph[value].constant);
}

// The weight as PyTorch's module holds it: what changes one of the two in place, changes the other.
Value in_same_memory(Tracer& tracer, Interpreter& in, const SourceTensor& weight, const SourceTensor& of) {
  const Value made = tracer.tensor(in, weight.value, of.storage);
  made.as<SourceTensor>()->is_parameter = weight.is_parameter;
  made.as<SourceTensor>()->is_buffer = weight.is_buffer;
  return made;
}

}  // namespace

Made parameter_of(Tracer& tracer, Interpreter& in, Arguments& given) {
  const auto taken = python::bound(given, "data requires_grad persistent", 1, "Parameter");
  if (!taken) return std::unexpected(taken.error());
  auto* tensor = (*taken)[0]->as<SourceTensor>();
  if (!tensor) return fail(Fault::Unsupported, "a parameter of a " + python::type_name(*(*taken)[0]));
  const auto value = tracer.value_of(*tensor);
  if (!value) return std::unexpected(value.error());
  const TensorType& type = tracer.graph[*value].type;
  if (!is_floating(type.dtype))
    return fail(Fault::Unsupported, "a parameter of element type " + std::string(name_of(type.dtype)));
  Made made = Value();
  if (is_computed(tracer, *value)) {
    made = within("a parameter", computed_weight(tracer, in, *value, false));
    if (!made) return made;
  } else if (tracer.weights.contains(value->index)) {  // in the same memory, whatever fills it later
    made = tracer.tensor(in, *value, tensor->storage);
    made->as<SourceTensor>()->is_parameter = true;
    tracer.graph[*value].trainable = true;
  } else {
    const Tensor numbers = *tracer.graph[*value].constant;
    made = tracer.parameter(in, numbers.shape(), Filling{}, false, numbers.dtype());
    if (!made) return made;
    tracer.draws.pop_back();  // it has numbers
    tracer.graph[made->as<SourceTensor>()->value].constant = numbers;
  }
  made = in_same_memory(tracer, in, *made->as<SourceTensor>(), *tensor);
  if ((*taken)[1] && (*taken)[1]->is_whole() && (*taken)[1]->whole() == 0)
    tracer.graph[made->as<SourceTensor>()->value].trainable = false;
  return made;
}

Made buffer_of(Tracer& tracer, Interpreter& in, SourceTensor& tensor, bool persistent) {
  Made kept = Value::of(&tensor);
  const auto value = tracer.value_of(tensor);
  if (!value) return std::unexpected(value.error());
  if (is_computed(tracer, *value)) {
    kept = within("a buffer", computed_weight(tracer, in, *value, true));
    if (!kept) return kept;
    kept->as<SourceTensor>()->is_random = !persistent && tracer.options().weights;  // in no file
  } else if (tracer.weights.contains(value->index)) {
    kept = in_same_memory(tracer, in, tensor, tensor);
    kept->as<SourceTensor>()->is_parameter = false;
  }
  auto* buffer = kept->as<SourceTensor>();
  buffer->is_buffer = true;
  buffer->persistent = persistent;
  if (persistent) tracer.weights.insert(buffer->value.index);
  return kept;
}

Made registered(Tracer& tracer, Interpreter& in, Arguments& given, bool buffer) {
  auto* self = given.placed.front().as<Instance>();
  given.placed.erase(given.placed.begin());
  const auto taken = python::bound(given, buffer ? "name tensor persistent" : "name param", 2,
                                   buffer ? "register_buffer" : "register_parameter");
  if (!taken) return std::unexpected(taken.error());
  const auto* name = (*taken)[0]->as<python::Text>();
  if (!name) return fail(Fault::Format, "the name of a buffer is no text");
  Value kept = *(*taken)[1];
  const bool persistent = buffer && !((*taken)[2] && (*taken)[2]->is_whole() && (*taken)[2]->whole() == 0);
  if (auto* tensor = kept.as<SourceTensor>(); buffer && tensor) {
    auto made = buffer_of(tracer, in, *tensor, persistent);
    if (!made) return made;
    kept = *made;
  }
  if (buffer && kept.is_none()) tracer.empty_buffers.insert_or_assign({self, name->text}, persistent);
  self->attributes.set(name->text, kept);
  return Value();
}

namespace {

// Whether an attribute of this name is, or may become, a buffer, and then whether a file holds it.
std::optional<bool> persistence_of(const Tracer& tracer, const Instance& module, const std::string& name) {
  const Value* now = module.attributes.find(name);
  if (!now) return std::nullopt;
  if (const auto* buffer = now->as<SourceTensor>(); buffer && buffer->is_buffer) return buffer->persistent;
  const auto empty = tracer.empty_buffers.find({&module, name});
  return now->is_none() && empty != tracer.empty_buffers.end() ? std::optional(empty->second) : std::nullopt;
}

}  // namespace

Made set_on_module(Tracer& tracer, Interpreter& in, Arguments& given) {
  auto* self = given.placed.front().as<Instance>();
  const auto* name = given.placed.size() == 3 ? given.placed[1].as<python::Text>() : nullptr;
  if (!name) return fail(Fault::Format, "__setattr__() wants an attribute's name and value");
  Value kept = given.placed[2];
  auto* tensor = kept.as<SourceTensor>();
  const auto persistent = persistence_of(tracer, *self, name->text);
  if (tensor && !tensor->is_parameter && !tracer.bound && persistent) {
    auto made = buffer_of(tracer, in, *tensor, *persistent);
    if (!made) return made;
    kept = *made;
  }
  self->attributes.set(name->text, kept);
  return Value();
}

}  // namespace convoy::torch
