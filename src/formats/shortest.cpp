#include "formats/shortest.h"

#include <array>
#include <charconv>

namespace convoy {

double shortest(float number) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  double read = static_cast<double>(number);
  std::from_chars(text.data(), end, read);
  return read;
}

}  // namespace convoy
