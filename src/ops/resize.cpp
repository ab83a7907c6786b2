#include "ops/resize.h"

#include "ops/expect.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

namespace convoy {

namespace {

double coordinate(Coordinates coordinates, Size i, double scale, Size in, Size out) {
  const auto index = static_cast<double>(i);
  switch (coordinates) {
    case Coordinates::HalfPixel: return (index + 0.5) * scale - 0.5;
    case Coordinates::Asymmetric: return index * scale;
    case Coordinates::AlignCorners:
      return out == 1 ? 0 : index * static_cast<double>(in - 1) / static_cast<double>(out - 1);
  }
  std::unreachable();
}

double keys(double t, double a) {
  t = std::abs(t);
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  if (t < 2) return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
  return 0;
}

double lanczos(double t, double radius) {
  if (std::abs(t) > radius) return 0;
  if (std::abs(t) <= 1e-3) return 1;
  const double angle = std::numbers::pi * t;
  return radius * std::sin(angle) * std::sin(angle / radius) / (angle * angle);
}

double mitchell(double t) {
  t = std::abs(t);
  if (t >= 2) return 0;
  if (t >= 1) return ((-7.0 / 18 * t + 2) * t - 10.0 / 3) * t + 16.0 / 9;
  return (7.0 / 6 * t - 2) * t * t + 8.0 / 9;
}

double radius_of(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::Cubic:
    case Interpolation::Mitchell: return 2;
    case Interpolation::Lanczos3: return 3;
    case Interpolation::Lanczos5: return 5;
    case Interpolation::Gaussian: return 1.5;
    default: return 1;
  }
}

double filter(const Resize& resize, double t) {
  switch (resize.interpolation) {
    case Interpolation::Cubic: return keys(t, resize.cubic_a);
    case Interpolation::Lanczos3: return lanczos(t, 3);
    case Interpolation::Lanczos5: return lanczos(t, 5);
    case Interpolation::Gaussian: return std::exp(-2 * t * t);
    case Interpolation::Mitchell: return mitchell(t);
    default: return std::max(0.0, 1 - std::abs(t));
  }
}

// Source: tf.image.resize scale_and_translate; torch interpolate with antialias.
Taps filtered(const Resize& resize, Size i, double scale, Size in) {
  const double centre = (static_cast<double>(i) + 0.5) * scale;
  const double stretch = resize.antialias ? std::max(scale, 1.0) : 1.0;
  const double reach = radius_of(resize.interpolation) * stretch;
  const auto first = std::max<Size>(0, static_cast<Size>(std::ceil(centre - reach - 0.5)));
  const auto last = std::min<Size>(in - 1, static_cast<Size>(std::floor(centre + reach - 0.5)));
  Taps taps;
  for (Size cell = first; cell <= last; ++cell) {
    taps.cells.push_back(cell);
    taps.weights.push_back(filter(resize, (static_cast<double>(cell) + 0.5 - centre) / stretch));
  }
  return taps;
}

// Frameworks place nearest cells in float32, and where a product falls beside a whole number only that gives their cell.
Taps nearest(const Resize& resize, Size i, double scale, Size in, Size out) {
  const auto narrow = static_cast<float>(scale);
  const auto index = static_cast<float>(i);
  const bool rounds = resize.rounding == Rounding::RoundHalfUp;
  float place = 0;
  if (resize.coordinates == Coordinates::HalfPixel) {
    place = rounds ? (index + 0.5F) * narrow : (index + 0.5F) * narrow - 0.5F;
  } else if (resize.coordinates == Coordinates::Asymmetric) {
    place = index * narrow + (rounds ? 0.5F : 0.0F);
  } else {
    const float step = out == 1 ? 0.0F : static_cast<float>(in - 1) / static_cast<float>(out - 1);
    place = index * step + (rounds ? 0.5F : 0.0F);
  }
  return {{std::clamp<Size>(static_cast<Size>(std::floor(place)), 0, in - 1)}, {1.0}};
}

Taps linear(double place, Size in) {
  place = std::clamp(place, 0.0, static_cast<double>(in - 1));
  const auto low = static_cast<Size>(place);
  const double part = place - static_cast<double>(low);
  if (part == 0) return {{low}, {1.0}};
  return {{low, low + 1}, {1 - part, part}};
}

Taps cubic(const Resize& resize, Size i, double scale, Size in, Size out) {
  double place = coordinate(resize.coordinates, i, scale, in, out);
  if (resize.cubic_table) place = static_cast<double>(static_cast<float>(place));
  const double low = std::floor(place);
  double part = place - low;
  if (resize.cubic_table) part = std::nearbyint(part * 1024) / 1024;
  Taps taps;
  for (Size j = -1; j <= 2; ++j) {
    const Size cell = static_cast<Size>(low) + j;
    const bool inside = cell >= 0 && cell < in;
    if (!inside && resize.drops_outside) continue;
    taps.cells.push_back(std::clamp<Size>(cell, 0, in - 1));
    taps.weights.push_back(keys(static_cast<double>(j) - part, resize.cubic_a));
  }
  return taps;
}

// The box [i*scale, (i+1)*scale), whose ends take part of a cell.
Taps area(Size i, double scale, Size in) {
  const double begin = static_cast<double>(i) * scale, end = static_cast<double>(i + 1) * scale;
  Taps taps;
  for (auto cell = static_cast<Size>(begin); cell < in && static_cast<double>(cell) < end; ++cell) {
    const double part = std::min(end, static_cast<double>(cell + 1)) - std::max(begin, static_cast<double>(cell));
    taps.cells.push_back(cell);
    taps.weights.push_back(part);
  }
  if (taps.cells.empty()) return {{in - 1}, {1.0}};
  return taps;
}

Taps rescaled(Taps taps) {
  double sum = 0;
  for (const double weight : taps.weights) sum += weight;
  if (sum != 0)
    for (double& weight : taps.weights) weight /= sum;
  return taps;
}

}  // namespace

std::vector<Taps> taps_of(const Resize& resize, Size in, Size out, double factor_or_zero) {
  const double scale = factor_or_zero > 0 ? 1 / factor_or_zero : static_cast<double>(in) / static_cast<double>(out);
  const bool filters = resize.interpolation > Interpolation::Area ||
                       (resize.antialias && (resize.interpolation == Interpolation::Linear ||
                                             resize.interpolation == Interpolation::Cubic));
  std::vector<Taps> all;
  all.reserve(static_cast<std::size_t>(out));
  for (Size i = 0; i < out; ++i) {
    if (filters) {
      all.push_back(rescaled(filtered(resize, i, scale, in)));
    } else if (resize.interpolation == Interpolation::Nearest) {
      all.push_back(nearest(resize, i, scale, in, out));
    } else if (resize.interpolation == Interpolation::Linear) {
      all.push_back(linear(coordinate(resize.coordinates, i, scale, in, out), in));
    } else if (resize.interpolation == Interpolation::Cubic) {
      Taps taps = cubic(resize, i, scale, in, out);
      all.push_back(resize.drops_outside ? rescaled(std::move(taps)) : std::move(taps));
    } else {
      all.push_back(rescaled(area(i, scale, in)));
    }
  }
  return all;
}

Result<Facts> infer(const Resize& resize, const Inputs& in) {
  if (resize.axes.space < 1 || resize.axes.space > 16)
    return fail(Fault::Format, "a resize over " + std::to_string(resize.axes.space) + " spatial axes");
  if (auto s = expect_rank("input", in[0], resize.axes.rank()); !s) return pass(s);
  if (resize.sizes.empty() == resize.factors.empty())
    return fail(Fault::Format, "a resize takes either sizes or factors");
  const std::size_t entries = resize.sizes.empty() ? resize.factors.size() : resize.sizes.size();
  if (auto s = expect_per_axis(resize.sizes.empty() ? "factors" : "sizes", entries, resize.axes.space); !s)
    return pass(s);
  Shape shape = in[0].shape;
  constexpr Size most = Size{1} << 30;
  for (Size i = 0; i < resize.axes.space; ++i) {
    Dim& size = at(shape, resize.axes.spatial(i));
    if (size.known() && (*size < 1 || *size > most))
      return fail(Fault::Unsupported, "input has shape " + text_of(in[0].shape) + ", which cannot be resized");
    if (!resize.sizes.empty()) {
      const Size wanted = at(resize.sizes, i);
      if (wanted < 1 || wanted > most) return fail(Fault::Format, "size is " + std::to_string(wanted));
      size = wanted;
      continue;
    }
    const double factor = resize.factors[static_cast<std::size_t>(i)];
    if (!(factor > 0) || factor > static_cast<double>(most))
      return fail(Fault::Format, "factor is " + std::to_string(factor));
    if (!size.known()) continue;
    const double length = std::floor(static_cast<double>(*size) * factor);
    if (length < 1 || length > static_cast<double>(most))
      return fail(Fault::Unsupported, "factor " + std::to_string(factor) + " makes " + std::to_string(*size) +
                                          " cells into " + std::to_string(length));
    size = static_cast<Size>(length);
  }
  return one_fact(arithmetic(in[0].dtype), std::move(shape));
}

}  // namespace convoy
