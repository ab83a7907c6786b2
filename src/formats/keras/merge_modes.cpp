#include "formats/keras/merge_modes.h"

#include <algorithm>
#include <array>
#include <utility>

namespace convoy::keras {

std::string_view merging_class(std::string_view mode) {
  using Mode = std::pair<std::string_view, std::string_view>;
  constexpr std::array modes{Mode{"sum", "Add"},     Mode{"mul", "Multiply"},       Mode{"ave", "Average"},
                             Mode{"max", "Maximum"}, Mode{"concat", "Concatenate"}, Mode{"dot", "Dot"}};
  const auto found = std::ranges::find(modes, mode, &Mode::first);
  return found == modes.end() ? std::string_view() : found->second;
}

}  // namespace convoy::keras
