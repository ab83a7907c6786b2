#include "base/fresh_names.h"

namespace convoy {

std::string FreshNames::take(const std::string& wanted, std::string_view between, std::size_t first) {
  if (!is_reserved(wanted) && taken_.insert(wanted).second) return wanted;
  const std::string stem = wanted + std::string(between);
  std::size_t& next = next_.try_emplace(stem, first).first->second;  // all before it are taken, and none is given back
  while (true)
    if (std::string name = stem + std::to_string(next++); !is_reserved(name) && taken_.insert(name).second) return name;
}

std::vector<std::string> names_apart(const std::vector<std::string>& names) {
  FreshNames others(std::set<std::string>(names.begin(), names.end()));
  std::set<std::string> first;
  std::vector<std::string> apart;
  for (std::size_t i = 0; i < names.size(); ++i)
    apart.push_back(first.insert(names[i]).second ? names[i] : others.take(names[i], "_", i));
  return apart;
}

}  // namespace convoy
