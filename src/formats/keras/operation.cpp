// Calls of keras.ops on symbolic tensors, which Keras 3 writes as nodes beside the layers. What a node is called with
// stands in its config, among its arguments by place, or among them by name.
#include "formats/keras/resize.h"

#include <algorithm>
#include <array>

namespace convoy::keras {
namespace {

// The argument of this name, wherever it stands; null pointer when absent or null. Positions count as in Python.
const Json* option(Call& call, std::string_view name, std::size_t place) {
  const Json* config = call.attrs.raw(name);
  if (!call.call) return config;
  const auto& args = call.call->args;
  if (place < args.size() && !args[place].is_null()) return &args[place];
  const auto it = call.call->kwargs.find(std::string(name));
  if (it != call.call->kwargs.end() && !it->is_null()) return &*it;
  return config;
}

constexpr std::size_t nowhere = 1000;

std::optional<std::size_t> tensor_index(const Json& value) {
  if (!value.is_object() || value.size() != 1 || !value.contains("$tensor")) return std::nullopt;
  return value["$tensor"].get<std::size_t>();
}

void flatten_numbers(Call& call, const Json& value, Sizes& shape, std::vector<float>& out, std::size_t depth) {
  if (value.is_number() || value.is_boolean()) {
    out.push_back(value.is_boolean() ? (value.get<bool>() ? 1.0F : 0.0F) : value.get<float>());
    return;
  }
  if (!value.is_array() || depth > 8)
    return call.refuse(Fault::Unsupported, "holds a constant that is no array of numbers");
  if (shape.size() <= depth) shape.push_back(static_cast<Size>(value.size()));
  if (shape[depth] != static_cast<Size>(value.size())) return call.refuse(Fault::Format, "holds a ragged array");
  for (const Json& one : value) flatten_numbers(call, one, shape, out, depth + 1);
}

// A tensor, a number, or an array written into the config.
ValueId operand(Call& call, std::string_view name, std::size_t place) {
  const Json* value = option(call, name, place);
  if (!value) {
    call.refuse(Fault::Format, "argument '" + std::string(name) + "' is missing");
    return {};
  }
  if (const auto index = tensor_index(*value)) {
    if (*index < call.inputs.size()) return call.inputs[*index];
    call.refuse(Fault::Format, "argument '" + std::string(name) + "' is no tensor");
    return {};
  }
  const Json* numbers = value;
  if (value->is_object() && value->contains("config") && (*value)["config"].is_object() &&
      (*value)["config"].contains("value"))
    numbers = &(*value)["config"]["value"];
  Sizes shape;
  std::vector<float> all;
  flatten_numbers(call, *numbers, shape, all, 0);
  const auto count = checked_count(shape);
  if (call.failed() || !count || *count != static_cast<Size>(all.size())) {
    call.refuse(Fault::Format, "argument '" + std::string(name) + "' is no array of numbers");
    return {};
  }
  return call.constant(name, Tensor::of(shape, std::move(all)));
}

Sizes list_of(Call& call, const Json* value, std::string_view name) {
  if (!value) return {};
  const Json* list = Attrs::tuple_of(value);
  if (!list->is_array()) return {call.attrs.integer_of(list, name)};
  return call.attrs.sizes_of(list, name, list->size());
}

Order order_of(Call& call) {
  const Json* said = option(call, "data_format", nowhere);
  return said && *said == "channels_first" ? Order::ChannelsFirst : Order::ChannelsLast;
}

template <BinaryFunction function>
Values binary(Call& call) {
  return {call.add(Binary{function}, {operand(call, "x1", 0), operand(call, "x2", 1)})};
}

template <Function function>
Values unary(Call& call) {
  return {call.add(Unary{function}, {operand(call, "x", 0)})};
}

double number(Call& call, std::string_view name, std::size_t place, double otherwise) {
  return call.attrs.number_of(option(call, name, place), name, otherwise);
}

Values relu(Call& call) { return {call.add(Relu{}, {operand(call, "x", 0)})}; }
Values relu6(Call& call) { return {call.add(Relu{6.0, 0, 0, false}, {operand(call, "x", 0)})}; }
Values leaky_relu(Call& call) {
  return {call.add(Relu{{}, number(call, "negative_slope", 1, 0.2), 0, false}, {operand(call, "x", 0)})};
}
Values elu(Call& call) { return {call.add(Elu{number(call, "alpha", 1, 1)}, {operand(call, "x", 0)})}; }
Values celu(Call& call) { return {call.add(Celu{number(call, "alpha", 1, 1)}, {operand(call, "x", 0)})}; }
Values hard_sigmoid(Call& call) { return {call.add(HardSigmoid{}, {operand(call, "x", 0)})}; }
Values hard_tanh(Call& call) { return {call.add(Clip{-1.0, 1.0}, {operand(call, "x", 0)})}; }
Values squareplus(Call& call) { return {call.add(Squareplus{number(call, "b", 1, 4)}, {operand(call, "x", 0)})}; }
Values identity(Call& call) { return {call.add(Identity{}, {operand(call, "x", 0)})}; }

// ops.gelu is the tanh form unless told otherwise, unlike the activation.
Values gelu(Call& call) {
  const Json* approximate = option(call, "approximate", 1);
  const bool exact = approximate && *approximate == false;
  return {call.add(Unary{exact ? Function::Gelu : Function::GeluTanh}, {operand(call, "x", 0)})};
}

template <bool soft>
Values shrink(Call& call) {
  return {call.add(Shrink{number(call, "threshold", 1, 0.5), soft}, {operand(call, "x", 0)})};
}

template <bool logarithm>
Values softmax(Call& call) {
  const ValueId x = operand(call, "x", 0);
  const Json* axis = option(call, "axis", 1);
  return {call.add(Softmax{call.axes(axis ? list_of(call, axis, "axis") : Sizes{-1}, call.rank(x)), logarithm}, {x})};
}

Values glu(Call& call) {
  const ValueId x = operand(call, "x", 0);
  return {call.add(Glu{call.axis(call.attrs.integer_of(option(call, "axis", 1), "axis", -1), call.rank(x))}, {x})};
}

Values clip(Call& call) {
  Clip op;
  op.least = number(call, "x_min", 1, -std::numeric_limits<double>::infinity());
  op.most = number(call, "x_max", 2, std::numeric_limits<double>::infinity());
  return {call.add(op, {operand(call, "x", 0)})};
}

Values pad(Call& call) {
  const ValueId x = operand(call, "x", 0);
  const auto rank = static_cast<std::size_t>(call.rank(x));
  const Json* width = option(call, "pad_width", 1);
  const Json* said = option(call, "mode", 2);
  const std::string mode = said && said->is_string() ? said->get<std::string>() : "constant";
  Pad op{Sizes(rank, 0), Sizes(rank, 0), PadMode::Constant, number(call, "constant_values", 3, 0)};
  constexpr std::array modes{std::pair{"constant", PadMode::Constant}, std::pair{"reflect", PadMode::Reflect},
                             std::pair{"symmetric", PadMode::Symmetric}, std::pair{"edge", PadMode::Edge},
                             std::pair{"wrap", PadMode::Wrap}};
  const auto known = std::ranges::find(modes, mode, [](const auto& m) { return std::string_view(m.first); });
  if (known == modes.end())
    call.refuse(Fault::Unsupported, "pads by '" + mode + "', which this version does not carry");
  else op.mode = known->second;
  if (!width) call.refuse(Fault::Format, "argument 'pad_width' is missing");
  if (call.failed()) return {};
  const Json& list = *Attrs::tuple_of(width);
  const bool one_for_all = !list.is_array() || (!list.empty() && !list[0].is_array());
  for (std::size_t i = 0; i < rank && !call.failed(); ++i) {
    if (!one_for_all && list.size() != rank && list.size() != 1) {
      call.refuse(Fault::Format, "argument 'pad_width' has " + std::to_string(list.size()) + " pairs, expected " +
                                     std::to_string(rank));
      break;
    }
    const Json& pair = one_for_all ? list : list[list.size() == 1 ? 0 : i];
    const Sizes both = pair.is_array() && pair.size() == 1 ? Sizes(2, call.attrs.integer_of(&pair[0], "pad_width"))
                                                           : call.attrs.sizes_of(&pair, "pad_width", 2);
    op.before[i] = both[0], op.after[i] = both[1];
    if (both[0] < 0 || both[1] < 0) call.refuse(Fault::Format, "argument 'pad_width' is negative");
  }
  return {call.add(op, {x})};
}

// x[a, 1:2, ..., None]
Values get_item(Call& call) {
  ValueId x = operand(call, "x", 0);
  const Json* said = option(call, "key", 1);
  if (!said) call.refuse(Fault::Format, "argument 'key' is missing");
  if (call.failed()) return {};
  const Json& key = *Attrs::tuple_of(said);
  const Json alone = Json::array({key});
  const Json& parts = key.is_array() ? key : alone;
  const auto class_of = [](const Json& part) {
    const auto it = part.find("class_name");
    return it != part.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  Size named = 0;
  for (const Json& part : parts) named += !part.is_null() && class_of(part) != "__ellipsis__";
  Size axis = 0, place = 0;
  Sizes dropped, added;
  for (const Json& part : parts) {
    if (call.failed()) return {};
    if (part.is_null()) {
      added.push_back(place++);
    } else if (class_of(part) == "__ellipsis__") {
      const Size rest = std::max<Size>(call.rank(x) - named, 0);
      axis += rest, place += rest;
    } else if (class_of(part) == "__slice__" && part.contains("config") && part["config"].is_object()) {
      const Json& config = part["config"];
      const auto bound = [&](const char* name) -> std::optional<Size> {
        const auto it = config.find(name);
        return it == config.end() || it->is_null() ? std::nullopt : std::optional(call.attrs.integer_of(&*it, name));
      };
      const Slice slice{call.axis(axis, call.rank(x)), bound("start"), bound("stop"), bound("step").value_or(1)};
      if (slice.start || slice.stop || slice.step != 1) x = call.add(slice, {x}, "slice_" + std::to_string(axis));
      ++axis, ++place;
    } else if (part.is_number_integer()) {
      const Size at = part.get<Size>();
      const Slice slice{call.axis(axis, call.rank(x)), at, at == -1 ? std::nullopt : std::optional(at + 1), 1};
      x = call.add(slice, {x}, "slice_" + std::to_string(axis));
      dropped.push_back(axis++);
    } else {
      call.refuse(Fault::Unsupported, "is indexed by something other than numbers and slices");
    }
  }
  if (!dropped.empty()) x = call.add(Squeeze{dropped}, {x}, added.empty() ? "" : "picked");
  if (!added.empty()) x = call.add(Unsqueeze{added}, {x});
  if (dropped.empty() && added.empty()) x = call.add(Identity{}, {x});
  return {x};
}

Values split(Call& call) {
  const ValueId x = operand(call, "x", 0);
  const Json* said = option(call, "indices_or_sections", 1);
  const Size axis = call.axis(call.attrs.integer_of(option(call, "axis", 2), "axis", 0), call.rank(x));
  const Dim whole = call.dim(x, axis);
  if (!said || !whole.known()) call.refuse(Fault::Unsupported, "splits an axis of unknown size");
  if (call.failed()) return {};
  Split op{axis, {}};
  if (said->is_array()) {
    Size from = 0;
    for (const Size at : list_of(call, said, "indices_or_sections")) op.sizes.push_back(at - from), from = at;
    op.sizes.push_back(*whole - from);
  } else {
    const Size parts = call.attrs.integer_of(said, "indices_or_sections");
    if (parts < 1 || parts > 65536 || *whole % parts != 0) {
      call.refuse(Fault::Format,
                  "splits " + std::to_string(*whole) + " cells into " + std::to_string(parts) + " equal parts");
      return {};
    }
    op.sizes.assign(static_cast<std::size_t>(parts), *whole / parts);
  }
  for (const Size n : op.sizes)
    if (n < 0) call.refuse(Fault::Format, "splits at places that are not in order");
  return call.add_all(op, {x});
}

Values resize(Call& call) {
  ValueId x = operand(call, "images", 0);
  const Axes axes{order_of(call), 2};
  const Sizes size = list_of(call, option(call, "size", 1), "size");
  const Json* said = option(call, "interpolation", 2);
  const std::string word = said && said->is_string() ? said->get<std::string>() : "bilinear";
  const Json* antialias = option(call, "antialias", 3);
  expect_plain_resize(call);
  if (size.size() != 2) call.refuse(Fault::Format, "argument 'size' is no pair");
  if (!call.expect_rank(x, 4)) return {};
  Resize op = resize_by(call, axes, word, antialias && *antialias == true);
  op.sizes = size;
  return {call.add(op, {x})};
}

Values reshape(Call& call) {
  const ValueId x = operand(call, "x", 0);
  const Sizes to = list_of(call, option(call, "newshape", 1), "newshape");
  for (const Size n : to)
    if (n < -1 || n == 0) call.refuse(Fault::Format, "argument 'newshape' holds " + std::to_string(n));
  return {call.add(Reshape{to}, {x})};
}

Values transpose(Call& call) {
  const ValueId x = operand(call, "x", 0);
  Sizes permutation = list_of(call, option(call, "axes", 1), "axes");
  if (permutation.empty())
    for (Size i = call.rank(x); i-- > 0;) permutation.push_back(i);
  for (Size& axis : permutation) axis = call.axis(axis, call.rank(x));
  if (Sizes sorted = permutation; call.axes(sorted, call.rank(x)).size() != static_cast<std::size_t>(call.rank(x)))
    call.refuse(Fault::Format, "argument 'axes' does not name every axis");
  return {call.add(Transpose{permutation}, {x})};
}

Values concatenate(Call& call) {
  const Json* axis = option(call, "axis", 1);
  if (call.inputs.empty()) {
    call.refuse(Fault::Format, "joins no inputs");
    return {};
  }
  option(call, "xs", 0);
  return {
      call.add(Concat{call.axis(call.attrs.integer_of(axis, "axis", 0), call.rank(call.inputs.front()))}, call.inputs)};
}

Values stack(Call& call) {
  const Size rank = call.inputs.empty() ? 0 : call.rank(call.inputs.front()) + 1;
  const Size axis = call.axis(call.attrs.integer_of(option(call, "axis", 1), "axis", 0), rank);
  Values parts;
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    parts.push_back(call.add(Unsqueeze{{axis}}, {call.inputs[i]}, "part_" + std::to_string(i)));
  return {call.add(Concat{axis}, parts)};
}

template <Reduction reduction>
Values reduce(Call& call) {
  const ValueId x = operand(call, "x", 0);
  const Json* said = option(call, "axis", 1);
  const Json* keeps = option(call, "keepdims", 2);
  if (option(call, "initial", nowhere)) call.refuse(Fault::Unsupported, "argument 'initial' is not understood");
  Sizes axes = said ? list_of(call, said, "axis") : Sizes{};
  if (!said)
    for (Size i = 0; i < call.rank(x); ++i) axes.push_back(i);
  return {call.add(Reduce{reduction, call.axes(axes, call.rank(x)), keeps && *keeps == true}, {x})};
}

Values squeeze(Call& call) {
  const ValueId x = operand(call, "x", 0);
  const Json* said = option(call, "axis", 1);
  Sizes axes = said ? call.axes(list_of(call, said, "axis"), call.rank(x)) : Sizes{};
  if (!said)
    for (Size i = 0; i < call.rank(x); ++i)
      if (call.dim(x, i) == Dim(1)) axes.push_back(i);
  return {call.add(Squeeze{axes}, {x})};
}

Values expand_dims(Call& call) {
  const ValueId x = operand(call, "x", 0);
  const Sizes axes = list_of(call, option(call, "axis", 1), "axis");
  return {call.add(Unsqueeze{call.axes(axes, call.rank(x) + static_cast<Size>(axes.size()))}, {x})};
}

Values matmul(Call& call) { return {call.add(MatMul{}, {operand(call, "x1", 0), operand(call, "x2", 1)})}; }

Values cast(Call& call) {
  const Json* said = option(call, "dtype", 1);
  const std::string word = said && said->is_string() ? said->get<std::string>() : "";
  const ValueId x = operand(call, "x", 0);
  for (const DType type : {DType::F32, DType::I32, DType::I64, DType::I8, DType::U8, DType::Bool})
    if (word == convoy::name_of(type)) return {call.add(Cast{type}, {x})};
  call.refuse(Fault::Unsupported, "casts to '" + word + "', which this version does not carry");
  return {};
}

Values normalize(Call& call) {
  const ValueId x = operand(call, "x", 0);
  const Json* axis = option(call, "axis", 1);
  if (number(call, "order", 2, 2) != 2) call.refuse(Fault::Unsupported, "normalizes by another norm than the second");
  const double epsilon = number(call, "epsilon", 3, 1e-12);
  return {call.add(UnitNorm{call.axes(axis ? list_of(call, axis, "axis") : Sizes{-1}, call.rank(x)), epsilon}, {x})};
}

constexpr std::array rows{
    LayerRow{"Add", binary<BinaryFunction::Add>},
    LayerRow{"Subtract", binary<BinaryFunction::Subtract>},
    LayerRow{"Multiply", binary<BinaryFunction::Multiply>},
    LayerRow{"Divide", binary<BinaryFunction::Divide>},
    LayerRow{"TrueDivide", binary<BinaryFunction::Divide>},
    LayerRow{"Maximum", binary<BinaryFunction::Maximum>},
    LayerRow{"Minimum", binary<BinaryFunction::Minimum>},
    LayerRow{"Power", binary<BinaryFunction::Power>},
    LayerRow{"Sigmoid", unary<Function::Sigmoid>},
    LayerRow{"Tanh", unary<Function::Tanh>},
    LayerRow{"Softplus", unary<Function::Softplus>},
    LayerRow{"Softsign", unary<Function::Softsign>},
    LayerRow{"Exp", unary<Function::Exp>},
    LayerRow{"Log", unary<Function::Log>},
    LayerRow{"Sqrt", unary<Function::Sqrt>},
    LayerRow{"Rsqrt", unary<Function::Rsqrt>},
    LayerRow{"Square", unary<Function::Square>},
    LayerRow{"Abs", unary<Function::Abs>},
    LayerRow{"Absolute", unary<Function::Abs>},
    LayerRow{"Negative", unary<Function::Negate>},
    LayerRow{"Sign", unary<Function::Sign>},
    LayerRow{"Floor", unary<Function::Floor>},
    LayerRow{"Ceil", unary<Function::Ceil>},
    LayerRow{"Reciprocal", unary<Function::Reciprocal>},
    LayerRow{"Sin", unary<Function::Sin>},
    LayerRow{"Cos", unary<Function::Cos>},
    LayerRow{"Erf", unary<Function::Erf>},
    LayerRow{"Silu", unary<Function::Silu>},
    LayerRow{"Swish", unary<Function::Silu>},
    LayerRow{"Selu", unary<Function::Selu>},
    LayerRow{"Mish", unary<Function::Mish>},
    LayerRow{"LogSigmoid", unary<Function::LogSigmoid>},
    LayerRow{"HardSilu", unary<Function::HardSwish>},
    LayerRow{"HardSwish", unary<Function::HardSwish>},
    LayerRow{"TanhShrink", unary<Function::TanhShrink>},
    LayerRow{"SparsePlus", unary<Function::SparsePlus>},
    LayerRow{"SparseSigmoid", unary<Function::SparseSigmoid>},
    LayerRow{"Relu", relu},
    LayerRow{"Relu6", relu6},
    LayerRow{"LeakyRelu", leaky_relu},
    LayerRow{"Elu", elu},
    LayerRow{"Celu", celu},
    LayerRow{"Gelu", gelu},
    LayerRow{"Glu", glu},
    LayerRow{"HardSigmoid", hard_sigmoid},
    LayerRow{"HardTanh", hard_tanh},
    LayerRow{"HardShrink", shrink<false>},
    LayerRow{"SoftShrink", shrink<true>},
    LayerRow{"Squareplus", squareplus},
    LayerRow{"Softmax", softmax<false>},
    LayerRow{"LogSoftmax", softmax<true>},
    LayerRow{"Clip", clip},
    LayerRow{"Pad", pad},
    LayerRow{"GetItem", get_item},
    LayerRow{"Split", split},
    LayerRow{"Resize", resize},
    LayerRow{"Reshape", reshape},
    LayerRow{"Transpose", transpose},
    LayerRow{"Concatenate", concatenate},
    LayerRow{"Stack", stack},
    LayerRow{"Mean", reduce<Reduction::Mean>},
    LayerRow{"Sum", reduce<Reduction::Sum>},
    LayerRow{"Max", reduce<Reduction::Maximum>},
    LayerRow{"Min", reduce<Reduction::Minimum>},
    LayerRow{"Prod", reduce<Reduction::Product>},
    LayerRow{"Squeeze", squeeze},
    LayerRow{"ExpandDims", expand_dims},
    LayerRow{"Matmul", matmul},
    LayerRow{"Cast", cast},
    LayerRow{"Normalize", normalize},
    LayerRow{"Identity", identity},
    LayerRow{"StopGradient", identity},
};

}  // namespace

std::span<const LayerRow> operation_rows() { return rows; }

}  // namespace convoy::keras
