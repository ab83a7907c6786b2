#include "formats/tflite/write/axes.h"

#include "ops/expect.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace convoy::tflite {

namespace {

using Place = std::int32_t;

// What an operator does with axes.
enum class Treatment : std::uint8_t { Stretches, Turns, Reduces, Pads, Cuts, ByRows, Multiplies, Joins };

struct KernelAxes {
  std::string_view name;
  Treatment treatment;
  Size most;  // axes that its kernels take, with XNNPACK and without
};

// Measured with the interpreter of LiteRT 2.x; XNNPACK prepares nothing of more than six axes. Those that stretch have no limit
// where all their operands are of one shape.
constexpr std::array kernels{KernelAxes{"ADD", Treatment::Stretches, 6},
                             KernelAxes{"SUB", Treatment::Stretches, 6},
                             KernelAxes{"MUL", Treatment::Stretches, 6},
                             KernelAxes{"DIV", Treatment::Stretches, 5},
                             KernelAxes{"MAXIMUM", Treatment::Stretches, 5},
                             KernelAxes{"MINIMUM", Treatment::Stretches, 5},
                             KernelAxes{"SELECT_V2", Treatment::Stretches, 5},
                             KernelAxes{"SQUARED_DIFFERENCE", Treatment::Stretches, 5},
                             KernelAxes{"POW", Treatment::Stretches, 4},
                             KernelAxes{"PRELU", Treatment::Stretches, 4},
                             KernelAxes{"FLOOR_DIV", Treatment::Stretches, 4},
                             KernelAxes{"FLOOR_MOD", Treatment::Stretches, 4},
                             KernelAxes{"EQUAL", Treatment::Stretches, 4},
                             KernelAxes{"NOT_EQUAL", Treatment::Stretches, 4},
                             KernelAxes{"LESS", Treatment::Stretches, 4},
                             KernelAxes{"LESS_EQUAL", Treatment::Stretches, 4},
                             KernelAxes{"GREATER", Treatment::Stretches, 4},
                             KernelAxes{"GREATER_EQUAL", Treatment::Stretches, 4},
                             KernelAxes{"LOGICAL_AND", Treatment::Stretches, 4},
                             KernelAxes{"LOGICAL_OR", Treatment::Stretches, 4},
                             KernelAxes{"TRANSPOSE", Treatment::Turns, 6},
                             KernelAxes{"SUM", Treatment::Reduces, 6},
                             KernelAxes{"MEAN", Treatment::Reduces, 6},
                             KernelAxes{"REDUCE_MAX", Treatment::Reduces, 6},
                             KernelAxes{"REDUCE_MIN", Treatment::Reduces, 6},
                             KernelAxes{"REDUCE_PROD", Treatment::Reduces, 6},
                             KernelAxes{"REDUCE_ANY", Treatment::Reduces, 6},
                             KernelAxes{"REDUCE_ALL", Treatment::Reduces, 6},
                             KernelAxes{"PAD", Treatment::Pads, 5},
                             KernelAxes{"PADV2", Treatment::Pads, 5},
                             KernelAxes{"STRIDED_SLICE", Treatment::Cuts, 5},
                             KernelAxes{"SOFTMAX", Treatment::ByRows, 6},
                             KernelAxes{"LOG_SOFTMAX", Treatment::ByRows, 6},
                             KernelAxes{"FULLY_CONNECTED", Treatment::ByRows, 6},
                             KernelAxes{"BATCH_MATMUL", Treatment::Multiplies, 5},
                             KernelAxes{"CONCATENATION", Treatment::Joins, 6}};

// Consecutive axes of one group are one axis; by axis, the number of its group.
using Groups = std::vector<std::size_t>;

// `joins(i)`: axis i is one with that in front of it.
template <class Joins>
Groups grouped(std::size_t axes, const Joins& joins) {
  Groups groups;
  for (std::size_t i = 0; i < axes; ++i) groups.push_back(i == 0 ? 0 : groups.back() + (joins(i) ? 0 : 1));
  return groups;
}

template <class Key>
Groups grouped_by(std::size_t axes, const Key& key) {
  return grouped(axes, [&](std::size_t i) { return key(i) == key(i - 1); });
}

bool begins_group(const Groups& groups, std::size_t axis) { return axis == 0 || groups[axis] != groups[axis - 1]; }

std::size_t count_of(const Groups& groups) { return groups.empty() ? 0 : groups.back() + 1; }

Shape with_joined_axes(const Shape& shape, const Groups& groups) {
  Shape made(count_of(groups), Dim(1));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    Dim& whole = made[groups[i]];
    whole = whole.known() && shape[i].known() ? Dim(*whole * *shape[i]) : Dim::unknown();
  }
  return made;
}

class Joiner {
 public:
  explicit Joiner(Document& document) : document_(document), before_(std::move(document.operators)) {
    document_.operators.clear();
  }

  Status run() {
    for (DocumentOperator& op : before_) {
      const auto* kernel = std::ranges::find(kernels, op.name, &KernelAxes::name);
      if (kernel == kernels.end() || fits(*kernel, op)) document_.operators.push_back(std::move(op));
      else if (auto done = join(*kernel, std::move(op)); !done) return done;
    }
    return {};
  }

 private:
  const Shape& shape(Place t) const { return document_.tensors[static_cast<std::size_t>(t)].type.shape; }
  const Tensor* constant(Place t) const {
    const auto& held = document_.tensors[static_cast<std::size_t>(t)].constant;
    return held ? &*held : nullptr;
  }

  // The inputs whose axes count.
  static std::size_t tensors_of(const KernelAxes& kernel, const DocumentOperator& op) {
    switch (kernel.treatment) {
      case Treatment::Stretches:
      case Treatment::Multiplies:
      case Treatment::Joins: return op.inputs.size();
      default: return 1;
    }
  }

  bool fits(const KernelAxes& kernel, const DocumentOperator& op) const {
    std::size_t axes = shape(op.outputs[0]).size();
    bool is_alike = true;
    for (std::size_t i = 0; i < tensors_of(kernel, op); ++i) {
      axes = std::max(axes, shape(op.inputs[i]).size());
      is_alike = is_alike && shape(op.inputs[i]) == shape(op.outputs[0]);
    }
    return static_cast<Size>(axes) <= kernel.most || (kernel.treatment == Treatment::Stretches && is_alike);
  }

  std::unexpected<Error> refused(const KernelAxes& kernel, const DocumentOperator& op) const {
    return fail(Fault::Unsupported,
                fmt::format("'{}': {} to {} has no form in TFLite, whose interpreter takes {} axes there",
                            document_.tensors[static_cast<std::size_t>(op.outputs[0])].name, kernel.name,
                            text_of(shape(op.outputs[0])), kernel.most));
  }

  Status join(const KernelAxes& kernel, DocumentOperator op) {
    switch (kernel.treatment) {
      case Treatment::Stretches: return join_stretched(kernel, std::move(op));
      case Treatment::Turns: return join_turned(kernel, std::move(op));
      case Treatment::Reduces: return join_reduced(kernel, std::move(op));
      case Treatment::Pads: return join_padded(kernel, std::move(op));
      case Treatment::Cuts: return join_cut(kernel, std::move(op));
      case Treatment::ByRows: return join_rows(kernel, std::move(op), 1);
      case Treatment::Multiplies: return join_rows(kernel, std::move(op), 2);
      case Treatment::Joins: return join_joined(kernel, std::move(op));
    }
    return {};
  }

  // Axes along which the same operands stretch.
  Status join_stretched(const KernelAxes& kernel, DocumentOperator op) {
    const Shape to = shape(op.outputs[0]);
    std::vector<Shape> operands;
    for (const Place input : op.inputs) {
      Shape own = shape(input);
      own.insert(own.begin(), to.size() - own.size(), Dim(1));
      operands.push_back(std::move(own));
    }
    std::vector<std::vector<bool>> stretched(to.size());
    for (std::size_t axis = 0; axis < to.size(); ++axis)
      for (const Shape& own : operands) {
        if (own[axis] != to[axis] && own[axis] != Dim(1)) return refused(kernel, op);
        stretched[axis].push_back(own[axis] != to[axis]);
      }
    for (std::size_t axis = 1; axis < to.size(); ++axis)  // an axis of one cell is like any
      if (to[axis] == Dim(1)) stretched[axis] = stretched[axis - 1];
    const Groups groups = grouped_by(to.size(), [&](std::size_t axis) { return stretched[axis]; });
    const bool is_tiled = static_cast<Size>(count_of(groups)) > kernel.most;
    if (is_tiled && kernel.name == "PRELU") return refused(kernel, op);  // a slope is of no batch
    if (is_tiled) return tile(kernel, std::move(op), operands);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      Shape whole = with_joined_axes(operands[i], groups);
      if (auto s = lay(op.inputs[i], whole); !s) return refused(kernel, op);
    }
    return finish(kernel, std::move(op), with_joined_axes(to, groups));
  }

  // Every operand as large as the result, where nothing has to be stretched any more.
  Status tile(const KernelAxes& kernel, DocumentOperator op, const std::vector<Shape>& operands) {
    const Shape to = shape(op.outputs[0]);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      Sizes times;
      for (std::size_t axis = 0; axis < to.size(); ++axis) {
        if (operands[i][axis] != to[axis] && !to[axis].known()) return refused(kernel, op);
        times.push_back(operands[i][axis] == to[axis] ? 1 : *to[axis]);
      }
      if (auto s = lay(op.inputs[i], operands[i]); !s) return refused(kernel, op);
      if (operands[i] == to) continue;
      const DocumentTensor before = document_.tensors[static_cast<std::size_t>(op.inputs[i])];
      const Place made =
          add(before.name + fmt::format(".{}", document_.tensors.size()), {before.type.dtype, to}, {}, op.inputs[i]);
      document_.operators.push_back({"TILE", 1, {op.inputs[i], numbers(times, {std::ssize(times)})}, {made}, {}});
      op.inputs[i] = made;
    }
    document_.operators.push_back(std::move(op));
    return {};
  }

  // Axes that stay side by side.
  Status join_turned(const KernelAxes& kernel, DocumentOperator op) {
    const Tensor* order = constant(op.inputs[1]);
    if (!order) return refused(kernel, op);
    const Sizes from = order->integers();
    const Shape whole = shape(op.inputs[0]);
    std::vector<std::size_t> place(from.size());  // in the result, of each axis
    for (std::size_t i = 0; i < from.size(); ++i) place[static_cast<std::size_t>(from[i])] = i;
    const Groups groups = grouped(whole.size(), [&](std::size_t i) { return place[i] == place[i - 1] + 1; });
    Sizes turned;
    Shape result;
    const Shape fewer = with_joined_axes(whole, groups);
    for (std::size_t i = 0; i < from.size(); ++i) {
      const auto group = groups[static_cast<std::size_t>(from[i])];
      if (!turned.empty() && turned.back() == static_cast<Size>(group)) continue;
      turned.push_back(static_cast<Size>(group));
      result.push_back(fewer[group]);
    }
    if (auto s = lay(op.inputs[0], fewer); !s) return refused(kernel, op);
    op.inputs[1] = numbers(turned, {static_cast<Size>(turned.size())});
    return finish(kernel, std::move(op), std::move(result));
  }

  Status join_reduced(const KernelAxes& kernel, DocumentOperator op) {
    const Tensor* said = constant(op.inputs[1]);
    if (!said) return refused(kernel, op);
    const Shape whole = shape(op.inputs[0]);
    std::vector<bool> is_reduced(whole.size());
    for (const Size axis : said->integers())
      is_reduced[static_cast<std::size_t>(axis < 0 ? axis + std::ssize(whole) : axis)] = true;
    const Groups groups = grouped_by(whole.size(), [&](std::size_t axis) { return is_reduced[axis]; });
    Sizes axes;
    Shape result = with_joined_axes(whole, groups);
    if (auto s = lay(op.inputs[0], result); !s) return refused(kernel, op);
    for (std::size_t axis = 0; axis < whole.size(); ++axis)
      if (const auto group = static_cast<Size>(groups[axis]); is_reduced[axis] && begins_group(groups, axis)) {
        axes.push_back(group);
        result[static_cast<std::size_t>(group)] = Dim(1);
      }
    op.inputs[1] = numbers(axes, {static_cast<Size>(axes.size())});
    std::erase_if(op.options, [](const Option& option) { return option.name == "keep_dims"; });
    op.options.push_back({"keep_dims", Size{1}});
    return finish(kernel, std::move(op), std::move(result));
  }

  // Axes that nothing is added to.
  Status join_padded(const KernelAxes& kernel, DocumentOperator op) {
    const Tensor* said = constant(op.inputs[1]);
    if (!said) return refused(kernel, op);
    const Sizes pads = said->integers();
    const Shape whole = shape(op.inputs[0]), to = shape(op.outputs[0]);
    const auto is_padded = [&](std::size_t axis) { return pads[2 * axis] != 0 || pads[2 * axis + 1] != 0; };
    const Groups groups = grouped(whole.size(), [&](std::size_t i) { return !is_padded(i) && !is_padded(i - 1); });
    Sizes fewer;
    for (std::size_t axis = 0; axis < whole.size(); ++axis)
      if (begins_group(groups, axis)) fewer.insert(fewer.end(), {pads[2 * axis], pads[2 * axis + 1]});
    if (auto s = lay(op.inputs[0], with_joined_axes(whole, groups)); !s) return refused(kernel, op);
    op.inputs[1] = numbers(fewer, {static_cast<Size>(count_of(groups)), 2});
    return finish(kernel, std::move(op), with_joined_axes(to, groups));
  }

  // Axes that are taken whole.
  Status join_cut(const KernelAxes& kernel, DocumentOperator op) {
    const auto mask = [&](std::string_view name) {
      const auto said = std::ranges::find(op.options, name, &Option::name);
      return said == op.options.end() ? Size{0} : std::get<Size>(said->value);
    };
    const auto has = [](Size bits, std::size_t axis) { return (bits >> axis & 1) != 0; };
    const Size begins = mask("begin_mask"), ends = mask("end_mask");
    std::array<Sizes, 3> said, fewer;  // begins, ends, steps
    for (std::size_t i = 0; i < said.size(); ++i) {
      const Tensor* numbers = constant(op.inputs[i + 1]);
      if (!numbers || mask("shrink_axis_mask") != 0) return refused(kernel, op);
      said[i] = numbers->integers();
    }
    const Shape whole = shape(op.inputs[0]), to = shape(op.outputs[0]);
    const auto is_whole = [&](std::size_t axis) { return has(begins, axis) && has(ends, axis) && said[2][axis] == 1; };
    const Groups groups = grouped(whole.size(), [&](std::size_t i) { return is_whole(i) && is_whole(i - 1); });
    Size fewer_begins = 0, fewer_ends = 0;
    for (std::size_t axis = 0; axis < whole.size(); ++axis) {
      if (!begins_group(groups, axis)) continue;
      for (std::size_t i = 0; i < said.size(); ++i) fewer[i].push_back(said[i][axis]);
      if (has(begins, axis)) fewer_begins |= Size{1} << groups[axis];
      if (has(ends, axis)) fewer_ends |= Size{1} << groups[axis];
    }
    if (auto s = lay(op.inputs[0], with_joined_axes(whole, groups)); !s) return refused(kernel, op);
    for (std::size_t i = 0; i < said.size(); ++i)
      op.inputs[i + 1] = numbers(fewer[i], {static_cast<Size>(fewer[i].size())});
    op.options = {{"begin_mask", fewer_begins}, {"end_mask", fewer_ends}};
    return finish(kernel, std::move(op), with_joined_axes(to, groups));
  }

  // All axes but the last ones; an operand that has no others stays as it is.
  Status join_rows(const KernelAxes& kernel, DocumentOperator op, std::size_t last) {
    const Shape to = shape(op.outputs[0]);
    const auto front = to.size() - last;
    const Groups groups = grouped_by(to.size(), [&](std::size_t axis) { return axis < front ? 0 : axis; });
    for (std::size_t i = 0; i < tensors_of(kernel, op); ++i) {
      const Shape own = shape(op.inputs[i]);
      if (own.size() == last) continue;
      const auto end = own.begin() + static_cast<std::ptrdiff_t>(front);
      if (own.size() != to.size() || !std::equal(own.begin(), end, to.begin())) return refused(kernel, op);
      if (auto s = lay(op.inputs[i], with_joined_axes(own, groups)); !s) return refused(kernel, op);
    }
    return finish(kernel, std::move(op), with_joined_axes(to, groups));
  }

  // In front of the axis, and the axis with what lies behind it.
  Status join_joined(const KernelAxes& kernel, DocumentOperator op) {
    const auto said = std::ranges::find(op.options, "axis", &Option::name);
    if (said == op.options.end()) return refused(kernel, op);
    const Shape to = shape(op.outputs[0]);
    Size axis = std::get<Size>(said->value);
    if (axis < 0) axis += std::ssize(to);
    const Groups groups = grouped_by(to.size(), [&](std::size_t i) { return static_cast<Size>(i) < axis; });
    said->value = static_cast<Size>(groups[static_cast<std::size_t>(axis)]);
    for (Place& input : op.inputs)
      if (auto s = lay(input, with_joined_axes(shape(input), groups)); !s) return refused(kernel, op);
    return finish(kernel, std::move(op), with_joined_axes(to, groups));
  }

  Place add(std::string name, TensorType type, std::optional<Tensor> constant = {}, Place like = -1) {
    DocumentTensor tensor{std::move(name), std::move(type), std::move(constant)};
    if (like >= 0) tensor.quantization = document_.tensors[static_cast<std::size_t>(like)].quantization;
    document_.tensors.push_back(std::move(tensor));
    return static_cast<Place>(document_.tensors.size() - 1);
  }

  Place numbers(const Sizes& values, Sizes shape) {
    Tensor tensor = int32_of(values, std::move(shape));
    const TensorType type = type_of(tensor);
    return add(fmt::format("axes.{}", document_.tensors.size()), type, std::move(tensor));
  }

  // A reshape's second input. Nothing: several sizes are free.
  std::optional<Place> sizes(const Shape& wanted) {
    if (std::ranges::count_if(wanted, [](Dim d) { return !d.known(); }) > 1) return std::nullopt;
    Sizes known;
    for (const Dim d : wanted) known.push_back(d.known() ? *d : -1);
    return numbers(known, {static_cast<Size>(known.size())});
  }

  // The tensor under another shape, in its place.
  Status lay(Place& t, const Shape& wanted) {
    if (shape(t) == wanted) return {};
    const DocumentTensor before = document_.tensors[static_cast<std::size_t>(t)];
    if (before.constant) {
      Sizes known;
      for (const Dim d : wanted) known.push_back(*d);
      t = add(before.name + fmt::format(".{}", document_.tensors.size()), {before.type.dtype, wanted},
              before.constant->reshaped(known), t);
      document_.tensors.back().value = before.value;
      return {};
    }
    const auto to = sizes(wanted);
    if (!to) return fail(Fault::Unsupported, "several sizes are free");
    const Place made =
        add(before.name + fmt::format(".{}", document_.tensors.size()), {before.type.dtype, wanted}, {}, t);
    document_.operators.push_back({"RESHAPE", 1, {t, *to}, {made}, {}});
    t = made;
    return {};
  }

  // The operator, whose result has this shape, and a reshape to what it had.
  Status finish(const KernelAxes& kernel, DocumentOperator op, Shape result) {
    const Place whole = op.outputs[0];
    const auto to = sizes(shape(whole));
    const DocumentTensor before = document_.tensors[static_cast<std::size_t>(whole)];
    op.outputs[0] = add(before.name + fmt::format(".{}", document_.tensors.size()),
                        {before.type.dtype, std::move(result)}, {}, whole);
    if (!to || !fits(kernel, op)) {
      op.outputs[0] = whole;
      return refused(kernel, op);
    }
    const Place made = op.outputs[0];
    document_.operators.push_back(std::move(op));
    document_.operators.push_back({"RESHAPE", 1, {made, *to}, {whole}, {}});
    return {};
  }

  Document& document_;
  std::vector<DocumentOperator> before_;
};

}  // namespace

Status join_axes(Document& document) { return Joiner(document).run(); }

}  // namespace convoy::tflite
