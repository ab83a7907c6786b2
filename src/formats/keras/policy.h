// What a layer computes in: its dtype policy, and how the layers that this version follows compute in it.
#pragma once
#include "containers/json.h"
#include "convoy/result.h"
#include "convoy/tensor.h"

#include <string>
#include <string_view>

namespace convoy::keras {

// The word of a `dtype` attribute, whichever way it is written: "mixed_float16". Empty: none that is understood.
std::string policy_word(const Json& dtype);

// Whether a quantized layer computes as Keras does by itself: `dtype` says int8 over float32, and `quantization` (absent in older
// files) says whole numbers up to 127 on both sides of zero, scaled by the largest of what comes in.
bool is_plain_int8(const Json& dtype, const Json* quantization);

// Weights of `stored` are rounded to `compute` where they are read.
struct Policy {
  DType stored = DType::F32, compute = DType::F32;
  bool is_half() const { return compute == DType::F16 || compute == DType::BF16; }
};
// Fails (Unsupported): a type that nothing here computes in, such as int8 or float8.
Result<Policy> policy_of(std::string_view word);

// How a layer of this class computes under a policy of 16 bits.
enum class InHalves : std::uint8_t {
  PerOperator,  // every operator of the layer rounds its result
  InSingle,  // in float32, with weights that are not rounded; the answer is rounded
  Unknown
};
InHalves in_halves(std::string_view class_name);

// What Keras 3 puts in place of scores that do not count. Source: keras/src/layers/activations/softmax.py.
double far_below(DType computes);

}  // namespace convoy::keras
