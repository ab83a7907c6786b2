// graph.proto, function.proto, meta_graph.proto and what they hold, field by field. Fields that say nothing about numbers
// are passed over; unknown ones too, as protocol buffers want it.
#include "formats/tf/graph/messages.h"

#include "base/budget.h"

namespace convoy::tf {
namespace {

std::string text(const ProtoField& field) { return std::string(field.text()); }

// A map's entry: field 1 is the key, field 2 the value.
Status read_entry(Bytes bytes, std::string& key, Bytes& value) {
  return each_field(bytes, [&](const ProtoField& f) -> Status {
    if (f.number == 1) key = text(f);
    if (f.number == 2) value = f.bytes;
    return {};
  });
}

Status read_tensor(Bytes bytes, StoredTensor& t) {
  t.shape = Sizes{};
  return each_field(bytes, [&](const ProtoField& f) -> Status {
    switch (f.number) {
      case 1: t.type = f.integer(); return {};
      case 2: {
        StoredShape shape;
        if (auto s = parse_shape(f.bytes, shape); !s) return s;
        t.shape = shape.sizes;
        return {};
      }
      case 4: t.content = f.bytes; return {};
      case 5: return add_floats(f, t.floats);
      case 6: return add_doubles(f, t.doubles);
      case 7:
      case 10:
      case 11:
      case 13:
      case 16:
      case 17: return add_integers(f, t.integers);
      case 8: t.texts.push_back(f.bytes); return {};
      default: return {};
    }
  });
}

std::string function_name(Bytes bytes, Status& status) {
  std::string name;
  status = each_field(bytes, [&](const ProtoField& f) -> Status {
    if (f.number == 1) name = text(f);
    return {};
  });
  return name;
}

Status read_list(Bytes bytes, NodeAttribute& a) {
  return each_field(bytes, [&](const ProtoField& f) -> Status {
    switch (f.number) {
      case 2: a.texts.push_back(text(f)); return {};
      case 3: return add_integers(f, a.integers);
      case 4: return add_floats(f, a.reals);
      case 5: return add_integers(f, a.truths);
      case 6: return add_integers(f, a.types);
      case 7: return parse_shape(f.bytes, a.shapes.emplace_back());
      case 9: {
        Status status;
        a.functions.push_back(function_name(f.bytes, status));
        return status;
      }
      default: return {};
    }
  });
}

Status read_attribute(Bytes bytes, NodeAttribute& a) {
  return each_field(bytes, [&](const ProtoField& f) -> Status {
    Status status;
    switch (f.number) {
      case 1: a.kind = AttributeKind::List; return read_list(f.bytes, a);
      case 2:
        a.kind = AttributeKind::Text;
        a.text = text(f);
        return {};
      case 3:
        a.kind = AttributeKind::Integer;
        a.integer = f.integer();
        return {};
      case 4:
        a.kind = AttributeKind::Real;
        a.real = f.real();
        return {};
      case 5:
        a.kind = AttributeKind::Truth;
        a.integer = f.value != 0;
        return {};
      case 6:
        a.kind = AttributeKind::Type;
        a.integer = f.integer();
        return {};
      case 7: a.kind = AttributeKind::Shape; return parse_shape(f.bytes, a.shape);
      case 8: a.kind = AttributeKind::Tensor; return read_tensor(f.bytes, a.tensor);
      case 9:
        a.kind = AttributeKind::Name;
        a.text = text(f);
        return {};
      case 10:
        a.kind = AttributeKind::Function;
        a.text = function_name(f.bytes, status);
        return status;
      default: return {};
    }
  });
}

Status read_node(Bytes bytes, GraphNode& node) {
  return each_field(bytes, [&](const ProtoField& f) -> Status {
    switch (f.number) {
      case 1: node.name = text(f); return {};
      case 2: node.op = text(f); return {};
      case 3: node.inputs.push_back(text(f)); return {};
      case 5: {
        std::string key;
        Bytes value;
        if (auto s = read_entry(f.bytes, key, value); !s) return s;
        NodeAttribute& attribute = node.attributes[key];
        attribute = {};
        return within("attribute '" + key + "'", read_attribute(value, attribute));
      }
      default: return {};
    }
  });
}

Status add_node(Bytes bytes, std::vector<GraphNode>& nodes) {
  if (auto s = budget::afford_one_more(nodes, "the graph's nodes"); !s) return s;
  return read_node(bytes, nodes.emplace_back());
}

Status read_argument(Bytes bytes, FunctionArgument& argument) {
  return each_field(bytes, [&](const ProtoField& f) -> Status {
    if (f.number == 1) argument.name = text(f);
    if (f.number == 3) argument.type = f.integer();
    return {};
  });
}

Status read_function_type(Bytes bytes, StoredFunction& function) {
  return each_field(bytes, [&](const ProtoField& f) -> Status {
    switch (f.number) {
      case 1: function.name = text(f); return {};
      case 2: return read_argument(f.bytes, function.arguments.emplace_back());
      case 3: return read_argument(f.bytes, function.results.emplace_back());
      default: return {};
    }
  });
}

Status read_function(Bytes bytes, StoredFunction& function) {
  return each_field(bytes, [&](const ProtoField& f) -> Status {
    switch (f.number) {
      case 1: return read_function_type(f.bytes, function);
      case 3: return add_node(f.bytes, function.nodes);
      case 4: {
        std::string key;
        Bytes value;
        if (auto s = read_entry(f.bytes, key, value); !s) return s;
        function.returns[key] = std::string(text_of(value));
        return {};
      }
      default: return {};
    }
  });
}

Status read_library(Bytes bytes, StoredGraph& graph) {
  return each_field(bytes, [&](const ProtoField& f) -> Status {
    if (f.number != 1) return {};
    StoredFunction function;
    auto read = read_function(f.bytes, function);
    if (!read) return within("function '" + function.name + "'", std::move(read));
    const std::string name = function.name;
    graph.functions[name] = std::move(function);
    return {};
  });
}

Status read_graph(Bytes bytes, StoredGraph& graph) {
  return each_field(bytes, [&](const ProtoField& f) -> Status {
    switch (f.number) {
      case 1: return add_node(f.bytes, graph.nodes);
      case 2: return read_library(f.bytes, graph);
      case 4:
        return each_field(f.bytes, [&](const ProtoField& v) -> Status {
          if (v.number == 1) graph.producer = v.integer();
          return {};
        });
      default: return {};
    }
  });
}

Status read_signature_tensor(Bytes bytes, SignatureTensor& tensor) {
  tensor.shape.sizes = Sizes{};
  return each_field(bytes, [&](const ProtoField& f) -> Status {
    if (f.number == 1) tensor.name = text(f);
    if (f.number == 2) tensor.type = f.integer();
    if (f.number == 3) return parse_shape(f.bytes, tensor.shape);
    return {};
  });
}

Status read_signature(Bytes bytes, StoredSignature& signature) {
  return each_field(bytes, [&](const ProtoField& f) -> Status {
    if (f.number != 1 && f.number != 2) return {};
    std::string key;
    Bytes value;
    if (auto s = read_entry(f.bytes, key, value); !s) return s;
    return read_signature_tensor(value, (f.number == 1 ? signature.inputs : signature.outputs)[key]);
  });
}

Status read_meta_info(Bytes bytes, MetaGraph& meta) {
  return each_field(bytes, [&](const ProtoField& f) -> Status {
    if (f.number == 4) meta.tags.push_back(text(f));
    if (f.number == 5) meta.version = text(f);
    return {};
  });
}

Status read_meta_graph(Bytes bytes, MetaGraph& meta) {
  return each_field(bytes, [&](const ProtoField& f) -> Status {
    switch (f.number) {
      case 1: return read_meta_info(f.bytes, meta);
      case 2: return read_graph(f.bytes, meta.graph);
      case 5: {
        std::string key;
        Bytes value;
        if (auto s = read_entry(f.bytes, key, value); !s) return s;
        return within("signature '" + key + "'", read_signature(value, meta.signatures[key]));
      }
      default: return {};
    }
  });
}

}  // namespace

Status parse_shape(Bytes bytes, StoredShape& shape) {
  shape.sizes = Sizes{};
  bool unknown = false;
  auto done = each_field(bytes, [&](const ProtoField& f) -> Status {
    if (f.number == 3) unknown = f.value != 0;
    if (f.number != 2) return {};
    Size size = 0;
    auto dim = each_field(f.bytes, [&](const ProtoField& d) -> Status {
      if (d.number == 1) size = d.integer();
      return {};
    });
    shape.sizes->push_back(size);
    return dim;
  });
  if (unknown) shape.sizes.reset();
  return done;
}

const NodeAttribute* GraphNode::attribute(std::string_view wanted) const {
  const auto found = attributes.find(wanted);
  return found == attributes.end() ? nullptr : &found->second;
}

std::string GraphNode::text(std::string_view wanted) const {
  const NodeAttribute* found = attribute(wanted);
  return found ? found->text : std::string();
}

Result<StoredGraph> parse_graph(Bytes bytes) {
  StoredGraph graph;
  if (auto s = read_graph(bytes, graph); !s) return pass(s);
  return graph;
}

Result<MetaGraph> parse_meta_graph(Bytes bytes) {
  MetaGraph meta;
  if (auto s = read_meta_graph(bytes, meta); !s) return pass(s);
  return meta;
}

Result<std::vector<MetaGraph>> parse_saved_model(Bytes bytes) {
  std::vector<MetaGraph> all;
  auto done = each_field(bytes, [&](const ProtoField& f) -> Status {
    if (f.number != 2) return {};
    return read_meta_graph(f.bytes, all.emplace_back());
  });
  if (!done) return pass(done);
  if (all.empty()) return fail(Fault::Format, "is a SavedModel without a graph");
  return all;
}

}  // namespace convoy::tf
