#include "ops/resize.h"

#include "ops/expect.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

namespace convoy {

namespace {

// One axis as it is resized. `scale` is in / out where no factor is given.
struct Axis {
  const Resize& resize;
  std::size_t entry;
  Size in, out;
  double factor, scale;
};

Axis axis_of(const Resize& resize, std::size_t i, Size in, Size out) {
  const auto from = static_cast<double>(in), to = static_cast<double>(out);
  if (resize.factors.empty()) return {resize, i, in, out, to / from, from / to};
  return {resize, i, in, out, resize.factors[i], 1 / resize.factors[i]};
}

// In T's arithmetic throughout, step by step as the frameworks do it: see Arithmetic.
template <class T>
T coordinate(const Axis& axis, Size i) {
  const auto index = static_cast<T>(i), in = static_cast<T>(axis.in), out = static_cast<T>(axis.out);
  const auto scale = static_cast<T>(axis.scale), factor = static_cast<T>(axis.factor);
  const bool divides = axis.resize.arithmetic == Arithmetic::Divided;
  const auto scaled = [&](T at) { return divides ? at / factor : at * scale; };
  constexpr T half = 0.5;
  switch (axis.resize.coordinates) {
    case Coordinates::HalfPixel: return scaled(index + half) - half;
    case Coordinates::Asymmetric: return scaled(index);
    case Coordinates::AlignCorners:
      if (axis.out == 1) return 0;
      return divides ? index * (in - 1) / (out - 1) : index * ((in - 1) / (out - 1));
    case Coordinates::PytorchHalfPixel: return axis.out == 1 ? 0 : scaled(index + half) - half;
    case Coordinates::HalfPixelSymmetric: {
      // ONNX Runtime rounds the scale and the offset, and adds in float64.
      const auto offset = static_cast<double>(in / 2 * (1 - out / (factor * in)));
      return static_cast<T>(offset + (static_cast<double>(i) + 0.5) / static_cast<double>(factor) - 0.5);
    }
    case Coordinates::HalfPixelCell: return scaled(index + half);
    case Coordinates::CornerSteps: return axis.out == 1 ? -half : (index + half) * ((in - 1) / (out - 1)) - half;
    case Coordinates::CropAndResize: {
      const auto start = static_cast<T>(axis.resize.starts[axis.entry]),
                 end = static_cast<T>(axis.resize.ends[axis.entry]);
      if (axis.out == 1) return half * (start + end) * (in - 1);
      return start * (in - 1) + index * (end - start) * (in - 1) / (out - 1);
    }
  }
  std::unreachable();
}

// A crop's coordinate is compared with the border, where its last bit decides.
double place_of(const Axis& axis, Size i) {
  if (axis.resize.coordinates == Coordinates::CropAndResize) return static_cast<double>(coordinate<float>(axis, i));
  return coordinate<double>(axis, i);
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
    case Interpolation::Gaussian: return std::abs(t) < 1.5 ? std::exp(-2 * t * t) : 0;
    case Interpolation::Mitchell: return mitchell(t);
    default: return std::max(0.0, 1 - std::abs(t));
  }
}

// A kernel laid over the middles of the cells. Source: TensorFlow scale_and_translate_op.cc; PyTorch UpSampleKernel.cpp
// (antialias); ONNX Runtime upsamplebase.h (antialias).
Taps filtered(const Axis& axis, Size i) {
  const Resize& resize = axis.resize;
  const bool drops = resize.drops_outside || resize.interpolation > Interpolation::Area;
  double scale = axis.scale;
  if (resize.coordinates == Coordinates::CornerSteps)
    scale = axis.out == 1 ? 0 : static_cast<double>(axis.in - 1) / static_cast<double>(axis.out - 1);
  const double centre = place_of(axis, i) + 0.5;
  const double stretch = resize.antialias ? std::max(scale, 1.0) : 1.0;
  const double reach = radius_of(resize.interpolation) * stretch;
  auto first = static_cast<Size>(std::ceil(centre - reach - 0.5));
  auto last = static_cast<Size>(std::floor(centre + reach - 0.5));
  if (drops) first = std::max<Size>(first, 0), last = std::min(last, axis.in - 1);
  Taps taps;
  for (Size cell = first; cell <= last; ++cell) {
    const double weight = filter(resize, (static_cast<double>(cell) + 0.5 - centre) / stretch);
    const Size inside = std::clamp<Size>(cell, 0, axis.in - 1);
    // Neighbours outside all stand for the border cell.
    if (!taps.cells.empty() && taps.cells.back() == inside) taps.weights.back() += weight;
    else taps.cells.push_back(inside), taps.weights.push_back(weight);
  }
  return taps;
}

// Frameworks place nearest cells in float32, and where a product falls beside a whole number only that gives their cell.
Taps nearest(const Axis& axis, Size i) {
  const Resize& resize = axis.resize;
  float place = 0;
  if (resize.rounding == Rounding::RoundHalfUp && resize.coordinates == Coordinates::HalfPixel &&
      resize.arithmetic == Arithmetic::Multiplied) {
    place = std::floor((static_cast<float>(i) + 0.5F) * static_cast<float>(axis.scale));
  } else {
    place = coordinate<float>(axis, i);
    const float low = std::floor(place);
    // ONNX Runtime takes what is this near to a half for one.
    const float slack = resize.arithmetic == Arithmetic::Divided ? 1e-6F : 0;
    switch (resize.rounding) {
      case Rounding::Floor: place = low; break;
      case Rounding::RoundHalfUp: place = place - low < 0.5F - slack ? low : low + 1; break;
      case Rounding::RoundHalfDown: place = place - low > 0.5F + slack ? low + 1 : low; break;
      case Rounding::Ceil: place = std::ceil(place); break;
      case Rounding::CeilToShrink: place = axis.factor < 1 ? std::ceil(place) : low; break;
    }
  }
  return {{static_cast<Size>(std::clamp(place, 0.0F, static_cast<float>(axis.in - 1)))}, {1.0}};
}

Taps linear(double place, Size in) {
  place = std::clamp(place, 0.0, static_cast<double>(in - 1));
  const auto low = static_cast<Size>(place);
  const double part = place - static_cast<double>(low);
  if (part == 0) return {{low}, {1.0}};
  return {{low, low + 1}, {1 - part, part}};
}

Taps cubic(const Axis& axis, Size i) {
  const Resize& resize = axis.resize;
  const double place = resize.cubic_table ? static_cast<double>(coordinate<float>(axis, i)) : place_of(axis, i);
  const double low = std::floor(place);
  double part = place - low;
  if (resize.cubic_table) part = std::nearbyint(part * 1024) / 1024;
  Taps taps;
  for (Size j = -1; j <= 2; ++j) {
    const Size cell = static_cast<Size>(low) + j;
    const bool inside = cell >= 0 && cell < axis.in;
    if (!inside && resize.drops_outside) continue;
    taps.cells.push_back(std::clamp<Size>(cell, 0, axis.in - 1));
    taps.weights.push_back(keys(static_cast<double>(j) - part, resize.cubic_a));
  }
  return taps;
}

// The box [i*scale, (i+1)*scale), whose ends take part of a cell.
Taps area(const Axis& axis, Size i) {
  double scale = axis.scale;
  if (axis.resize.coordinates == Coordinates::AlignCorners && axis.out > 1)
    scale = static_cast<double>(axis.in - 1) / static_cast<double>(axis.out - 1);
  const double begin = static_cast<double>(i) * scale, end = static_cast<double>(i + 1) * scale;
  Taps taps;
  for (auto cell = static_cast<Size>(begin); static_cast<double>(cell) < end; ++cell) {
    const double part = std::min(end, static_cast<double>(cell + 1)) - std::max(begin, static_cast<double>(cell));
    taps.cells.push_back(std::min(cell, axis.in - 1));
    taps.weights.push_back(part);
  }
  if (taps.cells.empty()) return {{axis.in - 1}, {1.0}};
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

namespace {

bool filters(const Resize& resize) {
  const bool widens = resize.interpolation == Interpolation::Linear || resize.interpolation == Interpolation::Cubic;
  return resize.interpolation > Interpolation::Area || (resize.antialias && widens);
}

Taps taps_at(const Axis& axis, Size i) {
  const Resize& resize = axis.resize;
  if (resize.fixed != FixedLengths::None && axis.out == axis.in) return {{i}, {1.0}};
  if (resize.fixed == FixedLengths::EqualAndDouble && axis.out == 2 * axis.in) return {{i / 2}, {1.0}};
  if (resize.coordinates == Coordinates::CropAndResize) {
    const double place = place_of(axis, i);
    if (!(place >= 0 && place <= static_cast<double>(axis.in - 1))) return {};
  }
  if (filters(resize)) return rescaled(filtered(axis, i));
  switch (resize.interpolation) {
    case Interpolation::Nearest: return nearest(axis, i);
    case Interpolation::Linear: return linear(place_of(axis, i), axis.in);
    case Interpolation::Cubic: {
      Taps taps = cubic(axis, i);
      return resize.drops_outside ? rescaled(std::move(taps)) : taps;
    }
    default: return rescaled(area(axis, i));
  }
}

Status check_lists(const Resize& resize) {
  const auto axes = static_cast<Size>(resize.axes.size());
  if (resize.sizes.empty() && resize.factors.empty()) return fail(Fault::Format, "a resize takes sizes or factors");
  if (!resize.sizes.empty())
    if (auto s = expect_per_axis("sizes", resize.sizes.size(), axes); !s) return s;
  if (!resize.factors.empty())
    if (auto s = expect_per_axis("factors", resize.factors.size(), axes); !s) return s;
  const bool crops = resize.coordinates == Coordinates::CropAndResize;
  if (auto s = expect_per_axis("starts", resize.starts.size(), crops ? axes : 0); !s) return s;
  if (auto s = expect_per_axis("ends", resize.ends.size(), crops ? axes : 0); !s) return s;
  for (std::size_t i = 0; i < resize.starts.size(); ++i)
    if (!(std::abs(resize.starts[i]) < 1e6) || !(std::abs(resize.ends[i]) < 1e6))
      return fail(Fault::Format, "a crop from " + std::to_string(resize.starts[i]) + " to " +
                                     std::to_string(resize.ends[i]) + " of an axis");
  if (resize.coordinates == Coordinates::CornerSteps && !filters(resize))
    return fail(Fault::Format, "corner steps belong to antialiased kernels");
  if (resize.coordinates == Coordinates::HalfPixelCell && resize.interpolation != Interpolation::Nearest)
    return fail(Fault::Format, "the cell of a half pixel belongs to nearest");
  return {};
}

}  // namespace

std::vector<Taps> taps_of(const Resize& resize, std::size_t i, Size in, Size out) {
  const Axis axis = axis_of(resize, i, in, out);
  std::vector<Taps> all;
  all.reserve(static_cast<std::size_t>(out));
  for (Size q = 0; q < out; ++q) all.push_back(taps_at(axis, q));
  return all;
}

Result<TensorTypes> infer(const Resize& resize, const Inputs& in) {
  if (resize.axes.size() > 16)
    return fail(Fault::Format, "a resize over " + std::to_string(resize.axes.size()) + " axes");
  if (auto s = expect_axes("axes", resize.axes, in[0].rank()); !s) return pass(s);
  if (auto s = check_lists(resize); !s) return pass(s);
  Shape shape = in[0].shape;
  constexpr Size most = Size{1} << 30;
  for (std::size_t i = 0; i < resize.axes.size(); ++i) {
    Dim& size = at(shape, resize.axes[i]);
    if (size.known() && (*size < 1 || *size > most))
      return fail(Fault::Unsupported, "input has shape " + text_of(in[0].shape) + ", which cannot be resized");
    if (!resize.factors.empty() && (!(resize.factors[i] > 0) || resize.factors[i] > static_cast<double>(most)))
      return fail(Fault::Format, "factor is " + std::to_string(resize.factors[i]));
    if (!resize.sizes.empty()) {
      if (resize.sizes[i] < 1 || resize.sizes[i] > most)
        return fail(Fault::Format, "size is " + std::to_string(resize.sizes[i]));
      size = resize.sizes[i];
      continue;
    }
    if (!size.known()) continue;
    // ONNX Runtime multiplies in float32, where 5 * 1.8 is 9.
    const double length =
        resize.arithmetic == Arithmetic::Divided
            ? static_cast<double>(std::floor(static_cast<float>(*size) * static_cast<float>(resize.factors[i])))
            : std::floor(static_cast<double>(*size) * resize.factors[i]);
    if (length < 1 || length > static_cast<double>(most))
      return fail(Fault::Unsupported, "factor " + std::to_string(resize.factors[i]) + " makes " +
                                          std::to_string(*size) + " cells into " + std::to_string(length));
    size = static_cast<Size>(length);
  }
  return one_type(arithmetic(in[0].dtype), std::move(shape));
}

Result<TensorTypes> infer(const GridSample& sample, const Inputs& in) {
  const Shape &x = in[0].shape, &grid = in[1].shape;
  const Size space = in[0].rank() - 2;
  if (space < 1 || space > 3)
    return fail(Fault::Unsupported, "input has shape " + text_of(x) + ", expected rank 3 to 5");
  const bool known_way = sample.interpolation == Interpolation::Nearest ||
                         sample.interpolation == Interpolation::Linear ||
                         (sample.interpolation == Interpolation::Cubic && space == 2);
  if (!known_way) return fail(Fault::Unsupported, "this interpolation over " + std::to_string(space) + " axes");
  if (sample.border != PadMode::Constant && sample.border != PadMode::Edge && sample.border != PadMode::Reflect)
    return fail(Fault::Unsupported, "this border around an image that is read at places");
  if (auto s = expect_rank("grid", in[1], space + 2); !s) return pass(s);
  const auto batch = agreed(x[0], grid[0]);
  if (!batch || !agreed(grid.back(), Dim(space)))
    return fail(Fault::Format,
                "grid has shape " + text_of(grid) + ", which does not fit an input of shape " + text_of(x));
  for (Size i = 0; i < space; ++i)
    if (at(x, i + 2) == Dim(0)) return fail(Fault::Unsupported, "input has shape " + text_of(x) + ", which is empty");
  Shape shape{*batch, x[1]};
  shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
  return one_type(arithmetic(in[0].dtype), std::move(shape));
}

}  // namespace convoy
