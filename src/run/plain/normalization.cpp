#include "run/plain/define.h"
#include "run/plain/folds.h"
#include "run/plain/lines.h"
#include "run/threads.h"

#include <cmath>

namespace convoy::plain {

// Keras's order of operations: the inverse deviation takes gamma first, then the centred value is multiplied once.
template <class T>
Status compute(const BatchNorm& op, const Call<T>& call) {
  const Around a = around(call.in[0].shape, op.axis);
  const T *gamma = call.optional(1), *beta = call.optional(2), *mean = call.data(3), *variance = call.data(4);
  std::vector<T> scale(static_cast<std::size_t>(a.size)), offset(static_cast<std::size_t>(a.size));
  for (Size c = 0; c < a.size; ++c) {
    const auto at = static_cast<std::size_t>(c);
    scale[at] = T{1} / std::sqrt(variance[c] + static_cast<T>(op.epsilon));
    if (gamma) scale[at] *= gamma[c];
    offset[at] = beta ? beta[c] : T{0};
  }
  const T* x = call.data(0);
  T* y = call.out[0].values.data();
  Polling polling;
  if (a.inner == 1) {  // channels last: along the channels
    for (Size o = 0; o < a.outer && !polling.ends(a.size); ++o, x += a.size, y += a.size)
      for (Size c = 0; c < a.size; ++c) {
        const auto at = static_cast<std::size_t>(c);
        y[c] = (x[c] - mean[c]) * scale[at] + offset[at];
      }
    return {};
  }
  for (Size o = 0; o < a.outer; ++o)
    for (Size c = 0; c < a.size && !polling.ends(a.inner); ++c) {
      const T s = scale[static_cast<std::size_t>(c)], b = offset[static_cast<std::size_t>(c)], m = mean[c];
      for (Size i = 0; i < a.inner; ++i, ++x, ++y) *y = (*x - m) * s + b;
    }
  return {};
}

namespace {

struct Moments {
  double mean = 0, variance = 0;
};

// The mean first, then the squares about it: the difference of two large numbers is never taken.
template <class T>
Moments moments_of(const T* x, const Sizes& places) {
  Moments m;
  for (const Size place : places) m.mean += static_cast<double>(x[place]);
  m.mean /= static_cast<double>(places.size());
  for (const Size place : places) {
    const double off = static_cast<double>(x[place]) - m.mean;
    m.variance += off * off;
  }
  m.variance /= static_cast<double>(places.size());
  return m;
}

template <class T>
double square_sum(const T* x, const Sizes& places) {
  double sum = 0;
  for (const Size place : places) sum += static_cast<double>(x[place]) * static_cast<double>(x[place]);
  return sum;
}

}  // namespace

template <class T>
Status compute(const LayerNorm& op, const Call<T>& call) {
  const Groups groups(call.in[0].shape, op.axes);
  const T *gamma = call.optional(1), *beta = call.optional(2);
  groups.for_each([&](Size start, std::size_t) {
    const T* x = call.data(0) + start;
    T* y = call.out[0].values.data() + start;
    const Moments m = moments_of(x, groups.places());
    const double scale = 1 / std::sqrt(m.variance + op.epsilon), centre = op.keras_rms_scaling ? 0 : m.mean;
    for (std::size_t i = 0; i < groups.places().size(); ++i) {
      const Size place = groups.places()[i];
      const double value =
          (static_cast<double>(x[place]) - centre) * scale * (gamma ? static_cast<double>(gamma[i]) : 1);
      y[place] = static_cast<T>(value + (beta ? static_cast<double>(beta[i]) : 0));
    }
  });
  return {};
}

template <class T>
Status compute(const GroupNorm& op, const Call<T>& call) {
  // The channel axis is seen as two: [groups, channels of a group].
  Sizes shape = call.in[0].shape, reduced;
  const auto axis = static_cast<std::size_t>(op.axis);
  const Size per_group = shape[axis] / op.groups;
  shape[axis] = op.groups;
  shape.insert(shape.begin() + op.axis + 1, per_group);
  for (Size i = 1; i < static_cast<Size>(shape.size()); ++i)
    if (i != op.axis) reduced.push_back(i);
  const Groups groups(shape, reduced);
  const Around a = around(call.in[0].shape, op.axis);
  const T *gamma = call.optional(1), *beta = call.optional(2);
  groups.for_each([&](Size start, std::size_t) {
    const Moments m = moments_of(call.data(0) + start, groups.places());
    const double scale = 1 / std::sqrt(m.variance + op.epsilon);
    for (const Size place : groups.places()) {
      const Size at = start + place, channel = at / a.inner % a.size;
      double value = (static_cast<double>(call.data(0)[at]) - m.mean) * scale;
      if (gamma) value *= static_cast<double>(gamma[channel]);
      if (beta) value += static_cast<double>(beta[channel]);
      call.out[0].values[static_cast<std::size_t>(at)] = static_cast<T>(value);
    }
  });
  return {};
}

template <class T>
Status compute(const RmsNorm& op, const Call<T>& call) {
  const Groups groups(call.in[0].shape, op.axes);
  const T* gamma = call.optional(1);
  groups.for_each([&](Size start, std::size_t) {
    const T* x = call.data(0) + start;
    const double mean = square_sum(x, groups.places()) / static_cast<double>(groups.places().size());
    const double scale = 1 / std::sqrt(mean + op.epsilon);
    for (std::size_t i = 0; i < groups.places().size(); ++i) {
      const Size place = groups.places()[i];
      call.out[0].values[static_cast<std::size_t>(start + place)] =
          static_cast<T>(static_cast<double>(x[place]) * scale * (gamma ? static_cast<double>(gamma[i]) : 1));
    }
  });
  return {};
}

template <class T>
Status compute(const UnitNorm& op, const Call<T>& call) {
  const Groups groups(call.in[0].shape, op.axes);
  groups.for_each([&](Size start, std::size_t) {
    const T* x = call.data(0) + start;
    const double scale = 1 / std::sqrt(std::max(square_sum(x, groups.places()), op.epsilon));
    for (const Size place : groups.places())
      call.out[0].values[static_cast<std::size_t>(start + place)] =
          static_cast<T>(static_cast<double>(x[place]) * scale);
  });
  return {};
}

template <class T>
Status compute(const LengthNorm& op, const Call<T>& call) {
  const Groups groups(call.in[0].shape, op.axes);
  if (call.out[0].values.empty()) return {};
  groups.for_each([&](Size start, std::size_t) {
    const T* x = call.data(0) + start;
    T* y = call.out[0].values.data() + start;
    double length = 0;
    for (const Size place : groups.places()) {
      const double size = std::abs(static_cast<double>(x[place]));
      if (!std::isinf(op.p)) length += op.p == 2 ? size * size : std::pow(size, op.p);
      else if (!(size <= length)) length = size;  // a NaN stays
    }
    if (!std::isinf(op.p)) length = op.p == 2 ? std::sqrt(length) : std::pow(length, 1 / op.p);
    const double divisor = length < op.epsilon ? op.epsilon : length;
    for (const Size place : groups.places()) y[place] = static_cast<T>(static_cast<double>(x[place]) / divisor);
  });
  return {};
}

template <class T>
Status compute(const LocalResponseNorm& op, const Call<T>& call) {
  const Around a = around(call.in[0].shape, op.axis);
  const double work = 16.0 * static_cast<double>(call.in[0].values.size());
  for_each_item(threads_for(call.threads, work), a.outer * a.size, [&](Size item) {
    const Size o = item / a.size, c = item % a.size;
    const T* x = call.data(0) + o * a.size * a.inner;
    T* y = call.out[0].values.data() + item * a.inner;
    const Size first = std::max<Size>(c - op.before, 0), last = std::min(c + op.after, a.size - 1);
    for (Size i = 0; i < a.inner; ++i) {
      double sum = 0;
      for (Size j = first; j <= last; ++j) {
        const auto value = static_cast<double>(x[j * a.inner + i]);
        sum += value * value;
      }
      y[i] = static_cast<T>(static_cast<double>(x[c * a.inner + i]) / std::pow(op.bias + op.alpha * sum, op.beta));
    }
  });
  return {};
}

template struct Kernels<LengthNorm, LocalResponseNorm, BatchNorm, LayerNorm, GroupNorm, RmsNorm, UnitNorm>;

}  // namespace convoy::plain
