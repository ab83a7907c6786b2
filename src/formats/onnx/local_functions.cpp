// Source: onnx.proto (FunctionProto, NodeProto.overload), onnx/inliner/inliner.cc for what a call leaves out.
#include "formats/onnx/local_functions.h"

#include "base/words.h"

#include <span>
#include <tuple>

namespace convoy::onnx {

namespace {

constexpr int deepest_call = 64;
constexpr std::size_t most_nodes = std::size_t{1} << 20;

// What a body's names are called outside.
class Renamed {
 public:
  explicit Renamed(std::string prefix) : prefix_(std::move(prefix)) {}
  void bind(const std::string& formal, const std::string& actual) { names_[formal] = actual; }
  std::string operator()(const std::string& name) const {
    if (name.empty()) return {};
    const auto found = names_.find(name);
    return found == names_.end() ? prefix_ + name : found->second;
  }

 private:
  std::string prefix_;
  std::map<std::string, std::string> names_;
};

class Inliner {
 public:
  explicit Inliner(Model& model) : model_(model) {
    for (const ModelFunction& one : model.functions)
      functions_.emplace(std::tuple(one.domain, one.name, one.overload), &one);
  }

  Status run() { return expand(model_.graph, 0); }

 private:
  const ModelFunction* called_by(const ModelNode& node) const {
    const auto found = functions_.find(std::tuple(node.domain, node.type, node.overload));
    return found == functions_.end() ? nullptr : found->second;
  }

  Status expand(ModelGraph& graph, int depth) {
    auto nodes = expanded(std::move(graph.nodes), depth);
    if (!nodes) return pass(nodes);
    graph.nodes = *std::move(nodes);
    return {};
  }

  Result<std::vector<ModelNode>> expanded(std::vector<ModelNode> nodes, int depth) {
    std::vector<ModelNode> all;
    for (ModelNode& node : nodes) {
      for (Attribute& attribute : node.attributes)
        if (attribute.graph)
          if (auto done = expand(*attribute.graph, depth); !done) return pass(done);
      const ModelFunction* function = called_by(node);
      if (!function) {
        all.push_back(std::move(node));
        continue;
      }
      auto body = within("node '" + node.own_name() + "' (" + node.type + ")", body_for(node, *function, depth));
      if (!body) return pass(body);
      for (ModelNode& inner : *body) all.push_back(std::move(inner));
    }
    return all;
  }

  Result<std::vector<ModelNode>> body_for(const ModelNode& call, const ModelFunction& function, int depth) {
    if (depth >= deepest_call)
      return fail(Fault::Limit, "functions call each other more than " + std::to_string(deepest_call) + " deep");
    if (call.inputs.size() > function.inputs.size() || call.outputs.size() > function.outputs.size())
      return fail(Fault::Format, "gives " + std::to_string(call.inputs.size()) + " inputs and takes " +
                                     std::to_string(call.outputs.size()) + " results, and the function has " +
                                     std::to_string(function.inputs.size()) + " and " +
                                     std::to_string(function.outputs.size()));
    for (const auto& [domain, version] : function.opsets)
      if (const auto mine = model_.opsets.find(domain);
          domain.empty() && mine != model_.opsets.end() && mine->second != version)
        return fail(Fault::Unsupported, "its function is of operator set " + std::to_string(version) +
                                            ", and the model of " + std::to_string(mine->second));
    if (auto done = spend(function.nodes.size()); !done) return pass(done);
    Renamed renamed(fresh_prefix(call));
    for (std::size_t i = 0; i < function.inputs.size(); ++i)
      renamed.bind(function.inputs[i], i < call.inputs.size() ? call.inputs[i] : std::string());
    std::vector<ModelNode> body = function.nodes;
    std::vector<ModelNode> behind;  // results that are inputs, or given twice
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
      if (call.outputs[i].empty()) continue;
      const std::string& result = function.outputs[i];
      if (is_among(function.inputs, result) || is_among(std::span(function.outputs).first(i), result))
        behind.push_back({.type = "Identity", .inputs = {result}, .outputs = {call.outputs[i]}});
      else renamed.bind(result, call.outputs[i]);
    }
    for (ModelNode& node : body) {
      node.name = call.own_name() + "/" + node.own_name();
      if (auto done = adopt(node, call, function, renamed); !done) return pass(done);
    }
    for (ModelNode& node : behind) {
      node.inputs.front() = renamed(node.inputs.front());
      body.push_back(std::move(node));
    }
    return expanded(std::move(body), depth + 1);
  }

  // One that no name of the model begins with, but for what other calls made.
  std::string fresh_prefix(const ModelNode& call) {
    return call.own_name() + "/" + call.type + "#" + std::to_string(calls_++) + "/";
  }

  Status spend(std::size_t nodes) {
    added_ += nodes;
    if (added_ <= most_nodes) return {};
    return fail(Fault::Limit, "the bodies of functions have more than " + std::to_string(most_nodes) + " nodes");
  }

  // How many numbers and texts each copy holds by itself.
  static std::size_t length_of(const Attribute& a) {
    const std::size_t listed = a.floats.size() + a.integers.size() + a.texts.size() + a.text.size();
    return a.tensor ? listed + a.tensor->floats.size() + a.tensor->doubles.size() + a.tensor->integers.size() : listed;
  }

  Status adopt(ModelNode& node, const ModelNode& call, const ModelFunction& function, const Renamed& renamed) {
    for (std::string& name : node.inputs) name = renamed(name);
    for (std::string& name : node.outputs) name = renamed(name);
    std::vector<Attribute> attributes;
    for (Attribute& attribute : node.attributes) {
      if (!attribute.refers_to.empty()) {
        const Attribute* given = call.attribute(attribute.refers_to);
        if (!given) given = function.usual(attribute.refers_to);
        if (!given) continue;  // left out by the call as well
        Attribute said = *given;
        said.name = attribute.name;
        attribute = std::move(said);
      }
      if (auto done = spend(length_of(attribute) / 64); !done) return done;
      if (attribute.graph) {
        attribute.graph = std::make_shared<ModelGraph>(*attribute.graph);
        if (auto done = adopt(*attribute.graph, call, function, renamed); !done) return done;
      }
      attributes.push_back(std::move(attribute));
    }
    node.attributes = std::move(attributes);
    return {};
  }

  Status adopt(ModelGraph& graph, const ModelNode& call, const ModelFunction& function, const Renamed& renamed) {
    if (auto done = spend(graph.nodes.size() + graph.initializers.size()); !done) return done;
    for (StoredTensor& tensor : graph.initializers) tensor.name = renamed(tensor.name);
    for (auto* values : {&graph.inputs, &graph.outputs, &graph.infos})
      for (ValueInfo& value : *values) value.name = renamed(value.name);
    for (ModelNode& node : graph.nodes)
      if (auto done = adopt(node, call, function, renamed); !done) return done;
    return {};
  }

  Model& model_;
  std::map<std::tuple<std::string, std::string, std::string>, const ModelFunction*> functions_;
  std::size_t added_ = 0, calls_ = 0;
};

}  // namespace

Status inline_functions(Model& model) { return model.functions.empty() ? Status() : Inliner(model).run(); }

}  // namespace convoy::onnx
