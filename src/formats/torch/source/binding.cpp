// Numbers for the weights of a program: those of a file by name, or drawn as PyTorch draws them.
#include "base/budget.h"
#include "formats/torch/source/module_weights.h"
#include "formats/torch/source/spectral_norm.h"
#include "formats/torch/weight_norm.h"
#include "ops/expect.h"
#include "run/cost.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

namespace convoy::torch {

namespace {

std::string shape_text(const Sizes& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace

Status Tracer::refill(const SourceTensor& weight, const Filling& filling, const std::string& by) {
  if (!weights.contains(weight.value.index) || bound) return fail(Fault::Unsupported, by + "() of what is no weight");
  draws.push_back({Draw::What::Fill, weight.value, filling, {}, 0});
  weight_changes.push_back({weight.value, by});
  return {};
}

Result<bool> Tracer::loads_itself(const python::Object& module, const NamedWeights& named) const {
  const auto own = std::ranges::find(loaded_states.rbegin(), loaded_states.rend(), &module, &LoadedState::module);
  if (own == loaded_states.rend()) return false;
  if (!options_.weights) return true;
  const std::string instead = "; give a file of the model as it is then, and leave load_state_dict() out";
  if (own->is_changed)
    return fail(Fault::Unsupported, "the program changes the dict that load_state_dict() takes" + instead);
  std::map<std::int32_t, std::string> names;
  for (const auto& [name, tensor] : named) names.emplace(tensor->value.index, name);
  for (std::size_t i = own->changes; i < weight_changes.size(); ++i)
    if (const auto found = names.find(weight_changes[i].weight.index); found != names.end())
      return fail(Fault::Unsupported, "the program changes '" + found->second + "' by " + weight_changes[i].by +
                                          " behind load_state_dict()" + instead);
  return true;
}

namespace {

// Each number as far off as float32 might round it, to either side.
Tensor shaken(const Tensor& made, std::uint64_t seed) {
  if (!is_floating(made.dtype())) return made;
  std::mt19937_64 random(seed);
  auto numbers = made.doubles();
  for (double& x : numbers) x *= 1 + ((random() & 1) != 0 ? 0x1p-23 : -0x1p-23);
  return Tensor::of(made.shape(), std::move(numbers));
}

}  // namespace

// The numbers of what is computed from weights and random tensors; `known` gains those on the way. `precision`: in float64 they are
// shaken by what float32 rounds.
Result<Tensor> Tracer::computed(ValueId value, std::map<std::int32_t, Tensor>& known, Precision precision) {
  const auto numbers_of = [&](ValueId id) -> const Tensor* {
    if (const auto found = known.find(id.index); found != known.end()) return &found->second;
    return graph[id].constant ? &*graph[id].constant : nullptr;
  };
  std::set<std::size_t> needed;  // nodes, which stand behind those that they read
  for (std::vector<ValueId> open{value}; !open.empty();) {
    const ValueId one = open.back();
    open.pop_back();
    if (!one || numbers_of(one)) continue;
    const NodeId producer = graph[one].producer;
    if (!producer || lost_values.contains(one.index))
      return fail(Fault::Unsupported, "a parameter that is computed from what is not known");
    if (!needed.insert(producer.slot()).second) continue;
    for (const ValueId input : graph[producer].inputs) open.push_back(input);
  }
  for (const std::size_t slot : needed) {
    const Node& node = graph.nodes[slot];
    std::vector<const Tensor*> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(input ? numbers_of(input) : nullptr);
    auto made = run_node_of(graph, node, inputs, precision, 1);
    if (!made) return pass(made);
    for (std::size_t i = 0; i < node.outputs.size() && i < made->size(); ++i)
      known.insert_or_assign(node.outputs[i].index,
                             precision == Precision::Double ? shaken((*made)[i], slot) : std::move((*made)[i]));
  }
  return *numbers_of(value);
}

namespace {

// All weights, before the first is drawn: most may belong to nothing that is kept.
Status grant_draws(const std::vector<Tracer::Draw>& draws, const Graph& graph) {
  std::set<std::int32_t> declared;
  for (const Tracer::Draw& draw : draws)
    if (draw.what == Tracer::Draw::What::Fill) {
      constexpr double steps_per_number = 30;
      const Tensor& like = *graph[draw.value].constant;
      const Size bytes = checked_multiply(like.count(), bytes_of(like.dtype())).value_or(Size{1} << 62);
      const std::string name = "'" + graph[draw.value].name + "'";
      const auto granted = declared.insert(draw.value.index).second
                               ? budget::grant_declared(bytes, name)
                               : budget::spend(steps_per_number * static_cast<double>(like.count()), "drawing " + name);
      if (!granted) return granted;
    }
  return {};
}

std::string give_weights(const std::string& name, const std::string& why) {
  return "the numbers that '" + name + "' starts with " + why +
         " while the module is built, in training; give the weights with --weights, or call eval() before";
}

}  // namespace

// Running numbers that a call in training changes. Fails: where they are rounding alone, as those behind a normalised constant.
Status Tracer::move_on(const Draw& draw, std::map<std::int32_t, Tensor>& known, std::map<std::int32_t, Tensor>& moved) {
  const std::string& name = graph[draw.value].name;
  auto numbers = computed(draw.from, known, Precision::Single);
  if (!numbers && numbers.error().fault != Fault::Unsupported) return pass(numbers);
  if (!numbers) return fail(Fault::Unsupported, give_weights(name, "are changed by a call behind a dropout"));
  const auto reference = computed(draw.from, moved, Precision::Double);
  if (!reference) return std::unexpected(reference.error());
  const auto single = numbers->doubles(), whole = reference->doubles();
  for (std::size_t i = 0; i < single.size(); ++i) {
    constexpr double most = 1e-4;
    if (std::abs(single[i] - whole[i]) <= most * std::max(1.0, std::abs(whole[i]))) continue;
    return fail(Fault::Unsupported, give_weights(name, "are changed by a call that leaves rounding alone"));
  }
  graph[draw.value].constant = std::move(*numbers);  // nothing that is known was computed with them
  return {};
}

// What a draw other than of training gives. `is_lost`: how far the generator has come is not known.
Status Tracer::draw_one(const Draw& draw, Draws& source, std::map<std::int32_t, Tensor>& drawn, bool keeps,
                        bool is_lost, bool is_kept) {
  if (draw.what == Draw::What::Compute) {
    auto numbers = computed(draw.from, drawn, Precision::Single);
    if (!numbers) return pass(numbers);
    graph[draw.value].constant = numbers->converted(graph[draw.value].type.dtype);
    return {};
  }
  if (draw.what == Draw::What::Set || draw.what == Draw::What::Copy) {
    const Tensor& from = draw.numbers ? *draw.numbers : *graph[draw.from].constant;
    graph[draw.value].constant = from.converted(graph[draw.value].type.dtype);
    return {};
  }
  const bool is_weight = weights.contains(draw.value.index);
  if (is_lost && draw.filling.how != Filling::How::Constant) {
    if (is_kept) return fail(Fault::Unsupported, give_weights(graph[draw.value].name, "are drawn behind a dropout"));
    return {};
  }
  const Tensor& like = *graph[draw.value].constant;
  auto numbers = source.fill(like.shape(), like.dtype(), draw.filling);
  if (!numbers) return pass(numbers);
  if (is_weight) graph[draw.value].constant = std::move(*numbers);
  else if (keeps) drawn.insert_or_assign(draw.value.index, std::move(*numbers));
  return {};
}

Status Tracer::draw_weights(const std::set<std::int32_t>& named) {
  if (auto granted = grant_draws(draws, graph); !granted) return granted;
  const auto has = [&](Draw::What what) { return std::ranges::any_of(draws, [&](auto& d) { return d.what == what; }); };
  const bool keeps = has(Draw::What::Compute) || has(Draw::What::Train);
  if (has(Draw::What::Train)) {
    const Cost cost = cost_of(graph);
    const double steps = 4 * static_cast<double>(cost.numbers) + static_cast<double>(cost.products);
    if (auto done = budget::spend(steps, "what is computed while the module is built"); !done) return done;
  }
  Draws source(options_.seed.value_or(0));
  std::map<std::int32_t, Tensor> drawn;  // tensors that are no weights
  std::map<std::int32_t, Tensor> known, moved;  // those, and what is computed with weights: as it is, and shaken
  bool is_lost = false;
  for (const Draw& draw : draws) {
    const bool is_kept = named.contains(draw.value.index);
    if (draw.what == Draw::What::Restart) {
      source.restart(draw.seed);
      is_lost = false;
    } else if (draw.what == Draw::What::Lose) {
      if (draw.value && is_kept)
        return fail(Fault::Unsupported, give_weights(graph[draw.value].name, "are changed by a call"));
      is_lost = is_lost || !draw.value;
    } else if (draw.what == Draw::What::Train) {
      if (!is_kept) continue;
      if (auto done = move_on(draw, known, moved); !done) return done;
    } else {
      if (auto done = draw_one(draw, source, drawn, keeps, is_lost, is_kept); !done) return done;
      known = moved = drawn;
    }
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
  if (last->what == Draw::What::Copy) {
    const auto copied = starting(last->from);
    return copied ? std::optional(copied->converted(now.dtype())) : std::nullopt;
  }
  if (last->what != Draw::What::Fill || last->filling.how != Filling::How::Constant) return std::nullopt;
  auto numbers = Draws(0).fill(now.shape(), now.dtype(), last->filling);
  return numbers ? std::optional(std::move(*numbers)) : std::nullopt;
}

Status Tracer::take(std::vector<LoadedTensor> loaded, const NamedWeights& named, bool may_lack) {
  std::set<std::string> wanted;
  for (const auto& [name, tensor] : named) wanted.insert(name);
  const std::string file = options_.weights->filename().string();
  std::map<std::string, Tensor> given;
  for (LoadedTensor& one : loaded) {
    const bool is_spare = !wanted.contains(one.name) && !one.name.ends_with("num_batches_tracked");
    if (is_spare && takes_more_weights && options_.remarks)
      options_.remarks->push_back(file + " holds '" + one.name + "', which load_state_dict(strict=False) leaves out");
    if (is_spare && !takes_more_weights)
      return fail(Fault::Format, file + " holds '" + one.name + "', which the source has no weight for");
    given.emplace(one.name, std::move(one.tensor));
  }
  std::set<std::int32_t> filled;
  for (const auto& [name, tensor] : named) {
    const auto found = given.find(name);
    auto& constant = graph[tensor->value].constant;
    if (found == given.end()) {
      if (name.ends_with("num_batches_tracked")) continue;
      if (may_lack) {
        if (options_.remarks)
          options_.remarks->push_back(file + " holds no '" + name +
                                      "', which load_state_dict(strict=False) leaves as the "
                                      "program fills it");
        continue;
      }
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

// What the file lacks stays as the program fills it.
Status Tracer::fill_lacking(const std::vector<LoadedTensor>& loaded, const NamedWeights& named,
                            const std::set<std::int32_t>& seen) {
  std::set<std::string> held;
  for (const LoadedTensor& one : loaded) held.insert(one.name);
  std::map<std::int32_t, std::string> lacking;
  for (const auto& [name, tensor] : named)
    if (!held.contains(name)) lacking.emplace(tensor->value.index, name);
  for (const WeightChange& change : weight_changes)
    if (const auto found = lacking.find(change.weight.index); found != lacking.end() && !change.is_followed)
      return fail(Fault::Unsupported, options_.weights->filename().string() + " holds no '" + found->second +
                                          "', which the program changes by " + change.by +
                                          " before load_state_dict(strict=False) leaves it so; add it to the file");
  return lacking.empty() ? Status() : draw_weights(seen);
}

Status Tracer::bind(const NamedWeights& named, bool loads_itself) {
  std::set<std::int32_t> seen;
  std::set<std::string> wanted;
  for (const auto& [name, tensor] : named) {
    wanted.insert(name);
    if (seen.insert(tensor->value.index).second) graph.rename(tensor->value, name);
    if (options_.weights || options_.structure_only) tensor->is_random = false;  // its numbers come from the file
  }
  bound = true;
  if (default_type != "float32")
    return fail(Fault::Unsupported, "torch.set_default_dtype(torch." + default_type +
                                        "): numbers are made in float32 here; call .to(torch." + default_type +
                                        ") of the model in its place");
  if (!options_.weights && options_.structure_only) return {};
  if (!options_.weights && loads_weights)
    return fail(Fault::Usage,
                "the program loads the model's weights from a file; give it with --weights, or leave load_state_dict() "
                "out");
  if (!options_.weights) return draw_weights(seen);
  auto checkpoint = load_weights(*options_.weights);
  if (!checkpoint) return pass(checkpoint);
  const bool exactly = loads_itself && takes_more_weights && weights_dict && !is_wrapped;
  auto loaded = module_weights(*std::move(checkpoint), wanted, weights_dict.value_or(""), exactly,
                               options_.weights->filename().string(), options_.remarks);
  if (!loaded) return pass(loaded);
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
  if (exactly)
    if (auto done = fill_lacking(*loaded, named, seen); !done) return done;
  return take(std::move(*loaded), named, exactly);
}

}  // namespace convoy::torch
