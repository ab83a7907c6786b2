#include "formats/torch/script/objects.h"

#include "formats/torch/script/operators.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace convoy::torch {

using Found = Result<std::optional<Value>>;

namespace {

// A function of the archive's code with the module that it belongs to.
class ScriptMethod : public python::Object {
 public:
  ScriptMethod(ScriptModule& module, Value function) : self_(module), function_(function) {}
  std::string type_name() const override { return "method"; }
  Made call(Interpreter& in, Arguments& given) override {
    if (auto paid = in.charge(300); !paid) return pass(paid);
    given.placed.insert(given.placed.begin(), Value::of(&self_));
    self_.tracer.calling.push_back({self_.path, self_.type->name});
    auto made = in.call(function_, std::move(given));
    self_.tracer.calling.pop_back();
    return made;
  }

 private:
  ScriptModule& self_;
  const Value function_;
};

// torch.NAME and ops.NAMESPACE.NAME: any name; what is not known is refused when it is called.
class Operators : public python::Object {
 public:
  Operators(Tracer& tracer, std::string space) : tracer_(tracer), space_(std::move(space)) {}
  std::string type_name() const override { return "module"; }
  Found attribute(Interpreter& in, const std::string& name) override {
    Tracer& tracer = tracer_;
    if (space_ == "ops") return Value::of(in.make<Operators>(tracer, "ops." + name));
    if (space_ == "torch")
      return in.native(name, [&tracer, name](Interpreter& with, Arguments& given) {
        return call_operator(tracer, with, name, std::move(given));
      });
    return in.native(name, [&tracer, full = space_.substr(4) + "." + name](Interpreter& with, Arguments& given) {
      return call_primitive(tracer, with, full, std::move(given));
    });
  }

 private:
  Tracer& tracer_;
  const std::string space_;
};

// __torch__.a.b: a file of the archive, or a folder on the way to one.
class Names : public python::Object {
 public:
  Names(const ScriptCode& code, std::string name) : code_(code), name_(std::move(name)) {}
  std::string type_name() const override { return "module"; }
  Found attribute(Interpreter& in, const std::string& word) override {
    if (code_.holds(name_)) {
      const auto file = in.import(name_);
      if (!file) return std::unexpected(file.error());
      auto found = in.find_attribute(*file, word);
      if (!found || *found) return found;
    }
    const std::string full = name_ + "." + word;
    if (!code_.holds(full) && !code_.leads_on(full))
      return fail(Fault::Format, "the archive holds no code for '" + full + "'");
    return Value::of(in.make<Names>(code_, full));
  }

 private:
  const ScriptCode& code_;
  const std::string name_;
};

class Constants : public python::Object {
 public:
  explicit Constants(const ValueList& all) : all_(all) {}
  std::string type_name() const override { return "module"; }
  Found attribute(Interpreter&, const std::string& word) override {
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (word == "c" + std::to_string(i)) return all_[i];
    return fail(Fault::Format, "constants.pkl has no '" + word + "'");
  }

 private:
  const ValueList& all_;
};

// A type says nothing about what is computed.
class TypeWord : public python::Object {
 public:
  std::string type_name() const override { return "type"; }
  Made item(Interpreter&, Value) override { return Value::of(this); }
  Found attribute(Interpreter&, const std::string&) override { return Value::of(this); }
};

// What no reader needs, until somebody does.
class Unread : public python::Object {
 public:
  explicit Unread(std::string what) : what_(std::move(what)) {}
  std::string type_name() const override { return "'" + what_ + "'"; }

 private:
  const std::string what_;
};

// "__torch__.a.b C" of a pickle's global.
bool names_code(std::string_view callee) {
  return callee.starts_with("__torch__ ") || callee.starts_with("__torch__.");
}

Made second(Interpreter&, Arguments& given) {
  return given.placed.size() == 2 ? Made(given.placed[1]) : Made(fail(Fault::Format, "takes a type and a value"));
}

}  // namespace

// ---- code

ScriptCode::ScriptCode(const ZipArchive& zip, std::string root) : zip_(zip), root_(std::move(root)) {
  const std::string front = root_ + "code/";
  for (const ZipEntry& entry : zip.entries()) {
    if (!entry.name.starts_with(front) || !entry.name.ends_with(".py")) continue;
    std::string name = entry.name.substr(front.size(), entry.name.size() - front.size() - 3);
    std::ranges::replace(name, '/', '.');
    for (auto dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1))
      folders_.insert(name.substr(0, dot));
    files_.insert(std::move(name));
  }
}

bool ScriptCode::holds(const std::string& module) const { return files_.contains(module); }

Result<std::optional<python::SourceFile>> ScriptCode::find(const std::string& module) const {
  if (!holds(module)) return std::nullopt;
  std::string path = module;
  std::ranges::replace(path, '.', '/');
  path = "code/" + path + ".py";
  auto text = zip_.read(root_ + path);
  if (!text) return pass(text);
  return python::SourceFile{path, std::string(text_of(text->bytes)), path.substr(0, path.find_last_of('/'))};
}

// ---- modules

Found ScriptModule::attribute(Interpreter& in, const std::string& name) {
  if (const Value* own = attributes.find(name)) return *own;
  const Value* found = type->find(name);
  if (!found) return std::nullopt;
  if (found->as<python::Function>()) return Value::of(in.make<ScriptMethod>(*this, *found));
  return *found;
}

Status ScriptModule::set_attribute(Interpreter&, const std::string& name, Value) {
  return fail(Fault::Unsupported,
              "the model changes its own '" + (path.empty() ? name : path + "." + name) + "' when it runs");
}

// ---- names

Found ScriptLibrary::implied(Interpreter& in, const std::string& name) {
  if (name == "torch" || name == "ops") return Value::of(in.make<Operators>(tracer_, name));
  if (name == "__torch__") return Value::of(in.make<Names>(code_, name));
  if (name == "CONSTANTS") return Value::of(in.make<Constants>(constants));
  if (name == "annotate" || name == "unchecked_cast") return in.native(name, second);
  if (name == "uninitialized") return in.native(name, [](Interpreter&, Arguments&) -> Made { return Value(); });
  if (name == "inf") return Value::of(std::numeric_limits<double>::infinity());
  if (name == "nan") return Value::of(std::numeric_limits<double>::quiet_NaN());
  static constexpr std::array<std::string_view, 16> types{
      "Tensor", "List",   "Dict",   "Tuple",  "Optional", "Union",     "Any",    "NoneType",
      "Final",  "number", "Device", "Future", "Scalar",   "Generator", "Stream", "AnyTuple"};
  if (std::ranges::find(types, name) != types.end()) return Value::of(in.make<TypeWord>());
  if (name == "Module" || name == "Interface" || name == "Enum") {
    auto* base = in.make_class(name, {});
    base->native = name;
    return Value::of(base);
  }
  if (name == "NamedTuple") {
    auto* base = in.make_class(name, {});
    base->attributes.set("__new__", in.native(name, [](Interpreter& with, Arguments& given) -> Made {
      for (const auto& [word, value] : given.named) given.placed.push_back(value);
      return with.tuple(given.placed);
    }));
    return Value::of(base);
  }
  return std::nullopt;
}

void replace_numbers(Tracer& tracer, Interpreter& in) {
  for (const auto& [name, kind] : {std::pair{"int", 'i'}, {"float", 'f'}, {"bool", 'b'}}) {
    const Value usual = in.builtins[name];
    in.builtins[name] = in.native(name, [&tracer, usual, kind = kind](Interpreter& with, Arguments& given) -> Made {
      if (given.placed.size() == 1) {
        if (const auto number = scalar_of(tracer, given.placed[0])) {
          if (number->as<FreeSize>() && kind != 'b') return *number;
          given.placed[0] = *number;
        } else if (given.placed[0].as<SourceTensor>()) {
          return fail(Fault::Unsupported, "needs a number of a tensor, which comes only when the model runs");
        }
      }
      return with.call(usual, std::move(given));
    });
  }
}

// ---- objects

Made ScriptObjects::value(PickleId id, const std::string& path, bool trainable, int depth) {
  if (!id) return Value();
  if (const auto known = known_.find(id); known != known_.end()) return known->second;
  if (depth > 100) return fail(Fault::Limit, "'" + path + "' lies deeper than 100 levels");
  if (auto paid = in_.charge(64); !paid) return pass(paid);
  auto made_of = made(pickle_[id], id, path, trainable, depth);
  if (made_of) known_[id] = *made_of;
  return made_of;
}

Result<ValueList> ScriptObjects::items(const PickleValue& from, const std::string& path, int depth) {
  ValueList all;
  for (std::size_t i = 0; i < from.items.size(); ++i) {
    auto one = value(from.items[i], path + "." + std::to_string(i), false, depth + 1);
    if (!one) return pass(one);
    all.push_back(*one);
  }
  return all;
}

Made ScriptObjects::made(const PickleValue& from, PickleId id, const std::string& path, bool trainable, int depth) {
  switch (from.kind) {
    case PickleKind::None: return Value();
    case PickleKind::Bool: return Value::of(from.integer != 0);
    case PickleKind::Integer: return Value::of(from.integer);
    case PickleKind::Float: return Value::of(from.number);
    case PickleKind::Text: return in_.text(from.text);
    case PickleKind::List:
    case PickleKind::Tuple: {
      auto all = items(from, path, depth);
      if (!all) return pass(all);
      return from.kind == PickleKind::List ? in_.list(std::move(*all)) : in_.tuple(std::move(*all));
    }
    case PickleKind::Dict: {
      auto* map = in_.make<python::Mapping>();
      for (std::size_t i = 0; i + 1 < from.items.size(); i += 2) {
        const auto key = value(from.items[i], path, false, depth + 1);
        if (!key) return key;
        const auto one = value(from.items[i + 1], path + "." + std::to_string(i / 2), false, depth + 1);
        if (!one) return one;
        if (auto put = map->put(in_, *key, *one); !put) return pass(put);
      }
      return Value::of(map);
    }
    case PickleKind::Call: return called(from, id, path, trainable, depth);
    default: return Value::of(in_.make<Unread>("a value of data.pkl"));
  }
}

Made ScriptObjects::called(const PickleValue& call, PickleId id, const std::string& path, bool trainable, int depth) {
  const std::string callee(pickle_.global(call.callee));
  if (PickledTensors::makes_tensor(callee)) {
    auto tensor = within("tensor '" + path + "'", tensors_.tensor_of(call));
    if (!tensor) return pass(tensor);
    if (!*tensor) return Value::of(in_.make<Unread>(path));
    const bool trains = trainable && requires_grad(pickle_, call);
    const ValueId made_of = tracer_.graph.constant(tracer_.graph.unique_name(path), std::move(**tensor), trains);
    return tracer_.tensor(in_, made_of);
  }
  if (names_code(callee)) return module(call, id, callee, path, depth);
  if (callee.starts_with("torch.jit._pickle ") && pickle_.is(call.arguments, PickleKind::Tuple) &&
      !pickle_[call.arguments].items.empty())
    return value(pickle_[call.arguments].items[0], path, false, depth + 1);  // a list or a value with its type
  if (callee == "collections OrderedDict") return Value::of(in_.make<python::Mapping>());
  return Value::of(in_.make<Unread>(callee));
}

Made ScriptObjects::module(const PickleValue& call, PickleId id, const std::string& callee, const std::string& path,
                           int depth) {
  const auto blank = callee.find(' ');
  const std::string file = callee.substr(0, blank), name = callee.substr(blank + 1);
  if (file.starts_with("__torch__.torch.classes")) return Value::of(in_.make<Unread>(file + "." + name));
  const auto code = in_.import(file);
  if (!code) return std::unexpected(code.error());
  const auto found = in_.find_attribute(*code, name);
  if (!found) return std::unexpected(found.error());
  auto* type = *found ? (*found)->as<python::Class>() : nullptr;
  if (!type) return fail(Fault::Format, "the code has no class '" + file + "." + name + "'");
  auto* made_of = in_.make<ScriptModule>(tracer_, type, path);
  known_[id] = Value::of(made_of);
  const auto listed = [&](const char* words, const std::string& word) {
    const Value* all = type->find(words);
    const auto* list = all ? all->as<python::Sequence>() : nullptr;
    return list && std::ranges::any_of(list->items, [&](const Value& one) {
             const auto* text = one.as<python::Text>();
             return text && text->text == word;
           });
  };
  if (!pickle_.is(call.state, PickleKind::Dict)) return Value::of(made_of);
  const auto& entries = pickle_[call.state].items;
  for (std::size_t i = 0; i + 1 < entries.size(); i += 2) {
    if (!pickle_.is(entries[i], PickleKind::Text)) continue;
    const std::string& word = pickle_[entries[i]].text;
    const bool parameter = listed("__parameters__", word), buffer = listed("__buffers__", word);
    const auto one = value(entries[i + 1], path.empty() ? word : path + "." + word, parameter, depth + 1);
    if (!one) return one;
    if (const auto* tensor = one->as<SourceTensor>(); tensor && (parameter || buffer))
      tracer_.weights.insert(tensor->value.index);
    // A model in eval mode, however it was saved.
    made_of->attributes.set(word, word == "training" ? Value::of(false) : *one);
  }
  return Value::of(made_of);
}

}  // namespace convoy::torch
