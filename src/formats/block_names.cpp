#include "formats/block_names.h"

#include "base/words.h"
#include "formats/python.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>
#include <utility>

namespace convoy::python {
namespace {

constexpr std::string_view separators = "_.-/:";
constexpr std::size_t most_words = 3;  // of a name made of operators

bool digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// What a block is not named after: it only brings numbers into place.
constexpr std::array quiet{"pad",       "dropout", "identity", "reshape", "flatten",
                           "transpose", "permute", "slice",    "split"};
constexpr std::array activations{"relu",    "relu6",      "gelu",       "gelu_tanh", "silu",  "sigmoid", "tanh", "elu",
                                 "softmax", "activation", "hard_swish", "mish",      "prelu", "clip",    "selu"};
constexpr std::array computing{"conv",   "depthwise", "separable", "conv_transpose", "linear",   "matmul",
                               "einsum", "lstm",      "gru",       "simple_rnn",     "embedding"};
constexpr std::array adjusting{"bn", "norm", "bias", "scale"};
// What a prefix says without saying anything.
constexpr std::array vague{"block", "layer",  "unit",  "stage",  "model", "features", "module", "net",  "network",
                           "conv",  "conv2d", "dense", "linear", "relu",  "res",      "branch", "mixed"};

// "stage_2_block_1_conv" -> "stage_block_conv": words of digits and digits at the end of words say which, not what.
std::string without_counts(const std::string& name) {
  std::string made;
  for (std::size_t from = 0; from <= name.size();) {
    const std::size_t to = std::min(name.find_first_of(separators, from), name.size());
    std::string word = name.substr(from, to - from);
    // "conv2d" and "fc1" keep what stands in front, "2a" loses all.
    if (!word.empty() && digit(word[0])) word.clear();
    while (!word.empty() && digit(word.back())) word.pop_back();
    if (!word.empty()) made += (made.empty() ? "" : "_") + word;
    from = to + 1;
  }
  return made;
}

// What all names that say something begin with, a separator at its end.
std::string shared_front(const LayerNames& use) {
  std::optional<std::string> common;
  for (std::size_t i = 0; i < use.names.size(); ++i) {
    if (use.opaque[i] || use.names[i].empty()) continue;
    // "add_25" in the midst of "stage_0_block_1_...": no part of it.
    const bool foreign = common && words_of_name(*common) != std::vector<std::string>{} &&
                         words_of_name(use.names[i])[0] != words_of_name(*common)[0];
    if (foreign && role_of(words_of_name(use.names[i])[0]) == Role::Combines) continue;
    if (!common) {
      common = use.names[i];
      continue;
    }
    common->resize(static_cast<std::size_t>(std::ranges::mismatch(*common, use.names[i]).in1 - common->begin()));
  }
  if (!common) return {};
  const auto separator = common->find_last_of(separators);
  return separator == std::string::npos ? "" : common->substr(0, separator + 1);
}

std::string last_word(const std::string& name) {
  const auto at = name.find_last_of('_');
  return at == std::string::npos ? name : name.substr(at + 1);
}

}  // namespace

Role role_of(std::string_view word) {
  if (word == "add" || word == "multiply" || word == "concat") return Role::Combines;
  if (is_among(computing, word)) return Role::Computes;
  if (is_among(adjusting, word)) return Role::Adjusts;
  return is_among(activations, word) ? Role::Activates : Role::Other;
}

std::vector<std::string> words_of_name(const std::string& name) {
  std::vector<std::string> words;
  for (std::size_t from = 0; from < name.size();) {
    const std::size_t to = std::min(name.find_first_of(separators, from), name.size());
    if (to > from) words.push_back(name.substr(from, to - from));
    from = to + 1;
  }
  return words;
}

std::string block_name(const std::vector<std::string>& words) {
  std::vector<std::string> loud;
  for (const std::string& word : words)
    if (!is_among(quiet, word) && (loud.empty() || loud.back() != word)) loud.push_back(word);
  if (loud.empty()) return "block";
  if (loud.size() <= most_words && loud.size() > 1) return joined(loud, "_");
  const auto has = [&](std::string_view word) { return is_among(loud, word); };
  std::string end = loud.back();
  if (is_among(activations, end) && loud.size() > 1) end = loud[loud.size() - 2];
  if (has("softmax") && has("matmul")) return "attention_block";
  if (end == "add") return "residual_block";
  if (end == "concat") return "concat_block";
  for (const std::string_view main : {"depthwise", "separable", "conv", "conv_transpose", "linear", "lstm", "gru"})
    if (has(main)) return std::string(main) + "_block";
  return loud.size() == 1 ? loud[0] : loud[0] + "_block";
}

BlockDescription description_of_block(const Grouped& block,
                                      const std::function<std::string(const Grouped& piece)>& word) {
  const auto gather = [&](const auto& self, const Grouped& one, std::vector<std::string>& words) -> void {
    if (one.piece) words.push_back(word(one));
    for (const Grouped& inner : one.inside) self(self, inner, words);
  };
  BlockDescription made;
  std::vector<std::string> all;
  for (const Grouped& inner : block.inside) {
    std::vector<std::string> own;
    gather(gather, inner, own);
    all.insert(all.end(), own.begin(), own.end());
    made.lines.push_back(inner.piece ? own.front() : block_name(own));
  }
  made.name = block_name(all);
  return made;
}

std::string attribute_name(const std::string& name) {
  const auto behind = name.find_first_not_of("0123456789");
  if (behind == 0 || behind == std::string::npos) return identifier(name);
  const std::size_t word = behind + (separators.find(name[behind]) != std::string::npos ? 1 : 0);
  return identifier(name.substr(word) + "_" + name.substr(0, behind));
}

BlockNames names_in_block(const std::vector<LayerNames>& uses, const std::vector<std::string>& words) {
  BlockNames made;
  std::vector<std::string> fronts;
  for (const LayerNames& use : uses) fronts.push_back(shared_front(use));
  const std::set<std::string> distinct(fronts.begin(), fronts.end());
  const bool tells = distinct.size() == uses.size() && !distinct.contains("");
  if (tells) {
    std::set<std::string> kinds;
    for (const std::string& front : fronts) {
      made.uses.push_back(front.substr(0, front.size() - 1));
      kinds.insert(without_counts(made.uses.back()));
    }
    if (kinds.size() == 1 && !is_among(vague, last_word(*kinds.begin()))) made.word = last_word(*kinds.begin());
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::set<std::string> whole, counted;
    for (std::size_t k = 0; k < uses.size(); ++k) {
      std::string name = uses[k].opaque[i] ? "" : uses[k].names[i];
      if (tells && name.starts_with(fronts[k])) name.erase(0, fronts[k].size());
      whole.insert(name);
      counted.insert(without_counts(name));
    }
    std::string name = whole.size() == 1 ? *whole.begin() : counted.size() == 1 ? *counted.begin() : "";
    if (!name.empty() && name.find_first_not_of("0123456789_.-/") == std::string::npos) name.clear();
    made.inside.push_back(name.empty() ? words[i] : name);
  }
  return made;
}

}  // namespace convoy::python
