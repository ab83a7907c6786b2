// keras.initializers: words, classes and objects become the JSON of a file, with the seeds that Keras would draw. Source:
// keras/src/initializers of Keras 3.15, and the constructors of its layers for the order in which they draw.
#include "containers/python/unread.h"
#include "formats/keras/source/library.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace convoy::keras {

namespace {

struct Known {
  std::string_view name, parameters;
  bool draws;
};
constexpr std::array known_initialisers{Known{"Zeros", "", false},
                                        Known{"Ones", "", false},
                                        Known{"Constant", "value", false},
                                        Known{"Identity", "gain", false},
                                        Known{"RandomNormal", "mean stddev seed", true},
                                        Known{"TruncatedNormal", "mean stddev seed", true},
                                        Known{"RandomUniform", "minval maxval seed", true},
                                        Known{"VarianceScaling", "scale mode distribution seed", true},
                                        Known{"Orthogonal", "gain seed", true},
                                        Known{"GlorotUniform", "seed", true},
                                        Known{"GlorotNormal", "seed", true},
                                        Known{"LecunUniform", "seed", true},
                                        Known{"LecunNormal", "seed", true},
                                        Known{"HeUniform", "seed", true},
                                        Known{"HeNormal", "seed", true}};

// "he_normal", "HeNormal", "random_normal_initializer" and the short words of Keras 1.
const Known* known_as(std::string_view word) {
  std::string plain;
  for (const char c : word)
    if (c != '_') plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (plain.ends_with("initializer")) plain.resize(plain.size() - 11);
  for (const auto& [alias, name] : {std::pair<const char*, const char*>{"zero", "zeros"},
                                    {"one", "ones"},
                                    {"normal", "randomnormal"},
                                    {"uniform", "randomuniform"},
                                    {"xavieruniform", "glorotuniform"}})
    if (plain == alias) plain = name;
  const auto found = std::ranges::find_if(known_initialisers, [&](const Known& one) {
    return std::ranges::equal(one.name, plain,
                              [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
  });
  return found == known_initialisers.end() ? nullptr : &*found;
}

// An initialiser that the program made: its seed was drawn then.
class SourceInitialiser : public python::Object {
 public:
  explicit SourceInitialiser(Json as) : json(std::move(as)) {}
  std::string type_name() const override { return "initializer"; }
  const Json json;
};

struct Parameter {
  std::string_view word, usual;
};
struct Drawing {
  std::string_view classes;  // that end so
  std::array<Parameter, 4> parameters;  // in the order of the constructor
  bool seed_first = false, seed_last = false;  // for what is dropped in training
};
constexpr Parameter bias{"bias_initializer", "Zeros"};
constexpr Parameter kernel{"kernel_initializer", "GlorotUniform"}, recurrent{"recurrent_initializer", "Orthogonal"};
constexpr Parameter depthwise_initializer{"depthwise_initializer", "GlorotUniform"};
constexpr std::string_view of_attention = "MultiHeadAttention GroupedQueryAttention";
constexpr std::array drawings{
    Drawing{of_attention, {kernel, bias}},
    Drawing{"DepthwiseConv1D DepthwiseConv2D", {depthwise_initializer, bias}},
    Drawing{"SeparableConv1D SeparableConv2D",
            {depthwise_initializer, {"pointwise_initializer", "GlorotUniform"}, bias}},
    Drawing{"Conv1D Conv2D Conv3D Conv1DTranspose Conv2DTranspose Conv3DTranspose Dense EinsumDense", {kernel, bias}},
    Drawing{"Embedding", {{{"embeddings_initializer", "RandomUniform"}}}},
    Drawing{"LSTM GRU", {kernel, recurrent, bias}, false, true},
    Drawing{"ConvLSTM1D ConvLSTM2D ConvLSTM3D", {kernel, recurrent, bias}, true},
    Drawing{"SimpleRNN", {kernel, recurrent, bias}, true},
    Drawing{"BatchNormalization LayerNormalization GroupNormalization",
            {{{"beta_initializer", "Zeros"},
              {"gamma_initializer", "Ones"},
              {"moving_mean_initializer", "Zeros"},
              {"moving_variance_initializer", "Ones"}}}},
    Drawing{"PReLU", {{{"alpha_initializer", "Zeros"}}}}};

bool names(std::string_view list, std::string_view word) {
  for (std::size_t at = 0; at < list.size();) {
    const auto end = std::min(list.find(' ', at), list.size());
    if (list.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

// What only training draws, where it draws anything.
bool drops(const std::string& class_name, const Json& config) {
  if (class_name.starts_with("Random")) return !config.contains("seed") || config["seed"].is_null();
  for (const char* word : {"rate", "stddev"})
    if (const auto found = config.find(word); found != config.end() && found->is_number())
      return found->get<double>() > 0 && (!config.contains("seed") || config["seed"].is_null());
  return false;
}

}  // namespace

Json SourceLibrary::fresh(std::string_view word) {
  const Known* found = known_as(word);
  Json config = Json::object();
  if (found && found->draws) config["seed"] = seeds_.next();
  return Json{{"class_name", found ? found->name : word}, {"config", std::move(config)}, {"drawn", true}};
}

Result<Json> SourceLibrary::initialiser_of(Interpreter& in, const Value& value) {
  if (const auto* text = value.as<python::Text>()) return fresh(text->text);
  if (const auto* made = value.as<SourceInitialiser>()) return made->json;
  if (const auto* maker = value.as<python::Native>(); maker && known_as(maker->name)) return fresh(maker->name);
  if (value.as<python::Mapping>()) {
    auto json = json_of(in, value);
    if (!json || !json->contains("class_name")) return json;
    return fresh((*json)["class_name"].get<std::string>());
  }
  return Json{{"class_name", "of the program, a " + python::type_name(value)}};  // whose numbers nobody follows
}

std::optional<Value> SourceLibrary::initialiser(Interpreter& in, const std::string& word) {
  if (word == "get")
    return in.native(word, [](Interpreter&, Arguments& given) -> Made {
      return given.placed.size() == 1 ? Made(given.placed[0]) : fail(Fault::Format, "initializers.get() of one value");
    });
  const Known* found = known_as(word);
  if (!found) return std::nullopt;
  return in.native(word, [this, found](Interpreter& with, Arguments& given) -> Made {
    given.take("dtype");
    const auto taken = python::bound(given, found->parameters, 0, found->name);
    if (!taken) return std::unexpected(taken.error());
    Json config = Json::object();
    std::size_t at = 0;
    for (std::size_t i = 0; i < taken->size(); ++i) {
      const auto end = std::min(found->parameters.find(' ', at), found->parameters.size());
      if ((*taken)[i] && !(*taken)[i]->is_none()) {
        auto json = json_of(with, *(*taken)[i]);
        if (!json) return pass(json);
        config[std::string(found->parameters.substr(at, end - at))] = std::move(*json);
      }
      at = end + 1;
    }
    const bool drawn = found->draws && !config.contains("seed");
    if (drawn) config["seed"] = seeds_.next();
    return Value::of(with.make<SourceInitialiser>(
        Json{{"class_name", found->name}, {"config", std::move(config)}, {"drawn", drawn}}));
  });
}

Value SourceLibrary::seeding(Interpreter& in, const std::string& word) {
  return in.native(word, [this, word](Interpreter& with, Arguments& given) -> Made {
    const auto named = given.take("seed");
    const Value seed = named ? *named : given.placed.empty() ? Value() : given.placed[0];
    if (word == "SeedGenerator" && seed.is_none()) seeds_.next();
    if (word == "set_random_seed" && seed.is_whole()) seeds_.restart(static_cast<std::uint64_t>(seed.whole()));
    return Value::of(with.make<python::Outside>(word + "()"));
  });
}

Status SourceLibrary::draw(Interpreter& in, SourceLayer& layer, const std::map<std::string, Value>& argument) {
  layer.config[starts_anew] = true;
  const auto drawing =
      std::ranges::find_if(drawings, [&](const Drawing& d) { return names(d.classes, layer.class_name); });
  if (drawing == drawings.end()) {
    if (drops(layer.class_name, layer.config)) seeds_.next();
    return {};
  }
  const bool own_seed = layer.config.contains("seed") && !layer.config["seed"].is_null();
  if (drawing->seed_first && !own_seed) seeds_.next();
  for (const Parameter& one : drawing->parameters) {
    if (one.word.empty()) continue;
    const std::string word(one.word);
    const auto given = argument.find(word);
    if (given == argument.end() || given->second.is_none()) {
      layer.config[word] = fresh(one.usual);
      continue;
    }
    auto json = initialiser_of(in, given->second);
    if (!json) return within("argument '" + word + "' of " + layer.class_name, Status(pass(json)));
    layer.config[word] = std::move(*json);
  }
  if (drawing->seed_last && !own_seed) seeds_.next();
  return {};
}

// Attention draws for the layers inside it when it is first called, each by a copy of its own initialiser.
void SourceLibrary::draw_inside(SourceLayer& layer) {
  if (!names(of_attention, layer.class_name) || !layer.calls.empty()) return;
  const Json kernel = layer.config.value("kernel_initializer", Json());
  if (!kernel.is_object()) return;
  const Json dropped = layer.config.value("dropout", Json()), seed = layer.config.value("seed", Json());
  for (const char* part : {"query", "key", "value", "output"}) {
    const bool drops = part == std::string_view("output") && dropped.is_number() && dropped > 0 && seed.is_null();
    if (drops) seeds_.next();
    Json& own = layer.config[std::string(part) + "_initializer"] = kernel;
    if (own.value("drawn", false) && own["config"].contains("seed")) own["config"]["seed"] = seeds_.next();
  }
}

// A copy made of a layer's config draws anew what the layer drew itself.
void SourceLibrary::draw_again(Json& object) {
  const std::string class_name = object.value("class_name", "");
  const auto drawing = std::ranges::find_if(drawings, [&](const Drawing& d) { return names(d.classes, class_name); });
  if (drawing == drawings.end() || !object.contains("config")) return;
  Json& config = object["config"];
  const bool own_seed = config.contains("seed") && !config["seed"].is_null();
  if (drawing->seed_first && !own_seed) seeds_.next();
  for (const Parameter& one : drawing->parameters)
    if (const auto found = config.find(std::string(one.word)); found != config.end() && found->is_object())
      if (found->value("drawn", false) && (*found)["config"].contains("seed"))
        (*found)["config"]["seed"] = seeds_.next();
  if (drawing->seed_last && !own_seed) seeds_.next();
}

}  // namespace convoy::keras
