#include "diagnose/run_apart.h"

#include "diagnose/piece.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace convoy::diagnose {

namespace {

// Empty: it could not be run.
Values values_in(const Graph& graph, const std::vector<Tensor>& inputs, int threads) {
  RunOptions options;
  options.precision = Precision::Double;
  options.threads = threads;
  options.keeps_all = true;
  auto values = run(graph, inputs, options);
  return values ? *std::move(values) : Values();
}

// Nothing: some are not finite.
std::optional<Spread> spread_of(std::span<const double> numbers) {
  Spread spread{static_cast<Size>(numbers.size()), numbers[0], numbers[0]};
  bool are_finite = true;
  for (const double x : numbers) {
    are_finite = are_finite & (std::abs(x) <= std::numeric_limits<double>::max());
    spread.least = x < spread.least ? x : spread.least;
    spread.most = x > spread.most ? x : spread.most;
    spread.sum += x;
    spread.squares += x * x;
  }
  return are_finite ? std::optional(spread) : std::nullopt;
}

Spreads spreads_in(const Graph& graph, const Values& values) {
  Spreads all(graph.values.size());
  for (const auto& [v, tensor] : values) {
    if (tensor.count() == 0) continue;
    const Tensor wide = tensor.converted(DType::F64);  // itself where it is wide
    all[v.slot()] = spread_of(wide.raw<double>());
  }
  return all;
}

double largest_of(const Spread& x) { return std::max(std::abs(x.least), std::abs(x.most)); }

// As a share of the largest number.
double distance(const Spread& x, const Spread& y) {
  if (x.count != y.count) return std::numeric_limits<double>::infinity();
  const double largest = std::max(largest_of(x), largest_of(y)), count = static_cast<double>(x.count) * largest;
  if (largest == 0) return 0;
  return std::max({std::abs(x.least - y.least) / largest, std::abs(x.most - y.most) / largest,
                   std::abs(x.sum - y.sum) / count, std::abs(x.squares - y.squares) / (count * largest)});
}

}  // namespace

bool are_spread_alike(const Spread& x, const Spread& y) {
  constexpr double near = 1e-5;  // of the largest: float32 constants that were computed otherwise
  return x.most - x.least > near * largest_of(x) && distance(x, y) <= near;
}

bool are_spread_apart(const Spread& x, const Spread& y) {
  constexpr double far = 1e-2;
  return distance(x, y) > far;
}

RunApart run_apart(const Sized& at, int threads) {
  std::vector<Tensor> inputs_b;
  for (std::size_t i = 0; i < at.inputs.size(); ++i)
    inputs_b.push_back(arranged(at.inputs[i], {}, sizes_of(at.b[at.b.inputs[i]].type.shape).value_or(Sizes{})));
  RunApart apart;
  apart.b = spreads_in(at.b, values_in(at.b, inputs_b, threads));
  apart.values_a = values_in(at.a, at.inputs, threads);
  apart.a = spreads_in(at.a, apart.values_a);
  return apart;
}

}  // namespace convoy::diagnose
