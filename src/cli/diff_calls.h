// convoy diff 'LAYER A' 'LAYER B': two calls from programs, held against each other.
#pragma once
#include <string>
#include <vector>

namespace convoy::cli {

// The command line as it was typed, of the options that calls take.
struct CallOptions {
  std::string a, b, size, kernel, channels;
  std::vector<std::string> shapes;
  bool json = false, quiet = false;
};

// A call as it stands in a program, and no file.
bool is_call(const std::string& word);
// Prints and returns the exit code.
int diff_calls(const CallOptions& words);

}  // namespace convoy::cli
