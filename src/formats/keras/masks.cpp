#include "formats/keras/masks.h"

#include <algorithm>

namespace convoy::keras {

namespace {

const Json* said_in(const Json* object, const char* key) {
  if (!object || !object->is_object()) return nullptr;
  const auto it = object->find(key);
  return it == object->end() || it->is_null() ? nullptr : &*it;
}

// Layers that look at a mask themselves and end it, or say what becomes of it.
bool takes_mask(const std::string& c) {
  return c == "GlobalAveragePooling1D" || c == "GlobalAvgPool1D" || c == "LSTM" || c == "GRU" || c == "SimpleRNN" ||
         c == "Bidirectional" || c == "RNN";
}
bool hands_mask_on(const std::string& c) {
  return c.find("Dropout") != std::string::npos || c == "GaussianNoise" || c == "Activation" || c == "Dense" ||
         c == "ReLU" || c == "LeakyReLU" || c == "PReLU" || c == "ELU" || c.ends_with("Normalization") ||
         c == "Identity" || c == "Rescaling" || c == "ActivityRegularization" || c == "MultiHeadAttention" ||
         c == "TimeDistributed" || c == "Softmax";
}
// Layers that would compute otherwise under a mask, in ways that are not carried.
bool changes_by_mask(const std::string& c) { return c.starts_with("ConvLSTM") || c == "Lambda"; }
// Layers that are run on every step look at the mask of that step alone, if at all.
bool ignores_mask(const Layer& layer) {
  const std::string& c = layer.class_name;
  return !layer.model && !takes_mask(c) && !changes_by_mask(c) && c != "Softmax" && c != "BatchNormalization" &&
         c != "MultiHeadAttention" && c != "Attention" && c != "AdditiveAttention";
}
// Layers of several inputs combine their masks.
bool joins_masks(const std::string& c) {
  return c == "Add" || c == "Subtract" || c == "Multiply" || c == "Average" || c == "Maximum" || c == "Minimum" ||
         c == "Concatenate" || c == "Merge";
}

}  // namespace

Status follow_masks(Builder& builder, const Layer& layer, const Values& in, const Values& out) {
  const auto carries = [&](ValueId v) { return v && builder.masks.contains(v.index); };
  if (std::ranges::none_of(in, carries) || is_operation(layer)) return {};
  const std::string& c = layer.class_name;
  if (changes_by_mask(c))
    return fail(Fault::Unsupported, "reads a mask (mask_zero), which this version does not carry");
  if (joins_masks(c)) {
    if (std::ranges::all_of(in, carries))
      for (const ValueId v : out) builder.masks.emplace(v.index, Mask{{}, {}, false, true});
    return {};
  }
  if (c == "GroupQueryAttention" || c == "GroupedQueryAttention" ||
      (c == "MultiHeadAttention" && builder.version.major < 3)) {
    if (carries(in.front()) && !out.empty()) builder.masks.emplace(out.front().index, Mask{{}, {}, false, true});
    return {};
  }
  if (c == "TimeDistributed") {
    const Json* inner = said_in(layer.config, "layer");
    const auto read = inner ? read_layer(*inner, builder.version) : fail(Fault::Format, "has no layer");
    if (builder.version.major < 3 || !read || !ignores_mask(*read))
      return fail(Fault::Unsupported, "reads a mask (mask_zero) at every step, which this version does not carry");
  }
  const Json* sequences = said_in(layer.config, "return_sequences");
  if (c == "Bidirectional") {
    const Json* inner = said_in(layer.config, "layer");
    const Json* config = inner ? said_in(inner, "config") : nullptr;
    sequences = config ? said_in(config, "return_sequences") : nullptr;
  }
  if (!carries(in.front()) || out.empty() || (!hands_mask_on(c) && !(takes_mask(c) && sequences && *sequences == true)))
    return {};
  Mask mask = builder.masks.at(in.front().index);
  mask.named = false;
  builder.masks.emplace(out.front().index, mask);
  return {};
}

NamedMask::NamedMask(Builder& builder, const LayerCall* call, Values& inputs) : builder_(builder) {
  const Json* argument = call && !inputs.empty() ? said_in(&call->kwargs, "mask") : nullptr;
  if (!argument || !argument->is_object() || !argument->contains("$tensor")) return;
  const auto place = (*argument)["$tensor"].get<std::size_t>();
  if (place == 0 || place + 1 != inputs.size()) return;  // the layer refuses the argument
  const auto known = builder.masks.find(inputs.front().index);
  if (known != builder.masks.end()) was_ = known->second;
  of_ = inputs.front().index;
  builder.masks.insert_or_assign(*of_, Mask{{}, inputs.back(), true});
  inputs.pop_back();
}

NamedMask::~NamedMask() {
  if (!of_) return;
  if (was_) builder_.masks.insert_or_assign(*of_, *was_);
  else builder_.masks.erase(*of_);
}

}  // namespace convoy::keras
