// Keras as a program sees it: layers, models, and tensors without numbers.
#pragma once
#include "containers/json.h"
#include "containers/python/interpreter.h"
#include "ops/tensor_type.h"

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

namespace convoy::keras {

// The interpreter's words for what a program holds, as everything says them that follows Keras programs.
using python::Arguments;
using python::Instance;
using python::Interpreter;
using python::Value;
using python::ValueList;
using Made = Result<Value>;

class SourceLayer;
class SourceLibrary;

// Output `tensor` of call `call` of a layer.
class SourceTensor : public python::Object {
 public:
  SourceTensor(SourceLibrary& in, SourceLayer* of, std::size_t which_call, std::size_t which, TensorType what)
      : library(in),
        layer(of),
        call_number(which_call),
        tensor(which),
        type(std::move(what)) {}
  std::string type_name() const override { return "KerasTensor"; }
  Result<std::optional<python::Value>> attribute(python::Interpreter& in, const std::string& name) override;
  Result<python::Value> item(python::Interpreter& in, python::Value key) override;
  Result<std::optional<python::Value>> binary(python::Interpreter& in, std::string_view symbol, python::Value other,
                                              bool reversed) override;
  Result<std::optional<python::Value>> unary(python::Interpreter& in, std::string_view symbol) override;
  Result<bool> truth(python::Interpreter&) override;
  SourceLibrary& library;
  SourceLayer* const layer;
  const std::size_t call_number, tensor;
  const TensorType type;
};

// One call: its arguments with {"$tensor": i} in the place of tensors[i].
struct SourceCall {
  std::vector<SourceTensor*> tensors;
  Json args = Json::array(), kwargs = Json::object();
  std::size_t order = 0;  // among all calls of the program
  // The outermost layer of the program's own whose call() made this one, and which call of it; none: it stands in the model.
  SourceLayer* within = nullptr;
  std::size_t within_call = 0;
};

// A layer, a function of keras.ops, a model, or a weight of a layer of the program's own (source_weight); what an instance
// of a Keras class keeps.
class SourceLayer : public python::Object {
 public:
  std::string type_name() const override { return class_name; }
  bool is_model() const { return class_name == "Sequential" || class_name == "Functional"; }
  std::string name, class_name, module = "keras.layers";
  Json config = Json::object();
  std::vector<SourceCall> calls;
  std::vector<SourceLayer*> layers;  // of a Sequential
  std::vector<SourceTensor*> inputs, outputs;  // of a functional model; of a Sequential that is asked for them
  std::vector<std::string> input_keys, output_keys;  // of a functional model that takes or gives a dictionary
  std::vector<SourceTensor*> steps;  // of a Sequential that is asked for them: what each of its layers gives
  bool loads_weights = false;  // the program reads them from a file that it names
  Instance* instance = nullptr;  // none of what functions make
  std::vector<SourceLayer*> variables;  // of add_weight, in the order made
  std::vector<std::vector<SourceTensor*>> followed;  // what its own call() was called on, call by call
  SourceLayer* root = nullptr;  // of a functional model: the program's own model that it was made of

  bool is_weight() const;
  bool is_known() const;  // a weight of the program's own, or an array of known numbers: nothing calls it
  bool is_own() const;  // its class has a call() of its own, or its activation is a function of the program's own
  const python::Value* own_activation() const;  // null: none
  bool holds_own() const;  // of a Sequential: one of its layers is the program's own
  std::string own_class() const;  // the name of its class in the program
};

// {"class_name", "config", ...} as Keras writes it. Fails: a model whose outputs do not come from its inputs.
Result<Json> json_of(const SourceLayer& layer);

// The layers of a functional model in the order in which Keras keeps them.
std::vector<SourceLayer*> layers_of(const SourceLayer& functional);

// Python values as JSON; layers as their own objects, functions of activations as their names.
Result<Json> json_of(python::Interpreter& in, python::Value value, int depth = 0);

}  // namespace convoy::keras
