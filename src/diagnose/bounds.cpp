#include "diagnose/bounds.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace convoy::diagnose {

namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();

Bounds bounds_of_function(Function function) {
  switch (function) {
    case Function::Sigmoid:
    case Function::SparseSigmoid: return {0, 1, true};
    case Function::Tanh:
    case Function::Softsign:
    case Function::Erf:
    case Function::Sin:
    case Function::Cos: return {-1, 1, true};
    case Function::Softplus:
    case Function::SparsePlus:
    case Function::Exp:
    case Function::Sqrt:
    case Function::Rsqrt:
    case Function::Square:
    case Function::Abs: return {0, unbounded, true};
    case Function::LogSigmoid: return {-unbounded, 0, true};
    case Function::Gelu:
    case Function::GeluTanh: return {-0.1699, unbounded, true};
    case Function::Silu: return {-0.2784, unbounded, true};
    case Function::Mish: return {-0.3088, unbounded, true};
    case Function::HardSwish: return {-0.375, unbounded, true};
    case Function::Selu: return {-1.758, unbounded, true};
    default: return {};
  }
}

// Numbers are only moved or chosen: the widest of what is read.
template <class O>
constexpr bool only_moves_numbers = O::traits.contents == Contents::Kept || O::traits.contents == Contents::Moved ||
                                    std::is_same_v<O, MaxPool> || std::is_same_v<O, AveragePool>;
// Any number may come of them.
template <class O>
constexpr bool is_free = O::traits.is_product() || std::is_same_v<O, BatchNorm> || std::is_same_v<O, PRelu>;

Bounds met(const std::vector<Bounds>& in) {
  Bounds all{unbounded, -unbounded, true};
  for (const Bounds& one : in)
    all = {std::min(all.least, one.least), std::max(all.most, one.most), all.known && one.known};
  return in.empty() ? Bounds{} : all;
}

Bounds bounds_of_relu(const Relu& op) {
  if (op.negative_slope != 0) return {-unbounded, op.max_value.value_or(unbounded), op.negative_slope > 0};
  return {std::min(0.0, op.threshold), op.max_value.value_or(unbounded), op.threshold == 0};
}

// A largest number of some that may be any is any, but none that is smaller than theirs.
Bounds bounds_of_reduction(Reduction reduction, const std::vector<Bounds>& in) {
  if (in.empty() || reduction == Reduction::Product) return {};
  Bounds bounds = in[0];
  if (reduction == Reduction::Sum) {
    if (bounds.least < 0) bounds.least = -unbounded;
    if (bounds.most > 0) bounds.most = unbounded;
    bounds.known = bounds.known && bounds.least * bounds.most <= 0;
  }
  bounds.alone = true;
  return bounds;
}

Bounds bounds_of_log(const std::vector<Bounds>& in) {
  if (in.empty() || !in[0].known || in[0].least < 0) return {};
  return {std::log(in[0].least), std::log(in[0].most), true, true};
}

// Bounds times a number that is not 0, and a number added.
Bounds moved(const Bounds& x, double scale, double offset) {
  const double low = x.least * scale + offset, high = x.most * scale + offset;
  return {std::min(low, high), std::max(low, high), x.known};
}

bool is_one_number(const Bounds& y) { return y.known && y.least == y.most && std::isfinite(y.least) && y.least != 0; }

Bounds bounds_of_binary(BinaryFunction function, const std::vector<Bounds>& in) {
  if (in.size() < 2) return {};
  const Bounds &x = in[0], &y = in[1];
  const bool known = x.known && y.known;
  switch (function) {
    case BinaryFunction::Add: return {x.least + y.least, x.most + y.most, known};
    case BinaryFunction::Subtract: return {x.least - y.most, x.most - y.least, known};
    case BinaryFunction::Multiply: return is_one_number(y) ? moved(x, y.least, 0) : Bounds{};
    case BinaryFunction::Divide: return is_one_number(y) ? moved(x, 1 / y.least, 0) : Bounds{};
    case BinaryFunction::Maximum: return {std::max(x.least, y.least), std::max(x.most, y.most), known};
    case BinaryFunction::Minimum: return {std::min(x.least, y.least), std::min(x.most, y.most), known};
    default: return {};
  }
}

Bounds bounds_behind(const Op& op, const std::vector<Bounds>& in) {
  return op.visit([&]<class O>(const O& o) -> Bounds {
    if constexpr (is_free<O>) return {-unbounded, unbounded, true};
    else if constexpr (only_moves_numbers<O>) return met(in);
    else if constexpr (std::is_same_v<O, Reduce>) return bounds_of_reduction(o.reduction, in);
    else if constexpr (std::is_same_v<O, Unary>)
      return o.function == Function::Log ? bounds_of_log(in) : bounds_of_function(o.function);
    else if constexpr (std::is_same_v<O, Relu>) return bounds_of_relu(o);
    else if constexpr (std::is_same_v<O, Affine>)
      return o.scale != 0 && !in.empty() ? moved(in[0], o.scale, o.offset) : Bounds{o.offset, o.offset, true};
    else if constexpr (std::is_same_v<O, Clip>) return {o.least.value_or(-unbounded), o.most.value_or(unbounded), true};
    else if constexpr (std::is_same_v<O, HardSigmoid>) return {0, 1, true};
    else if constexpr (std::is_same_v<O, Softplus>) return {0, unbounded, true};
    else if constexpr (std::is_same_v<O, Elu> || std::is_same_v<O, Celu>) return {-o.alpha, unbounded, o.alpha > 0};
    else if constexpr (std::is_same_v<O, Pad>) {
      const Bounds all = met(in);
      return {std::min(all.least, o.value), std::max(all.most, o.value), all.known};
    } else if constexpr (std::is_same_v<O, Binary>) return bounds_of_binary(o.function, in);
    else return {};
  });
}

bool stands_by_itself(const Op& op) {
  return op.visit([]<class O>(const O&) { return is_free<O>; });
}

}  // namespace

Bounds bounds_of_constant(const Tensor& tensor) {
  constexpr Size most = Size{1} << 16;  // larger ones are no limits
  if (tensor.count() == 0 || tensor.count() > most) return {};
  const auto values = tensor.doubles();
  const auto [least, largest] = std::ranges::minmax(values);
  return {least, largest, true};
}

std::vector<bool> made_of_inputs(const Graph& graph) {
  std::vector<bool> made(graph.values.size(), false);
  for (const ValueId v : graph.inputs) made[v.slot()] = true;
  for (const Node& node : graph.nodes) {
    const std::size_t read = holds_alternative<ExpandLike>(node.op) ? 1 : node.inputs.size();
    const bool of_inputs = std::any_of(node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(read),
                                       [&](ValueId v) { return v && made[v.slot()]; });
    for (const ValueId v : node.outputs)
      if (v) made[v.slot()] = of_inputs;
  }
  return made;
}

std::vector<Bounds> bounds_of(const Graph& graph) {
  std::vector<Bounds> all(graph.values.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    if (graph.values[i].constant) all[i] = bounds_of_constant(*graph.values[i].constant);
  for (const ValueId v : graph.inputs) all[v.slot()].known = true;
  for (const Node& node : graph.nodes) {
    std::vector<Bounds> in;
    for (const ValueId v : node.inputs) in.push_back(v ? all[v.slot()] : Bounds{});
    Bounds out = bounds_behind(node.op, in);
    if (!stands_by_itself(node.op) && std::ranges::any_of(in, &Bounds::alone)) {
      const auto is_computed = [&](ValueId v) { return v && !graph[v].constant; };
      out.alone = true;
      out.known = out.known && std::ranges::count_if(node.inputs, is_computed) == 1;
    }
    for (const ValueId v : node.outputs) all[v.slot()] = out;
  }
  return all;
}

}  // namespace convoy::diagnose
