#include "formats/torch/exported/free_numbers.h"

#include "formats/free_reshape.h"

#include <cmath>
#include <string_view>
#include <utility>

namespace convoy::torch {

namespace {

class FreeNumbers {
 public:
  FreeNumbers(FunctionCall& call, const Symbols& symbols) : call_(call), symbols_(symbols) {}

  ValueId of(const SizeExpression& expression) {
    if (call_.failed()) return {};
    const std::string& function = expression.function;
    if (function.empty()) return number(expression.number, expression.is_fraction);
    if (function == "Symbol") return size(expression.name);
    if ((function == "Pow" || function == "PowByNatural" || function == "FloatPow") && expression.of.size() == 2)
      return power(expression.of[0], expression.of[1]);
    std::vector<ValueId> all;
    for (const SizeExpression& one : expression.of) all.push_back(of(one));
    if (call_.failed() || all.empty()) return {};
    return called(function, all);
  }

 private:
  ValueId number(double value, bool is_fraction) {
    if (is_fraction || value != std::floor(value))
      return call_.make_constant("number", Tensor::of({}, std::vector<float>{static_cast<float>(value)}));
    return call_.make_constant("number", Tensor::of({}, Sizes{static_cast<Size>(value)}));
  }

  ValueId size(const std::string& name) {
    if (const Symbols::Owner* owner = symbols_.owner_of_symbol(name))
      return length_along(call_, owner->value, owner->axis);
    call_.refuse(Fault::Unsupported, "is computed from a size that is free; give the input a size");
    return {};
  }

  ValueId in_fractions(ValueId x) {
    return call_.failed() || call_.type(x).dtype == DType::F32 ? x : call_.add(Cast{DType::F32}, {x});
  }
  ValueId with(BinaryFunction function, ValueId a, ValueId b) {
    if (call_.failed()) return {};
    if (call_.type(a).dtype != call_.type(b).dtype) a = in_fractions(a), b = in_fractions(b);
    return call_.add(Binary{function}, {a, b});
  }
  ValueId folded(BinaryFunction function, const std::vector<ValueId>& all) {
    ValueId total = all[0];
    for (std::size_t i = 1; i < all.size(); ++i) total = with(function, total, all[i]);
    return total;
  }
  ValueId rounded(Function function, ValueId x) {
    if (call_.failed() || call_.type(x).dtype == DType::I64) return x;
    return call_.add(Cast{DType::I64}, {call_.add(Unary{function}, {x})});
  }

  // Whole powers of whole numbers are products.
  ValueId power(const SizeExpression& base, const SizeExpression& exponent) {
    constexpr double most = 8;
    const ValueId x = of(base);
    const bool is_number = exponent.function.empty() && !exponent.is_fraction;
    if (!call_.failed() && is_number && exponent.number >= 1 && exponent.number <= most &&
        call_.type(x).dtype == DType::I64)
      return folded(BinaryFunction::Multiply, std::vector(static_cast<std::size_t>(exponent.number), x));
    const ValueId y = of(exponent);
    return with(BinaryFunction::Power, in_fractions(x), in_fractions(y));
  }

  ValueId called(const std::string& function, const std::vector<ValueId>& all) {
    if (function == "Add") return folded(BinaryFunction::Add, all);
    if (function == "Mul") return folded(BinaryFunction::Multiply, all);
    if (function == "Max") return folded(BinaryFunction::Maximum, all);
    if (function == "Min") return folded(BinaryFunction::Minimum, all);
    if (all.size() == 2) {
      constexpr std::pair<std::string_view, BinaryFunction> truths[] = {{"StrictGreaterThan", BinaryFunction::Greater},
                                                                        {"GreaterThan", BinaryFunction::GreaterOrEqual},
                                                                        {"StrictLessThan", BinaryFunction::Less},
                                                                        {"LessThan", BinaryFunction::LessOrEqual},
                                                                        {"Equality", BinaryFunction::Equal},
                                                                        {"Unequality", BinaryFunction::NotEqual}};
      for (const auto& [word, compared] : truths)
        if (function == word) return with(compared, all[0], all[1]);
      if (function == "FloorDiv" || function == "CleanDiv") return with(BinaryFunction::FloorDivide, all[0], all[1]);
      if (function == "Mod" || function == "PythonMod") return with(BinaryFunction::Modulo, all[0], all[1]);
      if (function == "IntTrueDiv" || function == "FloatTrueDiv" || function == "Rational")
        return with(BinaryFunction::Divide, in_fractions(all[0]), in_fractions(all[1]));
    }
    if (all.size() == 1) {
      if (function == "Integer" || function == "Identity") return all[0];
      if (function == "ToFloat") return in_fractions(all[0]);
      if (function == "floor" || function == "FloorToInt") return rounded(Function::Floor, all[0]);
      if (function == "ceiling" || function == "CeilToInt") return rounded(Function::Ceil, all[0]);
      if (function == "TruncToInt") return rounded(Function::Truncate, all[0]);
      if (function == "OpaqueUnaryFn_sqrt") return call_.add(Unary{Function::Sqrt}, {in_fractions(all[0])});
    }
    call_.refuse(Fault::Unsupported,
                 "is computed from a size that is free by '" + function + "'; give the input a size");
    return {};
  }

  FunctionCall& call_;
  const Symbols& symbols_;
};

}  // namespace

ValueId number_of(FunctionCall& call, const Symbols& symbols, const std::string& expression) {
  const auto found = parsed(expression);
  if (!found) call.refuse(Fault::Unsupported, "is computed from a size that is free; give the input a size");
  return found ? FreeNumbers(call, symbols).of(*found) : ValueId{};
}

}  // namespace convoy::torch
