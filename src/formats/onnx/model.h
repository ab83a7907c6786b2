// An ONNX file as plain structs: what the messages say, with names as text and tensors as views into the file. Nothing
// is resolved or checked against anything else here.
#pragma once
#include "containers/proto.h"
#include "convoy/tensor.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace convoy::onnx {

// Numbers that stand in the file itself, or in a file beside it.
struct StoredTensor {
  std::string name;
  Sizes dims;
  Size type = 0;  // TensorProto.DataType
  bool raw = false, external = false;
  Bytes raw_bytes;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<std::int64_t> integers;  // int32_data, int64_data, uint64_data
  bool texts = false;
  std::map<std::string, std::string> outside;  // external_data: location, offset, length, checksum
};

struct ModelGraph;

enum class AttributeKind : std::uint8_t {
  Nothing,
  Float,
  Integer,
  Text,
  Tensor,
  Graph,
  Floats,
  Integers,
  Texts,
  Other
};

struct Attribute {
  std::string name;
  AttributeKind kind = AttributeKind::Nothing;
  float number = 0;
  std::int64_t integer = 0;
  std::string text;
  std::optional<StoredTensor> tensor;
  std::shared_ptr<ModelGraph> graph;
  std::vector<float> floats;
  std::vector<std::int64_t> integers;
  std::vector<std::string> texts;
  bool contradicts = false;  // the kind that it says is not that of what it holds
  std::string refers_to;  // an attribute of the function around it
};

struct ModelNode {
  std::string name, type, domain;
  std::vector<std::string> inputs, outputs;  // "": absent
  std::vector<Attribute> attributes;
  std::string overload{};  // of a function of the model's own

  const Attribute* attribute(std::string_view wanted) const;
  // Its name, or its first result's where it has none.
  const std::string& own_name() const;
};

// A size: a number, a word for one, or nothing.
struct NamedDim {
  std::optional<Size> size;
  std::string word;
};

struct ValueInfo {
  std::string name;
  std::optional<Size> type;  // of a tensor; nothing for sequences and such
  std::optional<std::vector<NamedDim>> shape;
};

struct ModelGraph {
  std::string name;
  std::vector<ModelNode> nodes;
  std::vector<StoredTensor> initializers;
  bool sparse = false;
  std::vector<ValueInfo> inputs, outputs, infos;
};

// A function that the model brings along; its attributes may have a usual value.
struct ModelFunction {
  std::string name, domain, overload;
  std::vector<std::string> inputs, outputs;
  std::vector<ModelNode> nodes;
  std::vector<Attribute> attributes;
  std::map<std::string, Size> opsets;

  const Attribute* usual(std::string_view attribute) const;
};

struct Model {
  Size ir_version = 0;
  std::string producer, producer_version;
  std::map<std::string, Size> opsets;  // by domain; "ai.onnx" is ""
  ModelGraph graph;
  std::vector<ModelFunction> functions;
};

// Calls of the model's own functions are its functions' nodes already.
// Fails: bytes that are no such message, subgraphs nested more than 16 deep, no graph; what inline_functions() refuses.
Result<Model> parse_model(Bytes bytes);

// The tensor of a file in the form of TensorProto alone (a test's input_0.pb).
Result<StoredTensor> parse_tensor(Bytes bytes);

}  // namespace convoy::onnx
