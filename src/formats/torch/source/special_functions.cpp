// Functions whose arguments say more than a row can: tensors of numbers, the largest of, repeats, dropout.
#include "formats/torch/aten/aten.h"
#include "formats/torch/functions/functions.h"
#include "formats/torch/source/functions.h"

#include <algorithm>
#include <array>

namespace convoy::torch {

namespace {

// A tensor of numbers that stand in the program.
Status numbers_of(Interpreter& in, const Value& value, Sizes& shape, std::vector<double>& out, bool& whole,
                  std::size_t depth) {
  if (value.is_number()) {
    whole = whole && value.is_whole();
    out.push_back(value.real());
    return in.charge(8);
  }
  if (depth > 8 || !value.is_object()) return fail(Fault::Unsupported, "a tensor of a " + python::type_name(value));
  const auto all = in.elements(value);
  if (!all) return std::unexpected(all.error());
  if (shape.size() <= depth) shape.push_back(static_cast<Size>(all->size()));
  if (shape[depth] != static_cast<Size>(all->size())) return fail(Fault::Format, "a tensor of lists of unlike lengths");
  for (const Value& one : *all)
    if (auto done = numbers_of(in, one, shape, out, whole, depth + 1); !done) return done;
  return {};
}

}  // namespace

Made repeated(Tracer& tracer, Interpreter& in, Arguments given) {
  static constexpr FunctionRow row{"repeat", "input sizes", [](FunctionCall& call) -> std::vector<ValueId> {
                                     ValueId x = call.tensor("input");
                                     const Sizes sizes = call.attrs.list("sizes");
                                     const Size front = static_cast<Size>(sizes.size()) - call.rank(x);
                                     if (front < 0) call.refuse(Fault::Format, "fewer numbers than axes");
                                     Sizes added;
                                     for (Size i = 0; i < front; ++i) added.push_back(i);
                                     if (!added.empty()) x = call.add(Unsqueeze{added}, {x});
                                     for (std::size_t i = 0; i < sizes.size(); ++i) {
                                       if (sizes[i] < 1)
                                         call.refuse(Fault::Unsupported,
                                                     "repeats an axis " + std::to_string(sizes[i]) + " times");
                                       else if (sizes[i] > 1) x = call.add(Tile{static_cast<Size>(i), sizes[i]}, {x});
                                     }
                                     return {x};
                                   }};
  auto named = named_arguments(in, given, "input sizes...", "repeat");
  if (!named) return pass(named);
  auto ready = prepared(tracer, in, *named);
  if (!ready) return pass(ready);
  const auto values = tracer.call(in, row, ready->plain, std::move(ready->tensors));
  if (!values) return std::unexpected(values.error());
  return answered(tracer, in, *values, -1, false);
}

Made embedded(Tracer& tracer, Interpreter& in, Arguments given) {
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
Made sampled(Tracer& tracer, Interpreter& in, Arguments given) {
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

Made filled(Tracer& tracer, Interpreter& in, const std::string& name, Arguments given) {
  std::erase_if(given.named, [](const auto& one) { return is_silent(one.first); });
  if (name == "tensor" || name == "as_tensor" || name == "from_numpy") {
    const auto dtype = given.take("dtype");
    if (given.placed.empty()) return fail(Fault::Format, name + "() of nothing");
    if (auto* tensor = given.placed[0].as<SourceTensor>())  // PyTorch's own, whoever held it
      return tensor->value ? Made(tracer.tensor(in, tensor->value, tensor->storage)) : Made(given.placed[0]);
    Sizes shape;
    std::vector<double> numbers;
    bool whole = true;
    if (auto done = numbers_of(in, given.placed[0], shape, numbers, whole, 0); !done) return pass(done);
    const auto* word = dtype ? dtype->as<python::Text>() : nullptr;
    if (word ? word->text == "int64" : whole)
      return tracer.constant(in, Tensor::of(shape, std::vector<std::int64_t>(numbers.begin(), numbers.end())));
    return tracer.constant(in, Tensor::of(shape, std::vector<float>(numbers.begin(), numbers.end())));
  }
  if (name.ends_with("_like")) {
    auto* like = given.placed.empty() ? nullptr : given.placed[0].as<SourceTensor>();
    if (!like) return fail(Fault::Format, name + "() of what is no tensor");
    const auto shape = in.attribute(given.placed[0], "shape");
    if (!shape) return shape;
    return filled(tracer, in, name.substr(0, name.find('_')), Arguments{{*shape}, given.named});
  }
  const bool drawn = name == "rand" || name == "randn" || name == "empty";
  if (drawn && tracer.bound)
    return fail(Fault::Unsupported, name + "() inside the model: its numbers come from nowhere");
  const bool sized = name == "zeros" || name == "ones" || drawn;
  std::string_view parameters = sized                ? "size..."
                                : name == "full"     ? "size fill_value"
                                : name == "linspace" ? "start end steps"
                                                     : "start end step";
  if (name == "arange" && given.placed.size() == 1) parameters = "end";
  auto named = named_arguments(in, given, parameters, name);
  if (!named) return pass(named);
  auto ready = prepared(tracer, in, *named);
  if (!ready) return pass(ready);
  const auto values = tracer.call(in, *aten_named(drawn ? "zeros" : name), ready->plain, std::move(ready->tensors));
  if (!values) return std::unexpected(values.error());
  const Value made = tracer.tensor(in, (*values)[0]);
  made.as<SourceTensor>()->is_random = drawn;
  if (drawn) tracer.random_values.insert((*values)[0].index);
  if (drawn && name != "empty")
    tracer.draws.push_back({Tracer::Draw::What::Fill,
                            (*values)[0],
                            Filling{name == "rand" ? Filling::How::Uniform : Filling::How::Normal, 0, 1},
                            {},
                            0});
  return made;
}

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
  auto best = call_function_named(tracer, in, "a" + name, std::move(given));
  if (!best) return best;
  return in.tuple({*best, Value()});  // where it stands is not read
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
  if (training)
    return fail(Fault::Unsupported,
                "F." + name + "() drops cells of a model at rest, too, unless it says training=self.training");
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
