// Source: torch/csrc/jit/docs/serialization.md.
#include "formats/torch/script/reader.h"

#include "formats/torch/script/objects.h"
#include "formats/torch/script/operators.h"
#include "ops/expect.h"

#include <algorithm>

namespace convoy::torch {
namespace {

struct Archive {
  const ZipArchive& zip;
  std::string root;  // "net/"
  Pickle data, constants;
  std::vector<std::optional<TensorType>> traced;  // of forward's inputs, in order; empty: not traced
};

Result<Pickle> pickle_in(const ZipArchive& zip, const std::string& root, const std::string& name) {
  auto bytes = zip.read(root + name);
  if (!bytes) return pass(bytes);
  return within(name, Pickle::parse(bytes->bytes));
}

std::string root_of(const ZipArchive& zip) {
  for (const ZipEntry& entry : zip.entries())
    if (entry.name.ends_with("/constants.pkl")) return entry.name.substr(0, entry.name.size() - 13);
  return {};
}

// [tensor, ...] of {"forward": restore_type_tag([tensor, ...], "List[Any]")}
std::vector<std::optional<TensorType>> traced_in(const ZipArchive& zip, const std::string& root) {
  if (!zip.find(root + "traced_inputs.pkl")) return {};
  const auto pickle = pickle_in(zip, root, "traced_inputs.pkl");
  if (!pickle) return {};
  const auto untagged = [&](PickleId id) {
    while (pickle->is(id, PickleKind::Call) &&
           pickle->global((*pickle)[id].callee) == "torch.jit._pickle restore_type_tag" &&
           pickle->is((*pickle)[id].arguments, PickleKind::Tuple) && !(*pickle)[(*pickle)[id].arguments].items.empty())
      id = (*pickle)[(*pickle)[id].arguments].items[0];
    return id;
  };
  const PickleId list = untagged(pickle->at(untagged(pickle->root()), "forward"));
  if (!pickle->is(list, PickleKind::List)) return {};
  std::vector<std::optional<TensorType>> all;
  for (const PickleId id : (*pickle)[list].items)
    all.push_back(pickle->is(id, PickleKind::Call) ? declared_type(*pickle, (*pickle)[id]) : std::nullopt);
  return all;
}

Result<Archive> open_archive(const ZipArchive& zip) {
  const std::string root = root_of(zip);
  if (auto ordered = check_byte_order(zip, root); !ordered) return pass(ordered);
  if (!zip.find(root + "data.pkl"))
    return fail(Fault::Unsupported, "is a TorchScript archive of torch before 1.4; load and save it with a newer one");
  auto data = pickle_in(zip, root, "data.pkl");
  if (!data) return pass(data);
  auto constants = pickle_in(zip, root, "constants.pkl");
  if (!constants) return pass(constants);
  return Archive{zip, root, std::move(*data), std::move(*constants), traced_in(zip, root)};
}

// How the sizes of a trace are taken where nobody says any.
enum class Batch : std::uint8_t { Free, AsTraced };

class ScriptReader {
 public:
  ScriptReader(const Archive& archive, const LoadOptions& options)
      : archive_(archive),
        options_(options),
        tracer_(options),
        code_(archive.zip, archive.root),
        library_(tracer_, code_),
        in_({&library_}, [this](const std::string& module, Size, const std::string&) { return code_.find(module); },
            {.steps = 3'000'000, .memory = Size{192} << 20}) {}

  Result<Graph> run(Batch batch) {
    replace_numbers(tracer_, in_);
    tracer_.bound = true;
    Graph& graph = tracer_.graph;
    graph.rules = torch_rules;
    graph.source_format = "TorchScript";
    PickledTensors stored(archive_.constants, storages_in(archive_.zip, archive_.root + "constants/"),
                          ViewRoom(archive_.zip));
    ScriptObjects constants(tracer_, in_, archive_.constants, std::move(stored));
    auto listed = within("constants.pkl", constants.value(archive_.constants.root(), "CONSTANTS"));
    if (!listed) return pass(listed);
    if (const auto* all = listed->as<python::Sequence>()) library_.constants = all->items;
    unwrap_numbers();
    mark_weights();
    PickledTensors tensors(archive_.data, storages_in(archive_.zip, archive_.root + "data/"), ViewRoom(archive_.zip));
    ScriptObjects objects(tracer_, in_, archive_.data, std::move(tensors));
    const auto root = within("data.pkl", objects.value(archive_.data.root(), ""));
    if (!root) return std::unexpected(root.error());
    auto* module = root->as<ScriptModule>();
    if (!module) return fail(Fault::Format, "data.pkl holds no module");
    graph.name = module->type->name;
    auto inputs = inputs_of(*module, batch);
    if (!inputs) return pass(inputs);
    const auto outputs = in_.call(*in_.attribute(*root, "forward"), python::Arguments{std::move(*inputs), {}});
    if (!outputs) return std::unexpected(outputs.error());
    if (auto done = take_outputs(tracer_, in_, *outputs, ""); !done) return pass(done);
    if (graph.outputs.empty()) return fail(Fault::Unsupported, "the model gives no tensor");
    order_inputs();
    train_reordered(graph, tracer_.reordered);
    tracer_.tell_literals();
    prune(graph);
    return std::move(graph);
  }

 private:
  // Python's numbers are stored as tensors without axes of Python's types, and count as numbers still where types are
  // chosen: a tensor that the program made itself goes through `to`.
  void unwrap_numbers() {
    for (Value& value : library_.constants) {
      const auto* tensor = value.as<SourceTensor>();
      if (!tensor) continue;
      const DType dtype = tracer_.graph[tensor->value].constant->dtype();
      if (dtype != DType::F64 && dtype != DType::I64) continue;
      if (const auto number = scalar_of(tracer_, value)) value = *number;
    }
  }

  // The weights of frozen code are constants; single numbers and whole ones say sizes.
  void mark_weights() {
    for (const Value& value : library_.constants)
      if (const auto* tensor = value.as<SourceTensor>()) {
        const Tensor& numbers = *tracer_.graph[tensor->value].constant;
        if (numbers.rank() > 0 && is_floating(numbers.dtype())) tracer_.weights.insert(tensor->value.index);
      }
  }

  // Inputs in the order of forward, not of their first use.
  void order_inputs() {
    Graph& graph = tracer_.graph;
    std::vector<ValueId> ordered;
    for (const std::string& name : names_)
      for (const ValueId value : graph.inputs)
        if (graph[value].name == name) ordered.push_back(value);
    if (ordered.size() == graph.inputs.size()) graph.inputs = std::move(ordered);
  }

  Result<ValueList> inputs_of(const ScriptModule& module, Batch batch) {
    const Value* forward = module.type->find("forward");
    const auto* function = forward ? forward->as<python::Function>() : nullptr;
    if (!function) return fail(Fault::Unsupported, "class " + module.type->name + " has no forward()");
    const auto& parameters = function->parameters->parts;
    ValueList given;
    for (std::size_t i = 1; i < parameters.size(); ++i) {
      const std::string& name = parameters[i].text;
      const bool wanted = options_.shapes.contains(name) || i <= archive_.traced.size();
      if (!wanted && parameters[i].parts[0].kind != python::SyntaxKind::Absent) break;
      const Value made = tracer_.tensor(in_, ValueId{});
      auto* tensor = made.as<SourceTensor>();
      tensor->input_name = name;
      names_.push_back(name);
      if (const auto type = type_of_input(i - 1, name, batch)) {
        tensor->said = type->shape;
        tensor->value = tracer_.graph.input(tracer_.graph.unique_name(name), *type);
      } else if (const auto shape = said_shape(i - 1, name)) {
        tensor->said = *shape;
      }
      given.push_back(made);
    }
    for (const auto& [name, shape] : options_.shapes)
      if (!name.empty() && std::ranges::find(names_, name) == names_.end())
        return fail(Fault::Usage, "--shape names '" + name + "', which is no input of the model");
    return given;
  }

  const Shape* said_shape(std::size_t place, const std::string& name) const {
    auto found = options_.shapes.find(name);
    if (found == options_.shapes.end() && place == 0) found = options_.shapes.find("");
    return found == options_.shapes.end() ? nullptr : &found->second;
  }

  std::optional<TensorType> type_of_input(std::size_t place, const std::string& name, Batch batch) const {
    if (place >= archive_.traced.size() || !archive_.traced[place]) return std::nullopt;
    TensorType type = *archive_.traced[place];
    if (const Shape* said = said_shape(place, name)) {
      type.shape = *said;
      return type;
    }
    if (batch == Batch::Free && type.rank() > 1) type.shape[0] = Dim::unknown();
    if (!options_.size.empty() && type.rank() == static_cast<Size>(options_.size.size()) + 2)
      for (std::size_t i = 0; i < options_.size.size(); ++i)
        type.shape[i + 2] = options_.size[i] ? Dim(*options_.size[i]) : Dim::unknown();
    return type;
  }

  const Archive& archive_;
  const LoadOptions& options_;
  Tracer tracer_;
  ScriptCode code_;
  ScriptLibrary library_;
  Interpreter in_;
  std::vector<std::string> names_;
};

bool has_free_batch(const Graph& graph) {
  return std::ranges::all_of(graph.outputs, [&](ValueId v) {
    const Shape& shape = graph[v].type.shape;
    return !shape.empty() && !shape.front().known();
  });
}

// The tensors of a tree of modules, by the names that lead to them.
Status collect(const Pickle& pickle, PickledTensors& tensors, PickleId id, const std::string& name,
               std::vector<LoadedTensor>& into, int depth) {
  if (depth > 100 || into.size() > 1'000'000) return fail(Fault::Limit, "'" + name + "' lies deeper than 100 levels");
  if (!id) return {};
  const PickleValue& value = pickle[id];
  const auto inner = [&](PickleId one, const std::string& word) {
    return collect(pickle, tensors, one, name.empty() ? word : name + "." + word, into, depth + 1);
  };
  if (value.kind == PickleKind::Call && PickledTensors::makes_tensor(pickle.global(value.callee))) {
    auto tensor = within("tensor '" + name + "'", tensors.tensor_of(value));
    if (!tensor) return pass(tensor);
    if (*tensor) into.push_back({name, std::move(**tensor)});
    return {};
  }
  if (value.kind == PickleKind::Call && pickle.is(value.state, PickleKind::Dict)) {
    const auto& entries = pickle[value.state].items;
    for (std::size_t i = 0; i + 1 < entries.size(); i += 2)
      if (pickle.is(entries[i], PickleKind::Text))
        if (auto s = inner(entries[i + 1], pickle[entries[i]].text); !s) return s;
  }
  if (value.kind == PickleKind::Tuple || value.kind == PickleKind::List)
    for (std::size_t i = 0; i < value.items.size(); ++i)
      if (auto s = inner(value.items[i], (depth == 0 ? "c" : "") + std::to_string(i)); !s) return s;
  return {};
}

}  // namespace

bool is_script(const ZipArchive& zip) { return !root_of(zip).empty(); }

Result<Graph> read_script(const ZipArchive& zip, const LoadOptions& options) {
  const auto archive = open_archive(zip);
  if (!archive) return std::unexpected(archive.error());
  if (archive->traced.empty()) return ScriptReader(*archive, options).run(Batch::AsTraced);
  auto free = ScriptReader(*archive, options).run(Batch::Free);
  if (free && has_free_batch(*free)) return free;
  auto fixed = ScriptReader(*archive, options).run(Batch::AsTraced);
  return fixed || !free ? std::move(fixed) : std::move(free);
}

Result<std::vector<LoadedTensor>> weights_of_script(const ZipArchive& zip) {
  const auto archive = open_archive(zip);
  if (!archive) return std::unexpected(archive.error());
  std::vector<LoadedTensor> all;
  PickledTensors data(archive->data, storages_in(zip, archive->root + "data/"), ViewRoom(zip));
  if (auto s = collect(archive->data, data, archive->data.root(), "", all, 0); !s) return pass(s);
  PickledTensors constants(archive->constants, storages_in(zip, archive->root + "constants/"), ViewRoom(zip));
  std::vector<LoadedTensor> fixed;
  if (auto s = collect(archive->constants, constants, archive->constants.root(), "", fixed, 0); !s) return pass(s);
  for (LoadedTensor& one : fixed) all.push_back({"CONSTANTS." + one.name, std::move(one.tensor)});
  return all;
}

}  // namespace convoy::torch
