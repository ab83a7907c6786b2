#include "report/layers.h"

#include "graph/path.h"
#include "graph/text_fields.h"

#include <fmt/format.h>

#include <set>
#include <type_traits>
#include <utility>

namespace convoy {
namespace {

std::string spoken(std::string_view name) {
  std::string s(name);
  for (char& c : s)
    if (c == '_') c = ' ';
  return s;
}

// Axes are named as people say them; beyond three there are no such names.
std::string axis_name(std::size_t axis, std::size_t axes) {
  static constexpr std::string_view names[] = {"depth", "rows", "cols"};
  if (axes == 1) return "time";
  return axes <= 3 ? std::string(names[axis + 3 - axes]) : fmt::format("axis {}", axis);
}

std::string joined(const std::vector<Window>& windows, Size Window::* member) {
  std::string s;
  for (const Window& w : windows) s += (s.empty() ? "" : "x") + std::to_string(w.*member);
  return s;
}

std::string window_words(const std::vector<Window>& windows) {
  const auto differs = [&](Size Window::* member) {
    for (const Window& w : windows)
      if (w.*member != 1) return true;
    return false;
  };
  const auto shortened = [&](Size Window::* member) {
    for (const Window& w : windows)
      if (w.*member != windows.front().*member) return joined(windows, member);
    return std::to_string(windows.front().*member);
  };
  std::string s = " " + joined(windows, &Window::kernel);
  if (differs(&Window::stride)) s += " /" + shortened(&Window::stride);
  if (differs(&Window::dilation)) s += " @" + shortened(&Window::dilation);
  return s;
}

std::string said(const Padding& p) {
  switch (p.spelling) {
    case Spelling::SameUpper: return "same";
    case Spelling::SameLower: return "same lower";
    case Spelling::Causal: return "causal";
    case Spelling::Valid: return "valid";
    case Spelling::Explicit: return "explicit";
  }
  return {};
}

std::string said(const TransposedPadding& p) {
  if (p.spelling == CropSpelling::Explicit) return "crop";
  std::string s = p.spelling == CropSpelling::KerasSame ? "same" : "valid";
  if (p.output_padding) s += fmt::format(" output_padding {}", *p.output_padding);
  return s;
}

// The pads at the size the value has, or, where the size is free, those declared for every size.
std::string placed(Padding p, const Window& w, const Dim& in) {
  if (in.known()) {
    const auto at = place(p, w, *in);
    return at ? fmt::format("{},{}", at->before, at->after) : "none fits";
  }
  p.leftover = Leftover::Drop;
  const auto pads = pads_at_every_size(p, w);
  return pads ? fmt::format("{},{}", pads->before, pads->after) : "by size";
}

std::string placed(const TransposedPadding& p, const Window& w, const Dim&) {
  const auto crops = explicit_crops(p, w);
  return crops ? fmt::format("{},{}", crops->before, crops->after) : "none fits";
}

template <class T>
std::string padding_words(const T& op, const Shape& in) {
  std::string amounts, word;
  for (std::size_t i = 0; i < op.windows.size() && i < op.paddings.size(); ++i) {
    const auto axis = static_cast<std::size_t>(op.axes.spatial(static_cast<Size>(i)));
    const Dim size = axis < in.size() ? in[axis] : Dim::unknown();
    amounts += fmt::format("{}{} {}", i ? "  " : "", axis_name(i, op.windows.size()),
                           placed(op.paddings[i], op.windows[i], size));
    if (word.empty()) word = said(op.paddings[i]);
  }
  if (word == "valid") return {};
  constexpr bool crops = std::is_same_v<T, ConvTranspose>;
  return amounts + "   " + word + (crops && word != "crop" ? " (cut)" : "");
}

template <class T>
concept Windowed = requires(T t) {
  t.windows;
  t.paddings;
  t.axes;
};

std::string axes_words(const Sizes& axes) {
  std::string s;
  for (const Size a : axes) s += (s.empty() ? "" : ",") + std::to_string(a);
  return s;
}

struct Words {
  std::string operator()(const Conv& c) const {
    std::string s = c.kernel_order == KernelOrder::SpaceInMultiplier ? "depthwise conv" : "conv";
    s += window_words(c.windows);
    if (c.groups > 1 && c.kernel_order != KernelOrder::SpaceInMultiplier) s += fmt::format(" groups {}", c.groups);
    return s;
  }
  std::string operator()(const Unary& u) const { return spoken(text::print(u.function)); }
  std::string operator()(const Relu& r) const {
    std::string s = r.negative_slope != 0 ? fmt::format("leaky relu {}", r.negative_slope) : "relu";
    if (r.max_value) s += fmt::format(" up to {}", *r.max_value);
    if (r.threshold != 0) s += fmt::format(" from {}", r.threshold);
    return s;
  }
  std::string operator()(const Dropout& d) const {
    return d.noise == Noise::Augmentation ? "augmentation" : fmt::format("dropout {}", d.rate);
  }
  std::string operator()(const BatchNorm& b) const { return fmt::format("batch norm axis {}", b.axis); }
  std::string operator()(const Softmax& s) const {
    return (s.logarithm ? "log softmax axis " : "softmax axis ") + axes_words(s.axes);
  }
  std::string operator()(const Reduce& r) const {
    static constexpr std::string_view names[] = {"mean", "sum", "maximum", "minimum", "product"};
    return fmt::format("{} over {}", names[static_cast<int>(r.reduction)], axes_words(r.axes));
  }
  std::string operator()(const Binary& b) const { return spoken(text::print(b.function)); }
  template <class T>
  std::string operator()(const T& op) const {
    std::string s = spoken(T::name);
    if constexpr (Windowed<T>) s += window_words(op.windows);
    return s;
  }
};

// A normalization over an axis that is not the channels is legal and rarely meant.
std::string note_of(const Node& node, const Graph& g) {
  const auto* norm = get_if<BatchNorm>(&node.op);
  if (!norm || node.inputs.empty()) return {};
  const Shape& shape = g[node.inputs[0]].type.shape;
  const Size last = static_cast<Size>(shape.size()) - 1;
  if (shape.size() < 3 || norm->axis == last || norm->axis < 1) return {};
  for (const Node& other : g.nodes)
    if (const auto* conv = get_if<Conv>(&other.op); conv && conv->axes.order == Order::ChannelsFirst) return {};
  return fmt::format("axis={} of {} is not the channel axis; carried over as it is", norm->axis, text_of(shape));
}

class Attributes {
 public:
  std::map<std::string, OpAttribute> made;

  void note(std::string_view field, const std::vector<Window>& windows) {
    if (field != "windows") return;
    for (const auto& [name, member] : {std::pair{"kernel", &Window::kernel}, std::pair{"stride", &Window::stride},
                                       std::pair{"dilation", &Window::dilation}}) {
      Sizes all;
      for (const Window& w : windows) all.push_back(w.*member);
      made.emplace(name, std::move(all));
    }
  }
  void note(std::string_view, Axes axes) { made.emplace("data_format", text::print(axes.order)); }
  void note(std::string_view, const std::vector<Padding>&) {}
  void note(std::string_view, const std::vector<TransposedPadding>&) {}
  template <class T>
  void note(std::string_view field, const std::optional<T>& value) {
    if (value) note(field, *value);
  }
  template <class T>
  void note(std::string_view field, const T& value) {
    constexpr bool is_itself = std::is_same_v<T, bool> || std::is_same_v<T, Size> || std::is_same_v<T, double> ||
                               std::is_same_v<T, std::string> || std::is_same_v<T, Sizes>;
    if constexpr (is_itself) made.emplace(field, value);
    else if constexpr (std::is_same_v<T, Window>) note("windows", std::vector{value});
    else made.emplace(field, text::print(value));
  }
};

}  // namespace

std::map<std::string, OpAttribute> attributes_of(const Op& op) {
  Attributes attributes;
  op.visit([&]<class O>(const O& o) {
    O::fields([&](std::string_view field, auto member) { attributes.note(field, o.*member); });
  });
  return std::move(attributes.made);
}

std::string words_of(const Op& op) { return op.visit(Words{}); }

std::vector<LayerRow> layer_rows(const Graph& graph) {
  std::vector<LayerRow> rows;
  std::set<ValueId> counted;
  std::string above;
  for (const Node& node : graph.nodes) {
    LayerRow row;
    const std::string path = path_of(node);
    if (path != above) row.name = path;
    above = path;
    row.operation = words_of(node.op);
    if (!node.outputs.empty()) row.output = text_of(graph[node.outputs[0]].type.shape);
    const Shape in = node.inputs.empty() || !node.inputs[0] ? Shape{} : graph[node.inputs[0]].type.shape;
    row.padding = node.op.visit([&](const auto& op) -> std::string {
      if constexpr (requires {
                      op.windows;
                      op.paddings;
                      op.axes.order;
                    })
        return padding_words(op, in);
      return {};
    });
    for (const ValueId v : node.inputs)
      if (v && graph[v].constant && !graph[v].literal && !graph.tied.contains(graph[v].name) &&
          counted.insert(v).second)
        row.parameters += graph[v].constant->count();
    row.note = note_of(node, graph);
    rows.push_back(std::move(row));
  }
  return rows;
}

ParameterCount count_parameters(const Graph& graph) {
  ParameterCount n;
  for (const Value& v : graph.values) {
    if (!v.constant || v.literal || graph.tied.contains(v.name)) continue;
    n.all += v.constant->count();
    if (v.trainable) n.trainable += v.constant->count();
  }
  return n;
}

}  // namespace convoy
