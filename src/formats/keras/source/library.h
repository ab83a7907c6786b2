// The modules of Keras and of tensorflow.keras, as far as networks are built with them.
#pragma once
#include "formats/format.h"
#include "formats/keras/initial.h"
#include "formats/keras/source/objects.h"
#include "formats/keras/source/seeds.h"

#include <optional>

namespace convoy::keras {

// Whose words programs are read in.
constexpr const char* source_version = "3.15.1";

// Whether a value is an array: it tells its shape and gives its numbers as lists, whichever library it is of.
bool is_known_array(python::Interpreter& in, const python::Value& value);

// A value from outside that a Lambda layer read when it was called.
struct Captured {
  const SourceLayer* layer;
  const python::Scope* scope;
  std::string name;
  python::Value value;
};

class SourceLibrary : public python::Library {
 public:
  explicit SourceLibrary(const LoadOptions& options) : options_(options), seeds_(options.seed.value_or(0)) {}
  Result<std::optional<python::Value>> module(python::Interpreter& in, const std::string& name) override;
  Result<std::optional<python::Value>> implied(python::Interpreter& in, const std::string& name) override;

  // Whether `value` is a model, a tensor that a model can end with, or a class that derives from keras.Model.
  bool is_model(python::Value value) const;
  bool is_model_class(python::Value value) const;
  // Fails as the reader of Keras files does; a model without an input shape where --shape gives none.
  Result<Graph> graph_of(python::Interpreter& in, python::Value model);

  // Calls a layer on tensors; the outputs as the program sees them. Fails as the reader does.
  Result<python::Value> call(python::Interpreter& in, SourceLayer& layer, python::Arguments& arguments);
  // A function of keras.ops by its class: "Add", "Mean".
  Result<python::Value> operate(python::Interpreter& in, const std::string& class_name, python::Arguments arguments);
  Result<SourceTensor*> input(python::Interpreter& in, Shape shape, const std::string& name, const std::string& dtype);
  std::string fresh_name(const std::string& class_name);
  // An array of known numbers as a tensor. Fails: numbers that come only when the model runs.
  Result<SourceTensor*> constant(python::Interpreter& in, const python::Value& array);
  // The same of lists of lists, as `dtype` where that is said.
  Result<SourceTensor*> constant(python::Interpreter& in, const Json& lists, std::optional<DType> dtype);
  // A function of keras.ops that others make up, by its name or its class: "hsv_to_rgb", "HSVToRGB". Nothing: there is none.
  Result<std::optional<python::Value>> composed_operation(python::Interpreter& in, const std::string& name);

 private:
  Result<python::Value> single_number(python::Interpreter& in, const python::Arguments& given);
  void prepare(python::Interpreter& in);
  void define(python::Interpreter& in, python::Class* of, const char* name, python::NativeFunction run);
  void make_layer_class(python::Interpreter& in);
  void make_model_class(python::Interpreter& in);
  void make_sequential_class(python::Interpreter& in);
  // "tensorflow.keras.layers": its name, and what stands behind the root of the package.
  struct ModulePart {
    std::string name, rest;
    bool tensorflow = false;  // TensorFlow's own
    bool is(std::string_view part) const { return rest.starts_with(part); }
  };
  std::optional<python::Value> plain_word(python::Interpreter& in, const ModulePart& part, const std::string& word);
  Result<std::optional<python::Value>> word_of_module(python::Interpreter& in, const ModulePart& part,
                                                      const std::string& word);
  std::optional<python::Value> backend_word(python::Interpreter& in, const std::string& word, bool is_keras);
  python::Value lambda_class(python::Interpreter& in);
  std::optional<python::Value> layer_class(python::Interpreter& in, const std::string& name);
  Result<std::optional<python::Value>> function(python::Interpreter& in, const std::string& name, bool activation,
                                                bool of_ops);
  Result<python::Value> make_layer(python::Interpreter& in, const std::string& class_name, python::Arguments& given);
  Status take_argument(python::Interpreter& in, SourceLayer& layer, const std::string& word,
                       const python::Value& value);
  void settle(Json& config, std::string_view words) const;
  void draw_both_ways(Json& config);
  Result<python::Value> make_model(python::Interpreter& in, python::Arguments& given);
  Result<python::Value> call_instance(python::Interpreter& in, python::Arguments& given);
  Result<python::Value> called(python::Interpreter& in, python::Arguments& given);
  // A layer that is written in the words of others (composed.cpp); nothing: there is none of this name.
  Result<std::optional<python::Value>> composed(python::Interpreter& in, const std::string& name);
  Result<std::optional<python::Value>> composed_function(python::Interpreter& in, const std::string& name);
  Result<python::Value> data_format(python::Interpreter& in, const python::Arguments& given);
  python::Value merge_function(python::Interpreter& in);
  Result<python::Value> follow(python::Interpreter& in, SourceLayer* state, python::Value function,
                               python::Arguments given, const char* mask = nullptr);
  // `made`, a result of what is called on `read`, with what becomes of the latter's mask (masks.h).
  Result<python::Value> with_mask(python::Interpreter& in, python::Value made, python::Value read, const char* how);
  // What a class of the program's own makes of a mask of what it reads. Null: none comes behind it.
  const char* mask_of_own(python::Interpreter& in, const python::Value& self, const python::Value& call,
                          const python::Arguments& given);
  void remember_captured(python::Interpreter& in, const SourceLayer& layer, const python::Value& function);
  Status check_captured(python::Interpreter& in) const;
  std::vector<SourceLayer*> branches_of(const SourceLayer& layer) const;  // of a Merge in front of a Sequential
  Result<python::Value> follow_sequential(python::Interpreter& in, SourceLayer& model, python::Value x);
  Status build_once(python::Interpreter& in, python::Instance& instance, const python::Arguments& given);
  Result<python::Value> add_weight(python::Interpreter& in, python::Arguments& given);
  // Initialisers: the JSON of a word with the seed that it draws, of what a program gives, and keras.initializers.WORD.
  Json fresh(std::string_view word);
  Result<Json> initialiser_of(python::Interpreter& in, const python::Value& value);
  std::optional<python::Value> initialiser(python::Interpreter& in, const std::string& word);
  python::Value seeding(python::Interpreter& in,
                        const std::string& word);  // keras.utils.set_random_seed, SeedGenerator
  // What the layer's constructor draws, in its order; `said`: the initialisers that the program gives.
  Status draw(python::Interpreter& in, SourceLayer& layer, const std::map<std::string, python::Value>& argument);
  void draw_again(Json& object);
  void draw_inside(SourceLayer& layer);
  Result<python::Value> input_function(python::Interpreter& in, python::Arguments& given);
  Result<python::Value> add(python::Interpreter& in, python::Arguments& given);
  void keep(python::Interpreter& in, python::Instance& instance, SourceLayer* layer);  // what an instance is made of
  SourceLayer* state_of(python::Value value) const;
  // What a program asks of a layer: asked.cpp.
  Result<std::optional<python::Value>> asked(python::Interpreter& in, python::Instance& instance,
                                             const std::string& word);
  Status unroll(python::Interpreter& in, SourceLayer& model);
  Result<python::Value> shape_behind(python::Interpreter& in, const SourceLayer& layer, const python::Arguments& given);
  python::Instance* instance_of(python::Interpreter& in, SourceLayer& layer);
  Result<python::ValueList> layers_in(python::Interpreter& in, SourceLayer& model);
  Result<python::Value> border(python::Interpreter& in, SourceLayer& layer, bool output);
  Result<python::Value> layer_named(python::Interpreter& in, SourceLayer& model, python::Arguments given);
  Status set_trainable(python::Interpreter& in, SourceLayer& layer, bool trains);
  Result<SourceLayer*> layer_in(python::Interpreter& in, python::Value value);
  Result<SourceLayer*> traced(python::Interpreter& in, python::Value model);
  Result<std::vector<SourceTensor*>> model_inputs(python::Interpreter& in, SourceLayer& model);

  const LoadOptions& options_;
  python::Class *layer_ = nullptr, *model_ = nullptr, *sequential_ = nullptr;
  std::map<std::string, python::Value> classes_;
  python::Scope *composed_ = nullptr, *functions_ = nullptr, *operations_ = nullptr;
  std::map<std::string, int> counts_, uids_;
  std::size_t calls_ = 0;
  Seeds seeds_;
  bool channels_first_ = false;  // what the program has set for layers that do not say it
  std::map<const SourceLayer*, SourceLayer*> holders_;  // the Sequential that a layer was added to
  std::vector<Captured> captured_;
  std::size_t constants_ = 0;
  bool sets_weights_ = false;  // the program gives layers weights that it has from elsewhere
  std::vector<std::pair<SourceLayer*, std::size_t>> within_;  // the program's own layers that are being followed
};

}  // namespace convoy::keras
