// The ways of asking `convoy pad`: a layer, a model file, a size to solve for, or a framework to tell about.
#pragma once
#include "base/atomic_output.h"
#include "cli/command.h"
#include "explain/explanation.h"
#include "explain/pad_list.h"

#include <optional>
#include <string>
#include <vector>

namespace convoy::cli {

// The command line as it was typed. Each way of asking reads the words it needs and refuses those it has no use for.
struct PadOptions {
  std::string layer;  // the pasted layer, or a model file
  std::string which;  // one layer of that file
  std::string size, kernel, channels, layout;
  std::string weights;
  bool json = false;
  bool solve = false, transpose = false;
  std::string in, out, stride, dilation;  // of --solve, beside kernel
  std::string about;                      // a framework's name
  std::string like;                       // a layer, for --solve
  std::string svg;                        // file to draw into
  bool force = false;                     // --svg replaces a file
};

// One way of asking each; they print and return the exit code.
int pad_solve(const PadOptions& words);
int pad_about(const PadOptions& words);
int pad_like(const PadOptions& words);
// Nothing: the layer is no list of cells to add.
std::optional<Result<explain::PadList>> pad_list_of(const PadOptions& words);
std::optional<int> pad_list(const PadOptions& words);

// One call, however many lines it has, is asked as it stands; what else was pasted is looked through for calls.
bool is_paste(const std::string& text);
// Up to 1 MiB and a byte, which calls_in() refuses. Fails (Usage): there is nothing.
Result<std::string> text_on_standard_input();
// Every call is answered, or asked about, in its order; where none is answered, that is a failure of the first one's kind.
int pad_paste(PadOptions words);

// "3x5" -> {3, 5}; "?" is no number. Any whole number passes: who asked says what is wrong with it. Fails (Usage).
Result<std::vector<std::optional<Size>>> numbers_of_option(const std::string& words, const std::string& option);

// The pasted layer with what the options add to it. Fails (Usage): an option makes no sense.
Result<explain::Question> question_of(const PadOptions& words);
// The layers with windows that the words name: one pasted, or those of a file.
Result<std::vector<explain::Explanation>> explanations_of(const PadOptions& words);
// Draws those whose size is known into the one file of `output`, and puts it in its place.
Status draw_layers(const std::vector<explain::Explanation>& layers, OutputSet& output);

}  // namespace convoy::cli
