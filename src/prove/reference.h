// The source graph in float64, layer by layer, as far as somebody asks: what the target is held to.
#pragma once
#include "graph/graph.h"
#include "prove/prove.h"

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

// Bytes that a value of this fact takes at `width` bytes a number; 0 where its size is not known.
Size bytes_of(const Fact& fact, Size width);

class Reference {
 public:
  // `graph`: all shapes known. `uses`: how often each value will be asked for and released from outside. `meets`: the
  // values that both graphs carry, from whose rounded numbers both go on.
  Reference(const Graph& graph, std::vector<int> uses, std::vector<bool> meets, const ProofOptions& options,
            Budget& budget);
  void feed(const std::vector<Tensor>& inputs);

  // The value in float64 (whole numbers as they are), computed now if need be. Fails: as run_node does; the budget.
  Result<Tensor> value(ValueId v);
  void release(ValueId v);

 private:
  Status compute_next();
  Result<Tensor> read(ValueId v);

  struct Held {
    std::optional<Tensor> exact, rounded;
    int uses = 0;
    Size bytes = 0;
  };
  const Graph& graph_;
  std::vector<Held> held_;
  std::vector<bool> meets_;
  std::size_t next_ = 0;  // node to be computed
  int threads_;
  Budget& budget_;
};

}  // namespace convoy
