#include "port/spelt_steps.h"

#include "base/budget.h"
#include "graph/quantized_steps.h"
#include "ops/expect.h"
#include "port/element_types.h"
#include "run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

namespace convoy {

bool holds_whole_numbers(const Graph& graph) {
  return std::ranges::any_of(graph.values, [](const Value& value) { return value.quantization != nullptr; });
}

namespace {

// (whole - zero) * scale, each rounded once to float32.
Tensor widened(const Tensor& whole, const Quantization& as) {
  const auto numbers = whole.integers();
  const ScalePlaces place(whole.shape(), as, as.axis);
  std::vector<float> real(numbers.size());
  for (std::size_t i = 0; i < real.size(); ++i) {
    const std::size_t at = place(i);
    real[i] = static_cast<float>(numbers[i] - as.zero_points[at]) * as.scales[at];
  }
  return Tensor::of(whole.shape(), std::move(real));
}

enum class Ends : std::uint8_t {
  Whole,  // inputs and outputs stay the whole numbers that the file has
  Real,   // they are the real numbers that these stand for
  Cut     // whole, and what each layer gives is an output, what is read behind it an input
};

class Speller {
 public:
  explicit Speller(const Graph& whole, std::map<std::string, Origin> widened = {}, Ends ends = Ends::Whole)
      : from_(whole),
        readers_(readers_of(whole)),
        widened_(std::move(widened)),
        ends_(ends),
        real_(whole.values.size()) {}

  // Of a graph that was cut: where, in the order of the outputs, and of the inputs behind the graph's own.
  const std::vector<ValueId>& cuts() const { return cuts_; }

  Result<Graph> spell() {
    to_.name = from_.name;
    to_.source_format = from_.source_format;
    to_.rules = from_.rules;
    for (const ValueId v : from_.inputs)
      if (auto s = add_input(v); !s) return pass(s);
    for (std::size_t i = 0; i < from_.values.size(); ++i)
      if (from_.values[i].constant) add_constant({static_cast<std::int32_t>(i)});
    for (const Node& node : from_.nodes)
      if (auto s = within(place_of(node), add_node(node)); !s) return pass(s);
    if (ends_ != Ends::Cut) {
      for (const ValueId v : from_.outputs)
        if (auto s = add_output(v); !s) return pass(s);
      to_.output_names = from_.output_names;
    }
    prune(to_);
    return std::move(to_);
  }

 private:
  ValueId& real(ValueId v) { return real_[v.slot()]; }
  ValueId number(const std::string& layer, std::string_view word, double value) {
    const ValueId made = to_.constant(to_.unique_name(layer + "/" + std::string(word)),
                                      Tensor::of({}, std::vector<float>{static_cast<float>(value)}), false);
    to_[made].literal = true;
    return made;
  }
  // The first failure stays; nothing is added behind it.
  ValueId step(Op op, std::vector<ValueId> inputs, const std::string& layer) {
    if (!failed_) return {};
    auto made = to_.add(std::move(op), std::move(inputs), layer);
    if (made) return made->front();
    failed_ = pass(made);
    return {};
  }
  static double zero_of(const Quantization& q) { return static_cast<double>(q.zero_points.front()); }
  static double scale_of(const Quantization& q) { return static_cast<double>(q.scales.front()); }

  Status widen(ValueId v, ValueId whole, const std::string& layer) {
    const Quantization& q = *from_[v].quantization;
    ValueId x = step(Cast{DType::F32}, {whole}, layer);
    if (zero_of(q) != 0) x = step(Binary{BinaryFunction::Subtract}, {x, number(layer, "zero", zero_of(q))}, layer);
    real(v) = step(Binary{BinaryFunction::Multiply}, {x, number(layer, "scale", scale_of(q))}, layer);
    const auto origin = widened_.find(from_[v].name);
    if (failed_ && origin != widened_.end()) to_[real(v)].origin = origin->second;
    return failed_;
  }

  Status round(ValueId v, ValueId x) {
    const Quantization& q = *from_[v].quantization;
    const auto bounds = whole_bounds(q.dtype);
    if (q.per_axis() || !bounds)
      return fail(Fault::Unsupported, "'" + from_[v].name + "' is computed as " + std::string(name_of(q.dtype)) +
                                          (q.per_axis() ? " with a scale for each channel" : "") +
                                          ", which is not spelt out");
    const std::string layer = from_[v].name + "/quantize";
    ValueId y = step(Binary{BinaryFunction::Divide}, {x, number(layer, "scale", scale_of(q))}, layer);
    y = step(Unary{Function::Round}, {y}, layer);
    if (zero_of(q) != 0) y = step(Binary{BinaryFunction::Add}, {y, number(layer, "zero", zero_of(q))}, layer);
    y = step(Clip{bounds->least, bounds->most}, {y}, layer);
    whole_[v] = step(Cast{q.dtype}, {y}, layer);
    return failed_;
  }

  Status add_input(ValueId v) {
    const Value& value = from_[v];
    TensorType type = value.type;
    if (value.quantization && ends_ != Ends::Real) type.dtype = value.quantization->dtype;
    real(v) = to_.input(value.name, type);
    to_[real(v)].origin = value.origin;
    if (!value.quantization) return {};
    if (ends_ != Ends::Real) whole_[v] = real(v);
    else if (auto s = round(v, real(v)); !s) return s;
    return widen(v, whole_.at(v), value.name + "/dequantize");
  }

  void add_constant(ValueId v) {
    const Value& value = from_[v];
    const Tensor& held = *value.constant;
    real(v) = to_.constant(value.name, value.quantization ? widened(held, *value.quantization) : held, value.trainable);
    to_[real(v)].literal = value.literal;
    to_[real(v)].origin = value.origin;
  }

  // Between two operators of one layer the kernels of whole numbers do not round.
  bool is_inside(const Node& node, ValueId v) const {
    const auto& readers = readers_[v.slot()];
    return !readers.empty() && std::ranges::find(from_.outputs, v) == from_.outputs.end() &&
           std::ranges::all_of(readers, [&](NodeId reader) { return from_[reader].layer == node.layer; });
  }

  Status add_node(const Node& node) {
    std::vector<ValueId> inputs;
    for (const ValueId v : node.inputs) inputs.push_back(v ? real(v) : v);
    auto made = to_.add(node.op, std::move(inputs), node.layer, node.kind, node.scopes);
    if (!made) return pass(made);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId v = node.outputs[i];
      const auto& held = from_[v].quantization;
      real(v) = (*made)[i];
      to_[real(v)].origin = from_[v].origin;
      if (!held) continue;
      const auto& first = node.inputs.empty() || !node.inputs[0] ? held : from_[node.inputs[0]].quantization;
      const bool moved = traits_of(node.op).moves_numbers() && first && *first == *held;
      // What was moved lies on its steps; where the source rounds it once more, it does so here.
      if ((moved && !widened_.contains(from_[v].name)) || is_inside(node, v)) continue;
      if (auto s = round(v, real(v)); !s) return s;
      if (ends_ == Ends::Cut) cut(v);
      if (auto s = widen(v, whole_[v], from_[v].name + "/dequantize"); !s) return s;
    }
    return {};
  }

  // What was rounded is an output, and what is read behind it an input.
  void cut(ValueId v) {
    to_.outputs.push_back(whole_[v]);
    to_.output_names.push_back(from_[v].name);
    TensorType type = from_[v].type;
    type.dtype = from_[v].quantization->dtype;
    whole_[v] = to_.input(to_.unique_name(from_[v].name + "/given"), type);
    cuts_.push_back(v);
  }

  Status add_output(ValueId v) {
    const bool is_whole = from_[v].quantization && ends_ != Ends::Real;
    if (is_whole && !whole_.contains(v))
      if (auto s = round(v, real(v)); !s) return s;
    to_.outputs.push_back(is_whole ? whole_.at(v) : real(v));
    return {};
  }

  const Graph& from_;
  std::vector<std::vector<NodeId>> readers_;
  std::map<std::string, Origin> widened_;
  Ends ends_;
  std::vector<ValueId> cuts_;
  Graph to_;
  std::vector<ValueId> real_;  // of each value: the real numbers in the new graph
  std::map<ValueId, ValueId> whole_;  // where they were rounded: the whole ones
  Status failed_;
};

// Whole numbers from one end of the type to the other, in no order.
Tensor all_over(DType dtype, const Sizes& shape, Size count) {
  const auto bounds = whole_bounds(dtype).value_or(WholeBounds{-128, 127});
  const auto least = static_cast<std::int64_t>(bounds.least);
  const auto range = static_cast<std::uint64_t>(bounds.most - bounds.least) + 1;
  const auto width = static_cast<std::size_t>(bytes_of(dtype));
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * width);
  std::uint64_t state = 1;
  for (std::size_t i = 0; i < bytes.size(); i += width) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const std::int64_t number = least + static_cast<std::int64_t>((state >> 33) % range);
    std::memcpy(bytes.data() + i, &number, width);
  }
  return *Tensor::owning(dtype, shape, std::move(bytes));
}

// Numbers for every input, from one end of the type to the other where it is held as whole ones.
Result<std::vector<Tensor>> whole_inputs(const Graph& graph, const ProofOptions& options) {
  auto inputs = probing_inputs(graph, 0, options.seed);
  for (std::size_t i = 0; inputs && i < inputs->size(); ++i)
    if (const Value& value = graph[graph.inputs[i]]; value.quantization)
      (*inputs)[i] = all_over(value.quantization->dtype, (*inputs)[i].shape(), (*inputs)[i].count());
  if (!inputs) return std::unexpected(inputs.error());
  return std::move(*inputs);
}

// How far the kernels' fixed point may lie from a float32 that is rounded, at one layer.
constexpr double most_steps_of_8_bits = 4, most_steps_of_16_bits = 256;

struct StepsOff {
  Size count = 0, off = 0;
  double most = 0;
  void add(const Tensor& a, const Tensor& b) {
    const auto x = a.doubles(), y = b.doubles();
    for (std::size_t k = 0; k < x.size(); ++k) {
      ++count;
      if (x[k] == y[k]) continue;
      ++off;
      most = std::max(most, std::abs(x[k] - y[k]));
    }
  }
};

std::string said_of_outputs(const StepsOff& all) {
  if (all.off == 0)
    return fmt::format("all {} numbers of the answer are the same on the input that was tried", all.count);
  return fmt::format("{} of {} numbers of the answer are off, by {} at most, on the input that was tried", all.off,
                     all.count, all.most);
}

Result<std::vector<Tensor>> answers_of(const Graph& graph, const std::vector<Tensor>& inputs,
                                       const std::vector<ValueId>& wanted, const ProofOptions& options) {
  RunOptions plain;
  plain.threads = options.threads;
  auto sized = with_input_shapes(graph, shapes_of(inputs));
  if (!sized) return pass(sized);
  const budget::Computing computing;
  const auto values = run(*sized, inputs, plain);
  if (!values) return std::unexpected(values.error());
  std::vector<Tensor> all;
  for (const ValueId v : wanted) all.push_back(values->at(v));
  return all;
}

// One layer's answer, given the numbers that the kernels of whole numbers gave in front of it.
struct LayerOff {
  ValueId value;
  StepsOff off;
};
struct AllOff {
  StepsOff outputs;
  std::vector<LayerOff> layers;
};

Result<AllOff> measured(const Graph& whole, const Graph& spelt, const ProofOptions& options) {
  Speller speller(whole, {}, Ends::Cut);
  const auto parts = speller.spell();
  if (!parts) return std::unexpected(parts.error());
  auto inputs = whole_inputs(whole, options);
  if (!inputs) return std::unexpected(inputs.error());
  Graph kept = whole;
  kept.outputs.insert(kept.outputs.end(), speller.cuts().begin(), speller.cuts().end());
  kept.output_names.resize(kept.outputs.size(), "cut");
  auto given = answers_of(kept, *inputs, kept.outputs, options);
  if (!given) return std::unexpected(given.error());
  const auto first_cut = given->begin() + static_cast<std::ptrdiff_t>(whole.outputs.size());
  const auto answers = answers_of(spelt, *inputs, spelt.outputs, options);
  if (!answers) return std::unexpected(answers.error());
  AllOff all;
  for (std::size_t i = 0; i < answers->size(); ++i) all.outputs.add((*given)[i], (*answers)[i]);
  inputs->insert(inputs->end(), first_cut, given->end());
  const auto each = answers_of(*parts, *inputs, parts->outputs, options);
  if (!each) return std::unexpected(each.error());
  for (std::size_t i = 0; i < each->size(); ++i) {
    LayerOff one{speller.cuts()[i], {}};
    one.off.add(*(first_cut + static_cast<std::ptrdiff_t>(i)), (*each)[i]);
    all.layers.push_back(one);
  }
  return all;
}

// More than another rounding explains: what is spelt out is not what the kernel computes.
Status hold_layers(const Graph& graph, const std::vector<LayerOff>& layers) {
  for (const auto& [value, off] : layers) {
    const double allowed =
        bytes_of(graph[value].quantization->dtype) > 1 ? most_steps_of_16_bits : most_steps_of_8_bits;
    if (off.most <= allowed) continue;
    return fail(
        Fault::Proof,
        fmt::format("'{}': {} of {} numbers that the steps spelt out give are off from those of the model's own "
                    "kernel, by {} steps at most, where rounding explains {}; carry the real numbers with "
                    "--quantized float",
                    graph[value].name, off.off, off.count, off.most, allowed));
  }
  return {};
}

}  // namespace

Result<Graph> spelt_out(const Graph& graph, const std::map<std::string, Origin>& widened) {
  return Speller(graph, widened).spell();
}

Status hold_as_reals(Graph& graph, std::vector<Tensor>& given) {
  if (!holds_whole_numbers(graph)) return {};
  for (std::size_t i = 0; i < std::min(given.size(), graph.inputs.size()); ++i)
    if (const auto& as = graph[graph.inputs[i]].quantization; as && as->dtype == given[i].dtype())
      given[i] = widened(given[i], *as);
  auto spelt = Speller(graph, {}, Ends::Real).spell();
  if (!spelt) return pass(spelt);
  graph = *std::move(spelt);
  return {};
}

Result<std::vector<std::string>> kernel_steps(const Graph& graph, const ProofOptions& options) {
  const auto spelt = Speller(graph).spell();
  if (!spelt) return std::unexpected(spelt.error());
  const auto all = measured(graph, *spelt, options);
  if (!all) return std::unexpected(all.error());
  if (auto s = hold_layers(graph, all->layers); !s) return pass(s);
  std::vector<std::string> said{"against the kernels of whole numbers, which round in fixed point: " +
                                said_of_outputs(all->outputs)};
  for (const auto& [value, off] : all->layers)
    if (off.off > 0)
      said.push_back(fmt::format("  '{}': {} of {} numbers off, by {} of its steps at most", graph[value].name, off.off,
                                 off.count, off.most));
  return said;
}

Result<std::vector<std::string>> spell_out_steps(Graph& graph, const ProofOptions& options) {
  auto spelt = spelt_out(graph, {});
  if (!spelt) return pass(spelt);
  std::vector<std::string> said{
      "whole numbers become float32 that is rounded to the same steps behind each layer, where the model's own kernels "
      "round in "
      "fixed point; the proof holds the model as it is then"};
  const auto off = measured(graph, *spelt, options);
  if (!off && off.error().fault != Fault::Budget) return std::unexpected(off.error());
  if (off) {
    said.push_back("against these kernels: " + said_of_outputs(off->outputs));
    if (auto s = hold_layers(graph, off->layers); !s) return pass(s);
  }
  graph = *std::move(spelt);
  return said;
}

Result<std::vector<std::string>> losses_without_steps(const Graph& whole, const Graph& real,
                                                      const ProofOptions& options) {
  auto inputs = whole_inputs(whole, options);
  if (!inputs) return std::unexpected(inputs.error());
  std::map<std::string, ValueId> named;
  for (const Node& node : real.nodes)
    for (const ValueId v : node.outputs) named.emplace(real[v].name, v);
  std::vector<ValueId> of_whole = whole.outputs, of_real = real.outputs;
  const auto readers = readers_of(whole);
  for (const Node& node : whole.nodes)
    for (const ValueId v : node.outputs) {
      // What lies between two operators of one layer has no name of the file's.
      const bool is_inside =
          std::ranges::any_of(readers[v.slot()], [&](NodeId reader) { return whole[reader].layer == node.layer; });
      const auto same = named.find(whole[v].name);
      if (is_inside || !whole[v].quantization || same == named.end()) continue;
      of_whole.push_back(v);
      of_real.push_back(same->second);
    }
  Graph kept = whole, kept_real = real;
  kept.outputs = of_whole, kept_real.outputs = of_real;
  kept.output_names.resize(of_whole.size(), "layer"), kept_real.output_names.resize(of_real.size(), "layer");
  const auto given = answers_of(kept, *inputs, of_whole, options);
  if (!given) return std::unexpected(given.error());
  for (std::size_t i = 0; i < inputs->size(); ++i)
    if (const auto& as = whole[whole.inputs[i]].quantization) (*inputs)[i] = widened((*inputs)[i], *as);
  const auto answers = answers_of(kept_real, *inputs, of_real, options);
  if (!answers) return std::unexpected(answers.error());
  std::vector<GivenByBoth> outputs, layers;
  for (std::size_t i = 0; i < of_whole.size(); ++i) {
    const auto& as = whole[of_whole[i]].quantization;
    const NodeId node = whole[of_whole[i]].producer;
    GivenByBoth one{node ? whole[node].layer : whole[of_whole[i]].name, as ? widened((*given)[i], *as) : (*given)[i],
                    (*answers)[i]};
    (i < whole.outputs.size() ? outputs : layers).push_back(std::move(one));
  }
  return losses_said(outputs, layers);
}

}  // namespace convoy
