// A pasted layer as operators: which framework's words they are, what they say, and the graph they mean.
#pragma once
#include "convoy/result.h"
#include "explain/layer.h"
#include "graph/graph.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convoy::explain {

// The text, and what the user adds to it where the text leaves it open.
struct Question {
  std::string text;
  std::vector<Dim> size;  // spatial; empty: any size
  Sizes kernel;           // one number for all axes, or one each
  std::optional<Size> channels;
  std::string layout;  // "NCHW", "NHWC"; empty: what the framework takes
};

struct Spoken {
  Framework framework = Framework::Torch;
  std::string function;                                    // "Conv2D", "conv_transpose1d"
  std::vector<std::pair<std::string, std::string>> words;  // what it says about padding: {"padding", "'same'"}
  Graph graph;
  Channels channels{{}, "c"}, filters{{}, "filters"};
  bool depthwise = false;
  std::vector<std::string> notes;
  bool says_bias = false;  // a layer, which has a bias or says that it has none; a function leaves it open
  std::string activation;  // behind it, as an argument or around the call: "relu"; empty: none
};

// Reads the call of a layer or function in PyTorch's, Keras', TensorFlow's or ONNX's words. Names are not evaluated:
// a number of channels may be a name, everything else is a number or a word.
// Fails: Usage, where the text is no such call, with the nearest name or argument; where an option is missing or has no
// meaning; Unsupported, where the framework itself refuses the call.
Result<Spoken> read_question(const Question& question);
// Whether a call's name is one that read_question() knows, whatever becomes of its arguments.
bool is_known(const std::string& text);

}  // namespace convoy::explain
