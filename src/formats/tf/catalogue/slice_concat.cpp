// Parts taken out of tensors and tensors put side by side.
#include "formats/places.h"
#include "formats/tf/arguments.h"
#include "formats/tf/catalogue/catalogue.h"
#include "formats/triangle.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <limits>

namespace convoy::tf {
namespace {

constexpr Size own_end = std::numeric_limits<Size>::max();

Size known_axis(FunctionCall& call, const char* name, Size rank) {
  const Sizes said = numbers(call, name);
  if (!call.failed() && said.size() != 1) call.refuse(Fault::Format, std::string("'") + name + "' is not one number");
  if (call.failed()) return 0;
  const Size axis = positive_axis(said[0], rank);
  if (axis < 0 || axis >= rank)
    call.refuse(Fault::Format,
                std::string("'") + name + "' is " + std::to_string(said[0]) + " of " + std::to_string(rank) + " axes");
  return axis;
}

std::vector<ValueId> concat(FunctionCall& call) {
  const auto values = call.several("values");
  call.attrs.ignore({"N"});
  if (values.empty()) call.refuse(Fault::Format, "joins nothing");
  if (call.failed()) return {};
  const Size axis = known_axis(call, "axis", call.rank(values.front()));
  return {call.add(Concat{axis}, values)};
}

std::vector<ValueId> pack(FunctionCall& call) {
  auto values = call.several("values");
  call.attrs.ignore({"N"});
  if (values.empty()) call.refuse(Fault::Format, "joins nothing");
  if (call.failed()) return {};
  const Size rank = call.rank(values.front()) + 1, axis = positive_axis(call.attrs.integer("axis", 0), rank);
  if (axis < 0 || axis >= rank) call.refuse(Fault::Format, "'axis' is outside of " + std::to_string(rank) + " axes");
  for (ValueId& value : values) value = call.add(Unsqueeze{{axis}}, {value});
  return {values.size() == 1 ? values.front() : call.add(Concat{axis}, values)};
}

std::vector<ValueId> split(FunctionCall& call) {
  const ValueId x = call.tensor("value");
  const Size axis = known_axis(call, "axis", call.rank(x)), parts = call.attrs.integer("num_split");
  const Dim size = call.dim(x, axis);
  constexpr Size most = 65536;
  if (!call.failed() && !size.known())
    call.refuse(Fault::Unsupported, "splitting axis " + std::to_string(axis) + " needs its size");
  if (!call.failed() && (parts < 1 || parts > most || *size % parts != 0))
    call.refuse(Fault::Format, "axis " + std::to_string(axis) + " of size " + std::to_string(*size) + " has no " +
                                   std::to_string(parts) + " equal parts");
  if (call.failed()) return {};
  return call.add_all(Split{axis, Sizes(static_cast<std::size_t>(parts), *size / parts)}, {x});
}

// One of the sizes may be -1: what the others leave.
std::vector<ValueId> split_by_sizes(FunctionCall& call) {
  const ValueId x = call.tensor("value");
  const Size axis = known_axis(call, "axis", call.rank(x));
  call.attrs.ignore({"num_split"});
  Sizes sizes = numbers(call, "size_splits");
  Size rest = call.dim(x, axis).size().value_or(0);
  for (const Size size : sizes) rest -= std::clamp<Size>(size, 0, most_cells);
  for (Size& size : sizes)
    if (size == -1) size = rest;
  if (!call.failed() && std::ranges::any_of(sizes, [](Size n) { return n < 0; }))
    call.refuse(Fault::Format, "'size_splits' is " + text_of(sizes));
  if (call.failed()) return {};
  return call.add_all(Split{axis, sizes}, {x});
}

std::vector<ValueId> unpack(FunctionCall& call) {
  const ValueId x = call.tensor("value");
  const Size axis = positive_axis(call.attrs.integer("axis", 0), call.rank(x)), parts = call.attrs.integer("num");
  if (!call.failed() && (axis < 0 || axis >= call.rank(x) || call.dim(x, axis) != Dim(parts) || parts < 1))
    call.refuse(Fault::Format, "takes " + std::to_string(parts) + " parts out of axis " + std::to_string(axis) +
                                   " of " + text_of(call.shape(x)));
  if (call.failed()) return {};
  auto all = parts == 1 ? std::vector{x} : call.add_all(Split{axis, Sizes(static_cast<std::size_t>(parts), 1)}, {x});
  for (ValueId& part : all) part = call.add(Squeeze{{axis}}, {part});
  return all;
}

// x[begin:begin + size], -1 being all that follows.
std::vector<ValueId> slice(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const Sizes begin = numbers(call, "begin"), size = numbers(call, "size");
  if (!call.failed() && (static_cast<Size>(begin.size()) != call.rank(x) || begin.size() != size.size()))
    call.refuse(Fault::Format, "'begin' is " + text_of(begin) + ", 'size' is " + text_of(size) + " for rank " +
                                   std::to_string(call.rank(x)));
  bool taken = false;
  for (std::size_t i = 0; i < begin.size() && !call.failed(); ++i) {
    const bool whole = size[i] == -1 || size[i] == own_end;
    if (begin[i] < 0 || (size[i] < 0 && !whole)) {
      call.refuse(Fault::Format, "takes " + std::to_string(size[i]) + " cells from cell " + std::to_string(begin[i]));
      return {};
    }
    if (begin[i] == 0 && whole) continue;
    Slice part{static_cast<Size>(i), begin[i], {}, 1};
    if (!whole) part.stop = begin[i] + std::min(size[i], most_cells);
    x = call.add(part, {x});
    taken = true;
  }
  return {taken ? x : call.add(Identity{}, {x})};
}

struct Masks {
  Size begin, end, ellipsis, new_axis, shrink;
};

// Python's x[a:b:c, ..., None, d], one entry for each part in the brackets; the masks say which are no plain numbers.
std::vector<ValueId> strided_slice(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const Sizes begin = numbers(call, "begin"), end = numbers(call, "end"), steps = numbers(call, "strides");
  const Masks masks{call.attrs.integer("begin_mask", 0), call.attrs.integer("end_mask", 0),
                    call.attrs.integer("ellipsis_mask", 0), call.attrs.integer("new_axis_mask", 0),
                    call.attrs.integer("shrink_axis_mask", 0)};
  const auto count = static_cast<Size>(begin.size());
  if (!call.failed() && (end.size() != begin.size() || steps.size() != begin.size() || count > 32))
    call.refuse(Fault::Format,
                "'begin', 'end' and 'strides' are " + text_of(begin) + ", " + text_of(end) + " and " + text_of(steps));
  if (call.failed()) return {};
  const auto has = [](Size mask, Size i) { return (mask >> i & 1) != 0; };
  Size named = 0;  // axes of x that have an entry of their own
  for (Size i = 0; i < count; ++i) named += !has(masks.ellipsis, i) && !has(masks.new_axis, i);
  if (named > call.rank(x)) {
    call.refuse(Fault::Format, "takes " + std::to_string(named) + " axes of " + std::to_string(call.rank(x)));
    return {};
  }
  const Size rank = call.rank(x);
  Sizes gone, made;  // axes of x that go; places of the result where new ones come
  Size axis = 0, place = 0;
  bool changed = false;
  for (Size i = 0; i < count && !call.failed(); ++i) {
    if (has(masks.ellipsis, i)) {
      axis += rank - named;
      place += rank - named;
    } else if (has(masks.new_axis, i)) {
      made.push_back(place++);
    } else {
      const Size step = at(steps, i);
      if (step == 0) call.refuse(Fault::Format, "a step of 0");
      Slice part{axis, {}, {}, step};
      if (has(masks.shrink, i)) {
        if (at(begin, i) == -1) part = {axis, -1, {}, 1};
        else part = {axis, at(begin, i), at(begin, i) + 1, 1};
        gone.push_back(axis);
      } else {
        if (!has(masks.begin, i)) part.start = at(begin, i);
        if (!has(masks.end, i) && at(end, i) != own_end) part.stop = at(end, i);
        ++place;
      }
      const bool whole = step == 1 && part.start.value_or(0) == 0 && !part.stop && !has(masks.shrink, i);
      if (!whole) x = call.add(part, {x}), changed = true;
      ++axis;
    }
  }
  if (!gone.empty()) x = call.add(Squeeze{gone}, {x}), changed = true;
  if (!made.empty()) x = call.add(Unsqueeze{made}, {x}), changed = true;
  return {changed ? x : call.add(Identity{}, {x})};
}

std::vector<ValueId> tile(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const Sizes times = numbers(call, "multiples");
  if (!call.failed() && static_cast<Size>(times.size()) != call.rank(x))
    call.refuse(Fault::Format, "'multiples' is " + text_of(times) + " for rank " + std::to_string(call.rank(x)));
  bool changed = false;
  for (std::size_t i = 0; i < times.size() && !call.failed(); ++i)
    if (times[i] != 1) x = call.add(Tile{static_cast<Size>(i), times[i]}, {x}), changed = true;
  return {changed ? x : call.add(Identity{}, {x})};
}

// x stretched to a shape: axes of size 1 are repeated, missing ones put in front.
std::vector<ValueId> broadcast_to(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const Sizes to = numbers(call, "shape");
  const Size missing = static_cast<Size>(to.size()) - call.rank(x);
  if (!call.failed() && missing < 0)
    call.refuse(Fault::Format, "'shape' is " + text_of(to) + " for rank " + std::to_string(call.rank(x)));
  if (call.failed()) return {};
  Sizes front;
  for (Size i = 0; i < missing; ++i) front.push_back(i);
  bool changed = missing > 0;
  if (changed) x = call.add(Unsqueeze{front}, {x});
  for (std::size_t i = 0; i < to.size() && !call.failed(); ++i) {
    const Dim size = call.dim(x, static_cast<Size>(i));
    if (size == Dim(to[i])) continue;
    if (size != Dim(1) || to[i] < 1)
      call.refuse(size.known() ? Fault::Format : Fault::Unsupported,
                  "a shape of " + text_of(call.shape(x)) + " stretched to " + text_of(to));
    if (!call.failed()) x = call.add(Tile{static_cast<Size>(i), to[i]}, {x}), changed = true;
  }
  return {changed ? x : call.add(Identity{}, {x})};
}

std::vector<ValueId> reverse(FunctionCall& call) {
  ValueId x = call.tensor("tensor");
  for (const Size said : numbers(call, "axis")) {
    const Size axis = positive_axis(said, call.rank(x));
    if (axis < 0 || axis >= call.rank(x)) call.refuse(Fault::Format, "'axis' is " + std::to_string(said));
    if (!call.failed()) x = call.add(Slice{axis, {}, {}, -1}, {x});
  }
  return {x};
}

// Places that the model computes look up rows of a known table; known places take parts of anything.
std::vector<ValueId> gather(FunctionCall& call) {
  const ValueId x = call.tensor("params"), indices = call.tensor("indices");
  call.attrs.ignore({"validate_indices"});
  const Size axis = call.attrs.has("axis") || call.optional("axis") ? known_axis(call, "axis", call.rank(x)) : 0;
  const Size batches = call.attrs.integer("batch_dims", 0);
  if (call.failed()) return {};
  if (batches != 0) return {gathered_by_example(call, x, indices, positive_axis(batches, call.rank(indices)), axis)};
  const Tensor* known = call.constant(indices);
  if (!known || known->count() == 0) {
    if (axis == 0 && call.rank(x) == 2 && call.constant(x)) return {call.add(Embedding{}, {indices, x})};
    return {call.add(Gather{axis}, {x, indices})};
  }
  const Tensor places = *known;  // values move when the graph grows
  const ValueId taken = call.add(Take{axis, places.integers()}, {x});
  if (places.rank() == 1) return {taken};
  if (places.rank() == 0) return {call.add(Squeeze{{axis}}, {taken})};
  Sizes to;
  for (Size i = 0; i < call.rank(x); ++i) {
    if (i == axis) to.insert(to.end(), places.shape().begin(), places.shape().end());
    else to.push_back(call.dim(x, i).size().value_or(i < axis ? 0 : -1));
  }
  return {call.add(Reshape{to}, {taken})};
}

// Places along the first axes together.
std::vector<ValueId> gather_nd(FunctionCall& call) {
  const ValueId x = call.tensor("params"), indices = call.tensor("indices");
  call.attrs.ignore({"bad_indices_policy"});
  return {gathered(call, x, indices, 0, Negative::Fails)};
}

// Numbers put into zeros, added where several meet.
std::vector<ValueId> scatter_nd(FunctionCall& call) {
  const ValueId indices = call.tensor("indices"), updates = call.tensor("updates");
  const Sizes shape = numbers(call, "shape");
  call.attrs.ignore({"bad_indices_policy"});
  return {scattered_in_zeros(call, indices, updates, shape)};
}

template <const char* reduction>
std::vector<ValueId> scatter_into(FunctionCall& call) {
  const ValueId x = call.tensor("tensor"), indices = call.tensor("indices");
  const ValueId updates = call.tensor("updates");
  call.attrs.ignore({"bad_indices_policy"});
  return {scattered(call, x, indices, updates, reduction, Negative::Fails)};
}
constexpr char none[] = "none", add[] = "add", most[] = "max", least[] = "min";

std::vector<ValueId> scatter_away(FunctionCall& call) {
  const ValueId x = call.tensor("tensor"), indices = call.tensor("indices");
  const ValueId less = call.add(Unary{Function::Negate}, {call.tensor("updates")});
  call.attrs.ignore({"bad_indices_policy"});
  return {scattered(call, x, indices, less, add, Negative::Fails)};
}

std::vector<ValueId> reverse_sequence(FunctionCall& call) {
  const ValueId x = call.tensor("input"), lengths = call.tensor("seq_lengths");
  const Size time = call.attrs.integer("seq_dim"), batch = call.attrs.integer("batch_dim", 0);
  const Size rank = call.failed() ? 0 : call.rank(x);
  return {reversed_sequences(call, x, lengths, positive_axis(time, rank), positive_axis(batch, rank))};
}

// Sums of the rows that bear the same number.
std::vector<ValueId> segment_sum(FunctionCall& call) {
  const ValueId x = call.tensor("data"), ids = call.tensor("segment_ids");
  const bool says_count = call.name == "UnsortedSegmentSum";
  const Sizes count = says_count ? numbers(call, "num_segments") : Sizes{};
  if (says_count && !call.failed() && count.size() != 1)
    call.refuse(Fault::Format, "'num_segments' is " + text_of(count));
  return {summed_by_segments(call, x, ids, says_count && !call.failed() ? std::optional(count[0]) : std::nullopt)};
}

// Of the later versions' several diagonals, the main one.
void check_main_diagonal(FunctionCall& call) {
  call.attrs.ignore({"align"});
  if (call.optional("k") && numbers(call, "k") != Sizes{0} && !call.failed())
    call.refuse(Fault::Unsupported, "'k' chooses other diagonals than the main one, which are not carried");
  for (const char* size : {"num_rows", "num_cols"})
    if (call.optional(size) && numbers(call, size) != Sizes{-1} && !call.failed())
      call.refuse(Fault::Unsupported, std::string("'") + size + "' is given, which is not carried");
  if (const ValueId padding = call.optional("padding_value"); padding && !call.is_zeros(padding))
    call.refuse(Fault::Unsupported, "'padding_value' is another number than 0, which is not carried");
}
std::vector<ValueId> matrix_diag(FunctionCall& call) {
  const ValueId x = call.tensor("diagonal");
  check_main_diagonal(call);
  return {diagonal_matrices(call, x)};
}
std::vector<ValueId> matrix_set_diag(FunctionCall& call) {
  const ValueId x = call.tensor("input"), diagonal = call.tensor("diagonal");
  check_main_diagonal(call);
  return {with_diagonal(call, x, diagonal)};
}
std::vector<ValueId> matrix_diag_part(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  check_main_diagonal(call);
  return {diagonal_of(call, x)};
}

// So many diagonals below the main one and above it, all of them where the number is negative; zeros elsewhere.
std::vector<ValueId> matrix_band_part(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const Sizes lower = numbers(call, "num_lower"), upper = numbers(call, "num_upper");
  if (!call.failed() && (lower.size() != 1 || upper.size() != 1))
    call.refuse(Fault::Format, "'num_lower' is " + text_of(lower) + ", 'num_upper' is " + text_of(upper));
  if (!call.failed() && lower[0] >= 0) x = triangle_of(call, x, -lower[0], true);
  if (!call.failed() && upper[0] >= 0) x = triangle_of(call, x, upper[0], false);
  return {x};
}

// What leaves an axis at one end comes in at the other.
std::vector<ValueId> roll(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const Sizes shifts = numbers(call, "shift"), axes = numbers(call, "axis");
  if (!call.failed() && shifts.size() != axes.size())
    call.refuse(Fault::Format, "'shift' is " + text_of(shifts) + ", 'axis' is " + text_of(axes));
  for (std::size_t i = 0; i < axes.size() && !call.failed(); ++i) {
    const Size axis = positive_axis(axes[i], call.rank(x));
    const Dim size = call.dim(x, axis);
    if (axis < 0 || axis >= call.rank(x)) call.refuse(Fault::Format, "'axis' is " + std::to_string(axes[i]));
    else if (!size.known()) call.refuse(Fault::Unsupported, "moves along an axis whose size is not known");
    if (call.failed()) return {};
    const Size shift = *size == 0 ? 0 : (shifts[i] % *size + *size) % *size;
    if (shift == 0) continue;
    const ValueId last = call.add(Slice{axis, *size - shift, {}, 1}, {x}),
                  first = call.add(Slice{axis, {}, *size - shift, 1}, {x});
    x = call.add(Concat{axis}, {last, first});
  }
  return {x};
}

// Along a new axis, one number where its place is the index and another elsewhere.
std::vector<ValueId> one_hot(FunctionCall& call) {
  const ValueId indices = call.tensor("indices");
  const ValueId on = call.tensor("on_value"), off = call.tensor("off_value");
  const Sizes depth = numbers(call, "depth");
  const Size axis = call.attrs.integer("axis", -1);
  if (!call.failed() && depth.size() != 1) call.refuse(Fault::Format, "'depth' is " + text_of(depth));
  if (call.failed()) return {};
  return {one_hot_of(call, indices, depth[0], axis, on, off)};
}

constexpr std::array slice_concat_operator_table{
    Operator{.name = "ConcatV2", .inputs = "values... axis", .read = concat, .meaning = Moved{}},
    Operator{.name = "Concat", .inputs = "axis values...", .read = concat},
    Operator{.name = "Pack", .inputs = "values...", .read = pack, .meaning = Moved{}},
    Operator{.name = "Split", .inputs = "axis value", .read = split},
    Operator{.name = "SplitV", .inputs = "value size_splits axis", .read = split_by_sizes, .meaning = Moved{}},
    Operator{.name = "Unpack", .inputs = "value", .read = unpack, .meaning = Moved{}},
    Operator{.name = "Slice", .inputs = "input begin size", .read = slice, .meaning = Moved{}},
    Operator{.name = "StridedSlice", .inputs = "input begin end strides", .read = strided_slice, .meaning = Moved{}},
    Operator{.name = "Tile", .inputs = "input multiples", .read = tile, .meaning = Moved{}},
    Operator{.name = "BroadcastTo", .inputs = "input shape", .read = broadcast_to, .meaning = Moved{}},
    Operator{.name = "ReverseV2", .inputs = "tensor axis", .read = reverse, .meaning = Moved{}},
    Operator{.name = "Gather", .inputs = "params indices", .read = gather, .meaning = Moved{}},
    Operator{.name = "GatherV2", .inputs = "params indices axis", .read = gather, .meaning = Moved{}},
    Operator{.name = "GatherNd", .inputs = "params indices", .read = gather_nd},
    Operator{.name = "Roll", .inputs = "input shift axis", .read = roll},
    Operator{.name = "OneHot", .inputs = "indices depth on_value off_value", .read = one_hot},
    Operator{.name = "ScatterNd", .inputs = "indices updates shape", .read = scatter_nd},
    Operator{.name = "TensorScatterUpdate", .inputs = "tensor indices updates", .read = scatter_into<none>},
    Operator{.name = "TensorScatterAdd", .inputs = "tensor indices updates", .read = scatter_into<add>},
    Operator{.name = "TensorScatterSub", .inputs = "tensor indices updates", .read = scatter_away},
    Operator{.name = "TensorScatterMax", .inputs = "tensor indices updates", .read = scatter_into<most>},
    Operator{.name = "TensorScatterMin", .inputs = "tensor indices updates", .read = scatter_into<least>},
    Operator{.name = "ReverseSequence", .inputs = "input seq_lengths", .read = reverse_sequence},
    Operator{.name = "SegmentSum", .inputs = "data segment_ids", .read = segment_sum},
    Operator{.name = "UnsortedSegmentSum", .inputs = "data segment_ids num_segments", .read = segment_sum},
    Operator{.name = "MatrixDiag", .inputs = "diagonal", .read = matrix_diag},
    Operator{.name = "MatrixDiagV2", .inputs = "diagonal k num_rows num_cols padding_value", .read = matrix_diag},
    Operator{.name = "MatrixDiagV3", .inputs = "diagonal k num_rows num_cols padding_value", .read = matrix_diag},
    Operator{.name = "MatrixSetDiag", .inputs = "input diagonal", .read = matrix_set_diag},
    Operator{.name = "MatrixSetDiagV2", .inputs = "input diagonal k", .read = matrix_set_diag},
    Operator{.name = "MatrixSetDiagV3", .inputs = "input diagonal k", .read = matrix_set_diag},
    Operator{.name = "MatrixDiagPart", .inputs = "input", .read = matrix_diag_part},
    Operator{.name = "MatrixDiagPartV2", .inputs = "input k padding_value", .read = matrix_diag_part},
    Operator{.name = "MatrixDiagPartV3", .inputs = "input k padding_value", .read = matrix_diag_part},
    Operator{.name = "MatrixBandPart", .inputs = "input num_lower num_upper", .read = matrix_band_part},
    Operator{.name = "ResourceGather", .inputs = "params indices", .read = gather},
};

}  // namespace

std::span<const Operator> slice_concat_operators() { return slice_concat_operator_table; }

}  // namespace convoy::tf
