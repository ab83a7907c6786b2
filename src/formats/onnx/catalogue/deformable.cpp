// DeformConv: a convolution whose windows read the image at places that are moved by numbers of the model. The image is read
// at all places of all windows first, and what was read is a convolution of one cell.
// Source: onnx/defs/nn/defs.cc; places between cells and outside as in PyTorch's torchvision.ops.deform_conv2d.
#include "formats/onnx/composed.h"
#include "ops/expect.h"
#include "ops/padding.h"

#include <array>

namespace convoy::onnx {
namespace {

struct Deformed {
  std::vector<Window> windows;
  std::vector<Placement> places;
  Sizes image, out;  // rows and columns
  Size cells = 1;  // of a window
  DType dtype = DType::F32;
};

// [cells, 2, rows, columns]: where each window's cells lie before they are moved.
ValueId resting(FunctionCall& call, const Deformed& d) {
  std::vector<double> all;
  for (Size i = 0; i < d.windows[0].kernel; ++i)
    for (Size j = 0; j < d.windows[1].kernel; ++j)
      for (std::size_t axis = 0; axis < 2; ++axis)
        for (Size row = 0; row < d.out[0]; ++row)
          for (Size column = 0; column < d.out[1]; ++column) {
            const Size window = axis == 0 ? row : column, within = axis == 0 ? i : j;
            all.push_back(static_cast<double>(cell(d.places[axis], d.windows[axis], window, within)));
          }
  return table(call, "resting", {d.cells, 2, d.out[0], d.out[1]}, std::move(all), d.dtype);
}

// [2, 1, 1]: one number for rows, one for columns.
ValueId for_axes(FunctionCall& call, std::string_view word, double rows, double columns, DType dtype) {
  return table(call, word, {2, 1, 1}, {rows, columns}, dtype);
}

// [N, channels, cells, rows, columns]: the image at the moved places, 0 outside.
ValueId read_at(FunctionCall& call, const Deformed& d, ValueId image, ValueId offset) {
  const double height = static_cast<double>(d.image[0]), width = static_cast<double>(d.image[1]);
  const ValueId moves = call.add(Reshape{{0, d.cells, 2, d.out[0], d.out[1]}}, {offset});
  const ValueId places = both(call, BinaryFunction::Add, moves, resting(call, d));
  // Cell i lies at (2 i + 1) / size - 1.
  const ValueId scaled =
      both(call, BinaryFunction::Multiply, places, for_axes(call, "cell", 2 / height, 2 / width, d.dtype));
  const ValueId shifted =
      both(call, BinaryFunction::Add, scaled, for_axes(call, "first", 1 / height - 1, 1 / width - 1, d.dtype));
  const ValueId columns_first = call.add(Take{2, {1, 0}}, {shifted});
  const ValueId grid =
      call.add(Reshape{{0, d.cells * d.out[0], d.out[1], 2}}, {call.add(Transpose{{0, 1, 3, 4, 2}}, {columns_first})});
  const ValueId read = call.add(GridSample{}, {image, grid});
  return call.add(Reshape{{0, 0, d.cells, d.out[0], d.out[1]}}, {read});
}

bool are_known(FunctionCall& call, ValueId x, std::initializer_list<Size> axes) {
  for (const Size axis : axes)
    if (!call.failed() && (call.rank(x) != 4 || !call.dim(x, axis).known() || *call.dim(x, axis) < 1))
      call.refuse(Fault::Unsupported, "has an input of shape " + text_of(call.shape(x)) + ", of which axis " +
                                          std::to_string(axis) + " of 4 must be known");
  return !call.failed();
}

Deformed deformed(FunctionCall& call, ValueId x, ValueId weight, ValueId offset) {
  Deformed d;
  if (!are_known(call, x, {1, 2, 3}) || !are_known(call, weight, {0, 1, 2, 3}) || !are_known(call, offset, {1, 2, 3}))
    return d;
  const Sizes kernel{*call.dim(weight, 2), *call.dim(weight, 3)};
  if (call.attrs.list("kernel_shape", kernel) != kernel)
    call.refuse(Fault::Format, "attribute 'kernel_shape' differs from weights of shape " + text_of(call.shape(weight)));
  d.windows = windows_of(call, kernel);
  const Pads pads = pads_of(call, 2);
  if (call.failed()) return d;
  d.cells = kernel[0] * kernel[1];
  d.dtype = call.type(x).dtype;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto axis = static_cast<Size>(i) + 2;
    d.image.push_back(*call.dim(x, axis));
    d.out.push_back(*call.dim(offset, axis));
    const auto placed = place({Spelling::Explicit, pads.before[i], pads.after[i]}, d.windows[i], d.image[i]);
    d.places.push_back(placed.value_or(Placement{}));
    const Size windows = d.places[i].out;
    if (windows != d.out[i])
      call.refuse(Fault::Format, "input 'offset' has shape " + text_of(call.shape(offset)) + ", but there are " +
                                     std::to_string(windows) + " windows along spatial axis " + std::to_string(i));
  }
  return d;
}

std::vector<ValueId> deform_conv(FunctionCall& call) {
  const ValueId x = call.tensor("X"), weight = call.tensor("W"), offset = call.tensor("offset");
  const ValueId bias = call.optional("B"), mask = call.optional("mask");
  const Size groups = call.attrs.integer("group", 1), moved = call.attrs.integer("offset_group", 1);
  if (call.failed()) return {};
  const Deformed d = deformed(call, x, weight, offset);
  if (call.failed()) return {};
  const Size channels = *call.dim(x, 1), count = 2 * d.cells;
  if (moved < 1 || channels % moved != 0 || *call.dim(offset, 1) != moved * count || groups < 1 ||
      *call.dim(weight, 1) * groups != channels)
    call.refuse(Fault::Format, "has inputs of shapes " + text_of(call.shape(x)) + ", " + text_of(call.shape(weight)) +
                                   " and " + text_of(call.shape(offset)) + " in " + std::to_string(groups) +
                                   " groups, moved in " + std::to_string(moved));
  if (call.failed()) return {};
  std::vector<ValueId> parts;
  for (Size i = 0; i < moved; ++i) {
    const auto part = [&](ValueId of, Size size) {
      return moved == 1 ? of : call.add(Slice{1, i * size, (i + 1) * size}, {of});
    };
    ValueId read = read_at(call, d, part(x, channels / moved), part(offset, count));
    if (mask) {
      const ValueId factors = call.add(Reshape{{0, 1, d.cells, d.out[0], d.out[1]}}, {part(mask, d.cells)});
      read = both(call, BinaryFunction::Multiply, read, factors);
    }
    parts.push_back(read);
  }
  const ValueId all = moved == 1 ? parts.front() : call.add(Concat{1}, parts);
  const ValueId cells = call.add(Reshape{{0, channels * d.cells, d.out[0], d.out[1]}}, {all});
  const Sizes flat{*call.dim(weight, 0), *call.dim(weight, 1) * d.cells, 1, 1};
  const Tensor* known = call.constant(weight);
  const ValueId kernel = known ? call.remade(weight, known->reshaped(flat)) : call.add(Reshape{flat}, {weight});
  const std::vector<Window> one(2, Window{1, 1, 1});
  const std::vector<Padding> none(2, Padding{Spelling::Valid});
  return {call.add(Conv{channels_first(2), KernelOrder::OutInSpace, one, none, groups}, {cells, kernel, bias})};
}

// clang-format off
constexpr std::array deformable_table{
    Operator{"DeformConv", {19}, "X W offset B? mask?", "dilations:I group:i kernel_shape:I offset_group:i pads:I strides:I", deform_conv}};
// clang-format on

}  // namespace

std::span<const Operator> deformable_operators() { return deformable_table; }

}  // namespace convoy::onnx
