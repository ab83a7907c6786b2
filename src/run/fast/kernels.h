// Operators of plain/kernels.h that have a faster kernel. Their sums are made in another order, which whole numbers do not feel
// (tests/run/fast_test.cpp holds both to the same bits); where a kernel has no use for a case it gives it to the plain one.
#pragma once
#include "run/fast/tile.h"
#include "run/plain/convolution.h"

#include <type_traits>

namespace convoy::fast {

template <class T> Status compute(const Conv& op, const plain::Call<T>& call);
template <class T> Status compute(const ConvTranspose& op, const plain::Call<T>& call);
template <class T> Status compute(const Linear& op, const plain::Call<T>& call);

// Whatever its size, with the kernels of one instruction set. The kernel's numbers must be finite.
template <class T>
void solve(const plain::Problem<T>& problem, int threads, const Kernels<T>& with);

template <class O>
inline constexpr bool has_kernel =
    std::is_same_v<O, Conv> || std::is_same_v<O, ConvTranspose> || std::is_same_v<O, Linear>;

}  // namespace convoy::fast
