// torch.nn.init: what weights are filled with. Source: torch/nn/init.py of PyTorch 2.13.
#include "formats/torch/source/tracer.h"

#include <algorithm>
#include <cmath>
#include <ranges>

namespace convoy::torch {

namespace {

// calculate_gain(nonlinearity, param). Fails: a word that PyTorch has no gain for.
Result<double> gain_of(const std::string& word, std::optional<double> slope) {
  if (word == "tanh") return 5.0 / 3;
  if (word == "relu") return std::sqrt(2.0);
  if (word == "selu") return 0.75;
  if (word == "leaky_relu") return std::sqrt(2 / (1 + std::pow(slope.value_or(0.01), 2)));
  if (word == "linear" || word == "sigmoid" || word.starts_with("conv")) return 1.0;
  return fail(Fault::Format, "there is no gain for the nonlinearity '" + word + "'");
}

struct Fans {
  double in = 1, out = 1;
};

Result<Fans> fans_of(const Tracer& tracer, const SourceTensor& weight) {
  const Sizes& shape = tracer.graph[weight.value].constant->shape();
  if (shape.size() < 2) return fail(Fault::Format, "the fans of a tensor of fewer than two axes");
  Fans fans{static_cast<double>(shape[1]), static_cast<double>(shape[0])};
  for (std::size_t i = 2; i < shape.size(); ++i) {
    fans.in *= static_cast<double>(shape[i]);
    fans.out *= static_cast<double>(shape[i]);
  }
  return fans;
}

double number(const std::optional<Value>& value, double usual) {
  return value && value->is_number() ? value->real() : usual;
}
std::string word(const std::optional<Value>& value, const char* usual) {
  const auto* text = value ? value->as<python::Text>() : nullptr;
  return text ? text->text : usual;
}

using Given = std::vector<std::optional<Value>>;
using How = Filling::How;

// Distributions whose width the shape of the weight says.
Result<Filling> scaled(const Tracer& tracer, const SourceTensor& weight, const std::string& name, const Given& given) {
  const auto fans = fans_of(tracer, weight);
  if (!fans) return std::unexpected(fans.error());
  double deviation = 0;
  if (name.starts_with("xavier")) {
    deviation = number(given[1], 1) * std::sqrt(2 / (fans->in + fans->out));
  } else {
    const auto gain = gain_of(word(given[3], "leaky_relu"), number(given[1], 0));
    if (!gain) return std::unexpected(gain.error());
    deviation = *gain / std::sqrt(word(given[2], "fan_in") == "fan_out" ? fans->out : fans->in);
  }
  if (name.ends_with("normal_")) return Filling{How::Normal, 0, deviation};
  return Filling{How::Uniform, -std::sqrt(3.0) * deviation, std::sqrt(3.0) * deviation};
}

std::string_view parameters_of(const std::string& name) {
  if (name == "uniform_") return "tensor a b generator";
  if (name == "normal_") return "tensor mean std generator";
  if (name == "trunc_normal_") return "tensor mean std a b generator";
  if (name == "constant_") return "tensor val";
  if (name == "dirac_") return "tensor groups";
  if (name == "eye_") return "tensor";
  if (name.starts_with("xavier") || name == "orthogonal_") return "tensor gain generator";
  if (name.starts_with("kaiming")) return "tensor a mode nonlinearity generator";
  return name == "zeros_" || name == "ones_" ? "tensor" : "";
}

// The numbers of eye_(), and of dirac_(), whose convolution keeps its input. Fails: another number of axes.
Result<Tensor> ones_in_place(const Sizes& shape, bool is_eye, Size groups) {
  const Size rank = std::ssize(shape);
  if (is_eye ? rank != 2 : rank < 3 || rank > 5)
    return fail(Fault::Format,
                std::string(is_eye ? "eye_" : "dirac_") + "() of a tensor of " + std::to_string(rank) + " axes");
  if (groups < 1 || shape[0] % groups != 0)
    return fail(Fault::Format, "dirac_() by groups that do not divide its rows");
  std::vector<double> numbers(static_cast<std::size_t>(checked_count(shape).value_or(0)));
  Size cells = 1, middle = 0;  // of one window
  for (std::size_t i = 2; i < shape.size(); ++i) {
    cells *= shape[i];
    middle = middle * shape[i] + shape[i] / 2;
  }
  const Size rows = shape[0] / groups;
  for (Size group = 0; group < groups; ++group)
    for (Size i = 0; i < std::min(rows, shape[1]); ++i)
      numbers[static_cast<std::size_t>(((group * rows + i) * shape[1] + i) * cells + middle)] = 1;
  return Tensor::of(shape, std::move(numbers));
}

// Where nothing is drawn, and the numbers are not all the same. Nothing: another initialiser.
Result<std::optional<Tensor>> numbers_in_place(const Tracer& tracer, const SourceTensor& weight,
                                               const std::string& name, const Arguments& arguments) {
  if (name != "eye_" && name != "dirac_") return std::nullopt;
  const auto taken = python::bound(arguments, parameters_of(name), 1, "nn.init." + name);
  if (!taken) return std::unexpected(taken.error());
  const Value groups = taken->size() > 1 ? (*taken)[1].value_or(Value()) : Value();
  auto made = ones_in_place(tracer.graph[weight.value].constant->shape(), name == "eye_",
                            groups.is_whole() ? groups.whole() : 1);
  if (!made) return pass(made);
  return made->converted(tracer.graph[weight.value].type.dtype);
}

bool draws_by_own_generator(const std::string& name, const Arguments& arguments) {
  const auto taken = python::bound(arguments, parameters_of(name), 1, "nn.init." + name);
  return taken && parameters_of(name).ends_with("generator") && taken->back() && !taken->back()->is_none();
}

// Nothing: an initialiser that is not followed.
Result<std::optional<Filling>> filling_of(const Tracer& tracer, const SourceTensor& weight, const std::string& name,
                                          const Arguments& arguments) {
  const auto parameters = parameters_of(name);
  if (parameters.empty() || draws_by_own_generator(name, arguments)) return std::nullopt;
  const auto taken = python::bound(arguments, parameters, 1, "nn.init." + name);
  if (!taken) return std::unexpected(taken.error());
  const Given& given = *taken;
  if (name == "zeros_" || name == "ones_") return Filling{How::Constant, name == "ones_" ? 1.0 : 0.0, 0};
  if (name == "constant_") return Filling{How::Constant, number(given[1], 0), 0};
  if (name == "uniform_") return Filling{How::Uniform, number(given[1], 0), number(given[2], 1)};
  if (name == "normal_") return Filling{How::Normal, number(given[1], 0), number(given[2], 1)};
  if (name == "orthogonal_") return Filling{How::Orthogonal, number(given[1], 1), 0};
  if (name == "trunc_normal_")
    return Filling{How::Truncated, number(given[1], 0), number(given[2], 1), number(given[3], -2), number(given[4], 2)};
  auto made = scaled(tracer, weight, name, given);
  if (!made) return pass(made);
  return *made;
}

// Nobody follows what fills this weight, nor what is drawn behind it, unless that comes from another generator.
void lose(Tracer& tracer, ValueId weight, const std::string& name, bool by_own) {
  tracer.weight_changes.push_back({weight, "nn.init." + name, false});
  tracer.draws.push_back({Tracer::Draw::What::Lose, weight, {}, {}, 0, {}, "nn.init." + name + "()"});
  if (!by_own) tracer.draws.push_back({Tracer::Draw::What::Lose, {}, {}, {}, 0, {}});
}

}  // namespace

std::optional<Value> initialiser(Tracer& tracer, Interpreter& in, const std::string& called) {
  if (called == "_calculate_fan_in_and_fan_out")
    return in.native(called, [&tracer](Interpreter& with, Arguments& given) -> Made {
      const auto taken = python::bound(given, "tensor", 1, "_calculate_fan_in_and_fan_out");
      if (!taken) return std::unexpected(taken.error());
      const auto* tensor = (*taken)[0]->as<SourceTensor>();
      if (!tensor || !tracer.graph[tensor->value].constant)
        return fail(Fault::Unsupported, "the fans of what is no weight");
      const auto fans = fans_of(tracer, *tensor);
      if (!fans) return std::unexpected(fans.error());
      return with.tuple({Value::of(static_cast<Size>(fans->in)), Value::of(static_cast<Size>(fans->out))});
    });
  if (called == "calculate_gain")
    return in.native(called, [](Interpreter&, Arguments& given) -> Made {
      const auto taken = python::bound(given, "nonlinearity param", 1, "calculate_gain");
      if (!taken) return std::unexpected(taken.error());
      const auto& slope = (*taken)[1];
      const auto gain =
          gain_of(word((*taken)[0], ""), slope && slope->is_number() ? std::optional(slope->real()) : std::nullopt);
      if (!gain) return std::unexpected(gain.error());
      return Value::of(*gain);
    });
  // The spellings before PyTorch 0.4 have no underscore.
  const std::string name = called.ends_with("_") ? called : called + "_";
  if (name != called && parameters_of(name).empty()) return std::nullopt;
  return in.native(called, [&tracer, name](Interpreter&, Arguments& given) -> Made {
    if (given.placed.empty())
      if (const auto said = given.take("tensor")) given.placed.push_back(*said);
    if (given.placed.empty()) return fail(Fault::Format, "nn.init." + name + "() of nothing");
    auto* tensor = given.placed[0].as<SourceTensor>();
    if (!tensor) return given.placed[0];
    if (!tracer.weights.contains(tensor->value.index))
      return fail(Fault::Unsupported, "nn.init." + name + "() of what is no weight");
    const auto is_tensor = [](const Value& value) { return value.as<SourceTensor>() != nullptr; };
    if (std::ranges::any_of(given.placed | std::views::drop(1), is_tensor) ||
        std::ranges::any_of(given.named, [&](const auto& one) { return is_tensor(one.second); }))
      return fail(Fault::Unsupported, "nn.init." + name + "() with a tensor where a number is read");
    auto known = numbers_in_place(tracer, *tensor, name, given);
    if (!known) return pass(known);
    if (*known) {
      tracer.weight_changes.push_back({tensor->value, "nn.init." + name});
      tracer.start(tensor->value, **std::move(known));
      return given.placed[0];
    }
    const auto filling = filling_of(tracer, *tensor, name, given);
    if (!filling) return std::unexpected(filling.error());
    if (!*filling) lose(tracer, tensor->value, name, draws_by_own_generator(name, given));
    else if (auto done = tracer.refill(*tensor, **filling, "nn.init." + name); !done) return pass(done);
    return given.placed[0];
  });
}

}  // namespace convoy::torch
