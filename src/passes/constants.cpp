#include "passes/constants.h"

#include "base/budget.h"
#include "base/permute.h"
#include "ops/transposed_vocabulary.h"

#include <algorithm>
#include <utility>

namespace convoy {

namespace {

// Both shapes cut into common factors: `pieces` in order, and which of them make up each axis of a and of b.
struct Refinement {
  Sizes pieces;
  std::vector<Sizes> of_a, of_b;
};

std::optional<Refinement> refine(const Sizes& a, const Sizes& b) {
  Refinement r{{}, std::vector<Sizes>(a.size()), std::vector<Sizes>(b.size())};
  std::size_t i = 0, j = 0;
  Size left_a = 1, left_b = 1;
  while (true) {
    while (left_a == 1 && i < a.size()) left_a = a[i++];
    while (left_b == 1 && j < b.size()) left_b = b[j++];
    if (left_a == 1 && left_b == 1) return r;
    const Size piece = std::min(left_a, left_b);
    if (piece <= 1 || left_a % piece != 0 || left_b % piece != 0) return std::nullopt;
    const auto index = static_cast<Size>(r.pieces.size());
    r.pieces.push_back(piece);
    r.of_a[i - 1].push_back(index);
    r.of_b[j - 1].push_back(index);
    left_a /= piece;
    left_b /= piece;
  }
}

}  // namespace

std::optional<Origin> followed_by(const Origin& origin, const Sizes& shape, const Sizes& split,
                                  const Sizes& permutation) {
  if (permutation.empty()) return origin;
  if (origin.permutation.empty()) return Origin{origin.source, split, permutation};
  const bool plain = origin.split.empty() && shape.size() == origin.permutation.size();
  if (plain && split.empty()) return Origin{origin.source, {}, compose(origin.permutation, permutation)};

  const Sizes first_split = plain ? in_order(shape, inverse(origin.permutation)) : origin.split;
  if (first_split.empty()) return std::nullopt;
  const auto r = refine(in_order(first_split, origin.permutation), split.empty() ? shape : split);
  if (!r) return std::nullopt;
  // The pieces as they lie in the source: axis by axis of the first split.
  Origin both{origin.source, {}, {}};
  Sizes place(r->pieces.size());
  const Sizes back = inverse(origin.permutation);
  for (const Size axis : back)
    for (const Size piece : r->of_a[static_cast<std::size_t>(axis)]) {
      place[static_cast<std::size_t>(piece)] = static_cast<Size>(both.split.size());
      both.split.push_back(r->pieces[static_cast<std::size_t>(piece)]);
    }
  for (const Size axis : permutation)
    for (const Size piece : r->of_b[static_cast<std::size_t>(axis)])
      both.permutation.push_back(place[static_cast<std::size_t>(piece)]);
  return both;
}

ValueId Constants::reordered(ValueId constant, const Sizes& split, const Sizes& permutation, const Sizes& shape) {
  if (is_identity(permutation) && (shape.empty() || shape == (*graph_)[constant].constant->shape())) return constant;
  const auto key = std::tuple{constant, split, permutation, shape};
  if (const auto it = made_.find(key); it != made_.end()) return it->second;
  const Value& value = (*graph_)[constant];
  Tensor tensor = split.empty() ? *value.constant : value.constant->reshaped(split);
  tensor = tensor.permuted(permutation);
  if (!shape.empty()) tensor = tensor.reshaped(shape);
  // A constant that a pass made of others carries none of the source's, whatever its name; before the passes run, every
  // value is its own origin.
  const bool told = std::ranges::any_of(graph_->inputs, [&](ValueId v) { return (*graph_)[v].origin.has_value(); });
  const std::optional<Origin> before = value.origin || told ? value.origin : Origin{value.name, {}, {}};
  // A split that changes nothing is spelt out where the shape is changed behind the permutation.
  const Sizes split_as_told = split.empty() && !shape.empty() ? value.constant->shape() : split;
  const ValueId made = patch_->constant(
      value.name, std::move(tensor), value.trainable,
      before ? followed_by(*before, value.constant->shape(), split_as_told, permutation) : std::nullopt);
  made_.emplace(key, made);
  return made;
}

Tensor cells_along(const Tensor& tensor, Size axis, const Sizes& indices) {
  Sizes shape = tensor.shape();
  const auto at = static_cast<std::size_t>(axis);
  Size outer = 1, inner = bytes_of(tensor.dtype());
  for (std::size_t i = 0; i < at; ++i) outer *= shape[i];
  for (std::size_t i = at + 1; i < shape.size(); ++i) inner *= shape[i];
  const Size rows = shape[at];
  shape[at] = static_cast<Size>(indices.size());
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<std::size_t>(outer * shape[at] * inner));
  for (Size o = 0; o < outer; ++o)
    for (const Size row : indices) {
      if (row < 0) {
        bytes.resize(bytes.size() + static_cast<std::size_t>(inner));
        continue;
      }
      const auto part =
          tensor.bytes().subspan(static_cast<std::size_t>((o * rows + row) * inner), static_cast<std::size_t>(inner));
      bytes.insert(bytes.end(), part.begin(), part.end());
    }
  return *Tensor::owning(tensor.dtype(), std::move(shape), std::move(bytes));
}

Result<Tensor> spread_along(const Tensor& kernel, Size axis, Window window) {
  const Size bytes = static_cast<Size>(kernel.bytes().size()) + kernel.shape()[static_cast<std::size_t>(axis)] * 8;
  if (auto held = budget::afford(checked_multiply(bytes, window.dilation), "a kernel with zeros between its taps");
      !held)
    return pass(held);
  return cells_along(kernel, axis, spread_taps(window));
}

ValueId Constants::taken(ValueId constant, Size axis, const Sizes& indices, bool transposes) {
  const auto key = std::tuple{constant, Sizes{axis}, indices, Sizes{-1, transposes}};
  if (const auto it = made_.find(key); it != made_.end()) return it->second;
  const Value& value = (*graph_)[constant];
  Tensor made_tensor = cells_along(*value.constant, axis, indices);
  if (transposes) made_tensor = made_tensor.permuted(Sizes{1, 0});
  const ValueId made = patch_->constant(value.name, std::move(made_tensor), value.trainable);
  made_.emplace(key, made);
  return made;
}

}  // namespace convoy
