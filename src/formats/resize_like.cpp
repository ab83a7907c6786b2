// Which cells a place between them reads, and how much of each, is computed from both lengths in float32, as the frameworks do.
// Source: PyTorch's ATen/native/UpSample.h, cpu/UpSampleKernel.cpp; ONNX Runtime's cpu/tensor/upsamplebase.h.
#include "formats/resize_like.h"
#include "formats/free_reshape.h"

#include "ops/expect.h"

namespace convoy {

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
  ValueId real(double number) {
    return call_.make_constant("number", Tensor::of({}, std::vector<float>{static_cast<float>(number)}));
  }
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
      if (resize_.arithmetic == Arithmetic::Divided)
        return apply(BinaryFunction::Divide, apply(BinaryFunction::Multiply, i, way), steps);
      return apply(BinaryFunction::Multiply, i, apply(BinaryFunction::Divide, way, steps));
    }
    if (resize_.coordinates == Coordinates::Asymmetric) return scaled(i, in, out);
    const ValueId middle = scaled(apply(BinaryFunction::Add, i, real(0.5)), in, out);
    if (resize_.rounding == Rounding::RoundHalfUp) return middle;
    const ValueId place = apply(BinaryFunction::Subtract, middle, real(0.5));
    if (resize_.coordinates != Coordinates::PytorchHalfPixel) return place;
    const ValueId behind_first = apply(BinaryFunction::Subtract, out, real(1));  // 0 of one place alone
    return apply(BinaryFunction::Multiply, place, apply(BinaryFunction::Minimum, behind_first, real(1)));
  }
  ValueId scaled(ValueId i, ValueId in, ValueId out) {
    if (resize_.arithmetic == Arithmetic::Divided)
      return apply(BinaryFunction::Divide, i, apply(BinaryFunction::Divide, out, in));
    return apply(BinaryFunction::Multiply, i, apply(BinaryFunction::Divide, in, out));
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

std::vector<ValueId> resized_like(FunctionCall& call, ValueId x, const Resize& resize, const Sizes& from) {
  const Sizes& to = resize.sizes;
  constexpr Size most = Size{1} << 20;
  const bool known_places =
      resize.coordinates == Coordinates::HalfPixel || resize.coordinates == Coordinates::PytorchHalfPixel ||
      resize.coordinates == Coordinates::Asymmetric || resize.coordinates == Coordinates::AlignCorners;
  const bool from_below = resize.rounding == Rounding::Floor ? resize.coordinates == Coordinates::Asymmetric
                                                             : resize.coordinates == Coordinates::HalfPixel &&
                                                                   resize.rounding == Rounding::RoundHalfUp &&
                                                                   resize.arithmetic == Arithmetic::Multiplied;
  const bool known_way =
      resize.interpolation == Interpolation::Linear || (resize.interpolation == Interpolation::Nearest && from_below);
  if (!known_way || !known_places || resize.antialias)
    call.refuse(Fault::Unsupported,
                "resizes to a size that is free in a way which needs it beforehand; give the input a size");
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

}  // namespace convoy
