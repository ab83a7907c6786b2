// The messages of onnx.proto, field by field. Fields that say nothing about numbers (doc strings, metadata) are passed
// over; unknown ones too, as protocol buffers want it.
#include "formats/onnx/model.h"
#include "formats/onnx/local_functions.h"

#include <algorithm>

namespace convoy::onnx {
namespace {

constexpr int deepest = 16;

std::string text(const ProtoField& field) { return std::string(field.text()); }

Status read_entry(Bytes bytes, std::map<std::string, std::string>& entries) {
  std::string key, value;
  auto done = each_field(bytes, [&](const ProtoField& f) -> Status {
    if (f.number == 1) key = text(f);
    if (f.number == 2) value = text(f);
    return {};
  });
  if (done) entries[key] = value;
  return done;
}

Status read_tensor(Bytes bytes, StoredTensor& t) {
  return each_field(bytes, [&](const ProtoField& f) -> Status {
    switch (f.number) {
      case 1: return add_integers(f, t.dims);
      case 2: t.type = f.integer(); return {};
      case 3: return fail(Fault::Unsupported, "a tensor in segments");
      case 4: return add_floats(f, t.floats);
      case 5:
      case 7:
      case 11: return add_integers(f, t.integers);
      case 6: t.texts = true; return {};
      case 8: t.name = text(f); return {};
      case 9:
        t.raw = true;
        t.raw_bytes = f.bytes;
        return {};
      case 10: return add_doubles(f, t.doubles);
      case 13: return read_entry(f.bytes, t.outside);
      case 14: t.external = f.value == 1; return {};
      default: return {};
    }
  });
}

Status read_graph(Bytes bytes, ModelGraph& graph, int depth);

AttributeKind kind_of(std::uint64_t type) {
  constexpr AttributeKind kinds[] = {AttributeKind::Nothing, AttributeKind::Float,    AttributeKind::Integer,
                                     AttributeKind::Text,    AttributeKind::Tensor,   AttributeKind::Graph,
                                     AttributeKind::Floats,  AttributeKind::Integers, AttributeKind::Texts};
  return type < std::size(kinds) ? kinds[type] : AttributeKind::Other;
}

Status read_attribute(Bytes bytes, Attribute& a, int depth) {
  std::optional<AttributeKind> argument;
  auto done = each_field(bytes, [&](const ProtoField& f) -> Status {
    const auto guess = [&](AttributeKind kind) {
      if (a.kind == AttributeKind::Nothing) a.kind = kind;
    };
    switch (f.number) {
      case 1: a.name = text(f); return {};
      case 2:
        a.number = f.real();
        guess(AttributeKind::Float);
        return {};
      case 3:
        a.integer = f.integer();
        guess(AttributeKind::Integer);
        return {};
      case 4:
        a.text = text(f);
        guess(AttributeKind::Text);
        return {};
      case 5: guess(AttributeKind::Tensor); return read_tensor(f.bytes, a.tensor.emplace());
      case 6:
        guess(AttributeKind::Graph);
        a.graph = std::make_shared<ModelGraph>();
        return read_graph(f.bytes, *a.graph, depth + 1);
      case 7: guess(AttributeKind::Floats); return add_floats(f, a.floats);
      case 8: guess(AttributeKind::Integers); return add_integers(f, a.integers);
      case 9:
        a.texts.push_back(text(f));
        guess(AttributeKind::Texts);
        return {};
      case 20: argument = kind_of(f.value); return {};
      case 21: a.refers_to = text(f); return {};
      default: return {};
    }
  });
  if (argument && *argument != AttributeKind::Nothing) {
    a.contradicts = a.kind != AttributeKind::Nothing && *argument != AttributeKind::Other && a.kind != *argument;
    a.kind = *argument;
  }
  return done;
}

Status read_node(Bytes bytes, ModelNode& node, int depth) {
  return each_field(bytes, [&](const ProtoField& f) -> Status {
    switch (f.number) {
      case 1: node.inputs.push_back(text(f)); return {};
      case 2: node.outputs.push_back(text(f)); return {};
      case 3: node.name = text(f); return {};
      case 4: node.type = text(f); return {};
      case 5: return read_attribute(f.bytes, node.attributes.emplace_back(), depth);
      case 7: node.domain = text(f); return {};
      case 8: node.overload = text(f); return {};
      default: return {};
    }
  });
}

Status read_shape(Bytes bytes, std::vector<NamedDim>& dims) {
  return each_field(bytes, [&](const ProtoField& f) -> Status {
    if (f.number != 1) return {};
    NamedDim& dim = dims.emplace_back();
    return each_field(f.bytes, [&](const ProtoField& d) -> Status {
      if (d.number == 1) dim.size = d.integer();
      if (d.number == 2) dim.word = text(d);
      return {};
    });
  });
}

Status read_value(Bytes bytes, ValueInfo& value) {
  return each_field(bytes, [&](const ProtoField& f) -> Status {
    if (f.number == 1) value.name = text(f);
    if (f.number != 2) return {};
    return each_field(f.bytes, [&](const ProtoField& type) -> Status {
      if (type.number != 1) return {};
      return each_field(type.bytes, [&](const ProtoField& t) -> Status {
        if (t.number == 1) value.type = t.integer();
        if (t.number == 2) return read_shape(t.bytes, value.shape.emplace());
        return {};
      });
    });
  });
}

Status read_graph(Bytes bytes, ModelGraph& graph, int depth) {
  if (depth > deepest) return fail(Fault::Limit, "graphs are nested more than " + std::to_string(deepest) + " deep");
  return each_field(bytes, [&](const ProtoField& f) -> Status {
    switch (f.number) {
      case 1: return read_node(f.bytes, graph.nodes.emplace_back(), depth);
      case 2: graph.name = text(f); return {};
      case 5: return read_tensor(f.bytes, graph.initializers.emplace_back());
      case 11: return read_value(f.bytes, graph.inputs.emplace_back());
      case 12: return read_value(f.bytes, graph.outputs.emplace_back());
      case 13: return read_value(f.bytes, graph.infos.emplace_back());
      case 15: graph.sparse = true; return {};
      default: return {};
    }
  });
}

Status read_opset(Bytes bytes, std::map<std::string, Size>& opsets) {
  std::string domain;
  Size version = 0;
  auto done = each_field(bytes, [&](const ProtoField& f) -> Status {
    if (f.number == 1) domain = text(f);
    if (f.number == 2) version = f.integer();
    return {};
  });
  opsets[domain == "ai.onnx" ? "" : domain] = version;
  return done;
}

Status read_function(Bytes bytes, ModelFunction& function) {
  return each_field(bytes, [&](const ProtoField& f) -> Status {
    switch (f.number) {
      case 1: function.name = text(f); return {};
      case 4: function.inputs.push_back(text(f)); return {};
      case 5: function.outputs.push_back(text(f)); return {};
      case 7: return read_node(f.bytes, function.nodes.emplace_back(), 0);
      case 9: return read_opset(f.bytes, function.opsets);
      case 10: function.domain = text(f); return {};
      case 11: return read_attribute(f.bytes, function.attributes.emplace_back(), 0);
      case 13: function.overload = text(f); return {};
      default: return {};
    }
  });
}

}  // namespace

const Attribute* ModelFunction::usual(std::string_view attribute) const {
  const auto found = std::ranges::find(attributes, attribute, &Attribute::name);
  return found == attributes.end() ? nullptr : &*found;
}

const std::string& ModelNode::own_name() const { return name.empty() && !outputs.empty() ? outputs.front() : name; }

const Attribute* ModelNode::attribute(std::string_view wanted) const {
  const auto found = std::ranges::find(attributes, wanted, &Attribute::name);
  return found == attributes.end() ? nullptr : &*found;
}

Result<Model> parse_model(Bytes bytes) {
  Model model;
  bool has_graph = false;
  auto done = each_field(bytes, [&](const ProtoField& f) -> Status {
    switch (f.number) {
      case 1: model.ir_version = f.integer(); return {};
      case 2: model.producer = text(f); return {};
      case 3: model.producer_version = text(f); return {};
      case 7: has_graph = true; return read_graph(f.bytes, model.graph, 0);
      case 8: return read_opset(f.bytes, model.opsets);
      case 25: return read_function(f.bytes, model.functions.emplace_back());
      default: return {};
    }
  });
  if (!done) return pass(done);
  if (!has_graph) return fail(Fault::Format, "is an ONNX model without a graph");
  if (auto inlined = inline_functions(model); !inlined) return pass(inlined);
  return model;
}

Result<StoredTensor> parse_tensor(Bytes bytes) {
  StoredTensor tensor;
  if (auto done = read_tensor(bytes, tensor); !done) return pass(done);
  return tensor;
}

}  // namespace convoy::onnx
