// Pools with windows, and adaptive pools of a known size.
#include "formats/keras/write/sink.h"
#include "ops/vocabulary.h"

#include <algorithm>
#include <array>

namespace convoy::keras::writing {
namespace {

Status write_windows(const char* stem, Axes axes, const std::vector<Window>& windows,
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
  LayerConfig config = sink.layer(class_of(stem, axes.space));
  config.results = 1;  // no pool of Keras tells places
  config.arguments["pool_size"] = one_or_all(kernel);
  if (strides != kernel) config.arguments["strides"] = one_or_all(strides);
  if (form == Form::SameUpper) config.arguments["padding"] = "same";
  else if (form != Form::Valid) return sink.broken("a padding of a pool");
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
  if (ones == pool.axes.space) {
    LayerConfig config = sink.layer(class_of(maximum ? "GlobalMaxPooling" : "GlobalAveragePooling", pool.axes.space));
    config.arguments["keepdims"] = true;
    config.results = 1;
    return sink.last(std::move(config));
  }
  for (Size i = 0; i < pool.axes.space; ++i)
    if (!sink.dim(pool.axes.spatial(i)).known())
      return sink.refused("an adaptive pool of an input whose size is not known beforehand");
  if (maximum && ones > 0) return sink.refused("an adaptive maximum with one cell of output along some of its axes");
  LayerConfig config = sink.layer(class_of(maximum ? "AdaptiveMaxPooling" : "AdaptiveAveragePooling", pool.axes.space));
  config.arguments["output_size"] = one_or_all(pool.out);
  config.results = 1;
  return sink.last(std::move(config));
}

constexpr std::array pooling_table{writes<write_max_pool>(), writes<write_average_pool>(),
                                   lacks<LpPool, Sink>("Keras has no pool of powers"), writes<write_adaptive>(),
                                   lacks<MaxUnpool, Sink>("Keras has no layer that puts numbers at told positions")};
static_assert(decides<Pooling>(pooling_table));

}  // namespace

std::span<const Row> pooling_rows() { return pooling_table; }

}  // namespace convoy::keras::writing
