// Nodes that are told by numbers which follow from free sizes: what is counted to them, cut, padded and repeated by them.
#include "formats/free_parts.h"
#include "formats/onnx/arguments.h"
#include "formats/onnx/model_reader.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::onnx {

namespace {

constexpr Size far = Size{1} << 31;  // INT_MAX and INT64_MAX are both in use

// The axes that a node names, or all from the first. Nothing: they are not known, or name none of the tensor's.
std::optional<Sizes> axes_named(const Numbers* said, std::size_t count, Size rank) {
  Sizes axes;
  for (std::size_t i = 0; i < (said ? said->all.size() : count); ++i) {
    Size axis = static_cast<Size>(i);
    if (said && said->all[i].kind != Number::Kind::Whole) return std::nullopt;
    if (said) axis = said->all[i].whole;
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank || std::ranges::find(axes, axis) != axes.end()) return std::nullopt;
    axes.push_back(axis);
  }
  return axes;
}

}  // namespace

// Range up to a number that comes only when the model runs.
Status ModelReader::add_range(const ModelNode& node, const std::string& name, const std::vector<Known*>& inputs,
                              Names& names) {
  std::vector<Number> said;
  for (Known* one : inputs) {
    const Numbers* known = one ? numbers(*one) : nullptr;
    if (known && known->all.size() == 1) said.push_back(known->all.front());
  }
  if (said.size() != 3 || node.outputs.size() != 1)
    return fail(Fault::Unsupported,
                "its start, limit and delta are computed by the model; they must be known beforehand");
  return add_free(node, counted_range({graph_, sizes_, name}, said[0], said[1], said[2], numbers(*inputs[0])->dtype),
                  names);
}

Status ModelReader::add_free(const ModelNode& node, Result<ValueId> made, Names& names) {
  if (!made) return pass(made);
  file_names_.of_value(*made, node.outputs[0] + turn_);
  return names.add(node.outputs[0], {*made, {}, {}, false, false});
}

const Numbers* ModelReader::open_numbers(const std::vector<Known*>& inputs, std::size_t i) {
  if (i >= inputs.size() || !inputs[i] || inputs[i]->tensor) return nullptr;
  return inputs[i]->numbers && !inputs[i]->numbers->known() ? &*inputs[i]->numbers : nullptr;
}

bool ModelReader::is_told_freely(const ModelNode& node, const std::vector<Known*>& inputs) {
  if (node.type == "TopK" && !inputs.empty() && inputs[0]) return open_numbers(inputs, 1);
  if (inputs.empty() || !inputs[0] || node.outputs.size() != 1) return false;
  if (node.type == "Slice") return open_numbers(inputs, 1) || open_numbers(inputs, 2);
  return (node.type == "Pad" || node.type == "Tile") && open_numbers(inputs, 1);
}

Status ModelReader::add_told_freely(const ModelNode& node, const std::string& name, const std::vector<Known*>& inputs,
                                    Names& names) {
  auto x = value_of(node.inputs[0], *inputs[0]);
  if (!x) return pass(x);
  const FreeReading in{graph_, sizes_, name};
  if (node.type == "TopK") return add_largest(in, *x, node, inputs, names);
  Result<ValueId> made = node.type == "Slice" ? cut_freely(in, *x, inputs)
                         : node.type == "Pad" ? pad_freely(in, *x, node, inputs)
                                              : tile_freely(in, *x, inputs);
  if (made && *made == *x) {
    auto same = graph_.add(Identity{}, {*x}, name, node.type);
    if (!same) return pass(same);
    sizes_.follow(graph_);
    made = same->front();
  }
  return add_free(node, std::move(made), names);
}

Status ModelReader::add_largest(const FreeReading& in, ValueId x, const ModelNode& node,
                                const std::vector<Known*>& inputs, Names& names) {
  const Numbers& count = *open_numbers(inputs, 1);
  const Size rank = graph_[x].type.rank();
  const Attribute *said = node.attribute("axis"), *largest = node.attribute("largest");
  Size axis = said ? said->integer : -1;
  if (axis < 0) axis += rank;
  if (count.all.size() != 1 || axis < 0 || axis >= rank)
    return fail(Fault::Format, "'K' holds " + std::to_string(count.all.size()) + " numbers, expected 1, along axis " +
                                   std::to_string(axis) + " of " + std::to_string(rank));
  auto made = largest_of(in, x, axis, count.all.front(), !largest || largest->integer != 0);
  if (!made) return pass(made);
  for (std::size_t i = 0; i < node.outputs.size() && i < made->size(); ++i) {
    file_names_.of_value((*made)[i], node.outputs[i] + turn_);
    if (auto s = names.add(node.outputs[i], {(*made)[i], {}, {}, false, false}); !s) return s;
  }
  return {};
}

Result<ValueId> ModelReader::cut_freely(const FreeReading& in, ValueId x, const std::vector<Known*>& inputs) {
  const auto of = [&](std::size_t i) { return i < inputs.size() && inputs[i] ? numbers(*inputs[i]) : nullptr; };
  const Numbers *starts = of(1), *ends = of(2), *steps = of(4);
  if (!starts || !ends || (inputs.size() > 3 && inputs[3] && !of(3)) || (inputs.size() > 4 && inputs[4] && !steps))
    return fail(Fault::Unsupported, "its starts, ends, axes or steps are computed by the model");
  const auto axes = axes_named(of(3), starts->all.size(), graph_[x].type.rank());
  if (!axes || ends->all.size() != starts->all.size() || axes->size() != starts->all.size() ||
      (steps && steps->all.size() != starts->all.size()))
    return fail(Fault::Format, "'starts', 'ends', 'axes' and 'steps' have different lengths or name no axis");
  Result<ValueId> made = x;
  for (std::size_t i = 0; made && i < axes->size(); ++i) {
    const Number step = steps ? steps->all[i] : Number::of(std::int64_t{1});
    if (step.kind != Number::Kind::Whole || step.whole == 0)
      return fail(Fault::Unsupported, "its steps are computed by the model, or 0");
    FreePart part{(*axes)[i], starts->all[i], ends->all[i], step.whole};
    const auto is_beyond = [](const Number& n, bool behind) {
      return n.kind == Number::Kind::Whole && (behind ? n.whole >= far - 1 : n.whole <= -far);
    };
    const bool onward = step.whole > 0;
    if (is_beyond(*part.stop, onward)) part.stop.reset();
    if (is_beyond(*part.start, !onward) || (onward && part.start == Number::of(std::int64_t{0}))) part.start.reset();
    made = free_part(in, *made, part);
  }
  return made;
}

Result<ValueId> ModelReader::pad_freely(const FreeReading& in, ValueId x, const ModelNode& node,
                                        const std::vector<Known*>& inputs) {
  const Numbers pads = *open_numbers(inputs, 1);
  const auto of = [&](std::size_t i) { return i < inputs.size() && inputs[i] ? numbers(*inputs[i]) : nullptr; };
  const auto axes = axes_named(of(3), pads.all.size() / 2, graph_[x].type.rank());
  if ((inputs.size() > 3 && inputs[3] && !of(3)) || !axes || pads.all.size() != 2 * axes->size())
    return fail(Fault::Unsupported, "'pads' has other axes than the tensor");
  double value = 0;
  if (inputs.size() > 2 && inputs[2]) {
    const Numbers* said = of(2);
    if (!said || said->all.size() != 1 || !said->known())
      return fail(Fault::Unsupported, "its 'constant_value' is computed by the model");
    value = said->all.front().value();
  }
  const Attribute* word = node.attribute("mode");
  const std::string mode = word ? word->text : "constant";
  const auto known = pad_mode_named(mode, row_opset());
  if (!known || *known == PadMode::Wrap)
    return fail(Fault::Unsupported, "pads in mode '" + mode + "' that follow from free sizes; give them with --shape");
  Result<ValueId> made = x;
  const Number none = Number::of(std::int64_t{0});
  for (std::size_t i = 0; made && i < axes->size(); ++i) {
    const Number &before = pads.all[i], &after = pads.all[i + axes->size()];
    if (before == none && after == none) continue;
    made = padded_by(in, *made, (*axes)[i], before, after, *known, value);
  }
  return made;
}

Result<ValueId> ModelReader::tile_freely(const FreeReading& in, ValueId x, const std::vector<Known*>& inputs) {
  const Numbers times = *open_numbers(inputs, 1);
  if (std::ssize(times.all) != graph_[x].type.rank())
    return fail(Fault::Format, "input 'repeats' has " + std::to_string(times.all.size()) + " numbers for rank " +
                                   std::to_string(graph_[x].type.rank()));
  Result<ValueId> made = x;
  for (std::size_t i = 0; made && i < times.all.size(); ++i)
    made = repeated_by(in, *made, static_cast<Size>(i), times.all[i]);
  return made;
}

// Only of a few numbers, all of whose inputs are such: what is made of data is the model's business.
void ModelReader::note_unfollowed(const ModelNode& node, const std::string& name, const std::vector<Known*>& inputs,
                                  Names& names) {
  constexpr Size few = 16;
  std::string from;
  bool of_sizes = false;
  for (const Known* input : inputs) {
    if (!input || input->tensor || (input->numbers && input->numbers->known())) continue;
    if (input->unfollowed.empty() && !input->numbers) return;
    of_sizes = true;
    if (from.empty()) from = input->unfollowed;
  }
  if (!of_sizes) return;
  for (const std::string& output : node.outputs) {
    Known* made = names.find(output);
    if (!made || made->tensor) continue;
    const bool is_open = made->numbers && std::ranges::any_of(made->numbers->all, [](const Number& n) {
                           return n.kind == Number::Kind::Unknown;
                         });
    const auto shape = made->value && !made->numbers ? sizes_of(graph_[made->value].type.shape) : std::nullopt;
    if (!is_open && (!shape || checked_count(*shape).value_or(few + 1) > few)) continue;
    made->unfollowed = from.empty() ? "node '" + name + "' (" + node.type + ")" : from;
  }
}

std::optional<Number> ModelReader::each_of(Known* known) {
  if (!known) return std::nullopt;
  if (known->each) return known->each;
  if (known->filled) return numbers_of(*known->filled).all.front();
  const Numbers* few = numbers(*known);
  if (!few || few->all.empty() || few->all.front().kind == Number::Kind::Unknown) return std::nullopt;
  const bool alike = std::ranges::all_of(few->all, [&](const Number& n) { return n == few->all.front(); });
  return alike ? std::optional(few->all.front()) : std::nullopt;
}

// Of operators that give many cells of few, or compute cell by cell.
std::optional<Number> ModelReader::each_of_result(const ModelNode& node, const std::vector<Known*>& inputs) {
  constexpr std::array moving{"Expand", "Tile", "Reshape", "Unsqueeze", "Squeeze", "Identity"};
  constexpr std::array computing{"Cast", "Add", "Sub", "Mul", "Div", "Min", "Max"};
  const bool moves = std::ranges::find(moving, node.type) != moving.end();
  if (inputs.empty() || node.outputs.size() != 1 ||
      (!moves && std::ranges::find(computing, node.type) == computing.end()))
    return std::nullopt;
  std::vector<Numbers> alone;
  for (std::size_t i = 0; i < (moves ? 1 : inputs.size()); ++i) {
    const auto each = each_of(inputs[i]);
    if (!each) return std::nullopt;
    const Known& known = *inputs[i];
    const DType dtype = known.value    ? graph_[known.value].type.dtype
                        : known.filled ? known.filled->dtype()
                        : known.tensor ? known.tensor->dtype()
                                       : known.numbers->dtype;
    alone.push_back({dtype, {}, {*each}});
  }
  if (moves) return alone.front().all.front();
  std::vector<const Numbers*> given;
  for (const Numbers& one : alone) given.push_back(&one);
  const auto made = computed(node, row_opset(), given);
  if (!made || made->size() != 1 || made->front().all.size() != 1) return std::nullopt;
  const Number& each = made->front().all.front();
  return each.kind == Number::Kind::Unknown ? std::nullopt : std::optional(each);
}

bool ModelReader::are_as_long(Known* known, Known* x, std::size_t axis) {
  const auto each = each_of(known);
  const auto wanted = each ? formula_of(*each) : std::nullopt;
  if (!wanted || !x || !x->value || axis >= graph_[x->value].type.shape.size()) return false;
  const Dim size = graph_[x->value].type.shape[axis];
  const auto& mine = sizes_.of(x->value);
  const auto length = size.known()         ? std::optional(SizeFormula::of(*size))
                      : axis < mine.size() ? sizes_.followed(graph_, SizeFormula::of_size(mine[axis]))
                                           : std::nullopt;
  const auto followed = sizes_.followed(graph_, *wanted);
  return length && followed && *length == *followed;
}

}  // namespace convoy::onnx
