// Operators that lead to other subgraphs: a branch that a known condition chooses, and loops that are known to end, whose turns
// stand one behind the other.
#include "base/budget.h"
#include "formats/chosen.h"
#include "formats/tflite/reader.h"
#include "formats/tflite/types.h"
#include "ops/expect.h"

#include <utility>

namespace convoy::tflite {
namespace {

constexpr int most_turns = 4096, deepest_call = 32;

}  // namespace

Result<ModelReader::Known> ModelReader::passed_on(std::int32_t t) {
  if (t < 0) return fail(Fault::Format, "one of its tensors is missing");
  const auto tensor = known_tensor(t);
  if (!tensor) return std::unexpected(tensor.error());
  const Known& known = known_[static_cast<std::size_t>(t)];
  const bool counts = known.tensor && !is_floating(known.tensor->dtype());  // those of loops become no values
  if (known.variable.empty() && !known.sizes && !counts)
    if (const auto value = value_of(t); !value) return std::unexpected(value.error());
  return known_[static_cast<std::size_t>(t)];
}

Result<std::vector<ModelReader::Known>> ModelReader::results_of(std::int64_t place, std::vector<Known> given,
                                                                const std::string& way) {
  const SubGraph* inner = item(model_.subgraphs, place);
  if (!inner)
    return fail(Fault::Format,
                "leads to subgraph " + std::to_string(place) + " of " + std::to_string(model_.subgraphs.size()));
  if (depth_ >= deepest_call) return fail(Fault::Limit, "subgraphs are nested too deep");
  if (given.size() != inner->inputs.size())
    return fail(Fault::Format, "gives " + std::to_string(given.size()) + " tensors to a subgraph that takes " +
                                   std::to_string(inner->inputs.size()));
  if (auto s = budget::spend(100.0 * static_cast<double>(inner->operators.size() + inner->tensors.size()),
                             "a turn of a loop");
      !s)
    return pass(s);
  const SubGraph* outer = std::exchange(subgraph_, inner);
  const Signature* signature = std::exchange(signature_, nullptr);
  std::vector<std::string> layers = std::exchange(layers_, {});
  std::string outer_way = std::exchange(way_, way_ + way);
  std::vector<Known>& weights = weights_[static_cast<std::size_t>(place)];
  weights.resize(inner->tensors.size());
  std::vector<Known> known = std::exchange(known_, weights);
  ++depth_;
  const auto results = [&]() -> Result<std::vector<Known>> {
    if (auto s = check(); !s) return pass(s);
    name_layers();
    for (std::size_t i = 0; i < given.size(); ++i)
      known_[static_cast<std::size_t>(inner->inputs[i])] = std::move(given[i]);
    if (auto s = add_operators(inner->outputs); !s) return pass(s);
    std::vector<Known> all;
    for (const std::int32_t t : inner->outputs) {
      auto one = passed_on(t);
      if (!one) return pass(one);
      all.push_back(std::move(*one));
    }
    return all;
  }();
  for (std::size_t i = 0; i < inner->tensors.size(); ++i)
    if (const Bytes* bytes = item(model_.buffers, inner->tensors[i].buffer); bytes && !bytes->empty())
      weights_[static_cast<std::size_t>(place)][i] = known_[i];
  --depth_;
  known_ = std::move(known);
  way_ = std::move(outer_way);
  layers_ = std::move(layers);
  signature_ = signature;
  subgraph_ = outer;
  return results;
}

Result<bool> ModelReader::truth_of(const Known& known, std::string_view of) const {
  if (known.tensor && known.tensor->count() == 1) return known.tensor->doubles().front() != 0;
  return fail(Fault::Unsupported, std::string(of) + " is computed by the model");
}

Status ModelReader::take_results(const StoredOperator& op, std::vector<Known> results) {
  if (results.size() < op.outputs.size())
    return fail(Fault::Format, "gives " + std::to_string(op.outputs.size()) + " tensors, of which its subgraph makes " +
                                   std::to_string(results.size()));
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    Known& made = known_[static_cast<std::size_t>(op.outputs[i])];
    made = std::move(results[i]);
    if (made.value) names_.emplace_back(made.value, way_ + name_of(op.outputs[i]));
  }
  return {};
}

Status ModelReader::add_branch(const StoredOperator& op, const std::string& layer) {
  if (op.inputs.empty() || !op.options || op.options_kind != 92) return fail(Fault::Format, "has no condition");
  std::vector<Known> all;
  for (const std::int32_t t : op.inputs) {
    auto one = passed_on(t);
    if (!one) return pass(one);
    all.push_back(std::move(*one));
  }
  const Known condition = all.front();
  all.erase(all.begin());
  const auto branch = [&](bool taken, std::vector<Known> given) {
    return results_of(op.options->number<std::int32_t>(taken ? 0 : 1), std::move(given), layer + "/");
  };
  if (const auto taken = truth_of(condition, "its condition"); taken) {
    auto results = branch(*taken, std::move(all));
    if (!results) return pass(results);
    return take_results(op, std::move(*results));
  }
  if (!condition.value) return fail(Fault::Unsupported, "its condition is computed by the model");
  auto if_true = branch(true, all);
  if (!if_true) return pass(if_true);
  auto if_false = branch(false, std::move(all));
  if (!if_false) return pass(if_false);
  if (if_true->size() != if_false->size()) return fail(Fault::Format, "its branches give unlike numbers of results");
  if (options_.remarks) options_.remarks->push_back(remark_of_both(layer));
  UnknownSizes sizes;
  for (const ValueId input : graph_.inputs) sizes.add_input(graph_, input, {});
  for (std::size_t i = 0; i < if_true->size(); ++i) {
    const auto value_in = [&](const Known& known, std::string_view word) {
      if (known.value || !known.tensor) return known.value;
      return add_constant(graph_, layer + "/" + std::string(word), *known.tensor, nullptr, false);
    };
    const ValueId first = value_in((*if_true)[i], "then"), second = value_in((*if_false)[i], "else");
    if (!first || !second)
      return fail(Fault::Unsupported,
                  "its condition is computed by the model, and so would be numbers of sizes or states");
    auto made = chosen(graph_, sizes, condition.value, first, second, layer);
    if (!made) return pass(made);
    (*if_true)[i] = Known{.value = *made};
  }
  return take_results(op, std::move(*if_true));
}

Status ModelReader::add_loop(const StoredOperator& op, const std::string& layer) {
  if (!op.options || op.options_kind != 93) return fail(Fault::Format, "has no body");
  const auto condition = op.options->number<std::int32_t>(0), body = op.options->number<std::int32_t>(1);
  std::vector<Known> state;
  for (const std::int32_t t : op.inputs) {
    auto one = passed_on(t);
    if (!one) return pass(one);
    state.push_back(std::move(*one));
  }
  for (int turn = 0; turn < most_turns; ++turn) {
    const std::string way = layer + "/" + std::to_string(turn + 1) + "/";
    const auto decided = results_of(condition, state, way);
    if (!decided) return std::unexpected(decided.error());
    if (decided->empty()) return fail(Fault::Format, "its condition gives nothing");
    const auto goes_on = truth_of(decided->front(), "how often it goes round");
    if (!goes_on) return std::unexpected(goes_on.error());
    if (!*goes_on) return take_results(op, std::move(state));
    auto next = within("turn " + std::to_string(turn + 1), results_of(body, std::move(state), way));
    if (!next) return pass(next);
    state = std::move(*next);
  }
  return fail(Fault::Limit, "goes round more than " + std::to_string(most_turns) + " times");
}

}  // namespace convoy::tflite
