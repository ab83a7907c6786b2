#include "diagnose/limits.h"

#include "diagnose/bounds.h"
#include "diagnose/hypothesis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace convoy::diagnose {

namespace {

void add_limit(std::vector<Limits>& limits, ValueId v, double at, const std::string& layer) {
  if (!std::isfinite(at)) return;
  auto one = std::ranges::find(limits, v, &Limits::value);
  if (one == limits.end()) one = limits.insert(limits.end(), Limits{v, {0}, {""}, {false, false}});
  const auto place = std::ranges::lower_bound(one->at, at);
  const auto i = place - one->at.begin();
  if (place != one->at.end() && *place == at) {
    if (one->layers[static_cast<std::size_t>(i)].empty()) one->layers[static_cast<std::size_t>(i)] = layer;
    return;
  }
  one->at.insert(place, at);
  one->layers.insert(one->layers.begin() + i, layer);
  one->met.push_back(false);
}

// Next to a limit: what lies on the far side of zero alone is nobody's.
bool is_wanted(const Limits& limits, std::size_t stretch) {
  const bool begins = stretch > 0 && !limits.layers[stretch - 1].empty();
  return begins || (stretch < limits.at.size() && !limits.layers[stretch].empty());
}

void add_functions(std::vector<Limits>& limits, const Node& node, Function function) {
  const auto put = [&](std::initializer_list<double> all) {
    for (const double at : all) add_limit(limits, node.inputs[0], at, node.layer);
  };
  switch (function) {
    case Function::Abs:
    case Function::Sign:
    case Function::Selu: return put({0});
    case Function::HardSwish: return put({-3, 3});
    case Function::SparsePlus:
    case Function::SparseSigmoid: return put({-1, 1});
    default: return;
  }
}

// Where a remainder is no longer the number itself.
void add_periods(std::vector<Limits>& limits, const Graph& piece, const Node& node) {
  const Tensor* period = constant_of(piece, node, 1);
  if (!period || constant_of(piece, node, 0)) return;
  const Bounds bounds = bounds_of_constant(*period);
  const double largest = std::max(std::abs(bounds.least), std::abs(bounds.most));
  add_limit(limits, node.inputs[0], largest, node.layer);
  add_limit(limits, node.inputs[0], -largest, node.layer);
}

// Against a constant: where its numbers begin and where they end.
void add_comparison(std::vector<Limits>& limits, const Graph& piece, const Node& node, BinaryFunction function) {
  if (divides_whole(function)) return add_periods(limits, piece, node);
  const bool compares = gives_truth(function) && function < BinaryFunction::And;
  if (!compares && function != BinaryFunction::Maximum && function != BinaryFunction::Minimum) return;
  for (const std::size_t i : {0, 1}) {
    const Tensor* constant = constant_of(piece, node, i);
    if (!constant || constant_of(piece, node, 1 - i)) continue;
    const Bounds bounds = bounds_of_constant(*constant);
    add_limit(limits, node.inputs[1 - i], bounds.least, node.layer);
    add_limit(limits, node.inputs[1 - i], bounds.most, node.layer);
  }
}

}  // namespace

std::vector<Limits> limits_in(const Graph& piece) {
  std::vector<Limits> limits;
  for (const Node& node : piece.nodes) {
    const auto put = [&](double at) { add_limit(limits, node.inputs[0], at, node.layer); };
    node.op.visit([&]<class O>(const O& o) {
      if constexpr (std::is_same_v<O, Relu>) {
        put(o.threshold);
        if (o.max_value) put(*o.max_value);
      } else if constexpr (std::is_same_v<O, Clip>) {
        if (o.least) put(*o.least);
        if (o.most) put(*o.most);
      } else if constexpr (std::is_same_v<O, Threshold>) {
        put(o.threshold);
      } else if constexpr (std::is_same_v<O, Shrink>) {
        put(o.lambda), put(-o.lambda);
      } else if constexpr (std::is_same_v<O, HardSigmoid>) {
        put(-o.beta / o.alpha), put((1 - o.beta) / o.alpha);
      } else if constexpr (std::is_same_v<O, Elu> || std::is_same_v<O, Celu> || std::is_same_v<O, PRelu>) {
        put(0);
      } else if constexpr (std::is_same_v<O, Unary>) {
        add_functions(limits, node, o.function);
      } else if constexpr (std::is_same_v<O, Binary>) {
        add_comparison(limits, piece, node, o.function);
      }
    });
  }
  return limits;
}

namespace {

// What `node` reads, and the number of it that makes this one; nothing where no single number does.
std::optional<std::pair<ValueId, double>> undone(const Graph& piece, const Node& node, double made) {
  if (const auto* affine = get_if<Affine>(&node.op)) {
    if (affine->scale == 0) return std::nullopt;
    return std::pair(node.inputs[0], (made - affine->offset) / affine->scale);
  }
  const bool is_moved = traits_of(node.op).moves_numbers() && node.inputs.size() == 1;
  if (is_moved || holds_alternative<Cast>(node.op)) return std::pair(node.inputs[0], made);
  if (const auto* unary = get_if<Unary>(&node.op); unary && unary->function == Function::Negate)
    return std::pair(node.inputs[0], -made);
  const auto* binary = get_if<Binary>(&node.op);
  const Tensor* number = binary ? constant_of(piece, node, 1) : nullptr;
  if (!number || number->count() != 1) return std::nullopt;
  const double by = number->doubles()[0];
  switch (binary->function) {
    case BinaryFunction::Add: return std::pair(node.inputs[0], made - by);
    case BinaryFunction::Subtract: return std::pair(node.inputs[0], made + by);
    case BinaryFunction::Multiply: return std::pair(node.inputs[0], made / by);
    case BinaryFunction::Divide: return std::pair(node.inputs[0], made * by);
    default: return std::nullopt;
  }
}

}  // namespace

std::vector<double> limits_at_inputs(const Graph& piece, const std::vector<Limits>& limits) {
  std::vector<double> all;
  for (const Limits& one : limits)
    for (double at : one.at) {
      ValueId v = one.value;
      while (const NodeId maker = piece[v].producer) {
        const auto before = undone(piece, piece[maker], at);
        if (!before || !before->first) break;
        std::tie(v, at) = *before;
      }
      if (!piece[v].producer && std::isfinite(at)) all.push_back(at);
    }
  return all;
}

namespace {

bool compares(const Node& node) {
  const auto* binary = get_if<Binary>(&node.op);
  return binary && gives_truth(binary->function) && binary->function < BinaryFunction::And;
}

bool asks_for_equality(const Node& node) {
  const auto function = get<Binary>(node.op).function;
  return function == BinaryFunction::Equal || function == BinaryFunction::NotEqual;
}

}  // namespace

std::vector<Ties> ties_in(const Graph& piece) {
  std::vector<Ties> all;
  for (const Node& node : piece.nodes) {
    if (const auto* extreme = get_if<ArgExtreme>(&node.op))
      all.push_back({node.inputs[0], {}, {}, extreme->axis, 1, extreme->largest, node.layer});
    if (const auto* top = get_if<TopK>(&node.op); top && node.outputs.size() > 1)
      all.push_back({node.inputs[0], {}, {}, top->axis, top->count, top->largest, node.layer});
    if (!compares(node)) continue;
    const Tensor *first = constant_of(piece, node, 0), *second = constant_of(piece, node, 1);
    const Tensor* constant = first ? first : second;
    if (!constant) all.push_back({.value = node.inputs[0], .other = node.inputs[1], .layer = node.layer});
    else if (constant->count() == 1 && !(first && second) && !asks_for_equality(node))
      all.push_back({.value = node.inputs[first ? 1 : 0], .number = constant->doubles()[0], .layer = node.layer});
  }
  return all;
}

namespace {

std::vector<Truth> truths_in(const Graph& piece) {
  std::vector<Truth> all;
  for (const Node& node : piece.nodes) {
    if (compares(node) && node.inputs[0] == node.inputs[1]) continue;  // asks what is no number
    for (const ValueId v : node.outputs)
      if (piece[v].type.dtype == DType::Bool) all.push_back({v, node.layer});
  }
  return all;
}

}  // namespace

namespace {

std::vector<Steps> steps_in(const Graph& piece) {
  std::vector<Steps> all;
  for (const Node& node : piece.nodes) {
    const auto* unary = get_if<Unary>(&node.op);
    if (!unary) continue;
    if (unary->function == Function::Round)  // to the even one: down from one half, up from the next
      for (const double half : {0.5, 1.5}) all.push_back({node.inputs[0], half, 2, node.layer});
    if (unary->function == Function::Floor || unary->function == Function::Ceil)
      all.push_back({node.inputs[0], 0, 1, node.layer});
  }
  return all;
}

}  // namespace

Reached nothing_reached(const Graph& piece) {
  return {limits_in(piece), ties_in(piece), truths_in(piece), steps_in(piece), choices_in(piece)};
}

namespace {

// What two values differ by, number by number; sizes 1 stretch, ranks are aligned at the last axis. Empty: they do not fit.
std::vector<double> differences(const Tensor& x, const Tensor& y) {
  const Sizes &p = x.shape(), &q = y.shape();
  const std::size_t rank = std::max(p.size(), q.size());
  Sizes shape(rank, 1), steps_x(rank, 0), steps_y(rank, 0);
  const auto lay = [&](const Sizes& own, Sizes& steps) {
    Size step = 1;
    for (std::size_t i = own.size(); i-- > 0;) {
      const std::size_t axis = rank - own.size() + i;
      if (own[i] != 1) steps[axis] = step;
      if (shape[axis] == 1) shape[axis] = own[i];
      else if (own[i] != 1 && own[i] != shape[axis]) return false;
      step *= own[i];
    }
    return true;
  };
  if (!lay(p, steps_x) || !lay(q, steps_y)) return {};
  const auto of_x = x.doubles(), of_y = y.doubles();
  std::vector<double> all(static_cast<std::size_t>(checked_count(shape).value_or(0)));
  for (std::size_t n = 0; n < all.size(); ++n) {
    Size left = static_cast<Size>(n), at_x = 0, at_y = 0;
    for (std::size_t axis = rank; axis-- > 0; left /= shape[axis]) {
      at_x += left % shape[axis] * steps_x[axis];
      at_y += left % shape[axis] * steps_y[axis];
    }
    all[n] = of_x[static_cast<std::size_t>(at_x)] - of_y[static_cast<std::size_t>(at_y)];
  }
  return all;
}

// Whether two of the numbers that are chosen along the axis are equal, or the last one and the first that is not.
bool has_equal_numbers(const Tensor& tensor, const Ties& ties) {
  const Sizes& shape = tensor.shape();
  const std::size_t at = static_cast<std::size_t>(ties.axis < 0 ? ties.axis + std::ssize(shape) : ties.axis);
  if (at >= shape.size()) return false;
  const Size length = shape[at];
  Size inner = 1;
  for (std::size_t i = at + 1; i < shape.size(); ++i) inner *= shape[i];
  const auto numbers = tensor.doubles();
  const Size rows = length > 0 ? tensor.count() / length : 0;
  for (Size row = 0; row < rows; ++row) {
    std::vector<double> along;
    const Size first = row / inner * inner * length + row % inner;
    for (Size i = 0; i < length; ++i) along.push_back(numbers[static_cast<std::size_t>(first + i * inner)]);
    if (ties.largest) std::ranges::sort(along, std::greater{});
    else std::ranges::sort(along);
    along.resize(static_cast<std::size_t>(std::clamp<Size>(ties.count + 1, 0, length)));
    if (std::ranges::adjacent_find(along) != along.end()) return true;
  }
  return false;
}

bool are_met(const Ties& ties, const std::vector<Tensor>& values) {
  const Tensor& own = values[ties.value.slot()];
  if (ties.number) return std::ranges::count(own.doubles(), *ties.number) > 0;
  if (!ties.other) return has_equal_numbers(own, ties);
  const Tensor& other = values[ties.other.slot()];
  return std::ranges::count(differences(own, other), 0.0) > 0;
}

void note(Truth& one, const std::vector<Tensor>& values) {
  for (const double x : values[one.value.slot()].doubles()) (x != 0 ? one.held : one.failed) = true;
}

void note(Steps& one, const std::vector<Tensor>& values) {
  for (const double x : values[one.value.slot()].doubles())
    one.met = one.met || std::remainder(x - one.at, one.apart) == 0;
}

void note(Limits& one, const std::vector<Tensor>& values) {
  if (std::ranges::find(one.met, false) == one.met.end()) return;
  for (const double x : values[one.value.slot()].doubles()) {
    const auto place = std::ranges::lower_bound(one.at, x);
    const bool is_on_limit = place != one.at.end() && *place == x;
    if (!std::isnan(x) && !is_on_limit) one.met[static_cast<std::size_t>(place - one.at.begin())] = true;
  }
}

}  // namespace

void note(Reached& reached, const std::vector<Tensor>& values) {
  for (Limits& one : reached.limits) note(one, values);
  for (Ties& one : reached.ties) one.met = one.met || are_met(one, values);
  for (Truth& one : reached.truths) note(one, values);
  for (Steps& one : reached.steps) note(one, values);
  for (Choice& one : reached.choices) note(one, values);
}

namespace {

// Far from zero, on one side at least, they make nothing of what they read, or hand it on as it is.
std::optional<Crossing> crossing_of(Function function) {
  switch (function) {
    case Function::Sigmoid:
    case Function::LogSigmoid:
    case Function::Tanh:
    case Function::Softsign:
    case Function::Erf:
    case Function::Softplus:
    case Function::Gelu:
    case Function::GeluTanh:
    case Function::Silu:
    case Function::Mish:
    case Function::Selu:
    case Function::Exp: return Crossing{.kind = Crossing::Kind::Middle};
    case Function::Floor:
    case Function::Ceil: return Crossing{.at = 1, .kind = Crossing::Kind::Step};
    case Function::Round: return Crossing{.at = 0.5, .kind = Crossing::Kind::Step};
    default: return std::nullopt;
  }
}

std::optional<Crossing> crossing_of(const Node& node) {
  if (holds_alternative<Softplus>(node.op)) return Crossing{.kind = Crossing::Kind::Middle};
  const auto* unary = get_if<Unary>(&node.op);
  return unary ? crossing_of(unary->function) : std::nullopt;
}

}  // namespace

std::vector<Crossing> crossings_in(const Graph& piece, const Graph& other) {
  constexpr double near = 1e-6;
  std::vector<Crossing> all;
  for (const Node& node : piece.nodes) {
    const auto* binary = get_if<Binary>(&node.op);
    const bool chooses =
        binary && (binary->function == BinaryFunction::Maximum || binary->function == BinaryFunction::Minimum);
    if ((compares(node) || chooses) && node.inputs[0] != node.inputs[1])
      all.push_back({node.inputs[0], node.inputs[1]});
  }
  const auto limits = limits_in(other);
  const auto has = [&](double at) {
    return std::ranges::any_of(limits, [&](const Limits& one) {
      return std::ranges::any_of(one.at,
                                 [&](double x) { return std::abs(x - at) <= near * std::max(1.0, std::abs(at)); });
    });
  };
  for (const Limits& one : limits_in(piece))
    for (std::size_t i = 0; i < one.at.size(); ++i)
      if (!one.layers[i].empty() && !has(one.at[i])) all.push_back({one.value, {}, one.at[i]});
  for (const Node& node : piece.nodes) {
    auto crossing = crossing_of(node);
    if (!crossing || !piece[node.inputs[0]].producer) continue;
    crossing->value = node.inputs[0];
    all.push_back(*crossing);
  }
  return all;
}

std::vector<double> beyond(const Crossing& crossing, const Graph& piece, const std::vector<Tensor>& values) {
  const auto of = [&](ValueId v) -> const Tensor& { return piece[v].constant ? *piece[v].constant : values[v.slot()]; };
  if (crossing.other) return differences(of(crossing.value), of(crossing.other));
  std::vector<double> all = of(crossing.value).doubles();
  for (double& x : all) x -= crossing.at;
  return all;
}

std::vector<double> factors_toward(const Limits& limits, const std::vector<Tensor>& values) {
  constexpr double beyond = 2, just_beyond = 1.1;
  double most = 0;
  for (const double x : values[limits.value.slot()].doubles())
    if (std::isfinite(x)) most = std::max(most, std::abs(x));
  std::vector<double> factors;
  for (std::size_t i = 0; i < limits.met.size() && most > 0; ++i) {
    if (limits.met[i] || !is_wanted(limits, i)) continue;
    const bool is_last = i == limits.at.size();
    const double low = i == 0 ? 0 : std::abs(limits.at[i - 1]), high = is_last ? 0 : std::abs(limits.at[i]);
    const bool is_end = i == 0 || is_last;
    const double size = (is_end ? beyond : just_beyond) * std::max(low, high);
    factors.push_back(size > 0 ? size / most : 1);
  }
  return factors;
}

namespace {

void add_not_met(std::vector<std::string>& all, const Limits& limits) {
  for (std::size_t i = 0; i < limits.met.size(); ++i) {
    if (limits.met[i] || !is_wanted(limits, i)) continue;
    const bool is_first = i == 0, is_last = i == limits.at.size();
    const std::string& layer =
        is_last || (!is_first && limits.layers[i].empty()) ? limits.layers[i - 1] : limits.layers[i];
    if (is_first) all.push_back(fmt::format("x < {:g} at '{}'", limits.at[i], layer));
    else if (is_last) all.push_back(fmt::format("x > {:g} at '{}'", limits.at[i - 1], layer));
    else all.push_back(fmt::format("{:g} < x < {:g} at '{}'", limits.at[i - 1], limits.at[i], layer));
  }
}

// Of what is true, or false, nowhere, that is said.
void add_not_taken(std::vector<std::string>& all, const Choice& choice, const std::vector<Truth>& truths) {
  const auto truth = std::ranges::find(truths, choice.condition, &Truth::value);
  const bool asked = choice.condition && truth != truths.end();
  if (!choice.first_taken && (!asked || truth->held))
    all.push_back(fmt::format("the first of both at '{}'", choice.layer));
  if (!choice.second_taken && (!asked || truth->failed))
    all.push_back(fmt::format("the second of both at '{}'", choice.layer));
}

}  // namespace

bool is_one_sided(const Reached& reached) {
  std::vector<std::string> all;
  for (const Limits& one : reached.limits) add_not_met(all, one);
  for (const Choice& one : reached.choices) add_not_taken(all, one, reached.truths);
  return !all.empty() || std::ranges::any_of(reached.truths, [](const Truth& one) { return !one.held || !one.failed; });
}

std::vector<std::string> not_met(const Reached& reached) {
  std::vector<std::string> all;
  for (const Limits& one : reached.limits) add_not_met(all, one);
  for (const Ties& one : reached.ties)
    if (!one.met) all.push_back(fmt::format("equal numbers at '{}'", one.layer));
  for (const Steps& one : reached.steps)
    if (!one.met) all.push_back(fmt::format("numbers on a step at '{}'", one.layer));
  for (const Truth& one : reached.truths) {
    if (!one.held) all.push_back(fmt::format("what is true at '{}'", one.layer));
    if (!one.failed) all.push_back(fmt::format("what is false at '{}'", one.layer));
  }
  for (const Choice& one : reached.choices) add_not_taken(all, one, reached.truths);
  return all;
}

}  // namespace convoy::diagnose
