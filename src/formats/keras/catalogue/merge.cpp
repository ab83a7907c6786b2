// Layers that merge several tensors into one. Sources: keras/src/layers/merging of Keras 3.15, keras/layers/merge.py of Keras 1.
#include "formats/keras/catalogue/catalogue.h"
#include "formats/keras/masks.h"
#include "formats/keras/merge_modes.h"
#include "formats/keras/operation.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <optional>

namespace convoy::keras {
namespace {

// Keras puts axes behind the batch of those inputs that have fewer.
Values aligned(Call& call) {
  Size most = 0;
  for (const ValueId v : call.inputs) most = std::max(most, call.rank(v));
  Values all;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Size missing = most - call.rank(call.inputs[i]);
    Sizes axes;
    for (Size k = 0; k < missing; ++k) axes.push_back(1 + k);
    all.push_back(missing == 0 ? call.inputs[i]
                               : call.add(Unsqueeze{axes}, {call.inputs[i]}, "aligned_" + std::to_string(i)));
  }
  return all;
}

ValueId folded(Call& call, BinaryFunction function, std::string_view last_step) {
  if (call.inputs.size() < 2) {
    call.refuse(Fault::Format, "merges " + std::to_string(call.inputs.size()) + " inputs, expected at least 2");
    return {};
  }
  const Values all = aligned(call);
  ValueId sum = all.front();
  for (std::size_t i = 1; i < all.size(); ++i)
    sum = call.add(Binary{function}, {sum, all[i]},
                   i + 1 == all.size() ? std::string(last_step) : "part_" + std::to_string(i));
  return sum;
}

template <BinaryFunction function>
Values merge(Use& use) {
  return {folded(use.call, function, "")};
}

// The masks of inputs, each under a new last axis.
std::vector<std::optional<ValueId>> masks_of(Call& call, const Values& aligned) {
  std::vector<std::optional<ValueId>> masks;
  for (std::size_t i = 0; i < aligned.size(); ++i) {
    const auto mask = call.mask_of(call.inputs[i]);
    if (mask && call.rank(*mask) + 1 != call.rank(aligned[i]))
      call.refuse(Fault::Unsupported, "reads a mask that is of other axes than what it counts");
    masks.push_back(mask && !call.failed() ? std::optional(call.add(Unsqueeze{{call.rank(*mask)}}, {*mask}, "mask"))
                                           : std::nullopt);
  }
  return masks;
}

std::optional<ValueId> either(Call& call, std::optional<ValueId> a, std::optional<ValueId> b) {
  return a && b ? std::optional(call.add(Binary{BinaryFunction::Or}, {*a, *b}, "mask")) : std::nullopt;
}

// Whether the layer looks at the masks of its inputs: in Keras 3, where there are any.
bool looks_at_masks(Call& call) {
  return call.version.major >= 3 && std::ranges::any_of(call.inputs, [&](ValueId v) { return is_masked(call, v); });
}

// In Keras 3 the larger or smaller among the inputs that count at a step.
template <BinaryFunction extreme>
Values merge_extremes(Use& use) {
  Call& call = use.call;
  if (!looks_at_masks(call)) return merge<extreme>(use);
  const Values all = aligned(call);
  const auto masks = masks_of(call, all);
  if (call.failed()) return {};
  ValueId y = all.front();
  std::optional<ValueId> counts = masks.front();
  for (std::size_t i = 1; i < all.size(); ++i) {
    const ValueId x = masks[i] ? call.add(Where{}, {*masks[i], all[i], y}, "counted") : all[i];
    if (counts) y = call.add(Where{}, {*counts, y, x}, "counted");
    counts = either(call, counts, masks[i]);
    y = call.add(Binary{extreme}, {y, x}, i + 1 == all.size() ? "" : "part_" + std::to_string(i));
  }
  return {y};
}

// In Keras 3 what does not count at a step is 1, and 0 where none counts.
Values multiply(Use& use) {
  Call& call = use.call;
  if (!looks_at_masks(call)) return merge<BinaryFunction::Multiply>(use);
  const Values all = aligned(call);
  const auto masks = masks_of(call, all);
  if (call.failed()) return {};
  const auto number = [&](const char* name, float value) {
    const DType dtype = call.type(all.front()).dtype;
    return is_floating(dtype) ? call.literal(name, Tensor::of(Sizes{}, std::vector<float>{value}).converted(dtype))
                              : whole_constant(call, name, static_cast<std::int64_t>(value), dtype);
  };
  const bool have_all = std::ranges::all_of(masks, [](const auto& one) { return one.has_value(); });
  std::optional<ValueId> y, counts = masks.front();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const ValueId x = masks[i] ? call.add(Where{}, {*masks[i], all[i], number("one", 1)}, "counted") : all[i];
    const bool is_last = i + 1 == all.size() && !have_all;
    y = y ? call.add(Binary{BinaryFunction::Multiply}, {*y, x}, is_last ? "" : "part_" + std::to_string(i)) : x;
    if (i > 0) counts = either(call, counts, masks[i]);
  }
  return {have_all ? call.add(Where{}, {*counts, *y, number("nothing", 0)}) : *y};
}

Values subtract(Use& use) {
  Call& call = use.call;
  if (call.inputs.size() != 2)
    call.refuse(Fault::Format, "subtracts " + std::to_string(call.inputs.size()) + " inputs, expected 2");
  return {folded(call, BinaryFunction::Subtract, "")};
}

Values average(Use& use) {
  Call& call = use.call;
  const ValueId sum = folded(call, BinaryFunction::Add, "sum");
  if (call.failed()) return {};
  // Keras divides; multiplying by 1/3 would round differently. TensorFlow divides whole numbers of 32 bits and more in float64.
  const auto count = static_cast<float>(call.inputs.size());
  const DType dtype = call.type(sum).dtype;
  const ValueId divisor = is_floating(dtype) || bytes_of(dtype) < 4
                              ? call.scalar("count", count)
                              : call.literal("count", Tensor::of(Sizes{}, std::vector<double>{count}));
  return {call.add(Binary{BinaryFunction::Divide}, {sum, divisor})};
}

// Keras 1: one layer with a word for what it does.
Values old_merge(Use& use) {
  Call& call = use.call;
  call.attrs.ignore({"mode_type", "output_shape", "output_shape_type", "output_mask", "output_mask_type", "arguments",
                     "layers", "node_indices", "tensor_indices", "dot_axes"});
  const std::string mode = use.word("mode");
  const Size concat_axis = use.whole("concat_axis");
  const std::string_view merging = merging_class(mode);
  if (merging == "Concatenate" && !call.inputs.empty())
    return use.add(Concat{call.axis(concat_axis, call.rank(call.inputs.front()))}, call.inputs);
  if (const CatalogueRow* row = catalogued("layers", merging); row && merging != "Dot")
    return read_catalogued({call, *row, use.kind});
  call.refuse(Fault::Unsupported, "merges by '" + mode + "', which this version does not carry");
  return {};
}

constexpr std::array rows_of_merges{
    CatalogueRow{"layers.Add", "", merge<BinaryFunction::Add>},
    CatalogueRow{"layers.Multiply", "", multiply},
    CatalogueRow{"layers.Maximum", "", merge_extremes<BinaryFunction::Maximum>},
    CatalogueRow{"layers.Minimum", "", merge_extremes<BinaryFunction::Minimum>},
    CatalogueRow{"layers.Subtract", "", subtract},
    CatalogueRow{"layers.Average", "", average},
    CatalogueRow{"saved.Merge", "mode=sum concat_axis=-1", old_merge},
};

}  // namespace

std::span<const CatalogueRow> merge_operators() { return rows_of_merges; }

}  // namespace convoy::keras
