// A list of cells in each framework's order, with its modes and without those it has not.
#include "explain/pad_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace convoy::explain {
namespace {

bool nothing(const Added& a) { return a.before == 0 && a.after == 0; }
bool empty(const std::vector<Added>& cells) { return std::ranges::all_of(cells, nothing); }
std::string number_text(double value) { return fmt::format("{}", value); }

// The list as steps: cells to cut, cells to add, and which comes first. Where one side of an axis is only cut or only
// added to, the order matters to reflect, symmetric and wrap alone, when they would take a cell that was cut.
struct Steps {
  std::string axes;
  std::vector<Added> add, cut;
  bool orders = false;  // cutting and adding do not commute
  bool cuts_last = false;
  PadMode mode = PadMode::Constant;
  double value = 0;
  bool cuts() const { return !empty(cut); }
  bool adds() const { return !empty(add); }
  std::vector<Added> signed_counts() const {
    std::vector<Added> all = add;
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].before -= cut[i].before;
      all[i].after -= cut[i].after;
    }
    return all;
  }
};

Steps steps_of(const PadList& list, const std::string& axes) {
  Steps s{axes, {}, {}, false, list.cuts_last, list.mode, list.value};
  for (const char axis : axes) {
    const Added a = list.cells[list.axes.find(axis)];
    s.add.push_back({std::max<Size>(a.before, 0), std::max<Size>(a.after, 0)});
    s.cut.push_back({std::max<Size>(-a.before, 0), std::max<Size>(-a.after, 0)});
    s.orders = s.orders || (!nothing(s.add.back()) && !nothing(s.cut.back()) && list.mode != PadMode::Constant &&
                            list.mode != PadMode::Edge);
  }
  return s;
}

std::string in_order(const std::string& axes, bool channels_last) {
  if (axes.front() == 'a') return axes;
  std::string space;
  for (const char c : std::string_view("DHW"))
    if (axes.find(c) != std::string::npos) space += c;
  const std::string batch = axes.find('N') != std::string::npos ? "N" : "",
                    channel = axes.find('C') != std::string::npos ? "C" : "";
  return channels_last ? batch + space + channel : batch + channel + space;
}

bool spatial(char axis) { return axis != 'N' && axis != 'C'; }

std::string slice(const std::string& x, const std::vector<Added>& cut) {
  std::vector<std::string> parts;
  std::size_t used = cut.size();
  while (used > 0 && nothing(cut[used - 1])) --used;
  for (std::size_t i = 0; i < used; ++i)
    parts.push_back(fmt::format("{}:{}", cut[i].before > 0 ? std::to_string(cut[i].before) : "",
                                cut[i].after > 0 ? fmt::format("-{}", cut[i].after) : ""));
  return fmt::format("{}[{}]", x, fmt::join(parts, ", "));
}

// One statement after the other, cutting where the list says so.
std::string in_steps(const Steps& s, const std::string& added) {
  if (!s.cuts()) return added;
  const std::string cut = "x = " + slice("x", s.cut);
  if (!s.adds()) return cut;
  return s.cuts_last ? fmt::format("{}; {}", added, cut) : fmt::format("{}; {}", cut, added);
}

std::string pairs(const std::vector<Added>& cells, char open, char close) {
  std::vector<std::string> all;
  for (const Added& a : cells) all.push_back(fmt::format("{}{}, {}{}", open, a.before, a.after, close));
  return fmt::format("{}{}{}", open, fmt::join(all, ", "), close);
}

bool one_at_most(const std::vector<Added>& cells) {
  return std::ranges::all_of(cells, [](const Added& a) { return a.before <= 1 && a.after <= 1; });
}

// "x.shape[1] + 2", "x.shape[1]", "-3", "0": where the places of the result begin and end.
std::string end_of(const std::string& n, Size after) { return after == 0 ? n : fmt::format("{} + {}", n, after); }
std::string begin_of(Size before) { return before == 0 ? "0" : fmt::format("-{}", before); }

// A mode that a framework lacks, as one gathering per axis. {0}: first place, {1}: behind the last, {2}: n, {3}: axis.
struct Gathers {
  const char *wrap, *edge, *symmetric, *reflect;
};
constexpr Gathers torch_gathers{
    "x = x.index_select({3}, torch.arange({0}, {1}) % {2})",
    "x = x.index_select({3}, torch.arange({0}, {1}).clamp(0, {2} - 1))",
    "i = torch.arange({0}, {1}) % (2 * {2}); x = x.index_select({3}, torch.minimum(i, 2 * {2} - 1 - i))",
    "x = x.index_select({3}, {2} - 1 - ({2} - 1 - torch.arange({0}, {1}).abs()).abs())"};
constexpr Gathers tensorflow_gathers{"x = tf.gather(x, tf.range({0}, {1}) % {2}, axis={3})",
                                     "x = tf.gather(x, tf.clip_by_value(tf.range({0}, {1}), 0, {2} - 1), axis={3})", "",
                                     ""};
constexpr Gathers keras_gathers{"x = ops.take(x, ops.arange({0}, {1}) % {2}, axis={3})",
                                "x = ops.take(x, ops.clip(ops.arange({0}, {1}), 0, {2} - 1), axis={3})", "", ""};

std::string gathered(const Steps& s, const Gathers& by) {
  const char* pattern = s.mode == PadMode::Wrap        ? by.wrap
                        : s.mode == PadMode::Edge      ? by.edge
                        : s.mode == PadMode::Symmetric ? by.symmetric
                                                       : by.reflect;
  std::string all;
  for (std::size_t i = 0; i < s.add.size(); ++i) {
    if (nothing(s.add[i])) continue;
    const std::string n = fmt::format("x.shape[{}]", i);
    all += fmt::format("{}{}", all.empty() ? "" : "; ",
                       fmt::format(fmt::runtime(pattern), begin_of(s.add[i].before), end_of(n, s.add[i].after), n, i));
  }
  return all;
}

// The same for formats that hold a list of indices.
std::string gather_nodes(const PadList& list, const Steps& s, const char* node) {
  std::string all;
  for (std::size_t i = 0; i < s.axes.size(); ++i) {
    const std::size_t axis = list.axes.find(s.axes[i]);
    if (nothing(s.add[i]) && nothing(s.cut[i])) continue;
    const auto cells =
        list.size[axis] ? cells_of(list, axis, *list.size[axis]) : Result<std::vector<Size>>(std::vector<Size>{});
    const bool listed = cells && !cells->empty() && cells->size() <= 24;
    all += fmt::format(
        "{}{} axis={} {}", all.empty() ? "" : ", then ", node, i,
        listed ? fmt::format("indices=[{}]", fmt::join(*cells, ", ")) : "indices as drawn; give --size for the list");
  }
  return all;
}

// ---- PyTorch

PadListLine torch_line(const PadList& list) {
  const Steps s = steps_of(list, in_order(list.axes, false));
  const char* word = s.mode == PadMode::Constant  ? ""
                     : s.mode == PadMode::Reflect ? ", mode=\"reflect\""
                     : s.mode == PadMode::Edge    ? ", mode=\"replicate\""
                     : s.mode == PadMode::Wrap    ? ", mode=\"circular\""
                                                  : "";
  std::string remark;
  if (s.mode == PadMode::Symmetric && s.adds()) {
    if (!one_at_most(s.add)) return {"PyTorch", in_steps(s, gathered(s, torch_gathers)), "it has no symmetric mode"};
    word = ", mode=\"replicate\"";
    remark = "symmetric by one cell is replicate";
  }
  // Its own order: what reflect and replicate add is taken from all of x; the others see what is left.
  const bool native_last = s.mode == PadMode::Reflect || s.mode == PadMode::Edge;
  const bool at_once = !s.cuts() || !s.orders || native_last == s.cuts_last;
  const auto counts = at_once ? s.signed_counts() : s.add;
  std::size_t first = 0;
  while (first < counts.size() && nothing(counts[first])) ++first;
  if (s.mode != PadMode::Constant && s.adds()) {
    // Every spatial axis must be listed, and no other.
    const std::size_t space = s.axes.size() > 2 ? 2 : 0;
    if (first < space || s.axes.size() > 5)
      return {"PyTorch", in_steps(s, gathered(s, torch_gathers)), "its modes reach neither batch nor channels"};
    first = space;
  }
  std::vector<Size> numbers;
  for (std::size_t i = counts.size(); i-- > first;) numbers.insert(numbers.end(), {counts[i].before, counts[i].after});
  if (numbers.empty()) return {"PyTorch", "x", "nothing to add"};
  const std::string value = s.mode == PadMode::Constant && s.value != 0 ? ", value=" + number_text(s.value) : "";
  const std::string call = fmt::format("x = F.pad(x, ({}){}{})", fmt::join(numbers, ", "), word, value);
  return {"PyTorch", at_once ? call : in_steps(s, call), remark};
}

// ---- TensorFlow, Keras, NumPy

PadListLine tensorflow_line(const PadList& list) {
  const Steps s = steps_of(list, in_order(list.axes, true));
  if ((s.mode == PadMode::Edge || s.mode == PadMode::Wrap) && s.adds()) {
    if (s.mode == PadMode::Edge && one_at_most(s.add))
      return {"TensorFlow", in_steps(s, fmt::format("x = tf.pad(x, {}, \"SYMMETRIC\")", pairs(s.add, '[', ']'))),
              "edge by one cell is SYMMETRIC"};
    return {"TensorFlow", in_steps(s, gathered(s, tensorflow_gathers)),
            s.mode == PadMode::Edge ? "it has no edge mode" : "it has no wrap mode"};
  }
  const char* word = s.mode == PadMode::Reflect     ? ", \"REFLECT\""
                     : s.mode == PadMode::Symmetric ? ", \"SYMMETRIC\""
                                                    : "";
  const std::string value =
      s.mode == PadMode::Constant && s.value != 0 ? ", constant_values=" + number_text(s.value) : "";
  return {"TensorFlow", in_steps(s, fmt::format("x = tf.pad(x, {}{}{})", pairs(s.add, '[', ']'), word, value)),
          s.cuts() ? "tf.pad takes no negative counts" : ""};
}

PadListLine keras_line(const PadList& list) {
  const Steps s = steps_of(list, in_order(list.axes, true));
  std::vector<Added> add, cut;
  bool layers = list.named() && s.axes.size() >= 3 && s.axes.size() <= 5 &&
                (s.mode == PadMode::Constant || !s.adds()) && s.value == 0;
  for (std::size_t i = 0; i < s.axes.size(); ++i) {
    if (spatial(s.axes[i])) add.push_back(s.add[i]), cut.push_back(s.cut[i]);
    else layers = layers && nothing(s.add[i]) && nothing(s.cut[i]);
  }
  const auto written = [](const std::vector<Added>& cells) {
    const std::string all = pairs(cells, '(', ')');
    return cells.size() == 1 ? all.substr(1, all.size() - 2) : all;
  };
  if (layers && !add.empty() && add.size() <= 3) {
    std::string code;
    if (!empty(cut)) code = fmt::format("Cropping{}D({})", cut.size(), written(cut));
    if (!empty(add))
      code += fmt::format("{}ZeroPadding{}D({})", code.empty() ? "" : ", then ", add.size(), written(add));
    return {"Keras", code.empty() ? "x" : code, ""};
  }
  if ((s.mode == PadMode::Edge || s.mode == PadMode::Wrap) && s.adds() &&
      !(s.mode == PadMode::Edge && one_at_most(s.add)))
    return {"Keras", in_steps(s, gathered(s, keras_gathers)), "ops.pad has no such mode"};
  const char* word = s.mode == PadMode::Reflect    ? ", mode=\"reflect\""
                     : s.mode == PadMode::Constant ? ""
                                                   : ", mode=\"symmetric\"";
  const std::string value =
      s.mode == PadMode::Constant && s.value != 0 ? ", constant_values=" + number_text(s.value) : "";
  return {"Keras", in_steps(s, fmt::format("x = ops.pad(x, {}{}{})", pairs(s.add, '(', ')'), word, value)),
          s.mode == PadMode::Edge       ? "edge by one cell is symmetric"
          : s.mode == PadMode::Constant ? "ZeroPadding adds zeros in space only"
                                        : "no layer has a mode"};
}

PadListLine numpy_line(const PadList& list) {
  const Steps s = steps_of(list, list.axes);
  const char* word = s.mode == PadMode::Constant    ? ""
                     : s.mode == PadMode::Reflect   ? ", \"reflect\""
                     : s.mode == PadMode::Symmetric ? ", \"symmetric\""
                     : s.mode == PadMode::Edge      ? ", \"edge\""
                                                    : ", \"wrap\"";
  const std::string value =
      s.mode == PadMode::Constant && s.value != 0 ? ", constant_values=" + number_text(s.value) : "";
  return {"NumPy", in_steps(s, fmt::format("x = np.pad(x, {}{}{})", pairs(s.add, '(', ')'), word, value)),
          list.named() ? "axes " + list.axes : ""};
}

// ---- ONNX, TFLite, Core ML

std::string onnx_numbers(const std::vector<Added>& cells) {
  std::vector<Size> numbers;
  for (const Added& a : cells) numbers.push_back(a.before);
  for (const Added& a : cells) numbers.push_back(a.after);
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

PadListLine onnx_line(const PadList& list) {
  const Steps s = steps_of(list, in_order(list.axes, false));
  const bool at_once = !s.orders || !s.cuts_last;
  const std::string counts = onnx_numbers(at_once ? s.signed_counts() : s.add);
  std::string mode, remark = "begins, then ends";
  switch (s.mode) {
    case PadMode::Constant: mode = s.value == 0 ? "" : " constant_value=" + number_text(s.value); break;
    case PadMode::Reflect: mode = " mode=reflect"; break;
    case PadMode::Edge: mode = " mode=edge"; break;
    case PadMode::Wrap:
      mode = " mode=wrap";
      remark = "operator set 19 or later";
      break;
    case PadMode::Symmetric:
      if (s.adds() && !one_at_most(s.add)) return {"ONNX", gather_nodes(list, s, "Gather"), "it has no symmetric mode"};
      mode = s.adds() ? " mode=edge" : "";
      remark = "symmetric by one cell is edge";
  }
  return {"ONNX", fmt::format("Pad{} pads={}{}", mode, counts, at_once ? "" : ", then Slice"), remark};
}

PadListLine tflite_line(const PadList& list) {
  const Steps s = steps_of(list, in_order(list.axes, true));
  std::string code;
  if (s.mode == PadMode::Edge || s.mode == PadMode::Wrap) {
    if (!one_at_most(s.add) || s.mode == PadMode::Wrap)
      return {"TFLite", gather_nodes(list, s, "GATHER"), "it has no such mode"};
    code = "MIRROR_PAD SYMMETRIC";
  } else if (s.mode == PadMode::Constant) {
    code = s.value == 0 ? "PAD" : "PADV2 value=" + number_text(s.value);
  } else {
    code = s.mode == PadMode::Reflect ? "MIRROR_PAD REFLECT" : "MIRROR_PAD SYMMETRIC";
  }
  code += " " + pairs(s.add, '[', ']');
  if (!s.cuts()) return {"TFLite", code, ""};
  if (!s.adds()) return {"TFLite", "STRIDED_SLICE as TensorFlow's", ""};
  return {"TFLite", s.cuts_last ? code + ", then STRIDED_SLICE" : "STRIDED_SLICE, then " + code, ""};
}

PadListLine coreml_line(const PadList& list) {
  const Steps s = steps_of(list, in_order(list.axes, false));
  if ((s.mode == PadMode::Symmetric && !one_at_most(s.add)) || s.mode == PadMode::Wrap)
    return {"Core ML", gather_nodes(list, s, "gather"), "it has no such mode"};
  std::vector<Size> numbers;
  std::size_t first = 0;
  while (first < s.add.size() && nothing(s.add[first])) ++first;
  for (std::size_t i = first; i < s.add.size(); ++i) numbers.insert(numbers.end(), {s.add[i].before, s.add[i].after});
  const char* mode = s.mode == PadMode::Constant ? "constant" : s.mode == PadMode::Reflect ? "reflect" : "replicate";
  std::string code = fmt::format("pad mode={} pad=[{}]", mode, fmt::join(numbers, ", "));
  if (s.mode == PadMode::Constant && s.value != 0) code += " constant_val=" + number_text(s.value);
  if (!s.cuts()) return {"Core ML", code, "the last axes, in their order"};
  if (!s.adds()) return {"Core ML", "slice_by_size", ""};
  return {"Core ML", s.cuts_last ? code + ", then slice_by_size" : "slice_by_size, then " + code, ""};
}

}  // namespace

std::vector<PadListLine> lines_of(const PadList& list) {
  return {torch_line(list),  tensorflow_line(list), keras_line(list), onnx_line(list),
          tflite_line(list), coreml_line(list),     numpy_line(list)};
}

}  // namespace convoy::explain
