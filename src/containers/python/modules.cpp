// The parts of Python's library that networks are written with, as far as they compute on known values.
#include "containers/python/modules.h"

#include "containers/python/kinds.h"
#include "containers/python/unread.h"

#include <algorithm>
#include <array>

namespace convoy::python {
namespace {

using Made = Result<Value>;

// defaultdict(list): a key that is not there is made by its function.
Made default_dict(Interpreter& in, Arguments& a) {
  auto* made = in.make<Mapping>();
  if (!a.placed.empty()) made->otherwise = a.placed[0];
  return Value::of(made);
}

Value abstract_class(Interpreter& in, const std::string& name) {
  return in.native(name, [](Interpreter&, Arguments&) -> Made {
    return fail(Fault::Unsupported, "an abstract class is not called");
  });
}

Module* collections(Interpreter& in, const std::string& name) {
  auto* m = in.make<Module>(name);
  add_function(in, *m, "OrderedDict", 0, [](Interpreter& with, Arguments& a) -> Made {
    auto made = with.call(with.builtins["dict"], a);
    if (auto* held = made ? made->as<Mapping>() : nullptr) held->is_ordered = true;
    return made;
  });
  add_function(in, *m, "namedtuple", 2, named_tuple);
  add_function(in, *m, "defaultdict", 0, default_dict);
  auto* abc = in.make<Module>("collections.abc");
  for (const char* word : {"Iterable", "Sequence", "Callable", "Mapping"}) {
    const Value kind = abstract_class(in, word);
    abc->attributes.set(word, kind);
    m->attributes.set(word, kind);
  }
  m->attributes.set("abc", Value::of(abc));
  return name == "collections.abc" ? abc : m;
}

// SimpleNamespace(a=1), argparse.Namespace(a=1): an object of these attributes.
Class* namespace_class(Interpreter& in, const std::string& name) {
  Class* made = in.make_class(name, {});
  made->attributes.set("__init__", in.native("__init__", [](Interpreter&, Arguments& a) -> Made {
    auto* self = a.placed.size() == 1 ? a.placed[0].as<Instance>() : nullptr;
    if (!self) return wrong("a namespace is made of named values");
    for (const auto& [word, value] : a.named) self->attributes.set(word, value);
    return Value();
  }));
  return made;
}

Module* hints(Interpreter& in, const std::string& name) {
  auto* m = in.make<Module>(name);
  if (name.starts_with("typing")) m->attributes.set("NamedTuple", Value::of(named_tuple_base(in)));
  if (name == "types") m->attributes.set("SimpleNamespace", Value::of(namespace_class(in, "SimpleNamespace")));
  m->more = [](Interpreter& with, const std::string& word) -> Result<std::optional<Value>> {
    return Value::of(with.make<Hint>(word));
  };
  m->attributes.set("TYPE_CHECKING", Value::of(false));
  if (name.starts_with("typing"))  // what `import *` brings
    for (const char* word : {"Any",      "Callable", "ClassVar", "Dict",    "Final",   "Generator", "Generic",
                             "Iterable", "Iterator", "List",     "Literal", "Mapping", "Optional",  "Sequence",
                             "Set",      "Text",     "Tuple",    "Type",    "TypeVar", "Union"})
      m->attributes.set(word, Value::of(in.make<Hint>(word)));
  return m;
}

constexpr std::array<std::string_view, 23> outside_modules{"sys",
                                                           "pathlib",
                                                           "hashlib",
                                                           "time",
                                                           "datetime",
                                                           "json",
                                                           "random",
                                                           "safetensors",
                                                           "safetensors.torch",
                                                           "pprint",
                                                           "matplotlib.pyplot",
                                                           "matplotlib",
                                                           "glob",
                                                           "shutil",
                                                           "pickle",
                                                           "tqdm",
                                                           "pylab",
                                                           "queue",
                                                           "threading",
                                                           "cv2",
                                                           "PIL",
                                                           "PIL.Image",
                                                           "pandas"};

// Paths are put together, and nothing is opened.
Module* os_module(Interpreter& in) {
  auto* path = in.make<Module>("os.path");
  add_function(in, *path, "join", 1, [](Interpreter& with, Arguments& a) -> Made {
    std::string whole;
    for (const Value& part : a.placed) {
      const auto* words = part.as<Text>();
      if (!words) return Value::of(with.make<Outside>("os.path.join()"));
      if (words->text.starts_with("/")) whole.clear();
      else if (!whole.empty() && !whole.ends_with("/")) whole += "/";
      whole += words->text;
    }
    return with.text(std::move(whole));
  });
  for (const char* word : {"dirname", "basename", "abspath", "expanduser", "exists", "isfile", "isdir"})
    add_function(in, *path, word, 1, [word](Interpreter& with, Arguments&) -> Made {
      return Value::of(with.make<Outside>("os.path." + std::string(word) + "()"));
    });
  auto* m = in.make<Module>("os");
  m->attributes.set("path", Value::of(path));
  // Nothing is looked up or made; the answer is known to nobody.
  for (const char* word : {"getcwd", "listdir", "makedirs", "mkdir", "cpu_count", "getenv"})
    add_function(in, *m, word, 0, [word](Interpreter& with, Arguments&) -> Made {
      return Value::of(with.make<Outside>("os." + std::string(word) + "()"));
    });
  m->attributes.set("environ", Value::of(in.make<Outside>("os.environ")));
  m->more = [](Interpreter& with, const std::string& word) -> Result<std::optional<Value>> {
    return with.native(word, [word](Interpreter& inner, Arguments&) -> Made {
      return inner.forbidden("'os." + word + "' is not read: source is read as data, and nothing is run or opened");
    });
  };
  return m;
}

Module* numbers_module(Interpreter& in) {
  auto* m = in.make<Module>("numbers");
  for (const char* word : {"Number", "Integral", "Real"})
    m->attributes.set(word, in.native(word, [](Interpreter&, Arguments&) -> Made {
      return fail(Fault::Unsupported, "an abstract class is not called");
    }));
  return m;
}

Module* contexts_module(Interpreter& in) {
  auto* m = in.make<Module>("contextlib");
  add_function(in, *m, "nullcontext", 0, [](Interpreter& with, Arguments&) -> Made {
    auto* context = with.make<Module>("nullcontext()");
    context->attributes.set("__enter__",
                            with.native("__enter__", [](Interpreter&, Arguments&) -> Made { return Value(); }));
    return Value::of(context);
  });
  return m;
}

Made shallow_copy(Interpreter& in, Value of) {
  if (!of.is_object() || of.as<Text>() || of.as<Range>() || of.as<Function>() || of.as<Class>() || tuple_in(of))
    return of;
  const auto* instance = of.as<Instance>();
  if (const Value* own = instance ? instance->own_method("__copy__") : nullptr) return in.call(*own, ValueList{of});
  const auto method = instance ? Result<std::optional<Value>>(std::nullopt) : in.find_attribute(of, "copy");
  if (!method) return std::unexpected(method.error());
  if (*method) return in.call(**method, ValueList{});
  if (!instance || instance->extra || instance->is_of_framework())
    return fail(Fault::Unsupported, "a copy of a " + type_name(of));
  auto* same = in.make<Instance>(instance->type);
  same->attributes = instance->attributes;
  if (auto paid = in.charge(static_cast<Size>(same->attributes.all().size()) * 64); !paid) return pass(paid);
  return Value::of(same);
}

Module* copy_module(Interpreter& in) {
  auto* m = in.make<Module>("copy");
  add_function(in, *m, "deepcopy", 1, [](Interpreter& with, Arguments& a) { return deep_copy(with, a.placed[0]); });
  add_function(in, *m, "copy", 1, [](Interpreter& with, Arguments& a) { return shallow_copy(with, a.placed[0]); });
  return m;
}

// What speaks to a reader at its console: every word is a function that answers with something as silent.
Module* silent_module(Interpreter& in, const std::string& name) {
  auto* m = in.make<Module>(name);
  m->more = [](Interpreter& with, const std::string& word) -> Result<std::optional<Value>> {
    return with.native(word, [](Interpreter& inner, Arguments&) -> Made {
      auto* silent = inner.make<Module>("logger");
      silent->more = [](Interpreter& deep, const std::string& method) -> Result<std::optional<Value>> {
        return deep.native(method, [](Interpreter&, Arguments&) -> Made { return Value(); });
      };
      return Value::of(silent);
    });
  };
  return m;
}

}  // namespace

void add_function(Interpreter& in, Module& to, const std::string& name, std::size_t least, NativeFunction run) {
  to.attributes.set(name, in.native(name, [least, name, run = std::move(run)](Interpreter& with, Arguments& a) -> Made {
    if (a.placed.size() < least) return wrong(name + "() with " + std::to_string(a.placed.size()) + " arguments");
    return run(with, a);
  }));
}

std::optional<Value> standard_module(Interpreter& in, const std::string& name) {
  const auto made = [](Object* m) { return Value::of(m); };
  if (name == "math") return made(math_module(in));
  if (name == "functools") return made(functools_module(in));
  if (name == "operator") return made(operator_module(in));
  if (name == "itertools") return made(itertools_module(in));
  if (name == "collections" || name == "collections.abc") return made(collections(in, name));
  if (name == "typing" || name == "typing_extensions" || name == "abc" || name == "types") return made(hints(in, name));
  if (name == "numbers") return made(numbers_module(in));
  if (name == "numpy") return made(numpy_module(in));
  if (name == "os") return made(os_module(in));
  if (name == "re") return made(regex_module(in));
  if (name == "os.path") return made(os_module(in)->attributes.find("path")->object());
  if (name == "inspect") return made(inspect_module(in));
  if (std::ranges::find(outside_modules, name) != outside_modules.end()) return made(in.make<Outside>(name));
  if (name == "dataclasses") return made(dataclasses_module(in));
  if (name == "enum") return made(enum_module(in));
  if (name == "contextlib") return made(contexts_module(in));
  if (name == "copy") return made(copy_module(in));
  if (name == "warnings" || name == "logging") return made(silent_module(in, name));
  return std::nullopt;
}

}  // namespace convoy::python
