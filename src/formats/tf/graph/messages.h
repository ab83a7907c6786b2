// The messages of TensorFlow's files as plain structs: graphs, functions, signatures, with names as text and tensors as
// views into the file. Nothing is resolved or checked against anything else here.
#pragma once
#include "containers/proto.h"
#include "convoy/tensor.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace convoy::tf {

// Numbers as a node or a signature says them. `content`: all of them as bytes; otherwise a list whose last one repeats.
struct StoredTensor {
  Size type = 0;  // DataType
  std::optional<Sizes> shape;  // nothing: of unknown rank
  Bytes content;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<std::int64_t> integers;  // int_val, int64_val, bool_val, half_val, uint32_val, uint64_val
  std::vector<Bytes> texts;
};

// A size of -1 is free.
struct StoredShape {
  std::optional<Sizes> sizes;  // nothing: of unknown rank
};

struct NodeAttribute;
using NodeAttributes = std::map<std::string, NodeAttribute, std::less<>>;

enum class AttributeKind : std::uint8_t {
  Nothing,
  List,
  Text,
  Integer,
  Real,
  Truth,
  Type,
  Shape,
  Tensor,
  Name,
  Function
};

struct NodeAttribute {
  AttributeKind kind = AttributeKind::Nothing;
  std::string text;  // Text; of Function its name, of Name the attribute of the function around it
  std::int64_t integer = 0;  // Integer, Truth, Type
  float real = 0;
  StoredShape shape;
  StoredTensor tensor;
  // Of List: one of these.
  std::vector<std::string> texts, functions;
  std::vector<std::int64_t> integers, types;
  std::vector<float> reals;
  std::vector<std::int64_t> truths;
  std::vector<StoredShape> shapes;
};

struct GraphNode {
  std::string name, op;
  std::vector<std::string> inputs;  // "node", "node:1", "^node"; in functions "node:output:0" and arguments
  NodeAttributes attributes;

  const NodeAttribute* attribute(std::string_view wanted) const;
  std::string text(std::string_view wanted) const;  // empty where there is none
};

struct FunctionArgument {
  std::string name;
  Size type = 0;
};

struct StoredFunction {
  std::string name;
  std::vector<FunctionArgument> arguments, results;
  std::vector<GraphNode> nodes;
  std::map<std::string, std::string, std::less<>> returns;  // result -> "node:output:0"
};

struct StoredGraph {
  std::vector<GraphNode> nodes;
  std::map<std::string, StoredFunction, std::less<>> functions;
  Size producer = 0;  // versions.producer
};

struct SignatureTensor {
  std::string name;  // "node:0"
  Size type = 0;
  StoredShape shape;
};
struct StoredSignature {
  std::map<std::string, SignatureTensor> inputs, outputs;
};

struct MetaGraph {
  std::vector<std::string> tags;
  std::string version;  // of TensorFlow
  StoredGraph graph;
  std::map<std::string, StoredSignature> signatures;
};

// Fail: bytes that are no such message.
Result<StoredGraph> parse_graph(Bytes bytes);
Result<MetaGraph> parse_meta_graph(Bytes bytes);
Result<std::vector<MetaGraph>> parse_saved_model(Bytes bytes);
Status parse_shape(Bytes bytes, StoredShape& shape);

}  // namespace convoy::tf
