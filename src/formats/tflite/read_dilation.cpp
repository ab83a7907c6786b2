// A convolution on cells that are moved into the batch and back is a dilated one: its taps stand as far apart as the blocks are long.
// Where sizes are free, what is padded in front and cut off behind grows with them, and both alike.
#include "formats/tflite/options.h"
#include "formats/tflite/reader.h"
#include "formats/tflite/types.h"
#include "ops/expect.h"

#include <algorithm>

namespace convoy::tflite {
namespace {

std::optional<Sizes> whole_list(const SizeNumbers* numbers) {
  if (!numbers || !numbers->known()) return std::nullopt;
  Sizes all;
  for (const SizeNumber& n : numbers->all) all.push_back(n.more);
  return all;
}

}  // namespace

std::shared_ptr<const ModelReader::Spread> ModelReader::spread_by(const Operator& row, std::size_t place) {
  const StoredOperator& op = subgraph_->operators[place];
  if (op.inputs.empty() || op.inputs[0] < 0 || op.outputs.size() != 1) return nullptr;
  const Known& x = known_[static_cast<std::size_t>(op.inputs[0])];
  if (row.name == "SPACE_TO_BATCH_ND") {
    if (op.inputs.size() != 3 || op.inputs[1] < 0 || op.inputs[2] < 0 || !x.value) return nullptr;
    const auto block = whole_list(known_sizes(op.inputs[1]));
    const SizeNumbers* paddings = known_[static_cast<std::size_t>(op.inputs[2])].sizes
                                      ? &*known_[static_cast<std::size_t>(op.inputs[2])].sizes
                                      : nullptr;
    const Size rank = graph_[x.value].type.rank();
    if (!block || !paddings || paddings->known() || paddings->all.size() != 2 * block->size() ||
        static_cast<Size>(block->size()) >= rank)
      return nullptr;
    Spread spread{place, *block, *paddings, {}, rank, {}, {}};
    for (std::size_t i = 0; i < block->size(); ++i) spread.axes.push_back(static_cast<Size>(i) + 1);
    return std::make_shared<Spread>(std::move(spread));
  }
  if (!x.spread) return nullptr;
  Spread next = *x.spread;
  const auto options = options_of(row, op);
  if (!options) return nullptr;
  const auto is = [&](const char* option, Size n) { return options->contains(option) && (*options)[option] == n; };
  if (row.name == "EXPAND_DIMS" && op.inputs.size() == 2 && op.inputs[1] >= 0) {
    const auto said = whole_list(known_sizes(op.inputs[1]));
    if (!said || said->size() != 1) return nullptr;
    const Size axis = positive_axis(said->front(), ++next.rank);
    for (Size& one : next.axes) one += one >= axis;
  } else if (row.name == "SQUEEZE") {
    if (!options->contains("squeeze_dims") || (*options)["squeeze_dims"].size() != 1) return nullptr;
    const Size axis = positive_axis((*options)["squeeze_dims"][0].get<Size>(), next.rank--);
    if (std::ranges::count(next.axes, axis) > 0) return nullptr;
    for (Size& one : next.axes) one -= one > axis;
  } else if (row.name == "CONV_2D" || row.name == "DEPTHWISE_CONV_2D") {
    constexpr Size valid = 1;
    const bool is_plain = is("padding", valid) && is("stride_w", 1) && is("stride_h", 1) &&
                          is("dilation_w_factor", 1) && is("dilation_h_factor", 1);
    if (!is_plain || !next.convolved.empty() || next.rank != 4 ||
        std::ranges::any_of(next.axes, [](Size axis) { return axis < 1 || axis > 2; }))
      return nullptr;
    next.convolved = next.axes;
  } else {
    return nullptr;
  }
  next.operators.push_back(place);
  return std::make_shared<Spread>(std::move(next));
}

Result<bool> ModelReader::add_spread(const Operator& row, std::size_t place) {
  const StoredOperator& op = subgraph_->operators[place];
  if (auto spread = spread_by(row, place)) {
    known_[static_cast<std::size_t>(op.outputs[0])].spread = std::move(spread);
    return true;
  }
  if (row.name != "BATCH_TO_SPACE_ND" || op.inputs.size() != 3 || op.outputs.size() != 1 ||
      std::ranges::any_of(op.inputs, [](std::int32_t t) { return t < 0; }))
    return false;
  const std::shared_ptr<const Spread> spread = known_[static_cast<std::size_t>(op.inputs[0])].spread;
  return spread ? gather(op, *spread) : Result<bool>(false);
}

Result<bool> ModelReader::gather(const StoredOperator& op, const Spread& spread) {
  const auto block = whole_list(known_sizes(op.inputs[1]));
  const SizeNumbers* cut = known_sizes(op.inputs[2]);
  std::vector<const SizeNumbers*> both;
  SizeNumbers pads = spread.paddings, crops = cut ? *cut : SizeNumbers{};
  pads.columns = crops.columns = 0;
  const auto more = computed("SUB", {&pads, &crops}, 0, 0, 0, 0);
  const auto added = more ? whole_list(&*more) : std::nullopt;
  if (spread.convolved.empty() || block != spread.block || crops.all.size() != pads.all.size() || !added ||
      std::ranges::any_of(*added, [](Size n) { return n < 0; }))
    return false;
  for (std::size_t i = 0; i < spread.axes.size(); ++i)
    if (spread.axes[i] != static_cast<Size>(i) + 1) return false;
  const StoredOperator& front = subgraph_->operators[spread.front];
  ValueId x = known_[static_cast<std::size_t>(front.inputs[0])].value;
  if (std::ranges::any_of(*added, [](Size n) { return n > 0; })) {
    Pad pad{Sizes(static_cast<std::size_t>(graph_[x].type.rank()), 0), {}, PadMode::Constant, 0};
    pad.after = pad.before;
    for (std::size_t i = 0; i < block->size(); ++i)
      pad.before[i + 1] = (*added)[2 * i], pad.after[i + 1] = (*added)[2 * i + 1];
    const std::size_t given = graph_.values.size();
    auto padded = graph_.add(std::move(pad), {x}, layers_[spread.front]);
    if (!padded) return pass(padded);
    if (auto s = hold(graph_, given, front, *padded, layers_[spread.front]); !s) return std::unexpected(s.error());
    x = padded->front();
  }
  known_[static_cast<std::size_t>(front.outputs[0])].value = x;
  std::int32_t last = front.outputs[0];
  for (const std::size_t place : spread.operators) {
    const StoredOperator& one = subgraph_->operators[place];
    const Operator& row = *operator_of(model_.codes[one.code].builtin);
    Json instead = Json::object();
    if (row.name.ends_with("CONV_2D"))
      for (std::size_t i = 0; i < block->size(); ++i)
        instead[spread.convolved[i] == 1 ? "dilation_h_factor" : "dilation_w_factor"] = (*block)[i];
    if (auto s = add_row(row, one, layers_[place], &instead); !s) return std::unexpected(s.error());
    last = one.outputs[0];
  }
  std::vector<ValueId> outputs{known_[static_cast<std::size_t>(last)].value};
  const std::size_t given = graph_.values.size();
  if (auto s = hold(graph_, given, op, outputs, layers_[spread.front]); !s) return std::unexpected(s.error());
  if (auto s = check_recorded(op.outputs[0], outputs[0]); !s) return std::unexpected(s.error());
  known_[static_cast<std::size_t>(op.outputs[0])].value = outputs[0];
  names_.emplace_back(outputs[0], way_ + name_of(op.outputs[0]));
  // What stands there now has other sizes than the file's own tensors, for nobody else to read.
  known_[static_cast<std::size_t>(front.outputs[0])].value = {};
  for (const std::size_t place : spread.operators)
    known_[static_cast<std::size_t>(subgraph_->operators[place].outputs[0])].value = {};
  return true;
}

}  // namespace convoy::tflite
