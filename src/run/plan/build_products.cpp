// Which convolutions and products of matrices become steps, with what follows them alone.
#include "run/plan/builder.h"

#include "run/plain/convolution.h"

#include <string>
#include <type_traits>

namespace convoy::plan {

template <class O>
bool Builder::convolution(const Node& node, const O& op) {
  const auto& weights = graph_[node.inputs[1]].constant;
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2];
  if (!weights || !is_real(node.inputs[0]) || (has_bias && !graph_[node.inputs[2]].constant)) return false;
  const Sizes x_shape = shape_of(node.inputs[0]), y_shape = shape_of(node.outputs[0]);
  auto walks = plain::walks_of(op, x_shape);
  if (!walks || *checked_count(x_shape) == 0 || *checked_count(y_shape) == 0) return false;
  plain::Problem<float> p{.walk = plain::Walk(*walks)};
  const auto channel = static_cast<std::size_t>(op.axes.channel());
  p.batch = x_shape[0], p.groups = op.groups, p.inputs = x_shape[channel] / op.groups,
  p.outputs = y_shape[channel] / op.groups;
  if (p.inputs == 1 && p.groups > 1 && p.outputs > 1 && p.outputs < 8) return false;
  // Twice as many channels: the value may become a part of a larger one.
  if (!fast::is_within_reach({*walks, p.batch, p.groups, 2 * p.inputs, 2 * p.outputs})) return false;
  const Node* const pad = waiting_pad(node);
  for (std::size_t i = 0; pad && i < walks->size(); ++i) {
    const auto axis = static_cast<std::size_t>(op.axes.spatial(static_cast<Size>(i)));
    (*walks)[i].in = shape_of(pad->inputs[0])[axis];
    (*walks)[i].before += get<Pad>(pad->op).before[axis];
  }
  plain::set_kernel_strides(p, op.kernel_order);
  if (!all_finite(*weights)) return false;
  const Layout layout = op.axes.order == Order::ChannelsFirst ? Layout::ChannelsLast : Layout::AsIs;
  const PlaceId x = need(pad ? pad->inputs[0] : node.inputs[0], layout);
  auto owned = std::make_unique<Convolve>();
  Convolve& step = *owned;
  step.layer = node.layer, step.what = pad ? "pad + " + std::string(O::name) : std::string(O::name);
  if (pad) finish(*pad);
  if (p.groups > 1) step.what += p.inputs == 1 && p.outputs == 1 ? " depthwise" : " in groups";
  step.shape = {*std::move(walks), p.batch, p.groups, p.inputs, p.outputs};
  step.kernel = *weights, step.kernel_steps = {p.k_group, p.k_tap, p.k_channel, p.k_output};
  if (has_bias) step.bias = graph_[node.inputs[2]].constant->floats();
  step.operations = p.operations();
  // Of the taps of a transposed one each cell goes through all once, whatever the number of outputs.
  if (std::is_same_v<O, ConvTranspose>)
    step.operations *= static_cast<double>(p.walk.cells()) / static_cast<double>(p.walk.positions());
  step.by_winograd = winograd_ && fast::Winograd::suits(step.shape);
  if (step.by_winograd) step.what += " by winograd";
  const bool is_depthwise = p.groups > 1 && p.inputs == 1 && p.outputs == 1;
  const ValueId y = take_followers(step, node.outputs[0], layout, !is_depthwise);
  step.x = x, step.y = make(y, layout);
  step.reads = {x};
  if (step.residual) step.reads.push_back(step.residual);
  step.writes = {step.y};
  steps_.push_back(std::move(owned));
  return true;
}

bool Builder::try_convolution(const Node& node) {
  if (const auto* conv = get_if<Conv>(&node.op)) return convolution(node, *conv);
  if (const auto* conv = get_if<ConvTranspose>(&node.op)) return convolution(node, *conv);
  return false;
}

bool Builder::try_product(const Node& node) {
  const auto* linear = get_if<Linear>(&node.op);
  const auto* product = get_if<MatMul>(&node.op);
  if ((!linear && !product) || !is_real(node.inputs[0])) return false;
  const auto& weights = graph_[node.inputs[1]].constant;
  const bool has_bias = linear && node.inputs.size() > 2 && node.inputs[2];
  if (!weights || weights->rank() != 2 || (has_bias && !graph_[node.inputs[2]].constant)) return false;
  const Sizes x_shape = shape_of(node.inputs[0]);
  const bool out_first = linear && linear->order == LinearOrder::OutIn;
  const Size inputs = weights->shape()[out_first ? 1 : 0], outputs = weights->shape()[out_first ? 0 : 1];
  const Size count = *checked_count(x_shape);
  if (x_shape.size() < 2 || count == 0 || outputs == 0 || x_shape.back() != inputs) return false;
  if (!all_finite(*weights)) return false;
  const PlaceId x = need(node.inputs[0], Layout::AsIs);
  auto owned = std::make_unique<Convolve>();
  Convolve& step = *owned;
  step.layer = node.layer, step.what = linear ? "linear" : "matmul";
  step.shape = {{}, count / inputs, 1, inputs, outputs};
  step.kernel = *weights;
  step.kernel_steps = out_first ? fast::KernelSteps{0, 0, 1, inputs} : fast::KernelSteps{0, 0, outputs, 1};
  if (has_bias) step.bias = graph_[node.inputs[2]].constant->floats();
  step.operations = 2.0 * static_cast<double>(count) * static_cast<double>(outputs);
  const ValueId y = take_followers(step, node.outputs[0], Layout::AsIs, true);
  step.x = x, step.y = make(y, Layout::AsIs);
  step.reads = {x};
  if (step.residual) step.reads.push_back(step.residual);
  step.writes = {step.y};
  steps_.push_back(std::move(owned));
  return true;
}

}  // namespace convoy::plan
