// Layers are made and called.
#include "formats/keras/source/library.h"

#include "base/words.h"
#include "containers/json.h"
#include "containers/python/vector.h"
#include "formats/keras/catalogue/catalogue.h"
#include "formats/keras/keras.h"
#include "formats/keras/source/free_size.h"
#include "formats/keras/source/parameters.h"
#include "formats/keras/source/signatures.h"
#include "ops/expect.h"

#include <algorithm>
#include <cctype>

namespace convoy::keras {

namespace {

// What no numbers depend on, whatever it is: initialisers and the like are objects of their own.
bool has_no_meaning(std::string_view word) {
  return word.ends_with("_initializer") || word.ends_with("_regularizer") || word.ends_with("_constraint") ||
         word == "init" || word == "weights" || word == "noise_shape";
}

// By place and by name, as the constructor takes them.
Result<std::vector<std::pair<std::string, Value>>> named_arguments(const Arguments& given, std::string_view words,
                                                                   const std::string& class_name) {
  std::vector<std::pair<std::string, Value>> all;
  const auto names = words_in(words);
  if (given.placed.size() > names.size())
    return fail(Fault::Format, class_name + "() with " + std::to_string(given.placed.size()) + " arguments by place");
  for (std::size_t i = 0; i < given.placed.size(); ++i) all.emplace_back(names[i], given.placed[i]);
  for (const auto& [word, value] : given.named) {
    if (std::ranges::find(all, word, &std::pair<std::string, Value>::first) != all.end())
      return fail(Fault::Format, class_name + "(): '" + word + "' is given twice");
    all.emplace_back(word, value);
  }
  return all;
}

// Keras 1 gave the sizes of a kernel as numbers of their own.
bool speaks_keras_1(const std::string& class_name, const Arguments& given) {
  if (!old_signature_of(class_name)) return false;
  return given.placed.size() >= 3 && given.placed[1].is_whole() && given.placed[2].is_whole();
}

Result<TensorType> input_type(const Json& shape, const std::string& dtype) {
  TensorType type;
  for (const Json& n : shape) {
    if (n.is_null()) type.shape.push_back(Dim::unknown());
    else if (n.is_number_integer() && n >= 0) type.shape.push_back(Dim(n.get<Size>()));
    else return fail(Fault::Format, "the shape " + json_text(shape) + " holds what is no size");
  }
  if (dtype.empty()) return type;
  auto known = input_dtype(dtype);
  if (!known) return pass(known);
  type.dtype = *known;
  return type;
}

}  // namespace

std::string SourceLibrary::fresh_name(const std::string& class_name) {
  const std::string base = usual_layer_name(class_name);
  const int n = counts_[base]++;
  return n ? base + "_" + std::to_string(n) : base;
}

SourceLayer* SourceLibrary::state_of(Value value) const {
  const auto* instance = value.as<Instance>();
  return instance ? dynamic_cast<SourceLayer*>(instance->extra) : nullptr;
}

// One argument of a constructor, as a file says it.
Status SourceLibrary::take_argument(Interpreter& in, SourceLayer& layer, const std::string& word, const Value& value) {
  if (word == "layer" || word == "backward_layer") {
    auto inner = layer_in(in, value);
    if (!inner) return pass(inner);
    if ((*inner)->own_activation())
      return fail(Fault::Unsupported,
                  layer.class_name + "() of a layer whose activation is a function of the program's own");
    auto object = json_of(**inner);
    if (!object) return pass(object);
    layer.config[word] = std::move(*object);
    return {};
  }
  const bool ends = layer.class_name == "Dense" || layer.class_name == "Activation" ||
                    layer.class_name.find("Conv") != std::string::npos;
  // Followed behind the layer; what keras.ops computes otherwise than the activation of its name is no word of a file.
  const auto* native = value.as<python::Native>();
  if (word == "activation" && ends && (value.as<python::Function>() || (native && native->name.starts_with("ops.")))) {
    layer.instance->attributes.set("$activation", value);
    if (layer.class_name == "Activation") layer.config[word] = "linear";
    return {};
  }
  auto json = json_of(in, value);
  if (!json) return within("argument '" + word + "' of " + layer.class_name, Status(pass(json)));
  layer.config[word] = std::move(*json);
  return {};
}

// What constructors make of their arguments before a file says them.
void SourceLibrary::settle(Json& config, std::string_view words) const {
  for (const char* word : {"input_shape", "shape"})
    if (config.contains(word)) {
      Json shape = config[word].is_array() ? config[word] : Json::array({config[word]});
      shape.insert(shape.begin(), config.value("batch_size", Json()));
      config.erase(word);
      config["batch_input_shape"] = std::move(shape);
    }
  // Constructors take these words in any case.
  for (const char* word : {"padding", "data_format"})
    if (config.contains(word) && config[word].is_string()) {
      std::string argument = config[word].get<std::string>();
      std::ranges::transform(argument, argument.begin(),
                             [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      config[word] = std::move(argument);
    }
  // backend.set_image_data_format("channels_first") speaks for every layer that does not say it itself.
  const bool knows_format = std::ranges::any_of(
      words_in(words), [](std::string_view one) { return one == "data_format" || one == "dim_ordering"; });
  const auto format = config.find("data_format");
  if (channels_first_ && knows_format && (format == config.end() || format->is_null()))
    config["data_format"] = "channels_first";
  // Arguments that stand for themselves: nothing is said by them.
  for (const char* word : {"activation", "data_format", "name", "strides"})
    if (config.contains(word) && config[word].is_null()) config.erase(word);
}

// Both ways are copies of the layer that was given.
void SourceLibrary::draw_both_ways(Json& config) {
  const bool alone = !config.contains("backward_layer");
  Json back = config["layer"];
  draw_again(config["layer"]);
  if (!alone) return;
  draw_again(back);
  if (!back.contains("config")) back["config"] = Json::object();
  back["config"]["go_backwards"] = !back["config"].value("go_backwards", false);
  config["backward_layer"] = std::move(back);
}

Made SourceLibrary::make_layer(Interpreter& in, const std::string& class_name, Arguments& given) {
  auto* layer = in.make<SourceLayer>();
  layer->class_name = std::string(usual_name(class_name));
  layer->instance = given.placed.front().as<Instance>();
  given.placed.erase(given.placed.begin());
  const bool old = speaks_keras_1(class_name, given);
  const auto words = (old ? old_signature_of(class_name) : signature_of(class_name)).value_or("");
  auto named = named_arguments(given, words, class_name);
  if (!named) return pass(named);
  std::map<std::string, Value> initialisers;
  for (const auto& [word, value] : *named) {
    if (word == "init" || word.ends_with("_initializer"))
      initialisers.insert_or_assign(word == "init" ? "kernel_initializer" : word, value);
    if (has_no_meaning(word)) continue;
    if (auto taken = take_argument(in, *layer, word, value); !taken) return pass(taken);
  }
  modernise(layer->class_name, layer->config);
  settle(layer->config, words);
  layer->name = layer->config.contains("name") && layer->config["name"].is_string()
                    ? layer->config["name"].get<std::string>()
                    : fresh_name(layer->class_name);
  if (auto done = draw(in, *layer, initialisers); !done) return pass(done);
  layer->config.erase("seed");  // said nothing but what was drawn
  if (layer->class_name == "Bidirectional" && layer->config.contains("layer")) draw_both_ways(layer->config);
  keep(in, *layer->instance, layer);
  return Value();
}

// Model(inputs, outputs); a program's own class calls this without them.
Made SourceLibrary::make_model(Interpreter& in, Arguments& given) {
  auto* instance = given.placed.front().as<Instance>();
  given.placed.erase(given.placed.begin());
  for (auto& [word, value] : given.named) {
    if (word == "input") word = "inputs";  // Keras 1
    if (word == "output") word = "outputs";
  }
  auto taken = python::bound(given, "inputs outputs name trainable dtype", 0, "Model");
  if (!taken) return pass(taken);
  auto* layer = in.make<SourceLayer>();
  layer->module = "keras";
  layer->class_name = "Functional";
  layer->instance = instance;
  const auto* called = (*taken)[2] ? (*taken)[2]->as<python::Text>() : nullptr;
  layer->name = called ? called->text : fresh_name((*taken)[1] ? "Functional" : instance->type->name);
  keep(in, *instance, layer);
  if (!(*taken)[0] || !(*taken)[1]) {
    layer->class_name = "Model";
    return Value();
  }
  for (const std::size_t side : {0, 1}) {
    const Value value = *(*taken)[side];
    ValueList all{value};
    if (!value.as<SourceTensor>()) {
      if (const auto* map = value.as<python::Mapping>()) {
        all.clear();
        auto& keys = side == 0 ? layer->input_keys : layer->output_keys;
        for (const auto& [key, one] : map->entries) {
          auto word = in.string_of(key);
          if (!word) return pass(word);
          keys.push_back(*std::move(word));
          all.push_back(one);
        }
      } else {
        auto some = in.elements(value);
        if (!some) return pass(some);
        all = std::move(*some);
      }
    }
    for (const Value& one : all) {
      auto* tensor = one.as<SourceTensor>();
      if (!tensor)
        return fail(Fault::Unsupported, "a model of a " + python::type_name(one) + ", which is no Keras tensor");
      (side == 0 ? layer->inputs : layer->outputs).push_back(tensor);
    }
  }
  if (auto whole = json_of(*layer); !whole) return pass(whole);
  return Value();
}

Result<SourceLayer*> SourceLibrary::layer_in(Interpreter& in, Value value) {
  if (auto* tensor = value.as<SourceTensor>()) return tensor->layer;  // Input(...) in a list of layers
  if (auto* state = state_of(value)) {
    if (state->class_name != "Model" || state->is_own()) return state;
    return fail(Fault::Unsupported, "a model with a call() of its own inside another is not read as a layer of a list");
  }
  return fail(Fault::Unsupported,
              "a " + python::type_name(value) + " is no layer of Keras that is known here: " + python::repr(in, value));
}

Made SourceLibrary::add(Interpreter& in, Arguments& given) {
  if (given.placed.size() != 2) return fail(Fault::Format, "add() takes a layer");
  SourceLayer* model = state_of(given.placed[0]);
  auto layer = layer_in(in, given.placed[1]);
  if (!layer) return pass(layer);
  model->layers.push_back(*layer);
  holders_[*layer] = model;
  return Value();
}

Result<SourceTensor*> SourceLibrary::input(Interpreter& in, Shape shape, const std::string& name,
                                           const std::string& dtype) {
  auto* layer = in.make<SourceLayer>();
  layer->class_name = "InputLayer";
  layer->name = name.empty() ? fresh_name("InputLayer") : name;
  Json sizes = Json::array();
  for (const Dim n : shape) sizes.push_back(n.known() ? Json(*n) : Json());
  layer->config = {{"batch_shape", sizes}, {"dtype", dtype.empty() ? "float32" : dtype}};
  layer->calls.emplace_back().order = ++calls_;
  auto type = input_type(sizes, dtype);
  if (!type) return pass(type);
  return in.make<SourceTensor>(*this, layer, 0, 0, std::move(*type));
}

Made SourceLibrary::input_function(Interpreter& in, Arguments& given) {
  auto taken = python::bound(given, "shape batch_size dtype sparse batch_shape name tensor", 0, "Input");
  if (!taken) return pass(taken);
  const auto text = [&](std::size_t i) {
    const auto* word = (*taken)[i] ? (*taken)[i]->as<python::Text>() : nullptr;
    return word ? word->text : std::string();
  };
  const bool whole = (*taken)[4] && !(*taken)[4]->is_none();
  if (!whole && !(*taken)[0]) return fail(Fault::Format, "Input(): argument 'shape' is missing");
  ValueList sizes;
  const Value argument = whole ? *(*taken)[4] : *(*taken)[0];
  if (argument.is_whole()) sizes = {argument};
  else {
    auto all = in.elements(argument);
    if (!all) return pass(all);
    sizes = std::move(*all);
  }
  Shape shape;
  if (!whole) shape.push_back((*taken)[1] && (*taken)[1]->is_whole() ? Dim((*taken)[1]->whole()) : Dim::unknown());
  for (const Value& n : sizes) {
    if (n.is_none()) shape.push_back(Dim::unknown());
    else if (n.is_whole() && n.whole() >= 0) shape.push_back(Dim(n.whole()));
    else return fail(Fault::Format, "Input(): the shape holds " + python::repr(in, n) + ", which is no size");
  }
  auto made = input(in, std::move(shape), text(5), text(2));
  if (!made) return pass(made);
  return Value::of(*made);
}

namespace {

bool is_type_of_wholes(const std::string& word) {
  const auto dtype = input_dtype(word);
  return dtype && !is_floating(*dtype);
}

// Arguments as JSON, tensors by their place in `call`. An array that says its type keeps it, as files hold one.
Result<Json> argument_json(SourceLibrary& library, Interpreter& in, Value value, SourceCall& call, int depth) {
  if (!value.as<python::Sequence>() && is_known_array(in, value)) {
    auto made = library.constant(in, value);
    if (!made) return pass(made);
    value = Value::of(*made);
  }
  if (auto* tensor = value.as<SourceTensor>()) {
    call.tensors.push_back(tensor);
    return Json{{"$tensor", call.tensors.size() - 1}};
  }
  if (const auto* size = value.as<FreeSize>()) {
    call.tensors.push_back(size->tensor);
    return json_of(*size, call.tensors.size() - 1);
  }
  if (const auto* cut = value.as<python::Cut>(); cut && cut->stop.as<FreeSize>()) {
    auto json = json_of(in, Value::of(in.make<python::Cut>(cut->start, Value(), cut->step)));
    auto stop = json ? argument_json(library, in, cut->stop, call, depth + 1) : json;
    if (!stop) return stop;
    (*json)["config"]["stop"] = std::move(*stop);
    return json;
  }
  if (const auto* all = value.as<python::Sequence>(); all && depth < 16) {
    Json list = Json::array();
    for (const Value& one : all->items) {
      auto inner = argument_json(library, in, one, call, depth + 1);
      if (!inner) return inner;
      list.push_back(std::move(*inner));
    }
    const auto* array = value.as<python::Vector>();
    if (array && is_type_of_wholes(array->element_type))
      return Json{{"class_name", "__numpy__"},
                  {"config", {{"value", std::move(list)}, {"dtype", array->element_type}}}};
    return list;
  }
  return json_of(in, value);
}

}  // namespace

// The types of the outputs come from the reader itself, which looks at this one layer.
Made SourceLibrary::call(Interpreter& in, SourceLayer& layer, Arguments& given) {
  if (layer.class_name == "Sequential" && layer.holds_own()) {
    const bool joins = !layer.layers.empty() && !branches_of(*layer.layers.front()).empty();
    if (given.placed.size() != 1 && !joins) return fail(Fault::Format, "a Sequential is called on one tensor");
    return follow_sequential(in, layer, given.placed.size() == 1 ? given.placed[0] : in.list(given.placed));
  }
  draw_inside(layer);
  SourceCall call;
  call.order = ++calls_;
  if (!within_.empty()) std::tie(call.within, call.within_call) = within_.front();
  // Layers read tensors; functions take lists of sizes, too.
  const bool reads_tensors = layer.module == "keras.layers";
  for (Value& one : given.placed)
    if (reads_tensors && one.as<python::Sequence>() && is_known_array(in, one)) {
      auto made = constant(in, one);
      if (!made) return pass(made);
      one = Value::of(*made);
    }
  for (const Value& one : given.placed) {
    auto json = argument_json(*this, in, one, call, 0);
    if (!json) return pass(json);
    call.args.push_back(std::move(*json));
  }
  for (const auto& [word, value] : given.named) {
    const bool is_at_rest = word == "training" && !(value.is_truth() && value.whole() != 0);
    if (is_at_rest || word == "name") continue;
    auto json = argument_json(*this, in, value, call, 0);
    if (!json) return pass(json);
    call.kwargs[word] = std::move(*json);
  }
  if (call.tensors.empty()) return fail(Fault::Unsupported, "layer '" + layer.name + "' is called on no Keras tensor");
  if (auto paid = in.charge(2000); !paid) return pass(paid);
  auto object = json_of(layer);
  if (!object) return pass(object);
  leave_unfilled(*object);
  Builder builder;
  builder.version = version_of(source_version);
  builder.is_one_layer = true;
  const auto read = read_layer(*object, builder.version);
  if (!read) return std::unexpected(read.error());
  LayerCall arguments{{}, call.args, call.kwargs};
  Values inputs;
  for (std::size_t i = 0; i < call.tensors.size(); ++i) {
    arguments.tensors.push_back({0, 0, i});
    inputs.push_back(builder.graph.input("input_" + std::to_string(i), call.tensors[i]->type));
  }
  const auto made = run_layer(builder, *read, &arguments, inputs, {}, "", {"", {layer.name}});
  if (!made) return std::unexpected(made.error());
  layer.calls.push_back(std::move(call));
  ValueList outputs;
  for (std::size_t i = 0; i < made->size(); ++i)
    outputs.push_back(
        Value::of(in.make<SourceTensor>(*this, &layer, layer.calls.size() - 1, i, builder.graph[(*made)[i]].type)));
  return outputs.size() == 1 ? Made(outputs[0]) : Made(in.list(std::move(outputs)));
}

Made SourceLibrary::operate(Interpreter& in, const std::string& class_name, Arguments arguments) {
  // tf.matmul(a, b, transpose_b=True)
  for (const auto& [flag, place] :
       {std::pair{"transpose_a", std::size_t{0}}, std::pair{"transpose_b", std::size_t{1}}}) {
    const auto argument = class_name == "Matmul" ? arguments.take(flag) : std::nullopt;
    if (!argument || !argument->is_whole() || argument->whole() == 0) continue;
    Value* turned = place < arguments.placed.size() ? &arguments.placed[place] : nullptr;
    for (auto& [word, value] : arguments.named)
      if (word == (place == 0 ? "a" : "b")) turned = &value;
    if (!turned) return fail(Fault::Format, std::string(flag) + " of a tensor that is not there");
    auto made =
        operate(in, "Swapaxes", Arguments{{*turned, Value::of(std::int64_t{-1}), Value::of(std::int64_t{-2})}, {}});
    if (!made) return made;
    *turned = *made;
  }
  if (auto settled = in_words_of_keras(in, class_name, arguments); !settled) return pass(settled);
  auto* layer = in.make<SourceLayer>();
  layer->class_name = class_name;
  layer->module = "keras.src.ops";
  layer->name = fresh_name(class_name);
  // One free size of a new shape is worked out.
  if (class_name == "Reshape" && arguments.placed.size() > 1)
    if (const auto* sizes = arguments.placed[1].as<python::Sequence>()) {
      ValueList items = sizes->items;
      const bool settled = std::ranges::any_of(items, [](const Value& n) { return n.is_whole() && n.whole() < 0; });
      if (!settled && std::ranges::count_if(items, [](const Value& n) { return n.is_none(); }) == 1) {
        std::ranges::replace_if(items, [](const Value& n) { return n.is_none(); }, Value::of(std::int64_t{-1}));
        arguments.placed[1] = in.list(std::move(items));
      }
    }
  // What to sum over is a word of the constructor; the function takes it in front.
  if (class_name == "Einsum" && !arguments.placed.empty() && arguments.placed[0].as<python::Text>()) {
    arguments.named.emplace_back("subscripts", arguments.placed[0]);
    arguments.placed.erase(arguments.placed.begin());
  }
  return call(in, *layer, arguments);
}

}  // namespace convoy::keras
