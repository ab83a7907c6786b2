#include "diagnose/recognise.h"

#include "run/run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace convoy::diagnose {

const Node* maker_of(const Graph& graph, ValueId v) {
  return v && graph[v].producer ? &graph[graph[v].producer] : nullptr;
}

namespace {

// The operand of a sum with one number, and that number.
std::optional<std::pair<ValueId, double>> with_number_added(const Graph& graph, ValueId v) {
  const Node* node = maker_of(graph, v);
  if (!node) return std::nullopt;
  if (const auto* affine = get_if<Affine>(&node->op))
    return affine->scale == 1 ? std::optional(std::pair(node->inputs[0], affine->offset)) : std::nullopt;
  const auto* sum = get_if<Binary>(&node->op);
  if (!sum || sum->function != BinaryFunction::Add) return std::nullopt;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const auto& constant = graph[node->inputs[i]].constant;
    if (constant && constant->count() == 1) return std::pair(node->inputs[1 - i], constant->doubles()[0]);
  }
  return std::nullopt;
}

const Reduce* mean_of(const Graph& graph, ValueId v, ValueId& from) {
  const Node* node = maker_of(graph, v);
  const auto* mean = node ? get_if<Reduce>(&node->op) : nullptr;
  if (!mean || mean->reduction != Reduction::Mean || !mean->keeps_axes) return nullptr;
  from = node->inputs[0];
  return mean;
}

bool is_square_of(const Graph& graph, ValueId v, ValueId of) {
  const Node* node = maker_of(graph, v);
  if (!node || node->inputs[0] != of) return false;
  const auto* unary = get_if<Unary>(&node->op);
  const auto* product = get_if<Binary>(&node->op);
  return (unary && unary->function == Function::Square) ||
         (product && product->function == BinaryFunction::Multiply && node->inputs[1] == of);
}

// The value under the root that `node` divides by, where its other operand is `above`.
ValueId divided_by_root(const Graph& graph, const Node& node, ValueId& above) {
  const auto* binary = get_if<Binary>(&node.op);
  if (!binary) return {};
  const auto root = [&](ValueId v, Function function) {
    const Node* maker = maker_of(graph, v);
    const auto* unary = maker ? get_if<Unary>(&maker->op) : nullptr;
    return unary && unary->function == function ? maker->inputs[0] : ValueId{};
  };
  above = node.inputs[0];
  if (binary->function == BinaryFunction::Divide) return root(node.inputs[1], Function::Sqrt);
  if (binary->function != BinaryFunction::Multiply) return {};
  if (const ValueId under = root(node.inputs[1], Function::Rsqrt)) return under;
  above = node.inputs[1];
  return root(node.inputs[0], Function::Rsqrt);
}

struct Recognised {
  Op op;
  ValueId input;
  bool of_scope = false;  // goes by the name that all of its steps share, where they share one
  const Node* named_by = nullptr;  // goes by the name of this step
  ValueId constant = {};  // a second input
  std::optional<Sizes> shape = {};  // that it is given
};

// The mean of each group of channels, over the image as well, once for every channel of it: averaged over the image, then
// over the channels of a group, and repeated. What it is of, and how many groups.
std::optional<std::pair<ValueId, Size>> mean_of_groups(const Graph& graph, ValueId v) {
  Size times = 1;
  const Node* node = maker_of(graph, v);
  for (; node && !holds_alternative<Reduce>(node->op); node = maker_of(graph, node->inputs[0])) {
    if (const auto* tile = get_if<Tile>(&node->op); tile && tile->axis == 2 && times == 1) times = tile->times;
    else if (!holds_alternative<Reshape>(node->op)) return std::nullopt;
  }
  ValueId grouped, image;
  const Reduce* of_group = node ? mean_of(graph, node->outputs[0], grouped) : nullptr;
  const Node* groups = of_group ? maker_of(graph, grouped) : nullptr;
  if (!groups || of_group->axes != Sizes{2} || !holds_alternative<Reshape>(groups->op)) return std::nullopt;
  const Reduce* of_image = mean_of(graph, groups->inputs[0], image);
  if (!of_image) return std::nullopt;
  const Shape &x = graph[image].type.shape, &y = graph[grouped].type.shape, &held = graph[v].type.shape;
  Sizes space;
  for (std::size_t axis = 2; axis < x.size(); ++axis) space.push_back(static_cast<Size>(axis));
  if (x.size() < 3 || y.size() != 3 || of_image->axes != space) return std::nullopt;
  if (!x[1].known() || !y[1].known() || !y[2].known() || *y[1] * *y[2] != *x[1] || *y[2] != times) return std::nullopt;
  if (held != graph[groups->inputs[0]].type.shape) return std::nullopt;
  return std::pair(image, *y[1]);
}

// x - its groups' means over the root of the groups' means of its squares.
std::optional<Recognised> group_norm_at(const Graph& graph, ValueId above, ValueId variance, double epsilon) {
  const auto squares = mean_of_groups(graph, variance);
  const Node* difference = maker_of(graph, above);
  const auto* binary = difference ? get_if<Binary>(&difference->op) : nullptr;
  if (!squares || !is_square_of(graph, squares->first, above) || !binary ||
      binary->function != BinaryFunction::Subtract)
    return std::nullopt;
  const auto mean = mean_of_groups(graph, difference->inputs[1]);
  if (!mean || mean->first != difference->inputs[0] || mean->second != squares->second) return std::nullopt;
  return Recognised{GroupNorm{1, mean->second, epsilon}, mean->first, true};
}

std::optional<Recognised> norm_at(const Graph& graph, const Node& node) {
  ValueId above;
  const ValueId under = divided_by_root(graph, node, above);
  const auto sum = under ? with_number_added(graph, under) : std::nullopt;
  if (sum)
    if (auto grouped = group_norm_at(graph, above, sum->first, sum->second)) return grouped;
  ValueId squares;
  const Reduce* variance = sum ? mean_of(graph, sum->first, squares) : nullptr;
  if (!variance || !is_square_of(graph, squares, above)) return std::nullopt;
  const Node* difference = maker_of(graph, above);
  const auto* binary = difference ? get_if<Binary>(&difference->op) : nullptr;
  if (binary && binary->function == BinaryFunction::Subtract) {
    ValueId x;
    const Reduce* mean = mean_of(graph, difference->inputs[1], x);
    if (mean && mean->axes == variance->axes && x == difference->inputs[0])
      return Recognised{LayerNorm{variance->axes, sum->second, false}, x, true};
  }
  return Recognised{RmsNorm{variance->axes, sum->second}, above, true};
}

// Whether the value is 1 everywhere: a constant, repeated.
bool is_ones(const Graph& graph, ValueId v) {
  for (const Node* node = maker_of(graph, v); node; node = maker_of(graph, v)) {
    if (!holds_alternative<Tile>(node->op) && !holds_alternative<ExpandLike>(node->op)) return false;
    v = node->inputs[0];
  }
  const auto& constant = graph[v].constant;
  return constant && std::ranges::all_of(constant->doubles(), [](double n) { return n == 1; });
}

// Whether `map` holds, cell by cell, what the pool makes of ones, or one over it.
bool is_map_of(const Graph& graph, const Node& pool, const Tensor& map, bool inverted) {
  const auto shape = sizes_of(graph[pool.inputs[0]].type.shape);
  if (!shape || checked_count(*shape).value_or(0) > (Size{1} << 22)) return false;
  Sizes one = *shape;
  one[0] = one[1] = 1;
  const Tensor ones =
      Tensor::of(one, std::vector<double>(static_cast<std::size_t>(checked_count(one).value_or(0)), 1.0));
  const auto made = run_node(pool, {&ones}, Precision::Double, 1);
  if (!made || made->front().count() != map.count()) return false;
  const auto x = made->front().doubles(), y = map.doubles();
  constexpr double rounding = 0x1p-20;  // of a quotient in float32
  for (std::size_t i = 0; i < x.size(); ++i)
    if (std::abs((inverted ? x[i] * y[i] : y[i] / x[i]) - 1) > rounding) return false;
  return true;
}

// A pool with counted zeros times a map of its own, or divided by it.
std::optional<Recognised> mapped_average_at(const Graph& graph, const Node& node) {
  const auto* binary = get_if<Binary>(&node.op);
  const bool divides = binary && binary->function == BinaryFunction::Divide;
  if (!binary || (!divides && binary->function != BinaryFunction::Multiply)) return std::nullopt;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (divides && i == 1) continue;
    const Node* maker = maker_of(graph, node.inputs[i]);
    const auto* sums = maker ? get_if<AveragePool>(&maker->op) : nullptr;
    const auto& map = graph[node.inputs[1 - i]].constant;
    if (!sums || !map || !sums->counts_padding || sums->divisor || sums->axes.channel() != 1) continue;
    if (!is_map_of(graph, *maker, *map, !divides)) continue;
    AveragePool pool = *sums;
    pool.counts_padding = false;
    return Recognised{pool, maker->inputs[0]};
  }
  return std::nullopt;
}

std::optional<Recognised> average_at(const Graph& graph, const Node& node) {
  const auto* quotient = get_if<Binary>(&node.op);
  if (!quotient || quotient->function != BinaryFunction::Divide) return mapped_average_at(graph, node);
  const Node *over = maker_of(graph, node.inputs[0]), *under = maker_of(graph, node.inputs[1]);
  const auto* sums = over ? get_if<AveragePool>(&over->op) : nullptr;
  const auto* counts = under ? get_if<AveragePool>(&under->op) : nullptr;
  if (!counts) return mapped_average_at(graph, node);
  if (!sums || !(*sums == *counts) || !sums->counts_padding || sums->divisor) return std::nullopt;
  if (!is_ones(graph, under->inputs[0])) return std::nullopt;
  AveragePool pool = *sums;
  pool.counts_padding = false;
  return Recognised{pool, over->inputs[0]};
}

// The names up to the last slash that every step from `from` to the node begins with: a module's, whose steps a writer
// named behind it. Empty: none.
std::string shared_scope(const Graph& graph, const Node& node, ValueId from) {
  const auto scope_of = [](const std::string& layer) {
    const auto slash = layer.rfind('/');
    return slash == std::string::npos ? layer : layer.substr(0, slash);
  };
  std::string scope = scope_of(node.layer);
  std::vector<const Node*> open{&node};
  for (std::size_t i = 0; i < open.size() && open.size() < 32; ++i) {
    if (scope_of(open[i]->layer) != scope) return {};
    for (const ValueId v : open[i]->inputs)
      if (const Node* maker = v == from ? nullptr : maker_of(graph, v)) open.push_back(maker);
  }
  return scope;
}

// x times a number plus a number, over as many steps as it takes.
struct Line {
  ValueId x;
  double scale = 1, offset = 0;
};

// Back to `until`, or as far as it goes.
Line line_to(const Graph& graph, ValueId v, ValueId until = {}) {
  Line line{v};
  while (const Node* node = line.x == until ? nullptr : maker_of(graph, line.x)) {
    double scale = 1, offset = 0;
    ValueId x = node->inputs[0];
    const auto* affine = get_if<Affine>(&node->op);
    const auto* binary = get_if<Binary>(&node->op);
    if (affine) {
      scale = affine->scale, offset = affine->offset;
    } else if (binary) {
      const auto number = [&](std::size_t i) -> std::optional<double> {
        const auto& constant = graph[node->inputs[i]].constant;
        return constant && constant->count() == 1 ? std::optional(constant->doubles()[0]) : std::nullopt;
      };
      const bool is_first = number(0).has_value() && !number(1);
      const auto n = is_first ? number(0) : number(1);
      if (!n || (is_first && number(1))) break;
      if (is_first) x = node->inputs[1];
      if (binary->function == BinaryFunction::Add) offset = *n;
      else if (binary->function == BinaryFunction::Multiply) scale = *n;
      else if (binary->function == BinaryFunction::Subtract && !is_first) offset = -*n;
      else if (binary->function == BinaryFunction::Divide && !is_first && *n != 0) scale = 1 / *n;
      else break;
    } else {
      break;
    }
    line = {x, line.scale * scale, line.scale * offset + line.offset};
  }
  return line;
}

// A line cut off at 0 and at 1, or at 0 and at n and divided by n.
std::optional<Recognised> hard_sigmoid_at(const Graph& graph, const Node& node) {
  if (const auto* unary = get_if<Unary>(&node.op); unary && unary->function == Function::SparseSigmoid)
    return Recognised{HardSigmoid{0.5, 0.5}, node.inputs[0]};
  const auto most_of = [](const Op& op) -> std::optional<double> {
    if (const auto* clip = get_if<Clip>(&op); clip && clip->least == 0.0) return clip->most;
    const auto* relu = get_if<Relu>(&op);
    return relu && relu->negative_slope == 0 && relu->threshold == 0 ? relu->max_value : std::nullopt;
  };
  const Line outer = most_of(node.op) ? Line{node.outputs[0]} : line_to(graph, node.outputs[0]);
  const Node* cut = outer.offset == 0 ? maker_of(graph, outer.x) : nullptr;
  const auto most = cut ? most_of(cut->op) : std::nullopt;
  constexpr double rounding = 0x1p-22;  // of one number over another in float32
  if (!most || std::abs(*most * outer.scale - 1) > rounding) return std::nullopt;
  const Line inner = line_to(graph, cut->inputs[0]);
  if (inner.scale <= 0 || (inner.scale == 1 && inner.offset == 0)) return std::nullopt;
  return Recognised{HardSigmoid{inner.scale / *most, inner.offset / *most}, inner.x, false, cut};
}

// log(1 + exp(beta * x)) / beta without a threshold.
struct SoftplusWritten {
  ValueId x;
  double beta = 1;
};
std::optional<SoftplusWritten> softplus_of(const Graph& graph, ValueId v, ValueId x) {
  constexpr double rounding = 0x1p-22;  // of one number over another in float32
  const Line outer = line_to(graph, v);
  const Node* soft = maker_of(graph, outer.x);
  if (!soft || outer.offset != 0) return std::nullopt;
  const auto* unary = get_if<Unary>(&soft->op);
  const auto* op = get_if<Softplus>(&soft->op);
  if (!(unary && unary->function == Function::Softplus) && !(op && !op->threshold)) return std::nullopt;
  const Line inner = line_to(graph, soft->inputs[0], x);
  const double own = op ? op->beta : 1, beta = own * inner.scale;
  if (inner.x != x || inner.offset != 0 || beta <= 0 || std::abs(inner.scale * outer.scale - 1) > rounding)
    return std::nullopt;
  return SoftplusWritten{x, beta};
}

// x itself where beta * x is beyond a number, else its softplus.
std::optional<Recognised> softplus_at(const Graph& graph, const Node& node) {
  if (!holds_alternative<Where>(node.op)) return std::nullopt;
  const Node* condition = maker_of(graph, node.inputs[0]);
  const auto* compared = condition ? get_if<Binary>(&condition->op) : nullptr;
  if (!compared) return std::nullopt;
  using enum BinaryFunction;
  const bool is_more = compared->function == Greater || compared->function == GreaterOrEqual;
  if (!is_more && compared->function != Less && compared->function != LessOrEqual) return std::nullopt;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const auto& limit = graph[condition->inputs[1 - i]].constant;
    if (!limit || limit->count() != 1) continue;
    const bool is_above = is_more == (i == 0);  // what is chosen where the condition holds
    const ValueId x = node.inputs[is_above ? 1 : 2];
    const auto soft = softplus_of(graph, node.inputs[is_above ? 2 : 1], x);
    const Line line = line_to(graph, condition->inputs[i], x);
    if (!soft || line.x != x || line.scale <= 0) continue;
    return Recognised{Softplus{soft->beta, soft->beta * (limit->doubles()[0] - line.offset) / line.scale}, x};
  }
  return std::nullopt;
}

template <class At>
Result<Patch> recognised(const Graph& graph, At&& at) {
  Patch patch(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const std::optional<Recognised> found = at(graph, node);
    if (!found) continue;
    Node about = node;
    if (const std::string scope = found->of_scope ? shared_scope(graph, node, found->input) : std::string();
        !scope.empty())
      about.layer = scope;
    if (found->named_by) about.layer = found->named_by->layer, about.kind = found->named_by->kind;
    std::vector<ValueId> inputs{found->input};
    if (found->constant) {
      const Value& own = graph[found->constant];
      const bool is_as_it_is = !found->shape || own.constant->shape() == *found->shape;
      inputs.push_back(
          is_as_it_is ? found->constant
                      : patch.constant(graph.unique_name(own.name + "/shaped"), own.constant->reshaped(*found->shape)));
    }
    auto made = patch.node(about, found->op, inputs);
    if (!made) return pass(made);
    if (patch.type(made->front()).shape != graph[node.outputs[0]].type.shape) continue;
    patch.remove({static_cast<std::int32_t>(i)});
    patch.replace(node.outputs[0], made->front());
  }
  return patch;
}

// The pool with the pads of `pad`, where it may have them.
template <class Pool>
std::optional<Op> with_pads(const Pool& pool, const Pad& pad) {
  constexpr bool is_max = std::is_same_v<Pool, MaxPool>;
  const bool fits_value =
      is_max ? pad.value <= static_cast<double>(std::numeric_limits<float>::lowest()) : pad.value == 0;
  if (pad.mode != PadMode::Constant || !fits_value) return std::nullopt;
  Pool taken = pool;
  Sizes before = pad.before, after = pad.after;
  for (std::size_t i = 0; i < taken.paddings.size(); ++i) {
    Padding& own = taken.paddings[i];
    const auto axis = static_cast<std::size_t>(taken.axes.spatial(static_cast<Size>(i)));
    const bool is_bare =
        own.spelling == Spelling::Valid || (own.spelling == Spelling::Explicit && own.before == 0 && own.after == 0);
    const Size reach = taken.windows[i].reach();
    if (!is_bare || own.leftover != Leftover::Drop || before[axis] < 0 || after[axis] < 0 || before[axis] >= reach ||
        after[axis] >= reach)
      return std::nullopt;
    own = {Spelling::Explicit, before[axis], after[axis]};
    before[axis] = after[axis] = 0;
  }
  const auto is_zero = [](Size n) { return n == 0; };
  if (!std::ranges::all_of(before, is_zero) || !std::ranges::all_of(after, is_zero)) return std::nullopt;
  if constexpr (!is_max) {
    if (taken.divisor) return std::nullopt;
    taken.counts_padding = true;
  }
  return taken;
}

}  // namespace

Result<Patch> recognise_norms(const Graph& graph, const Target&) { return recognised(graph, norm_at); }
Result<Patch> recognise_hard_sigmoids(const Graph& graph, const Target&) { return recognised(graph, hard_sigmoid_at); }
Result<Patch> recognise_softplus(const Graph& graph, const Target&) { return recognised(graph, softplus_at); }
Result<Patch> recognise_leaky_relus(const Graph& graph, const Target&) {
  return recognised(graph, [](const Graph& all, const Node& node) -> std::optional<Recognised> {
    if (const auto found = leaky_relu_at(all, node)) return Recognised{Relu{{}, found->slope, 0, false}, found->x};
    const auto found = prelu_at(all, node);
    return found ? std::optional(Recognised{PRelu{}, found->x, false, nullptr, found->slopes, found->shape})
                 : std::nullopt;
  });
}
Result<Patch> recognise_limits(const Graph& graph, const Target&) {
  return recognised(graph, [](const Graph& all, const Node& node) -> std::optional<Recognised> {
    const auto found = limit_at(all, node);
    return found ? std::optional(Recognised{found->op, found->x}) : std::nullopt;
  });
}
Result<Patch> recognise_averages(const Graph& graph, const Target&) { return recognised(graph, average_at); }

Result<Patch> take_in_pool_pads(const Graph& graph, const Target&) {
  return recognised(graph, [](const Graph& all, const Node& node) -> std::optional<Recognised> {
    const Node* maker = node.inputs.empty() ? nullptr : maker_of(all, node.inputs[0]);
    const auto* pad = maker ? get_if<Pad>(&maker->op) : nullptr;
    if (!pad || node.outputs.size() != 1) return std::nullopt;
    std::optional<Op> taken;
    if (const auto* pool = get_if<MaxPool>(&node.op)) taken = with_pads(*pool, *pad);
    if (const auto* pool = get_if<AveragePool>(&node.op)) taken = with_pads(*pool, *pad);
    return taken ? std::optional(Recognised{*std::move(taken), maker->inputs[0]}) : std::nullopt;
  });
}

}  // namespace convoy::diagnose
