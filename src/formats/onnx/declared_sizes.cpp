// What a file says of sizes besides what its operators give.
#include "formats/onnx/model.h"
#include "formats/onnx/onnx.h"
#include "ops/expect.h"

#include <algorithm>
#include <set>

namespace convoy::onnx {
namespace {

Shape shape_of(const std::vector<NamedDim>& dims) {
  Shape shape;
  for (const NamedDim& dim : dims) shape.push_back(dim.size && *dim.size > 0 ? Dim(*dim.size) : Dim());
  return shape;
}

}  // namespace

Result<SizeWords> size_words_of_model(Bytes bytes) {
  const auto model = parse_model(bytes);
  if (!model) return std::unexpected(model.error());
  SizeWords all;
  for (const auto* list : {&model->graph.inputs, &model->graph.outputs})
    for (const ValueInfo& info : *list) {
      if (!info.shape) continue;
      std::vector<std::string> words;
      for (const NamedDim& dim : *info.shape) words.push_back(dim.size ? "" : dim.word);
      all[info.name] = std::move(words);
    }
  return all;
}

std::optional<std::pair<std::string, Sizes>> input_without_numbers(Bytes bytes) {
  const auto model = parse_model(bytes);
  if (!model) return std::nullopt;
  for (const ValueInfo& info : model->graph.inputs) {
    const auto dims = info.shape.value_or(std::vector<NamedDim>{});
    const auto& stored = model->graph.initializers;
    if (std::ranges::find(stored, info.name, &StoredTensor::name) != stored.end() ||
        std::ranges::find(dims, std::optional<Size>(0), &NamedDim::size) == dims.end())
      continue;
    Sizes sizes;
    for (const NamedDim& dim : dims) sizes.push_back(dim.size.value_or(-1));
    return std::pair{info.name, std::move(sizes)};
  }
  return std::nullopt;
}

std::vector<std::string> contradicted_sizes(Bytes bytes, const Graph& graph) {
  const auto model = parse_model(bytes);
  if (!model) return {};
  std::map<std::string_view, const TensorType*> types;
  for (const Value& value : graph.values) types.emplace(value.name, &value.type);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i)
    types.insert_or_assign(graph.output_names[i], &graph[graph.outputs[i]].type);
  std::vector<std::string> all;
  std::set<std::string_view> told;
  for (const auto* list : {&model->graph.outputs, &model->graph.infos})
    for (const ValueInfo& info : *list) {
      const auto found = types.find(info.name);
      if (!info.shape || found == types.end() || !told.insert(info.name).second) continue;
      const Shape argument = shape_of(*info.shape);
      if (!agree(argument, found->second->shape))
        all.push_back("the file says that '" + info.name + "' is " + text_of(argument) + ", its operators give " +
                      text_of(found->second->shape));
    }
  return all;
}

}  // namespace convoy::onnx
