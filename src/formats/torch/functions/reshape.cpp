// Channels moved into space and back, channels shuffled. Source: ATen/native/PixelShuffle.h, ChannelShuffle.cpp.
#include "formats/torch/functions/arguments.h"
#include "formats/torch/functions/functions.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::torch {
namespace {

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

std::vector<ValueId> pixel_shuffle(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size block = positive(call, "upscale_factor");
  if (!holds_images(call, x)) return {};
  return {call.add(DepthToSpace{Order::ChannelsFirst, block, false}, {x})};
}

std::vector<ValueId> pixel_unshuffle(FunctionCall& call) {
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
std::vector<ValueId> channel_shuffle(FunctionCall& call) {
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

constexpr std::array reshape_table{FunctionRow{"pixel_shuffle", "input upscale_factor", pixel_shuffle},
                                   FunctionRow{"pixel_unshuffle", "input downscale_factor", pixel_unshuffle},
                                   FunctionRow{"channel_shuffle", "input groups", channel_shuffle},
                                   FunctionRow{"PixelShuffle", "upscale_factor", pixel_shuffle},
                                   FunctionRow{"PixelUnshuffle", "downscale_factor", pixel_unshuffle},
                                   FunctionRow{"ChannelShuffle", "groups", channel_shuffle}};

}  // namespace

std::span<const FunctionRow> reshape_functions() { return reshape_table; }

}  // namespace convoy::torch
