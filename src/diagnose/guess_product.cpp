// What goes wrong with dense layers: the matrix transposed, its features in another order, the bias.
#include "diagnose/fingerprint.h"
#include "diagnose/guess_window.h"
#include "diagnose/hypothesis.h"

#include <algorithm>
#include <numeric>

namespace convoy::diagnose {

namespace {

// The shape, without its batch, of what was flattened into the layer's features. Nothing: no such step is in sight.
std::optional<Sizes> flattened(const Scene& scene, ValueId features, Size count) {
  while (scene.a[features].producer) {
    const Node& maker = scene.a[scene.a[features].producer];
    const ValueId from = maker.inputs.empty() ? ValueId{} : maker.inputs[0];
    if (!from || scene.a[from].constant) return std::nullopt;
    const Sizes& shape = scene.shape(from);
    Size product = 1;
    for (std::size_t i = 1; i < shape.size(); ++i) product *= shape[i];
    if (shape.size() > 2 && product == count) return Sizes(shape.begin() + 1, shape.end());
    features = from;
  }
  return std::nullopt;
}

// [O, I] with its features, of the shape `split`, in every other order.
void guess_features(Guesses& guesses, std::size_t node, const Tensor& matrix, const Sizes& split) {
  const Size out = matrix.shape()[0];
  Sizes order(split.size());
  std::iota(order.begin(), order.end(), Size{0});
  const auto shifted = [](const Sizes& axes) {
    Sizes all{0};
    for (const Size axis : axes) all.push_back(axis + 1);
    return all;
  };
  if (split.size() > 4) return;
  while (std::ranges::next_permutation(order).found) {
    Sizes as{out}, moved{out};
    for (const Size n : split) as.push_back(n);
    for (const Size axis : order) moved.push_back(split[static_cast<std::size_t>(axis)]);
    const Node& about = guesses.scene.a.nodes[node];
    guesses.add(
        "flatten_order", about, "features in another order of axes",
        with_constant(guesses.scene.a, node, 1, matrix.reshaped(as).permuted(shifted(order)).reshaped(matrix.shape())));
    guesses.add("flatten_order", about, "features in another order of axes",
                with_constant(guesses.scene.a, node, 1,
                              matrix.reshaped(moved).permuted(inverse(shifted(order))).reshaped(matrix.shape())));
  }
}

// Whether the columns of one matrix are those of the other in another order.
bool has_same_columns(const Tensor& a, const Tensor& b) {
  const auto x = a.floats(), y = b.floats();
  const auto rows = static_cast<std::size_t>(a.shape()[0]), columns = static_cast<std::size_t>(a.shape()[1]);
  const auto all = [&](const std::vector<float>& values) {
    std::vector<std::vector<float>> result(columns);
    for (std::size_t i = 0; i < rows * columns; ++i) result[i % columns].push_back(values[i]);
    std::ranges::sort(result);
    return result;
  };
  return a.shape() == b.shape() && rows > 1 && columns < 65536 && all(x) == all(y);
}

// A product with a matrix that is no layer's kernel: rounded, or another one.
void guess_factor(Guesses& guesses, std::size_t node) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  for (std::size_t input = 0; input < 2; ++input) {
    const Tensor* own = constant_of(scene.a, about, input);
    if (!own) continue;
    for (const DType half : {DType::F16, DType::BF16})
      guesses.add("weights_rounded", about, half == DType::F16 ? "rounded to float16" : "rounded to bfloat16",
                  with_constant(scene.a, node, input, own->converted(half).converted(own->dtype())));
    for (const Node* other : twins<MatMul>(scene)) {
      const Tensor* theirs = constant_of(scene.b, *other, input);
      if (theirs && theirs->shape() == own->shape() && !same_bytes(*own, *theirs))
        guesses.add("weights_differ", about, "b's numbers", with_constant(scene.a, node, input, *theirs));
    }
  }
}

}  // namespace

void guess_product(Guesses& guesses, std::size_t node) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  if (holds_alternative<MatMul>(about.op)) guess_factor(guesses, node);
  const auto* linear = get_if<Linear>(&about.op);
  const Tensor* matrix = linear ? constant_of(scene.a, about, 1) : nullptr;
  if (!matrix || linear->order != LinearOrder::OutIn) return;
  const Sizes& shape = matrix->shape();
  if (shape[0] == shape[1])
    guesses.add("dense_transposed", about, "the matrix transposed",
                with_constant(scene.a, node, 1, matrix->permuted(Sizes{1, 0})));
  const auto split = flattened(scene, about.inputs[0], shape[1]);
  if (split) guess_features(guesses, node, *matrix, *split);
  // A stretch may begin behind the step that flattens: then any order of many columns may be that of a picture.
  const bool reads_flat = split || scene.shape(about.inputs[0]).size() == 2;
  for (const Node* other : twins<Linear>(scene)) {
    const Tensor* theirs = constant_of(scene.b, *other, 1);
    if (theirs && reads_flat && !same_bytes(*theirs, *matrix) && has_same_columns(*matrix, *theirs))
      guesses.add("flatten_order", about, "features in another order", with_constant(scene.a, node, 1, *theirs),
                  split ? 0 : 1);
  }
  // Of a square one that is the same as transposed.
  if (shape[0] != shape[1]) {
    guesses.add("kernel_not_transposed", about, "the matrix reshaped instead of transposed",
                with_constant(scene.a, node, 1, matrix->permuted(Sizes{1, 0}).reshaped(shape)));
    guesses.add("kernel_not_transposed", about, "the matrix reshaped instead of transposed",
                with_constant(scene.a, node, 1, matrix->reshaped({shape[1], shape[0]}).permuted(Sizes{1, 0})));
  }
  std::vector<const Node*> others = twins<Linear>(scene);
  for (const Node* conv : twins<Conv>(scene)) others.push_back(conv);
  guess_bias(guesses, node, others);
  guess_weights(guesses, node, others);
}

}  // namespace convoy::diagnose
