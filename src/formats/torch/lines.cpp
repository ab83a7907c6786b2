// A few operators as lines of PyTorch: the words of the module's writer, with layers called where they are made.
#include "formats/pasted.h"
#include "formats/torch/call.h"
#include "formats/torch/torch.h"

#include <algorithm>
#include <utility>

namespace convoy::torch {
namespace {

std::size_t key_of(ValueId v) { return v.slot(); }

std::map<std::size_t, int> reads_in(const Graph& graph) {
  std::map<std::size_t, int> reads;
  for (const Node& node : graph.nodes)
    for (const ValueId v : node.inputs)
      if (v) ++reads[key_of(v)];
  return reads;
}

class PastedCall final : public Call {
 public:
  PastedCall(const Graph& graph, const std::vector<std::string>& names, std::span<const std::string_view> always)
      : lines_(reads_in(graph)),
        always_(always) {
    graph_ = &graph;
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) lines_.input(key_of(graph.inputs[i]), names[i]);
  }

  Result<std::vector<std::string>> write() {
    for (const Node& node : graph_->nodes) {
      node_ = &node;
      layer_.clear();
      if (auto ok = within(place_of(node), write_node(node.op, *this)); !ok) return pass(ok);
      if (!lacking_.empty()) return within(place_of(node), Result<std::vector<std::string>>(refused(lacking_)));
    }
    return lines_.lines(key_of(graph_->outputs[0]));
  }

  Expression follow(std::size_t i) override { return read(i, false); }
  Expression begin(std::size_t i) override { return read(i, false); }
  std::string name(std::size_t i) override { return read(i, true).text; }
  std::string module(std::string constructor, std::vector<State>, std::string, std::vector<std::string>) override {
    return layer_ = std::move(constructor);
  }
  std::string tensor(State state) override { return identifier(state.name); }
  bool says_defaults() const override { return false; }
  bool always_says(std::string_view argument) const override {
    return std::ranges::find(always_, argument) != always_.end();
  }
  void helper(std::string_view) override { lacking_ = "what takes a function of its own"; }
  std::string class_of(const std::string& wanted, const std::string&) override {
    lacking_ = "what takes a class of its own";
    return wanted;
  }
  void result(Expression e) override { lines_.made(key_of(node_->outputs[0]), std::move(e), layer_); }
  void results(std::string) override { lacking_ = "what gives several tensors"; }

 private:
  Expression read(std::size_t i, bool named) {
    if (const Tensor* numbers = constant(i)) {
      if (numbers->count() == 1 && numbers->dtype() == DType::F32)
        return {number_of_float(numbers->floats()[0]), Binds::Atom, 0, true, {}};
      const std::string& full = (*graph_)[node_->inputs[i]].name;
      return {identifier(full.substr(full.find_last_of("/.") + 1)), Binds::Atom, 0, true, {}};
    }
    return lines_.read(key_of(node_->inputs[i]), named);
  }

  python::Pasted lines_;
  std::span<const std::string_view> always_;
  std::string layer_, lacking_;
};

}  // namespace

Result<std::vector<std::string>> lines_of(const Graph& graph, const std::vector<std::string>& names,
                                          std::span<const std::string_view> always) {
  return PastedCall(graph, names, always).write();
}

}  // namespace convoy::torch
