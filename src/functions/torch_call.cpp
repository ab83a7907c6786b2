// PyTorch's functions on arrays.
#include "functions/torch_call.h"

#include "formats/torch/catalogue/catalogue.h"

namespace convoy::torch {

Result<Tensor> call_one(const std::string& name, const std::vector<ArrayArgument>& arrays, const Json& arguments) {
  return evaluate_one(functions(), name, arrays, arguments);
}

Result<WithIndices> call_two(const std::string& name, const std::vector<ArrayArgument>& arrays, Json arguments) {
  arguments["return_indices"] = true;
  auto results = evaluate(functions(), name, arrays, arguments, {.results = 2});
  if (!results) return pass(results);
  if (results->size() != 2) return fail(Fault::Internal, name + " has no indices");
  return WithIndices{(*results)[0], (*results)[1]};
}

}  // namespace convoy::torch
