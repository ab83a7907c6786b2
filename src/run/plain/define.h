// How a file of kernels ends: `template struct Kernels<Relu, ...>` over its functions `compute(const Relu&, const Call<T>&)`.
#pragma once
#include "run/plain/kernels.h"

#include <cstdint>
#include <tuple>

namespace convoy::plain {

template <class O, class T>
Status run_kernel(const O& op, const Call<T>& call) {
  return compute(op, call);
}

template <class T, class O>
using Kernel = Status (*)(const O&, const Call<T>&);

template <class... O>
struct Kernels {
  static constexpr std::tuple<Kernel<float, O>...> singles{run_kernel<O, float>...};
  static constexpr std::tuple<Kernel<double, O>...> doubles{run_kernel<O, double>...};
};
// Of whole numbers, beside those.
template <class... O>
struct WholeKernels {
  static constexpr std::tuple<Kernel<std::int64_t, O>...> all{run_kernel<O, std::int64_t>...};
};

}  // namespace convoy::plain
