// What a graph computes from constants alone, a port of it may hold computed: rounded to float32 on the way, in numbers that
// are taken to be exact. How far that moves the values behind it.
#pragma once
#include "prove/bound.h"

#include <optional>
#include <vector>

namespace convoy {

struct Beforehand {
  bool known = false;  // a constant, or made of constants alone
  std::optional<Tensor> error;  // float32, of the value's shape; none: nothing on the way to it is known and rounded
  Size terms = 0;
  double limit = 0;
};

// Of a node's outputs, of these types, which were computed in float64. `read`: of its inputs; null: absent. Fails: as the bounds do.
Result<std::vector<Beforehand>> followed_beforehand(const Node& node, const std::vector<const Tensor*>& inputs,
                                                    const std::vector<const Beforehand*>& read,
                                                    const std::vector<Tensor>& outputs, const std::vector<DType>& types,
                                                    int threads);

}  // namespace convoy
