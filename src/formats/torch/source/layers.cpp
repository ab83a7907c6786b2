// Layers of torch.nn: their constructors' arguments become attributes, their weights parameters, and a call goes through
// the layer's row. Source: torch/nn/modules of PyTorch 2.13.
#include "base/words.h"
#include "containers/python/unread.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "formats/torch/source/conv_padding.h"
#include "formats/torch/source/recurrent.h"
#include "formats/torch/source/stored_tensor.h"
#include "formats/torch/source/training.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <set>

namespace convoy::torch {

namespace {

// Layers without a row of their own.
struct Extra {
  std::string_view name, parameters, signature = "";  // the signature: of what programs read back
};
constexpr std::array extras{
    Extra{"Identity", ""},
    Extra{"Flatten", "start_dim end_dim", "start_dim:i=1 end_dim:i=-1"},
    Extra{"Unflatten", "dim unflattened_size"},
    Extra{"Embedding",
          "num_embeddings embedding_dim padding_idx max_norm norm_type scale_grad_by_freq sparse "
          "_weight _freeze device dtype"},
};

const Extra* extra_named(std::string_view name) {
  const auto found = std::ranges::find(extras, name, &Extra::name);
  return found == extras.end() ? nullptr : &*found;
}

const FunctionRow* layer_row(std::string_view name) {
  if (name.empty() || name[0] < 'A' || name[0] > 'Z') return nullptr;
  return row_of(functions(), name);
}

Size space_in(std::string_view name) {
  return name.ends_with("d") && name.size() > 2 ? name[name.size() - 2] - '0' : 0;
}

Result<Size> whole(const Instance& self, const char* word) {
  const Value* said = self.attributes.find(word);
  if (said && said->is_whole()) return said->whole();
  return fail(Fault::Format, "argument '" + std::string(word) + "' is " +
                                 (said ? "a " + python::type_name(*said) : "missing") + ", expected a whole number");
}

Value said(const Instance& self, const char* word) {
  const Value* found = self.attributes.find(word);
  return found ? *found : Value();
}

bool holds(const Instance& self, const char* word) {
  const Value value = said(self, word);
  return value.is_whole() && value.whole() != 0;
}

// n -> (n, n), as the layers keep it.
void spread(Interpreter& in, Instance& self, const char* word, Size count) {
  const Value* said = self.attributes.find(word);
  if (!said) return;
  if (said->is_whole()) self.attributes.set(word, in.tuple(ValueList(static_cast<std::size_t>(count), *said)));
  else if (const auto* all = said->as<python::Sequence>(); all && !all->is_tuple)
    self.attributes.set(word, in.tuple(all->items));
}

Result<Sizes> sizes(const Instance& self, const char* word) {
  const Value* said = self.attributes.find(word);
  Sizes all;
  if (said && said->is_whole()) all.push_back(said->whole());
  else if (const auto* list = said ? said->as<python::Sequence>() : nullptr) {
    for (const Value& one : list->items) {
      if (!one.is_whole())
        return fail(Fault::Format, "argument '" + std::string(word) + "' holds a " + python::type_name(one));
      all.push_back(one.whole());
    }
  }
  return all;
}

class LayerWeights {
 public:
  LayerWeights(Tracer& tracer, Interpreter& in, Instance& self) : tracer_(tracer), in_(in), self_(self) {}

  Status convolution(const std::string& name) {
    const bool transposed = name.find("Transpose") != std::string::npos;
    const auto inner = whole(self_, "in_channels"), outer = whole(self_, "out_channels"),
               groups = whole(self_, "groups");
    for (const auto* one : {&inner, &outer, &groups})
      if (!*one) return std::unexpected(one->error());
    const auto kernel = sizes(self_, "kernel_size");
    if (!kernel) return std::unexpected(kernel.error());
    if (*groups < 1 || *inner % *groups != 0 || *outer % *groups != 0)
      return fail(Fault::Format, "groups is " + std::to_string(*groups) + ", which does not divide " +
                                     std::to_string(*inner) + " and " + std::to_string(*outer) + " channels");
    Sizes shape{transposed ? *inner : *outer, (transposed ? *outer : *inner) / *groups};
    shape.insert(shape.end(), kernel->begin(), kernel->end());
    return weight_and_bias(shape, *outer);
  }

  Status linear() {
    const auto inner = whole(self_, "in_features"), outer = whole(self_, "out_features");
    if (!inner) return std::unexpected(inner.error());
    if (!outer) return std::unexpected(outer.error());
    return weight_and_bias({*outer, *inner}, *outer);
  }

  // One number per channel or per cell, and running statistics.
  Status normalization(const Sizes& shape, bool affine, bool tracked) {
    if (auto done = set("weight", affine, shape, 1); !done) return done;
    if (auto done = set("bias", affine && holds(self_, "bias"), shape, 0); !done) return done;
    if (auto done = set("running_mean", tracked, shape, 0, true); !done) return done;
    if (auto done = set("running_var", tracked, shape, 1, true); !done) return done;
    return set("num_batches_tracked", tracked, {}, 0, true, DType::I64);
  }

  Status set(const char* word, bool there, const Sizes& shape, double value, bool buffer = false,
             DType dtype = DType::F32) {
    return set(word, there, shape, Filling{Filling::How::Constant, value, 0}, buffer, dtype);
  }
  Status set(const char* word, bool there, const Sizes& shape, Filling filling, bool buffer = false,
             DType dtype = DType::F32) {
    self_.attributes.erase(word);  // parameters stand in the order in which they are made, not their arguments
    if (!there) {
      self_.attributes.set(word, Value());
      return {};
    }
    const Value* said = self_.attributes.find("dtype");
    const auto* type = said ? said->as<python::Text>() : nullptr;
    const auto reals = {DType::F16, DType::BF16, DType::F64};
    const auto wanted = std::ranges::find_if(reals, [&](DType one) { return type && type->text == name_of(one); });
    if (wanted != reals.end() && dtype == DType::F32) dtype = *wanted;
    auto made = tracer_.parameter(in_, shape, filling, buffer, dtype);
    if (!made) return pass(made);
    self_.attributes.set(word, *made);
    return {};
  }

 private:
  // kaiming_uniform_(a=sqrt(5)) and the bias within 1 / sqrt(fan_in), as both layers reset themselves.
  Status weight_and_bias(const Sizes& shape, Size outer) {
    double fan = 1;
    for (std::size_t i = 1; i < shape.size(); ++i) fan *= static_cast<double>(shape[i]);
    const double most = std::sqrt(3.0) * (std::sqrt(2.0 / 6.0) / std::sqrt(fan)), least = 1 / std::sqrt(fan);
    const Value* said = self_.attributes.find("bias");
    const bool biased = !said || !said->is_whole() || said->whole() != 0;
    if (auto done = set("weight", true, shape, Filling{Filling::How::Uniform, -most, most}); !done) return done;
    return set("bias", biased, {outer}, Filling{Filling::How::Uniform, -least, least});
  }

  Tracer& tracer_;
  Interpreter& in_;
  Instance& self_;
};

// A table that the program has already: it is the layer's own, and nothing is drawn.
Status keep_given(Tracer& tracer, Interpreter& in, Instance& self, const Value& given) {
  self.attributes.erase("_weight");
  const Value* frozen = self.attributes.find("_freeze");
  const bool is_frozen = frozen && frozen->is_whole() && frozen->whole() != 0;
  Arguments arguments{{given, Value::of(!is_frozen)}, {}};
  const auto made = parameter_of(tracer, in, arguments);
  if (made) self.attributes.set("weight", *made);
  return made ? Status() : Status(std::unexpected(made.error()));
}

Status make_weights(Tracer& tracer, Interpreter& in, const std::string& name, Instance& self) {
  LayerWeights weights(tracer, in, self);
  const Size space = space_in(name);
  if (name.starts_with("Conv")) {
    for (const char* word : {"kernel_size", "stride", "padding", "dilation", "output_padding"})
      spread(in, self, word, space);
    return weights.convolution(name);
  }
  if (name == "Linear") return weights.linear();
  if (name.starts_with("BatchNorm") || name.starts_with("InstanceNorm")) {
    const auto features = whole(self, "num_features");
    if (!features) return std::unexpected(features.error());
    return weights.normalization({*features}, holds(self, "affine"), holds(self, "track_running_stats"));
  }
  if (name == "GroupNorm") {
    const auto channels = whole(self, "num_channels");
    if (!channels) return std::unexpected(channels.error());
    return weights.normalization({*channels}, holds(self, "affine"), false);
  }
  if (name == "LayerNorm" || name == "RMSNorm") {
    spread(in, self, "normalized_shape", 1);
    const auto shape = sizes(self, "normalized_shape");
    if (!shape) return std::unexpected(shape.error());
    return weights.normalization(*shape, holds(self, "elementwise_affine"), false);
  }
  if (name == "PReLU") {
    const auto count = whole(self, "num_parameters");
    if (!count) return std::unexpected(count.error());
    const Value* start = self.attributes.find("init");
    return weights.set("weight", true, {*count}, start && start->is_number() ? start->real() : 0.25);
  }
  if (name == "Embedding") {
    const auto rows = whole(self, "num_embeddings"), width = whole(self, "embedding_dim");
    if (!rows) return std::unexpected(rows.error());
    if (!width) return std::unexpected(width.error());
    if (const Value given = said(self, "_weight"); given.as<SourceTensor>()) return keep_given(tracer, in, self, given);
    Filling normal{Filling::How::Normal, 0, 1};
    const Value* skipped = self.attributes.find("padding_idx");
    if (skipped && skipped->is_whole()) normal.empty_row = skipped->whole() + (skipped->whole() < 0 ? *rows : 0);
    return weights.set("weight", true, {*rows, *width}, normal);
  }
  return {};
}

// 1, 0.01, True, None, 'none' as Python reads them.
std::optional<Value> value_of(Interpreter& in, std::string_view text) {
  if (text.empty()) return std::nullopt;
  if (text == "None") return Value();
  if (text == "True" || text == "False") return Value::of(text == "True");
  if (text.front() == '\'') return in.text(std::string(text.substr(1, text.size() - 2)));
  const double number = std::strtod(std::string(text).c_str(), nullptr);
  if (text.find_first_of(".e") != std::string_view::npos) return Value::of(number);
  return Value::of(static_cast<std::int64_t>(number));
}

}  // namespace

namespace {

bool is_real_type(std::string_view word) {
  return word == "float16" || word == "bfloat16" || word == "float32" || word == "float64";
}

}  // namespace

bool is_layer(const std::string& name) { return extra_named(name) || is_recurrent(name) || layer_row(name); }

namespace {

// A subclass that fills its weights itself: by its reset_parameters() instead of ours, whose draws do not come then.
Made filled_by_program(Tracer& tracer, Interpreter& in, Instance& layer, std::size_t first_draw) {
  if (!defines(layer, "reset_parameters")) return Value();
  std::set<std::int32_t> parameters;
  for (const auto& [name, value] : layer.attributes.all())
    if (const auto* tensor = value.as<SourceTensor>(); tensor && tensor->is_parameter)
      parameters.insert(tensor->value.index);
  std::vector<Tracer::Draw> kept(tracer.draws.begin(), tracer.draws.begin() + static_cast<std::ptrdiff_t>(first_draw));
  for (std::size_t i = first_draw; i < tracer.draws.size(); ++i) {
    Tracer::Draw& draw = tracer.draws[i];
    if (draw.what == Tracer::Draw::What::Fill && parameters.contains(draw.value.index))
      tracer.usual_fillings.insert_or_assign(draw.value.index, draw.filling);
    else kept.push_back(std::move(draw));
  }
  tracer.draws = std::move(kept);
  const auto reset = in.attribute(Value::of(&layer), "reset_parameters");
  const auto done = reset ? in.call(*reset, ValueList{}) : reset;
  return done ? Made(Value()) : done;
}

Made make_usual_layer(Tracer& tracer, Interpreter& in, const std::string& name, Arguments& given) {
  for (const Value& value : given.placed)
    if (const auto* unread = value.as<python::Unread>()) return unread->refused(in);
  for (const auto& [word, value] : given.named)
    if (const auto* unread = value.as<python::Unread>()) return unread->refused(in);
  auto* self = given.placed.front().as<Instance>();
  if (!self) return fail(Fault::Format, name + "() without itself");
  given.placed.erase(given.placed.begin());
  if (is_recurrent(name)) return make_recurrent(tracer, in, name, *self, given);
  const Extra* extra = extra_named(name);
  const FunctionRow* row = layer_row(name);
  if (name == "Identity") return Value();  // takes anything
  const auto words = extra ? extra->parameters : row->parameters;
  for (const SchemaParameter& one :
       extra ? torch::parameters_of({.parameters = extra->signature}) : constructor_of(name))
    if (auto value = value_of(in, one.otherwise)) self->attributes.set(std::string(one.name), *value);
  const auto taken = python::bound(given, words, 0, "nn." + name);
  if (!taken) return std::unexpected(taken.error());
  const auto names = words_in(words);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto& value = (*taken)[i];
    if (!value) continue;
    const auto* type = value->as<python::Text>();
    if (names[i] == "dtype" && type && !is_real_type(type->text))
      return fail(Fault::Unsupported, "nn." + name + ": argument 'dtype'");
    if (names[i] != "device") self->attributes.set(std::string(names[i]), *value);
  }
  if (auto done = within("nn." + name, make_weights(tracer, in, name, *self)); !done) return pass(done);
  return Value();
}

}  // namespace

Made embedding_of(Tracer& tracer, Interpreter& in, Arguments& given) {
  auto taken = python::bound(given, "cls embeddings freeze padding_idx max_norm norm_type scale_grad_by_freq sparse", 2,
                             "from_pretrained");
  if (!taken) return std::unexpected(taken.error());
  auto* table = (*taken)[1]->as<SourceTensor>();
  const auto shape = table ? tracer.shape_of(*table) : Result<Shape>(Shape());
  if (!shape) return std::unexpected(shape.error());
  if (shape->size() != 2 || !shape->front().known() || !shape->back().known())
    return fail(Fault::Format, "Embedding.from_pretrained() wants a tensor of two axes");
  Arguments arguments;
  arguments.named = {{"num_embeddings", Value::of(*shape->front())},
                     {"embedding_dim", Value::of(*shape->back())},
                     {"_weight", *(*taken)[1]},
                     {"_freeze", (*taken)[2].value_or(Value::of(true))}};
  constexpr std::array passed{"padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse"};
  for (std::size_t i = 0; i < passed.size(); ++i)
    if (const auto& value = (*taken)[3 + i]) arguments.named.emplace_back(passed[i], *value);
  return in.call(*(*taken)[0], std::move(arguments));
}

Made make_layer(Tracer& tracer, Interpreter& in, const std::string& name, Arguments& given) {
  auto* self = given.placed.front().as<Instance>();
  const std::size_t first_draw = tracer.draws.size();
  auto made = make_usual_layer(tracer, in, name, given);
  if (made && self && is_padding_convolution(name)) keep_padding(in, *self);
  return made && self ? filled_by_program(tracer, in, *self, first_draw) : made;
}

namespace {

// The shape that a layer wants of an input that nobody has said the shape of.
std::optional<Shape> wanted_shape(const Tracer& tracer, const Instance& self, const std::string& name) {
  const Size space = space_in(name);
  const char* word = name.starts_with("Conv")        ? "in_channels"
                     : name == "Linear"              ? "in_features"
                     : name.starts_with("BatchNorm") ? "num_features"
                                                     : nullptr;
  const Value* channels = word ? self.attributes.find(word) : nullptr;
  if (!channels || !channels->is_whole()) return std::nullopt;
  Shape shape{Dim::unknown(), Dim(channels->whole())};
  const auto& size = tracer.options().size;
  for (Size i = 0; i < space; ++i) {
    const auto at = static_cast<std::size_t>(i);
    shape.push_back(at < size.size() && size[at] && static_cast<Size>(size.size()) == space ? Dim(*size[at])
                                                                                            : Dim::unknown());
  }
  return shape;
}

// None is said where it is not the default.
Result<Json> arguments_of(Interpreter& in, const Instance& self, const std::string& name, std::string_view words) {
  Json arguments = Json::object();
  const auto is_usual = [usual = constructor_of(name)](std::string_view word) {
    const auto found = std::ranges::find(usual, word, &SchemaParameter::name);
    return found == usual.end() || found->otherwise.empty() || found->otherwise == "None";
  };
  for (const std::string_view one : words_in(words)) {
    const std::string word(one);
    const Value* said = self.attributes.find(word);
    if (word == "inplace" || word == "init") continue;
    if (word == "bias") {
      arguments[word] = said && said->as<SourceTensor>() != nullptr;
      continue;
    }
    if (!said || (said->is_none() && is_usual(word))) continue;
    auto json = json_of(in, *said);
    if (!json) return within("argument '" + word + "'", std::move(json));
    arguments[word] = std::move(*json);
  }
  return arguments;
}

// The weights and running statistics that a layer holds.
Status add_weights(Tracer& tracer, const Instance& layer, TensorArguments& tensors) {
  for (const char* word : {"weight", "bias", "running_mean", "running_var"})
    if (const Value* said = layer.attributes.find(word))
      if (auto* tensor = said->as<SourceTensor>()) {
        auto value = tracer.value_of(*tensor);
        if (!value) return pass(value);
        tensors[word] = *value;
      }
  return {};
}

// What a call itself may say behind its input: indices of an unpool, the size of a result.
Status add_called(Tracer& tracer, Interpreter& in, const std::string& name, Arguments& given, TensorArguments& tensors,
                  Json& arguments) {
  if (given.placed.size() > 2)
    given.named.emplace_back(name.starts_with("MaxUnpool") ? "indices" : "output_size", given.placed[2]);
  if (given.placed.size() > 3) given.named.emplace_back("output_size", given.placed[3]);
  for (const auto& [word, value] : given.named) {
    if (auto* tensor = value.as<SourceTensor>()) {
      auto id = tracer.value_of(*tensor);
      if (!id) return pass(id);
      tensors[word] = *id;
    } else if (!value.is_none()) {
      auto json = json_of(in, value);
      if (!json) return pass(json);
      arguments[word] = std::move(*json);
    }
  }
  return {};
}

}  // namespace

Made run_layer(Tracer& tracer, Interpreter& in, const std::string& name, Arguments& given) {
  const Value self_value = given.placed.front();
  auto* self = self_value.as<Instance>();
  if (given.placed.size() < 2 && !given.named.empty())
    given.placed.push_back(given.named.front().second), given.named.erase(given.named.begin());
  if (given.placed.size() < 2) return fail(Fault::Format, "nn." + name + " is called without an input");
  auto* x = given.placed[1].as<SourceTensor>();
  if (name == "Identity") return given.placed[1];
  if (is_recurrent(name)) return run_recurrent(tracer, in, name, *self, given);
  if (!x) return fail(Fault::Unsupported, "nn." + name + " is called on a " + python::type_name(given.placed[1]));
  if (defines(*self, "_output_padding"))
    return fail(Fault::Unsupported,
                "nn." + name + " with an _output_padding() of the program's own, which is not called here");
  if (defines(*self, "_conv_forward") || (is_padding_convolution(name) && pads_otherwise(*self))) {
    const auto convolved = in.attribute(self_value, "_conv_forward");
    return convolved ? in.call(*convolved, ValueList{given.placed[1], said(*self, "weight"), said(*self, "bias")})
                     : convolved;
  }
  const auto trained = ran_in_training(tracer, in, name, *self, given.placed[1]);
  if (!trained) return std::unexpected(trained.error());
  if (*trained) return **trained;
  if (name == "Flatten")
    return call_function_named(tracer, in, "flatten",
                               Arguments{{given.placed[1], said(*self, "start_dim"), said(*self, "end_dim")}, {}});
  if (name == "Unflatten")
    return call_function_named(tracer, in, "unflatten",
                               Arguments{{given.placed[1], said(*self, "dim"), said(*self, "unflattened_size")}, {}});
  if (name == "Embedding")
    return call_function_named(
        tracer, in, "embedding",
        Arguments{{given.placed[1], said(*self, "weight")}, {{"max_norm", said(*self, "max_norm")}}});
  const bool may_be_same = x->free_pad && is_padding_convolution(name);
  const auto input =
      may_be_same ? Result<ValueId>(x->free_pad->of) : tracer.value_of(*x, wanted_shape(tracer, *self, name));
  if (!input) return std::unexpected(input.error());
  TensorArguments tensors{{"input", *input}};
  const FunctionRow* row = layer_row(name);
  auto arguments = arguments_of(in, *self, name, row->parameters);
  if (!arguments) return pass(arguments);
  if (auto added = add_weights(tracer, *self, tensors); !added) return pass(added);
  if (auto added = add_called(tracer, in, name, given, tensors, *arguments); !added) return pass(added);
  const std::size_t results = name.find("MaxPool") != std::string::npos ? 2 : 1;
  const auto values = may_be_same ? tracer.call_padded(in, *row, *arguments, std::move(tensors), *x)
                                  : tracer.call(in, *row, *arguments, std::move(tensors), results);
  if (!values) return std::unexpected(values.error());
  const Value* in_place = self->attributes.find("inplace");
  if (in_place && in_place->is_whole() && in_place->whole() != 0 && values->size() == 1) {
    if (auto done = tracer.write(in, *x, (*values)[0]); !done) return pass(done);
    return Value::of(x);
  }
  if (values->size() == 1) return tracer.tensor(in, (*values)[0], name.contains("Dropout") ? x->storage : -1);
  ValueList all;
  for (const ValueId value : *values) all.push_back(tracer.tensor(in, value));
  return in.tuple(std::move(all));
}

}  // namespace convoy::torch
