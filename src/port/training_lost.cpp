#include "port/training_lost.h"

#include "graph/stored.h"

#include <algorithm>

namespace convoy {
namespace {

constexpr std::size_t most_named = 3;

// "'a', 'b', 'c' and 4 more"; empty where there is none.
std::string in_brief(const std::vector<std::string>& all) {
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), most_named); ++i) text += (i ? ", '" : "'") + all[i] + "'";
  if (all.size() > most_named) text += " and " + std::to_string(all.size() - most_named) + " more";
  return text;
}

// "head/kernel = embed/embeddings", for each weight that an earlier layer of the model has, too.
std::vector<std::string> weights_twice(const Graph& target, const keras::Document& document) {
  std::map<std::string, std::string> first;
  std::vector<std::string> all;
  for (const keras::DocumentLayer& layer : document.layers)
    for (const keras::DocumentWeight& weight : layer.weights) {
      const std::string name = layer.name + "/" + weight.name;
      const auto value = document.carried.find(name);
      const std::string source = value == document.carried.end() ? "" : learnt_weight(target, value->second);
      if (source.empty()) continue;
      const auto [known, is_new] = first.emplace(source, name);
      if (!is_new && known->second != name) all.push_back(name + " = " + known->second);
    }
  return all;
}

}  // namespace

std::vector<std::string> left_to_training(const Graph& source) {
  std::vector<std::string> all = source.left_to_training;
  std::ranges::sort(all);
  all.erase(std::ranges::unique(all).begin(), all.end());
  if (all.empty()) return {};
  constexpr std::size_t most_said = 8;
  std::string text = all.front();
  for (std::size_t i = 1; i < std::min(all.size(), most_said); ++i) text += ", " + all[i];
  if (all.size() > most_said) text += " and " + std::to_string(all.size() - most_said) + " more";
  return {text + ": it acts in training alone and is not carried"};
}

std::vector<std::string> lost_in_training(const Graph& target, const keras::Document& document) {
  std::vector<std::string> still, norms, remarks = left_to_training(target);
  // Other formats do not say what stands still.
  const bool says_frozen =
      target.source_format.starts_with("PyTorch") || target.source_format.starts_with("TorchScript");
  for (const keras::DocumentLayer& layer : document.layers) {
    if (!says_frozen) break;
    for (const keras::DocumentWeight& weight : layer.weights)
      if (layer.trainable && !weight.trainable && !weight.name.starts_with("moving_"))
        still.push_back(layer.name + "/" + weight.name);
    if (!layer.trainable && layer.class_name == "BatchNormalization") norms.push_back(layer.name);
  }
  if (const auto twice = weights_twice(target, document); !twice.empty())
    remarks.push_back("the source trains one weight where the port has two, which part in training: " +
                      in_brief(twice));
  if (!still.empty())
    remarks.push_back("Keras freezes whole layers: " + in_brief(still) +
                      " stood still in the source and would be trained in the port");
  if (!norms.empty())
    remarks.push_back(
        "Keras's frozen norms keep to their moving averages in training, the source's take those of the "
        "batch: " +
        in_brief(norms));
  return remarks;
}

}  // namespace convoy
