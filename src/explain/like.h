// Which other words and numbers read the same cells as a layer does? The facts behind `convoy pad --solve --like`.
#pragma once
#include "containers/json.h"
#include "convoy/result.h"
#include "explain/layer.h"
#include "ops/agreement.h"

#include <string>
#include <vector>

namespace convoy::explain {

// A word that frameworks have for a padding, beside the layer: on each axis, at which sizes both read the same.
struct LikeWord {
  std::string words;              // "same by TensorFlow's rule", "PyTorch padding=1"
  std::vector<std::string> holds;  // one per axis: "the same", "even sizes", "starts one cell earlier", "other size"
  bool same = false;              // on every axis, at the size asked about or at every size
};

struct LikeAxis {
  std::string name;
  Window window;
  std::optional<Size> in, out;
  std::optional<Size> before;     // nothing: it changes with the size
  std::optional<Range> after;     // every count that reads the same cells; of a crop exactly one
};

struct LikeAnswer {
  bool transposed = false;
  std::vector<LikeAxis> axes;
  std::vector<LikeWord> words;    // those that are the same first
};

// Fails (Usage): no window fits at the layer's size.
Result<LikeAnswer> like(const Layer& layer);

std::string text_of(const LikeAnswer& answer);
Json json_of(const LikeAnswer& answer);

}  // namespace convoy::explain
