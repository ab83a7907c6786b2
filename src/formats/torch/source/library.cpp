// What a program has of PyTorch, and a module's way to a graph.
#include "formats/torch/source/library.h"

#include "containers/python/modules.h"
#include "formats/torch/kept_state.h"
#include "formats/torch/reordered_weights.h"
#include "formats/torch/source/loading.h"
#include "formats/torch/source/parameters.h"
#include "formats/torch/source/torch_module.h"

#include <algorithm>
#include <array>
#include <set>

namespace convoy::torch {

// Everything that one program has of PyTorch.
class Libraries {
 public:
  explicit Libraries(const LoadOptions& options) : tracer(options), classes(tracer) {}
  Tracer tracer;
  ModuleClasses classes;
  std::vector<LoadedTensor> state;
  std::vector<std::string> computed;  // names in it of weights that the module computes of others
};

SourceLibrary::SourceLibrary(const LoadOptions& options) : all_(std::make_unique<Libraries>(options)) {}
SourceLibrary::~SourceLibrary() = default;

Result<std::optional<Value>> SourceLibrary::module(Interpreter& in, const std::string& name) {
  return torch_module(all_->tracer, all_->classes, in, name);
}

Result<std::optional<Value>> SourceLibrary::implied(Interpreter& in, const std::string& name) {
  const char* full = name == "torch" ? "torch"
                     : name == "nn"  ? "torch.nn"
                     : name == "F"   ? "torch.nn.functional"
                                     : nullptr;
  if (full) {
    auto found = in.import(full);
    if (!found) return pass(found);
    return *found;
  }
  // Words that Keras does not have.
  const bool own = name.ends_with("1d") || name.ends_with("2d") || name.ends_with("3d") || name == "Linear" ||
                   name == "Module" || name == "ModuleList";
  if (own) return all_->classes.named(in, name);
  return std::nullopt;
}

Tracer& SourceLibrary::tracer() { return all_->tracer; }

Value SourceLibrary::input(Interpreter& in, const std::string& name, const Shape& shape, bool as_array) {
  Tracer& tracer = all_->tracer;
  const Value made = as_array ? tracer.array(in, ValueId{}, tracer.fresh_storage()) : tracer.tensor(in, ValueId{});
  made.as<SourceTensor>()->input_name = name;
  made.as<SourceTensor>()->said = shape;
  return made;
}

bool SourceLibrary::is_model(Value value) const { return is_module(value); }
bool SourceLibrary::is_tensor(Value value) const { return value.as<SourceTensor>() != nullptr; }
bool SourceLibrary::is_literal(Value value) const {
  const auto* tensor = value.as<SourceTensor>();
  return tensor && tensor->value && tensor->tracer.graph[tensor->value].literal;
}
bool SourceLibrary::is_model_class(Value value) const {
  const auto* type = value.as<python::Class>();
  return type && type->native.empty() &&
         std::ranges::any_of(type->order, [](const python::Class* c) { return c->native == "Module"; });
}

namespace {

// Modules by the first way to them; they are not nested too deep, as their weights are named already.
void name_modules(Tracer& tracer, const Instance& module, const std::string& path) {
  tracer.paths.try_emplace(&module, path);
  for (const auto& [name, child] : children_of(module))
    name_modules(tracer, *child, path.empty() ? name : path + "." + name);
}

// How a function reads a parameter: whole, or as a dictionary of tensors, under these keys in the order met.
struct Reads {
  bool whole = false;
  std::vector<std::string> keys;
};
void find_reads(const python::Syntax& syntax, const std::string& name, Reads& reads) {
  if (syntax.kind == python::SyntaxKind::Name && syntax.text == name) reads.whole = true;
  const bool by_key = syntax.kind == python::SyntaxKind::Subscript && syntax.parts.size() == 2 &&
                      syntax.parts[0].kind == python::SyntaxKind::Name && syntax.parts[0].text == name &&
                      syntax.parts[1].kind == python::SyntaxKind::String;
  if (by_key) {
    if (std::ranges::find(reads.keys, syntax.parts[1].text) == reads.keys.end())
      reads.keys.push_back(syntax.parts[1].text);
    return;
  }
  for (const python::Syntax& part : syntax.parts) find_reads(part, name, reads);
}

// The one parameter of forward that is a dictionary of the inputs, and its keys; none: tensors are handed over.
struct InputDictionary {
  std::string parameter;
  std::vector<std::string> keys;
};
// The function that says what forward() takes: behind functools.wraps the one that is wrapped. Null: none of the program.
const python::Function* told_forward(const Instance& module) {
  const Value* forward = module.type->find("forward");
  const auto* function = forward ? forward->as<python::Function>() : nullptr;
  return function ? &function->told() : nullptr;
}

InputDictionary input_dictionary(const Instance& module) {
  const auto* function = told_forward(module);
  if (!function || !function->body || function->parameters->parts.size() != 2) return {};
  const std::string& name = function->parameters->parts[1].text;
  Reads reads;
  find_reads(*function->body, name, reads);
  if (reads.whole || reads.keys.empty()) return {};
  return {name, std::move(reads.keys)};
}

// By place, whatever it is: def forward(*args), or (self, *args).
bool takes_anything(const python::Function& forward) {
  const auto& parameters = forward.parameters->parts;
  const auto is_rest = [](const python::Syntax& one) {
    return static_cast<python::ParameterKind>(one.integer) == python::ParameterKind::Rest;
  };
  return std::ranges::any_of(parameters.begin(),
                             parameters.begin() + std::min<std::ptrdiff_t>(2, std::ssize(parameters)), is_rest);
}

// The names of forward's inputs: those without a default, and those that --shape names.
Result<std::vector<std::string>> input_names(const Tracer& tracer, const Instance& module) {
  const auto& shapes = tracer.options().shapes;
  if (!module.type->find("forward"))
    return fail(Fault::Unsupported, "class " + module.type->name + " has no forward()");
  const auto* function = told_forward(module);
  std::vector<std::string> names = input_dictionary(module).keys;
  if (!names.empty()) {
    // The keys of a dictionary.
  } else if (!function || takes_anything(*function)) {
    names = {shapes.size() == 1 && !shapes.begin()->first.empty() ? shapes.begin()->first : "x"};
  } else {
    const auto& parameters = function->parameters->parts;
    for (std::size_t i = 1; i < parameters.size(); ++i) {
      const auto kind = static_cast<python::ParameterKind>(parameters[i].integer);
      if (kind == python::ParameterKind::Rest || kind == python::ParameterKind::RestNamed) continue;
      const bool wanted =
          parameters[i].parts[0].kind == python::SyntaxKind::Absent || shapes.contains(parameters[i].text);
      if (wanted) names.push_back(parameters[i].text);
    }
    if (names.empty() && parameters.size() > 1) names = {parameters[1].text};
  }
  for (const auto& [name, shape] : shapes)
    if (!name.empty() && std::ranges::find(names, name) == names.end()) {
      std::string known;
      for (const std::string& one : names) known += (known.empty() ? "" : ", ") + one;
      return fail(Fault::Usage, "--shape names '" + name + "', and the model's inputs are " + known);
    }
  return names;
}

}  // namespace

Status take_outputs(Tracer& tracer, Interpreter& in, const Value& value, const std::string& name, int depth) {
  if (auto* tensor = value.as<SourceTensor>()) {
    const auto own = tracer.value_of(*tensor);
    if (!own) return std::unexpected(own.error());
    const auto id = tracer.recorded(*own);
    if (!id) return std::unexpected(id.error());
    tracer.graph.outputs.push_back(*id);
    tracer.graph.output_names.push_back(name.empty() ? "output" : name);
    return {};
  }
  if (depth > 8) return fail(Fault::Limit, "outputs are nested over 8 deep");
  if (const auto* map = value.as<python::Mapping>()) {
    tracer.graph.outputs_by_name =
        depth == 0 && name.empty() &&
        std::ranges::all_of(map->entries, [](const auto& entry) { return entry.second.template as<SourceTensor>(); });
    for (const auto& [key, one] : map->entries) {
      const auto word = in.string_of(key);
      if (!word) return std::unexpected(word.error());
      if (auto done = take_outputs(tracer, in, one, name.empty() ? *word : name + "." + *word, depth + 1); !done)
        return done;
    }
    return {};
  }
  if (value.is_none()) return {};
  if (!value.as<python::Sequence>() && !value.as<Instance>())
    return fail(Fault::Unsupported, "the model gives a " + python::type_name(value));
  const auto all = in.elements(value);
  if (!all) return std::unexpected(all.error());
  for (std::size_t i = 0; i < all->size(); ++i)
    if (auto done =
            take_outputs(tracer, in, (*all)[i],
                         name.empty() ? "output_" + std::to_string(i) : name + "_" + std::to_string(i), depth + 1);
        !done)
      return done;
  if (depth == 0) tracer.graph.one_output_in_tuple = tracer.graph.outputs.size() == 1;
  return {};
}

namespace {

// A line of a script: what its tensors were made of are its inputs.
Status take_line(Tracer& tracer, Interpreter& in, const Value& tensor) {
  Graph& graph = tracer.graph;
  tracer.follows_script = true;
  if (auto done = tracer.bind({}); !done) return done;
  if (auto done = take_outputs(tracer, in, tensor, "output"); !done) return done;
  // Where random numbers are among them, or inputs with shapes of their own, the others are known.
  const auto is_read = [&](std::int32_t index) {
    return std::ranges::any_of(graph.nodes, [&](const Node& node) {
      return std::ranges::find(node.inputs, ValueId{index}) != node.inputs.end();
    });
  };
  const bool draws = !graph.inputs.empty() || std::ranges::any_of(tracer.random_values, is_read);
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const ValueId value{static_cast<std::int32_t>(i)};
    if (draws && !tracer.random_values.contains(value.index)) continue;
    if (!graph[value].constant || tracer.weights.contains(value.index) || !is_read(value.index)) continue;
    graph.rename(value, "x");
    graph[value].constant.reset();
    graph.inputs.push_back(value);
  }
  return {};
}

// What `forward` is called with: a tensor for each name, with the shape that --shape gives it.
Result<Arguments> arguments_of(Tracer& tracer, Interpreter& in, Instance& module,
                               const std::vector<std::string>& names) {
  Arguments given;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Value made = tracer.tensor(in, ValueId{});
    auto* tensor = made.as<SourceTensor>();
    tensor->input_name = names[i];
    const auto& shapes = tracer.options().shapes;
    auto said = shapes.find(names[i]);
    if (said == shapes.end() && i == 0) said = shapes.find("");
    if (said != shapes.end()) tensor->said = said->second;
    given.placed.push_back(made);
  }
  if (const InputDictionary dictionary = input_dictionary(module); !dictionary.keys.empty()) {
    auto* map = in.make<python::Mapping>();
    for (std::size_t i = 0; i < names.size(); ++i)
      if (auto set = map->set_item(in, in.text(names[i]), given.placed[i]); !set) return pass(set);
    tracer.graph.inputs_by_name = true;
    return Arguments{{Value::of(map)}, {}};
  }
  const auto* forward = told_forward(module);
  if (!forward || takes_anything(*forward)) return given;
  // By name from there on where a parameter with a default stands between.
  const auto& parameters = forward->parameters->parts;
  const auto by_place = [&](std::size_t i) {
    return i + 1 < parameters.size() && parameters[i + 1].text == names[i] &&
           static_cast<python::ParameterKind>(parameters[i + 1].integer) == python::ParameterKind::Usual;
  };
  std::size_t placed = 0;
  while (placed < names.size() && by_place(placed)) ++placed;
  for (std::size_t i = placed; i < names.size(); ++i) given.named.emplace_back(names[i], given.placed[i]);
  given.placed.resize(placed);
  return given;
}

}  // namespace

Result<Graph> SourceLibrary::graph_of(Interpreter& in, Value model) {
  Tracer& tracer = all_->tracer;
  Graph& graph = tracer.graph;
  graph.rules = torch_rules;
  graph.source_format = "PyTorch source";
  if (model.as<SourceTensor>()) {
    if (auto done = take_line(tracer, in, model); !done) return pass(done);
    prune(graph);
    return std::move(graph);
  }
  auto* module = model.as<Instance>();
  if (!module) return fail(Fault::Internal, "a value that is no module");
  const Value* qualified = module->type->find("__qualname__");  // what a class says it is called
  const auto* said = qualified ? qualified->as<python::Text>() : nullptr;
  graph.name = said ? said->text : module->type->name;
  const auto named = named_state(*module);
  if (!named) return std::unexpected(named.error());
  const Tracer::NamedWeights& weights = *named;
  name_modules(tracer, *module, "");
  if (const auto rest = in.attribute(model, "eval"); rest)
    if (const auto told = in.call(*rest, ValueList{}); !told) return std::unexpected(told.error());
  if (auto done = load_as_overridden(tracer, in, *module, weights); !done) return pass(done);
  const auto own = tracer.own_load(*module, weights);
  if (!own) return std::unexpected(own.error());
  if (auto done = tracer.bind(weights, *own); !done) return pass(done);
  for (const auto& [name, tensor] : weights) all_->state.push_back({name, *graph[tensor->value].constant});
  all_->computed = parametrized(tracer, *module, weights);
  for (const std::string& weight : all_->computed)
    graph.left_to_training.push_back("weight_norm or spectral_norm of '" + weight + "'");
  const auto names = input_names(tracer, *module);
  if (!names) return std::unexpected(names.error());
  auto given = arguments_of(tracer, in, *module, *names);
  if (!given) return std::unexpected(given.error());
  std::vector<std::pair<std::string, const Instance*>> modules;
  for (const auto& [object, path] : tracer.paths)
    if (const auto* one = dynamic_cast<const Instance*>(object)) modules.emplace_back(path, one);
  std::ranges::sort(modules);
  const KeptState state(modules);
  const auto outputs = in.call(model, std::move(*given));
  if (!outputs) return std::unexpected(outputs.error());
  if (tracer.options().remarks) state.tell(*tracer.options().remarks);
  if (auto done = take_outputs(tracer, in, *outputs, ""); !done) return pass(done);
  if (graph.outputs.empty()) return fail(Fault::Unsupported, "the model gives no tensor");
  // Inputs in the order of forward, not of their first use; one that is never used is none.
  std::vector<ValueId> ordered;
  for (const std::string& name : *names)
    for (const ValueId value : graph.inputs)
      if (graph[value].name == name) ordered.push_back(value);
  if (ordered.size() == graph.inputs.size()) graph.inputs = std::move(ordered);
  const LiveParameters parameters(tracer, *module, weights);
  train_reordered(graph, tracer.reordered);
  if (tracer.options().remarks) parameters.tell(*tracer.options().remarks);
  tracer.tell_literals();
  prune(graph);
  return std::move(graph);
}

Result<std::vector<LoadedTensor>> SourceLibrary::state() const {
  if (!all_->computed.empty())
    return fail(Fault::Unsupported,
                "weight '" + all_->computed.front() +
                    "' is made of others that the module stores, so that a's numbers have no place there; take the "
                    "parametrization off first (remove_parametrizations, remove_weight_norm or remove_spectral_norm of "
                    "torch.nn.utils)");
  return all_->state;
}

}  // namespace convoy::torch
