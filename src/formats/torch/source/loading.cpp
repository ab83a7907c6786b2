#include "formats/torch/source/loading.h"

#include "containers/python/interpreter.h"
#include "containers/python/unread.h"
#include "formats/torch/checkpoint.h"
#include "formats/torch/saved_object.h"
#include "formats/torch/source/hooks.h"
#include "formats/torch/source/load_overrides.h"
#include "formats/torch/source/module_weights.h"
#include "formats/weights.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

namespace convoy::torch {

using python::Arguments;
using python::Instance;
using python::Interpreter;
using python::Mapping;
using python::Outside;
using python::Text;
using python::Value;
using python::ValueList;
using Made = Result<Value>;

namespace {

// A dictionary of a file.
class LoadedDict : public Mapping {
 public:
  // `called`: as the program writes it, "torch.load()['model']".
  explicit LoadedDict(std::string called) : name(std::move(called)) {}
  // The file that is given may be of another shape than the one that the program was written for.
  Made item(Interpreter& in, Value key) override {
    const auto* word = key.as<Text>();
    const auto held = find(key);
    if (!held) return std::unexpected(held.error());
    if (*held || !word) return Mapping::item(in, key);
    return Value::of(in.make<Outside>(named(word->text)));
  }
  std::string named(const std::string& key) const { return name + "['" + key + "']"; }
  void keep() { read_ = entries; }
  // Nothing was put into it, and nothing taken out.
  bool is_as_read() const {
    return std::ranges::equal(entries, read_, [](const auto& a, const auto& b) {
      return a.first.object() == b.first.object() && a.second.object() == b.second.object();
    });
  }
  const std::string name;

 private:
  std::vector<std::pair<Value, Value>> read_;
};

// What load_state_dict() returns: the names that it did not find, and those that it had no use for.
class IncompatibleKeys : public python::Sequence {
 public:
  IncompatibleKeys(Value missing, Value unexpected) : Sequence(true, {missing, unexpected}) {}
  Result<std::optional<Value>> attribute(Interpreter& in, const std::string& name) override {
    if (name == "missing_keys") return items[0];
    if (name == "unexpected_keys") return items[1];
    return Sequence::attribute(in, name);
  }
};

// DataParallel and torch.compile put a word in front of names.
std::string unwrapped(const std::string& name) {
  for (const std::string_view word : {"module.", "_orig_mod."})
    if (name.starts_with(word)) return name.substr(word.size());
  return name;
}

Value incompatible_keys(Interpreter& in, const Tracer::NamedWeights& state, const Mapping* dict, bool is_wrapped) {
  if (!dict) {
    const Value unknown = Value::of(in.make<Outside>("load_state_dict()"));
    return Value::of(in.make<IncompatibleKeys>(unknown, unknown));
  }
  std::set<std::string> given, own;
  for (const auto& [name, tensor] : state) own.insert(name);
  ValueList missing, unexpected;
  for (const auto& [key, value] : dict->entries) {
    const auto* name = key.as<Text>();
    if (!name) continue;
    const std::string within = is_wrapped && !own.contains(name->text) ? unwrapped(name->text) : name->text;
    given.insert(within);
    if (!own.contains(within)) unexpected.push_back(key);
  }
  for (const auto& [name, tensor] : state)
    if (!given.contains(name)) missing.push_back(in.text(name));
  return Value::of(in.make<IncompatibleKeys>(in.list(std::move(missing)), in.list(std::move(unexpected))));
}

// A saved value as the program's own.
class Giver {
 public:
  Giver(Tracer& tracer, Interpreter& in) : tracer_(tracer), in_(in) {}

  Made given(SavedObject& object, const std::string& name) {
    using Kind = SavedObject::Kind;
    switch (object.kind) {
      case Kind::None: return Value();
      case Kind::Bool: return Value::of(object.whole != 0);
      case Kind::Whole: return Value::of(object.whole);
      case Kind::Real: return Value::of(object.real);
      case Kind::Text: return in_.text(object.text);
      case Kind::List:
      case Kind::Tuple: {
        ValueList items;
        for (std::size_t i = 0; i < object.items.size(); ++i) {
          auto item = given(object.items[i], name + "[" + std::to_string(i) + "]");
          if (!item) return item;
          items.push_back(*item);
        }
        return object.kind == Kind::Tuple ? in_.tuple(std::move(items)) : in_.list(std::move(items));
      }
      case Kind::Dict: return dict(object, name);
      case Kind::Tensor: {
        const ValueId value = tracer_.graph.constant(name, *std::move(object.tensor), false);
        tracer_.file_values.insert(value.index);
        return tracer_.tensor(in_, value);
      }
      case Kind::Module:
      case Kind::Other: return Value::of(in_.make<Outside>(name));
    }
    return fail(Fault::Internal, "a saved value of no kind");
  }

 private:
  Made dict(SavedObject& object, const std::string& name) {
    auto* made = in_.make<LoadedDict>(name);
    for (std::size_t i = 0; i < object.items.size(); ++i) {
      const SavedObject& key = object.keys[i];
      const bool is_word = key.kind == SavedObject::Kind::Text;
      auto item = given(object.items[i], is_word ? made->named(key.text) : name + "[]");
      if (!item) return item;
      if (auto put = made->put(in_, is_word ? in_.text(key.text) : Value::of(key.whole), *item); !put) return pass(put);
    }
    made->keep();
    return Value::of(made);
  }

  Tracer& tracer_;
  Interpreter& in_;
};

// The keys behind torch.load(): "torch.load()['model']['net']" -> "model.net".
std::string dict_of(const std::string& loaded) {
  std::string keys;
  for (std::size_t at = loaded.find("['"); at != std::string::npos; at = loaded.find("['", at)) {
    const std::size_t end = loaded.find("']", at);
    if (end == std::string::npos) break;
    keys += (keys.empty() ? "" : ".") + loaded.substr(at + 2, end - at - 2);
    at = end;
  }
  return keys;
}

// Whether the file of this path is the one that --weights gives: of several, the one of the same name, or else the first that
// the program names, which is noted.
bool names_given_file(Tracer& tracer, const std::string& path) {
  const auto& weights = tracer.options().weights;
  if (!weights) return false;
  if (path.empty()) return true;
  const bool is_named = std::filesystem::path(path).filename() == weights->filename();
  if (is_named || !tracer.loaded_path) tracer.loaded_path = path;
  return *tracer.loaded_path == path;
}

// What a dictionary gives a module: numbers, or weights of this program. Nothing: something in it is not known.
struct Giving {
  std::vector<LoadedTensor> numbers;
  std::vector<std::pair<std::string, ValueId>> weights;
};
std::optional<Giving> giving_of(const Tracer& tracer, const Mapping& dict) {
  Giving giving;
  for (const auto& [key, value] : dict.entries) {
    const auto* name = key.as<Text>();
    const auto* tensor = value.as<SourceTensor>();
    if (!name || !tensor) return std::nullopt;
    if (tensor->value && tracer.weights.contains(tensor->value.index))
      giving.weights.emplace_back(name->text, tensor->value);
    else if (auto numbers = known_numbers(tracer, value)) giving.numbers.push_back({name->text, *std::move(numbers)});
    else return std::nullopt;
  }
  return giving;
}

std::unexpected<Error> unfit(const std::string& what) {
  return fail(Fault::Format, "load_state_dict() " + what + "; PyTorch refuses that, too");
}

// Numbers for the weights of the module, where no file gives them.
Status start_with_all(Tracer& tracer, const Tracer::NamedWeights& state, const Giving& giving, bool strict) {
  std::map<std::string, ValueId> own;
  for (const auto& [name, tensor] : state) own.emplace(name, tensor->value);
  std::set<std::string> named;
  const auto place = [&](const std::string& name) {
    named.insert(name);
    const auto found = own.find(name);
    return found == own.end() ? ValueId{} : found->second;
  };
  for (const LoadedTensor& one : giving.numbers) {
    const ValueId weight = place(one.name);
    if (!weight && strict) return unfit("is given '" + one.name + "', which the module has no weight for");
    if (!weight) continue;
    const Tensor& like = *tracer.graph[weight].constant;
    if (like.shape() != one.tensor.shape()) return unfit("is given '" + one.name + "' in another shape");
    tracer.start(weight, one.tensor.converted(like.dtype()));
  }
  for (const auto& [name, from] : giving.weights) {
    const ValueId weight = place(name);
    if (!weight && strict) return unfit("is given '" + name + "', which the module has no weight for");
    if (!weight || weight == from) continue;
    if (tracer.graph[weight].constant->shape() != tracer.graph[from].constant->shape())
      return unfit("is given '" + name + "' in another shape");
    tracer.draws.push_back({Tracer::Draw::What::Copy, weight, {}, from, 0, {}});
  }
  for (const auto& [name, weight] : own)
    if (strict && !named.contains(name) && !name.ends_with("num_batches_tracked"))
      return unfit("is given no '" + name + "'");
  return {};
}

SavedObject saved_dict(std::vector<LoadedTensor> tensors) {
  SavedObject dict{.kind = SavedObject::Kind::Dict};
  for (LoadedTensor& one : tensors) {
    dict.keys.push_back({.kind = SavedObject::Kind::Text, .text = std::move(one.name)});
    dict.items.push_back({.kind = SavedObject::Kind::Tensor, .tensor = std::move(one.tensor)});
  }
  return dict;
}

// What safetensors.torch.load_file() gives: the file's tensors by their names. Nothing: the file is of another format.
Result<std::optional<SavedObject>> safetensors_object(const std::filesystem::path& path) {
  auto file = load_weights_file(path);
  if (!file) return pass(file);
  if (file->kind != WeightsKind::Safetensors) return std::nullopt;
  return saved_dict(std::move(file->tensors));
}

// What a function gives that reads the file of this path, its first argument. `called`: as the program writes the function.
Made content(Tracer& tracer, Interpreter& in, const Value& file, const std::string& called,
             Result<std::optional<SavedObject>> (*read)(const std::filesystem::path&)) {
  const auto* path = file.as<Text>();
  const Value outside = Value::of(in.make<Outside>(called));
  if (tracer.bound || (!path && !file.as<python::NotRead>()) || !names_given_file(tracer, path ? path->text : ""))
    return outside;
  auto object = read(*tracer.options().weights);
  if (!object) return pass(object);
  if (!*object || (*object)->kind != SavedObject::Kind::Dict) return outside;
  return Giver(tracer, in).given(**object, called);
}

Value first_placed(const Arguments& given) { return given.placed.empty() ? Value() : given.placed.front(); }

}  // namespace

Value loading(Tracer& tracer, Interpreter& in) {
  return in.native("load", [&tracer](Interpreter& with, Arguments& given) -> Made {
    return content(tracer, with, first_placed(given), "torch.load()", loaded_object);
  });
}

std::optional<Value> safetensors_loading(Tracer& tracer, Interpreter& in, const std::string& word) {
  const std::string called = "safetensors.torch." + word + "()";
  if (word == "load_file")
    return in.native(word, [&tracer, called](Interpreter& with, Arguments& given) -> Made {
      return content(tracer, with, first_placed(given), called, safetensors_object);
    });
  if (word != "load_model") return std::nullopt;
  return in.native(word, [&tracer, called](Interpreter& with, Arguments& given) -> Made {
    const auto taken = python::bound(given, "model filename strict device", 2, "load_model");
    if (!taken) return std::unexpected(taken.error());
    if (!is_module(*(*taken)[0])) return fail(Fault::Unsupported, "load_model() of what is no module");
    const auto state = content(tracer, with, *(*taken)[1], called, safetensors_object);
    if (!state) return state;
    const auto load = with.attribute(*(*taken)[0], "load_state_dict");
    if (!load) return load;
    Arguments passed{.placed = {*state}};
    if ((*taken)[2]) passed.placed.push_back(*(*taken)[2]);
    return with.call(*load, std::move(passed));
  });
}

Result<Tracer::NamedWeights> named_state(const Instance& module) {
  Tracer::NamedWeights state;
  const std::function<Status(const Instance&, const std::string&, int)> add =
      [&](const Instance& one, const std::string& front, int depth) -> Status {
    if (depth > 64 || state.size() > 100000) return fail(Fault::Limit, "modules are nested over 64 deep");
    for (const auto& [name, value] : one.attributes.all())
      if (auto* tensor = value.as<SourceTensor>();
          tensor && (tensor->is_parameter || (tensor->is_buffer && tensor->persistent)))
        state.emplace_back(front + name, tensor);
    for (const auto& [name, child] : children_of(one))
      if (auto done = add(*child, front + name + ".", depth + 1); !done) return done;
    return {};
  };
  if (auto done = add(module, "", 0); !done) return pass(done);
  return state;
}

// Weights by name: what a file will give while the module is built, and what nobody asks for when it is called.
Made state_dict(Tracer&, Interpreter& in, Arguments& given) {
  auto state = named_state(*given.placed.front().as<Instance>());
  if (!state) return pass(state);
  auto* made = in.make<Mapping>();
  for (const auto& [name, tensor] : *state)
    if (auto put = made->put(in, in.text(name), Value::of(tensor)); !put) return pass(put);
  return Value::of(made);
}

namespace {

// What the modules of the program make of a state_dict before they take it: a copy, as PyTorch makes one.
Made changed_by_modules(Tracer& tracer, Interpreter& in, Instance& module, const Value& given) {
  if (!overrides_taking(module)) return given;
  const auto* dict = given.as<Mapping>();
  if (!dict && !tracer.options().weights) return given;  // a file is asked for
  if (!dict)
    return fail(Fault::Unsupported, "load_state_dict() of what is not known, which modules of the program change");
  const auto* of_file = given.as<LoadedDict>();
  auto* copy = of_file ? in.make<LoadedDict>(of_file->name) : in.make<Mapping>();
  for (const auto& [key, value] : dict->entries)
    if (auto put = copy->put(in, key, value); !put) return pass(put);
  if (of_file && of_file->is_as_read()) static_cast<LoadedDict*>(copy)->keep();
  if (auto done = let_modules_take(tracer, in, module, *copy); !done) return pass(done);
  return Value::of(copy);
}

// The numbers of --weights as torch.load() gives them, by the names that a module knows them by.
Made given_dict(Tracer& tracer, Interpreter& in, const Tracer::NamedWeights& named) {
  std::set<std::string> wanted;
  for (const auto& [name, tensor] : named) wanted.insert(name);
  auto checkpoint = load_weights(*tracer.options().weights);
  if (!checkpoint) return pass(checkpoint);
  auto numbers = module_weights(*std::move(checkpoint), wanted, "", false,
                                tracer.options().weights->filename().string(), tracer.options().remarks);
  if (!numbers) return pass(numbers);
  SavedObject dict = saved_dict(*std::move(numbers));
  return Giver(tracer, in).given(dict, "torch.load()");
}

}  // namespace

Status load_as_overridden(Tracer& tracer, Interpreter& in, Instance& module, const Tracer::NamedWeights& named) {
  const bool is_loaded =
      std::ranges::find(tracer.loaded_states, &module, &Tracer::LoadedState::module) != tracer.loaded_states.end();
  if (!tracer.options().weights || is_loaded || !overrides_loading(module)) return {};
  const auto dict = given_dict(tracer, in, named);
  if (!dict) return std::unexpected(dict.error());
  const auto method = in.attribute(Value::of(&module), "load_state_dict");
  if (!method) return std::unexpected(method.error());
  const auto done = in.call(*method, ValueList{*dict});
  return done ? Status() : Status(std::unexpected(done.error()));
}

Made load_state_dict(Tracer& tracer, Interpreter& in, Arguments& given) {
  const auto taken = python::bound(given, "self state_dict strict assign", 2, "load_state_dict");
  if (!taken) return std::unexpected(taken.error());
  const auto& strict = (*taken)[2];
  auto* module = given.placed.front().as<Instance>();
  auto state = named_state(*module);
  if (!state) return pass(state);
  Tracer::LoadedState loaded{.module = module, .changes = tracer.weight_changes.size()};
  loaded.is_strict = !strict || !strict->is_whole() || strict->whole() != 0;
  for (const auto& [name, tensor] : *state) loaded.weights.emplace(name, tensor->value);
  const auto changed = changed_by_modules(tracer, in, *module, *(*taken)[1]);
  if (!changed) return changed;
  const auto* dict = changed->as<Mapping>();
  const auto* of_file = changed->as<LoadedDict>();
  const auto* outside = changed->as<Outside>();
  const Value result = incompatible_keys(in, *state, dict, tracer.is_wrapped);
  if (auto done = call_load_post_hooks(in, *module, result); !done) return pass(done);
  auto giving = dict && !(of_file && of_file->is_as_read()) ? giving_of(tracer, *dict) : std::nullopt;
  if (giving && (!tracer.options().weights || tracer.file_values.empty())) {  // the file comes over them
    if (auto done = start_with_all(tracer, *state, *giving, loaded.is_strict); !done) return pass(done);
    return result;
  }
  if (giving && giving->numbers.empty() && std::ranges::any_of(giving->weights, [&](const auto& one) {
        const auto own = loaded.weights.find(one.first);
        return own == loaded.weights.end() || own->second != one.second;
      }))
    return result;  // another module's, whose numbers the file gives as well
  tracer.loads_weights = true;
  if (outside || of_file) loaded.dict = dict_of(outside ? outside->name : of_file->name);
  loaded.is_changed = outside && outside->is_changed();
  if (giving) {
    const auto has = [&](const std::string& name) { return loaded.weights.contains(name); };
    for (LoadedTensor& one : giving->numbers)
      if (tracer.is_wrapped && !has(one.name) && has(unwrapped(one.name))) one.name = unwrapped(one.name);
    loaded.numbers = std::move(giving->numbers);
    for (const auto& [name, value] : giving->weights) loaded.kept.insert(name);
  }
  tracer.loaded_states.push_back(std::move(loaded));
  return result;
}

}  // namespace convoy::torch
