// Refuses what the interpreter would refuse: operators of element types that it has no kernel for.
#include "base/words.h"
#include "formats/tflite/catalogue/catalogue.h"
#include "formats/tflite/write/document.h"

#include <algorithm>
#include <array>

namespace convoy::tflite {
namespace {

// Inputs that say where and how much, whatever the type of the numbers.
constexpr std::array<std::string_view, 20> places{
    "axes",  "axis", "k",     "shape",   "perm", "dim",     "block_shape", "paddings",  "crops",       "size",
    "begin", "end",  "times", "strides", "ids",  "indices", "multiples",   "split_dim", "size_splits", "output_shape"};

bool takes(const DocumentOperator& op, DType dtype) {
  return std::ranges::count(words_in(plain_types_of(op.name)), name_of(dtype)) > 0;
}

std::unexpected<Error> refused(const DocumentOperator& op, const std::string& of) {
  return fail(Fault::Unsupported, std::string(op.name) + " of " + of +
                                      " has no form in TFLite, whose interpreter computes it of " +
                                      std::string(plain_types_of(op.name)));
}

}  // namespace

bool holds_numbers(const DocumentOperator& op, std::size_t i) {
  const auto words = words_in(operator_named(op.name)->inputs);
  const std::string_view word = words[std::min(i, words.size() - 1)];
  return word != "condition" && std::ranges::find(places, word) == places.end();
}

Status check_types(const Document& document, const DocumentOperator& op) {
  const auto dtype_of_place = [&](std::int32_t place) {
    return document.tensors[static_cast<std::size_t>(place)].type.dtype;
  };
  if (plain_types_of(op.name).empty())
    return fail(Fault::Internal, std::string(op.name) + " is written, and no types are stated for it");
  std::optional<DType> first;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i] < 0 || !holds_numbers(op, i)) continue;
    const DType dtype = dtype_of_place(op.inputs[i]);
    if (!takes(op, dtype)) return refused(op, std::string(name_of(dtype)));
    if (first && *first != dtype)
      return refused(op, std::string(name_of(*first)) + " with " + std::string(name_of(dtype)));
    first = dtype;
  }
  const DType made = dtype_of_place(op.outputs[0]);
  return op.name == "CAST" && !takes(op, made) ? Status(refused(op, "numbers to " + std::string(name_of(made))))
                                               : Status();
}

}  // namespace convoy::tflite
