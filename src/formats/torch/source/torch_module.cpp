// What each word of PyTorch's modules is.
#include "formats/torch/source/torch_module.h"

#include "base/words.h"
#include "containers/python/modules.h"
#include "containers/python/unread.h"
#include "formats/torch/source/loading.h"
#include "formats/torch/source/parameters.h"
#include "formats/torch/source/spectral_norm.h"
#include "formats/torch/source/stored_tensor.h"
#include "formats/torch/source/written_out.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::torch {

namespace {

using Found = Result<std::optional<Value>>;

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
                            Named{"int8", "int8"},
                            Named{"int16", "int16"},
                            Named{"short", "int16"},
                            Named{"uint8", "uint8"},
                            Named{"uint16", "uint16"},
                            Named{"uint32", "uint32"},
                            Named{"uint64", "uint64"},
                            Named{"bool", "bool"},
                            Named{"channels_last", "channels_last"},
                            Named{"contiguous_format", "contiguous_format"},
                            Named{"preserve_format", "preserve_format"},
                            Named{"channels_last_3d", "channels_last_3d"},
                            Named{"strided", "strided"}};

// torch.autocast(): a context and a decorator that change nothing here.
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

// torch.random.fork_rng(): what is drawn inside is drawn once more behind it, which is not followed.
class ForkedDraws : public Context {
 public:
  explicit ForkedDraws(Tracer& in) : tracer_(in) {}
  Result<std::optional<Value>> attribute(Interpreter& in, const std::string& name) override {
    if (name != "__exit__") return Context::attribute(in, name);
    return in.native(name, [this](Interpreter&, Arguments&) -> Made {
      tracer_.draws.push_back({Tracer::Draw::What::Lose, {}, {}, {}, 0, {}});
      return Value();
    });
  }

 private:
  Tracer& tracer_;
};

// torch.no_grad() and its like: whether gradients are kept, from where it is entered to where it is left. Outside of any
// module it changes nothing.
class GradientMode : public Context {
 public:
  GradientMode(Tracer& in, bool keeps) : tracer_(in), keeps_(keeps) {}
  Result<std::optional<Value>> attribute(Interpreter& in, const std::string& name) override {
    if (name == "__enter__")
      return in.native(name, [this](Interpreter&, Arguments&) -> Made {
        before_.push_back(begun_.value_or(tracer_.keeps_gradients));
        set();
        return Value();
      });
    if (name == "__exit__")
      return in.native(name, [this](Interpreter&, Arguments&) -> Made {
        if (before_.empty()) return Value();
        tracer_.keeps_gradients = before_.back();
        before_.pop_back();
        return Value();
      });
    return std::nullopt;
  }
  Made call(Interpreter& in, Arguments& given) override {
    if (auto* function = given.placed.empty() ? nullptr : given.placed[0].as<python::Function>())
      function->around.insert(function->around.begin(), Value::of(this));
    return Context::call(in, given);
  }
  // As a function does it, whose context, if it is one, ends with what was before.
  void begin() {
    begun_ = tracer_.keeps_gradients;
    set();
  }

 private:
  void set() {
    if (!tracer_.calling.empty()) tracer_.keeps_gradients = keeps_;
  }
  Tracer& tracer_;
  const bool keeps_;
  std::optional<bool> begun_;
  std::vector<bool> before_;
};

// no_grad(), @no_grad(), @no_grad; set_grad_enabled(False), which acts as soon as it is called.
Value gradient_mode(Tracer& tracer, Interpreter& in, const std::string& word) {
  return in.native(word, [&tracer, word](Interpreter& with, Arguments& given) -> Made {
    const bool decorates = !given.placed.empty() && given.placed[0].as<python::Function>();
    const auto said = given.placed.empty() || decorates ? Result<bool>(true) : with.truth(given.placed[0]);
    if (!said) return std::unexpected(said.error());
    const bool keeps =
        word == "enable_grad" || (word == "set_grad_enabled" && *said) || (word == "inference_mode" && !*said);
    auto* mode = with.make<GradientMode>(tracer, keeps);
    if (decorates) return mode->call(with, given);
    if (word == "set_grad_enabled") mode->begin();
    return Value::of(mode);
  });
}

// Left as it is: torch.jit.script.
Made unchanged(Interpreter& in, Arguments& given) {
  if (!given.placed.empty()) return given.placed[0];
  return in.native("decorator", [](Interpreter&, Arguments& a) -> Made {
    return a.placed.empty() ? Made(Value()) : Made(a.placed[0]);
  });
}

// torch.compile and DataParallel, which put a word in front of the names of weights.
Value wrapping(Tracer& tracer, Interpreter& in, const std::string& word) {
  return in.native(word, [&tracer](Interpreter& with, Arguments& given) {
    tracer.is_wrapped = true;
    return unchanged(with, given);
  });
}

// What trains a model, feeds it, saves it: read over.
bool is_training(const std::string& name) {
  return std::ranges::any_of(
      std::array<std::string_view, 11>{"torch.optim", "torch.utils.data", "torch.utils.tensorboard", "torch.cuda",
                                       "torch.backends", "torch.distributed", "torch.onnx", "torch.random",
                                       "torch.multiprocessing", "torch.hub", "torch.utils.model_zoo"},
      [&](std::string_view one) { return name == one || name.starts_with(std::string(one) + "."); });
}

python::Module* training_module(Interpreter& in, const std::string& name) {
  auto* made = in.make<python::Module>(name);
  if (name == "torch.utils.data")
    for (const char* word : {"Dataset", "IterableDataset", "Sampler"})
      made->attributes.set(word, Value::of(in.make_class(word, {})));
  if (name == "torch.cuda" || name.starts_with("torch.backends.")) {  // no such device
    for (const char* word : {"is_available", "is_bf16_supported", "is_built"})
      made->attributes.set(word, in.native(word, [](Interpreter&, Arguments&) -> Made { return Value::of(false); }));
    made->attributes.set("device_count", in.native("device_count", [](Interpreter&, Arguments&) -> Made {
      return Value::of(std::int64_t{0});
    }));
  }
  if (name == "torch.backends")
    for (const char* device : {"mps", "cudnn", "cuda"})
      made->attributes.set(device, Value::of(training_module(in, name + "." + device)));
  made->more = [name](Interpreter& with, const std::string& word) -> Result<std::optional<Value>> {
    return Value::of(with.make<python::Outside>(name + "." + word));
  };
  return made;
}

Found inner(Interpreter& in, const std::string& full) {
  auto found = in.import(full);
  if (!found) return pass(found);
  return *found;
}

Value silent(Interpreter& in, const std::string& word) {
  return in.native(word, [](Interpreter&, Arguments&) -> Made { return Value(); });
}

// torch.device("cuda:0"): whatever it is called, nothing depends on it.
python::Class* device_class(Interpreter& in) {
  python::Class* made = in.make_class("device", {});
  made->attributes.set("__init__", in.native("__init__", [](Interpreter& with, Arguments& given) -> Made {
    auto* self = given.placed.empty() ? nullptr : given.placed[0].as<Instance>();
    if (!self) return fail(Fault::Format, "torch.device() without itself");
    self->attributes.set("type", with.text("cpu"));
    self->attributes.set("index", Value());
    return Value();
  }));
  return made;
}

// torch.Tensor(...), torch.LongTensor(...): a list is its numbers; whole numbers are sizes of what nothing is known of.
Value tensor_class(Tracer& tracer, Interpreter& in, const std::string& type) {
  return in.native("Tensor", [&tracer, type](Interpreter& with, Arguments& given) -> Made {
    const bool listed = given.placed.size() == 1 && given.placed[0].as<Sequence>();
    given.named.emplace_back("dtype", with.text(type));
    if (given.placed.empty()) return fail(Fault::Unsupported, "torch.Tensor() without numbers or sizes");
    return call_function_named(tracer, with, listed ? "tensor" : "empty", std::move(given));
  });
}

constexpr std::array tensor_types{Named{"Tensor", "float32"}, Named{"FloatTensor", "float32"},
                                  Named{"DoubleTensor", "float64"}, Named{"LongTensor", "int64"},
                                  Named{"BoolTensor", "bool"}};

// Settings of the process that no number of a model follows from.
constexpr std::array<std::string_view, 8> settings_of_no_number{"set_num_threads",
                                                                "set_num_interop_threads",
                                                                "set_printoptions",
                                                                "set_deterministic_debug_mode",
                                                                "set_float32_matmul_precision",
                                                                "set_warn_always",
                                                                "set_default_device",
                                                                "use_deterministic_algorithms"};

// Words of torch that are no functions of tensors.
Found torch_word(Tracer& tracer, Interpreter& in, const std::string& word) {
  for (const std::string_view part : {"nn", "jit", "linalg", "special", "utils", "autograd", "hub", "fx", "backends",
                                      "optim", "cuda", "distributed", "onnx", "random", "multiprocessing", "_C"})
    if (word == part) return inner(in, "torch." + word);
  if (word == "pi") return Value::of(3.141592653589793);
  if (word == "inf") return Value::of(std::numeric_limits<double>::infinity());
  if (word == "nan") return Value::of(std::numeric_limits<double>::quiet_NaN());
  for (const Named& one : tensor_types)
    if (word == one.word) return tensor_class(tracer, in, std::string(one.value));
  if (word == "Size") return in.builtins["tuple"];
  if (word == "no_grad" || word == "inference_mode" || word == "enable_grad" || word == "set_grad_enabled")
    return gradient_mode(tracer, in, word);
  if (word == "autocast")
    return in.native(word, [](Interpreter& with, Arguments& given) -> Made {
      auto* context = with.make<Context>();
      return context->call(with, given);
    });
  if (word == "compile") return wrapping(tracer, in, word);
  if (word == "load") return loading(tracer, in);
  if (word == "save")
    return in.native(word, [](Interpreter& with, Arguments&) -> Made {
      return Value::of(with.make<python::Outside>("torch.save()"));
    });
  if (word == "manual_seed")
    return in.native(word, [&tracer](Interpreter& with, Arguments& given) -> Made {
      if (!given.placed.empty() && given.placed[0].is_whole())
        tracer.draws.push_back(
            {Tracer::Draw::What::Restart, {}, {}, {}, static_cast<std::uint64_t>(given.placed[0].whole()), {}});
      return Value::of(with.make<Context>());
    });
  if (is_among(settings_of_no_number, word)) return silent(in, word);
  if (word == "set_default_dtype")
    return in.native(word, [&tracer](Interpreter&, Arguments& given) -> Made {
      const auto* type = given.placed.empty() ? nullptr : given.placed[0].as<python::Text>();
      if (!type) return fail(Fault::Unsupported, "torch.set_default_dtype() of a type that is not known");
      if (type->text != "float32") tracer.default_type = type->text;
      return Value();
    });
  if (word == "device") return Value::of(device_class(in));
  if (word == "Generator") return Value::of(in.make<python::Outside>("torch.Generator"));
  return std::nullopt;
}

// _pair(n) of torch.nn.modules.utils and its like.
std::optional<Value> repeated_word(Interpreter& in, const std::string& word) {
  constexpr std::array<std::string_view, 4> repeats{"_single", "_pair", "_triple", "_quadruple"};
  const auto count = std::ranges::find(repeats, word) - repeats.begin();
  if (count == std::ssize(repeats)) return std::nullopt;
  return in.native(word, [count](Interpreter& with, Arguments& given) -> Made {
    if (given.placed.size() != 1) return fail(Fault::Format, "one number, or a list of them, is repeated");
    if (!given.placed[0].as<Sequence>())
      return with.tuple(ValueList(static_cast<std::size_t>(count) + 1, given.placed[0]));
    return with.call(with.builtins["tuple"], std::move(given.placed));
  });
}

Found nn_word(Tracer& tracer, ModuleClasses& classes, Interpreter& in, const std::string& word) {
  if (word == "Parameter")
    return in.native(word,
                     [&tracer](Interpreter& with, Arguments& given) { return parameter_of(tracer, with, given); });
  if (word == "Buffer")
    return in.native(word, [&tracer](Interpreter& with, Arguments& given) -> Made {
      const auto taken = python::bound(given, "data persistent", 1, "Buffer");
      if (!taken) return std::unexpected(taken.error());
      auto* tensor = (*taken)[0]->as<SourceTensor>();
      if (!tensor) return fail(Fault::Unsupported, "a buffer of what is no tensor");
      const auto persistent = (*taken)[1] ? with.truth(*(*taken)[1]) : Result<bool>(true);
      if (!persistent) return std::unexpected(persistent.error());
      return buffer_of(tracer, with, *tensor, *persistent);
    });
  if (auto found = classes.named(in, word)) return found;
  if (auto found = classes.composed(in, word); !found || *found) return found;
  if (auto found = repeated_word(in, word)) return *found;
  if (word == "DataParallel") return wrapping(tracer, in, word);
  if (word.ends_with("Loss")) return Value::of(in.make<python::Outside>("torch.nn." + word));
  for (const std::string_view part : {"functional", "init", "modules", "parameter", "utils"})
    if (word == part) return inner(in, "torch.nn." + word);
  for (const std::string_view part :
       {"activation", "batchnorm", "container", "conv", "instancenorm", "linear", "module", "normalization", "pooling"})
    if (word == part) return inner(in, "torch.nn.modules." + word);
  return std::nullopt;
}

// torch.nn.utils.rnn.
Found packing_word(Interpreter& in, const std::string& word) {
  if (word != "pack_padded_sequence" && word != "pad_packed_sequence" && word != "PackedSequence") return std::nullopt;
  auto found = written_out(in, word);
  return found ? *std::move(found) : Found();
}

// torch.nn.utils. Norms and directions become plain weights when a file is bound; at the start they are the plain weights.
Found nn_utils_word(Tracer& tracer, Interpreter& in, const std::string& word) {
  if (word == "weight_norm")
    return in.native(word, [&tracer](Interpreter&, Arguments& given) { return weight_norm(tracer, given); });
  if (word == "remove_weight_norm" || word == "remove_parametrizations")
    return in.native(word, [](Interpreter&, Arguments& given) { return without_weight_norm(given); });
  if (word == "remove_spectral_norm") return in.native(word, unchanged);
  if (word == "spectral_norm")
    return in.native(word, [&tracer](Interpreter& with, Arguments& given) { return spectral(tracer, with, given); });
  if (word == "parametrizations" || word == "parametrize" || word == "rnn") return inner(in, "torch.nn.utils." + word);
  return repeated_word(in, word);  // torch.nn.modules.utils, by way of torch.nn.modules
}

Found jit_word(ModuleClasses& classes, Interpreter& in, const std::string& word) {
  if (word == "ScriptModule") return Value::of(classes.module_class(in));
  if (word == "load") return std::nullopt;
  if (word == "is_scripting" || word == "is_tracing")
    return in.native(word, [](Interpreter&, Arguments&) -> Made { return Value::of(false); });
  return in.native(word, unchanged);
}

// What a word of the module of this name is.
Found word_of(Tracer& tracer, ModuleClasses& classes, Interpreter& in, const std::string& name,
              const std::string& word) {
  if (name == "torch")
    for (const Named& one : dtypes)
      if (word == one.word) return in.text(std::string(one.value), "torch." + std::string(one.value));
  const bool is_part = name == "torch" && word == "cuda";  // a method of tensors is called so, too
  if ((name == "torch" || name == "torch.nn.functional") && !is_part)
    if (auto found = function_named(tracer, in, word)) return found;
  if (name == "torch") return torch_word(tracer, in, word);
  if (name == "torch.linalg") return function_named(tracer, in, "linalg_" + word);
  if (name == "torch.special") {
    auto found = function_named(tracer, in, "special_" + word);
    return found ? found : function_named(tracer, in, word);
  }
  if (name == "torch.nn.init") return initialiser(tracer, in, word);
  if (name == "torch.nn.utils.rnn") return packing_word(in, word);
  if (name.starts_with("torch.nn.utils")) return nn_utils_word(tracer, in, word);
  if (name == "torch.nn" || name.starts_with("torch.nn.modules") || name == "torch.nn.parameter")
    return nn_word(tracer, classes, in, word);
  if (name == "torch._C" && word == "_log_api_usage_once") return silent(in, word);
  if (name == "torch.utils") {
    if (word == "data" || word == "tensorboard" || word == "checkpoint" || word == "model_zoo")
      return inner(in, "torch.utils." + word);
    return std::nullopt;
  }
  // Computed again for the gradient: the same numbers.
  if (name == "torch.utils.checkpoint" && word == "checkpoint")
    return in.native(word, [](Interpreter& with, Arguments& given) -> Made {
      if (given.placed.empty()) return fail(Fault::Format, "checkpoint() of nothing");
      const Value function = given.placed.front();
      given.placed.erase(given.placed.begin());
      for (const char* own : {"use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug"})
        given.take(own);
      return with.call(function, std::move(given));
    });
  if (name == "torch.autograd" && word == "Variable") return in.native(word, unchanged);
  if (name.starts_with("torch.autograd") && word == "Function") return Value::of(function_class(in));
  if (name.starts_with("torch.autograd") && word == "function") return inner(in, "torch.autograd.function");
  if (name == "torch.jit") return jit_word(classes, in, word);
  return std::nullopt;
}

// Modules that are one word here; those of torch.nn.modules and torch.nn.utils have further names below them.
bool is_known(const std::string& name) {
  constexpr std::array<std::string_view, 21> known{"torch",
                                                   "torch.linalg",
                                                   "torch.special",
                                                   "torch.nn",
                                                   "torch.nn.functional",
                                                   "torch.nn.init",
                                                   "torch.nn.utils",
                                                   "torch.nn.modules",
                                                   "torch.nn.parameter",
                                                   "torch.jit",
                                                   "torch.utils",
                                                   "torch.autograd",
                                                   "torch.autograd.function",
                                                   "torch.utils.checkpoint",
                                                   "torch.fx",
                                                   "torch._C",
                                                   "torch.nn.utils.parametrize",
                                                   "torch.nn.utils.rnn",
                                                   "torch.nn.utils.parametrizations",
                                                   "torch.nn.utils.weight_norm",
                                                   "torch.nn.utils.spectral_norm"};
  return std::ranges::find(known, name) != known.end() || name.starts_with("torch.nn.modules.");
}

Found safetensors_module(Tracer& tracer, Interpreter& in, const std::string& name) {
  auto* made = in.make<python::Module>(name);
  made->more = [&tracer, name](Interpreter& with, const std::string& word) -> Found {
    if (name == "safetensors" && word == "torch") return inner(with, "safetensors.torch");
    if (name == "safetensors.torch")
      if (auto found = safetensors_loading(tracer, with, word)) return found;
    return Value::of(with.make<python::Outside>(name + "." + word));
  };
  return Value::of(made);
}

Value random_module(Tracer& tracer, Interpreter& in) {
  auto* made = in.make<python::Module>("torch.random");
  made->more = [&tracer](Interpreter& with, const std::string& word) -> Found {
    if (word == "manual_seed") return torch_word(tracer, with, word);
    if (word == "fork_rng")
      return with.native(word, [&tracer](Interpreter& inside, Arguments&) -> Made {
        return Value::of(inside.make<ForkedDraws>(tracer));
      });
    return Value::of(with.make<python::Outside>("torch.random." + word));
  };
  return Value::of(made);
}

}  // namespace

Found torch_module(Tracer& tracer, ModuleClasses& classes, Interpreter& in, const std::string& name) {
  if (name == "safetensors" || name == "safetensors.torch") return safetensors_module(tracer, in, name);
  if (name != "torch" && !name.starts_with("torch.")) return std::nullopt;
  if (name == "torch.random") return random_module(tracer, in);
  if (is_training(name)) return Value::of(training_module(in, name));
  if (name == written_out_name) {
    auto made = written_out_module(in);
    if (!made) return pass(made);
    return *made;
  }
  if (!is_known(name)) return std::nullopt;
  auto* made = in.make<python::Module>(name);
  made->attributes.set("__version__", in.text("2.13.0"));
  made->more = [&tracer, &classes, name](Interpreter& with, const std::string& word) -> Found {
    auto found = word_of(tracer, classes, with, name, word);
    const bool is_class = !word.empty() && word[0] >= 'A' && word[0] <= 'Z';
    const bool holds = is_class ? name == "torch.nn" || name.starts_with("torch.nn.modules")
                                : name == "torch" || name == "torch.nn.functional";
    return found && !*found && holds ? written_out(with, word) : std::move(found);
  };
  return Value::of(made);
}

}  // namespace convoy::torch
