// Arithmetic as Python's operators, the dropouts as modules that act in training only.
#include "formats/torch/families.h"

#include <fmt/format.h>
#include <cmath>

namespace convoy::torch {
namespace {

Status write_binary(const Binary& op, Call& c) {
  const Expression a = c.follow(0), b = c.follow(1);
  const int calls = a.calls + b.calls + 1;
  const auto infix = [&](const char* sign, Binds level, Binds right) {
    const bool compares = gives_truth(op.function);
    c.result({bound(a, level) + " " + sign + " " + bound(b, right),
              compares ? Binds::Conditional : level,
              calls,
              false,
              {}});
  };
  const auto call = [&](const char* name) {
    c.result({fmt::format("{}({}, {})", name, a.text, b.text), Binds::Atom, calls, false, {}});
  };
  const auto divided = [&](const char* rounding) {
    c.result({fmt::format("torch.div({}, {}, rounding_mode=\"{}\")", a.text, b.text, rounding),
              Binds::Atom,
              calls,
              false,
              {}});
  };
  const auto compared = [&](const char* sign) { infix(sign, Binds::Sum, Binds::Sum); };
  switch (op.function) {
    // x + (y + z) rounds in another order than x + y + z: what is on the right keeps its parentheses.
    case BinaryFunction::Add: infix("+", Binds::Sum, Binds::Product); break;
    case BinaryFunction::Subtract: infix("-", Binds::Sum, Binds::Product); break;
    case BinaryFunction::Multiply: infix("*", Binds::Product, Binds::Negation); break;
    case BinaryFunction::Divide: infix("/", Binds::Product, Binds::Negation); break;
    case BinaryFunction::Maximum: call("torch.maximum"); break;
    case BinaryFunction::Minimum: call("torch.minimum"); break;
    case BinaryFunction::Power: call("torch.pow"); break;
    case BinaryFunction::Modulo: call("torch.remainder"); break;
    case BinaryFunction::Remainder: call("torch.fmod"); break;
    case BinaryFunction::FloorDivide: divided("floor"); break;
    case BinaryFunction::TruncateDivide: divided("trunc"); break;
    case BinaryFunction::Equal: compared("=="); break;
    case BinaryFunction::NotEqual: compared("!="); break;
    case BinaryFunction::Less: compared("<"); break;
    case BinaryFunction::LessOrEqual: compared("<="); break;
    case BinaryFunction::Greater: compared(">"); break;
    case BinaryFunction::GreaterOrEqual: compared(">="); break;
    case BinaryFunction::And: call("torch.logical_and"); break;
    case BinaryFunction::Or: call("torch.logical_or"); break;
    case BinaryFunction::Xor: call("torch.logical_xor"); break;
  }
  return {};
}

Status write_where(const Where&, Call& c) {
  const Expression a = c.follow(1), b = c.follow(2);
  const Expression condition = c.follow(0);
  const std::string truth = c.type(0).dtype == DType::Bool ? condition.text : postfix(condition) + ".bool()";
  c.result({fmt::format("torch.where({}, {}, {})", truth, a.text, b.text),
            Binds::Atom,
            a.calls + b.calls + condition.calls + 1,
            false,
            {}});
  return {};
}

// 0.00392156862745098 reads better as 1 / 255, which Python computes to the same number.
std::string factor(double value) {
  for (int n = 3; n <= 1024; ++n)
    if (1.0 / n == value && number(value).size() > 8) return fmt::format("(1 / {})", n);
  return number(value);
}

Status write_affine(const Affine& op, Call& c) {
  Expression x = c.follow(0);
  if (op.scale == 0) {  // only the shape of x counts
    const std::string filled = op.offset == 1 ? "torch.ones_like(" + x.text + ")"
                                              : fmt::format("torch.full_like({}, {})", x.text, number(op.offset));
    c.result({filled, Binds::Atom, x.calls + 1, false, {}});
    return {};
  }
  if (op.scale != 1) x = {bound(x, Binds::Product) + " * " + factor(op.scale), Binds::Product, x.calls + 1, false, {}};
  if (op.offset != 0)
    x = {bound(x, Binds::Sum) + (op.offset < 0 ? " - " : " + ") + number(std::abs(op.offset)),
         Binds::Sum,
         x.calls + 1,
         false,
         {}};
  c.result(x);
  return {};
}

Status write_dropout(const Dropout& op, Call& c) {
  const std::string rate = number(op.rate);
  const Size rank = c.type(0).rank();
  switch (op.noise) {
    case Noise::Augmentation: c.result(c.follow(0)); return {};
    case Noise::GaussianNoise: {
      const std::string x = c.name(0);
      c.result({fmt::format("{0} + torch.randn_like({0}) * {1} if self.training else {0}", x, rate), Binds::Conditional,
                3, false, "Gaussian noise"});
      return {};
    }
    case Noise::GaussianDropout: {
      const std::string x = c.name(0), deviation = number(std::sqrt(op.rate / (1 - op.rate)));
      c.result({fmt::format("{0} * (1 + torch.randn_like({0}) * {1}) if self.training else {0}", x, deviation),
                Binds::Conditional, 3, false, fmt::format("Gaussian dropout, rate {}", rate)});
      return {};
    }
    default: break;
  }
  std::string kind = op.noise == Noise::AlphaDropout ? "AlphaDropout" : "Dropout", comment;
  if (op.noise == Noise::SpatialDropout) {
    if (op.channel == 1 && rank >= 3 && rank <= 5) kind = fmt::format("Dropout{}d", rank - 2);
    else comment = "in training the source drops whole channels";
  }
  const std::string self = c.module(fmt::format("nn.{}({})", kind, rate), {}, std::move(comment));
  const Expression x = c.follow(0);
  c.result({self + "(" + x.text + ")", Binds::Atom, x.calls + 1, true, {}});
  return {};
}

Status write_identity(const Identity&, Call& c) {
  c.result(c.follow(0));
  return {};
}

Status write_cast(const Cast& op, Call& c) {
  const Expression x = c.follow(0);
  const std::string method = op.to == DType::F32   ? ".float()"
                             : op.to == DType::I64 ? ".long()"
                                                   : ".to(" + dtype(op.to) + ")";
  c.result({postfix(x) + method, Binds::Atom, x.calls + 1, true, {}});
  return {};
}

constexpr std::array elementwise_table{writes<write_binary>(),  writes<write_where>(),    writes<write_affine>(),
                                       writes<write_dropout>(), writes<write_identity>(), writes<write_cast>()};
static_assert(decides<Elementwise>(elementwise_table), "every elementwise operator needs one row: writes<> or lacks<>");

}  // namespace

std::span<const Row> elementwise_rows() { return elementwise_table; }

}  // namespace convoy::torch
