// The modules torch, torch.nn and torch.nn.functional, and a module's way to a graph.
#include "formats/torch/source/library.h"

#include "containers/python/modules.h"
#include "formats/torch/source/tracer.h"

#include <algorithm>
#include <array>

namespace convoy::torch {

namespace {

struct Named {
  std::string_view word, value;
};
constexpr std::array dtypes{Named{"float32", "float32"},
                            Named{"float", "float32"},
                            Named{"float16", "float16"},
                            Named{"half", "float16"},
                            Named{"bfloat16", "bfloat16"},
                            Named{"float64", "float64"},
                            Named{"double", "float64"},
                            Named{"int64", "int64"},
                            Named{"long", "int64"},
                            Named{"int32", "int32"},
                            Named{"int", "int32"},
                            Named{"uint8", "uint8"},
                            Named{"bool", "bool"},
                            Named{"channels_last", "channels_last"},
                            Named{"contiguous_format", "contiguous_format"},
                            Named{"preserve_format", "preserve_format"},
                            Named{"channels_last_3d", "channels_last_3d"},
                            Named{"strided", "strided"}};

// torch.no_grad(): a context and a decorator that change nothing here.
class Context : public python::Object {
 public:
  std::string type_name() const override { return "context"; }
  Result<std::optional<Value>> attribute(Interpreter& in, const std::string& name) override {
    if (name == "__enter__") return in.native(name, [](Interpreter&, Arguments&) -> Made { return Value(); });
    return std::nullopt;
  }
  Made call(Interpreter&, Arguments& given) override {
    return given.placed.empty() ? Value::of(this) : given.placed[0];
  }
};

// Left as it is: torch.jit.script, torch.compile.
Made unchanged(Interpreter& in, Arguments& given) {
  if (!given.placed.empty()) return given.placed[0];
  return in.native("decorator", [](Interpreter&, Arguments& a) -> Made {
    return a.placed.empty() ? Made(Value()) : Made(a.placed[0]);
  });
}

}  // namespace

// Everything that one program has of PyTorch.
class Libraries {
 public:
  explicit Libraries(const LoadOptions& options) : tracer(options), classes(tracer) {}
  Tracer tracer;
  ModuleClasses classes;
};

SourceLibrary::SourceLibrary(const LoadOptions& options) : all_(std::make_unique<Libraries>(options)) {}
SourceLibrary::~SourceLibrary() = default;

namespace {

Made parameter_of(Tracer& tracer, Interpreter& in, Arguments& given) {
  auto* tensor = given.placed.empty() ? nullptr : given.placed[0].as<SourceTensor>();
  if (!tensor) return fail(Fault::Unsupported, "a parameter of what is no tensor");
  const auto value = tracer.value_of(*tensor);
  if (!value) return std::unexpected(value.error());
  const bool is_random = tensor->is_random || !tracer.graph[*value].constant;
  const auto known = tracer.numbers_of(*tensor);
  if (!known) return within("a parameter", Made(std::unexpected(known.error())));
  const Tensor& numbers = *known;
  if (numbers.dtype() != DType::F32)
    return fail(Fault::Unsupported, "a parameter of element type " + std::string(name_of(numbers.dtype())));
  auto made = tracer.parameter(in, numbers.shape(), Filling{});
  if (!made) return made;
  const ValueId own = made->as<SourceTensor>()->value;
  tracer.draws.pop_back();  // it has numbers, or will have those of the random tensors that it is made of
  if (is_random) tracer.draws.push_back({Tracer::Draw::What::Compute, own, {}, *value, 0});
  else tracer.graph[own].constant = numbers;
  return made;
}

}  // namespace

namespace {

// What trains a model, feeds it, saves it: read over.
bool is_training(const std::string& name) {
  return std::ranges::any_of(
      std::array<std::string_view, 9>{"torch.optim", "torch.utils.data", "torch.utils.tensorboard", "torch.cuda",
                                      "torch.backends", "torch.distributed", "torch.onnx", "torch.random",
                                      "torch.multiprocessing"},
      [&](std::string_view one) { return name == one || name.starts_with(std::string(one) + "."); });
}

python::Module* training_module(Interpreter& in, const std::string& name) {
  auto* made = in.make<python::Module>(name);
  if (name == "torch.utils.data")
    for (const char* word : {"Dataset", "IterableDataset", "Sampler"})
      made->attributes.set(word, Value::of(in.make_class(word, {})));
  if (name == "torch.cuda")
    for (const char* word : {"is_available", "is_bf16_supported"})
      made->attributes.set(word, in.native(word, [](Interpreter&, Arguments&) -> Made { return Value::of(false); }));
  made->more = [name](Interpreter& with, const std::string& word) -> Result<std::optional<Value>> {
    return Value::of(with.make<python::Outside>(name + "." + word));
  };
  return made;
}

}  // namespace

Result<std::optional<Value>> SourceLibrary::module(Interpreter& in, const std::string& name) {
  if (name != "torch" && !name.starts_with("torch.")) return std::nullopt;
  if (is_training(name)) return Value::of(training_module(in, name));
  auto* made = in.make<python::Module>(name);
  Tracer& tracer = all_->tracer;
  ModuleClasses& classes = all_->classes;
  made->attributes.set("__version__", in.text("2.13.0"));
  const bool nn = name == "torch.nn" || name.starts_with("torch.nn.modules") || name.starts_with("torch.nn.parameter");
  const bool functions = name == "torch" || name == "torch.nn.functional";
  made->more = [&tracer, &classes, name, nn, functions](Interpreter& with,
                                                        const std::string& word) -> Result<std::optional<Value>> {
    const auto inner = [&](const std::string& full) -> Result<std::optional<Value>> {
      auto found = with.import(full);
      if (!found) return pass(found);
      return *found;
    };
    if (name == "torch.nn.init") return initialiser(tracer, with, word);
    if (nn) {
      if (word == "Parameter" || word == "Buffer")
        return with.native("Parameter", [&tracer](Interpreter& in_it, Arguments& given) {
          return parameter_of(tracer, in_it, given);
        });
      if (auto found = classes.named(with, word)) return found;
      if (word.ends_with("Loss")) return Value::of(with.make<python::Outside>("torch.nn." + word));
      for (const std::string_view part : {"functional", "init", "modules", "parameter", "utils"})
        if (word == part) return inner("torch.nn." + word);
      return std::nullopt;
    }
    if (functions)
      if (auto found = function_named(tracer, with, word)) return found;
    if (name == "torch") {
      for (const Named& one : dtypes)
        if (word == one.word) return with.text(std::string(one.value));
      for (const std::string_view part : {"nn", "jit", "utils", "autograd", "hub", "fx", "backends", "optim", "cuda",
                                          "distributed", "onnx", "random", "multiprocessing", "_C"})
        if (word == part) return inner("torch." + word);
      if (word == "pi") return Value::of(3.141592653589793);
      if (word == "inf") return Value::of(std::numeric_limits<double>::infinity());
      if (word == "Tensor" || word == "FloatTensor")
        return with.native("Tensor", [&tracer](Interpreter& in_it, Arguments& given) -> Made {
          // A list is its numbers; whole numbers are sizes of what nothing is known of.
          const bool listed = given.placed.size() == 1 && given.placed[0].as<python::Sequence>();
          if (listed) given.named.emplace_back("dtype", in_it.text("float32"));
          if (given.placed.empty()) return fail(Fault::Unsupported, "torch.Tensor() without numbers or sizes");
          return call_function_named(tracer, in_it, listed ? "tensor" : "empty", std::move(given));
        });
      if (word == "Size") return with.builtins["tuple"];
      if (word == "no_grad" || word == "inference_mode" || word == "enable_grad" || word == "autocast")
        return with.native(word, [](Interpreter& in_it, Arguments& given) -> Made {
          auto* context = in_it.make<Context>();
          return context->call(in_it, given);
        });
      if (word == "compile") return with.native(word, unchanged);
      if (word == "save" || word == "load")
        return with.native(word, [word](Interpreter& in_it, Arguments&) -> Made {
          return Value::of(in_it.make<python::Outside>("torch." + word + "()"));
        });
      if (word == "manual_seed")
        return with.native(word, [&tracer](Interpreter& in_it, Arguments& given) -> Made {
          if (!given.placed.empty() && given.placed[0].is_whole())
            tracer.draws.push_back(
                {Tracer::Draw::What::Restart, {}, {}, {}, static_cast<std::uint64_t>(given.placed[0].whole())});
          return Value::of(in_it.make<Context>());
        });
      if (word == "set_grad_enabled" || word == "set_num_threads")
        return with.native(word,
                           [](Interpreter& in_it, Arguments&) -> Made { return Value::of(in_it.make<Context>()); });
      if (word == "device")
        return with.native(word, [](Interpreter& in_it, Arguments&) -> Made { return in_it.text("cpu"); });
      return std::nullopt;
    }
    if (name.starts_with("torch.nn.utils")) {
      // Norms and directions become plain weights when a file is bound; at the start they are the plain weights.
      if (word == "weight_norm" || word == "remove_weight_norm" || word == "remove_parametrizations")
        return with.native(word, unchanged);
      if (word == "parametrizations" || word == "parametrize") return inner("torch.nn.utils." + word);
      return std::nullopt;
    }
    if (name == "torch._C" && word == "_log_api_usage_once")
      return with.native(word, [](Interpreter&, Arguments&) -> Made { return Value(); });
    if (name == "torch.utils") {
      if (word == "data" || word == "tensorboard") return inner("torch.utils." + word);
      return std::nullopt;
    }
    if (name == "torch.autograd" && word == "Variable") return with.native(word, unchanged);
    // A function with a gradient of its own may be defined; where it is applied, it is refused.
    if (name == "torch.autograd" && word == "Function") return Value::of(with.make_class("Function", {}));
    if (name == "torch.jit" && word != "load") {
      if (word == "is_scripting" || word == "is_tracing")
        return with.native(word, [](Interpreter&, Arguments&) -> Made { return Value::of(false); });
      return with.native(word, unchanged);
    }
    return std::nullopt;
  };
  return Value::of(made);
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
bool SourceLibrary::is_model_class(Value value) const {
  const auto* type = value.as<python::Class>();
  return type && type->native.empty() &&
         std::ranges::any_of(type->order, [](const python::Class* c) { return c->native == "Module"; });
}

namespace {

// Every weight under every name that the state_dict has for it; modules by the first way to them.
Status name_all(Tracer& tracer, Instance& module, const std::string& path,
                std::vector<std::pair<std::string, SourceTensor*>>& into, int depth) {
  if (depth > 64 || into.size() > 100000) return fail(Fault::Limit, "modules are nested over 64 deep");
  tracer.paths.try_emplace(&module, path);
  const std::string front = path.empty() ? "" : path + ".";
  for (const auto& [name, value] : module.attributes.all()) {
    auto* tensor = value.as<SourceTensor>();
    if (!tensor) continue;
    if (tensor->is_parameter || (tensor->is_buffer && tensor->persistent)) into.emplace_back(front + name, tensor);
  }
  for (const auto& [name, child] : children_of(module))
    if (auto done = name_all(tracer, *child, front + name, into, depth + 1); !done) return done;
  return {};
}

// The names of forward's inputs: those without a default, and those that --shape names.
Result<std::vector<std::string>> input_names(const Tracer& tracer, const Instance& module) {
  const auto& shapes = tracer.options().shapes;
  const Value* forward = module.type->find("forward");
  const auto* function = forward ? forward->as<python::Function>() : nullptr;
  if (!forward) return fail(Fault::Unsupported, "class " + module.type->name + " has no forward()");
  std::vector<std::string> names;
  if (!function) {
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
    const auto id = tracer.value_of(*tensor);
    if (!id) return std::unexpected(id.error());
    tracer.graph.outputs.push_back(*id);
    tracer.graph.output_names.push_back(name.empty() ? "output" : name);
    return {};
  }
  if (depth > 8) return fail(Fault::Limit, "outputs are nested over 8 deep");
  if (const auto* map = value.as<python::Mapping>()) {
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
  return {};
}

Result<Graph> SourceLibrary::graph_of(Interpreter& in, Value model) {
  Tracer& tracer = all_->tracer;
  Graph& graph = tracer.graph;
  graph.source_format = "PyTorch source";
  if (model.as<SourceTensor>()) {
    // A line of a script: what its tensors were made of are its inputs.
    if (auto done = tracer.bind({}); !done) return pass(done);
    if (auto done = take_outputs(tracer, in, model, "output"); !done) return pass(done);
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
      const bool read = std::ranges::any_of(
          graph.nodes, [&](const Node& node) { return std::ranges::find(node.inputs, value) != node.inputs.end(); });
      if (!graph[value].constant || tracer.weights.contains(value.index) || !read) continue;
      graph[value].name = graph.unique_name("x");
      graph[value].constant.reset();
      graph.inputs.push_back(value);
    }
    prune(graph);
    return std::move(graph);
  }
  auto* module = model.as<Instance>();
  if (!module) return fail(Fault::Internal, "a value that is no module");
  graph.name = module->type->name;
  std::vector<std::pair<std::string, SourceTensor*>> weights;
  if (auto done = name_all(tracer, *module, "", weights, 0); !done) return pass(done);
  if (auto done = tracer.bind(weights); !done) return pass(done);
  const auto names = input_names(tracer, *module);
  if (!names) return std::unexpected(names.error());
  Arguments given;
  std::vector<SourceTensor*> inputs;
  for (std::size_t i = 0; i < names->size(); ++i) {
    const Value made = tracer.tensor(in, ValueId{});
    auto* tensor = made.as<SourceTensor>();
    tensor->input_name = (*names)[i];
    const auto& shapes = tracer.options().shapes;
    auto said = shapes.find((*names)[i]);
    if (said == shapes.end() && i == 0) said = shapes.find("");
    if (said != shapes.end()) tensor->said = said->second;
    given.placed.push_back(made);
    inputs.push_back(tensor);
  }
  // By name, where a parameter with a default stands between.
  if (const auto* forward = module->type->find("forward"); forward && forward->as<python::Function>()) {
    for (std::size_t i = 0; i < names->size(); ++i) given.named.emplace_back((*names)[i], given.placed[i]);
    given.placed.clear();
  }
  std::vector<ValueId> made_inputs;
  const auto outputs = in.call(model, std::move(given));
  if (!outputs) return std::unexpected(outputs.error());
  if (auto done = take_outputs(tracer, in, *outputs, ""); !done) return pass(done);
  if (graph.outputs.empty()) return fail(Fault::Unsupported, "the model gives no tensor");
  // Inputs in the order of forward, not of their first use; one that is never used is none.
  std::vector<ValueId> ordered;
  for (const std::string& name : *names)
    for (const ValueId value : graph.inputs)
      if (graph[value].name == name) ordered.push_back(value);
  if (ordered.size() == graph.inputs.size()) graph.inputs = std::move(ordered);
  prune(graph);
  return std::move(graph);
}

}  // namespace convoy::torch
