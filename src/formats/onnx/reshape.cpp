// The same numbers under other axes: Reshape, Flatten, Transpose, Squeeze, Unsqueeze, DepthToSpace, SpaceToDepth.
#include "formats/onnx/arguments.h"

#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::onnx {
namespace {

// A size 0 copies the input's, unless allowzero (opset 14) says that it is one.
std::vector<ValueId> reshape(FunctionCall& call) {
  const ValueId x = call.tensor("data");
  const auto to = known_integers(call, "shape");
  const bool keeps_zero = call.opset >= 14 && call.attrs.truth("allowzero", false);
  if (!to) call.refuse(Fault::Format, "input 'shape' is missing");
  if (call.failed()) return {};
  if (keeps_zero && std::ranges::count(*to, 0) > 0)
    call.refuse(Fault::Unsupported, "attribute 'allowzero' with a size of 0, which is an empty tensor");
  return {call.add(Reshape{*to}, {x})};
}

// [d0, ..., dn] -> [d0 * ... * d(axis-1), d(axis) * ... * dn]
std::vector<ValueId> flatten(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size rank = call.rank(x), said = call.attrs.integer("axis", 1);
  const bool from_end = said < 0 && call.opset >= 11;
  const Size axis = from_end ? said + rank : said;
  if (axis < 0 || axis > rank)
    call.refuse(Fault::Format, "attribute 'axis' is " + std::to_string(said) + " for rank " + std::to_string(rank));
  if (call.failed()) return {};
  if (axis == 1) return {call.add(Flatten{}, {x})};
  const auto front = product_of(std::span(call.shape(x)).first(static_cast<std::size_t>(axis)));
  if (!front) {
    call.refuse(front.error().fault, front.error().what);
    return {};
  }
  if (!front->known()) {
    const auto back = product_of(std::span(call.shape(x)).subspan(static_cast<std::size_t>(axis)));
    if (!back || !back->known() || **back < 1)
      call.refuse(Fault::Unsupported, "flattening " + text_of(call.shape(x)) + " before axis " + std::to_string(axis) +
                                          " needs more known sizes");
    if (call.failed()) return {};
    return {call.add(Reshape{{-1, **back}}, {x})};
  }
  return {call.add(Reshape{{**front, -1}}, {x})};
}

std::vector<ValueId> transpose(FunctionCall& call) {
  const ValueId x = call.tensor("data");
  Sizes reversed = all_axes(call.rank(x));
  std::ranges::reverse(reversed);
  const Sizes permutation = call.attrs.list("perm", reversed);
  return {call.add(Transpose{permutation}, {x})};
}

std::vector<ValueId> unsqueeze(FunctionCall& call) {
  const ValueId x = call.tensor("data");
  const auto axes = moved_integers(call, "axes", 13);
  if (!axes) call.refuse(Fault::Format, "'axes' is missing");
  if (call.failed()) return {};
  return {call.add(Unsqueeze{axes_of(call, "axes", *axes, call.rank(x) + static_cast<Size>(axes->size()))}, {x})};
}

std::vector<ValueId> squeeze(FunctionCall& call) {
  const ValueId x = call.tensor("data");
  const auto said = moved_integers(call, "axes", 13);
  if (call.failed()) return {};
  Sizes axes;
  if (said) axes = axes_of(call, "axes", *said, call.rank(x));
  for (Size i = 0; !said && i < call.rank(x); ++i) {
    if (!call.dim(x, i).known())
      call.refuse(Fault::Unsupported,
                  "without 'axes' the sizes must be known, but the input has shape " + text_of(call.shape(x)));
    if (call.dim(x, i) == Dim(1)) axes.push_back(i);
  }
  return {call.add(Squeeze{axes}, {x})};
}

// DCR unless mode (opset 11; of SpaceToDepth opset 28) says CRD.
bool depth_first(FunctionCall& call, Size mode_since) {
  if (call.opset < mode_since) return true;
  const std::string word = call.attrs.word("mode", "DCR");
  if (word != "DCR" && word != "CRD")
    call.refuse(Fault::Format, "attribute 'mode' is '" + word + "', expected DCR or CRD");
  return word != "CRD";
}

std::vector<ValueId> depth_to_space(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size block = call.attrs.integer("blocksize");
  const bool first = depth_first(call, 11);
  return {call.add(DepthToSpace{Order::ChannelsFirst, block, first}, {x})};
}

std::vector<ValueId> space_to_depth(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size block = call.attrs.integer("blocksize");
  const bool first = depth_first(call, 28);
  return {call.add(SpaceToDepth{Order::ChannelsFirst, block, first}, {x})};
}

constexpr std::array reshape_table{
    FunctionRow{"Reshape", "data shape", reshape},       FunctionRow{"Flatten", "input", flatten},
    FunctionRow{"Transpose", "data", transpose},         FunctionRow{"Unsqueeze", "data axes", unsqueeze},
    FunctionRow{"Squeeze", "data axes", squeeze},        FunctionRow{"DepthToSpace", "input", depth_to_space},
    FunctionRow{"SpaceToDepth", "input", space_to_depth}};

}  // namespace

std::span<const FunctionRow> reshape_functions() { return reshape_table; }

}  // namespace convoy::onnx
