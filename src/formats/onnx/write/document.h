// An ONNX model as protobuf, laid out before a byte is written: small messages are kept as text, the numbers of tensors
// stay where they are until they are appended.
#pragma once
#include "base/bytes.h"
#include "convoy/tensor.h"
#include "ops/tensor_type.h"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace convoy {
struct Node;
}

namespace convoy::onnx {

// What a node's attribute holds.
using AttributeValue = std::variant<Size, double, std::string, Sizes, std::vector<double>, std::vector<std::string>>;
struct DocumentAttribute {
  std::string_view name;
  AttributeValue value;
};
using Attributes = std::vector<DocumentAttribute>;

struct DocumentNode {
  std::string op, name;
  std::vector<std::string> inputs, outputs;
  Attributes attributes;
  const Node* stands_for = nullptr;  // of the graph; null: none of it
};
struct DocumentTensor {
  std::string name;
  Tensor tensor;
};
// An unknown size is a name that all values share where they must agree ("N"), or one of its own.
struct DocumentValue {
  std::string name;
  TensorType type;
  std::vector<std::string> unknown;  // one per axis, empty where the size is known
  std::string says;  // for people; empty: nothing
};

struct Document {
  std::string producer, producer_version, graph_name;
  Size opset = 17;
  std::vector<DocumentNode> nodes;
  std::vector<DocumentTensor> initializers;
  std::vector<DocumentValue> inputs, outputs, values;
};

struct Model;
// The document as the model that a reader will find, without the numbers of its tensors.
Model model_of(const Document& document);

// The lowest IR version that goes with an operator set. Source: ONNX Versioning.md.
Size ir_version_of(Size opset);
// TensorProto.DataType
Size data_type_of(DType dtype);

// Tensors of at least 1 KiB go to a file beside the model, at offsets that are multiples of 4096 (ExternalData.md).
struct ExternalData {
  std::string location;  // as the model names it: relative, beside it
  std::function<Status(Bytes)> append;
};

// The same document gives the same bytes. `external` null: everything in one file.
// Fails (Limit): a model of 2 GiB or more in one file, which protobuf does not allow.
Status write_document(const Document& document, const std::function<Status(Bytes)>& append,
                      const ExternalData* external = nullptr);

}  // namespace convoy::onnx
