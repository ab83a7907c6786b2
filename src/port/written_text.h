// Python text that a port has written, read again before it is left behind: what was written is what was meant.
#pragma once
#include "port/journey.h"

namespace convoy {

// The part of the text that makes the network: a class in PyTorch's, this function in Keras's.
inline constexpr const char *last_class = "", *build_function = "build";

// The text as the reader of source understands it, with the weights as they lie in `weights`. `inputs` give the sizes
// for text that declares none, and those of the graph that was `meant` their types. Fails: what the reader of source refuses, with the line in the text.
Result<Graph> read_written_text(const std::string& text, const std::string& part, const std::filesystem::path& weights,
                                const std::vector<Tensor>& inputs, const Graph& meant);

// Runs the text, so read, on the inputs of the proof's stored answer. Says what was shown, one line each; also where the
// text could not be read, and why. Fails (Internal): the text says something else than was meant.
Result<std::vector<std::string>> show_written_text(const PortReport& report, const std::string& text,
                                                   const std::string& part, const std::filesystem::path& weights);

}  // namespace convoy
