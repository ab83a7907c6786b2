// The same numbers under other axes; written as methods behind the tensor.
#include "formats/free_reshape.h"
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "formats/torch/catalogue/shuffle.h"
#include "formats/torch/families.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

// A new shape: -1 takes what is left, 0 keeps the size at its place. A known size that the input has at its place is kept.
Results reshape(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Sizes to = call.attrs.has("size") ? call.attrs.list("size") : call.attrs.list("shape");
  if (call.attrs.has("kept")) return reshape_keeping(call, x, to);
  return {call.add(Reshape{to}, {x})};
}

Results flatten(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size rank = call.rank(x);
  const Size first = axis_of(call, integer_or_default(call, "start_dim"), rank);
  const Size last = axis_of(call, integer_or_default(call, "end_dim"), rank);
  if (call.failed()) return {};
  if (rank == 0) return {call.add(Reshape{{1}}, {x})};
  if (first == last) return {x};
  if (first == 1 && last == rank - 1) return {call.add(Flatten{}, {x})};
  Sizes to;
  for (Size axis = 0; axis < rank; ++axis) {
    if (axis <= first || axis > last)
      to.push_back(axis < first ? 0 : axis == first ? -1 : call.dim(x, axis).size().value_or(-1));
  }
  if (std::ranges::count(to, -1) < 2) return {call.add(Reshape{to}, {x})};
  const Size behind = rank - 1 - last;  // whose sizes are free
  return through(call, "reshape.default", {{"shape", to}, {"kept", Sizes{first, behind}}}, {{"input", x}});
}

Results unflatten(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size rank = call.rank(x), axis = axis_of(call, call.attrs.integer("dim"), rank);
  const Sizes parts = call.attrs.list("sizes");
  Sizes to;
  for (Size i = 0; i < rank; ++i) {
    if (i == axis) to.insert(to.end(), parts.begin(), parts.end());
    else to.push_back(i < axis ? 0 : call.dim(x, i).size().value_or(-1));
  }
  if (std::ranges::count(to, -1) > 1) call.refuse(Fault::Unsupported, "several sizes of the new shape are free");
  return {call.add(Reshape{to}, {x})};
}

// A constant is put in order at once, so that a weight stays a weight.
Results transposed(FunctionCall& call, ValueId x, const Sizes& permutation) {
  if (call.failed()) return {};
  if (call.constant(x)) return {call.turned("transposed", x, permutation)};
  return {call.add(Transpose{permutation}, {x})};
}

Results permute(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  Sizes axes = call.attrs.list("dims");
  for (Size& axis : axes) axis = axis_of(call, axis, call.rank(x));
  Sizes sorted = axes;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<Size>(i) || sorted.size() != static_cast<std::size_t>(call.rank(x)))
      call.refuse(Fault::Format, "argument 'dims' is no order of the axes");
  return transposed(call, x, axes);
}

Results swapped(FunctionCall& call, Size a, Size b) {
  const ValueId x = call.tensor("input");
  if (call.failed() || call.rank(x) == 0) return {x};
  Sizes axes(static_cast<std::size_t>(call.rank(x)));
  std::iota(axes.begin(), axes.end(), Size{0});
  a = axis_of(call, a, call.rank(x));
  b = axis_of(call, b, call.rank(x));
  if (!call.failed()) std::swap(axes[static_cast<std::size_t>(a)], axes[static_cast<std::size_t>(b)]);
  return transposed(call, x, axes);
}
Results transpose(FunctionCall& call) { return swapped(call, call.attrs.integer("dim0"), call.attrs.integer("dim1")); }
Results swapaxes(FunctionCall& call) { return swapped(call, call.attrs.integer("axis0"), call.attrs.integer("axis1")); }
Results matrix_transpose(FunctionCall& call) { return swapped(call, 0, -1); }  // of fewer than two axes: as it is
Results last_two_swapped(FunctionCall& call) { return swapped(call, -2, -1); }  // of real numbers alone

Results unsqueeze(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  return {call.add(Unsqueeze{{axis_of(call, call.attrs.integer("dim"), call.rank(x) + 1)}}, {x})};
}

// An axis that is not 1 long stays.
Results squeeze(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  Sizes asked = call.attrs.has("dim") ? call.attrs.list("dim") : Sizes(static_cast<std::size_t>(call.rank(x)));
  if (!call.attrs.has("dim")) std::iota(asked.begin(), asked.end(), Size{0});
  Sizes axes;
  for (Size axis : asked) {
    axis = axis_of(call, axis, call.rank(x));
    const Dim size = call.dim(x, axis);
    if (!size.known())
      call.refuse(Fault::Unsupported,
                  "whether the axis goes depends on a size that is free; give the sizes of the input with --shape");
    else if (*size == 1) axes.push_back(axis);
  }
  std::ranges::sort(axes);
  if (call.failed() || axes.empty()) return {x};
  return {call.add(Squeeze{axes}, {x})};
}

// Axes of size 1 repeated; new ones come in front. A free size, or -1, stays as it is.
Results repeated(FunctionCall& call, ValueId x, const std::vector<std::optional<Size>>& to) {
  x = with_axes_in_front(call, x, static_cast<Size>(to.size()));
  for (std::size_t axis = 0; axis < to.size() && !call.failed(); ++axis) {
    const Dim size = call.dim(x, static_cast<Size>(axis));
    if (!to[axis] || *to[axis] == -1 || (size.known() && *size == *to[axis])) continue;
    if (!size.known() || *size != 1) {
      call.refuse(Fault::Unsupported, "an expansion of an axis that is not 1 long");
      return {};
    }
    x = call.add(Tile{static_cast<Size>(axis), *to[axis]}, {x});
  }
  return {x};
}

Results expand(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  call.attrs.ignore({"implicit"});
  std::vector<std::optional<Size>> to;
  for (const Size n : call.attrs.list("size")) to.emplace_back(n);
  const Results known = repeated(call, x, to);
  if (call.failed() || known.empty()) return {};
  return {stretched_like(call, known[0], to.size())};
}

Results expand_as(FunctionCall& call) {
  const ValueId x = call.tensor("input"), other = call.tensor("other");
  std::vector<std::optional<Size>> to;
  for (Size axis = 0; axis < call.rank(other); ++axis) to.push_back(call.dim(other, axis).size());
  const Results known = repeated(call, x, to);
  if (call.failed() || known.empty()) return {};
  ValueId y = known[0];
  for (Size axis = 0; axis < call.rank(other) && !call.failed(); ++axis)
    if (!call.dim(other, axis).known() && call.dim(y, axis) == Dim(1)) y = call.add(ExpandLike{axis, axis}, {y, other});
  return {y};
}

// The sizes of another tensor, one of which may be free.
Results reshape_as(FunctionCall& call) {
  const ValueId x = call.tensor("input"), other = call.tensor("other");
  Sizes to;
  for (Size axis = 0; axis < call.rank(other); ++axis) to.push_back(call.dim(other, axis).size().value_or(-1));
  if (std::ranges::count(to, -1) > 1) call.refuse(Fault::Unsupported, "several sizes of the new shape are free");
  return {call.add(Reshape{to}, {x})};
}

Results type_as(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  return {call.add(Cast{call.type(call.tensor("other")).dtype}, {x})};
}

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
  const Shape& shape = c.result_type().shape;
  const auto unknown = std::ranges::count_if(shape, [](Dim d) { return !d.known(); });
  std::vector<std::string> sizes;
  if (const auto axes = new_axes(c.type(0).shape, shape)) {
    std::string text;
    for (const Size axis : *axes) text += fmt::format(".unsqueeze({})", axis);
    apply_method(c, text);
    return {};
  }
  if (unknown <= 1) {
    for (const Dim d : shape) sizes.push_back(std::to_string(d.known() ? *d : -1));
    apply_method(c, ".reshape(" + (sizes.empty() ? "()" : joined(sizes)) + ")");
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
  // PyTorch flattens no axis that is not there.
  const bool is_row = c.graph()[c.node().inputs[0]].type.rank() == 1;
  apply_method(c, is_row ? ".unsqueeze(1)" : ".flatten(1)", comment);
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

constexpr std::array reshape_table{
    writes<write_reshape>(),
    writes<write_flatten>(),
    writes<write_transpose>(),
    writes<write_unsqueeze>(),
    writes<write_squeeze>(),
    writes<write_depth_to_space>(),
    writes<write_space_to_depth>(),
    lacks<SpaceToBatch, Call>("PyTorch has no word for blocks of space moved into the batch (a pass spells those of "
                              "known sizes; give them with --size)"),
    lacks<BatchToSpace, Call>("PyTorch has no word for blocks of space moved out of the batch (a pass spells those of "
                              "known sizes; give them with --size)")};
static_assert(decides<ReshapeFamily>(reshape_table), "every reshape needs one row: writes<> or lacks<>");

constexpr std::array rows_of_reshapes{
    CatalogueRow{"torch.view aten._unsafe_view aten.view_copy", "default(input:T size:I...)", reshape},
    CatalogueRow{"torch.reshape", "input:T shape:I...", reshape},
    CatalogueRow{"aten.view_as aten.reshape_as", "input:T other:T", reshape_as},
    CatalogueRow{"aten.type_as", "input:T other:T", type_as},
    CatalogueRow{"torch.flatten", "using_ints(input:T start_dim:i=0 end_dim:i=-1)", flatten},
    CatalogueRow{"torch.unflatten", "int(input:T dim:i sizes:I)", unflatten},
    CatalogueRow{"torch.permute aten.permute_copy", "input:T dims:I...", permute},
    CatalogueRow{"torch.transpose aten.transpose_copy", "int(input:T dim0:i dim1:i)", transpose},
    CatalogueRow{"torch.swapdims", "input:T dim0:i dim1:i", transpose},
    CatalogueRow{"torch.swapaxes", "input:T axis0:i axis1:i", swapaxes},
    CatalogueRow{"torch.t aten.t_copy aten.numpy_T aten.matrix_H", "input:T", matrix_transpose},
    CatalogueRow{"aten.mT aten.mH aten.adjoint", "input:T", last_two_swapped},
    CatalogueRow{"torch.unsqueeze aten.unsqueeze_copy", "input:T dim:i", unsqueeze},
    CatalogueRow{"torch.squeeze aten.squeeze_copy", "default(input:T) dim(input:T dim:i) dims(input:T dim:I)", squeeze},
    CatalogueRow{"torch.expand torch.broadcast_to aten.expand_copy",
                 "expand.default(input:T size:I... * implicit:b=False) "
                 "expand_copy.default(input:T size:I * implicit:b=False) default(input:T size:I...)",
                 expand},
    CatalogueRow{"torch.expand_as", "input:T other:T", expand_as},
};

}  // namespace

std::span<const CatalogueRow> reshape_operators() { return rows_of_reshapes; }

std::span<const Row> reshape_rows() { return reshape_table; }

}  // namespace convoy::torch
