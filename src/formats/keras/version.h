// Which Keras wrote a file: its defaults and a few of its formulas depend on it.
#pragma once
#include <string>
#include <string_view>
#include <tuple>

namespace convoy::keras {

struct Version {
  int major = 3, minor = 0, patch = 0;
  bool tensorflow = false;  // tf.keras or tf_keras: "2.2.4-tf", or any 2.x from 2.5 on
  std::string text;         // as the file says it
  bool before(int a, int b, int c) const { return std::tuple(major, minor, patch) < std::tuple(a, b, c); }
};

// "2.2.4-tf" -> 2, 2, 4, tensorflow. An empty text means Keras 1, which wrote no version.
Version version_of(std::string_view text);
std::string name_of(const Version& version);  // "Keras 3.15.1", "tf.keras 2.21.0"

}  // namespace convoy::keras
