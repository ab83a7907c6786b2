// The instruction sets of x86 that the kernels are not compiled for: too few machines have nothing better. Sanitizers, which take long
// to compile each, see two of the three that are left; the same source makes the third, in wider vectors.
#pragma once
#if defined(CONVOY_FEWER_TARGETS)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3)
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#endif
