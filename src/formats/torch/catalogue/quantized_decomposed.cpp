// Source: torch/ao/quantization/fx/_decomposed.py of torch 2.13. Numbers are multiplied by the inverse of a scale, which is rounded
// itself, where ONNX divides by the scale.
#include "formats/torch/catalogue/quantized_decomposed.h"

#include "base/words.h"
#include "formats/numbers.h"
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "graph/quantized_steps.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace convoy::torch {
namespace {

using StepResults = std::vector<ValueId>;

ValueId two(FunctionCall& call, BinaryFunction function, ValueId a, ValueId b) {
  return call.add(Binary{function}, {a, b});
}

ValueId cast_to(FunctionCall& call, ValueId x, DType dtype) {
  if (call.failed() || call.type(x).dtype == dtype) return x;
  const Tensor* known = is_floating(dtype) ? call.constant(x) : nullptr;
  if (!known) return call.add(Cast{dtype}, {x});
  const Tensor numbers = *known;  // values move when the graph grows
  return call.make_constant("numbers", numbers.converted(dtype));
}

// The type that an argument names.
DType type_of_argument(FunctionCall& call, std::string_view argument, DType otherwise) {
  const std::string name = call.attrs.word(argument, std::string(name_of(otherwise)));
  for (const DType dtype :
       {DType::I8, DType::U8, DType::I16, DType::U16, DType::I32, DType::F16, DType::BF16, DType::F32, DType::F64})
    if (name == name_of(dtype)) return dtype;
  call.refuse(Fault::Unsupported,
              "argument '" + std::string(argument) + "' is " + name + ", which is not carried here");
  return otherwise;
}

// One for each channel as it meets x: [C, 1, 1].
ValueId along_channels(FunctionCall& call, ValueId list, ValueId x, Size axis) {
  if (!list || call.failed()) return list;
  if (call.rank(list) != 1) {
    call.refuse(Fault::Format, "takes scales and zero points of one axis");
    return list;
  }
  Sizes to{-1};
  to.insert(to.end(), static_cast<std::size_t>(call.rank(x) - axis - 1), 1);
  if (to.size() == 1) return list;
  if (const Tensor* known = call.constant(list)) {
    to.front() = known->count();
    return call.make_constant("along", known->reshaped(to));
  }
  return call.add(Reshape{to}, {list});
}

struct WholeRange {
  Size least = 0, most = 0;
};
Size end_of_range(FunctionCall& call, std::string_view argument) {
  const ValueId given = call.optional(argument);
  if (!given) return call.attrs.integer(argument);
  const auto known = call.known_integers(given, "argument '" + std::string(argument) + "'");
  if (!known) return 0;
  if (known->size() != 1) call.refuse(Fault::Format, "argument '" + std::string(argument) + "' is not one number");
  return known->empty() ? 0 : known->front();
}
WholeRange range_of_call(FunctionCall& call) {
  return {end_of_range(call, "quant_min"), end_of_range(call, "quant_max")};
}

// round(x * inverse) + zero, kept between two numbers, in the whole type.
StepResults rounded(FunctionCall& call, ValueId x, ValueId inverse, ValueId zero, WholeRange range, DType to) {
  const auto [least, most] = range;
  const auto bounds = whole_bounds(to);
  if (!bounds) call.refuse(Fault::Unsupported, "rounds to whole numbers of " + std::string(name_of(to)));
  else if (static_cast<double>(least) < bounds->least || static_cast<double>(most) > bounds->most || least > most)
    call.refuse(Fault::Format, "keeps numbers from " + std::to_string(least) + " to " + std::to_string(most) +
                                   ", which " + std::string(name_of(to)) + " does not hold");
  if (call.failed()) return {};
  ValueId y = call.add(Unary{Function::Round}, {two(call, BinaryFunction::Multiply, x, inverse)});
  if (zero && !call.is_zeros(zero)) y = two(call, BinaryFunction::Add, y, cast_to(call, zero, call.type(y).dtype));
  y = call.add(Clip{static_cast<double>(least), static_cast<double>(most)}, {y});
  return {call.add(Cast{to}, {y})};
}

ValueId in_float32(FunctionCall& call, ValueId x) {
  if (!call.failed() && !is_floating(call.type(x).dtype))
    call.refuse(Fault::Format, "rounds numbers of " + std::string(name_of(call.type(x).dtype)));
  return cast_to(call, x, DType::F32);
}

// A tensor of one number as it meets x. PyTorch makes a number of it, which no more widens what it meets.
ValueId one_number(FunctionCall& call, ValueId number, ValueId x) {
  number = call.before_widening(number);
  if (call.failed()) return number;
  if (const Tensor* known = call.constant(number)) {
    if (known->count() != 1) call.refuse(Fault::Format, "takes a scale and a zero point of one number each");
    return call.failed() ? number : call.remade(number, known->reshaped({}));
  }
  return call.rank(number) <= call.rank(x) ? number : call.add(Reshape{{}}, {number});
}

// 1 / scale as a number of Python's, then in float32. What a scale of float32 gives is the same without: 53 bits are more than
// twice 24 and two, so that rounding twice is rounding once.
ValueId inverse_of_number(FunctionCall& call, ValueId scale) {
  if (call.failed()) return {};
  if (const Tensor* known = call.constant(scale))
    return number_constant(call, "inverse", 1 / known->doubles().front(), DType::F32);
  const ValueId one = number_constant(call, "one", 1, call.type(scale).dtype);
  return cast_to(call, two(call, BinaryFunction::Divide, one, scale), DType::F32);
}

StepResults quantize_per_tensor(FunctionCall& call) {
  const ValueId x = in_float32(call, call.tensor("input"));
  if (const ValueId given = call.optional("scale")) {
    const ValueId scale = one_number(call, given, x), zero = one_number(call, call.tensor("zero_point"), x);
    const WholeRange range = range_of_call(call);
    return rounded(call, x, inverse_of_number(call, scale), zero, range, type_of_argument(call, "dtype", DType::I8));
  }
  const double scale = call.attrs.number("scale");
  const auto zero = static_cast<double>(call.attrs.integer("zero_point"));
  if (!call.failed() && !(scale > 0)) call.refuse(Fault::Format, "argument 'scale' is no number above 0");
  if (call.failed()) return {};
  return rounded(call, x, number_constant(call, "inverse", 1 / scale, DType::F32),
                 zero == 0 ? ValueId{} : number_constant(call, "zero", zero, DType::F32), range_of_call(call),
                 type_of_argument(call, "dtype", DType::I8));
}

// 1 / scale, rounded in its own type.
ValueId inverse_of(FunctionCall& call, ValueId scale) {
  const DType dtype = call.type(scale).dtype;
  const Tensor* known = dtype == DType::F32 ? call.constant(scale) : nullptr;
  if (!known) return two(call, BinaryFunction::Divide, number_constant(call, "one", 1, dtype), scale);
  const Sizes shape = known->shape();
  auto numbers = known->floats();
  for (float& number : numbers) number = 1 / number;
  return call.make_constant("inverse", Tensor::of(shape, std::move(numbers)));
}

StepResults quantize_per_channel(FunctionCall& call) {
  const ValueId x = in_float32(call, call.tensor("input"));
  const ValueId scales = call.tensor("scales"), zeros = call.tensor("zero_points");
  if (call.failed()) return {};
  const Size axis = axis_of(call, call.attrs.integer("axis"), call.rank(x));
  const ValueId along = along_channels(call, scales, x, axis), zero = along_channels(call, zeros, x, axis);
  if (call.failed()) return {};
  return rounded(call, x, inverse_of(call, along), zero, range_of_call(call),
                 type_of_argument(call, "dtype", DType::I8));
}

// (x - zero) * scale
StepResults widened(FunctionCall& call, ValueId real, ValueId zero, ValueId scale, DType to) {
  if (call.failed()) return {};
  if (zero && !call.is_zeros(zero)) real = two(call, BinaryFunction::Subtract, real, zero);
  return {cast_to(call, two(call, BinaryFunction::Multiply, real, scale), to)};
}

// The same with a zero and a scale that are numbers of Python's, in a type of 16 bits: PyTorch computes with them in float32 and rounds
// each result.
StepResults widened_to_halves(FunctionCall& call, ValueId x, ValueId zero, ValueId scale, DType to) {
  const auto in_single = [&](ValueId value) { return cast_to(call, value, DType::F32); };
  x = cast_to(call, x, to);
  if (zero && !call.is_zeros(zero))
    x = cast_to(call, two(call, BinaryFunction::Subtract, in_single(x), in_single(zero)), to);
  return {cast_to(call, two(call, BinaryFunction::Multiply, in_single(x), in_single(scale)), to)};
}

StepResults dequantize_per_tensor(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const DType to = type_of_argument(call, "out_dtype", DType::F32);
  call.attrs.ignore({"quant_min", "quant_max", "dtype"});
  for (const char* unread : {"quant_min", "quant_max"}) call.optional(unread);
  if (const ValueId given = call.optional("scale")) {
    const ValueId scale = one_number(call, given, x), zero = one_number(call, call.tensor("zero_point"), x);
    if (call.failed()) return {};
    if (is_half(to)) return widened_to_halves(call, x, zero, scale, to);
    return widened(call, cast_to(call, x, to), cast_to(call, zero, to), cast_to(call, scale, to), to);
  }
  const double scale = call.attrs.number("scale");
  const auto zero = static_cast<double>(call.attrs.integer("zero_point"));
  if (call.failed()) return {};
  const DType computed = is_half(to) ? DType::F32 : to;
  const ValueId by = number_constant(call, "scale", scale, computed),
                from = zero == 0 ? ValueId{} : number_constant(call, "zero", zero, computed);
  if (is_half(to)) return widened_to_halves(call, x, from, by, to);
  return widened(call, cast_to(call, x, to), from, by, to);
}

StepResults dequantize_per_channel(FunctionCall& call) {
  const ValueId x = call.tensor("input"), scales = call.tensor("scales"), zeros = call.optional("zero_points");
  const DType to = type_of_argument(call, "out_dtype", DType::F32);
  call.attrs.ignore({"quant_min", "quant_max", "dtype"});
  if (call.failed()) return {};
  const Size axis = axis_of(call, call.attrs.integer("axis"), call.rank(x));
  const ValueId along = along_channels(call, scales, x, axis), zero = along_channels(call, zeros, x, axis);
  if (call.failed()) return {};
  const DType real = call.type(along).dtype;
  return widened(call, cast_to(call, x, real), zero ? cast_to(call, zero, real) : zero, along, to);
}

// Scale and zero point that the range of x asks for, in the steps of determine_qparams (torch/ao/quantization/utils.py): float64
// and int64, which hold numbers of float32 and of the whole type.
StepResults chosen(FunctionCall& call, bool is_symmetric) {
  using enum BinaryFunction;
  const ValueId x = call.tensor("input");
  const WholeRange range = range_of_call(call);
  const double eps = call.attrs.number("eps");
  const DType whole = type_of_argument(call, "dtype", DType::I8);
  const auto bounds = whole_bounds(whole);
  if (!call.failed() && (!bounds || range.least >= range.most || static_cast<double>(range.least) < bounds->least ||
                         static_cast<double>(range.most) > bounds->most))
    call.refuse(Fault::Format, "chooses steps from " + std::to_string(range.least) + " to " +
                                   std::to_string(range.most) + ", which " + std::string(name_of(whole)) +
                                   " does not hold");
  if (call.failed()) return {};
  Sizes axes(static_cast<std::size_t>(call.rank(x)));
  std::iota(axes.begin(), axes.end(), Size{0});
  const DType type = call.type(x).dtype;
  if (!is_floating(type) || type == DType::F64) {
    call.refuse(Fault::Format, "chooses steps for numbers of " + std::string(name_of(type)));
    return {};
  }
  const auto end = [&](Reduction reduction, BinaryFunction function) {
    const ValueId found = axes.empty() ? x : call.add(Reduce{reduction, axes, false}, {x});
    return two(call, function, call.add(Reshape{{1}}, {found}), number_constant(call, "nothing", 0, type));
  };
  const ValueId least = end(Reduction::Minimum, Minimum), most = end(Reduction::Maximum, Maximum);
  const auto span = static_cast<double>(range.most - range.least);
  const ValueId reach = is_symmetric ? two(call, Maximum, call.add(Unary{Function::Negate}, {least}), most)
                                     : two(call, Subtract, most, least);
  const ValueId step = cast_to(call,
                               two(call, Divide, cast_to(call, reach, DType::F32),
                                   number_constant(call, "steps", is_symmetric ? span / 2 : span, DType::F32)),
                               type);
  const ValueId scale =
      two(call, Maximum, cast_to(call, step, DType::F32), number_constant(call, "eps", eps, DType::F32));
  const ValueId published = cast_to(call, scale, DType::F64);
  if (is_symmetric) {
    constexpr std::int64_t middle_of_bytes = 128;
    const std::vector<std::int64_t> zero{whole == DType::U8 ? middle_of_bytes : 0};
    return {published, call.make_constant("zero_point", Tensor::of(Sizes{1}, zero))};
  }
  const ValueId below = call.add(Unary{Function::Round}, {two(call, Divide, cast_to(call, least, DType::F32), scale)});
  const auto first = static_cast<double>(range.least);
  const ValueId zero = call.add(Clip{first, static_cast<double>(range.most)},
                                {two(call, Subtract, number_constant(call, "first", first, DType::F32), below)});
  return {published, cast_to(call, call.add(Cast{whole}, {zero}), DType::I64)};
}

StepResults choose_qparams(FunctionCall& call) { return chosen(call, false); }
StepResults choose_qparams_symmetric(FunctionCall& call) { return chosen(call, true); }

// ---- steps of each row along the last axis, and of each group of its cells ------------------------------------------------

// Here the zero is added before what lies between is rounded, and everything is in the type in which x and the scales meet.
StepResults rounded_with_zero(FunctionCall& call, ValueId x, ValueId scales, ValueId zeros) {
  const WholeRange range = range_of_call(call);
  const DType to = type_of_argument(call, "dtype", DType::I8);
  const auto bounds = whole_bounds(to);
  if (!call.failed() && (!bounds || range.least > range.most || static_cast<double>(range.least) < bounds->least ||
                         static_cast<double>(range.most) > bounds->most))
    call.refuse(Fault::Format, "keeps numbers from " + std::to_string(range.least) + " to " +
                                   std::to_string(range.most) + ", which " + std::string(name_of(to)) +
                                   " does not hold");
  if (call.failed()) return {};
  const DType meets = meeting(call.type(x).dtype, call.type(scales).dtype);
  const ValueId inverse = inverse_of(call, scales);
  ValueId y = two(call, BinaryFunction::Multiply, cast_to(call, x, meets), cast_to(call, inverse, meets));
  if (!call.is_zeros(zeros)) y = two(call, BinaryFunction::Add, y, cast_to(call, zeros, meets));
  y = call.add(Unary{Function::Round}, {y});
  y = call.add(Clip{static_cast<double>(range.least), static_cast<double>(range.most)}, {y});
  return {call.add(Cast{to}, {y})};
}

// Two whole types of few bits wrap around in the one where they meet; the difference of wider ones is exact in real numbers.
StepResults widened_from_zero(FunctionCall& call, ValueId x, ValueId scales, ValueId zeros, DType to) {
  if (call.failed()) return {};
  const DType real = call.type(scales).dtype;
  if (zeros && call.is_zeros(zeros)) zeros = {};
  const DType meets = zeros ? meeting(call.type(x).dtype, call.type(zeros).dtype) : call.type(x).dtype;
  if (zeros && !is_floating(meets)) {
    const DType exact = bytes_of(meets) < 4 ? meets : is_half(real) ? DType::F32 : real;
    x = two(call, BinaryFunction::Subtract, cast_to(call, x, exact), cast_to(call, zeros, exact));
  } else if (zeros) {
    x = two(call, BinaryFunction::Subtract, cast_to(call, x, meets), cast_to(call, zeros, meets));
  }
  const DType product = meeting(is_floating(meets) ? meets : real, real);
  return {cast_to(call, two(call, BinaryFunction::Multiply, cast_to(call, x, product), cast_to(call, scales, product)),
                  to)};
}

StepResults quantize_per_token(FunctionCall& call) {
  const ValueId x = call.tensor("input"), scales = call.tensor("scales"), zeros = call.tensor("zero_points");
  return rounded_with_zero(call, x, scales, zeros);
}

StepResults dequantize_per_token(FunctionCall& call) {
  const ValueId x = call.tensor("input"), scales = call.tensor("scales"), zeros = call.tensor("zero_points");
  const DType to = type_of_argument(call, "output_dtype", DType::F32);
  call.attrs.ignore({"quant_min", "quant_max", "dtype"});
  return widened_from_zero(call, x, scales, zeros, to);
}

StepResults choose_qparams_per_token(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const DType whole = type_of_argument(call, "dtype", DType::I8);
  if (!call.failed() && whole != DType::I8)
    call.refuse(Fault::Format, "chooses steps of " + std::string(name_of(whole)) + ", expected int8");
  if (call.failed()) return {};
  const DType type = call.type(x).dtype == DType::F16 ? DType::F32 : call.type(x).dtype;
  const ValueId size = call.add(Unary{Function::Abs}, {x});
  const ValueId largest = cast_to(call, call.add(Reduce{Reduction::Maximum, {call.rank(x) - 1}, true}, {size}), type);
  const ValueId reach = two(call, BinaryFunction::Maximum, largest, number_constant(call, "least", 1e-5, type));
  const ValueId scales = two(call, BinaryFunction::Divide, reach, number_constant(call, "steps", 127, type));
  return {scales, two(call, BinaryFunction::Multiply, scales, number_constant(call, "nothing", 0, type))};
}

StepResults choose_qparams_per_token_asymmetric(FunctionCall& call) {
  using enum BinaryFunction;
  constexpr double least_whole = -128, most_whole = 127, eps = 0x1p-23;
  const ValueId x = call.tensor("input");
  type_of_argument(call, "dtype", DType::I8);
  if (call.failed()) return {};
  const DType type = call.type(x).dtype;
  const auto number = [&](std::string_view word, double value) { return number_constant(call, word, value, type); };
  const auto end = [&](Reduction reduction, BinaryFunction function) {
    return two(call, function, call.add(Reduce{reduction, {call.rank(x) - 1}, true}, {x}), number("nothing", 0));
  };
  const ValueId least = end(Reduction::Minimum, Minimum), most = end(Reduction::Maximum, Maximum);
  const ValueId span = two(call, Divide, two(call, Subtract, most, least), number("steps", most_whole - least_whole));
  const ValueId scale = two(call, Maximum, span, number("eps", eps));
  const ValueId below = two(call, Divide, least, scale), above = two(call, Divide, most, scale);
  const ValueId first = number("first", least_whole), last = number("last", most_whole);
  const ValueId errors = two(call, Add, two(call, Add, first, below), two(call, Add, last, above));
  const ValueId zero = call.add(Where{}, {two(call, Greater, errors, number("nothing", 0)),
                                          two(call, Subtract, first, below), two(call, Subtract, last, above)});
  const ValueId whole = call.add(Unary{Function::Round}, {call.add(Clip{least_whole, most_whole}, {zero})});
  return {cast_to(call, scale, DType::F64), cast_to(call, whole, DType::I64)};
}

// Rows of as many cells as share a scale, and the scales and zeros as a column beside them.
struct GroupedRows {
  ValueId x, scales, zeros;
  Size width = 0;  // of x
};

GroupedRows groups_of(FunctionCall& call) {
  const ValueId x = call.tensor("input"), scales = call.tensor("scales"), zeros = call.optional("zero_points");
  Size size = call.attrs.integer("group_size", 128);
  if (call.failed()) return {};
  const Dim width = call.rank(x) == 2 ? call.dim(x, 1) : Dim::unknown();
  const bool is_one = call.rank(scales) > 0 && call.dim(scales, call.rank(scales) - 1) == Dim(1);
  if (width.known() && size > *width && is_one) size = *width;
  if (!width.known() || size < 1 || *width % size != 0) {
    call.refuse(Fault::Format, "argument 'group_size' is " + std::to_string(size) +
                                   ", expected a divisor of the last of two axes of the input, whose size is known");
    return {};
  }
  const auto as_rows = [&](ValueId value, Size columns) {
    if (!value || call.failed()) return value;
    if (const Tensor* known = call.constant(value)) {
      const Tensor numbers = *known;  // values move when the graph grows
      return call.remade(value, numbers.reshaped({numbers.count() / columns, columns}));
    }
    return call.add(Reshape{{-1, columns}}, {value});
  };
  return {as_rows(x, size), as_rows(scales, 1), as_rows(zeros, 1), *width};
}

StepResults back_from_groups(FunctionCall& call, StepResults made, Size width) {
  if (call.failed() || made.empty()) return {};
  return {call.add(Reshape{{-1, width}}, {made.front()})};
}

StepResults quantize_per_channel_group(FunctionCall& call) {
  const GroupedRows groups = groups_of(call);
  if (call.failed()) return {};
  return back_from_groups(call, rounded_with_zero(call, groups.x, groups.scales, groups.zeros), groups.width);
}

StepResults dequantize_per_channel_group(FunctionCall& call) {
  const GroupedRows groups = groups_of(call);
  const DType to = type_of_argument(call, "output_dtype", DType::F32);
  call.attrs.ignore({"quant_min", "quant_max", "dtype"});
  if (call.failed()) return {};
  return back_from_groups(call, widened_from_zero(call, groups.x, groups.scales, groups.zeros, to), groups.width);
}

// Rounded to whole numbers and widened again, as layers compute that are trained to be quantised. Source:
// ATen/native/quantized/cpu/kernels/QuantizedOpKernels.cpp.
StepResults fake_quantized(FunctionCall& call, ValueId x, ValueId scale, ValueId zero) {
  const WholeRange range = range_of_call(call);
  if (call.failed()) return {};
  DType to = DType::I16;
  for (const DType smaller : {DType::I8, DType::U8, DType::I16, DType::U16}) {
    const auto bounds = whole_bounds(smaller);
    if (!bounds || static_cast<double>(range.least) < bounds->least || static_cast<double>(range.most) > bounds->most)
      continue;
    to = smaller;
    break;
  }
  const StepResults whole = rounded(call, x, inverse_of(call, scale), zero, range, to);
  if (call.failed()) return {};
  return widened(call, cast_to(call, whole[0], DType::F32), zero ? cast_to(call, zero, DType::F32) : zero, scale,
                 DType::F32);
}

StepResults fake_quantize_per_tensor(FunctionCall& call) {
  const ValueId x = in_float32(call, call.tensor("input"));
  ValueId scale = call.optional("scale"), zero = call.optional("zero_point");
  const bool says_scale = !scale;
  if (says_scale) {
    const double number = call.attrs.number("scale");
    if (!call.failed() && !(number > 0)) call.refuse(Fault::Format, "argument 'scale' is no number above 0");
    scale = number_constant(call, "scale", number, DType::F32);
  }
  if (!zero) zero = number_constant(call, "zero", static_cast<double>(call.attrs.integer("zero_point")), DType::F32);
  const auto as_number = [&](ValueId v) {
    return call.failed() || call.rank(v) == 0 ? v : call.add(Reshape{{}}, {v});  // of one number
  };
  return fake_quantized(call, x, as_number(scale), as_number(zero));
}

StepResults fake_quantize_per_channel(FunctionCall& call) {
  const ValueId x = in_float32(call, call.tensor("input"));
  const ValueId scales = call.tensor("scale"), zeros = call.tensor("zero_point");
  if (call.failed()) return {};
  const Size axis = axis_of(call, call.attrs.integer("axis"), call.rank(x));
  return fake_quantized(call, x, along_channels(call, scales, x, axis), along_channels(call, zeros, x, axis));
}

constexpr std::array rows_of_fake_quantization{
    CatalogueRow{"torch.fake_quantize_per_tensor_affine",
                 "default(input:T scale:n zero_point:i quant_min:i quant_max:i) "
                 "tensor_qparams(input:T scale:T zero_point:T quant_min:i quant_max:i)",
                 fake_quantize_per_tensor},
    CatalogueRow{"torch.fake_quantize_per_channel_affine",
                 "input:T scale:T zero_point:T axis:i quant_min:i quant_max:i", fake_quantize_per_channel},
};

constexpr std::array quantized_decomposed{
    FunctionRow{"choose_qparams", "input quant_min quant_max eps dtype", choose_qparams},
    FunctionRow{"choose_qparams_symmetric", "input quant_min quant_max eps dtype", choose_qparams_symmetric},
    FunctionRow{"quantize_per_tensor", "input scale zero_point quant_min quant_max dtype", quantize_per_tensor},
    FunctionRow{"quantize_per_channel", "input scales zero_points axis quant_min quant_max dtype",
                quantize_per_channel},
    FunctionRow{"dequantize_per_tensor", "input scale zero_point quant_min quant_max dtype out_dtype",
                dequantize_per_tensor},
    FunctionRow{"dequantize_per_channel", "input scales zero_points axis quant_min quant_max dtype out_dtype",
                dequantize_per_channel},
    FunctionRow{"choose_qparams_per_token", "input dtype", choose_qparams_per_token},
    FunctionRow{"choose_qparams_per_token_asymmetric", "input dtype", choose_qparams_per_token_asymmetric},
    FunctionRow{"quantize_per_token", "input scales zero_points quant_min quant_max dtype", quantize_per_token},
    FunctionRow{"dequantize_per_token", "input scales zero_points quant_min quant_max dtype output_dtype",
                dequantize_per_token},
    FunctionRow{"quantize_per_channel_group", "input scales zero_points quant_min quant_max dtype group_size",
                quantize_per_channel_group},
    FunctionRow{"dequantize_per_channel_group",
                "input scales zero_points quant_min quant_max dtype group_size output_dtype",
                dequantize_per_channel_group}};

}  // namespace

std::span<const CatalogueRow> fake_quantization_operators() { return rows_of_fake_quantization; }

const FunctionRow* quantized_decomposed_row(std::string_view overload) {
  const std::size_t dot = std::min(overload.find('.'), overload.size());
  constexpr std::array kinds{".default", ".tensor",
                             ".tensor2"};  // scales are numbers, scales are tensors, limits are too
  return is_among(kinds, overload.substr(dot)) ? row_of(quantized_decomposed, overload.substr(0, dot)) : nullptr;
}

}  // namespace convoy::torch
