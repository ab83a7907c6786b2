// Constants in another order, each made once however many nodes read it, with an origin that says how it was reordered.
#pragma once
#include "graph/patch.h"
#include "ops/padding.h"

#include <map>
#include <optional>
#include <string>
#include <tuple>

namespace convoy {

// The origin of a value of `shape` and `origin` that is reshaped to `split` (empty: as it is) and then permuted.
// Nothing where the two steps have no common split, such as 6 = 2 * 3 against 6 = 3 * 2.
std::optional<Origin> followed_by(const Origin& origin, const Sizes& shape, const Sizes& split,
                                  const Sizes& permutation);

// The cells at `indices` along `axis`; -1 stands for zeros.
Tensor cells_along(const Tensor& tensor, Size axis, const Sizes& indices);
// A kernel whose taps along `axis` stand as far apart as the window's dilation says, zeros between them. Fails: Budget,
// where the file's dilation makes more of it than may be held.
Result<Tensor> spread_along(const Tensor& kernel, Size axis, Window window);

class Constants {
 public:
  Constants(const Graph& graph, Patch& patch) : graph_(&graph), patch_(&patch) {}

  // Reshaped to `split` (empty: as it is), permuted, reshaped to `shape` (empty: as it is). The value must be constant.
  ValueId reordered(ValueId constant, const Sizes& split, const Sizes& permutation, const Sizes& shape = {});
  // The cells at `indices` along `axis`; a matrix is transposed afterwards where asked. Has no origin, because no
  // permutation of axes says it.
  ValueId taken(ValueId constant, Size axis, const Sizes& indices, bool transposes = false);

 private:
  const Graph* graph_;
  Patch* patch_;
  std::map<std::tuple<ValueId, Sizes, Sizes, Sizes>, ValueId> made_;
};

}  // namespace convoy
