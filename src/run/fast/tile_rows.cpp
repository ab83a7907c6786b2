// Compiled once per instruction set: Highway includes this file again for each (foreach_target.h).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "run/fast/tile_rows.cpp"
#include "run/fast/targets.h"  // before Highway

#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>
#include "run/fast/between.h"
#include "run/fast/instruction_sets.h"
#include "run/fast/rows.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

HWY_BEFORE_NAMESPACE();
namespace convoy::fast::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// In the other file that is compiled per instruction set.
void cell(const CellCall& call);

// exp(x) of a number between -104 and 89, within 1 ulp: 2^n * exp(r), |r| <= ln(2) / 2, with the polynomial of Cephes; 2^n in two factors, so that it reaches
// denormals and infinity.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exponential_within(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504088896341F)));
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375F), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4F), r);
  V p = hn::Set(d, 1.9875691500e-4F);
  p = hn::MulAdd(p, r, hn::Set(d, 1.3981999507e-3F));
  p = hn::MulAdd(p, r, hn::Set(d, 8.3334519073e-3F));
  p = hn::MulAdd(p, r, hn::Set(d, 4.1665795894e-2F));
  p = hn::MulAdd(p, r, hn::Set(d, 1.6666665459e-1F));
  p = hn::MulAdd(p, r, hn::Set(d, 5.0000001201e-1F));
  p = hn::Add(hn::MulAdd(hn::Mul(r, r), p, r), hn::Set(d, 1.0F));
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(V) == 64) return V{_mm512_scalef_ps(p.raw, n.raw)};
#endif
  const auto whole = hn::ConvertTo(di, n);
  const auto half = hn::ShiftRight<1>(whole);
  const auto bias = hn::Set(di, 127);
  const V first = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const V second = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::Sub(whole, half), bias)));
  return hn::Mul(hn::Mul(p, first), second);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V exponential(D d, V x) {
  return exponential_within(d, at_least(hn::Set(d, -104.0F), at_most(hn::Set(d, 89.0F), x)));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0F);
  return hn::Div(one, hn::Add(one, exponential(d, hn::Neg(x))));
}

// Cephes: a polynomial where 1 - 2 / (exp(2x) + 1) would lose digits.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V tangent(D d, V x) {
  const V one = hn::Set(d, 1.0F), size = hn::Abs(x), square = hn::Mul(x, x);
  V p = hn::Set(d, -5.70498872745e-3F);
  p = hn::MulAdd(p, square, hn::Set(d, 2.06390887954e-2F));
  p = hn::MulAdd(p, square, hn::Set(d, -5.37397155531e-2F));
  p = hn::MulAdd(p, square, hn::Set(d, 1.33314422036e-1F));
  p = hn::MulAdd(p, square, hn::Set(d, -3.33332819422e-1F));
  const V small = hn::MulAdd(hn::Mul(p, square), x, x);
  const V large = hn::Sub(one, hn::Div(hn::Set(d, 2.0F), hn::Add(exponential(d, hn::Add(size, size)), one)));
  return hn::IfThenElse(hn::Lt(size, hn::Set(d, 0.625F)), small, hn::CopySign(large, x));
}

// Within 2 ulp: least largest relative errors of polynomials fitted to erf(x) / x - 1 in x^2 near zero, and to
// (log(1 - erf(x)) + x) / x elsewhere; from 4 on it rounds to 1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V error_function(D d, V x) {
  const auto times = [&](V v, V by, float more) HWY_ATTR { return hn::MulAdd(v, by, hn::Set(d, more)); };
  const V one = hn::Set(d, 1.0F), size = at_most(hn::Set(d, 4.0F), hn::Abs(x)), square = hn::Mul(x, x);
  V far = times(hn::Set(d, 2.139889257e-4F), size, -3.214986296e-3F);
  far = times(far, size, 2.289005555e-2F);
  far = times(far, size, -1.052619740e-1F);
  far = times(far, size, -6.357182264e-1F);
  far = times(far, size, -1.285143942e-1F);
  far = hn::Sub(one, exponential_within(d, hn::MulAdd(far, size, hn::Neg(size))));
  V near = times(hn::Set(d, -5.918321549e-4F), square, 4.978923593e-3F);
  near = times(near, square, -2.675690502e-2F);
  near = times(near, square, 1.128154919e-1F);
  near = times(near, square, -3.761246800e-1F);
  near = times(near, square, 1.283791512e-1F);
  near = hn::MulAdd(near, x, x);
  return hn::IfThenElse(hn::Gt(size, hn::Set(d, 0.927F)), hn::CopySign(far, x), near);
}

template <Map map, class D, class V = hn::Vec<D>>
HWY_INLINE V mapped(D d, V x, V a, V b) {
  const V zero = hn::Zero(d), one = hn::Set(d, 1.0F);
  if constexpr (map == Map::Clamp) return at_most(b, at_least(a, x));
  else if constexpr (map == Map::Leaky) return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(a, x), x);
  else if constexpr (map == Map::Affine) return hn::Add(hn::Mul(a, x), b);
  else if constexpr (map == Map::Sigmoid) return sigmoid(d, x);
  else if constexpr (map == Map::Tanh) return tangent(d, x);
  else if constexpr (map == Map::Silu) return hn::Div(x, hn::Add(one, exponential(d, hn::Neg(x))));
  else if constexpr (map == Map::HardSigmoid) return at_most(one, at_least(zero, hn::Add(hn::Mul(a, x), b)));
  else if constexpr (map == Map::HardSwish)
    return hn::Mul(x, at_most(one, at_least(zero, hn::Add(hn::Mul(hn::Set(d, 1.0F / 6), x), hn::Set(d, 0.5F)))));
  else if constexpr (map == Map::Exp) return exponential(d, x);
  else if constexpr (map == Map::Elu)
    return hn::IfThenElse(hn::Gt(x, zero), x, hn::Mul(a, hn::Sub(exponential(d, x), one)));
  else if constexpr (map == Map::GeluTanh) {
    const V cube = hn::Mul(hn::Mul(x, x), x);
    const V inner = hn::Mul(hn::Set(d, 0.797884560802865F), hn::MulAdd(hn::Set(d, 0.044715F), cube, x));
    return hn::Mul(x, hn::Mul(hn::Set(d, 0.5F), hn::Add(one, tangent(d, inner))));
  } else if constexpr (map == Map::GeluErf) {
    return hn::Mul(hn::Mul(x, hn::Mul(hn::Add(error_function(d, hn::Mul(x, a)), one), b)),
                   hn::Sub(hn::Set(d, 1.5F), b));
  } else if constexpr (map == Map::Erf) {
    return error_function(d, x);
  } else if constexpr (map == Map::Over) {
    return hn::Div(x, a);
  } else {
    return x;
  }
}

// What is left behind whole vectors is computed as one of them.
template <Map map>
void map_all(const MapCall& call, const float* x, float* y, Size count) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<Size>(hn::Lanes(d));
  const auto a = hn::Set(d, map == Map::GeluErf ? 1 / call.a : call.a), b = hn::Set(d, call.b);
  Size i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(mapped<map>(d, hn::LoadU(d, x + i), a, b), d, y + i);
  if (i == count) return;
  alignas(64) float rest[16] = {};
  for (Size k = i; k < count; ++k) rest[k - i] = x[k];
  hn::Store(mapped<map>(d, hn::Load(d, rest), a, b), d, rest);
  for (Size k = i; k < count; ++k) y[k] = rest[k - i];
}

void map(const MapCall& call, const float* x, float* y, Size count) {
  switch (call.map) {
    case Map::None: return map_all<Map::None>(call, x, y, count);
    case Map::Clamp: return map_all<Map::Clamp>(call, x, y, count);
    case Map::Leaky: return map_all<Map::Leaky>(call, x, y, count);
    case Map::Affine: return map_all<Map::Affine>(call, x, y, count);
    case Map::Sigmoid: return map_all<Map::Sigmoid>(call, x, y, count);
    case Map::Tanh: return map_all<Map::Tanh>(call, x, y, count);
    case Map::Silu: return map_all<Map::Silu>(call, x, y, count);
    case Map::HardSigmoid: return map_all<Map::HardSigmoid>(call, x, y, count);
    case Map::HardSwish: return map_all<Map::HardSwish>(call, x, y, count);
    case Map::Exp: return map_all<Map::Exp>(call, x, y, count);
    case Map::Elu: return map_all<Map::Elu>(call, x, y, count);
    case Map::GeluTanh: return map_all<Map::GeluTanh>(call, x, y, count);
    case Map::GeluErf: return map_all<Map::GeluErf>(call, x, y, count);
    case Map::Erf: return map_all<Map::Erf>(call, x, y, count);
    case Map::Over: return map_all<Map::Over>(call, x, y, count);
  }
}

template <Pair pair, class D, class V = hn::Vec<D>>
HWY_INLINE V paired(D d, V a, V b) {
  if constexpr (pair == Pair::Add) return hn::Add(a, b);
  else if constexpr (pair == Pair::Subtract) return hn::Sub(a, b);
  else if constexpr (pair == Pair::Multiply) return hn::Mul(a, b);
  else if constexpr (pair == Pair::Divide) return hn::Div(a, b);
  // A NaN on either side is the answer.
  const auto nan = hn::Or(hn::IsNaN(a), hn::IsNaN(b));
  const V sum = hn::Add(a, b);
  if constexpr (pair == Pair::Maximum) return hn::IfThenElse(nan, sum, hn::IfThenElse(hn::Gt(a, b), a, b));
  else return hn::IfThenElse(nan, sum, hn::IfThenElse(hn::Lt(a, b), a, b));
  (void)d;
}

template <Pair pair>
void pair_all(const PairCall& call) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<Size>(hn::Lanes(d));
  for (Size r = 0; r < call.rows; ++r) {
    const float *a = call.a + r * call.a_step, *b = call.b + r * call.b_step;
    float* y = call.y + r * call.y_step;
    Size i = 0;
    for (; i + lanes <= call.columns; i += lanes)
      hn::StoreU(paired<pair>(d, hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, y + i);
    if (i == call.columns) continue;
    const auto there = hn::FirstN(d, static_cast<std::size_t>(call.columns - i));
    hn::BlendedStore(paired<pair>(d, hn::MaskedLoad(there, d, a + i), hn::MaskedLoad(there, d, b + i)), there, d,
                     y + i);
  }
}

void pair(const PairCall& call) {
  switch (call.pair) {
    case Pair::Add: return pair_all<Pair::Add>(call);
    case Pair::Subtract: return pair_all<Pair::Subtract>(call);
    case Pair::Multiply: return pair_all<Pair::Multiply>(call);
    case Pair::Divide: return pair_all<Pair::Divide>(call);
    case Pair::Maximum: return pair_all<Pair::Maximum>(call);
    case Pair::Minimum: return pair_all<Pair::Minimum>(call);
  }
}

enum class PoolKind : unsigned char { Average, Most, MostOverNan };

// O outputs of one vector of channels: their comparisons do not wait for one another.
template <PoolKind kind, int O, bool whole, class D, class M>
HWY_INLINE void pool_part(const PoolCall& call, D d, M there, Size output, Size c) {
  using V = hn::Vec<D>;
  V values[O];
  const float start = kind == PoolKind::Average ? 0
                      : kind == PoolKind::Most  ? -std::numeric_limits<float>::infinity()
                                                : std::numeric_limits<float>::lowest();
#pragma GCC unroll 4
  for (int o = 0; o < O; ++o) values[o] = hn::Set(d, start);
  const float* const x = call.x + output * call.x_step + c;
  for (Size k = 0; k < call.count; ++k) {
    const float* const cell = x + call.cells[k];
#pragma GCC unroll 4
    for (int o = 0; o < O; ++o) {
      const float* const from = cell + o * call.x_step;
      const V v = whole ? hn::LoadU(d, from) : hn::MaskedLoad(there, d, from);
      if constexpr (kind == PoolKind::Average) values[o] = hn::Add(values[o], v);
      else if constexpr (kind == PoolKind::MostOverNan) values[o] = hn::IfThenElse(hn::Gt(v, values[o]), v, values[o]);
      else values[o] = hn::IfThenElse(hn::Or(hn::Gt(v, values[o]), hn::IsNaN(v)), v, values[o]);
    }
  }
#pragma GCC unroll 4
  for (int o = 0; o < O; ++o) {
    if constexpr (kind == PoolKind::Average)
      values[o] = call.divisor == 0 ? hn::Zero(d) : hn::Div(values[o], hn::Set(d, call.divisor));
    float* const to = call.y + (output + o) * call.y_step + c;
    if constexpr (whole) hn::StoreU(values[o], d, to);
    else hn::BlendedStore(values[o], there, d, to);
  }
}

template <PoolKind kind, int O>
void pool_outputs(const PoolCall& call, Size output) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<Size>(hn::Lanes(d));
  Size c = 0;
  const auto all = hn::FirstN(d, static_cast<std::size_t>(lanes));
  for (; c + lanes <= call.channels; c += lanes) pool_part<kind, O, true>(call, d, all, output, c);
  if (c < call.channels)
    pool_part<kind, O, false>(call, d, hn::FirstN(d, static_cast<std::size_t>(call.channels - c)), output, c);
}

template <PoolKind kind>
void pool_line(const PoolCall& call) {
  Size o = 0;
  for (; o + 4 <= call.outputs; o += 4) pool_outputs<kind, 4>(call, o);
  for (; o < call.outputs; ++o) pool_outputs<kind, 1>(call, o);
}

void pool(const PoolCall& call) {
  if (call.is_average) pool_line<PoolKind::Average>(call);
  else if (call.passes_over_nan) pool_line<PoolKind::MostOverNan>(call);
  else pool_line<PoolKind::Most>(call);
}

// V vectors of columns at once: their sums do not wait for one another.
template <int V, class D>
HWY_INLINE void sum_part(const float* x, Size rows, Size step, D d, float* y) {
  const auto lanes = static_cast<Size>(hn::Lanes(d));
  hn::Vec<D> totals[V];
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v) totals[v] = hn::Zero(d);
  for (Size first = 0; first < rows; first += 64) {
    hn::Vec<D> sums[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) sums[v] = hn::Zero(d);
    for (Size r = first; r < rows && r < first + 64; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sums[v] = hn::Add(sums[v], hn::LoadU(d, x + r * step + v * lanes));
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) totals[v] = hn::Add(totals[v], sums[v]);
  }
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v) hn::StoreU(totals[v], d, y + v * lanes);
}

void sum(const float* x, Size rows, Size step, Size columns, float* y) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<Size>(hn::Lanes(d));
  Size c = 0;
  for (; c + 4 * lanes <= columns; c += 4 * lanes) sum_part<4>(x + c, rows, step, d, y + c);
  for (; c + 2 * lanes <= columns; c += 2 * lanes) sum_part<2>(x + c, rows, step, d, y + c);
  for (; c + lanes <= columns; c += lanes) sum_part<1>(x + c, rows, step, d, y + c);
  for (; c < columns; ++c) sum_part<1>(x + c, rows, step, hn::CappedTag<float, 1>(), y + c);
}

void mix(const float* const* rows, const float* weights, Size count, Size columns, float* y) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<Size>(hn::Lanes(d));
  for (Size c = 0; c < columns; c += lanes) {
    const bool whole = c + lanes <= columns;
    const auto there = hn::FirstN(d, static_cast<std::size_t>(whole ? lanes : columns - c));
    const auto load = [&](Size k) HWY_ATTR {
      return whole ? hn::LoadU(d, rows[k] + c) : hn::MaskedLoad(there, d, rows[k] + c);
    };
    auto sum = load(0);
    if (count > 1) {
      sum = hn::Mul(sum, hn::Set(d, weights[0]));
      for (Size k = 1; k < count; ++k) sum = hn::MulAdd(load(k), hn::Set(d, weights[k]), sum);
    }
    if (whole) hn::StoreU(sum, d, y + c);
    else hn::BlendedStore(sum, there, d, y + c);
  }
}

template <bool whole, class D, class M>
HWY_INLINE void mix_part(const MixCall& call, D d, M there, Size first, Size last, Size c, float* y) {
  const auto load = [&](Size k) HWY_ATTR {
    const float* const from = call.x + call.cells[k] + c;
    return whole ? hn::LoadU(d, from) : hn::MaskedLoad(there, d, from);
  };
  auto sum = load(first);
  if (last - first > 1) {
    sum = hn::Mul(sum, hn::Set(d, call.weights[first]));
    for (Size k = first + 1; k < last; ++k) sum = hn::MulAdd(load(k), hn::Set(d, call.weights[k]), sum);
  }
  if constexpr (whole) hn::StoreU(sum, d, y + c);
  else hn::BlendedStore(sum, there, d, y + c);
}

void mix_line(const MixCall& call) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<Size>(hn::Lanes(d)), even = call.channels / lanes * lanes;
  const auto there = hn::FirstN(d, static_cast<std::size_t>(call.channels - even));
  for (Size o = 0; o < call.outputs; ++o) {
    const Size first = call.starts[o], last = call.starts[o + 1];
    float* const y = call.y + o * call.y_step;
    for (Size c = 0; c < even; c += lanes) mix_part<true>(call, d, there, first, last, c, y);
    if (even < call.channels) mix_part<false>(call, d, there, first, last, even, y);
  }
}

// Sums of whole vectors are summed over the lanes in float64, what is left behind them after that.
template <bool squares>
double row_sum(const float* x, Size count, float centre) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<Size>(hn::Lanes(d));
  const auto term = [&](auto v) HWY_ATTR {
    const auto apart = hn::Sub(v, hn::Set(d, centre));
    return squares ? hn::Mul(apart, apart) : apart;
  };
  const hn::ScalableTag<double> wide;
  const hn::Rebind<float, decltype(wide)> narrow;
  const auto half = static_cast<Size>(hn::Lanes(wide));
  auto totals = hn::Zero(wide);
  Size i = 0;
  constexpr Size longest = 64;  // vectors
  while (i + lanes <= count) {
    auto sum = hn::Zero(d);
    for (Size k = 0; k < longest && i + lanes <= count; ++k, i += lanes) sum = hn::Add(sum, term(hn::LoadU(d, x + i)));
    alignas(64) float each[16];
    hn::Store(sum, d, each);
    for (Size k = 0; k < lanes; k += half) totals = hn::Add(totals, hn::PromoteTo(wide, hn::LoadU(narrow, each + k)));
  }
  double total = hn::GetLane(hn::SumOfLanes(wide, totals));
  for (; i < count; ++i) {
    const double apart = static_cast<double>(x[i]) - static_cast<double>(centre);
    total += squares ? apart * apart : apart;
  }
  return total;
}

void norm(const float* x, float* y, Size count, const float* gamma, const float* beta, float epsilon) {
  const auto all = static_cast<double>(count);
  const auto mean = static_cast<float>(row_sum<false>(x, count, 0) / all);
  const double variance = row_sum<true>(x, count, mean) / all;
  const auto scale = static_cast<float>(1 / std::sqrt(variance + static_cast<double>(epsilon)));
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<Size>(hn::Lanes(d));
  const auto normed = [&](auto v) HWY_ATTR { return hn::Mul(hn::Sub(v, hn::Set(d, mean)), hn::Set(d, scale)); };
  Size c = 0;
  for (; c + lanes <= count; c += lanes) {
    auto v = normed(hn::LoadU(d, x + c));
    if (gamma) v = hn::Mul(v, hn::LoadU(d, gamma + c));
    if (beta) v = hn::Add(v, hn::LoadU(d, beta + c));
    hn::StoreU(v, d, y + c);
  }
  if (c == count) return;
  const auto there = hn::FirstN(d, static_cast<std::size_t>(count - c));
  auto v = normed(hn::MaskedLoad(there, d, x + c));
  if (gamma) v = hn::Mul(v, hn::MaskedLoad(there, d, gamma + c));
  if (beta) v = hn::Add(v, hn::MaskedLoad(there, d, beta + c));
  hn::BlendedStore(v, there, d, y + c);
}

// Where one is no number it may be any: so is what is made of it.
float most_of(const float* x, Size count) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<Size>(hn::Lanes(d));
  if (count < lanes) {
    float most = x[0];
    for (Size i = 1; i < count; ++i) most = x[i] > most ? x[i] : most;
    return most;
  }
  auto all = hn::LoadU(d, x + count - lanes);
  for (Size i = 0; i + lanes <= count; i += lanes) all = hn::Max(all, hn::LoadU(d, x + i));
  return hn::GetLane(hn::MaxOfLanes(d, all));
}

// y = exp(x - most), and the sum of them: of four vectors in float32, of all in float64.
double exponentials(const float* x, float most, float* y, Size count) {
  const hn::ScalableTag<float> d;
  const hn::ScalableTag<double> wide;
  const hn::Rebind<float, decltype(wide)> narrow;
  const auto lanes = static_cast<Size>(hn::Lanes(d)), half = static_cast<Size>(hn::Lanes(wide));
  const auto from = hn::Set(d, most), least = hn::Set(d, -104.0F);
  const auto power = [&](auto v) HWY_ATTR { return exponential_within(d, at_least(least, hn::Sub(v, from))); };
  auto totals = hn::Zero(wide);
  alignas(64) float each[16];
  const auto take = [&](auto sum) HWY_ATTR {
    hn::Store(sum, d, each);
    for (Size k = 0; k < lanes; k += half) totals = hn::Add(totals, hn::PromoteTo(wide, hn::LoadU(narrow, each + k)));
  };
  Size i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    const auto a = power(hn::LoadU(d, x + i)), b = power(hn::LoadU(d, x + i + lanes));
    const auto c = power(hn::LoadU(d, x + i + 2 * lanes)), e = power(hn::LoadU(d, x + i + 3 * lanes));
    hn::StoreU(a, d, y + i), hn::StoreU(b, d, y + i + lanes);
    hn::StoreU(c, d, y + i + 2 * lanes), hn::StoreU(e, d, y + i + 3 * lanes);
    take(hn::Add(hn::Add(a, b), hn::Add(c, e)));
  }
  for (; i + lanes <= count; i += lanes) {
    const auto a = power(hn::LoadU(d, x + i));
    hn::StoreU(a, d, y + i);
    take(a);
  }
  if (i < count) {
    const auto there = hn::FirstN(d, static_cast<std::size_t>(count - i));
    const auto a = power(hn::MaskedLoad(there, d, x + i));
    hn::BlendedStore(a, there, d, y + i);
    take(hn::IfThenElseZero(there, a));
  }
  return hn::GetLane(hn::SumOfLanes(wide, totals));
}

void softmax(const float* x, float* y, Size count) {
  const double total = exponentials(x, most_of(x, count), y, count);
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<Size>(hn::Lanes(d));
  const auto factor = static_cast<float>(1 / total);
  const auto by = hn::Set(d, factor);
  Size i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, y + i), by), d, y + i);
  for (; i < count; ++i) y[i] *= factor;
}

RowKernels row_kernels_here() { return {map, pair, pool, sum, mix, mix_line, norm, softmax, cell}; }

}  // namespace convoy::fast::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convoy::fast {

const RowKernels& row_kernels_of(int instruction_set) {
  static const std::vector<RowKernels> all = [] {
    std::vector<RowKernels> found;
#if HWY_TARGETS & HWY_AVX3
    if (has_avx3()) found.push_back(N_AVX3::row_kernels_here());
#endif
#if HWY_TARGETS & HWY_AVX2
    if (has_avx2()) found.push_back(N_AVX2::row_kernels_here());
#endif
    found.push_back(HWY_STATIC_DISPATCH(row_kernels_here)());
    return found;
  }();
  return all[static_cast<std::size_t>(instruction_set)];
}

const RowKernels& row_kernels() { return row_kernels_of(0); }

}  // namespace convoy::fast
#endif
