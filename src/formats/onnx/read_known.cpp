// Nodes that need no operator: constants, shapes, one number repeated, and the branch that a known condition chooses.
#include "formats/chosen.h"
#include "formats/filled.h"
#include "formats/free_reshape.h"
#include "formats/onnx/model_reader.h"
#include "formats/onnx/narrow_types.h"
#include "formats/stretch.h"
#include "ops/expect.h"

#include <algorithm>

namespace convoy::onnx {

// One number, as many times as a shape says.
Status ModelReader::add_filled(const ModelNode& node, const std::vector<Known*>& inputs, Names& names) {
  const Numbers* shape = inputs.size() == 1 && inputs[0] ? numbers(*inputs[0]) : nullptr;
  if (!shape || node.outputs.size() != 1)
    return fail(Fault::Unsupported, "its shape is computed by the model; it must be known beforehand");
  Tensor value = Tensor::of({}, std::vector<float>{0});
  if (const Attribute* argument = node.attribute("value")) {
    if (!argument->tensor) return fail(Fault::Format, "attribute 'value' is no tensor");
    auto tensor = source_.tensor(*argument->tensor);
    if (!tensor) return pass(tensor);
    if (tensor->count() != 1) return fail(Fault::Format, "attribute 'value' is not one number");
    value = tensor->reshaped({});
  }
  Known known;
  Sizes sizes;
  for (const Number& n : shape->all) sizes.push_back(n.known() ? n.whole : 0);
  const auto count = checked_count(sizes);
  if (!count) return fail(Fault::Limit, "makes a tensor of shape " + text_of(sizes) + ", which is too large");
  // What is too much to be held is made when the model runs.
  if (!shape->known() || !allowance_.spend({.numbers = *count})) {
    known.filled = value;
    known.fill = *shape;
    return names.add(node.outputs[0], std::move(known));
  }
  auto tensor = filled(value, sizes, *count);
  if (!tensor) return pass(tensor);
  known.tensor = std::move(*tensor);
  return names.add(node.outputs[0], std::move(known));
}

// To a shape with sizes that are not known beforehand and that the value has not itself.
bool ModelReader::stretches(const ModelNode& node, const std::vector<Known*>& inputs) {
  if (node.type != "Expand" || inputs.size() != 2 || !inputs[0] || !inputs[1] || node.outputs.size() != 1) return false;
  const Numbers* shape = numbers(*inputs[1]);
  return shape && !shape->known();
}

Status ModelReader::add_stretched(const ModelNode& node, const std::string& name, const std::vector<Known*>& inputs,
                                  Names& names) {
  const Numbers shape = *numbers(*inputs[1]);
  if (inputs[0]->tensor && inputs[0]->tensor->count() == 1 && !inputs[0]->value) {
    Known known;
    known.filled = inputs[0]->tensor->reshaped({});
    known.fill = shape;
    return names.add(node.outputs[0], std::move(known));
  }
  auto x = value_of(node.inputs[0], *inputs[0]);
  if (!x) return pass(x);
  auto y = stretch(graph_, sizes_, *x, shape, name);
  if (!y) return pass(y);
  if (*y == *x) {
    auto same = graph_.add(Identity{}, {*x}, name, "Expand");
    if (!same) return pass(same);
    sizes_.follow(graph_);
    y = same->front();
  }
  file_names_.of_value(*y, node.outputs[0] + turn_);
  return names.add(node.outputs[0], {*y, {}, {}, false, false});
}

Status ModelReader::add_constant(const ModelNode& node, Names& names) {
  if (node.outputs.size() != 1 || node.attributes.size() != 1)
    return fail(Fault::Format, "has " + std::to_string(node.attributes.size()) + " attributes, expected 1");
  const Attribute& a = node.attributes.front();
  Known known;
  if (a.name == "value" && a.tensor) {
    auto tensor = source_.tensor(*a.tensor);
    if (!tensor) return pass(tensor);
    allowance_.add(tensor->count());
    known.tensor = std::move(*tensor);
    known.narrow = wide_type_of(a.tensor->type) ? a.tensor->type : 0;
  } else if (a.name == "value_float") {
    known.tensor = Tensor::of(Sizes{}, std::vector{a.number});
  } else if (a.name == "value_floats") {
    known.tensor = Tensor::of({static_cast<Size>(a.floats.size())}, a.floats);
  } else if (a.name == "value_int") {
    known.tensor = Tensor::of(Sizes{}, std::vector{a.integer});
  } else if (a.name == "value_ints") {
    known.tensor = Tensor::of({static_cast<Size>(a.integers.size())}, a.integers);
  } else {
    return fail(Fault::Unsupported, "attribute '" + a.name + "' is not understood");
  }
  return names.add(node.outputs.front(), std::move(known));
}

// What a branch gives, whose nodes now stand in the node's place.
Result<std::vector<Known>> ModelReader::results_of_branch(const ModelNode& node, bool taken, Names& names) {
  const Attribute* branch = node.attribute(taken ? "then_branch" : "else_branch");
  if (!branch || !branch->graph) return fail(Fault::Format, "has no such branch");
  const ModelGraph& graph = *branch->graph;
  if (graph.outputs.size() != node.outputs.size())
    return fail(Fault::Format, "its branch gives another number of results");
  Names inner(&names);
  if (auto s = add_initializers(graph, inner); !s) return pass(s);
  if (auto s = add_nodes(graph, inner); !s) return pass(s);
  std::vector<Known> results;
  for (const ValueInfo& output : graph.outputs) {
    const Known* known = inner.find(output.name);
    if (!known) return fail(Fault::Format, "its branch does not give '" + output.name + "'");
    results.push_back(*known);
  }
  return results;
}

// Both branches, where the condition is computed: what one of them cannot take is no fault of the file.
Status ModelReader::add_both_branches(const ModelNode& node, const std::string& name, Known& condition, Names& names) {
  constexpr std::string_view why =
      "its condition is computed by the model; --shape gives sizes, and --set the value of an input, that may decide "
      "it";
  const auto asked = value_of(node.inputs[0], condition);
  if (!asked) return fail(Fault::Unsupported, std::string(why));
  std::vector<std::vector<Known>> both;
  for (const bool taken : {true, false}) {
    auto results = results_of_branch(node, taken, names);
    if (!results && results.error().fault != Fault::Format && results.error().fault != Fault::Unsupported)
      return pass(results);
    if (!results)
      return fail(Fault::Unsupported,
                  std::string(why) + "; both branches cannot be carried, because of " + message(results.error()));
    both.push_back(std::move(*results));
  }
  if (options_.remarks) options_.remarks->push_back(remark_of_both(name));
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const auto if_true = value_of(node.outputs[i] + "/then", both[0][i]),
               if_false = value_of(node.outputs[i] + "/else", both[1][i]);
    if (!if_true) return std::unexpected(if_true.error());
    if (!if_false) return std::unexpected(if_false.error());
    auto made = chosen(graph_, sizes_, *asked, *if_true, *if_false, name);
    if (!made) return pass(made);
    file_names_.of_value(*made, node.outputs[i] + turn_);
    if (auto s = names.add(node.outputs[i], {*made, {}, {}, false, false}); !s) return s;
  }
  return {};
}

// One branch of an If whose condition is known stands in the node's place.
Status ModelReader::add_branch(const ModelNode& node, const std::string& name, const std::vector<Known*>& inputs,
                               Names& names) {
  const auto asked = needed_numbers(inputs.size() == 1 ? inputs[0] : nullptr);
  if (!asked) return std::unexpected(asked.error());
  const Numbers* condition = *asked;
  if (inputs.size() != 1 || !inputs[0]) return fail(Fault::Format, "has no condition");
  if (!condition || condition->all.size() != 1 || !condition->known())
    return add_both_branches(node, name, *inputs[0], names);
  auto results = results_of_branch(node, condition->all.front().value() != 0, names);
  if (!results) return pass(results);
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    if (auto s = names.add(node.outputs[i], std::move((*results)[i])); !s) return s;
  return {};
}

Status ModelReader::add_shape(const ModelNode& node, const std::vector<Known*>& inputs, Names& names) {
  if (inputs.size() != 1 || !inputs[0] || node.outputs.size() != 1) return fail(Fault::Format, "needs one input");
  const Known& x = *inputs[0];
  if (!x.value && !x.tensor && !x.numbers && !x.fill) return fail(Fault::Unsupported, "its input is of unknown shape");
  Numbers shape;
  if (x.fill) shape = *x.fill;
  else if (x.value) shape = numbers_of(graph_[x.value].type.shape, sizes_.of(x.value));
  else shape = Numbers{DType::I64, {}, {}};
  if (!x.value && !x.fill)
    for (const Size n : x.tensor ? x.tensor->shape() : x.numbers->shape) shape.all.push_back(Number::of(n));
  const auto rank = static_cast<Size>(shape.all.size());
  if (node.type == "Size") {
    Numbers one{DType::I64, {1}, {Number::of(std::int64_t{1})}};
    shape.all.insert(shape.all.begin(), one.all.front());
    shape.shape = {rank + 1};
    ModelNode product{"", "ReduceProd", "", {"shape"}, {"size"}, {}};
    product.attributes.push_back({.name = "keepdims", .kind = AttributeKind::Integer});
    auto size = computed(product, row_opset(), {&shape});
    if (!size) return fail(Fault::Unsupported, "the number of elements is not known");
    return names.add(node.outputs[0], {{}, {}, std::move(size->front()), false, true});
  }
  const Attribute *start = node.attribute("start"), *end = node.attribute("end");
  const auto place = [&](const Attribute* a, Size otherwise) {
    if (!a) return otherwise;
    return std::clamp<Size>(a->integer < 0 ? a->integer + rank : a->integer, 0, rank);
  };
  const Size from = place(start, 0), to = std::max(from, place(end, rank));
  shape.all = {shape.all.begin() + from, shape.all.begin() + to};
  shape.shape = {to - from};
  return names.add(node.outputs[0], {{}, {}, std::move(shape), false, true});
}

}  // namespace convoy::onnx
