// nn.Linear, nn.Embedding and plain products.
#include "formats/torch/families.h"

#include <fmt/format.h>

namespace convoy::torch {
namespace {

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
  if (!table) return c.refused("a lookup in a table that the model computes");
  const std::string self =
      c.module(fmt::format("nn.Embedding({}, {})", table->shape()[0], table->shape()[1]), {c.state("weight", 1)});
  Expression x = c.begin(0);
  const DType type = c.fact(0).dtype;
  // PyTorch looks up int32 and int64 only.
  if (type != DType::I32 && type != DType::I64) x.text = postfix(x) + ".long()";
  c.result_of_module(self, x);
  return {};
}

constexpr std::array linear_table{writes<write_linear>(), writes<write_matmul>(), writes<write_einsum>(),
                                  writes<write_embedding>()};
static_assert(decides<LinearFamily>(linear_table), "every product needs one row: writes<> or lacks<>");

}  // namespace

std::span<const Row> linear_rows() { return linear_table; }

}  // namespace convoy::torch
