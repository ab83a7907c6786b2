// A function that a file calls by its name is called as source calls it; what comes of it stands in the file's model.
#include "formats/keras/functions.h"
#include "formats/keras/op_layers.h"
#include "formats/keras/source/free_size.h"
#include "formats/keras/source/library.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace convoy::keras {

// What all functions of one file share.
class FunctionCalls {
 public:
  LoadOptions options;
  SourceLibrary library{options};
  Interpreter in{{&library},
                 [](const std::string&, Size, const std::string&) -> Result<std::optional<python::SourceFile>> {
                   return std::nullopt;
                 }};
  ValueList outside;  // what stands for no value of the graph, by its place
  std::map<const SourceTensor*, ValueId> owners;  // of the tensors that calls read, whose sizes others may compute with
};

namespace {

ValueId place_outside(FunctionCalls& calls, Value value) {
  calls.outside.push_back(value);
  return {-1 - static_cast<std::int32_t>(calls.outside.size())};
}

// One call: the function's arguments as values of a program, and its results as values of the graph.
class CallOfFunction {
 public:
  CallOfFunction(Builder& builder, FunctionCalls& calls, const Layer& layer, const LayerCall& call)
      : builder_(builder),
        calls_(calls),
        in_(calls.in),
        layer_(layer),
        call_(call) {}

  Result<Values> run(const Values& inputs, std::vector<Scope> scopes, const std::string& prefix, int number) {
    if (auto ok = take(inputs); !ok) return pass(ok);
    LayerCall call = call_;
    if (layer_.class_name == "TensorFlowOpLayer") {
      auto node = function_of_node(layer_, call_);
      if (!node) return pass(node);
      name_ = node->function;
      call.args = std::move(node->args), call.kwargs = std::move(node->kwargs);
    }
    Arguments given;
    for (const Json& one : call.args) {
      auto value = value_of(one, 0);
      if (!value) return pass(value);
      given.placed.push_back(*value);
    }
    Json named = call.kwargs;
    // What the operation was made with.
    if (is_operation_in_words(layer_) && layer_.config)
      for (const auto& [word, one] : layer_.config->items())
        if (!named.contains(word) && !(word == "dtype" && !one.is_string())) named[word] = one;
    for (const auto& [word, one] : named.items()) {
      if (word == "name") continue;
      auto value = value_of(one, 0);
      if (!value) return pass(value);
      given.named.emplace_back(word, *value);
    }
    auto made = called(std::move(given));
    if (!made) return pass(made);
    return values_of(*made, std::move(scopes), prefix, number);
  }

 private:
  Status take(const Values& inputs) {
    for (const ValueId v : inputs) {
      if (is_outside_graph(v)) {
        auto value = of_this_call(calls_.outside[static_cast<std::size_t>(-2 - v.index)], 0);
        if (!value) return pass(value);
        given_.push_back(*value);
        continue;
      }
      auto tensor = tensor_of(v);
      if (!tensor) return pass(tensor);
      given_.push_back(Value::of(*tensor));
    }
    return {};
  }

  Result<SourceTensor*> tensor_of(ValueId v) {
    const auto known = std::ranges::find(tensors_, v, &std::pair<SourceTensor*, ValueId>::second);
    if (known != tensors_.end()) return known->first;
    const TensorType& type = builder_.graph[v].type;
    auto tensor = calls_.library.input(in_, type.shape, "", std::string(convoy::name_of(type.dtype)));
    if (!tensor) return tensor;
    tensors_.emplace_back(*tensor, v);
    calls_.owners.emplace(*tensor, v);
    return tensor;
  }

  // What another call made: the sizes that it holds are those of tensors of this call.
  Result<Value> of_this_call(const Value& value, int depth) {
    if (const auto* free = value.as<FreeSize>()) {
      const auto owner = calls_.owners.find(free->tensor);
      if (owner == calls_.owners.end()) return depends_on(*free);
      auto tensor = tensor_of(owner->second);
      if (!tensor) return pass(tensor);
      return Value::of(in_.make<FreeSize>(*tensor, free->axis, free->number, free->text));
    }
    const auto* several = value.as<python::Sequence>();
    if (!several || depth > 16) return value;
    ValueList items;
    for (const Value& one : several->items) {
      auto item = of_this_call(one, depth + 1);
      if (!item) return item;
      items.push_back(*item);
    }
    return in_.list(std::move(items));
  }

  // An argument as the file says it.
  Result<Value> value_of(const Json& json, int depth) {
    if (depth > 16) return fail(Fault::Limit, "an argument is nested over 16 deep");
    if (auto paid = in_.charge(64); !paid) return pass(paid);
    if (json.is_null()) return Value();
    if (json.is_boolean()) return Value::of(json.get<bool>());
    if (json.is_number_integer()) return Value::of(json.get<std::int64_t>());
    if (json.is_number()) return Value::of(json.get<double>());
    if (json.is_string()) return in_.text(json.get<std::string>());
    if (json.is_array()) {
      ValueList items;
      for (const Json& one : json) {
        auto item = value_of(one, depth + 1);
        if (!item) return item;
        items.push_back(*item);
      }
      return in_.list(std::move(items));
    }
    if (const auto tensor = json.find("$tensor");
        tensor != json.end() && tensor->is_number_unsigned() && *tensor < given_.size())
      return given_[tensor->get<std::size_t>()];
    if (json.value("class_name", Json()) == "__ellipsis__") return Value::ellipsis();
    for (const char* word : {"__tensor__", "__numpy__"})
      if (json.value("class_name", Json()) == word) return array_of(json.value("config", Json()));
    if (json.contains("start") && json.contains("stop") && json.contains("step")) {
      Value bounds[3];
      for (const auto& [place, word] : {std::pair{0, "start"}, std::pair{1, "stop"}, std::pair{2, "step"}}) {
        auto bound = value_of(json[word], depth + 1);
        if (!bound) return bound;
        bounds[place] = *bound;
      }
      return Value::of(in_.make<python::Cut>(bounds[0], bounds[1], bounds[2]));
    }
    return fail(Fault::Unsupported, "an argument is an object that is not read");
  }

  // An array of numbers that the file holds; one number is itself.
  Result<Value> array_of(const Json& config) {
    const auto numbers = config.find("value");
    if (!config.is_object() || numbers == config.end()) return fail(Fault::Format, "an array holds no numbers");
    if (!numbers->is_array()) return value_of(*numbers, 0);
    std::optional<DType> dtype;
    if (const auto word = config.find("dtype"); word != config.end() && word->is_string()) {
      auto known = input_dtype(word->get<std::string>());
      if (!known) return pass(known);
      dtype = *known;
    }
    auto made = calls_.library.constant(in_, *numbers, dtype);
    return made ? Result<Value>(Value::of(*made)) : pass(made);
  }

  // A layer of Keras, made of these arguments and called on the tensor.
  Result<std::optional<Value>> layer_on(const char* name, Arguments made_of, const Value& tensor) {
    auto layer = in_.import("keras.layers");
    if (layer) layer = in_.attribute(*layer, name);
    if (layer) layer = in_.call(*layer, std::move(made_of));
    auto made = layer ? in_.call(*layer, ValueList{tensor}) : layer;
    if (!made) return pass(made);
    return *made;
  }

  // An image that is resized to so many times its own sizes. Nothing: to others.
  Result<std::optional<Value>> upsampled(Arguments& given) {
    const Value image = given.placed.empty() ? Value() : given.placed[0];
    Value size = given.placed.size() > 1 ? given.placed[1] : Value(), method = in_.text("bilinear");
    for (const auto& [word, value] : given.named) {
      if (word == "size") size = value;
      else if (word == "method") method = value;
      else return std::nullopt;
    }
    const auto* sizes = size.as<python::Sequence>();
    if (!sizes || sizes->items.size() != 2) return std::nullopt;
    ValueList factors;
    for (std::size_t i = 0; i < 2; ++i) {
      const auto* free = sizes->items[i].as<FreeSize>();
      const double factor = free ? free->number.real : 0;
      if (!free || free->axis != i + 1 || image.as<SourceTensor>() != free->tensor ||
          !free->number.is_multiple(factor) || factor < 1 || factor != std::floor(factor) || factor > 1024)
        return std::nullopt;
      factors.push_back(Value::of(static_cast<std::int64_t>(factor)));
    }
    return layer_on("UpSampling2D", {{in_.tuple(std::move(factors))}, {{"interpolation", method}}}, image);
  }

  static bool is_known(const Value& value) { return value.is_whole() || value.is_real() || value.as<FreeSize>(); }

  Result<Value> called(Arguments given) {
    if (is_operation_in_words(layer_)) {
      auto function = calls_.library.composed_operation(in_, layer_.class_name);
      if (!function) return pass(function);
      if (!*function) return fail(Fault::Unsupported, refusal_of(layer_));
      return in_.call(**function, std::move(given));
    }
    std::string name = name_;
    if (name.empty()) {
      const auto said = layer_.config ? layer_.config->find("function") : Json::const_iterator();
      if (!layer_.config || said == layer_.config->end() || !said->is_string())
        return fail(Fault::Format, "says no function");
      name = said->get<std::string>();
    }
    for (const std::string_view prefix : {"compat.v1.", "compat.v2."})
      if (name.starts_with(prefix)) name.erase(0, prefix.size());
    if (name == "__operators__.getitem") return part(given);
    if (name == "image.resize")
      if (auto made = upsampled(given); !made || *made) return made ? Result<Value>(**made) : pass(made);
    for (const auto& [operation, word] : {std::pair{"add", "math.add"}, {"eq", "math.equal"}, {"ne", "math.not_equal"}})
      if (name == std::string("__operators__.") + operation) name = word;
    if (auto known = of_numbers(name, given); !known || *known) return known ? Result<Value>(**known) : pass(known);
    auto found = in_.import("tensorflow");
    for (std::size_t begin = 0, end = 0; found && begin <= name.size(); begin = end + 1) {
      end = std::min(name.find('.', begin), name.size());
      auto word = in_.find_attribute(*found, name.substr(begin, end - begin));
      if (!word) return pass(word);
      if (!*word) return fail(Fault::Unsupported, "calls 'tf." + name + "', which this version does not carry");
      found = **word;
    }
    if (!found) return found;
    return within("tf." + name, in_.call(*found, std::move(given)));
  }

  // x[slice_spec]
  Result<Value> part(Arguments& given) {
    const auto key = given.named.empty() ? std::nullopt : given.take("slice_spec");
    if (given.placed.empty() || !key) return fail(Fault::Format, "has no slice_spec");
    const auto* parts = key->as<python::Sequence>();
    return in_.item(given.placed[0], parts ? in_.tuple(parts->items) : *key);
  }

  // Arithmetic on sizes.
  Result<std::optional<Value>> of_numbers(const std::string& name, const Arguments& given) {
    if (given.placed.empty() || !is_known(given.placed[0])) return std::nullopt;
    if (name == "cast" || name == "convert_to_tensor" || name == "identity") return given.placed[0];
    constexpr std::pair<std::string_view, std::string_view> symbols[] = {
        {"math.add", "+"},       {"math.subtract", "-"},   {"math.multiply", "*"}, {"math.truediv", "/"},
        {"math.floordiv", "//"}, {"math.floor_div", "//"}, {"floor_div", "//"},    {"math.floormod", "%"}};
    for (const auto& [word, symbol] : symbols) {
      if (word != name) continue;
      const Value second = given.placed.size() > 1 ? given.placed[1]
                           : given.named.empty()   ? Value()
                                                   : given.named[0].second;
      if (!is_known(second)) return std::nullopt;
      auto made = in_.binary(symbol, given.placed[0], second);
      if (!made) return pass(made);
      return *made;
    }
    return std::nullopt;
  }

  Result<Values> values_of(const Value& made, std::vector<Scope> scopes, const std::string& prefix, int number) {
    ValueList all{made};
    if (const auto* several = made.as<python::Sequence>())
      if (std::ranges::any_of(several->items, [](const Value& one) { return one.as<SourceTensor>() != nullptr; }))
        all = several->items;
    Values results(all.size());
    auto* model = in_.make<SourceLayer>();
    model->class_name = "Functional";
    model->module = "keras";
    model->name = layer_.name;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto* tensor = all[i].as<SourceTensor>();
      const auto own = std::ranges::find(tensors_, tensor, &std::pair<SourceTensor*, ValueId>::first);
      if (!tensor) results[i] = place_outside(calls_, all[i]);
      else if (own != tensors_.end()) results[i] = own->second;  // handed on as it is
      else model->outputs.push_back(tensor), places.push_back(i);
    }
    if (places.empty()) return results;
    Values inputs;
    for (const auto& [tensor, value] : tensors_) model->inputs.push_back(tensor), inputs.push_back(value);
    // One operator goes by the name that the file gives it, several stand below it.
    const std::string name = layer_.name + (number > 0 ? "_" + std::to_string(number) : "");
    const auto layers = layers_of(*model);
    std::vector<SourceLayer*> own;
    std::ranges::copy_if(layers, std::back_inserter(own),
                         [](const SourceLayer* one) { return one->class_name != "InputLayer"; });
    const bool is_one = own.size() == 1;
    if (is_one) own[0]->name = name;
    else scopes.push_back({layer_.name, number});
    auto object = json_of(*model);
    if (!object) return pass(object);
    const Version version = version_of(source_version);
    auto read = read_model(*object, version);
    if (!read) return pass(read);
    const Version before = std::exchange(builder_.version, version);
    auto outputs = run_model(builder_, *read, inputs, scopes, is_one ? prefix : prefix + name + "/", {});
    builder_.version = before;
    if (!outputs) return outputs;
    for (std::size_t i = 0; i < places.size(); ++i) results[places[i]] = (*outputs)[i];
    return results;
  }

  Builder& builder_;
  FunctionCalls& calls_;
  Interpreter& in_;
  const Layer& layer_;
  const LayerCall& call_;
  std::string name_;  // of a node of TensorFlow; empty: the config says the function
  ValueList given_;  // by their places among the call's tensors
  std::vector<std::pair<SourceTensor*, ValueId>> tensors_;
};

}  // namespace

Result<Values> call_function(Builder& builder, const Layer& layer, const LayerCall& call, const Values& inputs,
                             const std::vector<Scope>& scopes, const std::string& prefix, int number) {
  if (!builder.functions) builder.functions = std::make_shared<FunctionCalls>();
  return CallOfFunction(builder, *builder.functions, layer, call).run(inputs, scopes, prefix, number);
}

}  // namespace convoy::keras
