// Follows a PyTorch program while it builds and calls its modules: tensors stand for values of a graph, and every call of
// a function adds what its row says.
#pragma once
#include "containers/python/interpreter.h"
#include "formats/format.h"
#include "formats/function.h"
#include "formats/torch/reordered_weights.h"
#include "formats/torch/source/draws.h"
#include "formats/torch/source/free_size.h"
#include "run/run.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace convoy::torch {

class Tracer;

// A tensor of the program. In-place functions give it another value; what shares its memory is then stale.
class SourceTensor : public python::Object {
 public:
  SourceTensor(Tracer& in, ValueId of, int memory) : tracer(in), value(of), storage(memory) {}
  std::string type_name() const override { return "Tensor"; }
  Result<std::optional<python::Value>> attribute(python::Interpreter& in, const std::string& name) override;
  Result<python::Value> item(python::Interpreter& in, python::Value key) override;
  // Gives a part other numbers, as x[:, 0] = y does. Fails: parts by lists of cells, cells whose sizes are free.
  Status set_item(python::Interpreter& in, python::Value key, python::Value given) override;
  Status set_attribute(python::Interpreter& in, const std::string& name, python::Value given) override;
  Result<std::optional<python::Value>> copied(python::Interpreter& in) override;
  Result<std::optional<python::Value>> binary(python::Interpreter& in, std::string_view symbol, python::Value other,
                                              bool reversed) override;
  Result<std::optional<python::Value>> augmented(python::Interpreter& in, std::string_view symbol,
                                                 python::Value other) override;
  Result<std::optional<python::Value>> unary(python::Interpreter& in, std::string_view symbol) override;
  Result<bool> truth(python::Interpreter&) override;
  Result<Size> length(python::Interpreter&) override;
  Result<python::ValueList> elements(python::Interpreter& in) override;

  Tracer& tracer;
  ValueId value;  // refers to nothing: an input that nobody has used yet
  int storage;  // tensors of one storage share memory
  int split = 0;  // pieces of one split share none of it all the same; 0: it is no such piece
  bool stale = false;
  bool is_parameter = false, is_buffer = false, persistent = true;
  bool is_random = false;  // its numbers come from no file and no program
  std::string input_name;  // of an input
  std::optional<Shape> said;  // its shape, where that is known before anybody uses it
  std::shared_ptr<FreePad> free_pad;  // padded by sizes that are free: a convolution may make SAME of it
  // Where it is whole[key]: what is written into it is written there, too, while that still has the value `of_whole`.
  SourceTensor* whole = nullptr;
  python::Value key;
  ValueId of_whole;
};

class Tracer {
 public:
  explicit Tracer(const LoadOptions& options) : options_(options) {}

  // A call of a row. Folds what is known; refuses to compute with weights before they are bound.
  Result<std::vector<ValueId>> call(python::Interpreter& in, const FunctionRow& row, const Json& arguments,
                                    TensorArguments tensors, std::size_t results = 1);
  // The tensor's value; makes the input that nobody used before. `wanted`: what its user knows of its shape.
  Result<ValueId> value_of(SourceTensor& tensor, const std::optional<Shape>& wanted = {}, DType dtype = DType::F32);
  // Of an input that nobody used before: the type that it is given, else float32.
  DType dtype_of(const SourceTensor& tensor, DType otherwise = DType::F32) const;
  Result<Shape> shape_of(SourceTensor& tensor);
  python::Value tensor(python::Interpreter& in, ValueId value, int storage = -1);
  python::Value array(python::Interpreter& in, ValueId value, int storage);  // the same as an Array
  // The same numbers in another order of memory: a copy, unless they lie so already. Once one of the two is changed in place,
  // the other is no longer known.
  Result<python::Value> laid_anew(python::Interpreter& in, ValueId value, int storage);
  // A convolution of what was padded by sizes that are free: says SAME in it where that is what the pads are at every size,
  // and reads the padded numbers where they are something else. Fails (Usage) where those cannot be made.
  Result<std::vector<ValueId>> call_padded(python::Interpreter& in, const FunctionRow& row, const Json& arguments,
                                           TensorArguments tensors, const SourceTensor& padded);
  // The value as code reads it that keeps gradients: what was computed where none are kept passes none back.
  Result<ValueId> recorded(ValueId value);
  // x.detach(): the same numbers in the same memory. Known numbers have no gradient, and stay as they are.
  Result<python::Value> detached(python::Interpreter& in, SourceTensor& tensor);
  // The tensor takes this value in place, in its own type. Fails: fractions for whole numbers, and other than truths for truths.
  Status write(python::Interpreter& in, SourceTensor& tensor, ValueId value);
  Result<ValueId> as_written(python::Interpreter& in, const SourceTensor& tensor, ValueId value);
  Result<python::Value> parameter(python::Interpreter& in, const Sizes& shape, Filling filling, bool buffer = false,
                                  DType dtype = DType::F32);
  python::Value constant(python::Interpreter& in, Tensor numbers);
  int fresh_storage() { return ++storages_; }
  // The results of a function that takes a tensor apart, which lie in its memory side by side.
  python::ValueList pieces(python::Interpreter& in, const std::vector<ValueId>& values, int storage);

  // While a module is called, its name and class go with every node.
  struct Calling {
    std::string path, kind;
    bool leaf = true;  // holds no other modules: its functions are the layer itself
    int call = 0;  // how often it was called before
  };
  std::vector<Calling> calling;
  std::map<const python::Object*, std::string> paths;  // of modules, once they are named
  std::map<std::string, int> scope_calls;
  Graph graph;
  bool bound = false;  // weights have their numbers
  bool loads_weights = false;  // the program reads them from a file that it names
  std::optional<std::string> loaded_path;  // of the file that --weights gives, as the program names it
  std::set<std::int32_t> file_values;  // what stands in it
  std::set<std::int32_t> file_weights;  // weights that the program makes those numbers itself
  // load_state_dict() of a file, by the module that takes it.
  struct LoadedState {
    const python::Object* module = nullptr;
    std::size_t changes = 0;  // of weights, that were made before
    std::map<std::string, ValueId> weights;  // that the module has then
    std::optional<std::string> dict;  // of the file: "model.generator"; nothing: it is not known
    bool is_changed = false;  // that dict, in ways that nobody follows
    bool is_strict = true;  // otherwise it may hold others, and lack some, which stay as they are filled
    // What the program made of that dict. Nothing: it is taken as it is.
    std::optional<std::vector<LoadedTensor>> numbers;
    std::set<std::string> kept;  // weights that are given themselves, and stay as they are filled
  };
  std::vector<LoadedState> loaded_states;
  std::set<const python::Object*>
      taken_state;  // modules whose nn.Module has been asked to take its part of a state_dict
  // A weight is given other numbers while the program builds. Not followed: nobody knows which.
  struct WeightChange {
    ValueId weight;
    std::string by;
    bool is_followed = true;
  };
  std::vector<WeightChange> weight_changes;
  using NamedWeights = std::vector<std::pair<std::string, SourceTensor*>>;
  // How the program loads a file into this module; null: it does not. Fails where the numbers of --weights are then not what it
  // computes with.
  Result<const LoadedState*> own_load(const python::Object& module, const NamedWeights& named) const;
  // Buffers that a module has registered as None, by its name for them; whether a file holds them.
  std::map<std::pair<const python::Object*, std::string>, bool> empty_buffers;
  bool is_wrapped = false;  // by DataParallel or torch.compile, behind whose words the names of weights stand
  std::string default_type = "float32";  // of new real numbers, as the program sets it; the last other one
  bool keeps_gradients = true;  // not within torch.no_grad()
  bool follows_script = false;  // what is drawn is an input: functions are called outside of any model
  // What the program draws or fills, in its order, where no file gives the weights.
  struct Draw {
    // Train: running numbers that are moved on. Lose: nobody knows the value any more, or what is drawn from there on.
    enum class What : std::uint8_t { Fill, Compute, Restart, Set, Copy, Train, Lose } what = What::Fill;
    ValueId value;  // filled, or made the numbers of `from`
    Filling filling;
    ValueId from;  // computed from tensors that were drawn; the weight that is copied
    std::uint64_t seed = 0;  // torch.manual_seed(seed)
    std::optional<Tensor> numbers;  // that the value is set to
    std::string by = "a call";  // what loses it
  };
  std::vector<Draw> draws;
  std::map<std::int32_t, Filling> usual_fillings;  // of weights whose layer is filled by the program in its place
  // The weight is filled anew. Fails: what is no weight, or a model that runs already.
  Status refill(const SourceTensor& weight, const Filling& filling, const std::string& by);
  // A weight takes these numbers while its module is built.
  void start(ValueId weight, Tensor numbers);
  // Other tensors in the weight's memory that hold other values no longer say what is there: it is filled in place.
  void leave_stale(const SourceTensor& weight);
  // The numbers that a weight starts with, as far as the program has come; nothing: they are drawn.
  std::optional<Tensor> starting(ValueId weight) const;
  std::map<std::int32_t, Size> spectral;  // weights under spectral_norm, with the axis of their rows
  std::set<std::int32_t> weights;  // values that a file may give
  Reordered reordered;  // constants that hold all numbers of a weight in another order
  std::set<std::int32_t>
      random_values;  // random numbers that a program draws outside of any model: what it computes is open
  // Whether the numbers are drawn, or computed of such.
  bool is_drawn(ValueId value) const {
    return random_values.contains(value.index) || of_random_values_.contains(value.index);
  }
  std::set<const python::Object*> at_rest;  // modules that were told eval() while the program builds
  // Of which nobody knows the numbers: a dropout in training gave them, or another generator.
  std::set<std::int32_t> lost_values;
  // The value once more, with numbers that nobody knows.
  Result<ValueId> unknown(ValueId value);
  // Computed from weights while a module was built, where a file's weights come later; with the number of draws before.
  std::map<std::int32_t, std::size_t> early_values;
  // Numbers that stand in the program, and those that belong to its modules: once all of it was followed.
  void tell_literals();
  // Numbers for every weight: those of the file by name, or drawn. Fails: a name that only one side has.
  // `own`: how the program loads a file into the whole model.
  Status bind(const NamedWeights& named, const LoadedState* own = nullptr);
  const LoadOptions& options() const { return options_; }

 private:
  Result<ValueId> with_free_pad(python::Interpreter& in, const FreePad& pad, ValueId result);
  // The same of its first draws: a weight may have been copied to and fro.
  std::optional<Tensor> starting(ValueId weight, std::size_t before) const;
  bool holds_start(ValueId weight) const;  // the graph has the numbers that the weight starts with
  Status take(std::vector<LoadedTensor> loaded, const NamedWeights& named, const LoadedState* own);
  Result<std::vector<LoadedTensor>> loaded_for(const NamedWeights& named, const LoadedState* own) const;
  Status expect_one_meaning(const std::vector<LoadedTensor>& given, const std::vector<LoadedTensor>& made,
                            const NamedWeights& named) const;
  Result<std::vector<ValueId>> folded(std::size_t first, std::vector<ValueId> values);
  Status all_copied(const std::vector<LoadedTensor>& loaded, const NamedWeights& named) const;
  Status fill_lacking(const std::vector<LoadedTensor>& loaded, const NamedWeights& named, const LoadedState& own,
                      const std::set<std::int32_t>& seen);
  void start_unnamed(const std::set<std::int32_t>& named);
  Status draw_weights(const std::set<std::int32_t>& named);
  Status draw_one(const Draw& draw, Draws& source, std::map<std::int32_t, Tensor>& drawn, bool keeps, bool is_lost,
                  bool is_kept);
  Status move_on(const Draw& draw, std::map<std::int32_t, Tensor>& known, std::map<std::int32_t, Tensor>& moved);
  Result<Tensor> computed(ValueId value, std::map<std::int32_t, Tensor>& known, Precision precision);
  const LoadOptions& options_;
  int storages_ = 0, splits_ = 0;
  std::map<int, std::vector<SourceTensor*>> sharing_;
  std::map<std::int32_t, int> own_storage_;  // of each value's first tensor
  std::map<std::string, int> unnamed_;
  Result<ValueId> stopped(ValueId value);
  std::set<std::int32_t> unfiled_;  // weights that are drawn, and in no file
  std::set<std::int32_t> of_random_values_;  // computed of random_values
  std::set<std::int32_t> unrecorded_;  // computed where no gradients are kept
  std::map<std::int32_t, ValueId> stopped_;  // through which no gradient comes back, by the value that it is otherwise
};

// Values as the rows take them: numbers, words and lists. Fails: tensors, sizes that are free.
Result<Json> json_of(python::Interpreter& in, const python::Value& value, int depth = 0);

// A function by PyTorch's name for it: torch.cat, F.relu, x.view. Nothing: no such function here.
std::optional<python::Value> function_named(Tracer& tracer, python::Interpreter& in, const std::string& name);
// The same, called. `self`: the tensor whose method it is.
Result<python::Value> call_function_named(Tracer& tracer, python::Interpreter& in, const std::string& name,
                                          python::Arguments given);
bool is_function(const std::string& name);
// The element type that the method float(), half(), to(...), type(...) or type_as(...) asks for; None: none.
python::Value element_type(const Tracer& tracer, python::Interpreter& in, const std::string& name,
                           const python::Arguments& given);
// The list of a new shape with whole numbers for the free sizes in it: 0 keeps the size at its place, -1 is worked out.
Result<python::Value> settled_sizes(Tracer& tracer, python::Interpreter& in, SourceTensor& tensor,
                                    const python::Value& list);
// Numbers that are known before any weight is: nothing where they are drawn or come only when the model runs.
std::optional<Tensor> known_numbers(const Tracer& tracer, const python::Value& given);
// In-place methods that say numbers: fill_, zero_, copy_, normal_, uniform_. Nothing: another method.
std::optional<python::Value> filling_method(SourceTensor& tensor, python::Interpreter& in, const std::string& name);
// What a model gave, as the outputs of the tracer's graph: dictionaries and tuples entry by entry.
Status take_outputs(Tracer& tracer, python::Interpreter& in, const python::Value& value, const std::string& name,
                    int depth = 0);

// torch.nn.init.NAME; nothing: there is none.
std::optional<python::Value> initialiser(Tracer& tracer, python::Interpreter& in, const std::string& name);

// Classes of torch.nn. `module_class` is the base of all.
class ModuleClasses {
 public:
  explicit ModuleClasses(Tracer& tracer) : tracer_(tracer) {}
  python::Class* module_class(python::Interpreter& in);
  std::optional<python::Value> named(python::Interpreter& in, const std::string& name);
  // Layers that PyTorch itself puts together of others, MultiheadAttention and the Transformer's: nothing for another name.
  Result<std::optional<python::Value>> composed(python::Interpreter& in, const std::string& name);

 private:
  python::Class* container(python::Interpreter& in, const std::string& name);
  python::Class* layer(python::Interpreter& in, const std::string& name);
  Tracer& tracer_;
  python::Class* module_ = nullptr;
  std::map<std::string, python::Class*> made_;
};
// Attributes of a module that are modules, in order.
std::vector<std::pair<std::string, python::Instance*>> children_of(const python::Instance& module);
bool is_module(const python::Value& value);
// Whether a class of the program defines this method of the module.
bool defines(const python::Instance& module, const std::string& method);

// ---- layers
// Whether torch.nn has this layer and we read it.
bool is_layer(const std::string& name);
// __init__ and forward of a layer's class.
Result<python::Value> embedding_of(Tracer& tracer, python::Interpreter& in,
                                   python::Arguments& given);  // Embedding.from_pretrained()
Result<python::Value> make_layer(Tracer& tracer, python::Interpreter& in, const std::string& name,
                                 python::Arguments& given);
Result<python::Value> run_layer(Tracer& tracer, python::Interpreter& in, const std::string& name,
                                python::Arguments& given);

}  // namespace convoy::torch
