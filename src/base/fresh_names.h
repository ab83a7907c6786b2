// Names given out once each: thousands of layers may want one name.
#pragma once
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace convoy {

class FreshNames {
 public:
  explicit FreshNames(std::set<std::string> taken = {}) : taken_(std::move(taken)) {}
  // The name, or where it is taken with the next number from `first` on behind it: "conv_2".
  std::string take(const std::string& wanted, std::string_view between = "_", std::size_t first = 2);
  bool free(const std::string& name) const { return !taken_.contains(name); }

 private:
  std::set<std::string> taken_;
  std::map<std::string, std::size_t> next_;  // number behind a stem
};

}  // namespace convoy
