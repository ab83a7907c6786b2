#include "formats/torch/source/training.h"

namespace convoy::torch {

bool is_in_training(const Tracer& tracer, const Instance& module) {
  if (tracer.at_rest.contains(&module)) return false;
  const Value* said = module.attributes.find("training");
  return !said || !said->is_whole() || said->whole() != 0;
}

namespace {

using Draw = Tracer::Draw;

// The layer's tensor of this name, else None.
Made tensor_of(const Instance& layer, const char* word) {
  const Value* said = layer.attributes.find(word);
  return said && said->as<SourceTensor>() ? *said : Value();
}

Made scaled(Interpreter& in, const Value& tensor, std::string_view symbol, const Value& by) {
  auto made = tensor.as<SourceTensor>()->binary(in, symbol, by, false);
  if (!made) return pass(made);
  if (!*made) return fail(Fault::Internal, "arithmetic of two tensors gives nothing");
  return **made;
}

// The running numbers are moved on: running * (1 - momentum) + batch * momentum.
Status move_on(Tracer& tracer, Interpreter& in, const Instance& layer, const char* word, const Value& batch) {
  const auto running = tensor_of(layer, word);
  if (!running || running->is_none()) return {};
  const ValueId value = running->as<SourceTensor>()->value;
  const Value* momentum = layer.attributes.find("momentum");
  if (!momentum || !momentum->is_number()) {  // an average of all that came before
    tracer.draws.push_back({Draw::What::Lose, value, {}, {}, 0, {}});
    return {};
  }
  const auto kept = scaled(in, *running, "*", Value::of(1 - momentum->real()));
  if (!kept) return std::unexpected(kept.error());
  const auto taken = scaled(in, batch, "*", *momentum);
  if (!taken) return std::unexpected(taken.error());
  const auto moved = scaled(in, *kept, "+", *taken);
  if (!moved) return std::unexpected(moved.error());
  tracer.draws.push_back({Draw::What::Train, value, {}, moved->as<SourceTensor>()->value, 0, {}});
  return {};
}

Made normalized(Tracer& tracer, Interpreter& in, Instance& layer, const Value& x) {
  const auto shape = tracer.shape_of(*x.as<SourceTensor>());
  if (!shape) return std::unexpected(shape.error());
  const auto sizes = sizes_of(*shape);
  if (!sizes || sizes->size() < 2) return fail(Fault::Unsupported, "normalises a free shape in training");
  ValueList axes;
  Size cells = 1;
  for (std::size_t i = 0; i < sizes->size(); ++i)
    if (i != 1) {
      axes.push_back(Value::of(static_cast<std::int64_t>(i)));
      cells *= (*sizes)[i];
    }
  if (cells < 2) return fail(Fault::Format, "one value per channel is no batch to normalise in training");
  const auto mean = call_function_named(tracer, in, "mean", Arguments{{x, in.list(axes)}, {}});
  if (!mean) return mean;
  const auto variance = [&](std::int64_t correction) {
    return call_function_named(tracer, in, "var",
                               Arguments{{x, in.list(axes)}, {{"correction", Value::of(correction)}}});
  };
  const auto spread = variance(0), estimated = variance(1);
  if (!spread) return spread;
  if (!estimated) return estimated;
  Arguments call{{x, *mean, *spread, *tensor_of(layer, "weight"), *tensor_of(layer, "bias")}, {}};
  if (const Value* eps = layer.attributes.find("eps")) call.named.emplace_back("eps", *eps);
  auto answer = call_function_named(tracer, in, "batch_norm", std::move(call));
  if (!answer) return answer;
  if (auto done = move_on(tracer, in, layer, "running_mean", *mean); !done) return pass(done);
  if (auto done = move_on(tracer, in, layer, "running_var", *estimated); !done) return pass(done);
  const auto counter = tensor_of(layer, "num_batches_tracked");
  if (counter->is_none()) return answer;
  const auto next = scaled(in, *counter, "+", Value::of(std::int64_t{1}));
  if (!next) return next;
  const ValueId count = counter->as<SourceTensor>()->value;
  tracer.draws.push_back({Draw::What::Train, count, {}, next->as<SourceTensor>()->value, 0, {}});
  return answer;
}

}  // namespace

Made dropped_in_training(Tracer& tracer, Interpreter& in, const Value& x, bool in_place) {
  auto* tensor = x.as<SourceTensor>();
  const auto value = tracer.value_of(*tensor);
  if (!value) return std::unexpected(value.error());
  const auto unknown = tracer.unknown(*value);
  if (!unknown) return std::unexpected(unknown.error());
  tracer.draws.push_back({Draw::What::Lose, {}, {}, {}, 0, {}});
  if (!in_place) return tracer.tensor(in, *unknown);
  if (auto done = tracer.write(in, *tensor, *unknown); !done) return pass(done);
  return x;
}

namespace {

double number_of(const Instance& layer, const char* word, double usual) {
  const Value* said = layer.attributes.find(word);
  return said && said->is_number() ? said->real() : usual;
}

bool draws_in_training(const std::string& name, const Instance& layer) {
  return (name.contains("Dropout") && number_of(layer, "p", 0.5) != 0) || name == "RReLU";
}

// A layer that answers otherwise in training, which eval() of the model did not reach.
Result<std::optional<Value>> refused_in_training(const Tracer& tracer, const std::string& name, const Instance& layer) {
  if (tracer.options().structure_only || !is_in_training(tracer, layer)) return std::nullopt;
  const bool norms = name.starts_with("BatchNorm") || name.starts_with("InstanceNorm");
  const Value* running = layer.attributes.find("running_mean");
  if (!draws_in_training(name, layer) && !(norms && running && running->as<SourceTensor>())) return std::nullopt;
  return fail(Fault::Unsupported,
              name + " is in training when the model is called: eval() reaches the modules that are attributes " +
                  "of the model from __init__ on (is it in a list that should be an nn.ModuleList?)");
}

}  // namespace

Result<std::optional<Value>> ran_in_training(Tracer& tracer, Interpreter& in, const std::string& name, Instance& layer,
                                             const Value& x) {
  if (tracer.bound) return x.as<SourceTensor>() ? refused_in_training(tracer, name, layer) : std::nullopt;
  const bool is_drawn = !tracer.options().weights && !tracer.options().structure_only;
  if (!is_drawn || !is_in_training(tracer, layer) || !x.as<SourceTensor>()) return std::nullopt;
  const auto answered = [](Made made) -> Result<std::optional<Value>> {
    if (!made) return pass(made);
    return *made;
  };
  if (name.starts_with("BatchNorm")) return answered(normalized(tracer, in, layer, x));
  const bool draws = draws_in_training(name, layer);
  const bool tracks = name.starts_with("InstanceNorm") && number_of(layer, "track_running_stats", 0) != 0;
  if (tracks)
    for (const char* word : {"running_mean", "running_var", "num_batches_tracked"})
      if (const auto held = tensor_of(layer, word); held->as<SourceTensor>())
        tracer.draws.push_back({Draw::What::Lose, held->as<SourceTensor>()->value, {}, {}, 0, {}});
  if (!draws && !tracks) return std::nullopt;
  return answered(dropped_in_training(tracer, in, x, number_of(layer, "inplace", 0) != 0));
}

}  // namespace convoy::torch
