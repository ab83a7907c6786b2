#include "formats/arrays.h"

#include "containers/python/modules.h"
#include "containers/python/vector_types.h"
#include "formats/keras/source/free_size.h"
#include "formats/tf/functions.h"
#include "formats/torch/source/array.h"
#include "formats/torch/source/functions.h"

#include <algorithm>

namespace convoy {

using python::Arguments;
using python::Interpreter;
using Made = Result<python::Value>;

namespace {

constexpr Size most_known = 65536;  // numbers of an array that is held number by number

bool holds(const Arguments& given, const std::function<bool(const python::Value&)>& is_meant) {
  const auto any = [&](const python::Value& v) {
    const auto* all = v.as<python::Sequence>();
    return is_meant(v) || (all && std::ranges::any_of(all->items, is_meant));
  };
  return std::ranges::any_of(given.placed, any) ||
         std::ranges::any_of(given.named, [&](const auto& one) { return any(one.second); });
}

bool of_keras_tensors(const Arguments& given) {
  return holds(given, [](const python::Value& v) { return v.as<keras::SourceTensor>() || v.as<keras::FreeSize>(); });
}
bool of_arrays(const Arguments& given) {
  return holds(given, [](const python::Value& v) { return v.as<torch::SourceTensor>() != nullptr; });
}

// Modules of Keras that have functions of arrays as well.
bool of_keras_functions(const std::string& module) {
  return module.ends_with("keras.ops") || module.ends_with("keras.backend") || module == "keras.ops.numpy";
}

// "tensorflow.nn" -> "nn.", "keras.ops" -> ""
std::string front_of(const std::string& module) {
  constexpr std::string_view root = "tensorflow";
  const bool is_root = module.size() == root.size() || of_keras_functions(module);
  return is_root ? "" : module.substr(root.size() + 1) + ".";
}

// math.sin and linalg.matmul go by their last word.
std::string plain(const std::string& name) {
  return name.starts_with("math.") || name.starts_with("linalg.") ? name.substr(name.find('.') + 1) : name;
}

// By the rows that read TensorFlow's own words.
Made by_row(torch::Tracer& tracer, Interpreter& in, const FunctionRow& row, const Arguments& given) {
  auto named = torch::named_arguments(in, given, row.parameters, std::string(row.name));
  if (!named) return pass(named);
  for (auto& [word, value] : *named) {
    const bool is_tensor = word == "input" || word == "filters" || word == "filter" || word == "value" || word == "x" ||
                           word == "tensor" || word == "features";
    if (!is_tensor) continue;
    auto array = torch::as_array(tracer, in, value);
    if (!array) return array;
    value = *array;
  }
  auto ready = torch::prepared(tracer, in, *named);
  if (!ready) return pass(ready);
  const auto values = tracer.call(in, row, ready->plain, std::move(ready->tensors));
  if (!values) return std::unexpected(values.error());
  auto made = torch::answered(tracer, in, *values, -1, false);
  return made ? torch::as_array(tracer, in, *made) : made;
}

}  // namespace

Made ArrayLibrary::call(Interpreter& in, const std::string& name, Arguments& given,
                        const std::optional<python::Value>& of_keras) {
  torch::Tracer& tracer = torch_.tracer();
  if (of_keras && of_keras_tensors(given)) return in.call(*of_keras, std::move(given));
  const FunctionRow* row = row_of(tf::functions(), name);
  if (row && of_arrays(given)) return by_row(tracer, in, *row, given);
  if (const auto function = torch::array_function(tracer, in, plain(name))) return in.call(*function, std::move(given));
  if (of_keras) return in.call(*of_keras, std::move(given));
  return fail(Fault::Unsupported, "tf." + name + "() of arrays is not known here");
}

Result<std::optional<python::Value>> ArrayLibrary::member(Interpreter& in, const std::string& module,
                                                          const std::string& word) {
  if (word == "newaxis") return python::Value();
  const std::string name = front_of(module) + word;
  auto inner = keras_.module(in, module);
  if (!inner) return inner;
  std::optional<python::Value> of_keras;
  if (*inner) {
    auto found = in.find_attribute(**inner, word);
    if (!found) return found;
    of_keras = *found;
  }
  const bool is_row = row_of(tf::functions(), name) != nullptr;
  const bool is_plain = torch::array_function(torch_.tracer(), in, plain(name)).has_value();
  for (const char* part : {"nn", "math", "image", "random", "linalg"})
    if (word == part && module == "tensorflow") {
      auto made = in.import("tensorflow." + word);
      if (!made) return pass(made);
      return *made;
    }
  const bool is_function = of_keras && (of_keras->as<python::Native>() || of_keras->as<python::Function>());
  if (!is_row && !is_plain && !(is_function && module != "tensorflow")) return of_keras;
  if (of_keras && !is_function) return of_keras;
  const auto* native = of_keras ? of_keras->as<python::Native>() : nullptr;
  return in.native(native ? native->name : word, [this, name, of_keras](Interpreter& with, Arguments& given) {
    return call(with, name, given, of_keras);
  });
}

// Whether so many numbers are asked for that they are held as a tensor, or as many as are not known.
bool is_large(const std::string& function, const Arguments& given) {
  constexpr Size most = most_known;
  if (!torch::makes_numbers(function) || function.ends_with("_like")) return false;
  const auto named = std::ranges::find(given.named, "shape", &std::pair<std::string, python::Value>::first);
  if (given.placed.empty() && named == given.named.end()) return false;
  const python::Value shape = given.placed.empty() ? named->second : given.placed[0];
  const auto* all = shape.as<python::Sequence>();
  Size count = 1;
  for (const python::Value& one : all ? all->items : python::ValueList{shape}) {
    if (!one.is_whole()) return true;
    count = checked_multiply(count, one.whole()).value_or(most + 1);
  }
  return count > most || count < 1;
}

bool is_known_array(const python::Value& v) { return v.as<python::Vector>() != nullptr; }

// Arrays of numbers that are known as tensors of their own types.
Made as_tensors(torch::Tracer& tracer, Interpreter& in, const python::Value& value) {
  if (is_known_array(value)) {
    const auto made = torch::filled(tracer, in, "tensor", Arguments{{value}, {}});
    return made ? torch::as_array(tracer, in, *made) : made;
  }
  const auto* all = value.as<python::Sequence>();
  if (!all || std::ranges::none_of(all->items, is_known_array)) return value;
  python::ValueList items;
  for (const python::Value& one : all->items) {
    auto made = as_tensors(tracer, in, one);
    if (!made) return made;
    items.push_back(*made);
  }
  return in.list(std::move(items));
}

// And back, where the numbers are known.
Made as_known(torch::Tracer& tracer, Interpreter& in, Made made) {
  const auto numbers = made ? torch::known_numbers(tracer, *made) : std::nullopt;
  if (!numbers || made->is_number() || numbers->count() > most_known) return made;
  const auto listed = in.attribute(*made, "tolist"), type = in.attribute(*made, "dtype");
  if (!listed || !type) return made;
  const auto all = in.call(*listed, python::ValueList{});
  const auto element = python::element_type_of(*type);
  return all && element ? python::all_held(in, *all, *element) : made;
}

// A function of tensors on arrays that are known.
Made through_tensors(torch::Tracer& tracer, Interpreter& in, const python::Value& function, Arguments given) {
  const bool are_known = holds(given, is_known_array);
  for (python::Value& one : given.placed) {
    auto made = as_tensors(tracer, in, one);
    if (!made) return made;
    one = *made;
  }
  for (auto& [word, value] : given.named) {
    auto made = as_tensors(tracer, in, value);
    if (!made) return made;
    value = *made;
  }
  auto made = in.call(function, std::move(given));
  return are_known ? as_known(tracer, in, std::move(made)) : made;
}

// numpy, its functions on arrays, and numpy.random.
Result<std::optional<python::Value>> ArrayLibrary::numpy(Interpreter& in, const std::string& name) {
  torch::Tracer& tracer = torch_.tracer();
  auto* made = in.make<python::Module>(name);
  if (name == "numpy.random") {
    made->more = [&tracer](Interpreter& with, const std::string& word) -> Result<std::optional<python::Value>> {
      if (word == "RandomState" || word == "default_rng")
        return with.native(word, [](Interpreter& in_it, Arguments&) { return in_it.import("numpy.random"); });
      if (word == "seed") return with.native(word, [](Interpreter&, Arguments&) -> Made { return python::Value(); });
      return torch::array_function(tracer, with, "random." + word);
    };
    return python::Value::of(made);
  }
  const auto known = python::standard_module(in, "numpy");
  made->attributes = known->as<python::Module>()->attributes;
  // Functions on lists stay where no tensor is among their arguments.
  for (const auto& [word, value] : known->as<python::Module>()->attributes.all())
    if (const auto function = value.as<python::Native>() ? torch::array_function(tracer, in, word) : std::nullopt)
      made->attributes.set(word, in.native(word, [&tracer, word, plain = value, function = *function](
                                                     Interpreter& with, Arguments& given) {
        const bool as_tensor = of_arrays(given) || is_large(word, given);
        return as_tensor ? through_tensors(tracer, with, function, std::move(given))
                         : with.call(plain, std::move(given));
      }));
  made->more = [&tracer](Interpreter& with, const std::string& word) -> Result<std::optional<python::Value>> {
    if (word == "random") {
      auto inner = with.import("numpy.random");
      if (!inner) return pass(inner);
      return *inner;
    }
    const auto function = torch::array_function(tracer, with, word);
    if (!function) return std::nullopt;
    return with.native(word, [&tracer, function = *function](Interpreter& inner, Arguments& given) {
      return through_tensors(tracer, inner, function, std::move(given));
    });
  };
  return python::Value::of(made);
}

Result<std::optional<python::Value>> ArrayLibrary::module(Interpreter& in, const std::string& name) {
  if (name == "numpy" || name == "numpy.random") return numpy(in, name);
  const bool ours = name == "tensorflow" || name == "tensorflow.nn" || name == "tensorflow.math" ||
                    name == "tensorflow.image" || name == "tensorflow.random" || name == "tensorflow.linalg";
  if (!ours && !of_keras_functions(name)) return std::nullopt;
  auto* made = in.make<python::Module>(name);
  made->attributes.set("__version__", in.text("2.21.0"));
  made->more = [this, name](Interpreter& with, const std::string& word) { return member(with, name, word); };
  return python::Value::of(made);
}

}  // namespace convoy
