// The content of a file, for tests.
#pragma once
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace convoy {

// Empty where there is no such file.
inline std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace convoy
