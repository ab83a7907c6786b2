// How padding works in one framework, on one page: its words, what they mean, and what they make of the same few numbers.
#pragma once
#include "containers/json.h"
#include "convoy/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace convoy::explain {

// One word of the framework. `shown` holds results, each behind what it is of: {"stride 2", "321 2100"}.
struct AboutRow {
  std::string words, meaning;
  struct Shown {
    std::string of, numbers;
  };
  std::vector<Shown> shown;
};

struct AboutPage {
  std::string framework;
  std::vector<AboutRow> rows;
  std::vector<std::string> notes;
};

// "torch", "keras", "tensorflow", "onnx", "tflite" or "coreml". Every number is computed by the kernels when it is asked
// for. Fails (Usage): another name.
Result<AboutPage> about(std::string_view framework);
// Their names, for the sentence that refuses others.
std::string about_names();

std::string text_of(const AboutPage& page);
Json json_of(const AboutPage& page);

}  // namespace convoy::explain
