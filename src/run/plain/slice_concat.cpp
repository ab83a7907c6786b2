#include "run/plain/kernels.h"

#include <algorithm>

namespace convoy::plain {

namespace {

// Rows of x along `axis`, one per index, in the order of the indices.
template <class T, class Index>
void take(const Call<T>& call, std::size_t output, Size axis, Size count, const Index& index_of) {
  const Around a = around(call.in[0].shape, axis);
  T* y = call.out[output].values.data();
  for (Size o = 0; o < a.outer; ++o)
    for (Size i = 0; i < count; ++i) y = std::copy_n(call.data(0) + (o * a.size + index_of(i)) * a.inner, a.inner, y);
}

}  // namespace

template <class T>
Status compute(const Concat& op, const Call<T>& call) {
  const Around whole = around(call.out[0].shape, op.axis);
  Size done = 0;
  for (const Operand<T>& part : call.in) {
    const Around a = around(part.shape, op.axis);
    const Size run = a.size * a.inner;
    for (Size o = 0; o < a.outer; ++o)
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

template Status compute(const Concat&, const Call<float>&);
template Status compute(const Concat&, const Call<double>&);
template Status compute(const Slice&, const Call<float>&);
template Status compute(const Slice&, const Call<double>&);
template Status compute(const Split&, const Call<float>&);
template Status compute(const Split&, const Call<double>&);
template Status compute(const Tile&, const Call<float>&);
template Status compute(const Tile&, const Call<double>&);
template Status compute(const Take&, const Call<float>&);
template Status compute(const Take&, const Call<double>&);

}  // namespace convoy::plain
