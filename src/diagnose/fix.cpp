#include "diagnose/fix.h"

#include "diagnose/advised.h"
#include "diagnose/hypothesis.h"
#include "explain/layers.h"
#include "explain/line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace convoy::diagnose {

namespace {

// ---- windows: the lines that `convoy pad` writes ---------------------------------------------------------------------

std::string joined(const std::vector<explain::Line>& lines) {
  for (const explain::Line& line : lines) {
    if (!line.equal || line.code.empty()) continue;
    std::string text;
    for (const std::string& code : line.code) text += (text.empty() ? "" : "; ") + code;
    return text;
  }
  return {};
}

std::optional<Fix> of_windows(const Graph& graph, const std::string& layer) {
  for (const explain::Found& found : explain::layers_of(graph))
    if (found.name == layer)
      return Fix{joined(explain::lines_in_torch(found.layer)), joined(explain::lines_in_keras(found.layer))};
  return std::nullopt;
}

// Whether another layer pads for this one, so that its own call does not say where its windows begin.
bool is_padded_in_front(const Graph& graph, const std::string& layer) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    const NodeId maker =
        node.layer == layer && !node.inputs.empty() && node.inputs[0] ? graph[node.inputs[0]].producer : NodeId{};
    return maker && std::holds_alternative<Pad>(graph[maker].op) && graph[maker].layer != layer;
  });
}

// ---- weights and steps that no argument says ---------------------------------------------------------------------------

struct Known {
  std::string_view cause, torch, keras;
};
constexpr std::array known{
    Known{"depthwise_order",
          "weight = kernel.permute(2, 3, 0, 1).reshape(c * m, 1, *kernel.shape[:2])  # output channel = input channel "
          "* m + multiplier",
          "kernel = weight.reshape(c, m, *weight.shape[2:]).permute(2, 3, 0, 1)"},
    Known{
        "group_order",
        "the output channels of a group stay together: channels shuffled where the original does it, and nowhere else",
        "the output channels of a group stay together: channels shuffled where the original does it, and nowhere else"},
    Known{"bias_missing", "bias=True, with the original's bias", "use_bias=True, with the original's bias"},
    Known{"bias_extra", "bias=False", "use_bias=False"},
    Known{"bias_doubled", "the bias once: in the layer or behind it", "the bias once: in the layer or behind it"},
    Known{"bn_mean_var_swapped", "running_mean, running_var = moving_mean, moving_variance",
          "set_weights([gamma, beta, moving_mean, moving_variance])"},
    Known{"bn_gamma_beta_swapped", "weight, bias = gamma, beta",
          "set_weights([gamma, beta, moving_mean, moving_variance])"},
    Known{"bn_batch_statistics", "model.eval()", "training=False"},
    Known{"bn_variance_is_deviation", "running_var = deviation ** 2", "moving_variance = deviation ** 2"},
    Known{"statistics_not_loaded", "load running_mean and running_var of the original",
          "load moving_mean and moving_variance of the original"},
    Known{"weights_not_loaded", "load the original's weights", "load the original's weights"},
    Known{"weights_exchanged", "load the weights of this layer, not those of the other",
          "load the weights of this layer, not those of the other"},
    Known{"weights_rounded", "load the original's float32 weights", "load the original's float32 weights"},
    Known{"weights_differ", "load the original's weights", "load the original's weights"},
    Known{"dense_transposed", "weight = kernel.T", "kernel = weight.T"},
    Known{"activation_extra", "no activation here", "activation=None"},
    Known{"pool_pad_value", "F.pad(x, ..., value=float('-inf')), or the pool's own padding",
          "padding='same', which pads with minus infinity"},
    Known{"gate_order",
          "the gates in PyTorch's order: i, f, g, o of an LSTM; r, z, n of a GRU (Keras: i, f, c, o; z, r, h)",
          "the gates in Keras's order: i, f, c, o of an LSTM; z, r, h of a GRU (PyTorch: i, f, g, o; r, z, n)"},
    Known{"order_of_layers", "the layers in the original's order", "the layers in the original's order"},
    Known{"concat_order", "torch.cat([...], 1) with the original's order of inputs",
          "Concatenate()([...]) with the original's order of inputs"},
    Known{"preprocessing", "the original's scale and offset in front of the model",
          "Rescaling with the original's scale and offset in front of the model"},
    Known{"branches_exchanged", "the two in the original's order", "the two in the original's order"},
    Known{"reads_another", "the output of the original's layer here", "the output of the original's layer here"},
    Known{"bn_vector_order", "weight, bias, running_mean, running_var = gamma, beta, moving_mean, moving_variance",
          "set_weights([gamma, beta, moving_mean, moving_variance])"},
    Known{"norm_variance", "x.var(..., unbiased=False): divided by how many there are",
          "ops.var(x): divided by how many there are"},
    Known{"norm_kind", "the original's norm here", "the original's norm here"},
    Known{"number", "the original's number here", "the original's number here"},
    Known{"layer_extra", "no layer here", "no layer here"},
    Known{"layer_missing", "the original's layer here", "the original's layer here"},
    Known{"reset_after", "nn.GRU applies the reset gate behind the recurrent product; write the cell out",
          "reset_after=True is what PyTorch does"},
};

// ---- operators: the lines of the writers -------------------------------------------------------------------------------

// Of a cell that walks along a sequence: whether from its end.
std::optional<bool> walks_backwards(const Node& node) {
  return std::visit(
      []<class O>(const O& op) -> std::optional<bool> {
        if constexpr (std::is_same_v<O, Lstm> || std::is_same_v<O, Gru> || std::is_same_v<O, SimpleRnn>)
          return op.backwards;
        return std::nullopt;
      },
      node.op);
}

// The layer that makes it; where one layer makes several, the direction in which each was walked, or the value.
std::string name_of_operand(const Graph& form, const Node& join, std::size_t i) {
  const auto layer_of = [&](ValueId v) {
    const NodeId maker = form[v].producer;
    return maker ? form[maker].layer : form[v].name;
  };
  const ValueId own = join.inputs[i];
  const std::string layer = layer_of(own);
  if (std::ranges::count_if(join.inputs, [&](ValueId v) { return v && layer_of(v) == layer; }) < 2) return layer;
  for (ValueId v = own; v && form[v].producer; v = form[form[v].producer].inputs[0]) {
    const Node& maker = form[form[v].producer];
    if (maker.layer != layer || maker.inputs.empty()) break;
    if (const auto backwards = walks_backwards(maker)) return *backwards ? "backward" : "forward";
  }
  return form[own].name;
}

Fix of_operator(const Graph& as_read, const Graph& form, const Node& node, std::string_view cause) {
  std::vector<std::string> names;
  for (std::size_t i = 0; cause == "concat_order" && i < node.inputs.size(); ++i)
    names.push_back(name_of_operand(form, node, i));
  return lines_of_node(as_read, form, node, std::move(names));
}

constexpr std::string_view depth_words =
    "n, c, h, w = x.shape; x = x.reshape(n, b, b, c // b**2, h, w).permute(0, 3, 4, 1, 5, 2).reshape(n, c // b**2, h * "
    "b, w * b)";

// The operator of the layer that the cause is about.
bool concerns(std::string_view cause, const Op& op) {
  return std::visit(
      [&]<class O>(const O&) {
        if (cause == "layer_missing") return true;
        if (cause == "channels") return std::is_same_v<O, Linear>;
        if (cause == "merge_kind") return std::is_same_v<O, Binary>;
        if (cause == "cell_kind") return O::traits.kind == LayerKind::Recurrence;
        // The other faults of a batch norm lie in its vectors: its call is what the port already says.
        if (cause == "bn_eps" || cause == "bn_axis") return std::is_same_v<O, BatchNorm>;
        if (cause == "activation_extra") return false;
        if (cause.starts_with("norm_"))
          return O::traits.kind == LayerKind::Normalization && O::traits.learnt == Learnt::Weights &&
                 !std::is_same_v<O, BatchNorm>;
        if (cause.starts_with("activation_"))
          return O::traits.kind == LayerKind::Softmax || O::traits.kind == LayerKind::Activation;
        if (cause == "softmax_axis") return std::is_same_v<O, convoy::Softmax>;
        if (cause.starts_with("concat_")) return std::is_same_v<O, convoy::Concat>;
        if (cause == "pad_mode" || cause == "odd_cell_on_the_other_side" || cause.starts_with("pad"))
          return std::is_same_v<O, Pad>;
        if (cause == "depth_to_space_order") return std::is_same_v<O, DepthToSpace>;
        if (cause.starts_with("resize_") || cause == "align_corners") return std::is_same_v<O, convoy::Resize>;
        if (cause == "preprocessing" || cause == "number") return std::is_same_v<O, Affine>;
        return false;
      },
      op);
}

bool about_windows(std::string_view cause) {
  constexpr std::array causes{"same_as_symmetric",
                              "odd_cell_on_the_other_side",
                              "pad_missing",
                              "pad_where_none",
                              "pads_hw_swapped",
                              "pad_ignores_dilation",
                              "causal_as_symmetric",
                              "causal_other_side",
                              "pad_amount",
                              "pad_mode",
                              "pool_divisor",
                              "pool_kind",
                              "ceil_mode",
                              "strides_swapped",
                              "stride",
                              "dilation",
                              "transposed_shifted",
                              "transposed_output_size",
                              "transposed_tail_bias",
                              "pool_pad_value",
                              "groups",
                              "kernel_size",
                              "channels",
                              "layer_missing"};
  return std::ranges::find(causes, cause) != causes.end();
}

// What was flattened into the layer's features: [C, n...] in the comparable form. Nothing: no such step is in sight.
std::optional<Sizes> flattened_into(const Graph& form, const std::string& layer) {
  for (const Node& node : form.nodes) {
    if (node.layer != layer || node.inputs.empty()) continue;
    for (ValueId v = node.inputs[0]; v && form[v].producer; v = form[form[v].producer].inputs[0]) {
      const ValueId from = form[form[v].producer].inputs[0];
      const auto sizes = from ? sizes_of(form[from].type.shape) : std::nullopt;
      if (sizes && sizes->size() > 2) return Sizes(sizes->begin() + 1, sizes->end());
      if (!from) break;
    }
  }
  return std::nullopt;
}

// "0, 2, 3, 1" of rank 4: channels behind the other axes; "0, 3, 1, 2": in front of them.
std::string to_last(Size rank) {
  std::string text = "0";
  for (Size i = 2; i < rank; ++i) text += fmt::format(", {}", i);
  return text + ", 1";
}
std::string to_first(Size rank) {
  std::string text = fmt::format("0, {}", rank - 1);
  for (Size i = 1; i + 1 < rank; ++i) text += fmt::format(", {}", i);
  return text;
}

// Whether what the layer reads was laid out with its channels last in the original.
bool lies_channels_last(const Graph& as_read, const std::string& layer) {
  if (explain::framework_of(as_read) == Framework::Keras) return true;
  for (const Node& node : as_read.nodes) {
    if (node.layer != layer || node.inputs.empty()) continue;
    for (ValueId v = node.inputs[0]; v && as_read[v].producer; v = as_read[as_read[v].producer].inputs[0]) {
      const Node& maker = as_read[as_read[v].producer];
      if (const auto* turn = std::get_if<Transpose>(&maker.op)) return turn->permutation.back() == 1;
      if (maker.inputs.empty() || traits_of(maker.op).learnt == Learnt::Weights) break;
    }
  }
  return false;
}

// Either the features in the original's order, or its matrix in the order of the features, once.
Fix of_flatten(const Sizes& shape, bool channels_last) {
  const Size rank = std::ssize(shape) + 1;
  std::string places;
  for (std::size_t i = 1; i < shape.size(); ++i) places += std::to_string(shape[i]) + ", ";
  const std::string last = to_last(rank), first = to_first(rank);
  if (channels_last)
    return {fmt::format("x = x.permute({}).flatten(1)  # channels last, as the original's features; or once: weight = "
                        "kernel.T.reshape(-1, {}{}).permute({}).flatten(1)",
                        last, places, shape[0], first),
            "x = Flatten()(x)  # channels last, as the original's features: no Permute in front"};
  return {"x = x.flatten(1)  # channels first, as the original's features: no permute in front",
          fmt::format("x = Permute(({}))(x); x = Flatten()(x)  # channels first, as the original's features; or once: "
                      "kernel = weight.reshape(-1, {}, {}).permute({}).flatten(1).T",
                      first.substr(3), shape[0], places.substr(0, places.size() - 2), last)};
}

// ---- kernels, by how many axes they have ---------------------------------------------------------------------------------

// Of the layer's own kernel: [out, in, k...] in PyTorch, [k..., in, out] in Keras, and a transposed one the other way round.
Fix of_kernel(std::string_view cause, std::string_view says, const Tensor& kernel, bool is_transposed) {
  const Size space = kernel.rank() - 2;
  if (space < 1) {
    if (cause == "kernel_not_transposed") return {"weight = kernel.T", "kernel = weight.T"};
    return {};
  }
  std::string cells, own, flips, slices, names;
  constexpr std::string_view letters = "dhw";
  for (Size i = 0; i < space; ++i) {
    const std::string comma = i == 0 ? "" : ", ";
    const bool is_reversed = !says.starts_with(reversed_along_one) || says.ends_with(fmt::format(" {}", i + 2));
    own += comma + std::to_string(i + 2);
    cells += comma + std::to_string(i);
    if (is_reversed) flips += (flips.empty() ? "" : ", ") + std::to_string(i + 2);
    slices += comma + (is_reversed ? "::-1" : ":");
    const std::string letter = space == 1   ? "k"
                               : space <= 3 ? std::string(1, letters[static_cast<std::size_t>(3 - space + i)])
                                            : "k" + std::to_string(i);
    names += comma + letter;
  }
  if (cause == "kernel_flipped")
    return {fmt::format("weight = weight.flip({})", flips), fmt::format("kernel = kernel[{}]", slices)};
  const std::string_view two = is_transposed ? "in, out" : "out, in", other = is_transposed ? "out, in" : "in, out";
  const std::string_view why = cause == "kernel_not_transposed" ? "transposed, not reshaped: " : "";
  return {
      fmt::format("weight = kernel.permute({}, {}, {})  # {}[{}, {}] -> [{}, {}]", space + 1, space, cells, why, names,
                  other, two, names),
      fmt::format("kernel = weight.permute({}, 1, 0)  # {}[{}, {}] -> [{}, {}]", own, why, two, names, names, other)};
}

bool is_about_kernel(std::string_view cause) {
  return cause == "kernel_flipped" || cause == "kernel_hw_swapped" || cause == "kernel_not_transposed" ||
         cause == "channels_swapped";
}

// The layer's cells, as the form has them: a layer of both directions has two.
std::vector<const Node*> cells_of(const Graph& form, const std::string& layer) {
  std::vector<const Node*> cells;
  for (const Node& node : form.nodes)
    if (node.layer == layer && walks_backwards(node)) cells.push_back(&node);
  return cells;
}

Fix of_sequence_end(const Graph& form, const std::string& layer, std::string_view says) {
  const auto cells = cells_of(form, layer);
  if (cells.size() != 1)
    return {"y = torch.cat([y[:, -1, :units], y[:, 0, units:]], 1)  # the backward half ends at position 0",
            "return_sequences=False, which takes each direction's own end"};
  const bool backwards = *walks_backwards(*cells[0]);
  if (says == "walked the other way")
    return backwards ? Fix{"x = x.flip(1)  # in front: the original walks from the end", "go_backwards=True"}
                     : Fix{"no x.flip(1) in front: the original walks from the beginning", "go_backwards=False"};
  if (says == "the steps in reverse order") return {"y = y.flip(1)", "y = y[:, ::-1]"};
  return {"y = y[:, -1]  # the state after the last step",
          "return_sequences=False, which gives the state after the last step"};
}

Fix of_sequence_axis(const Graph& form, const std::string& layer) {
  const auto cells = cells_of(form, layer);
  const std::string_view name = cells.empty()                                ? "LSTM"
                                : std::holds_alternative<Gru>(cells[0]->op)  ? "GRU"
                                : std::holds_alternative<Lstm>(cells[0]->op) ? "LSTM"
                                                                             : "RNN";
  return {fmt::format("nn.{}(..., batch_first=True)  # x is [batch, steps, features]", name),
          "x is [batch, steps, features]: ops.transpose(x, (1, 0, 2)) where the steps come first"};
}

}  // namespace

Fix fix_of(const Graph& as_read, const Graph& form, const Finding& finding) {
  const std::string& layer = finding.a;
  const std::string_view cause = finding.cause;
  if (cause == "channel_order" && finding.says == reversed_input)
    return {"x = x.flip(1)  # the channels in reverse order, in front of the model",
            "x = x[..., ::-1]  # the channels in reverse order, in front of the model"};
  if (cause == "axis_order") return {finding.says + " in b: put it back", finding.says + " in b: put it back"};
  if (cause == "channel_order") {
    const std::string put_back = finding.says + " in b: put them back once, when the weights are loaded";
    return {put_back, put_back};
  }
  if (cause == "preprocessing")
    if (const auto lines = lines_from_inputs(form); !lines.empty())
      return lines_of_operator(lines.back(), form[form.inputs[0]].type);
  if (about_windows(cause))
    if (auto fix = of_windows(is_padded_in_front(as_read, layer) ? form : as_read, layer);
        fix && !(fix->torch.empty() && fix->keras.empty()))
      return *std::move(fix);
  for (const Node& node : form.nodes) {
    if (node.layer != layer || node.inputs.empty() || !concerns(cause, node.op)) continue;
    Fix fix = of_operator(as_read, form, node, cause);
    if (!fix.torch.empty() || !fix.keras.empty()) return fix;
  }
  if (cause == "flatten_order")
    if (const auto shape = flattened_into(form, layer)) return of_flatten(*shape, lies_channels_last(as_read, layer));
  if (is_about_kernel(cause))
    for (const Node& node : form.nodes) {
      const Tensor* kernel = node.layer == layer ? constant_of(form, node, 1) : nullptr;
      if (kernel && traits_of(node.op).learnt == Learnt::Weights && kernel->rank() >= 2)
        return of_kernel(cause, finding.says, *kernel, std::holds_alternative<ConvTranspose>(node.op));
    }
  if (cause == "sequence_end") return of_sequence_end(form, layer, finding.says);
  if (cause == "sequence_axis") return of_sequence_axis(form, layer);
  for (const Known& one : known)
    if (one.cause == cause) return {std::string(one.torch), std::string(one.keras)};
  if (cause == "depth_to_space_order") return {std::string(depth_words), "tf.nn.depth_to_space(x, b)"};
  return {};
}

}  // namespace convoy::diagnose
