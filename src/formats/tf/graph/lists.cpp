// Lists of tensors as loops keep them, and numbers drawn by chance where nothing hangs on them.
#include "base/budget.h"
#include "formats/tf/graph/reader.h"
#include "formats/tf/graph/tensor.h"
#include "ops/expect.h"

#include <algorithm>
#include <cmath>

namespace convoy::tf {
namespace {

constexpr Size longest_list = 4096;

Slot list_slot(std::vector<Slot> items) {
  auto known = std::make_shared<Known>();
  known->list = std::make_shared<const std::vector<Slot>>(std::move(items));
  return known;
}

std::optional<double> one_number(const Numbers* numbers) {
  if (!numbers || numbers->all.size() != 1 || !numbers->known()) return std::nullopt;
  return numbers->all.front().value();
}

std::optional<Size> index_in(const Number& index, Size count) {
  if (!index.known() || !(index.value() >= 0) || index.value() >= static_cast<double>(count)) return std::nullopt;
  return static_cast<Size>(index.value());
}
std::optional<Size> index_in(const Numbers* numbers, Size count) {
  return numbers && numbers->all.size() == 1 ? index_in(numbers->all.front(), count) : std::nullopt;
}

GraphNode node_with(const char* op, const GraphNode& like, const char* count_name, Size count) {
  GraphNode node;
  node.name = like.name;
  node.op = op;
  node.attributes[count_name].kind = AttributeKind::Integer;
  node.attributes[count_name].integer = count;
  return node;
}

}  // namespace

Result<Slot> GraphReader::empty_list(Known& length) {
  const auto count = one_number(numbers(length));
  if (!count || *count < 0 || *count > static_cast<double>(longest_list))
    return fail(Fault::Unsupported, "the length of its list is not known beforehand, or is above " +
                                        std::to_string(longest_list) + "; give the number of steps with --shape");
  return list_slot(std::vector<Slot>(static_cast<std::size_t>(*count)));
}

// The parts of a tensor along its first axis.
Result<GraphReader::Slots> GraphReader::items_of(Frame& frame, const GraphNode& node, const Slot& tensor) {
  const Known& x = *tensor;
  const Dim count = x.value && graph_[x.value].type.rank() > 0 ? graph_[x.value].type.shape[0]
                    : x.tensor && x.tensor->rank() > 0         ? Dim(x.tensor->shape()[0])
                                                               : Dim();
  if (!count.known() || *count > longest_list)
    return fail(Fault::Unsupported, "the length of its list is not known beforehand, or is above " +
                                        std::to_string(longest_list) + "; give the number of steps with --shape");
  return operate(frame, node_with("Unpack", node, "num", *count), {tensor});
}

// Arrays of tensors in TensorFlow 1: what is in them comes with `flow`, the last input, and goes on with the result.
Result<std::optional<GraphReader::Slots>> GraphReader::of_arrays(Frame& frame, const GraphNode& node,
                                                                 const Slots& inputs) {
  const std::string_view op = node.op;
  if (inputs.empty()) return fail(Fault::Format, "has no input");
  if (op == "TensorArrayV3") {
    const auto made = empty_list(*inputs[0]);
    if (!made) return std::unexpected(made.error());
    return Slots{*made, *made};
  }
  if (!inputs.back()->list) return std::nullopt;
  std::vector<Slot> items = *inputs.back()->list;
  const auto count = static_cast<Size>(items.size());
  if (auto s = budget::spend(10.0 * static_cast<double>(count), "a list of tensors"); !s) return pass(s);
  if (op == "TensorArraySizeV3" && inputs.size() == 2) {
    auto known = std::make_shared<Known>();
    known->numbers = Numbers{DType::I32, {}, {Number::of(std::int64_t{count})}};
    known->of_shapes = true;
    return Slots{known};
  }
  const bool writes = op == "TensorArrayWriteV3" || op == "TensorArrayScatterV3";
  const bool reads = op == "TensorArrayReadV3" || op == "TensorArrayGatherV3";
  if (!(writes && inputs.size() == 4) && !(reads && inputs.size() == 3)) return std::nullopt;
  const Numbers* said = numbers(*inputs[1]);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; said && i < said->all.size(); ++i) {
    const auto at = index_in(said->all[i], count);
    if (!at) break;
    places.push_back(static_cast<std::size_t>(*at));
  }
  if (!said || places.size() != said->all.size())
    return fail(Fault::Unsupported, "its places in the list are not known beforehand, or lie behind it");
  if (writes) {
    Slots given{inputs[2]};
    if (op == "TensorArrayScatterV3") {
      auto parts = items_of(frame, node, inputs[2]);
      if (!parts) return pass(parts);
      given = std::move(*parts);
    }
    if (given.size() != places.size()) return fail(Fault::Format, "puts tensors at another number of places");
    for (std::size_t i = 0; i < places.size(); ++i) items[places[i]] = given[i];
    return Slots{list_slot(std::move(items))};
  }
  Slots taken;
  for (const std::size_t place : places) {
    if (!items[place]) return fail(Fault::Unsupported, "reads an item of a list that was not written");
    if (items[place]->error) return std::unexpected(*items[place]->error);
    taken.push_back(items[place]);
  }
  if (op == "TensorArrayReadV3") return taken;
  if (taken.empty()) return fail(Fault::Unsupported, "joins a list without items");
  auto joined = operate(frame, node_with("Pack", node, "axis", 0), taken);
  if (!joined) return pass(joined);
  return std::optional(std::move(*joined));
}

Result<std::optional<GraphReader::Slots>> GraphReader::of_lists(Frame& frame, const GraphNode& node,
                                                                const Slots& inputs) {
  const std::string_view op = node.op;
  if (op.starts_with("TensorArray")) return of_arrays(frame, node, inputs);
  if (!op.starts_with("TensorList") && op != "EmptyTensorList") return std::nullopt;
  const auto one = [](Slot slot) { return Slots{std::move(slot)}; };
  if (op == "EmptyTensorList") return one(list_slot({}));
  if (inputs.empty()) return fail(Fault::Format, "has no input");
  if (op == "TensorListReserve") {
    if (inputs.size() != 2) return fail(Fault::Format, "needs two inputs");
    const auto made = empty_list(*inputs[1]);
    if (!made) return std::unexpected(made.error());
    return one(*made);
  }
  if (op == "TensorListFromTensor") {
    auto items = items_of(frame, node, inputs[0]);
    if (!items) return pass(items);
    return one(list_slot(std::move(*items)));
  }
  if (!inputs[0]->list) return fail(Fault::Unsupported, "reads a list that is not carried");
  std::vector<Slot> items = *inputs[0]->list;
  const auto count = static_cast<Size>(items.size());
  if (auto s = budget::spend(10.0 * static_cast<double>(count), "a list of tensors"); !s) return pass(s);
  if (op == "TensorListLength") {
    auto known = std::make_shared<Known>();
    known->numbers = Numbers{DType::I32, {}, {Number::of(std::int64_t{count})}};
    known->of_shapes = true;
    return one(known);
  }
  if (op == "TensorListPushBack" && inputs.size() == 2) {
    items.push_back(inputs[1]);
    return one(list_slot(std::move(items)));
  }
  if ((op == "TensorListGetItem" || op == "TensorListSetItem") && inputs.size() >= 2) {
    const auto at = index_in(numbers(*inputs[1]), count);
    if (!at) return fail(Fault::Unsupported, "its place in the list is not known beforehand");
    Slot& item = items[static_cast<std::size_t>(*at)];
    if (op == "TensorListSetItem" && inputs.size() >= 3) {
      item = inputs[2];
      return one(list_slot(std::move(items)));
    }
    if (!item) return fail(Fault::Unsupported, "reads an item of a list that was not written");
    return one(item);
  }
  if (op == "TensorListStack") {
    if (items.empty() || std::ranges::any_of(items, [](const Slot& item) { return !item; }))
      return fail(Fault::Unsupported, "joins a list of which not all was written");
    for (const Slot& item : items)
      if (item->error) return std::unexpected(*item->error);
    auto joined = operate(frame, node_with("Pack", node, "axis", 0), items);
    if (!joined) return pass(joined);
    return std::optional(std::move(*joined));
  }
  return std::nullopt;
}

// Numbers between 0 and 1, and what is surely so of them: at least 0, and of their sum with a whole number the whole part. That
// is what is left of a dropout that drops nothing.
std::optional<GraphReader::Slots> GraphReader::of_chance(const GraphNode& node, const Slots& inputs) {
  const std::string_view op = node.op;
  if (inputs.empty()) return std::nullopt;
  const auto slots = [](Known known) { return Slots{std::make_shared<Known>(std::move(known))}; };
  const auto all_are = [&](Tensor one, const Numbers& shape) {
    Known known;
    known.filled = std::move(one);
    known.fill = shape;
    return slots(std::move(known));
  };
  if (op == "RandomUniform" || op == "StatelessRandomUniform" || op == "StatelessRandomUniformV2") {
    const Numbers* shape = numbers(*inputs[0]);
    if (!shape) return std::nullopt;
    Known known;
    known.least_of_chance = 0;
    known.fill = *shape;
    return slots(std::move(known));
  }
  for (std::size_t i = 0; i < inputs.size() && inputs.size() <= 2; ++i) {
    const Known& drawn = *inputs[i];
    if (!drawn.least_of_chance) continue;
    if (op == "Floor" && *drawn.least_of_chance == std::floor(*drawn.least_of_chance))
      return all_are(Tensor::of({}, std::vector{static_cast<float>(*drawn.least_of_chance)}), *drawn.fill);
    if (inputs.size() != 2) continue;
    const auto other = one_number(numbers(*inputs[1 - i]));
    if (!other) continue;
    Known moved = drawn;
    if ((op == "Mul" && *other == 1) || (op == "Sub" && i == 0 && *other == 0)) return slots(std::move(moved));
    if (op == "Add" || op == "AddV2") {
      *moved.least_of_chance += *other;
      return slots(std::move(moved));
    }
    if (op == "GreaterEqual" && i == 0 && *other <= *drawn.least_of_chance)
      return all_are(*Numbers{DType::Bool, {}, {Number::of(std::int64_t{1})}}.tensor(), *drawn.fill);
  }
  // The same number everywhere stays so, chooses for all, and 1 leaves what it is multiplied with.
  const Known& first = *inputs[0];
  if (op == "Cast" && first.filled) {
    const NodeAttribute* to = node.attribute("DstT");
    const auto dtype = to ? dtype_of(to->integer) : std::nullopt;
    auto one =
        dtype ? as_type(numbers_of(*first.filled), *dtype).tensor() : Result<Tensor>(fail(Fault::Unsupported, ""));
    if (one) return all_are(*one, *first.fill);
  }
  const auto has_shape = [&](const Known& x, const Numbers& shape) {
    return x.value && numbers_of(graph_[x.value].type.shape, sizes_.of(x.value)).all == shape.all;
  };
  if (op == "SelectV2" && inputs.size() == 3 && first.filled && has_shape(*inputs[1], *first.fill) &&
      first.filled->doubles()[0] != 0)
    return Slots{inputs[1]};
  if (op == "Mul" && inputs.size() == 2)
    for (std::size_t i = 0; i < 2; ++i)
      if (inputs[i]->filled && inputs[i]->filled->doubles()[0] == 1 && has_shape(*inputs[1 - i], *inputs[i]->fill))
        return Slots{inputs[1 - i]};
  return std::nullopt;
}

}  // namespace convoy::tf
