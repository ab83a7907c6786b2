// Activations as calls of torch.nn.functional; where PyTorch has no word, the formula.
#include "formats/torch/families.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <utility>

namespace convoy::torch {
namespace {

std::string_view function_of(Function f) {
  switch (f) {
    case Function::Sigmoid: return "torch.sigmoid";
    case Function::Tanh: return "torch.tanh";
    case Function::Softplus: return "F.softplus";
    case Function::Softsign: return "F.softsign";
    case Function::Exp: return "torch.exp";
    case Function::Log: return "torch.log";
    case Function::Sqrt: return "torch.sqrt";
    case Function::Rsqrt: return "torch.rsqrt";
    case Function::Square: return "torch.square";
    case Function::Abs: return "torch.abs";
    case Function::Sign: return "torch.sign";
    case Function::Floor: return "torch.floor";
    case Function::Ceil: return "torch.ceil";
    case Function::Round: return "torch.round";
    case Function::Reciprocal: return "torch.reciprocal";
    case Function::Silu: return "F.silu";
    case Function::Gelu:
    case Function::GeluTanh: return "F.gelu";
    case Function::Selu: return "F.selu";
    case Function::Mish: return "F.mish";
    case Function::LogSigmoid: return "F.logsigmoid";
    case Function::HardSwish: return "F.hardswish";
    case Function::TanhShrink: return "F.tanhshrink";
    case Function::Sin: return "torch.sin";
    case Function::Cos: return "torch.cos";
    case Function::Erf: return "torch.erf";
    case Function::Tan: return "torch.tan";
    case Function::Asin: return "torch.asin";
    case Function::Acos: return "torch.acos";
    case Function::Atan: return "torch.atan";
    case Function::Sinh: return "torch.sinh";
    case Function::Cosh: return "torch.cosh";
    case Function::Asinh: return "torch.asinh";
    case Function::Acosh: return "torch.acosh";
    case Function::Atanh: return "torch.atanh";
    case Function::Expm1: return "torch.expm1";
    case Function::Log1p: return "torch.log1p";
    case Function::Truncate: return "torch.trunc";
    case Function::Not: return "torch.logical_not";
    case Function::Negate:
    case Function::SparsePlus:
    case Function::SparseSigmoid: return {};  // formulas below
  }
  std::unreachable();
}

Status write_unary(const Unary& op, Call& c) {
  if (op.function == Function::Negate) {
    const Expression x = c.follow(0);
    c.result({"-" + bound(x, Binds::Negation), Binds::Negation, x.calls + 1, false, {}});
  } else if (op.function == Function::SparsePlus) {
    const std::string x = c.name(0);
    c.result({fmt::format("torch.where({0} < 1, 0.25 * ({0}.clamp(min=-1) + 1).square(), {0})", x),
              Binds::Atom,
              3,
              false,
              {}});
  } else if (op.function == Function::SparseSigmoid) {
    const Expression x = c.follow(0);
    c.result({fmt::format("(0.5 * ({} + 1)).clamp(0, 1)", bound(x, Binds::Sum)), Binds::Atom, x.calls + 1, false, {}});
  } else {
    apply_function(c, std::string(function_of(op.function)),
                   op.function == Function::GeluTanh ? "approximate=\"tanh\"" : "");
  }
  return {};
}

Status write_relu(const Relu& op, Call& c) {
  const bool bent = op.threshold != 0;
  if (!bent && !op.strict && op.negative_slope == 0) {
    if (!op.max_value) apply_function(c, "F.relu");
    else if (*op.max_value == 6) apply_function(c, "F.relu6");
    else if (*op.max_value > 0) {
      const Expression x = c.follow(0);
      c.result(
          {fmt::format("{}.clamp(0, {})", postfix(x), number(*op.max_value)), Binds::Atom, x.calls + 1, false, {}});
    }
    if (!op.max_value || *op.max_value > 0) return {};
  }
  if (!bent && !op.max_value && op.negative_slope != 0) {
    apply_function(c, "F.leaky_relu", number(op.negative_slope));
    return {};
  }
  if (op.strict && op.negative_slope == 0 && !op.max_value) {
    apply_function(c, "F.threshold", fmt::format("{}, 0.0", number(op.threshold)));
    return {};
  }
  const std::string x = c.name(0), t = number(op.threshold);
  const std::string low = op.negative_slope == 0 ? "0.0"
                          : bent                 ? fmt::format("{} * ({} - {})", number(op.negative_slope), x, t)
                                                 : fmt::format("{} * {}", number(op.negative_slope), x);
  std::string text = fmt::format("torch.where({} {} {}, {}, {})", x, op.strict ? ">" : ">=", t, x, low);
  if (op.max_value) text = fmt::format("torch.where({0} >= {1}, {1}, {2})", x, number(*op.max_value), text);
  c.result({text, Binds::Atom, 2, false, {}});
  return {};
}

Status write_elu(const Elu& op, Call& c) {
  apply_function(c, "F.elu", op.alpha == 1 ? "" : "alpha=" + number(op.alpha));
  return {};
}
Status write_celu(const Celu& op, Call& c) {
  apply_function(c, "F.celu", op.alpha == 1 ? "" : "alpha=" + number(op.alpha));
  return {};
}

Status write_clip(const Clip& op, Call& c) {
  const Expression x = c.follow(0);
  std::vector<std::string> bounds;
  if (op.least) bounds.push_back("min=" + number(*op.least));
  if (op.most) bounds.push_back("max=" + number(*op.most));
  if (bounds.empty()) {
    c.result(x);
    return {};
  }
  c.result({postfix(x) + ".clamp(" + joined(bounds) + ")", Binds::Atom, x.calls + 1, false, {}});
  return {};
}

Status write_hard_sigmoid(const HardSigmoid& op, Call& c) {
  if (std::abs(op.alpha - 1.0 / 6) < 1e-9 && op.beta == 0.5) {
    apply_function(c, "F.hardsigmoid");
    return {};
  }
  const Expression x = c.follow(0);
  c.result({fmt::format("({} * {} + {}).clamp(0, 1)", number(op.alpha), bound(x, Binds::Negation), number(op.beta)),
            Binds::Atom,
            x.calls + 1,
            false,
            {}});
  return {};
}

Status write_shrink(const Shrink& op, Call& c) {
  apply_function(c, op.soft ? "F.softshrink" : "F.hardshrink", op.lambda == 0.5 ? "" : number(op.lambda));
  return {};
}

Status write_squareplus(const Squareplus& op, Call& c) {
  const std::string x = c.name(0);
  c.result({fmt::format("({0} + torch.sqrt({0}.square() + {1})) / 2", x, number(op.b)), Binds::Product, 3, false, {}});
  return {};
}

Status write_softplus(const Softplus& op, Call& c) {
  std::vector<std::string> more;
  if (op.beta != 1) more.push_back("beta=" + number(op.beta));
  if (op.threshold && *op.threshold != 20) more.push_back("threshold=" + number(*op.threshold));
  apply_function(c, "F.softplus", joined(more));
  return {};
}

Status write_threshold(const Threshold& op, Call& c) {
  apply_function(c, "F.threshold", number(op.threshold) + ", " + number(op.value));
  return {};
}

Status write_softmax(const Softmax& op, Call& c) {
  if (op.axes.size() == 1) {
    apply_function(c, op.logarithm ? "F.log_softmax" : "F.softmax", fmt::format("dim={}", op.axes[0]));
    return {};
  }
  const std::string x = c.name(0);
  const std::string logarithm = fmt::format("{0} - torch.logsumexp({0}, dim={1}, keepdim=True)", x, tuple(op.axes));
  if (op.logarithm) c.result({logarithm, Binds::Sum, 2, false, {}});
  else c.result({"torch.exp(" + logarithm + ")", Binds::Atom, 2, false, {}});
  return {};
}

Status write_glu(const Glu& op, Call& c) {
  apply_function(c, "F.glu", op.axis == -1 ? "" : fmt::format("dim={}", op.axis));
  return {};
}

Status write_prelu(const PRelu&, Call& c) {
  const Tensor* slope = c.constant(1);
  const auto& shape = slope ? slope->shape() : Sizes{};
  const bool per_channel =
      slope && !shape.empty() && std::all_of(shape.begin() + 1, shape.end(), [](Size n) { return n == 1; });
  const bool channels_known = c.fact(0).rank() > 1 && c.fact(0).shape[1].known();
  if (slope && slope->count() == 1) {
    c.result_of_module(c.module("nn.PReLU()", {c.state("weight", 1, slope->reshaped({1}))}), c.follow(0));
  } else if (per_channel && channels_known && *c.fact(0).shape[1] == shape[0]) {
    c.result_of_module(
        c.module(fmt::format("nn.PReLU({})", shape[0]), {c.state("weight", 1, slope->reshaped({shape[0]}))}),
        c.follow(0));
  } else {
    const std::string x = c.name(0), alpha = c.name(1);
    c.result({fmt::format("torch.where({0} >= 0, {0}, {1} * {0})", x, alpha), Binds::Atom, 2, false, {}});
  }
  return {};
}

constexpr std::array activation_table{
    writes<write_unary>(),    writes<write_relu>(),         writes<write_elu>(),     writes<write_celu>(),
    writes<write_clip>(),     writes<write_hard_sigmoid>(), writes<write_shrink>(),  writes<write_squareplus>(),
    writes<write_softplus>(), writes<write_threshold>(),    writes<write_softmax>(), writes<write_glu>(),
    writes<write_prelu>()};
static_assert(decides<Activation>(activation_table), "every activation needs one row: writes<> or lacks<>");

}  // namespace

std::span<const Row> activation_rows() { return activation_table; }

}  // namespace convoy::torch
