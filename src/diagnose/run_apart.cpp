#include "diagnose/run_apart.h"

#include "diagnose/piece.h"
#include "run/run.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace convoy::diagnose {

namespace {

Spreads spreads_in(const Graph& graph, const std::vector<Tensor>& inputs, int threads) {
  Spreads all(graph.values.size());
  RunOptions options;
  options.precision = Precision::Double;
  options.threads = threads;
  options.keeps_all = true;
  const auto values = run(graph, inputs, options);
  if (!values) return all;
  for (const auto& [v, tensor] : *values) {
    if (tensor.count() == 0 || !all_finite(tensor)) continue;
    const auto numbers = tensor.doubles();
    const auto [least, most] = std::ranges::minmax(numbers);
    Spread spread{tensor.count(), least, most};
    for (const double x : numbers) spread.sum += x, spread.squares += x * x;
    all[v.slot()] = spread;
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
  return {spreads_in(at.a, at.inputs, threads), spreads_in(at.b, inputs_b, threads)};
}

}  // namespace convoy::diagnose
