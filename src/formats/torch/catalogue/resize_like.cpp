// Which cells a place between them reads, and how much of each, is computed from both lengths in float32, as PyTorch does.
// Source: ATen/native/UpSample.h, cpu/UpSampleKernel.cpp.
#include "formats/torch/catalogue/resize_like.h"
#include "formats/free_reshape.h"

#include "formats/torch/catalogue/aten.h"
#include "ops/expect.h"

namespace convoy::torch {

namespace {

// One axis of x on its way from `in` cells to as many as an axis of another tensor has, or as a number says.
class AxisResized {
 public:
  AxisResized(FunctionCall& call, const Resize& resize, Size axis) : call_(call), resize_(resize), axis_(axis) {}

  ValueId of(ValueId x, ValueId like, Size from, Size size) {
    const ValueId places = like ? counted_along(call_, like, from) : counted(size);
    const ValueId out = like ? length_of(like, from) : real(static_cast<double>(size));
    const Dim known = call_.dim(x, axis_);
    const ValueId in = known.known() ? real(static_cast<double>(*known)) : length_of(x, axis_);
    const ValueId at = coordinates(call_.add(Cast{DType::F32}, {places}), in, out);
    const ValueId last = apply(BinaryFunction::Subtract, in, real(1));
    if (resize_.interpolation == Interpolation::Nearest)
      return looked_up(x, whole(apply(BinaryFunction::Minimum, at, last)));
    const ValueId begin = apply(BinaryFunction::Maximum, at, real(0));
    const ValueId low = whole(apply(BinaryFunction::Minimum, begin, last));
    const ValueId as_real = call_.add(Cast{DType::F32}, {low});
    const ValueId high = whole(apply(BinaryFunction::Minimum, apply(BinaryFunction::Add, as_real, real(1)), last));
    const ValueId share = laid_along(x, apply(BinaryFunction::Subtract, begin, as_real));
    const ValueId rest = apply(BinaryFunction::Subtract, real(1), share);
    return apply(BinaryFunction::Add, apply(BinaryFunction::Multiply, looked_up(x, low), rest),
                 apply(BinaryFunction::Multiply, looked_up(x, high), share));
  }

 private:
  ValueId apply(BinaryFunction function, ValueId a, ValueId b) { return call_.add(Binary{function}, {a, b}); }
  ValueId real(double number) { return number_constant(call_, "number", number, DType::F32); }
  ValueId counted(Size size) {
    std::vector<std::int64_t> all;
    for (Size i = 0; i < size; ++i) all.push_back(i);
    return call_.make_constant("places", Tensor::of({size}, std::move(all)));
  }
  ValueId length_of(ValueId x, Size axis) {
    const ValueId one = call_.make_constant("one", Tensor::of({1}, std::vector<std::int64_t>{1}));
    const ValueId ones = call_.add(ExpandLike{0, axis}, {one, x});
    return call_.add(Cast{DType::F32}, {call_.add(Reduce{Reduction::Sum, {0}, false}, {ones})});
  }
  ValueId coordinates(ValueId i, ValueId in, ValueId out) {
    if (resize_.coordinates == Coordinates::AlignCorners) {  // of one place alone: the first cell
      const ValueId steps = apply(BinaryFunction::Maximum, apply(BinaryFunction::Subtract, out, real(1)), real(1));
      const ValueId way = apply(BinaryFunction::Subtract, in, real(1));
      return apply(BinaryFunction::Multiply, i, apply(BinaryFunction::Divide, way, steps));
    }
    const ValueId scale = apply(BinaryFunction::Divide, in, out);
    if (resize_.coordinates == Coordinates::Asymmetric) return apply(BinaryFunction::Multiply, i, scale);
    const ValueId middle = apply(BinaryFunction::Multiply, apply(BinaryFunction::Add, i, real(0.5)), scale);
    return resize_.rounding == Rounding::RoundHalfUp ? middle : apply(BinaryFunction::Subtract, middle, real(0.5));
  }
  ValueId looked_up(ValueId x, ValueId places) { return call_.add(Gather{axis_}, {x, places}); }
  // Toward zero, which is down: no place is negative.
  ValueId whole(ValueId places) { return call_.add(Cast{DType::I64}, {places}); }
  ValueId laid_along(ValueId x, ValueId list) {
    Sizes behind;
    for (Size i = axis_ + 1; i < call_.rank(x); ++i) behind.push_back(i - axis_);
    return behind.empty() ? list : call_.add(Unsqueeze{behind}, {list});
  }

  FunctionCall& call_;
  const Resize& resize_;
  Size axis_;
};

}  // namespace

std::vector<ValueId> resized_like(FunctionCall& call, ValueId x, const Resize& resize) {
  const Sizes to = call.attrs.list("output_size"), from = call.attrs.list("from");
  const bool known_way =
      resize.interpolation == Interpolation::Nearest || resize.interpolation == Interpolation::Linear;
  constexpr Size most = Size{1} << 20;
  if (!known_way || resize.antialias)
    call.refuse(Fault::Unsupported,
                "argument 'output_size': is computed from a size that is free; give the input a size");
  if (from.size() != to.size() || to.size() != resize.axes.size())
    call.refuse(Fault::Format, "sizes of other than its axes");
  for (const Size n : to)
    if (n < 1 || n > most) call.refuse(Fault::Limit, "makes " + std::to_string(n) + " cells");
  for (std::size_t i = 0; i < to.size() && !call.failed(); ++i) {
    const ValueId like = call.optional("like." + std::to_string(i));
    const Dim in = call.dim(x, resize.axes[i]);
    if (like ? call.dim(like, from[i]) == in && in.known() : in == Dim(to[i])) continue;  // as it is
    x = AxisResized(call, resize, resize.axes[i]).of(x, like, from[i], to[i]);
  }
  return {x};
}

}  // namespace convoy::torch
