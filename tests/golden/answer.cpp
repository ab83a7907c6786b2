// Runs graphs the three ways and brings answers back into the source's order by their origins.
#include "golden/answer.h"

#include "support/through.h"

namespace convoy::golden {

using testing::run_through;
using testing::Through;

std::string_view name_of(Way way) {
  switch (way) {
    case Way::Plain: return "plain";
    case Way::Torch: return "torch";
    case Way::Free: return "free";
    case Way::Keras: return "keras";
  }
  return "?";
}

TensorType input_type(const Array& x, Way way) {
  TensorType type = type_of(x.tensor);
  if (way != Way::Free) return type;
  const std::size_t channels = x.layout.find('C');
  for (std::size_t i = 0; i < type.shape.size(); ++i)
    if (i != channels) type.shape[i] = Dim::unknown();
  return type;
}

Result<Tensor> answer_of(Graph graph, const Tensor& x, Way way) {
  if (graph.inputs.size() != 1 || graph.outputs.size() != 1)
    return fail(Fault::Internal, "the graph of one layer has several inputs or outputs");
  auto outputs = run_through(std::move(graph), {x},
                             way == Way::Plain   ? Through::Nothing
                             : way == Way::Keras ? Through::Keras
                                                 : Through::Torch);
  if (!outputs) return pass(outputs);
  return std::move(outputs->front());
}

Result<Answer> answer(const Case& c, Way way) {
  if (c.framework.starts_with("keras")) return answer_keras(c, way);
  if (way != Way::Plain && (way != Way::Keras || !c.framework.starts_with("torch")))
    return not_mapped("only Keras cases are run through PyTorch's words, and PyTorch's through Keras's");
  if (c.framework.starts_with("torch")) return answer_torch(c, way);
  if (c.framework.starts_with("tensorflow lite")) return answer_tflite(c);
  if (c.framework.starts_with("tensorflow")) return answer_tensorflow(c);
  if (c.framework.starts_with("onnxruntime")) return answer_onnx(c);
  return not_mapped("the operators of " + c.framework.substr(0, c.framework.find(' ')));
}

}  // namespace convoy::golden
