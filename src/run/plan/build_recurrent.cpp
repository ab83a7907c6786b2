// Which cells that walk along time become steps of their own (run/plan/recurrent.h).
#include "ops/expect.h"
#include "run/plan/builder.h"
#include "run/plan/recurrent.h"

#include <limits>

namespace convoy::plan {

namespace {

// Functions that have a kernel of vectors.
std::optional<fast::MapCall> map_of_cell(CellFunction function) {
  switch (function) {
    case CellFunction::Tanh: return fast::MapCall{fast::Map::Tanh};
    case CellFunction::Sigmoid: return fast::MapCall{fast::Map::Sigmoid};
    case CellFunction::Relu: return fast::MapCall{fast::Map::Clamp, 0, std::numeric_limits<float>::infinity()};
    case CellFunction::Linear: return fast::MapCall{};
    case CellFunction::HardSigmoid6: return fast::MapCall{fast::Map::HardSigmoid, 1.0F / 6, 0.5F};
    case CellFunction::HardSigmoid5: return fast::MapCall{fast::Map::HardSigmoid, 0.2F, 0.5F};
    case CellFunction::Elu: return fast::MapCall{fast::Map::Elu, 1};
    case CellFunction::Softsign:
    case CellFunction::Selu:
    case CellFunction::Softplus: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

template <class O>
bool Builder::recurrent(const Node& node, const O& op, fast::Cell cell) {
  if (is_half(op.rounds)) return false;  // rounded within its steps
  const auto activation = map_of_cell(op.activation);
  auto gate = activation;
  if constexpr (requires { op.recurrent_activation; }) gate = map_of_cell(op.recurrent_activation);
  const auto has = [&](std::size_t i) { return i < node.inputs.size() && node.inputs[i]; };
  const auto constant = [&](std::size_t i) {
    return has(i) ? graph_[node.inputs[i]].constant : std::optional<Tensor>();
  };
  if (!activation || !gate || !is_real(node.inputs[0]) || !constant(1) || !constant(2)) return false;
  for (const std::size_t i : {3, 4, 7})
    if (has(i) && !constant(i)) return false;
  const Sizes shape = shape_of(node.inputs[0]), kernel = constant(2)->shape();
  const bool units_first = op.gates == GateOrder::Torch;
  const Size units = kernel[units_first ? 1 : 0], width = kernel[units_first ? 0 : 1];
  if (*checked_count(shape) == 0 || !all_finite(*constant(1)) || !all_finite(*constant(2))) return false;
  if (!fast::is_within_reach({{}, shape[0] * shape[1], 1, shape[2], width})) return false;
  const auto floats = [&](std::size_t i) { return has(i) ? constant(i)->floats() : std::vector<float>(); };
  const auto beside = [&](Size pixels, Size channels) {
    Place place;
    place.shape = {pixels, channels}, place.is_fixed = true;
    return places_.add(std::move(place));
  };
  const PlaceId x = need(node.inputs[0], Layout::AsIs);
  auto owned = std::make_unique<WalkTime>();
  WalkTime& step = *owned;
  step.layer = node.layer, step.what = std::string(O::name);
  step.cell.cell = cell, step.cell.activation = *activation, step.cell.gate = *gate, step.cell.units = units;
  step.cell.r = units_first ? 0 : 1;
  step.samples = shape[0], step.times = shape[1], step.gates = width / units;
  step.units_first = units_first, step.backwards = op.backwards, step.returns_sequence = op.returns_sequence;
  if constexpr (requires { op.reset_after; }) step.resets_before = !op.reset_after;
  step.kernel = *constant(1), step.recurrent_kernel = *constant(2);
  step.bias = floats(3), step.recurrent_bias = floats(4), step.peepholes = floats(7);
  step.operations = 2.0 * static_cast<double>(shape[0] * shape[1]) * static_cast<double>(width * (shape[2] + units));
  if (has(5)) step.first_state = need(node.inputs[5], Layout::AsIs);
  if (has(6)) step.first_memory = need(node.inputs[6], Layout::AsIs);
  // What was walked backwards is often turned around at once.
  ValueId y = node.outputs[0];
  const Node* const next = op.backwards && op.returns_sequence ? only_reader(y) : nullptr;
  const auto* const turn = next ? get_if<Slice>(&next->op) : nullptr;
  if (turn && positive_axis(turn->axis, 3) == 1 && turn->step == -1 && shape_of(next->outputs[0]) == shape_of(y)) {
    finish(*next);
    y = next->outputs[0], step.keeps_order = true;
  }
  step.x = x, step.y = make(y, Layout::AsIs);
  if (node.outputs.size() > 1) step.last_memory = make(node.outputs[1], Layout::AsIs);
  step.from_input = beside(shape[0] * shape[1], width), step.scratch = beside(shape[0], step.scratch_channels());
  step.reads = {x}, step.writes = {step.y, step.from_input, step.scratch};
  for (const PlaceId id : {step.first_state, step.first_memory})
    if (id) step.reads.push_back(id);
  if (step.last_memory) step.writes.push_back(step.last_memory);
  steps_.push_back(std::move(owned));
  return true;
}

bool Builder::try_recurrent(const Node& node) {
  if (const auto* op = get_if<Lstm>(&node.op)) return recurrent(node, *op, fast::Cell::Lstm);
  if (const auto* op = get_if<Gru>(&node.op)) return recurrent(node, *op, fast::Cell::Gru);
  if (const auto* op = get_if<SimpleRnn>(&node.op)) return recurrent(node, *op, fast::Cell::Simple);
  return false;
}

}  // namespace convoy::plan
