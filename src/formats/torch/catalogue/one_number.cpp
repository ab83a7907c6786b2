// Functions of one number by PyTorch's names, bounds, and what hands on what it gets, perhaps in another element type.
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <limits>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

// The logarithm to another base.
template <int base>
Results logarithm(FunctionCall& call) {
  const ValueId natural = call.add(Unary{Function::Log}, {call.tensor("input")});
  return {call.add(Affine{1 / std::log(static_cast<double>(base)), 0}, {natural})};
}

std::optional<double> bound(FunctionCall& call, std::string_view key) {
  return call.attrs.has(key) ? std::optional(call.attrs.number(key)) : std::nullopt;
}

// Bounds of which one is a tensor at least; the upper one wins.
Results clamp_by_tensors(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const auto limit = [&](const char* key, BinaryFunction function) {
    ValueId by = call.optional(key);
    if (!by && call.attrs.has(key) && !call.failed())
      by = number_constant(call, key, call.attrs.number(key), call.type(x).dtype);
    if (by) x = call.add(Binary{function}, {x, by});
  };
  limit("min", BinaryFunction::Maximum);
  limit("max", BinaryFunction::Minimum);
  return {x};
}

// Whole numbers stay whole between whole bounds, and become float32 beside a fraction.
Results clamp(FunctionCall& call) {
  ValueId x = call.tensor("input");
  if (call.failed()) return {};
  if (call.optional("min") || call.optional("max")) return clamp_by_tensors(call);
  const DType dtype = call.type(x).dtype;
  const auto is_fraction = [&](std::string_view key) {
    const Json* argument = call.attrs.raw(key);
    return argument && argument->is_number_float();
  };
  if (!is_floating(dtype) && !is_fraction("min") && !is_fraction("max")) {
    const auto bounded = [&](std::string_view key, BinaryFunction function) {
      if (const auto number = bound(call, key))
        x = call.add(Binary{function}, {x, number_constant(call, key, *number, dtype)});
    };
    bounded("min", BinaryFunction::Maximum);
    bounded("max", BinaryFunction::Minimum);
    return {x};
  }
  if (!is_floating(dtype)) x = call.add(Cast{DType::F32}, {x});
  return {call.add(Clip{bound(call, "min"), bound(call, "max")}, {x})};
}

Results fraction(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  return {call.add(Binary{BinaryFunction::Subtract}, {x, call.add(Unary{Function::Truncate}, {x})})};
}

Results cast(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  call.attrs.ignore({"non_blocking", "copy"});
  const auto wanted = asked_type(call);
  return {wanted ? cast_to(call, x, *wanted) : x};
}

// In 16 bits recurrent layers round by how their input lies; a copy lies as it reads.
Results contiguous(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Op* const maker = call.made_by(x);
  const bool lies_otherwise = maker && holds_alternative<Transpose>(*maker) && is_half(call.type(x).dtype);
  const Results made = cast(call);
  return lies_otherwise && !call.failed() ? Results{call.add(Identity{}, {x})} : made;
}

Results detach(FunctionCall& call) { return {call.stopped(call.tensor("input"))}; }

constexpr std::array rows_of_one_number{
    one_number<Function::Abs>("torch.abs"),
    one_number<Function::Negate>("torch.neg"),
    one_number<Function::Exp>("torch.exp"),
    one_number<Function::Expm1>("torch.expm1 aten.special_expm1"),
    one_number<Function::Log>("torch.log"),
    one_number<Function::Log1p>("torch.log1p aten.special_log1p"),
    one_number<Function::Sqrt>("torch.sqrt"),
    one_number<Function::Rsqrt>("torch.rsqrt"),
    one_number<Function::Square>("torch.square"),
    one_number<Function::Reciprocal>("torch.reciprocal"),
    one_number<Function::Sign>("torch.sign torch.sgn"),
    one_number<Function::Floor>("torch.floor"),
    one_number<Function::Ceil>("torch.ceil"),
    one_number<Function::Truncate>("torch.trunc torch.fix"),
    one_number<Function::Erf>("torch.erf aten.special_erf"),
    one_number<Function::Sin>("torch.sin"),
    one_number<Function::Cos>("torch.cos"),
    one_number<Function::Tan>("torch.tan"),
    one_number<Function::Asin>("torch.asin"),
    one_number<Function::Acos>("torch.acos"),
    one_number<Function::Atan>("torch.atan"),
    one_number<Function::Sinh>("torch.sinh"),
    one_number<Function::Cosh>("torch.cosh"),
    one_number<Function::Asinh>("torch.asinh"),
    one_number<Function::Acosh>("torch.acosh"),
    one_number<Function::Atanh>("torch.atanh"),
    one_number<Function::Not>("torch.logical_not"),
    CatalogueRow{"torch.log2", "input:T", logarithm<2>},
    CatalogueRow{"torch.log10", "input:T", logarithm<10>},
    CatalogueRow{"torch.frac", "input:T", fraction},
    CatalogueRow{"torch.clamp torch.clip", "default(input:T min:n?= max:n?=)", clamp},
    CatalogueRow{"torch.clamp_min", "default(input:T min:n)", clamp},
    CatalogueRow{"torch.clamp_max", "default(input:T max:n)", clamp},
    CatalogueRow{"aten.clamp aten.clip", "Tensor(input:T min:T?= max:T?=)", clamp_by_tensors},
    CatalogueRow{"aten.clamp_min", "Tensor(input:T min:T)", clamp_by_tensors},
    CatalogueRow{"aten.clamp_max", "Tensor(input:T max:T)", clamp_by_tensors},
    CatalogueRow{"aten.to",
                 "device(input:T device:d dtype:t non_blocking:d= copy:b= memory_format:d?=) "
                 "dtype(input:T dtype:t non_blocking:d= copy:b= memory_format:d?=) "
                 "other(input:T other:T non_blocking:d= copy:b= memory_format:d?=) "
                 "dtype_layout(input:T * $ non_blocking:d= copy:b= memory_format:d?=) "
                 "prim_Device(input:T device:d? dtype:t?= non_blocking:d= copy:b=) "
                 "prim_dtype(input:T dtype:t?= non_blocking:d= copy:b=)",
                 cast},
    CatalogueRow{"aten._to_copy", "input:T * $ non_blocking:d= memory_format:d?=", cast},
    CatalogueRow{"aten.clone", "input:T * memory_format:d?=", cast},
    CatalogueRow{"aten.contiguous", "input:T * memory_format:d=", contiguous},
    CatalogueRow{"aten.detach aten.detach_copy", "input:T", detach},
    CatalogueRow{"aten.alias aten.alias_copy aten.lift_fresh_copy aten.positive aten.real "
                 "aten.conj "
                 "aten._conj aten.conj_physical aten.resolve_conj aten.resolve_neg",
                 "input:T", cast},
};

}  // namespace

std::span<const CatalogueRow> one_number_operators() { return rows_of_one_number; }

}  // namespace convoy::torch
