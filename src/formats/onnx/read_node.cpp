// A node through the row of its operator, or computed where all that it reads is known.
#include "formats/onnx/model_reader.h"
#include "formats/shape_inputs.h"
#include "formats/stretch.h"
#include "graph/rounding_steps.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace convoy::onnx {

// The numbers of a name, where they are few; null where there are none beforehand.
const Numbers* ModelReader::numbers(Known& known) {
  constexpr Size most = 4096;
  if (!known.numbers && known.tensor && known.tensor->count() <= most) known.numbers = numbers_of(*known.tensor);
  return known.numbers ? &*known.numbers : nullptr;
}

Result<std::size_t> ModelReader::ask(std::span<Known* const> wanted) {
  std::vector<Known*> open;
  for (Known* known : wanted)
    if (known && known->value && !known->tensor && !(known->numbers && known->numbers->known())) open.push_back(known);
  if (open.empty()) return 0;
  Graph part = graph_;
  part.outputs.clear();
  for (const Known* known : open) {
    part.outputs.push_back(known->value);
    part.output_names.push_back(std::to_string(part.outputs.size()));
  }
  prune(part);
  auto answers = options_.answers(part);
  if (!answers) return pass(answers);
  for (std::size_t i = 0; i < open.size(); ++i) {
    const DType dtype = graph_[open[i]->value].type.dtype;
    Tensor& answer = (*answers)[i];
    open[i]->tensor = is_floating(dtype) ? answer.converted(dtype) : std::move(answer);
    open[i]->value = {};
  }
  return open.size();
}

Result<const Numbers*> ModelReader::needed_numbers(Known* known) {
  if (!known) return nullptr;
  const Numbers* found = numbers(*known);
  if ((found && found->known()) || !options_.answers) return found;
  if (const auto asked = ask(std::span(&known, 1)); !asked) return std::unexpected(asked.error());
  return numbers(*known);
}

// Shape computations, and nodes of known tensors alone. False: the node is neither.
Result<bool> ModelReader::add_computed(const ModelNode& node, const std::vector<Known*>& inputs, Names& names) {
  if (std::ranges::none_of(inputs, [](const Known* k) { return k != nullptr; })) return false;
  std::vector<const Numbers*> few;
  std::vector<std::optional<Tensor>> tensors;
  bool all_few = true, all_known = true, of_shapes = false;
  for (Known* known : inputs) {
    few.push_back(known ? numbers(*known) : nullptr);
    tensors.emplace_back();
    if (!known) continue;
    all_few = all_few && few.back();  // also of a constant that a node of the graph reads
    of_shapes = of_shapes || known->of_shapes || (few.back() && !is_floating(few.back()->dtype));
    if (known->tensor) {
      tensors.back() = known->tensor;
    } else if (few.back() && few.back()->known()) {
      auto tensor = few.back()->tensor();
      if (!tensor) return pass(tensor);
      tensors.back() = std::move(*tensor);
    } else {
      all_known = false;
    }
  }
  if (all_few && (of_shapes || node.type == "Range"))
    if (auto results = computed(node, row_opset(), few); results && results->size() >= node.outputs.size()) {
      const auto values = add_values(node, inputs, *results);
      for (std::size_t i = 0; i < node.outputs.size(); ++i)
        if (auto s = names.add(node.outputs[i], {values[i], {}, std::move((*results)[i]), false, true}); !s)
          return pass(s);
      return true;
    }
  if (!all_known) return false;
  auto results = compute(node, row_opset(), tensors, allowance_);
  if (!results || results->size() < node.outputs.size()) return false;  // its row says why
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    if (auto s = names.add(node.outputs[i], {{}, std::move((*results)[i]), {}, false, false}); !s) return pass(s);
  return true;
}

// What does not follow from sizes is computed by the operator itself, of values that do. Nothing where nobody needs that, or it cannot
// be said.
std::vector<ValueId> ModelReader::add_values(const ModelNode& node, const std::vector<Known*>& inputs,
                                             const std::vector<Numbers>& results) {
  std::vector<ValueId> values(node.outputs.size());
  const auto is_unknown = [](const Number& n) { return n.kind == Number::Kind::Unknown; };
  if (std::ranges::none_of(results, [&](const Numbers& n) { return std::ranges::any_of(n.all, is_unknown); }))
    return values;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i] && !value_of(node.inputs[i], *inputs[i])) return values;
  Names alone;
  if (!add_row(node, node.own_name() + turn_, inputs, alone)) return values;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (const Known* known = alone.find(node.outputs[i])) values[i] = known->value;
  return values;
}

// The value of a name in the graph.
Result<ValueId> ModelReader::value_of(const std::string& name, Known& known) {
  if (known.value) return known.value;
  if (known.filled) {
    const Tensor one = known.filled->reshaped(Sizes(known.fill->all.size(), 1));
    auto stretched = stretch(graph_, sizes_, graph_.constant(graph_.unique_name(name), one, false), *known.fill, name);
    if (!stretched) return within("'" + name + "'", std::move(stretched));
    return known.value = *stretched;
  }
  if (known.numbers && !known.numbers->known() && !known.tensor) {
    auto counted = numbers_counted(graph_, sizes_, *known.numbers, name);
    if (!counted) return within("'" + name + "'", std::move(counted));
    return known.value = *counted;
  }
  if (!known.tensor && !known.numbers)
    return fail(Fault::Unsupported, "'" + name + "' is as large as sizes that are not known beforehand");
  if (!known.tensor) {
    auto tensor = known.numbers->tensor();
    if (!tensor) return within("'" + name + "'", Result<ValueId>(pass(tensor)));
    known.tensor = std::move(*tensor);
  }
  const std::string& wanted = known.name.empty() ? name : known.name;
  known.value = graph_.constant(graph_.unique_name(wanted), *known.tensor, known.trainable);
  // Some exporters keep weights in Constant nodes: only a single number is surely none.
  graph_[known.value].literal = known.name.empty() && known.tensor->count() == 1;
  if (!known.name.empty() && known.tensor->count() > 0)
    file_names_.of_weight(known.tensor->bytes().data(), graph_[known.value].name);
  return known.value;
}

// A shape with several sizes that are known only when the model runs: each is some value's own.
void ModelReader::reshape_by_owners(const Numbers& shape, const Shaped& data, RowCall& call,
                                    std::optional<Tensor>& instead, const std::string& name, TensorArguments& tensors) {
  auto owned = shape_by_owners(graph_, sizes_, shape, data, name);
  if (!owned) return;
  tensors.merge(owned->likes);
  if (!owned->from.empty()) call.attributes["from"] = owned->from;
  call.attributes["kept"] = owned->kept;
  instead = Tensor::of({std::ssize(owned->to)}, std::vector<std::int64_t>(owned->to.begin(), owned->to.end()));
}

// The same of an image that becomes as large as another value.
void ModelReader::resize_by_owners(const Numbers& wanted, const Shaped& data, RowCall& call,
                                   std::optional<Tensor>& instead, const std::string& name, TensorArguments& tensors) {
  if (wanted.all.size() != data.shape.size()) return;
  Sizes to, from;
  for (std::size_t i = 0; i < wanted.all.size(); ++i) {
    const Number& n = wanted.all[i];
    const bool is_own = n.is_multiple(1) && !data.shape[i].known() && data.sizes[i] == n.size;
    to.push_back(is_own ? own_length : n.kind == Number::Kind::Whole ? n.whole : 1);
  }
  TensorArguments likes;  // from here on nodes are added, which moves `data`
  for (std::size_t i = 0; i < wanted.all.size(); ++i) {
    const Number& n = wanted.all[i];
    if (to[i] == own_length) continue;
    std::optional<Place> owner;
    if (n.kind != Number::Kind::Whole) {
      auto counted = cells_counted(graph_, sizes_, n, name);
      if (!counted) return;
      owner = *counted;
    }
    if (owner) likes.emplace("like." + std::to_string(from.size()), owner->value);
    from.push_back(owner ? owner->axis : 0);
  }
  tensors.merge(likes);
  call.attributes["from"] = from;
  instead = Tensor::of({std::ssize(to)}, std::vector<std::int64_t>(to.begin(), to.end()));
}

// Shapes computed from unknown sizes, as the row can read them.
void ModelReader::adapt(const ModelNode& node, const std::string& name, const std::vector<Known*>& inputs,
                        RowCall& call, std::vector<std::optional<Tensor>>& instead, TensorArguments& tensors) {
  if (inputs.empty() || !inputs[0] || !inputs[0]->value) return;
  const Shaped data{graph_[inputs[0]->value].type.shape, sizes_.of(inputs[0]->value)};
  const auto open = [&](std::size_t i) { return open_numbers(inputs, i); };
  if (const Numbers* said = open(1); said && node.type == "Reshape") {
    const Numbers all = with_rest(graph_, sizes_, *said, data);
    const Numbers* shape = &all;
    instead[1] = reshape_target(*shape, data);
    // There 0 says that a size stays as it is, which `allowzero` would make an empty axis of: unless the file says 0 itself.
    const bool says_zero =
        std::ranges::any_of(shape->all, [](const Number& n) { return n.kind == Number::Kind::Whole && n.whole == 0; });
    if (instead[1] && !says_zero) call.attributes.erase("allowzero");
    if (!instead[1]) reshape_by_owners(*shape, data, call, instead[1], name, tensors);
  }
  if (const Numbers* sizes = open(3); sizes && node.type == "Resize" && opset_ >= 11 && !node.attribute("axes")) {
    if ((instead[3] = resize_factors(*sizes, data))) call.inputs[3] = "scales", call.inputs[2].clear();
    else if (!(instead[3] = resize_sizes(*sizes, data)))
      resize_by_owners(*sizes, data, call, instead[3], name, tensors);
  }
}

namespace {

// The steps of a call where they are several that round numbers of 16 bits and give such: read in float32, and rounded at
// the end. Nothing: any other call. They are looked at in a graph of their own, so that none is left behind.
std::optional<std::vector<DType>> results_of_steps(const Graph& graph, const RowCall& call, const std::string& type,
                                                   const TensorArguments& tensors) {
  const auto steps = [&](bool widens, Graph& trial) {
    trial.rules = graph.rules;
    TensorArguments there;
    for (const auto& [argument, value] : tensors) {
      const Value& held = graph[value];
      const DType dtype = widens && is_half(held.type.dtype) ? DType::F32 : held.type.dtype;
      const std::string own = trial.unique_name(argument);
      there.emplace(argument, held.constant
                                  ? trial.constant(own, dtype == held.type.dtype ? *held.constant
                                                                                 : held.constant->converted(dtype))
                                  : trial.input(own, {dtype, held.type.shape}));
    }
    return call_function(functions(), trial, type, call.attributes, std::move(there), type, call.setting);
  };
  const auto is_half_value = [&](const auto& tensor) { return is_half(graph[tensor.second].type.dtype); };
  if (std::ranges::none_of(tensors, is_half_value)) return std::nullopt;
  Graph as_said, widened;
  const auto outputs = steps(false, as_said);
  if (!outputs || rounding_depth(as_said) < 2) return std::nullopt;
  std::vector<DType> types;
  for (const ValueId output : *outputs) types.push_back(output ? as_said[output].type.dtype : DType::F32);
  if (std::ranges::none_of(types, is_half) || !steps(true, widened)) return std::nullopt;
  return types;
}

}  // namespace

// An operator that is read as several steps is one of the framework's: it computes in float32 and rounds its answer once,
// while a target would round every step, and squares of 300 are beyond float16.
Result<std::vector<ValueId>> ModelReader::call_row(const ModelNode& node, const std::string& name, const RowCall& call,
                                                   TensorArguments tensors) {
  const auto types = results_of_steps(graph_, call, node.type, tensors);
  if (types)
    for (auto& [argument, value] : tensors) {
      const Value& held = graph_[value];
      if (!is_half(held.type.dtype)) continue;
      if (held.constant && held.constant->count() == 1) {
        value = graph_.constant(graph_.unique_name(held.name), held.constant->converted(DType::F32), held.trainable);
        continue;
      }
      auto wide = graph_.add(Cast{DType::F32}, {value}, name, node.type);
      if (!wide) return pass(wide);
      value = wide->front();
    }
  const CallSetting setting{call.setting.opset, call.setting.results, &sizes_};
  auto outputs = call_function(functions(), graph_, node.type, call.attributes, std::move(tensors), name, setting);
  if (!outputs || !types) return outputs;
  for (std::size_t i = 0; i < outputs->size() && i < types->size(); ++i) {
    ValueId& output = (*outputs)[i];
    if (!output || !is_half((*types)[i]) || is_half(graph_[output].type.dtype)) continue;
    auto rounded = graph_.add(Cast{(*types)[i]}, {output}, name, node.type);
    if (!rounded) return pass(rounded);
    output = rounded->front();
  }
  return outputs;
}

namespace {

// An input that tells a row about sizes, axes and places, and is no data.
bool says_sizes(std::string_view input) {
  constexpr std::array<std::string_view, 12> all{"shape", "sizes", "scales", "pads",    "starts", "ends",
                                                 "axes",  "axis",  "steps",  "repeats", "split",  "K"};
  return std::ranges::find(all, input) != all.end();
}

bool takes_batch_first(const ModelNode& node) {
  const Attribute* layout = node.attribute("layout");
  return layout && layout->integer != 0;
}

}  // namespace

Status ModelReader::add_row(const ModelNode& node, const std::string& name, const std::vector<Known*>& inputs,
                            Names& names) {
  std::size_t results = node.outputs.size();
  while (node.type != "Split" && results > 1 && !read_.contains(node.outputs[results - 1])) --results;
  auto call = row_call(node, row_opset(), results);
  if (!call) return pass(call);
  std::vector<std::optional<Tensor>> instead(inputs.size());
  TensorArguments tensors;
  adapt(node, name, inputs, *call, instead, tensors);
  const bool walks = node.type == "LSTM" || node.type == "GRU" || node.type == "RNN";
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i] || call->inputs[i].empty()) continue;
    if (inputs[i]->is_zeros() && call->inputs[i].starts_with("initial_")) continue;
    if (walks && call->inputs[i] == "sequence_lens" &&
        are_as_long(inputs[i], inputs[0], takes_batch_first(node) ? 1 : 0))
      continue;
    if (!instead[i] && says_sizes(call->inputs[i]) && open_numbers(inputs, i))
      return fail(Fault::Unsupported,
                  "input '" + call->inputs[i] +
                      "' is computed from sizes that are not known beforehand, in a way that is not "
                      "carried here; give them with --shape");
    auto value = instead[i] ? Result<ValueId>(graph_.constant(node.inputs[i], *instead[i], false))
                            : value_of(node.inputs[i], *inputs[i]);
    if (!value) return within("input '" + call->inputs[i] + "'", Status(pass(value)));
    if (node.type == "BatchNormalization" && i >= 3) graph_[*value].trainable = false;
    tensors.emplace(call->inputs[i], *value);
  }
  const std::size_t before = graph_.values.size();
  auto outputs = call_row(node, name, *call, std::move(tensors));
  if (!outputs) return pass(outputs);
  if (auto s = allowance_.spend(made_constants(graph_, before)); !s) return s;
  if (walks) file_names_.of_blocks(graph_, node, name, before);
  sizes_.follow(graph_);
  if (outputs->size() < results)
    return fail(Fault::Unsupported, "is asked for " + std::to_string(results) + " results, of which " +
                                        std::to_string(outputs->size()) + " are carried");
  for (std::size_t i = 0; i < node.outputs.size() && i < outputs->size(); ++i) {
    if (auto s = names.add(node.outputs[i], {(*outputs)[i], {}, {}, false, false}); !s) return s;
    if (!node.outputs[i].empty()) file_names_.of_value((*outputs)[i], node.outputs[i] + turn_);
  }
  return {};
}

}  // namespace convoy::onnx
