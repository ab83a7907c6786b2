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

StepResults dequantize_per_tensor(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const DType to = type_of_argument(call, "out_dtype", DType::F32);
  call.attrs.ignore({"quant_min", "quant_max", "dtype"});
  for (const char* unread : {"quant_min", "quant_max"}) call.optional(unread);
  if (const ValueId given = call.optional("scale")) {
    const ValueId scale = one_number(call, given, x), zero = one_number(call, call.tensor("zero_point"), x);
    if (to != DType::F32)
      call.refuse(Fault::Unsupported, "argument 'out_dtype' is " + std::string(name_of(to)) +
                                          ", expected float32 beside a scale that is a tensor");
    if (call.failed()) return {};
    return widened(call, cast_to(call, x, to), cast_to(call, zero, to), cast_to(call, scale, to), to);
  }
  const double scale = call.attrs.number("scale");
  const auto zero = static_cast<double>(call.attrs.integer("zero_point"));
  if (call.failed()) return {};
  return widened(call, cast_to(call, x, to), zero == 0 ? ValueId{} : number_constant(call, "zero", zero, to),
                 number_constant(call, "scale", scale, to), to);
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
                dequantize_per_channel}};

}  // namespace

std::span<const CatalogueRow> fake_quantization_operators() { return rows_of_fake_quantization; }

const FunctionRow* quantized_decomposed_row(std::string_view overload) {
  const std::size_t dot = std::min(overload.find('.'), overload.size());
  constexpr std::array kinds{".default", ".tensor",
                             ".tensor2"};  // scales are numbers, scales are tensors, limits are too
  return is_among(kinds, overload.substr(dot)) ? row_of(quantized_decomposed, overload.substr(0, dot)) : nullptr;
}

}  // namespace convoy::torch
