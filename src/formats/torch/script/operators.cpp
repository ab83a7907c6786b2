// Which overload a call means, and its arguments as the rows take them.
#include "formats/torch/script/operators.h"

#include "base/words.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "formats/torch/catalogue/views.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>

namespace convoy::torch {

namespace {

// Named by the operator and of no meaning for the numbers of a model in eval mode.
constexpr std::array<std::string_view, 9> silent_words{
    "benchmark", "deterministic", "allow_tf32", "copy", "sparse", "implicit", "path", "scale_grad_by_freq", "stable"};

bool is_tensors(const Value& value) {
  const auto* all = value.as<Sequence>();
  return all && std::ranges::all_of(all->items, [](const Value& v) { return v.is_none() || v.as<SourceTensor>(); });
}
bool is_size(const Value& value) { return (value.is_whole() && !value.is_truth()) || value.as<FreeSize>(); }

template <class Each>
bool every(const Value& value, Each each) {
  const auto* all = value.as<Sequence>();
  return all && std::ranges::all_of(all->items, each);
}

// `loose`: numbers may stand for tensors.
bool takes(const SchemaParameter& parameter, const Value& value, bool loose) {
  if (value.is_none() && (parameter.optional || parameter.kind == 'd')) return true;
  switch (parameter.kind) {
    case 'T': return value.as<SourceTensor>() || (loose && value.is_number());
    case 'L': return is_tensors(value);
    case 'i': return is_size(value);
    case 'I': return is_size(value) || every(value, is_size);
    case 'f': return value.is_number() && !value.is_truth();
    case 'n': return value.is_number() || value.as<FreeSize>();
    case 'F': return every(value, [](const Value& v) { return v.is_number(); });
    case 'b': return value.is_truth();
    case 's': return value.as<python::Text>() != nullptr;
    case 't': return value.is_whole() && !value.is_truth();
    default: return !value.as<SourceTensor>();
  }
}

using SchemaValues = std::vector<std::pair<SchemaParameter, Value>>;

std::optional<SchemaValues> matched(const Schema& schema, const Arguments& given, bool loose) {
  SchemaValues all;
  std::size_t next = 0, used = 0;
  for (const SchemaParameter& parameter : parameters_of(schema)) {
    const auto named = std::ranges::find(given.named, parameter.name, &std::pair<std::string, Value>::first);
    std::optional<Value> value;
    if (named != given.named.end()) value = named->second, ++used;
    else if (!parameter.by_name_only && next < given.placed.size()) value = given.placed[next++];
    if (!value) {
      if (!parameter.has_default) return std::nullopt;
      continue;
    }
    if (!takes(parameter, *value, loose)) return std::nullopt;
    all.emplace_back(parameter, *value);
  }
  if (next < given.placed.size() || used < given.named.size()) return std::nullopt;
  return all;
}

class Call {
 public:
  Call(Tracer& tracer, Interpreter& in, std::string name, const Schema& schema)
      : tracer_(tracer),
        in_(in),
        name_(std::move(name)),
        schema_(schema) {}

  Made run(const SchemaValues& named, bool in_place) {
    for (const auto& [parameter, value] : named) {
      const std::string word(parameter.name);
      auto taken = within("argument '" + word + "'", take(word, parameter, value));
      if (!taken) return pass(taken);
    }
    if (auto rest = at_rest(); !rest) return pass(rest);
    const std::string operation = overload();
    if (schema_.name == "select" || schema_.name == "slice") part_ = plain_;
    const auto [row, plain] = aten_row(operation, std::move(plain_));
    if (!row) return fail(Fault::Unsupported, "operator 'torch." + name_ + "' is not carried");
    const bool several = schema_.results != "T";
    const auto values = tracer_.call(in_, *row, plain, std::move(tensors_),
                                     several ? std::max<std::size_t>(2, schema_.results.size()) : 1);
    if (!values) return std::unexpected(values.error());
    return answered(*values, in_place);
  }

 private:
  std::string overload() {
    if (schema_.name.contains("convolution")) return convolution();
    return std::string(schema_.name) + "." + std::string(schema_.overload);
  }

  // One of six functions, which the layer is named after.
  std::string convolution() {
    const auto weight = tensors_.find("weight");
    const Size space = weight == tensors_.end() ? 0 : tracer_.graph[weight->second].type.rank() - 2;
    const bool transposed = plain_.value("transposed", false);
    plain_.erase("transposed");
    if (!transposed) plain_.erase("output_padding");
    return (transposed ? "conv_transpose" : "conv") + std::to_string(space) + "d.default";
  }

  Status take(const std::string& word, const SchemaParameter& parameter, const Value& value) {
    if (parameter.kind == 'T' && !value.is_none()) return tensor(word, value);
    if (parameter.kind == 'L' && !value.is_none()) {
      const auto& items = value.as<Sequence>()->items;
      for (const Value& item : items)
        if (auto* one = item.as<SourceTensor>()) listed_.push_back(one);
      for (std::size_t i = 0; i < items.size(); ++i)
        if (!items[i].is_none())
          if (auto s = tensor(word + "." + std::to_string(i), items[i]); !s) return s;
      return {};
    }
    if (word == "memory_format" && value.is_whole() && value.whole() > 1)
      lies_anew_ = true;  // channels_last, channels_last_3d
    if (word == "copy" && value.is_truth() && value.whole() != 0) lies_anew_ = true;
    if (parameter.kind == 'd' || value.is_none() || is_among(silent_words, word)) return {};
    if (parameter.kind == 't') {
      const auto dtype = scalar_type(value.whole());
      if (!dtype) return std::unexpected(dtype.error());
      plain_[word] = std::string(name_of(*dtype));
      return {};
    }
    if ((word == "alpha" || word == "beta") && schema_.name != "celu" && schema_.name != "elu" && value.is_number() &&
        value.real() == 1 && schema_.name != "softplus")
      return {};
    if ((word == "scale" || word == "input_scale") && schema_.name == "elu" && value.is_number() && value.real() == 1)
      return {};
    if (parameter.kind == 'I' && every(value, is_size)) return sizes(word, value);
    auto json = json_of(in_, value);
    if (!json) return pass(json);
    // One number counts for a list of it.
    plain_[word] = parameter.kind == 'I' && !json->is_array() ? Json::array({*json}) : std::move(*json);
    return {};
  }

  // What its user knows of an input whose shape nobody has said.
  std::optional<Shape> wanted() const {
    if (schema_.name == "embedding") return Shape{Dim::unknown(), Dim::unknown()};
    const auto weight = tensors_.find("weight");
    if (weight == tensors_.end()) return std::nullopt;
    return weight_shape(weight->second);
  }
  std::optional<Shape> weight_shape(ValueId weight) const {
    const auto& sizes = tracer_.graph[weight].type.shape;
    if (schema_.name == "linear" && sizes.size() == 2) return Shape{Dim::unknown(), sizes[1]};
    if (!schema_.name.contains("conv") || sizes.size() < 3 || !sizes[1].known()) return std::nullopt;
    const bool transposed = schema_.name.contains("transpose");
    Shape shape{Dim::unknown(), transposed ? sizes[0] : Dim(*sizes[1] * groups_)};
    shape.resize(sizes.size(), Dim::unknown());
    const auto& asked = tracer_.options().size;
    for (std::size_t i = 0; i < asked.size() && asked.size() + 2 == shape.size(); ++i)
      if (asked[i]) shape[i + 2] = Dim(*asked[i]);
    return shape;
  }

 public:
  // Gives an input that nobody has used yet its shape, by the weight and the groups of this call.
  Status settle(const SchemaValues& named) {
    SourceTensor* fresh = nullptr;
    ValueId weight;
    for (const auto& [parameter, value] : named) {
      auto* one = value.as<SourceTensor>();
      if (parameter.name == "groups" && value.is_whole()) groups_ = value.whole();
      if (parameter.name == "transposed" && value.is_truth() && value.whole() != 0) return {};
      if (one && (parameter.name == "input" || parameter.name == "indices") && !one->value) fresh = one;
      if (one && parameter.name == "weight") weight = one->value;
    }
    if (!fresh) return {};
    const auto shape = schema_.name == "embedding" ? wanted() : weight ? weight_shape(weight) : std::nullopt;
    auto made = tracer_.value_of(*fresh, shape, schema_.name == "embedding" ? DType::I64 : DType::F32);
    if (!made) return pass(made);
    return {};
  }

 private:
  Status tensor(const std::string& word, const Value& value) {
    if (value.is_number()) {
      const Value made =
          tracer_.constant(in_, value.is_real() ? Tensor::of({}, std::vector<float>{static_cast<float>(value.real())})
                                                : Tensor::of({}, std::vector<std::int64_t>{value.whole()}));
      tensors_[word] = made.as<SourceTensor>()->value;
      return {};
    }
    auto* one = value.as<SourceTensor>();
    const auto id = tracer_.value_of(*one);
    if (!id) return std::unexpected(id.error());
    tensors_[word] = *id;
    if (!first_) first_ = one;
    return {};
  }

  // A size that is free keeps its place in a new shape, or makes an axis as long as another one.
  Status sizes(const std::string& word, const Value& value) {
    const auto& items = value.as<Sequence>()->items;
    const bool open = std::ranges::any_of(items, [](const Value& v) { return v.as<FreeSize>() != nullptr; });
    Json list = Json::array(), from = Json::array();
    if (open && first_ && (schema_.name == "view" || schema_.name == "reshape" || schema_.name == "_unsafe_view")) {
      const auto settled = settled_sizes(tracer_, in_, *first_, value);
      if (!settled) return std::unexpected(settled.error());
      auto json = json_of(in_, *settled);
      if (!json) return pass(json);
      plain_[word] = std::move(*json);
      return {};
    }
    static constexpr std::array<std::string_view, 7> makers{"zeros",    "ones",     "full",  "new_zeros",
                                                            "new_ones", "new_full", "expand"};
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto* free = items[i].as<FreeSize>();
      from.push_back(0);
      if (!free || !free->is_size() || !is_among(makers, schema_.name)) {
        auto json = json_of(in_, items[i]);
        if (!json) return pass(json);
        list.push_back(std::move(*json));
        continue;
      }
      list.push_back(1);
      from.back() = free->axis;
      tensors_["like." + std::to_string(i)] = free->tensor;
      plain_["from"] = from;
    }
    if (plain_.contains("from")) plain_["from"] = std::move(from);
    plain_[word] = std::move(list);
    return {};
  }

  // BatchNorm and dropout that act.
  Status at_rest() {
    const bool normalizes = schema_.name.contains("instance_norm");
    const bool own = schema_.name.contains("batch_norm") && !tensors_.contains("running_mean");
    for (const char* word : {"train", "training"})
      if (plain_.value(word, false) && !own && !normalizes)
        return fail(
            Fault::Unsupported,
            "was saved for training; call model.eval() before torch.jit.trace, so that BatchNorm and dropout are "
            "in eval mode");
    return {};
  }

  Made answered(const std::vector<ValueId>& values, bool in_place) {
    if (values.empty()) return fail(Fault::Internal, "an operator of ATen gives nothing");
    if (in_place && first_) {
      if (auto done = tracer_.write(in_, *first_, values[0]); !done) return pass(done);
      return Value::of(first_);
    }
    const int storage = may_share_memory(schema_.name) && first_ ? first_->storage : -1;
    if (schema_.results == "T" && lies_anew_ && storage >= 0) return tracer_.laid_anew(in_, values[0], storage);
    if (schema_.results == "T") {
      const Value made = tracer_.tensor(in_, values[0], storage);
      if (storage >= 0) tell_part(*made.as<SourceTensor>());
      return made;
    }
    if (takes_apart(schema_.name) && storage >= 0) return in_.list(tracer_.pieces(in_, values, storage));
    const bool own = storage >= 0 && listed_.size() == values.size();  // looks at several tensors
    ValueList all;
    for (std::size_t i = 0; i < values.size(); ++i) {
      all.push_back(values[i] ? tracer_.tensor(in_, values[i], own ? listed_[i]->storage : storage) : Value());
    }
    if (schema_.results == "L") return in_.list(std::move(all));
    all.resize(schema_.results.size());
    return in_.tuple(std::move(all));
  }

  // x[:, 2] and x[:, 2:5]: what is written into the part is written into x.
  void tell_part(SourceTensor& part) {
    const bool one = schema_.name == "select";
    if (!one && schema_.name != "slice") return;
    const auto number = [&](const char* word, std::int64_t otherwise) {
      return part_.contains(word) && part_[word].is_number_integer() ? part_[word].get<std::int64_t>() : otherwise;
    };
    const Size rank = tracer_.graph[first_->value].type.rank();
    const Size axis = positive_axis(number("dim", 0), rank);
    if (axis < 0 || axis >= rank) return;
    const Value all = Value::of(in_.make<python::Cut>(Value(), Value(), Value()));
    ValueList key(static_cast<std::size_t>(axis), all);
    const std::int64_t start = number("start", 0), end = number("end", std::numeric_limits<std::int64_t>::max());
    const auto bound = [](std::int64_t n, std::int64_t absent) { return n == absent ? Value() : Value::of(n); };
    if (one) key.push_back(Value::of(number("index", 0)));
    else
      key.push_back(Value::of(in_.make<python::Cut>(
          bound(start, 0), bound(end, std::numeric_limits<std::int64_t>::max()), bound(number("step", 1), 1))));
    part.whole = first_;
    part.key = in_.tuple(std::move(key));
    part.of_whole = first_->value;
  }

  Tracer& tracer_;
  Interpreter& in_;
  const std::string name_;
  const Schema& schema_;
  Json plain_ = Json::object(), part_;  // part_: of a view of a part, where that lies
  TensorArguments tensors_;
  SourceTensor* first_ = nullptr;
  std::vector<SourceTensor*> listed_;
  Size groups_ = 1;
  bool lies_anew_ = false;
};

// The shape of one tensor as whole numbers and free sizes.
Made sizes_of(Interpreter& in, const Value& tensor) { return in.attribute(tensor, "shape"); }

// What asks about a tensor, or says itself by other operators. Nothing: neither.
Result<std::optional<Value>> about_tensor(Tracer& tracer, Interpreter& in, const std::string& name,
                                          const Arguments& given) {
  const auto& all = given.placed;
  auto* x = all.empty() ? nullptr : all[0].as<SourceTensor>();
  if (!x) return std::nullopt;
  const auto answer = [](Made made) -> Result<std::optional<Value>> {
    if (!made) return pass(made);
    return *made;
  };
  if (name == "size" || name == "sym_size") {
    const auto shape = sizes_of(in, all[0]);
    if (!shape || all.size() < 2) return answer(shape);
    return answer(in.item(*shape, all[1]));
  }
  if (name == "dim" || name == "ndimension" || name == "len" || name == "numel") {
    const auto found = in.attribute(all[0], name == "dim" || name == "ndimension" ? "dim"
                                            : name == "len"                       ? "shape"
                                                                                  : name);
    if (!found) return std::unexpected(found.error());
    if (name == "len") return answer(in.item(*found, Value::of(std::int64_t{0})));
    return answer(in.call(*found, ValueList{}));
  }
  if (name == "is_floating_point") {
    const auto id = tracer.value_of(*x);
    if (!id) return std::unexpected(id.error());
    return Value::of(is_floating(tracer.graph[*id].type.dtype));
  }
  if ((name == "Int" || name == "Float" || name == "Bool" || name == "IntImplicit" || name == "FloatImplicit" ||
       name == "ScalarImplicit" || name == "item") &&
      all.size() == 1) {
    const auto number = scalar_of(tracer, all[0]);
    if (!number) return fail(Fault::Unsupported, "a number of a tensor that comes only when the model runs");
    if (!number->is_number() || name == "ScalarImplicit" || name == "item") return *number;
    return call_on_numbers(tracer, in, name.substr(0, name.find("Implicit")), Arguments{{*number}, {}});
  }
  const bool other = all.size() > 1 && all[1].as<SourceTensor>();
  if (other && (name == "view_as" || name == "reshape_as")) {
    const auto shape = sizes_of(in, all[1]);
    return shape ? answer(call_operator(tracer, in, "reshape", Arguments{{all[0], *shape}, {}})) : answer(shape);
  }
  if (other && (name == "type_as" || name == "to")) {
    const auto like = tracer.value_of(*all[1].as<SourceTensor>());
    if (!like) return std::unexpected(like.error());
    const FunctionRow* row = aten_row("to.dtype", Json::object()).row;
    const auto mine = tracer.value_of(*x);
    if (!mine) return std::unexpected(mine.error());
    const auto made = tracer.call(in, *row, Json{{"dtype", std::string(name_of(tracer.graph[*like].type.dtype))}},
                                  {{"input", *mine}});
    if (!made) return std::unexpected(made.error());
    return tracer.tensor(in, (*made)[0], x->storage);
  }
  if (name == "swapaxes" || name == "swapdims")
    return answer(call_operator(tracer, in, "transpose", Arguments{all, {}}));
  return std::nullopt;
}

}  // namespace

Result<DType> scalar_type(std::int64_t number) {
  static constexpr std::array types{DType::U8,  DType::I8,  DType::I16, DType::I32,
                                    DType::I64, DType::F16, DType::F32, DType::F64};
  if (number >= 0 && number < static_cast<std::int64_t>(types.size())) return types[static_cast<std::size_t>(number)];
  if (number == 11) return DType::Bool;
  if (number == 15) return DType::BF16;
  return fail(Fault::Unsupported, "element type " + std::to_string(number) + " is not carried");
}

namespace {

// torch.tensor([...], dtype=6), whose types go by numbers here.
Made numbers_as_tensor(Tracer& tracer, Interpreter& in, Arguments given) {
  for (auto& [word, value] : given.named) {
    if (word != "dtype" || !value.is_whole()) continue;
    const auto dtype = scalar_type(value.whole());
    if (!dtype) return std::unexpected(dtype.error());
    value = in.text(std::string(name_of(*dtype)));
  }
  return call_function_named(tracer, in, "tensor", std::move(given));
}

}  // namespace

Made call_operator(Tracer& tracer, Interpreter& in, const std::string& called, Arguments given) {
  auto number = call_on_numbers(tracer, in, called, given);
  if (!number) return pass(number);
  if (*number) return **number;
  auto told = about_tensor(tracer, in, called, given);
  if (!told) return pass(told);
  if (*told) return **told;
  std::string name = called;
  const bool in_place = name.ends_with('_') && !name.ends_with("__");
  if (in_place) name.pop_back();
  if (called == "tensor") return numbers_as_tensor(tracer, in, std::move(given));
  const auto overloads = schemas_named(name);
  if (overloads.empty()) return fail(Fault::Unsupported, "operator 'torch." + called + "' is not known here");
  for (const bool loose : {false, true})
    for (const Schema& schema : overloads)
      if (const auto named = matched(schema, given, loose)) {
        Call call(tracer, in, called, schema);
        if (auto settled = call.settle(*named); !settled) return pass(settled);
        return call.run(*named, in_place);
      }
  std::string kinds;
  for (const Value& one : given.placed) kinds += (kinds.empty() ? "" : ", ") + python::type_name(one);
  return fail(Fault::Unsupported, "operator 'torch." + called + "' has no form here that takes (" + kinds + ")");
}

Made call_primitive(Tracer& tracer, Interpreter& in, const std::string& name, Arguments given) {
  const auto dot = name.find('.');
  const std::string space = name.substr(0, dot), word = name.substr(dot + 1);
  if (space == "aten") return call_operator(tracer, in, word, std::move(given));
  const auto& all = given.placed;
  if (space == "prim" && !all.empty()) {
    if (word == "NumToTensor" || word == "data" || word == "unchecked_unwrap_optional") return all[0];
    if (word == "shape") return call_operator(tracer, in, "size", Arguments{{all[0]}, {}});
    if (word == "device") return in.text("cpu");
    if (word == "type" && all[0].as<python::Text>()) return all[0];  // of the device
    if (word == "layout") return Value::of(std::int64_t{0});
    for (const char* other : {"is_cuda", "is_nested", "is_sparse", "is_quantized", "is_mkldnn", "requires_grad"})
      if (word == other) return Value::of(false);
    if (word == "min" || word == "max") {
      if (all.size() == 1) return in.call(in.builtins[word], std::move(given));
      return call_operator(tracer, in, word, std::move(given));
    }
    if (word == "RaiseException") {
      const auto said = in.string_of(all[0]);
      return fail(Fault::Unsupported, "the program raises an exception" + (said ? ": " + *said : std::string()));
    }
    if (word == "dtype" && all[0].as<SourceTensor>()) {
      const auto id = tracer.value_of(*all[0].as<SourceTensor>());
      if (!id) return std::unexpected(id.error());
      for (std::int64_t n = 0; n < 16; ++n)
        if (const auto type = scalar_type(n); type && *type == tracer.graph[*id].type.dtype) return Value::of(n);
    }
  }
  return fail(Fault::Unsupported, "operator 'ops." + name + "' is not known here");
}

}  // namespace convoy::torch
