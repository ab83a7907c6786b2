// Parts of tensors as Python's own slices, and tensors side by side.
#include "formats/torch/families.h"

#include <fmt/format.h>
#include <algorithm>

namespace convoy::torch {
namespace {

// "[:, :, 1:3]": everything along the axes before `axis`.
std::string along(Size axis, const std::string& what) {
  std::string text = "[";
  for (Size i = 0; i < axis; ++i) text += ":, ";
  return text + what + "]";
}

Status write_concat(const Concat& op, Call& c) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < c.node().inputs.size(); ++i) parts.push_back(c.begin(i).text);
  c.result({fmt::format("torch.cat([{}], dim={})", joined(parts), op.axis), Binds::Atom, 1, false, {}});
  return {};
}

std::string range(std::optional<Size> start, std::optional<Size> stop, Size step) {
  return fmt::format("{}:{}{}", start && *start != 0 ? std::to_string(*start) : "", stop ? std::to_string(*stop) : "",
                     step == 1 ? "" : fmt::format(":{}", step));
}

Status write_slice(const Slice& op, Call& c) {
  if (op.step > 0) {
    apply_method(c, along(op.axis, range(op.start, op.stop, op.step)));
    return {};
  }
  if (op.step == -1 && !op.start && !op.stop) {
    apply_method(c, fmt::format(".flip({})", op.axis));
    return {};
  }
  const Dim n = c.fact(0).shape[static_cast<std::size_t>(op.axis)];
  if (!n.known()) return c.refused("a slice that walks backwards over an unknown size");
  // Flipped first, the same elements stand in rising order: torch slices forward only.
  const SliceRange at = resolve(op, *n);
  const Size first = *n - 1 - at.first, last = first + (at.count - 1) * -op.step;
  apply_method(c, fmt::format(".flip({}){}", op.axis, along(op.axis, range(first, last + 1, -op.step))));
  return {};
}

Status write_split(const Split& op, Call& c) {
  const bool even = std::ranges::all_of(op.sizes, [&](Size n) { return n == op.sizes[0]; });
  const Expression x = c.begin(0);
  c.results(
      fmt::format("{}.split({}, dim={})", postfix(x), even ? std::to_string(op.sizes[0]) : tuple(op.sizes), op.axis));
  return {};
}

Status write_tile(const Tile& op, Call& c) {
  Sizes times(c.fact(0).shape.size(), 1);
  times[static_cast<std::size_t>(op.axis)] = op.times;
  apply_method(c, fmt::format(".repeat({})", fmt::join(times, ", ")));
  return {};
}

// How often each index 0, 1, 2, ... stands in a row, if it does so equally often.
std::optional<Size> repeats(const Sizes& indices, Dim n) {
  if (!n.known() || *n == 0 || indices.size() % static_cast<std::size_t>(*n) != 0) return std::nullopt;
  const Size times = static_cast<Size>(indices.size()) / *n;
  for (std::size_t i = 0; i < indices.size(); ++i)
    if (times == 0 || indices[i] != static_cast<Size>(i) / times) return std::nullopt;
  return times;
}

Status write_take(const Take& op, Call& c) {
  if (const auto times = repeats(op.indices, c.fact(0).shape[static_cast<std::size_t>(op.axis)])) {
    apply_method(c, fmt::format(".repeat_interleave({}, dim={})", *times, op.axis));
  } else if (op.indices.size() <= 16) {
    apply_method(c, along(op.axis, fmt::format("[{}]", fmt::join(op.indices, ", "))));
  } else {
    const Tensor indices = Tensor::of({static_cast<Size>(op.indices.size())}, op.indices);
    const std::string table = c.tensor({"indices", indices, {}, true});
    apply_method(c, fmt::format(".index_select({}, {})", op.axis, table));
  }
  return {};
}

std::string whole(const Expression& indices, DType dtype) {
  return dtype == DType::I64 ? indices.text : postfix(indices) + ".long()";
}

Status write_gather(const Gather& op, Call& c) {
  const Expression x = c.begin(0), indices = c.follow(1);
  c.result({postfix(x) + along(op.axis, whole(indices, c.fact(1).dtype)),
            Binds::Atom,
            x.calls + indices.calls + 1,
            false,
            {}});
  return {};
}

// torch.gather counts from the front only.
Status write_gather_elements(const GatherElements& op, Call& c) {
  const ValueId v = c.node().inputs[1];
  const Tensor* known = c.constant(1);
  const NodeId maker = c.graph()[v].producer;
  const bool from_front = known ? std::ranges::all_of(known->integers(), [](Size i) { return i >= 0; })
                                : maker && (std::holds_alternative<ArgExtreme>(c.graph()[maker].op) ||
                                            std::holds_alternative<TopK>(c.graph()[maker].op));
  const std::string x = c.name(0);
  std::string indices = whole(c.follow(1), c.fact(1).dtype);
  if (!from_front) indices = fmt::format("({}) % {}.shape[{}]", indices, x, op.axis);
  c.result({fmt::format("torch.gather({}, {}, {})", x, op.axis, indices), Binds::Atom, 2, false, {}});
  return {};
}

Status write_expand_like(const ExpandLike& op, Call& c) {
  const Expression x = c.begin(0);
  const std::string other = c.name(1);
  std::vector<std::string> sizes(c.fact(0).shape.size(), "-1");
  sizes[static_cast<std::size_t>(op.axis)] = fmt::format("{}.shape[{}]", other, op.from);
  c.result({fmt::format("{}.expand({})", postfix(x), joined(sizes)), Binds::Atom, x.calls + 1, false, {}});
  return {};
}

constexpr std::array slice_concat_table{
    writes<write_concat>(), writes<write_slice>(),  writes<write_split>(),           writes<write_tile>(),
    writes<write_take>(),   writes<write_gather>(), writes<write_gather_elements>(), writes<write_expand_like>()};
static_assert(decides<SliceConcat>(slice_concat_table), "every slice needs one row: writes<> or lacks<>");

}  // namespace

std::span<const Row> slice_concat_rows() { return slice_concat_table; }

}  // namespace convoy::torch
