#include "diagnose/affine_form.h"

#include "diagnose/axis_order.h"
#include "diagnose/hypothesis.h"
#include "prove/bound.h"
#include "prove/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace convoy::diagnose {

namespace {

struct Core {
  AffineForm form;
  Size channels = 0;
  Size axis = 0;  // of the value: its channels
};

std::optional<Core> core_of(const Graph& piece, const Node& node) {
  const Tensor* kernel = constant_of(piece, node, 1);
  if (!kernel || kernel->rank() < 2) return std::nullopt;
  Core core;
  core.form.layer = node.layer;
  const Sizes& shape = kernel->shape();
  core.axis = piece[node.outputs[0]].type.rank() - 1;
  const Tensor* matrix = kernel;
  Tensor turned;
  if (const auto* conv = get_if<Conv>(&node.op)) {
    core.axis = conv->axes.channel();
  } else if (const auto* up = get_if<ConvTranspose>(&node.op)) {
    core.axis = up->axes.channel();
    core.form.groups = up->groups;
    core.form.out_axis = 1;
  } else {
    const auto* linear = get_if<Linear>(&node.op);
    const bool is_in_out = holds_alternative<MatMul>(node.op) || (linear && linear->order == LinearOrder::InOut);
    if ((!linear && !is_in_out) || kernel->rank() != 2) return std::nullopt;
    if (is_in_out) turned = kernel->permuted(Sizes{1, 0}), matrix = &turned;
  }
  core.channels = matrix->shape()[core.form.out_axis] * core.form.groups;
  core.form.kernel = matrix->doubles();
  const Size rest = matrix->count() / std::max<Size>(matrix->shape()[0], 1);
  core.form.shape = core.form.out_axis == 0 ? Sizes{matrix->shape()[0], rest}
                                            : Sizes{shape[0], shape[1], rest / std::max<Size>(shape[1], 1)};
  const auto channels = static_cast<std::size_t>(core.channels);
  const Tensor* bias = constant_of(piece, node, 2);
  if (node.inputs.size() > 2 && node.inputs[2] && !bias) return std::nullopt;
  core.form.bias = bias ? bias->doubles() : std::vector<double>(channels, 0);
  if (core.form.bias.size() != channels) return std::nullopt;
  for (const double b : core.form.bias) core.form.bias_size.push_back(std::abs(b));
  return core;
}

// The output channel of each number of the kernel.
class OutputChannels {
 public:
  explicit OutputChannels(const AffineForm& form)
      : all_(form.shape[form.out_axis]),
        is_first_(form.out_axis == 0),
        rows_of_group_(std::max<Size>(form.shape[0] / form.groups, 1)) {
    for (std::size_t i = form.out_axis + 1; i < form.shape.size(); ++i) inner_ *= form.shape[i];
  }
  std::size_t of(std::size_t number) const {
    const Size at = static_cast<Size>(number) / inner_;
    return static_cast<std::size_t>(is_first_ ? at : at / all_ / rows_of_group_ * all_ + at % all_);
  }

 private:
  Size inner_ = 1, all_;
  bool is_first_;
  Size rows_of_group_;
};

void scale_channels(Core& core, const std::vector<double>& by) {
  AffineForm& form = core.form;
  ++form.scalings;
  const OutputChannels channels(form);
  for (std::size_t i = 0; i < form.kernel.size(); ++i) form.kernel[i] *= by[channels.of(i)];
  for (std::size_t c = 0; c < by.size(); ++c) form.bias[c] *= by[c], form.bias_size[c] *= std::abs(by[c]);
}

void shift_channels(Core& core, const std::vector<double>& by) {
  for (std::size_t c = 0; c < by.size(); ++c) {
    core.form.bias[c] += by[c];
    core.form.bias_size[c] += std::abs(by[c]);
  }
}

// Of a cut that came before, one number for all channels keeps its sides.
bool is_for_all(const std::vector<double>& by) {
  return std::ranges::all_of(by, [&](double x) { return x == by.front(); });
}

bool take_in_scale(Core& core, const std::vector<double>& by) {
  AffineForm& form = core.form;
  if (form.is_cut() && (!is_for_all(by) || !(by.front() > 0))) return false;
  if (form.is_cut()) form.least *= by.front(), form.most *= by.front();
  scale_channels(core, by);
  return true;
}

bool take_in_shift(Core& core, const std::vector<double>& by) {
  AffineForm& form = core.form;
  if (form.is_cut() && !is_for_all(by)) return false;
  if (form.is_cut()) form.least += by.front(), form.most += by.front();
  shift_channels(core, by);
  return true;
}

// Only one cut: behind it, more is told by the numbers.
bool take_in_cut(Core& core, double least, double most) {
  if (core.form.is_cut()) return false;
  core.form.least = least, core.form.most = most;
  return true;
}

// A line cut off at one side or both: a ReLU, limits, a hard sigmoid.
bool take_in_activation(Core& core, const Op& op) {
  constexpr double endless = std::numeric_limits<double>::infinity();
  if (const auto* relu = get_if<Relu>(&op))
    return relu->negative_slope == 0 && relu->threshold == 0 && take_in_cut(core, 0, relu->max_value.value_or(endless));
  if (const auto* clip = get_if<Clip>(&op))
    return take_in_cut(core, clip->least.value_or(-endless), clip->most.value_or(endless));
  const auto* hard = get_if<HardSigmoid>(&op);
  if (!hard || core.form.is_cut()) return false;
  const auto channels = static_cast<std::size_t>(core.channels);
  return take_in_scale(core, std::vector<double>(channels, hard->alpha)) &&
         take_in_shift(core, std::vector<double>(channels, hard->beta)) && take_in_cut(core, 0, 1);
}

// One number, or one per channel.
std::optional<std::vector<double>> per_channel(const Tensor& constant, const Core& core, Size rank) {
  const auto values = constant.doubles();
  if (values.size() == 1) return std::vector<double>(static_cast<std::size_t>(core.channels), values[0]);
  const Sizes& shape = constant.shape();
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1 && static_cast<Size>(i) + rank != core.axis + constant.rank()) return std::nullopt;
  if (constant.count() != core.channels) return std::nullopt;
  return values;
}

bool take_in_norm(Core& core, const Graph& piece, const Node& node, const BatchNorm& norm) {
  if (norm.axis != core.axis || core.form.is_cut()) return false;
  const auto channels = static_cast<std::size_t>(core.channels);
  const auto vector = [&](std::size_t input, double otherwise) {
    const Tensor* constant = constant_of(piece, node, input);
    return constant ? constant->doubles() : std::vector<double>(channels, otherwise);
  };
  const auto gamma = vector(1, 1), beta = vector(2, 0), mean = vector(3, 0), variance = vector(4, 1);
  for (const auto* one : {&gamma, &beta, &mean, &variance})
    if (one->size() != channels) return false;
  std::vector<double> by(channels), less(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    by[c] = gamma[c] / std::sqrt(variance[c] + norm.epsilon);
    less[c] = -mean[c];
  }
  shift_channels(core, less);
  scale_channels(core, by);
  shift_channels(core, beta);
  return true;
}

bool take_in_binary(Core& core, const Graph& piece, const Node& node, BinaryFunction function) {
  const Tensor *left = constant_of(piece, node, 0), *right = constant_of(piece, node, 1);
  if (!left == !right) return false;
  auto by = per_channel(left ? *left : *right, core, piece[node.outputs[0]].type.rank());
  if (!by) return false;
  const auto changed = [&](auto f) {
    for (double& x : *by) x = f(x);
  };
  switch (function) {
    case BinaryFunction::Multiply: return take_in_scale(core, *by);
    case BinaryFunction::Add: return take_in_shift(core, *by);
    case BinaryFunction::Divide:
      if (left) return false;
      changed([](double x) { return 1 / x; });
      return take_in_scale(core, *by);
    case BinaryFunction::Subtract:
      if (left) return false;
      changed([](double x) { return -x; });
      return take_in_shift(core, *by);
    default: return false;
  }
}

bool take_in_node(Core& core, const Graph& piece, const Node& node) {
  if (holds_alternative<Identity>(node.op) || holds_alternative<Dropout>(node.op) || holds_alternative<Slice>(node.op))
    return true;
  if (const auto* norm = get_if<BatchNorm>(&node.op)) return take_in_norm(core, piece, node, *norm);
  if (const auto* binary = get_if<Binary>(&node.op)) return take_in_binary(core, piece, node, binary->function);
  if (const auto* affine = get_if<Affine>(&node.op)) {
    const auto channels = static_cast<std::size_t>(core.channels);
    return take_in_scale(core, std::vector<double>(channels, affine->scale)) &&
           take_in_shift(core, std::vector<double>(channels, affine->offset));
  }
  if (const auto axis = axis_behind(piece, node, static_cast<std::size_t>(core.axis))) {
    core.axis = static_cast<Size>(*axis);
    return true;
  }
  return take_in_activation(core, node.op);
}

// Cut off at the same numbers, but for rounding, and a kernel of one shape.
bool are_comparable(const AffineForm& a, const AffineForm& b) {
  constexpr double near = 0x1p-20;
  const auto agree = [&](double x, double y, double size) { return x == y || std::abs(x - y) <= near * size; };
  const auto width = [](const AffineForm& form) {
    return std::isfinite(form.most) && std::isfinite(form.least) ? form.most - form.least : 0;
  };
  const double size = std::max(width(a), width(b));
  return a.shape == b.shape && a.kernel.size() == b.kernel.size() && a.bias.size() == b.bias.size() &&
         agree(a.least, b.least, size) && agree(a.most, b.most, size);
}

bool moves_in_front(const Op& op) {
  return holds_alternative<Identity>(op) || holds_alternative<Dropout>(op) || holds_alternative<Reshape>(op) ||
         holds_alternative<Flatten>(op) || holds_alternative<Transpose>(op) || holds_alternative<Pad>(op) ||
         holds_alternative<Squeeze>(op) || holds_alternative<Unsqueeze>(op);
}

constexpr double most_steps_of_a_factor = 4;  // of 2^-24, by two programs: a root of two units, a quotient, a product
constexpr std::size_t fewest_numbers = 4;  // that make a share of a channel's more than chance
constexpr double most_steps_of_folding = 16;  // of 2^-24: gamma, root, quotient, product, each rounded, by two programs

}  // namespace

std::vector<std::vector<double>> kernels_of_channels(const AffineForm& form) {
  std::vector<std::vector<double>> all(form.bias.size());
  const OutputChannels channels(form);
  for (std::size_t i = 0; i < form.kernel.size(); ++i) all[channels.of(i)].push_back(form.kernel[i]);
  return all;
}

std::optional<AffineForm> affine_form_of(const Graph& piece) {
  if (piece.inputs.size() != 1) return std::nullopt;
  std::optional<Core> core;
  ValueId v = piece.inputs[0];
  for (const Node& node : piece.nodes) {
    const auto reads = std::ranges::count_if(node.inputs, [&](ValueId in) { return in && !piece[in].constant; });
    if (reads != 1 || std::ranges::find(node.inputs, v) == node.inputs.end()) return std::nullopt;
    v = node.outputs[0];
    if (core) {
      if (!take_in_node(*core, piece, node)) return std::nullopt;
    } else if (!moves_in_front(node.op)) {
      core = core_of(piece, node);
      if (!core) return std::nullopt;
    }
  }
  if (!core || v != piece.outputs[0]) return std::nullopt;
  return std::move(core->form);
}

namespace {

// The numbers that rounding does not explain: how many, and which is furthest beyond it.
struct Beyond {
  std::size_t count = 0, at = 0;
};
template <class SizeOf>
Beyond beyond_rounding(const std::vector<double>& a, const std::vector<double>& b, SizeOf size_of) {
  Beyond beyond;
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double by = std::abs(a[i] - b[i]) - most_steps_of_folding * unit_rounding * size_of(i);
    if (by <= 1e-37) continue;
    ++beyond.count;
    if (by > worst) worst = by, beyond.at = i;
  }
  return beyond;
}

Beyond kernels_beyond(const AffineForm& a, const AffineForm& b) {
  return beyond_rounding(a.kernel, b.kernel,
                         [&](std::size_t i) { return std::max(std::abs(a.kernel[i]), std::abs(b.kernel[i])); });
}

Beyond biases_beyond(const AffineForm& a, const AffineForm& b) {
  return beyond_rounding(a.bias, b.bias, [&](std::size_t c) { return std::max(a.bias_size[c], b.bias_size[c]); });
}

}  // namespace

bool are_one_map(const AffineForm& a, const AffineForm& b) {
  return !a.is_cut() && !b.is_cut() && are_comparable(a, b) && kernels_beyond(a, b).count == 0 &&
         biases_beyond(a, b).count == 0 && unexplained_factors_in(a, b).empty();
}

std::string unexplained_in(const AffineForm& a, const AffineForm& b) {
  if (!are_comparable(a, b)) return "";
  const Beyond kernels = kernels_beyond(a, b), biases = biases_beyond(a, b);
  if (kernels.count == 0 && biases.count == 0) return "";
  if (2 * kernels.count > a.kernel.size()) return "";
  if (kernels.count > 0)
    return fmt::format("kernel {} is {:.9g} in a, {:.9g} in b with what scales it taken in; {} of {} numbers differ{}",
                       place_in(a.shape, static_cast<Size>(kernels.at)), a.kernel[kernels.at], b.kernel[kernels.at],
                       kernels.count, a.kernel.size(), kernels.count == 1 ? "s" : "");
  return fmt::format("bias [{}] is {:.9g} in a, {:.9g} in b with what shifts it taken in; {} of {} numbers differ{}",
                     biases.at, a.bias[biases.at], b.bias[biases.at], biases.count, a.bias.size(),
                     biases.count == 1 ? "s" : "");
}

std::string unexplained_factors_in(const AffineForm& a, const AffineForm& b) {
  if (!are_comparable(a, b)) return "";
  struct Off {
    double least = 1, most = -1, sum = 0;
    std::size_t numbers = 0;
  };
  std::vector<Off> channels(a.bias.size());
  const OutputChannels output_channels(a);
  for (std::size_t i = 0; i < a.kernel.size(); ++i) {
    const double size = std::abs(a.kernel[i]);
    if (size < 1e-30) continue;
    const double by = (std::abs(b.kernel[i]) - size) / size;
    Off& off = channels[output_channels.of(i)];
    off.least = std::min(off.least, by), off.most = std::max(off.most, by), off.sum += by;
    ++off.numbers;
  }
  const double allowed = most_steps_of_a_factor * (1 + std::max(a.scalings, b.scalings)) * unit_rounding;
  std::size_t far = 0;
  double most = 0;
  for (const Off& off : channels) {
    const bool is_one_sided = off.least > 0 || off.most < 0;
    const double share = off.sum / static_cast<double>(std::max<std::size_t>(off.numbers, 1));
    if (off.numbers < fewest_numbers || !is_one_sided || std::abs(share) <= allowed) continue;
    ++far;
    if (std::abs(share) > std::abs(most)) most = share;
  }
  if (far == 0) return "";
  return fmt::format(
      "the numbers of {} of {} output channels are {} in b with what scales them taken in, by up to {:.2g} "
      "of them",
      far, channels.size(), most > 0 ? "larger" : "smaller", std::abs(most));
}

bool adds_the_same(const AffineForm& a, const AffineForm& b) {
  if (!are_comparable(a, b) || a.kernel != b.kernel) return false;
  for (std::size_t c = 0; c < a.bias.size(); ++c)
    if (!(std::abs(a.bias[c] - b.bias[c]) <=
          most_steps_of_folding * unit_rounding * std::max(a.bias_size[c], b.bias_size[c])))
      return false;
  return true;
}

}  // namespace convoy::diagnose
