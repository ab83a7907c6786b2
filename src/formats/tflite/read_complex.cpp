// Complex numbers, as two values of real ones: RFFT2D as products with the waves, what only moves complex numbers, and what makes real
// ones of them. Source: tensorflow/lite/kernels/rfft2d.cc and complex_support.cc.
#include "base/budget.h"
#include "formats/tflite/reader.h"
#include "formats/tflite/types.h"
#include "formats/waves.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace convoy::tflite {

namespace {

constexpr Size most_waves = Size{1} << 24;  // numbers of a table of waves

// Operators that put the numbers of their first input elsewhere, and read nothing else that is complex.
constexpr std::array<std::string_view, 6> moving{"RESHAPE",   "SQUEEZE",       "EXPAND_DIMS",
                                                 "TRANSPOSE", "STRIDED_SLICE", "SLICE"};

// [rows, columns] of cosines and of sines with a minus. Numbers of the signal beyond the transform are not read.
struct WaveTables {
  Tensor cosines, sines;
};
WaveTables waves_of(Size rows, Size columns, Size length) {
  std::vector<float> cosines, sines;
  for (Size n = 0; n < rows; ++n)
    for (Size k = 0; k < columns; ++k) {
      const Wave w = n < length ? wave(k, n, length) : Wave{0, 0};
      cosines.push_back(static_cast<float>(w.cosine));
      sines.push_back(static_cast<float>(-w.sine));
    }
  return {Tensor::of({rows, columns}, std::move(cosines)), Tensor::of({rows, columns}, std::move(sines))};
}

}  // namespace

bool ModelReader::takes_complex(const StoredOperator& op) const {
  return std::ranges::any_of(op.inputs,
                             [&](std::int32_t t) { return t >= 0 && known_[static_cast<std::size_t>(t)].imaginary; });
}

Status ModelReader::add_complex(const Operator& row, const StoredOperator& op, const std::string& layer) {
  if (op.inputs.empty() || op.inputs[0] < 0 || op.outputs.size() != 1)
    return fail(Fault::Format, "takes one tensor and gives one");
  if (row.name == "RFFT2D") return add_transform(op, layer);
  Known& x = known_[static_cast<std::size_t>(op.inputs[0])];
  Known& y = known_[static_cast<std::size_t>(op.outputs[0])];
  const bool is_first =
      x.imaginary && std::ranges::none_of(op.inputs.begin() + 1, op.inputs.end(), [&](std::int32_t t) {
        return t >= 0 && known_[static_cast<std::size_t>(t)].imaginary;
      });
  if (!is_first)
    return fail(Fault::Unsupported, "takes complex numbers, of which RFFT2D alone makes some that are carried");
  const ValueId real = x.value, imaginary = x.imaginary;
  if (std::ranges::find(moving, row.name) != moving.end()) {
    if (auto s = add_row(row, op, layer); !s) return s;
    const ValueId moved = std::exchange(y.value, {});
    known_[static_cast<std::size_t>(op.inputs[0])].value = imaginary;
    auto s = add_row(row, op, layer);
    known_[static_cast<std::size_t>(op.inputs[0])].value = real;
    if (!s) return s;
    y.imaginary = std::exchange(y.value, moved);
    names_.pop_back();
    return {};
  }
  const auto step = [&](Op made, std::vector<ValueId> inputs) -> Result<ValueId> {
    auto done = graph_.add(std::move(made), std::move(inputs), layer, std::string(row.name));
    return done ? Result<ValueId>(done->front()) : pass(done);
  };
  Result<ValueId> made = fail(Fault::Unsupported, "of complex numbers is not carried");
  const auto wanted = dtype_of(subgraph_->tensors[static_cast<std::size_t>(op.outputs[0])].type);
  if (row.name == "REAL" || (row.name == "CAST" && wanted == DType::F32)) made = step(Identity{}, {real});
  else if (row.name == "IMAG") made = step(Identity{}, {imaginary});
  else if (row.name == "COMPLEX_ABS") {
    made = step(Unary{Function::Square}, {real});
    auto other = made ? step(Unary{Function::Square}, {imaginary}) : made;
    if (other) made = step(Binary{BinaryFunction::Add}, {*made, *other});
    if (made) made = step(Unary{Function::Sqrt}, {*made});
  }
  if (!made) return pass(made);
  if (auto s = check_recorded(op.outputs[0], *made); !s) return s;
  y.value = *made;
  names_.emplace_back(*made, way_ + name_of(op.outputs[0]));
  return {};
}

// The last axis by real numbers, then the one before it, where more than one row is asked for, by complex ones.
Status ModelReader::add_transform(const StoredOperator& op, const std::string& layer) {
  const auto lengths =
      op.inputs.size() == 2 && op.inputs[1] >= 0 ? known_tensor(op.inputs[1]) : Result<const Tensor*>(nullptr);
  if (!lengths) return std::unexpected(lengths.error());
  if (!*lengths)
    return fail(Fault::Unsupported, "its lengths are computed by the model; they must be known beforehand");
  const auto x = value_of(op.inputs[0]);
  if (!x) return std::unexpected(x.error());
  const Shape shape = graph_[*x].type.shape;
  const Size rank = static_cast<Size>(shape.size());
  const auto length = (*lengths)->integers();
  if (length.size() != 2 || rank < 2 || graph_[*x].type.dtype != DType::F32 || graph_[*x].quantization)
    return fail(Fault::Format, "transforms " + text_of(shape) + " by " + std::to_string(length.size()) + " lengths");
  const Dim height = at(shape, rank - 2), width = at(shape, rank - 1);
  if (!height.known() || !width.known())
    return fail(Fault::Unsupported,
                "transforms an input of shape " + text_of(shape) + ", whose last sizes must be known");
  for (const auto& [numbers, size] : {std::pair{*height, length[0]}, {*width, length[1]}})
    if (size < 1 || size > most_waves || numbers < 1 || numbers > most_waves / size)
      return fail(Fault::Limit,
                  "a Fourier transform of " + std::to_string(numbers) + " numbers to " + std::to_string(size));
  const Size rows = length[0], columns = length[1] / 2 + 1;
  if (auto afforded = budget::afford(16 * (*width * columns + *height * rows), "the waves of a Fourier transform");
      !afforded)
    return afforded;

  const auto step = [&](Op made, std::vector<ValueId> inputs) -> Result<ValueId> {
    auto done = graph_.add(std::move(made), std::move(inputs), layer, "RFFT2D");
    return done ? Result<ValueId>(done->front()) : pass(done);
  };
  const auto held = [&](const char* word, Tensor table) {
    return graph_.constant(graph_.unique_name(layer + "/" + word), std::move(table), false);
  };
  ValueId signal = *x;
  if (rows == 1 && *height > 1) {
    auto first = step(Slice{rank - 2, 0, 1}, {signal});
    if (!first) return pass(first);
    signal = *first;
  }
  WaveTables along = waves_of(*width, columns, length[1]);
  auto real = step(MatMul{}, {signal, held("cosines", std::move(along.cosines))});
  auto imaginary = step(MatMul{}, {signal, held("sines", std::move(along.sines))});
  if (!real || !imaginary) return real ? pass(imaginary) : pass(real);
  if (rows > 1) {
    // (c + is) (a + ib) = (ca - sb) + i (cb + sa), where s has its minus already
    const Sizes turned_axes{1, 0};
    WaveTables across = waves_of(*height, rows, rows);
    for (Tensor* table : {&across.cosines, &across.sines}) *table = table->permuted(turned_axes);
    const ValueId c = held("row_cosines", std::move(across.cosines)), s = held("row_sines", std::move(across.sines));
    const auto mixed = [&](ValueId a, ValueId b, BinaryFunction function) -> Result<ValueId> {
      auto left = step(MatMul{}, {c, a}), right = step(MatMul{}, {s, b});
      if (!left || !right) return left ? right : left;
      return step(Binary{function}, {*left, *right});
    };
    auto turned = mixed(*real, *imaginary, BinaryFunction::Subtract);
    imaginary = mixed(*imaginary, *real, BinaryFunction::Add);
    real = turned;
    if (!real || !imaginary) return real ? pass(imaginary) : pass(real);
  }
  Known& y = known_[static_cast<std::size_t>(op.outputs[0])];
  y.value = *real, y.imaginary = *imaginary;
  names_.emplace_back(*real, way_ + name_of(op.outputs[0]));
  return {};
}

}  // namespace convoy::tflite
