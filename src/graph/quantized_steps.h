// Where a graph rounds real numbers to whole ones of a scale and a zero point, or widens such ones again, in the single steps
// that both are spelt out in.
#pragma once
#include "graph/graph.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace convoy {

// One stretch: whole = within the type(round(real / scale) + zero), or real = (whole - zero) * scale.
struct QuantizedStretch {
  bool rounds = false;  // from real numbers to whole ones
  ValueId x;  // what comes in
  DType held = DType::I8;  // of the whole numbers
  ValueId scale;  // a constant of float32: one number, or one for each place along `axis`
  std::optional<Size> axis;  // absent: one scale for all
  std::vector<std::int64_t> zeros;  // as many as scales
  std::vector<NodeId> nodes;  // the last one gives the result
};

struct QuantizedStretches {
  std::map<NodeId, QuantizedStretch> by_last;
  std::vector<char> goes;  // by node: inside a stretch, in front of its last one
};

// Those whose steps are all of one layer: of other layers division and rounding may mean something else.
QuantizedStretches quantized_stretches(const Graph& graph);

// A rounding and the widening behind it that undoes its scale, of one scale.
struct SteppedPair {
  QuantizedStretch rounding, widening;
};
std::vector<SteppedPair> stepped_pairs(const Graph& graph);

// Roundings that multiply by the inverse of the scale that is multiplied by behind them, as PyTorch's exported programs do, divide by
// it, which QuantizeLinear does. How many there were.
std::size_t divide_by_scales(Graph& graph);
std::size_t inverse_scales(const Graph& graph);

// Such pairs become clips to the range of their steps: the ends may be the only ReLU that there is.
struct RangesKept {
  std::size_t left_out = 0, stay = 0;  // pairs; whole numbers that are widened and stay
};
RangesKept keep_ranges_alone(Graph& graph);

// Which scale each number of a tensor has, where they lie along `axis` and the axes behind it as far as they reach; of one scale
// the axis says nothing.
class ScalePlaces {
 public:
  ScalePlaces(const Sizes& shape, const Quantization& as, Size axis);
  std::size_t operator()(std::size_t i) const { return count_ == 1 ? 0 : i / inner_ % count_; }

 private:
  std::size_t count_, inner_ = 1;
};

// Whole numbers that stand for those of a weight, as a file holds them.
struct HeldWeight {
  Tensor whole;
  Quantization as;
};

// By the names of the values.
using HeldWeights = std::map<std::string, HeldWeight, std::less<>>;

// The whole numbers that stand for these of float32, exactly and every one: those of the file where the tensor is as it was, else
// others of its type and scales, along whatever axis fits. Nothing: there are none.
struct HeldAs {
  Tensor whole;
  std::optional<Size> axis;
};
std::optional<HeldAs> held_as(const Tensor& real, const HeldWeight& held);

// The least and the most number of a type of 8 or 16 bits. Nothing: another type.
struct WholeBounds {
  double least = 0, most = 0;
};
std::optional<WholeBounds> whole_bounds(DType dtype);

}  // namespace convoy
