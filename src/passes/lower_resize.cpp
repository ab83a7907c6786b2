// Says resizing in interpolate's words: nearest by floor or by the cell's middle, linear by the middle or by corners,
// cubic with a = -0.75 and the border repeated; in ONNX's and in Keras's words as they have them. Everything else becomes, axis by axis, the cells taken or a product with
// the matrix of weights, which needs known sizes.
#include "ops/expect.h"
#include "passes/node_by_node.h"
#include "passes/rewrites.h"

#include <algorithm>
#include <cmath>

namespace convoy {

namespace {

bool integer_factors(const Resize& op) {
  return !op.factors.empty() && std::ranges::all_of(op.factors, [](double f) { return f >= 1 && f == std::floor(f); });
}

std::optional<Size> size_of(const Shape& shape, const Resize& op, std::size_t i) {
  return shape[static_cast<std::size_t>(op.axes[i])].size();
}

bool is_middle(const Resize& op) {
  return (op.coordinates == Coordinates::HalfPixel && op.rounding == Rounding::RoundHalfUp) ||
         (op.coordinates == Coordinates::HalfPixelCell && op.rounding == Rounding::Floor);
}

bool is_floor(const Resize& op) { return op.coordinates == Coordinates::Asymmetric && op.rounding == Rounding::Floor; }

// Repeats every cell a whole number of times: whichever rounding the source names, the cells are the same.
bool repeats(const Resize& op) {
  return op.interpolation == Interpolation::Nearest && op.sizes.empty() && integer_factors(op) &&
         (is_middle(op) || is_floor(op));
}

bool grows(const Resize& op, const Shape& shape) {
  for (std::size_t i = 0; i < op.axes.size(); ++i) {
    if (!op.factors.empty()) {
      if (op.factors[i] < 1) return false;
      continue;
    }
    const auto in = size_of(shape, op, i);
    if (!in || op.sizes[i] < *in) return false;
  }
  return true;
}

// A factor that leaves an axis as long as it was is ignored by the target's linear modes, unless it is 1.
bool idle_factor(const Resize& op, const Shape& shape) {
  if (op.fixed == FixedLengths::Equal) return false;  // as the target has it
  for (std::size_t i = 0; i < op.factors.size(); ++i) {
    const double f = op.factors[i];
    const auto in = size_of(shape, op, i);
    if (f == std::floor(f)) continue;
    if (!in || std::floor(static_cast<double>(*in) * f) == static_cast<double>(*in)) return true;
  }
  return false;
}

// PyTorch's antialias drops the taps beyond the border, and for images of one column it repeats the first row (2.13).
bool is_said_by_antialias(const Resize& op, Size rank) {
  const bool is_kernel = op.interpolation == Interpolation::Linear ||
                         (op.interpolation == Interpolation::Cubic && op.cubic_a == -0.5 && !op.cubic_table);
  return is_kernel && rank == 4 && op.coordinates == Coordinates::HalfPixel && op.drops_outside && !op.sizes.empty() &&
         op.sizes.back() > 1;
}

// The same numbers in PyTorch's words; nothing: it has no words for them.
std::optional<Resize> spoken_in_torch(Resize op, const Shape& shape) {
  const auto rank = static_cast<Size>(shape.size());
  if (rank < 3 || op.axes != spatial_axes({Order::ChannelsFirst, rank - 2})) return std::nullopt;
  if (!op.sizes.empty() && !op.factors.empty()) return std::nullopt;
  if (op.factors.empty()) op.fixed = FixedLengths::None;  // these lengths then say the same by themselves
  if (op.antialias && op.interpolation == Interpolation::Linear && grows(op, shape)) op.antialias = false;
  if (op.antialias && op.interpolation != Interpolation::Nearest)
    return is_said_by_antialias(op, rank) ? std::optional(op) : std::nullopt;
  switch (op.interpolation) {
    case Interpolation::Nearest: {
      op.antialias = op.drops_outside = op.cubic_table = false;
      if (op.fixed == FixedLengths::None && repeats(op)) op.arithmetic = Arithmetic::Multiplied;
      if (op.arithmetic == Arithmetic::Divided) return std::nullopt;
      if (repeats(op)) {
        op.coordinates = Coordinates::Asymmetric;
        op.rounding = Rounding::Floor;
        return op;
      }
      if (is_middle(op) && op.fixed == FixedLengths::None) {
        op.coordinates = Coordinates::HalfPixel;
        op.rounding = Rounding::RoundHalfUp;
        return op;
      }
      // On three and four axes the target's own words for fixed lengths are known; on five they hang on the layout.
      const FixedLengths own = rank == 4 ? FixedLengths::EqualAndDouble : FixedLengths::None;
      if (is_floor(op) && (op.factors.empty() || (rank <= 4 && op.fixed == own))) return op;
      return std::nullopt;
    }
    case Interpolation::Linear:
      if (op.fixed == FixedLengths::EqualAndDouble) return std::nullopt;
      if (op.coordinates == Coordinates::PytorchHalfPixel && grows(op, shape)) op.coordinates = Coordinates::HalfPixel;
      if (op.coordinates != Coordinates::HalfPixel && op.coordinates != Coordinates::AlignCorners) return std::nullopt;
      op.arithmetic = Arithmetic::Multiplied;
      op.drops_outside = op.cubic_table = false;  // of two taps the one outside goes: the border cell either way
      if (idle_factor(op, shape)) return std::nullopt;
      if (op.coordinates == Coordinates::AlignCorners && !op.factors.empty() && !integer_factors(op))
        return std::nullopt;
      return op;
    case Interpolation::Cubic:
      if (rank != 4 || op.cubic_a != -0.75 || op.drops_outside || op.cubic_table || op.fixed != FixedLengths::None ||
          (op.coordinates != Coordinates::HalfPixel && op.coordinates != Coordinates::AlignCorners))
        return std::nullopt;
      op.arithmetic = Arithmetic::Multiplied;
      return op;
    default: return std::nullopt;
  }
}

// Axis i alone: what its output cells read.
std::vector<Taps> taps_along(const Resize& op, const Shape& in, const Shape& out, std::size_t i) {
  const auto axis = static_cast<std::size_t>(op.axes[i]);
  return taps_of(op, i, *in[axis], *out[axis]);
}

bool same_taps(const Resize& a, const Resize& b, const Shape& in, const Shape& out) {
  for (std::size_t i = 0; i < a.axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(a.axes[i]);
    if (!in[axis].known() || !out[axis].known()) return false;
    const auto x = taps_along(a, in, out, i), y = taps_along(b, in, out, i);
    if (x.size() != y.size()) return false;
    for (std::size_t o = 0; o < x.size(); ++o)
      if (x[o].cells != y[o].cells || x[o].weights != y[o].weights) return false;
  }
  return true;
}

// ONNX's words: it divides by the rounded factor, and has no lengths that override one. Where the sizes are known, that
// reads the same cells or it does not; where they are free, only whole factors and linear weights are sure.
std::optional<Resize> spoken_in_onnx(const Resize& op, const Shape& in, const Shape& out, int opset) {
  Resize said = op;
  if (!op.sizes.empty() && !op.factors.empty()) said.factors.clear();
  if (repeats(op)) {
    said.coordinates = Coordinates::Asymmetric;
    said.rounding = Rounding::Floor;
  }
  if (said.coordinates == Coordinates::HalfPixelCell && said.rounding == Rounding::Floor) {
    said.coordinates = Coordinates::HalfPixel;
    said.rounding = Rounding::RoundHalfUp;
  }
  said.arithmetic = Arithmetic::Divided;
  said.fixed = FixedLengths::None;
  const bool kind = said.interpolation == Interpolation::Nearest || said.interpolation == Interpolation::Linear ||
                    said.interpolation == Interpolation::Cubic;
  if (!kind || said.cubic_table || said.coordinates == Coordinates::CornerSteps ||
      said.coordinates == Coordinates::HalfPixelCell || said.rounding == Rounding::CeilToShrink ||
      (said.coordinates == Coordinates::HalfPixelSymmetric && opset < 19) || (said.antialias && opset < 18))
    return std::nullopt;
  if (said == op || repeats(op) || same_taps(op, said, in, out)) return said;
  const bool smooth = op.interpolation == Interpolation::Linear || op.interpolation == Interpolation::Cubic;
  const bool plain = smooth && !op.antialias && (op.factors.empty() || integer_factors(op));
  return plain ? std::optional(said) : std::nullopt;
}

// By whole factors where the lengths are known to be such.
std::vector<double> whole_factors(const Resize& op, const Shape& in, const Shape& out) {
  if (integer_factors(op)) return op.factors;
  std::vector<double> factors;
  for (const Size axis : op.axes) {
    const Dim from = in[static_cast<std::size_t>(axis)], to = out[static_cast<std::size_t>(axis)];
    if (!from.known() || !to.known() || *from < 1 || *to % *from != 0) return {};
    factors.push_back(static_cast<double>(*to / *from));
  }
  return factors;
}

// Keras's words: cells repeated by whole factors; over two axes also TensorFlow's interpolations about half pixels, by whole
// factors or to given lengths.
std::optional<Resize> spoken_in_keras(const Resize& op, const Shape& in, const Shape& out) {
  const auto rank = static_cast<Size>(in.size());
  if (rank < 3 || op.axes != spatial_axes({Order::ChannelsLast, rank - 2})) return std::nullopt;
  Resize said{.axes = op.axes, .interpolation = op.interpolation};
  said.factors = whole_factors(op, in, out);
  if (op.interpolation == Interpolation::Nearest && !said.factors.empty()) {
    said.coordinates = Coordinates::Asymmetric;
    if (repeats(op) || same_taps(op, said, in, out)) return said;
  }
  const bool has_word =
      op.interpolation != Interpolation::Gaussian && op.interpolation != Interpolation::Mitchell;  // Keras 2 had these
  if (rank != 4 || !has_word) return std::nullopt;
  if (said.factors.empty() || (op.factors.empty() && op.interpolation == Interpolation::Nearest)) {
    const auto lengths =
        sizes_of({out[static_cast<std::size_t>(op.axes[0])], out[static_cast<std::size_t>(op.axes[1])]});
    if (!lengths) return std::nullopt;
    said.factors.clear();
    said.sizes = *lengths;
  }
  said.coordinates = Coordinates::HalfPixel;
  said.rounding = Rounding::RoundHalfUp;
  said.antialias =
      op.antialias && op.interpolation != Interpolation::Nearest && op.interpolation != Interpolation::Area;
  if (op.interpolation == Interpolation::Linear) said.drops_outside = said.antialias;
  if (op.interpolation == Interpolation::Cubic) {
    said.cubic_a = -0.5;
    said.drops_outside = true;
    said.cubic_table = !said.antialias;
  }
  if (said == op || same_taps(op, said, in, out)) return said;
  // Linear weights by a whole factor or a length are the same at every size.
  const bool halves =
      op.coordinates == Coordinates::HalfPixel || (op.coordinates == Coordinates::PytorchHalfPixel && grows(op, in));
  const bool plain = op.interpolation == Interpolation::Linear && halves && !op.antialias &&
                     op.fixed != FixedLengths::EqualAndDouble && (op.factors.empty() || integer_factors(op));
  return plain ? std::optional(said) : std::nullopt;
}

// A series as a picture of one row, where Keras has a word for that.
Result<std::optional<ValueId>> as_picture(Patch& patch, const Node& node, const Resize& op, const Shape& in,
                                          const Shape& out) {
  if (in.size() != 3 || op.axes != Sizes{1}) return std::nullopt;
  const auto lifted = [](Shape shape) {
    shape.insert(shape.begin() + 1, Dim(1));
    return shape;
  };
  Resize flat = op;
  flat.axes = {1, 2};
  if (!flat.sizes.empty()) flat.sizes.insert(flat.sizes.begin(), 1);
  if (!flat.factors.empty()) flat.factors.insert(flat.factors.begin(), 1);
  if (!flat.starts.empty()) return std::nullopt;
  const auto said = spoken_in_keras(flat, lifted(in), lifted(out));
  if (!said) return std::nullopt;
  auto made = patch.one(node, Unsqueeze{{1}}, {node.inputs[0]});
  if (made) made = patch.one(node, *said, {*made});
  return made ? patch.one(node, Squeeze{{1}}, {*made}) : made;
}

bool leaves_as_is(const std::vector<Taps>& taps, Size in) {
  if (static_cast<Size>(taps.size()) != in) return false;
  for (std::size_t o = 0; o < taps.size(); ++o)
    for (std::size_t t = 0; t < taps[o].cells.size(); ++t)
      if (taps[o].weights[t] != (taps[o].cells[t] == static_cast<Size>(o) ? 1 : 0)) return false;
  return true;
}

Result<ValueId> take(Patch& patch, const Node& node, ValueId x, Size axis, const std::vector<Taps>& taps) {
  Take op{.axis = axis, .indices = {}};
  for (const Taps& t : taps) op.indices.push_back(t.cells.at(0));
  return patch.one(node, op, {x});
}

// W [out, in] times x along `axis`: on the right of the last axis, on the left of the one before, by letters elsewhere.
// Keras's layer takes letters, and W [in, out] on the right.
Result<ValueId> product(Patch& patch, const Node& node, ValueId x, Size axis, const std::vector<Taps>& taps,
                        bool keras) {
  const Size rank = patch.type(x).rank(), in = *patch.type(x).shape[static_cast<std::size_t>(axis)];
  const auto out = static_cast<Size>(taps.size());
  std::vector<float> weights(static_cast<std::size_t>(in * out), 0.0F);
  for (std::size_t o = 0; o < taps.size(); ++o)
    for (std::size_t t = 0; t < taps[o].cells.size(); ++t) {
      float& weight = weights[o * static_cast<std::size_t>(in) + static_cast<std::size_t>(taps[o].cells[t])];
      weight = static_cast<float>(static_cast<double>(weight) + taps[o].weights[t]);
    }
  Tensor matrix = Tensor::of({out, in}, std::move(weights));
  if (const DType dtype = patch.type(x).dtype; is_floating(dtype)) matrix = matrix.converted(dtype);
  const bool last = axis == rank - 1;
  if (last || keras) matrix = matrix.permuted(Sizes{1, 0});
  const ValueId w = patch.constant(node.layer + "/axis" + std::to_string(axis), matrix, false);
  if (!keras && (last || axis == rank - 2)) {
    return patch.one(node, MatMul{}, last ? std::vector{x, w} : std::vector{w, x});
  }
  std::string letters, result;
  for (Size a = 0; a < rank; ++a) letters += static_cast<char>('a' + a);
  result = letters;
  result[static_cast<std::size_t>(axis)] = 'z';
  const char along = letters[static_cast<std::size_t>(axis)];
  const std::string matrix_letters = keras ? std::string{along, 'z'} : std::string{'z', along};
  return patch.one(node, Einsum{letters + "," + matrix_letters + "->" + result}, {x, w});
}

// Corners, centres and aligned corners, of images channels last.
bool spoken_in_tflite(const Resize& op, const Shape& in) {
  if (op.antialias || op.fixed != FixedLengths::None || op.arithmetic != Arithmetic::Multiplied) return false;
  if (in.size() != 4 || op.axes != Sizes{1, 2} || op.sizes.empty() || !op.factors.empty()) return false;
  const bool aligned = op.coordinates == Coordinates::AlignCorners, corner = op.coordinates == Coordinates::Asymmetric;
  if (!aligned && !corner && op.coordinates != Coordinates::HalfPixel) return false;
  if (op.interpolation == Interpolation::Linear) return true;
  return op.interpolation == Interpolation::Nearest &&
         op.rounding == (corner ? Rounding::Floor : Rounding::RoundHalfUp);
}

std::optional<Resize> spoken(const Resize& op, const Shape& in, const Shape& out, const Target& target) {
  if (target.framework == Framework::Torch) return spoken_in_torch(op, in);
  if (target.lite && spoken_in_tflite(op, in)) return op;
  if (target.framework == Framework::Keras) return spoken_in_keras(op, in, out);
  return spoken_in_onnx(op, in, out, target.opset);
}

Status spell(const Graph& graph, NodeId id, const Resize& op, const Target& target, Patch& patch) {
  const Node& node = graph[id];
  const Shape& in = graph[node.inputs[0]].type.shape;
  ValueId now = node.inputs[0];
  const Shape& out = graph[node.outputs[0]].type.shape;
  const bool keras = target.framework == Framework::Keras;
  auto picture =
      keras && !target.lite ? as_picture(patch, node, op, in, out) : Result<std::optional<ValueId>>(std::nullopt);
  if (!picture) return pass(picture);
  if (const auto direct = spoken(op, in, out, target)) {
    if (*direct == op) return {};
    auto made = patch.node(node, *direct, {now});
    if (!made) return pass(made);
    now = made->front();
    // A factor that float32 rounds may make one cell more or less than the source's arithmetic.
    if (patch.type(now).shape != out)
      return within(place_of(node), Status(fail(Fault::Unsupported,
                                                "resizes by a factor whose lengths the target "
                                                "rounds in another way; give the input a size")));
  } else if (*picture) {
    now = **picture;
  } else {
    for (std::size_t i = 0; i < op.axes.size(); ++i)
      if (!size_of(in, op, i))
        return within(place_of(node),
                      Status(fail(Fault::Unsupported,
                                  "resizes in a way that the target has no word for, and its weights depend on the "
                                  "input's size, which is free; give the input a size")));
    for (std::size_t i = 0; i < op.axes.size(); ++i) {
      const Size axis = op.axes[i];
      const auto taps = taps_along(op, in, out, i);
      if (std::ranges::any_of(taps, [](const Taps& t) { return t.cells.empty(); }))
        return within(place_of(node),
                      Status(fail(Fault::Unsupported, "crops beyond the border of axis " + std::to_string(axis) +
                                                          ", which the target has no word for")));
      if (leaves_as_is(taps, *in[static_cast<std::size_t>(axis)])) continue;
      auto made = op.interpolation == Interpolation::Nearest ? take(patch, node, now, axis, taps)
                                                             : product(patch, node, now, axis, taps, keras);
      if (!made) return pass(made);
      now = *made;
    }
    patch.remark(node, op.interpolation == Interpolation::Nearest
                           ? "resized by taking cells, because the target rounds in another way"
                           : "resized by products with the weights of each axis, because the target weighs in another "
                             "way; holds for this input size");
  }
  patch.remove(id);
  patch.replace(node.outputs[0], now);
  return {};
}

}  // namespace

Result<Patch> lower_resize(const Graph& graph, const Target& target) {
  Patch patch(graph);
  return node_by_node<Resize>(graph, patch,
                              [&](NodeId id, const auto& op) { return spell(graph, id, op, target, patch); });
}

}  // namespace convoy
