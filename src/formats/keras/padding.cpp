// ZeroPadding and Cropping, which is a padding by negative counts.
#include "formats/keras/call.h"

#include <array>

namespace convoy::keras {
namespace {

struct Counts {
  Sizes before, after;
};

// One number for all, one per axis, or a pair per axis; in one dimension two numbers are a pair.
Counts counts_of(Call& call, std::string_view key, std::size_t space) {
  Counts counts;
  const Json* argument = call.attrs.raw(key);
  if (!argument) {
    call.refuse(Fault::Format, "attribute '" + std::string(key) + "' is missing");
    return counts;
  }
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

Values shift(Call& call, std::string_view key, Size space, Size sign) {
  const ValueId x = call.x();
  const Axes axes{call.order(), space};
  const Counts counts = counts_of(call, key, static_cast<std::size_t>(space));
  if (!call.expect_rank(x, axes.rank())) return {};
  Pad pad{Sizes(static_cast<std::size_t>(axes.rank()), 0), Sizes(static_cast<std::size_t>(axes.rank()), 0),
          PadMode::Constant, 0};
  for (Size i = 0; i < space; ++i) {
    const auto from = static_cast<std::size_t>(i), to = static_cast<std::size_t>(axes.spatial(i));
    constexpr Size most = Size{1} << 30;
    for (const Size n : {counts.before[from], counts.after[from]})
      if (n < 0 || n > most)
        call.refuse(Fault::Format, "attribute '" + std::string(key) + "' holds " + std::to_string(n));
    pad.before[to] = sign * counts.before[from];
    pad.after[to] = sign * counts.after[from];
  }
  return {call.add(pad, {x})};
}

template <Size space>
Values zero_padding(Call& call) {
  return shift(call, "padding", space, 1);
}
template <Size space>
Values cropping(Call& call) {
  return shift(call, "cropping", space, -1);
}

constexpr std::array padding_table{
    LayerRow{"ZeroPadding1D", zero_padding<1>}, LayerRow{"ZeroPadding2D", zero_padding<2>},
    LayerRow{"ZeroPadding3D", zero_padding<3>}, LayerRow{"Cropping1D", cropping<1>},
    LayerRow{"Cropping2D", cropping<2>},        LayerRow{"Cropping3D", cropping<3>},
};

}  // namespace

std::span<const LayerRow> padding_rows() { return padding_table; }

}  // namespace convoy::keras
