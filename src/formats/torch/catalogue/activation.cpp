// Activations: how PyTorch's functions and layers of one number, and those along an axis, are read, and how they are
// written; where PyTorch has no word, the formula. Source: nn/functional.py, ATen/native/Activation.cpp.
#include "containers/json.h"
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/arithmetic.h"
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

// Whether PyTorch may write over its input says nothing about the numbers.
ValueId input_of(FunctionCall& call) {
  call.attrs.ignore({"inplace"});
  return call.tensor("input");
}

std::vector<ValueId> relu(FunctionCall& call) { return {call.add(Relu{}, {input_of(call)})}; }
std::vector<ValueId> relu6(FunctionCall& call) { return {call.add(Relu{.max_value = 6}, {input_of(call)})}; }

std::vector<ValueId> leaky_relu(FunctionCall& call) {
  const double slope = number_or_default(call, "negative_slope");
  return {call.add(Relu{.negative_slope = slope}, {input_of(call)})};
}

// In training the slope is drawn by lot; otherwise it is the middle of what may be drawn.
std::vector<ValueId> rrelu(FunctionCall& call) {
  const double lower = number_or_default(call, "lower"), upper = number_or_default(call, "upper");
  if (truth_or_default(call, "training")) call.refuse(Fault::Unsupported, "rrelu draws its slopes by lot in training");
  return {call.add(Relu{.negative_slope = (lower + upper) / 2}, {input_of(call)})};
}

// scale * x above 0, scale * alpha * (exp(input_scale * x) - 1) below: what ATen makes of elu, celu and selu.
std::vector<ValueId> elu(FunctionCall& call) {
  const double alpha = number_or_default(call, "alpha"), scale = number_or_default(call, "scale"),
               inner = number_or_default(call, "input_scale");
  if (inner != 1 && std::abs(inner * alpha - 1) > 1e-12)
    call.refuse(Fault::Unsupported, "an elu whose input is scaled by itself");
  const ValueId x = input_of(call), y = inner == 1 ? call.add(Elu{alpha}, {x}) : call.add(Celu{alpha}, {x});
  return {scale == 1 ? y : call.add(Affine{scale, 0}, {y})};
}

std::vector<ValueId> celu(FunctionCall& call) {
  return {call.add(Celu{number_or_default(call, "alpha")}, {input_of(call)})};
}

std::vector<ValueId> gelu(FunctionCall& call) {
  const std::string approximate = call.attrs.word("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    call.refuse(Fault::Format, "argument 'approximate' is '" + approximate + "', expected 'none' or 'tanh'");
  return {call.add(Unary{approximate == "tanh" ? Function::GeluTanh : Function::Gelu}, {input_of(call)})};
}

std::vector<ValueId> softplus(FunctionCall& call) {
  const double beta = call.attrs.number("beta", 1), threshold = call.attrs.number("threshold", 20);
  return {call.add(Softplus{beta, threshold}, {input_of(call)})};
}

// The function lets both bounds be one number, the layer does not.
std::vector<ValueId> hardtanh(FunctionCall& call) {
  const double least = number_or_default(call, "min_val"), most = number_or_default(call, "max_val");
  call.attrs.ignore({"min_value", "max_value"});
  if (least > most || (call.name == "Hardtanh" && least == most))
    call.refuse(Fault::Unsupported, "min_val is " + json_text(least) + " and max_val is " + json_text(most));
  const ValueId x = input_of(call);
  if (!call.failed() && !is_floating(call.type(x).dtype) && (least != std::floor(least) || most != std::floor(most)))
    call.refuse(Fault::Unsupported, "bounds of whole numbers that are no whole numbers");
  return {call.add(Clip{least, most}, {x})};
}

std::vector<ValueId> hardsigmoid(FunctionCall& call) { return {call.add(HardSigmoid{}, {input_of(call)})}; }

std::vector<ValueId> threshold(FunctionCall& call) {
  const double limit = call.attrs.number("threshold"), value = call.attrs.number("value");
  const ValueId x = input_of(call);
  const DType dtype = call.failed() ? DType::F32 : call.type(x).dtype;
  if (is_floating(dtype)) return {call.add(Threshold{limit, value}, {x})};
  if (limit != std::floor(limit) || value != std::floor(value))
    call.refuse(Fault::Unsupported, "a threshold of whole numbers that is " + json_text(limit));
  const ValueId passes =
      call.add(Binary{BinaryFunction::Greater}, {x, number_constant(call, "threshold", limit, dtype)});
  return {call.add(Where{}, {passes, x, number_constant(call, "value", value, dtype)})};
}

std::vector<ValueId> softshrink(FunctionCall& call) {
  const double lambda = number_or_default(call, "lambd");
  if (!(lambda >= 0)) call.refuse(Fault::Unsupported, "argument 'lambd' is " + json_text(lambda));
  return {call.add(Shrink{lambda, true}, {input_of(call)})};
}

std::vector<ValueId> hardshrink(FunctionCall& call) {
  return {call.add(Shrink{number_or_default(call, "lambd"), false}, {input_of(call)})};
}

// One slope for all, or one per channel; an input of rank 1 has one channel.
std::vector<ValueId> prelu(FunctionCall& call) {
  const ValueId x = input_of(call), weight = call.tensor("weight");
  if (call.failed()) return {};
  const Size rank = call.rank(x);
  const Dim count = call.rank(weight) == 0 ? Dim(1) : call.dim(weight, 0);
  const Dim channels = rank < 2 ? Dim(1) : call.dim(x, 1);
  if (call.rank(weight) > 1 || !count.known() || (*count != 1 && !agreed(count, channels)) || rank == 0)
    call.refuse(Fault::Format, "weight has shape " + text_of(call.shape(weight)) +
                                   ", expected one number, or one per channel of an input of shape " +
                                   text_of(call.shape(x)));
  if (call.failed()) return {};
  Sizes slope(static_cast<std::size_t>(rank - 1), 1);
  if (rank > 1) slope.front() = *count;
  return {call.add(PRelu{}, {x, call.add(Reshape{slope}, {weight})})};
}

std::vector<ValueId> prelu_layer(FunctionCall& call) {
  const Size count = whole_number(call, "num_parameters", 1);
  call.attrs.ignore({"init", "device", "dtype"});
  if (const ValueId weight = call.tensor("weight"); weight && call.shape(weight) != Shape{count})
    call.refuse(Fault::Format,
                "weight has shape " + text_of(call.shape(weight)) + ", expected " + text_of(Shape{count}));
  return prelu(call);
}

// dim left out: the first axis of inputs of rank 0, 1 and 3, the second one of others.
Size softmax_axis(FunctionCall& call, Size rank) {
  const bool first = rank == 0 || rank == 1 || rank == 3;
  return axis_of(call, call.attrs.has("dim") ? whole_number(call, "dim") : first ? 0 : 1, rank);
}

std::vector<ValueId> softmax_of(FunctionCall& call, ValueId x, bool logarithm) {
  call.attrs.ignore({"_stacklevel"});
  if (const auto asked = asked_type(call)) x = cast_to(call, x, *asked);
  const Size axis = softmax_axis(call, call.rank(x));
  return {call.add(Softmax{{axis}, logarithm}, {x})};
}

std::vector<ValueId> softmax(FunctionCall& call) { return softmax_of(call, call.tensor("input"), false); }
std::vector<ValueId> log_softmax(FunctionCall& call) { return softmax_of(call, call.tensor("input"), true); }
std::vector<ValueId> softmin(FunctionCall& call) {
  return softmax_of(call, call.add(Unary{Function::Negate}, {call.tensor("input")}), false);
}

// Zeros where nothing but negative infinities comes in.
std::vector<ValueId> safe_softmax(FunctionCall& call) {
  ValueId x = call.tensor("input");
  if (const auto asked = asked_type(call)) x = cast_to(call, x, *asked);
  const Size axis = axis_of(call, call.attrs.integer("dim"), call.rank(x));
  Arithmetic apply(call, x);
  const ValueId nothing = apply.number(-std::numeric_limits<double>::infinity());
  const ValueId nothing_else = apply.folded(Reduction::Minimum, apply(BinaryFunction::Equal, x, nothing), {axis}, true);
  return {apply.choose(nothing_else, apply.number(0), call.add(Softmax{{axis}, false}, {x}))};
}

// Over the channels of [N, C, H, W] or [C, H, W].
std::vector<ValueId> softmax2d(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  if (!call.failed() && call.rank(x) != 3 && call.rank(x) != 4)
    call.refuse(Fault::Format, "input has shape " + text_of(call.shape(x)) + ", expected rank 3 or 4");
  return {call.add(Softmax{{std::max<Size>(call.rank(x) - 3, 0)}, false}, {x})};
}

std::vector<ValueId> glu(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size axis = axis_of(call, whole_number(call, "dim", -1), call.rank(x));
  return {call.add(Glu{axis}, {x})};
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
    const bool approximate = op.function == Function::GeluTanh;
    const bool is_exact = op.function == Function::Gelu && c.always_says("approximate");
    apply_function(c, std::string(written_name(approximate ? Function::Gelu : op.function)),
                   approximate ? "approximate=\"tanh\""
                   : is_exact  ? "approximate=\"none\""
                               : "");
  }
  return {};
}

// A number beside those that are worked on: one with a point would make fractions of whole ones.
std::string number_beside(const Call& c, double value) {
  return is_floating(c.result_type().dtype) ? number(value) : std::to_string(static_cast<std::int64_t>(value));
}

Status write_relu(const Relu& op, Call& c) {
  const bool bent = op.threshold != 0;
  if (!bent && !op.strict && op.negative_slope == 0) {
    if (!op.max_value) apply_function(c, "F.relu");
    else if (*op.max_value == 6) apply_function(c, "F.relu6");
    else if (*op.max_value > 0) {
      const Expression x = c.follow(0);
      c.result({fmt::format("{}.clamp(0, {})", postfix(x), number_beside(c, *op.max_value)),
                Binds::Atom,
                x.calls + 1,
                false,
                {}});
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
  const std::string low = op.negative_slope == 0 ? number_beside(c, 0)
                          : bent                 ? fmt::format("{} * ({} - {})", number(op.negative_slope), x, t)
                                                 : fmt::format("{} * {}", number(op.negative_slope), x);
  std::string text = fmt::format("torch.where({} {} {}, {}, {})", x, op.strict ? ">" : ">=", t, x, low);
  if (op.max_value) text = fmt::format("torch.where({0} >= {1}, {1}, {2})", x, number_beside(c, *op.max_value), text);
  c.result({text, Binds::Atom, 2, false, {}});
  return {};
}

Status write_elu(const Elu& op, Call& c) {
  apply_function(c, "F.elu", unless(c, default_number("elu", "alpha").value_or(0), "alpha", op.alpha));
  return {};
}
Status write_celu(const Celu& op, Call& c) {
  apply_function(c, "F.celu", unless(c, default_number("celu", "alpha").value_or(0), "alpha", op.alpha));
  return {};
}

Status write_clip(const Clip& op, Call& c) {
  const Expression x = c.follow(0);
  std::vector<std::string> bounds;
  const bool whole = !is_floating(c.result_type().dtype);
  const auto bind = [&](const char* word, std::optional<double> bound) {
    if (!bound || (whole && std::isinf(*bound))) return;
    bounds.push_back(word + number_beside(c, *bound));
  };
  bind("min=", op.least);
  bind("max=", op.most);
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
  if (const std::string beta = unless(c, 1, "beta", op.beta); !beta.empty()) more.push_back(beta);
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
  const bool channels_known = c.type(0).rank() > 1 && c.type(0).shape[1].known();
  if (slope && slope->count() == 1) {
    c.result_of_module(c.module("nn.PReLU()", {c.state("weight", 1, slope->reshaped({1}))}), c.follow(0));
  } else if (per_channel && channels_known && *c.type(0).shape[1] == shape[0]) {
    c.result_of_module(
        c.module(fmt::format("nn.PReLU({})", shape[0]), {c.state("weight", 1, slope->reshaped({shape[0]}))}),
        c.follow(0));
  } else {
    const std::string x = c.name(0), alpha = c.name(1);
    c.result({fmt::format("torch.where({0} >= 0, {0}, {1} * {0})", x, alpha), Binds::Atom, 2, false, {}});
  }
  return {};
}

constexpr std::array rows_of_activations{
    CatalogueRow{"relu nn.ReLU", "input:T inplace:b=False", relu},
    CatalogueRow{"relu6 nn.ReLU6", "input:T inplace:b=False", relu6},
    CatalogueRow{"leaky_relu nn.LeakyReLU", "input:T negative_slope:n=0.01 inplace:b=False", leaky_relu},
    CatalogueRow{
        "rrelu nn.RReLU",
        "input:T lower:n=0.125 upper:n=0.3333333333333333 call/training:b=False aten/generator:d?= inplace:b=False",
        rrelu},
    CatalogueRow{"elu nn.ELU", "input:T alpha:n=1.0 aten/scale:n=1.0 aten/input_scale:n=1.0 inplace:b=False", elu},
    CatalogueRow{"celu nn.CELU", "input:T alpha:n=1.0 inplace:b=False", celu},
    CatalogueRow{"gelu nn.GELU", "input:T * approximate:s='none'", gelu, Function::Gelu},
    CatalogueRow{"softplus nn.Softplus", "input:T beta:n=1.0 threshold:n=20.0", softplus, Function::Softplus},
    CatalogueRow{"hardtanh nn.Hardtanh",
                 "input:T min_val:n=-1.0 max_val:n=1.0 inplace:b=False nn/min_value:n?= nn/max_value:n?=", hardtanh},
    CatalogueRow{"hardsigmoid nn.Hardsigmoid", "input:T inplace:b=False", hardsigmoid},
    CatalogueRow{"threshold nn.Threshold", "input:T threshold:n value:n inplace:b=False", threshold},
    CatalogueRow{"softshrink nn.Softshrink", "input:T lambd:n=0.5", softshrink},
    CatalogueRow{"hardshrink nn.Hardshrink", "input:T lambd:n=0.5", hardshrink},
    CatalogueRow{"prelu", "input:T weight:T", prelu},
    CatalogueRow{"nn.PReLU", "num_parameters:i=1 init:f=0.25 device:d= dtype:t=", prelu_layer},
    CatalogueRow{"softmax aten._softmax nn.Softmax",
                 "int(input:T dim:i= F/_stacklevel:i= call/dtype:t?=) _softmax.default(input:T dim:i half_to_float:b)",
                 softmax},
    CatalogueRow{
        "log_softmax aten._log_softmax nn.LogSoftmax",
        "int(input:T dim:i= F/_stacklevel:i= call/dtype:t?=) _log_softmax.default(input:T dim:i half_to_float:b)",
        log_softmax},
    CatalogueRow{"aten._safe_softmax", "input:T dim:i dtype:t?=", safe_softmax},
    CatalogueRow{"F.softmin nn.Softmin", "input:T dim:i= F/_stacklevel:i= F/dtype:t?=", softmin},
    CatalogueRow{"nn.Softmax2d", "input:T", softmax2d},
    CatalogueRow{"glu nn.GLU", "input:T dim:i=-1", glu},
    one_number<Function::Selu>("selu nn.SELU", "input:T inplace:b=False"),
    one_number<Function::Silu>("silu nn.SiLU", "input:T inplace:b=False"),
    one_number<Function::Mish>("mish nn.Mish", "input:T inplace:b=False"),
    one_number<Function::HardSwish>("hardswish nn.Hardswish", "input:T inplace:b=False"),
    one_number<Function::Tanh>("torch.tanh F.tanh nn.Tanh"),
    one_number<Function::Sigmoid>("torch.sigmoid F.sigmoid nn.Sigmoid aten.special_expit"),
    one_number<Function::LogSigmoid>("F.logsigmoid aten.log_sigmoid nn.LogSigmoid"),
    one_number<Function::Softsign>("F.softsign nn.Softsign"),
    one_number<Function::TanhShrink>("F.tanhshrink nn.Tanhshrink"),
};

constexpr std::array activation_table{
    writes<write_unary>(),    writes<write_relu>(),
    writes<write_elu>(),      writes<write_celu>(),
    writes<write_clip>(),     writes<write_hard_sigmoid>(),
    writes<write_shrink>(),   writes<write_squareplus>(),
    writes<write_softplus>(), writes<write_threshold>(),
    writes<write_softmax>(),  lacks<Hardmax, Call>("PyTorch has no hardmax (a pass spells it)"),
    writes<write_glu>(),      writes<write_prelu>()};
static_assert(decides<Activation>(activation_table), "every activation needs one row: writes<> or lacks<>");

}  // namespace

std::span<const CatalogueRow> activation_operators() { return rows_of_activations; }
std::span<const Row> activation_rows() { return activation_table; }

}  // namespace convoy::torch
