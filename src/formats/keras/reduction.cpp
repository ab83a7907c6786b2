// Global pooling: a reduction over the spatial axes.
#include "formats/keras/call.h"

#include <array>

namespace convoy::keras {
namespace {

Values global(Call& call, Reduction reduction, Size space) {
  const ValueId x = call.x();
  const Axes axes{call.order(), space};
  const bool keeps = call.attrs.truth("keepdims", false);
  if (!call.expect_rank(x, axes.rank())) return {};
  Sizes over;
  for (Size i = 0; i < space; ++i) over.push_back(axes.spatial(i));
  return {call.add(Reduce{reduction, over, keeps}, {x})};
}

// Of the steps that count alone; the others are left out even where they are no numbers.
Values masked_average(Call& call, ValueId mask) {
  const ValueId x = call.x();
  const Axes axes{call.order(), 1};
  const bool keeps = call.attrs.truth("keepdims", false);
  if (!call.expect_rank(x, axes.rank())) return {};
  const Size time = axes.spatial(0), other = time == 1 ? 2 : 1;
  const ValueId counts = call.add(Unsqueeze{{other}}, {mask}, "counts");
  const ValueId zero = call.literal("zero", Tensor::of(Sizes{}, std::vector<float>{0}));
  const ValueId kept = call.add(Where{}, {counts, x, zero}, "kept");
  const ValueId sum = call.add(Reduce{Reduction::Sum, {time}, keeps}, {kept}, "sum");
  const ValueId steps = call.add(Cast{DType::F32}, {counts}, "steps");
  return {call.add(Binary{BinaryFunction::Divide},
                   {sum, call.add(Reduce{Reduction::Sum, {time}, keeps}, {steps}, "count")})};
}

template <Size space>
Values average(Call& call) {
  if (space == 1)
    if (const auto mask = call.mask()) return masked_average(call, *mask);
  return global(call, Reduction::Mean, space);
}
template <Size space>
Values maximum(Call& call) {
  return global(call, Reduction::Maximum, space);
}

constexpr std::array reduction_table{
    LayerRow{"GlobalAveragePooling1D", average<1>}, LayerRow{"GlobalAveragePooling2D", average<2>},
    LayerRow{"GlobalAveragePooling3D", average<3>}, LayerRow{"GlobalAvgPool1D", average<1>},
    LayerRow{"GlobalAvgPool2D", average<2>},        LayerRow{"GlobalAvgPool3D", average<3>},
    LayerRow{"GlobalMaxPooling1D", maximum<1>},     LayerRow{"GlobalMaxPooling2D", maximum<2>},
    LayerRow{"GlobalMaxPooling3D", maximum<3>},     LayerRow{"GlobalMaxPool1D", maximum<1>},
    LayerRow{"GlobalMaxPool2D", maximum<2>},        LayerRow{"GlobalMaxPool3D", maximum<3>},
};

}  // namespace

std::span<const LayerRow> reduction_rows() { return reduction_table; }

}  // namespace convoy::keras
