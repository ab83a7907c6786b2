// How a layer's weights are to be carried: the axes of its kernel, and of the matrix that reads flattened features.
#include "diagnose/fix_parts.h"

#include "diagnose/hypothesis.h"
#include "explain/layers.h"

#include <fmt/format.h>

#include <optional>

namespace convoy::diagnose {

namespace {

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
      if (const auto* turn = get_if<Transpose>(&maker.op)) return turn->permutation.back() == 1;
      if (maker.inputs.empty() || traits_of(maker.op).learnt == Learnt::Weights) break;
    }
  }
  return false;
}

// Either the features in the original's order, or its matrix in the order of the features, once.
Fix as_flattened(const Sizes& shape, bool channels_last) {
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

// Of the layer's own kernel: [out, in, k...] in PyTorch, [k..., in, out] in Keras, and a transposed one the other way round.
Fix as_kernel(std::string_view cause, std::string_view says, const Tensor& kernel, bool is_transposed) {
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

}  // namespace

Fix fix_of_flatten(const Graph& as_read, const Graph& form, const std::string& layer) {
  const auto shape = flattened_into(form, layer);
  return shape ? as_flattened(*shape, lies_channels_last(as_read, layer)) : Fix{};
}

Fix fix_of_kernel(const Graph& form, const Finding& finding) {
  if (!is_about_kernel(finding.cause)) return {};
  for (const Node& node : form.nodes) {
    const Tensor* kernel = node.layer == finding.a ? constant_of(form, node, 1) : nullptr;
    if (kernel && traits_of(node.op).learnt == Learnt::Weights && kernel->rank() >= 2)
      return as_kernel(finding.cause, finding.says, *kernel, holds_alternative<ConvTranspose>(node.op));
  }
  return {};
}

}  // namespace convoy::diagnose
