// What is known of the names of a model while it is read.
#pragma once
#include "formats/onnx/numbers.h"
#include "graph/graph.h"

#include <unordered_map>

namespace convoy::onnx {

// What is known of a name: a value of the graph, numbers, or both.
struct Known {
  ValueId value;
  std::optional<Tensor> tensor;
  std::optional<Numbers> numbers;
  bool trainable = false;
  bool of_shapes = false;  // computed from shapes, not given
  std::string name{};  // of the initializer whose numbers these are
  std::optional<Tensor> filled{};  // one number, as many times as `fill` says, of which not all is known beforehand
  std::optional<Numbers> fill{};
  std::optional<Number>
      each{};  // what every cell of it is, where it is told of as many cells as come when the model runs
  std::string unfollowed{};  // the node that made of free sizes what no formula says: "node 'a' (Floor)"
  Size narrow = 0;  // the file's element type, where these are carried as a wider one (narrow_types.h)

  bool is_zeros() const { return filled && filled->doubles().front() == 0; }
};

// The names of one graph; a subgraph also sees those around it.
class Names {
 public:
  explicit Names(Names* outer = nullptr, bool for_turns = false) : outer_(outer), for_turns_(for_turns) {}
  Known* find(const std::string& name) {
    const auto found = known_.find(name);
    if (found != known_.end()) return &found->second;
    return outer_ ? outer_->find(name) : nullptr;
  }
  // Whether it is one of what all turns of a loop, of which this is one, see alike.
  bool held_for_turns(const std::string& name) const {
    return outer_ && outer_->for_turns_ && outer_->known_.contains(name);
  }
  Status add(const std::string& name, Known known) {
    if (name.empty()) return {};
    if (!known_.emplace(name, std::move(known)).second)
      return fail(Fault::Format, "the name '" + name + "' is given twice");
    return {};
  }

 private:
  std::unordered_map<std::string, Known> known_;  // its elements stay where they are
  Names* outer_;
  bool for_turns_;
};

}  // namespace convoy::onnx
