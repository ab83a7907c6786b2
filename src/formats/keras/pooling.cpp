// Maximum and average pooling with windows, and adaptive pooling.
#include "formats/keras/call.h"

#include <array>

namespace convoy::keras {
namespace {

struct Geometry {
  Axes axes;
  std::vector<Window> windows;
  std::vector<Padding> paddings;
};

Geometry geometry(Call& call, Size space) {
  const auto rank = static_cast<std::size_t>(space);
  Geometry g{{call.order(), space}, {}, {}};
  const Sizes pool = call.attrs.sizes_of(call.attrs.raw({"pool_size", "pool_length"}), "pool_size", rank, 2);
  const Json* argument = call.attrs.raw({"strides", "stride"});
  const Sizes strides = argument ? call.attrs.sizes_of(argument, "strides", rank) : pool;
  const Json* padding = call.attrs.raw({"padding", "border_mode"});
  const std::string word = !padding ? "valid" : padding->is_string() ? padding->get<std::string>() : "";
  if (word != "valid" && word != "same")
    call.refuse(Fault::Unsupported, "attribute 'padding' is '" + word + "', expected 'valid' or 'same'");
  if (word == "same" && call.builder().theano)
    call.refuse(Fault::Unsupported, "pools with Theano's 'same', which this version does not carry");
  for (std::size_t i = 0; i < rank; ++i) {
    g.windows.push_back({pool[i], strides[i], 1});
    g.paddings.push_back({word == "same" ? Spelling::SameUpper : Spelling::Valid});
    if (!call.failed() && !g.windows.back().sane())
      call.refuse(Fault::Format, "pool size " + std::to_string(pool[i]) + " and stride " + std::to_string(strides[i]) +
                                     " are no window");
  }
  return g;
}

template <Size space>
Values max_pool(Call& call) {
  const ValueId x = call.x();
  Geometry g = geometry(call, space);
  if (!call.expect_rank(x, g.axes.rank())) return {};
  return {call.add(MaxPool{g.axes, std::move(g.windows), std::move(g.paddings)}, {x})};
}

template <Size space>
Values average_pool(Call& call) {
  const ValueId x = call.x();
  Geometry g = geometry(call, space);
  if (!call.expect_rank(x, g.axes.rank())) return {};
  return {call.add(AveragePool{g.axes, std::move(g.windows), std::move(g.paddings), false, {}}, {x})};
}

Values adaptive(Call& call, Extreme kind, Size space) {
  const ValueId x = call.x();
  const Axes axes{call.order(), space};
  const Sizes out = call.attrs.sizes("output_size", static_cast<std::size_t>(space));
  if (!call.expect_rank(x, axes.rank())) return {};
  return {call.add(AdaptivePool{axes, kind, out}, {x})};
}

template <Size space>
Values adaptive_average(Call& call) {
  return adaptive(call, Extreme::Average, space);
}
template <Size space>
Values adaptive_max(Call& call) {
  return adaptive(call, Extreme::Maximum, space);
}

constexpr std::array pooling_table{
    LayerRow{"MaxPooling1D", max_pool<1>},
    LayerRow{"MaxPooling2D", max_pool<2>},
    LayerRow{"MaxPooling3D", max_pool<3>},
    LayerRow{"MaxPool1D", max_pool<1>},
    LayerRow{"MaxPool2D", max_pool<2>},
    LayerRow{"MaxPool3D", max_pool<3>},
    LayerRow{"AveragePooling1D", average_pool<1>},
    LayerRow{"AveragePooling2D", average_pool<2>},
    LayerRow{"AveragePooling3D", average_pool<3>},
    LayerRow{"AvgPool1D", average_pool<1>},
    LayerRow{"AvgPool2D", average_pool<2>},
    LayerRow{"AvgPool3D", average_pool<3>},
    LayerRow{"AdaptiveAveragePooling1D", adaptive_average<1>},
    LayerRow{"AdaptiveAveragePooling2D", adaptive_average<2>},
    LayerRow{"AdaptiveAveragePooling3D", adaptive_average<3>},
    LayerRow{"AdaptiveMaxPooling1D", adaptive_max<1>},
    LayerRow{"AdaptiveMaxPooling2D", adaptive_max<2>},
    LayerRow{"AdaptiveMaxPooling3D", adaptive_max<3>},
};

}  // namespace

std::span<const LayerRow> pooling_rows() { return pooling_table; }

}  // namespace convoy::keras
