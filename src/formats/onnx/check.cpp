// Walks graphs in their order, with the names that are known at each place.
#include "formats/onnx/check.h"

#include "formats/onnx/catalogue/catalogue.h"

#include <unordered_map>
#include <unordered_set>

namespace convoy::onnx {
namespace {

std::string_view word_of(char kind) {
  switch (kind) {
    case 'f': return "a number";
    case 'i': return "a whole number";
    case 's': return "text";
    case 't': return "a tensor";
    case 'g': return "a graph";
    case 'F': return "numbers";
    case 'I': return "whole numbers";
    case 'S': return "texts";
    default: return "something else";
  }
}

char letter_of(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::Float: return 'f';
    case AttributeKind::Integer: return 'i';
    case AttributeKind::Text: return 's';
    case AttributeKind::Tensor: return 't';
    case AttributeKind::Graph: return 'g';
    case AttributeKind::Floats: return 'F';
    case AttributeKind::Integers: return 'I';
    case AttributeKind::Texts: return 'S';
    case AttributeKind::Nothing: return 0;
    case AttributeKind::Other: return 'p';
  }
  return 0;
}

std::string counted(int least, int most) {
  if (least == most) return std::to_string(least);
  if (most > 1000) return std::to_string(least) + " or more";
  return std::to_string(least) + " to " + std::to_string(most);
}

class Checker {
 public:
  Checker(Maker maker, Size opset) : ours_(maker == Maker::Convoy), opset_(opset) {}

  Status check(const ModelGraph& whole) {
    Scope scope{{}, {}, nullptr};
    return graph(whole, scope);
  }

  Status kinds(const ModelNode& n) const {
    const bool own = n.domain.empty() || n.domain == "ai.onnx";
    const Signature* signature = own && opset_ >= oldest_read ? signature_of(n.type) : nullptr;
    if (ours_ && !signature) return broken("is no operator of ONNX");
    if (ours_ && !signature->row->versions.has(opset_)) return broken("is no operator of this operator set");
    std::unordered_set<std::string_view> names;
    for (const Attribute& a : n.attributes) {
      const std::string named = "attribute '" + a.name + "'";
      if (!names.insert(a.name).second) return broken(named + " is given twice");
      if (a.contradicts) return broken(named + " says that it is of one kind and holds another");
      const Parameter* known = signature ? signature->attribute(a.name) : nullptr;
      const char wanted = known ? known->kind : char{0};
      const char is = letter_of(a.kind);
      if (ours_ && (!known || is != wanted || !known->versions.has(opset_)))
        return broken(named + " is no such attribute of the operator");
      if (wanted != 0 && is != 0 && is != wanted && wanted != 'p' && a.refers_to.empty())
        return broken(named + " holds " + std::string(word_of(is)) + ", expected " + std::string(word_of(wanted)));
    }
    return signature ? counts(n, *signature) : Status();
  }

 private:
  struct Scope {
    std::unordered_set<std::string_view> given;
    std::unordered_map<std::string_view, const ModelNode*> later;  // who gives what is not given yet
    const Scope* outer;

    bool knows(std::string_view name) const { return given.contains(name) || (outer && outer->knows(name)); }
  };

  std::unexpected<Error> broken(std::string what) const {
    return fail(ours_ ? Fault::Internal : Fault::Format, std::move(what));
  }
  std::string place(const ModelNode& n) const {
    const std::string name = n.own_name();
    return "node '" + name + "' (" + n.type + ", opset " + std::to_string(opset_) + ")";
  }

  Status give(std::string_view name, Scope& scope, const char* what) const {
    if (name.empty()) return broken(std::string(what) + " has no name");
    if (!scope.given.insert(name).second) return broken("the name '" + std::string(name) + "' is given twice");
    return {};
  }

  Status graph(const ModelGraph& g, Scope& scope) {
    // Their names are unread, so that a node that reads one would pass for a broken one.
    if (g.sparse) return fail(Fault::Unsupported, "holds initializers as sparse tensors, which are not understood yet");
    for (const ValueInfo& input : g.inputs)
      if (auto s = give(input.name, scope, "an input"); !s) return s;
    const auto inputs = scope.given;
    std::unordered_set<std::string_view> initializers;
    for (const StoredTensor& tensor : g.initializers) {
      if (!initializers.insert(tensor.name).second)
        return broken("the name '" + tensor.name + "' is given twice, by two initializers");
      if (inputs.contains(tensor.name)) continue;  // the default of an input
      if (auto s = give(tensor.name, scope, "an initializer"); !s) return s;
    }
    for (const ModelNode& n : g.nodes)
      for (const std::string& output : n.outputs) scope.later.emplace(output, &n);
    std::unordered_set<std::string_view> names, read;
    for (const ModelNode& n : g.nodes) {
      if (auto s = within(place(n), node(n, scope)); !s) return s;
      if (ours_ && (n.name.empty() || !names.insert(n.name).second))
        return within(place(n), Status(broken("has no name of its own")));
      read.insert(n.inputs.begin(), n.inputs.end());
    }
    for (const ValueInfo& output : g.outputs)
      if (!scope.knows(output.name)) return broken("output '" + output.name + "' is given by no node");
    for (const StoredTensor& tensor : g.initializers)
      if (ours_ && !read.contains(tensor.name)) return broken("initializer '" + tensor.name + "' is read by no node");
    return {};
  }

  Status node(const ModelNode& n, Scope& scope) {
    for (const std::string& input : n.inputs) {
      if (input.empty() || scope.knows(input)) continue;
      const auto found = scope.later.find(input);
      if (found == scope.later.end()) return broken("reads '" + input + "', which no node before it gives");
      if (found->second == &n) return broken("reads '" + input + "', which it gives itself");
      return broken("reads '" + input + "', which no node before it gives: node '" + found->second->name +
                    "' gives it further down, and nodes have to stand in an order of computation");
    }
    if (auto s = kinds(n); !s) return s;
    for (const Attribute& attribute : n.attributes) {
      if (!attribute.graph) continue;
      Scope inner{{}, {}, &scope};
      if (auto s = within("attribute '" + attribute.name + "'", graph(*attribute.graph, inner)); !s) return s;
    }
    for (const std::string& output : n.outputs) {
      if (output.empty()) continue;
      if (auto s = give(output, scope, "a result"); !s) return s;
    }
    return {};
  }

  Status counts(const ModelNode& n, const Signature& signature) const {
    const auto inputs = static_cast<int>(n.inputs.size()), outputs = static_cast<int>(n.outputs.size());
    const Signature::Count count = signature.count_of_inputs(ours_ ? std::optional(opset_) : std::nullopt);
    const ResultCount& results = signature.row->results;
    if (inputs < count.least || inputs > count.most)
      return broken("has " + std::to_string(inputs) + " inputs, expected " + counted(count.least, count.most));
    if (outputs > results.most || outputs < std::min(results.least, 1))
      return broken("has " + std::to_string(outputs) + " results, expected " + counted(results.least, results.most));
    return {};
  }

  bool ours_;
  Size opset_;
};

}  // namespace

Status check_model(const Model& model, Maker maker) {
  const auto opset = model.opsets.find("");
  return Checker(maker, opset == model.opsets.end() ? 1 : opset->second).check(model.graph);
}

Status check_node(const ModelNode& node, Size opset) { return Checker(Maker::Somebody, opset).kinds(node); }

}  // namespace convoy::onnx
