// One layer being called while the graph is built: its config, its inputs, its weights, and the graph to add to. The
// first failure sticks, so a family's functions are straight-line code; their caller asks once at the end.
#pragma once
#include "formats/attrs.h"
#include "formats/keras/policy.h"
#include "formats/keras/topology.h"
#include "formats/keras/weights.h"
#include "formats/unknown_sizes.h"
#include "graph/graph.h"

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::keras {

using Values = std::vector<ValueId>;

// Which steps of a sequence count: a truth for each, [N, T].
struct Mask {
  ValueId ids;  // Embedding's: a step counts where its number is not 0
  ValueId truths;  // made when somebody asks
  bool named = false;  // by the call itself
  bool unknown = false;  // what the layer in between makes of it is not followed
};

class FunctionCalls;

// What all calls of one model share.
struct Builder {
  Graph graph;
  Version version;
  WeightSource* weights = nullptr;        // none: constants of the declared shapes, all zero
  std::map<std::string, ValueId> bound;   // constants by name: a shared layer has them once
  std::set<std::string> counted;          // layers whose arrays were all accounted for
  std::map<std::int32_t, Mask> masks;     // of the values that carry one
  bool resized = false;                    // the model being called is given other sizes than the file tells of
  bool theano = false;                    // the file's backend: kernels are stored flipped
  Size zeros = 0;                         // bytes made up where there are no weights
  std::size_t calls = 0;
  std::shared_ptr<FunctionCalls> functions;  // of TensorFlow, once one is called
  // One layer of a program that is being followed: all batches are taken for one, which the whole model decides later.
  bool is_one_layer = false;
  UnknownSizes sizes;

  // Which free sizes are equal, up to the last node.
  UnknownSizes& known_sizes();

  // The steps that count in one value count in another that is made of it.
  void hand_mask_on(ValueId from, ValueId to);
};

class Call {
 public:
  Call(Builder& builder, const Layer& layer, const LayerCall* call, Values inputs, std::vector<Scope> scopes,
       std::string prefix, Location location, std::shared_ptr<Variables> shared);

  const Layer& layer;
  const LayerCall* call;  // arguments, or none
  Attrs attrs;  // of the layer's config
  const Version& version;
  Values inputs;

  bool failed() const { return attrs.failed(); }
  void refuse(Fault fault, std::string what) { attrs.refuse(fault, std::move(what)); }

  // The one input of most layers; fails where there are more or none.
  ValueId x();
  const TensorType& type(ValueId value) const;
  Size rank(ValueId value) const { return type(value).rank(); }
  Dim dim(ValueId value, Size axis) const;  // unknown where there is no such axis
  // A negative axis counted from the end; fails out of range.
  Size axis(Size axis, Size rank);
  Sizes axes(Sizes axes, Size rank);  // sorted, no doubles
  // Fails unless the value has this rank.
  bool expect_rank(ValueId value, Size rank);

  // Adds a node. The layer's result is named after the layer, a step on the way there "layer/step".
  ValueId add(Op op, Values node_inputs, std::string_view step = {});
  Values add_all(Op op, Values node_inputs, std::string_view step = {});
  // The nodes from the `first` on, which others than add() put behind the graph, become the layer's own.
  void adopt(std::size_t first);
  ValueId make_constant(std::string_view name, Tensor tensor, bool trainable = false);
  // The truths of the mask that the first input carries. Nothing: it carries none. Fails (refuses): one that is not known.
  std::optional<ValueId> mask();
  // The same of any value, whatever else the layer is called with.
  std::optional<ValueId> mask_of(ValueId value);
  // Numbers that the model says itself, and no file of weights holds.
  ValueId literal(std::string_view name, Tensor tensor);
  ValueId scalar(std::string_view name, float value);

  // The next array of the layer, "layer/name" in the graph. `expected` may have unknown sizes.
  ValueId weight(std::string_view name, const Shape& expected, bool trainable = true);
  // The same as a tensor, for what must be cut up first. Not shared between calls: guard with `bound`.
  Tensor take(std::string_view name, const Shape& expected);
  std::optional<ValueId> bound(std::string_view name) const;
  // An argument of the call, by its name or its place among those, that the layer reads beside its inputs.
  void understands(std::string_view argument, std::size_t place) { understood_.emplace(argument, place); }
  // What the layer keeps in a file of text of its own. Nothing: there is none.
  std::optional<std::string> text_beside(std::string_view file);
  void skip_weights() { skips_weights_ = true; }  // arrays that inference does not read
  // The arrays of a part of the layer: "cell". `otherwise`: where they lie if they do not lie there.
  void enter(const std::string& attribute, const std::string& otherwise = {});
  void leave();

  // Runs the activation of attribute `key` behind y.
  ValueId activated(ValueId y, std::string_view key = "activation");
  bool has_activation(std::string_view key = "activation");
  std::string_view step(std::string_view name) { return has_activation() ? name : std::string_view(); }
  // data_format, or Keras 1's dim_ordering.
  Order order();
  // Runs another layer as a part of this one; `attribute` is where its arrays lie; empty: where this layer's own do.
  Values run_inside(const Layer& inner, const std::string& attribute, Values inner_inputs);
  Layer inside(std::string_view key);  // the layer that an attribute holds

  // Whether the layer multiplies or looks up whole numbers of 8 bits, which its kernel or table then holds.
  bool is_int8() const { return is_int8_; }
  DType computes() const { return policy_.compute; }
  // What the layer's function made, in the type that the layer gives.
  Values in_policy(Values made);

  const std::string& full_name() const { return full_name_; }
  Builder& builder() { return builder_; }
  Status done();

 private:
  void load_variables();
  void enter_inside(const std::string& attribute);
  void follow_policy();
  ValueId cast(ValueId value, DType to);
  Values add_apart(const Op& op, Values node_inputs, std::string_view step);
  // As which weights are read: Keras rounds them where the layer computes in fewer bits than it holds.
  DType weights_type() const { return between_casts_.value_or(policy_.compute); }
  bool frozen() const;
  Status check_arguments() const;

  bool acts_in_training() const;

  Builder& builder_;
  Policy policy_;
  InHalves halves_ = InHalves::Unknown;  // of a policy of 16 bits
  std::optional<DType> between_casts_;  // in which a norm computes, whatever its policy gives
  bool is_int8_ = false;
  std::size_t first_node_;  // of this call
  std::vector<Scope> scopes_;
  std::string prefix_, full_name_;
  Location location_;
  std::shared_ptr<Variables> variables_;  // null until asked for
  bool own_variables_ = true;  // not the list of the wrapper around this layer
  bool skips_weights_ = false;
  std::map<std::string, std::size_t, std::less<>> understood_;
  std::vector<std::pair<Location, std::shared_ptr<Variables>>> outside_;
  std::map<std::string, std::shared_ptr<Variables>> entered_;  // by group
};

struct CatalogueRow;

// An activation by its word. Fails on an unknown one.
ValueId activate(Call& call, ValueId y, const std::string& word, std::string_view step = {});
// Whether a class of this module is Keras's own; old files give no module.
bool of_keras(const std::string& module);
// What reads it. Null: nothing does.
const CatalogueRow* row_of(const Layer& layer);
// Whether this is a call of keras.ops, which takes arguments instead of a config.
bool is_operation(const Layer& layer);
// Why a class is not carried.
std::string refusal_of(const Layer& layer);

// Calls a layer (or a model) and checks that config, arguments and arrays were consumed.
Result<Values> run_layer(Builder& builder, const Layer& layer, const LayerCall* call, Values inputs,
                         const std::vector<Scope>& scopes, const std::string& prefix, const Location& location,
                         std::shared_ptr<Variables> shared = nullptr, int scope_call = 0);
Result<Values> run_model(Builder& builder, const Model& model, Values inputs, const std::vector<Scope>& scopes,
                         const std::string& prefix, const Location& location);

// The element type that an input says: "float32", "uint8". Fails: one that is not carried.
Result<DType> input_dtype(const std::string& word);

// The whole: inputs, layers, outputs. Without weights, constants are zeros of the declared shapes.
Result<Graph> build(const Json& model, const Version& version, WeightSource* weights, const LoadOptions& options,
                    bool theano = false);

}  // namespace convoy::keras
