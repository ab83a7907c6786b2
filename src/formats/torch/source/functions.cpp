// Functions and methods by the names of PyTorch, called on tensors.
#include "formats/torch/source/functions.h"
#include "base/words.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "formats/torch/catalogue/views.h"
#include "formats/unknown_sizes.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace convoy::torch {

namespace {

// Of no number at all, in a model that is not trained.
constexpr std::array<std::string_view, 22> handed_on{
    "contiguous", "detach", "clone",    "cpu",    "cuda", "float", "to",   "type_as", "data", "requires_grad_", "eval",
    "type",       "alias",  "positive", "double", "half", "int",   "long", "short",   "bool", "bfloat16",       "byte"};
// What tensors are made of.
constexpr std::array<std::string_view, 28> makers{
    "hann_window", "hamming_window", "blackman_window", "bartlett_window", "zeros",
    "ones",        "full",           "arange",          "linspace",        "tensor",
    "rand",        "randn",          "empty",           "zeros_like",      "ones_like",
    "from_numpy",  "as_tensor",      "rand_like",       "randn_like",      "eye",
    "randperm",    "randint",        "full_like",       "empty_like",      "new_zeros",
    "new_ones",    "new_full",       "new_empty"};
constexpr std::array<std::string_view, 8> noises{
    "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout", "rrelu_", "identity"};

// Methods that are an element type.
struct Typed {
  std::string_view method, type;
};
constexpr std::array typed_methods{Typed{"float", "float32"}, Typed{"double", "float64"},    Typed{"half", "float16"},
                                   Typed{"int", "int32"},     Typed{"long", "int64"},        Typed{"short", "int16"},
                                   Typed{"bool", "bool"},     Typed{"bfloat16", "bfloat16"}, Typed{"byte", "uint8"}};

}  // namespace

Value element_type(const Tracer& tracer, Interpreter& in, const std::string& name, const Arguments& given) {
  if (const auto found = std::ranges::find(typed_methods, name, &Typed::method); found != typed_methods.end())
    return in.text(std::string(found->type));
  if (name != "to" && name != "type" && name != "type_as") return {};
  const auto type_of = [&](const Value& v) -> Value {
    if (const auto* other = v.as<SourceTensor>()) return in.text(std::string(name_of(tracer.dtype_of(*other))));
    const auto* word = v.as<python::Text>();
    const bool is_type = word && (word->text.starts_with("float") || word->text.starts_with("int") ||
                                  word->text.starts_with("uint") || word->text == "bfloat16" || word->text == "bool");
    return is_type ? v : Value();
  };
  for (std::size_t i = 1; i < given.placed.size(); ++i)
    if (const Value type = type_of(given.placed[i]); !type.is_none()) return type;
  for (const auto& [word, value] : given.named)
    if (const Value type = type_of(value); !type.is_none()) return type;
  return {};
}

namespace {

// Whether the first axis of the first input is that of the result.
bool keeps_batch(const Op& op) {
  if (const auto* reshape = get_if<Reshape>(&op)) return !reshape->to.empty() && reshape->to[0] == 0;
  if (const auto* turned = get_if<Transpose>(&op)) return !turned->permutation.empty() && turned->permutation[0] == 0;
  return holds_alternative<Conv>(op) || holds_alternative<ConvTranspose>(op) || holds_alternative<MaxPool>(op) ||
         holds_alternative<AveragePool>(op) || holds_alternative<AdaptivePool>(op) ||
         holds_alternative<BatchNorm>(op) || holds_alternative<Relu>(op) || holds_alternative<Unary>(op) ||
         holds_alternative<Affine>(op) || holds_alternative<Dropout>(op) || holds_alternative<Flatten>(op) ||
         holds_alternative<Clip>(op);
}

// Where the batch axis of a value comes from; refers to nothing where that is not known.
ValueId batch_of(const Graph& graph, ValueId value) {
  for (int steps = 0; value && steps < 10000; ++steps) {
    const NodeId producer = graph[value].producer;
    if (!producer) return value;
    const Node& node = graph[producer];
    if (!keeps_batch(node.op) || node.inputs.empty()) return {};
    value = node.inputs[0];
  }
  return {};
}

// Sizes that are free, in the list of a reshape.
Status settle_free(Tracer& tracer, Interpreter& in, std::vector<std::pair<std::string, Value>>& named) {
  auto* tensor = named.size() < 2 ? nullptr : named[0].second.as<SourceTensor>();
  if (!tensor || !named[1].second.as<python::Sequence>()) return {};
  auto settled = settled_sizes(tracer, in, *tensor, named[1].second);
  if (!settled) return pass(settled);
  named[1].second = *settled;
  return {};
}

// As many as the overload gives that takes these arguments: kthvalue(x, 2) and median(x, dim=1) give two.
std::size_t results_of(const std::string& name, const NamedValues& named) {
  if (name.find("max_pool") != std::string::npos) return 2;
  for (const Schema& schema : schemas_named(name)) {
    const auto parameters = parameters_of(schema);
    const bool takes_all = std::ranges::all_of(named, [&](const auto& given) {
      return std::ranges::find(parameters, given.first, &SchemaParameter::name) != parameters.end();
    });
    if (takes_all) return schema.results == "TT" ? 2 : 1;
  }
  return 1;
}

}  // namespace

// That of its own place is kept, a single other one is worked out.
Made settled_sizes(Tracer& tracer, Interpreter& in, SourceTensor& tensor, const Value& list) {
  const auto own = tracer.value_of(tensor);
  if (!own) return std::unexpected(own.error());
  ValueList settled = list.as<python::Sequence>()->items;
  auto open = std::ranges::count_if(settled, [](const Value& v) { return v.is_whole() && v.whole() == -1; });
  const ValueId mine = batch_of(tracer.graph, *own);
  for (std::size_t i = 0; i < settled.size(); ++i) {
    const auto* free = settled[i].as<FreeSize>();
    if (!free) continue;
    const bool same = free->is_size() && free->tensor == *own && free->axis == static_cast<Size>(i);
    const bool batch =
        i == 0 && free->is_size() && free->axis == 0 && mine && mine == batch_of(tracer.graph, free->tensor);
    if (!same && !batch && open++ > 0) return list;  // several: free_shape() says whose they are
    settled[i] = Value::of(std::int64_t{same || batch ? 0 : -1});
  }
  return in.list(std::move(settled));
}

// Whether an argument is a list of sizes or pads, of which some may be tensors of one known number.
bool lists_sizes(std::string_view word) {
  constexpr std::array<std::string_view, 6> all{"pad", "size", "shape", "output_size", "dims", "repeats"};
  return is_among(all, word);
}

// The numbers of a list of sizes.
Made sizes_in_list(Interpreter& in, const python::Sequence& list) {
  ValueList plain;
  for (const Value& one : list.items) {
    if (!one.as<SourceTensor>()) {
      plain.push_back(one);
      continue;
    }
    auto item = in.attribute(one, "item");
    auto number = item ? in.call(*item, ValueList{}) : item;
    if (!number) return number;
    plain.push_back(*number);
  }
  return in.list(std::move(plain));
}

// Tensors by name, the rest as JSON.
Result<Prepared> prepared(Tracer& tracer, Interpreter& in, const std::vector<std::pair<std::string, Value>>& named) {
  Prepared made;
  for (const auto& [word, given] : named) {
    Value value = given;
    if (const auto* sizes = given.as<python::Sequence>(); sizes && lists_sizes(word)) {
      auto plain = sizes_in_list(in, *sizes);
      if (!plain) return within("argument '" + word + "'", Result<Prepared>(pass(plain)));
      value = *plain;
    }
    if (auto* tensor = value.as<SourceTensor>()) {
      const auto id = tracer.value_of(*tensor);
      if (!id) return std::unexpected(id.error());
      made.tensors[word] = *id;
      if (!made.first) made.first = tensor;
      continue;
    }
    const auto* all = value.as<python::Sequence>();
    if (all && std::ranges::any_of(all->items, [](const Value& one) { return one.as<SourceTensor>() != nullptr; })) {
      for (std::size_t i = 0; i < all->items.size(); ++i) {
        auto* tensor = all->items[i].as<SourceTensor>();
        if (!tensor)
          return fail(Fault::Unsupported,
                      "'" + word + "' holds a " + python::type_name(all->items[i]) + " among tensors");
        const auto id = tracer.value_of(*tensor);
        if (!id) return std::unexpected(id.error());
        made.tensors[word + "." + std::to_string(i)] = *id;
      }
      continue;
    }
    if (word == "inplace") {
      const auto holds = in.truth(value);
      if (!holds) return std::unexpected(holds.error());
      made.in_place = *holds;
      continue;
    }
    if (value.is_none()) continue;
    auto json = json_of(in, value);
    if (!json) return within("argument '" + word + "'", Result<Prepared>(pass(json)));
    made.plain[word] = std::move(*json);
  }
  return made;
}

// A row's answers as the program sees them.
Made answered(Tracer& tracer, Interpreter& in, const std::vector<ValueId>& values, int storage, bool several) {
  ValueList all;
  if (several && storage >= 0) all = tracer.pieces(in, values, storage);
  else
    for (const ValueId value : values) all.push_back(tracer.tensor(in, value, storage));
  if (all.empty()) return fail(Fault::Internal, "a function of PyTorch gives nothing");
  return all.size() == 1 && !several ? Made(all[0]) : Made(in.tuple(std::move(all)));
}

std::optional<Value> function_named(Tracer& tracer, Interpreter& in, const std::string& name) {
  if (!is_function(name)) return std::nullopt;
  return in.native(name, [&tracer, name](Interpreter& with, Arguments& given) {
    return call_function_named(tracer, with, name, std::move(given));
  });
}

namespace {

using Run = Made (*)(Tracer&, Interpreter&, const std::string& name, Arguments given);
struct Special {
  std::string_view name;
  Run run;
};

Made is_tensor(Tracer&, Interpreter&, const std::string&, Arguments given) {
  return Value::of(!given.placed.empty() && given.placed[0].as<SourceTensor>());
}

// In another element type.
Made cast(Tracer& tracer, Interpreter& in, const std::string&, Arguments given) {
  auto named = named_arguments(in, given, "input dtype", "to");
  if (!named) return pass(named);
  auto ready = prepared(tracer, in, *named);
  if (!ready) return pass(ready);
  const auto values = tracer.call(in, *aten_named("to.dtype"), ready->plain, std::move(ready->tensors));
  if (!values) return std::unexpected(values.error());
  return answered(tracer, in, *values, -1, false);
}

Made deviation(Tracer& tracer, Interpreter& in, const std::string&, Arguments given) {
  auto variance = call_function_named(tracer, in, "var", std::move(given));
  return variance ? call_function_named(tracer, in, "sqrt", Arguments{{*variance}, {}}) : variance;
}

Made asserted(Tracer&, Interpreter& in, const std::string&, Arguments given) {
  const auto taken = python::bound(given, "condition message", 1, "_assert");
  if (!taken) return std::unexpected(taken.error());
  const auto holds = in.truth(*(*taken)[0]);
  if (!holds) return std::unexpected(holds.error());
  if (*holds) return Value();
  const auto* said = (*taken)[1] ? (*taken)[1]->as<python::Text>() : nullptr;
  return fail(Fault::Format, said ? "the assertion does not hold: " + said->text : "the assertion does not hold");
}

// Over the last axes of the one and the first ones of the other, or over two lists of axes.
Made tensordot(Tracer& tracer, Interpreter& in, const std::string& name, Arguments given) {
  auto named = named_arguments(in, given, "input other dims", name);
  if (!named) return pass(named);
  const auto dims = std::ranges::find(*named, "dims", &std::pair<std::string, Value>::first);
  const Value said = dims == named->end() ? Value::of(std::int64_t{2}) : dims->second;
  if (dims != named->end()) named->erase(dims);
  const auto* both = said.as<python::Sequence>();
  ValueList of_input, of_other;
  for (std::int64_t i = 0; said.is_whole() && i < std::min<std::int64_t>(said.whole(), 32); ++i) {
    of_input.push_back(Value::of(i - said.whole()));
    of_other.push_back(Value::of(i));
  }
  if (!said.is_whole() && (!both || both->items.size() != 2))
    return fail(Fault::Format, "'dims' is neither a whole number nor two lists of axes");
  named->emplace_back("dims_self", both ? both->items[0] : in.list(std::move(of_input)));
  named->emplace_back("dims_other", both ? both->items[1] : in.list(std::move(of_other)));
  auto ready = prepared(tracer, in, *named);
  if (!ready) return pass(ready);
  const auto values = tracer.call(in, *aten_named("tensordot"), ready->plain, std::move(ready->tensors));
  if (!values) return std::unexpected(values.error());
  return answered(tracer, in, *values, -1, false);
}

// Functions that more must be said of than a row can.
constexpr std::array specials{Special{"is_tensor", is_tensor},
                              Special{"tensordot", tensordot},
                              Special{"_to", cast},
                              Special{"max", extreme},
                              Special{"min", extreme},
                              Special{"repeat", repeated},
                              Special{"grid_sample", sampled},
                              Special{"affine_grid", gridded},
                              Special{"embedding", embedded},
                              Special{"std", deviation},
                              Special{"topk", ordered},
                              Special{"sort", ordered},
                              Special{"split", split_up},
                              Special{"tensor_split", tensor_split},
                              Special{"meshgrid", meshgrid},
                              Special{"_unfold_axis", unfolded},
                              Special{"nonzero", nonzero},
                              Special{"diff", difference},
                              Special{"_assert", asserted}};

const Special* special_named(std::string_view name) {
  const auto found = std::ranges::find(specials, name, &Special::name);
  return found == specials.end() ? nullptr : &*found;
}

bool asks_for_copy(Interpreter& in, const Arguments& given) {
  return std::ranges::any_of(given.named, [&](const auto& one) {
    const auto truth = one.first == "copy" ? in.truth(one.second) : false;
    return truth && *truth;
  });
}

bool is_laid_anew(const Arguments& given) {
  const auto says_so = [](const Value& value) {
    const auto* word = value.as<python::Text>();
    return word && word->text.starts_with("channels_last");
  };
  return std::ranges::any_of(given.placed, says_so) ||
         std::ranges::any_of(given.named, [&](const auto& one) { return says_so(one.second); });
}

// What a model in eval mode makes nothing of, but perhaps another element type; a type that it has already is no copy.
Made handed(Tracer& tracer, Interpreter& in, const std::string& name, const Arguments& given) {
  if (given.placed.empty()) return fail(Fault::Format, name + "() of nothing");
  const Value x = given.placed[0];
  auto* tensor = x.as<SourceTensor>();
  if (tensor && (name == "detach" || name == "data")) return tracer.detached(in, *tensor);
  const bool copies = name == "clone" || asks_for_copy(in, given);
  if (const Value dtype = element_type(tracer, in, name, given); !dtype.is_none()) {
    const auto* word = dtype.as<python::Text>();
    const bool has_it = tensor && word && word->text == name_of(tracer.dtype_of(*tensor));
    if (!has_it) return call_function_named(tracer, in, "_to", Arguments{{x, dtype}, {}});
  }
  const bool lies_anew = !copies && is_laid_anew(given);
  if (!tensor || (!copies && !lies_anew)) return x;
  const auto value = tracer.value_of(*tensor);
  if (!value) return std::unexpected(value.error());
  if (copies && !tracer.bound && tracer.weights.contains(value->index)) {  // what fills the one, leaves the other
    const auto copy = tensor->copied(in);
    if (!copy) return std::unexpected(copy.error());
    (**copy).as<SourceTensor>()->is_parameter = false;
    return **copy;
  }
  if (copies) return tracer.tensor(in, *value);
  return tracer.laid_anew(in, *value, tensor->storage);
}

// Rules that some rows have about their arguments. Nothing: go on; a value: that is the answer.
Result<std::optional<Value>> settled_arguments(Tracer& tracer, Interpreter& in, const std::string& name,
                                               NamedValues& named) {
  if (name == "norm")  // 'fro' is the length of the vector
    std::erase_if(named, [](const auto& one) { return one.first == "p" && one.second.template as<python::Text>(); });
  if (name == "pad") return padded_freely(tracer, in, named);
  if (name == "chunk" && named.size() > 1 && named[0].second.as<SourceTensor>() && named[1].second.is_whole()) {
    const bool says_axis = named.size() > 2 && named[2].second.is_whole();
    const auto asked = expect_at_least(tracer, in, *named[0].second.as<SourceTensor>(),
                                       says_axis ? named[2].second.whole() : 0, named[1].second.whole());
    if (!asked) return std::unexpected(asked.error());
  }
  if (name != "view" && name != "reshape") return std::nullopt;
  if (auto settled = settle_free(tracer, in, named); !settled) return pass(settled);
  const auto* sizes = named.size() < 2 ? nullptr : named[1].second.as<python::Sequence>();
  const auto is_free = [](const Value& one) { return one.as<FreeSize>() || (one.is_whole() && one.whole() == -1); };
  if (sizes && named[0].second.as<SourceTensor>() && std::ranges::count_if(sizes->items, is_free) > 1)
    return reshaped_by_groups(tracer, in, named[0].second, sizes->items);
  return std::nullopt;
}

// What a convolution reads that may make SAME of pads which a free size decides: then it is called with what is padded. Null: it is
// no such convolution.
SourceTensor* padded_input(Tracer& tracer, Interpreter& in, const std::string& name, NamedValues& named) {
  if (name != "conv1d" && name != "conv2d" && name != "conv3d") return nullptr;
  auto* tensor = named.empty() ? nullptr : named.front().second.as<SourceTensor>();
  if (!tensor || !tensor->free_pad) return nullptr;
  named.front().second = tracer.tensor(in, tensor->free_pad->of);
  return tensor;
}

// Free sizes that are those of other tensors: of an expansion (stretched_like in catalogue/aten.h), or of a new shape.
struct Likes {
  Json from = Json::array(), kept;
  TensorArguments tensors;
};

// A new shape of which several sizes are free: how many axes on the left and right stay, and whose sizes lie between them.
Result<Likes> free_shape(Tracer& tracer, Interpreter& in, NamedValues& named) {
  Likes likes;
  auto* tensor = named.size() < 2 ? nullptr : named[0].second.as<SourceTensor>();
  const auto* sizes = tensor ? named[1].second.as<python::Sequence>() : nullptr;
  if (!sizes || std::ranges::none_of(sizes->items, [](const Value& v) { return v.as<FreeSize>() != nullptr; }))
    return likes;
  const auto own = tracer.value_of(*tensor);
  if (!own) return std::unexpected(own.error());
  UnknownSizes unknown;
  for (const ValueId input : tracer.graph.inputs) unknown.add_input(tracer.graph, input, {});
  unknown.follow(tracer.graph);
  const Shape shape = tracer.graph[*own].type.shape;
  const auto size_of = [&](ValueId value, Size axis) {
    const auto& all = unknown.of(value);
    return axis >= 0 && axis < std::ssize(all) ? all[static_cast<std::size_t>(axis)] : SizeId{-1};
  };
  const auto stays = [&](const Value& wanted, std::size_t axis) {
    const Dim mine = shape[axis];
    if (wanted.is_whole()) return wanted.whole() >= 0 && mine == Dim(wanted.whole());
    const auto* free = wanted.as<FreeSize>();
    const SizeId id = mine.known() ? SizeId{-1} : size_of(*own, static_cast<Size>(axis));
    return free && free->is_size() && id >= 0 && id == size_of(free->tensor, free->axis);
  };
  ValueList settled = sizes->items;
  const std::size_t most = std::min(settled.size(), shape.size());
  std::size_t left = 0, right = 0;
  while (left < most && stays(settled[left], left)) ++left;
  while (left + right < most && stays(settled[settled.size() - 1 - right], shape.size() - 1 - right)) ++right;
  const auto is_kept_at = [&](std::size_t i) { return i < left || i >= settled.size() - right; };
  std::size_t open = 0;
  for (std::size_t i = 0; i < settled.size(); ++i)
    open += !is_kept_at(i) && (settled[i].as<FreeSize>() || (settled[i].is_whole() && settled[i].whole() == -1));
  const bool is_computed = std::ranges::any_of(settled, [](const Value& one) {
    const auto* free = one.as<FreeSize>();
    return free && !free->is_size();
  });
  if (open > 1 && is_computed) {
    const auto own_sizes = in.attribute(named[0].second, "shape");
    if (!own_sizes) return std::unexpected(own_sizes.error());
    const auto fits = expect_as_many(tracer, in, own_sizes->as<python::Sequence>()->items, settled);
    if (!fits) return std::unexpected(fits.error());
  }
  for (std::size_t i = 0; i < settled.size(); ++i) {
    auto* free = settled[i].as<FreeSize>();
    if (free && open > 1 && !is_kept_at(i)) {
      const auto length = length_of(tracer, in, *free);
      if (!length) return std::unexpected(length.error());
      free = *length;
    }
    const bool is_size = free && free->is_size();
    likes.from.push_back(is_size ? free->axis : 0);
    if (!free) continue;
    const bool is_kept = is_kept_at(i);
    if (!is_size) {  // the only one: what is left
      settled[i] = Value::of(std::int64_t{-1});
      continue;
    }
    settled[i] = Value::of(std::int64_t{is_kept ? 0 : -1});
    if (!is_kept && open > 1) likes.tensors["like." + std::to_string(i)] = free->tensor;
  }
  likes.kept = Json::array({left, right});
  named[1].second = in.list(std::move(settled));
  return likes;
}

// An image that becomes as large as another tensor; one size is that of every axis.
Result<Likes> free_image(Tracer& tracer, Interpreter& in, NamedValues& named) {
  Likes likes;
  auto* image = named.empty() ? nullptr : named.front().second.as<SourceTensor>();
  const auto shape = image ? tracer.shape_of(*image) : Result<Shape>(Shape{});
  if (!shape) return std::unexpected(shape.error());
  const std::size_t space = std::max<std::size_t>(shape->size(), 2) - 2;
  for (auto& [word, value] : named) {
    if (word != "size") continue;
    if (value.as<FreeSize>()) value = in.list(ValueList(space, value));
    auto lengths = lengths_in(tracer, in, value);
    if (!lengths) return std::unexpected(lengths.error());
    const auto* sizes = lengths->as<python::Sequence>();
    if (!sizes) continue;
    ValueList settled = sizes->items;
    for (std::size_t i = 0; i < settled.size(); ++i) {
      const auto* free = settled[i].as<FreeSize>();
      const bool is_size = free && free->is_size();
      likes.from.push_back(is_size ? free->axis : 0);
      if (!is_size) continue;
      settled[i] = Value::of(std::int64_t{1});
      likes.tensors["like." + std::to_string(i)] = free->tensor;
    }
    if (!likes.tensors.empty()) value = in.list(std::move(settled));
  }
  return likes;
}

Result<Likes> free_likes(Tracer& tracer, Interpreter& in, const std::string& name, NamedValues& named) {
  if (name == "interpolate" || name == "upsample") return free_image(tracer, in, named);
  Likes likes;
  auto* tensor =
      named.size() < 2 || (name != "expand" && name != "broadcast_to") ? nullptr : named[0].second.as<SourceTensor>();
  if (tensor) {
    auto lengths = lengths_in(tracer, in, named[1].second);
    if (!lengths) return std::unexpected(lengths.error());
    named[1].second = *lengths;
  }
  const auto* sizes = tensor ? named[1].second.as<python::Sequence>() : nullptr;
  if (!sizes) return likes;
  const auto own = tracer.shape_of(*tensor);
  if (!own) return std::unexpected(own.error());
  ValueList settled = sizes->items;
  const std::size_t new_axes = settled.size() - std::min(settled.size(), own->size());
  bool any = false;
  for (std::size_t i = 0; i < settled.size(); ++i) {
    const auto* free = settled[i].as<FreeSize>();
    const bool is_size = free && free->is_size();
    likes.from.push_back(is_size ? free->axis : 0);
    if (!is_size) continue;
    any = true;
    settled[i] = Value::of(std::int64_t{i < new_axes ? 1 : -1});
    if (i < new_axes || (*own)[i - new_axes] == Dim(1)) likes.tensors["like." + std::to_string(i)] = free->tensor;
  }
  if (any) named[1].second = in.list(std::move(settled));
  return likes;
}

Made by_row(Tracer& tracer, Interpreter& in, const std::string& name, bool in_place, const Arguments& given) {
  const FunctionRow* row = row_named(name);
  if (!row) return fail(Fault::Unsupported, "'" + name + "' is not known here");
  auto named = named_arguments(in, given, row->parameters, name);
  if (!named) return pass(named);
  auto settled = settled_arguments(tracer, in, name, *named);
  if (!settled) return pass(settled);
  if (*settled) return **settled;
  const SourceTensor* padded = padded_input(tracer, in, name, *named);
  const bool is_shape = name == "view" || name == "reshape";
  auto likes = is_shape ? free_shape(tracer, in, *named) : free_likes(tracer, in, name, *named);
  if (!likes) return std::unexpected(likes.error());
  auto ready = prepared(tracer, in, *named);
  if (!ready) return pass(ready);
  if (!likes->tensors.empty()) ready->plain["from"] = std::move(likes->from);
  if (!likes->kept.is_null()) ready->plain["kept"] = std::move(likes->kept);
  ready->tensors.merge(std::move(likes->tensors));
  if (name == "batch_norm" && ready->plain.value("training", false))
    return fail(Fault::Unsupported, "batch_norm() in training");
  const int storage = may_share_memory(name) && ready->first ? ready->first->storage : -1;
  SourceTensor* target = ready->first;
  const bool writes = in_place || ready->in_place;
  const auto values = padded ? tracer.call_padded(in, *row, ready->plain, std::move(ready->tensors), *padded)
                             : tracer.call(in, *row, ready->plain, std::move(ready->tensors), results_of(name, *named));
  if (!values) return std::unexpected(values.error());
  if (writes && target && values->size() == 1) {
    if (auto done = tracer.write(in, *target, (*values)[0]); !done) return pass(done);
    return Value::of(target);
  }
  return answered(tracer, in, *values, storage, takes_apart(name));
}

}  // namespace

bool is_function(const std::string& name) {
  std::string plain = name;
  if (plain.ends_with("_") && !plain.ends_with("__")) plain.pop_back();
  return is_among(handed_on, plain) || is_among(makers, plain) || is_among(noises, plain) || special_named(plain) ||
         plain == "numel" || plain == "upsample_nearest" || row_named(plain) != nullptr;
}

Made call_function_named(Tracer& tracer, Interpreter& in, const std::string& called, Arguments given) {
  std::string name = called;
  const bool in_place = name.ends_with("_") && name != "requires_grad_";
  if (in_place) name.pop_back();
  if (auto out = given.take("out"); out && !out->is_none())
    return fail(Fault::Unsupported, name + "() writes into another tensor by 'out'");
  if (is_among(makers, name)) return filled(tracer, in, name, std::move(given));
  if (is_among(noises, name)) return dropped(tracer, in, called, std::move(given));
  if (given.placed.empty() && given.named.empty()) return fail(Fault::Format, name + "() of nothing");
  if (is_among(handed_on, name)) return handed(tracer, in, name, given);
  if (const Special* special = special_named(name)) return special->run(tracer, in, name, std::move(given));
  return by_row(tracer, in, name, in_place, given);
}

}  // namespace convoy::torch
