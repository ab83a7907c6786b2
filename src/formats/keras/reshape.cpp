// Flatten, Reshape, Permute and RepeatVector.
#include "formats/keras/call.h"

#include <array>

namespace convoy::keras {
namespace {

// Channels-first data is flattened in the order of channels-last data. Files from before that rule have no key.
Values flatten(Call& call) {
  ValueId x = call.x();
  const bool first = call.order() == Order::ChannelsFirst;
  if (first && call.rank(x) > 2) x = call.add(Transpose{to_channels_last(call.rank(x) - 2)}, {x}, "channels_last");
  return {call.add(Flatten{}, {x})};
}

Values reshape(Call& call) {
  const ValueId x = call.x();
  Sizes to{0};
  for (const Size n : call.attrs.list("target_shape")) {
    if (n != -1 && n < 1) call.refuse(Fault::Format, "attribute 'target_shape' holds " + std::to_string(n));
    to.push_back(n);
  }
  return {call.add(Reshape{to}, {x})};
}

Values permute(Call& call) {
  const ValueId x = call.x();
  Sizes permutation{0};
  for (const Size n : call.attrs.list("dims")) permutation.push_back(n);
  Sizes seen(permutation.size(), 0);
  for (const Size n : permutation)
    if (n < 0 || n >= static_cast<Size>(permutation.size()) || seen[static_cast<std::size_t>(n)]++)
      call.refuse(Fault::Format,
                  "attribute 'dims' is no order of the axes 1 to " + std::to_string(permutation.size() - 1));
  if (!call.expect_rank(x, static_cast<Size>(permutation.size()))) return {};
  return {call.add(Transpose{permutation}, {x})};
}

Values repeat_vector(Call& call) {
  const ValueId x = call.x();
  const Size n = call.attrs.integer("n");
  if (!call.expect_rank(x, 2)) return {};
  return {call.add(Tile{1, n}, {call.add(Unsqueeze{{1}}, {x}, "row")})};
}

constexpr std::array reshape_table{LayerRow{"Flatten", flatten}, LayerRow{"Reshape", reshape},
                                   LayerRow{"Permute", permute}, LayerRow{"RepeatVector", repeat_vector}};

}  // namespace

std::span<const LayerRow> reshape_rows() { return reshape_table; }

}  // namespace convoy::keras
