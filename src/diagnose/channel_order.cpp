#include "diagnose/channel_order.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

namespace convoy::diagnose {

namespace {

constexpr Size most_numbers = Size{1} << 24;

using Rows = std::vector<std::vector<float>>;

// The slices along the axis, each in the order in which it lies.
Rows rows_of(const Tensor& tensor, std::size_t axis) {
  const auto values = tensor.floats();
  const Sizes& shape = tensor.shape();
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
  const auto count = static_cast<std::size_t>(shape[axis]);
  Rows rows(count);
  for (auto& row : rows) row.reserve(values.size() / std::max<std::size_t>(count, 1));
  for (std::size_t i = 0; i < values.size(); ++i) rows[i / inner % count].push_back(values[i]);
  return rows;
}

bool may_be_ordered(const Tensor& a, const Tensor& b, std::size_t axis) {
  return a.shape() == b.shape() && axis < a.shape().size() && a.shape()[axis] > 1 && a.count() <= most_numbers &&
         a.dtype() <= DType::F64 && b.dtype() <= DType::F64;
}

// Of slices that are alike, each stays in its place where it can.
std::optional<Sizes> order_of_rows(const Rows& a, const Rows& b) {
  std::map<std::vector<float>, std::vector<Size>> places;
  for (std::size_t i = a.size(); i-- > 0;)
    if (a[i] != b[i]) places[a[i]].push_back(static_cast<Size>(i));
  Sizes order;
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (a[i] == b[i]) {
      order.push_back(static_cast<Size>(i));
      continue;
    }
    const auto at = places.find(b[i]);
    if (at == places.end() || at->second.empty()) return std::nullopt;
    order.push_back(at->second.back());
    at->second.pop_back();
  }
  return is_order(order) ? std::optional(order) : std::nullopt;
}

}  // namespace

bool is_order(const Sizes& order) {
  Sizes sorted = order;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<Size>(i)) return false;
  return !std::ranges::is_sorted(order);
}

std::optional<Sizes> order_between(const Tensor& a, const Tensor& b, std::size_t axis) {
  if (!may_be_ordered(a, b, axis) || same_bytes(a, b)) return std::nullopt;
  return order_of_rows(rows_of(a, axis), rows_of(b, axis));
}

std::optional<std::pair<Sizes, Sizes>> orders_between(const Tensor& a, const Tensor& b, std::size_t first,
                                                      std::size_t second) {
  if (!may_be_ordered(a, b, first) || !may_be_ordered(a, b, second)) return std::nullopt;
  // What a slice holds tells it, whatever the order along the other axis.
  Rows own = rows_of(a, first), theirs = rows_of(b, first);
  for (auto& row : own) std::ranges::sort(row);
  for (auto& row : theirs) std::ranges::sort(row);
  const auto order = order_of_rows(own, theirs);
  if (!order) return std::nullopt;
  Rows columns = rows_of(a, second);
  // A column of a with its slices in b's order.
  std::size_t behind = 1;
  for (std::size_t i = first + 1; i < a.shape().size(); ++i)
    if (i != second) behind *= static_cast<std::size_t>(a.shape()[i]);
  for (auto& column : columns) {
    std::vector<float> turned;
    turned.reserve(column.size());
    for (std::size_t i = 0; i < column.size(); ++i) {
      const std::size_t slice = i / behind % order->size();
      const std::size_t from = i + (static_cast<std::size_t>((*order)[slice]) - slice) * behind;
      turned.push_back(column[from]);
    }
    column = std::move(turned);
  }
  const auto other = order_of_rows(columns, rows_of(b, second));
  return other ? std::optional(std::pair(*order, *other)) : std::nullopt;
}

std::optional<Sizes> order_of_numbers(const Tensor& a, const Tensor& b, std::size_t axis) {
  constexpr std::size_t most_slices = 4096, looked_at = 24;
  if (!may_be_ordered(a, b, axis) || a.shape()[axis] > static_cast<Size>(most_slices)) return std::nullopt;
  const Rows x = rows_of(a, axis), y = rows_of(b, axis);
  const std::size_t step = std::max<std::size_t>(1, x.front().size() / looked_at);
  const auto distance = [&](const std::vector<float>& p, const std::vector<float>& q) {
    double sum = 0;
    for (std::size_t i = 0; i < p.size(); i += step) sum += std::abs(static_cast<double>(p[i] - q[i]));
    return sum;
  };
  Sizes order;
  std::vector<bool> used(x.size(), false);
  for (const auto& row : y) {
    std::size_t best = x.size();
    double least = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (used[i]) continue;
      const double far = distance(x[i], row);
      if (!std::isfinite(far)) return std::nullopt;
      if (best == x.size() || far < least) best = i, least = far;
    }
    used[best] = true;
    order.push_back(static_cast<Size>(best));
  }
  return is_order(order) ? std::optional(order) : std::nullopt;
}

std::string order_text(const Sizes& order) {
  Sizes moved;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (order[i] != static_cast<Size>(i)) moved.push_back(static_cast<Size>(i));
  if (moved.size() == 2 && order.size() > 2) return fmt::format("{} and {} exchanged", moved[0], moved[1]);
  bool is_reverse = true;
  for (std::size_t i = 0; i < order.size(); ++i)
    is_reverse = is_reverse && order[i] == static_cast<Size>(order.size() - 1 - i);
  if (is_reverse) return "in reverse order";
  constexpr std::size_t most = 16;
  const Sizes shown(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(std::min(order.size(), most)));
  return fmt::format("in the order {}{}", fmt::join(shown, ", "), order.size() > most ? ", ..." : "");
}

}  // namespace convoy::diagnose
