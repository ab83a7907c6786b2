// The larger and the smaller of two vectors; where an operand is no number, the second one comes out: so it is the one that may be.
// Included again for every instruction set, as Highway's own headers are.
#if defined(CONVOY_FAST_BETWEEN) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOY_FAST_BETWEEN
#undef CONVOY_FAST_BETWEEN
#else
#define CONVOY_FAST_BETWEEN
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convoy::fast::HWY_NAMESPACE {

// One instruction of x86 does just this.
inline constexpr bool has_ordered_extremes = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2;

template <class V>
HWY_INLINE V at_least(V low, V x) {
  if constexpr (has_ordered_extremes) return hwy::HWY_NAMESPACE::Max(low, x);
  else return hwy::HWY_NAMESPACE::IfThenElse(hwy::HWY_NAMESPACE::Lt(x, low), low, x);
}
template <class V>
HWY_INLINE V at_most(V high, V x) {
  if constexpr (has_ordered_extremes) return hwy::HWY_NAMESPACE::Min(high, x);
  else return hwy::HWY_NAMESPACE::IfThenElse(hwy::HWY_NAMESPACE::Gt(x, high), high, x);
}

}  // namespace convoy::fast::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
