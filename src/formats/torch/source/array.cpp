// Methods and functions of NumPy and TensorFlow on tensors, through PyTorch's functions of the same meaning.
#include "formats/torch/source/array.h"

#include "formats/torch/source/functions.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace convoy::torch {

using python::Arguments;
using python::Interpreter;
using python::Value;
using python::ValueList;
using Made = Result<Value>;

Made as_array(Tracer& tracer, Interpreter& in, const Value& value) {
  if (value.as<Array>()) return value;
  if (auto* tensor = value.as<SourceTensor>()) {
    if (!tensor->value) return value;
    return tracer.array(in, tensor->value, tensor->storage);
  }
  if (const auto* all = value.as<python::Sequence>(); all && !all->items.empty() && !all->is_tuple) {
    const auto made = filled(tracer, in, "tensor", Arguments{{value}, {{"dtype", in.text("float32")}}});
    if (!made) return made;
    return as_array(tracer, in, *made);
  }
  return value;
}

namespace {

// Every tensor of an answer as an array.
Made arrays(Tracer& tracer, Interpreter& in, Made made) {
  if (!made) return made;
  if (made->as<SourceTensor>()) return as_array(tracer, in, *made);
  const auto* all = made->as<python::Sequence>();
  if (!all || std::ranges::none_of(all->items, [](const Value& v) { return v.as<SourceTensor>(); })) return made;
  ValueList items;
  for (const Value& one : all->items) {
    auto array = as_array(tracer, in, one);
    if (!array) return array;
    items.push_back(*array);
  }
  return in.list(std::move(items));
}

// A list whose parts are arrays, those of plain numbers as well.
Made as_arrays(Tracer& tracer, Interpreter& in, const Value& list) {
  const auto* all = list.as<python::Sequence>();
  if (!all) return list;
  ValueList items;
  for (const Value& one : all->items) {
    auto array = as_array(tracer, in, one);
    if (!array) return array;
    items.push_back(*array);
  }
  return in.list(std::move(items));
}

Result<std::size_t> rank_of(Tracer& tracer, SourceTensor& tensor) {
  const auto shape = tracer.shape_of(tensor);
  if (!shape) return std::unexpected(shape.error());
  return shape->size();
}

// transpose(a), transpose(a, axes): all axes turned around, or in this order.
Made transposed(Tracer& tracer, Interpreter& in, const Value& x, const Value& axes) {
  auto* tensor = x.as<SourceTensor>();
  if (!tensor) return fail(Fault::Format, "transpose() of a " + python::type_name(x));
  Value order = axes;
  if (axes.is_none()) {
    const auto rank = rank_of(tracer, *tensor);
    if (!rank) return std::unexpected(rank.error());
    ValueList turned;
    for (std::size_t i = *rank; i-- > 0;) turned.push_back(Value::of(static_cast<std::int64_t>(i)));
    order = in.list(std::move(turned));
  }
  return arrays(tracer, in, call_function_named(tracer, in, "permute", Arguments{{x, order}, {}}));
}

// mean(x, axis, keepdims) and its like.
Made reduced(Tracer& tracer, Interpreter& in, const std::string& torch_name, Arguments given) {
  for (auto& [word, value] : given.named)
    if (word == "input_tensor" || word == "a") word = "x";
  const auto taken = python::bound(given, "x axis keepdims name", 1, torch_name);
  if (!taken) return std::unexpected(taken.error());
  Arguments said{{*(*taken)[0]}, {}};
  const bool all = !(*taken)[1] || (*taken)[1]->is_none();
  if (all && (torch_name == "amax" || torch_name == "amin"))
    return arrays(tracer, in, call_function_named(tracer, in, torch_name.substr(1), std::move(said)));
  if (!all) said.named.emplace_back("dim", *(*taken)[1]);
  if ((*taken)[2]) said.named.emplace_back("keepdim", *(*taken)[2]);
  if (all && (*taken)[2]) return fail(Fault::Unsupported, torch_name + "() over all axes that keeps them");
  return arrays(tracer, in, call_function_named(tracer, in, torch_name, std::move(said)));
}

// Arguments of these names in this order, handed on by place.
struct Renamed {
  std::string_view name, torch, parameters;
};
constexpr std::array renamed{Renamed{"reshape", "reshape", "tensor shape name"},
                             Renamed{"concat", "cat", "values axis name"},
                             Renamed{"concatenate", "cat", "arrays axis"},
                             Renamed{"stack", "stack", "values axis name"},
                             Renamed{"expand_dims", "unsqueeze", "input axis name"},
                             Renamed{"squeeze", "squeeze", "input axis name"},
                             Renamed{"swapaxes", "swapaxes", "a axis1 axis2"},
                             Renamed{"matmul", "matmul", "a b"},
                             Renamed{"add", "add", "x y name"},
                             Renamed{"subtract", "sub", "x y name"},
                             Renamed{"multiply", "mul", "x y name"},
                             Renamed{"divide", "div", "x y name"},
                             Renamed{"maximum", "maximum", "x y name"},
                             Renamed{"minimum", "minimum", "x y name"},
                             Renamed{"abs", "abs", "x name"},
                             Renamed{"exp", "exp", "x name"},
                             Renamed{"sqrt", "sqrt", "x name"},
                             Renamed{"square", "square", "x name"},
                             Renamed{"tanh", "tanh", "x name"},
                             Renamed{"sigmoid", "sigmoid", "x name"},
                             Renamed{"sin", "sin", "x name"},
                             Renamed{"cos", "cos", "x name"},
                             Renamed{"log", "log", "x name"},
                             Renamed{"floor", "floor", "x name"},
                             Renamed{"ceil", "ceil", "x name"},
                             Renamed{"sign", "sign", "x name"},
                             Renamed{"negative", "neg", "x name"},
                             Renamed{"pow", "pow", "x y name"},
                             Renamed{"power", "pow", "x y"},
                             Renamed{"tril", "tril", "m k"},
                             Renamed{"triu", "triu", "m k"},
                             Renamed{"where", "where", "condition x y name"},
                             Renamed{"greater", "gt", "x y name"},
                             Renamed{"greater_equal", "ge", "x y name"},
                             Renamed{"less", "lt", "x y name"},
                             Renamed{"less_equal", "le", "x y name"},
                             Renamed{"equal", "eq", "x y name"},
                             Renamed{"not_equal", "ne", "x y name"},
                             Renamed{"logical_and", "logical_and", "x y name"},
                             Renamed{"logical_or", "logical_or", "x y name"},
                             Renamed{"logical_not", "logical_not", "x name"},
                             Renamed{"repeat", "repeat_interleave", "input repeats axis name"}};
constexpr std::array reductions{Renamed{"reduce_mean", "mean", ""}, Renamed{"reduce_sum", "sum", ""},
                                Renamed{"reduce_max", "amax", ""},  Renamed{"reduce_min", "amin", ""},
                                Renamed{"mean", "mean", ""},        Renamed{"sum", "sum", ""},
                                Renamed{"max", "amax", ""},         Renamed{"min", "amin", ""}};
constexpr std::array<std::string_view, 13> draws{"random.randn",         "random.rand",
                                                 "random.random",        "random.uniform",
                                                 "random.normal",        "random.standard_normal",
                                                 "random.random_sample", "random.truncated_normal",
                                                 "random_normal",        "random_uniform",
                                                 "truncated_normal",     "random.randint",
                                                 "random.sample"};

template <class Table>
const Renamed* entry(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &Renamed::name);
  return found == table.end() ? nullptr : &*found;
}

// Numbers that nobody knows: their shape is a list, several numbers, or "size=".
Made drawn(Tracer& tracer, Interpreter& in, const std::string& name, Arguments given) {
  ValueList sizes;
  std::optional<Value> said = given.take("size");
  if (!said) said = given.take("shape");
  const bool by_number = name == "random.randn" || name == "random.rand";
  if (!said && !by_number)
    for (const Value& one : given.placed)
      if (one.as<python::Sequence>()) said = one;
  if (said && said->as<python::Sequence>()) sizes = said->as<python::Sequence>()->items;
  else if (said) sizes = {*said};
  else sizes = by_number || given.placed.size() == 1 ? given.placed : ValueList{};
  if (sizes.empty()) return fail(Fault::Unsupported, name + "() without a shape");
  auto made = filled(tracer, in, "empty", Arguments{{in.list(std::move(sizes))}, {}});
  if (const auto* tensor = made ? made->as<SourceTensor>() : nullptr; tensor && tensor->value)
    tracer.lost_values.insert(tensor->value.index);
  return arrays(tracer, in, std::move(made));
}

// zeros(shape), full(shape, number): of float32, as far as the numbers of a model go.
Made made_of_one(Tracer& tracer, Interpreter& in, std::string name, Arguments given) {
  const auto type = given.take("dtype");
  const auto* word_of_type = type ? type->as<python::Text>() : nullptr;
  const bool truths = word_of_type && word_of_type->text == "bool";
  for (const char* word : {"order", "name"}) given.take(word);
  if (name == "fill") name = "full";
  if (name == "empty") name = "zeros";
  for (auto& [word, value] : given.named)
    if (word == "shape" || word == "dims" || word == "a" || word == "input")
      given.placed.insert(given.placed.begin(), value);
    else if (word == "fill_value" || word == "value") given.placed.push_back(value);
  given.named.clear();
  const std::size_t most = name == "full" ? 2 : 1;  // an element type may stand behind them
  if (given.placed.size() < most) return fail(Fault::Format, name + "() with too few arguments");
  given.placed.resize(most);
  if (!name.ends_with("_like") && given.placed[0].is_whole()) given.placed[0] = in.list({given.placed[0]});
  auto made = filled(tracer, in, name, std::move(given));
  if (made && truths) made = call_function_named(tracer, in, "_to", Arguments{{*made, in.text("bool")}, {}});
  return arrays(tracer, in, std::move(made));
}

// linalg.band_part(input, num_lower, num_upper): a matrix without what lies further from its diagonal; -1 keeps all.
Made band(Tracer& tracer, Interpreter& in, const Arguments& given) {
  const auto taken = python::bound(given, "input num_lower num_upper name", 3, "band_part");
  if (!taken) return std::unexpected(taken.error());
  auto made = as_array(tracer, in, *(*taken)[0]);
  for (const auto& [place, function] : {std::pair{1, "triu"}, std::pair{2, "tril"}}) {
    const Value most = *(*taken)[static_cast<std::size_t>(place)];
    if (!most.is_whole()) return fail(Fault::Format, "band_part() of what is no number of diagonals");
    if (most.whole() < 0 || !made) continue;
    const Value diagonal = Value::of(place == 1 ? -most.whole() : most.whole());
    made = call_function_named(tracer, in, function, Arguments{{*made, diagonal}, {}});
  }
  return arrays(tracer, in, std::move(made));
}

// range(n), arange(start, stop, step): whole numbers where all of these are.
Made counted(Tracer& tracer, Interpreter& in, Arguments given) {
  for (auto& [word, value] : given.named) {
    if (word == "limit") word = "stop";
    if (word == "delta") word = "step";
  }
  const auto type = given.take("dtype");
  if (given.placed.size() == 1 && !std::ranges::any_of(given.named, [](auto& one) { return one.first == "stop"; }))
    given.placed.insert(given.placed.begin(), Value::of(std::int64_t{0}));
  const auto taken = python::bound(given, "start stop step dtype name", 1, "arange");
  if (!taken) return std::unexpected(taken.error());
  if (!(*taken)[1]) return fail(Fault::Format, "arange() without an end");
  Arguments said{{*(*taken)[0], *(*taken)[1], (*taken)[2].value_or(Value::of(std::int64_t{1}))}, {}};
  auto made = filled(tracer, in, "arange", std::move(said));
  const Value wanted = type ? *type : (*taken)[3].value_or(Value());
  if (made && wanted.as<python::Text>()) made = call_function_named(tracer, in, "_to", Arguments{{*made, wanted}, {}});
  return arrays(tracer, in, std::move(made));
}

// A function that PyTorch has by another name and in another order of arguments.
Made called_as(const Renamed& one, Tracer& tracer, Interpreter& in, Arguments& given) {
  const auto taken = python::bound(given, one.parameters, 1, one.name);
  if (!taken) return std::unexpected(taken.error());
  Arguments said;
  for (const auto& value : *taken)
    if (value && !value->is_none()) said.placed.push_back(*value);
  // Numbers of the program alone: as an array without axes.
  if (!said.placed.empty() && std::ranges::all_of(said.placed, &Value::is_number)) {
    auto number = filled(tracer, in, "tensor", Arguments{{said.placed[0]}, {{"dtype", in.text("float32")}}});
    if (!number) return number;
    said.placed[0] = *number;
  }
  if (one.torch == "cat" || one.torch == "stack") {
    auto ready = as_arrays(tracer, in, said.placed[0]);
    if (!ready) return ready;
    said.placed[0] = *ready;
  }
  if (one.name == "squeeze" && said.placed.size() == 1)
    return arrays(tracer, in, call_function_named(tracer, in, "squeeze", std::move(said)));
  return arrays(tracer, in, call_function_named(tracer, in, std::string(one.torch), std::move(said)));
}

}  // namespace

bool makes_numbers(std::string_view name) {
  return name == "zeros" || name == "ones" || name == "full" || name == "fill" || name == "empty" ||
         name == "zeros_like" || name == "ones_like";
}

std::optional<Value> array_function(Tracer& tracer, Interpreter& in, const std::string& name) {
  const auto native = [&](python::NativeFunction run) { return in.native(name, std::move(run)); };
  if (name == "transpose")
    return native([&tracer](Interpreter& with, Arguments& given) -> Made {
      for (auto& [word, value] : given.named)
        if (word == "perm") word = "axes";
      const auto taken = python::bound(given, "a axes name", 1, "transpose");
      if (!taken) return std::unexpected(taken.error());
      return transposed(tracer, with, *(*taken)[0], (*taken)[1].value_or(Value()));
    });
  if (std::ranges::find(draws, name) != draws.end())
    return native([&tracer, name](Interpreter& with, Arguments& given) { return drawn(tracer, with, name, given); });
  if (makes_numbers(name))
    return native(
        [&tracer, name](Interpreter& with, Arguments& given) { return made_of_one(tracer, with, name, given); });
  if (name == "band_part")
    return native([&tracer](Interpreter& with, Arguments& given) { return band(tracer, with, given); });
  if (name == "arange" || name == "range")
    return native([&tracer](Interpreter& with, Arguments& given) { return counted(tracer, with, given); });
  if (name == "constant" || name == "convert_to_tensor" || name == "Variable" || name == "identity" || name == "cast" ||
      name == "asarray" || name == "array" || name == "stop_gradient")
    return native([&tracer, name](Interpreter& with, Arguments& given) -> Made {
      if (given.placed.empty()) return fail(Fault::Format, name + "() of nothing");
      const auto type = given.take("dtype");
      const Value wanted = type ? *type : given.placed.size() > 1 ? given.placed[1] : Value();
      const auto array = as_array(tracer, with, given.placed[0]);
      if (!array || !wanted.as<python::Text>() || !array->as<SourceTensor>()) return array;
      return arrays(tracer, with, call_function_named(tracer, with, "_to", Arguments{{*array, wanted}, {}}));
    });
  if (name == "shape")
    return native([](Interpreter& with, Arguments& given) -> Made {
      return given.placed.empty() ? Made(fail(Fault::Format, "shape() of nothing"))
                                  : with.attribute(given.placed[0], "shape");
    });
  if (const Renamed* one = entry(reductions, name))
    return native([&tracer, one](Interpreter& with, Arguments& given) {
      return reduced(tracer, with, std::string(one->torch), std::move(given));
    });
  if (const Renamed* one = entry(renamed, name))
    return native([&tracer, one](Interpreter& with, Arguments& given) { return called_as(*one, tracer, with, given); });
  return std::nullopt;
}

Result<std::optional<Value>> Array::attribute(Interpreter& in, const std::string& name) {
  const auto answer = [](Made made) -> Result<std::optional<Value>> {
    if (!made) return pass(made);
    return *made;
  };
  if (name == "shape" || name == "ndim" || name == "dtype" || name == "item" || name == "tolist")
    return SourceTensor::attribute(in, name);
  if (name == "size") {
    auto count = SourceTensor::attribute(in, "numel");
    return count && *count ? answer(in.call(**count, ValueList{})) : count;
  }
  if (name == "T") return answer(transposed(tracer, in, Value::of(this), Value()));
  if (name == "numpy" || name == "copy" || name == "get_shape")
    return in.native(name, [this, name](Interpreter& with, Arguments&) -> Made {
      return name == "get_shape" ? with.attribute(Value::of(this), "shape") : Made(Value::of(this));
    });
  if (name == "astype")
    return in.native(name, [this](Interpreter& with, Arguments& given) -> Made {
      const auto* type = given.placed.empty() ? nullptr : given.placed[0].as<python::Text>();
      if (!type) return fail(Fault::Unsupported, "astype() of a type that is not known here");
      if (!value || tracer.graph[value].type.dtype == DType::F32) {
        if (type->text == "float32" || type->text == "float64") return Value::of(this);
      }
      return arrays(tracer, with,
                    call_function_named(tracer, with, "_to", Arguments{{Value::of(this), given.placed[0]}, {}}));
    });
  if (name == "transpose")
    return in.native(name, [this](Interpreter& with, Arguments& given) -> Made {
      if (given.placed.empty()) return transposed(tracer, with, Value::of(this), Value());
      const bool listed = given.placed.size() == 1 && given.placed[0].as<python::Sequence>();
      return transposed(tracer, with, Value::of(this), listed ? given.placed[0] : with.list(given.placed));
    });
  if (name == "reshape")
    return in.native(name, [this](Interpreter& with, Arguments& given) -> Made {
      const bool listed = given.placed.size() == 1 && given.placed[0].as<python::Sequence>();
      const Value shape = listed ? given.placed[0] : with.list(given.placed);
      return arrays(tracer, with,
                    call_function_named(tracer, with, "reshape", Arguments{{Value::of(this), shape}, {}}));
    });
  if (name == "mean" || name == "sum" || name == "max" || name == "min")
    if (auto function = array_function(tracer, in, name))
      return Value::of(in.make<python::Bound>(Value::of(this), *function));
  return std::nullopt;
}

Made Array::item(Interpreter& in, Value at) { return arrays(tracer, in, SourceTensor::item(in, at)); }

Status Array::set_item(Interpreter& in, Value at, Value given) { return SourceTensor::set_item(in, at, given); }

Result<std::optional<Value>> Array::binary(Interpreter& in, std::string_view symbol, Value other, bool reversed) {
  auto made = SourceTensor::binary(in, symbol, other, reversed);
  if (!made || !*made) return made;
  auto array = arrays(tracer, in, **made);
  if (!array) return pass(array);
  return *array;
}

Result<std::optional<Value>> Array::unary(Interpreter& in, std::string_view symbol) {
  auto made = SourceTensor::unary(in, symbol);
  if (!made || !*made) return made;
  auto array = arrays(tracer, in, **made);
  if (!array) return pass(array);
  return *array;
}

}  // namespace convoy::torch
