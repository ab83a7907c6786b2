// The source graph in float64, layer by layer, as far as somebody asks: what the target is held to.
#pragma once
#include "graph/graph.h"
#include "prove/beforehand.h"
#include "prove/prove.h"
#include "prove/substitute.h"
#include "run/run.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace convoy {

// Counts the bytes that values hold, and refuses before more are taken than allowed.
class Budget {
 public:
  explicit Budget(Size limit) : limit_(limit) {}
  Status take(Size bytes, std::string_view what);
  void give(Size bytes) { used_ -= bytes; }

 private:
  Size limit_, used_ = 0;
};

// Bytes that a value of this type takes at `width` bytes a number; 0 where its size is not known.
Size bytes_of(const TensorType& type, Size width);

// What the graph makes of these inputs, run freely; its weights are let go of on the way.
Result<std::vector<Tensor>> outputs_of(const Graph& graph, const std::vector<Tensor>& inputs, Precision precision,
                                       const ProofOptions& options);

class Reference {
 public:
  // Per value of the graph: how often it will be asked for and released from outside; whether both graphs carry it and
  // go on from its rounded numbers; and whether they go on from fresh random numbers in its place instead.
  // With `whole`, a range per value: the fresh numbers are whole ones, and it is followed which values are exact.
  struct Roles {
    std::vector<int> uses;
    std::vector<bool> meets, fresh;
    std::vector<WholeRange> whole{};
    const WholeWeights* weights = nullptr;  // in place of the graph's own
  };
  // `graph`: all shapes known.
  Reference(const Graph& graph, Roles roles, const ProofOptions& options, Budget& budget);
  void feed(const std::vector<Tensor>& inputs);

  // The value in float64 (whole numbers as they are), computed now if need be. Fails: as run_node does; the budget.
  Result<Tensor> value(ValueId v);
  // What both graphs go on from: the value rounded to float32, or the fresh numbers in its place.
  Result<Tensor> met(ValueId v);
  // Of a value that was computed: how far it may be off in a port that computed beforehand, and in float32, what is made of
  // constants alone. None: nothing on the way is.
  const Beforehand& beforehand(ValueId v) const { return held_[v.slot()].beforehand; }
  // Of a value that was computed, with whole numbers: whether float32 rounds nothing on the way to it.
  bool is_exact(ValueId v) const { return held_[v.slot()].is_exact; }
  void release(ValueId v);

  // Whether the source makes this value by the same product of the very numbers that the target's node reads, and both graphs go
  // on from fresh ones: then the two are alike whatever comes out, so nobody computes it, and zeros stand in its place.
  // `inputs`: of the target's node; null also where it reads a constant.
  Result<bool> is_made_alike(ValueId v, const Graph& target, const Node& node,
                             const std::vector<const Tensor*>& inputs);

 private:
  bool are_alike(ValueId of_source, const Value& of_target) const;  // two constants
  Status compute_next();
  std::vector<Tensor> placeholders(const Node& node);
  Result<std::vector<Tensor>> evaluate(const Node& node, const std::vector<const Tensor*>& inputs);
  Status follow_known(const Node& node, const std::vector<const Tensor*>& inputs, const std::vector<Tensor>& outputs);

  struct Held {
    std::optional<Tensor> exact, met;
    int uses = 0;
    Size bytes = 0;
    bool is_exact = true;
    Beforehand beforehand;
  };
  const Graph& graph_;
  std::vector<Held> held_;
  std::vector<bool> meets_, fresh_;
  std::vector<WholeRange> whole_;
  const WholeWeights* weights_;
  std::vector<bool> is_left_out_;  // by value: not computed
  std::shared_ptr<const std::vector<std::byte>> zeros_;
  std::size_t next_ = 0;  // node to be computed
  int threads_;
  std::uint64_t seed_;
  Budget& budget_;
};

}  // namespace convoy
