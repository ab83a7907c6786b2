#include "explain/validity.h"

#include <algorithm>

namespace convoy::explain {
namespace {

// Longer strides are not looked through: what is said of them holds at the size asked about.
constexpr Size longest_searched_period = 4096;

std::string list_of(const std::vector<Residues>& residues) {
  std::vector<std::string> parts;
  for (const Residues& r : residues) {
    if (r.first == r.last) parts.push_back(std::to_string(r.first));
    else if (r.step == 1 && r.last - r.first > 1)
      parts.push_back(std::to_string(r.first) + " to " + std::to_string(r.last));
    else
      for (Size n = r.first; n <= r.last && parts.size() < 12; n += r.step) parts.push_back(std::to_string(n));
  }
  std::string all;
  for (std::size_t i = 0; i < parts.size(); ++i)
    all += (i == 0 ? "" : i + 1 == parts.size() ? " or " : ", ") + parts[i];
  return all;
}

bool covers_all(const Agreement& a) {
  return a.residues.size() == 1 && a.residues[0].first == 0 && a.residues[0].step == 1 &&
         a.residues[0].last == a.period - 1;
}

}  // namespace

std::string words_of(const Agreement& a) {
  if (a.always()) return "every size";
  if (a.never()) return "no size";
  // Sizes that are listed, and at which the two differ all the same.
  bool exceptions = false;
  for (Size n = a.silent; n < a.from && n < a.silent + 2 * a.period && !exceptions; ++n)
    exceptions = std::ranges::any_of(a.residues, [&](const Residues& r) { return r.has(n % a.period); });
  const std::string from = exceptions ? " from " + std::to_string(a.from) + " on" : "";
  if (covers_all(a) || a.period == 1) return "sizes" + from;
  const bool one = a.residues.size() == 1 && a.residues[0].first == a.residues[0].last;
  if (a.period == 2 && one) return (a.residues[0].first == 0 ? "even sizes" : "odd sizes") + from;
  return "sizes n" + from + " with n mod " + std::to_string(a.period) + " = " + list_of(a.residues);
}

Validity validity(const Layer& layer, const std::vector<Padding>& said) {
  const Counting counting = speaker(Framework::Torch, layer).counting();
  Validity all;
  std::vector<std::string> words;
  for (std::size_t i = 0; i < layer.space(); ++i) {
    const Window w = layer.windows[i];
    const auto in = layer.in[i].size();
    if (w.stride > longest_searched_period) {
      const bool here = !in || averages_alike_at(layer.paddings[i], said[i], w, *in, counting);
      all.always = false;
      all.here = all.here && here;
      words.emplace_back(here ? "this size" : "other sizes");
      continue;
    }
    const Agreement a = agreement(layer.paddings[i], said[i], w, counting);
    all.always = all.always && a.always();
    all.never = all.never || a.never();
    all.here = all.here && (in ? a.at(*in) : !a.never());
    words.push_back(words_of(a));
  }
  if (std::ranges::all_of(words, [&](const std::string& s) { return s == words.front(); })) {
    all.words = words.front();
    return all;
  }
  all.words.clear();
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] != "every size")
      all.words += (all.words.empty() ? "" : "; ") + axis_name(i, words.size()) + ": " + words[i];
  return all;
}

}  // namespace convoy::explain
