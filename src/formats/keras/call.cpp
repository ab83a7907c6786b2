#include "formats/keras/call.h"

#include "base/budget.h"
#include "base/whole_tensor.h"
#include "formats/keras/initial.h"
#include "formats/keras/operation.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>

namespace convoy::keras {
namespace {

const Json no_config = Json::object();

// What only training asks for, or what every layer carries.
constexpr auto without_meaning = std::to_array<std::string_view>(
    {"name", "trainable", "dtype", "batch_input_shape", "batch_shape", "batch_size", "input_dtype", "input_shape",
     "build_input_shape", "autocast", "sparse", "ragged", "kernel_initializer", "bias_initializer",
     "depthwise_initializer", "pointwise_initializer", "recurrent_initializer", "beta_initializer", "gamma_initializer",
     "embeddings_initializer", "alpha_initializer", "moving_mean_initializer", "moving_variance_initializer",
     "kernel_regularizer", "bias_regularizer", "depthwise_regularizer", "pointwise_regularizer",
     "recurrent_regularizer", "beta_regularizer", "gamma_regularizer", "embeddings_regularizer", "alpha_regularizer",
     "activity_regularizer", "kernel_constraint", "bias_constraint", "depthwise_constraint", "pointwise_constraint",
     "recurrent_constraint", "beta_constraint", "gamma_constraint", "embeddings_constraint", "alpha_constraint",
     "query_initializer", "key_initializer", "value_initializer", "output_initializer", "lora_rank", "lora_alpha",
     starts_anew, group_key, cell_key,
    // Keras 1
     "init", "inner_init", "forget_bias_init", "weights", "W_regularizer", "b_regularizer", "U_regularizer",
     "W_constraint", "b_constraint", "beta_init", "gamma_init", "input_dim", "input_length"});

// Memory of zeros that no page stands behind until somebody writes to it.
Result<Tensor> zeros(const Sizes& shape, Size& total) {
  const auto count = checked_count(shape);
  const auto bytes = count ? checked_multiply(*count, 4) : std::nullopt;
  constexpr Size most = Size{16} << 30;
  if (!bytes || *bytes > most || total + *bytes > most)
    return fail(Fault::Limit, "the declared weights take more than 16 GiB");
  total += *bytes;
  std::shared_ptr<void> memory(std::calloc(static_cast<std::size_t>(std::max<Size>(*bytes, 1)), 1), std::free);
  if (!memory) return fail(Fault::Limit, "there is no memory for the declared weights");
  return Tensor::view(DType::F32, shape,
                      {static_cast<const std::byte*>(memory.get()), static_cast<std::size_t>(*bytes)}, memory);
}

bool fits(const Sizes& shape, const Shape& expected) {
  if (shape.size() != expected.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (expected[i].known() && *expected[i] != shape[i]) return false;
  return true;
}

std::string text_of(const Sizes& sizes) {
  std::string text = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) text += (i ? ", " : "") + std::to_string(sizes[i]);
  return text + "]";
}

std::string text_of_expected(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + (shape[i].known() ? std::to_string(*shape[i]) : std::string("?"));
  return text + "]";
}

// What a layer computes in; a word of whole numbers says what a layer of indices gives.
Policy policy_in(Attrs& attrs) {
  const Json* dtype = attrs.raw("dtype");
  if (!dtype) return {};
  const std::string name = policy_word(*dtype);
  if (name.empty()) attrs.refuse(Fault::Format, "attribute 'dtype' is not understood");
  const bool is_whole = name.starts_with("int") || name.starts_with("uint") || name == "bool";
  if (name.empty() || (is_whole && (name != "int8" || dtype->is_string()))) return {};
  auto policy = policy_of(name);
  if (!policy) attrs.refuse(policy.error());
  return policy.value_or(Policy{});
}

}  // namespace

UnknownSizes& Builder::known_sizes() {
  for (const ValueId input : graph.inputs)
    if (sizes.of(input).empty() && graph[input].type.rank() > 0)
      sizes.add_input(graph, input, is_one_layer ? std::vector<std::string>{"batch"} : std::vector<std::string>{});
  sizes.follow(graph);
  return sizes;
}

Call::Call(Builder& builder, const Layer& called, const LayerCall* arguments, Values node_inputs,
           std::vector<Scope> scopes, std::string prefix, Location location, std::shared_ptr<Variables> shared)
    : layer(called),
      call(arguments),
      attrs(called.config ? *called.config : no_config),
      version(builder.version),
      inputs(std::move(node_inputs)),
      builder_(builder),
      first_node_(builder.graph.nodes.size()),
      scopes_(std::move(scopes)),
      prefix_(std::move(prefix)),
      full_name_(prefix_ + called.name),
      location_(std::move(location)),
      variables_(std::move(shared)),
      own_variables_(variables_ == nullptr) {
  if (!is_operation(called)) follow_policy();
  attrs.ignore_all(without_meaning);
  if (is_int8_) attrs.ignore({"quantization_config"});
  else if (attrs.has("quantization_config"))
    refuse(Fault::Unsupported, "is quantized, which this version does not carry");
}

// Layers turn the real numbers that come in into what they compute in; operations take them as they are.
void Call::follow_policy() {
  const Json* says = attrs.raw("autocast");
  const bool casts = (!says || *says != false) && layer.class_name != "InputLayer";
  const Json* dtype = attrs.raw("dtype");
  // An embedding quantizes nothing that comes in, whatever its configuration says of that.
  const bool looks_up = layer.class_name == "Embedding";
  const bool may_be = looks_up || layer.class_name == "Dense" || layer.class_name == "EinsumDense";
  is_int8_ = may_be && dtype && is_plain_int8(*dtype, looks_up ? nullptr : attrs.raw("quantization_config"));
  if (!is_int8_) policy_ = policy_in(attrs);
  if (failed()) return;
  if (policy_.is_half()) {
    halves_ = version.major < 3 ? InHalves::Unknown : in_halves(layer.class_name);
    if (halves_ == InHalves::Unknown)
      return refuse(Fault::Unsupported, "computes in " + std::string(convoy::name_of(policy_.compute)) +
                                            ", which this version follows in Keras 3's layers without random or "
                                            "changing state, such as convolutions, attention and recurrent layers");
  }
  const bool in_between = version.major >= 3 && in_halves(layer.class_name) == InHalves::InSingle;
  for (ValueId& input : inputs) {
    if (!casts || !input || !is_floating(type(input).dtype)) continue;
    if (layer.class_name != "LayerNormalization" && layer.class_name != "GroupNormalization")
      input = cast(input, policy_.compute);
    if (in_between && convoy::is_half(type(input).dtype)) input = cast(input, DType::F32);
  }
  if (in_between)
    between_casts_ = inputs.size() == 1 && inputs[0] ? meeting(type(inputs[0]).dtype, DType::F32) : DType::F32;
}

void Builder::hand_mask_on(ValueId from, ValueId to) {
  const auto known = masks.find(from.index);
  if (known != masks.end()) masks.emplace(to.index, Mask(known->second));
}

ValueId Call::cast(ValueId value, DType to) {
  if (failed() || type(value).dtype == to) return value;
  const ValueId made = add(Cast{to}, {value}, "cast");
  if (made) builder_.hand_mask_on(value, made);
  return made;
}

// The result under the layer's own name, and what it was rounded from under another.
Values Call::in_policy(Values made) {
  if (failed() || (!policy_.is_half() && !between_casts_)) return made;
  for (ValueId& value : made) {
    if (!value || !is_floating(type(value).dtype) || type(value).dtype == policy_.compute) continue;
    if (!between_casts_) {
      refuse(Fault::Unsupported, "gives " + std::string(convoy::name_of(type(value).dtype)) + " where it computes in " +
                                     std::string(convoy::name_of(policy_.compute)));
      return made;
    }
    const std::string name = builder_.graph[value].name;
    builder_.graph.rename(value, name + "/" + std::string(convoy::name_of(type(value).dtype)));
    value = cast(value, policy_.compute);
    if (value) builder_.graph.rename(value, name);
  }
  return made;
}

ValueId Call::x() {
  if (inputs.size() == 1) return inputs.front();
  refuse(Fault::Format, "has " + std::to_string(inputs.size()) + " inputs, expected 1");
  return {};
}

const TensorType& Call::type(ValueId value) const {
  static const TensorType nothing;
  return value ? builder_.graph[value].type : nothing;
}

Dim Call::dim(ValueId value, Size axis) const {
  const Shape& shape = type(value).shape;
  return axis >= 0 && axis < static_cast<Size>(shape.size()) ? shape[static_cast<std::size_t>(axis)] : Dim::unknown();
}

Size Call::axis(Size axis, Size rank) {
  if (failed()) return 0;
  if (axis < -rank || axis >= rank) {
    refuse(Fault::Format,
           "axis " + std::to_string(axis) + " is not one of the " + std::to_string(rank) + " of the input");
    return 0;
  }
  return positive_axis(axis, rank);
}

Sizes Call::axes(Sizes all, Size rank) {
  for (Size& one : all) one = axis(one, rank);
  std::sort(all.begin(), all.end());
  if (std::adjacent_find(all.begin(), all.end()) != all.end()) refuse(Fault::Format, "an axis is named twice");
  return all;
}

bool Call::expect_rank(ValueId value, Size expected) {
  if (failed()) return false;
  if (rank(value) == expected) return true;
  refuse(Fault::Format, "input has rank " + std::to_string(rank(value)) + ", expected " + std::to_string(expected));
  return false;
}

// TensorFlow adds a bias behind the sum, which a type of 16 bits has rounded by then.
Values Call::add_apart(const Op& op, Values node_inputs, std::string_view step) {
  const ValueId bias = node_inputs[2];
  node_inputs.pop_back();
  const Values sum = add_all(op, std::move(node_inputs), step.empty() ? "sum" : std::string(step) + "/sum");
  return sum.empty() ? Values{} : add_all(Binary{BinaryFunction::Add}, {sum.front(), bias}, step);
}

namespace {

// Whether the channels of the result, along which a bias lies, are its last axis.
bool is_biased_last(const Op& op, Size rank) {
  return op.visit([&]<class O>(const O& o) {
    if constexpr (std::is_same_v<O, Conv> || std::is_same_v<O, ConvTranspose>) return o.axes.channel() == rank - 1;
    else return std::is_same_v<O, Linear>;
  });
}

}  // namespace

Values Call::add_all(Op op, Values node_inputs, std::string_view step) {
  if (failed()) return {};
  const bool is_biased = node_inputs.size() == 3 && node_inputs[2] && traits_of(op).is_product();
  if (is_biased && halves_ == InHalves::PerOperator) {
    if (is_biased_last(op, rank(node_inputs[0]))) return add_apart(op, std::move(node_inputs), step);
    refuse(Fault::Unsupported, "computes in " + std::string(convoy::name_of(policy_.compute)) + " with channels first");
    return {};
  }
  const std::string name = step.empty() ? full_name_ : full_name_ + "/" + std::string(step);
  auto made = builder_.graph.add(std::move(op), std::move(node_inputs), name, layer.class_name);
  if (!made) {
    attrs.refuse(Error{made.error().fault, made.error().what, {}});
    return {};
  }
  adopt(builder_.graph.nodes.size() - 1);
  return std::move(*made);
}

void Call::adopt(std::size_t first) {
  for (std::size_t i = first; i < builder_.graph.nodes.size(); ++i) {
    Node& node = builder_.graph.nodes[i];
    node.layer = layer.name;
    node.kind = layer.class_name;
    node.scopes = scopes_;
  }
}

ValueId Call::add(Op op, Values node_inputs, std::string_view step) {
  auto made = add_all(std::move(op), std::move(node_inputs), step);
  return made.empty() ? ValueId{} : made.front();
}

// Freezing a model writes trainable: false into every layer of it.
bool Call::frozen() const {
  if (!layer.config || !layer.config->is_object()) return false;
  const auto argument = layer.config->find("trainable");
  return argument != layer.config->end() && argument->is_boolean() && !argument->get<bool>();
}

ValueId Call::make_constant(std::string_view name, Tensor tensor, bool trainable) {
  if (failed()) return {};
  const std::string full = full_name_ + "/" + std::string(name);
  if (const auto known = builder_.bound.find(full); known != builder_.bound.end()) return known->second;
  const ValueId made = builder_.graph.constant(full, std::move(tensor), trainable && !frozen());
  builder_.bound.emplace(full, made);
  return made;
}

std::optional<ValueId> Call::mask() {
  if (failed() || inputs.empty()) return std::nullopt;
  const auto found = builder_.masks.find(inputs.front().index);
  if (found == builder_.masks.end()) return std::nullopt;
  // Keras 3 hands a mask on where a layer has one tensor; of several each would want a mask of its own name.
  if (!found->second.named && version.major >= 3 && inputs.size() > 1) return std::nullopt;
  return mask_of(inputs.front());
}

std::optional<ValueId> Call::mask_of(ValueId value) {
  const auto found = failed() || !value ? builder_.masks.end() : builder_.masks.find(value.index);
  if (found == builder_.masks.end()) return std::nullopt;
  Mask& known = found->second;
  if (known.unknown) {
    refuse(Fault::Unsupported, "reads a mask (mask_zero) behind a layer whose masks this version does not follow");
    return std::nullopt;
  }
  if (!known.truths) {
    const DType dtype = type(known.ids).dtype;
    const ValueId zero = literal(
        "nothing", is_floating(dtype) ? Tensor::of(Sizes{}, std::vector<float>{0}) : whole_tensor(dtype, {}, {0}));
    known.truths = add(Binary{BinaryFunction::NotEqual}, {known.ids, zero}, "mask");
  }
  return known.truths;
}

ValueId Call::literal(std::string_view name, Tensor tensor) {
  const ValueId made = make_constant(name, std::move(tensor));
  if (made) builder_.graph[made].literal = true;
  return made;
}

ValueId Call::scalar(std::string_view name, float value) {
  return literal(name, Tensor::of(Sizes{}, std::vector<float>{value}).converted(weights_type()));
}

std::optional<ValueId> Call::bound(std::string_view name) const {
  const auto known = builder_.bound.find(full_name_ + "/" + std::string(name));
  return known == builder_.bound.end() ? std::nullopt : std::optional(known->second);
}

void Call::load_variables() {
  if (variables_ || failed()) return;
  variables_ = std::make_shared<Variables>();
  if (!builder_.weights) return;
  auto all = builder_.weights->of(location_);
  if (!all) return attrs.refuse(all.error());
  *variables_ = std::move(*all);
}

Tensor Call::take(std::string_view name, const Shape& expected) {
  load_variables();
  if (failed()) return {};
  if (!builder_.weights) {
    const auto shape = sizes_of(expected);
    if (!shape) {
      refuse(Fault::Unsupported, std::string(name) + " has no known shape without weights");
      return {};
    }
    auto made = zeros(*shape, builder_.zeros);  // first: it counts what all of them take
    if (made && layer.config && layer.config->is_object() && layer.config->contains(starts_anew)) {
      const Size bytes = static_cast<Size>(made->bytes().size());
      const auto granted = budget::grant_declared(bytes, "'" + full_name_ + "/" + std::string(name) + "'");
      made = granted ? initial_weight(layer.class_name, *layer.config, name, *shape)
                     : Result<Tensor>(std::unexpected(granted.error()));
    }
    if (!made) {
      attrs.refuse(made.error());
      return {};
    }
    return made->converted(weights_type());
  }
  auto& all = variables_->all;
  const auto named = [&](const Variable& v) { return v.name == name && !v.taken; };
  auto found = std::ranges::count_if(all, named) == 1
                   ? std::ranges::find_if(all, named)
                   : std::ranges::find_if(all, [](const Variable& v) { return !v.taken; });
  if (found == all.end()) {
    refuse(Fault::Format,
           "the file holds no " + std::string(name) + " for it, expected shape " + text_of_expected(expected));
    return {};
  }
  found->taken = true;
  Tensor tensor = found->tensor;
  const bool is_real = is_floating(tensor.dtype());
  const bool is_scaled = is_int8_ && tensor.dtype() == DType::I8;
  if (is_real || is_scaled) tensor = tensor.converted(weights_type());
  if (!fits(tensor.shape(), expected))
    refuse(Fault::Format,
           std::string(name) + " has shape " + text_of(tensor.shape()) + ", expected " + text_of_expected(expected));
  else if (!is_real && !is_scaled)
    refuse(Fault::Unsupported,
           std::string(name) + " is " + std::string(convoy::name_of(tensor.dtype())) + ", expected real numbers");
  return tensor;
}

ValueId Call::weight(std::string_view name, const Shape& expected, bool trainable) {
  if (failed()) return {};
  if (const auto known = bound(name)) return *known;
  Tensor tensor = take(name, expected);
  if (failed()) return {};
  return make_constant(name, std::move(tensor), trainable);
}

std::optional<std::string> Call::text_beside(std::string_view file) {
  if (!builder_.weights || failed()) return std::nullopt;
  auto text = builder_.weights->text(location_, file);
  if (!text) refuse(text.error().fault, text.error().what);
  return text ? *std::move(text) : std::nullopt;
}

void Call::enter(const std::string& attribute, const std::string& otherwise) {
  load_variables();
  outside_.emplace_back(location_, variables_);
  if (!builder_.weights || !builder_.weights->nests() || failed()) return;
  if (!otherwise.empty()) {
    const auto first = builder_.weights->of(location_.child(attribute));
    if (!first) return attrs.refuse(first.error());
    if (first->all.empty()) return enter_inside(otherwise);
  }
  enter_inside(attribute);
}

void Call::enter_inside(const std::string& attribute) {
  location_ = location_.child(attribute);
  auto& known = entered_[location_.group];
  if (!known) {
    variables_ = nullptr;
    load_variables();
    known = variables_;
  }
  variables_ = known;
}

void Call::leave() {
  if (outside_.empty()) return;
  std::tie(location_, variables_) = std::move(outside_.back());
  outside_.pop_back();
}

Order Call::order() {
  const Json* argument = attrs.raw({"data_format", "dim_ordering"});
  if (!argument) return Order::ChannelsLast;
  const std::string word = argument->is_string() ? argument->get<std::string>() : "";
  if (word == "channels_last" || word == "tf" || word == "default") return Order::ChannelsLast;
  if (word == "channels_first" || word == "th") return Order::ChannelsFirst;
  refuse(Fault::Format, "attribute 'data_format' is '" + word + "', expected 'channels_last' or 'channels_first'");
  return Order::ChannelsLast;
}

bool Call::has_activation(std::string_view key) {
  const Json* activation = attrs.raw(key);
  return activation && *activation != "linear";
}

ValueId Call::activated(ValueId y, std::string_view key) {
  const Json* activation = attrs.raw(key);
  if (!activation || failed()) return y;
  if (activation->is_string()) return activate(*this, y, activation->get<std::string>());
  const auto text = [&](const char* field) {
    const auto it = activation->find(field);
    return it != activation->end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  if (!activation->is_object()) {
    refuse(Fault::Format, "attribute '" + std::string(key) + "' is neither a word nor an object");
    return {};
  }
  const std::string kind = text("class_name");
  // A function without a name is kept as its bytecode: {"value": [...]}, in later versions under a class of its own.
  if (kind == "__lambda__" || (kind.empty() && activation->contains("value"))) {
    refuse(Fault::Unsupported, "activation is a lambda, Python code, which has no meaning outside Python");
    return {};
  }
  if (kind == "function") {
    const std::string word = text("config"), registered = text("registered_name");
    if (registered.find('>') != std::string::npos || word.empty()) {
      refuse(Fault::Unsupported, "activation '" + (registered.empty() ? word : registered) +
                                     "' is Python code, which has no meaning outside Python");
      return {};
    }
    return activate(*this, y, word);
  }
  auto inner = read_layer(*activation, version);
  if (!inner) {
    attrs.refuse(inner.error());
    return {};
  }
  inner->name = "activation";
  Values made = run_inside(*inner, "activation", {y});
  return made.empty() ? ValueId{} : made.front();
}

Layer Call::inside(std::string_view key) {
  const Json* object = attrs.raw(key);
  if (!object) {
    refuse(Fault::Format, "attribute '" + std::string(key) + "' is missing");
    return {};
  }
  auto inner = read_layer(*object, version);
  if (!inner) {
    attrs.refuse(inner.error());
    return {};
  }
  return std::move(*inner);
}

Values Call::run_inside(const Layer& inner, const std::string& attribute, Values inner_inputs) {
  load_variables();
  if (failed()) return {};
  const bool nests = !builder_.weights || builder_.weights->nests();
  if (!nests && inner.model) skip_weights();  // the wrapper's list is that of the model's layers, which count their own
  Layer named = inner;
  auto made =
      run_layer(builder_, named, nullptr, std::move(inner_inputs), scopes_, full_name_ + "/",
                nests && !attribute.empty() ? location_.child(attribute) : location_, nests ? nullptr : variables_);
  if (!made) {
    attrs.refuse(made.error());
    return {};
  }
  return std::move(*made);
}

// What was made of the call may give other numbers in training; what does nothing else acts there alone.
bool Call::acts_in_training() const {
  const auto acts = [](const Op& op) {
    // Keras itself writes training=True into every call of an augmentation, which does nothing in predict().
    const auto* dropout = get_if<Dropout>(&op);
    return (dropout && dropout->noise != Noise::Augmentation) || holds_alternative<Identity>(op) ||
           holds_alternative<BatchNorm>(op) || holds_alternative<Lstm>(op) || holds_alternative<Gru>(op) ||
           holds_alternative<SimpleRnn>(op);
  };
  const auto& nodes = builder_.graph.nodes;
  const auto drops = layer.config->find("dropout");
  if (drops != layer.config->end() && drops->is_number() && *drops > 0) return true;
  return nodes.size() == first_node_ || std::any_of(nodes.begin() + static_cast<std::ptrdiff_t>(first_node_),
                                                    nodes.end(), [&](const Node& node) { return acts(node.op); });
}

Status Call::check_arguments() const {
  if (!call || is_operation(layer)) return {};
  for (const auto& [key, value] : call->kwargs.items()) {
    if (value.is_null() || (key == "training" && value == false) || understood_.contains(key)) continue;
    if (key == "training" && value == true && !acts_in_training()) continue;  // Keras writes that of a Resizing
    if (key == "training")
      return fail(Fault::Unsupported, "is called in training mode; leave training=True out of the call and save again");
    return fail(Fault::Unsupported, "call argument '" + key + "' is not understood");
  }
  for (std::size_t i = 1; i < call->args.size(); ++i)
    if (!call->args[i].is_null() && !call->args[i].is_object() &&
        std::ranges::none_of(understood_, [&](const auto& one) { return one.second == i; }))
      return fail(Fault::Unsupported, "call argument " + std::to_string(i) + " is not understood");
  return {};
}

Status Call::done() {
  if (auto ok = attrs.done(); !ok) return ok;
  if (auto ok = check_arguments(); !ok) return ok;
  if (!builder_.weights || !own_variables_ || builder_.counted.contains(full_name_)) return {};
  load_variables();
  if (auto ok = attrs.done(); !ok) return ok;
  builder_.counted.insert(full_name_);
  if (skips_weights_) return {};
  std::size_t taken = 0, held = 0;
  const auto count = [&](const Variables& some) {
    held += some.all.size();
    for (const Variable& variable : some.all) taken += variable.taken;
  };
  count(*variables_);
  for (const auto& [group, some] : entered_)
    if (some) count(*some);
  if (taken == held) return {};
  return fail(Fault::Format, "the file holds " + std::to_string(held) + " arrays for it, its config asks for " +
                                 std::to_string(taken));
}

}  // namespace convoy::keras
