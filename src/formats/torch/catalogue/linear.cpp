// Products of matrices, and tables: functions, nn.Linear, nn.Embedding, and what ATen makes of them.
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "formats/torch/families.h"
#include "ops/expect.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::torch {
namespace {

// A bias of another shape than [O] stretches, as long as the result does not.
ValueId plus_bias(FunctionCall& call, ValueId y, ValueId bias) {
  if (!bias || call.failed()) return y;
  const auto shape = broadcast(call.shape(y), call.shape(bias));
  if (!shape || *shape != call.shape(y))
    call.refuse(Fault::Format, "bias has shape " + text_of(call.shape(bias)) + ", which does not stretch to " +
                                   text_of(call.shape(y)));
  return call.add(Binary{BinaryFunction::Add}, {y, bias});
}

// A weight [I] gives one number and takes the axis away.
std::vector<ValueId> linear(FunctionCall& call) {
  const ValueId x = call.tensor("input"), weight = call.tensor("weight"), bias = call.optional("bias");
  if (call.failed()) return {};
  if (call.rank(weight) == 1) {
    if (bias && call.rank(bias) != 0)
      call.refuse(Fault::Format, "bias has shape " + text_of(call.shape(bias)) +
                                     ", expected a single number beside a "
                                     "weight of rank 1");
    const ValueId row = call.add(Unsqueeze{{0}}, {weight});
    const ValueId y = call.add(Linear{LinearOrder::OutIn}, {x, row});
    return {plus_bias(call, call.add(Squeeze{{call.rank(x) - 1}}, {y}), bias)};
  }
  if (bias && call.shape(bias) != Shape{call.dim(weight, 0)})
    return {plus_bias(call, call.add(Linear{LinearOrder::OutIn}, {x, weight}), bias)};
  if (!is_floating(call.type(x).dtype) && !call.constant(weight))
    return {plus_bias(call, call.add(MatMul{}, {x, call.add(Transpose{{1, 0}}, {weight})}), bias)};
  if (!is_floating(call.type(x).dtype)) real_tensor(call, "input");
  return {call.add(Linear{LinearOrder::OutIn}, {x, weight, bias})};
}

std::vector<ValueId> linear_layer(FunctionCall& call) {
  const Size in = whole_number(call, "in_features"), out = whole_number(call, "out_features");
  const bool biased = truth_or_default(call, "bias");
  call.attrs.ignore({"device", "dtype"});
  const ValueId weight = call.tensor("weight"), bias = call.optional("bias");
  if (call.failed()) return {};
  if (call.shape(weight) != Shape{out, in})
    call.refuse(Fault::Format,
                "weight has shape " + text_of(call.shape(weight)) + ", expected " + text_of(Shape{out, in}));
  if (biased != static_cast<bool>(bias))
    call.refuse(Fault::Format, biased ? "the bias is missing" : "a bias is given, but argument 'bias' is false");
  return linear(call);
}

// beta * input + alpha * (a @ b). A known matrix with a known vector is a layer.
std::vector<ValueId> add_product(FunctionCall& call, std::string_view first, std::string_view second) {
  const ValueId bias = call.tensor("input"), a = call.tensor(first), b = call.tensor(second);
  const DType dtype = call.type(a).dtype;
  const double beta = multiple_of(call, "beta", dtype), alpha = multiple_of(call, "alpha", dtype);
  if (is_floating(dtype) && beta == 1 && alpha == 1 && call.constant(b) && call.constant(bias) && call.rank(bias) == 1)
    return {call.add(Linear{LinearOrder::InOut}, {a, b, bias})};
  ValueId product = call.add(MatMul{}, {a, b}), rest = bias;
  if (alpha != 1) product = scaled(call, product, alpha);
  if (beta == 0) return {product};  // what would be added is not looked at
  if (beta != 1) rest = scaled(call, rest, beta);
  return {call.add(Binary{BinaryFunction::Add}, {rest, product})};
}
std::vector<ValueId> addmm(FunctionCall& call) { return add_product(call, "mat1", "mat2"); }
std::vector<ValueId> baddbmm(FunctionCall& call) { return add_product(call, "batch1", "batch2"); }

// A known matrix of fractions is a layer.
ValueId multiplied(FunctionCall& call, ValueId a, ValueId b) {
  if (call.failed()) return {};
  const DType dtype = meeting(call.type(a).dtype, call.type(b).dtype);
  if (is_floating(dtype) && call.constant(b) && call.rank(b) == 2) return call.add(Linear{LinearOrder::InOut}, {a, b});
  return call.add(MatMul{}, {a, b});
}

// A vector is a row on the left and a column on the right; its axis goes again.
ValueId product_with_vector(FunctionCall& call, ValueId a, ValueId b) {
  const bool row = call.rank(a) == 1, column = call.rank(b) == 1;
  if (call.rank(a) < 1 || call.rank(b) < 1) call.refuse(Fault::Format, "a product with a single number");
  if (row) a = call.add(Unsqueeze{{0}}, {a});
  if (column) b = call.add(Unsqueeze{{1}}, {b});
  const ValueId y = call.add(MatMul{}, {a, b});
  if (call.failed()) return {};
  const Size rank = call.rank(y);
  Sizes gone;
  if (row) gone.push_back(rank - 2);
  if (column) gone.push_back(rank - 1);
  return call.add(Squeeze{gone}, {y});
}

std::vector<ValueId> matrix_vector(FunctionCall& call) {
  const ValueId matrix = call.tensor("input"), vector = call.tensor("vec");
  if (call.failed()) return {};
  return {product_with_vector(call, matrix, vector)};
}
std::vector<ValueId> dot(FunctionCall& call) {
  const ValueId a = call.tensor("input"), b = call.optional("tensor");
  const ValueId other = b ? b : call.tensor("other");
  if (call.failed()) return {};
  return {product_with_vector(call, a, other)};
}
std::vector<ValueId> outer(FunctionCall& call) {
  const ValueId a = call.tensor("input"), b = call.tensor("vec2");
  const bool truths = !call.failed() && call.type(a).dtype == DType::Bool && call.type(b).dtype == DType::Bool;
  return {
      call.add(Binary{truths ? BinaryFunction::And : BinaryFunction::Multiply}, {call.add(Unsqueeze{{1}}, {a}), b})};
}

template <char const* second>
std::vector<ValueId> product(FunctionCall& call) {
  const ValueId a = call.tensor("input"), b = call.tensor(second);
  if (call.failed()) return {};
  if (call.rank(a) < 2 || call.rank(b) < 2) return {product_with_vector(call, a, b)};
  return {multiplied(call, a, b)};
}
constexpr char other[] = "other", mat2[] = "mat2";

std::vector<ValueId> einsum(FunctionCall& call) {
  call.attrs.ignore({"path"});
  const std::string equation = call.attrs.word("equation");
  return {call.einsum(equation, call.several("tensors"))};
}

std::vector<ValueId> embedding(FunctionCall& call) {
  const ValueId table = call.tensor("weight"), rows_wanted = call.tensor("indices");
  call.attrs.ignore({"padding_idx", "scale_grad_by_freq", "sparse"});  // of the gradient
  return {call.add(Embedding{}, {rows_wanted, table})};
}

// y[o] = sum over i, j of x1[i] W[o, i, j] x2[j]: a layer that makes [O, J] of x1, and its product with x2.
std::vector<ValueId> bilinear(FunctionCall& call) {
  const ValueId a = call.tensor("input1"), b = call.tensor("input2"), weight = call.tensor("weight");
  const ValueId bias = call.optional("bias");
  if (call.failed()) return {};
  const Tensor* known = call.constant(weight);
  const Size rank = call.rank(a);
  if (!known || call.rank(weight) != 3 || rank < 1 || call.rank(b) != rank) {
    call.refuse(Fault::Unsupported, "a bilinear product whose weight is computed, or of inputs of unlike rank");
    return {};
  }
  const Size out = *call.dim(weight, 0), in = *call.dim(weight, 1), other_in = *call.dim(weight, 2);
  const ValueId matrix = call.turned("weight", weight, {1, 0, 2}, {in, out * other_in});
  Sizes to(static_cast<std::size_t>(rank - 1), 0);
  to.insert(to.end(), {out, other_in});
  const ValueId made = call.add(Reshape{to}, {call.add(Linear{LinearOrder::InOut}, {a, matrix})});
  const ValueId product = call.add(Binary{BinaryFunction::Multiply}, {made, call.add(Unsqueeze{{rank - 1}}, {b})});
  const ValueId y = call.add(Reduce{Reduction::Sum, {rank}, false}, {product});
  return {bias ? call.add(Binary{BinaryFunction::Add}, {y, bias}) : y};
}

// What bilinear is decomposed into: three tensors with axes put in, multiplied, and summed.
std::vector<ValueId> trilinear(FunctionCall& call) {
  ValueId y{};
  for (const char* place : {"1", "2", "3"}) {
    ValueId x = call.tensor(std::string("i") + place);
    Sizes put_in = call.attrs.list(std::string("expand") + place);
    std::ranges::sort(put_in);
    if (!put_in.empty()) x = call.add(Unsqueeze{put_in}, {x});
    y = y ? call.add(Binary{BinaryFunction::Multiply}, {y, x}) : x;
  }
  Sizes over = call.attrs.list("sumdim");
  std::ranges::sort(over);
  call.attrs.ignore({"unroll_dim"});
  return {over.empty() ? y : call.add(Reduce{Reduction::Sum, over, false}, {y})};
}

Status write_linear(const Linear& linear, Call& c) {
  if (linear.order != LinearOrder::OutIn) return c.broken("a kernel in another framework's order");
  const Tensor* kernel = c.constant(1);
  if (!kernel || (c.has(2) && !c.constant(2))) {
    const Expression x = c.begin(0);
    std::string text = "F.linear(" + x.text + ", " + c.name(1);
    if (c.has(2)) text += ", " + c.name(2);
    c.result({text + ")", Binds::Atom, x.calls + 1, false, {}});
    return {};
  }
  std::vector<State> states{c.state("weight", 1)};
  if (c.has(2)) states.push_back(c.state("bias", 2));
  const std::string type = kernel->dtype() == DType::F32 ? "" : ", dtype=" + dtype(kernel->dtype());
  const std::string self = c.module(fmt::format("nn.Linear({}, {}{}{})", kernel->shape()[1], kernel->shape()[0],
                                                c.has(2) ? "" : ", bias=False", type),
                                    std::move(states));
  c.result_of_module(self, c.begin(0));
  return {};
}

Status write_matmul(const MatMul&, Call& c) {
  const Expression a = c.follow(0), b = c.follow(1);
  c.result(
      {bound(a, Binds::Product) + " @ " + bound(b, Binds::Negation), Binds::Product, a.calls + b.calls + 1, false, {}});
  return {};
}

Status write_einsum(const Einsum& einsum, Call& c) {
  const Expression a = c.begin(0), b = c.begin(1);
  c.result({fmt::format("torch.einsum({}, {}, {})", python::quoted(einsum.equation), a.text, b.text),
            Binds::Atom,
            a.calls + b.calls + 1,
            false,
            {}});
  return {};
}

Status write_embedding(const Embedding&, Call& c) {
  const Tensor* table = c.constant(1);
  const std::string self = table ? c.module(fmt::format("nn.Embedding({}, {})", table->shape()[0], table->shape()[1]),
                                            {c.state("weight", 1)})
                                 : std::string();
  Expression x = c.begin(0);
  const DType type = c.type(0).dtype;
  // PyTorch looks up int32 and int64 only.
  if (type != DType::I32 && type != DType::I64) x.text = postfix(x) + ".long()";
  if (table) {
    c.result_of_module(self, x);
    return {};
  }
  const Expression computed = c.begin(1);
  c.result({fmt::format("F.embedding({}, {})", x.text, computed.text),
            Binds::Atom,
            x.calls + computed.calls + 1,
            false,
            {}});
  return {};
}

constexpr std::array linear_table{writes<write_linear>(), writes<write_matmul>(), writes<write_einsum>(),
                                  writes<write_embedding>()};
static_assert(decides<LinearFamily>(linear_table), "every product needs one row: writes<> or lacks<>");

constexpr std::array rows_of_products{
    CatalogueRow{"linear", "input:T weight:T bias:T?=", linear},
    CatalogueRow{"nn.Linear", "in_features:i out_features:i bias:b=True device:d= dtype:t=", linear_layer},
    CatalogueRow{"torch.matmul", "input:T other:T", product<other>},
    CatalogueRow{"torch.mm", "input:T mat2:T", product<mat2>},
    CatalogueRow{"torch.bmm", "input:T mat2:T", product<mat2>},
    CatalogueRow{"torch.mv", "input:T vec:T", matrix_vector},
    CatalogueRow{"torch.dot", "input:T tensor:T", dot},
    CatalogueRow{"torch.vdot", "input:T other:T", dot},
    CatalogueRow{"torch.outer", "input:T vec2:T", outer},
    CatalogueRow{"torch.ger", "input:T vec2:T", outer},
    CatalogueRow{"torch.addmm", "input:T mat1:T mat2:T * beta:n=1 alpha:n=1", addmm},
    CatalogueRow{"torch.baddbmm", "input:T batch1:T batch2:T * beta:n=1 alpha:n=1", baddbmm},
    CatalogueRow{"torch.einsum", "equation:s tensors:L... * aten/path:I?=", einsum},
    CatalogueRow{"torch.bilinear", "input1:T input2:T weight:T bias:T?=", bilinear},
    CatalogueRow{"aten._trilinear", "i1:T i2:T i3:T expand1:I expand2:I expand3:I sumdim:I unroll_dim:i=1", trilinear},
    CatalogueRow{"aten.embedding", "weight:T indices:T padding_idx:i=-1 scale_grad_by_freq:b=False sparse:b=False",
                 embedding},
};

}  // namespace

std::span<const CatalogueRow> product_operators() { return rows_of_products; }

std::span<const Row> linear_rows() { return linear_table; }

}  // namespace convoy::torch
