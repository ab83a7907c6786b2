// Functions whose arguments say more than a row can: the largest of, repeats, samples, dropout.
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "formats/torch/source/functions.h"
#include "formats/torch/source/training.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace convoy::torch {

// As often as free sizes say, too.
Made repeated(Tracer& tracer, Interpreter& in, const std::string&, Arguments given) {
  for (auto& [word, value] : given.named)
    if (word == "sizes") word = "repeats";
  auto named = named_arguments(in, given, "input repeats...", "repeat");
  if (!named) return pass(named);
  Json from = Json::array();
  TensorArguments likes;
  for (auto& [word, value] : *named) {
    if (word != "repeats") continue;
    const auto lengths = lengths_in(tracer, in, value);
    if (!lengths) return lengths;
    const auto* list = lengths->as<Sequence>();
    if (!list) continue;
    ValueList times = list->items;
    for (Value& one : times) {
      const auto* free = one.as<FreeSize>();
      if (one.is_whole() && one.whole() < 1)
        return fail(Fault::Unsupported, "repeats an axis " + std::to_string(one.whole()) + " times");
      if (free) likes["like." + std::to_string(from.size())] = free->tensor;
      from.push_back(free ? free->axis : 0);
      if (free) one = Value::of(std::int64_t{1});
    }
    value = in.list(std::move(times));
  }
  auto ready = prepared(tracer, in, *named);
  if (!ready) return pass(ready);
  if (!likes.empty()) ready->plain["from"] = std::move(from);
  ready->tensors.merge(std::move(likes));
  const auto values = tracer.call(in, *aten_named("repeat"), ready->plain, std::move(ready->tensors));
  if (!values) return std::unexpected(values.error());
  return answered(tracer, in, *values, -1, false);
}

Made embedded(Tracer& tracer, Interpreter& in, const std::string&, Arguments given) {
  auto named = named_arguments(in, given, "indices weight padding_idx max_norm norm_type scale_grad_by_freq sparse",
                               "embedding");
  if (!named) return pass(named);
  for (auto& [word, value] : *named) {
    if (word == "input") word = "indices";
    if (word == "max_norm" && !value.is_none())
      return fail(Fault::Unsupported, "embedding() with max_norm changes its weights");
    if (word == "indices")
      if (auto* tensor = value.as<SourceTensor>(); tensor && !tensor->value)
        if (auto made = tracer.value_of(*tensor, Shape{Dim::unknown(), Dim::unknown()}, DType::I64); !made)
          return pass(made);
  }
  std::erase_if(*named, [](const auto& one) { return one.first != "indices" && one.first != "weight"; });
  auto ready = prepared(tracer, in, *named);
  if (!ready) return pass(ready);
  const auto values = tracer.call(in, *aten_named("embedding"), ready->plain, std::move(ready->tensors));
  if (!values) return std::unexpected(values.error());
  return answered(tracer, in, *values, -1, false);
}

// F.grid_sample says by words what the row takes as their places.
Made sampled(Tracer& tracer, Interpreter& in, const std::string&, Arguments given) {
  auto named = named_arguments(in, given, "input grid mode padding_mode align_corners", "grid_sample");
  if (!named) return pass(named);
  auto ready = prepared(tracer, in, *named);
  if (!ready) return pass(ready);
  const auto placed = [&](const char* word, const char* as, std::array<std::string_view, 3> words) -> Status {
    const std::string said = ready->plain.value(word, std::string(words[0]));
    const auto found = std::ranges::find(words, said);
    if (found == words.end()) return fail(Fault::Format, "grid_sample(): " + std::string(word) + " is '" + said + "'");
    ready->plain.erase(word);
    ready->plain[as] = found - words.begin();
    return {};
  };
  if (auto done = placed("mode", "interpolation_mode", {"bilinear", "nearest", "bicubic"}); !done) return pass(done);
  if (auto done = placed("padding_mode", "padding_mode", {"zeros", "border", "reflection"}); !done) return pass(done);
  const auto values = tracer.call(in, *aten_named("grid_sampler"), ready->plain, std::move(ready->tensors));
  if (!values) return std::unexpected(values.error());
  return answered(tracer, in, *values, -1, false);
}

// theta and the shape of the input that is sampled.
Made gridded(Tracer& tracer, Interpreter& in, const std::string&, Arguments given) {
  auto named = named_arguments(in, given, "theta size align_corners", "affine_grid");
  if (!named) return pass(named);
  auto ready = prepared(tracer, in, *named);
  if (!ready) return pass(ready);
  const auto values = tracer.call(in, *aten_named("affine_grid_generator"), ready->plain, std::move(ready->tensors));
  if (!values) return std::unexpected(values.error());
  return answered(tracer, in, *values, -1, false);
}

namespace {

// (values, indices), which the program may also say by these names.
class Extremes : public Sequence {
 public:
  Extremes(const Value& values, const Value& indices) : Sequence(true, {values, indices}) {}
  Result<std::optional<Value>> attribute(Interpreter& in, const std::string& name) override {
    if (name == "values") return items[0];
    if (name == "indices") return items[1];
    return Sequence::attribute(in, name);
  }
};

}  // namespace

// max(x), max(x, dim), max(x, y)
Made extreme(Tracer& tracer, Interpreter& in, const std::string& name, Arguments given) {
  const bool two = given.placed.size() > 1 && given.placed[1].as<SourceTensor>();
  if (two) return call_function_named(tracer, in, name + "imum", std::move(given));
  const bool whole = given.placed.size() == 1 && given.named.empty();
  if (whole) {
    auto* tensor = given.placed[0].as<SourceTensor>();
    if (!tensor) return in.call(in.builtins[name], std::move(given));
    const auto id = tracer.value_of(*tensor);
    if (!id) return std::unexpected(id.error());
    const auto values = tracer.call(in, *aten_named(name + ".default"), Json::object(), {{"input", *id}});
    if (!values) return std::unexpected(values.error());
    return answered(tracer, in, *values, -1, false);
  }
  const auto best = call_function_named(tracer, in, "a" + name, given);
  if (!best) return best;
  const auto place = call_function_named(tracer, in, "arg" + name, std::move(given));
  if (!place) return place;
  return Value::of(in.make<Extremes>(*best, *place));
}

// topk(x, k) and sort(x): the numbers, and where they stand.
Made ordered(Tracer& tracer, Interpreter& in, const std::string& name, Arguments given) {
  auto named = named_arguments(in, given, name == "topk" ? "input k dim largest sorted" : "input dim descending", name);
  if (!named) return pass(named);
  auto ready = prepared(tracer, in, *named);
  if (!ready) return pass(ready);
  const auto values = tracer.call(in, *aten_named(name), ready->plain, std::move(ready->tensors), 2);
  if (!values) return std::unexpected(values.error());
  const auto both = answered(tracer, in, *values, -1, true);
  if (!both) return both;
  const auto& all = both->as<Sequence>()->items;
  if (all.size() != 2) return fail(Fault::Internal, name + "() gives " + std::to_string(all.size()) + " tensors");
  return Value::of(in.make<Extremes>(all[0], all[1]));
}

// At rest they hand on what they get; F.dropout acts unless it is told not to.
Made dropped(Tracer& tracer, Interpreter& in, const std::string& called, Arguments given) {
  std::string name = called;
  if (name.ends_with("_")) name.pop_back();
  if (name == "identity") return given.placed.empty() ? Made(Value()) : Made(given.placed[0]);
  auto named = named_arguments(in, given, "input p training inplace", name);
  if (!named) return pass(named);
  bool training = name != "alpha_dropout" && name != "feature_alpha_dropout";
  for (const auto& [word, value] : *named)
    if (word == "training") {
      const auto holds = in.truth(value);
      if (!holds) return std::unexpected(holds.error());
      training = *holds;
    }
  if (training && !tracer.bound && !named->empty() && named->front().second.as<SourceTensor>()) {
    const auto said = [&](const char* wanted) {
      const auto found = std::ranges::find(*named, wanted, [](const auto& one) { return one.first; });
      return found == named->end() || !found->second.is_number() ? std::nullopt : std::optional(found->second.real());
    };
    if (said("p").value_or(0.5) == 0) return named->front().second;
    return dropped_in_training(tracer, in, named->front().second,
                               called.ends_with("_") || said("inplace").value_or(0) != 0);
  }
  if (training)
    return fail(Fault::Unsupported,
                "F." + name + "() drops elements in eval mode, too, unless it says training=self.training");
  std::erase_if(*named, [](const auto& one) { return one.first == "training" || one.first == "inplace"; });
  auto ready = prepared(tracer, in, *named);
  if (!ready) return pass(ready);
  const char* row = name == "dropout"                 ? "dropout"
                    : name.ends_with("alpha_dropout") ? "alpha_dropout"
                                                      : "feature_dropout";
  const auto values = tracer.call(in, *aten_named(row), ready->plain, std::move(ready->tensors));
  if (!values) return std::unexpected(values.error());
  return answered(tracer, in, *values, ready->first ? ready->first->storage : -1, false);
}

}  // namespace convoy::torch
