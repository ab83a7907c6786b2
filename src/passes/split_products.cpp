// Sums of whole numbers that a file computes in float64, because float32 does not hold all of them, in parts that it holds: slices of
// one summed axis, so short that every sum of a part is a whole number of at most 2^24, added up as int32. TFLite has no
// products of float64.
#include "graph/quantized_steps.h"
#include "ops/expect.h"
#include "passes/node_by_node.h"
#include "passes/rewrites.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace convoy {

namespace {

constexpr double most_whole_in_single = 0x1p24;

// Where a product sums: one axis of both operands that it is cut along, and the axes of the second one that stay.
struct SummedAxis {
  Size of_x = 0, of_kernel = 0;
  std::vector<Size> kept;  // of the kernel
};

std::optional<SummedAxis> summed_axis(const Op& op, const Shape& x, Size kernel_rank) {
  const Size last = static_cast<Size>(x.size()) - 1;
  if (const auto* linear = get_if<Linear>(&op)) {
    const Size in = linear->order == LinearOrder::InOut ? 0 : 1;
    return SummedAxis{last, in, {1 - in}};
  }
  if (const auto* conv = get_if<Conv>(&op)) {
    if (conv->groups != 1) return std::nullopt;
    if (conv->kernel_order == KernelOrder::OutInSpace) return SummedAxis{conv->axes.channel(), 1, {0}};
    if (conv->kernel_order == KernelOrder::SpaceInOut)
      return SummedAxis{conv->axes.channel(), kernel_rank - 2, {kernel_rank - 1}};
    return std::nullopt;
  }
  if (const auto* einsum = get_if<Einsum>(&op)) {
    const auto letters = letters_of(*einsum);
    if (!letters) return std::nullopt;
    SummedAxis axis{-1, -1, {}};
    Size longest = 0;
    for (std::size_t i = 0; i < letters->b.size(); ++i) {
      const char c = letters->b[i];
      const auto in_x = letters->a.find(c);
      if (letters->out.find(c) != std::string::npos) axis.kept.push_back(static_cast<Size>(i));
      else if (in_x != std::string::npos && x[in_x].known() && *x[in_x] > longest)
        longest = *x[in_x], axis.of_x = static_cast<Size>(in_x), axis.of_kernel = static_cast<Size>(i);
    }
    return longest > 0 ? std::optional(std::move(axis)) : std::nullopt;
  }
  return std::nullopt;
}

// Of each place along the cut axis: the magnitudes that each sum takes from it.
std::vector<std::vector<double>> magnitudes(const Tensor& kernel, const SummedAxis& axis) {
  const Sizes& shape = kernel.shape();
  const auto numbers = kernel.doubles();
  std::size_t sums = 1;
  for (const Size k : axis.kept) sums *= static_cast<std::size_t>(at(shape, k));
  std::vector<std::vector<double>> all(static_cast<std::size_t>(at(shape, axis.of_kernel)), std::vector<double>(sums));
  Sizes place(shape.size(), 0);
  for (const double number : numbers) {
    std::size_t sum = 0;
    for (const Size k : axis.kept)
      sum = sum * static_cast<std::size_t>(at(shape, k)) + static_cast<std::size_t>(at(place, k));
    all[static_cast<std::size_t>(at(place, axis.of_kernel))][sum] += std::abs(number);
    for (std::size_t i = shape.size(); i-- > 0;) {
      if (++place[i] < shape[i]) break;
      place[i] = 0;
    }
  }
  return all;
}

// Where the parts begin, each as long as float32 holds. Nothing: one place alone is too much.
std::optional<std::vector<Size>> starts_of_parts(const std::vector<std::vector<double>>& each, double largest) {
  std::vector<Size> starts{0};
  std::vector<double> sums(each.empty() ? 0 : each.front().size(), 0);
  for (std::size_t i = 0; i < each.size(); ++i) {
    double most = 0, alone = 0;
    for (std::size_t s = 0; s < sums.size(); ++s) {
      most = std::max(most, sums[s] + each[i][s]);
      alone = std::max(alone, each[i][s]);
    }
    if (alone * largest > most_whole_in_single) return std::nullopt;
    if (most * largest > most_whole_in_single) {
      starts.push_back(static_cast<Size>(i));
      std::ranges::fill(sums, 0);
    }
    for (std::size_t s = 0; s < sums.size(); ++s) sums[s] += each[i][s];
  }
  return starts;
}

Tensor part_of(const Tensor& tensor, Size axis, Size start, Size end) {
  Size inner = 1, outer = 1;
  for (Size i = 0; i < tensor.rank(); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : at(tensor.shape(), i);
  const auto numbers = tensor.floats();
  const Size size = at(tensor.shape(), axis);
  std::vector<float> kept;
  kept.reserve(static_cast<std::size_t>(outer * (end - start) * inner));
  for (Size o = 0; o < outer; ++o) {
    const auto from = numbers.begin() + static_cast<std::ptrdiff_t>((o * size + start) * inner);
    kept.insert(kept.end(), from, from + static_cast<std::ptrdiff_t>((end - start) * inner));
  }
  Sizes shape = tensor.shape();
  shape[static_cast<std::size_t>(axis)] = end - start;
  return Tensor::of(std::move(shape), std::move(kept));
}

class ProductSplitter {
 public:
  explicit ProductSplitter(const Graph& graph) : graph_(graph), patch_(graph) {}
  Result<Patch> run() {
    return node_by_node<Cast>(graph_, patch_, [&](NodeId id, const Cast& cast) { return split(id, cast); });
  }

 private:
  // Whole numbers in float64, as what they are in float32, and the largest magnitude. Nothing: they may not be whole.
  struct WholeReals {
    ValueId value;
    double largest = 0;
  };
  std::optional<WholeReals> in_single(const Node& like, ValueId v) {
    const Value& value = graph_[v];
    if (value.constant) {
      const auto numbers = value.constant->doubles();
      double largest = 0;
      for (const double x : numbers) {
        if (x != std::round(x)) return std::nullopt;
        largest = std::max(largest, std::abs(x));
      }
      if (largest > most_whole_in_single) return std::nullopt;
      return WholeReals{patch_.constant(graph_.unique_name(value.name + "/single"),
                                        value.constant->converted(DType::F32), false, value.origin),
                        largest};
    }
    if (!value.producer) return std::nullopt;
    const Node& node = graph_[value.producer];
    if (holds_alternative<Cast>(node.op)) return cast_from(like, node.inputs[0]);
    const auto* binary = get_if<Binary>(&node.op);
    if (!binary || binary->function != BinaryFunction::Subtract) return std::nullopt;
    const auto a = in_single(like, node.inputs[0]), b = in_single(like, node.inputs[1]);
    if (!a || !b || a->largest + b->largest > most_whole_in_single) return std::nullopt;
    auto made = patch_.one(like, *binary, {a->value, b->value});
    if (!made) return std::nullopt;
    return WholeReals{*made, a->largest + b->largest};
  }
  std::optional<WholeReals> cast_from(const Node& like, ValueId v) {
    const DType dtype = graph_[v].type.dtype;
    if (graph_[v].constant) return in_single(like, v);
    if (const auto bounds = whole_bounds(dtype)) {
      auto made = patch_.one(like, Cast{DType::F32}, {v});
      if (!made) return std::nullopt;
      return WholeReals{*made, std::max(std::abs(bounds->least), std::abs(bounds->most))};
    }
    const NodeId maker = dtype == DType::F32 ? graph_[v].producer : NodeId{};
    const auto* clip = maker ? get_if<Clip>(&graph_[maker].op) : nullptr;
    if (!clip || !clip->least || !clip->most) return std::nullopt;
    const NodeId rounding = graph_[graph_[maker].inputs[0]].producer;
    const auto* rounded = rounding ? get_if<Unary>(&graph_[rounding].op) : nullptr;
    if (!rounded || rounded->function != Function::Round) return std::nullopt;
    return WholeReals{v, std::max(std::abs(*clip->least), std::abs(*clip->most))};
  }

  // The numbers of a kernel, known beforehand: a constant, cast or counted from a zero.
  std::optional<Tensor> known(ValueId v) const {
    if (graph_[v].constant) return graph_[v].constant->converted(DType::F32);
    const NodeId maker = graph_[v].producer;
    if (!maker || !holds_alternative<Cast>(graph_[maker].op)) return std::nullopt;
    const Value& before = graph_[graph_[maker].inputs[0]];
    if (!before.constant) return std::nullopt;
    return before.constant->converted(DType::F32);
  }

  Status split(NodeId id, const Cast& cast) {
    const Node& last = graph_[id];
    const NodeId maker = graph_[last.inputs[0]].producer;
    if (!maker || graph_[last.inputs[0]].type.dtype != DType::F64) return {};
    const Node& product = graph_[maker];
    if (product.inputs.size() != 2 || (cast.to != DType::I32 && cast.to != DType::F32)) return {};
    const auto axis =
        summed_axis(product.op, graph_[product.inputs[0]].type.shape, graph_[product.inputs[1]].type.rank());
    const auto kernel = axis ? known(product.inputs[1]) : std::nullopt;
    if (!kernel || kernel->count() == 0) return {};
    const auto numbers = kernel->floats();
    if (!std::ranges::all_of(numbers, [](float w) { return w == std::round(w) && std::abs(w) <= 65536; })) return {};
    const auto x = in_single(last, product.inputs[0]);
    const auto starts = x ? starts_of_parts(magnitudes(*kernel, *axis), x->largest) : std::nullopt;
    if (!starts) return {};
    auto sum = parts(last, product, *x, *kernel, *axis, *starts, cast.to);
    if (!sum) return pass(sum);
    patch_.remark(last, "sums whole numbers in float32, which holds every sum of them" +
                            (starts->size() > 1 ? ", in " + std::to_string(starts->size()) + " parts" : std::string()));
    const bool is_done = patch_.type(*sum).dtype == cast.to;
    return patch_.become(id, is_done ? sum : patch_.one(last, Cast{cast.to}, {*sum}));
  }

  Result<ValueId> parts(const Node& last, const Node& product, const WholeReals& x, const Tensor& kernel,
                        const SummedAxis& axis, const std::vector<Size>& starts, DType wanted) {
    const Size terms = at(kernel.shape(), axis.of_kernel);
    std::optional<ValueId> sum;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const Size start = starts[i], end = i + 1 < starts.size() ? starts[i + 1] : terms;
      const bool is_whole = starts.size() == 1;
      auto cut = is_whole ? Result<ValueId>(x.value) : patch_.one(product, Slice{axis.of_x, start, end}, {x.value});
      if (!cut) return cut;
      const ValueId weights = patch_.constant(graph_.unique_name(product.layer + "/whole_" + std::to_string(i)),
                                              part_of(kernel, axis.of_kernel, start, end), false,
                                              is_whole ? graph_[product.inputs[1]].origin : std::optional<Origin>());
      auto one = patch_.one(product, product.op, {*cut, weights});
      if (one && !(is_whole && wanted == DType::F32)) one = patch_.one(last, Cast{DType::I32}, {*one});
      if (one && sum) one = patch_.one(last, Binary{BinaryFunction::Add}, {*sum, *one});
      if (!one) return one;
      sum = *one;
    }
    return *sum;
  }

  const Graph& graph_;
  Patch patch_;
};

}  // namespace

Result<Patch> split_products(const Graph& graph, const Target& target) {
  return target.lite ? ProductSplitter(graph).run() : Patch(graph);
}

}  // namespace convoy
