// Cells chosen by what is known beforehand: Compress, ReverseSequence, CenterCropPad, EyeLike, TensorScatter.
#include "formats/onnx/composed.h"
#include "formats/onnx/types.h"
#include "formats/places.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::onnx {
namespace {

constexpr Size most_chosen = Size{1} << 22;

std::vector<ValueId> compress(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const ValueId condition = call.tensor("condition");
  const bool flat = !call.attrs.has("axis");
  const Size axis = flat ? 0 : axis_of(call, "axis", call.attrs.integer("axis"), std::max<Size>(call.rank(x), 1));
  const Tensor* known = call.constant(condition);
  if (!known)
    call.refuse(Fault::Unsupported, "input 'condition' is computed by the model; it must be known beforehand");
  if (call.failed()) return {};
  Take take{axis, {}};
  const auto truths = known->integers();
  for (std::size_t i = 0; i < truths.size(); ++i)
    if (truths[i] != 0) take.indices.push_back(static_cast<Size>(i));
  if (flat) x = call.add(Reshape{{-1}}, {x});
  return {call.add(take, {x})};
}

// [N, T, rest] with the first lengths[n] steps of each example backwards.
std::vector<ValueId> reverse_sequence(FunctionCall& call) {
  const ValueId x = call.tensor("input"), lengths = call.tensor("sequence_lens");
  const Size batch = call.attrs.integer("batch_axis", 1), time = call.attrs.integer("time_axis", 0);
  if (!call.failed() && (batch + time != 1 || batch < 0 || batch > 1))
    call.refuse(Fault::Format, "attributes 'batch_axis' and 'time_axis' are " + std::to_string(batch) + " and " +
                                   std::to_string(time) + ", expected 0 and 1");
  return {reversed_sequences(call, x, lengths, time, batch)};
}

// What is too long loses as many cells on both sides, the odd one behind; what is too short gains zeros likewise.
std::vector<ValueId> center_crop_pad(FunctionCall& call) {
  const ValueId x = call.tensor("input_data");
  const auto shape = known_integers(call, "shape");
  if (!shape) call.refuse(Fault::Format, "input 'shape' is missing");
  const Size rank = call.rank(x);
  const Sizes axes = call.attrs.list("axes", all_axes(rank));
  if (shape && shape->size() != axes.size())
    call.refuse(Fault::Format, "input 'shape' is " + text_of(*shape) + " for " + std::to_string(axes.size()) + " axes");
  if (!shape || call.failed()) return {};
  Pad pad{Sizes(static_cast<std::size_t>(rank), 0), Sizes(static_cast<std::size_t>(rank), 0)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Size axis = axis_of(call, "axes", axes[i], rank);
    const Dim own = call.dim(x, axis);
    if (!own.known()) call.refuse(Fault::Unsupported, "the size of axis " + std::to_string(axis) + " is not known");
    if (call.failed()) return {};
    const Size more = (*shape)[i] - *own, half = std::abs(more) / 2, other = std::abs(more) - half;
    pad.before[static_cast<std::size_t>(axis)] = more < 0 ? -half : half;
    pad.after[static_cast<std::size_t>(axis)] = more < 0 ? -other : other;
  }
  return {call.add(pad, {x})};
}

std::vector<ValueId> eye_like(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size diagonal = call.attrs.integer("k", 0);
  const Size code = call.attrs.integer("dtype", 0);
  const auto dtype = code == 0 ? std::optional(call.type(x).dtype) : dtype_of(code);
  const auto sizes = sizes_of(call.shape(x));
  if (!dtype)
    call.refuse(Fault::Unsupported, "attribute 'dtype' is " + name_of_type(code) + ", a type that is not carried");
  if (!call.failed() && (!sizes || sizes->size() != 2 || checked_count(*sizes).value_or(most_chosen + 1) > most_chosen))
    call.refuse(Fault::Unsupported, "of shape " + text_of(call.shape(x)) + ", which must be known and of rank 2");
  if (call.failed()) return {};
  std::vector<double> numbers;
  for (Size i = 0; i < (*sizes)[0]; ++i)
    for (Size j = 0; j < (*sizes)[1]; ++j) numbers.push_back(j - i == diagonal);
  return {table(call, "eye", *sizes, std::move(numbers), *dtype)};
}

// Steps of the cache from a known place on are those of the update.
std::vector<ValueId> tensor_scatter(FunctionCall& call) {
  const ValueId cache = call.tensor("past_cache"), update = call.tensor("update");
  const auto starts = known_integers(call, "write_indices");
  const std::string mode = call.attrs.word("mode", "linear");
  const Size axis = axis_of(call, "axis", call.attrs.integer("axis", -2), std::max<Size>(call.rank(cache), 1));
  const Dim all = call.dim(cache, axis), count = call.dim(update, axis), batch = call.dim(cache, 0);
  if (mode != "linear" && mode != "circular") call.refuse(Fault::Format, "attribute 'mode' is '" + mode + "'");
  if (!call.failed() && (axis == 0 || !all.known() || !count.known() || *count > *all || *all < 1))
    call.refuse(Fault::Unsupported,
                "steps of shapes " + text_of(call.shape(cache)) + " and " + text_of(call.shape(update)));
  if (starts && (!batch.known() || static_cast<Size>(starts->size()) != *batch))
    call.refuse(Fault::Format, "input 'write_indices' holds " + std::to_string(starts->size()) + " numbers");
  if (call.failed()) return {};
  const Sizes from = starts ? *starts : Sizes{0};
  std::vector<ValueId> examples;
  for (std::size_t n = 0; n < from.size(); ++n) {
    Take take{axis, all_axes(*all)};
    for (Size i = 0; i < *count; ++i) {
      const Size at = mode == "circular" ? (from[n] + i) % *all : from[n] + i;
      if (at < 0 || at >= *all) {
        call.refuse(Fault::Format, "input 'write_indices' holds " + std::to_string(from[n]));
        return {};
      }
      take.indices[static_cast<std::size_t>(at)] = *all + i;
    }
    const auto example = [&](ValueId x) {
      const auto at = static_cast<Size>(n);
      return from.size() == 1 ? x : call.add(Slice{0, at, at + 1}, {x});
    };
    examples.push_back(call.add(take, {call.add(Concat{axis}, {example(cache), example(update)})}));
  }
  return {examples.size() == 1 ? examples.front() : call.add(Concat{0}, examples)};
}

// clang-format off
constexpr std::array select_table{
    Operator{"Compress", {9}, "input condition", "axis:i", compress},
    Operator{"ReverseSequence", {10}, "input sequence_lens", "batch_axis:i time_axis:i", reverse_sequence},
    Operator{"CenterCropPad", {18}, "input_data shape", "axes:I", center_crop_pad},
    Operator{"EyeLike", {9}, "input", "dtype:i k:i", eye_like},
    Operator{"TensorScatter", {24}, "past_cache update write_indices?", "axis:i mode:s", tensor_scatter}};
// clang-format on

}  // namespace

std::span<const Operator> select_operators() { return select_table; }

}  // namespace convoy::onnx
