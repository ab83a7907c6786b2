// replay TARGET FILE...: reads kept inputs as a fuzz target does, without libFuzzer; a folder stands for its files.
#include "fuzz/targets.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

namespace fs = std::filesystem;

int main(int count, char** words) {
  using convoy::fuzz::targets;
  const auto target =
      std::ranges::find(targets, std::string_view(count > 1 ? words[1] : ""), &convoy::fuzz::Target::name);
  if (target == targets.end()) {
    std::cerr << "usage: replay TARGET FILE...\n";
    return 2;
  }
  std::vector<fs::path> files;
  for (int i = 2; i < count; ++i) {
    if (fs::is_directory(words[i]))
      for (const auto& entry : fs::recursive_directory_iterator(words[i]))
        if (entry.is_regular_file()) files.push_back(entry.path());
    if (fs::is_regular_file(words[i])) files.emplace_back(words[i]);
  }
  for (const fs::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(in), {}};
    target->read(convoy::bytes_of(content));
  }
  std::cout << target->name << ": " << files.size() << " inputs\n";
}
