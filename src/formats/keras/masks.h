// Which steps of a sequence count, by Embedding's mask_zero or by an argument of a call, and what layers make of it.
#pragma once
#include "formats/keras/call.h"

namespace convoy::keras {

// What becomes of the mask behind a layer. Every layer without a word in masks.cpp ends it, as Keras does. Fails: layers
// that would compute otherwise under a mask, in ways that are not carried.
Status follow_masks(Call& call, const Values& in, const Values& out);

// Whether Keras marks which steps of the value count.
bool is_masked(Call& call, ValueId value);

// Behind call() of a program's own layer, of [a result, what the layer is called on]: what becomes of the mask of the latter,
// by "how" in the config. Its result is the first, as it is.
constexpr const char* source_mask = "$mask";
constexpr const char* mask_is_kept = "kept";
constexpr const char* mask_is_unknown = "unknown";
constexpr const char* mask_is_read = "read";  // by call() itself, which was followed without one
Result<Values> mask_behind(Builder& builder, const Layer& layer, const Values& inputs);

// A mask that the call names itself counts for this call alone. Takes it from the inputs.
class NamedMask {
 public:
  NamedMask(Builder& builder, const LayerCall* call, Values& inputs);
  NamedMask(const NamedMask&) = delete;
  NamedMask& operator=(const NamedMask&) = delete;
  ~NamedMask();
  bool given() const { return of_.has_value(); }

 private:
  Builder& builder_;
  std::optional<std::int32_t> of_;
  std::optional<Mask> was_;
};

}  // namespace convoy::keras
