// PAD, PADV2 and MIRROR_PAD: cells before and after every axis, as a tensor of pairs.
#include "formats/tflite/catalogue/catalogue.h"
#include "formats/tflite/options.h"

#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::tflite {
namespace {

std::vector<ValueId> padded(FunctionCall& call, PadMode mode, double value) {
  const ValueId x = call.tensor("input");
  const Sizes flat = numbers(call, "paddings");
  if (!call.failed() && (flat.size() % 2 != 0 || std::ranges::any_of(flat, [](Size n) { return n < 0; })))
    call.refuse(Fault::Format, "tensor 'paddings' holds " + text_of(flat) + ", expected pairs, none negative");
  Pad pad{{}, {}, mode, value};
  for (std::size_t i = 0; i + 1 < flat.size(); i += 2) {
    pad.before.push_back(flat[i]);
    pad.after.push_back(flat[i + 1]);
  }
  return {call.add(std::move(pad), {x})};
}

std::vector<ValueId> pad(FunctionCall& call) { return padded(call, PadMode::Constant, 0); }

std::vector<ValueId> pad_v2(FunctionCall& call) {
  const Tensor* value = call.constant(call.tensor("constant_values"));
  if (!value || value->count() != 1) {
    call.refuse(Fault::Unsupported, "tensor 'constant_values' is not one number known beforehand");
    return {};
  }
  double number = value->doubles().front();
  if (const Quantization* held = call.quantization(call.tensor("constant_values")))
    number = static_cast<double>(held->scales[0]) * (number - static_cast<double>(held->zero_points[0]));
  return padded(call, PadMode::Constant, number);
}

std::vector<ValueId> mirror_pad(FunctionCall& call) {
  const bool reflects = word_of(call, "mode", mirror_words) == "REFLECT";
  return padded(call, reflects ? PadMode::Reflect : PadMode::Symmetric, 0);
}

constexpr std::array pad_table{
    Operator{"PAD", 34, "input paddings", 22, "", pad},
    Operator{"PADV2", 60, "input paddings constant_values", 43, "", pad_v2},
    Operator{"MIRROR_PAD", 100, "input paddings", 77, "mode:b", mirror_pad},
};

}  // namespace

std::span<const Operator> pad_operators() { return pad_table; }

}  // namespace convoy::tflite
