#include "port/spelt_steps.h"

#include "graph/quantized_steps.h"
#include "ops/expect.h"
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
  std::size_t inner = 1;
  for (std::size_t i = static_cast<std::size_t>(as.axis) + 1; i < whole.shape().size(); ++i)
    inner *= static_cast<std::size_t>(whole.shape()[i]);
  std::vector<float> real(numbers.size());
  for (std::size_t i = 0; i < real.size(); ++i) {
    const std::size_t at = as.per_axis() ? i / inner % as.scales.size() : 0;
    real[i] = static_cast<float>(numbers[i] - as.zero_points[at]) * as.scales[at];
  }
  return Tensor::of(whole.shape(), std::move(real));
}

class Speller {
 public:
  explicit Speller(const Graph& whole) : from_(whole), readers_(readers_of(whole)), real_(whole.values.size()) {}

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
    for (const ValueId v : from_.outputs)
      if (auto s = add_output(v); !s) return pass(s);
    to_.output_names = from_.output_names;
    prune(to_);
    return std::move(to_);
  }

 private:
  ValueId& real(ValueId v) { return real_[static_cast<std::size_t>(v.index)]; }
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
    if (value.quantization) type.dtype = value.quantization->dtype;
    real(v) = to_.input(value.name, type);
    if (!value.quantization) return {};
    whole_[v] = real(v);
    return widen(v, real(v), value.name + "/dequantize");
  }

  void add_constant(ValueId v) {
    const Value& value = from_[v];
    const Tensor& held = *value.constant;
    real(v) = to_.constant(value.name, value.quantization ? widened(held, *value.quantization) : held, value.trainable);
    to_[real(v)].literal = value.literal;
  }

  // Between two operators of one layer the kernels of whole numbers do not round.
  bool is_inside(const Node& node, ValueId v) const {
    const auto& readers = readers_[static_cast<std::size_t>(v.index)];
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
      if (!held) continue;
      const auto& first = node.inputs.empty() || !node.inputs[0] ? held : from_[node.inputs[0]].quantization;
      const bool moved = traits_of(node.op).moves_numbers() && first && *first == *held;
      if (moved || is_inside(node, v)) continue;
      if (auto s = round(v, real(v)); !s) return s;
      if (auto s = widen(v, whole_[v], from_[v].name + "/dequantize"); !s) return s;
    }
    return {};
  }

  Status add_output(ValueId v) {
    if (from_[v].quantization && !whole_.contains(v))
      if (auto s = round(v, real(v)); !s) return s;
    to_.outputs.push_back(from_[v].quantization ? whole_.at(v) : real(v));
    return {};
  }

  const Graph& from_;
  std::vector<std::vector<NodeId>> readers_;
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

// "the outputs are the same", or how many of them are how many steps off.
Result<std::string> steps_off(const Graph& whole, const Graph& spelt, const ProofOptions& options) {
  auto inputs = probing_inputs(spelt, 0, options.seed);
  if (!inputs) return std::unexpected(inputs.error());
  for (std::size_t i = 0; i < inputs->size(); ++i)
    if (const Value& value = whole[whole.inputs[i]]; value.quantization)
      (*inputs)[i] = all_over(value.quantization->dtype, (*inputs)[i].shape(), (*inputs)[i].count());
  RunOptions plain;
  plain.threads = options.threads;
  const auto answers = [&](const Graph& graph) -> Result<std::vector<Tensor>> {
    auto sized = with_input_shapes(graph, shapes_of(*inputs));
    if (!sized) return pass(sized);
    const auto values = run(*sized, *inputs, plain);
    if (!values) return std::unexpected(values.error());
    std::vector<Tensor> all;
    for (const ValueId v : graph.outputs) all.push_back(values->at(v));
    return all;
  };
  const auto a = answers(whole), b = answers(spelt);
  if (!a) return std::unexpected(a.error());
  if (!b) return std::unexpected(b.error());
  Size count = 0, off = 0;
  double most = 0;
  for (std::size_t i = 0; i < a->size(); ++i) {
    const auto x = (*a)[i].doubles(), y = (*b)[i].doubles();
    for (std::size_t k = 0; k < x.size(); ++k) {
      ++count;
      if (x[k] == y[k]) continue;
      ++off;
      most = std::max(most, std::abs(x[k] - y[k]));
    }
  }
  if (off == 0) return fmt::format("all {} numbers of the answer are the same on the input that was tried", count);
  return fmt::format("{} of {} numbers of the answer are off, by {} at most, on the input that was tried", off, count,
                     most);
}

}  // namespace

Result<std::vector<std::string>> spell_out_steps(Graph& graph, const ProofOptions& options) {
  auto spelt = Speller(graph).spell();
  if (!spelt) return pass(spelt);
  std::vector<std::string> said{
      "whole numbers become float32 that is rounded to the same steps behind each layer, where the model's own kernels "
      "round in "
      "fixed point; the proof holds the model as it is then"};
  auto off = steps_off(graph, *spelt, options);
  if (off) said.push_back("against these kernels: " + *off);
  else if (off.error().fault != Fault::Budget) return std::unexpected(off.error());
  graph = *std::move(spelt);
  return said;
}

}  // namespace convoy
