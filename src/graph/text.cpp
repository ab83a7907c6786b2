#include "graph/text.h"

#include "base/crc32.h"
#include "graph/text_fields.h"

#include <cstdio>

namespace convoy {

namespace {

using text::name;
using text::print;

std::string print_type(const TensorType& type) {
  std::string text = print(type.dtype) + "[";
  for (std::size_t i = 0; i < type.shape.size(); ++i) {
    text += (i == 0 ? "" : ",") + (type.shape[i].known() ? print(*type.shape[i]) : "?");
  }
  return text + "]";
}

std::string print_origin(const Origin& origin) {
  std::string text = name(origin.source);
  if (!origin.split.empty()) text += " split[" + print(origin.split) + "]";
  if (!origin.permutation.empty()) text += " permuted[" + print(origin.permutation) + "]";
  return text;
}

// A float32 number is written with the digits that it needs itself, not those of the double beside it.
std::string print_single(float value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  return {buffer, end};
}

std::string print_numbers(const Tensor& tensor) {
  std::string text;
  switch (tensor.dtype()) {
    case DType::F16:
    case DType::BF16:
    case DType::F32:
      for (const float value : tensor.floats()) text += " " + print_single(value);
      break;
    case DType::F64:
      for (const double value : tensor.doubles()) text += " " + print(value);
      break;
    case DType::U64:
      for (const std::int64_t value : tensor.integers()) {
        text += " " + std::to_string(static_cast<std::uint64_t>(value));
      }
      break;
    default:
      for (const std::int64_t value : tensor.integers()) text += " " + print(Size{value});
      break;
  }
  return text;
}

std::string print_constant(const Value& value, bool in_full) {
  const Tensor& tensor = *value.constant;
  std::string line = "const  " + name(value.name) + " " + print_type(type_of(tensor));
  if (!value.trainable) line += " frozen";
  if (value.origin) line += " <- " + print_origin(*value.origin);
  if (in_full || tensor.count() <= 8) return line + " =" + print_numbers(tensor);
  char hash[16];
  std::snprintf(hash, sizeof(hash), "%08x", static_cast<unsigned>(crc32_of(tensor.bytes())));
  return line + " = crc32 " + hash;
}

// The layer is not said where it is the default and nothing follows.
std::string print_layer(const Graph& graph, const Node& node) {
  const bool named = node.outputs.empty() || graph[node.outputs[0]].name != node.layer;
  if (!named && node.kind.empty() && node.scopes.empty()) return "";
  std::string text = " @ " + text::name(node.layer);
  if (!node.kind.empty()) text += " kind " + name(node.kind);
  if (!node.scopes.empty()) text += " in";
  for (const Scope& scope : node.scopes) text += " " + name(scope.name) + "#" + std::to_string(scope.call);
  return text;
}

template <class List, class Print>
std::string print_all(const List& list, Print print_one) {
  std::string text;
  for (const auto& one : list) text += (text.empty() ? "" : ", ") + print_one(one);
  return text;
}

std::string print_fields(const Op& op) {
  return op.visit([](const auto& o) {
    using Operator = std::remove_cvref_t<decltype(o)>;
    const Operator usual{};
    std::string text;
    Operator::fields([&](std::string_view field, auto member) {
      if (o.*member == usual.*member) return;
      text += " " + std::string(field) + "=" + print(o.*member);
    });
    return text;
  });
}

std::string print_node(const Graph& graph, const Node& node, const TextOptions& options) {
  const auto& values = node.outputs;
  std::string line = print_all(values, [&](ValueId v) { return name(graph[v].name); });
  if (line.size() < 6) line.resize(6, ' ');
  line += " = " + std::string(name_of(node.op)) + "(";
  line += print_all(node.inputs, [&](ValueId v) { return v ? name(graph[v].name) : std::string("_"); }) + ")";
  line += print_fields(node.op);
  if (options.types) line += " : " + print_all(values, [&](ValueId v) { return print_type(graph[v].type); });
  bool origins = false;
  for (const ValueId v : values) origins = origins || graph[v].origin.has_value();
  if (origins) {
    line += " <- " + print_all(values, [&](ValueId v) {
              return graph[v].origin ? print_origin(*graph[v].origin) : std::string("_");
            });
  }
  return line + print_layer(graph, node);
}

}  // namespace

std::string text_of(const Op& op) { return std::string(name_of(op)) + print_fields(op); }

std::string text_of(const Graph& graph, const TextOptions& options) {
  std::string text;
  if (!graph.name.empty() || !graph.source_format.empty()) {
    text += "graph  " + name(graph.name);
    if (!graph.source_format.empty()) text += " from " + name(graph.source_format);
    text += "\n";
  }
  for (const ValueId v : graph.inputs) {
    const Value& value = graph[v];
    text += "input  " + name(value.name) + " " + print_type(value.type);
    if (value.origin) text += " <- " + print_origin(*value.origin);
    text += "\n";
  }
  for (const Value& value : graph.values) {
    if (value.constant) text += print_constant(value, options.constants_in_full) + "\n";
  }
  for (const Node& node : graph.nodes) text += print_node(graph, node, options) + "\n";
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const std::string& value = graph[graph.outputs[i]].name;
    text += "output " + name(value);
    if (i < graph.output_names.size() && graph.output_names[i] != value) text += " as " + name(graph.output_names[i]);
    text += "\n";
  }
  return text;
}

}  // namespace convoy
