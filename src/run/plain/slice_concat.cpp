#include "run/plain/define.h"
#include "run/plain/lines.h"

#include <algorithm>
#include <string>

namespace convoy::plain {

namespace {

// Rows of x along `axis`, one per index, in the order of the indices.
template <class T, class Index>
void take(const Call<T>& call, std::size_t output, Size axis, Size count, const Index& index_of) {
  const Around a = around(call.in[0].shape, axis);
  T* y = call.out[output].values.data();
  const Size rows = std::max<Size>(1, (1 << 16) / std::max<Size>(a.inner, 1));
  Polling polling;
  for (Size o = 0; o < a.outer; ++o)
    for (Size first = 0; first < count; first += rows) {
      const Size end = std::min(count, first + rows);
      if (polling.ends((end - first) * a.inner)) return;
      for (Size i = first; i < end; ++i)
        y = std::copy_n(call.data(0) + (o * a.size + index_of(i)) * a.inner, a.inner, y);
    }
}

// Indices as they came, negative ones counted from the end.
Result<Sizes> places_in_axis(const Tensor& indices, Size size) {
  Sizes places = indices.integers();
  for (Size& place : places) {
    if (place < -size || place >= size)
      return fail(Fault::Numeric,
                  "index " + std::to_string(place) + " lies outside an axis of size " + std::to_string(size));
    if (place < 0) place += size;
  }
  return places;
}

}  // namespace

template <class T>
Status compute(const Concat& op, const Call<T>& call) {
  const Around whole = around(call.out[0].shape, op.axis);
  Size done = 0;
  Polling polling;
  for (const Operand<T>& part : call.in) {
    const Around a = around(part.shape, op.axis);
    const Size run = a.size * a.inner;
    for (Size o = 0; o < a.outer && !polling.ends(run); ++o)
      std::copy_n(part.values.data() + o * run, run, call.out[0].values.data() + (o * whole.size + done) * whole.inner);
    done += a.size;
  }
  return {};
}

template <class T>
Status compute(const Slice& op, const Call<T>& call) {
  const SliceRange range = resolve(op, call.in[0].shape[static_cast<std::size_t>(op.axis)]);
  take(call, 0, op.axis, range.count, [&](Size i) { return range.first + i * op.step; });
  return {};
}

template <class T>
Status compute(const Split& op, const Call<T>& call) {
  Size first = 0;
  for (std::size_t part = 0; part < op.sizes.size(); ++part) {
    take(call, part, op.axis, op.sizes[part], [&](Size i) { return first + i; });
    first += op.sizes[part];
  }
  return {};
}

template <class T>
Status compute(const Tile& op, const Call<T>& call) {
  const Size size = call.in[0].shape[static_cast<std::size_t>(op.axis)];
  take(call, 0, op.axis, size * op.times, [&](Size i) { return i % size; });
  return {};
}

template <class T>
Status compute(const Take& op, const Call<T>& call) {
  take(call, 0, op.axis, static_cast<Size>(op.indices.size()),
       [&](Size i) { return op.indices[static_cast<std::size_t>(i)]; });
  return {};
}

template <class T>
Status compute(const Gather& op, const Call<T>& call) {
  auto places = places_in_axis(*call.in[1].stored, call.in[0].shape[static_cast<std::size_t>(op.axis)]);
  if (!places) return pass(places);
  take(call, 0, op.axis, static_cast<Size>(places->size()),
       [&](Size i) { return (*places)[static_cast<std::size_t>(i)]; });
  return {};
}

template <class T>
Status compute(const GatherElements& op, const Call<T>& call) {
  const Sizes &from = call.in[0].shape, &shape = call.out[0].shape;
  const auto along = static_cast<std::size_t>(op.axis);
  auto places = places_in_axis(*call.in[1].stored, from[along]);
  if (!places) return pass(places);
  const Sizes strides = strides_of(from);
  Sizes index(shape.size(), 0);
  Polling polling;
  for (std::size_t i = 0; i < places->size() && !polling.ends(1); ++i) {
    Size at = (*places)[i] * strides[along];
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      if (axis != along) at += index[axis] * strides[axis];
    call.out[0].values[i] = call.data(0)[at];
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
  return {};
}

template <class T>
Status compute(const ExpandLike& op, const Call<T>& call) {
  take(call, 0, op.axis, call.out[0].shape[static_cast<std::size_t>(op.axis)], [](Size) { return Size{0}; });
  return {};
}

template <class T>
Status compute(const SliceBehind&, const Call<T>& call) {
  const Size gone = call.in[1].shape.front();
  take(call, 0, 0, call.out[0].shape.front(), [gone](Size i) { return gone + i; });
  return {};
}

template struct Kernels<Concat, Slice, Split, Tile, Take, Gather, GatherElements, ExpandLike, SliceBehind>;
template struct WholeKernels<Concat, Slice, Split, Tile, Take, Gather, GatherElements, ExpandLike, SliceBehind>;

}  // namespace convoy::plain
