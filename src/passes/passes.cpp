#include "passes/passes.h"

#include "base/budget.h"
#include "base/nearest.h"
#include "passes/rewrites.h"

#include <algorithm>
#include <array>
#include <utility>

namespace convoy {

namespace {

constexpr Pass dropping{"drop_identities", "takes out what leaves every number as it is", drop_identities, false};
constexpr Pass moving{"move_axes",
                      "keeps every tensor channels first, with transposes only where an operator needs another order",
                      move_axes, true};
constexpr Pass moving_last{
    "move_axes", "keeps every tensor channels last, with transposes only where an operator needs another order",
    move_axes, true};
constexpr Pass kernels{"order_kernels", "stores kernels and matrices in the target's order", order_kernels, true};
constexpr Pass gates{"order_gates", "stores the gates of recurrent cells in the target's order", order_gates, true};
constexpr Pass folding{"fold_padding", "takes a pad in front of a convolution or a pool into the layer's own padding",
                       fold_padding, false};
constexpr Pass folding_dilation{"fold_dilation", "takes space in the batch around a convolution for dilation",
                                fold_dilation, false};
constexpr Pass folding_gelu{"fold_gelu",
                            "takes GELU spelt with the error function for what it is, where the target has no other",
                            fold_gelu, true};
constexpr Pass folding_crops{"fold_crops", "takes zeros and cuts behind a transposed convolution into its own crops",
                             fold_crops, false};
constexpr Pass saying_crops{"lower_crops",
                            "says the crops of transposed convolutions as padding, or as a crop or pad behind",
                            lower_crops, true};
constexpr Pass padding{"lower_padding", "says the padding of convolutions in the target's words, or as a pad in front",
                       lower_padding, true};
constexpr Pass pools{"lower_pools", "says the padding of pools in the target's words, or as a pad in front",
                     lower_pools, true};
constexpr Pass resizing{"lower_resize",
                        "says resizing in the target's words, or as products with the weights of each axis",
                        lower_resize, true};
constexpr Pass norms{"lower_norms", "puts the normalised axis second, with transposes around where it lies elsewhere",
                     lower_norms, true};
constexpr Pass parameters{"separate_parameters",
                          "multiplies and adds behind a norm the scale and shift that the model computes",
                          separate_parameters, true};
constexpr Pass softmax{"lower_softmax", "spells out a softmax over several axes, and what of its kind the target lacks",
                       lower_softmax, true};
constexpr Pass shuffling{"shuffle_channels", "orders the channels in front of a pixel shuffle as the target reads them",
                         shuffle_channels, true};

constexpr Pass divisions{"lower_divisions", "says divisions with a remainder as the target rounds them",
                         lower_divisions, true};
constexpr Pass casts{"cast_whole_numbers", "puts a cast in front of what makes fractions of whole numbers",
                     cast_whole_numbers, true};
constexpr Pass widening{"widen_whole_numbers",
                        "computes whole numbers in a wider type where the target has no kernel for theirs",
                        widen_whole_numbers, true};
constexpr Pass halves{"widen_halves",
                      "computes in float32 what of 16 bits the target says in several steps, and rounds it once",
                      widen_halves, false};
constexpr Pass rounding{"round_steps", "rounds the steps of recurrent cells of 16 bits in the target's order",
                        round_steps, false};

constexpr Pass transposed{"lower_transposed",
                          "says transposed convolutions with groups or dilation by layers that the target has",
                          lower_transposed, true};
constexpr Pass dilation{
    "lower_dilation", "says dilated windows by strides behind, kernels with zeros between their taps, or shifted cells",
    lower_dilation, true};
constexpr Pass pads{"lower_pads", "cuts cells off apart from adding them, and says modes of padding by slices",
                    lower_pads, true};
constexpr Pass adaptive{"lower_adaptive", "says adaptive pools by reductions, windows or slices that the target runs",
                        lower_adaptive, true};
constexpr Pass powers{"lower_powers", "says pools of powers and local response by powers, averages and shifted sums",
                      lower_powers, true};
constexpr Pass patches{"lower_patches",
                       "says windows laid side by side, or added back, by convolutions with one tap each",
                       lower_patches, true};
constexpr Pass choices{"lower_top_k",
                       "says the largest or smallest few along any axis by the largest along the last one", lower_top_k,
                       true};
constexpr Pass splitting{"split_products",
                         "computes exact sums of whole numbers in parts that float32 holds, where TFLite lacks float64",
                         split_products, false};
constexpr Pass running{"lower_accumulate",
                       "says running sums from the end, or without the number itself, by plain ones", lower_accumulate,
                       true};
constexpr Pass bounds{"say_open_bounds",
                      "says infinity where ONNX would stop at the last finite number, and only there", say_open_bounds,
                      false};
constexpr Pass blocks{"lower_blocks",
                      "says blocks of space that move into the batch, and back, by reshapes and transposes",
                      lower_blocks, true};
constexpr Pass grids{"lower_grid_sample",
                     "says what an image is at places of a grid by looking up the cells around them", lower_grid_sample,
                     true};
constexpr Pass stretching{"stretch_operands",
                          "stretches operands before they meet, where more groups of axes alternate than TensorFlow "
                          "broadcasts over",
                          stretch_operands, false};
constexpr Pass constants{"fold_constants", "gives weights the shape, order and type in which a layer meets them",
                         fold_constants, true};
constexpr Pass cells{"lower_cells", "says recurrent cells step by step, where the target has none without a memory",
                     lower_cells, true};
constexpr Pass dilated_averages{"lower_dilation", "says dilated averages by depthwise convolutions with equal taps",
                                lower_dilation, true};
constexpr Pass positions{"lower_positions", "counts the positions of maxima within one plane, and on from there",
                         lower_positions, true};
constexpr Pass turning{"turn_pads", "puts the axes of mirrored, wrapped and repeated pads last, with transposes around",
                       turn_pads, true};
constexpr std::array torch_passes{dropping, rounding, halves,        bounds,       parameters,       folding_dilation,
                                  blocks,   moving,   turning,       positions,    dilated_averages, kernels,
                                  gates,    folding,  folding_crops, saying_crops, padding,          pools,
                                  resizing, norms,    softmax,       shuffling,    widening,         casts};
// ONNX reads both orders of a pixel shuffle.
constexpr std::array onnx_passes{dropping, rounding,      halves,           bounds,    folding_dilation,
                                 grids,    moving,        dilated_averages, kernels,   adaptive,
                                 folding,  folding_crops, saying_crops,     padding,   pools,
                                 resizing, norms,         softmax,          divisions, widening,
                                 casts};
constexpr std::array keras_passes{dropping,     rounding,         halves,     splitting,  bounds,    parameters,
                                  folding_gelu, folding_dilation, blocks,     constants,  patches,   grids,
                                  moving_last,  choices,          running,    transposed, adaptive,  powers,
                                  dilation,     kernels,          gates,      cells,      folding,   folding_crops,
                                  saying_crops, padding,          pools,      resizing,   shuffling, softmax,
                                  pads,         divisions,        stretching, widening,   casts};

}  // namespace

Target torch_target() { return {Framework::Torch, 0, torch_passes}; }
Target onnx_target(int opset) { return {Framework::OnnxRuntime, opset, onnx_passes}; }
Target keras_target() { return {Framework::Keras, 0, keras_passes}; }
Target tflite_target() {
  Target target = keras_target();
  target.lite = true;
  return target;
}

Interface interface_of(const Graph& graph, const Target& target) {
  if (target.outside == Outside::Source) return interface_of_source(graph);
  return interface_of(graph, target.framework == Framework::Keras ? Order::ChannelsLast : Order::ChannelsFirst);
}

Result<std::vector<PassReport>> run_passes(Graph& graph, const Target& target,
                                           const std::vector<std::string>& without) {
  std::vector<std::string> passes;
  for (const Pass& p : target.passes) passes.emplace_back(p.name);
  for (const std::string& name : without)
    if (std::ranges::find(passes, name) == passes.end())
      return fail(Fault::Usage, "there is no pass '" + name + "' toward this target" +
                                    did_you_mean(name, passes, "convoy ops lists them"));
  // From here on every value says which one of the source it carries; what passes add later carries none.
  const auto told = [&](ValueId v) { return graph[v].origin.has_value(); };
  if (std::ranges::none_of(graph.inputs, told))
    for (Value& value : graph.values)
      if (!value.origin) value.origin = Origin{value.name, {}, {}};
  const budget::Making making("bringing the model into the words of the target");
  std::vector<PassReport> reports;
  Target fixed = target;
  if (!fixed.interface) fixed.interface = interface_of(graph, target);
  for (const Pass& pass_to_run : target.passes) {
    if (std::ranges::find(without, pass_to_run.name) != without.end()) continue;
    auto patch = pass_to_run.rewrite(graph, fixed);
    if (!patch) return pass(patch);
    if (!patch->remarks().empty()) reports.push_back({pass_to_run.name, patch->remarks()});
    if (patch->empty()) continue;
    if (auto done = apply(graph, std::move(*patch)); !done)
      return within("pass '" + std::string(pass_to_run.name) + "'", Result<std::vector<PassReport>>(pass(done)));
  }
  return reports;
}

}  // namespace convoy
