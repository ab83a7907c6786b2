// The layers of a model and who calls whom, read from every grammar that Keras has written; nothing of a layer's own
// config is looked at here.
#pragma once
#include "containers/json.h"
#include "convoy/result.h"
#include "formats/keras/version.h"

#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <vector>

namespace convoy::keras {

// One tensor: output `tensor` of call number `call` of a layer.
struct TensorRef {
  std::size_t layer = 0, call = 0, tensor = 0;
  const Json* recorded = nullptr;  // its shape and dtype where a reader's file tells them; lives as the JSON does
};

// One call of a layer. In `args` and `kwargs` every tensor is replaced by {"$tensor": its place in `tensors`}.
struct LayerCall {
  std::vector<TensorRef> tensors;
  Json args = Json::array(), kwargs = Json::object();
};

struct Model;

struct Layer {
  std::string name, class_name, module, registered_name;
  const Json* config = nullptr;    // lives as long as the JSON the model was read from
  std::vector<LayerCall> calls;    // none in a Sequential, which is a chain
  std::shared_ptr<Model> model;    // of a model inside the model
};

struct Model {
  std::string name, class_name;
  bool sequential = false;
  // A functional model's own `trainable` is false: nothing trains in the outermost, whatever its layers say.
  bool stands_still = false;
  std::vector<Layer> layers;
  std::vector<TensorRef> inputs, outputs;  // of a functional model
  // Of a model that takes or gives a dictionary: its keys, one per input or output, in their order as Keras sorts them.
  std::vector<std::string> input_keys, output_keys;
  std::vector<Json> input_shape;  // a Sequential's build_input_shape, if it says one (one element)
};

// `object` is {"class_name", "config", ...}. Fails on a subclassed or custom model, and where the words of a model
// are missing, doubled or refer to nothing.
Result<Model> read_model(const Json& object, const Version& version);
// One layer outside a model's list: the inside of a wrapper.
Result<Layer> read_layer(const Json& object, const Version& version);

inline std::string place_of(const Layer& layer) { return "layer '" + layer.name + "' (" + layer.class_name + ")"; }
std::string module_of(const Json& object);
bool is_model_class(const std::string& class_name);

}  // namespace convoy::keras
