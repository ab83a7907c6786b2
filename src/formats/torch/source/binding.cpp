// Numbers for the weights of a program: those of a file by name, or drawn as PyTorch draws them.
#include "base/budget.h"
#include "formats/torch/source/spectral_norm.h"
#include "formats/torch/weight_norm.h"
#include "ops/expect.h"
#include "run/run.h"

#include <algorithm>
#include <cmath>

namespace convoy::torch {

namespace {

std::string shape_text(const Sizes& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

// What wrappers put in front of every name.
void strip(std::vector<LoadedTensor>& all, const std::set<std::string>& wanted) {
  for (const std::string prefix : {"state_dict.", "model_state_dict.", "model.", "module.", "net."}) {
    if (all.empty() || !std::ranges::all_of(all, [&](const LoadedTensor& t) { return t.name.starts_with(prefix); }))
      continue;
    if (std::ranges::any_of(all, [&](const LoadedTensor& t) { return wanted.contains(t.name); })) return;
    for (LoadedTensor& one : all) one.name.erase(0, prefix.size());
  }
}

}  // namespace

Status Tracer::refill(const SourceTensor& weight, const Filling& filling, const std::string& by) {
  if (!weights.contains(weight.value.index) || bound) return fail(Fault::Unsupported, by + "() of what is no weight");
  draws.push_back({Draw::What::Fill, weight.value, filling, {}, 0});
  return {};
}

// The numbers of what is computed from random tensors.
Result<Tensor> Tracer::computed(ValueId value, const std::map<std::int32_t, Tensor>& drawn, int depth) {
  if (const auto known = drawn.find(value.index); known != drawn.end()) return known->second;
  if (graph[value].constant) return *graph[value].constant;
  const NodeId producer = graph[value].producer;
  if (!producer || depth > 100) return fail(Fault::Unsupported, "a parameter that is computed from what is not known");
  std::vector<Tensor> numbers;
  for (const ValueId input : graph[producer].inputs) {
    auto one = input ? computed(input, drawn, depth + 1) : Result<Tensor>(Tensor());
    if (!one) return one;
    numbers.push_back(std::move(*one));
  }
  std::vector<const Tensor*> inputs;
  for (std::size_t i = 0; i < numbers.size(); ++i) inputs.push_back(graph[producer].inputs[i] ? &numbers[i] : nullptr);
  auto made = run_node_of(graph, graph[producer], inputs, Precision::Single, 1);
  if (!made) return pass(made);
  const auto& outputs = graph[producer].outputs;
  return (*made)[static_cast<std::size_t>(std::ranges::find(outputs, value) - outputs.begin())];
}

Status Tracer::draw_weights() {
  // All of them, before the first is drawn: most may belong to nothing that is kept.
  std::set<std::int32_t> declared;
  for (const Draw& draw : draws)
    if (draw.what == Draw::What::Fill) {
      constexpr double steps_per_number = 30;
      const Tensor& like = *graph[draw.value].constant;
      const Size bytes = checked_multiply(like.count(), bytes_of(like.dtype())).value_or(Size{1} << 62);
      const std::string name = "'" + graph[draw.value].name + "'";
      const auto granted = declared.insert(draw.value.index).second
                               ? budget::grant_declared(bytes, name)
                               : budget::spend(steps_per_number * static_cast<double>(like.count()), "drawing " + name);
      if (!granted) return granted;
    }
  Draws source(options_.seed.value_or(0));
  const bool keeps = std::ranges::any_of(draws, [](const Draw& d) { return d.what == Draw::What::Compute; });
  std::map<std::int32_t, Tensor> drawn;  // tensors that are no weights
  for (const Draw& draw : draws) {
    if (draw.what == Draw::What::Restart) {
      source.restart(draw.seed);
      continue;
    }
    if (draw.what == Draw::What::Compute) {
      auto numbers = computed(draw.from, drawn, 0);
      if (!numbers) return pass(numbers);
      graph[draw.value].constant = std::move(*numbers);
      continue;
    }
    if (draw.what == Draw::What::Set || draw.what == Draw::What::Copy) {
      graph[draw.value].constant = draw.numbers ? *draw.numbers : *graph[draw.from].constant;
      continue;
    }
    const Tensor& like = *graph[draw.value].constant;
    auto numbers = source.fill(like.shape(), like.dtype(), draw.filling);
    if (!numbers) return pass(numbers);
    if (weights.contains(draw.value.index)) graph[draw.value].constant = std::move(*numbers);
    else if (keeps) drawn.insert_or_assign(draw.value.index, std::move(*numbers));
  }
  return {};
}

void Tracer::start(ValueId weight, Tensor numbers) {
  draws.push_back({Draw::What::Set, weight, {}, {}, 0, std::move(numbers)});
}

std::optional<Tensor> Tracer::starting(ValueId weight) const {
  const Tensor& now = *graph[weight].constant;
  const Draw* last = nullptr;
  for (const Draw& draw : draws)
    if (draw.value == weight) last = &draw;
  if (!last) return now;
  if (last->what == Draw::What::Set) return last->numbers;
  if (last->what == Draw::What::Copy) return starting(last->from);
  if (last->what != Draw::What::Fill || last->filling.how != Filling::How::Constant) return std::nullopt;
  auto numbers = Draws(0).fill(now.shape(), now.dtype(), last->filling);
  return numbers ? std::optional(std::move(*numbers)) : std::nullopt;
}

Status Tracer::take(std::vector<LoadedTensor> loaded, const NamedWeights& named) {
  std::set<std::string> wanted;
  for (const auto& [name, tensor] : named) wanted.insert(name);
  const std::string file = options_.weights->filename().string();
  std::map<std::string, Tensor> given;
  for (LoadedTensor& one : loaded) {
    if (!wanted.contains(one.name) && !one.name.ends_with("num_batches_tracked"))
      return fail(Fault::Format, file + " holds '" + one.name + "', which the source has no weight for");
    given.emplace(one.name, std::move(one.tensor));
  }
  std::set<std::int32_t> filled;
  for (const auto& [name, tensor] : named) {
    const auto found = given.find(name);
    auto& constant = graph[tensor->value].constant;
    if (found == given.end()) {
      if (name.ends_with("num_batches_tracked")) continue;
      return fail(Fault::Format, file + " holds no '" + name + "', of shape " + shape_text(constant->shape()));
    }
    if (found->second.shape() != constant->shape())
      return fail(Fault::Format, "'" + name + "' has shape " + shape_text(found->second.shape()) + " in " + file +
                                     ", and " + shape_text(constant->shape()) + " in the source");
    Tensor numbers = found->second;
    if (numbers.dtype() != constant->dtype() && is_floating(constant->dtype()))
      numbers = numbers.converted(constant->dtype());
    if (!filled.insert(tensor->value.index).second && !same_bytes(*constant, numbers))
      return fail(Fault::Format, "'" + name + "' is one with another weight in the source, and " + file +
                                     " gives them unlike numbers");
    constant = std::move(numbers);
  }
  return {};
}

Status Tracer::bind(const NamedWeights& named) {
  std::set<std::int32_t> seen;
  std::set<std::string> wanted;
  for (const auto& [name, tensor] : named) {
    wanted.insert(name);
    if (seen.insert(tensor->value.index).second) graph.rename(tensor->value, name);
    if (options_.weights || options_.structure_only) tensor->is_random = false;  // its numbers come from the file
  }
  bound = true;
  if (!options_.weights && options_.structure_only) return {};
  if (!options_.weights && loads_weights)
    return fail(Fault::Usage,
                "the program loads the model's weights from a file; give it with --weights, or leave load_state_dict() "
                "out");
  if (!options_.weights) return draw_weights();
  auto loaded = load_weights(*options_.weights);
  if (!loaded) return pass(loaded);
  strip(*loaded, wanted);
  // Weights that the file keeps as norms and directions, and the program by their plain names.
  if (const auto normed = normed_weights(*loaded);
      std::ranges::any_of(normed, [&](const NormedWeight& one) { return wanted.contains(one.name); })) {
    auto plain = with_plain_weights(std::move(*loaded));
    if (!plain) return pass(plain);
    loaded = std::move(plain);
  }
  for (const auto& [name, tensor] : named)
    if (const auto rows = spectral.find(tensor->value.index); rows != spectral.end())
      if (auto done = divide_by_spectral_norm(*loaded, name, rows->second); !done) return done;
  return take(std::move(*loaded), named);
}

}  // namespace convoy::torch
