// How far an answer is from the one that was wanted: torch.nn.functional's losses, which models give beside their answers.
// Sources: ATen/native/Loss.cpp, LossNLL.cpp and LossMultiMargin.cpp of PyTorch 2.13.
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/arithmetic.h"
#include "formats/torch/catalogue/catalogue.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <numbers>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;
using enum BinaryFunction;

// ATen's number, or the word of torch.nn.functional.
enum class LossReduction : std::uint8_t { None, Mean, Sum };
LossReduction reduction_of(FunctionCall& call) {
  const Json* said = call.attrs.raw("reduction");
  if (said && said->is_string()) {
    const std::string word = call.attrs.word("reduction");
    if (word == "none" || word == "mean" || word == "sum")
      return word == "none" ? LossReduction::None : word == "mean" ? LossReduction::Mean : LossReduction::Sum;
    call.refuse(Fault::Format, "argument 'reduction' is '" + word + "'");
    return LossReduction::None;
  }
  const Size number = call.attrs.integer("reduction", 1);
  if (number < 0 || number > 2)
    call.refuse(Fault::Format, "argument 'reduction' is " + std::to_string(number) + ", expected 0, 1 or 2");
  return static_cast<LossReduction>(number);
}

ValueId folded(FunctionCall& call, ValueId each, LossReduction reduction) {
  if (reduction == LossReduction::None || call.failed()) return each;
  const Reduction by = reduction == LossReduction::Mean ? Reduction::Mean : Reduction::Sum;
  return Arithmetic(call, each).folded(by, each, all_axes(call, each));
}
Results loss_of(FunctionCall& call, ValueId each) { return {folded(call, each, reduction_of(call))}; }

// An input of a loss; of whole numbers PyTorch computes other things, or nothing.
struct Compared {
  ValueId input, target;
};
Compared compared(FunctionCall& call) { return {real_tensor(call, "input"), call.tensor("target")}; }

ValueId apart(FunctionCall& call, Function size) {
  const auto [x, target] = compared(call);
  return call.add(Unary{size}, {call.add(Binary{Subtract}, {x, target})});
}

Results mse_loss(FunctionCall& call) { return loss_of(call, apart(call, Function::Square)); }
Results l1_loss(FunctionCall& call) { return loss_of(call, apart(call, Function::Abs)); }

// Squares near 0, straight lines further out.
Results smooth_l1_loss(FunctionCall& call) {
  const ValueId size = apart(call, Function::Abs);
  const double beta = number_or_default(call, "beta");
  if (beta == 0) return loss_of(call, size);
  if (beta < 0) call.refuse(Fault::Format, "argument 'beta' is below 0");
  Arithmetic apply(call, size);
  const ValueId near = apply.scaled(apply(Function::Square, size), 0.5 / beta);
  return loss_of(call, apply.choose(apply(Less, size, beta), near, apply.scaled(size, 1, -0.5 * beta)));
}
Results huber_loss(FunctionCall& call) {
  const ValueId size = apart(call, Function::Abs);
  const double delta = number_or_default(call, "delta");
  if (!(delta > 0)) call.refuse(Fault::Format, "argument 'delta' is not above 0");
  Arithmetic apply(call, size);
  const ValueId near = apply.scaled(apply(Function::Square, size), 0.5);
  const ValueId far = apply.scaled(size, delta, -0.5 * delta * delta);
  return loss_of(call, apply.choose(apply(Less, size, delta), near, far));
}

Results weighted_loss(FunctionCall& call, ValueId each) {
  if (const ValueId weight = call.optional("weight")) each = call.add(Binary{Multiply}, {each, weight});
  return loss_of(call, each);
}

// (target - 1) log(1 - x) - target log(x), no logarithm below -100.
Results cross_entropy_of_two(FunctionCall& call) {
  const auto [x, target] = compared(call);
  Arithmetic apply(call, x);
  const auto kept = [&](ValueId v) { return call.add(Clip{-100, std::nullopt}, {v}); };
  const ValueId no = kept(apply(Function::Log1p, apply.scaled(x, -1))), yes = kept(apply(Function::Log, x));
  return weighted_loss(call,
                       apply(Subtract, apply(Multiply, apply.scaled(target, 1, -1), no), apply(Multiply, target, yes)));
}

// (1 - target) x - log(sigmoid(x)), the latter (pos_weight - 1) target + 1 times.
Results cross_entropy_of_logits(FunctionCall& call) {
  const auto [x, target] = compared(call);
  Arithmetic apply(call, x);
  ValueId yes = apply(Function::LogSigmoid, x);
  if (const ValueId weight = call.optional("pos_weight"))
    yes = apply(Multiply, yes, apply.scaled(apply(Multiply, apply.scaled(weight, 1, -1), target), 1, 1));
  return weighted_loss(call, apply(Subtract, apply(Multiply, apply.scaled(target, -1, 1), x), yes));
}

Results divergence(FunctionCall& call) {
  const auto [x, target] = compared(call);
  Arithmetic apply(call, x);
  if (truth_or_default(call, "log_target"))
    return loss_of(call, apply(Multiply, apply(Function::Exp, target), apply(Subtract, target, x)));
  const auto own = through(call, "xlogy.Tensor", Json::object(), {{"input", target}, {"other", target}});
  if (call.failed()) return {};
  return loss_of(call, apply(Subtract, own[0], apply(Multiply, target, x)));
}

// ---- classes --------------------------------------------------------------------------------------------------------------

// What a list of classes says about scores [C], or [N, C, ...]: of each place the score of its class, what that class weighs
// (nothing: 1 each), and whether it counts.
struct Chosen {
  ValueId score, weight, counts;
};
Chosen chosen_of(FunctionCall& call, ValueId scores, ValueId target, ValueId weight) {
  const Size axis = call.rank(scores) == 1 ? 0 : 1, ignored = call.attrs.integer("ignore_index", -100);
  if (call.rank(scores) < 1 || call.rank(target) != call.rank(scores) - 1)
    call.refuse(Fault::Format, "wants one class for every place");
  target = cast_to(call, target, DType::I64);
  Arithmetic classes(call, target), apply(call, scores);
  const ValueId counts = classes(NotEqual, target, static_cast<double>(ignored));
  const ValueId valid = classes.choose(counts, target, classes.number(0));
  const ValueId picked = call.add(GatherElements{axis}, {scores, call.add(Unsqueeze{{axis}}, {valid})});
  Chosen chosen{call.add(Squeeze{{axis}}, {picked}), {}, counts};
  if (weight) chosen.weight = call.add(Gather{0}, {weight, valid});
  return chosen;
}

// The sum of the weights of those that count.
ValueId weight_of_all(FunctionCall& call, ValueId scores, const Chosen& chosen) {
  Arithmetic apply(call, scores);
  const ValueId one = chosen.weight ? chosen.weight : apply.number(1);
  const ValueId each = apply.choose(chosen.counts, one, apply.number(0));
  if (call.failed()) return {};
  return apply.folded(Reduction::Sum, each, all_axes(call, each));
}

ValueId of_those_that_count(FunctionCall& call, ValueId each, const Chosen& chosen, ValueId divisor,
                            LossReduction reduction) {
  Arithmetic apply(call, each);
  const ValueId counted = apply.choose(chosen.counts, each, apply.number(0));
  if (reduction == LossReduction::None) return counted;
  const ValueId sum = folded(call, counted, LossReduction::Sum);
  return reduction == LossReduction::Sum ? sum : apply(Divide, sum, divisor);
}

ValueId likelihood(FunctionCall& call, ValueId scores, const Chosen& chosen, LossReduction reduction) {
  Arithmetic apply(call, scores);
  ValueId each = apply(Function::Negate, chosen.score);
  if (chosen.weight) each = apply(Multiply, each, chosen.weight);
  const ValueId divisor = reduction == LossReduction::Mean ? weight_of_all(call, scores, chosen) : ValueId{};
  return of_those_that_count(call, each, chosen, divisor, reduction);
}

Results nll_loss(FunctionCall& call) {
  const auto [scores, target] = compared(call);
  const ValueId weight = call.optional("weight");
  if (call.failed()) return {};
  const LossReduction reduction = reduction_of(call);
  const Chosen chosen = chosen_of(call, scores, target, weight);
  const ValueId loss = likelihood(call, scores, chosen, reduction);
  if (call.results < 2) return {loss};
  return {loss, reduction == LossReduction::None ? number_constant(call, "total", 0, call.type(scores).dtype)
                                                 : weight_of_all(call, scores, chosen)};
}

// Of each class what it weighs, along the axis of the classes.
ValueId weighed(FunctionCall& call, ValueId scores, ValueId weight, Size axis) {
  if (!weight) return scores;
  Sizes behind;
  for (Size i = axis + 1; i < call.rank(scores); ++i) behind.push_back(i - axis);
  if (!behind.empty()) weight = call.add(Unsqueeze{behind}, {weight});
  return call.add(Binary{Multiply}, {scores, weight});
}

// Targets that are shares of each class.
ValueId loss_of_shares(FunctionCall& call, ValueId scores, ValueId target, ValueId weight, double smoothing,
                       Size axis) {
  const LossReduction reduction = reduction_of(call);
  call.attrs.ignore({"ignore_index"});  // which no share has
  const auto classes = static_cast<double>(known_size(call, scores, axis));
  Arithmetic apply(call, scores);
  if (smoothing > 0) target = apply.scaled(target, 1 - smoothing, smoothing / classes);
  const ValueId each = weighed(call, apply(Multiply, scores, target), weight, axis);
  const ValueId of_place = apply(Function::Negate, apply.folded(Reduction::Sum, each, {axis}));
  return folded(call, of_place, reduction);
}

// What smoothing adds: of every place the mean over its classes.
ValueId smoothed(FunctionCall& call, ValueId scores, const Chosen& chosen, ValueId weight, Size axis,
                 LossReduction reduction) {
  Arithmetic apply(call, scores);
  const ValueId sum = apply.folded(Reduction::Sum, weighed(call, scores, weight, axis), {axis});
  const ValueId divisor = reduction == LossReduction::Mean ? weight_of_all(call, scores, chosen) : ValueId{};
  return of_those_that_count(call, apply(Function::Negate, sum), chosen, divisor, reduction);
}

Results cross_entropy(FunctionCall& call) {
  const auto [x, target] = compared(call);
  const ValueId weight = call.optional("weight");
  const double smoothing = number_or_default(call, "label_smoothing");
  if (call.failed()) return {};
  const Size axis = call.rank(x) == 1 ? 0 : 1;
  const ValueId scores = call.add(Softmax{{axis}, true}, {x});
  if (call.failed()) return {};
  if (is_floating(call.type(target).dtype)) return {loss_of_shares(call, scores, target, weight, smoothing, axis)};
  const LossReduction reduction = reduction_of(call);
  const Chosen chosen = chosen_of(call, scores, target, weight);
  const ValueId loss = likelihood(call, scores, chosen, reduction);
  if (smoothing == 0) return {loss};
  const auto classes = static_cast<double>(known_size(call, scores, axis));
  const ValueId more = smoothed(call, scores, chosen, weight, axis, reduction);
  Arithmetic apply(call, scores);
  return {apply(Add, apply.scaled(more, smoothing / classes), apply.scaled(loss, 1 - smoothing))};
}

// Every other class's score less the wanted one's, and a margin more, where that is above 0.
Results multi_margin_loss(FunctionCall& call) {
  auto [x, target] = compared(call);
  const double p = number_or_default(call, "p"), margin = number_or_default(call, "margin");
  const ValueId weight = call.optional("weight");
  if (p != 1 && p != 2) call.refuse(Fault::Format, "argument 'p' is neither 1 nor 2");
  const bool single = call.rank(x) == 1, is_number = single && call.rank(target) == 0;
  if (single) x = call.add(Unsqueeze{{0}}, {x});
  if (is_number) target = call.add(Unsqueeze{{0}}, {target});
  if (call.rank(x) != 2 || call.rank(target) != 1)
    call.refuse(Fault::Unsupported, "margins of other than rows of scores");
  if (call.failed()) return {};
  const Size classes = known_size(call, x, 1);
  const ValueId column = call.add(Unsqueeze{{1}}, {cast_to(call, target, DType::I64)});
  const ValueId wanted = call.add(GatherElements{1}, {x, column});
  Arithmetic apply(call, x);
  ValueId over = call.add(Clip{0, std::nullopt}, {apply.scaled(apply(Subtract, x, wanted), 1, margin)});
  if (p == 2) over = apply(Function::Square, over);
  if (weight) over = apply(Multiply, over, call.add(Gather{0}, {weight, column}));
  Sizes places(static_cast<std::size_t>(std::max<Size>(classes, 0)));
  for (Size i = 0; i < classes; ++i) places[static_cast<std::size_t>(i)] = i;
  const ValueId numbers =
      call.make_constant("classes", Tensor::of({classes}, std::vector<std::int64_t>(places.begin(), places.end())));
  const ValueId others = apply.choose(apply(NotEqual, column, numbers), over, apply.number(0));
  ValueId each = apply.scaled(apply.folded(Reduction::Sum, others, {1}), 1 / static_cast<double>(classes));
  const LossReduction reduction = reduction_of(call);
  if (is_number && reduction == LossReduction::None) each = call.add(Squeeze{{0}}, {each});
  return {folded(call, each, reduction)};
}

// ---- distances and margins --------------------------------------------------------------------------------------------

ValueId at_least_zero(FunctionCall& call, ValueId x) { return call.add(Clip{0, std::nullopt}, {x}); }

Results cosine_embedding_loss(FunctionCall& call) {
  const ValueId a = real_tensor(call, "input1"), b = real_tensor(call, "input2"), target = call.tensor("target");
  const double margin = number_or_default(call, "margin");
  if (call.failed()) return {};
  const Size axis = call.rank(target);
  Arithmetic apply(call, a), sides(call, target);
  const auto summed = [&](ValueId x, ValueId y) { return apply.folded(Reduction::Sum, apply(Multiply, x, y), {axis}); };
  constexpr double least = 1e-12;
  const ValueId lengths = apply(
      Function::Sqrt, apply(Multiply, apply.scaled(summed(a, a), 1, least), apply.scaled(summed(b, b), 1, least)));
  const ValueId cosine = apply(Divide, summed(a, b), lengths);
  const ValueId alike = apply.scaled(cosine, -1, 1), unlike = at_least_zero(call, apply.scaled(cosine, 1, -margin));
  const ValueId zero = apply.number(0);
  return loss_of(
      call, apply.choose(sides(Equal, target, 1.0), alike, apply.choose(sides(Equal, target, -1.0), unlike, zero)));
}

Results triplet_margin_loss(FunctionCall& call) {
  const ValueId anchor = real_tensor(call, "anchor"), positive = real_tensor(call, "positive"),
                negative = real_tensor(call, "negative");
  const Json how{{"p", number_or_default(call, "p")}, {"eps", number_or_default(call, "eps")}};
  const double margin = number_or_default(call, "margin");
  const auto between = [&](ValueId a, ValueId b) {
    const auto made = through(call, "pairwise_distance.default", how, {{"x1", a}, {"x2", b}});
    return made.empty() ? ValueId{} : made[0];
  };
  const ValueId near = between(anchor, positive);
  ValueId far = between(anchor, negative);
  Arithmetic apply(call, anchor);
  if (truth_or_default(call, "swap")) far = apply(Minimum, far, between(positive, negative));
  return loss_of(call, at_least_zero(call, apply.scaled(apply(Subtract, near, far), 1, margin)));
}

Results margin_ranking_loss(FunctionCall& call) {
  const ValueId a = real_tensor(call, "input1"), b = real_tensor(call, "input2"), target = call.tensor("target");
  const double margin = number_or_default(call, "margin");
  Arithmetic apply(call, a);
  const ValueId lead = apply(Multiply, target, apply(Subtract, a, b));
  return loss_of(call, at_least_zero(call, apply.scaled(lead, -1, margin)));
}

Results hinge_embedding_loss(FunctionCall& call) {
  const auto [x, target] = compared(call);
  const double margin = number_or_default(call, "margin");
  Arithmetic apply(call, x), sides(call, target);
  const ValueId zero = apply.number(0), over = at_least_zero(call, apply.scaled(x, -1, margin));
  return loss_of(call, apply(Add, apply.choose(sides(NotEqual, target, 1.0), over, zero),
                             apply.choose(sides(NotEqual, target, -1.0), x, zero)));
}

Results soft_margin_loss(FunctionCall& call) {
  const auto [x, target] = compared(call);
  Arithmetic apply(call, x);
  return loss_of(call, apply(Function::Log1p, apply(Function::Exp, apply(Multiply, apply.scaled(x, -1), target))));
}

// exp(x) - target x, or x - target log(x), and Stirling's formula for what depends on the target alone.
Results poisson_loss(FunctionCall& call) {
  const auto [x, target] = compared(call);
  const double eps = call.attrs.number("eps", 1e-8);
  Arithmetic apply(call, x), wanted(call, target);
  ValueId each = call.attrs.truth("log_input", true)
                     ? apply(Subtract, apply(Function::Exp, x), apply(Multiply, target, x))
                     : apply(Subtract, x, apply(Multiply, target, apply(Function::Log, apply.scaled(x, 1, eps))));
  if (call.attrs.truth("full", false)) {
    const ValueId logarithm = apply(Function::Log, target);
    const ValueId circle = apply.scaled(apply(Function::Log, apply.scaled(target, 2 * std::numbers::pi)), 0.5);
    const ValueId formula = apply(Add, apply(Subtract, apply(Multiply, target, logarithm), target), circle);
    each = apply(Add, each, apply.choose(wanted(LessOrEqual, target, 1.0), apply.number(0), formula));
  }
  return loss_of(call, each);
}

constexpr std::array rows_of_losses{
    CatalogueRow{"aten.mse_loss", "input:T target:T reduction:i=1", mse_loss},
    CatalogueRow{"aten.l1_loss", "input:T target:T reduction:i=1", l1_loss},
    CatalogueRow{"aten.smooth_l1_loss", "input:T target:T reduction:i=1 beta:f=1.0", smooth_l1_loss},
    CatalogueRow{"aten.huber_loss", "input:T target:T reduction:i=1 delta:f=1.0", huber_loss},
    CatalogueRow{"aten.binary_cross_entropy", "input:T target:T weight:T?= reduction:i=1", cross_entropy_of_two},
    CatalogueRow{"aten.binary_cross_entropy_with_logits", "input:T target:T weight:T?= pos_weight:T?= reduction:i=1",
                 cross_entropy_of_logits},
    CatalogueRow{"aten.kl_div", "input:T target:T reduction:i=1 * log_target:b=False", divergence},
    CatalogueRow{"aten.nll_loss aten.nll_loss_nd aten.nll_loss2d",
                 "input:T target:T weight:T?= reduction:i=1 ignore_index:i=-100", nll_loss},
    CatalogueRow{"aten.nll_loss_forward aten.nll_loss2d_forward",
                 "input:T target:T weight:T? reduction:i ignore_index:i -> TT", nll_loss},
    CatalogueRow{"aten.cross_entropy_loss",
                 "input:T target:T weight:T?= reduction:i=1 ignore_index:i=-100 label_smoothing:f=0.0", cross_entropy},
    CatalogueRow{"aten.multi_margin_loss", "input:T target:T p:n=1 margin:n=1 weight:T?= reduction:i=1",
                 multi_margin_loss},
    CatalogueRow{"aten.cosine_embedding_loss", "input1:T input2:T target:T margin:f=0.0 reduction:i=1",
                 cosine_embedding_loss},
    CatalogueRow{"aten.triplet_margin_loss",
                 "anchor:T positive:T negative:T margin:f=1.0 p:f=2.0 eps:f=1e-06 swap:b=False reduction:i=1",
                 triplet_margin_loss},
    CatalogueRow{"aten.margin_ranking_loss", "input1:T input2:T target:T margin:f=0.0 reduction:i=1",
                 margin_ranking_loss},
    CatalogueRow{"aten.hinge_embedding_loss", "input:T target:T margin:f=1.0 reduction:i=1", hinge_embedding_loss},
    CatalogueRow{"aten.soft_margin_loss", "input:T target:T reduction:i=1", soft_margin_loss},
    CatalogueRow{"aten.poisson_nll_loss", "input:T target:T log_input:b full:b eps:f reduction:i", poisson_loss},
};

}  // namespace

std::span<const CatalogueRow> loss_operators() { return rows_of_losses; }

}  // namespace convoy::torch
