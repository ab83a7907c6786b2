// tf.pad: pairs of cells for every axis, none negative.
#include "formats/tf/arguments.h"
#include "formats/tf/functions.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace convoy::tf {
namespace {

PadMode mode_of(FunctionCall& call) {
  std::string word = call.attrs.word("mode", "CONSTANT");
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (word == "REFLECT") return PadMode::Reflect;
  if (word == "SYMMETRIC") return PadMode::Symmetric;
  if (word != "CONSTANT")
    call.refuse(Fault::Format, "argument 'mode' is '" + word + "', expected 'CONSTANT', 'REFLECT' or 'SYMMETRIC'");
  return PadMode::Constant;
}

double value_of(FunctionCall& call) {
  const ValueId given = call.optional("constant_values");
  if (!given) return call.attrs.number("constant_values", 0);
  const Tensor* tensor = call.constant(given);
  if (tensor && tensor->count() == 1) return tensor->doubles().front();
  call.refuse(Fault::Unsupported, "argument 'constant_values' is not one number known beforehand");
  return 0;
}

std::vector<ValueId> pad(FunctionCall& call) {
  const ValueId x = call.tensor("tensor");
  ignore_name(call);
  Pad pad{{}, {}, mode_of(call), 0};
  const double value = value_of(call);
  if (pad.mode == PadMode::Constant) pad.value = value;
  for (const auto& [before, after] : pairs(call, "paddings")) {
    if (before < 0 || after < 0)
      call.refuse(Fault::Format,
                  "argument 'paddings' holds " + std::to_string(std::min(before, after)) + "; tf.pad does not crop");
    pad.before.push_back(before);
    pad.after.push_back(after);
  }
  return {call.add(std::move(pad), {x})};
}

constexpr std::array pad_table{
    FunctionRow{"pad", "tensor paddings mode constant_values name", pad},
    FunctionRow{"compat.v1.pad", "tensor paddings mode name constant_values", pad},
};

}  // namespace

std::span<const FunctionRow> pad_functions() { return pad_table; }

}  // namespace convoy::tf
