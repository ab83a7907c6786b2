#include "ops/activation.h"

#include "ops/axes.h"
#include "ops/expect.h"

#include <cmath>
#include <string>

namespace convoy {

namespace {
Result<TensorTypes> same(const Inputs& in) { return one_type(arithmetic(in[0].dtype), in[0].shape); }
}  // namespace

Result<TensorTypes> infer(const Unary& op, const Inputs& in) {
  if (op.function == Function::Not) return one_type(DType::Bool, in[0].shape);
  return keeps_whole(op.function) ? one_type(in[0].dtype, in[0].shape) : same(in);
}
// Whole numbers stay whole where nothing makes fractions of them.
Result<TensorTypes> infer(const Relu& op, const Inputs& in) {
  const bool whole = op.negative_slope == 0 && op.threshold == std::floor(op.threshold) &&
                     (!op.max_value || *op.max_value == std::floor(*op.max_value));
  return whole ? one_type(in[0].dtype, in[0].shape) : same(in);
}

Result<TensorTypes> infer(const Celu& op, const Inputs& in) {
  if (op.alpha == 0) return fail(Fault::Format, "alpha is 0");
  return same(in);
}

// Bounds that are no whole numbers would leave fractions.
Result<TensorTypes> infer(const Clip& op, const Inputs& in) {
  const auto whole = [](const std::optional<double>& bound) { return !bound || *bound == std::floor(*bound); };
  return whole(op.least) && whole(op.most) ? one_type(in[0].dtype, in[0].shape) : same(in);
}

Result<TensorTypes> infer(const Softplus& op, const Inputs& in) {
  if (op.beta == 0) return fail(Fault::Format, "beta is 0");
  return same(in);
}

Result<TensorTypes> infer(const Glu& op, const Inputs& in) {
  const Size axis = positive_axis(op.axis, in[0].rank());
  if (auto s = expect_axis(axis, in[0].rank()); !s) return pass(s);
  Shape shape = in[0].shape;
  Dim& size = at(shape, axis);
  if (size.known() && *size % 2 != 0)
    return fail(Fault::Unsupported,
                "axis " + std::to_string(axis) + " has size " + std::to_string(*size) + ", which has no halves");
  if (size.known()) size = *size / 2;
  return one_type(arithmetic(in[0].dtype), std::move(shape));
}

Result<TensorTypes> infer(const PRelu&, const Inputs& in) {
  const Shape &x = in[0].shape, &slope = in[1].shape;
  bool fits = slope.size() + 1 == x.size();
  for (std::size_t i = 0; fits && i < slope.size(); ++i)
    fits = slope[i] == Dim(1) || agreed(slope[i], x[i + 1]).has_value();
  if (!fits)
    return fail(Fault::Format,
                "slope has shape " + text_of(slope) + ", which does not stretch to an input of shape " + text_of(x));
  return same(in);
}

}  // namespace convoy
