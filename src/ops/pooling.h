// Windows that reduce: maximum and average over space.
#pragma once
#include "ops/axes.h"
#include "ops/field.h"
#include "ops/infer.h"
#include "ops/padding.h"

#include <string_view>
#include <tuple>
#include <vector>

namespace convoy {

// x -> y. Padding is worth minus infinity, never zero.
struct MaxPool {
  static constexpr std::string_view name = "max_pool";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  Axes axes;
  std::vector<Window> windows;
  std::vector<Padding> paddings;
  static constexpr auto fields() {
    return std::tuple{Field{"axes", &MaxPool::axes}, Field{"windows", &MaxPool::windows},
                      Field{"paddings", &MaxPool::paddings}};
  }
  friend bool operator==(const MaxPool&, const MaxPool&) = default;
};

// x -> y. The divisor per axis, for a window that starts at a: min(a+k, n+after) - a where padding counts
// (the overhang of a ceil window never counts), min(a+k, n) - max(a, 0) where it does not; `divisor` overrides.
struct AveragePool {
  static constexpr std::string_view name = "average_pool";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  Axes axes;
  std::vector<Window> windows;
  std::vector<Padding> paddings;
  bool counts_padding = false;
  std::optional<Size> divisor{};
  static constexpr auto fields() {
    return std::tuple{Field{"axes", &AveragePool::axes}, Field{"windows", &AveragePool::windows},
                      Field{"paddings", &AveragePool::paddings}, Field{"counts_padding", &AveragePool::counts_padding},
                      Field{"divisor", &AveragePool::divisor}};
  }
  friend bool operator==(const AveragePool&, const AveragePool&) = default;
};

enum class Extreme : std::uint8_t { Average, Maximum };

// x -> y with `out` cells per spatial axis; cell i covers [floor(i*n/out), ceil((i+1)*n/out)).
// Source: PyTorch AdaptivePooling.h.
struct AdaptivePool {
  static constexpr std::string_view name = "adaptive_pool";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  Axes axes;
  Extreme kind = Extreme::Average;
  Sizes out;
  static constexpr auto fields() {
    return std::tuple{Field{"axes", &AdaptivePool::axes}, Field{"kind", &AdaptivePool::kind},
                      Field{"out", &AdaptivePool::out}};
  }
  friend bool operator==(const AdaptivePool&, const AdaptivePool&) = default;
};

Result<Facts> infer(const MaxPool& pool, const Inputs& in);
Result<Facts> infer(const AveragePool& pool, const Inputs& in);
Result<Facts> infer(const AdaptivePool& pool, const Inputs& in);

using Pooling = std::tuple<MaxPool, AveragePool, AdaptivePool>;

}  // namespace convoy
