// PyTorch's calls: the attributes of a case are the arguments of the function, its inputs are x, w, b and indices.
#include "formats/torch/catalogue/catalogue.h"
#include "functions/evaluate.h"
#include "golden/answer.h"
#include "support/through.h"

#include <algorithm>
#include <array>

namespace convoy::golden {
namespace {

struct Word {
  std::string_view ours, theirs;
};
constexpr std::array tensors{Word{"x", "input"}, Word{"w", "weight"}, Word{"b", "bias"}};

// "conv2d" of "torch.nn.functional.conv2d(x, ...)". A layer is called as its function, whose attributes a case holds.
std::string torch_function_of(const Case& c) {
  constexpr std::string_view prefix = "torch.nn.functional.";
  if (c.call.starts_with(prefix)) return c.call.substr(prefix.size(), c.call.find('(') - prefix.size());
  return c.op + std::to_string(c.rank) + "d";
}

Result<std::vector<Tensor>> call(const std::string& function, const std::vector<std::pair<std::string, Tensor>>& inputs,
                                 const Json& arguments, Way way) {
  std::vector<View> views;
  for (const auto& [name, tensor] : inputs) views.emplace_back(tensor);
  std::vector<ArrayArgument> arrays;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto word = std::ranges::find(tensors, inputs[i].first, &Word::ours);
    arrays.push_back({word == tensors.end() ? std::string_view(inputs[i].first) : word->theirs, &views[i]});
  }
  if (way == Way::Plain) return evaluate(torch::functions(), function, arrays, arguments);
  auto made = one_call(torch::functions(), function, arrays, arguments);
  if (!made) return pass(made);
  return testing::run_through(std::move(made->graph), made->inputs, testing::Through::Keras);
}

}  // namespace

Result<Answer> answer_torch(const Case& c, Way way) {
  std::vector<std::pair<std::string, Tensor>> inputs;
  for (const auto& [name, array] : c.inputs) inputs.emplace_back(name, array.tensor);
  if (inputs.empty() || inputs.front().first != "x") return fail(Fault::Format, "input 'x' is missing");
  const std::string function = torch_function_of(c);
  if (!row_of(torch::functions(), function)) return not_mapped("PyTorch's " + function);
  Json arguments = c.attrs;
  if (function != "pad" && arguments.contains("pad")) {  // the questions pad in front of a convolution
    auto padded = call("pad", {inputs.front()}, {{"pad", arguments["pad"]}}, way);
    if (!padded) return pass(padded);
    inputs.front().second = padded->front();
    arguments.erase("pad");
  }
  auto results = call(function, inputs, arguments, way);
  if (!results) return pass(results);
  Answer answer{{results->front(), c.want ? c.want->layout : ""}, {}};
  if (results->size() > 1) answer.indices = (*results)[1];
  return answer;
}

}  // namespace convoy::golden
