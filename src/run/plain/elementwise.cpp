#include "run/plain/define.h"
#include "run/plain/lines.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace convoy::plain {

namespace {

// The remainder is exact; moved by b where its sign differs, which is what PyTorch and TensorFlow do. A zero keeps the
// sign of a.
template <class T>
T modulo(T a, T b) {
  const T rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
// What the exact remainder leaves divides without a fraction, up to one rounding. In ATen's order of steps.
template <class T>
T floor_divide(T a, T b) {
  if (b == 0) return a / b;
  const T rest = std::fmod(a, b);
  T whole = (a - rest) / b;
  if (rest != 0 && (rest < 0) != (b < 0)) whole -= 1;
  if (whole == 0) return std::copysign(T{0}, a / b);
  const T below = std::floor(whole);
  return whole - below > T(0.5) ? below + 1 : below;
}

// Whole numbers of 64 bits, which wrap around; a division by 0 was refused before.
std::int64_t wrapping(BinaryFunction function, std::int64_t a, std::int64_t b) {
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  const auto negative = [](std::uint64_t n) { return static_cast<std::int64_t>(0 - n); };
  switch (function) {
    case BinaryFunction::Add: return static_cast<std::int64_t>(x + y);
    case BinaryFunction::Subtract: return static_cast<std::int64_t>(x - y);
    case BinaryFunction::Multiply: return static_cast<std::int64_t>(x * y);
    case BinaryFunction::Maximum: return std::max(a, b);
    case BinaryFunction::Minimum: return std::min(a, b);
    case BinaryFunction::Equal: return a == b;
    case BinaryFunction::NotEqual: return a != b;
    case BinaryFunction::Less: return a < b;
    case BinaryFunction::LessOrEqual: return a <= b;
    case BinaryFunction::Greater: return a > b;
    case BinaryFunction::GreaterOrEqual: return a >= b;
    case BinaryFunction::And: return a != 0 && b != 0;
    case BinaryFunction::Or: return a != 0 || b != 0;
    case BinaryFunction::Xor: return (a != 0) != (b != 0);
    case BinaryFunction::BitAnd: return a & b;
    case BinaryFunction::BitOr: return a | b;
    case BinaryFunction::BitXor: return a ^ b;
    default: break;
  }
  if (b == -1)  // the lowest number has no opposite
    return function == BinaryFunction::Modulo || function == BinaryFunction::Remainder ? 0 : negative(x);
  const std::int64_t rest = a % b;
  const bool across = rest != 0 && (rest < 0) != (b < 0);
  switch (function) {
    case BinaryFunction::Modulo: return across ? rest + b : rest;
    case BinaryFunction::Remainder: return rest;
    case BinaryFunction::FloorDivide: return a / b - (across ? 1 : 0);
    default: return a / b;
  }
}

// Hands the function itself on, so that the choice is made once and not for every element.
template <class T, class Use>
void choose_of_fractions(BinaryFunction function, const Use& use) {
  switch (function) {
    case BinaryFunction::Add: return use([](T a, T b) { return a + b; });
    case BinaryFunction::Subtract: return use([](T a, T b) { return a - b; });
    case BinaryFunction::Multiply: return use([](T a, T b) { return a * b; });
    case BinaryFunction::Divide: return use([](T a, T b) { return a / b; });
    // A NaN on either side comes out.
    case BinaryFunction::Maximum: return use([](T a, T b) { return a != a || a > b ? a : b; });
    case BinaryFunction::Minimum: return use([](T a, T b) { return a != a || a < b ? a : b; });
    case BinaryFunction::Power: return use([](T a, T b) { return std::pow(a, b); });
    case BinaryFunction::Modulo: return use(modulo<T>);
    case BinaryFunction::Remainder: return use([](T a, T b) { return std::fmod(a, b); });
    case BinaryFunction::FloorDivide: return use(floor_divide<T>);
    case BinaryFunction::TruncateDivide: return use([](T a, T b) { return std::trunc(a / b); });
    case BinaryFunction::Equal: return use([](T a, T b) { return T(a == b); });
    case BinaryFunction::NotEqual: return use([](T a, T b) { return T(a != b); });
    case BinaryFunction::Less: return use([](T a, T b) { return T(a < b); });
    case BinaryFunction::LessOrEqual: return use([](T a, T b) { return T(a <= b); });
    case BinaryFunction::Greater: return use([](T a, T b) { return T(a > b); });
    case BinaryFunction::GreaterOrEqual: return use([](T a, T b) { return T(a >= b); });
    case BinaryFunction::And: return use([](T a, T b) { return T(a != 0 && b != 0); });
    case BinaryFunction::Or: return use([](T a, T b) { return T(a != 0 || b != 0); });
    case BinaryFunction::Xor: return use([](T a, T b) { return T((a != 0) != (b != 0)); });
    // Whole numbers come to their own kernel.
    case BinaryFunction::BitAnd:
    case BinaryFunction::BitOr:
    case BinaryFunction::BitXor: return use([](T, T) { return std::numeric_limits<T>::quiet_NaN(); });
  }
}

template <class T, class Use>
void choose(BinaryFunction function, const EdgeRules& rules, const Use& use) {
  if constexpr (std::is_integral_v<T>) {
    if (function == BinaryFunction::Remainder && rules.whole_folds_in_fractions)
      return use([](T a, T b) { return static_cast<T>(std::fmod(static_cast<double>(a), static_cast<double>(b))); });
    return use([function](T a, T b) { return wrapping(function, a, b); });
  } else {
    choose_of_fractions<T>(function, use);
  }
}

// Strides along the axes of `to`, 0 where the operand has size 1 and stretches.
Sizes stretched(const Sizes& shape, const Sizes& to) {
  const Sizes own = strides_of(shape);
  Sizes strides(to.size(), 0);
  const std::size_t skip = to.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1) strides[skip + i] = own[i];
  return strides;
}

}  // namespace

template <class T>
Status compute(const Binary& op, const Call<T>& call) {
  const T *a = call.data(0), *b = call.data(1);
  T* y = call.out[0].values.data();
  const auto count = static_cast<Size>(call.out[0].values.size());
  if (count == 0) return {};
  if (std::is_integral_v<T> && divides_whole(op.function) &&
      std::ranges::find(call.in[1].values, T{0}) != call.in[1].values.end())
    return fail(Fault::Numeric, "a whole number is divided by 0");
  Sizes shape = call.out[0].shape, a_strides = stretched(call.in[0].shape, shape),
        b_strides = stretched(call.in[1].shape, shape);
  if (call.in[0].shape == call.in[1].shape) {
    // Nothing stretches: one long row.
    shape = {count}, a_strides = {1}, b_strides = {1};
  } else if (shape.empty()) {
    shape = {1}, a_strides = {0}, b_strides = {0};
  }
  const std::size_t last = shape.size() - 1;
  const Size width = shape[last], a_step = a_strides[last], b_step = b_strides[last];
  choose<T>(op.function, call.rules, [&](const auto& apply) {
    Sizes index(shape.size(), 0);
    for (Size done = 0; done < count; done += width) {
      const T *from_a = a, *from_b = b;
      for (std::size_t i = 0; i < last; ++i) from_a += index[i] * a_strides[i], from_b += index[i] * b_strides[i];
      if (a_step == 1 && b_step == 1) {
        for (Size i = 0; i < width; ++i) y[done + i] = apply(from_a[i], from_b[i]);
      } else {
        for (Size i = 0; i < width; ++i) y[done + i] = apply(from_a[i * a_step], from_b[i * b_step]);
      }
      for (std::size_t i = last; i-- > 0;) {
        if (++index[i] < shape[i]) break;
        index[i] = 0;
      }
    }
  });
  return {};
}

template <class T>
Status compute(const Where&, const Call<T>& call) {
  const Sizes& shape = call.out[0].shape;
  const Sizes strides[] = {stretched(call.in[0].shape, shape), stretched(call.in[1].shape, shape),
                           stretched(call.in[2].shape, shape)};
  Sizes index(shape.size(), 0);
  Size at[] = {0, 0, 0};
  Polling polling;
  constexpr std::size_t most = 1 << 16;
  const std::span<T> all = call.out[0].values;
  for (std::size_t begin = 0; begin < all.size() && !polling.ends(most); begin += most)
    for (T& y : all.subspan(begin, std::min(most, all.size() - begin))) {
      y = call.data(0)[at[0]] != 0 ? call.data(1)[at[1]] : call.data(2)[at[2]];
      for (std::size_t i = shape.size(); i-- > 0;) {
        for (std::size_t k = 0; k < 3; ++k) at[k] += strides[k][i];
        if (++index[i] < shape[i]) break;
        for (std::size_t k = 0; k < 3; ++k) at[k] -= strides[k][i] * shape[i];
        index[i] = 0;
      }
    }
  return {};
}

template <class T>
Status compute(const Affine& op, const Call<T>& call) {
  const auto scale = static_cast<T>(op.scale), offset = static_cast<T>(op.offset);
  if (offset == 0)  // -0 + 0 would be 0
    std::ranges::transform(call.in[0].values, call.out[0].values.begin(), [=](T x) { return x * scale; });
  else std::ranges::transform(call.in[0].values, call.out[0].values.begin(), [=](T x) { return x * scale + offset; });
  return {};
}

template struct Kernels<Binary, Where, Affine>;
template struct WholeKernels<Binary, Where>;

}  // namespace convoy::plain
