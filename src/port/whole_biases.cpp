#include "port/whole_biases.h"

#include "base/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace convoy {
namespace {

class BiasRounder {
 public:
  BiasRounder(Graph& graph, const HeldWeights& held)
      : graph_(graph),
        held_(held),
        stretches_(quantized_stretches(graph)),
        readers_(readers_of(graph)) {}

  Result<std::optional<std::string>> round() {
    for (const Node& node : graph_.nodes) {
      const bool has_bias = node.inputs.size() > 2 && node.inputs[2] && traits_of(node.op).is_product();
      const Value* bias = has_bias ? &graph_[node.inputs[2]] : nullptr;
      if (!bias || !bias->constant || bias->constant->dtype() != DType::F32) continue;
      if (readers_[node.inputs[2].slot()].size() != 1) continue;
      const auto scale = scale_behind(node.inputs[0]);
      const auto weight = held_.find(graph_[node.inputs[1]].name);
      if (!scale || weight == held_.end()) continue;
      std::vector<float> scales;
      for (const float w : weight->second.as.scales) scales.push_back(*scale * w);
      if (is_whole(*bias, scales)) continue;
      if (auto s = budget::afford(bias->constant->count() * 16, "biases"); !s) return pass(s);
      round_to(graph_[node.inputs[2]], scales);
    }
    if (rounded_ == 0) return std::optional<std::string>();
    return fmt::format(
        "{} biases are rounded to steps of their input's scale times their weights', as kernels of whole "
        "numbers take them, by {:.2g} at most (in '{}'); the proof holds the model with these",
        rounded_, worst_, where_);
  }

 private:
  // Of the steps that real numbers were widened from, behind what moves them.
  std::optional<float> scale_behind(ValueId v) const {
    for (NodeId at = graph_[v].producer; at; at = graph_[v].producer) {
      const auto found = stretches_.by_last.find(at);
      if (found != stretches_.by_last.end()) {
        if (found->second.rounds || found->second.axis) return std::nullopt;
        return graph_[found->second.scale].constant->floats().front();
      }
      const Node& node = graph_[at];
      const bool moves = traits_of(node.op).moves_numbers() || holds_alternative<MaxPool>(node.op);
      if (!moves || node.inputs.empty() || !node.inputs[0]) return std::nullopt;
      v = node.inputs[0];
    }
    return std::nullopt;
  }

  // In steps of its own file's that are the same but for a rounding, or in these.
  bool is_whole(const Value& bias, const std::vector<float>& scales) const {
    const auto own = held_.find(bias.name);
    if (own != held_.end() && own->second.as.dtype == DType::I32) return true;
    return scales.empty() || (scales.size() > 1 && static_cast<Size>(scales.size()) != bias.constant->count());
  }

  void round_to(Value& bias, const std::vector<float>& scales) {
    const auto numbers = bias.constant->floats();
    std::vector<float> now(numbers.size());
    double most = 0;
    for (std::size_t i = 0; i < now.size(); ++i) {
      const float scale = scales[scales.size() == 1 ? 0 : i];
      const double steps = std::nearbyint(static_cast<double>(numbers[i]) / static_cast<double>(scale));
      if (!(std::abs(steps) <= 8388608)) return;
      now[i] = static_cast<float>(steps) * scale;
      most = std::max(most, std::abs(static_cast<double>(now[i]) - static_cast<double>(numbers[i])));
    }
    if (most == 0) return;
    bias.constant = Tensor::of(bias.constant->shape(), std::move(now));
    ++rounded_;
    if (most > worst_) worst_ = most, where_ = bias.name;
  }

  Graph& graph_;
  const HeldWeights& held_;
  QuantizedStretches stretches_;
  std::vector<std::vector<NodeId>> readers_;
  std::size_t rounded_ = 0;
  double worst_ = 0;
  std::string where_;
};

}  // namespace

Result<std::optional<std::string>> round_biases(Graph& graph, const HeldWeights& held) {
  return BiasRounder(graph, held).round();
}

}  // namespace convoy
