// Windows laid out as columns, and added back: two spatial axes and one pad per axis. Source: ATen/native/im2col.h.
#include "formats/torch/catalogue/catalogue.h"
#include "formats/torch/catalogue/windows.h"
#include "formats/torch/families.h"

#include <fmt/format.h>
#include <array>

namespace convoy::torch {
namespace {

WindowArguments columns_of(FunctionCall& call) {
  return windows_of(call, 2, {.stride = StrideLeftOut::One, .dilates = true, .lists = ListOfOne::ForOne});
}

std::vector<ValueId> unfold(FunctionCall& call) {
  const WindowArguments columns = columns_of(call);
  const Batched input = with_batch(call, call.tensor("input"), 2);
  return {without_batch(call, input, call.add(Unfold{columns.windows, columns.paddings}, {input.value}))};
}

std::vector<ValueId> fold(FunctionCall& call) {
  const WindowArguments columns = columns_of(call);
  const Sizes out = per_axis(call, "output_size", 2, {}, ListOfOne::ForOne);
  const Batched input = with_batch(call, call.tensor("input"), 1);
  return {without_batch(call, input, call.add(Fold{columns.windows, columns.paddings, out}, {input.value}))};
}

Result<std::string> written_windows(const Call& c, const std::vector<Window>& windows,
                                    const std::vector<Padding>& paddings) {
  if (windows.size() != 2) return c.refused(fmt::format("windows laid out over {} axes", windows.size()));
  for (const Padding& p : paddings) {
    const bool plain = p.spelling == Spelling::Valid || (p.spelling == Spelling::Explicit && p.before == p.after);
    if (!plain || p.leftover != Leftover::Drop) return c.refused("windows laid out with unlike pads");
  }
  const auto [kernel, stride, padding, dilation] = numbers_of(windows, paddings);
  std::vector<std::string> arguments{tuple_or_one(kernel)};
  add_numbers(arguments, "dilation", dilation, 1);
  add_numbers(arguments, "padding", padding, 0);
  add_numbers(arguments, "stride", stride, 1);
  return joined(arguments);
}

Status write_unfold(const Unfold& op, Call& c) {
  auto windows = written_windows(c, op.windows, op.paddings);
  if (!windows) return pass(windows);
  apply_function(c, "F.unfold", *windows);
  return {};
}

Status write_fold(const Fold& op, Call& c) {
  auto windows = written_windows(c, op.windows, op.paddings);
  if (!windows) return pass(windows);
  apply_function(c, "F.fold", tuple(op.out) + ", " + *windows);
  return {};
}

constexpr std::array unfold_table{writes<write_unfold>(), writes<write_fold>()};
static_assert(decides<Unfolding>(unfold_table), "every laying out of windows needs one row: writes<> or lacks<>");

constexpr std::array rows_of_unfolding{
    CatalogueRow{"F.unfold aten.im2col nn.Unfold", "input:T kernel_size:I dilation:I=1 padding:I=0 stride:I=1", unfold},
    CatalogueRow{"F.fold aten.col2im nn.Fold",
                 "input:T output_size:I kernel_size:I dilation:I=1 padding:I=0 stride:I=1", fold},
};

}  // namespace

std::span<const CatalogueRow> unfold_operators() { return rows_of_unfolding; }

std::span<const Row> unfold_rows() { return unfold_table; }

}  // namespace convoy::torch
