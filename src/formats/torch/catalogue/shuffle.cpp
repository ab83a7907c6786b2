// Channels moved into space and back, channels shuffled. Source: ATen/native/PixelShuffle.h, ChannelShuffle.cpp.
#include "formats/torch/catalogue/shuffle.h"

#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/catalogue.h"
#include "ops/expect.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

bool holds_images(FunctionCall& call, ValueId x) {
  if (!call.failed() && call.rank(x) < 3)
    call.refuse(Fault::Format, "input has shape " + text_of(call.shape(x)) + ", expected rank 3 or more");
  return !call.failed();
}

Size positive(FunctionCall& call, std::string_view key) {
  const Size number = whole_number(call, key);
  expect_least(call, key, {number}, 1);
  return number;
}

Results pixel_shuffle(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size block = positive(call, "upscale_factor");
  if (!holds_images(call, x)) return {};
  return {call.add(DepthToSpace{Order::ChannelsFirst, block, false}, {x})};
}

Results pixel_unshuffle(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size block = positive(call, "downscale_factor");
  if (!holds_images(call, x)) return {};
  return {call.add(SpaceToDepth{Order::ChannelsFirst, block, false}, {x})};
}

// Sizes of x behind its channels, for a reshape: one of them may be unknown.
Sizes behind_channels(FunctionCall& call, ValueId x) {
  Sizes sizes;
  Size open = 0;
  for (Size i = 2; i < call.rank(x); ++i) {
    const Dim n = call.dim(x, i);
    if (!n.known()) ++open;
    sizes.push_back(n.known() ? *n : -1);
  }
  if (open > 1) call.refuse(Fault::Unsupported, "channel_shuffle needs an input of known size");
  return sizes;
}

// y[c] = x[(c mod groups) * (C / groups) + c / groups]
Results channel_shuffle(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size groups = positive(call, "groups");
  if (!holds_images(call, x)) return {};
  const Dim channels = call.dim(x, 1);
  if (!channels.known() || *channels % groups != 0)
    call.refuse(Fault::Unsupported, "groups is " + std::to_string(groups) + ", which does not divide the channels of " +
                                        text_of(call.shape(x)));
  if (call.failed()) return {};
  const Shape& shape = call.shape(x);
  if (std::count_if(shape.begin() + 2, shape.end(), [](Dim n) { return !n.known(); }) > 1) {
    Take take{1, {}};
    for (Size c = 0; c < *channels; ++c) take.indices.push_back(c % groups * (*channels / groups) + c / groups);
    return {call.add(take, {x})};
  }
  Sizes back{0, *channels};
  for (const Size n : behind_channels(call, x)) back.push_back(n);
  const ValueId grouped = call.add(Reshape{{0, groups, *channels / groups, -1}}, {x});
  return {call.add(Reshape{back}, {call.add(Transpose{{0, 2, 1, 3}}, {grouped})})};
}

constexpr std::array rows_of_shuffles{
    CatalogueRow{"pixel_shuffle nn.PixelShuffle", "input:T upscale_factor:i", pixel_shuffle},
    CatalogueRow{"pixel_unshuffle nn.PixelUnshuffle", "input:T downscale_factor:i", pixel_unshuffle},
    CatalogueRow{"channel_shuffle nn.ChannelShuffle", "input:T groups:i", channel_shuffle},
};

}  // namespace

Status write_depth_to_space(const DepthToSpace& op, Call& c) {
  if (op.order != Order::ChannelsFirst) return c.broken("depth_to_space with channels last");
  if (op.depth_first && c.type(0).rank() != 4) return c.refused("depth_to_space of another rank than 4, blocks first,");
  const Expression x = c.begin(0);
  const std::string text =
      op.depth_first ? fmt::format("F.pixel_shuffle({}.unflatten(1, ({}, -1)).transpose(1, 2).flatten(1, 2), {})",
                                   postfix(x), op.block * op.block, op.block)
                     : fmt::format("F.pixel_shuffle({}, {})", x.text, op.block);
  c.result({text, Binds::Atom, 3, false, op.depth_first ? "blocks before channels, unlike pixel_shuffle alone" : ""});
  return {};
}

Status write_space_to_depth(const SpaceToDepth& op, Call& c) {
  if (op.order != Order::ChannelsFirst) return c.broken("space_to_depth with channels last");
  if (op.depth_first && c.type(0).rank() != 4) return c.refused("space_to_depth of another rank than 4, blocks first,");
  const Expression x = c.begin(0);
  std::string text = fmt::format("F.pixel_unshuffle({}, {})", x.text, op.block);
  if (op.depth_first) text += fmt::format(".unflatten(1, (-1, {})).transpose(1, 2).flatten(1, 2)", op.block * op.block);
  c.result({text, Binds::Atom, 3, false, op.depth_first ? "blocks before channels, unlike pixel_unshuffle alone" : ""});
  return {};
}

std::span<const CatalogueRow> shuffle_operators() { return rows_of_shuffles; }

}  // namespace convoy::torch
