#include "formats/torch/source/module_weights.h"

#include "formats/torch/weight_norm.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace convoy::torch {

namespace {

// By the words in front of names ("model_state."), how many wanted names stand behind them.
std::map<std::string, std::size_t> wanted_behind(const std::vector<LoadedTensor>& checkpoint,
                                                 const std::set<std::string>& wanted) {
  std::map<std::string, std::size_t> counts;
  const auto count = [&](const std::string& name) {
    for (std::size_t at = 0; at != std::string::npos;) {
      if (wanted.contains(name.substr(at))) ++counts[name.substr(0, at)];
      const std::size_t dot = name.find('.', at);
      at = dot == std::string::npos ? dot : dot + 1;
    }
  };
  for (const LoadedTensor& one : checkpoint) count(one.name);
  for (const NormedWeight& one : normed_weights(checkpoint)) count(one.name);
  return counts;
}

std::string dict_named(std::string prefix) {
  prefix.resize(prefix.size() - 1);
  return "'" + prefix + "'";
}

}  // namespace

Result<std::vector<LoadedTensor>> module_weights(std::vector<LoadedTensor> checkpoint,
                                                 const std::set<std::string>& wanted, const std::string& dict,
                                                 bool exactly, const std::string& file,
                                                 std::vector<std::string>* remarks) {
  auto counts = wanted_behind(checkpoint, wanted);
  const auto is_elsewhere = [&](const auto& entry) { return !entry.first.starts_with(dict + "."); };
  if (!dict.empty() && !std::ranges::all_of(counts, is_elsewhere)) std::erase_if(counts, is_elsewhere);
  const std::string own_prefix = dict.empty() ? "" : dict + ".";
  // A file that has no such dict is not the one that the program loads.
  const bool has_dict =
      std::ranges::any_of(checkpoint, [&](const auto& one) { return one.name.starts_with(own_prefix); });
  if (exactly && has_dict && !counts.contains(own_prefix)) {
    const auto elsewhere = std::ranges::max_element(counts, {}, &decltype(counts)::value_type::second);
    return fail(
        Fault::Unsupported,
        fmt::format("load_state_dict(strict=False) takes no weight of {}{}, and leaves the module as it is filled; "
                    "load them by their own names or without strict=False, or leave --weights out",
                    file,
                    elsewhere == counts.end() || elsewhere->first.empty()
                        ? std::string()
                        : ", for their names stand behind " + dict_named(elsewhere->first)));
  }
  if (exactly && has_dict) std::erase_if(counts, [&](const auto& entry) { return entry.first != own_prefix; });
  std::string chosen, as_many;
  std::size_t most = 0;
  for (const auto& [prefix, count] : counts) {  // "" comes first
    if (count == most) as_many = prefix;
    if (count > most) most = count, chosen = prefix, as_many.clear();
  }
  if (chosen.empty()) return checkpoint;
  if (!as_many.empty())
    return fail(Fault::Unsupported,
                fmt::format("{} holds as many weights of this model in {} as in {}; save the dict that is meant by "
                            "itself",
                            file, dict_named(chosen), dict_named(as_many)));
  std::vector<LoadedTensor> own;
  for (LoadedTensor& one : checkpoint)
    if (one.name.starts_with(chosen)) own.push_back({one.name.substr(chosen.size()), std::move(one.tensor)});
  if (const std::size_t beside = checkpoint.size() - own.size(); beside > 0 && remarks)
    remarks->push_back(fmt::format("{}: the weights are those in {}; {} other tensor{} left out", file,
                                   dict_named(chosen), beside, beside == 1 ? " is" : "s are"));
  return own;
}

}  // namespace convoy::torch
