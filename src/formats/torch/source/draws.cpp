#include "formats/torch/source/draws.h"

#include "base/budget.h"
#include "base/orthogonal.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace convoy::torch {

void Draws::restart(std::uint64_t seed) {
  generator_.seed(static_cast<std::uint32_t>(seed));
  next_normal_.reset();
}

// 53 bits of two numbers, the first of them the higher half.
double Draws::uniform_of_64() {
  const std::uint64_t high = generator_(), low = generator_();
  return static_cast<double>((high << 32U | low) & ((std::uint64_t{1} << 53U) - 1)) * 0x1p-53;
}

// One by one numbers are made in pairs, and the second is kept.
double Draws::normal() {
  if (next_normal_) return *std::exchange(next_normal_, std::nullopt);
  const double angle = 2 * std::numbers::pi * uniform_of_64();
  const double radius = std::sqrt(-2 * std::log1p(-uniform_of_64()));
  next_normal_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

// From sixteen on they are made in blocks of sixteen, eight pairs each, the last block over again where it is not full.
std::vector<double> Draws::normals(std::size_t count, bool floats) {
  std::vector<double> all(count);
  if (count < 16) {
    for (double& x : all) x = normal();
    return all;
  }
  const auto uniform = [&] {
    return floats ? static_cast<double>(generator_() & 0xFFFFFFU) * 0x1p-24 : uniform_of_64();
  };
  const auto pair_up = [&](std::size_t from) {
    for (std::size_t j = from; j < from + 8; ++j) {
      const double radius = std::sqrt(-2 * std::log(1 - all[j])), angle = 2 * std::numbers::pi * all[j + 8];
      all[j] = radius * std::cos(angle);
      all[j + 8] = radius * std::sin(angle);
    }
  };
  for (double& x : all) x = uniform();
  for (std::size_t i = 0; i + 16 <= count; i += 16) pair_up(i);
  if (count % 16 != 0) {
    for (std::size_t i = count - 16; i < count; ++i) all[i] = uniform();
    pair_up(count - 16);
  }
  return all;
}

// Whole tensors are drawn until every number has fallen within the bounds once.
Result<std::vector<double>> Draws::truncated(std::size_t count, const Filling& f) {
  const auto below = [&](double x) { return std::erf((x - f.a) / f.b / std::numbers::sqrt2) / 2; };
  if (f.b <= 0 || below(f.most) - below(f.least) <= 0.3)
    return fail(Fault::Unsupported, "trunc_normal_() that leaves less than 0.3 of the distribution");
  std::vector<double> all;
  const auto is_out = [&](double x) { return x < f.least || x > f.most; };
  while (all.empty() || std::ranges::any_of(all, is_out)) {
    if (auto paid = budget::spend(30 * static_cast<double>(count), "drawing within bounds"); !paid) return pass(paid);
    auto more = normals(count, true);
    for (double& x : more)
      x = static_cast<float>(static_cast<float>(x) * static_cast<float>(f.b) + static_cast<float>(f.a));
    if (all.empty()) all = std::move(more);
    else
      for (std::size_t i = 0; i < count; ++i)
        if (is_out(all[i])) all[i] = more[i];
    if (count == 0) break;
  }
  return all;
}

// Source: ATen/native/TensorFactories.cpp, randperm_cpu.
std::vector<std::int64_t> Draws::permutation(std::size_t count) {
  std::vector<std::int64_t> all(count);
  std::iota(all.begin(), all.end(), 0);
  for (std::size_t i = 0; i + 1 < count; ++i) std::swap(all[i], all[i + generator_() % (count - i)]);
  return all;
}

Result<Tensor> Draws::fill(const Sizes& shape, DType dtype, const Filling& f) {
  const auto count = static_cast<std::size_t>(checked_count(shape).value_or(0));
  const bool floats = dtype != DType::F64;
  using How = Filling::How;
  if ((dtype == DType::F16 || dtype == DType::BF16) && f.how != How::Constant)
    return fail(Fault::Unsupported,
                "weights of " + std::string(name_of(dtype)) + " are drawn by other rules; give them with --weights");
  if (f.how == How::Constant && dtype == DType::I64)
    return Tensor::of(shape, std::vector<std::int64_t>(count, static_cast<std::int64_t>(f.a)));
  if (f.how == How::Permutation) return Tensor::of(shape, permutation(count)).converted(dtype);
  if (f.how == How::Whole) {
    const auto low = static_cast<std::int64_t>(f.a);
    const auto range = static_cast<std::uint64_t>(f.b - f.a);
    std::vector<std::int64_t> whole(count);
    for (std::int64_t& x : whole) x = low + static_cast<std::int64_t>(generator_() % range);
    return Tensor::of(shape, std::move(whole)).converted(dtype);
  }
  if (f.how == How::Uniform && floats) {
    const auto low = static_cast<float>(f.a), high = static_cast<float>(f.b);
    std::vector<float> values(count);
    // rounded once, as compilers make of PyTorch's product and sum on processors of today
    for (float& x : values) x = std::fma(static_cast<float>(generator_() & 0xFFFFFFU) * 0x1p-24F, high - low, low);
    return Tensor::of(shape, std::move(values)).converted(dtype);
  }
  std::vector<double> values(count, f.a);
  if (f.how == How::Uniform) {
    for (double& x : values) x = std::fma(uniform_of_64(), f.b - f.a, f.a);
  } else if (f.how == How::Normal) {
    values = normals(count, floats);
    for (double& x : values) x = x * f.b + f.a;
    if (f.empty_row && !shape.empty() && *f.empty_row >= 0 && *f.empty_row < shape[0]) {
      const auto width = count / static_cast<std::size_t>(shape[0]),
                 first = static_cast<std::size_t>(*f.empty_row) * width;
      std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(first), width, 0.0);
    }
  } else if (f.how == How::Truncated) {
    auto drawn = truncated(count, f);
    if (!drawn) return pass(drawn);
    values = std::move(*drawn);
  } else if (f.how == How::Orthogonal) {
    if (shape.size() < 2) return fail(Fault::Format, "orthogonal_() of fewer than two axes");
    const auto rows = static_cast<std::size_t>(shape[0]), columns = rows == 0 ? 0 : count / rows;
    const auto drawn = normals(count, floats);
    // A wide matrix is turned before it is factorised, and back behind it.
    const bool wide = rows < columns;
    const std::size_t tall = std::max(rows, columns), narrow = std::min(rows, columns);
    std::vector<double> a(count);
    for (std::size_t i = 0; i < count; ++i)
      a[wide ? i % columns * rows + i / columns : i] = static_cast<float>(drawn[i]);
    auto factor = orthogonal_factor(std::move(a), tall, narrow);
    if (!factor) return pass(factor);
    const auto& q = *factor;
    for (std::size_t i = 0; i < count; ++i) values[i] = f.a * q[wide ? i % columns * rows + i / columns : i];
  }
  if (!floats) return Tensor::of(shape, std::move(values));
  return Tensor::of(shape, std::vector<float>(values.begin(), values.end())).converted(dtype);
}

}  // namespace convoy::torch
