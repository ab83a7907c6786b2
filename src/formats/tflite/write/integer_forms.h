// What the interpreter's kernels of whole numbers ask of their operators. Source: the kernels' Prepare functions and TFLite's
// specification of 8-bit quantization.
#pragma once
#include "formats/tflite/write/document.h"

namespace convoy::tflite {

enum class IntegerKind : std::uint8_t {
  Moves,  // numbers come out as they went in: inputs and outputs have the same steps
  Weighted,  // whole weights, and a bias in steps of the input's times the weights'
  Function,  // of one input or two, to steps of its own
  Signed,  // the same, of bytes with a sign alone
  Compares,  // gives truths, of numbers in steps of 1/256 to 1
  SameSteps,  // computes, but gives the steps that it takes
  To256,  // gives 256 steps from 0 to 1
  To128,  // gives 256 steps from -1 to 1
};

struct IntegerForm {
  std::string_view name;
  int version;  // the lowest that says 8 bits
  IntegerKind kind;
  int x = 0, weight = -1, bias = -1;  // of inputs; the weight's zero point is 0
  Size axis = 0;  // of the weights, that several scales go along
};

// Null: no kernel of whole numbers that is known here.
const IntegerForm* integer_form_of(const DocumentOperator& op);

// Whether the results of this kind may have these steps.
bool takes_steps(IntegerKind kind, const Quantization& in, const Quantization& out);

}  // namespace convoy::tflite
