// How large whole numbers are, from the types of 8 and 16 bits that they come from, and products of them that float32 holds: every
// partial sum is a whole number of at most 2^24, whatever the order it is added in.
#include "passes/exact_products.h"

#include "graph/quantized_steps.h"
#include "ops/expect.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace convoy {

namespace {

constexpr double most_in_single = 0x1p24;

bool is_whole(DType dtype) { return !is_floating(dtype) && dtype != DType::Bool; }

// Whole numbers that are known beforehand: constants, cast or counted from a zero.
struct KnownNumbers {
  Sizes shape;
  std::vector<double> numbers;
};

std::optional<KnownNumbers> known_numbers(const Graph& graph, ValueId value) {
  const Value& held = graph[value];
  if (!is_whole(held.type.dtype)) return std::nullopt;
  if (held.constant) return KnownNumbers{held.constant->shape(), held.constant->doubles()};
  if (!held.producer) return std::nullopt;
  const Node& node = graph[held.producer];
  if (holds_alternative<Cast>(node.op)) {
    const DType from = graph[node.inputs[0]].type.dtype;
    return meeting(from, held.type.dtype) == held.type.dtype ? known_numbers(graph, node.inputs[0]) : std::nullopt;
  }
  const auto* binary = get_if<Binary>(&node.op);
  if (!binary || binary->function != BinaryFunction::Subtract || held.type.dtype != DType::I32) return std::nullopt;
  auto all = known_numbers(graph, node.inputs[0]);
  const auto zero = all ? known_numbers(graph, node.inputs[1]) : std::nullopt;
  const std::size_t count = zero ? zero->numbers.size() : 0;
  const bool by_columns = zero && zero->shape.size() == 1 && !all->shape.empty() && zero->shape[0] == all->shape.back();
  if (count != 1 && !by_columns) return std::nullopt;
  for (std::size_t i = 0; i < all->numbers.size(); ++i) all->numbers[i] -= zero->numbers[i % count];
  return all;
}

std::optional<WholeBounds> bounds_of(const Graph& graph, ValueId value) {
  const Value& held = graph[value];
  if (!is_whole(held.type.dtype)) return std::nullopt;
  if (held.constant) {
    const auto numbers = held.constant->doubles();
    if (numbers.empty()) return std::nullopt;
    const auto [least, most] = std::ranges::minmax(numbers);
    return WholeBounds{least, most};
  }
  const auto by_type = whole_bounds(held.type.dtype);
  if (!held.producer || by_type) return by_type;
  const Node& node = graph[held.producer];
  if (holds_alternative<Cast>(node.op)) {
    const DType from = graph[node.inputs[0]].type.dtype;
    return meeting(from, held.type.dtype) == held.type.dtype ? bounds_of(graph, node.inputs[0]) : std::nullopt;
  }
  const Traits traits = traits_of(node.op);
  if (traits.contents == Contents::Kept && node.inputs.size() == 1) return bounds_of(graph, node.inputs[0]);
  if (holds_alternative<Transpose>(node.op)) return bounds_of(graph, node.inputs[0]);
  const auto* binary = get_if<Binary>(&node.op);
  if (!binary || binary->function != BinaryFunction::Subtract || held.type.dtype != DType::I32) return std::nullopt;
  const auto a = bounds_of(graph, node.inputs[0]), b = bounds_of(graph, node.inputs[1]);
  if (!a || !b) return std::nullopt;
  return WholeBounds{a->least - b->most, a->most - b->least};
}

double magnitude(const WholeBounds& bounds) { return std::max(std::abs(bounds.least), std::abs(bounds.most)); }

// Of any column of matrices [..., k, n].
double largest_sum_of_magnitudes(const KnownNumbers& known) {
  const auto columns = static_cast<std::size_t>(known.shape.back());
  const auto rows = static_cast<std::size_t>(known.shape[known.shape.size() - 2]);
  if (known.numbers.empty()) return 0;
  double largest = 0;
  std::vector<double> sums(columns);
  for (std::size_t i = 0; i < known.numbers.size(); ++i) {
    if (i % (rows * columns) == 0) std::ranges::fill(sums, 0);
    double& sum = sums[i % columns];
    sum += std::abs(known.numbers[i]);
    largest = std::max(largest, sum);
  }
  return largest;
}

}  // namespace

Result<std::optional<ValueId>> product_in_single(const Graph& graph, const Node& node, Patch& patch) {
  const ValueId a = node.inputs[0], b = node.inputs[1];
  const Shape& rows = graph[a].type.shape;
  if (graph[node.outputs[0]].type.dtype != DType::I32 || rows.size() < 2 || graph[b].type.rank() < 2)
    return std::nullopt;
  const auto known = known_numbers(graph, b);
  const auto left = bounds_of(graph, a);
  auto right = bounds_of(graph, b);
  if (known && !known->numbers.empty()) {
    const auto [least, most] = std::ranges::minmax(known->numbers);
    right = WholeBounds{least, most};
  }
  const Dim terms = rows.back();
  if (!left || !right || !terms.known()) return std::nullopt;
  const double each = std::max(1.0, magnitude(*left) * magnitude(*right));
  const bool at_once =
      *terms * each <= most_in_single ||
      (known && known->shape.size() >= 2 && magnitude(*left) * largest_sum_of_magnitudes(*known) <= most_in_single);
  const Size length = at_once ? std::max(*terms, Size{1}) : static_cast<Size>(most_in_single / each);
  if (length < 1) return std::nullopt;

  auto reals = patch.one(node, Cast{DType::F32}, {a});
  if (!reals) return pass(reals);
  Result<ValueId> numbers =
      known ? patch.constant(node.layer + "/whole",
                             Tensor::of(known->shape, std::vector<float>(known->numbers.begin(), known->numbers.end())),
                             false, graph[b].origin)
            : patch.one(node, Cast{DType::F32}, {b});
  if (!numbers) return pass(numbers);
  std::optional<ValueId> sum;
  Size parts = 0;
  for (Size start = 0; start == 0 || start < *terms; start += length, ++parts) {
    ValueId x = *reals, y = *numbers;
    if (!at_once) {
      const auto cut = [&](ValueId whole, Size axis) {
        return patch.one(node, Slice{axis, start, std::min(start + length, *terms)}, {whole});
      };
      auto columns = cut(x, static_cast<Size>(rows.size()) - 1);
      if (!columns) return pass(columns);
      auto lines = cut(y, graph[b].type.rank() - 2);
      if (!lines) return pass(lines);
      x = *columns, y = *lines;
    }
    auto product = patch.one(node, MatMul{}, {x, y});
    if (product) product = patch.one(node, Cast{DType::I32}, {*product});
    if (product && sum) product = patch.one(node, Binary{BinaryFunction::Add}, {*sum, *product});
    if (!product) return pass(product);
    sum = *product;
  }
  patch.remark(node, "multiplies whole numbers in float32, which holds every sum of them" +
                         (parts > 1 ? ", in " + std::to_string(parts) + " parts" : std::string()));
  return sum;
}

}  // namespace convoy
