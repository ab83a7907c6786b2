// Means over the cells of boxes: RoiAlign. A sample lies at a place of its row and of its column apart, so the images between
// the cells are two products of matrices, each with a triangle of weights around the place of every sample.
// Sources: onnx/defs/object_detection/defs.cc; roialign.cc of ONNX Runtime 1.31.
#include "formats/onnx/composed.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::onnx {
namespace {

constexpr Size most_samples = Size{1} << 16;  // along one axis

struct Regions {
  ValueId boxes;  // [R, 4]: first column, first row, last column, last row
  double scale = 1;
  bool aligned = true;  // cells are counted from their middles
  Size samples = 1;  // along each axis of a cell of the result
  DType dtype = DType::F32;
};

// [R, 1]
ValueId edge(FunctionCall& call, const Regions& regions, Size column) {
  const ValueId at = call.add(Slice{.axis = 1, .start = column, .stop = column + 1}, {regions.boxes});
  return call.add(Affine{regions.scale, regions.aligned ? -0.5 : 0}, {at});
}

// [R, count * samples, extent]: how much each cell of an axis counts for each sample along it. A sample more than one cell
// outside counts nothing, one that is less far out is the outermost cell.
ValueId weights_along(FunctionCall& call, const Regions& regions, Size column, Size count, Size extent) {
  const auto apply = [&](BinaryFunction f, ValueId a, ValueId b) { return both(call, f, a, b); };
  const ValueId first = edge(call, regions, column), last = edge(call, regions, column + 2);
  ValueId size = apply(BinaryFunction::Subtract, last, first);
  if (!regions.aligned) size = apply(BinaryFunction::Maximum, size, number(call, "number", 1, regions.dtype));
  const ValueId cell =
      apply(BinaryFunction::Divide, size, number(call, "number", static_cast<double>(count), regions.dtype));
  std::vector<double> steps, cells;
  for (Size i = 0; i < count; ++i)
    for (Size k = 0; k < regions.samples; ++k)
      steps.push_back(static_cast<double>(i) + (static_cast<double>(k) + 0.5) / static_cast<double>(regions.samples));
  for (Size i = 0; i < extent; ++i) cells.push_back(static_cast<double>(i));
  const Size all = count * regions.samples;
  const ValueId step = call.make_constant("steps", Tensor::of({1, all}, std::move(steps)).converted(regions.dtype));
  const ValueId place = apply(BinaryFunction::Add, first, apply(BinaryFunction::Multiply, cell, step));
  const double edge_cell = static_cast<double>(extent);
  const ValueId inside = apply(
      BinaryFunction::And, apply(BinaryFunction::GreaterOrEqual, place, number(call, "number", -1, regions.dtype)),
      apply(BinaryFunction::LessOrEqual, place, number(call, "number", edge_cell, regions.dtype)));
  const ValueId held = call.add(Clip{0, edge_cell - 1}, {place});
  const ValueId numbers = call.make_constant("cells", Tensor::of({extent}, std::move(cells)).converted(regions.dtype));
  const ValueId apart =
      call.add(Unary{Function::Abs}, {apply(BinaryFunction::Subtract, call.add(Unsqueeze{{2}}, {held}), numbers)});
  const ValueId triangle = call.add(Clip{0, std::nullopt}, {call.add(Affine{-1, 1}, {apart})});
  return call.add(Where{}, {call.add(Unsqueeze{{2}}, {inside}), triangle, number(call, "number", 0, regions.dtype)});
}

bool are_sound(FunctionCall& call, ValueId x, Size height, Size width, Size samples) {
  if (call.failed()) return false;
  if (call.attrs.word("mode", "avg") != "avg")
    call.refuse(Fault::Unsupported, "attribute 'mode' is '" + call.attrs.word("mode", "avg") + "'; means are carried");
  if (samples == 0)
    call.refuse(
        Fault::Unsupported,
        "attribute 'sampling_ratio' is 0: how many samples a box has, its own size says; 1 and more are carried");
  for (const Size n : {height, width, samples})
    if (n < 0 || n > most_samples || n * std::max<Size>(samples, 1) > most_samples)
      call.refuse(Fault::Limit, std::to_string(n) + " cells or samples along an axis");
  if (!call.failed() && call.rank(x) != 4)
    call.refuse(Fault::Format, "input 'X' has " + std::to_string(call.rank(x)) + " axes, expected 4");
  if (call.failed()) return false;
  for (const Size axis : {2, 3})
    if (!call.dim(x, axis).known())
      call.refuse(Fault::Unsupported, "input 'X' of shape " + text_of(call.shape(x)) + " needs its height and width");
  return !call.failed();
}

std::vector<ValueId> roi_align(FunctionCall& call) {
  const ValueId x = call.tensor("X"), boxes = call.tensor("rois"), images = call.tensor("batch_indices");
  const Size height = call.attrs.integer("output_height", 1), width = call.attrs.integer("output_width", 1),
             samples = call.attrs.integer("sampling_ratio", 0);
  const std::string usual = call.opset >= 16 ? "half_pixel" : "output_half_pixel";
  const std::string places = call.attrs.word("coordinate_transformation_mode", usual);
  const double scale = call.attrs.number("spatial_scale", 1.0);
  if (places != "half_pixel" && places != "output_half_pixel")
    call.refuse(Fault::Format, "attribute 'coordinate_transformation_mode' is '" + places + "'");
  if (!are_sound(call, x, height, width, samples)) return {};
  const Regions regions{boxes, scale, places == "half_pixel", samples, call.type(x).dtype};
  const ValueId rows = weights_along(call, regions, 1, height, *call.dim(x, 2)),
                columns = weights_along(call, regions, 0, width, *call.dim(x, 3));
  const ValueId image = call.add(Gather{0}, {x, images});
  const ValueId by_rows = call.add(MatMul{}, {call.add(Unsqueeze{{1}}, {rows}), image});
  const ValueId turned = call.add(Transpose{{0, 1, 3, 2}}, {call.add(Unsqueeze{{1}}, {columns})});
  const ValueId sampled = call.add(MatMul{}, {by_rows, turned});
  if (samples == 1) return {sampled};
  const ValueId apart = call.add(Reshape{{0, 0, height, samples, width, samples}}, {sampled});
  return {call.add(Reduce{Reduction::Mean, {3, 5}, false}, {apart})};
}

// clang-format off
constexpr std::array region_table{
    Operator{"RoiAlign", {10}, "X rois batch_indices", "coordinate_transformation_mode:s@16 mode:s output_height:i output_width:i sampling_ratio:i spatial_scale:f", roi_align}};
// clang-format on

}  // namespace

std::span<const Operator> region_operators() { return region_table; }

}  // namespace convoy::onnx
