// Names given out once each: thousands of layers may want one name.
#pragma once
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convoy {

class FreshNames {
 public:
  explicit FreshNames(std::set<std::string> taken = {}) : taken_(std::move(taken)) {}
  // None of `reserved`, which is read where it is and outlives this: a class is made for every layer.
  static FreshNames beside(const std::set<std::string>& reserved) {
    FreshNames names;
    names.reserved_ = &reserved;
    return names;
  }
  // The name, or where it is taken with the next number from `first` on behind it: "conv_2".
  std::string take(const std::string& wanted, std::string_view between = "_", std::size_t first = 2);
  bool free(const std::string& name) const { return !is_reserved(name) && !taken_.contains(name); }

 private:
  bool is_reserved(const std::string& name) const { return reserved_ && reserved_->contains(name); }

  const std::set<std::string>* reserved_ = nullptr;
  std::set<std::string> taken_;
  std::map<std::string, std::size_t> next_;  // number behind a stem
};

// One that is there before has its place behind it: lstm, lstm_1, lstm_2. Results go by these where they are handed over by name.
std::vector<std::string> names_apart(const std::vector<std::string>& names);

}  // namespace convoy
