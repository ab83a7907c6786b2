// Pads and crops, which are pads by negative counts. Source: keras/src/layers/reshaping and ops/numpy.py of Keras 3.15.
#include "formats/keras/catalogue/write.h"
#include "formats/shortest.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::keras {
namespace {

struct Counts {
  Sizes before, after;
};

// One number for all, one per axis, or a pair per axis; in one dimension two numbers are a pair.
Counts counts_of(Use& use, std::string_view key, std::size_t space) {
  Call& call = use.call;
  const Json* argument = use.option(key);
  if (!argument) return {Sizes(space, use.whole(key)), Sizes(space, use.whole(key))};
  const Json& value = *Attrs::tuple_of(argument);
  if (space == 1 && value.is_array() && value.size() == 2 && !value[0].is_array()) {
    const Sizes pair = call.attrs.sizes_of(&value, key, 2);
    return {{pair[0]}, {pair[1]}};
  }
  if (!value.is_array()) {
    const Size n = call.attrs.integer_of(&value, key);
    return {Sizes(space, n), Sizes(space, n)};
  }
  // Keras 1: (top, bottom, left, right)
  if (space == 2 && value.size() == 4) {
    const Sizes four = call.attrs.sizes_of(&value, key, 4);
    return {{four[0], four[2]}, {four[1], four[3]}};
  }
  Counts counts;
  if (value.size() != space) {
    call.refuse(Fault::Format, "attribute '" + std::string(key) + "' has " + std::to_string(value.size()) +
                                   " entries, expected " + std::to_string(space));
    return counts;
  }
  for (const Json& one : value) {
    const Json& axis = *Attrs::tuple_of(&one);
    const Sizes pair = call.attrs.sizes_of(&axis, key, 2);
    counts.before.push_back(pair[0]);
    counts.after.push_back(pair[1]);
  }
  return counts;
}

Values shift(Use& use, std::string_view key, Size sign) {
  Call& call = use.call;
  const ValueId x = call.x();
  const Axes axes{call.order(), use.space()};
  const Counts counts = counts_of(use, key, static_cast<std::size_t>(axes.space));
  if (!call.expect_rank(x, axes.rank())) return {};
  Pad pad{Sizes(static_cast<std::size_t>(axes.rank()), 0), Sizes(static_cast<std::size_t>(axes.rank()), 0),
          PadMode::Constant, 0};
  for (Size i = 0; i < axes.space; ++i) {
    const auto from = static_cast<std::size_t>(i), to = static_cast<std::size_t>(axes.spatial(i));
    constexpr Size most = Size{1} << 30;
    for (const Size n : {counts.before[from], counts.after[from]})
      if (n < 0 || n > most)
        call.refuse(Fault::Format, "attribute '" + std::string(key) + "' holds " + std::to_string(n));
    pad.before[to] = sign * counts.before[from];
    pad.after[to] = sign * counts.after[from];
  }
  return use.add(pad, {x});
}

Values zero_padding(Use& use) { return shift(use, "padding", 1); }
Values cropping(Use& use) { return shift(use, "cropping", -1); }

// One number for all sides of all axes, a pair for all axes, or a pair for each.
Values pad(Use& use) {
  Call& call = use.call;
  const ValueId x = use.operand("x");
  const auto rank = static_cast<std::size_t>(call.rank(x));
  const Json* width = use.option("pad_width");
  const std::string mode = use.word("mode");
  Pad op{Sizes(rank, 0), Sizes(rank, 0), PadMode::Constant, use.number("constant_values")};
  constexpr std::array modes{std::pair{"constant", PadMode::Constant}, std::pair{"reflect", PadMode::Reflect},
                             std::pair{"symmetric", PadMode::Symmetric}, std::pair{"edge", PadMode::Edge},
                             std::pair{"wrap", PadMode::Wrap}};
  const auto known = std::ranges::find(modes, mode, [](const auto& m) { return std::string_view(m.first); });
  if (known == modes.end())
    call.refuse(Fault::Unsupported, "pads by '" + mode + "', which this version does not carry");
  else op.mode = known->second;
  if (!width) call.refuse(Fault::Format, "argument 'pad_width' is missing");
  if (call.failed()) return {};
  const Json& list = *Attrs::tuple_of(width);
  const bool one_for_all = !list.is_array() || (!list.empty() && !list[0].is_array());
  for (std::size_t i = 0; i < rank && !call.failed(); ++i) {
    if (!one_for_all && list.size() != rank && list.size() != 1) {
      call.refuse(Fault::Format, "argument 'pad_width' has " + std::to_string(list.size()) + " pairs, expected " +
                                     std::to_string(rank));
      break;
    }
    const Json& pair = one_for_all ? list : list[list.size() == 1 ? 0 : i];
    const Sizes both = pair.is_array() && pair.size() == 1 ? Sizes(2, call.attrs.integer_of(&pair[0], "pad_width"))
                                                           : call.attrs.sizes_of(&pair, "pad_width", 2);
    op.before[i] = both[0], op.after[i] = both[1];
    if (both[0] < 0 || both[1] < 0) call.refuse(Fault::Format, "argument 'pad_width' is negative");
  }
  return use.add(op, {x});
}

constexpr std::array rows_of_padding{
    CatalogueRow{"layers.ZeroPadding1D layers.ZeroPadding2D layers.ZeroPadding3D",
                 "padding=1 data_format=", zero_padding},
    CatalogueRow{"layers.Cropping1D", "cropping=1", cropping},
    CatalogueRow{"layers.Cropping2D", "cropping=0 data_format=", cropping},
    CatalogueRow{"layers.Cropping3D", "cropping=1 data_format=", cropping},
    CatalogueRow{"numpy.Pad", "x pad_width mode=constant constant_values=0", pad},
};

}  // namespace

std::span<const CatalogueRow> padding_operators() { return rows_of_padding; }

namespace writing {
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
  else if (pad.value != 0 && sink.type().dtype == DType::Bool)
    config.kwargs.emplace_back("constant_values", Json(true));
  else if (pad.value != 0 && is_floating(sink.type().dtype))
    config.kwargs.emplace_back("constant_values", Json(shortest(static_cast<float>(pad.value))));
  else if (pad.value != 0) config.kwargs.emplace_back("constant_values", Json(static_cast<std::int64_t>(pad.value)));
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

}  // namespace writing
}  // namespace convoy::keras
