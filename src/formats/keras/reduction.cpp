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

template <Size space>
Values average(Call& call) {
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
