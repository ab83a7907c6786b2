// SHA-256 (FIPS 180-4): the checksum that ties a module to its weights and names tensors in lists.
#pragma once
#include "base/bytes.h"

#include <array>
#include <cstdint>
#include <string>

namespace convoy {

class Sha256 {
 public:
  void update(Bytes bytes);
  std::array<std::uint8_t, 32> finish();
  std::string finish_hex();  // 64 lower-case digits

 private:
  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> block_{};
  std::size_t filled_ = 0;
  std::uint64_t length_ = 0;
};

std::string sha256_hex(Bytes bytes);

}  // namespace convoy
