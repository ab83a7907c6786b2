// Source: onnx/defs/*/old.cc.
#include "formats/onnx/oldest_operators.h"

#include "formats/onnx/spelling.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::onnx {
namespace {

using Nodes = Result<std::vector<ModelNode>>;

// A node whose attributes are taken one by one; what is left of it goes on.
struct Older {
  ModelNode node;
  Size opset;
  const std::vector<InputFacts>& inputs;

  const Shape* shape(std::size_t i) const { return i < inputs.size() && inputs[i].shape ? &*inputs[i].shape : nullptr; }
  const Attribute* attribute(std::string_view name) const { return node.attribute(name); }
  void drop(std::string_view name) {
    std::erase_if(node.attributes, [&](const Attribute& a) { return a.name == name; });
  }
  // A whole number, which the node then no longer has.
  Result<Size> taken(std::string_view name, Size otherwise) {
    const Attribute* found = node.attribute(name);
    if (!found) return otherwise;
    if (found->kind != AttributeKind::Integer)
      return fail(Fault::Format, "attribute '" + std::string(name) + "' holds no whole number");
    const Size number = found->integer;
    drop(name);
    return number;
  }
};

Nodes only(ModelNode node) { return std::vector{std::move(node)}; }

bool may_be_equal(const Shape& a, const Shape& b) {
  return std::ranges::equal(a, b, [](Dim x, Dim y) { return !x.known() || !y.known() || *x == *y; });
}

// The second operand lies along the axes of the first from `axis` on, or along its last ones.
Nodes pair(Older older) {
  const bool named = older.attribute("axis") != nullptr;
  const auto stretches = older.taken("broadcast", 0), axis = older.taken("axis", 0);
  if (!stretches) return std::unexpected(stretches.error());
  if (!axis) return std::unexpected(axis.error());
  const Shape *a = older.shape(0), *b = older.shape(1);
  if (*stretches == 0) {
    if (a && b && !may_be_equal(*a, *b))
      return fail(Fault::Format,
                  "has operands of " + text_of(*a) + " and " + text_of(*b) + ", and attribute 'broadcast' is 0");
    return only(std::move(older.node));
  }
  if (!named) return only(std::move(older.node));
  if (!a || !b)
    return fail(Fault::Unsupported, "attribute 'axis' counts in an operand whose shape is not known beforehand");
  const auto rank = static_cast<Size>(a->size()), own = static_cast<Size>(b->size());
  const Size first = *axis < 0 ? *axis + rank : *axis, behind = rank - first - own;
  if (first < 0 || behind < 0)
    return fail(Fault::Format, "attribute 'axis' is " + std::to_string(*axis) + " for operands of " + text_of(*a) +
                                   " and " + text_of(*b));
  if (behind == 0) return only(std::move(older.node));
  Spelling spell(older.node);
  std::vector<std::int64_t> axes;
  for (Size i = 0; i < behind; ++i) axes.push_back(own + i);
  const std::string laid = spell.add("Unsqueeze", {spell.input(1)}, "along", {Spelling::wholes("axes", axes)});
  spell.add(older.node.type, {spell.input(0), laid}, "", older.node.attributes);
  return std::move(spell.nodes);
}

Nodes product(Older older) {
  if (const auto stretches = older.taken("broadcast", 0); !stretches) return std::unexpected(stretches.error());
  return only(std::move(older.node));
}

Nodes cast(Older older) {
  constexpr std::array<std::string_view, 14> words{"FLOAT",  "UINT8",  "INT8",   "UINT16",   "INT16",
                                                   "INT32",  "INT64",  "STRING", "BOOL",     "FLOAT16",
                                                   "DOUBLE", "UINT32", "UINT64", "COMPLEX64"};
  for (Attribute& a : older.node.attributes)
    if (a.name == "to" && a.kind == AttributeKind::Text) {
      const auto found = std::ranges::find(words, a.text);
      if (found == words.end()) return fail(Fault::Format, "attribute 'to' is '" + a.text + "', which is no type");
      a = Spelling::whole("to", 1 + (found - words.begin()));
    }
  return only(std::move(older.node));
}

Nodes concat(Older older) {
  if (!older.attribute("axis") && older.opset < 4) older.node.attributes.push_back(Spelling::whole("axis", 1));
  return only(std::move(older.node));
}

Nodes tested(Older older) {
  const auto test = older.taken("is_test", 0);
  if (!test) return std::unexpected(test.error());
  if (*test == 0)
    return fail(Fault::Unsupported, older.node.type == "Dropout"
                                        ? "drops numbers, as in training: attribute 'is_test' is 0"
                                        : "normalizes by the batch's own statistics, as in training: "
                                          "attribute 'is_test' is 0");
  return only(std::move(older.node));
}

// Whether the first result is wanted follows from its name.
Nodes recurrent(Older older) {
  if (const auto sequence = older.taken("output_sequence", 0); !sequence) return std::unexpected(sequence.error());
  return only(std::move(older.node));
}

Nodes lp_pool(Older older) {
  for (Attribute& a : older.node.attributes)
    if (a.name == "p" && a.kind == AttributeKind::Float) {
      if (a.number != std::floor(a.number) || !(std::abs(a.number) < 1e6F))
        return fail(Fault::Unsupported, "attribute 'p' is no whole number");
      a = Spelling::whole("p", static_cast<std::int64_t>(a.number));
    }
  return only(std::move(older.node));
}

// One slope for each channel.
Nodes prelu(Older older) {
  const Shape *x = older.shape(0), *slope = older.shape(1);
  if (!x || !slope) return fail(Fault::Unsupported, "the shape of an input is not known beforehand");
  const bool one = std::ranges::all_of(*slope, [](Dim d) { return d.known() && *d == 1; });
  if (one || slope->size() != 1 || x->size() <= 2) return only(std::move(older.node));
  Spelling spell(older.node);
  std::vector<std::int64_t> axes;
  for (std::size_t i = 1; i + 1 < x->size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  const std::string slopes = spell.add("Unsqueeze", {spell.input(1)}, "slopes", {Spelling::wholes("axes", axes)});
  spell.add("PRelu", {spell.input(0), slopes}, "", older.node.attributes);
  return std::move(spell.nodes);
}

Nodes pad(Older older) {
  for (Attribute& a : older.node.attributes)
    if (a.name == "paddings" && older.opset < 2) a.name = "pads";
  return only(std::move(older.node));
}

Nodes reshape(Older older) {
  const Attribute* shape = older.attribute("shape");
  if (!shape || older.opset >= 5) return only(std::move(older.node));
  Spelling spell(older.node);
  const std::string to = spell.add("Constant", {}, "shape", {Spelling::wholes("value_ints", shape->integers)});
  older.drop("shape");
  spell.add("Reshape", {spell.input(0), to}, "", older.node.attributes);
  return std::move(spell.nodes);
}

// The defaults had fewer digits.
Nodes selu(Older older) {
  if (older.opset < 6) {
    if (!older.attribute("alpha")) older.node.attributes.push_back(Spelling::number("alpha", 1.6732F));
    if (!older.attribute("gamma")) older.node.attributes.push_back(Spelling::number("gamma", 1.0507F));
  }
  return only(std::move(older.node));
}

// The lengths of the parts were an input or an attribute.
Nodes split(Older older) {
  if (older.node.inputs.size() < 2) return only(std::move(older.node));
  const Numbers* lengths = older.inputs[1].numbers;
  if (!lengths || !lengths->known())
    return fail(Fault::Unsupported, "input 'split' is known only when the model runs; it must be known beforehand");
  std::vector<std::int64_t> all;
  for (const Number& n : lengths->all) all.push_back(static_cast<std::int64_t>(n.value()));
  older.drop("split");
  older.node.attributes.push_back(Spelling::wholes("split", std::move(all)));
  older.node.inputs.pop_back();
  return only(std::move(older.node));
}

// So many times along one axis.
Nodes tile(Older older) {
  if (older.opset >= 6) return only(std::move(older.node));
  const auto number = [&](std::size_t i) -> std::optional<Size> {
    const Numbers* known = i < older.inputs.size() ? older.inputs[i].numbers : nullptr;
    if (!known || !known->known() || known->all.size() != 1) return std::nullopt;
    return static_cast<Size>(known->all.front().value());
  };
  const auto tiles = number(1), axis = number(2);
  const Shape* x = older.shape(0);
  if (!tiles || !axis || !x)
    return fail(Fault::Unsupported, "inputs 'tiles' and 'axis' are not both one number that is known beforehand");
  const auto rank = static_cast<Size>(x->size());
  if (*axis < 0 || *axis >= rank)
    return fail(Fault::Format, "input 'axis' is " + std::to_string(*axis) + " for rank " + std::to_string(rank));
  std::vector<std::int64_t> repeats(x->size(), 1);
  repeats[static_cast<std::size_t>(*axis)] = *tiles;
  Spelling spell(older.node);
  const std::string all = spell.add("Constant", {}, "repeats", {Spelling::wholes("value_ints", repeats)});
  spell.add("Tile", {spell.input(0), all}, "", older.node.attributes);
  return std::move(spell.nodes);
}

Nodes upsample(Older older) {
  const Attribute *height = older.attribute("height_scale"), *width = older.attribute("width_scale");
  if (!height || !width) return fail(Fault::Format, "has no attribute 'height_scale' or 'width_scale'");
  const Attribute scales = Spelling::numbers("scales", {1, 1, height->number, width->number});
  older.drop("height_scale");
  older.drop("width_scale");
  older.node.attributes.push_back(scales);
  return only(std::move(older.node));
}

struct Way {
  std::string_view type;
  Nodes (*say)(Older);
};
constexpr std::array ways{Way{"Add", pair},
                          Way{"Sub", pair},
                          Way{"Mul", pair},
                          Way{"Div", pair},
                          Way{"Pow", pair},
                          Way{"And", pair},
                          Way{"Or", pair},
                          Way{"Xor", pair},
                          Way{"Equal", pair},
                          Way{"Less", pair},
                          Way{"Greater", pair},
                          Way{"Gemm", product},
                          Way{"Cast", cast},
                          Way{"Concat", concat},
                          Way{"Dropout", tested},
                          Way{"BatchNormalization", tested},
                          Way{"LSTM", recurrent},
                          Way{"GRU", recurrent},
                          Way{"RNN", recurrent},
                          Way{"LpPool", lp_pool},
                          Way{"GlobalLpPool", lp_pool},
                          Way{"PRelu", prelu},
                          Way{"Pad", pad},
                          Way{"Reshape", reshape},
                          Way{"Selu", selu},
                          Way{"Split", split},
                          Way{"Tile", tile},
                          Way{"Upsample", upsample}};

}  // namespace

Nodes in_operators_of_set_7(const ModelNode& node, Size opset, const std::vector<InputFacts>& inputs) {
  Older older{node, opset, inputs};
  // A hint about memory, which changes no number.
  if (opset < 6) older.drop("consumed_inputs");
  const auto way = std::ranges::find(ways, node.type, &Way::type);
  return way == ways.end() ? only(std::move(older.node)) : way->say(std::move(older));
}

}  // namespace convoy::onnx
