// Pads, other axes, parts and joins, and resizing: what brings numbers elsewhere.
#include "base/whole_tensor.h"
#include "formats/tflite/write/sink.h"

#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace convoy::tflite {
namespace {

Sizes pairs_of(const Sizes& before, const Sizes& after) {
  Sizes all;
  for (std::size_t i = 0; i < before.size(); ++i) {
    all.push_back(std::max<Size>(before[i], 0));
    all.push_back(std::max<Size>(after[i], 0));
  }
  return all;
}

// x[begin:end:step] along axes, the whole of the others.
void cut_last(Sink& sink, Place x, const std::vector<Slice>& cuts, bool is_last, Place& made) {
  const TensorType type = sink.type_of(x);
  const auto rank = type.shape.size();
  Sizes begin(rank, 0), end(rank, 0), strides(rank, 1);
  Size begins = (Size{1} << rank) - 1, ends = begins;
  Shape shape = type.shape;
  for (const Slice& cut : cuts) {
    const auto axis = static_cast<std::size_t>(cut.axis);
    strides[axis] = cut.step;
    if (cut.start) begin[axis] = *cut.start, begins &= ~(Size{1} << axis);
    if (cut.stop) end[axis] = *cut.stop, ends &= ~(Size{1} << axis);
    if (shape[axis].known()) shape[axis] = Dim(resolve(cut, *shape[axis]).count);
  }
  Options options{{"begin_mask", begins}, {"end_mask", ends}};
  const std::vector<Place> inputs{x, sink.numbers(begin), sink.numbers(end), sink.numbers(strides)};
  if (is_last) sink.last("STRIDED_SLICE", inputs, std::move(options));
  else made = sink.step("STRIDED_SLICE", inputs, {type.dtype, shape}, std::move(options));
}

Status write_pad(const Pad& pad, Sink& sink) {
  std::vector<Slice> cuts;
  bool grows = false, wide = false;
  for (std::size_t i = 0; i < pad.before.size(); ++i) {
    grows = grows || pad.before[i] > 0 || pad.after[i] > 0;
    wide = wide || pad.before[i] > 1 || pad.after[i] > 1;
    if (pad.before[i] >= 0 && pad.after[i] >= 0) continue;
    Slice cut{static_cast<Size>(i), {}, {}, 1};
    if (pad.before[i] < 0) cut.start = -pad.before[i];
    if (pad.after[i] < 0) cut.stop = pad.after[i];
    cuts.push_back(cut);
  }
  if (pad.repeats && pad.mode != PadMode::Constant) return sink.refused("a mirror that goes on");
  if (!cuts.empty() && grows && pad.mode != PadMode::Constant) return sink.broken("a pad that cuts and mirrors");
  Place x = sink.input();
  if (!cuts.empty()) cut_last(sink, x, cuts, !grows, x);
  if (!grows) {
    if (cuts.empty()) sink.pass_on();
    return {};
  }
  const Place cells =
      sink.stored_shape(sink.numbers(pairs_of(pad.before, pad.after)), {static_cast<Size>(pad.before.size()), 2});
  const bool symmetric = pad.mode == PadMode::Symmetric || (pad.mode == PadMode::Edge && !wide);
  if (pad.mode == PadMode::Constant && pad.value == 0) sink.last("PAD", {x, cells});
  else if (pad.mode == PadMode::Constant && sink.type().dtype == DType::F32)
    sink.last("PADV2", {x, cells, sink.number(pad.value)});
  else if (pad.mode == PadMode::Constant && (sink.type().dtype == DType::I32 || sink.type().dtype == DType::I64))
    sink.last("PADV2",
              {x, cells,
               sink.constant("number", whole_tensor(sink.type().dtype, {}, {static_cast<std::int64_t>(pad.value)}))});
  else if (pad.mode == PadMode::Reflect || symmetric) sink.last("MIRROR_PAD", {x, cells}, {{"mode", Size{symmetric}}});
  else return sink.refused("this mode of padding");
  return {};
}

constexpr std::array pad_writers{
    writes<write_pad>(),
    lacks<PadToWindow, Sink>("TFLite computes no pad from the size of its input, but for SAME of its own windows; give "
                             "the size with --size")};
static_assert(decides<Padded>(pad_writers));

// ---- other axes -------------------------------------------------------------------------------------------------------

// Sizes that stay free are the input's at the same place, unless `from` says another.
Status write_shape(Sink& sink, const std::vector<Size>& from) {
  const Shape& to = sink.result_type().shape;
  const auto free = std::ranges::count_if(to, [](Dim n) { return !n.known(); });
  if (free > 1 && from.empty()) return sink.refused("a reshape to more than one size that is not known beforehand");
  const Place x = sink.input();
  const Place shape = sink.sizes(to, x, from);
  sink.last("RESHAPE", {x, shape});
  return {};
}

Status write_reshape(const Reshape& op, Sink& sink) {
  const Shape& to = sink.result_type().shape;
  const auto free = std::ranges::count_if(to, [](Dim n) { return !n.known(); });
  if (free <= 1) return write_shape(sink, {});
  Shape wanted = to;
  // Those that are copied are known when the model runs; one that is left takes the rest.
  Place x = sink.input();
  std::vector<Place> parts;
  const TensorType scalar{DType::I32, {}};
  Place shape = -1;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].known() || op.to[i] == -1) {
      parts.push_back(sink.whole(wanted[i].known() ? *wanted[i] : -1));
      continue;
    }
    if (shape < 0) shape = sink.step("SHAPE", {x}, {DType::I32, {Dim(sink.rank())}}, {{"out_type", Size{2}}});
    const auto axis = static_cast<Size>(i);
    parts.push_back(sink.step("STRIDED_SLICE",
                              {shape, sink.numbers({axis}), sink.numbers({axis + 1}), sink.numbers({1})}, scalar,
                              {{"shrink_axis_mask", Size{1}}}));
  }
  const auto count = static_cast<Size>(parts.size());
  const Place packed =
      sink.step("PACK", std::move(parts), {DType::I32, {Dim(count)}}, {{"values_count", count}, {"axis", Size{0}}});
  sink.last("RESHAPE", {x, packed});
  return {};
}

Status write_flatten(const Flatten&, Sink& sink) { return write_reshape(Reshape{{0, -1}}, sink); }

Status write_transpose(const Transpose& op, Sink& sink) {
  const int version = op.permutation.size() > 5 ? 6 : op.permutation.size() > 4 ? 4 : 1;
  sink.last("TRANSPOSE", {sink.input(), sink.numbers(op.permutation)}, {}, version);
  return {};
}

Status write_unsqueeze(const Unsqueeze& op, Sink& sink) {
  Place x = sink.input();
  TensorType type = sink.type();
  for (std::size_t i = 0; i + 1 < op.axes.size(); ++i) {
    type.shape.insert(type.shape.begin() + op.axes[i], Dim(1));
    x = sink.step("EXPAND_DIMS", {x, sink.whole(op.axes[i])}, type);
  }
  if (op.axes.empty()) return sink.pass_on(), Status();
  sink.last("EXPAND_DIMS", {x, sink.whole(op.axes.back())});
  return {};
}

Status write_squeeze(const Squeeze& op, Sink& sink) {
  if (op.axes.empty()) return sink.pass_on(), Status();
  sink.last("SQUEEZE", {sink.input()}, {{"squeeze_dims", op.axes}});
  return {};
}

template <class Op>
Status write_block(const Op& op, Sink& sink, const char* name) {
  if (op.order != Order::ChannelsLast || sink.rank() != 4 || !op.depth_first)
    return sink.broken("depth in another order");
  if (op.block == 1) return sink.pass_on(), Status();
  sink.last(name, {sink.input()}, {{"block_size", op.block}});
  return {};
}
Status write_depth_to_space(const DepthToSpace& op, Sink& sink) { return write_block(op, sink, "DEPTH_TO_SPACE"); }
Status write_space_to_depth(const SpaceToDepth& op, Sink& sink) { return write_block(op, sink, "SPACE_TO_DEPTH"); }

template <class Op>
Status write_batch(const Op& op, Sink& sink, const char* name) {
  Sizes axes(op.axes.size());
  std::iota(axes.begin(), axes.end(), Size{1});
  if (op.axes != axes || sink.rank() > 4 || sink.rank() < 3) return sink.refused("space in the batch of these axes");
  const Place cells =
      sink.stored_shape(sink.numbers(pairs_of(op.before, op.after)), {static_cast<Size>(axes.size()), 2});
  sink.last(name, {sink.input(), sink.numbers(op.block), cells}, {}, sink.rank() == 3 ? 3 : 1);
  return {};
}
Status write_space_to_batch(const SpaceToBatch& op, Sink& sink) { return write_batch(op, sink, "SPACE_TO_BATCH_ND"); }
Status write_batch_to_space(const BatchToSpace& op, Sink& sink) { return write_batch(op, sink, "BATCH_TO_SPACE_ND"); }

constexpr std::array reshape_writers{
    writes<write_reshape>(),        writes<write_flatten>(),        writes<write_transpose>(),
    writes<write_unsqueeze>(),      writes<write_squeeze>(),        writes<write_depth_to_space>(),
    writes<write_space_to_depth>(), writes<write_space_to_batch>(), writes<write_batch_to_space>()};
static_assert(decides<ReshapeFamily>(reshape_writers));

// ---- parts and joins --------------------------------------------------------------------------------------------------

Status write_concat(const Concat& op, Sink& sink) {
  std::vector<Place> all;
  for (std::size_t i = 0; i < sink.node().inputs.size(); ++i) all.push_back(sink.input(i));
  if (all.size() == 1) return sink.pass_on(), Status();
  sink.last("CONCATENATION", std::move(all), {{"axis", op.axis}});
  return {};
}

Status write_slice(const Slice& op, Sink& sink) {
  Place unused = -1;
  cut_last(sink, sink.input(), {op}, true, unused);
  return {};
}

Status write_split(const Split& op, Sink& sink) {
  if (sink.type().dtype == DType::Bool) {  // SPLIT_V does not take truth
    Sizes begin(static_cast<std::size_t>(sink.rank()), 0), sizes(begin.size(), -1);
    const auto axis = static_cast<std::size_t>(op.axis);
    for (std::size_t i = 0; i < op.sizes.size(); ++i) {
      sizes[axis] = op.sizes[i];
      if (sink.is_read(i)) sink.give(i, "SLICE", {sink.input(), sink.numbers(begin), sink.numbers(sizes)});
      begin[axis] += op.sizes[i];
    }
    return {};
  }
  const auto parts = static_cast<Size>(op.sizes.size());
  sink.last("SPLIT_V", {sink.input(), sink.numbers(op.sizes), sink.whole(op.axis)}, {{"num_splits", parts}});
  return {};
}

Status write_tile(const Tile& op, Sink& sink) {
  Sizes times(static_cast<std::size_t>(sink.rank()), 1);
  times[static_cast<std::size_t>(op.axis)] = op.times;
  sink.last("TILE", {sink.input(), sink.numbers(times)});
  return {};
}

Status write_take(const Take& op, Sink& sink) {
  sink.last("GATHER", {sink.input(), sink.numbers(op.indices)}, {{"axis", op.axis}});
  return {};
}

// How long an axis of input 0 is, of which TFLite knows no number beforehand: as many ones, added up.
Place length_when_run(Sink& sink, Size axis, DType dtype) {
  const Place sizes = sink.sizes({sink.dim(axis)}, sink.input(), {axis}, {1});
  const Place one = sink.constant("one", whole_tensor(dtype, {1}, {1}));
  const Place ones = sink.step("TILE", {one, sizes}, {dtype, {Dim::unknown()}});
  return sink.step("SUM", {ones, sink.numbers({0})}, {dtype, {}}, {{"keep_dims", Size{0}}});
}

// The indices of input 1 along an axis of input 0, those from the end counted from the beginning, of a type that TFLite looks up by.
Result<Place> places_from_begin(Sink& sink, Size axis) {
  const Dim size = sink.dim(axis);
  const Tensor* known = sink.constant(1);
  if (known && std::ranges::none_of(known->integers(), [](Size n) { return n < 0; })) return sink.places(1);
  if (sink.rank(1) > 4) return sink.refused("a lookup at computed places along more than four axes");
  const Place places = sink.places(1);
  const TensorType type = sink.type_of(places);
  const auto number = [&](Size n) { return sink.constant("size", whole_tensor(type.dtype, {}, {n})); };
  const Place below = sink.step("LESS", {places, number(0)}, {DType::Bool, type.shape});
  const Place length = size.known() ? number(*size) : length_when_run(sink, axis, type.dtype);
  const Place from_end = sink.step("ADD", {places, length}, type);
  return sink.step("SELECT_V2", {below, from_end, places}, type);
}

Status write_gather(const Gather& op, Sink& sink) {
  const auto places = places_from_begin(sink, op.axis);
  if (!places) return std::unexpected(places.error());
  sink.last("GATHER", {sink.input(0), *places}, {{"axis", op.axis}});
  return {};
}

// Whether the places are the same for all that stand along the last axis, which is the one behind `axis`.
bool picks_rows(const Sink& sink, Size axis) {
  const NodeId maker = sink.graph()[sink.node().inputs[1]].producer;
  const auto* tile = maker ? get_if<Tile>(&sink.graph()[maker].op) : nullptr;
  if (!tile || tile->axis != sink.rank() - 1 || axis != sink.rank() - 2 || sink.dim(tile->axis) != Dim(tile->times) ||
      sink.dim(tile->axis, 1) != Dim(tile->times))
    return false;
  for (Size i = 0; i < axis; ++i)
    if (sink.dim(i) != sink.dim(i, 1)) return false;
  return true;
}

// Rows of each example, by the places of one of the numbers in each row.
Status write_rows(const GatherElements& op, Sink& sink) {
  const auto places = places_from_begin(sink, op.axis);
  if (!places) return std::unexpected(places.error());
  TensorType type = sink.type_of(*places);
  const auto rank = static_cast<std::size_t>(sink.rank());
  Sizes begin(rank, 0), sizes(rank, -1);
  sizes.back() = 1;
  type.shape.back() = Dim(1);
  const Place one = sink.step("SLICE", {*places, sink.numbers(begin), sink.numbers(sizes)}, type);
  type.shape.pop_back();
  const Place row = sink.step("SQUEEZE", {one}, type, {{"squeeze_dims", Sizes{sink.rank() - 1}}});
  sink.last("GATHER", {sink.input(0), row}, {{"axis", op.axis}, {"batch_dims", op.axis}});
  return {};
}

// TFLite looks up whole cells: all numbers of x in one row, by where in it each one lies.
Status write_gather_elements(const GatherElements& op, Sink& sink) {
  if (picks_rows(sink, op.axis)) return write_rows(op, sink);
  const auto of = sizes_of(sink.type(0).shape), to = sizes_of(sink.type(1).shape);
  const auto count = to ? checked_count(*to) : std::nullopt;
  if (!of || !count || *count > (Size{1} << 22))
    return sink.refused("a lookup number by number in axes whose sizes are not known beforehand");
  const auto places = places_from_begin(sink, op.axis);
  if (!places) return std::unexpected(places.error());
  const TensorType type = sink.type_of(*places);
  Sizes steps(of->size(), 1);
  for (std::size_t i = steps.size() - 1; i-- > 0;) steps[i] = steps[i + 1] * (*of)[i + 1];
  std::vector<std::int64_t> others;
  Sizes at(to->size(), 0);
  for (Size n = 0; n < *count; ++n) {
    Size place = 0;
    for (std::size_t i = 0; i < at.size(); ++i)
      if (static_cast<Size>(i) != op.axis) place += at[i] * steps[i];
    others.push_back(place);
    for (std::size_t i = at.size(); i-- > 0 && ++at[i] == (*to)[i];) at[i] = 0;
  }
  const Place step = sink.constant("step", whole_tensor(type.dtype, {}, {steps[static_cast<std::size_t>(op.axis)]}));
  const Place own = sink.step("MUL", {*places, step}, type);
  const Place all =
      sink.step("ADD", {own, sink.constant("places", whole_tensor(type.dtype, *to, std::move(others)))}, type);
  const Size cells = steps[0] * (*of)[0];
  const Place row = sink.step("RESHAPE", {sink.input(0), sink.numbers({cells})}, {sink.type(0).dtype, {Dim(cells)}});
  sink.last("GATHER", {row, all}, {{"axis", Size{0}}});
  return {};
}

// Repeated as often as the other's axis is long.
Status write_expand_like(const ExpandLike& op, Sink& sink) {
  Shape times(static_cast<std::size_t>(sink.rank()), Dim(1));
  std::vector<Size> from(times.size(), 0);
  times[static_cast<std::size_t>(op.axis)] = sink.dim(op.from, 1);
  from[static_cast<std::size_t>(op.axis)] = op.from;
  const Place all = sink.sizes(times, sink.input(1), from, Sizes(times.size(), 1));
  sink.last("TILE", {sink.input(), all});
  return {};
}

// A place behind the last cell is taken for the end.
Status write_slice_behind(const SliceBehind&, Sink& sink) {
  const Place begin = sink.sizes({sink.dim(0, 1)}, sink.input(1), {0}, {1});
  sink.last("STRIDED_SLICE", {sink.input(), begin, sink.numbers({0}), sink.numbers({1})}, {{"end_mask", Size{1}}});
  return {};
}

constexpr std::array slice_writers{
    writes<write_concat>(),      writes<write_slice>(),  writes<write_split>(),           writes<write_tile>(),
    writes<write_take>(),        writes<write_gather>(), writes<write_gather_elements>(), writes<write_expand_like>(),
    writes<write_slice_behind>()};
static_assert(decides<SliceConcat>(slice_writers));

constexpr std::array unfold_writers{lacks<Unfold, Sink>("TFLite lays no windows side by side (a pass spells it)"),
                                    lacks<Fold, Sink>("TFLite adds no windows back (a pass spells it)")};
static_assert(decides<Unfolding>(unfold_writers));

// ---- resizing ---------------------------------------------------------------------------------------------------------

Status write_resize(const Resize& op, Sink& sink) {
  const bool nearest = op.interpolation == Interpolation::Nearest;
  const bool aligned = op.coordinates == Coordinates::AlignCorners, centred = op.coordinates == Coordinates::HalfPixel;
  const bool corner = op.coordinates == Coordinates::Asymmetric;
  Sizes factors;
  for (const double f : op.factors)
    if (op.sizes.empty() && f >= 1 && f == std::floor(f) && f <= 4096) factors.push_back(static_cast<Size>(f));
  const bool whole = factors.size() == op.axes.size();
  // With whole factors the first cell of each block is also the nearest one.
  const bool repeats = nearest && corner && op.rounding == Rounding::Floor;
  const bool rounds = nearest && (aligned || centred) && op.rounding == Rounding::RoundHalfUp;
  const bool linear = op.interpolation == Interpolation::Linear && (aligned || centred || corner);
  if (op.antialias || op.fixed != FixedLengths::None || op.arithmetic != Arithmetic::Multiplied ||
      !(repeats || rounds || linear))
    return sink.refused("this interpolation");
  Place x = sink.input();
  Shape shape = sink.type().shape, to = sink.result_type().shape;
  const bool over_one = shape.size() == 3;
  if ((op.axes != Sizes{1, 2} || shape.size() != 4) && (op.axes != Sizes{1} || !over_one))
    return sink.refused("a resize of these axes");
  if (!op.factors.empty() && !whole) return sink.refused("a resize by a factor that is no whole number");
  if (over_one) {
    shape.insert(shape.begin() + 1, Dim(1));
    to.insert(to.begin() + 1, Dim(1));
    x = sink.step("EXPAND_DIMS", {x, sink.whole(1)}, {DType::F32, shape});
  }
  const Sizes times = over_one && whole ? Sizes{1, factors[0]} : factors;
  if ((!to[1].known() || !to[2].known()) && !whole)
    return sink.refused("a resize to a size that is not known beforehand");
  const Place size = sink.sizes({to[1], to[2]}, x, {1, 2}, times.empty() ? Sizes{1, 1} : times);
  const int version = centred || (nearest && aligned) ? 3 : 1;
  Options options;
  if (aligned) options.push_back({"align_corners", Size{1}});
  if (centred) options.push_back({"half_pixel_centers", Size{1}});
  const char* name = nearest ? "RESIZE_NEAREST_NEIGHBOR" : "RESIZE_BILINEAR";
  if (!over_one) return sink.last(name, {x, size}, std::move(options), version), Status();
  sink.last("SQUEEZE", {sink.step(name, {x, size}, {DType::F32, to}, std::move(options), version)},
            {{"squeeze_dims", Sizes{1}}});
  return {};
}

constexpr std::array resize_writers{writes<write_resize>(),
                                    lacks<GridSample, Sink>("TFLite looks no image up at computed places")};
static_assert(decides<ResizeFamily>(resize_writers));

constexpr std::string_view why_no_cells =
    "TFLite's recurrent cells are spelt out step by step, and here the length is not known beforehand or above 512; "
    "give it "
    "with --size or --shape";
constexpr std::array recurrent_writers{lacks<Lstm, Sink>(why_no_cells), lacks<Gru, Sink>(why_no_cells),
                                       lacks<SimpleRnn, Sink>(why_no_cells)};
static_assert(decides<Recurrent>(recurrent_writers));

}  // namespace

std::span<const Row> pad_rows() { return pad_writers; }
std::span<const Row> reshape_rows() { return reshape_writers; }
std::span<const Row> slice_concat_rows() { return slice_writers; }
std::span<const Row> unfold_rows() { return unfold_writers; }
std::span<const Row> resize_rows() { return resize_writers; }
std::span<const Row> recurrent_rows() { return recurrent_writers; }

}  // namespace convoy::tflite
