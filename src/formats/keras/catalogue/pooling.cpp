// Maximum and average pooling with windows, global and adaptive pooling. Source: keras/src/layers/pooling and ops/nn.py of
// Keras 3.15.
#include "formats/keras/catalogue/windows.h"
#include "formats/keras/catalogue/write.h"
#include "ops/expect.h"
#include "ops/vocabulary.h"

#include <algorithm>
#include <array>

namespace convoy::keras {
namespace {

// The one tensor of a layer or of a function, and the axes of its space.
struct Pooled {
  ValueId x;
  Axes axes;
};
Pooled pooled(Use& use) {
  const bool layer = use.kind == Use::Kind::Layer;
  const ValueId x = layer ? use.call.x() : use.operand("inputs");
  const Axes axes{use.order(), layer ? use.space() : use.call.rank(x) - 2};
  if (layer) use.call.expect_rank(x, axes.rank());
  else if (axes.space < 1 || axes.space > 3)
    use.call.refuse(Fault::Unsupported, "pools a tensor of rank " + std::to_string(use.call.rank(x)));
  return {x, axes};
}

template <class Pool>
Values pool(Use& use) {
  const auto [x, axes] = pooled(use);
  if (use.call.failed()) return {};
  const auto space = static_cast<std::size_t>(axes.space);
  Pool op;
  op.axes = axes;
  op.windows = windows_of(use, use.sizes("pool_size", space));
  op.paddings.assign(space, {padding_of(use)});
  if (op.paddings.front().spelling == Spelling::SameUpper && use.call.builder().theano)
    use.call.refuse(Fault::Unsupported, "pools with Theano's 'same', which this version does not carry");
  return use.add(std::move(op), {x});
}

template <Extreme kind>
Values adaptive(Use& use) {
  const auto [x, axes] = pooled(use);
  const Sizes out = use.sizes("output_size", static_cast<std::size_t>(axes.space));
  return use.add(AdaptivePool{axes, kind, out}, {x});
}

// Of the steps that count alone; the others are left out even where they are no numbers.
Values masked_average(Call& call, ValueId x, Size time, bool keeps, ValueId mask) {
  const ValueId counts = call.add(Unsqueeze{{time == 1 ? 2 : 1}}, {mask}, "counts");
  const DType dtype = is_floating(call.type(x).dtype) ? call.type(x).dtype : DType::F32;
  const ValueId zero = call.literal("zero", Tensor::of(Sizes{}, std::vector<float>{0}).converted(dtype));
  const ValueId kept = call.add(Where{}, {counts, x, zero}, "kept");
  const ValueId sum = call.add(Reduce{Reduction::Sum, {time}, keeps}, {kept}, "sum");
  const ValueId steps = call.add(Cast{dtype}, {counts}, "steps");
  return {call.add(Binary{BinaryFunction::Divide},
                   {sum, call.add(Reduce{Reduction::Sum, {time}, keeps}, {steps}, "count")})};
}

// A reduction over the axes of space.
template <Reduction reduction>
Values global(Use& use) {
  const auto [x, axes] = pooled(use);
  const bool keeps = use.truth("keepdims");
  if (use.call.failed()) return {};
  if (reduction == Reduction::Mean && axes.space == 1)
    if (const auto mask = use.call.mask()) return masked_average(use.call, x, axes.spatial(0), keeps, *mask);
  Sizes over;
  for (Size i = 0; i < axes.space; ++i) over.push_back(axes.spatial(i));
  return use.add(Reduce{reduction, over, keeps}, {x});
}

constexpr std::string_view windowed = "pool_size|pool_length=2 strides|stride= padding|border_mode=valid data_format=";
constexpr std::string_view windowed_function = "inputs pool_size strides= padding=valid data_format=";

constexpr std::array rows_of_pooling{
    CatalogueRow{"layers.MaxPooling1D|MaxPool1D layers.MaxPooling2D|MaxPool2D layers.MaxPooling3D|MaxPool3D", windowed,
                 pool<MaxPool>},
    CatalogueRow{
        "layers.AveragePooling1D|AvgPool1D layers.AveragePooling2D|AvgPool2D layers.AveragePooling3D|AvgPool3D",
        windowed, pool<AveragePool>},
    CatalogueRow{"nn.MaxPool", windowed_function, pool<MaxPool>},
    CatalogueRow{"nn.AveragePool code.avg_pool", windowed_function, pool<AveragePool>},
    CatalogueRow{"layers.AdaptiveAveragePooling1D layers.AdaptiveAveragePooling2D layers.AdaptiveAveragePooling3D",
                 "output_size data_format=", adaptive<Extreme::Average>},
    CatalogueRow{"layers.AdaptiveMaxPooling1D layers.AdaptiveMaxPooling2D layers.AdaptiveMaxPooling3D",
                 "output_size data_format=", adaptive<Extreme::Maximum>},
    CatalogueRow{"layers.GlobalAveragePooling1D|GlobalAvgPool1D layers.GlobalAveragePooling2D|GlobalAvgPool2D "
                 "layers.GlobalAveragePooling3D|GlobalAvgPool3D",
                 "data_format= keepdims=False", global<Reduction::Mean>},
    CatalogueRow{"layers.GlobalMaxPooling1D|GlobalMaxPool1D layers.GlobalMaxPooling2D|GlobalMaxPool2D "
                 "layers.GlobalMaxPooling3D|GlobalMaxPool3D",
                 "data_format= keepdims=False", global<Reduction::Maximum>},
};

}  // namespace

std::span<const CatalogueRow> pooling_operators() { return rows_of_pooling; }

namespace writing {
namespace {

Status write_windows(std::string_view stem, Axes axes, const std::vector<Window>& windows,
                     const std::vector<Padding>& paddings, Windowed windowed, Sink& sink) {
  if (axes.space < 1 || axes.space > 3)
    return sink.refused("a pool over " + std::to_string(axes.space) + " spatial axes");
  if (axes.order != Order::ChannelsLast) return sink.broken("a pool with channels first");
  Sizes kernel, strides;
  for (const Window& w : windows) {
    if (w.dilation != 1) return sink.refused("a pool with dilation");
    kernel.push_back(w.kernel);
    strides.push_back(w.stride);
  }
  const auto form = form_of({Framework::Keras, windowed}, paddings, windows);
  if (form != Form::SameUpper && form != Form::Valid) return sink.broken("a padding of a pool");
  // The size is said even where it is Keras's default: nobody knows that one by heart.
  LayerConfig config = sink.layer(class_of(stem, axes.space));
  config.results = 1;  // no pool of Keras tells places
  config.arguments["pool_size"] = one_or_all(kernel);
  if (strides != kernel) config.arguments["strides"] = one_or_all(strides);
  if (form == Form::SameUpper) config.arguments["padding"] = "same";
  return sink.last(std::move(config));
}

Status write_max_pool(const MaxPool& pool, Sink& sink) {
  if (pool.positions != Positions::None && sink.is_read(1))
    return sink.refused("a pool that tells where its maxima lie");
  return write_windows("MaxPooling", pool.axes, pool.windows, pool.paddings, Windowed::MaxPools, sink);
}

Status write_average_pool(const AveragePool& pool, Sink& sink) {
  if (pool.divisor) return sink.broken("a divisor of an average");
  return write_windows("AveragePooling", pool.axes, pool.windows, pool.paddings,
                       pool.counts_padding ? Windowed::CountingAverages : Windowed::Averages, sink);
}

// Keras 3.15 ends the process for a maximum over one cell of output in two and three dimensions, so that is said as what
// it is: a global maximum.
Status write_adaptive(const AdaptivePool& pool, Sink& sink) {
  if (pool.positions != Positions::None && sink.is_read(1))
    return sink.refused("a pool that tells where its maxima lie");
  if (pool.axes.order != Order::ChannelsLast) return sink.broken("a pool with channels first");
  const bool maximum = pool.kind == Extreme::Maximum;
  const auto ones = std::ranges::count(pool.out, Size{1});
  LayerConfig config;
  if (ones == pool.axes.space) {
    config = sink.layer(class_of(maximum ? "GlobalMaxPooling" : "GlobalAveragePooling", pool.axes.space));
    config.arguments["keepdims"] = true;
  } else {
    for (Size i = 0; i < pool.axes.space; ++i)
      if (!sink.dim(pool.axes.spatial(i)).known())
        return sink.refused("an adaptive pool of an input whose size is not known beforehand");
    if (maximum && ones > 0) return sink.refused("an adaptive maximum with one cell of output along some of its axes");
    config = sink.layer(class_of(maximum ? "AdaptiveMaxPooling" : "AdaptiveAveragePooling", pool.axes.space));
    config.arguments["output_size"] = one_or_all(pool.out);
  }
  config.results = 1;
  return sink.last(std::move(config));
}

constexpr std::array pooling_table{writes<write_max_pool>(), writes<write_average_pool>(),
                                   lacks<LpPool, Sink>("Keras has no pool of powers"), writes<write_adaptive>(),
                                   lacks<MaxUnpool, Sink>("Keras has no layer that puts numbers at told positions")};
static_assert(decides<Pooling>(pooling_table));

}  // namespace

std::span<const Row> pooling_rows() { return pooling_table; }

}  // namespace writing
}  // namespace convoy::keras
