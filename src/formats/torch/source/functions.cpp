// Functions and methods by the names of PyTorch: which row reads them, and how their arguments become its own.
#include "formats/torch/functions/functions.h"
#include "formats/torch/aten/aten.h"
#include "formats/torch/source/tracer.h"

#include <algorithm>
#include <array>

namespace convoy::torch {

using python::Arguments;
using python::Interpreter;
using python::Value;
using python::ValueList;
using Made = Result<Value>;

namespace {

// `parameters` by Python's names; a trailing "..." takes all that are left, or one list. `row`: another name for it.
struct Spelled {
  std::string_view name, row, parameters;
};
constexpr std::array spelled{
    Spelled{"view", "view.default", "input size..."},
    Spelled{"reshape", "reshape", "input shape..."},
    Spelled{"permute", "permute", "input dims..."},
    Spelled{"expand", "expand", "input size..."},
    Spelled{"flatten", "flatten", "input start_dim end_dim"},
    Spelled{"unflatten", "unflatten", "input dim sizes"},
    Spelled{"transpose", "transpose", "input dim0 dim1"},
    Spelled{"swapaxes", "transpose", "input dim0 dim1"},
    Spelled{"swapdims", "transpose", "input dim0 dim1"},
    Spelled{"t", "t", "input"},
    Spelled{"squeeze", "squeeze", "input dim"},
    Spelled{"unsqueeze", "unsqueeze", "input dim"},
    Spelled{"mean", "mean", "input dim keepdim"},
    Spelled{"sum", "sum", "input dim keepdim"},
    Spelled{"prod", "prod", "input dim keepdim"},
    Spelled{"amax", "amax", "input dim keepdim"},
    Spelled{"amin", "amin", "input dim keepdim"},
    Spelled{"var", "var", "input dim unbiased keepdim correction"},
    Spelled{"norm", "linalg_vector_norm", "input ord dim keepdim"},
    Spelled{"cat", "cat", "tensors dim"},
    Spelled{"concat", "cat", "tensors dim"},
    Spelled{"concatenate", "cat", "tensors dim"},
    Spelled{"stack", "stack", "tensors dim"},
    Spelled{"chunk", "chunk", "input chunks dim"},
    Spelled{"unbind", "unbind", "input dim"},
    Spelled{"select", "select.int", "input dim index"},
    Spelled{"narrow", "narrow", "input dim start length"},
    Spelled{"index_select", "index_select", "input dim index"},
    Spelled{"clamp", "clamp.default", "input min max"},
    Spelled{"clip", "clamp.default", "input min max"},
    Spelled{"clamp_min", "clamp_min.default", "input min"},
    Spelled{"clamp_max", "clamp_max.default", "input max"},
    Spelled{"add", "add", "input other alpha"},
    Spelled{"sub", "sub", "input other alpha"},
    Spelled{"subtract", "sub", "input other alpha"},
    Spelled{"mul", "mul", "input other"},
    Spelled{"multiply", "mul", "input other"},
    Spelled{"div", "div", "input other"},
    Spelled{"true_divide", "div", "input other"},
    Spelled{"divide", "div", "input other"},
    Spelled{"rsub", "rsub", "input other"},
    Spelled{"maximum", "maximum", "input other"},
    Spelled{"minimum", "minimum", "input other"},
    Spelled{"pow", "pow", "input exponent"},
    Spelled{"matmul", "matmul", "input other"},
    Spelled{"bmm", "bmm", "input mat2"},
    Spelled{"mm", "mm", "input mat2"},
    Spelled{"einsum", "einsum", "equation tensors..."},
    Spelled{"baddbmm", "baddbmm", "input batch1 batch2 beta alpha"},
    Spelled{"addmm", "addmm", "input mat1 mat2 beta alpha"},
    Spelled{"scaled_dot_product_attention", "scaled_dot_product_attention",
            "query key value attn_mask dropout_p is_causal scale"},
    Spelled{"round", "round.default", "input"},
    Spelled{"expand_as", "expand_as", "input other"},
    Spelled{"upsample", "interpolate", "input size scale_factor mode align_corners"},
    Spelled{"hardtanh", "hardtanh", "input min_val max_val inplace"},
    Spelled{"batch_norm", "batch_norm", "input running_mean running_var weight bias training momentum eps"},
};

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

const Spelled* spelling_of(std::string_view name) {
  const auto found = std::ranges::find(spelled, name, &Spelled::name);
  return found == spelled.end() ? nullptr : &*found;
}

const FunctionRow* aten_named(std::string_view name) {
  for (const auto rows :
       {aten_arithmetic(), aten_shapes(), aten_parts(), aten_reductions(), aten_products(), aten_constants()})
    if (const FunctionRow* row = row_of(rows, name)) return row;
  return nullptr;
}

const FunctionRow* row_named(std::string_view name) {
  const Spelled* said = spelling_of(name);
  const std::string_view row = said ? said->row : name;
  if (const FunctionRow* own = row_of(functions(), row)) return own;
  if (said) return aten_named(row);
  for (const auto rows : {aten_arithmetic(), aten_products()})
    if (const FunctionRow* own = row_of(rows, row)) return own;
  return nullptr;
}

template <class Table>
bool has(const Table& table, std::string_view name) {
  return std::ranges::find(table, name) != table.end();
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

bool is_silent(std::string_view word) {
  return word == "device" || word == "memory_format" || word == "requires_grad" || word == "non_blocking" ||
         word == "layout" || word == "pin_memory" || word == "out_dtype" || word == "_stacklevel" || word == "copy";
}

// Arguments by name: by place, by keyword, and all that are left for the last.
Result<std::vector<std::pair<std::string, Value>>> named_arguments(Interpreter& in, const Arguments& given,
                                                                   std::string_view parameters,
                                                                   const std::string& name) {
  auto words = words_of(parameters);
  std::vector<std::pair<std::string, Value>> all;
  bool takes_rest = !words.empty() && words.back().ends_with("...");
  if (takes_rest) words.back().resize(words.back().size() - 3);
  for (std::size_t i = 0; i < given.placed.size(); ++i) {
    if (takes_rest && i + 1 == words.size()) {
      ValueList rest(given.placed.begin() + static_cast<std::ptrdiff_t>(i), given.placed.end());
      const bool listed = rest.size() == 1 && rest[0].as<python::Sequence>();
      all.emplace_back(words[i], listed ? rest[0] : in.list(std::move(rest)));
      break;
    }
    if (i >= words.size())
      return fail(Fault::Format, name + "() takes " + std::to_string(words.size()) + " arguments, " +
                                     std::to_string(given.placed.size()) + " are given");
    all.emplace_back(words[i], given.placed[i]);
  }
  for (auto [word, value] : given.named) {
    if (is_silent(word)) continue;
    if (word == "axis") word = "dim";
    if (word == "keepdims") word = "keepdim";
    if (word == "p" && name == "norm") word = "ord";
    if (std::ranges::find(all, word, &std::pair<std::string, Value>::first) != all.end())
      return fail(Fault::Format, name + "(): '" + word + "' is given twice");
    all.emplace_back(word, value);
  }
  return all;
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

// Sizes that are free, in the list of a reshape: that of its own place is kept, a single other one is worked out.
Status settle_free(Tracer& tracer, Interpreter& in, std::vector<std::pair<std::string, Value>>& named) {
  auto* tensor = named.size() < 2 ? nullptr : named[0].second.as<SourceTensor>();
  const auto* list = tensor ? named[1].second.as<python::Sequence>() : nullptr;
  if (!list) return {};
  const auto own = tracer.value_of(*tensor);
  if (!own) return std::unexpected(own.error());
  ValueList settled = list->items;
  auto open = std::ranges::count_if(settled, [](const Value& v) { return v.is_whole() && v.whole() == -1; });
  const ValueId mine = batch_of(tracer.graph, *own);
  for (std::size_t i = 0; i < settled.size(); ++i) {
    const auto* free = settled[i].as<FreeSize>();
    if (!free) continue;
    const bool same = free->tensor == *own && free->axis == static_cast<Size>(i);
    const bool batch = i == 0 && free->axis == 0 && mine && mine == batch_of(tracer.graph, free->tensor);
    if (!same && !batch && open++ > 0)
      return fail(Fault::Usage,
                  "a new shape with " + free->text + ", which is free; give the sizes of the input with --shape");
    settled[i] = Value::of(std::int64_t{same || batch ? 0 : -1});
  }
  named[1].second = in.list(std::move(settled));
  return {};
}

Size fold_results(const std::string& name) { return name.find("max_pool") != std::string::npos ? 2 : 1; }

}  // namespace

bool is_function(const std::string& name) {
  std::string plain = name;
  if (plain.ends_with("_") && !plain.ends_with("__")) plain.pop_back();
  return has(handed_on, plain) || has(makers, plain) || has(noises, plain) || plain == "split" || plain == "max" ||
         plain == "min" || plain == "repeat" || plain == "embedding" || plain == "numel" || plain == "is_tensor" ||
         plain == "std" || plain == "upsample_nearest" || row_named(plain) != nullptr;
}

namespace {

struct Prepared {
  Json plain = Json::object();
  TensorArguments tensors;
  SourceTensor* first = nullptr;
  bool in_place = false;
};

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

Made filled(Tracer& tracer, Interpreter& in, const std::string& name, Arguments given);
Made extreme(Tracer& tracer, Interpreter& in, const std::string& name, Arguments given);
Made dropped(Tracer& tracer, Interpreter& in, const std::string& name, Arguments given);

Made repeated(Tracer& tracer, Interpreter& in, Arguments given) {
  static constexpr FunctionRow row{"repeat", "input sizes", [](FunctionCall& call) -> std::vector<ValueId> {
                                     ValueId x = call.tensor("input");
                                     const Sizes sizes = call.attrs.list("sizes");
                                     const Size front = static_cast<Size>(sizes.size()) - call.rank(x);
                                     if (front < 0) call.refuse(Fault::Format, "fewer numbers than axes");
                                     Sizes added;
                                     for (Size i = 0; i < front; ++i) added.push_back(i);
                                     if (!added.empty()) x = call.add(Unsqueeze{added}, {x});
                                     for (std::size_t i = 0; i < sizes.size(); ++i) {
                                       if (sizes[i] < 1)
                                         call.refuse(Fault::Unsupported,
                                                     "repeats an axis " + std::to_string(sizes[i]) + " times");
                                       else if (sizes[i] > 1) x = call.add(Tile{static_cast<Size>(i), sizes[i]}, {x});
                                     }
                                     return {x};
                                   }};
  auto named = named_arguments(in, given, "input sizes...", "repeat");
  if (!named) return pass(named);
  auto ready = prepared(tracer, in, *named);
  if (!ready) return pass(ready);
  const auto values = tracer.call(in, row, ready->plain, std::move(ready->tensors));
  if (!values) return std::unexpected(values.error());
  return answered(tracer, in, *values, -1, false);
}

Made embedded(Tracer& tracer, Interpreter& in, Arguments given) {
  auto named = named_arguments(in, given, "indices weight padding_idx max_norm norm_type scale_grad_by_freq sparse",
                               "embedding");
  if (!named) return pass(named);
  for (auto& [word, value] : *named) {
    if (word == "input") word = "indices";
    if (word == "max_norm" && !value.is_none())
      return fail(Fault::Unsupported, "embedding() with max_norm changes its weights");
    if (word == "indices")
      if (auto* tensor = value.as<SourceTensor>(); tensor && !tensor->value)
        if (auto made = tracer.value_of(*tensor, Shape{Dim::unknown(), Dim::unknown()}, DType::I64); !made)
          return pass(made);
  }
  std::erase_if(*named, [](const auto& one) { return one.first != "indices" && one.first != "weight"; });
  auto ready = prepared(tracer, in, *named);
  if (!ready) return pass(ready);
  const auto values = tracer.call(in, *aten_named("embedding"), ready->plain, std::move(ready->tensors));
  if (!values) return std::unexpected(values.error());
  return answered(tracer, in, *values, -1, false);
}

}  // namespace

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
  if (writes && target && values->size() == 1) {
    if (auto done = tracer.write(*target, (*values)[0]); !done) return pass(done);
    return Value::of(target);
  }
  return answered(tracer, in, *values, storage, name == "chunk" || name == "unbind");
}

namespace {

// A tensor of numbers that stand in the program.
Status numbers_of(Interpreter& in, const Value& value, Sizes& shape, std::vector<double>& out, bool& whole,
                  std::size_t depth) {
  if (value.is_number()) {
    whole = whole && value.is_whole();
    out.push_back(value.real());
    return in.charge(8);
  }
  if (depth > 8 || !value.is_object()) return fail(Fault::Unsupported, "a tensor of a " + python::type_name(value));
  const auto all = in.elements(value);
  if (!all) return std::unexpected(all.error());
  if (shape.size() <= depth) shape.push_back(static_cast<Size>(all->size()));
  if (shape[depth] != static_cast<Size>(all->size())) return fail(Fault::Format, "a tensor of lists of unlike lengths");
  for (const Value& one : *all)
    if (auto done = numbers_of(in, one, shape, out, whole, depth + 1); !done) return done;
  return {};
}

Made filled(Tracer& tracer, Interpreter& in, const std::string& name, Arguments given) {
  std::erase_if(given.named, [](const auto& one) { return is_silent(one.first); });
  if (name == "tensor" || name == "as_tensor" || name == "from_numpy") {
    const auto dtype = given.take("dtype");
    if (given.placed.empty()) return fail(Fault::Format, name + "() of nothing");
    if (given.placed[0].as<SourceTensor>()) return given.placed[0];
    Sizes shape;
    std::vector<double> numbers;
    bool whole = true;
    if (auto done = numbers_of(in, given.placed[0], shape, numbers, whole, 0); !done) return pass(done);
    const auto* word = dtype ? dtype->as<python::Text>() : nullptr;
    if (word ? word->text == "int64" : whole)
      return tracer.constant(in, Tensor::of(shape, std::vector<std::int64_t>(numbers.begin(), numbers.end())));
    return tracer.constant(in, Tensor::of(shape, std::vector<float>(numbers.begin(), numbers.end())));
  }
  if (name.ends_with("_like")) {
    auto* like = given.placed.empty() ? nullptr : given.placed[0].as<SourceTensor>();
    if (!like) return fail(Fault::Format, name + "() of what is no tensor");
    const auto shape = in.attribute(given.placed[0], "shape");
    if (!shape) return shape;
    return filled(tracer, in, name.substr(0, name.find('_')), Arguments{{*shape}, given.named});
  }
  const bool drawn = name == "rand" || name == "randn" || name == "empty";
  if (drawn && tracer.bound)
    return fail(Fault::Unsupported, name + "() inside the model: its numbers come from nowhere");
  const bool sized = name == "zeros" || name == "ones" || drawn;
  std::string_view parameters = sized                ? "size..."
                                : name == "full"     ? "size fill_value"
                                : name == "linspace" ? "start end steps"
                                                     : "start end step";
  if (name == "arange" && given.placed.size() == 1) parameters = "end";
  auto named = named_arguments(in, given, parameters, name);
  if (!named) return pass(named);
  auto ready = prepared(tracer, in, *named);
  if (!ready) return pass(ready);
  const auto values = tracer.call(in, *aten_named(drawn ? "zeros" : name), ready->plain, std::move(ready->tensors));
  if (!values) return std::unexpected(values.error());
  const Value made = tracer.tensor(in, (*values)[0]);
  made.as<SourceTensor>()->is_random = drawn;
  return made;
}

// max(x), max(x, dim), max(x, y)
Made extreme(Tracer& tracer, Interpreter& in, const std::string& name, Arguments given) {
  const bool two = given.placed.size() > 1 && given.placed[1].as<SourceTensor>();
  if (two) return call_function_named(tracer, in, name + "imum", std::move(given));
  const bool whole = given.placed.size() == 1 && given.named.empty();
  if (whole) {
    auto* tensor = given.placed[0].as<SourceTensor>();
    if (!tensor) return in.call(in.builtins[name], std::move(given));
    const auto id = tracer.value_of(*tensor);
    if (!id) return std::unexpected(id.error());
    const auto values = tracer.call(in, *aten_named(name + ".default"), Json::object(), {{"input", *id}});
    if (!values) return std::unexpected(values.error());
    return answered(tracer, in, *values, -1, false);
  }
  auto best = call_function_named(tracer, in, "a" + name, std::move(given));
  if (!best) return best;
  return in.tuple({*best, Value()});  // where it stands is not read
}

// At rest they hand on what they get; F.dropout acts unless it is told not to.
Made dropped(Tracer& tracer, Interpreter& in, const std::string& called, Arguments given) {
  std::string name = called;
  if (name.ends_with("_")) name.pop_back();
  if (name == "identity") return given.placed.empty() ? Made(Value()) : Made(given.placed[0]);
  auto named = named_arguments(in, given, "input p training inplace", name);
  if (!named) return pass(named);
  bool training = name != "alpha_dropout" && name != "feature_alpha_dropout";
  for (const auto& [word, value] : *named)
    if (word == "training") {
      const auto holds = in.truth(value);
      if (!holds) return std::unexpected(holds.error());
      training = *holds;
    }
  if (training)
    return fail(Fault::Unsupported,
                "F." + name + "() drops cells of a model at rest, too, unless it says training=self.training");
  std::erase_if(*named, [](const auto& one) { return one.first == "training" || one.first == "inplace"; });
  auto ready = prepared(tracer, in, *named);
  if (!ready) return pass(ready);
  const char* row = name == "dropout"                 ? "dropout"
                    : name.ends_with("alpha_dropout") ? "alpha_dropout"
                                                      : "feature_dropout";
  const auto values = tracer.call(in, *aten_named(row), ready->plain, std::move(ready->tensors));
  if (!values) return std::unexpected(values.error());
  return answered(tracer, in, *values, ready->first ? ready->first->storage : -1, false);
}

}  // namespace
}  // namespace convoy::torch
