#include "run/plain/define.h"
#include "run/plain/folds.h"
#include "run/plain/functions.h"
#include "run/plain/lines.h"
#include "run/threads.h"

#include <limits>

namespace convoy::plain {

namespace {

// y[i] = f(x[i]), in blocks that threads share.
template <class T, class F>
Status map(const Call<T>& call, double cost, const F& f) {
  constexpr Size block = 16384;
  const auto count = static_cast<Size>(call.in[0].values.size());
  const T* x = call.data(0);
  T* y = call.out[0].values.data();
  for_each_item(threads_for(call.threads, cost * static_cast<double>(count)), (count + block - 1) / block, [&](Size b) {
    for (Size i = b * block, end = std::min(count, i + block); i < end; ++i) y[i] = f(x[i]);
  });
  return {};
}

}  // namespace

template <class T>
Status compute(const Unary& op, const Call<T>& call) {
  if (op.function == Function::Sign && call.rules.sign_of_nan_is_zero)
    return map(call, 2, [](T x) { return T(x > 0) - T(x < 0); });
  return map(call, 20, [f = op.function](T x) { return unary(f, x); });
}

template <class T>
Status compute(const Relu& op, const Call<T>& call) {
  const auto slope = in_type<T>(op.negative_slope), threshold = in_type<T>(op.threshold);
  if (!op.max_value && slope == 0 && threshold == 0 && !op.strict)
    return map(call, 1, [](T x) { return x < 0 ? T{0} : x; });
  const bool bounded = op.max_value.has_value();
  const auto most = in_type<T>(op.max_value.value_or(0));
  const bool stops_nan = call.rules.thresholds_stop_nan && slope == 0 && (op.strict || threshold != 0);
  return map(call, 2, [=, strict = op.strict](T x) {
    if (bounded && x >= most) return most;
    if (strict ? x > threshold : x >= threshold) return x;
    return x != x && !stops_nan ? x : slope == 0 ? T{0} : slope * (x - threshold);  // 0 * infinity is no number
  });
}

template <class T>
Status compute(const Elu& op, const Call<T>& call) {
  return map(call, 20, [alpha = static_cast<T>(op.alpha)](T x) { return elu(x, alpha); });
}

template <class T>
Status compute(const Celu& op, const Call<T>& call) {
  return map(call, 20, [alpha = static_cast<T>(op.alpha)](T x) {
    const T low = std::min(T{0}, alpha * std::expm1(x / alpha));
    return x != x ? x : std::max(x, T{0}) + low;
  });
}

template <class T>
Status compute(const Clip& op, const Call<T>& call) {
  const bool closes = call.rules.open_bounds_are_finite;
  const bool has_least = op.least.has_value() || closes, has_most = op.most.has_value() || closes;
  constexpr double end = std::numeric_limits<float>::max();  // float64 stands for float32 here
  const auto least = in_type<T>(op.least.value_or(closes ? -end : 0)),
             most = in_type<T>(op.most.value_or(closes ? end : 0));
  return map(call, 2, [=](T x) {
    if (has_least && x < least) x = least;
    if (has_most && x > most) x = most;
    return x;
  });
}

template <class T>
Status compute(const HardSigmoid& op, const Call<T>& call) {
  return map(call, 2, [alpha = static_cast<T>(op.alpha), beta = static_cast<T>(op.beta)](T x) {
    return hard_sigmoid(x, alpha, beta);
  });
}

template <class T>
Status compute(const Shrink& op, const Call<T>& call) {
  return map(call, 2,
             [lambda = static_cast<T>(op.lambda), soft = op.soft, stops = call.rules.thresholds_stop_nan](T x) {
               if (x > lambda) return soft ? x - lambda : x;
               if (x < -lambda) return soft ? x + lambda : x;
               return x != x && !stops ? x : T{0};
             });
}

template <class T>
Status compute(const Squareplus& op, const Call<T>& call) {
  return map(call, 8, [b = static_cast<T>(op.b)](T x) { return (x + std::sqrt(x * x + b)) / 2; });
}

template <class T>
Status compute(const Softplus& op, const Call<T>& call) {
  const auto beta = static_cast<T>(op.beta);
  const bool bends = !op.threshold;
  const T threshold = bends ? T{0} : static_cast<T>(*op.threshold);
  return map(call, 16, [=](T x) { return !bends && beta * x > threshold ? x : softplus(beta * x) / beta; });
}

template <class T>
Status compute(const Threshold& op, const Call<T>& call) {
  const auto threshold = static_cast<T>(op.threshold), value = static_cast<T>(op.value);
  if (call.rules.thresholds_stop_nan) return map(call, 1, [=](T x) { return x > threshold ? x : value; });
  return map(call, 1, [=](T x) { return x <= threshold ? value : x; });
}

template <class T>
Status compute(const Softmax& op, const Call<T>& call) {
  if (call.out[0].values.empty()) return {};
  const Groups groups(call.in[0].shape, op.axes);
  const std::span<const Size> all = groups.places();
  groups.for_each([&](Size start, std::size_t) {
    const T* x = call.data(0) + start;
    T* y = call.out[0].values.data() + start;
    T most = x[0];
    for_each_part(all, [&](std::span<const Size> places) {
      for (const Size place : places)
        if (x[place] > most) most = x[place];
    });
    double sum = 0;
    for_each_part(all, [&](std::span<const Size> places) {
      double so_far = sum;
      for (const Size place : places) so_far += std::exp(static_cast<double>(x[place] - most));
      sum = so_far;
    });
    const double log_sum = std::log(sum);
    for_each_part(all, [&](std::span<const Size> places) {
      for (const Size place : places) {
        const auto off = static_cast<double>(x[place] - most);
        y[place] = static_cast<T>(op.logarithm ? off - log_sum : std::exp(off) / sum);
      }
    });
  });
  return {};
}

template <class T>
Status compute(const Hardmax& op, const Call<T>& call) {
  const Around a = around(call.in[0].shape, positive_axis(op.axis, static_cast<Size>(call.in[0].shape.size())));
  if (a.size == 0) return {};
  for_each_line(a, [&](Size o, Size i) {
    const Size start = o * a.size * a.inner + i;
    const T* x = call.data(0) + start;
    Size best = 0;
    for (Size k = 1; k < a.size; ++k)
      if (x[k * a.inner] > x[best * a.inner]) best = k;
    call.out[0].values[static_cast<std::size_t>(start + best * a.inner)] = 1;
  });
  return {};
}

template <class T>
Status compute(const Glu& op, const Call<T>& call) {
  const Around a = around(call.in[0].shape, positive_axis(op.axis, static_cast<Size>(call.in[0].shape.size())));
  const Size half = a.size / 2 * a.inner;
  for_each_line({a.outer, 2, half}, [&](Size o, Size i) {
    const T* x = call.data(0) + 2 * o * half + i;
    call.out[0].values[static_cast<std::size_t>(o * half + i)] = x[0] * sigmoid(x[half]);
  });
  return {};
}

template <class T>
Status compute(const PRelu&, const Call<T>& call) {
  const Sizes &shape = call.in[0].shape, &slope = call.in[1].shape;
  const Sizes strides = strides_of(slope);
  const T* x = call.data(0);
  Polling polling;
  for (std::size_t at = 0; at < call.in[0].values.size() && !polling.ends(static_cast<Size>(slope.size())); ++at) {
    Size from = 0;
    for (std::size_t i = slope.size(), rest = at; i-- > 0;) {
      const auto size = static_cast<std::size_t>(shape[i + 1]);
      if (slope[i] != 1) from += static_cast<Size>(rest % size) * strides[i];
      rest /= size;
    }
    call.out[0].values[at] = x[at] >= 0 ? x[at] : call.data(1)[from] * x[at];
  }
  return {};
}

template struct Kernels<Unary, Relu, Elu, Celu, Clip, HardSigmoid, Shrink, Squareplus, Softplus, Threshold, Softmax,
                        Hardmax, Glu, PRelu>;
template struct WholeKernels<Unary, Relu, Clip>;

}  // namespace convoy::plain
