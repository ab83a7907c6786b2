// The same numbers under other axes, as methods behind the tensor.
#include "formats/torch/families.h"

#include <fmt/format.h>
#include <algorithm>
#include <optional>

namespace convoy::torch {
namespace {

// Where the new axes of length 1 stand, if nothing else is new: they need no numbers.
std::optional<Sizes> new_axes(const Shape& from, const Shape& to) {
  Sizes axes;
  std::size_t at = 0;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const bool same = at < from.size() && from[at].known() == to[i].known() && (!to[i].known() || *from[at] == *to[i]);
    if (same && (to[i].known() || i == 0)) ++at;
    else if (to[i].known() && *to[i] == 1) axes.push_back(static_cast<Size>(i));
    else return std::nullopt;
  }
  return at == from.size() && !axes.empty() && axes.size() < 4 ? std::optional(axes) : std::nullopt;
}

// -1 for the one size that is not known; where several are not, those that are copied ask the tensor.
Status write_reshape(const Reshape& op, Call& c) {
  const Shape& shape = c.result_fact().shape;
  const auto unknown = std::ranges::count_if(shape, [](Dim d) { return !d.known(); });
  std::vector<std::string> sizes;
  if (const auto axes = new_axes(c.fact(0).shape, shape)) {
    std::string text;
    for (const Size axis : *axes) text += fmt::format(".unsqueeze({})", axis);
    apply_method(c, text);
    return {};
  }
  if (unknown <= 1) {
    for (const Dim d : shape) sizes.push_back(std::to_string(d.known() ? *d : -1));
    apply_method(c, ".reshape(" + joined(sizes) + ")");
    return {};
  }
  const std::string x = c.name(0);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].known()) sizes.push_back(std::to_string(*shape[i]));
    else sizes.push_back(op.to[i] == 0 ? fmt::format("{}.shape[{}]", x, i) : std::to_string(op.to[i]));
  }
  c.result({x + ".reshape(" + joined(sizes) + ")", Binds::Atom, 1, false, {}});
  return {};
}

Status write_flatten(const Flatten&, Call& c) {
  std::string comment;
  const auto& origin = c.graph()[c.node().outputs[0]].origin;
  if (origin && origin->split.size() > 2 && !is_identity(origin->permutation))
    comment = "channels first: the weights behind it were reordered to match";
  apply_method(c, ".flatten(1)", comment);
  return {};
}

Status write_transpose(const Transpose& op, Call& c) {
  Sizes moved;
  for (std::size_t i = 0; i < op.permutation.size(); ++i)
    if (op.permutation[i] != static_cast<Size>(i)) moved.push_back(static_cast<Size>(i));
  if (moved.empty()) c.result(c.follow(0));
  else if (moved.size() == 2) apply_method(c, fmt::format(".transpose({}, {})", moved[0], moved[1]));
  else apply_method(c, fmt::format(".permute({})", fmt::join(op.permutation, ", ")));
  return {};
}

Status write_unsqueeze(const Unsqueeze& op, Call& c) {
  std::string text;
  for (const Size axis : op.axes) text += fmt::format(".unsqueeze({})", axis);
  apply_method(c, text);
  return {};
}

Status write_squeeze(const Squeeze& op, Call& c) {
  apply_method(
      c, op.axes.size() == 1 ? fmt::format(".squeeze({})", op.axes[0]) : fmt::format(".squeeze({})", tuple(op.axes)));
  return {};
}

Status write_depth_to_space(const DepthToSpace& op, Call& c) {
  if (op.order != Order::ChannelsFirst) return c.broken("depth_to_space with channels last");
  if (op.depth_first && c.fact(0).rank() != 4) return c.refused("depth_to_space of another rank than 4, blocks first,");
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
  if (op.depth_first && c.fact(0).rank() != 4) return c.refused("space_to_depth of another rank than 4, blocks first,");
  const Expression x = c.begin(0);
  std::string text = fmt::format("F.pixel_unshuffle({}, {})", x.text, op.block);
  if (op.depth_first) text += fmt::format(".unflatten(1, (-1, {})).transpose(1, 2).flatten(1, 2)", op.block * op.block);
  c.result({text, Binds::Atom, 3, false, op.depth_first ? "blocks before channels, unlike pixel_unshuffle alone" : ""});
  return {};
}

constexpr std::array reshape_table{
    writes<write_reshape>(),
    writes<write_flatten>(),
    writes<write_transpose>(),
    writes<write_unsqueeze>(),
    writes<write_squeeze>(),
    writes<write_depth_to_space>(),
    writes<write_space_to_depth>(),
    lacks<SpaceToBatch, Call>("PyTorch has no word for blocks of space moved into the batch"),
    lacks<BatchToSpace, Call>("PyTorch has no word for blocks of space moved out of the batch")};
static_assert(decides<ReshapeFamily>(reshape_table), "every reshape needs one row: writes<> or lacks<>");

}  // namespace

std::span<const Row> reshape_rows() { return reshape_table; }

}  // namespace convoy::torch
