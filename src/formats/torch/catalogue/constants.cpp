// Tensors made of numbers alone, worked out while the program is read.
#include "formats/free_reshape.h"
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/arithmetic.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"

#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

constexpr Size most_numbers = Size{1} << 23;

void ignore_placement(FunctionCall& call) { call.attrs.ignore({"pin_memory", "layout", "device"}); }

Results made(FunctionCall& call, const Sizes& shape, std::vector<double> values, std::string_view usual) {
  ignore_placement(call);
  const std::string wanted = call.attrs.word("dtype", std::string(usual));
  if (call.failed()) return {};
  if (wanted == "int64") {
    if (!std::ranges::all_of(values, [](double value) { return std::abs(value) < 0x1p63; }))
      call.refuse(Fault::Format, "numbers that no whole number of 64 bits is");
    if (call.failed()) return {};
    return {call.make_constant("numbers", Tensor::of(shape, std::vector<std::int64_t>(values.begin(), values.end())))};
  }
  if (wanted == "bool") {
    std::vector<std::byte> truths;
    for (const double value : values) truths.push_back(static_cast<std::byte>(value != 0));
    return {call.make_constant("numbers", *Tensor::owning(DType::Bool, shape, std::move(truths)))};
  }
  for (const DType dtype : {DType::I8, DType::I16, DType::I32, DType::U8}) {
    if (wanted != name_of(dtype)) continue;
    std::vector<std::byte> bytes;
    for (const double value : values) {
      const auto whole = static_cast<std::int64_t>(std::clamp(value, -9e18, 9e18));
      const auto* first = reinterpret_cast<const std::byte*>(&whole);  // the lowest bytes: it wraps around
      bytes.insert(bytes.end(), first, first + bytes_of(dtype));
    }
    return {call.make_constant("numbers", *Tensor::owning(dtype, shape, std::move(bytes)))};
  }
  if (const auto dtype = type_named(wanted); dtype && is_floating(*dtype))
    return {call.make_constant("numbers", Tensor::of(shape, std::move(values)).converted(*dtype))};
  call.refuse(Fault::Unsupported, "a table of type '" + wanted + "'");
  return {};
}

bool fits(FunctionCall& call, double count) {
  if (count >= 0 && count <= static_cast<double>(most_numbers)) return true;
  const std::string numbers = std::to_string(count);
  call.refuse(Fault::Limit, "a table of " + numbers.substr(0, numbers.find('.')) + " numbers, more than " +
                                std::to_string(most_numbers));
  return false;
}

std::optional<Size> count_in(FunctionCall& call, const Sizes& shape) {
  const auto count = checked_count(shape);
  if (!count) call.refuse(Fault::Limit, "a table of " + text_of(shape) + " has no count of numbers");
  return count;
}

Results filled_of_size(FunctionCall& call, double value, std::string_view usual = "float32") {
  const Sizes shape = call.attrs.list("size");
  const auto count = count_in(call, shape);
  if (!count || !fits(call, static_cast<double>(*count))) return {};
  const Results known = made(call, shape, std::vector<double>(static_cast<std::size_t>(*count), value), usual);
  if (call.failed() || known.empty()) return {};
  return {stretched_like(call, known[0], shape.size())};
}
Results zeros(FunctionCall& call) { return filled_of_size(call, 0); }
Results ones(FunctionCall& call) { return filled_of_size(call, 1); }
// The type follows the number, unless it is said.
Results full(FunctionCall& call) {
  const Json* argument = call.attrs.raw("fill_value");
  const bool whole = argument && argument->is_number_integer(), truth = argument && argument->is_boolean();
  return filled_of_size(call, number_or_truth(call, "fill_value"), truth ? "bool" : whole ? "int64" : "float32");
}

// As large as another tensor and of its type, unless another is said.
Results filled_like(FunctionCall& call, double value) {
  const ValueId x = call.tensor("input");
  ignore_placement(call);
  const std::string own(name_of(call.type(x).dtype));
  if (const auto sizes = sizes_of(call.shape(x));
      sizes && !call.failed() && checked_count(*sizes).value_or(most_numbers + 1) <= most_numbers)
    return made(call, *sizes, std::vector<double>(static_cast<std::size_t>(*checked_count(*sizes)), value), own);
  const Results one = made(call, Sizes(static_cast<std::size_t>(call.rank(x)), 1), {value}, own);
  if (call.failed() || one.empty()) return {};
  return {call.filled_like(one[0], x)};
}
Results zeros_like(FunctionCall& call) { return filled_like(call, 0); }
Results ones_like(FunctionCall& call) { return filled_like(call, 1); }
Results full_like(FunctionCall& call) { return filled_like(call, number_or_truth(call, "fill_value")); }
Results new_zeros(FunctionCall& call) {
  return filled_of_size(call, 0, name_of(call.type(call.tensor("input")).dtype));
}
Results new_ones(FunctionCall& call) { return filled_of_size(call, 1, name_of(call.type(call.tensor("input")).dtype)); }
Results new_full(FunctionCall& call) {
  return filled_of_size(call, number_or_truth(call, "fill_value"), name_of(call.type(call.tensor("input")).dtype));
}

Results empty_permuted(FunctionCall& call) {
  call.attrs.ignore({"physical_layout"});
  return zeros(call);
}

// One number of this type.
Results scalar_tensor(FunctionCall& call) { return made(call, {}, {number_or_truth(call, "s")}, "float32"); }

// Ones where row and column are equal.
// As many rows and columns as a free size says.
Results eye_along(FunctionCall& call) {
  ignore_placement(call);
  const DType dtype = asked_type(call).value_or(DType::F32);
  const Sizes from = call.attrs.list("from");
  if (from.size() != 1) call.refuse(Fault::Format, "argument 'from' is not one axis");
  if (call.failed()) return {};
  const ValueId numbers = counted_along(call, call.tensor("like.0"), from[0]);
  const ValueId is_equal = call.add(Binary{BinaryFunction::Equal}, {call.add(Unsqueeze{{1}}, {numbers}), numbers});
  return {cast_to(call, is_equal, dtype)};
}

Results eye(FunctionCall& call) {
  if (call.optional("like.0")) return eye_along(call);
  const Size rows = call.attrs.integer("n"), columns = call.attrs.integer("m", rows);
  const auto count = count_in(call, Sizes{rows, columns});
  if (!count || !fits(call, static_cast<double>(*count))) return {};
  std::vector<double> values(static_cast<std::size_t>(*count), 0);
  for (Size i = 0; i < std::min(rows, columns); ++i) values[static_cast<std::size_t>(i * columns + i)] = 1;
  return made(call, {rows, columns}, std::move(values), "float32");
}

// 0, 1, ... as many as a free size says.
Results count_along(FunctionCall& call) {
  ignore_placement(call);
  const std::string wanted = call.attrs.word("dtype", "int64");
  if (call.attrs.number("start", 0.0) != 0 || call.attrs.number("step", 1.0) != 1)
    call.refuse(Fault::Unsupported, "counts along a free size from another number than 0, or in other steps than 1");
  const Sizes from = call.attrs.list("from");
  if (from.size() != 1) call.refuse(Fault::Format, "argument 'from' is not one axis");
  if (call.failed()) return {};
  const ValueId numbers = counted_along(call, call.tensor("like.0"), from[0]);
  if (wanted == "int64") return {numbers};
  if (const auto dtype = type_named(wanted); dtype && is_floating(*dtype)) return {call.add(Cast{*dtype}, {numbers})};
  call.refuse(Fault::Unsupported, "a table of type '" + wanted + "'");
  return {};
}

Results arange(FunctionCall& call) {
  if (call.optional("like.0")) return count_along(call);
  const auto is_whole = [&](const char* key) {
    const Json* argument = call.attrs.raw(key);
    return !argument || argument->is_number_integer() || argument->is_boolean();
  };
  const bool are_whole = is_whole("start") && is_whole("end") && is_whole("step");
  const DType dtype = asked_type(call).value_or(are_whole ? DType::I64 : DType::F32);
  double start = number_or_truth(call, "start", 0.0), end = number_or_truth(call, "end"),
         step = number_or_truth(call, "step", 1.0);
  // Whole types take the numbers without their fractions, all but int64 after the count is made of them.
  if (dtype == DType::I64) start = std::trunc(start), end = std::trunc(end), step = std::trunc(step);
  if (step == 0) call.refuse(Fault::Format, "argument 'step' is 0");
  const double count = step == 0 ? 0 : std::max(0.0, std::ceil((end - start) / step));
  if (call.failed() || !fits(call, count)) return {};
  if (!is_floating(dtype)) start = std::trunc(start), step = std::trunc(step);
  std::vector<double> values;
  for (Size i = 0; i < static_cast<Size>(count); ++i) values.push_back(start + static_cast<double>(i) * step);
  return made(call, {static_cast<Size>(count)}, std::move(values), name_of(dtype));
}

// From both ends toward the middle, as PyTorch does, so that the last number is `end`. Source: RangeFactories.cpp.
// The same for as many as a free size says: each counted from its nearer end, in float32.
Results linspace_along(FunctionCall& call) {
  const double start = call.attrs.number("start"), end = call.attrs.number("end");
  const DType dtype = asked_type(call).value_or(DType::F32);
  ignore_placement(call);
  const Sizes from = call.attrs.list("from");
  if (from.size() != 1) call.refuse(Fault::Format, "argument 'from' is not one axis");
  if (dtype != DType::F32) call.refuse(Fault::Unsupported, "counts along a free size in other than float32");
  if (call.failed()) return {};
  const ValueId like = call.tensor("like.0");
  const auto whole = [&](Size n) { return call.make_constant("number", Tensor::of({}, Sizes{n})); };
  const auto with = [&](BinaryFunction function, ValueId a, ValueId b) { return call.add(Binary{function}, {a, b}); };
  const ValueId places = counted_along(call, like, from[0]), count = length_along(call, like, from[0]);
  const ValueId last = with(BinaryFunction::Subtract, count, whole(1));
  const auto fraction = [&](ValueId v) { return call.add(Cast{DType::F32}, {v}); };
  const ValueId step = with(BinaryFunction::Divide, number_constant(call, "range", end - start, DType::F32),
                            fraction(with(BinaryFunction::Maximum, last, whole(1))));
  const ValueId is_near =
      with(BinaryFunction::Less, places,
           with(BinaryFunction::Maximum, with(BinaryFunction::FloorDivide, count, whole(2)), whole(1)));
  const ValueId near = with(BinaryFunction::Multiply, step, fraction(places));
  const ValueId far = with(BinaryFunction::Multiply, step, fraction(with(BinaryFunction::Subtract, last, places)));
  return {call.add(Where{}, {is_near, call.add(Affine{1, start}, {near}), call.add(Affine{-1, end}, {far})})};
}

// From the start on in the first half, and from the end back in the second.
template <class Number>
std::vector<double> between(double start, double end, Size steps) {
  const auto first = static_cast<Number>(start), last = static_cast<Number>(end);
  const Number step = (last - first) / static_cast<Number>(std::max<Size>(1, steps - 1));
  std::vector<double> values;
  for (Size i = 0; i < steps; ++i)
    values.push_back(steps == 1 || i < steps / 2 ? first + step * static_cast<Number>(i)
                                                 : last - step * static_cast<Number>(steps - i - 1));
  return values;
}

Results linspace(FunctionCall& call) {
  if (call.optional("like.0")) return linspace_along(call);
  double start = call.attrs.number("start"), end = call.attrs.number("end");
  const auto asked = asked_type(call);
  const bool is_whole = asked && !is_floating(*asked);
  if (is_whole) start = std::trunc(start), end = std::trunc(end);
  const Size steps = call.attrs.integer("steps");
  if (!fits(call, static_cast<double>(steps))) return {};
  const bool is_single = asked_type(call).value_or(DType::F32) != DType::F64 && !is_whole;
  return made(call, {steps}, is_single ? between<float>(start, end, steps) : between<double>(start, end, steps),
              "float32");
}

// Between ends of which one is a tensor of one number.
Results linspace_between(FunctionCall& call) {
  const Size steps = call.attrs.integer("steps");
  const DType dtype = asked_type(call).value_or(DType::F32);
  ignore_placement(call);
  if (!is_floating(dtype)) call.refuse(Fault::Unsupported, "whole numbers between ends that are computed");
  if (!fits(call, static_cast<double>(steps)) || call.failed()) return {};
  const auto end_named = [&](std::string_view name) {
    if (const ValueId x = call.optional(name)) return cast_to(call, x, dtype);
    return number_constant(call, name, call.attrs.number(name), dtype);
  };
  const ValueId start = end_named("start"), end = end_named("end");
  std::vector<double> numbers;
  std::vector<std::int64_t> is_near;
  for (Size i = 0; i < steps; ++i) {
    is_near.push_back(steps == 1 || i < steps / 2);
    numbers.push_back(static_cast<double>(is_near.back() == 1 ? i : i - (steps - 1)));
  }
  Arithmetic apply(call, start);
  const ValueId share = call.make_constant("shares", Tensor::of({steps}, std::move(numbers)).converted(dtype));
  const ValueId near =
      cast_to(call, call.make_constant("is_near", Tensor::of({steps}, std::move(is_near))), DType::Bool);
  const ValueId step = apply.scaled(apply(BinaryFunction::Subtract, end, start),
                                    1 / std::max<double>(1, static_cast<double>(steps - 1)));
  return {apply(BinaryFunction::Add, apply.choose(near, start, end), apply(BinaryFunction::Multiply, step, share))};
}

// The base raised to evenly spaced numbers.
Results logspace(FunctionCall& call) {
  const bool computed = call.optional("start") || call.optional("end");
  const double base = number_or_default(call, "base");
  const DType dtype = asked_type(call).value_or(DType::F32);
  if (!is_floating(dtype)) call.refuse(Fault::Unsupported, "powers in whole numbers");
  if (base <= 0) call.refuse(Fault::Unsupported, "powers of a number that is not above 0");
  const Results exponents = computed ? linspace_between(call) : linspace(call);
  if (call.failed()) return {};
  Arithmetic apply(call, exponents[0]);
  return {apply(BinaryFunction::Power, base, exponents[0])};
}

// The rows and columns of a triangle, row by row.
template <bool upper>
Results triangle_indices(FunctionCall& call) {
  const Size rows = call.attrs.integer("row"), columns = call.attrs.integer("col"),
             offset = integer_or_default(call, "offset");
  const auto count = count_in(call, Sizes{rows, columns});
  if (!count || !fits(call, static_cast<double>(*count))) return {};
  std::vector<double> in_row, in_column;
  for (Size row = 0; row < rows; ++row)
    for (Size column = 0; column < columns; ++column)
      if (upper ? column - row >= offset : column - row <= offset)
        in_row.push_back(static_cast<double>(row)), in_column.push_back(static_cast<double>(column));
  const Size length = std::ssize(in_row);
  in_row.insert(in_row.end(), in_column.begin(), in_column.end());
  return made(call, {2, length}, std::move(in_row), "int64");
}

enum class Taper : std::uint8_t { Hann, Hamming, Blackman, Bartlett };

// The step counted up from 0 is scaled, turned into a cosine and shifted, each rounded to the type, as PyTorch does.
// A periodic window is one longer without its last number. Source: ATen/native/TensorFactories.cpp.
template <class Real>
std::vector<double> window_numbers(Taper window, Size length, double alpha, double beta) {
  const auto real = [](double x) { return static_cast<Real>(x); };
  const auto cosine = [](Real x) { return std::cos(x); };
  constexpr double pi = 3.14159265358979323846;
  const auto steps = static_cast<double>(length - 1);
  std::vector<double> values;
  for (Size i = 0; i < length; ++i) {
    const Real at = real(static_cast<double>(i));
    if (window == Taper::Bartlett) {
      const Real rising = at * real(2 / steps);
      values.push_back(i <= (length - 1) / 2 ? rising : rising * Real(-1) + Real(2));
    } else if (window == Taper::Blackman) {
      const Real angle = at * real(pi / steps);
      values.push_back(cosine(angle * 4) * real(0.08) - cosine(angle * 2) * real(0.5) + real(0.42));
    } else {
      values.push_back(cosine(at * real(pi * 2 / steps)) * real(-beta) + real(alpha));
    }
  }
  return values;
}

template <Taper window>
Results window_of(FunctionCall& call) {
  const Size length = call.attrs.integer("window_length");
  const bool periodic = call.attrs.truth("periodic", true);
  const bool is_hann = window == Taper::Hann;
  const double alpha = is_hann ? 0.5 : call.attrs.number("alpha", 0.54);
  const double beta = is_hann ? 0.5 : call.attrs.number("beta", 0.46);
  const std::string type = call.attrs.word("dtype", "float32");
  if (length < 0) call.refuse(Fault::Format, "argument 'window_length' is " + std::to_string(length));
  if (type != "float32" && type != "float64") call.refuse(Fault::Unsupported, "a window of type '" + type + "'");
  if (call.failed() || !fits(call, static_cast<double>(length))) return {};
  const Size whole = length + (periodic && length > 1 ? 1 : 0);
  auto values = length < 2          ? std::vector<double>(static_cast<std::size_t>(length), 1)
                : type == "float64" ? window_numbers<double>(window, whole, alpha, beta)
                                    : window_numbers<float>(window, whole, alpha, beta);
  values.resize(static_cast<std::size_t>(length));
  return made(call, {length}, std::move(values), "float32");
}

constexpr std::string_view plain_window = "default(window_length:i * $) periodic(window_length:i periodic:b * $)";
constexpr std::string_view hamming_window =
    "default(window_length:i * $) periodic(window_length:i periodic:b * $) "
    "periodic_alpha(window_length:i periodic:b alpha:f * $) "
    "periodic_alpha_beta(window_length:i periodic:b alpha:f beta:f * $)";

constexpr std::array rows_of_constants{
    CatalogueRow{"aten.zeros", "size:I * $", zeros},
    // What is there before it is written says nothing: the cells that are read were written.
    CatalogueRow{"aten.empty", "memory_format(size:I * $)", zeros},
    CatalogueRow{"aten.empty_permuted", "size:I physical_layout:I * $", empty_permuted},
    CatalogueRow{"aten.new_empty", "input:T size:I * $", new_zeros},
    CatalogueRow{"aten.empty_like", "input:T * $", zeros_like},
    CatalogueRow{"aten.ones", "size:I * $", ones},
    CatalogueRow{"aten.full", "size:I fill_value:n * $", full},
    CatalogueRow{"torch.new_zeros", "input:T size:I... * $", new_zeros},
    CatalogueRow{"torch.new_ones", "input:T size:I... * $", new_ones},
    CatalogueRow{"aten.new_full", "input:T size:I fill_value:n * $", new_full},
    CatalogueRow{"aten.zeros_like", "input:T * $", zeros_like},
    CatalogueRow{"aten.ones_like", "input:T * $", ones_like},
    CatalogueRow{"aten.full_like", "input:T fill_value:n * $", full_like},
    CatalogueRow{"aten.scalar_tensor", "s:n * $", scalar_tensor},
    CatalogueRow{"aten.eye", "default(n:i * $) m(n:i m:i * $)", eye},
    CatalogueRow{"aten.arange", "default(end:n * $) start(start:n end:n * $) start_step(start:n end:n step:n=1 * $)",
                 arange},
    CatalogueRow{"aten.linspace", "default(start:n end:n steps:i * $)", linspace},
    CatalogueRow{"aten.linspace",
                 "Tensor_Tensor(start:T end:T steps:i * $) Tensor_Scalar(start:T end:n steps:i * $) "
                 "Scalar_Tensor(start:n end:T steps:i * $)",
                 linspace_between},
    CatalogueRow{
        "aten.logspace",
        "default(start:n end:n steps:i base:f=10.0 * $) Tensor_Tensor(start:T end:T steps:i base:f=10.0 * $) "
        "Tensor_Scalar(start:T end:n steps:i base:f=10.0 * $) Scalar_Tensor(start:n end:T steps:i base:f=10.0 * $)",
        logspace},
    CatalogueRow{"aten.tril_indices", "row:i col:i offset:i=0 * $", triangle_indices<false>},
    CatalogueRow{"aten.triu_indices", "row:i col:i offset:i=0 * $", triangle_indices<true>},
    CatalogueRow{"aten.hann_window", plain_window, window_of<Taper::Hann>},
    CatalogueRow{"aten.hamming_window", hamming_window, window_of<Taper::Hamming>},
    CatalogueRow{"aten.blackman_window", plain_window, window_of<Taper::Blackman>},
    CatalogueRow{"aten.bartlett_window", plain_window, window_of<Taper::Bartlett>},
};

}  // namespace

std::span<const CatalogueRow> constant_operators() { return rows_of_constants; }

}  // namespace convoy::torch
