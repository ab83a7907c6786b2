// Tensors put beside, over and behind one another, cut along the axis that a name says, and brought to one shape.
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

// A number as [1], a list as [1, n], a matrix as [m, n, 1], as far as `rank` asks.
ValueId of_rank_at_least(FunctionCall& call, ValueId x, Size rank) {
  const Size own = call.rank(x);
  if (call.failed() || own >= rank) return x;
  if (own == 0) return with_axes_in_front(call, x, rank);
  if (own == 1 && rank > 1) x = call.add(Unsqueeze{{0}}, {x});
  return rank == 3 ? call.add(Unsqueeze{{2}}, {x}) : x;
}

template <Size rank>
Results at_least(FunctionCall& call) {
  Results all = call.several("tensors");
  if (all.empty()) all = {call.tensor("input")};
  for (ValueId& x : all) x = of_rank_at_least(call, x, rank);
  return all;
}

Results side_by_side(FunctionCall& call, const Results& parts, Size axis) {
  return through(call, "cat.default", {{"dim", axis}}, listed("tensors", parts));
}

// Along axis 0 for vertical, 2 for in depth; along the second axis, or the only one, for horizontal.
template <Size rank, Size axis>
Results stacked(FunctionCall& call) {
  const Results parts = at_least<rank>(call);
  if (call.failed() || parts.empty()) return {};
  return side_by_side(call, parts, rank == 1 && call.rank(parts[0]) > 1 ? 1 : axis);
}

// Lists are columns.
Results columns(FunctionCall& call) {
  Results parts = call.several("tensors");
  for (ValueId& x : parts)
    if (call.rank(x) < 2) x = call.add(Reshape{{-1, 1}}, {x});
  return side_by_side(call, parts, 1);
}

// Along axis 0 for vertical, 1 for horizontal, 2 for in depth; a list has one axis alone.
template <Size axis>
Results cut(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const bool in_places = call.attrs.has("indices");
  Json plain{{"dim", axis == 1 && call.rank(x) == 1 ? 0 : axis}};
  if (in_places) plain["indices"] = call.attrs.list("indices");
  else plain["sections"] = call.attrs.integer("sections");
  return through(call, in_places ? "tensor_split.indices" : "tensor_split.sections", plain, {{"input", x}}, 2);
}

template <Size axis>
Results turned_over(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  return through(call, "flip.default", {{"dims", Json::array({axis})}}, {{"input", x}});
}

Results as_one_row(FunctionCall& call) { return {call.add(Reshape{{-1}}, {call.tensor("input")})}; }

// Matrices down the diagonal of a large one, zeros beside them; a list is a row.
Results block_diagonal(FunctionCall& call) {
  Results parts = call.several("tensors");
  if (parts.empty()) call.refuse(Fault::Format, "argument 'tensors' is empty");
  Size width = 0, before = 0;
  std::optional<DType> dtype;
  for (ValueId& x : parts) {
    if (call.rank(x) > 2) call.refuse(Fault::Format, "takes matrices alone");
    x = of_rank_at_least(call, x, 2);
    width += known_size(call, x, 1);
    if (!call.failed()) dtype = dtype ? meeting(*dtype, call.type(x).dtype) : call.type(x).dtype;
  }
  for (ValueId& x : parts) {
    if (call.failed()) return {};
    const Size own = known_size(call, x, 1);
    x = call.add(Pad{.before = {0, before}, .after = {0, width - before - own}}, {cast_to(call, x, *dtype)});
    before += own;
  }
  return side_by_side(call, parts, 0);
}

// Every choice of one number out of each list, a row each.
Results cartesian_product(FunctionCall& call) {
  const Results lists = call.several("tensors");
  if (lists.size() == 1) return lists;
  Results grids = through(call, "meshgrid.indexing", {{"indexing", "ij"}}, listed("tensors", lists), 2);
  for (ValueId& grid : grids) grid = call.add(Reshape{{-1}}, {grid});
  return through(call, "stack.default", {{"dim", 1}}, listed("tensors", grids));
}

// Every choice of r numbers out of one list, in order, a row each.
Results combinations(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size r = integer_or_default(call, "r");
  const bool again = truth_or_default(call, "with_replacement");
  const Size n = known_size(call, x, 0);
  if (call.rank(x) != 1) call.refuse(Fault::Format, "takes lists alone");
  if (r < 1 || r > 16) call.refuse(Fault::Unsupported, "chooses " + std::to_string(r) + " numbers, expected 1 to 16");
  if (call.failed()) return {};
  constexpr std::size_t most = std::size_t{1} << 20;
  Sizes cells;
  Sizes chosen;
  const auto choose = [&](auto& self, Size from) -> void {
    if (std::ssize(chosen) == r) {
      cells.insert(cells.end(), chosen.begin(), chosen.end());
      return;
    }
    for (Size i = from; i < n && cells.size() < most; ++i) {
      chosen.push_back(i);
      self(self, again ? i : i + 1);
      chosen.pop_back();
    }
  };
  choose(choose, 0);
  if (cells.size() >= most) call.refuse(Fault::Limit, "makes too many combinations");
  const Size rows = std::ssize(cells) / r;
  return {call.add(Reshape{{rows, r}}, {call.add(Take{0, std::move(cells)}, {x})})};
}

// x repeated along its axes of size 1, and along new ones in front, to a shape that is known where it repeats.
ValueId stretched_to(FunctionCall& call, ValueId x, const Shape& shape) {
  x = with_axes_in_front(call, x, std::ssize(shape));
  for (Size i = 0; i < std::ssize(shape) && !call.failed(); ++i) {
    const Dim own = call.dim(x, i), wanted = at(shape, i);
    if (own == wanted) continue;
    if (own != Dim(1) || !wanted.known())
      call.refuse(Fault::Unsupported, "brings to one shape what has sizes that are free; give the inputs sizes");
    else x = call.add(Tile{i, *wanted}, {x});
  }
  return x;
}

Results to_one_shape(FunctionCall& call) {
  Results all = call.several("tensors");
  Shape shape;
  for (const ValueId x : all) {
    auto both = broadcast(shape, call.shape(x));
    if (!both) call.refuse(both.error().fault, both.error().what);
    else shape = std::move(*both);
  }
  for (ValueId& x : all) x = stretched_to(call, x, shape);
  return all;
}

// Added up over what an expansion of this size would have repeated.
Results sum_to_size(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Sizes size = call.attrs.list("size");
  const Size extra = call.rank(x) - std::ssize(size);
  if (extra < 0) call.refuse(Fault::Format, "adds up to more axes than there are");
  if (call.failed()) return {};
  Sizes gone, kept;
  for (Size i = 0; i < call.rank(x); ++i) {
    if (i < extra) gone.push_back(i);
    else if (at(size, i - extra) == 1 && call.dim(x, i) != Dim(1)) kept.push_back(i);
  }
  ValueId y = x;
  const auto summed = [&](const Sizes& axes, bool keeps) {
    if (axes.empty() || call.failed()) return;
    const auto made =
        through(call, "sum.dim_IntList", {{"dim", axes}, {"keepdim", keeps}, {"dtype", name_of(call.type(x).dtype)}},
                {{"input", y}});
    y = made.empty() ? ValueId{} : made[0];
  };
  summed(kept, true);
  summed(gone, false);
  return {y};
}

// Cells of the whole in row-major order; a place may count from the end.
Results take_from_whole(FunctionCall& call) {
  const ValueId x = call.tensor("input"), index = call.tensor("index");
  return {call.add(Gather{0}, {call.add(Reshape{{-1}}, {x}), index})};
}

// Cells of memory that lies in row-major order: the reader of exported programs has made sure that it does, and counts
// the offset from the first cell of the tensor.
Results as_strided(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Sizes size = call.attrs.list("size"), stride = call.attrs.list("stride");
  const Size offset = call.attrs.integer("cells_before", -1);
  if (offset < 0) call.refuse(Fault::Unsupported, "looks at memory whose order is not known");
  if (size.size() != stride.size()) call.refuse(Fault::Format, "as many strides as sizes are wanted");
  const auto sizes = sizes_of(call.shape(x));
  const auto whole = sizes ? checked_count(*sizes) : std::nullopt, count = checked_count(size);
  constexpr Size most = Size{1} << 22;
  if (!whole) call.refuse(Fault::Unsupported, "looks at memory of a size that is free; give the input a size");
  if (!count || *count > most) call.refuse(Fault::Limit, "takes too many cells");
  if (call.failed()) return {};
  Sizes cells{offset};
  for (std::size_t axis = 0; axis < size.size(); ++axis) {
    Sizes further;
    for (const Size cell : cells)
      for (Size i = 0; i < size[axis]; ++i) further.push_back(cell + i * stride[axis]);
    cells = std::move(further);
  }
  const auto is_outside = [&](Size cell) { return cell < 0 || cell >= *whole; };
  if (std::ranges::any_of(cells, is_outside))
    call.refuse(Fault::Unsupported, "looks at memory outside the tensor that it is given");
  return {call.add(Reshape{size}, {call.add(Take{0, std::move(cells)}, {call.add(Reshape{{-1}}, {x})})})};
}

// Sorted along the first axis.
Results sorted_rows(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  if (call.rank(x) == 0) return {x};
  Results both = through(call, "sort.default", {{"dim", 0}}, {{"input", x}}, 1);
  both.resize(std::min<std::size_t>(both.size(), 1));
  return both;
}

constexpr std::string_view one_or_several = "default(input:T) Sequence(tensors:L -> L)";
constexpr std::string_view parts_or_places = "int(input:T sections:i -> L) array(input:T indices:I -> L)";
constexpr std::array rows_of_arranged{
    CatalogueRow{"torch.atleast_1d", one_or_several, at_least<1>},
    CatalogueRow{"torch.atleast_2d", one_or_several, at_least<2>},
    CatalogueRow{"torch.atleast_3d", one_or_several, at_least<3>},
    CatalogueRow{"torch.hstack", "tensors:L", stacked<1, 0>},
    CatalogueRow{"torch.vstack torch.row_stack", "tensors:L", stacked<2, 0>},
    CatalogueRow{"torch.dstack", "tensors:L", stacked<3, 2>},
    CatalogueRow{"torch.column_stack", "tensors:L", columns},
    CatalogueRow{"aten.vsplit", parts_or_places, cut<0>},
    CatalogueRow{"aten.hsplit", parts_or_places, cut<1>},
    CatalogueRow{"aten.dsplit", parts_or_places, cut<2>},
    CatalogueRow{"torch.flipud", "input:T", turned_over<0>},
    CatalogueRow{"torch.fliplr", "input:T", turned_over<1>},
    CatalogueRow{"torch.ravel", "input:T", as_one_row},
    CatalogueRow{"torch.block_diag", "tensors:L...", block_diagonal},
    CatalogueRow{"torch.cartesian_prod", "tensors:L...", cartesian_product},
    CatalogueRow{"torch.combinations", "input:T r:i=2 with_replacement:b=False", combinations},
    CatalogueRow{"aten.broadcast_tensors", "tensors:L -> L", to_one_shape},
    CatalogueRow{"torch.sum_to_size", "input:T size:I...", sum_to_size},
    CatalogueRow{"torch.take", "input:T index:T", take_from_whole},
    CatalogueRow{"aten.as_strided aten.as_strided_copy", "input:T size:I stride:I storage_offset:i?=", as_strided},
    CatalogueRow{"torch.msort", "input:T", sorted_rows},
};

}  // namespace

std::span<const CatalogueRow> arranged_operators() { return rows_of_arranged; }

}  // namespace convoy::torch
