#include "diagnose/fix.h"

#include "explain/layers.h"
#include "explain/line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace convoy::diagnose {

namespace {

std::string number(double value) { return fmt::format("{:.7g}", value); }

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

// ---- weights and steps that no argument says ---------------------------------------------------------------------------

struct Known {
  std::string_view cause, torch, keras;
};
constexpr std::array known{
    Known{"kernel_flipped", "weight = weight.flip(2, 3)", "kernel = kernel[::-1, ::-1]"},
    Known{"kernel_hw_swapped", "weight = kernel.permute(3, 2, 0, 1)  # [h, w, in, out] -> [out, in, h, w]",
          "kernel = weight.permute(2, 3, 1, 0)  # [out, in, h, w] -> [h, w, in, out]"},
    Known{"kernel_not_transposed",
          "weight = kernel.permute(3, 2, 0, 1)  # transposed, not reshaped: [h, w, in, out] -> [out, in, h, w]",
          "kernel = weight.permute(2, 3, 1, 0)  # transposed, not reshaped: [out, in, h, w] -> [h, w, in, out]"},
    Known{"channels_swapped", "weight = kernel.permute(3, 2, 0, 1)  # the last axis is the output's channels",
          "kernel = weight.permute(2, 3, 1, 0)  # the first axis is the output's channels"},
    Known{"depthwise_order",
          "weight = kernel.permute(2, 3, 0, 1).reshape(c * m, 1, *kernel.shape[:2])  # output channel = input channel "
          "* m + multiplier",
          "kernel = weight.reshape(c, m, *weight.shape[2:]).permute(2, 3, 0, 1)"},
    Known{"group_order", "the output channels of a group stay together: no shuffle in front of or behind the layer",
          "the output channels of a group stay together: no shuffle in front of or behind the layer"},
    Known{"channel_order", "x = x.flip(1)  # the channels in reverse order, in front of the model",
          "x = x[..., ::-1]  # the channels in reverse order, in front of the model"},
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
    Known{"flatten_order",
          "x = x.permute(0, 2, 3, 1).flatten(1)  # rows, columns, channels: the order of the original's features",
          "x = Permute((3, 1, 2))(x); Flatten()  # channels, rows, columns: the order of the original's features"},
    Known{"reshape_layout", "x = x.permute(0, 2, 3, 1).reshape(...)  # in the original's order of axes",
          "Permute((3, 1, 2)), then Reshape  # in the original's order of axes"},
    Known{"activation_extra", "no activation here", "activation=None"},
    Known{"pool_pad_value", "F.pad(x, ..., value=float('-inf')), or the pool's own padding",
          "padding='same', which pads with minus infinity"},
    Known{"gate_order",
          "the gates in PyTorch's order: i, f, g, o of an LSTM; r, z, n of a GRU (Keras: i, f, c, o; z, r, h)",
          "the gates in Keras's order: i, f, c, o of an LSTM; z, r, h of a GRU (PyTorch: i, f, g, o; r, z, n)"},
    Known{"sequence_end",
          "y = torch.cat([y[:, -1, :units], y[:, 0, units:]], 1)  # the backward half ends at position 0",
          "return_sequences=False, which takes each direction's own end"},
    Known{"order_of_layers", "the layers in the original's order", "the layers in the original's order"},
    Known{"concat_order", "torch.cat([...], 1) with the original's order of inputs",
          "Concatenate()([...]) with the original's order of inputs"},
    Known{"preprocessing", "the original's scale and offset in front of the model",
          "Rescaling with the original's scale and offset in front of the model"},
    Known{"sequence_axis", "nn.LSTM(..., batch_first=True)  # x is [batch, steps, features]",
          "x is [batch, steps, features]: ops.transpose(x, (1, 0, 2)) where the steps come first"},
    Known{"layer_extra", "no layer here", "no layer here"},
    Known{"layer_missing", "the original's layer here", "the original's layer here"},
    Known{"reset_after", "nn.GRU applies the reset gate behind the recurrent product; write the cell out",
          "reset_after=True is what PyTorch does"},
};

// ---- arguments -----------------------------------------------------------------------------------------------------------

std::string shape_of_input(const Graph& form, const Node& node, std::size_t axis) {
  const Shape& shape = form[node.inputs[0]].fact.shape;
  return axis < shape.size() && shape[axis].known() ? std::to_string(*shape[axis]) : "c";
}

// Keras's axis in its own layout: channels last.
Size keras_axis(Size axis, Size rank) { return rank < 3 || axis == 0 ? axis : axis == 1 ? -1 : axis - 1; }

struct Words {
  const Graph& form;
  const Node& node;
  std::string_view cause;
  Size rank() const { return form[node.inputs[0]].fact.rank(); }

  Fix operator()(const BatchNorm& norm) const {
    const std::string channels = shape_of_input(form, node, static_cast<std::size_t>(norm.axis));
    const Size dimensions = std::max<Size>(rank() - 2, 1);
    return {
        fmt::format("nn.BatchNorm{}d({}, eps={}){}", dimensions, channels, number(norm.epsilon),
                    norm.axis == 1 ? "" : fmt::format("  # on axis {}", norm.axis)),
        fmt::format("BatchNormalization(axis={}, epsilon={})", keras_axis(norm.axis, rank()), number(norm.epsilon))};
  }
  // The kernel's sizes and what the channels are, in the words of a constructor; the rest of the call as it is.
  Fix operator()(const Conv& conv) const {
    const Shape& kernel = form[node.inputs[1]].fact.shape;
    if (kernel.size() < 3 || !kernel[0].known() || !kernel[1].known()) return {};
    std::string cells;
    for (const Window& w : conv.windows) cells += (cells.empty() ? "" : ", ") + std::to_string(w.kernel);
    const Size out = *kernel[0], in = *kernel[1] * conv.groups, dimensions = rank() - 2;
    const std::string groups = conv.groups == 1 ? "" : fmt::format(", groups={}", conv.groups);
    const bool is_depthwise = conv.groups == in && in > 1 && dimensions < 3;
    return {fmt::format("nn.Conv{}d({}, {}, ({}), ...{})", dimensions, in, out, cells, groups),
            is_depthwise ? fmt::format("DepthwiseConv{}D(({}), ..., depth_multiplier={})", dimensions, cells, out / in)
                         : fmt::format("Conv{}D({}, ({}), ...{})", dimensions, out, cells, groups)};
  }
  Fix operator()(const Linear&) const {
    const Shape& matrix = form[node.inputs[1]].fact.shape;
    if (matrix.size() != 2 || !matrix[0].known() || !matrix[1].known()) return {};
    return {fmt::format("nn.Linear({}, {})", *matrix[1], *matrix[0]), fmt::format("Dense({})", *matrix[0])};
  }
  Fix operator()(const Binary& op) const {
    switch (op.function) {
      case BinaryFunction::Add: return {"a + b", "Add()([a, b])"};
      case BinaryFunction::Subtract: return {"a - b", "Subtract()([a, b])"};
      case BinaryFunction::Multiply: return {"a * b", "Multiply()([a, b])"};
      case BinaryFunction::Maximum: return {"torch.maximum(a, b)", "Maximum()([a, b])"};
      case BinaryFunction::Minimum: return {"torch.minimum(a, b)", "Minimum()([a, b])"};
      default: return {};
    }
  }
  Fix cell(std::string_view torch, std::string_view keras) const {
    const Shape& x = form[node.inputs[0]].fact.shape;
    const Shape& y = form[node.outputs[0]].fact.shape;
    if (x.empty() || y.empty() || !x.back().known() || !y.back().known()) return {};
    return {fmt::format("nn.{}({}, {}, batch_first=True)", torch, *x.back(), *y.back()),
            fmt::format("{}({})", keras, *y.back())};
  }
  Fix operator()(const Lstm&) const { return cell("LSTM", "LSTM"); }
  Fix operator()(const Gru&) const { return cell("GRU", "GRU"); }
  Fix operator()(const SimpleRnn&) const { return cell("RNN", "SimpleRNN"); }
  Fix operator()(const LayerNorm& norm) const {
    std::string shape, axes;
    for (const Size axis : norm.axes) {
      shape += (shape.empty() ? "" : ", ") + shape_of_input(form, node, static_cast<std::size_t>(axis));
      axes += (axes.empty() ? "" : ", ") + std::to_string(axis - rank());
    }
    return {fmt::format("nn.LayerNorm([{}], eps={})", shape, number(norm.epsilon)),
            fmt::format("LayerNormalization(axis=[{}], epsilon={})", axes, number(norm.epsilon))};
  }
  Fix operator()(const GroupNorm& norm) const {
    const std::string channels = shape_of_input(form, node, static_cast<std::size_t>(norm.axis));
    return {fmt::format("nn.GroupNorm({}, {}, eps={})", norm.groups, channels, number(norm.epsilon)),
            fmt::format("GroupNormalization(groups={}, epsilon={})", norm.groups, number(norm.epsilon))};
  }
  Fix operator()(const Relu& relu) const {
    if (relu.max_value == 6.0 && relu.negative_slope == 0) return {"F.relu6(x)", "ReLU(max_value=6)"};
    if (relu.negative_slope != 0)
      return {fmt::format("F.leaky_relu(x, {})", number(relu.negative_slope)),
              fmt::format("LeakyReLU(negative_slope={})", number(relu.negative_slope))};
    return {"F.relu(x)", "ReLU()"};
  }
  Fix operator()(const Elu& elu) const {
    return {fmt::format("F.elu(x, {})", number(elu.alpha)), fmt::format("ELU(alpha={})", number(elu.alpha))};
  }
  Fix operator()(const HardSigmoid& op) const {
    const std::string formula = fmt::format("clip({} * x + {}, 0, 1)", number(op.alpha), number(op.beta));
    if (std::abs(op.alpha - 1.0 / 6) < 1e-6) return {"F.hardsigmoid(x)", "keras.activations.hard_sigmoid(x)"};
    return {"torch." + formula, "ops." + formula};
  }
  Fix operator()(const Unary& op) const {
    switch (op.function) {
      case Function::Gelu: return {"F.gelu(x)", "keras.activations.gelu(x, approximate=False)"};
      case Function::GeluTanh: return {"F.gelu(x, approximate='tanh')", "keras.activations.gelu(x, approximate=True)"};
      case Function::Sigmoid: return {"torch.sigmoid(x)", "keras.activations.sigmoid(x)"};
      case Function::Tanh: return {"torch.tanh(x)", "keras.activations.tanh(x)"};
      case Function::Silu: return {"F.silu(x)", "keras.activations.silu(x)"};
      case Function::Selu: return {"F.selu(x)", "keras.activations.selu(x)"};
      case Function::HardSwish: return {"F.hardswish(x)", "keras.activations.hard_silu(x)"};
      case Function::Softsign: return {"F.softsign(x)", "keras.activations.softsign(x)"};
      case Function::Mish: return {"F.mish(x)", "keras.activations.mish(x)"};
      default: return {};
    }
  }
  Fix operator()(const Clip& clip) const {
    const std::string low = clip.least ? number(*clip.least) : "None", high = clip.most ? number(*clip.most) : "None";
    return {fmt::format("torch.clamp(x, {}, {})", low, high), fmt::format("ops.clip(x, {}, {})", low, high)};
  }
  Fix operator()(const Softplus&) const { return {"F.softplus(x)", "keras.activations.softplus(x)"}; }
  Fix operator()(const convoy::Softmax& op) const {
    const Size axis = op.axes.empty() ? -1 : op.axes[0];
    return {fmt::format("F.softmax(x, dim={})", axis), fmt::format("Softmax(axis={})", keras_axis(axis, rank()))};
  }
  Fix operator()(const convoy::Concat& op) const {
    return {fmt::format("torch.cat([...], {})", op.axis),
            fmt::format("Concatenate(axis={})", keras_axis(op.axis, rank()))};
  }
  Fix operator()(const Pad& pad) const {
    std::string torch, keras;
    for (std::size_t i = pad.before.size(); i-- > 2;)
      torch += fmt::format("{}{}, {}", torch.empty() ? "" : ", ", pad.before[i], pad.after[i]);
    for (std::size_t i = 2; i < pad.before.size(); ++i)
      keras += fmt::format("{}[{}, {}]", keras.empty() ? "" : ", ", pad.before[i], pad.after[i]);
    const std::array<std::pair<const char*, const char*>, 5> modes{{{"constant", "constant"},
                                                                    {"reflect", "reflect"},
                                                                    {"symmetric", "symmetric"},
                                                                    {"replicate", "edge"},
                                                                    {"circular", "wrap"}}};
    const auto [of_torch, of_keras] = modes[static_cast<std::size_t>(pad.mode)];
    std::string line = fmt::format("x = F.pad(x, ({}), mode='{}')", torch, of_torch);
    const bool one_cell = std::ranges::all_of(pad.before, [](Size n) { return n <= 1; }) &&
                          std::ranges::all_of(pad.after, [](Size n) { return n <= 1; });
    if (pad.mode == PadMode::Symmetric)
      line = one_cell ? fmt::format("x = F.pad(x, ({}), mode='replicate')  # one cell: the same as symmetric", torch)
                      : std::string("PyTorch has no symmetric padding: put x.flip beside x with torch.cat");
    return {line, fmt::format("x = ops.pad(x, [[0, 0], {}, [0, 0]], mode='{}')", keras, of_keras)};
  }
  Fix operator()(const DepthToSpace& op) const {
    if (!op.depth_first)
      return {fmt::format("F.pixel_shuffle(x, {})", op.block),
              "the channels in the order c, block rows, block columns, before tf.nn.depth_to_space"};
    return {fmt::format("n, c, h, w = x.shape; b = {}; x = x.reshape(n, b, b, c // b**2, h, w).permute(0, 3, 4, 1, 5, "
                        "2).reshape(n, c // b**2, h * b, w * b)",
                        op.block),
            fmt::format("tf.nn.depth_to_space(x, {})", op.block)};
  }
  Fix operator()(const convoy::Resize& op) const {
    const char* mode = op.interpolation == Interpolation::Nearest  ? "nearest"
                       : op.interpolation == Interpolation::Linear ? "bilinear"
                                                                   : "bicubic";
    const bool nearest = op.interpolation == Interpolation::Nearest,
               corners = op.coordinates == Coordinates::AlignCorners;
    std::string size;
    for (const Size axis : op.axes) {
      const Dim length = form[node.outputs[0]].fact.shape[static_cast<std::size_t>(axis)];
      size += (size.empty() ? "" : ", ") + (length.known() ? std::to_string(*length) : "...");
    }
    return {fmt::format("F.interpolate(x, size=({}), mode='{}'{})", size, mode,
                        nearest   ? ""
                        : corners ? ", align_corners=True"
                                  : ", align_corners=False"),
            fmt::format("UpSampling2D(..., interpolation='{}')", mode)};
  }
  Fix operator()(const Affine& op) const {
    return {fmt::format("x = x * {} + {}", number(op.scale), number(op.offset)),
            fmt::format("Rescaling({}, offset={})", number(op.scale), number(op.offset))};
  }
  template <class Op>
  Fix operator()(const Op&) const {
    return {};
  }
};

constexpr std::string_view depth_words =
    "n, c, h, w = x.shape; x = x.reshape(n, b, b, c // b**2, h, w).permute(0, 3, 4, 1, 5, 2).reshape(n, c // b**2, h * "
    "b, w * b)";

// The operator of the layer that the cause is about.
bool concerns(std::string_view cause, const Op& op) {
  return std::visit(
      [&]<class O>(const O&) {
        if (cause == "layer_missing") return true;
        if (cause == "groups" || cause == "kernel_size" || cause == "channels")
          return std::is_same_v<O, Conv> || std::is_same_v<O, Linear>;
        if (cause == "merge_kind") return std::is_same_v<O, Binary>;
        if (cause == "cell_kind")
          return std::is_same_v<O, Lstm> || std::is_same_v<O, Gru> || std::is_same_v<O, SimpleRnn>;
        if (cause.starts_with("bn_")) return std::is_same_v<O, BatchNorm>;
        if (cause.starts_with("norm_"))
          return std::is_same_v<O, LayerNorm> || std::is_same_v<O, GroupNorm> || std::is_same_v<O, RmsNorm>;
        if (cause.starts_with("activation_"))
          return std::is_same_v<O, Relu> || std::is_same_v<O, Elu> || std::is_same_v<O, Unary> ||
                 std::is_same_v<O, Clip> || std::is_same_v<O, HardSigmoid> || std::is_same_v<O, Softplus> ||
                 std::is_same_v<O, convoy::Softmax>;
        if (cause == "softmax_axis") return std::is_same_v<O, convoy::Softmax>;
        if (cause.starts_with("concat_")) return std::is_same_v<O, convoy::Concat>;
        if (cause == "pad_mode" || cause == "odd_cell_on_the_other_side" || cause.starts_with("pad"))
          return std::is_same_v<O, Pad>;
        if (cause == "depth_to_space_order") return std::is_same_v<O, DepthToSpace>;
        if (cause.starts_with("resize_") || cause == "align_corners") return std::is_same_v<O, convoy::Resize>;
        if (cause == "preprocessing") return std::is_same_v<O, Affine>;
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
                              "layer_missing"};
  return std::ranges::find(causes, cause) != causes.end();
}

// What was flattened into the layer's features: [C, n...] in the comparable form. Nothing: no such step is in sight.
std::optional<Sizes> flattened_into(const Graph& form, const std::string& layer) {
  for (const Node& node : form.nodes) {
    if (node.layer != layer || node.inputs.empty()) continue;
    for (ValueId v = node.inputs[0]; v && form[v].producer; v = form[form[v].producer].inputs[0]) {
      const ValueId from = form[form[v].producer].inputs[0];
      const auto sizes = from ? sizes_of(form[from].fact.shape) : std::nullopt;
      if (sizes && sizes->size() > 2) return Sizes(sizes->begin() + 1, sizes->end());
      if (!from) break;
    }
  }
  return std::nullopt;
}

// Either the features in the original's order, or its matrix in the order of the features, once.
Fix of_flatten(const Sizes& shape) {
  std::string last, rows, back;
  for (std::size_t i = 1; i < shape.size(); ++i) {
    last += std::to_string(i + 1) + ", ";
    rows += std::to_string(shape[i]) + ", ";
    back += fmt::format(", {}", i);
  }
  const std::size_t channels = shape.size();
  std::string keras;
  for (std::size_t i = 1; i < channels; ++i) keras += fmt::format(", {}", i);
  return {
      fmt::format("x = x.permute(0, {}1).flatten(1)  # channels last, as the original's features; or once: weight = "
                  "kernel.T.reshape(-1, {}{}).permute(0, {}{}).flatten(1)",
                  last, rows, shape[0], channels, back),
      fmt::format("x = Permute(({}{}))(x); Flatten()  # channels first, as the original's features", channels, keras)};
}

}  // namespace

Fix fix_of(const Graph& as_read, const Graph& form, const std::string& layer, std::string_view cause) {
  if (about_windows(cause))
    if (auto fix = of_windows(as_read, layer); fix && !(fix->torch.empty() && fix->keras.empty()))
      return *std::move(fix);
  for (const Node& node : form.nodes) {
    if (node.layer != layer || node.inputs.empty() || !concerns(cause, node.op)) continue;
    Fix fix = std::visit(Words{form, node, cause}, node.op);
    if (!fix.torch.empty()) return fix;
  }
  if (cause == "flatten_order")
    if (const auto shape = flattened_into(form, layer)) return of_flatten(*shape);
  for (const Known& one : known)
    if (one.cause == cause) return {std::string(one.torch), std::string(one.keras)};
  if (cause == "depth_to_space_order") return {std::string(depth_words), "tf.nn.depth_to_space(x, b)"};
  return {};
}

}  // namespace convoy::diagnose
