#include "formats/keras/version.h"

#include <algorithm>
#include <array>

namespace convoy::keras {

Version version_of(std::string_view text) {
  Version version;
  version.text = std::string(text);
  if (text.empty()) {
    version.major = 1, version.minor = 2;
    return version;
  }
  std::array<int, 3> numbers{};
  std::size_t at = 0;
  for (int& number : numbers) {
    while (at < text.size() && text[at] >= '0' && text[at] <= '9' && number < 100000)
      number = number * 10 + (text[at++] - '0');
    if (at < text.size() && text[at] == '.') ++at;
    else break;
  }
  version.major = std::clamp(numbers[0], 1, 3), version.minor = numbers[1], version.patch = numbers[2];
  version.tensorflow = text.find("-tf") != std::string_view::npos || (version.major == 2 && version.minor >= 5);
  return version;
}

std::string name_of(const Version& version) {
  if (version.text.empty()) return "Keras 1";
  return (version.tensorflow ? "tf.keras " : "Keras ") + version.text;
}

}  // namespace convoy::keras
