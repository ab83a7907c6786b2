// Windows, pads, axes and known numbers of an operator.
#include "formats/onnx/arguments.h"

#include "base/whole_tensor.h"
#include "ops/expect.h"

#include <algorithm>
#include <numeric>

namespace convoy::onnx {

bool takes_attribute(const FunctionCall& call, std::string_view name) {
  const Parameter* attribute = signature_of(call.name)->attribute(name);
  return attribute && attribute->versions.has(call.opset);
}

bool takes(const FunctionCall& call, std::string_view name) {
  const Parameter* input = signature_of(call.name)->input(name);
  return (input && input->versions.has(call.opset)) || takes_attribute(call, name);
}

Size space_of(FunctionCall& call, ValueId x) {
  const Size rank = call.rank(x);
  if (rank >= 3) return rank - 2;
  if (x) call.refuse(Fault::Format, "the input has shape " + text_of(call.shape(x)) + ", expected [N, C, ...]");
  return 1;
}

std::vector<Window> windows_of(FunctionCall& call, const Sizes& kernel) {
  const Sizes strides = call.attrs.sizes("strides", kernel.size(), 1);
  const bool dilates = takes(call, "dilations");
  const Sizes dilations = dilates ? call.attrs.sizes("dilations", kernel.size(), 1) : Sizes(kernel.size(), 1);
  std::vector<Window> windows;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    windows.push_back({kernel[i], strides[i], dilations[i]});
    if (!windows[i].sane())
      call.refuse(Fault::Format, "kernel " + std::to_string(kernel[i]) + ", stride " + std::to_string(strides[i]) +
                                     " and dilation " + std::to_string(dilations[i]) + " are no window");
  }
  return windows;
}

AutoPad auto_pad_of(FunctionCall& call) {
  const std::string word = call.attrs.word("auto_pad", "NOTSET");
  if (word == "SAME_UPPER") return AutoPad::SameUpper;
  if (word == "SAME_LOWER") return AutoPad::SameLower;
  if (word == "VALID") return AutoPad::Valid;
  if (word != "NOTSET" && !word.empty())
    call.refuse(Fault::Format,
                "attribute 'auto_pad' is '" + word + "', expected NOTSET, SAME_UPPER, SAME_LOWER or VALID");
  return AutoPad::NotSet;
}

Pads pads_of(FunctionCall& call, std::size_t space) {
  Pads pads{call.attrs.has("pads"), {}, {}};
  const Sizes both = call.attrs.sizes("pads", 2 * space, 0);
  for (const Size cells : both)
    if (cells < 0)
      call.refuse(Fault::Format, "attribute 'pads' holds " + std::to_string(cells) + ", which is negative");
  pads.before.assign(both.begin(), both.begin() + static_cast<std::ptrdiff_t>(space));
  pads.after.assign(both.begin() + static_cast<std::ptrdiff_t>(space), both.end());
  return pads;
}

namespace {

const Tensor* known(FunctionCall& call, std::string_view input) {
  const ValueId value = call.optional(input);
  return value ? call.known(value, "input '" + std::string(input) + "'") : nullptr;
}

}  // namespace

std::optional<Sizes> known_integers(FunctionCall& call, std::string_view input) {
  const ValueId value = call.optional(input);
  return value ? call.known_integers(value, "input '" + std::string(input) + "'") : std::nullopt;
}

std::optional<std::vector<double>> known_numbers(FunctionCall& call, std::string_view input) {
  const Tensor* tensor = known(call, input);
  if (!tensor) return std::nullopt;
  return tensor->doubles();
}

std::optional<double> known_number(FunctionCall& call, std::string_view input) {
  const auto numbers = known_numbers(call, input);
  if (!numbers) return std::nullopt;
  if (const Tensor* said = call.constant(call.optional(input)); beyond_double(*said))
    call.refuse(Fault::Unsupported, "input '" + std::string(input) + "' holds " +
                                        std::to_string(said->integers().front()) + ", which no float64 is");
  if (numbers->size() == 1) return numbers->front();
  call.refuse(Fault::Format,
              "input '" + std::string(input) + "' holds " + std::to_string(numbers->size()) + " numbers, expected 1");
  return std::nullopt;
}

std::optional<Sizes> moved_integers(FunctionCall& call, std::string_view name) {
  if (takes_attribute(call, name)) {
    if (!call.attrs.has(name)) return std::nullopt;
    return call.attrs.list(name);
  }
  if (call.attrs.has(name))
    call.refuse(Fault::Format, "attribute '" + std::string(name) + "' is an input since opset " +
                                   std::to_string(signature_of(call.name)->input(name)->versions.since));
  return known_integers(call, name);
}

void expect_stretch(FunctionCall& call, std::string_view what, ValueId value, ValueId to) {
  if (call.failed()) return;
  for (Size i = 1; i <= std::min(call.rank(value), call.rank(to)); ++i) {
    const Dim has = call.dim(value, call.rank(value) - i), whole = call.dim(to, call.rank(to) - i);
    if (whole == Dim(1) && has.known() && has != whole)
      call.refuse(Fault::Format, std::string(what) + " of shape " + text_of(call.shape(value)) +
                                     " does not stretch to " + text_of(call.shape(to)));
  }
}

Size axis_of(FunctionCall& call, std::string_view name, Size axis, Size rank) {
  if (axis >= -rank && axis < rank) return positive_axis(axis, rank);
  call.refuse(Fault::Format,
              "'" + std::string(name) + "' is " + std::to_string(axis) + " for rank " + std::to_string(rank));
  return 0;
}

Sizes axes_of(FunctionCall& call, std::string_view name, Sizes axes, Size rank) {
  for (Size& axis : axes) axis = axis_of(call, name, axis, rank);
  std::ranges::sort(axes);
  if (std::ranges::adjacent_find(axes) != axes.end())
    call.refuse(Fault::Format, "'" + std::string(name) + "' names an axis twice");
  return axes;
}

Sizes all_axes(Size rank) {
  Sizes axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), Size{0});
  return axes;
}

}  // namespace convoy::onnx
