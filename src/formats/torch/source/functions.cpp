// Functions and methods by the names of PyTorch, called on tensors.
#include "formats/torch/functions/functions.h"
#include "formats/torch/aten/aten.h"
#include "formats/torch/source/functions.h"

#include <algorithm>
#include <array>

namespace convoy::torch {

namespace {

// Of no number at all, in a model that is not trained.
constexpr std::array<std::string_view, 14> handed_on{"contiguous", "detach", "clone",   "cpu",     "cuda",
                                                     "float",      "to",     "type_as", "data",    "requires_grad_",
                                                     "eval",       "type",   "alias",   "positive"};
// These give another view of the same memory.
constexpr std::array<std::string_view, 20> views{"view",      "reshape",   "permute",   "expand",     "flatten",
                                                 "unflatten", "transpose", "swapaxes",  "swapdims",   "t",
                                                 "squeeze",   "unsqueeze", "chunk",     "split",      "unbind",
                                                 "select",    "narrow",    "expand_as", "contiguous", "detach"};
// What tensors are made of.
constexpr std::array<std::string_view, 13> makers{"zeros",     "ones",       "full",     "arange", "linspace",
                                                  "tensor",    "rand",       "randn",    "empty",  "zeros_like",
                                                  "ones_like", "from_numpy", "as_tensor"};
constexpr std::array<std::string_view, 8> noises{
    "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout", "rrelu_", "identity"};

template <class Table>
bool has(const Table& table, std::string_view name) {
  return std::ranges::find(table, name) != table.end();
}

// The element type that float(), to(...) or type(...) asks for; None: none.
Value element_type(Interpreter& in, const std::string& name, const Arguments& given) {
  if (name == "float") return in.text("float32");
  if (name != "to" && name != "type") return {};
  const auto is_type = [](const Value& v) {
    const auto* word = v.as<python::Text>();
    return word && (word->text.starts_with("float") || word->text.starts_with("int") ||
                    word->text.starts_with("uint") || word->text == "bfloat16" || word->text == "bool");
  };
  for (std::size_t i = 1; i < given.placed.size(); ++i)
    if (is_type(given.placed[i])) return given.placed[i];
  for (const auto& [word, value] : given.named)
    if (is_type(value)) return value;
  return {};
}

// Whether the first axis of the first input is that of the result.
bool keeps_batch(const Op& op) {
  if (const auto* reshape = std::get_if<Reshape>(&op)) return !reshape->to.empty() && reshape->to[0] == 0;
  if (const auto* turned = std::get_if<Transpose>(&op))
    return !turned->permutation.empty() && turned->permutation[0] == 0;
  return std::holds_alternative<Conv>(op) || std::holds_alternative<ConvTranspose>(op) ||
         std::holds_alternative<MaxPool>(op) || std::holds_alternative<AveragePool>(op) ||
         std::holds_alternative<AdaptivePool>(op) || std::holds_alternative<BatchNorm>(op) ||
         std::holds_alternative<Relu>(op) || std::holds_alternative<Unary>(op) || std::holds_alternative<Affine>(op) ||
         std::holds_alternative<Dropout>(op) || std::holds_alternative<Flatten>(op) || std::holds_alternative<Clip>(op);
}

// Where the batch axis of a value comes from; refers to nothing where that is not known.
ValueId batch_of(const Graph& graph, ValueId value) {
  for (int steps = 0; value && steps < 10000; ++steps) {
    const NodeId producer = graph[value].producer;
    if (!producer) return value;
    const Node& node = graph[producer];
    if (!keeps_batch(node.op) || node.inputs.empty()) return {};
    value = node.inputs[0];
  }
  return {};
}

// Sizes that are free, in the list of a reshape.
Status settle_free(Tracer& tracer, Interpreter& in, std::vector<std::pair<std::string, Value>>& named) {
  auto* tensor = named.size() < 2 ? nullptr : named[0].second.as<SourceTensor>();
  if (!tensor || !named[1].second.as<python::Sequence>()) return {};
  auto settled = settled_sizes(tracer, in, *tensor, named[1].second);
  if (!settled) return pass(settled);
  named[1].second = *settled;
  return {};
}

Size fold_results(const std::string& name) { return name.find("max_pool") != std::string::npos ? 2 : 1; }

}  // namespace

// That of its own place is kept, a single other one is worked out.
Made settled_sizes(Tracer& tracer, Interpreter& in, SourceTensor& tensor, const Value& list) {
  const auto own = tracer.value_of(tensor);
  if (!own) return std::unexpected(own.error());
  ValueList settled = list.as<python::Sequence>()->items;
  auto open = std::ranges::count_if(settled, [](const Value& v) { return v.is_whole() && v.whole() == -1; });
  const ValueId mine = batch_of(tracer.graph, *own);
  for (std::size_t i = 0; i < settled.size(); ++i) {
    const auto* free = settled[i].as<FreeSize>();
    if (!free) continue;
    const bool same = free->is_size() && free->tensor == *own && free->axis == static_cast<Size>(i);
    const bool batch =
        i == 0 && free->is_size() && free->axis == 0 && mine && mine == batch_of(tracer.graph, free->tensor);
    if (!same && !batch && open++ > 0)
      return fail(Fault::Usage,
                  "a new shape with " + free->text + ", which is free; give the sizes of the input with --shape");
    settled[i] = Value::of(std::int64_t{same || batch ? 0 : -1});
  }
  return in.list(std::move(settled));
}

bool is_function(const std::string& name) {
  std::string plain = name;
  if (plain.ends_with("_") && !plain.ends_with("__")) plain.pop_back();
  return has(handed_on, plain) || has(makers, plain) || has(noises, plain) || plain == "split" || plain == "max" ||
         plain == "min" || plain == "repeat" || plain == "embedding" || plain == "numel" || plain == "is_tensor" ||
         plain == "std" || plain == "upsample_nearest" || plain == "grid_sample" || row_named(plain) != nullptr;
}

// Tensors by name, the rest as JSON.
Result<Prepared> prepared(Tracer& tracer, Interpreter& in, const std::vector<std::pair<std::string, Value>>& named) {
  Prepared made;
  for (const auto& [word, value] : named) {
    if (auto* tensor = value.as<SourceTensor>()) {
      const auto id = tracer.value_of(*tensor);
      if (!id) return std::unexpected(id.error());
      made.tensors[word] = *id;
      if (!made.first) made.first = tensor;
      continue;
    }
    const auto* all = value.as<python::Sequence>();
    if (all && std::ranges::any_of(all->items, [](const Value& one) { return one.as<SourceTensor>() != nullptr; })) {
      for (std::size_t i = 0; i < all->items.size(); ++i) {
        auto* tensor = all->items[i].as<SourceTensor>();
        if (!tensor)
          return fail(Fault::Unsupported,
                      "'" + word + "' holds a " + python::type_name(all->items[i]) + " among tensors");
        const auto id = tracer.value_of(*tensor);
        if (!id) return std::unexpected(id.error());
        made.tensors[word + "." + std::to_string(i)] = *id;
      }
      continue;
    }
    if (word == "inplace") {
      const auto holds = in.truth(value);
      if (!holds) return std::unexpected(holds.error());
      made.in_place = *holds;
      continue;
    }
    if (value.is_none()) continue;
    auto json = json_of(in, value);
    if (!json) return within("argument '" + word + "'", Result<Prepared>(pass(json)));
    made.plain[word] = std::move(*json);
  }
  return made;
}

// A row's answers as the program sees them.
Made answered(Tracer& tracer, Interpreter& in, const std::vector<ValueId>& values, int storage, bool several) {
  ValueList all;
  for (const ValueId value : values) all.push_back(tracer.tensor(in, value, storage));
  if (all.empty()) return fail(Fault::Internal, "a function of PyTorch gives nothing");
  return all.size() == 1 && !several ? Made(all[0]) : Made(in.tuple(std::move(all)));
}

std::optional<Value> function_named(Tracer& tracer, Interpreter& in, const std::string& name) {
  if (!is_function(name)) return std::nullopt;
  return in.native(name, [&tracer, name](Interpreter& with, Arguments& given) {
    return call_function_named(tracer, with, name, std::move(given));
  });
}

Made call_function_named(Tracer& tracer, Interpreter& in, const std::string& called, Arguments given) {
  std::string name = called;
  bool in_place = false;
  if (name.ends_with("_") && name != "requires_grad_") name.pop_back(), in_place = true;
  if (auto out = given.take("out"); out && !out->is_none())
    return fail(Fault::Unsupported, name + "() writes into another tensor by 'out'");
  if (name == "is_tensor") return Value::of(!given.placed.empty() && given.placed[0].as<SourceTensor>());
  if (has(makers, name)) return filled(tracer, in, name, std::move(given));
  if (has(noises, name)) return dropped(tracer, in, called, std::move(given));
  if (given.placed.empty() && given.named.empty()) return fail(Fault::Format, name + "() of nothing");
  if (has(handed_on, name)) {
    if (const Value dtype = element_type(in, name, given); !dtype.is_none() && !given.placed.empty())
      return call_function_named(tracer, in, "_to", Arguments{{given.placed[0], dtype}, {}});
    auto* tensor = given.placed.empty() ? nullptr : given.placed[0].as<SourceTensor>();
    if (!tensor)
      return given.placed.empty() ? Made(fail(Fault::Format, name + "() of nothing")) : Made(given.placed[0]);
    if (name == "clone") {
      const auto value = tracer.value_of(*tensor);
      if (!value) return std::unexpected(value.error());
      return tracer.tensor(in, *value);
    }
    return given.placed[0];
  }
  if (name == "_to") {
    auto named = named_arguments(in, given, "input dtype", "to");
    auto ready = prepared(tracer, in, *named);
    if (!ready) return pass(ready);
    const auto values = tracer.call(in, *aten_named("to"), ready->plain, std::move(ready->tensors));
    if (!values) return std::unexpected(values.error());
    return answered(tracer, in, *values, -1, false);
  }
  if (name == "max" || name == "min") return extreme(tracer, in, name, std::move(given));
  if (name == "repeat") return repeated(tracer, in, std::move(given));
  if (name == "grid_sample") return sampled(tracer, in, std::move(given));
  if (name == "embedding") return embedded(tracer, in, std::move(given));
  if (name == "std") {
    auto variance = call_function_named(tracer, in, "var", std::move(given));
    return variance ? call_function_named(tracer, in, "sqrt", Arguments{{*variance}, {}}) : variance;
  }
  const Spelled* said = spelling_of(name);
  const FunctionRow* row = row_named(name);
  std::string_view parameters = said ? said->parameters : row ? row->parameters : "";
  if (name == "split") {
    auto named = named_arguments(in, given, "input split_size_or_sections dim", name);
    if (!named) return pass(named);
    bool listed = false;
    for (auto& [word, value] : *named)
      if (word == "split_size_or_sections" || word == "split_size") {
        listed = value.as<python::Sequence>() != nullptr;
        word = listed ? "split_sizes" : "split_size";
      }
    auto ready = prepared(tracer, in, *named);
    if (!ready) return pass(ready);
    const int storage = ready->first ? ready->first->storage : -1;
    const auto values = tracer.call(in, *aten_named(listed ? "split_with_sizes" : "split.Tensor"), ready->plain,
                                    std::move(ready->tensors), 2);
    if (!values) return std::unexpected(values.error());
    return answered(tracer, in, *values, storage, true);
  }
  if (!row) return fail(Fault::Unsupported, "'" + name + "' is not known here");
  auto named = named_arguments(in, given, parameters, name);
  if (!named) return pass(named);
  if (name == "norm")  // 'fro' is the length of the vector
    std::erase_if(*named, [](const auto& one) { return one.first == "ord" && one.second.template as<python::Text>(); });
  if (name == "interpolate" || name == "upsample")
    for (auto& [word, value] : *named)
      if (word == "size" && value.as<python::Sequence>() &&
          std::ranges::any_of(value.as<python::Sequence>()->items,
                              [](const Value& v) { return v.as<FreeSize>() != nullptr; }))
        return fail(Fault::Usage, "interpolate() to a size that is free; give the sizes of the input with --shape");
  if (name == "pad")
    if (auto free = padded_freely(tracer, in, *named); !free || *free) return free ? Made(**free) : pass(free);
  // A convolution may make SAME of pads that a free size decides.
  std::shared_ptr<FreePad> free_pad;
  if (name == "conv1d" || name == "conv2d" || name == "conv3d")
    if (auto* tensor = named->empty() ? nullptr : named->front().second.as<SourceTensor>();
        tensor && tensor->free_pad) {
      free_pad = tensor->free_pad;
      named->front().second = tracer.tensor(in, free_pad->of);
    }
  if (name == "view" || name == "reshape")
    if (auto settled = settle_free(tracer, in, *named); !settled) return pass(settled);
  auto ready = prepared(tracer, in, *named);
  if (!ready) return pass(ready);
  if (name == "batch_norm" && ready->plain.value("training", false))
    return fail(Fault::Unsupported, "batch_norm() in training");
  const int storage = has(views, name) && ready->first ? ready->first->storage : -1;
  SourceTensor* target = ready->first;
  const bool writes = in_place || ready->in_place;
  const auto values =
      tracer.call(in, *row, ready->plain, std::move(ready->tensors), static_cast<std::size_t>(fold_results(name)));
  if (!values) return std::unexpected(values.error());
  if (free_pad) {
    const auto same = tracer.with_free_pad(in, *free_pad, values->front());
    if (!same) return std::unexpected(same.error());
    return tracer.tensor(in, *same);
  }
  if (writes && target && values->size() == 1) {
    if (auto done = tracer.write(*target, (*values)[0]); !done) return pass(done);
    return Value::of(target);
  }
  return answered(tracer, in, *values, storage, name == "chunk" || name == "unbind");
}

}  // namespace convoy::torch
