// Small numbers through a layer's own windows, so that a difference of one cell can be seen.
#include "explain/explanation.h"
#include "run/run.h"

#include <numeric>

namespace convoy::explain {
namespace {

std::vector<float> powers_of_ten(std::size_t count) {
  std::vector<float> x{1};
  while (x.size() < count) x.push_back(x.back() * 10);
  return x;
}

std::vector<double> computed(Op op, const std::vector<float>& x, const std::vector<float>& w) {
  Graph graph;
  const Tensor input = Tensor::of({1, 1, static_cast<Size>(x.size())}, x);
  std::vector<ValueId> inputs{graph.input("x", type_of(input))};
  if (!w.empty()) inputs.push_back(graph.constant("w", Tensor::of({1, 1, static_cast<Size>(w.size())}, w)));
  auto made = graph.add(std::move(op), inputs, "y");
  if (!made) return {};
  graph.outputs = *made;
  graph.output_names = {"y"};
  auto values = run(graph, {input});
  if (!values) return {};
  const std::vector<float> y = values->at(made->front()).floats();
  return {y.begin(), y.end()};
}

constexpr Axes only_axis{Order::ChannelsFirst, 1};

}  // namespace

std::optional<Comparison> compare(const Layer& layer, std::size_t axis) {
  const Window w = layer.windows[axis];
  if (w.kernel > 5 || w.stride > 4 || w.dilation > 3) return std::nullopt;
  const bool transposed = layer.does == Does::Transpose;
  const auto x = powers_of_ten(transposed ? 3 : 4);
  std::vector<float> kernel(static_cast<std::size_t>(w.kernel));
  std::iota(kernel.begin(), kernel.end(), 1.0F);
  Comparison shown{{x.begin(), x.end()}, {kernel.begin(), kernel.end()}, {}};
  const auto add = [&](std::string name, std::vector<double> y) {
    if (!y.empty()) shown.rows.push_back({std::move(name), std::move(y)});
  };
  if (transposed) {
    const Size in = static_cast<Size>(x.size());
    const auto own = explicit_crops(layer.crops[axis], w);
    if (!own) return std::nullopt;
    const auto same = crop_to_gradient({Spelling::SameUpper}, w, in, crop_by(own->before, own->after, w, in).out);
    const auto conv = [&](TransposedPadding p) {
      return computed(ConvTranspose{only_axis, KernelOrder::InOutSpace, {w}, {p}, 1}, x, kernel);
    };
    add("this layer", conv(*own));
    if (same) add("SAME", conv({CropSpelling::Explicit, same->before, same->after, {}}));
  } else if (layer.does == Does::Convolve) {
    const auto conv = [&](Padding p) {
      return computed(Conv{only_axis, KernelOrder::OutInSpace, {w}, {p}, 1}, x, kernel);
    };
    const auto half = pads_at_every_size({Spelling::SameUpper}, {w.kernel, 1, w.dilation});
    if (!half) return std::nullopt;
    add("this layer", conv(layer.paddings[axis]));
    add("padding=" + std::to_string(half->before), conv({Spelling::Explicit, half->before, half->before}));
  } else {
    return std::nullopt;
  }
  if (shown.rows.size() < 2 || shown.rows[0].y == shown.rows[1].y) return std::nullopt;
  return shown;
}

}  // namespace convoy::explain
