// Loops that are known to end: each turn of a Loop or a Scan stands behind the one before. What a turn decides about the next
// (its condition, its number) must be known while the model is read.
#include "formats/onnx/model_reader.h"
#include "ops/expect.h"

#include <algorithm>

namespace convoy::onnx {
namespace {

constexpr Size most_turns = 4096;

const ModelGraph* body_of(const ModelNode& node) {
  const Attribute* body = node.attribute("body");
  return body ? body->graph.get() : nullptr;
}

Sizes list_of(const ModelNode& node, std::string_view name, std::size_t count) {
  const Attribute* list = node.attribute(name);
  Sizes all = list ? list->integers : Sizes{};
  all.resize(count, 0);
  return all;
}

}  // namespace

// What every turn sees alike: initializers and constants of the body. Weights that go round are one value.
Status ModelReader::begin_turns(const ModelGraph& body, const std::vector<Known*>& carried,
                                const std::vector<std::string>& outer, Names& shared) {
  if (auto s = add_initializers(body, shared); !s) return s;
  for (const ModelNode& node : body.nodes)
    if (node.type == "Constant")
      if (auto s = add_constant(node, shared); !s) return s;
  for (std::size_t i = 0; i < carried.size(); ++i)
    if (carried[i] && carried[i]->tensor && !carried[i]->value && is_floating(carried[i]->tensor->dtype()))
      if (auto value = value_of(outer[i], *carried[i]); !value) return pass(value);
  return {};
}

// The results of one turn, in the order of the body's outputs.
Result<std::vector<Known>> ModelReader::turn(const ModelGraph& body, Size number, std::vector<Known> given,
                                             Names& shared) {
  Names inner(&shared);
  if (given.size() != body.inputs.size())
    return fail(Fault::Format, "its body takes " + std::to_string(body.inputs.size()) + " values, but " +
                                   std::to_string(given.size()) + " are given");
  for (std::size_t i = 0; i < given.size(); ++i)
    if (auto s = inner.add(body.inputs[i].name, std::move(given[i])); !s) return pass(s);
  const std::string outer = turn_;
  turn_ += "/" + std::to_string(number);
  auto added = add_nodes(body, inner);
  turn_ = outer;
  if (!added) return pass(added);
  std::vector<Known> results;
  for (const ValueInfo& output : body.outputs) {
    const Known* known = inner.find(output.name);
    if (!known) return fail(Fault::Format, "its body does not give '" + output.name + "'");
    results.push_back(*known);
  }
  return results;
}

// What all turns gave, side by side along a new axis.
Result<Known> ModelReader::stacked(std::vector<Known> turns, Size axis, const std::string& name) {
  Numbers together;
  bool few = axis == 0;
  for (Known& one : turns) {
    const Numbers* these = few ? numbers(one) : nullptr;
    few = these && (together.all.empty() || these->shape == Sizes(together.shape.begin() + 1, together.shape.end()));
    if (!few) break;
    if (together.all.empty())
      together = {these->dtype, these->shape, {}}, together.shape.insert(together.shape.begin(), 0);
    together.shape.front() += 1;
    together.all.insert(together.all.end(), these->all.begin(), these->all.end());
    few = static_cast<Size>(together.all.size()) <= most_numbers;
  }
  if (few && !together.all.empty()) return Known{{}, {}, std::move(together), false, true};
  std::vector<ValueId> parts;
  for (Known& one : turns) {
    auto value = value_of(name, one);
    if (!value) return pass(value);
    const Size place = axis < 0 ? axis + graph_[*value].type.rank() + 1 : axis;
    auto part = graph_.add(Unsqueeze{{place}}, {*value}, name, "Loop");
    if (!part) return pass(part);
    parts.push_back(part->front());
    axis = place;
  }
  if (parts.size() == 1) return Known{parts.front(), {}, {}, false, false};
  auto all = graph_.add(Concat{axis}, parts, name, "Loop");
  if (!all) return pass(all);
  sizes_.follow(graph_);
  return Known{all->front(), {}, {}, false, false};
}

Status ModelReader::end_turns(const ModelNode& node, std::vector<Known> carried, std::vector<std::vector<Known>> given,
                              const Sizes& axes, Names& names) {
  std::size_t at = 0;
  for (Known& one : carried) {
    if (at >= node.outputs.size()) return {};
    if (auto s = names.add(node.outputs[at++], std::move(one)); !s) return s;
  }
  for (std::size_t i = 0; i < given.size() && at < node.outputs.size(); ++i, ++at) {
    if (!read_.contains(node.outputs[at])) continue;
    if (given[i].empty()) return fail(Fault::Unsupported, "takes no turn, and what it would give has no size");
    auto all = stacked(std::move(given[i]), axes[i], node.outputs[at]);
    if (!all) return pass(all);
    if (auto s = names.add(node.outputs[at], std::move(*all)); !s) return s;
  }
  return {};
}

// M turns at most, as long as the condition holds.
Status ModelReader::add_loop(const ModelNode& node, const std::vector<Known*>& inputs, Names& names) {
  const ModelGraph* body = body_of(node);
  if (!body || inputs.size() < 2 || body->outputs.size() + 1 < inputs.size())
    return fail(Fault::Format, "has no body that fits its inputs");
  const auto single = [&](Known* known) -> Result<std::int64_t> {
    const auto asked = needed_numbers(known);
    if (!asked) return std::unexpected(asked.error());
    const Numbers* n = *asked;
    if (!n || n->all.size() != 1 || !n->known())
      return fail(Fault::Unsupported, "how often it goes round is computed by the model");
    return static_cast<std::int64_t>(n->all.front().value());
  };
  const auto most = inputs[0] ? single(inputs[0]) : Result<std::int64_t>(most_turns + 1);
  if (!most) return std::unexpected(most.error());
  auto goes_on = inputs[1] ? single(inputs[1]) : Result<std::int64_t>(1);
  const std::size_t count = inputs.size() - 2;
  const std::vector<Known*> begun(inputs.begin() + 2, inputs.end());
  Names shared(&names, true);
  if (auto s = begin_turns(*body, begun, {node.inputs.begin() + 2, node.inputs.end()}, shared); !s) return s;
  std::vector<Known> carried;
  for (const Known* one : begun) {
    if (!one) return fail(Fault::Format, "one of its values is missing");
    carried.push_back(*one);
  }
  std::vector<std::vector<Known>> given(body->outputs.size() - 1 - count);
  for (Size i = 0;; ++i) {
    if (!goes_on) return std::unexpected(goes_on.error());
    if (*goes_on == 0 || i >= *most) break;
    if (i == most_turns) return fail(Fault::Limit, "goes round more than " + std::to_string(most_turns) + " times");
    std::vector<Known> arguments;
    arguments.push_back({{}, {}, Numbers{DType::I64, {}, {Number::of(std::int64_t{i})}}, false, true});
    arguments.push_back({{}, {}, Numbers{DType::Bool, {}, {Number::of(std::int64_t{1})}}, false, true});
    arguments.insert(arguments.end(), carried.begin(), carried.end());
    auto results = within("turn " + std::to_string(i + 1), turn(*body, i + 1, std::move(arguments), shared));
    if (!results) return pass(results);
    goes_on = single(&results->front());
    carried.assign(results->begin() + 1, results->begin() + 1 + static_cast<std::ptrdiff_t>(count));
    for (std::size_t k = 0; k < given.size(); ++k) given[k].push_back((*results)[1 + count + k]);
  }
  const Sizes axes(given.size(), 0);
  return end_turns(node, std::move(carried), std::move(given), axes, names);
}

// One turn for each cell of the inputs that are gone along.
Status ModelReader::add_scan(const ModelNode& node, const std::vector<Known*>& inputs, Names& names) {
  const ModelGraph* body = body_of(node);
  const Attribute* scanned = node.attribute("num_scan_inputs");
  const auto along = scanned ? static_cast<std::size_t>(std::clamp<Size>(scanned->integer, 0, 1 << 20)) : 0;
  if (opset_ < 9) return fail(Fault::Unsupported, "goes along batches of sequences, which is understood since opset 9");
  if (!body || along == 0 || inputs.size() < along || body->outputs.size() + along < inputs.size())
    return fail(Fault::Format, "has no body that fits its inputs");
  const std::size_t count = inputs.size() - along, results_given = body->outputs.size() - count;
  if (std::ranges::find(inputs, nullptr) != inputs.end()) return fail(Fault::Format, "one of its values is missing");
  Sizes axes = list_of(node, "scan_input_axes", along);
  const Sizes backwards = list_of(node, "scan_input_directions", along);
  std::vector<ValueId> sources;
  Dim turns;
  for (std::size_t i = 0; i < along; ++i) {
    auto value = value_of(node.inputs[count + i], *inputs[count + i]);
    if (!value) return pass(value);
    const Shape& shape = graph_[*value].type.shape;
    axes[i] = positive_axis(axes[i], static_cast<Size>(shape.size()));
    if (axes[i] < 0 || axes[i] >= static_cast<Size>(shape.size()))
      return fail(Fault::Format, "goes along axis " + std::to_string(axes[i]) + " of shape " + text_of(shape));
    sources.push_back(*value);
    turns = shape[static_cast<std::size_t>(axes[i])];
    if (!turns.known()) return fail(Fault::Unsupported, "goes along an axis of unknown size; give one with --shape");
  }
  if (*turns > most_turns) return fail(Fault::Limit, "goes along " + std::to_string(*turns) + " cells");
  Names shared(&names, true);
  const std::vector<Known*> begun(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(count));
  if (auto s = begin_turns(*body, begun, node.inputs, shared); !s) return s;
  std::vector<Known> carried;
  for (const Known* one : begun) carried.push_back(*one);
  std::vector<std::vector<Known>> given(results_given);
  for (Size t = 0; t < *turns; ++t) {
    std::vector<Known> arguments = carried;
    for (std::size_t i = 0; i < along; ++i) {
      const Size at = backwards[i] != 0 ? *turns - 1 - t : t;
      auto cell = graph_.add(Slice{axes[i], at, at + 1}, {sources[i]}, node.name, "Scan");
      if (!cell) return pass(cell);
      auto flat = graph_.add(Squeeze{{axes[i]}}, {cell->front()}, node.name, "Scan");
      if (!flat) return pass(flat);
      sizes_.follow(graph_);
      arguments.push_back({flat->front(), {}, {}, false, false});
    }
    auto results = within("turn " + std::to_string(t + 1), turn(*body, t + 1, std::move(arguments), shared));
    if (!results) return pass(results);
    carried.assign(results->begin(), results->begin() + static_cast<std::ptrdiff_t>(count));
    for (std::size_t k = 0; k < given.size(); ++k) given[k].push_back((*results)[count + k]);
  }
  const Sizes last_first = list_of(node, "scan_output_directions", given.size());
  for (std::size_t k = 0; k < given.size(); ++k)
    if (last_first[k] != 0) std::ranges::reverse(given[k]);
  return end_turns(node, std::move(carried), std::move(given), list_of(node, "scan_output_axes", given.size()), names);
}

}  // namespace convoy::onnx
