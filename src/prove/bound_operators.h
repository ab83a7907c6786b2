// The rounding bound of each operator, and what the files that hold them share.
#pragma once
#include "prove/bound.h"
#include "run/run.h"

#include <functional>
#include <span>

namespace convoy {

using Bounds = Result<NodeBound>;

// The operator rounds nothing, and its inputs are exact.
inline NodeBound exact(const Evaluation& at) { return {std::vector<std::optional<Tensor>>(at.outputs.size()), 0, 0}; }

// ---- bound.cpp: what moves numbers, multiplies and sums, or walks along time
Bounds bound(const Conv& op, const Evaluation& at);
Bounds bound(const ConvTranspose& op, const Evaluation& at);
Bounds bound(const Linear& op, const Evaluation& at);
Bounds bound(const MatMul& op, const Evaluation& at);
Bounds bound(const Einsum& op, const Evaluation& at);
Bounds bound(const Embedding& op, const Evaluation& at);
Bounds bound(const MaxPool& op, const Evaluation& at);
Bounds bound(const AveragePool& op, const Evaluation& at);
Bounds bound(const LpPool& op, const Evaluation& at);
Bounds bound(const MaxUnpool& op, const Evaluation& at);
Bounds bound(const Unfold& op, const Evaluation& at);
Bounds bound(const Fold& op, const Evaluation& at);
Bounds bound(const AdaptivePool& op, const Evaluation& at);
Bounds bound(const Reduce& op, const Evaluation& at);
Bounds bound(const Resize& op, const Evaluation& at);
Bounds bound(const Pad& op, const Evaluation& at);
Bounds bound(const PadToWindow& op, const Evaluation& at);
Bounds bound(const Reshape& op, const Evaluation& at);
Bounds bound(const Flatten& op, const Evaluation& at);
Bounds bound(const Transpose& op, const Evaluation& at);
Bounds bound(const Unsqueeze& op, const Evaluation& at);
Bounds bound(const Squeeze& op, const Evaluation& at);
Bounds bound(const DepthToSpace& op, const Evaluation& at);
Bounds bound(const SpaceToDepth& op, const Evaluation& at);
Bounds bound(const SpaceToBatch& op, const Evaluation& at);
Bounds bound(const BatchToSpace& op, const Evaluation& at);
Bounds bound(const Concat& op, const Evaluation& at);
Bounds bound(const Slice& op, const Evaluation& at);
Bounds bound(const Split& op, const Evaluation& at);
Bounds bound(const Tile& op, const Evaluation& at);
Bounds bound(const Take& op, const Evaluation& at);
Bounds bound(const Identity& op, const Evaluation& at);
Bounds bound(const Dropout& op, const Evaluation& at);
Bounds bound(const Lstm& op, const Evaluation& at);
Bounds bound(const Gru& op, const Evaluation& at);
Bounds bound(const SimpleRnn& op, const Evaluation& at);

// ---- bound_chosen.cpp: what is found, ordered or looked up by numbers, and sums that run
Bounds bound(const Gather& op, const Evaluation& at);
Bounds bound(const GatherElements& op, const Evaluation& at);
Bounds bound(const ExpandLike& op, const Evaluation& at);
Bounds bound(const ArgExtreme& op, const Evaluation& at);
Bounds bound(const Hardmax& op, const Evaluation& at);
Bounds bound(const TopK& op, const Evaluation& at);
Bounds bound(const Accumulate& op, const Evaluation& at);
Bounds bound(const GridSample& op, const Evaluation& at);

// ---- bound_pointwise.cpp: functions of one number or two
Bounds bound(const Unary& op, const Evaluation& at);
Bounds bound(const Relu& op, const Evaluation& at);
Bounds bound(const Elu& op, const Evaluation& at);
Bounds bound(const Celu& op, const Evaluation& at);
Bounds bound(const Clip& op, const Evaluation& at);
Bounds bound(const HardSigmoid& op, const Evaluation& at);
Bounds bound(const Shrink& op, const Evaluation& at);
Bounds bound(const Squareplus& op, const Evaluation& at);
Bounds bound(const Softplus& op, const Evaluation& at);
Bounds bound(const Threshold& op, const Evaluation& at);
Bounds bound(const Glu& op, const Evaluation& at);
Bounds bound(const PRelu& op, const Evaluation& at);
Bounds bound(const Binary& op, const Evaluation& at);
Bounds bound(const Where& op, const Evaluation& at);
Bounds bound(const Affine& op, const Evaluation& at);
Bounds bound(const Cast& op, const Evaluation& at);

// ---- bound_normalize.cpp: numbers brought to a common scale
Bounds bound(const Softmax& op, const Evaluation& at);
Bounds bound(const BatchNorm& op, const Evaluation& at);
Bounds bound(const LayerNorm& op, const Evaluation& at);
Bounds bound(const GroupNorm& op, const Evaluation& at);
Bounds bound(const RmsNorm& op, const Evaluation& at);
Bounds bound(const UnitNorm& op, const Evaluation& at);
Bounds bound(const LengthNorm& op, const Evaluation& at);
Bounds bound(const LocalResponseNorm& op, const Evaluation& at);

// ---- shared
// The numbers as float32 under the same shape: a view where they are that already.
Tensor singles(const Tensor& tensor);
// |x| * scale, plus `more` where given.
Tensor magnitude(const Tensor& tensor, double scale = 1, const Tensor* more = nullptr);
bool is_off(const Evaluation& at);  // whether some input carries an error

// Runs the node, with another operator if one is given, on these inputs in float32.
Result<std::vector<Tensor>> rerun(const Evaluation& at, const std::vector<const Tensor*>& inputs);
Result<std::vector<Tensor>> rerun(const Evaluation& at, Op op, const std::vector<const Tensor*>& inputs);

// The operator's outputs are exact, and errors go through `op` as the numbers do.
Bounds moved(const Evaluation& at, Op op);
// For element-wise functions: local(i) is the rounding error at output element i in absolute terms; the inputs' errors
// are followed by evaluating the node in float64 at both ends of what each input may be.
Bounds pointwise(const Evaluation& at, double limit, const std::function<double(std::size_t)>& local);

// For every element of a tensor of `shape`, its place within the sub-tensor spanned by `axes`, row-major.
std::vector<std::int32_t> index_along(const Sizes& shape, const Sizes& axes);

}  // namespace convoy
