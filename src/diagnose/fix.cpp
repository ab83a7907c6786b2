#include "diagnose/fix.h"

#include "diagnose/advised.h"
#include "diagnose/hypothesis.h"
#include "explain/layers.h"
#include "explain/line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace convoy::diagnose {

namespace {

const auto number = number_in_code;

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

// ---- arguments -----------------------------------------------------------------------------------------------------------

std::string shape_of_input(const Graph& form, const Node& node, std::size_t axis) {
  const Shape& shape = form[node.inputs[0]].type.shape;
  return axis < shape.size() && shape[axis].known() ? std::to_string(*shape[axis]) : "c";
}

// Keras's axis in its own layout: channels last.
Size keras_axis(Size axis, Size rank) { return rank < 3 || axis == 0 ? axis : axis == 1 ? -1 : axis - 1; }

struct Words {
  const Graph& form;
  const Node& node;
  std::string_view cause;
  Size rank() const { return form[node.inputs[0]].type.rank(); }

  Fix operator()(const BatchNorm& norm) const {
    const std::string channels = shape_of_input(form, node, static_cast<std::size_t>(norm.axis));
    const Size dimensions = std::max<Size>(rank() - 2, 1);
    return {
        fmt::format("nn.BatchNorm{}d({}, eps={}){}", dimensions, channels, number(norm.epsilon),
                    norm.axis == 1 ? "" : fmt::format("  # on axis {}", norm.axis)),
        fmt::format("BatchNormalization(axis={}, epsilon={})", keras_axis(norm.axis, rank()), number(norm.epsilon))};
  }
  Fix operator()(const Linear&) const {
    const Shape& matrix = form[node.inputs[1]].type.shape;
    if (matrix.size() != 2 || !matrix[0].known() || !matrix[1].known()) return {};
    const bool biased = node.inputs.size() > 2 && node.inputs[2];
    return {fmt::format("nn.Linear({}, {}{})", *matrix[1], *matrix[0], biased ? "" : ", bias=False"),
            fmt::format("Dense({}{})", *matrix[0], biased ? "" : ", use_bias=False")};
  }
  Fix operator()(const Binary& op) const { return line_of_merge(op.function); }
  // The last argument in Keras's words alone.
  Fix cell(std::string_view torch, std::string_view keras, bool returns_sequence, std::string_view more = {}) const {
    const Shape& x = form[node.inputs[0]].type.shape;
    const Shape& y = form[node.outputs[0]].type.shape;
    if (x.empty() || y.empty() || !x.back().known() || !y.back().known()) return {};
    return {torch.empty() ? std::string() : fmt::format("nn.{}({}, {}, batch_first=True)", torch, *x.back(), *y.back()),
            fmt::format("{}({}{}{})", keras, *y.back(), more, returns_sequence ? ", return_sequences=True" : "")};
  }
  Fix operator()(const Lstm& lstm) const { return cell("LSTM", "LSTM", lstm.returns_sequence); }
  Fix operator()(const Gru& gru) const {
    return cell(gru.reset_after ? "GRU" : "", "GRU", gru.returns_sequence,
                gru.reset_after ? "" : ", reset_after=False");
  }
  Fix operator()(const SimpleRnn& rnn) const { return cell("RNN", "SimpleRNN", rnn.returns_sequence); }
  Fix operator()(const LayerNorm& norm) const {
    std::string shape, axes;
    bool is_last = true;  // the axes, in order, are those that nn.LayerNorm takes
    for (std::size_t i = 0; i < norm.axes.size(); ++i) {
      const Size axis = norm.axes[i];
      is_last = is_last && axis == rank() - static_cast<Size>(norm.axes.size() - i);
      shape += (shape.empty() ? "" : ", ") + shape_of_input(form, node, static_cast<std::size_t>(axis));
      const Size own = of_keras(axis);
      axes += (axes.empty() ? "" : ", ") + std::to_string(own < 0 ? own : own - rank());
    }
    const std::string epsilon = number(norm.epsilon);
    std::string torch;
    if (is_last) torch = fmt::format("nn.LayerNorm([{}], eps={})", shape, epsilon);
    else if (norm.axes.size() == 1)
      torch =
          fmt::format("nn.LayerNorm({0}, eps={1})(x.movedim({2}, -1)).movedim(-1, {2})", shape, epsilon, norm.axes[0]);
    return {torch, fmt::format("LayerNormalization(axis={}, epsilon={})",
                               norm.axes.size() == 1 ? axes : "[" + axes + "]", epsilon)};
  }
  Fix operator()(const GroupNorm& norm) const {
    const std::string channels = shape_of_input(form, node, static_cast<std::size_t>(norm.axis));
    return {fmt::format("nn.GroupNorm({}, {}, eps={})", norm.groups, channels, number(norm.epsilon)),
            fmt::format("GroupNormalization(groups={}, epsilon={})", norm.groups, number(norm.epsilon))};
  }
  Fix operator()(const convoy::Softmax& op) const {
    if (op.axes.size() != 1) return {};
    const Size axis = op.axes[0];
    if (op.logarithm)
      return {fmt::format("F.log_softmax(x, dim={})", axis),
              fmt::format("keras.activations.log_softmax(x, axis={})", of_keras(axis))};
    return {fmt::format("F.softmax(x, dim={})", axis), fmt::format("Softmax(axis={})", of_keras(axis))};
  }
  Fix operator()(const convoy::Concat& op) const {
    const bool is_order = cause == "concat_order" && node.inputs.size() < 6;
    std::string torch, keras = is_order ? "" : fmt::format("Concatenate(axis={})", of_keras(op.axis));
    for (std::size_t i = 0; is_order && i < node.inputs.size(); ++i) {
      const NodeId maker = form[node.inputs[i]].producer;
      torch += (torch.empty() ? "" : ", ") + (maker ? form[maker].layer : form[node.inputs[i]].name);
    }
    if (is_order) keras = fmt::format("Concatenate(axis={})([{}])", of_keras(op.axis), torch);
    return {fmt::format("torch.cat([{}], {})", is_order ? torch : "...", op.axis), keras};
  }
  Fix operator()(const Pad& pad) const { return line_of_pad(pad); }
  Fix operator()(const DepthToSpace& op) const {
    if (!op.depth_first)
      return {fmt::format("F.pixel_shuffle(x, {})", op.block),
              fmt::format(
                  "b = {}; n, h, w, c = x.shape; x = ops.reshape(ops.transpose(ops.reshape(x, (-1, h, w, c // b**2, "
                  "b, b)), (0, 1, 4, 2, 5, 3)), (-1, h * b, w * b, c // b**2))",
                  op.block)};
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
    std::string size, factors;
    bool is_whole = op.axes.size() == 2;  // every cell so many times
    for (const Size axis : op.axes) {
      const Dim from = form[node.inputs[0]].type.shape[static_cast<std::size_t>(axis)],
                to = form[node.outputs[0]].type.shape[static_cast<std::size_t>(axis)];
      if (!from.known() || !to.known()) return {};
      is_whole = is_whole && *from > 0 && *to % *from == 0;
      size += (size.empty() ? "" : ", ") + std::to_string(*to);
      if (is_whole) factors += (factors.empty() ? "" : ", ") + std::to_string(*to / *from);
    }
    const bool rounds = nearest && op.coordinates == Coordinates::HalfPixel && op.rounding != Rounding::Floor;
    if (op.axes.size() == 1) mode = nearest ? "nearest" : "linear";
    std::string keras;
    if (!corners && is_whole) keras = fmt::format("UpSampling2D(({}), interpolation='{}')", factors, mode);
    else if (!corners && op.axes.size() == 2)
      keras = fmt::format("ops.image.resize(x, ({}), interpolation='{}')", size, mode);
    return {fmt::format("F.interpolate(x, size=({}), mode='{}{}'{})", size, mode, rounds ? "-exact" : "",
                        nearest   ? ""
                        : corners ? ", align_corners=True"
                                  : ", align_corners=False"),
            keras};
  }
  Fix operator()(const Affine& op) const {
    return {fmt::format("x = x * {} + {}", number(op.scale), number(op.offset)),
            fmt::format("Rescaling({}, offset={})", number(op.scale), number(op.offset))};
  }
  template <class Op>
  Fix operator()(const Op& op) const {
    return line_of_function(op);
  }

 private:
  // In Keras's own layout.
  Size of_keras(Size axis) const { return keras_axis(axis, rank()); }
};

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
          return std::is_same_v<O, convoy::Softmax> || !line_of_function(Op(O())).torch.empty() ||
                 std::is_same_v<O, Unary>;
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

// All that is done to the input in front of the first layer.
Fix preparation(const Affine& line) {
  const std::string sign = line.offset < 0 ? "-" : "+", offset = number(std::abs(line.offset));
  return {fmt::format("x = x * {} {} {}", number(line.scale), sign, offset),
          fmt::format("Rescaling({}, offset={})", number(line.scale), number(line.offset))};
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
    if (const auto lines = lines_from_inputs(form); !lines.empty()) return preparation(lines.back());
  if (about_windows(cause))
    if (auto fix = of_windows(is_padded_in_front(as_read, layer) ? form : as_read, layer);
        fix && !(fix->torch.empty() && fix->keras.empty()))
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
