// What goes wrong with a layer as a whole: it has weights of another shape, is not there, or puts branches together in
// another way. Weights of another shape are b's own, so that the layer's numbers are no evidence of more than the shape.
#include "diagnose/family.h"
#include "diagnose/fingerprint.h"
#include "diagnose/hypothesis.h"
#include "ops/expect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace convoy::diagnose {

namespace {

// With b's kernel; b's bias where the output has other channels.
void with_their_weights(Guesses& guesses, std::size_t node, const Node& other, std::string_view cause, std::string says,
                        Graph changed) {
  const Scene& scene = guesses.scene;
  const Tensor *own = constant_of(scene.a, scene.a.nodes[node], 2), *bias = constant_of(scene.b, other, 2);
  changed = with_constant(changed, node, 1, *constant_of(scene.b, other, 1));
  if (bias && (!own || own->shape() != bias->shape())) changed = with_constant(changed, node, 2, *bias);
  if (!bias) changed = without_input(changed, node, 2);
  guesses.add(cause, scene.a.nodes[node], std::move(says), std::move(changed));
}

std::string kernel_text(const std::vector<Window>& windows) {
  std::string text;
  for (const Window& w : windows) text += (text.empty() ? "" : "x") + std::to_string(w.kernel);
  return text;
}

std::vector<Window> with_kernels(std::vector<Window> windows, const std::vector<Window>& of) {
  for (std::size_t i = 0; i < windows.size(); ++i) windows[i].kernel = of[i].kernel;
  return windows;
}

// [O, I, k...] of a convolution, [I, O, k...] of its transpose: only what differs is taken over.
template <class O>
void guess_shape(Guesses& guesses, std::size_t node, const O& op) {
  const Scene& scene = guesses.scene;
  const Tensor* own = constant_of(scene.a, scene.a.nodes[node], 1);
  if (!own) return;
  for (const Node* other : twins<O>(scene)) {
    const auto& theirs = get<O>(other->op);
    const Tensor* kernel = constant_of(scene.b, *other, 1);
    if (!kernel || kernel->rank() != own->rank() || theirs.windows.size() != op.windows.size()) continue;
    O now = op;
    now.groups = theirs.groups;
    now.windows = with_kernels(op.windows, theirs.windows);
    const bool other_groups = now.groups != op.groups, other_cells = now.windows != op.windows;
    if (other_groups && !other_cells)
      with_their_weights(guesses, node, *other, "groups",
                         fmt::format("{} groups in place of {}", now.groups, op.groups), with_op(scene.a, node, now));
    if (other_cells && !other_groups) {
      const std::string says =
          fmt::format("a kernel of {} in place of {}", kernel_text(now.windows), kernel_text(op.windows));
      with_their_weights(guesses, node, *other, "kernel_size", says, with_op(scene.a, node, now));
      now.paddings = theirs.paddings;
      if (now.paddings != op.paddings)
        with_their_weights(guesses, node, *other, "kernel_size", says, with_op(scene.a, node, now));
    }
    if (!other_groups && !other_cells && kernel->shape() != own->shape())
      with_their_weights(guesses, node, *other, "channels",
                         fmt::format("a kernel of {} by {} channels in place of {} by {}", kernel->shape()[0],
                                     kernel->shape()[1], own->shape()[0], own->shape()[1]),
                         scene.a);
  }
}

void guess_units(Guesses& guesses, std::size_t node) {
  const Scene& scene = guesses.scene;
  const Tensor* own = constant_of(scene.a, scene.a.nodes[node], 1);
  for (const Node* other : twins<Linear>(scene)) {
    const Tensor* matrix = constant_of(scene.b, *other, 1);
    if (!own || !matrix || matrix->rank() != 2 || own->rank() != 2 || matrix->shape() == own->shape()) continue;
    with_their_weights(guesses, node, *other, "channels",
                       fmt::format("{} features in place of {}", matrix->shape()[0], own->shape()[0]), scene.a);
  }
}

// Functions and pads have causes of their own.
bool may_be_forgotten(const Op& op) {
  switch (family_of(op)) {
    case Family::Convolution:
    case Family::Transposed:
    case Family::Product:
    case Family::Window:
    case Family::Norm:
    case Family::Resize:
    case Family::Recurrent:
    case Family::Sum:
    case Family::Factor: return true;
    default: return false;
  }
}

// Two branches meet: neither operand is the other's own function, as in x * sigmoid(x).
bool merges(const Graph& piece, const Node& node) {
  if (!holds_alternative<Binary>(node.op) || constant_of(piece, node, 0) || constant_of(piece, node, 1)) return false;
  const auto is_function_of = [&](ValueId v, ValueId of) {
    for (NodeId maker = piece[v].producer; maker; maker = piece[v].producer) {
      if (!is_function(piece[maker].op)) return v == of;
      v = piece[maker].inputs[0];
      if (v == of) return true;
    }
    return v == of;
  };
  const ValueId x = node.inputs[0], y = node.inputs[1];
  return !is_function_of(x, y) && !is_function_of(y, x);
}

// Whether b has fewer of its kind.
bool is_fewer_in_b(const Scene& scene, const Op& op) {
  const auto count = [&](const Graph& graph) {
    return std::ranges::count_if(graph.nodes, [&](const Node& n) { return family_of(n.op) == family_of(op); });
  };
  return count(scene.b) < count(scene.a);
}

void guess_gone(Guesses& guesses, std::size_t node) {
  const Node& about = guesses.scene.a.nodes[node];
  if (!may_be_forgotten(about.op) || about.inputs.empty() || about.outputs.size() > 1) return;
  if (!is_fewer_in_b(guesses.scene, about.op)) return;
  const bool meets = holds_alternative<Binary>(about.op);
  const bool is_branch = meets && !constant_of(guesses.scene.a, about, 1);
  if (is_branch && (!guesses.so_far.empty() || !merges(guesses.scene.a, about))) return;
  // A factor that b computes too is not one that it forgot: what is dropped is made for this product alone.
  const bool is_sum = family_of(about.op) == Family::Sum;
  const auto may_drop = [&](std::size_t input) {
    return !is_branch || is_sum || guesses.scene.a[about.inputs[input]].producer;
  };
  if (may_drop(1)) guesses.add("layer_missing", about, "without it", without_node(guesses.scene.a, node));
  if (!is_branch || !may_drop(0)) return;
  Graph turned = guesses.scene.a;
  std::swap(turned.nodes[node].inputs[0], turned.nodes[node].inputs[1]);
  guesses.add("layer_missing", about, "without it", without_node(turned, node));
}

void guess_merge(Guesses& guesses, std::size_t node, const Binary& op) {
  const Node& about = guesses.scene.a.nodes[node];
  // Beside another fault too much would look like one.
  if (!guesses.so_far.empty() || !merges(guesses.scene.a, about)) return;
  for (const Node* other : twins<Binary>(guesses.scene)) {
    const auto& theirs = get<Binary>(other->op);
    const bool has_constant = constant_of(guesses.scene.b, *other, 0) || constant_of(guesses.scene.b, *other, 1);
    if (theirs.function != op.function && !has_constant)
      guesses.add("merge_kind", about, "another operation", with_op(guesses.scene.a, node, theirs));
  }
}

// n over n - 1, and a root is taken somewhere behind it.
bool is_variance_factor(const Scene& scene, const Node& node) {
  const auto& line = get<Affine>(node.op);
  const auto is_root = [](const Op& op) {
    const auto* unary = get_if<Unary>(&op);
    return unary && (unary->function == Function::Sqrt || unary->function == Function::Rsqrt);
  };
  if (line.offset != 0 || line.scale <= 1) return false;
  if (std::ranges::none_of(scene.readers, is_root) && std::ranges::none_of(scene.a.nodes, is_root, &Node::op))
    return false;
  const double count = line.scale / (line.scale - 1);
  return std::abs(count - std::round(count)) < 1e-4 * count;
}

// x * scale + offset, however it is written. Nothing: no such step, one with many numbers, or one of whole numbers, which
// may overflow.
std::optional<Affine> straight_line(const Graph& graph, const Node& node) {
  if (!is_floating(graph[node.outputs[0]].type.dtype)) return std::nullopt;
  if (const auto* line = get_if<Affine>(&node.op)) return *line;
  const auto* binary = get_if<Binary>(&node.op);
  if (!binary) return std::nullopt;
  const Tensor *first = constant_of(graph, node, 0), *second = constant_of(graph, node, 1);
  const Tensor* known = second ? second : first;
  if (!known || (first && second) || known->count() != 1) return std::nullopt;
  const double number = known->doubles()[0];
  switch (binary->function) {
    case BinaryFunction::Add: return Affine{1, number};
    case BinaryFunction::Subtract: return second ? Affine{1, -number} : Affine{-1, number};
    case BinaryFunction::Multiply: return Affine{number, 0};
    case BinaryFunction::Divide: return second && number != 0 ? std::optional(Affine{1 / number, 0}) : std::nullopt;
    default: return std::nullopt;
  }
}

// One number that the layer computes with, as b has it.
void guess_number(Guesses& guesses, std::size_t node) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  if (scene.reads_input && is_in_front(scene, about)) return;  // preprocessing
  const auto words = [](double now, double was) { return number_text(now) + " in place of " + number_text(was); };
  if (const auto* own = get_if<Affine>(&about.op)) {
    guesses.add(is_variance_factor(scene, about) ? "norm_variance" : "number", about, "without it",
                without_node(scene.a, node));
    for (const Node& other : scene.b.nodes) {
      const auto theirs = straight_line(scene.b, other);
      if (theirs && *theirs != *own)
        guesses.add("number", about,
                    own->scale == theirs->scale ? words(theirs->offset, own->offset) : words(theirs->scale, own->scale),
                    with_op(scene.a, node, *theirs));
    }
  }
  if (!holds_alternative<Binary>(about.op)) return;
  if (const auto own = straight_line(scene.a, about))
    for (const Node* other : twins<Affine>(scene)) {
      const auto& theirs = get<Affine>(other->op);
      if (theirs == *own) continue;
      Graph changed = with_op(scene.a, node, theirs);
      changed.nodes[node].inputs = {about.inputs[constant_of(scene.a, about, 0) ? 1 : 0]};
      guesses.add("number", about,
                  own->scale == theirs.scale ? words(theirs.offset, own->offset) : words(theirs.scale, own->scale),
                  std::move(changed));
    }
  for (const std::size_t input : {std::size_t{0}, std::size_t{1}}) {
    const Tensor* own = constant_of(scene.a, about, input);
    if (!own || own->count() != 1) continue;
    for (const Node* other : twins<Binary>(scene)) {
      const Tensor* theirs = constant_of(scene.b, *other, input);
      if (other->op != about.op || !theirs || theirs->count() != 1 || same_bytes(*own, *theirs)) continue;
      const auto function = get<Binary>(about.op).function;
      const bool limits = function == BinaryFunction::Maximum || function == BinaryFunction::Minimum;
      guesses.add(limits ? "activation_limit" : "number", about, words(theirs->doubles()[0], own->doubles()[0]),
                  with_constant(scene.a, node, input, *theirs));
    }
  }
}

// How many numbers each of a mean is of.
std::optional<double> count_of_mean(const Scene& scene, const Node& node) {
  const auto* reduce = get_if<Reduce>(&node.op);
  const auto* pool = get_if<AdaptivePool>(&node.op);
  const bool is_mean = (reduce && reduce->reduction == Reduction::Mean) || (pool && pool->kind == Extreme::Average);
  if (!is_mean || node.outputs.size() != 1) return std::nullopt;
  const auto from = checked_count(scene.shape(node.inputs[0])), to = checked_count(scene.shape(node.outputs[0]));
  if (!from || !to || *to == 0 || *from % *to != 0) return std::nullopt;
  if (pool && std::ranges::any_of(pool->out, [](Size n) { return n != 1; })) return std::nullopt;
  return static_cast<double>(*from / *to);
}

bool is_sum(const Graph& graph, ValueId v) {
  const NodeId maker = v ? graph[v].producer : NodeId{};
  const auto* reduce = maker ? get_if<Reduce>(&graph[maker].op) : nullptr;
  return reduce && reduce->reduction == Reduction::Sum;
}

// What sums are divided by. Nothing: the step is no such quotient.
std::optional<double> divisor_of_sum(const Graph& graph, const Node& node) {
  const auto line = straight_line(graph, node);
  if (!line || line->offset != 0 || line->scale == 0) return std::nullopt;
  for (const ValueId v : node.inputs)
    if (is_sum(graph, v)) return 1 / line->scale;
  return std::nullopt;
}

// A mean in one model, a sum and its divisor in the other.
void guess_divisor(Guesses& guesses, std::size_t node) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  const auto words = [](double now, double was) {
    return "the sum divided by " + number_text(now) + " in place of " + number_text(was);
  };
  if (const auto count = count_of_mean(scene, about))
    for (const Node& other : scene.b.nodes)
      if (const auto divisor = divisor_of_sum(scene.b, other))
        guesses.add("number", about, words(*divisor, *count),
                    with_node_behind(scene.a, about.outputs[0], Affine{*count / *divisor, 0}, about));
  const auto divisor = divisor_of_sum(scene.a, about);
  if (!divisor) return;
  const ValueId sum = is_sum(scene.a, about.inputs[0]) ? about.inputs[0] : about.inputs[1];
  const Node& maker = scene.a[scene.a[sum].producer];
  const auto from = checked_count(scene.shape(maker.inputs[0])), to = checked_count(scene.shape(sum));
  const bool has_mean = std::ranges::any_of(scene.b.nodes, [](const Node& other) {
    const auto* reduce = get_if<Reduce>(&other.op);
    return (reduce && reduce->reduction == Reduction::Mean) || holds_alternative<AdaptivePool>(other.op);
  });
  if (!has_mean || !from || !to || *to == 0) return;
  const auto count = static_cast<double>(*from / *to);
  Graph changed = with_op(scene.a, node, Affine{1 / count, 0});
  changed.nodes[node].inputs = {sum};
  guesses.add("number", about, words(count, *divisor), std::move(changed));
}

}  // namespace

void guess_other_layer(Guesses& guesses, std::size_t node) {
  const Op& op = guesses.scene.a.nodes[node].op;
  if (const auto* conv = get_if<Conv>(&op)) guess_shape(guesses, node, *conv);
  if (const auto* up = get_if<ConvTranspose>(&op)) guess_shape(guesses, node, *up);
  if (holds_alternative<Linear>(op)) guess_units(guesses, node);
  if (const auto* binary = get_if<Binary>(&op)) guess_merge(guesses, node, *binary);
  guess_number(guesses, node);
  guess_divisor(guesses, node);
  guess_gone(guesses, node);
}

}  // namespace convoy::diagnose
