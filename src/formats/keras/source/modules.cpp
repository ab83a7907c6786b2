// What keras, keras.layers, tensorflow.keras and their like hold.
#include "containers/python/unread.h"
#include "containers/python/vector.h"
#include "formats/keras/catalogue/catalogue.h"
#include "formats/keras/merge_modes.h"
#include "formats/keras/source/free_size.h"
#include "formats/keras/source/library.h"
#include "formats/keras/source/signatures.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace convoy::keras {

namespace {

std::string camel(const std::string& name) {
  std::string made;
  bool up = true;
  for (const char c : name) {
    if (c == '_') {
      up = true;
      continue;
    }
    made += up && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    up = false;
  }
  return made;
}

bool is_operation_class(const std::string& name) {
  Layer layer;
  layer.class_name = name;
  layer.module = "keras.src.ops";
  return is_operation(layer);
}

constexpr std::array package_roots = std::to_array<std::string_view>(
    {"keras", "tensorflow.keras", "tf_keras", "tensorflow.python.keras", "keras.src", "tensorflow.compat.v1.keras",
     "keras.api", "keras.legacy", "keras.engine", "tensorflow.compat.v2.keras", "keras.api._v1.keras",
     "keras.api._v2.keras", "tensorflow.python.keras.api._v1.keras", "tensorflow.python.keras.api._v2.keras",
     "tensorflow._api.v1.keras", "tensorflow._api.v2.keras", "tensorflow.keras.api._v2.keras"});

constexpr std::array module_parts = std::to_array<std::string_view>({"layers",
                                                                     "models",
                                                                     "ops",
                                                                     "activations",
                                                                     "backend",
                                                                     "optimizers",
                                                                     "callbacks",
                                                                     "losses",
                                                                     "metrics",
                                                                     "regularizers",
                                                                     "initializers",
                                                                     "constraints",
                                                                     "utils",
                                                                     "saving",
                                                                     "keras",
                                                                     "nn",
                                                                     "math",
                                                                     "linalg",
                                                                     "image",
                                                                     "engine",
                                                                     "src",
                                                                     "core",
                                                                     "config",
                                                                     "mixed_precision",
                                                                     "convolutional",
                                                                     "api_export",
                                                                     "random",
                                                                     "file_utils",
                                                                     "operation_utils",
                                                                     "layer",
                                                                     "image_utils",
                                                                     "compat",
                                                                     "v1",
                                                                     "v2",
                                                                     "normalization",
                                                                     "pooling",
                                                                     "advanced_activations",
                                                                     "recurrent",
                                                                     "wrappers",
                                                                     "noise",
                                                                     "embeddings",
                                                                     "local",
                                                                     "topology",
                                                                     "conv_utils",
                                                                     "convolutional_recurrent",
                                                                     "generic_utils"});

// with backend.name_scope("..."): changes nothing but names inside graphs of TensorFlow.
class Context : public python::Object {
 public:
  std::string type_name() const override { return "context"; }
  Result<std::optional<Value>> attribute(Interpreter& in, const std::string& name) override {
    if (name == "__enter__") return in.native(name, [](Interpreter&, Arguments&) -> Made { return Value(); });
    return std::nullopt;
  }
};

// A decorator of a class or a function that says where it may be found, and nothing of what it computes.
Made registered(Interpreter& in, Arguments& given) {
  if (given.placed.size() == 1 && (given.placed[0].as<python::Class>() || given.placed[0].as<python::Function>()))
    return given.placed[0];
  return in.native("decorator", [](Interpreter&, Arguments& inner) -> Made {
    return inner.placed.empty() ? Made(Value()) : Made(inner.placed[0]);
  });
}

// keras.activations.get("relu")
Made activation_by_word(Interpreter& in, Arguments& given) {
  if (given.placed.size() != 1) return fail(Fault::Format, "activations.get() of other than one value");
  if (given.placed[0].is_none()) return in.text("linear");
  const auto* word = given.placed[0].as<python::Text>();
  if (!word) return given.placed[0];
  const auto all = in.import("keras.activations");  // the function, which may be called as well
  if (!all) return all;
  const auto found = in.find_attribute(*all, word->text);
  return found && *found ? Made(**found) : Made(given.placed[0]);
}

// keras.layers.merge: a function of Keras 1, and the module of those that came after it.
class MergeFunction : public python::Native {
 public:
  explicit MergeFunction(python::NativeFunction function) : Native("merge", std::move(function)) {}
  Result<std::optional<Value>> attribute(Interpreter& in, const std::string& word) override {
    const auto module = in.import("keras.layers.merge");
    if (!module) return std::unexpected(module.error());
    return in.find_attribute(*module, word);
  }
};

// Takes anything and says nothing: optimizers, callbacks, compile, summary.
// A class of what trains a model, from which programs derive their own; nothing of it is computed.
Value type_of_training(Interpreter& in, const std::string& name) {
  auto* made = in.make_class(name, {});
  made->attributes.set("__init__", in.native("__init__", [](Interpreter&, Arguments&) -> Made { return Value(); }));
  return Value::of(made);
}

Value silent(Interpreter& in, const std::string& name) {
  return in.native(name, [](Interpreter& with, Arguments&) -> Made { return with.text("nothing"); });
}

}  // namespace

// merge([a, b], mode="concat", concat_axis=1) of Keras 1.
Value SourceLibrary::merge_function(Interpreter& in) {
  return Value::of(in.make<MergeFunction>([this](Interpreter& with, Arguments& given) -> Made {
    const auto taken =
        python::bound(given, "inputs mode concat_axis dot_axes output_shape output_mask arguments name", 1, "merge");
    if (!taken) return std::unexpected(taken.error());
    const Value mode = (*taken)[1].value_or(with.text("sum"));
    Arguments made;
    if ((*taken)[7]) made.named.emplace_back("name", *(*taken)[7]);
    const auto* word = mode.as<python::Text>();
    std::string class_name = "Lambda";
    if (!word) {
      made.placed.push_back(mode);
      if ((*taken)[6]) made.named.emplace_back("arguments", *(*taken)[6]);
    } else {
      class_name = std::string(merging_class(word->text));
      if (class_name.empty())
        return fail(Fault::Unsupported,
                    "merge() by mode '" + word->text + "'; known are sum, mul, ave, max, concat, dot and functions");
    }
    if (class_name == "Concatenate" && (*taken)[2]) made.named.emplace_back("axis", *(*taken)[2]);
    if (class_name == "Dot") made.named.emplace_back("axes", (*taken)[3].value_or(Value::of(std::int64_t{-1})));
    const auto layer = with.call(*layer_class(with, class_name), std::move(made));
    return layer ? with.call(*layer, ValueList{*(*taken)[0]}) : layer;
  }));
}

Result<std::optional<Value>> SourceLibrary::function(Interpreter& in, const std::string& name, bool activation,
                                                     bool of_ops) {
  // add([a, b]), concatenate([a, b], axis=-1): a layer made and called at once.
  for (const std::string_view merging :
       {"add", "subtract", "multiply", "average", "maximum", "minimum", "concatenate", "dot"})
    if (name == merging && !activation)
      return in.native(name, [this, name](Interpreter& with, Arguments& given) -> Made {
        if (auto inputs = given.take("inputs"); inputs && given.placed.empty()) given.placed.push_back(*inputs);
        const auto* first = given.placed.empty() ? nullptr : given.placed[0].as<python::Sequence>();
        const bool of_tensors =
            first && std::ranges::any_of(first->items, [](const Value& one) { return one.as<SourceTensor>(); });
        const bool of_list = given.placed.size() == 1 || of_tensors;  // else a table of numbers and a tensor
        if (!of_list && name == "dot") {
          // Over the last axis of the first and the last but one of the second.
          const auto* second = given.placed.size() > 1 ? given.placed[1].as<SourceTensor>() : nullptr;
          if (second && second->type.rank() > 2)
            return fail(Fault::Unsupported, "dot() with a second tensor of more than two axes");
          return operate(with, "Matmul", given);
        }
        if (!of_list) return operate(with, camel(name), given);
        const auto type = layer_class(with, camel(name));
        Arguments made{{}, given.named};
        made.placed.insert(made.placed.end(), given.placed.begin() + 1, given.placed.end());
        const auto layer = with.call(*type, std::move(made));
        if (!layer) return layer;
        return with.call(*layer, ValueList{given.placed[0]});
      });
  // activations.gelu is the exact one, ops.gelu is not.
  const CatalogueRow* word = of_ops ? nullptr : catalogued("activations", name);
  const CatalogueRow* other = catalogued("code", name);
  const std::string class_name(word    ? first_name(*word, "activations")
                               : other ? first_name(*other, "ops")
                                       : camel(name));
  if (!is_operation_class(class_name)) return std::nullopt;
  const bool is_another = of_ops && name == "gelu";  // than the activation that a file of Keras calls so
  return in.native(is_another ? "ops." + name : name,
                   [this, name, class_name](Interpreter& with, Arguments& given) -> Made {
    // TensorFlow's mean of whole numbers is whole, that of keras.ops is not.
                     const auto* first = given.placed.empty() ? nullptr : given.placed[0].as<SourceTensor>();
                     if (name == "reduce_mean" && first && !is_floating(first->type.dtype))
                       return operate(with, "ReduceMean", given);
                     return operate(with, class_name, given);
                   });
}

Result<std::optional<Value>> SourceLibrary::implied(Interpreter& in, const std::string& name) {
  for (const auto& [word, full] : {std::pair<const char*, const char*>{"keras", "keras"},
                                   {"layers", "keras.layers"},
                                   {"tf", "tensorflow"},
                                   {"models", "keras.models"},
                                   {"K", "keras.backend"},
                                   {"tensorflow", "tensorflow"}})
    if (name == word) {
      auto made = in.import(full);
      if (!made) return pass(made);
      return *made;
    }
  if (auto layer = layer_class(in, name)) return layer;
  if (auto layer = composed(in, name); !layer || *layer) return layer;
  if (name == "merge") return merge_function(in);
  // from keras.layers import *
  if (name == "add" || name == "subtract" || name == "multiply" || name == "average" || name == "maximum" ||
      name == "minimum" || name == "concatenate" || name == "dot")
    return function(in, name, false, false);
  return std::nullopt;
}

// keras.backend, whose words keras itself has but for one.
std::optional<Value> SourceLibrary::backend_word(Interpreter& in, const std::string& word, bool is_keras) {
  if (word == "image_data_format")
    return in.native(word, [this](Interpreter& with, Arguments&) -> Made {
      return with.text(channels_first_ ? "channels_first" : "channels_last");
    });
  if (word == "image_dim_ordering")  // Keras 1
    return in.native(
        word, [this](Interpreter& with, Arguments&) -> Made { return with.text(channels_first_ ? "th" : "tf"); });
  if (word == "set_image_data_format" || word == "set_image_dim_ordering")
    return in.native(word, [this, word](Interpreter& with, Arguments& given) -> Made {
      const Value argument = given.placed.empty() ? given.take("data_format").value_or(Value()) : given.placed[0];
      const auto* text = argument.as<python::Text>();
      const bool first = text && (text->text == "channels_first" || text->text == "th");
      if (!first && !(text && (text->text == "channels_last" || text->text == "tf")))
        return with.forbidden(word + "() of other than 'channels_first' or 'channels_last'");
      channels_first_ = first;
      return Value();
    });
  if (word == "set_floatx")
    return in.native(word, [](Interpreter& with, Arguments& given) -> Made {
      const auto* text = given.placed.empty() ? nullptr : given.placed[0].as<python::Text>();
      if (!text || text->text != "float32") return with.forbidden("set_floatx() of other than 'float32' is not read");
      return Value();
    });
  if (word == "set_learning_phase" || word == "set_session" || word == "manual_variable_initialization")
    return silent(in, word);
  if (word == "epsilon") return in.native(word, [](Interpreter&, Arguments&) -> Made { return Value::of(1e-7); });
  if (word == "floatx")
    return in.native(word, [](Interpreter& with, Arguments&) -> Made { return with.text("float32"); });
  if (word == "int_shape")
    return in.native(word, [](Interpreter& with, Arguments& given) -> Made {
      return given.placed.empty() ? Made(fail(Fault::Format, "int_shape() of nothing"))
                                  : with.attribute(given.placed[0], "shape");
    });
  if (word == "backend" && !is_keras)
    return in.native(word, [](Interpreter& with, Arguments&) -> Made { return with.text("tensorflow"); });
  if (word == "clear_session") return silent(in, word);
  if (word == "name_scope")
    return in.native(word, [](Interpreter& with, Arguments&) -> Made { return Value::of(with.make<Context>()); });
  if (word == "get_uid")
    return in.native(word, [this](Interpreter& with, Arguments& given) -> Made {
      auto prefix = given.placed.empty() ? Result<std::string>(std::string()) : with.string_of(given.placed[0]);
      if (!prefix) return pass(prefix);
      return Value::of(static_cast<std::int64_t>(++uids_[*prefix]));
    });
  if (word == "is_keras_tensor")
    return in.native(word, [](Interpreter&, Arguments& given) -> Made {
      return Value::of(!given.placed.empty() && given.placed[0].as<SourceTensor>());
    });
  return std::nullopt;
}

// normalize_data_format(value): the word itself, else that of the whole program.
Made SourceLibrary::data_format(Interpreter& in, const Arguments& given) {
  const Value said = !given.placed.empty() ? given.placed[0] : given.named.empty() ? Value() : given.named[0].second;
  if (said.is_none()) return in.text(channels_first_ ? "channels_first" : "channels_last");
  const auto* text = said.as<python::Text>();
  std::string word = text ? text->text : "";
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (word == "channels_first" || word == "channels_last") return in.text(word);
  return fail(Fault::Format, "data_format is neither 'channels_first' nor 'channels_last'");
}

// What a module says of itself, sets, or has no meaning for numbers.
std::optional<Value> SourceLibrary::plain_word(Interpreter& in, const ModulePart& part, const std::string& word) {
  constexpr std::array<std::string_view, 8> without_meaning{"utils.file_utils", "optimizers", "callbacks",
                                                            "losses",           "metrics",    "regularizers",
                                                            "initializers",     "constraints"};
  if (part.is("initializers") || part.name == "tensorflow.initializers" || word.ends_with("_initializer"))
    if (auto made = initialiser(in, word)) return made;
  if (word == "get_file")  // nothing is fetched; what reads it wants --weights
    return in.native(word, [](Interpreter& with, Arguments&) -> Made {
      return Value::of(with.make<python::Outside>("get_file()"));
    });
  if (word == "InputSpec") return silent(in, word);
  if (word == "normalize_data_format" || word == "standardize_data_format")
    return in.native(word, [this](Interpreter& with, Arguments& given) { return data_format(with, given); });
  if (word == "shape" && (part.tensorflow || part.is("ops") || part.is("backend")))
    return in.native(word, [is_tensor = !part.is("ops")](Interpreter& with, Arguments& given) -> Made {
      const Value of =
          given.placed.empty() ? given.take("input").value_or(given.take("x").value_or(Value())) : given.placed[0];
      auto* tensor = of.as<SourceTensor>();
      auto sizes = tensor ? Made(running_sizes(with, *tensor)) : with.attribute(of, "shape");
      const auto* all = sizes ? sizes->as<python::Sequence>() : nullptr;
      // That of TensorFlow and of Keras 2 is a tensor, that of keras.ops a tuple: one is multiplied, the other repeated.
      return is_tensor && all ? Made(Value::of(with.make<python::Vector>(all->items))) : sizes;
    });
  if (word == "SeedGenerator" || word == "set_random_seed") return seeding(in, word);
  const bool is_type = !word.empty() && word[0] >= 'A' && word[0] <= 'Z';
  if (is_type && (part.is("callbacks") || part.is("losses") || part.is("metrics") ||
                  (part.is("utils") && (word == "Sequence" || word == "PyDataset"))))
    return type_of_training(in, word);
  if (std::ranges::any_of(without_meaning, [&](std::string_view one) { return part.is(one); })) return silent(in, word);
  if (part.tensorflow &&
      (word == "float32" || word == "int32" || word == "float16" || word == "int64" || word == "bool"))
    return in.text(word);
  if (part.is("backend") || part.is("config") || part.rest.empty())
    if (auto known = backend_word(in, word, part.rest.empty())) return known;
  if (word == "register_keras_serializable" || word == "function" || word == "keras_export")
    return in.native(word, registered);
  if (part.tensorflow && (word == "device" || word == "name_scope" || word == "variable_scope"))
    return in.native(word, [](Interpreter& inner, Arguments&) -> Made { return Value::of(inner.make<Context>()); });
  return std::nullopt;
}

Result<std::optional<Value>> SourceLibrary::word_of_module(Interpreter& in, const ModulePart& part,
                                                           const std::string& word) {
  const auto imported = [&](const std::string& name) -> Result<std::optional<Value>> {
    auto inner = in.import(name);
    if (!inner) return pass(inner);
    return *inner;
  };
  if (auto known = plain_word(in, part, word)) return known;
  if (part.tensorflow && word == "keras") return imported("tensorflow.keras");
  const bool activation = part.is("activations"), of_ops = part.is("ops");
  if (!part.tensorflow && !activation && !of_ops)
    if (auto found = layer_class(in, word)) return found;
  if (part.rest == "layers" && word == "merge") return merge_function(in);
  const bool is_resize_of_1 = part.name == "tensorflow.compat.v1.image" && word == "resize";
  for (const auto& [is_there, prefix] :
       {std::pair{part.is("layers"), ""}, std::pair{part.tensorflow, "tf."}, std::pair{part.is("backend"), "K."}})
    if (is_there)
      if (auto found = composed(in, prefix + (is_resize_of_1 ? "resize_images" : word)); !found || *found) return found;
  if (of_ops)
    if (auto found = composed_operation(in, word); !found || *found) return found;
  // What is set for the whole program is known, or ends it: what is read over would change every layer behind it.
  if ((part.is("backend") || part.is("config") || part.is("mixed_precision")) && word.starts_with("set_"))
    return in.native(word, [word, name = part.name](Interpreter& inner, Arguments&) -> Made {
      return inner.forbidden("'" + name + "." + word + "' is not read, and what it sets may change the model");
    });
  if (part.tensorflow || of_ops || part.is("backend") || activation || part.is("layers")) {
    // ops.concatenate joins along the first axis, layers.concatenate along the last.
    auto found = function(in, word, activation || part.tensorflow || (of_ops && word == "concatenate"), of_ops);
    if (!found || *found) return found;
  }
  // Layers of data alone: keras.preprocessing has no networks.
  const bool is_of_layers = part.is("layers") && (word == "experimental" || word == "preprocessing");
  if (is_of_layers || std::ranges::find(module_parts, word) != module_parts.end())
    return imported(part.name + "." + word);
  return std::nullopt;
}

Result<std::optional<Value>> SourceLibrary::module(Interpreter& in, const std::string& name) {
  prepare(in);
  ModulePart part{name, {}, false};
  bool ours = false;
  for (const std::string_view root : package_roots)
    if (name == root || name.starts_with(std::string(root) + ".")) {
      ours = true;
      part.rest = name.size() > root.size() ? name.substr(root.size() + 1) : "";
    }
  part.tensorflow = !ours && (name == "tensorflow" || name.starts_with("tensorflow."));
  if (!ours && !part.tensorflow) return std::nullopt;
  // The networks that come with Keras are read from their files, which lie in its own package.
  if (part.is("applications")) {
    if (name.starts_with("keras")) return std::nullopt;
    auto own = in.import("keras." + part.rest);
    if (!own) return pass(own);
    return *own;
  }
  auto* made = in.make<python::Module>(name);
  if (part.is("activations")) made->attributes.set("get", in.native("get", activation_by_word));
  made->attributes.set("__version__", in.text(part.tensorflow ? "2.21.0" : source_version));
  made->more = [this, part](Interpreter& with, const std::string& word) { return word_of_module(with, part, word); };
  return Value::of(made);
}

}  // namespace convoy::keras
