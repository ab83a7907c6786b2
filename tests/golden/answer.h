// What our operators answer to a golden case: numbers, a refusal, or nothing because no code maps the call yet.
#pragma once
#include "golden/case.h"
#include "graph/graph.h"
#include "run/run.h"

namespace convoy::golden {

// How a case is run. Each one must give the framework's numbers.
enum class Way : std::uint8_t {
  Plain,  // the graph as it was read
  Torch,  // rewritten for PyTorch at the size of the case
  Free,   // read with unknown batch and space, rewritten for PyTorch, then run at the size of the case
  Keras,  // rewritten for Keras at the size of the case
};
std::string_view name_of(Way way);

struct Answer {
  Array array;
  std::vector<Array> steps;         // of a case with steps, one per layer
  std::optional<Tensor> indices{};  // of a call that was asked for positions of maxima
};

// The fault of a call that this program cannot say yet: it counts as refused, also where the framework refuses.
inline constexpr std::string_view unmapped = "not mapped: ";
inline std::unexpected<Error> not_mapped(const std::string& what) {
  return fail(Fault::Unsupported, std::string(unmapped) + what);
}

// Builds a graph from input types and weights, given that the case's first input is the only one that varies.
// `type` leaves sizes free where `way` asks for it: `fixed` is the axis that stays known (the channels).
TensorType input_type(const Array& x, Way way);

// Runs a graph of one input and one output, rewritten as `way` says; the answer is in the source's order of axes.
Result<Tensor> answer_of(Graph graph, const Tensor& x, Way way);

Result<Answer> answer_keras(const Case& c, Way way);
Result<Answer> answer_torch(const Case& c, Way way);
Result<Answer> answer_tensorflow(const Case& c);
Result<Answer> answer_onnx(const Case& c);
Result<Answer> answer_tflite(const Case& c);
Result<Answer> answer(const Case& c, Way way);

}  // namespace convoy::golden
