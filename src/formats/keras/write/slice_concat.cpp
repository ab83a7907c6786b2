// Parts taken out of tensors and tensors put side by side.
#include "formats/keras/write/sink.h"

#include <algorithm>
#include <array>

namespace convoy::keras::writing {
namespace {

Status write_concat(const Concat& op, Sink& sink) {
  std::vector<Item> items;
  bool constants = false;
  for (std::size_t i = 0; i < sink.node().inputs.size(); ++i) {
    if (const Tensor* known = sink.constant(i)) items.emplace_back(*known), constants = true;
    else items.emplace_back(std::get<Reference>(sink.argument(i)));
  }
  const bool layer = !constants && op.axis > 0 && items.size() > 1;
  Said said;
  said.class_name = "Concatenate";
  if (!layer) said.module = "keras.src.ops.numpy";
  if (op.axis != (layer ? sink.rank() - 1 : 0)) said.arguments["axis"] = op.axis;
  said.args = {std::move(items)};
  return sink.last(std::move(said));
}

Json slice_of(std::optional<Size> start, std::optional<Size> stop, Size step) {
  Json one = {{"class_name", "__slice__"}, {"config", {{"start", nullptr}, {"stop", nullptr}, {"step", nullptr}}}};
  if (start) one["config"]["start"] = *start;
  if (stop) one["config"]["stop"] = *stop;
  if (step != 1) one["config"]["step"] = step;
  return one;
}

// x[:, a:b:c], with as many whole axes in front as there are.
Status write_slice(const Slice& op, Sink& sink) {
  Said said = sink.operation("numpy", "GetItem");
  Json key = Json::array();
  for (Size i = 0; i < op.axis; ++i) key.push_back(slice_of({}, {}, 1));
  key.push_back(slice_of(op.start, op.stop, op.step));
  said.args.emplace_back(std::move(key));
  return sink.last(std::move(said));
}

Status write_split(const Split& op, Sink& sink) {
  Said said = sink.operation("numpy", "Split");
  if (std::ranges::all_of(op.sizes, [&](Size n) { return n == op.sizes.front(); })) {
    said.arguments["indices_or_sections"] = static_cast<Size>(op.sizes.size());
  } else {
    Sizes places;
    Size at = 0;
    for (std::size_t i = 0; i + 1 < op.sizes.size(); ++i) places.push_back(at += op.sizes[i]);
    said.arguments["indices_or_sections"] = places;
  }
  if (op.axis != 0) said.arguments["axis"] = op.axis;
  return sink.last(std::move(said));
}

Status write_tile(const Tile& op, Sink& sink) {
  Said said = sink.operation("numpy", "Tile");
  Sizes times(static_cast<std::size_t>(sink.rank()), 1);
  times[static_cast<std::size_t>(op.axis)] = op.times;
  said.arguments["repeats"] = times;
  return sink.last(std::move(said));
}

Status write_take(const Take& op, Sink& sink) {
  Said said = sink.operation("numpy", "Take");
  said.arguments["axis"] = op.axis;
  said.args.emplace_back(Json(op.indices));
  return sink.last(std::move(said));
}

template <class Op>
Status write_lookup(const Op& op, Sink& sink, const char* class_name) {
  Said said = sink.operation("numpy", class_name);
  said.arguments["axis"] = op.axis;
  said.args.push_back(sink.argument(1));
  return sink.last(std::move(said));
}

Status write_gather(const Gather& op, Sink& sink) { return write_lookup(op, sink, "Take"); }
Status write_gather_elements(const GatherElements& op, Sink& sink) { return write_lookup(op, sink, "TakeAlongAxis"); }

constexpr std::array rows{writes<write_concat>(),
                          writes<write_slice>(),
                          writes<write_split>(),
                          writes<write_tile>(),
                          writes<write_take>(),
                          writes<write_gather>(),
                          writes<write_gather_elements>(),
                          lacks<ExpandLike, Sink>("Keras repeats no axis as often as another tensor is long")};
static_assert(decides<SliceConcat>(rows));

}  // namespace

std::span<const Row> slice_concat_rows() { return rows; }

}  // namespace convoy::keras::writing
