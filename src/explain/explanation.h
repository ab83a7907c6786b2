// What convoy pad answers about one layer: facts first, then as text or JSON.
#pragma once
#include "containers/json.h"
#include "explain/layers.h"
#include "explain/line.h"
#include "explain/placements.h"
#include "explain/question.h"

#include <string>
#include <vector>

namespace convoy::explain {

// The same small numbers through several ways of padding one axis, computed by the kernels.
struct Shown {
  std::string name;
  std::vector<double> y;
};
struct Comparison {
  std::vector<double> x, w;
  std::vector<Shown> rows;
};

struct Explanation {
  Framework framework = Framework::Keras;
  std::string function;  // "Conv2D"
  std::string name;      // of a layer in a file
  std::vector<std::pair<std::string, std::string>> words;
  Layer layer;
  std::vector<AxisFacts> axes;
  std::vector<std::string> sentences;  // what happens, in order
  std::optional<Comparison> comparison;
  std::vector<Line> lines;
  std::string kernel;  // how its axes move
  std::vector<std::string> notes;
};

// One per layer with windows in what was said. Fails (Unsupported): there is none; (Usage): no window fits.
Result<std::vector<Explanation>> explain(const Spoken& spoken);
Result<Explanation> explain(Framework framework, const Found& found);

std::string text_of(const Explanation& explanation);
// "PyTorch Conv2d  kernel 3  stride 2  padding 1      any size"
std::string headline(const Explanation& explanation);
// One line each, framework in front and validity behind, aligned.
std::string text_of(const std::vector<Line>& lines);
Json json_of(const Explanation& explanation);

// How the kernel's axes move from this framework's order to the others'.
std::string kernel_words(Framework framework, const Layer& layer);
// What is known of runtimes that break their own rule on this layer.
std::vector<std::string> deviations(Framework framework, const Layer& layer, const std::vector<AxisFacts>& axes);
// A transposed layer beside TensorFlow's SAME of the same length; a strided one beside padding=kernel//2.
std::optional<Comparison> compare(const Layer& layer, std::size_t axis);

}  // namespace convoy::explain
