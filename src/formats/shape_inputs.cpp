// Computed shapes said by the value's own shape.
#include "formats/shape_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace convoy {
namespace {

using Kind = Number::Kind;

// Is the number the size of this axis, times `factor`?
bool is_size(const Number& n, const Shaped& data, std::size_t axis, double factor = 1) {
  return n.is_multiple(factor) && axis < data.shape.size() && !data.shape[axis].known() && data.sizes[axis] == n.size;
}

std::optional<Tensor> list(std::vector<std::int64_t> numbers) {
  const auto count = static_cast<Size>(numbers.size());
  return Tensor::of({count}, std::move(numbers));
}

}  // namespace

std::optional<Tensor> reshape_target(const Numbers& wanted, const Shaped& data) {
  std::vector<std::int64_t> to;
  int open = 0;
  for (std::size_t i = 0; i < wanted.all.size(); ++i) {
    const Number& n = wanted.all[i];
    if (n.kind == Kind::Whole) to.push_back(n.whole);
    else to.push_back(is_size(n, data, i) ? 0 : -1);
    open += to.back() == -1;
  }
  if (open > 1) return std::nullopt;
  return list(std::move(to));
}

std::optional<KeptAxes> reshape_keeping(const Numbers& wanted, const Shaped& data) {
  const std::size_t before = data.shape.size(), after = wanted.all.size(), most = std::min(before, after);
  const auto stays = [&](std::size_t from, std::size_t to) {
    const Number& n = wanted.all[to];
    return is_size(n, data, from) ||
           (n.kind == Kind::Whole && data.shape[from].known() && n.whole > 0 && n.whole == *data.shape[from]);
  };
  std::size_t left = 0, right = 0;
  while (left < most && stays(left, left)) ++left;
  while (left + right < most && stays(before - 1 - right, after - 1 - right)) ++right;
  KeptAxes kept{Sizes(after, 0), static_cast<Size>(left), static_cast<Size>(right)};
  for (std::size_t i = left; i < after - right; ++i) {
    const Number& n = wanted.all[i];
    if (n.kind == Kind::Whole && n.whole == 0) return std::nullopt;
    kept.to[i] = n.kind == Kind::Whole ? n.whole : -1;
  }
  return kept;
}

std::optional<Tensor> resize_factors(const Numbers& sizes, const Shaped& data) {
  if (sizes.all.size() != data.shape.size()) return std::nullopt;
  std::vector<float> factors;
  for (std::size_t i = 0; i < sizes.all.size(); ++i) {
    const Number& n = sizes.all[i];
    if (n.kind == Kind::Multiple) {
      if (!is_size(n, data, i, n.real) || n.real != static_cast<double>(static_cast<float>(n.real)))
        return std::nullopt;
      factors.push_back(static_cast<float>(n.real));
    } else if (n.kind == Kind::Whole && data.shape[i].known() && *data.shape[i] > 0 && n.whole % *data.shape[i] == 0) {
      factors.push_back(static_cast<float>(n.whole / *data.shape[i]));
    } else {
      return std::nullopt;
    }
  }
  const auto count = static_cast<Size>(factors.size());
  return Tensor::of({count}, std::move(factors));
}

std::optional<Tensor> resize_sizes(const Numbers& sizes, const Shaped& data) {
  if (sizes.all.size() != data.shape.size()) return std::nullopt;
  std::vector<std::int64_t> to;
  for (std::size_t i = 0; i < sizes.all.size(); ++i) {
    const Number& n = sizes.all[i];
    if (n.kind != Kind::Whole && !is_size(n, data, i)) return std::nullopt;
    to.push_back(n.kind == Kind::Whole ? n.whole : own_length);
  }
  return list(std::move(to));
}

}  // namespace convoy
