// What the rows of all families read alike: windows and their padding, axes, and numbers that were attributes in older
// opsets and are inputs since.
#pragma once
#include "formats/onnx/catalogue/catalogue.h"

#include <optional>

namespace convoy::onnx {

inline Axes channels_first(Size space) { return {Order::ChannelsFirst, space}; }

// The spatial axes of [N, C, n...]; refuses a rank below 3.
Size space_of(FunctionCall& call, ValueId x);

// strides and dilations (where the opset has them) around kernels of these sizes; 1 where nothing is said.
std::vector<Window> windows_of(FunctionCall& call, const Sizes& kernel);

enum class AutoPad : std::uint8_t { NotSet, SameUpper, SameLower, Valid };
AutoPad auto_pad_of(FunctionCall& call);

// pads, all begins and then all ends, none of them negative; zeros where nothing is given.
struct Pads {
  bool given = false;
  Sizes before, after;
};
Pads pads_of(FunctionCall& call, std::size_t space);

// What the 'mode' of a Pad is called; none: not a word of this opset.
std::optional<PadMode> pad_mode_named(std::string_view word, Size opset);

// The numbers of an input that must be known before the model runs; nothing where the input is absent.
std::optional<Sizes> known_integers(FunctionCall& call, std::string_view input);
std::optional<std::vector<double>> known_numbers(FunctionCall& call, std::string_view input);
// Refuses a whole number that a double does not hold.
std::optional<double> known_number(FunctionCall& call, std::string_view input);

// Whether the operator has an attribute or an input of this name in the call's opset; an attribute.
bool takes(const FunctionCall& call, std::string_view name);
bool takes_attribute(const FunctionCall& call, std::string_view name);

// Whole numbers that are an attribute in older opsets, and an input of the same name since.
std::optional<Sizes> moved_integers(FunctionCall& call, std::string_view name);

// An axis counted from either end, as a place of `rank` axes; several, sorted, each once.
Size axis_of(FunctionCall& call, std::string_view name, Size axis, Size rank);
// Fails where `what`, a tensor that is stretched to another, would stretch that one.
void expect_stretch(FunctionCall& call, std::string_view what, ValueId value, ValueId to);
Sizes axes_of(FunctionCall& call, std::string_view name, Sizes axes, Size rank);
Sizes all_axes(Size rank);

}  // namespace convoy::onnx
