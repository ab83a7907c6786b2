// What goes wrong with windows that multiply and sum: pads, strides, the order of the kernel's axes, the bias.
#include "diagnose/fingerprint.h"
#include "diagnose/guess_window.h"
#include "diagnose/hypothesis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace convoy::diagnose {

namespace {

Sizes counted(Size n) {
  Sizes all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), Size{0});
  return all;
}

// The rows of [outer, inner] as [inner, outer].
Sizes interleaved(Size outer, Size inner) {
  Sizes order;
  for (Size i = 0; i < inner; ++i)
    for (Size o = 0; o < outer; ++o) order.push_back(o * inner + i);
  return order;
}

// ---- the kernel, [O, I, k...] or [I, O, k...]

struct KernelOrders {
  Sizes permutation;
  std::string_view cause;
};

std::string_view cause_of_order(const Sizes& permutation) {
  const bool channels_stay = permutation[0] == 0 && permutation[1] == 1;
  if (channels_stay) return "kernel_hw_swapped";
  bool space_stays = true;
  for (std::size_t i = 2; i < permutation.size(); ++i)
    space_stays = space_stays && permutation[i] == static_cast<Size>(i);
  return space_stays ? "channels_swapped" : "kernel_not_transposed";
}

// Every other order of axes that has the same shape.
void guess_orders(Guesses& guesses, std::size_t node, const Tensor& kernel) {
  Sizes order = counted(kernel.rank());
  while (std::ranges::next_permutation(order).found) {
    const Tensor moved = kernel.permuted(order);
    if (moved.shape() != kernel.shape()) continue;
    guesses.add(cause_of_order(order), guesses.scene.a.nodes[node], "the kernel with its axes in another order",
                with_constant(guesses.scene.a, node, 1, moved));
  }
}

// The file's numbers read row by row under the other framework's shape.
void guess_reshaped(Guesses& guesses, std::size_t node, const Tensor& kernel) {
  const Size space = kernel.rank() - 2;
  if (space < 1) return;
  Sizes to_last;  // [O, I, k...] -> [k..., I, O]
  for (Size i = 0; i < space; ++i) to_last.push_back(i + 2);
  to_last.push_back(1);
  to_last.push_back(0);
  const Tensor last = kernel.permuted(to_last);
  // Of one cell and as many channels in as out, that is the same as transposed.
  if (last.shape()[static_cast<std::size_t>(space)] == last.shape().back() &&
      kernel.count() == kernel.shape()[0] * kernel.shape()[1])
    return;
  const Node& about = guesses.scene.a.nodes[node];
  guesses.add("kernel_not_transposed", about, "the kernel reshaped instead of transposed",
              with_constant(guesses.scene.a, node, 1, last.reshaped(kernel.shape())));
  guesses.add("kernel_not_transposed", about, "the kernel reshaped instead of transposed",
              with_constant(guesses.scene.a, node, 1, kernel.reshaped(last.shape()).permuted(inverse(to_last))));
}

template <class Op>
void guess_square(Guesses& guesses, std::size_t node, const Op& op, const Tensor& kernel) {
  // A kernel that is not square brings its window and pads along.
  if (op.windows.size() != 2 || op.windows[0] == op.windows[1]) return;
  Op turned = op;
  std::swap(turned.windows[0].kernel, turned.windows[1].kernel);
  std::vector<Op> variants{turned};
  std::swap(turned.paddings[0], turned.paddings[1]);
  variants.push_back(turned);
  if constexpr (std::is_same_v<Op, Conv>) {
    auto fitting = turned;
    bool all = true;
    for (std::size_t i = 0; i < 2; ++i) {
      const Size in = guesses.scene.shape(guesses.scene.a.nodes[node].inputs[0])[i + 2];
      const auto same = in_numbers({Spelling::SameUpper}, fitting.windows[i], in);
      all = all && same;
      if (same) fitting.paddings[i] = *same;
    }
    if (all) variants.push_back(fitting);
  }
  const Tensor moved = kernel.permuted(Sizes{0, 1, 3, 2});
  for (const Op& variant : variants)
    guesses.add("kernel_hw_swapped", guesses.scene.a.nodes[node], "height and width of the kernel exchanged",
                with_constant(with_op(guesses.scene.a, node, variant), node, 1, moved));
}

void guess_rows(Guesses& guesses, std::size_t node, std::string_view cause, Size outer, Size inner) {
  if (outer < 2 || inner < 2) return;
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  const Tensor& kernel = *constant_of(scene.a, about, 1);
  const Tensor* bias = constant_of(scene.a, about, 2);
  for (const Sizes& order : {interleaved(outer, inner), interleaved(inner, outer)}) {
    const Tensor rows = taken(kernel, 0, order);
    const Graph moved = with_constant(scene.a, node, 1, rows);
    guesses.add(cause, about, "the kernel's output channels in another order", moved);
    if (bias)
      guesses.add(cause, about, "the output channels in another order",
                  with_constant(moved, node, 2, taken(*bias, 0, order)));
    // The same channels under their own numbers, but shuffled behind the layer or in front of it.
    guesses.add(cause, about, "the output shuffled",
                with_node_behind(scene.a, about.outputs[0], Take{1, order}, about));
  }
}

void guess_kernel(Guesses& guesses, std::size_t node, const Conv& conv) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  const Tensor* kernel = constant_of(scene.a, about, 1);
  if (!kernel) return;
  Sizes space;
  for (Size i = 2; i < kernel->rank(); ++i) space.push_back(i);
  guesses.add("kernel_flipped", about, "the kernel reversed",
              with_constant(scene.a, node, 1, reversed_along(*kernel, space)));
  if (space.size() > 1)
    for (const Size axis : space)
      guesses.add("kernel_flipped", about, std::string(reversed_along_one) + " " + std::to_string(axis),
                  with_constant(scene.a, node, 1, reversed_along(*kernel, {axis})));
  guess_orders(guesses, node, *kernel);
  guess_square(guesses, node, conv, *kernel);
  guess_reshaped(guesses, node, *kernel);
  const Size out = kernel->shape()[0], channels = scene.shape(about.inputs[0])[1];
  // Blocks of pixels that come behind, with their order taken into the kernel.
  for (const Size block : {2, 3, 4})
    if (conv.groups == 1 && out % (block * block) == 0 && out > block * block)
      guess_rows(guesses, node, "depth_to_space_order", block * block, out / (block * block));
  if (conv.groups > 1) {
    const bool depthwise = conv.groups == channels;
    guess_rows(guesses, node, depthwise ? "depthwise_order" : "group_order", conv.groups, out / conv.groups);
    if (!depthwise) {
      for (const Sizes& order :
           {interleaved(conv.groups, channels / conv.groups), interleaved(channels / conv.groups, conv.groups)})
        guesses.add("group_order", about, "the input's channels shuffled",
                    with_node_in_front(scene.a, node, 0, Take{1, order}));
    }
  }
}

}  // namespace

namespace {

// The factor of each output channel by which the kernels agree, where all lie on one side of 1, near it. 0: of a channel
// of zeros, which tells none.
std::optional<std::vector<double>> factors_between(const Tensor& a, const Tensor& b) {
  const auto x = a.doubles(), y = b.doubles();
  const auto rows = static_cast<std::size_t>(a.shape()[0]);
  if (a.shape() != b.shape() || rows < 3 || x.size() <= rows) return std::nullopt;
  const std::size_t inner = x.size() / rows;
  bool below = true, above = true;
  std::vector<double> factors;
  for (std::size_t row = 0; row < rows; ++row) {
    double products = 0, squares = 0, largest = 0;
    for (std::size_t i = row * inner; i < (row + 1) * inner; ++i)
      products += x[i] * y[i], squares += x[i] * x[i], largest = std::max(largest, std::abs(y[i]));
    factors.push_back(squares == 0 ? 0 : products / squares);
    if (squares == 0) continue;
    for (std::size_t i = row * inner; i < (row + 1) * inner; ++i)
      if (std::abs(y[i] - factors[row] * x[i]) > 4e-7 * largest) return std::nullopt;
    below = below && factors[row] < 1 && factors[row] > 0.5;
    above = above && factors[row] > 1 && factors[row] < 2;
  }
  if (!below && !above) return std::nullopt;
  return factors;
}

// Whether they are what a batch norm with another epsilon leaves when it is folded into both kernels and biases. Its shift
// takes no part, so that the biases are not multiplied alike; and one factor for all channels is one variance of all,
// which is that of a norm that was never trained, 1.
bool is_left_by_an_epsilon(const std::vector<double>& factors, const Tensor& bias_a, const Tensor& bias_b) {
  constexpr double rounding = 1e-6;
  const auto x = bias_a.doubles(), y = bias_b.doubles();
  if (x.size() != factors.size() || y.size() != factors.size()) return false;
  bool multiplied = true, is_one = true;
  const double some = *std::ranges::max_element(factors);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (factors[i] == 0) continue;
    multiplied = multiplied && std::abs(y[i] - factors[i] * x[i]) <= rounding * std::abs(y[i]);
    is_one = is_one && std::abs(factors[i] - some) <= rounding;
  }
  if (!is_one) return !multiplied;
  return std::ranges::any_of(usual_epsilons, [&](double one) {
    return std::ranges::any_of(
        usual_epsilons, [&](double other) { return std::abs(std::sqrt((1 + one) / (1 + other)) - some) <= rounding; });
  });
}

}  // namespace

std::optional<std::string> owner_of(const Scene& scene, const Tensor& tensor, const std::string& layer) {
  const auto values = tensor.floats();
  if (!scene.kernels || std::ranges::all_of(values, [&](float v) { return v == values.front(); })) return std::nullopt;
  const auto found = scene.kernels->find(fingerprint(tensor));
  return found == scene.kernels->end() || found->second == layer ? std::nullopt : std::optional(found->second);
}

namespace {

// "the bias of b", or what it is times a's.
std::string factor_text(const std::string& what, const Tensor& own, const Tensor& theirs) {
  const auto x = own.doubles(), y = theirs.doubles();
  const auto largest = std::ranges::max_element(x, {}, [](double v) { return std::abs(v); });
  if (x.empty() || *largest == 0) return what + " of b";
  const double factor = y[static_cast<std::size_t>(largest - x.begin())] / *largest;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (std::abs(y[i] - factor * x[i]) > 1e-6 * std::abs(*largest)) return what + " of b";
  return factor == -1 ? what + " with its sign turned" : what + " times " + number_text(factor);
}

}  // namespace

// ---- weights and biases, of every layer that has them ----------------------------------------------------------------

void guess_weights(Guesses& guesses, std::size_t node, const std::vector<const Node*>& others) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  const Tensor* kernel = constant_of(scene.a, about, 1);
  const Tensor* bias = constant_of(scene.a, about, 2);
  if (!kernel) return;
  const auto both = [&](const Tensor& now, std::string_view cause, const std::string& says) {
    const Graph changed = with_constant(scene.a, node, 1, now);
    guesses.add(cause, about, says, changed);
  };
  for (const DType half : {DType::F16, DType::BF16}) {
    const Tensor coarse = kernel->converted(half).converted(kernel->dtype());
    const Graph changed = with_constant(scene.a, node, 1, coarse);
    const std::string says = half == DType::F16 ? "rounded to float16" : "rounded to bfloat16";
    guesses.add("weights_rounded", about, says, changed);
    if (bias)
      guesses.add("weights_rounded", about, says,
                  with_constant(changed, node, 2, bias->converted(half).converted(bias->dtype())));
  }
  const auto print = fingerprint(*kernel);
  for (const Node* other : others) {
    const Tensor* theirs = constant_of(scene.b, *other, 1);
    if (!theirs || theirs->count() != kernel->count() || fingerprint(*theirs) == print) continue;
    const Tensor now = theirs->shape() == kernel->shape() ? *theirs : theirs->reshaped(kernel->shape());
    std::string_view cause = "weights_differ";
    std::string says = factor_text("the kernel", *kernel, now);
    if (scene.kernels) {
      const auto found = scene.kernels->find(fingerprint(*theirs));
      if (found != scene.kernels->end() && found->second == about.layer) continue;  // its own, in another order
      if (found != scene.kernels->end()) cause = "weights_exchanged", says = "the kernel of '" + found->second + "'";
    }
    both(now, cause, says);
    // A norm that was folded in has left its factor on the bias as well.
    const Tensor* added = constant_of(scene.b, *other, 2);
    const auto factors = factors_between(*kernel, now);
    if (factors && added && bias && !same_bytes(*added, *bias) && is_left_by_an_epsilon(*factors, *bias, *added))
      guesses.add("bn_eps", about, "another epsilon in the norm that was folded into the kernel",
                  with_constant(with_constant(scene.a, node, 1, now), node, 2, *added));
    // Where b holds the norm behind folded in, its numbers stand for both.
    for (std::size_t next = 0; next < scene.a.nodes.size() && twins<BatchNorm>(scene).empty(); ++next) {
      if (!holds_alternative<BatchNorm>(scene.a.nodes[next].op) || scene.a.nodes[next].inputs[0] != about.outputs[0])
        continue;
      Graph whole = with_constant(scene.a, node, 1, now);
      whole = added ? with_constant(whole, node, 2, *added) : without_input(whole, node, 2);
      guesses.add(cause, about, says + ", with the norm behind it", without_node(whole, next));
    }
    if (added && bias && added->shape() == bias->shape() && !same_bytes(*added, *bias))
      guesses.add(cause, about, says + " and its bias",
                  with_constant(with_constant(scene.a, node, 1, now), node, 2, *added));
  }
}

void guess_bias(Guesses& guesses, std::size_t node, const std::vector<const Node*>& others) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  const Tensor* bias = constant_of(scene.a, about, 2);
  if (bias) {
    guesses.add("bias_missing", about, "without its bias", without_input(scene.a, node, 2));
    auto twice = bias->floats();
    for (float& value : twice) value *= 2;
    guesses.add("bias_doubled", about, "with its bias twice",
                with_constant(scene.a, node, 2, Tensor::of(bias->shape(), std::move(twice))));
  }
  for (const Node* other : others) {
    const Tensor* theirs = constant_of(scene.b, *other, 2);
    if (!theirs || (bias && (bias->shape() != theirs->shape() || same_bytes(*bias, *theirs)))) continue;
    const Graph changed = with_constant(scene.a, node, 2, *theirs);
    if (!bias) {
      guesses.add("bias_extra", about, "with a bias", changed);
      continue;
    }
    if (std::ranges::all_of(theirs->doubles(), [](double x) { return x == 0; })) continue;  // is none: told above
    if (const auto owner = owner_of(scene, *theirs, about.layer))
      guesses.add("weights_exchanged", about, "the bias of '" + *owner + "'", changed);
    guesses.add("weights_differ", about, factor_text("the bias", *bias, *theirs), changed);
  }
}

void guess_convolution(Guesses& guesses, std::size_t node) {
  const Scene& scene = guesses.scene;
  const auto* conv = get_if<Conv>(&scene.a.nodes[node].op);
  if (!conv) return;
  std::vector<const Node*> others = twins<Conv>(scene);
  guess_windows(guesses, node, *conv, others);
  guess_kernel(guesses, node, *conv);
  for (const Node* linear : twins<Linear>(scene)) others.push_back(linear);
  guess_bias(guesses, node, others);
  guess_weights(guesses, node, others);
}

// ---- transposed ------------------------------------------------------------------------------------------------------

namespace {

// Cells behind the last one that a tap reaches: with the bias, as the operator has them, or as zeros put behind it.
void guess_tail(Guesses& guesses, std::size_t node, const ConvTranspose& up) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  Pad tail;
  tail.before.assign(up.paddings.size() + 2, 0);
  tail.after = tail.before;
  ConvTranspose bare = up;
  bool any = false;
  for (std::size_t i = 0; i < up.paddings.size(); ++i) {
    if (up.paddings[i].after >= 0) continue;
    tail.after[static_cast<std::size_t>(up.axes.spatial(static_cast<Size>(i)))] = -up.paddings[i].after;
    bare.paddings[i] = TransposedPadding{CropSpelling::Explicit, up.paddings[i].before, 0, {}};
    any = true;
  }
  if (any)
    guesses.add("transposed_tail_bias", about, "zeros behind it",
                with_node_behind(with_op(scene.a, node, bare), about.outputs[0], tail, about));
  for (const Node& next : scene.a.nodes) {
    const auto* pad = get_if<Pad>(&next.op);
    if (!pad || next.inputs[0] != about.outputs[0] || pad->mode != PadMode::Constant) continue;
    ConvTranspose longer = up;
    for (std::size_t i = 0; i < up.paddings.size(); ++i) {
      const auto axis = static_cast<std::size_t>(up.axes.spatial(static_cast<Size>(i)));
      longer.paddings[i] =
          TransposedPadding{CropSpelling::Explicit, up.paddings[i].before, up.paddings[i].after - pad->after[axis], {}};
    }
    const auto at = static_cast<std::size_t>(&next - scene.a.nodes.data());
    guesses.add("transposed_tail_bias", about, "the tail with its bias",
                without_node(with_op(scene.a, node, longer), at));
  }
}

}  // namespace

void guess_transposed(Guesses& guesses, std::size_t node) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  const auto* up = get_if<ConvTranspose>(&about.op);
  if (!up) return;
  const auto text = [](const ConvTranspose& op) {
    std::string words;
    for (const auto& p : op.paddings)
      words += fmt::format("{}({}, {})", words.empty() ? "" : " and ", p.before, p.after);
    return words;
  };
  const auto with = [&](std::string_view cause, const ConvTranspose& op) {
    guesses.add(cause, about, "crops " + text(op) + " in place of " + text(*up), with_op(scene.a, node, op));
  };
  const auto on_axes = [&](std::string_view cause, auto&& change) {
    ConvTranspose all = *up;
    for (std::size_t i = 0; i < all.paddings.size(); ++i) all.paddings[i] = change(up->paddings[i], i);
    with(cause, all);
    if (up->paddings.size() < 2) return;
    for (std::size_t i = 0; i < all.paddings.size(); ++i) {
      ConvTranspose one = *up;
      one.paddings[i] = all.paddings[i];
      with(cause, one);
    }
  };
  using P = TransposedPadding;
  on_axes("transposed_shifted", [](P p, std::size_t) { return P{CropSpelling::Explicit, p.after, p.before, {}}; });
  on_axes("transposed_shifted", [](P p, std::size_t) { return symmetric_crop(p); });
  for (const Size cells : {1, -1, 2, -2})
    on_axes("transposed_shifted", [&](P p, std::size_t) { return moved_crop(p, cells); });
  for (const Size cells : {1, -1, 2, -2, 3, -3})
    on_axes("transposed_output_size",
            [&](P p, std::size_t) { return P{CropSpelling::Explicit, p.before, p.after + cells, {}}; });
  on_axes("transposed_output_size", [](P p, std::size_t) { return P{CropSpelling::Explicit, p.before, p.before, {}}; });
  guess_tail(guesses, node, *up);
  for (const Node* other : twins<ConvTranspose>(scene)) {
    const auto& theirs = get<ConvTranspose>(other->op);
    if (theirs.windows.size() != up->windows.size()) continue;
    ConvTranspose now = *up;
    now.paddings = theirs.paddings;
    if (now != *up) with("transposed_output_size", now);
    if (theirs.windows != up->windows) {
      now.windows = theirs.windows;
      guesses.add("stride", about, "b's stride and dilation", with_op(scene.a, node, now));
    }
  }
  if (const Tensor* kernel = constant_of(scene.a, about, 1)) {
    Sizes space;
    for (Size i = 2; i < kernel->rank(); ++i) space.push_back(i);
    guesses.add("kernel_flipped", about, "the kernel reversed",
                with_constant(scene.a, node, 1, reversed_along(*kernel, space)));
    guess_orders(guesses, node, *kernel);
    guess_reshaped(guesses, node, *kernel);
  }
  guess_bias(guesses, node, twins<ConvTranspose>(scene));
  guess_weights(guesses, node, twins<ConvTranspose>(scene));
}

}  // namespace convoy::diagnose
