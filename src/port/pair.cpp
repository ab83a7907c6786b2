#include "port/pair.h"

#include "formats/source.h"
#include "passes/passes.h"

#include <optional>
#include <string_view>

namespace convoy {
namespace {

namespace fs = std::filesystem;

// The shape of the only input where a target has it; nothing: there are several, or the target cannot say the model.
std::optional<Shape> shape_in(const Graph& graph, const Target& target) {
  Graph form = graph;
  name_origins(form);
  if (!run_passes(form, target) || form.inputs.size() != 1) return std::nullopt;
  return form[form.inputs[0]].type.shape;
}

// Whatever a program fails with may be for want of a shape, or because it was given one in the other's order of axes.
bool may_want_a_shape(const fs::path& file, const Error& error) {
  return is_source(file) && error.fault != Fault::Io && !is_too_much(error.fault);
}

std::optional<Graph> tried(const fs::path& file, LoadOptions& options, const std::optional<Shape>& shape,
                           std::string_view framework) {
  if (!shape) return std::nullopt;
  LoadOptions with = options;
  with.shapes = {{"", *shape}};
  with.size.clear();
  auto graph = load(file, with);
  if (!graph || !graph->source_format.starts_with(framework)) return std::nullopt;
  options = std::move(with);
  return *std::move(graph);
}

}  // namespace

Result<Graph> load_beside(const Graph& other, const fs::path& file, LoadOptions& options) {
  auto graph = load(file, options);
  if (graph || !may_want_a_shape(file, graph.error()) || other.inputs.size() != 1) return graph;
  if (auto made = tried(file, options, shape_in(other, torch_target()), "PyTorch")) return *std::move(made);
  if (auto made = tried(file, options, shape_in(other, keras_target()), "Keras")) return *std::move(made);
  if (auto made = tried(file, options, other[other.inputs[0]].type.shape, "")) return *std::move(made);
  return graph;
}

Result<Pair> load_pair(const fs::path& a, LoadOptions& options_a, const fs::path& b, LoadOptions& options_b) {
  auto first = load(a, options_a);
  if (!first && !may_want_a_shape(a, first.error())) return pass(first);
  if (first) {
    auto second = load_beside(*first, b, options_b);
    if (!second) return pass(second);
    return Pair{*std::move(first), *std::move(second)};
  }
  auto second = load(b, options_b);
  if (!second) return pass(first);
  first = load_beside(*second, a, options_a);
  if (!first) return pass(first);
  return Pair{*std::move(first), *std::move(second)};
}

}  // namespace convoy
