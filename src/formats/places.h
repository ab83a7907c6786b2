// Cells chosen, or replaced, by places: indices that speak of several axes at once, one class of many, sequences backwards,
// diagonals. The frameworks' readers ask here and bring their own words.
#pragma once
#include "formats/function.h"

#include <optional>
#include <string>

namespace convoy {

constexpr Size most_places = Size{1} << 22;  // that tables of places may have, all rounds together

// Whether an index below 0 counts from the end, as ONNX has it; otherwise there is no such place.
enum class Negative : std::uint8_t { Counts, Fails };

// x at `indices`, [batch..., rows..., depth]: each row names a cell, or a part, of x's axes behind the `leading` ones that
// both share. Computed places count the cells one by one. Fails: places outside, axes of free sizes.
ValueId gathered(FunctionCall& call, ValueId x, ValueId indices, Size leading, Negative negative);

// x at indices [batch..., rows...] along `axis`: other places for each example of the first `batches` axes, which both share.
ValueId gathered_by_example(FunctionCall& call, ValueId x, ValueId indices, Size batches, Size axis);

// "add", "mul", "max" or "min".
BinaryFunction function_of_reduction(const std::string& reduction);
// How several numbers for one place meet: "none" (the last stays), "add", "mul", "max", "min".
// `data` with `updates` put in at the rows of `indices`. Fails: places outside, axes of free sizes, where they are known.
ValueId scattered(FunctionCall& call, ValueId data, ValueId indices, ValueId updates, const std::string& reduction,
                  Negative negative);
// Zeros of this shape with the updates added in; the zeros are of the updates' type.
ValueId scattered_in_zeros(FunctionCall& call, ValueId indices, ValueId updates, const Sizes& shape);
// The rows of x that bear the same number, added up: as many sums as `count` says, or as there are numbers; negative ones
// bear none. The numbers must be known.
ValueId summed_by_segments(FunctionCall& call, ValueId x, ValueId ids, std::optional<Size> count);
// The same as `scattered` for data [cells, rest...], updates [places, rest...] and places that are counted already.
ValueId scattered_flat(FunctionCall& call, ValueId data, ValueId updates, const Sizes& places, Size cells,
                       const std::string& reduction);
// The place of each row of indices among sizes[0] * sizes[1] * ... cells; `leading` whole axes in front of the indices are
// counted along. Refuses places outside.
Sizes places_of(FunctionCall& call, const Tensor& indices, const Sizes& sizes, Size leading, Negative negative);
// Sizes of the first `count` axes. Nothing, with a refusal: one of them is unknown, or there are too few.
std::optional<Sizes> first_sizes(FunctionCall& call, ValueId x, Size count);
// How many cells there are. Nothing, with a refusal: very many.
std::optional<Size> count_of_cells(FunctionCall& call, const Sizes& sizes);

// Along a new axis, `on` where its place is the index and `off` elsewhere. Fails: a depth that is very large.
ValueId one_hot_of(FunctionCall& call, ValueId indices, Size depth, Size axis, ValueId on, ValueId off);

// The first lengths[n] cells along `time` of each example n, along `batch`, backwards; the lengths may be computed.
ValueId reversed_sequences(FunctionCall& call, ValueId x, ValueId lengths, Size time, Size batch);

// x [..., n] on the main diagonal of matrices [..., n, n], zeros elsewhere.
ValueId diagonal_matrices(FunctionCall& call, ValueId x);
// x [..., m, n] with `diagonal` [..., the smaller one] on the main diagonals.
ValueId with_diagonal(FunctionCall& call, ValueId x, ValueId diagonal);
// [..., the smaller one]: what is on the main diagonals of x [..., m, n].
ValueId diagonal_of(FunctionCall& call, ValueId x);

}  // namespace convoy
