// The nodes that stand for one which the standard's rows do not know as it is.
#pragma once
#include "formats/onnx/model.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convoy::onnx {

// Makes them in their order; values in between are named after the node's first result.
class Spelling {
 public:
  explicit Spelling(const ModelNode& node) : node_(node) {}

  std::string input(std::size_t i) const { return i < node_.inputs.size() ? node_.inputs[i] : ""; }
  std::string result() const { return node_.outputs.empty() ? "" : node_.outputs.front(); }

  // Adds a node; its result goes by the word behind the whole's, or by the whole's own name.
  std::string add(std::string type, std::vector<std::string> inputs, std::string_view word,
                  std::vector<Attribute> attributes = {}) {
    ModelNode made;
    made.type = std::move(type);
    made.name = word.empty() ? node_.name : node_.name + "/" + std::string(word);
    made.inputs = std::move(inputs);
    made.outputs = {word.empty() ? result() : result() + "/" + std::string(word)};
    made.attributes = std::move(attributes);
    nodes.push_back(std::move(made));
    return nodes.back().outputs.front();
  }
  static Attribute whole(std::string name, std::int64_t value) {
    Attribute made;
    made.name = std::move(name);
    made.kind = AttributeKind::Integer;
    made.integer = value;
    return made;
  }
  static Attribute number(std::string name, float value) {
    Attribute made;
    made.name = std::move(name);
    made.kind = AttributeKind::Float;
    made.number = value;
    return made;
  }
  static Attribute wholes(std::string name, std::vector<std::int64_t> values) {
    Attribute made;
    made.name = std::move(name);
    made.kind = AttributeKind::Integers;
    made.integers = std::move(values);
    return made;
  }
  static Attribute numbers(std::string name, std::vector<float> values) {
    Attribute made;
    made.name = std::move(name);
    made.kind = AttributeKind::Floats;
    made.floats = std::move(values);
    return made;
  }

  std::vector<ModelNode> nodes;

 private:
  const ModelNode& node_;
};

}  // namespace convoy::onnx
