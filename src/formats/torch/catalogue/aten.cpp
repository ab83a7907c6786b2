// Which row reads which operator: its own, or that of a function under its name or another one.
#include "formats/torch/catalogue/aten.h"

#include "base/whole_tensor.h"
#include "formats/torch/catalogue/arithmetic.h"
#include "formats/torch/catalogue/catalogue.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace convoy::torch {
ValueId with_axes_in_front(FunctionCall& call, ValueId x, Size rank) {
  const Size missing = rank - call.rank(x);
  if (missing < 0)
    call.refuse(Fault::Format,
                "takes a tensor of " + std::to_string(call.rank(x)) + " axes for one of " + std::to_string(rank));
  if (missing <= 0 || call.failed()) return x;
  Sizes front(static_cast<std::size_t>(missing));
  std::iota(front.begin(), front.end(), Size{0});
  return call.add(Unsqueeze{front}, {x});
}

ValueId number_constant(FunctionCall& call, std::string_view word, double number, DType dtype) {
  if (is_floating(dtype)) return call.make_constant(word, Tensor::of({}, std::vector<double>{number}).converted(dtype));
  if (!(std::abs(number) < 0x1p63)) {
    call.refuse(Fault::Format, "argument '" + std::string(word) + "' is " + std::to_string(number) +
                                   ", which no whole number of 64 bits is");
    return {};
  }
  // In the type that it meets, which it does not widen: the lowest bytes, as PyTorch wraps it.
  auto whole = static_cast<std::int64_t>(number);
  const Json* said = call.attrs.raw(word);  // a number beyond 2^53 is no double
  if (said && said->is_number_integer() && said->get<double>() == number) whole = said->get<std::int64_t>();
  if (dtype == DType::Bool || dtype == DType::I64)
    return call.make_constant(word, Tensor::of({}, std::vector<std::int64_t>{whole}));
  return call.make_constant(word, whole_tensor(dtype, {}, {whole}));
}

double number_or_truth(FunctionCall& call, std::string_view argument, std::optional<double> otherwise) {
  const Json* said = call.attrs.raw(argument);
  return said && said->is_boolean() ? (said->get<bool>() ? 1.0 : 0.0) : call.attrs.number(argument, otherwise);
}

double multiple_of(FunctionCall& call, std::string_view argument, DType dtype) {
  const double number = number_or_truth(call, argument, 1.0);
  return is_floating(dtype) ? number : std::trunc(number);
}

ValueId scaled(FunctionCall& call, ValueId x, double factor) {
  if (call.failed()) return x;
  if (is_floating(call.type(x).dtype) || factor != std::floor(factor)) return call.add(Affine{factor, 0}, {x});
  const ValueId number = number_constant(call, "alpha", factor, call.type(x).dtype);
  return call.add(Binary{BinaryFunction::Multiply}, {x, number});
}

Slice cell_at(Size axis, Size index) {
  Slice one{.axis = axis, .start = index, .stop = {}};
  if (index != -1 && index != std::numeric_limits<Size>::max()) one.stop = index + 1;
  return one;
}

ValueId stretched_like(FunctionCall& call, ValueId x, std::size_t axes) {
  const Sizes from = call.attrs.list("from", Sizes{});
  for (std::size_t i = 0; i < axes && i < from.size() && !call.failed(); ++i)
    if (const ValueId like = call.optional("like." + std::to_string(i)))
      x = call.add(ExpandLike{static_cast<Size>(i), from[i]}, {x, like});
  return x;
}

std::vector<ValueId> through(FunctionCall& call, const std::string& overload, Json arguments, TensorArguments tensors,
                             std::size_t wanted) {
  const auto [row, plain] = aten_row(overload, std::move(arguments));
  if (!row) call.refuse(Fault::Internal, "no operator '" + overload + "'");
  if (call.failed()) return {};
  return call.through(*row, plain, std::move(tensors), wanted);
}

TensorArguments listed(std::string_view argument, const std::vector<ValueId>& tensors) {
  TensorArguments all;
  for (std::size_t i = 0; i < tensors.size(); ++i) all[std::string(argument) + "." + std::to_string(i)] = tensors[i];
  return all;
}

std::optional<DType> asked_type(FunctionCall& call) {
  const std::string wanted = call.attrs.word("dtype", "");
  if (wanted.empty()) return std::nullopt;
  if (const auto dtype = type_named(wanted)) return dtype;
  call.refuse(Fault::Unsupported, "element type '" + wanted + "' is not carried");
  return std::nullopt;
}

ValueId widened(FunctionCall& call, ValueId x) {
  return !call.failed() && is_half(call.type(x).dtype) ? cast_to(call, x, DType::F32) : x;
}

ValueId cast_to(FunctionCall& call, ValueId x, DType dtype) {
  return call.failed() || call.type(x).dtype == dtype ? x : call.add(Cast{dtype}, {x});
}

Sizes all_axes(const FunctionCall& call, ValueId x) {
  Sizes all(static_cast<std::size_t>(call.rank(x)));
  std::iota(all.begin(), all.end(), Size{0});
  return all;
}

ValueId in_fractions(FunctionCall& call, ValueId x) {
  return call.failed() || is_floating(call.type(x).dtype) ? x : call.add(Cast{DType::F32}, {x});
}

namespace {

// Truths, whole numbers, fractions.
int kind_of(DType dtype) { return dtype == DType::Bool ? 0 : is_floating(dtype) ? 2 : 1; }

}  // namespace

DType promoted_type(const TensorType& a, const TensorType& b) {
  if ((a.rank() == 0) != (b.rank() == 0)) {
    const auto& [single, other] = a.rank() == 0 ? std::tie(a, b) : std::tie(b, a);
    if (kind_of(single.dtype) <= kind_of(other.dtype)) return other.dtype;
  }
  return meeting(a.dtype, b.dtype);
}

Pair promoted(FunctionCall& call, ValueId a, ValueId b) {
  if (call.failed()) return {a, b};
  const DType dtype = promoted_type(call.type(a), call.type(b));
  return {cast_to(call, a, dtype), cast_to(call, b, dtype)};
}

Pair promoted_to_fractions(FunctionCall& call, ValueId a, ValueId b) {
  const Pair both = promoted(call, a, b);
  return {in_fractions(call, both.a), in_fractions(call, both.b)};
}

AtenRow aten_row(const std::string& overload, Json arguments) {
  for (const char* silent : {"cudnn_enabled", "cudnn_enable", "half_to_float", "train", "training"})
    arguments.erase(silent);
  std::string name = overload.substr(0, overload.find('.'));
  if (name.ends_with('_') && !name.starts_with("__")) name.pop_back();  // in place: what it answers is the same
  const std::string kind = overload.substr(std::min(overload.find('.'), overload.size()));
  if (const FunctionRow* row =
          catalogued_aten(name, std::string_view(kind).substr(std::min<std::size_t>(kind.size(), 1))))
    return {row, std::move(arguments)};
  return {row_of(functions(), name), std::move(arguments)};
}

}  // namespace convoy::torch
