// Products that are others, one behind another: chains and sums of products of matrices, of vectors, and powers.
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/arithmetic.h"
#include "formats/torch/catalogue/catalogue.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

ValueId one_of(const Results& results) { return results.empty() ? ValueId{} : results[0]; }

ValueId product_of(FunctionCall& call, ValueId a, ValueId b) {
  return one_of(through(call, "matmul.default", Json::object(), {{"input", a}, {"other", b}}));
}

// beta * input + alpha * product; with a beta of 0 the input is not looked at.
ValueId added(FunctionCall& call, ValueId product) {
  const ValueId input = call.tensor("input");
  if (call.failed()) return {};
  const DType dtype = call.type(product).dtype;
  const double beta = multiple_of(call, "beta", dtype), alpha = multiple_of(call, "alpha", dtype);
  const bool truths = dtype == DType::Bool;
  if (truths && ((alpha != 1 && alpha != 0) || (beta != 1 && beta != 0)))
    call.refuse(Fault::Unsupported, "multiples of truths");
  Arithmetic apply(call, product);
  if (truths && alpha == 0)
    product = apply(BinaryFunction::And, product, apply(BinaryFunction::NotEqual, product, product));
  else if (alpha == 0) product = apply(BinaryFunction::Multiply, product, 0.0);  // zero times infinity is no number
  else if (alpha != 1) product = scaled(call, product, alpha);
  if (beta == 0) return product;
  const ValueId rest = beta == 1 ? input : scaled(call, input, beta);
  return one_of(through(call, "add.Tensor", Json::object(), {{"input", rest}, {"other", product}}));
}

Results addmv(FunctionCall& call) {
  const ValueId matrix = call.tensor("mat"), vector = call.tensor("vec");
  return {added(call, product_of(call, matrix, vector))};
}
Results addr(FunctionCall& call) {
  const ValueId a = call.tensor("vec1"), b = call.tensor("vec2");
  return {added(call, one_of(through(call, "outer.default", Json::object(), {{"input", a}, {"vec2", b}})))};
}
Results addbmm(FunctionCall& call) {
  const ValueId product = product_of(call, call.tensor("batch1"), call.tensor("batch2"));
  return {added(call, call.add(Reduce{Reduction::Sum, {0}, false}, {product}))};
}

// One behind another from the left; PyTorch chooses the order that is least work.
Results chain(FunctionCall& call) {
  Results parts = call.several("tensors");
  if (parts.empty()) parts = call.several("matrices");
  if (parts.empty()) call.refuse(Fault::Format, "a product of nothing");
  if (call.failed()) return {};
  ValueId y = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) y = product_of(call, y, parts[i]);
  return {y};
}

Results matrix_power(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size n = call.attrs.integer("n");
  if (n < 1 || n > 64) call.refuse(Fault::Unsupported, "raises a matrix to a power outside 1 to 64");
  if (call.failed()) return {};
  ValueId square = x, y{};
  for (Size left = n; left > 0; left /= 2) {
    if (left % 2 == 1) y = y ? product_of(call, y, square) : square;
    if (left > 1) square = product_of(call, square, square);
  }
  return {y};
}

// Sums of products along the last axis of each.
Results inner(FunctionCall& call) {
  const ValueId a = call.tensor("input"), b = call.tensor("other");
  if (call.rank(a) == 0 || call.rank(b) == 0)
    return through(call, "mul.Tensor", Json::object(), {{"input", a}, {"other", b}});
  return through(call, "tensordot.default", {{"dims_self", Json::array({-1})}, {"dims_other", Json::array({-1})}},
                 {{"input", a}, {"other", b}});
}

// Sums of products along one axis that both have.
Results vector_dot(FunctionCall& call) {
  const ValueId product = call.add(Binary{BinaryFunction::Multiply}, {call.tensor("x"), call.tensor("y")});
  const Size axis = axis_of(call, integer_or_default(call, "dim"), call.rank(product));
  return {call.add(Reduce{Reduction::Sum, {axis}, false}, {product})};
}

// 1, x, x^2, ... along a new last axis.
template <bool rising>
Results powers(FunctionCall& call) {
  ValueId x = call.tensor("x");
  if (call.failed()) return {};
  if (call.rank(x) == 0) x = call.add(Unsqueeze{{0}}, {x});
  const Size last = call.rank(x) - 1;
  const Size count = call.attrs.has("N") ? call.attrs.integer("N") : known_size(call, x, last);
  const bool upwards = rising || call.attrs.truth("increasing", false);
  if (count < 1 || count > 256) call.refuse(Fault::Unsupported, "takes " + std::to_string(count) + " powers");
  const Results ones = through(call, "ones_like.default", Json::object(), {{"input", x}});
  if (call.failed()) return {};
  const DType dtype = call.type(x).dtype;
  const bool widens = !rising && !is_floating(dtype);
  const ValueId base = widens ? cast_to(call, x, DType::I64) : x;
  Results all{widens ? cast_to(call, ones[0], DType::I64) : ones[0]};
  for (Size i = 1; i < count; ++i)
    all.push_back(i == 1 ? base : call.add(Binary{BinaryFunction::Multiply}, {all.back(), base}));
  if (!upwards) std::ranges::reverse(all);
  return through(call, "stack.default", {{"dim", -1}}, listed("tensors", all));
}

// Of three numbers along an axis: a1 b2 - a2 b1 and so on.
// `last`: without a dim along the last axis; else along the first one of three cells.
template <bool last>
Results cross(FunctionCall& call) {
  const ValueId a = call.tensor("input"), b = call.tensor("other");
  if (call.failed()) return {};
  const Size rank = std::max(call.rank(a), call.rank(b));
  Size axis = -1;
  if (call.attrs.has("dim")) axis = call.attrs.integer("dim");
  else if (!last)
    for (axis = 0; axis < rank - 1 && call.dim(a, axis) != Dim(3); ++axis)
      if (!call.dim(a, axis).known()) call.refuse(Fault::Unsupported, "whether the axis is of three cells is free");
  axis = axis_of(call, axis, rank);
  if (call.rank(a) != call.rank(b) || call.dim(a, axis) != Dim(3) || call.dim(b, axis) != Dim(3))
    call.refuse(Fault::Unsupported, "a cross product of other than three numbers each");
  if (call.failed()) return {};
  const auto turned = [&](ValueId x, Sizes order) { return call.add(Take{axis, std::move(order)}, {x}); };
  Arithmetic apply(call, a);
  const ValueId first = apply(BinaryFunction::Multiply, turned(a, {1, 2, 0}), turned(b, {2, 0, 1}));
  const ValueId second = apply(BinaryFunction::Multiply, turned(a, {2, 0, 1}), turned(b, {1, 2, 0}));
  return {apply(BinaryFunction::Subtract, first, second)};
}

// Sums over the axes of the one and of the other that stand at the same places of two lists.
Results tensordot(FunctionCall& call) {
  const ValueId a = call.tensor("input"), b = call.tensor("other");
  const Sizes over_a = call.attrs.list("dims_self"), over_b = call.attrs.list("dims_other");
  if (call.failed()) return {};
  if (over_a.size() != over_b.size() || call.rank(a) + call.rank(b) > 26)
    call.refuse(Fault::Format, "sums over unlike lists of axes");
  if (call.failed()) return {};
  std::string first, second, out;
  for (Size i = 0; i < call.rank(a); ++i) first += static_cast<char>('a' + i);
  for (Size i = 0; i < call.rank(b); ++i) second += static_cast<char>('a' + call.rank(a) + i);
  const std::string all = first + second;
  std::string summed;
  for (std::size_t i = 0; i < over_a.size(); ++i) {
    const Size at = axis_of(call, over_a[i], call.rank(a)), other = axis_of(call, over_b[i], call.rank(b));
    if (call.failed()) return {};
    summed += first[static_cast<std::size_t>(at)];
    summed += second[static_cast<std::size_t>(other)];
    second[static_cast<std::size_t>(other)] = first[static_cast<std::size_t>(at)];
  }
  for (const char c : all)
    if (summed.find(c) == std::string::npos) out += c;
  std::string equation = first;
  equation += "," + second + "->" + out;
  return {call.einsum(equation, {a, b})};
}

// Every number of the one times the whole of the other.
Results kron(FunctionCall& call) {
  const ValueId a = call.tensor("input"), b = call.tensor("other");
  if (call.failed()) return {};
  const Size rank = std::max(call.rank(a), call.rank(b));
  Sizes in_a, in_b, whole;
  const ValueId x = with_axes_in_front(call, a, rank), y = with_axes_in_front(call, b, rank);
  for (Size i = 0; i < rank && !call.failed(); ++i) {
    in_a.push_back(2 * i + 1), in_b.push_back(2 * i);
    whole.push_back(known_size(call, x, i) * known_size(call, y, i));
  }
  const ValueId product =
      call.add(Binary{BinaryFunction::Multiply}, {call.add(Unsqueeze{in_a}, {x}), call.add(Unsqueeze{in_b}, {y})});
  return {call.add(Reshape{whole}, {product})};
}

constexpr std::array rows_of_composed_products{
    CatalogueRow{"torch.addmv", "input:T mat:T vec:T * beta:n=1 alpha:n=1", addmv},
    CatalogueRow{"torch.addr", "input:T vec1:T vec2:T * beta:n=1 alpha:n=1", addr},
    CatalogueRow{"torch.addbmm", "input:T batch1:T batch2:T * beta:n=1 alpha:n=1", addbmm},
    CatalogueRow{"aten.linalg_multi_dot", "tensors:L", chain},
    CatalogueRow{"torch.chain_matmul", "matrices:L...", chain},
    CatalogueRow{"torch.matrix_power aten.linalg_matrix_power", "input:T n:i", matrix_power},
    CatalogueRow{"torch.inner", "input:T other:T", inner},
    CatalogueRow{"aten.linalg_vecdot", "x:T y:T * dim:i=-1", vector_dot},
    CatalogueRow{"torch.vander", "x:T N:i?= increasing:b=False", powers<false>},
    CatalogueRow{"aten.linalg_vander", "x:T * N:i?=", powers<true>},
    CatalogueRow{"aten.linalg_cross", "input:T other:T * dim:i=-1", cross<true>},
    CatalogueRow{"torch.cross", "input:T other:T dim:i?=", cross<false>},
    CatalogueRow{"aten.tensordot", "input:T other:T dims_self:I dims_other:I", tensordot},
    CatalogueRow{"torch.kron", "input:T other:T", kron},
};

}  // namespace

std::span<const CatalogueRow> composed_product_operators() { return rows_of_composed_products; }

}  // namespace convoy::torch
