#include "formats/keras/masks.h"

#include "base/whole_tensor.h"
#include "graph/filled_like.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

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
// Sources: supports_masking in keras/src/layers of Keras 3.15 and in tf_keras/src/layers of tf_keras 2.21.
bool hands_mask_on(const std::string& c, int major) {
  constexpr std::array<std::string_view, 15> of_all{"Activation",
                                                    "ActivityRegularization",
                                                    "BatchNormalization",
                                                    "Dense",
                                                    "ELU",
                                                    "GaussianNoise",
                                                    "GroupNormalization",
                                                    "LayerNormalization",
                                                    "LeakyReLU",
                                                    "MultiHeadAttention",
                                                    "PReLU",
                                                    "ReLU",
                                                    "Softmax",
                                                    "TimeDistributed",
                                                    "UnitNormalization"};
  constexpr std::array<std::string_view, 3> of_three{"Identity", "Normalization", "Rescaling"};
  if (c.find("Dropout") != std::string::npos || std::ranges::find(of_all, c) != of_all.end()) return true;
  return major >= 3 ? std::ranges::find(of_three, c) != of_three.end() : c == "ThresholdedReLU";
}
// Layers that hand on the mask of what asks.
bool is_attention(const std::string& c) { return c == "Attention" || c == "AdditiveAttention"; }
// Layers that would compute otherwise under a mask, in ways that are not carried.
bool changes_by_mask(const std::string& c) { return c.starts_with("ConvLSTM") || c == "Lambda"; }
// Layers that are run on every step look at the mask of that step alone, if at all.
bool ignores_mask(const Layer& layer) {
  const std::string& c = layer.class_name;
  return !layer.model && !takes_mask(c) && !changes_by_mask(c) && c != "Softmax" && c != "BatchNormalization" &&
         c != "MultiHeadAttention" && !is_attention(c);
}
// Layers of several inputs combine their masks.
bool merges(const std::string& c) {
  return c == "Add" || c == "Subtract" || c == "Multiply" || c == "Average" || c == "Maximum" || c == "Minimum";
}

// In Keras 3 counts what counts in one of all; a mask less and there is none. Before, what counts in all that have a mask.
std::optional<ValueId> merged(Call& call, const Values& in) {
  const bool is_three = call.version.major >= 3;
  std::optional<ValueId> made;
  for (const ValueId v : in) {
    const auto one = call.mask_of(v);
    if (!one && is_three) return std::nullopt;
    if (!one) continue;
    made = made ? call.add(Binary{is_three ? BinaryFunction::Or : BinaryFunction::And}, {*made, *one}, "mask") : *one;
  }
  return made;
}

// Side by side along the steps; along the features the masks of the same steps meet, and what has none counts throughout.
// Nothing: all counts.
std::optional<Mask> concatenated(Call& call, const Values& in) {
  const Json* said = said_in(call.layer.config, "axis");
  const Size rank = call.rank(in.front());
  const Size axis = call.axis(said && said->is_number_integer() ? said->get<Size>() : -1, rank);
  const bool have_all = std::ranges::all_of(in, [&](ValueId v) { return is_masked(call, v); });
  const bool is_three = call.version.major >= 3;
  if (axis == rank - 1) {
    const auto made = have_all || !is_three ? merged(call, in) : std::nullopt;
    return made ? std::optional(Mask{{}, *made}) : std::nullopt;
  }
  if (axis != 1 || rank != 3 || (!have_all && !is_three)) return Mask{{}, {}, false, true};
  Values parts;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (const auto one = call.mask_of(in[i])) {
      parts.push_back(*one);
      continue;
    }
    const ValueId yes = call.literal("counts", whole_tensor(DType::Bool, {1, 1}, {1}));
    const Shape& shape = call.type(in[i]).shape;
    parts.push_back(filled_like({shape[0], shape[1]}, yes, in[i],
                                [&](Op op, Values read) { return call.add(std::move(op), std::move(read), "mask"); }));
  }
  return Mask{{}, call.add(Concat{1}, parts, "mask")};
}

}  // namespace

bool is_masked(Call& call, ValueId value) { return value && call.builder().masks.contains(value.index); }

Status follow_masks(Call& call, const Values& in, const Values& out) {
  Builder& builder = call.builder();
  const Layer& layer = call.layer;
  const auto carries = [&](ValueId v) { return is_masked(call, v); };
  if (call.failed() || std::ranges::none_of(in, carries) || is_operation(layer)) return {};
  const std::string& c = layer.class_name;
  if (changes_by_mask(c))
    return fail(Fault::Unsupported, "reads a mask (mask_zero), which this version does not carry");
  const auto unknown = [&](ValueId v) {
    const auto known = builder.masks.find(v.index);
    return known != builder.masks.end() && known->second.unknown;
  };
  if (c == "Merge" || ((merges(c) || c == "Concatenate") && std::ranges::any_of(in, unknown))) {
    for (const ValueId v : out) builder.masks.emplace(v.index, Mask{{}, {}, false, true});
    return {};
  }
  if (merges(c)) {
    if (const auto mask = merged(call, in); mask && !out.empty())
      builder.masks.emplace(out.front().index, Mask{{}, *mask});
    return {};
  }
  if (c == "Concatenate") {
    if (const auto mask = concatenated(call, in); mask && !out.empty()) builder.masks.emplace(out.front().index, *mask);
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
  if (!carries(in.front()) || out.empty() ||
      (!hands_mask_on(c, builder.version.major) && !is_attention(c) &&
       !(takes_mask(c) && sequences && *sequences == true)))
    return {};
  Mask mask = builder.masks.at(in.front().index);
  mask.named = false;
  builder.masks.emplace(out.front().index, mask);
  return {};
}

Result<Values> mask_behind(Builder& builder, const Layer& layer, const Values& inputs) {
  if (inputs.size() != 2) return fail(Fault::Format, "a mask behind a layer is of two values");
  const auto known = builder.masks.find(inputs[1].index);
  if (known == builder.masks.end()) return Values{inputs[0]};
  const Json* said = said_in(layer.config, "how");
  const std::string how = said && said->is_string() ? said->get<std::string>() : mask_is_unknown;
  if (how == mask_is_read)
    return fail(Fault::Unsupported,
                "call() of a layer of the program's own takes the mask of its input (mask_zero, Masking), "
                "which this version does not hand to it");
  if (inputs[0] != inputs[1])
    builder.masks.insert_or_assign(inputs[0].index, how == mask_is_kept ? Mask{known->second.ids, known->second.truths,
                                                                               false, known->second.unknown}
                                                                        : Mask{{}, {}, false, true});
  return Values{inputs[0]};
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
