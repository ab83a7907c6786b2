// Operators on values and numbers, for functions that are others, one behind another.
#pragma once
#include "formats/torch/catalogue/aten.h"

#include <limits>

namespace convoy::torch {

inline constexpr double endless = std::numeric_limits<double>::infinity();

// Numbers are of the type of one of the values.
class Arithmetic {
 public:
  Arithmetic(FunctionCall& call, ValueId like)
      : call_(call),
        dtype_(call.failed() ? DType::F32 : call.type(like).dtype) {}
  ValueId number(double value) { return number_constant(call_, "number", value, dtype_); }
  ValueId operator()(BinaryFunction function, ValueId a, ValueId b) { return call_.add(Binary{function}, {a, b}); }
  ValueId operator()(BinaryFunction function, ValueId a, double b) {
    return call_.add(Binary{function}, {a, number(b)});
  }
  ValueId operator()(BinaryFunction function, double a, ValueId b) {
    return call_.add(Binary{function}, {number(a), b});
  }
  ValueId operator()(Function function, ValueId a) { return call_.add(Unary{function}, {a}); }
  ValueId choose(ValueId where, ValueId a, ValueId b) { return call_.add(Where{}, {where, a, b}); }
  // a * scale + offset
  ValueId scaled(ValueId a, double scale, double offset = 0) { return call_.add(Affine{scale, offset}, {a}); }
  // Over no axes a number stays what it is.
  ValueId folded(Reduction reduction, ValueId a, Sizes axes, bool keeps = false) {
    if (axes.empty()) return a;
    return call_.add(Reduce{reduction, std::move(axes), keeps}, {a});
  }

 private:
  FunctionCall& call_;
  DType dtype_;
};

// Every axis of a value.
Sizes all_axes(const FunctionCall& call, ValueId x);

}  // namespace convoy::torch
