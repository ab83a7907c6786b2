// A TFLite model laid out before a byte is written: tensors, operators with their options by name, and the constants,
// whose numbers stay where they are until they are appended.
#pragma once
#include "convoy/tensor.h"
#include "ops/quantization.h"
#include "ops/tensor_type.h"

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace convoy::tflite {

using OptionValue = std::variant<Size, double, Sizes>;
struct Option {
  std::string_view name;
  OptionValue value;
};
using Options = std::vector<Option>;

struct DocumentTensor {
  std::string name;
  TensorType type;
  std::optional<Tensor> constant;
  std::string value = {};  // of a constant: what the graph calls the value that it is, perhaps in another order of axes
  std::shared_ptr<const Quantization> quantization = {};  // of whole numbers that stand for real ones
};
struct DocumentOperator {
  std::string_view name;  // of a row of the catalogue
  int version = 1;
  std::vector<std::int32_t> inputs, outputs;  // -1: absent
  Options options;
};

struct Document {
  std::string name, description;
  std::vector<DocumentTensor> tensors;
  std::vector<DocumentOperator> operators;
  std::vector<std::int32_t> inputs, outputs;
  std::vector<std::string> input_names, output_names;
};

// Sizes, axes and the like as the file holds them.
Tensor int32_of(const Sizes& values, Sizes shape);

// Whether input `i` holds numbers that are computed with or moved, and not where and how much.
bool holds_numbers(const DocumentOperator& op, std::size_t i);

// Whether the interpreter computes the operator of these element types, every number of one type with the others.
// Fails (Unsupported): it does not, with the types that it takes.
Status check_types(const Document& document, const DocumentOperator& op);

// Weights that float16 holds exactly become such, each behind an operator that widens it.
Status store_halves(Document& document);

// The same document gives the same bytes; numbers of constants begin at multiples of 16. Fails (Limit): 2 GiB or more.
Status write_document(const Document& document, const std::function<Status(std::span<const std::byte>)>& append);

}  // namespace convoy::tflite
