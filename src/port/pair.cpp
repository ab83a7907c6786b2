#include "port/pair.h"

#include "formats/source.h"
#include "ops/axes.h"
#include "passes/interface.h"
#include "passes/passes.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace convoy {
namespace {

namespace fs = std::filesystem;

// The inputs as a target has them, by name where there are several; nothing: the target cannot say the model.
using Inputs = std::map<std::string, TensorType>;
Inputs inputs_of(const Graph& graph) {
  Inputs inputs;
  for (const ValueId input : graph.inputs)
    inputs[graph.inputs.size() == 1 ? "" : graph[input].name] = graph[input].type;
  return inputs;
}
std::optional<Inputs> inputs_in(const Graph& graph, const Target& target) {
  Graph form = graph;
  name_origins(form);
  if (!run_passes(form, target)) return std::nullopt;
  return inputs_of(form);
}

// Whatever a program fails with may be for want of a shape, or because it was given one in the other's order of axes.
bool may_want_a_shape(const fs::path& file, const Error& error) {
  return is_source(file) && error.fault != Fault::Io && !is_too_much(error.fault);
}

std::optional<Graph> tried(const fs::path& file, LoadOptions& options, const std::optional<Inputs>& inputs,
                           std::string_view framework) {
  if (!inputs) return std::nullopt;
  LoadOptions with = options;
  with.shapes.clear();
  with.size.clear();
  for (const auto& [name, type] : *inputs) with.shapes[name] = type.shape;
  LoadOptions untyped = with;
  for (const auto& [name, type] : *inputs)
    if (type.dtype != DType::F32) with.types.try_emplace(name, type.dtype);
  auto graph = load(file, with);
  if (!graph && with.types.size() != untyped.types.size()) {  // it tells another type itself
    with = std::move(untyped);
    graph = load(file, with);
  }
  if (!graph || !graph->source_format.starts_with(framework)) return std::nullopt;
  options = std::move(with);
  return *std::move(graph);
}

// Whether a program of a framework with channels in the order `own` brings them there itself: it does nothing with its input but
// transpose it, and its layers name the axis of channels of what that makes.
bool turns_its_input(const Graph& graph, Order own) {
  const ValueId input = graph.inputs[0];
  const Size rank = graph[input].type.rank();
  if (rank < 3) return false;
  const Order other = own == Order::ChannelsFirst ? Order::ChannelsLast : Order::ChannelsFirst;
  const Size from = Axes{other, rank - 2}.channel(), to = Axes{own, rank - 2}.channel();
  bool turns = false;
  for (const Node& node : graph.nodes) {
    if (std::ranges::find(node.inputs, input) == node.inputs.end()) continue;
    const auto* transpose = get_if<Transpose>(&node.op);
    if (!transpose || transpose->permutation[static_cast<std::size_t>(to)] != from) return false;
    Graph behind = graph;
    behind.inputs = {node.outputs[0]};
    if (interface_of(behind, other).inputs[0].channels_of.empty()) return false;
    turns = true;
  }
  return turns;
}

// With the shape as the framework has its axes, unless the program takes it as it stands and turns it.
std::optional<Graph> tried_in_order(const Graph& beside, const fs::path& file, LoadOptions& options,
                                    const Target& target, Order own, std::string_view framework) {
  LoadOptions in_own = options;
  auto made = tried(file, in_own, inputs_in(beside, target), framework);
  if (!made) return std::nullopt;
  if (made->inputs.size() == 1 && turns_its_input(*made, own))
    if (auto as_it_stands = tried(file, options, inputs_of(beside), framework)) return as_it_stands;
  options = std::move(in_own);
  return made;
}

// Whether some input has another rank or another fixed size in the file itself than the options give it.
bool declares_otherwise(const Graph& declared, const LoadOptions& options) {
  return std::ranges::any_of(declared.inputs, [&](ValueId input) {
    const Shape& own = declared[input].type.shape;
    const Shape* given = options.shape_of(declared[input].name, declared.inputs.size());
    return given && !std::ranges::equal(own, *given, [](const Dim& size, const Dim& wanted) {
             return !size.known() || !wanted.known() || size == wanted;
           });
  });
}

// A file with shapes of its own beside a model that was given one, which was not meant for it: as its framework has the axes.
// Nothing: the shape is meant for both, or is another size.
std::optional<Graph> in_declared_order(const Graph& other, const fs::path& file, LoadOptions& options) {
  if (options.shapes.empty() || is_source(file)) return std::nullopt;
  LoadOptions own = options;
  own.shapes.clear();
  own.structure_only = true;
  const auto declared = load(file, own);
  if (!declared || !declares_otherwise(*declared, options)) return std::nullopt;
  for (const auto& [framework, order] : {std::pair{"PyTorch", Order::ChannelsFirst},
                                         {"TorchScript", Order::ChannelsFirst},
                                         {"ONNX", Order::ChannelsFirst},
                                         {"Keras", Order::ChannelsLast},
                                         {"TFLite", Order::ChannelsLast},
                                         {"TensorFlow", Order::ChannelsLast}}) {
    if (!declared->source_format.starts_with(framework)) continue;
    LoadOptions turned = options;
    const Target target = order == Order::ChannelsFirst ? torch_target() : keras_target();
    auto made = tried(file, turned, inputs_in(other, target), framework);
    if (!made || declares_otherwise(*declared, turned)) return std::nullopt;
    options = std::move(turned);
    return made;
  }
  return std::nullopt;
}

// Of names that were set for two models, each has to be one that either asks for.
template <class T>
Result<T> with_names_taken(std::initializer_list<LoadOptions*> models, const std::function<Result<T>()>& load) {
  std::set<std::string> taken;
  for (LoadOptions* model : models) model->names_taken = &taken;
  auto loaded = load();
  for (LoadOptions* model : models) model->names_taken = nullptr;
  for (const LoadOptions* model : models)
    for (const std::string& said : model->names)
      if (const std::string name = said.substr(0, said.find('=')); loaded && !taken.contains(name))
        return fail(Fault::Usage, "--set " + name + ": no model asks for such a name, or the program itself says it");
  return loaded;
}

Result<Graph> read_beside(const Graph& other, const fs::path& file, LoadOptions& options) {
  if (auto made = in_declared_order(other, file, options)) return *std::move(made);
  auto graph = load(file, options);
  if (graph || !may_want_a_shape(file, graph.error())) return graph;
  if (auto made = tried_in_order(other, file, options, torch_target(), Order::ChannelsFirst, "PyTorch"))
    return *std::move(made);
  if (auto made = tried_in_order(other, file, options, keras_target(), Order::ChannelsLast, "Keras"))
    return *std::move(made);
  if (auto made = tried(file, options, inputs_of(other), "")) return *std::move(made);
  return graph;
}

Result<Pair> read_both(const fs::path& a, LoadOptions& options_a, const fs::path& b, LoadOptions& options_b) {
  auto first = load(a, options_a);
  if (!first && !may_want_a_shape(a, first.error())) {
    if (options_a.shapes.empty() || is_too_much(first.error().fault)) return pass(first);
    auto second = load(b, options_b);
    auto turned = second ? in_declared_order(*second, a, options_a) : std::nullopt;
    if (!turned) return pass(first);
    return Pair{*std::move(turned), *std::move(second)};
  }
  if (first) {
    auto second = read_beside(*first, b, options_b);
    if (!second) return pass(second);
    auto turned = in_declared_order(*second, a, options_a);
    return Pair{turned ? *std::move(turned) : *std::move(first), *std::move(second)};
  }
  auto second = load(b, options_b);
  if (!second) return pass(first);
  first = read_beside(*second, a, options_a);
  if (!first) return pass(first);
  return Pair{*std::move(first), *std::move(second)};
}

}  // namespace

Result<Graph> load_beside(const Graph& other, const fs::path& file, LoadOptions& options) {
  return with_names_taken<Graph>({&options}, [&] { return read_beside(other, file, options); });
}

Result<Pair> load_pair(const fs::path& a, LoadOptions& options_a, const fs::path& b, LoadOptions& options_b) {
  return with_names_taken<Pair>({&options_a, &options_b}, [&] { return read_both(a, options_a, b, options_b); });
}

}  // namespace convoy
