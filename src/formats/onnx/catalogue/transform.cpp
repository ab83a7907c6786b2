// Signals and grids: windows, Fourier transforms as products with the waves, columns of windows added back, grids of an
// affine map.
#include "formats/onnx/composed.h"
#include "formats/onnx/types.h"
#include "formats/waves.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace convoy::onnx {
namespace {

constexpr Size most_waves = Size{1} << 24;  // numbers of a table of waves

// a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N)
std::vector<ValueId> window(FunctionCall& call) {
  const auto size = known_number(call, "size");
  const bool periodic = call.attrs.truth("periodic", true);
  const auto dtype = dtype_of(call.attrs.integer("output_datatype", 1));
  if (!size) call.refuse(Fault::Unsupported, "its size is computed by the model; it must be known beforehand");
  else if (*size < 0 || *size > static_cast<double>(most_waves))
    call.refuse(Fault::Limit, "a window of " + std::to_string(*size) + " numbers");
  if (!dtype) call.refuse(Fault::Unsupported, "attribute 'output_datatype' is a type that is not carried");
  if (call.failed()) return {};
  const double a0 = call.name == "HannWindow" ? 0.5 : call.name == "HammingWindow" ? 25.0 / 46 : 0.42;
  const double a2 = call.name == "BlackmanWindow" ? 0.08 : 0, a1 = call.name == "BlackmanWindow" ? 0.5 : 1 - a0;
  std::vector<double> numbers;
  const auto count = static_cast<Size>(*size);
  const double round = 2 * std::numbers::pi / static_cast<double>(std::max<Size>(periodic ? count : count - 1, 1));
  for (Size i = 0; i < count; ++i) {
    const double at = round * static_cast<double>(i);
    numbers.push_back(a0 - a1 * std::cos(at) + a2 * std::cos(2 * at));
  }
  return {table(call, "window", {count}, std::move(numbers), *dtype)};
}

// [dft_length / 2 + 1, mel_bins]: triangles over the frequencies, whose corners are as far from each other as they sound.
std::vector<ValueId> mel_weights(FunctionCall& call) {
  const auto asked = [&](std::string_view input) { return known_number(call, input).value_or(0); };
  const auto bins = static_cast<Size>(std::clamp(asked("num_mel_bins"), 0.0, 1e9)),
             length = static_cast<Size>(std::clamp(asked("dft_length"), 0.0, 1e9));
  const double rate = asked("sample_rate"), lowest = asked("lower_edge_hertz"), highest = asked("upper_edge_hertz");
  const auto dtype = dtype_of(call.attrs.integer("output_datatype", 1));
  const Size rows = length / 2 + 1;
  if (!dtype) call.refuse(Fault::Unsupported, "attribute 'output_datatype' is a type that is not carried");
  if (!call.failed() && (bins < 1 || length < 1 || !(rate > 0) || bins > most_waves / rows))
    call.refuse(Fault::Format, "makes " + std::to_string(bins) + " bins of " + std::to_string(length) + " samples");
  if (call.failed()) return {};
  const auto heard = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double first = heard(lowest), step = (heard(highest) - first) / static_cast<double>(bins + 2);
  std::vector<Size> corners;
  for (Size i = 0; i < bins + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (first + static_cast<double>(i) * step) / 2595) - 1);
    const double place = std::floor(static_cast<double>(length + 1) * hertz / rate);
    if (!(place >= 0 && place < static_cast<double>(rows))) {
      call.refuse(Fault::Format, "frequencies from " + std::to_string(lowest) + " to " + std::to_string(highest) +
                                     ", which lie outside those of " + std::to_string(length) + " samples");
      return {};
    }
    corners.push_back(static_cast<Size>(place));
  }
  std::vector<double> numbers(static_cast<std::size_t>(rows * bins), 0);
  for (Size i = 0; i < bins; ++i) {
    const Size left = corners[static_cast<std::size_t>(i)], middle = corners[static_cast<std::size_t>(i) + 1],
               right = corners[static_cast<std::size_t>(i) + 2];
    const auto at = [&](Size row) -> double& { return numbers[static_cast<std::size_t>(row * bins + i)]; };
    for (Size j = left; j < middle; ++j) at(j) = static_cast<double>(j - left) / static_cast<double>(middle - left);
    for (Size j = middle; j < right; ++j) at(j) = static_cast<double>(right - j) / static_cast<double>(right - middle);
    at(middle) = 1;
  }
  return {table(call, "mel_weights", {rows, bins}, std::move(numbers), *dtype)};
}

// [rows * parts, columns * results]: what each number of the signal adds to each number of the answer.
struct Transform {
  Size rows = 0, parts = 1;  // of the signal: real numbers, or pairs
  Size columns = 0, results = 2;  // of the answer
  std::vector<double> numbers;
};

Transform forward(Size rows, Size parts, Size length, bool one_sided, bool inverse) {
  Transform t{rows, parts, one_sided ? length / 2 + 1 : length, 2, {}};
  const double scale = inverse ? 1 / static_cast<double>(length) : 1;
  for (Size n = 0; n < rows; ++n)
    for (Size part = 0; part < parts; ++part)
      for (Size k = 0; k < t.columns; ++k) {
        Wave w = n < length ? wave(k, n, length) : Wave{0, 0};
        if (!inverse) w.sine = -w.sine;
        // (x + iy)(c + is) = (xc - ys) + i (xs + yc)
        t.numbers.push_back(scale * (part == 0 ? w.cosine : -w.sine));
        t.numbers.push_back(scale * (part == 0 ? w.sine : w.cosine));
      }
  return t;
}

// From one half of the frequencies, of which the other one is the mirror, to real numbers.
Transform from_half(Size rows, Size parts, Size length) {
  Transform t{rows, parts, length, 1, {}};
  const Size half = length / 2 + 1;
  for (Size k = 0; k < rows; ++k)
    for (Size part = 0; part < parts; ++part)
      for (Size n = 0; n < length; ++n) {
        const bool single = k == 0 || 2 * k == length;
        const Wave w = k < half ? wave(k, n, length) : Wave{0, 0};
        const double times = (single ? 1.0 : 2.0) / static_cast<double>(length);
        t.numbers.push_back(times * (part == 0 ? w.cosine : single ? 0 : -w.sine));
      }
  return t;
}

bool too_many(FunctionCall& call, Size rows, Size parts, Size length) {
  if (rows >= 1 && length >= 1 && rows <= most_waves && length <= most_waves && rows * parts * 2 <= most_waves / length)
    return false;
  call.refuse(Fault::Limit, "a Fourier transform of " + std::to_string(rows) + " numbers to " + std::to_string(length));
  return true;
}

std::vector<ValueId> dft(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const auto wanted = known_number(call, "dft_length");
  const bool inverse = call.attrs.truth("inverse", false), one_sided = call.attrs.truth("onesided", false);
  const Size rank = call.rank(x);
  const bool by_input = !takes_attribute(call, "axis");
  const double said =
      by_input ? known_number(call, "axis").value_or(-2) : static_cast<double>(call.attrs.integer("axis", 1));
  const Size axis = axis_of(call, "axis", static_cast<Size>(said), std::max<Size>(rank, 1));
  const Dim rows = call.dim(x, axis), parts = call.dim(x, rank - 1);
  if (!call.failed() && (rank < 2 || axis == rank - 1 || !rows.known() || !parts.known() || *parts < 1 || *parts > 2))
    call.refuse(Fault::Unsupported, "along axis " + std::to_string(axis) + " of shape " + text_of(call.shape(x)) +
                                        ", which must be known and hold one or two parts");
  if (call.failed()) return {};
  const bool half = inverse && one_sided;
  const Size length = wanted ? static_cast<Size>(*wanted) : half ? 2 * (*rows - 1) : *rows;
  if (too_many(call, *rows, *parts, length)) return {};
  Transform t = half ? from_half(*rows, *parts, length) : forward(*rows, *parts, length, one_sided, inverse);
  const DType dtype = call.type(x).dtype;
  const ValueId waves = table(call, "waves", {t.rows * t.parts, t.columns * t.results}, std::move(t.numbers), dtype);
  Sizes swapped = all_axes(rank);
  std::swap(swapped[static_cast<std::size_t>(axis)], swapped[static_cast<std::size_t>(rank) - 2]);
  const bool turns = axis != rank - 2;
  const ValueId in_place = turns ? call.add(Transpose{swapped}, {x}) : x;
  Sizes flat(static_cast<std::size_t>(rank) - 2, 0), apart = flat;
  flat.push_back(t.rows * t.parts);
  apart.insert(apart.end(), {t.columns, t.results});
  const ValueId answer = matmul_of(call, call.add(Reshape{flat}, {in_place}), waves);
  const ValueId y = call.add(Reshape{apart}, {answer});
  return {turns ? call.add(Transpose{swapped}, {y}) : y};
}

// Frames of the signal, each weighted and transformed: a convolution along time whose kernels are the waves.
std::vector<ValueId> stft(FunctionCall& call) {
  const ValueId given = call.tensor("signal");
  const auto step = known_number(call, "frame_step"), said = known_number(call, "frame_length");
  const auto weights = known_numbers(call, "window");
  const bool one_sided = call.attrs.truth("onesided", true);
  const Size rank = call.rank(given);
  const Dim parts = rank == 3 ? call.dim(given, 2) : Dim(1);
  if (!call.failed() && (rank < 2 || rank > 3 || !parts.known() || *parts < 1 || *parts > 2))
    call.refuse(Fault::Unsupported, "a signal of shape " + text_of(call.shape(given)));
  if (!step || *step < 1) call.refuse(Fault::Unsupported, "input 'frame_step' must be known beforehand");
  if (!said && !weights) call.refuse(Fault::Unsupported, "neither 'window' nor 'frame_length' is given");
  if (call.failed()) return {};
  const Size length = said ? static_cast<Size>(*said) : static_cast<Size>(weights->size());
  if (weights && static_cast<Size>(weights->size()) != length)
    call.refuse(Fault::Unsupported,
                "a window of " + std::to_string(weights->size()) + " numbers in frames of " + std::to_string(length));
  if (call.failed() || too_many(call, length, *parts, length)) return {};
  const Transform t = forward(length, *parts, length, one_sided, false);
  const Size kernels = t.columns * t.results;
  std::vector<double> numbers(t.numbers.size());  // [kernels, parts, length]
  for (Size n = 0; n < length; ++n)
    for (Size part = 0; part < *parts; ++part)
      for (Size k = 0; k < kernels; ++k)
        numbers[static_cast<std::size_t>((k * *parts + part) * length + n)] =
            t.numbers[static_cast<std::size_t>((n * *parts + part) * kernels + k)] *
            (weights ? (*weights)[static_cast<std::size_t>(n)] : 1);
  const ValueId waves = table(call, "waves", {kernels, *parts, length}, std::move(numbers), call.type(given).dtype);
  const ValueId x = rank == 3 ? call.add(Transpose{{0, 2, 1}}, {given}) : call.add(Unsqueeze{{1}}, {given});
  const Conv conv{channels_first(1),
                  KernelOrder::OutInSpace,
                  {{length, static_cast<Size>(*step), 1}},
                  {{Spelling::Explicit, 0, 0}},
                  1};
  const ValueId frames = call.add(Transpose{{0, 2, 1}}, {call.add(conv, {x, waves})});
  return {call.add(Reshape{{0, 0, t.columns, t.results}}, {frames})};
}

std::vector<ValueId> col2im(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const auto image = known_integers(call, "image_shape"), block = known_integers(call, "block_shape");
  if (!image || !block || image->size() != block->size() || image->empty())
    call.refuse(Fault::Unsupported, "inputs 'image_shape' and 'block_shape' must be known and of one length");
  if (call.failed()) return {};
  convoy::Fold fold{windows_of(call, *block), {}, *image};
  const Pads pads = pads_of(call, block->size());
  for (std::size_t i = 0; i < block->size(); ++i)
    fold.paddings.push_back({Spelling::Explicit, pads.before[i], pads.after[i]});
  return {call.add(fold, {x})};
}

// theta [N, 2, 3] or [N, 3, 4] of the places -1..1 of an image of this size -> [N, h, w, 2] or [N, d, h, w, 3].
std::vector<ValueId> affine_grid(FunctionCall& call) {
  const ValueId theta = call.tensor("theta");
  const auto size = known_integers(call, "size");
  const bool corners = call.attrs.truth("align_corners", false);
  if (!size || size->size() < 4 || size->size() > 5)
    call.refuse(Fault::Unsupported, "input 'size' must be known and hold 4 or 5 numbers");
  const auto cells = size ? checked_count(*size) : std::nullopt;
  if (!call.failed() && (!cells || *cells > most_waves)) call.refuse(Fault::Limit, "a grid of " + text_of(*size));
  if (call.failed()) return {};
  const Sizes space(size->begin() + 2, size->end());
  const auto axes = static_cast<Size>(space.size());
  const auto at = [&](Size i, Size length) {
    const double n = static_cast<double>(length), place = static_cast<double>(i);
    return corners ? (length == 1 ? 0.0 : 2 * place / (n - 1) - 1) : (2 * place + 1) / n - 1;
  };
  std::vector<double> places;  // [cells, axes + 1]: the last axis first, then 1
  Sizes cell(space.size(), 0);
  for (bool more = true; more;) {
    for (std::size_t i = space.size(); i-- > 0;) places.push_back(at(cell[i], space[i]));
    places.push_back(1);
    more = false;
    for (std::size_t i = space.size(); i-- > 0 && !more;) {
      if (++cell[i] < space[i]) more = true;
      else cell[i] = 0;
    }
  }
  const Size count = static_cast<Size>(places.size()) / (axes + 1);
  const ValueId base = table(call, "places", {count, axes + 1}, std::move(places), call.type(theta).dtype);
  const ValueId moved = call.add(MatMul{}, {base, call.add(Transpose{{0, 2, 1}}, {theta})});
  Sizes to{-1};
  to.insert(to.end(), space.begin(), space.end());
  to.push_back(axes);
  return {call.add(Reshape{to}, {moved})};
}

// clang-format off
constexpr std::array transform_table{
    Operator{"BlackmanWindow", {17}, "size", "output_datatype:i periodic:i", window},
    Operator{"HammingWindow", {17}, "size", "output_datatype:i periodic:i", window},
    Operator{"HannWindow", {17}, "size", "output_datatype:i periodic:i", window},
    Operator{"MelWeightMatrix", {17}, "num_mel_bins dft_length sample_rate lower_edge_hertz upper_edge_hertz", "output_datatype:i", mel_weights},
    Operator{"DFT", {17}, "input dft_length? axis?@20", "axis:i@-19 inverse:i onesided:i", dft},
    Operator{"STFT", {17}, "signal frame_step window? frame_length?", "onesided:i", stft},
    Operator{"Col2Im", {18}, "input image_shape block_shape", "dilations:I pads:I strides:I", col2im},
    Operator{"AffineGrid", {20}, "theta size", "align_corners:i", affine_grid}};
// clang-format on

}  // namespace

std::span<const Operator> transform_operators() { return transform_table; }

}  // namespace convoy::onnx
