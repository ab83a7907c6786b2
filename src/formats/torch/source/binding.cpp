// Numbers for the weights of a program: those of a file by name, or drawn as PyTorch draws them.
#include "base/budget.h"
#include "formats/torch/source/module_weights.h"
#include "formats/torch/source/spectral_norm.h"
#include "formats/torch/source/tracer.h"
#include "formats/torch/weight_norm.h"
#include "ops/expect.h"
#include "run/cost.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <span>

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
  leave_stale(weight);
  return {};
}

Result<const Tracer::LoadedState*> Tracer::own_load(const python::Object& module, const NamedWeights& named) const {
  const auto last = std::ranges::find(loaded_states.rbegin(), loaded_states.rend(), &module, &LoadedState::module);
  if (last == loaded_states.rend()) return nullptr;
  const LoadedState& own = *last;
  if (!options_.weights) return &own;
  const auto refused = [](const std::string& what) {
    return fail(Fault::Unsupported,
                "the program " + what + "; give a file of the model as it is then, and leave load_state_dict() out");
  };
  if (own.is_changed) return refused("changes the dict that load_state_dict() takes");
  std::map<std::int32_t, std::string> names;
  for (const auto& [name, tensor] : named) names.emplace(tensor->value.index, name);
  for (std::size_t i = own.changes; i < weight_changes.size(); ++i)
    if (const auto found = names.find(weight_changes[i].weight.index); found != names.end())
      return refused("changes '" + found->second + "' by " + weight_changes[i].by + " behind load_state_dict()");
  for (auto later = last; later != loaded_states.rbegin();)
    for (const auto& [name, weight] : (--later)->weights)
      if (const auto found = names.find(weight.index); found != names.end() && later->module != &module)
        return refused("loads '" + found->second + "' once more behind load_state_dict()");
  std::map<std::int32_t, ValueId> copies;  // of a weight that took another element type
  for (const Draw& draw : draws)
    if (draw.what == Draw::What::Copy) copies.insert_or_assign(draw.value.index, draw.from);
  for (const auto& [name, tensor] : named) {
    const auto before = own.weights.find(name);
    if (before == own.weights.end()) continue;
    ValueId now = tensor->value;
    for (auto copy = copies.find(now.index); now != before->second && copy != copies.end();
         copy = copies.find(now.index))
      now = copy->second;
    // A file of the new shape is not the one that was loaded.
    const bool is_told_apart = graph[now].type.shape != graph[before->second].type.shape;
    if (now != before->second && !is_told_apart) return refused("makes '" + name + "' anew behind load_state_dict()");
  }
  return &own;
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
    const bool is_lost = one && lost_values.contains(one.index);
    if (!is_lost && (!one || numbers_of(one))) continue;
    const NodeId producer = graph[one].producer;
    if (!producer || is_lost) return fail(Fault::Unsupported, "a parameter that is computed from what is not known");
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
    if (!numbers && !is_kept) return {};
    if (!numbers && numbers.error().fault == Fault::Unsupported)
      return fail(Fault::Unsupported, "the numbers that '" + graph[draw.value].name +
                                          "' starts with are drawn where nobody can follow; give them with --weights");
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
    if (is_kept)
      return fail(Fault::Unsupported, give_weights(graph[draw.value].name,
                                                   "are drawn behind a dropout or another draw that nobody follows"));
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
        return fail(Fault::Unsupported, give_weights(graph[draw.value].name, "are changed by " + draw.by));
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

std::optional<Tensor> Tracer::starting(ValueId weight) const { return starting(weight, draws.size()); }

std::optional<Tensor> Tracer::starting(ValueId weight, std::size_t before) const {
  const Tensor& now = *graph[weight].constant;
  const auto earlier = std::span(draws).first(before);
  const auto last = std::ranges::find(earlier.rbegin(), earlier.rend(), weight, &Draw::value);
  if (last == earlier.rend()) return now;
  if (last->what == Draw::What::Set) return last->numbers;
  if (last->what == Draw::What::Copy) {
    const auto copied = starting(last->from, static_cast<std::size_t>(earlier.rend() - last) - 1);
    return copied ? std::optional(copied->converted(now.dtype())) : std::nullopt;
  }
  if (last->what != Draw::What::Fill || last->filling.how != Filling::How::Constant) return std::nullopt;
  auto numbers = Draws(0).fill(now.shape(), now.dtype(), last->filling);
  return numbers ? std::optional(std::move(*numbers)) : std::nullopt;
}

bool Tracer::holds_start(ValueId weight) const {
  const auto numbers = starting(weight);
  return numbers && same_bytes(*numbers, *graph[weight].constant);
}

namespace {

// Only names as they stand in that dict: nobody complains of others.
bool takes_names_alone(const Tracer::LoadedState& own) { return !own.is_strict && (own.dict || own.numbers); }

}  // namespace

Status Tracer::take(std::vector<LoadedTensor> loaded, const NamedWeights& named, const LoadedState* own) {
  std::set<std::string> wanted;
  for (const auto& [name, tensor] : named) wanted.insert(name);
  const std::string file = options_.weights->filename().string();
  const std::string call = own && !own->is_strict ? "load_state_dict(strict=False)" : "load_state_dict()";
  const auto remark = [&](const std::string& sentence) {
    if (options_.remarks) options_.remarks->push_back(file + sentence);
  };
  std::map<std::string, Tensor> given;
  for (LoadedTensor& one : loaded) {
    const bool is_spare = !wanted.contains(one.name) && !one.name.ends_with("num_batches_tracked");
    const bool is_dropped = is_spare && own && own->weights.contains(one.name);  // with a layer that is left out later
    if (is_spare && !is_dropped && (!own || own->is_strict))
      return fail(Fault::Format, file + " holds '" + one.name + "', which the source has no weight for");
    if (is_spare && !is_dropped) remark(" holds '" + one.name + "', which " + call + " leaves out");
    given.emplace(one.name, std::move(one.tensor));
  }
  const auto may_lack = [&](const std::string& name) {
    if (name.ends_with("num_batches_tracked")) return true;
    return own &&
           (own->kept.contains(name) || takes_names_alone(*own) || (own->numbers && !own->weights.contains(name)));
  };
  std::set<std::int32_t> filled;
  for (const auto& [name, tensor] : named) {
    const auto found = given.find(name);
    auto& constant = graph[tensor->value].constant;
    if (found == given.end() && !may_lack(name))
      return fail(Fault::Format, file + " holds no '" + name + "', of shape " + shape_text(constant->shape()));
    if (found == given.end()) {
      if (!name.ends_with("num_batches_tracked"))
        remark(" holds no '" + name + "', which " + call + " leaves as the program fills it");
      continue;
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
Status Tracer::fill_lacking(const std::vector<LoadedTensor>& loaded, const NamedWeights& named, const LoadedState& own,
                            const std::set<std::int32_t>& seen) {
  std::set<std::string> held;
  for (const LoadedTensor& one : loaded) held.insert(one.name);
  std::map<std::int32_t, std::string> lacking;
  for (const auto& [name, tensor] : named)
    if (!held.contains(name) && !name.ends_with("num_batches_tracked")) lacking.emplace(tensor->value.index, name);
  const auto refused = [&](std::int32_t weight, const std::string& by) {
    return fail(Fault::Unsupported, options_.weights->filename().string() + " holds no '" + lacking.at(weight) +
                                        "', which the program changes by " + by +
                                        " before load_state_dict() leaves it so; add it to the file");
  };
  for (const WeightChange& change : weight_changes)
    if (lacking.contains(change.weight.index) && !change.is_followed) return refused(change.weight.index, change.by);
  for (const LoadedState& other : loaded_states)
    if (&other != &own)
      for (const auto& [name, weight] : other.weights)
        if (lacking.contains(weight.index)) return refused(weight.index, "another load_state_dict()");
  return lacking.empty() ? Status() : draw_weights(seen);
}

// A file that goes by another name than in the program may be the one that it loads, or what is saved of the whole model later.
Status Tracer::expect_one_meaning(const std::vector<LoadedTensor>& given, const std::vector<LoadedTensor>& made,
                                  const NamedWeights& named) const {
  if (!loaded_path || std::filesystem::path(*loaded_path).filename() == options_.weights->filename()) return {};
  std::map<std::string, const Tensor*> by_name;
  for (const LoadedTensor& one : made) by_name.emplace(one.name, &one.tensor);
  std::map<std::string, DType> wanted;
  for (const auto& [name, tensor] : named) wanted.emplace(name, graph[tensor->value].type.dtype);
  for (const LoadedTensor& one : given) {
    const auto type = wanted.find(one.name);
    if (type == wanted.end() || one.name.ends_with("num_batches_tracked")) continue;
    const auto found = by_name.find(one.name);
    const bool is_same = found != by_name.end() && found->second->shape() == one.tensor.shape() &&
                         same_bytes(found->second->converted(type->second), one.tensor.converted(type->second));
    if (is_same) continue;
    return fail(Fault::Unsupported, "the program loads other numbers into '" + one.name +
                                        "' than stand under that name in " + options_.weights->filename().string() +
                                        ": give the file that it loads under its name, '" +
                                        std::filesystem::path(*loaded_path).filename().string() +
                                        "', or one of the whole model, and leave load_state_dict() out");
  }
  return {};
}

Result<std::vector<LoadedTensor>> Tracer::loaded_for(const NamedWeights& named, const LoadedState* own) const {
  std::set<std::string> wanted;
  for (const auto& [name, tensor] : named) wanted.insert(name);
  const std::string file = options_.weights->filename().string();
  auto checkpoint = load_weights(*options_.weights);
  if (!checkpoint) return checkpoint;
  const bool exactly = own && takes_names_alone(*own) && !own->numbers && !is_wrapped;
  auto loaded = module_weights(*std::move(checkpoint), wanted, own ? own->dict.value_or("") : "", exactly, file,
                               own && own->numbers ? nullptr : options_.remarks);
  if (loaded && own && own->numbers) {
    if (own->numbers->empty())
      return fail(Fault::Unsupported, "load_state_dict() takes none of the numbers of " + file +
                                          ", and leaves the module as it is filled; leave --weights out");
    if (auto one = expect_one_meaning(*loaded, *own->numbers, named); !one) return pass(one);
    loaded = *own->numbers;
  }
  if (!loaded) return loaded;
  // Weights that the file keeps as norms and directions, and the program by their plain names.
  if (const auto normed = normed_weights(*loaded);
      std::ranges::any_of(normed, [&](const NormedWeight& one) { return wanted.contains(one.name); })) {
    auto plain = with_plain_weights(std::move(*loaded));
    if (!plain) return plain;
    loaded = std::move(plain);
  }
  for (const auto& [name, tensor] : named)
    if (const auto rows = spectral.find(tensor->value.index); rows != spectral.end())
      if (auto done = divide_by_spectral_norm(*loaded, name, rows->second); !done) return pass(done);
  return loaded;
}

// A program that copies numbers out of the file itself leaves the others as they are filled.
Status Tracer::all_copied(const std::vector<LoadedTensor>& loaded, const NamedWeights& named) const {
  if (file_weights.empty()) return {};
  std::set<std::string> held;
  for (const LoadedTensor& one : loaded) held.insert(one.name);
  for (const auto& [name, tensor] : named)
    if (held.contains(name) && !file_weights.contains(tensor->value.index) && !name.ends_with("num_batches_tracked"))
      return fail(Fault::Unsupported, "the program copies weights out of " + options_.weights->filename().string() +
                                          " but not '" + name +
                                          "', which stands there, too; copy it as well, or leave the copying out");
  return {};
}

// Weights that no file holds, of modules that are no attributes, have the numbers that the program fills them with.
void Tracer::start_unnamed(const std::set<std::int32_t>& named) {
  for (const std::int32_t weight : weights) {
    if (named.contains(weight)) continue;
    const auto changed = std::ranges::any_of(weight_changes, [&](const WeightChange& change) {
      return change.weight.index == weight && !change.is_followed;
    });
    auto numbers = changed ? std::nullopt : starting(ValueId{weight});
    if (numbers) graph[ValueId{weight}].constant = std::move(numbers);
    else unfiled_.insert(weight);
  }
}

Status Tracer::bind(const NamedWeights& named, const LoadedState* own) {
  std::set<std::int32_t> seen;
  for (const auto& [name, tensor] : named) {
    if (seen.insert(tensor->value.index).second) graph.rename(tensor->value, name);
    if (options_.weights || options_.structure_only)
      tensor->is_random = tensor->stale = false;  // the file has its numbers
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
  start_unnamed(seen);
  auto loaded = loaded_for(named, own);
  if (!loaded) return pass(loaded);
  if (!own)
    if (auto all = all_copied(*loaded, named); !all) return all;
  if (own && (own->numbers || takes_names_alone(*own)))
    if (auto done = fill_lacking(*loaded, named, *own, seen); !done) return done;
  return take(std::move(*loaded), named, own);
}

}  // namespace convoy::torch
