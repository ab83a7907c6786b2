// Pads: ZeroPadding and Cropping along space, keras.ops.pad elsewhere and for other modes.
#include "formats/keras/write/sink.h"

#include <algorithm>
#include <array>

namespace convoy::keras::writing {
namespace {

bool any(const Sizes& sizes, bool (*test)(Size)) { return std::ranges::any_of(sizes, test); }

Sizes only(const Sizes& sizes, bool positive) {
  Sizes all;
  for (const Size n : sizes) all.push_back(positive ? std::max<Size>(n, 0) : std::max<Size>(-n, 0));
  return all;
}

bool spatial_alone(const Pad& pad) {
  const std::size_t rank = pad.before.size();
  if (rank < 3 || rank > 5) return false;
  return pad.before.front() == 0 && pad.after.front() == 0 && pad.before.back() == 0 && pad.after.back() == 0;
}

// How ZeroPadding and Cropping take their counts: a pair in one dimension, a pair per axis otherwise; one number where
// all are equal.
Json counts(const Sizes& before, const Sizes& after) {
  const auto last = static_cast<std::ptrdiff_t>(before.size()) - 1;
  Sizes all(before.begin() + 1, before.begin() + last);
  all.insert(all.end(), after.begin() + 1, after.begin() + last);
  if (const Json one = one_or_all(all); !one.is_array()) return one;
  Json pairs = Json::array();
  for (std::ptrdiff_t i = 1; i < last; ++i)
    pairs.push_back(Json::array({before[static_cast<std::size_t>(i)], after[static_cast<std::size_t>(i)]}));
  return pairs.size() == 1 ? pairs[0] : pairs;
}

Shape cut(const Sink& sink, const Sizes& before, const Sizes& after) {
  Shape shape = sink.type().shape;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i].known()) shape[i] = Dim(*shape[i] - before[i] - after[i]);
  return shape;
}

LayerConfig crop(const Pad& pad, const Sink& sink) {
  const Sizes before = only(pad.before, false), after = only(pad.after, false);
  if (spatial_alone(pad)) {
    LayerConfig config = sink.layer(class_of("Cropping", static_cast<Size>(before.size()) - 2));
    config.arguments["cropping"] = counts(before, after);
    return config;
  }
  LayerConfig config = sink.operation("numpy", "GetItem");
  Json key = Json::array();
  for (std::size_t i = 0; i < before.size(); ++i) {
    Json one = {{"class_name", "__slice__"}, {"config", {{"start", nullptr}, {"stop", nullptr}, {"step", nullptr}}}};
    if (before[i] > 0) one["config"]["start"] = before[i];
    if (after[i] > 0) one["config"]["stop"] = -after[i];
    key.push_back(std::move(one));
  }
  config.args.emplace_back(std::move(key));
  return config;
}

LayerConfig grow(const Pad& pad, const Sink& sink, const char* mode) {
  const Sizes before = only(pad.before, true), after = only(pad.after, true);
  if (spatial_alone(pad) && pad.mode == PadMode::Constant && pad.value == 0) {
    LayerConfig config = sink.layer(class_of("ZeroPadding", static_cast<Size>(before.size()) - 2));
    config.arguments["padding"] = counts(before, after);
    return config;
  }
  LayerConfig config = sink.operation("numpy", "Pad");
  Json width = Json::array();
  for (std::size_t i = 0; i < before.size(); ++i) width.push_back(Json::array({before[i], after[i]}));
  config.arguments["pad_width"] = std::move(width);
  if (pad.mode != PadMode::Constant) config.arguments["mode"] = mode;
  else if (pad.value != 0) config.kwargs.emplace_back("constant_values", Json(shortest(static_cast<float>(pad.value))));
  return config;
}

Status write_pad(const Pad& pad, Sink& sink) {
  const auto negative = [](Size n) { return n < 0; };
  const auto positive = [](Size n) { return n > 0; };
  const bool cuts = any(pad.before, negative) || any(pad.after, negative);
  const bool grows = any(pad.before, positive) || any(pad.after, positive);
  const bool wide = any(pad.before, [](Size n) { return n > 1; }) || any(pad.after, [](Size n) { return n > 1; });
  const char* mode = "reflect";
  // One cell repeated is one cell mirrored behind the border.
  if (pad.mode == PadMode::Symmetric || (pad.mode == PadMode::Edge && !wide)) mode = "symmetric";
  else if (grows && (pad.mode == PadMode::Edge || pad.mode == PadMode::Wrap))
    return sink.broken("a pad by edges or from the other side");
  if (cuts && grows && pad.mode != PadMode::Constant) return sink.broken("a pad that cuts and mirrors");
  if (cuts && grows) {
    LayerConfig second = grow(pad, sink, mode);
    const Shape between = cut(sink, only(pad.before, false), only(pad.after, false));
    second.args[0] = sink.step(crop(pad, sink), "crop", {sink.type().dtype, between});
    return sink.last(std::move(second));
  }
  return sink.last(cuts ? crop(pad, sink) : grow(pad, sink, mode));
}

constexpr std::array pad_table{
    writes<write_pad>(),
    lacks<PadToWindow, Sink>("Keras computes no pad from the size of its input, but for 'same' of its own windows; "
                             "give the size with --size")};
static_assert(decides<Padded>(pad_table));

}  // namespace

std::span<const Row> pad_rows() { return pad_table; }

}  // namespace convoy::keras::writing
