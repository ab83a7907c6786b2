#include "base/packed.h"

namespace convoy {

Size packed_size(Size count, int bits) {
  const Size each = 8 / bits;
  return count / each + (count % each != 0 ? 1 : 0);
}

std::vector<std::byte> unpacked(Bytes packed, Size count, int bits, bool is_signed) {
  const auto width = static_cast<std::size_t>(bits), each = 8 / width;
  const unsigned mask = (1U << width) - 1, sign = is_signed ? 1U << (width - 1) : 0;
  std::vector<std::byte> numbers(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const unsigned code = (std::to_integer<unsigned>(packed[i / each]) >> (i % each * width)) & mask;
    numbers[i] = static_cast<std::byte>((code ^ sign) - sign);
  }
  return numbers;
}

}  // namespace convoy
