// Parts taken out of tensors and tensors put side by side.
#include "formats/places.h"
#include "formats/tflite/catalogue/catalogue.h"
#include "formats/tflite/options.h"

#include "base/whole_tensor.h"
#include "ops/expect.h"

#include <array>
#include <cmath>

namespace convoy::tflite {
namespace {

// An axis that may count from the end; refuses one that does not exist.
Size axis_in(FunctionCall& call, Size axis, Size rank) {
  const Size found = positive_axis(axis, rank);
  if (found < 0 || found >= rank)
    call.refuse(Fault::Format, "the axis is " + std::to_string(axis) + " for rank " + std::to_string(rank));
  return call.failed() ? 0 : found;
}

Size one_number(FunctionCall& call, std::string_view tensor) {
  const Sizes all = numbers(call, tensor);
  if (!call.failed() && all.size() != 1)
    call.refuse(Fault::Format, "tensor '" + std::string(tensor) + "' holds " + text_of(all) + ", expected one number");
  return call.failed() ? 0 : all[0];
}

std::vector<ValueId> concatenation(FunctionCall& call) {
  const auto all = call.several("values");
  const Size said = call.attrs.integer("axis", 0);
  if (all.empty()) call.refuse(Fault::Format, "has no input");
  if (call.failed()) return {};
  return {activated(call, call.add(Concat{axis_in(call, said, call.rank(all[0]))}, all))};
}

std::vector<ValueId> split(FunctionCall& call) {
  const Size said = one_number(call, "split_dim");
  const ValueId x = call.tensor("input");
  const Size parts = call.attrs.integer("num_splits", 0);
  const Size axis = axis_in(call, said, call.rank(x));
  const Dim length = call.dim(x, axis);
  if (!call.failed() &&
      (parts < 1 || static_cast<std::size_t>(parts) != call.results || !length.known() || *length % parts != 0))
    call.refuse(Fault::Format, "splits an axis of " + text_of(Shape{length}) + " into " + std::to_string(parts) +
                                   " parts for " + std::to_string(call.results) + " results");
  if (call.failed()) return {};
  return call.add_all(Split{axis, Sizes(static_cast<std::size_t>(parts), *length / parts)}, {x});
}

std::vector<ValueId> split_v(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  Sizes sizes = numbers(call, "size_splits");
  const Size axis = axis_in(call, one_number(call, "split_dim"), call.rank(x));
  call.attrs.ignore({"num_splits"});
  const Dim length = call.dim(x, axis);
  Size left = length.known() ? *length : 0;
  for (const Size n : sizes) left -= n > 0 ? n : 0;
  for (Size& n : sizes)
    if (n == -1 && length.known()) n = left;
  if (!call.failed() && sizes.size() != call.results)
    call.refuse(Fault::Format, "gives " + std::to_string(call.results) + " parts of sizes " + text_of(sizes));
  if (call.failed()) return {};
  return call.add_all(Split{axis, std::move(sizes)}, {x});
}

std::vector<ValueId> pack(FunctionCall& call) {
  const auto all = call.several("values");
  const Size said = call.attrs.integer("axis", 0);
  call.attrs.ignore({"values_count"});
  if (all.empty()) call.refuse(Fault::Format, "has no input");
  if (call.failed()) return {};
  const Size axis = axis_in(call, said, call.rank(all[0]) + 1);
  std::vector<ValueId> parts;
  for (const ValueId x : all) parts.push_back(call.add(Unsqueeze{{axis}}, {x}));
  return {call.add(Concat{axis}, std::move(parts))};
}

std::vector<ValueId> unpack(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size axis = axis_in(call, call.attrs.integer("axis", 0), call.rank(x));
  const Size parts = call.attrs.integer("num", 0);
  if (!call.failed() &&
      (parts < 1 || static_cast<std::size_t>(parts) != call.results || call.dim(x, axis) != Dim(parts)))
    call.refuse(Fault::Format, "takes an axis of " + text_of(call.shape(x)) + " apart into " + std::to_string(parts) +
                                   " parts for " + std::to_string(call.results) + " results");
  if (call.failed()) return {};
  const auto cut = call.add_all(Split{axis, Sizes(static_cast<std::size_t>(parts), 1)}, {x});
  std::vector<ValueId> all;
  for (const ValueId part : cut) all.push_back(call.add(Squeeze{{axis}}, {part}));
  return all;
}

// Indices that are known beforehand are numbers of the operator, as nobody trains them.
std::vector<ValueId> gather(FunctionCall& call) {
  const ValueId x = call.tensor("params"), indices = call.tensor("indices");
  const Size said = call.attrs.integer("axis", 0);
  const Size axis = axis_in(call, said, call.rank(x)), batches = call.attrs.integer("batch_dims", 0);
  if (call.failed()) return {};
  if (batches != 0) return {gathered_by_example(call, x, indices, positive_axis(batches, call.rank(indices)), axis)};
  const Tensor* known = call.constant(indices);
  if (known && known->rank() == 0 && !is_floating(known->dtype())) {
    const Size place = known->integers().front();
    if (place >= 0) return {call.add(Squeeze{{axis}}, {call.add(Take{axis, {place}}, {x})})};
  }
  return {call.add(Gather{axis}, {x, indices})};
}

std::vector<ValueId> gather_nd(FunctionCall& call) {
  const ValueId x = call.tensor("params"), indices = call.tensor("indices");
  return {gathered(call, x, indices, 0, Negative::Fails)};
}

std::vector<ValueId> scatter_nd(FunctionCall& call) {
  const ValueId indices = call.tensor("indices"), updates = call.tensor("updates");
  const Sizes shape = numbers(call, "shape");
  return {scattered_in_zeros(call, indices, updates, shape)};
}

std::vector<ValueId> segment_sum(FunctionCall& call) {
  const ValueId x = call.tensor("data"), ids = call.tensor("segment_ids");
  const std::optional<Size> count =
      call.name == "SEGMENT_SUM" ? std::nullopt : std::optional(one_number(call, "num_segments"));
  return {summed_by_segments(call, x, ids, count)};
}

std::vector<ValueId> one_hot(FunctionCall& call) {
  const ValueId indices = call.tensor("indices");
  const ValueId on = call.tensor("on_value"), off = call.tensor("off_value");
  const Size depth = one_number(call, "depth"), axis = call.attrs.integer("axis", 0);
  return {one_hot_of(call, indices, depth, axis, on, off)};
}

std::vector<ValueId> reverse_sequence(FunctionCall& call) {
  const ValueId x = call.tensor("input"), lengths = call.tensor("seq_lengths");
  const Size time = call.attrs.integer("seq_dim", 0), batch = call.attrs.integer("batch_dim", 0);
  const Size rank = call.failed() ? 0 : call.rank(x);
  return {reversed_sequences(call, x, lengths, positive_axis(time, rank), positive_axis(batch, rank))};
}

std::vector<ValueId> matrix_diag(FunctionCall& call) { return {diagonal_matrices(call, call.tensor("diagonal"))}; }
std::vector<ValueId> matrix_set_diag(FunctionCall& call) {
  const ValueId x = call.tensor("input"), diagonal = call.tensor("diagonal");
  return {with_diagonal(call, x, diagonal)};
}

// Whole numbers from `start` on.
std::vector<ValueId> range(FunctionCall& call) {
  const Tensor *start = call.constant(call.tensor("start")), *limit = call.constant(call.tensor("limit")),
               *delta = call.constant(call.tensor("delta"));
  if (!call.failed() && (!start || !limit || !delta))
    call.refuse(Fault::Unsupported, "its bounds are computed by the model");
  if (call.failed()) return {};
  if (start->count() != 1 || limit->count() != 1 || delta->count() != 1 || delta->doubles()[0] == 0)
    call.refuse(Fault::Format, "its bounds are no single numbers, or its step is 0");
  if (call.failed()) return {};
  const DType dtype = start->dtype();
  const double from = start->doubles()[0], step = delta->doubles()[0],
               cells = std::ceil((limit->doubles()[0] - from) / step);
  if (!(cells < static_cast<double>(most_places)))
    call.refuse(Fault::Limit, "makes " + std::to_string(cells) + " numbers");
  if (call.failed()) return {};
  const Size count = cells > 0 ? static_cast<Size>(cells) : 0;
  if (!is_floating(dtype)) {
    std::vector<std::int64_t> all;
    for (Size i = 0; i < count; ++i) all.push_back(start->integers()[0] + i * delta->integers()[0]);
    return {call.make_constant("range", whole_tensor(dtype, {count}, std::move(all)))};
  }
  // The kernel adds the step again and again, in the type.
  std::vector<float> all;
  auto at = static_cast<float>(from);
  for (Size i = 0; i < count; ++i, at += static_cast<float>(step)) all.push_back(at);
  return {call.make_constant("range", Tensor::of({count}, std::move(all)))};
}

std::vector<ValueId> slice(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const Sizes begin = numbers(call, "begin"), size = numbers(call, "size");
  const auto rank = static_cast<std::size_t>(call.rank(x));
  if (!call.failed() && (begin.size() != rank || size.size() != rank))
    call.refuse(Fault::Format,
                "begin " + text_of(begin) + " and size " + text_of(size) + " do not have the input's rank");
  for (std::size_t i = 0; i < rank && !call.failed(); ++i) {
    const auto end = checked_add(begin[i], size[i]);
    if (begin[i] < 0 || size[i] < -1 || !end) call.refuse(Fault::Format, "begin is " + text_of(begin));
    if (begin[i] == 0 && (size[i] == -1 || call.dim(x, static_cast<Size>(i)) == Dim(size[i]))) continue;
    const auto stop = size[i] == -1 ? std::nullopt : end;
    x = call.add(Slice{static_cast<Size>(i), begin[i], stop, 1}, {x});
  }
  return {call.add(Identity{}, {x})};
}

// Masks hold one bit for each entry: begin and end are left open, an axis of 1 is put in, or one cell is taken and its
// axis goes.
std::vector<ValueId> strided_slice(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const Sizes begin = numbers(call, "begin"), end = numbers(call, "end"), strides = numbers(call, "strides");
  const Size begin_mask = call.attrs.integer("begin_mask", 0), end_mask = call.attrs.integer("end_mask", 0);
  const Size ellipsis = call.attrs.integer("ellipsis_mask", 0), added = call.attrs.integer("new_axis_mask", 0);
  const Size shrink = call.attrs.integer("shrink_axis_mask", 0);
  if (call.attrs.truth("offset", false))
    call.refuse(Fault::Unsupported, "option 'offset' counts ends from begins, which is not carried");
  const std::size_t entries = begin.size();
  if (!call.failed() && (end.size() != entries || strides.size() != entries || entries > 32))
    call.refuse(Fault::Format, "begin " + text_of(begin) + ", end " + text_of(end) + " and strides " +
                                   text_of(strides) + " differ in length");
  const auto bit = [](Size mask, std::size_t i) { return (mask >> i & 1) != 0; };
  Size taken = 0;  // axes of the input that entries speak of
  for (std::size_t i = 0; i < entries; ++i) taken += !bit(ellipsis, i) && !bit(added, i);
  Size axis = 0;
  Sizes gone, made;
  Size place = 0;  // in the result, with the axes that go
  for (std::size_t i = 0; i < entries && !call.failed(); ++i) {
    if (bit(ellipsis, i)) {
      const Size whole = call.rank(x) - taken;
      axis += whole, place += whole;
      continue;
    }
    if (bit(added, i)) {
      made.push_back(place++);
      continue;
    }
    if (axis >= call.rank(x)) {
      call.refuse(Fault::Format, "slices axis " + std::to_string(axis) + " of shape " + text_of(call.shape(x)));
      break;
    }
    if (strides[i] == 0) call.refuse(Fault::Format, "a stride is 0");
    Slice cut{axis, {}, {}, strides[i]};
    if (bit(shrink, i)) {
      cut = Slice{axis, begin[i], begin[i] == -1 ? std::nullopt : checked_add(begin[i], 1), 1};
      gone.push_back(place);
    } else {
      if (!bit(begin_mask, i)) cut.start = begin[i];
      if (!bit(end_mask, i)) cut.stop = end[i];
    }
    const bool whole = cut.step == 1 && !bit(shrink, i) && (!cut.start || *cut.start == 0) && !cut.stop;
    if (!whole) x = call.add(cut, {x});
    ++axis, ++place;
  }
  if (call.failed()) return {};
  if (!made.empty()) x = call.add(Unsqueeze{made}, {x});
  if (!gone.empty()) x = call.add(Squeeze{gone}, {x});
  return {call.add(Identity{}, {x})};
}

std::vector<ValueId> tile(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const Sizes times = numbers(call, "multiples");
  if (!call.failed() && static_cast<Size>(times.size()) != call.rank(x))
    call.refuse(Fault::Format, "multiples are " + text_of(times) + " for shape " + text_of(call.shape(x)));
  for (std::size_t i = 0; i < times.size() && !call.failed(); ++i)
    if (times[i] != 1) x = call.add(Tile{static_cast<Size>(i), times[i]}, {x});
  // A file whose sizes are free computes these: the reader tells whose size repeats which axis.
  if (const ValueId like = call.optional("like"))
    x = call.add(ExpandLike{call.attrs.integer("along"), call.attrs.integer("from")}, {x, like});
  return {call.add(Identity{}, {x})};
}

// The sizes of 1 are repeated; the result has the wanted rank.
std::vector<ValueId> broadcast_to(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const Sizes to = numbers(call, "shape");
  const auto more = static_cast<Size>(to.size()) - call.rank(x);
  if (!call.failed() && more < 0)
    call.refuse(Fault::Format, "broadcasts " + text_of(call.shape(x)) + " to " + text_of(to));
  Sizes front;
  for (Size i = 0; i < more; ++i) front.push_back(i);
  if (!front.empty()) x = call.add(Unsqueeze{front}, {x});
  for (std::size_t i = 0; i < to.size() && !call.failed(); ++i) {
    const Dim own = call.dim(x, static_cast<Size>(i));
    if (own == Dim(to[i]) || to[i] == -1) continue;
    if (own != Dim(1)) call.refuse(Fault::Format, "broadcasts " + text_of(call.shape(x)) + " to " + text_of(to));
    x = call.add(Tile{static_cast<Size>(i), to[i]}, {x});
  }
  // Free sizes are those of other values, as the reader tells; -1 stands for an axis that is as long already.
  const auto likes = call.several("likes");
  const Sizes along = call.attrs.list("along", Sizes()), from = call.attrs.list("from", Sizes());
  for (std::size_t i = 0; i < likes.size() && i < along.size() && i < from.size(); ++i)
    x = call.add(ExpandLike{along[i], from[i]}, {x, likes[i]});
  return {call.add(Identity{}, {x})};
}

std::vector<ValueId> reverse(FunctionCall& call) {
  ValueId x = call.tensor("input");
  for (const Size said : numbers(call, "axes")) {
    const Size axis = axis_in(call, said, call.rank(x));
    x = call.add(Slice{axis, {}, {}, -1}, {x});
  }
  return {call.add(Identity{}, {x})};
}

constexpr std::array slice_table{
    Operator{"CONCATENATION", 2, "values...", 10, "axis:i fused_activation_function:b", concatenation},
    Operator{"SPLIT", 49, "split_dim input", 35, "num_splits:i", split},
    Operator{"SPLIT_V", 102, "input size_splits split_dim", 79, "num_splits:i", split_v},
    Operator{"PACK", 83, "values...", 59, "values_count:i axis:i", pack},
    Operator{"UNPACK", 88, "input", 64, "num:i axis:i", unpack},
    Operator{"GATHER", 36, "params indices", 23, "axis:i batch_dims:i", gather},
    Operator{"SLICE", 65, "input begin size", 48, "", slice},
    Operator{"STRIDED_SLICE", 45, "input begin end strides", 32,
             "begin_mask:i end_mask:i ellipsis_mask:i new_axis_mask:i shrink_axis_mask:i offset:b", strided_slice},
    Operator{"TILE", 69, "input multiples", 51, "", tile},
    Operator{"BROADCAST_TO", 130, "input shape", 104, "", broadcast_to},
    Operator{"BROADCAST_ARGS", 145, "a b", 0, ""},  // the reader follows these
    Operator{"RANK", 110, "input", 86, ""},
    Operator{"RANGE", 96, "start limit delta", 73, "", range},
    Operator{"GATHER_ND", 107, "params indices", 83, "", gather_nd},
    Operator{"SCATTER_ND", 122, "indices updates shape", 97, "", scatter_nd},
    Operator{"SEGMENT_SUM", 125, "data segment_ids", 100, "", segment_sum},
    Operator{"UNSORTED_SEGMENT_SUM", 155, "data segment_ids num_segments", 121, "", segment_sum},
    Operator{"ONE_HOT", 85, "indices depth on_value off_value", 61, "axis:i", one_hot},
    Operator{"MATRIX_DIAG", 113, "diagonal", 88, "", matrix_diag},
    Operator{"MATRIX_SET_DIAG", 115, "input diagonal", 90, "", matrix_set_diag},
    Operator{"REVERSE_SEQUENCE", 112, "input seq_lengths", 87, "seq_dim:i batch_dim:i", reverse_sequence},
    Operator{"REVERSE_V2", 105, "input axes", 81, "", reverse},
};

}  // namespace

std::span<const Operator> slice_operators() { return slice_table; }

}  // namespace convoy::tflite
