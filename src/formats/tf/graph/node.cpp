// A node through the row of its operator, or computed where all that it reads is known.
#include "base/budget.h"
#include "base/words.h"
#include "formats/counted_cells.h"
#include "formats/free_parts.h"
#include "formats/known_results.h"
#include "formats/shape_inputs.h"
#include "formats/shortest.h"
#include "formats/stretch.h"
#include "formats/tf/catalogue/catalogue.h"
#include "formats/tf/graph/reader.h"
#include "formats/tf/graph/tensor.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

namespace convoy::tf {
namespace {

Result<Json> value_of_attribute(const NodeAttribute& a) {
  switch (a.kind) {
    case AttributeKind::Text: return Json(a.text);
    case AttributeKind::Integer: return Json(a.integer);
    case AttributeKind::Real: return Json(shortest(a.real));
    case AttributeKind::Truth: return Json(a.integer != 0);
    case AttributeKind::Type: return Json(type_name(a.integer));
    case AttributeKind::List: {
      Json all = Json::array();
      for (const std::string& text : a.texts) all.push_back(text);
      for (const std::int64_t integer : a.integers) all.push_back(integer);
      for (const float real : a.reals) all.push_back(shortest(real));
      return all;
    }
    default: return fail(Fault::Unsupported, "holds no number and no word");
  }
}

// EXPLICIT and a flat list are what the functions of tf.nn say as pairs.
void pair_paddings(Json& attributes) {
  const auto list = attributes.find("explicit_paddings");
  if (list == attributes.end()) return;
  const Json flat = *list;
  attributes.erase(list);
  const auto padding = attributes.find("padding");
  if (padding == attributes.end() || *padding != "EXPLICIT") {
    if (!flat.empty()) attributes["explicit_paddings"] = flat;
    return;
  }
  Json pairs = Json::array();
  for (std::size_t i = 0; i + 1 < flat.size(); i += 2) pairs.push_back(Json::array({flat[i], flat[i + 1]}));
  attributes["padding"] = pairs;
}

Result<Json> attributes_of(const GraphNode& node, const Operator& row) {
  Json all = Json::object();
  for (const auto& [name, attribute] : node.attributes) {
    if (name.starts_with("_") || has_word(row.ignored, name)) continue;
    const bool is_type =
        attribute.kind == AttributeKind::Type || (attribute.kind == AttributeKind::List && !attribute.types.empty());
    if (is_type && !has_word(row.types, name)) continue;
    auto value = within("attribute '" + name + "'", value_of_attribute(attribute));
    if (!value) return pass(value);
    all[name] = std::move(*value);
  }
  if (row.function.starts_with("nn.")) pair_paddings(all);
  return all;
}

// What each input is called: "a b", "values... axis", "axis values...".
Result<std::vector<std::string>> names_of_inputs(const Operator& row, std::size_t count) {
  const auto words = words_in(row.inputs);
  std::vector<std::string> names;
  const auto several = std::ranges::find_if(words, [](std::string_view word) { return word.ends_with("..."); });
  const auto before = static_cast<std::size_t>(several - words.begin());
  if (several == words.end()) {
    if (count > words.size())
      return fail(Fault::Unsupported, "has " + std::to_string(count) + " inputs, of which " +
                                          std::to_string(words.size()) + " are understood");
    for (std::size_t i = 0; i < count; ++i) names.emplace_back(words[i]);
    return names;
  }
  const std::size_t behind = words.size() - before - 1;
  if (count < before + behind) return fail(Fault::Format, "has " + std::to_string(count) + " inputs");
  const std::string_view base = several->substr(0, several->size() - 3);
  for (std::size_t i = 0; i < count; ++i) {
    if (i < before) names.emplace_back(words[i]);
    else if (i >= count - behind) names.emplace_back(words[words.size() - (count - i)]);
    else names.push_back(std::string(base) + "." + std::to_string(i - before));
  }
  return names;
}

// Runs a row on known tensors, by the plain kernels in float64. Results have the element types that the row gives them.
Result<std::vector<Tensor>> results_of(const GraphNode& node, const Json& attributes,
                                       const std::vector<std::string>& names,
                                       const std::vector<std::optional<Tensor>>& inputs, Allowance& allowance) {
  Graph graph;
  graph.rules = tensorflow_rules;
  TensorArguments tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i]) tensors.emplace(names[i], graph.constant(graph.unique_name(names[i]), *inputs[i]));
  const std::size_t given = graph.values.size();
  auto outputs = call_function(rows(), graph, node.op, attributes, std::move(tensors), node.op);
  if (!outputs) return pass(outputs);
  return known_results(graph, given, *outputs, allowance);
}

Slot slot_of_numbers(Numbers numbers) {
  auto known = std::make_shared<Known>();
  known->numbers = std::move(numbers);
  known->of_shapes = true;
  return known;
}

// How many inputs, from the first, hold the numbers that an operator moves.
std::size_t moving_inputs(const Operator& row, std::size_t count) {
  const auto words = words_in(row.inputs);
  return words.front().ends_with("...") ? count - (words.size() - 1) : 1;
}

bool is_own_size(const Number& n, const Shaped& data, std::size_t axis) {
  return n.is_multiple(1) && axis < data.shape.size() && !data.shape[axis].known() && data.sizes[axis] == n.size;
}

// The numbers of a part's begins or ends, where those that are not known are masked out or the axis' own size.
std::optional<Tensor> open_ends(const GraphNode& node, const Numbers& ends, const Shaped& data, bool starts) {
  const auto mask = [&](const char* name) {
    const NodeAttribute* a = node.attribute(name);
    return a ? a->integer : 0;
  };
  const bool strided = node.op == "StridedSlice";
  const std::int64_t masked = !strided ? 0 : mask(starts ? "begin_mask" : "end_mask");
  const bool plain = !strided || (mask("ellipsis_mask") == 0 && mask("new_axis_mask") == 0);
  std::vector<std::int64_t> to;
  for (std::size_t i = 0; i < ends.all.size() && i < 32; ++i) {
    const Number& n = ends.all[i];
    if (n.kind == Number::Kind::Whole) to.push_back(n.whole);
    else if (masked >> i & 1) to.push_back(0);
    else if (plain && !starts && is_own_size(n, data, i)) to.push_back(std::numeric_limits<std::int64_t>::max());
    else return std::nullopt;
  }
  const auto count = static_cast<Size>(to.size());
  return Tensor::of({count}, std::move(to));
}

}  // namespace

// The numbers of a result, where they are few; null where there are none beforehand.
const Numbers* GraphReader::numbers(Known& known) {
  constexpr Size most = 4096;
  if (!known.numbers && known.tensor && known.tensor->count() <= most) known.numbers = numbers_of(*known.tensor);
  return known.numbers ? &*known.numbers : nullptr;
}

Result<ValueId> GraphReader::value_of(Known& known, const std::string& name) {
  if (known.value) return known.value;
  if (known.error) return std::unexpected(*known.error);
  if (!known.variable.empty())
    return fail(Fault::Unsupported, "'" + known.variable + "' is a variable, where a tensor is read");
  if (known.spread && !known.tensor)
    return fail(Fault::Unsupported,
                "'" + name +
                    "' has cells in its batch, as many as sizes that are not known beforehand; give "
                    "them with --size");
  if (known.list) return fail(Fault::Unsupported, "'" + name + "' is a list, where a tensor is read");
  if (known.least_of_chance) return fail(Fault::Unsupported, "'" + name + "' is drawn by chance, as in training");
  if (known.filled) {
    const Tensor one = known.filled->reshaped(Sizes(known.fill->all.size(), 1));
    auto stretched = stretch(graph_, sizes_, graph_.constant(graph_.unique_name(name), one, false), *known.fill, name);
    if (!stretched) return within("'" + name + "'", std::move(stretched));
    return known.value = *stretched;
  }
  if (!known.tensor && !known.numbers) return fail(Fault::Unsupported, "'" + name + "' has no value");
  if (!known.tensor) {
    if (!known.numbers->known()) {
      auto counted = numbers_counted(graph_, sizes_, *known.numbers, name);
      if (!counted) return within("'" + name + "'", std::move(counted));
      return known.value = *counted;
    }
    auto tensor = known.numbers->tensor();
    if (!tensor) return within("'" + name + "'", Result<ValueId>(pass(tensor)));
    known.tensor = std::move(*tensor);
  }
  const bool weight = !known.name.empty() && is_floating(known.tensor->dtype());
  known.value = graph_.constant(graph_.unique_name(known.name.empty() ? name : known.name), *known.tensor, weight);
  graph_[known.value].literal = !weight && known.tensor->count() == 1;
  return known.value;
}

// The node's own name, with the calls in front where another has it.
std::string GraphReader::layer_of(const Frame& frame, const GraphNode& node) {
  return layers_.take(layers_.free(node.name) ? node.name : frame.way + node.name, "_", 1);
}

// Shape computations, and nodes of known tensors alone. False: the node is neither.
Result<bool> GraphReader::computed(const GraphNode& node, const Slots& inputs, Slots& results) {
  if (inputs.empty()) return false;
  const Operator* row = operator_named(node.op);
  std::vector<const Numbers*> few;
  std::vector<std::optional<Tensor>> tensors;
  bool all_few = true, all_known = true, of_shapes = false;
  for (const Slot& known : inputs) {
    few.push_back(known->value ? nullptr : numbers(*known));
    tensors.emplace_back();
    all_few = all_few && few.back();
    of_shapes = of_shapes || known->of_shapes || (few.back() && !is_floating(few.back()->dtype));
    if (known->tensor) {
      tensors.back() = known->tensor;
    } else if (few.back() && few.back()->known()) {
      auto tensor = few.back()->tensor();
      if (!tensor) return pass(tensor);
      tensors.back() = std::move(*tensor);
    } else {
      all_known = false;
    }
  }
  if (node.op == "Range" && all_few) {
    auto all = range(few);
    if (!all && few.size() == 3 && !std::ranges::all_of(few, [](const Numbers* n) { return n->known(); })) return false;
    if (!all) return fail(Fault::Unsupported, "its length is computed by the model");
    results = {slot_of_numbers(std::move(*all))};
    return true;
  }
  if (!row) return false;
  const auto names = names_of_inputs(*row, inputs.size());
  const auto attributes = attributes_of(node, *row);
  if (!names || !attributes) return false;  // its row says why
  if (all_few && of_shapes) {
    std::optional<std::vector<Numbers>> all;
    const auto one = [&](std::optional<Numbers> numbers) {
      if (numbers) all = std::vector{std::move(*numbers)};
    };
    if (node.op == "Cast") {
      const NodeAttribute* to = node.attribute("DstT");
      if (const auto dtype = to ? dtype_of(to->integer) : std::nullopt) one(as_type(*few[0], *dtype));
    } else if ((node.op == "Select" || node.op == "SelectV2") && few.size() == 3) {
      one(chosen(*few[0], *few[1], *few[2]));
    } else if (const auto* function = std::get_if<Function>(&row->meaning)) {
      one(one_by_one(*function, *few[0]));
    } else if (const auto* binary = std::get_if<BinaryFunction>(&row->meaning); binary && few.size() == 2) {
      one(by_pairs(*binary, *few[0], *few[1]));
    } else if (const auto* reduction = std::get_if<Reduction>(&row->meaning); reduction && few.size() == 2) {
      const bool all_axes = few[1]->known() && few[0]->shape.size() == 1 && few[1]->all.size() == 1;
      const auto keeps = attributes->find("keep_dims");
      if (all_axes) one(folded(*reduction, keeps != attributes->end() && *keeps == true, *few[0]));
    } else if (std::holds_alternative<Moved>(row->meaning)) {
      all = moved(few, moving_inputs(*row, few.size()), [&](const std::vector<std::optional<Tensor>>& places) {
        Allowance allowance{2 * most_numbers};
        return results_of(node, *attributes, *names, places, allowance);
      });
    }
    if (all) {
      for (Numbers& numbers : *all) {
        for (Number& n : numbers.all)
          if (n.kind == Number::Kind::Unknown && !is_floating(numbers.dtype)) n = Number::multiple(1, --unnamed_);
        results.push_back(slot_of_numbers(std::move(numbers)));
      }
      return true;
    }
  }
  if (!all_known) return false;
  auto tensors_made = results_of(node, *attributes, *names, tensors, allowance_);
  if (!tensors_made) return false;  // its row says why
  for (Tensor& tensor : *tensors_made) {
    auto known = std::make_shared<Known>();
    known->tensor = std::move(tensor);
    results.push_back(std::move(known));
  }
  return true;
}

// An operator: computed, meant together with those before it, or by its row.
Result<GraphReader::Slots> GraphReader::operate(Frame& frame, const GraphNode& node, const Slots& inputs) {
  auto lists = of_lists(frame, node, inputs);
  if (!lists) return pass(lists);
  if (*lists) return std::move(**lists);
  if (auto chance = of_chance(node, inputs)) return std::move(*chance);
  Slots known;
  const auto is_computed = computed(node, inputs, known);
  if (!is_computed) return std::unexpected(is_computed.error());
  if (*is_computed) return known;
  auto whole = gathered(node, inputs);
  if (!whole) return pass(whole);
  if (*whole) return std::move(**whole);
  const auto spread = spread_by(node, inputs);
  const std::string layer = layer_of(frame, node);
  auto results = by_row(node, inputs, layer);
  if (!results && !is_too_much(results.error().fault)) {
    auto cells = repeated_cells(node, inputs, layer);
    if (!cells) return pass(cells);
    if (*cells) return std::move(**cells);
  }
  if (!spread) return results;
  if (!results) results = Slots{std::make_shared<Known>()};
  results->front()->spread = spread;
  return results;
}

// To a shape with sizes that are not known beforehand and that the value has not itself.
Result<GraphReader::Slots> GraphReader::stretched(const GraphNode& node, const Slots& inputs,
                                                  const std::string& layer) {
  const Numbers shape = *numbers(*inputs[1]);
  auto x = value_of(*inputs[0], node.inputs[0]);
  if (!x) return pass(x);
  const FreeReading in{graph_, sizes_, layer};
  const bool tiles = node.op == "Tile";
  if (tiles || node.op != "BroadcastTo") {
    const auto rank = static_cast<std::size_t>(graph_[*x].type.rank());
    if (shape.all.size() != (tiles ? rank : 2 * rank))
      return fail(Fault::Unsupported, "its numbers are not those of the tensor's axes");
    double value = 0;
    if (const Numbers* said = inputs.size() > 2 ? numbers(*inputs[2]) : nullptr; said && said->known())
      value = said->all.at(0).value();
    else if (inputs.size() > 2) return fail(Fault::Unsupported, "'constant_values' is computed by the model");
    for (std::size_t i = 0; i < rank && x; ++i)
      x = tiles ? repeated_by(in, *x, static_cast<Size>(i), shape.all[i])
                : padded_by(in, *x, static_cast<Size>(i), shape.all[2 * i], shape.all[2 * i + 1], PadMode::Constant,
                            value);
    if (!x) return pass(x);
    auto known = std::make_shared<Known>();
    known->value = *x;
    return Slots{known};
  }
  auto y = stretch(graph_, sizes_, *x, shape, layer);
  if (!y) return pass(y);
  auto known = std::make_shared<Known>();
  known->value = *y;
  return Slots{known};
}

Result<GraphReader::Slots> GraphReader::by_row(const GraphNode& node, const Slots& inputs, const std::string& layer,
                                               const Json* said_instead) {
  if (node.op == "Range" && inputs.size() == 3)
    if (const Numbers *first = numbers(*inputs[0]), *last = numbers(*inputs[1]), *step = numbers(*inputs[2]);
        first && last && step && first->all.size() == 1 && last->all.size() == 1 && step->all.size() == 1) {
      auto counted = counted_range({graph_, sizes_, layer}, first->all[0], last->all[0], step->all[0], first->dtype);
      if (!counted) return pass(counted);
      auto known = std::make_shared<Known>();
      known->value = *counted;
      return Slots{known};
    }
  const Operator* row = operator_named(node.op);
  if (!row) return fail(Fault::Unsupported, "is an operator that this version does not read");
  auto attributes = attributes_of(node, *row);
  if (!attributes) return pass(attributes);
  if (said_instead) attributes->update(*said_instead);
  auto names = names_of_inputs(*row, inputs.size());
  if (!names) return pass(names);
  std::vector<std::optional<Tensor>> instead(inputs.size());
  std::vector<char> said(inputs.size(), 0);  // by an attribute
  const auto open = [&](std::size_t i) -> const Numbers* {
    if (i >= inputs.size() || inputs[i]->value || inputs[i]->tensor) return nullptr;
    return inputs[i]->numbers && !inputs[i]->numbers->known() ? &*inputs[i]->numbers : nullptr;
  };
  const auto data_of = [&](std::size_t i) -> std::optional<Shaped> {
    if (i >= inputs.size() || !inputs[i]->value) return std::nullopt;
    return Shaped{graph_[inputs[i]->value].type.shape, sizes_.of(inputs[i]->value)};
  };
  const bool repeats = node.op == "BroadcastTo" || node.op == "Tile" || node.op == "Pad" || node.op == "PadV2";
  if (repeats && open(1)) return stretched(node, inputs, layer);
  if (const auto data = data_of(0)) {
    if (const Numbers* shape = open(1); shape && node.op == "Reshape") {
      instead[1] = reshape_target(*shape, *data);
      const bool empty =
          std::ranges::any_of(shape->all, [](const Number& n) { return n == Number::of(std::int64_t{0}); });
      if (!empty) (*attributes)["copies_sizes"] = true;
    }
    if (node.op == "StridedSlice" || node.op == "Slice") {
      if (const Numbers* begins = open(1)) instead[1] = open_ends(node, *begins, *data, true);
      if (const Numbers* ends = open(2)) instead[2] = open_ends(node, *ends, *data, false);
    }
    if (const Numbers* size = open(1);
        size && node.op.starts_with("Resize") && size->all.size() == 2 && data->shape.size() == 4) {
      Numbers wanted = numbers_of(data->shape, data->sizes);
      wanted.all[1] = size->all[0];
      wanted.all[2] = size->all[1];
      if (const auto factors = resize_factors(wanted, *data)) {
        const auto all = factors->doubles();
        (*attributes)["size_factors"] = Json::array({all[1], all[2]});
        said[1] = 1;
      }
    }
  }
  if (const Numbers* size = open(0);
      size && node.op.starts_with("Conv") && node.op.find("Backprop") != std::string::npos) {
    const auto data = data_of(2);
    const std::string asked = names->front();
    if (data && size->all.size() == data->shape.size()) {
      Json sizes = Json::array(), factors = Json::array(), added = Json::array();
      bool follows = true;
      for (std::size_t i = 0; i < size->all.size(); ++i) {
        const Number& n = size->all[i];
        const bool multiple = n.kind == Number::Kind::Multiple && is_own_size(Number::multiple(1, n.size), *data, i);
        follows = follows && (n.kind == Number::Kind::Whole || multiple);
        sizes.push_back(n.kind == Number::Kind::Whole ? n.whole : -1);
        factors.push_back(multiple ? n.real : 0.0);
        added.push_back(multiple ? n.whole : 0);
      }
      if (follows) {
        (*attributes)[asked] = sizes;
        (*attributes)["size_factors"] = factors;
        (*attributes)["sizes_added"] = added;
        said[0] = 1;
      }
    }
  }
  TensorArguments tensors;
  std::string counted;  // an input that hangs on free sizes, which not every argument may
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (said[i]) continue;
    if (!instead[i] && open(i)) counted = (*names)[i];
    const std::string name = layer + "/" + (*names)[i];
    auto value = instead[i] ? Result<ValueId>(graph_.constant(graph_.unique_name(name), *instead[i], false))
                            : value_of(*inputs[i], name);
    if (!value) return within("input '" + (*names)[i] + "'", Result<Slots>(pass(value)));
    if (node.op.starts_with("FusedBatchNorm") && i >= 3 && graph_[*value].constant) graph_[*value].trainable = false;
    tensors.emplace((*names)[i], *value);
  }
  const std::size_t before = graph_.values.size();
  auto outputs = call_function(rows(), graph_, node.op, *attributes, std::move(tensors), layer, {.sizes = &sizes_});
  if (!outputs && !counted.empty() && outputs.error().fault == Fault::Unsupported)
    return fail(Fault::Unsupported, "input '" + counted +
                                        "' is computed from sizes that are not known beforehand; give them with --size "
                                        "or --shape");
  if (!outputs) return pass(outputs);
  if (auto s = allowance_.spend(made_constants(graph_, before)); !s) return pass(s);
  sizes_.follow(graph_);
  Slots results;
  for (const ValueId value : *outputs) {
    auto known = std::make_shared<Known>();
    known->value = value;
    results.push_back(std::move(known));
  }
  return results;
}

}  // namespace convoy::tf
