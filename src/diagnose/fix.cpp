#include "diagnose/fix.h"

#include "diagnose/advised.h"
#include "diagnose/fix_parts.h"
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
    return maker && holds_alternative<Pad>(graph[maker].op) && graph[maker].layer != layer;
  });
}

// ---- operators: the lines of the writers -------------------------------------------------------------------------------

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

// All cuts of the layer and behind it, each of what the one before it leaves.
Fix of_cuts(const Graph& as_read, const Graph& form, const std::string& layer) {
  Fix fix;
  ValueId reads;
  for (const Node& node : form.nodes) {
    const bool is_next = reads ? node.inputs[0] == reads : node.layer == layer;
    if (!is_next || !(holds_alternative<Slice>(node.op) || holds_alternative<Pad>(node.op))) continue;
    const Fix own = lines_of_node(as_read, form, node);
    for (const auto& [all, one] : {std::pair(&fix.torch, &own.torch), std::pair(&fix.keras, &own.keras)})
      *all += all->empty() ? *one : one->starts_with("x[") ? one->substr(1) : "; " + *one;
    reads = node.outputs[0];
  }
  return fix;
}

// The operator of the layer that the cause is about.
bool concerns(std::string_view cause, const Op& op) {
  return op.visit([&]<class O>(const O&) {
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
      return O::traits.kind == LayerKind::Softmax || O::traits.kind == LayerKind::Activation ||
             (cause == "activation_variant" && O::traits.kind == LayerKind::Recurrence);
    if (cause == "pool_kind") return std::is_same_v<O, Reduce>;
    if (cause == "softmax_axis") return std::is_same_v<O, convoy::Softmax>;
    if (cause.starts_with("concat_")) return std::is_same_v<O, convoy::Concat>;
    if (cause == "pad_mode" || cause == "odd_cell_on_the_other_side" || cause.starts_with("pad"))
      return std::is_same_v<O, Pad>;
    if (cause == "depth_to_space_order") return std::is_same_v<O, DepthToSpace>;
    if (cause.starts_with("resize_") || cause == "align_corners") return std::is_same_v<O, convoy::Resize>;
    if (cause == "preprocessing" || cause == "number") return std::is_same_v<O, Affine>;
    return false;
  });
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

Fix of_input_order(std::string_view says) {
  if (says == reversed_input)
    return {"x = x.flip(1)  # the channels in reverse order, in front of the model",
            "x = x[..., ::-1]  # the channels in reverse order, in front of the model"};
  const std::string put_back = std::string(says) + " in b: put them back once, when the weights are loaded";
  return {put_back, put_back};
}

// Whether the layer computes in several steps, of which one is lacking: the line of another would mend nothing.
bool computes_in_steps(const Graph& form, const std::string& layer) {
  return std::ranges::count_if(form.nodes, [&](const Node& node) {
           return node.layer == layer && traits_of(node.op).contents == Contents::Computed;
         }) > 1;
}

bool is_empty(const Fix& fix) { return fix.torch.empty() && fix.keras.empty(); }

}  // namespace

Fix fix_of(const Graph& as_read, const Graph& form, const Finding& finding) {
  const std::string& layer = finding.a;
  const std::string_view cause = finding.cause;
  if (cause == "channel_order") return of_input_order(finding.says);
  if (cause == "axis_order") return {finding.says + " in b: put it back", finding.says + " in b: put it back"};
  if (cause == "preprocessing")
    if (const auto lines = lines_from_inputs(form); !lines.empty())
      return lines_of_operator(lines.back(), form[form.inputs[0]].type);
  if (cause == "crop")
    if (Fix fix = of_cuts(as_read, form, layer); !is_empty(fix)) return fix;
  if (about_windows(cause))
    if (auto fix = of_windows(is_padded_in_front(as_read, layer) ? form : as_read, layer); fix && !is_empty(*fix))
      return *std::move(fix);
  if (cause == "layer_missing" && computes_in_steps(form, layer)) return fix_of_cause(cause);
  for (const Node& node : form.nodes) {
    if (node.layer != layer || node.inputs.empty() || !concerns(cause, node.op)) continue;
    if (Fix fix = of_operator(as_read, form, node, cause); !is_empty(fix)) return fix;
  }
  Fix fix = cause == "flatten_order" ? fix_of_flatten(as_read, form, layer) : fix_of_kernel(form, finding);
  if (is_empty(fix)) fix = fix_of_sequence(form, finding);
  return is_empty(fix) ? fix_of_cause(cause) : fix;
}

}  // namespace convoy::diagnose
