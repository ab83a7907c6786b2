// Files, calls, attributes and classes.
#include "containers/python/interpreter.h"
#include "containers/python/modules.h"

#include "base/budget.h"
#include "containers/python/evaluator.h"
#include "containers/python/generator.h"
#include "containers/python/pasted.h"
#include "containers/python/unread.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

namespace convoy::python {
namespace {

// What tells a source file from all others.
std::string key_of(const SourceFile& source) {
  return "file " + source.folder + "/" + source.name.substr(source.name.find_last_of('/') + 1);
}

// What was read of a package holds each module of it that is read, by its name.
void put_into_package(std::map<std::string, Value>& imported, const SourceFile& source, const Value& module) {
  SourceFile package{"__init__.py", {}, source.folder};
  std::string word = source.name.substr(source.name.find_last_of('/') + 1);
  if (word == package.name) {
    if (source.folder.empty()) return;
    const auto slash = source.folder.find_last_of('/');
    word = source.folder.substr(slash + 1);  // npos + 1 == 0: the whole
    package.folder = slash == std::string::npos ? "" : source.folder.substr(0, slash);
  } else {
    word = word.substr(0, word.find('.'));
  }
  const auto found = imported.find(key_of(package));
  auto* around = found == imported.end() ? nullptr : found->second.as<Module>();
  if (around && !around->attributes.find(word)) around->attributes.set(word, module);
}

// It has those names that are bound so far.
Module* module_being_read(Interpreter& in, const std::string& name, const Scope* scope) {
  auto* module = in.make<Module>(name);
  module->more = [scope](Interpreter&, const std::string& word) -> Result<std::optional<Value>> {
    const Value* found = scope->names.find(word);
    return found ? std::optional(*found) : std::nullopt;
  };
  return module;
}

bool is_special(const std::string& name) { return name.size() > 4 && name.starts_with("__") && name.ends_with("__"); }

// The special names that programs may say, "__is__" and what follows as TorchScript's operators; every other one leads out
// of the program.
bool may_be_said(const std::string& name) {
  static const std::set<std::string> known{
      "__init__",    "__call__",     "__name__",    "__class__", "__len__",     "__getitem__",      "__setitem__",
      "__iter__",    "__contains__", "__version__", "__add__",   "__mul__",     "__sub__",          "__enter__",
      "__exit__",    "__doc__",      "__bool__",    "__radd__",  "__truediv__", "__floordiv__",     "__setattr__",
      "__getattr__", "__is__",       "__isnot__",   "__not__",   "__and__",     "__or__",           "__xor__",
      "__lshift__",  "__rshift__",   "__eq__",      "__all__",   "__file__",    "__repr__",         "__module__",
      "__str__",     "__next__",     "__ne__",      "__lt__",    "__hash__",    "__init_subclass__"};
  return known.contains(name);
}

}  // namespace

Interpreter::Interpreter(std::vector<Library*> libraries, FindSource find, Limits limits)
    : libraries_(std::move(libraries)),
      find_(std::move(find)),
      limits_(limits) {
  object_class = make<Class>();
  object_class->name = "object";
  object_class->order = {object_class};
  add_builtins(*this);
}

Value Interpreter::text(std::string words, std::string shown) {
  spent_ += static_cast<Size>(words.size());
  return Value::of(make<Text>(std::move(words), std::move(shown)));
}
Value Interpreter::list(ValueList items) {
  spent_ += static_cast<Size>(items.size()) * 16;
  return Value::of(make<Sequence>(false, std::move(items)));
}
Value Interpreter::tuple(ValueList items) {
  spent_ += static_cast<Size>(items.size()) * 16;
  return Value::of(make<Sequence>(true, std::move(items)));
}
Value Interpreter::native(std::string name, NativeFunction function) {
  return Value::of(make<Native>(std::move(name), std::move(function)));
}

namespace {
constexpr Size steps_at_once = 256;
constexpr double nanoseconds_of_step = 150;
}  // namespace

Status Interpreter::charge(Size bytes) {
  const auto sum = checked_add(spent_, bytes);
  if (!sum || *sum > limits_.memory)
    return fail(Fault::Budget,
                "the program makes more than " + std::to_string(limits_.memory >> 20) + " MiB of values");
  spent_ = *sum;
  return {};
}

Status Interpreter::step(Size count) {
  steps_ += count;
  if (steps_ > limits_.steps)
    return fail(Fault::Budget, "the program takes more than " + std::to_string(limits_.steps) + " steps");
  if (steps_ >= paid_steps_) {
    const Size next = steps_ + steps_at_once;
    const auto paid =
        budget::spend(nanoseconds_of_step * static_cast<double>(next - paid_steps_), "following the program");
    if (!paid) return paid;
    paid_steps_ = next;
  }
  if (spent_ > limits_.memory) return charge(0);
  return {};
}

Result<ProgramFile*> Interpreter::opened(const SourceFile& source) {
  auto made = std::make_unique<ProgramFile>();
  made->source = source;
  ProgramFile& file = *made;
  files_.push_back(std::move(made));
  if (auto paid = charge(static_cast<Size>(file.source.text.size()) * 8); !paid) return pass(paid);
  file.source.text = as_typed(file.source.text);
  auto tree = parse_program(file.source.text);
  if (!tree) {
    placed_ = true;
    return within(file.source.name, Result<ProgramFile*>(pass(tree)));
  }
  file.tree = std::move(*tree);
  if (std::ranges::all_of(libraries_, &Library::has_private_names)) name_privates(file.tree, "");
  file.scope = make<Scope>(nullptr);
  file.scope->names.set("__name__", text("program"));
  file.scope->names.set("__file__", text(file.source.name));
  return &file;
}

Result<Scope*> Interpreter::run(const SourceFile& source) {
  placed_ = false;
  const auto file = opened(source);
  if (!file) return std::unexpected(file.error());
  Evaluator evaluator(*this, **file, *(*file)->scope);
  auto done = evaluator.block((*file)->tree);
  if (!done) return pass(done);
  return (*file)->scope;
}

Result<Scope*> Interpreter::run_as_far(const SourceFile& source) {
  placed_ = false;
  const auto file = opened(source);
  if (!file) return std::unexpected(file.error());
  imported_[key_of(source)] = Value::of(module_being_read(*this, source.name, (*file)->scope));
  if (auto done = follow(**file, &left_out_); !done) return pass(done);
  return (*file)->scope;
}

Value Interpreter::known_or_lent(const std::string& name, const Value& bound) {
  if (lent.empty() || !bound.as<NotRead>()) return bound;
  const auto given = lent.find(name);
  if (given == lent.end()) return bound;
  lent_used.insert(name);
  return given->second;
}

std::unexpected<Error> Interpreter::forbidden(std::string what) {
  forbidden_ = true;
  return fail(Fault::Unsupported, std::move(what));
}

std::unexpected<Error> Interpreter::raises(const char* exception, std::string what) {
  raised_ = builtins[exception].as<Class>();
  raised_object_ = Value();
  return fail(Fault::Format, std::move(what));
}

bool Interpreter::catches(const char* exception) {
  if (!raised_ || !raised_->derives_from(builtins[exception].as<Class>())) return false;
  raised_ = nullptr;
  placed_ = false;
  return true;
}

std::unexpected<Error> Interpreter::fail_again(const Error& first) {
  placed_ = true;
  return std::unexpected(first);
}

// What Python itself refuses or raises ends a program; what is only not understood here does not.
bool Interpreter::ends_all(const Error& error) const {
  return forbidden_ || raised_ || (error.fault != Fault::Unsupported && error.fault != Fault::Usage);
}

Status Interpreter::follow(ProgramFile& file, std::vector<LeftOut>* left_out) {
  Evaluator evaluator(*this, file, *file.scope);
  raised_ = nullptr;
  for (const Syntax& one : file.tree.parts) {
    auto next = evaluator.statement(one);
    if (next) continue;
    if (ends_all(next.error())) return pass(next);
    placed_ = false;
    if (auto paid = charge(Size{100} << 10); !paid) return paid;  // a thousand of them are no program
    Touched touched = touched_by(one, *file.scope);
    LeftOut left{&one, next.error(), std::move(touched.bound), std::move(touched.changed), {}};
    for (const auto* names : {&left.bound, &left.changed})
      for (const std::string& name : *names) {
        const Value* old = file.scope->names.find(name);
        if (names == &left.changed && (!old || old->as<Module>() || old->as<Unread>())) continue;
        if (old && !old->as<Unread>()) left.before.set(name, *old);
        file.scope->names.set(name, Value::of(make<Unread>(name, next.error())));
      }
    if (left_out) left_out->push_back(std::move(left));
  }
  return {};
}

Result<Value> Interpreter::import(const std::string& name, const ProgramFile* from) {
  if (const auto known = imported_.find(name); known != imported_.end()) return known->second;
  for (Library* library : libraries_) {
    auto found = library->module(*this, name);
    if (!found) return pass(found);
    if (*found) return imported_[name] = **found;
  }
  if (auto known = standard_module(*this, name)) return imported_[name] = *known;
  return import_source(name, 0, from);
}

// A module that imports one which is being read has those names of it that are bound so far, as in Python.
Result<Value> Interpreter::import_source(const std::string& name, Size dots, const ProgramFile* from) {
  std::optional<SourceFile> source;
  if (find_) {
    auto found = find_(name, dots, from ? from->source.folder : "");
    if (!found) return pass(found);
    source = std::move(*found);
  }
  if (!source) {
    raised_ = builtins["ImportError"].as<Class>();
    raised_object_ = Value();
    const std::string named =
        "module '" + std::string(static_cast<std::size_t>(std::min<Size>(dots, 50)), '.') + name + "'";
    if (const std::string root = dots == 0 && advises_root ? advises_root(name) : ""; !root.empty())
      return fail(Fault::Unsupported, named + " lies outside of the file's own folder; give --allow-root " + root);
    return fail(Fault::Unsupported,
                named +
                    " is not known here, and no file of that name lies beside this one or below a "
                    "folder given with --allow-root (where pip put it: .../site-packages); known are "
                    "torch, keras, tensorflow and numpy as far as networks are written with them, "
                    "math, functools, operator, itertools, collections");
  }
  const std::string key = key_of(*source);
  if (const auto known = imported_.find(key); known != imported_.end()) {
    put_into_package(imported_, *source, known->second);  // which may have come since
    return known->second;
  }
  const Deeper deeper(depth_), further(imports_);
  if (imports_ > 100 || depth_ > limits_.depth) return fail(Fault::Limit, "imports are nested too deep");
  const bool tries = std::exchange(tries_imports_, false);
  const auto file = opened(*source);
  Status done;
  if (file) {
    auto* module = module_being_read(*this, name, (*file)->scope);
    imported_[key] = Value::of(module);
    done = follow(**file, nullptr);
    for (const auto& [word, value] : (*file)->scope->names.all()) module->attributes.set(word, value);
    module->more = nullptr;
  } else {
    done = std::unexpected(file.error());
  }
  tries_imports_ = tries;
  if (!done) {
    imported_.erase(key);
    return std::unexpected(done.error());
  }
  put_into_package(imported_, *source, imported_[key]);
  return imported_[key];
}

// ---- attributes and items

namespace {

// Name.__new__.__defaults__ of a namedtuple, by which programs give its last fields values.
bool is_of_named_tuple(const Value& of, const std::string& name) {
  if (name == "__defaults__") return of.is_object() && of.object()->type_name() == "constructor";
  const auto* type = of.as<Class>();
  return name == "__new__" && type && type->attributes.find(fields_of_tuple);
}

}  // namespace

Result<std::optional<Value>> Interpreter::find_attribute(Value of, const std::string& name) {
  if (is_of_named_tuple(of, name))
    return name == "__new__" ? *of.as<Class>()->attributes.find(fields_of_tuple) : of.object()->attribute(*this, name);
  if (is_special(name) && !may_be_said(name))
    return forbidden("attribute '" + name + "' is not read: it leads out of the program");
  if (!of.is_object()) {
    if (of.is_number() && (name == "real" || name == "numerator")) return of;
    if ((of.is_whole() || of.is_none()) && name == "value") return of;  // sizes of TensorFlow 1: x.shape[-1].value
    if (of.is_number() && (name == "item" || name == "bit_length" || name == "is_integer" || name == "numpy")) {
      if (name == "item" || name == "numpy")
        return native(name, [of](Interpreter&, Arguments&) -> Result<Value> { return of; });
      if (name == "is_integer")
        return native(name, [of](Interpreter&, Arguments&) -> Result<Value> {
          return Value::of(of.is_whole() || of.real() == static_cast<double>(static_cast<std::int64_t>(of.real())));
        });
      return native(name, [of](Interpreter&, Arguments&) -> Result<Value> {
        std::int64_t bits = 0;
        for (std::uint64_t n = of.whole() < 0 ? 0 - static_cast<std::uint64_t>(of.whole())
                                              : static_cast<std::uint64_t>(of.whole());
             n; n >>= 1U)
          ++bits;
        return Value::of(bits);
      });
    }
    return std::nullopt;
  }
  if (name == "__module__") return text("program");
  if (name == "__class__" && (of.as<Function>() || of.as<Native>() || of.as<Bound>()))
    return Value::of(make_class(type_name(of), {}));
  if (name == "__len__" && (of.as<Sequence>() || of.as<Text>() || of.as<Mapping>()))
    return native(name, [of](Interpreter& in, Arguments&) -> Result<Value> {
      auto count = of.object()->length(in);
      return count ? Result<Value>(Value::of(static_cast<std::int64_t>(*count))) : pass(count);
    });
  return of.object()->attribute(*this, name);
}

Result<Value> Interpreter::attribute(Value of, const std::string& name) {
  auto found = find_attribute(of, name);
  if (!found) return pass(found);
  if (*found) return **found;
  if (const auto* module = of.as<Module>())
    return fail(Fault::Unsupported, "'" + module->name + "." + name + "' is not known here");
  return fail(Fault::Unsupported, "a " + python::type_name(of) + " has no attribute '" + name + "' that is known here");
}

Status Interpreter::set_attribute(Value of, const std::string& name, Value value) {
  if (name == "__doc__" || name == "__name__" || name == "__annotations__" || name == "__module__")
    return {};  // says nothing of what is computed
  if (is_special(name) && !is_of_named_tuple(of, name))
    return forbidden("attribute '" + name + "' is not set: it leads out of the program");
  if (!of.is_object()) return fail(Fault::Format, "a " + python::type_name(of) + " has no attributes");
  if (auto paid = charge(64); !paid) return paid;
  return of.object()->set_attribute(*this, name, value);
}

Result<Value> Interpreter::item(Value of, Value key) {
  if (!of.is_object()) return fail(Fault::Format, "a " + python::type_name(of) + " has no items");
  constexpr std::array<std::string_view, 4> abstract{"Iterable", "Sequence", "Callable", "Mapping"};
  const auto* type = of.as<Native>();
  if (type && (builtins.contains(type->name) || std::ranges::find(abstract, type->name) != abstract.end()))
    return of;  // a type hint: list[int]
  return of.object()->item(*this, key);
}

// ---- calls

Result<Value> Interpreter::call(Value function, Arguments arguments) {
  const Deeper deeper(depth_);
  if (depth_ > limits_.depth) return fail(Fault::Limit, "calls are nested too deep");
  if (auto s = step(); !s) return pass(s);
  if (!function.is_object()) return fail(Fault::Format, "a " + python::type_name(function) + " cannot be called");
  return function.object()->call(*this, arguments);
}

Status Interpreter::bind(Function& function, Arguments& given, Scope& scope) {
  const auto& parameters = function.parameters->parts;
  std::size_t next = 0, next_default = 0;
  const auto who = [&] { return function.name + "(): "; };
  for (const Syntax& parameter : parameters) {
    const auto kind = static_cast<ParameterKind>(parameter.integer);
    const bool has_default = parameter.parts[0].kind != SyntaxKind::Absent;
    const std::size_t place = has_default ? next_default++ : 0;
    if (kind == ParameterKind::Rest) {
      scope.names.set(
          parameter.text,
          tuple(ValueList(given.placed.begin() + static_cast<std::ptrdiff_t>(std::min(next, given.placed.size())),
                          given.placed.end())));
      next = given.placed.size();
      continue;
    }
    if (kind == ParameterKind::RestNamed) {
      auto* rest = make<Mapping>();
      for (const auto& [word, value] : given.named)
        if (auto put = rest->put(*this, text(word), value); !put) return put;
      given.named.clear();
      scope.names.set(parameter.text, Value::of(rest));
      continue;
    }
    std::optional<Value> value = given.take(parameter.text);
    if (kind == ParameterKind::Usual && next < given.placed.size()) {
      if (value) return fail(Fault::Format, who() + "'" + parameter.text + "' is given twice");
      value = given.placed[next++];
    }
    if (!value && has_default) value = function.defaults[place];
    if (!value) return fail(Fault::Format, who() + "argument '" + parameter.text + "' is missing");
    scope.names.set(parameter.text, *value);
  }
  if (next < given.placed.size())
    return fail(Fault::Format, who() + "takes " + std::to_string(next) + " arguments, " +
                                   std::to_string(given.placed.size()) + " are given");
  if (!given.named.empty()) return fail(Fault::Format, who() + "has no argument '" + given.named.front().first + "'");
  return {};
}

Result<Value> Interpreter::call_function(Function& function, Arguments arguments) {
  if (auto paid = charge(400 + static_cast<Size>(arguments.placed.size()) * 64); !paid) return pass(paid);
  auto* scope = make<Scope>(function.outer);
  scope->function = &function;
  if (auto bound_to = bind(function, arguments, *scope); !bound_to) return pass(bound_to);
  Evaluator evaluator(*this, *function.file, *scope);
  if (function.body->kind != SyntaxKind::Block) return evaluator.value(*function.body);
  for (const Value& context : function.around)
    if (auto told = tell_context(context, "__enter__"); !told) return pass(told);
  Result<Value> made = Value();
  Status done;
  if (function.yields) made = generator_of(*this, function, *scope);
  else if (auto next = evaluator.block(*function.body); !next) done = pass(next);
  else made = evaluator.returned;
  for (const Value& context : function.around | std::views::reverse)
    if (auto told = tell_context(context, "__exit__"); !told) return pass(told);
  if (!done) return pass(done);
  return made;
}

Status Interpreter::tell_context(const Value& context, const std::string& word) {
  const auto found = find_attribute(context, word);
  if (!found) return std::unexpected(found.error());
  if (!*found || !(*found)->as<Native>()) return {};
  if (auto done = call(**found, ValueList{}); !done) return pass(done);
  return {};
}

Result<Value> Function::call(Interpreter& in, Arguments& arguments) {
  return in.call_function(*this, std::move(arguments));
}

Result<Value> Bound::call(Interpreter& in, Arguments& arguments) {
  arguments.placed.insert(arguments.placed.begin(), self);
  return in.call(function, std::move(arguments));
}

namespace {

Result<std::optional<Value>> named(Interpreter& in, const std::string& name, const std::string& word) {
  if (word == "__name__") return in.text(name);
  if (word == "__doc__") return in.text("");
  return std::nullopt;
}

}  // namespace

Result<std::optional<Value>> Function::attribute(Interpreter& in, const std::string& word) {
  return named(in, name, word);
}
Result<std::optional<Value>> Native::attribute(Interpreter& in, const std::string& word) {
  return named(in, name, word);
}
Result<std::optional<Value>> Bound::attribute(Interpreter& in, const std::string& word) {
  if (word == "__name__") return in.find_attribute(function, word);
  return std::nullopt;
}

}  // namespace convoy::python
