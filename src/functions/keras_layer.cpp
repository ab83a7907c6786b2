// One layer as a graph with one input; its weights are constants.
#include "functions/keras_layer.h"

#include "formats/keras/keras.h"
#include "run/run.h"

namespace convoy::keras {

Result<Tensor> evaluate_layer(const char* class_name, const char* function, Json config, const View& x,
                              const std::vector<const View*>& weights) {
  const auto given = [&](const View& array) { return within(function, array.tensor()); };
  const auto input = given(x);
  if (!input) return input;
  std::vector<Tensor> tensors;
  for (const View* weight : weights) {
    if (!weight) continue;
    auto tensor = given(*weight);
    if (!tensor) return tensor;
    tensors.push_back(std::move(*tensor));
  }
  config["name"] = function;
  auto graph = graph_of_layer(class_name, config, {type_of(*input)}, tensors);
  if (!graph) return pass(graph);
  auto values = within(function, run(*graph, {*input}));
  if (!values) return pass(values);
  return values->at(graph->outputs.front());
}

}  // namespace convoy::keras
