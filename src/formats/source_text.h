// What the text of every ported module says about itself: its inputs and outputs, and the files beside it.
#pragma once
#include "graph/graph.h"

#include <string>
#include <vector>

namespace convoy::python {

// The names that the stored answer and arguments go by: the source's own.
std::string input_name(const Graph& graph, ValueId input);
std::string output_name(const Graph& graph, std::size_t i);

// What they are stored under: a name that stands for several is numbered from the second on, "x", "x.2".
std::vector<std::string> stored_names(const std::vector<std::string>& names);

std::string shape_text(const Shape& shape);  // "[N, 8, ?, 3]"
// How an input or output lies beside the source's: "float32 [N, 1, 8, 8]: of the source's [N, 8, 8, 1], permuted
// (0, 3, 1, 2)", or "float32 [N, 10]: axes as in the source".
std::string lying_text(const convoy::Value& value);
// "float32 [N, 1, 8, 8] -> float32 [N, 10].  Keras read [N, 8, 8, 1], permuted (0, 3, 1, 2)." as a docstring that a blank
// line follows, with what the source gave where that moved as well; `arguments` name the inputs where there are several.
std::string shapes_docstring(const Graph& graph, const std::vector<std::string>& arguments);

// {"image": x, "mask": mask}
std::string dictionary_text(const std::vector<std::string>& keys, const std::vector<std::string>& values);
// stored["input"], one for each of the graph's inputs, with what `typed` puts behind the numbers for those of its type.
std::vector<std::string> stored_inputs(const Graph& graph, std::string (*typed)(DType));

// How a framework says the steps of a self-check.
struct Comparing {
  std::string answer;  // the name of one tensor that the network gave
  std::string answers;  // the name of all that it gave, where that is a dictionary of one
  std::string taken;  // the statement that sets y and expected, {} for the key of what is stored
  std::string difference;  // of y and expected, cell by cell
  std::string largest;  // the largest of `difference`, as a number
};
// The end of a self-check, behind the call: every answer beside what is stored and its bound, what is printed of them,
// and the exit code. `module` and `source` are what the print names.
std::string comparison_text(const Graph& graph, const std::string& module, const std::string& source,
                            const Comparing& words);

// HERE.with_suffix(".safetensors"), so that the files may be renamed together.
std::string beside(const std::string& file, const std::string& module_name);

}  // namespace convoy::python
