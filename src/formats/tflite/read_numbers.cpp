// The numbers that a file holds: weights, what is known of sizes, quantised numbers as the real ones that they stand for.
#include "base/budget.h"
#include "base/packed.h"
#include "base/whole_tensor.h"
#include "formats/tflite/reader.h"
#include "formats/tflite/sparse_numbers.h"
#include "formats/tflite/types.h"
#include "ops/expect.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace convoy::tflite {

Status ModelReader::check_quantization(std::int32_t t) const {
  const StoredTensor& tensor = subgraph_->tensors[static_cast<std::size_t>(t)];
  if (!tensor.is_quantized() || options_.dequantizes || options_.keeps_quantized) return {};
  const auto dtype = dtype_of(tensor.type);
  if (dtype && is_floating(*dtype)) return {};
  return fail(Fault::Unsupported, "'" + name_of(t) +
                                      "' holds quantised numbers; add --dequantize to carry the real "
                                      "numbers that they stand for, which rounds less than the model does");
}

Result<Tensor> held_numbers(const StoredTensor& stored, Bytes bytes, const std::shared_ptr<const void>& keeper) {
  const auto dtype = dtype_of(stored.type);
  if (!dtype) return fail(Fault::Unsupported, "is of type " + name_of_type(stored.type) + ", which is not carried");
  if (stored.external != 0) return fail(Fault::Unsupported, "stores its numbers in another file, which is not read");
  Sizes shape;
  for (const std::int32_t n : stored.shape) {
    if (n < 0) return fail(Fault::Format, "has a size of " + std::to_string(n));
    shape.push_back(n);
  }
  if (stored.sparsity) return dense_numbers(stored, *dtype, shape, bytes);
  if (stored.is_packed) {
    const auto count = checked_count(shape);
    if (!count || packed_size(*count, 4) != static_cast<Size>(bytes.size()))
      return fail(Fault::Format,
                  "has shape " + text_of(shape) + " of INT4 and " + std::to_string(bytes.size()) + " bytes");
    if (auto afforded = budget::afford(*count, "a weight"); !afforded) return pass(afforded);
    return Tensor::owning(*dtype, shape, unpacked(bytes, *count, 4, true));
  }
  auto tensor = Tensor::view(*dtype, std::move(shape), bytes, keeper);
  // Converters put buffers at any multiple of 4.
  if (tensor && !tensor->aligned()) {
    if (auto afforded = budget::afford(static_cast<Size>(bytes.size()), "a weight"); !afforded) return pass(afforded);
    return tensor->realigned();
  }
  return tensor;
}

Result<std::shared_ptr<const Quantization>> ModelReader::quantization_of(std::int32_t t) const {
  const StoredTensor& tensor = subgraph_->tensors[static_cast<std::size_t>(t)];
  const auto dtype = dtype_of(tensor.type);
  if (options_.dequantizes || !options_.keeps_quantized || !tensor.is_quantized() || !dtype || is_floating(*dtype))
    return nullptr;
  const StoredQuantization& q = tensor.quantization;
  const std::size_t pairs = q.scale.size();
  Quantization held{*dtype, q.scale, q.zero_point, pairs > 1 ? q.axis : 0};
  if (held.zero_points.empty()) held.zero_points.assign(1, 0);
  if (held.zero_points.size() == 1) held.zero_points.resize(pairs, held.zero_points.front());
  const auto axis = static_cast<std::size_t>(held.axis);
  const bool fits = pairs == 1 || (held.axis >= 0 && axis < tensor.shape.size() &&
                                   static_cast<std::size_t>(tensor.shape[axis]) == pairs);
  const bool sound = std::ranges::all_of(q.scale, [](float s) { return std::isfinite(s) && s > 0; });
  const Size half = Size{1} << std::min<Size>(8 * bytes_of(*dtype) - 1, 31);
  const Size least = is_unsigned(*dtype) ? 0 : -half, most = is_unsigned(*dtype) ? 2 * half - 1 : half - 1;
  const bool in_range = std::ranges::all_of(held.zero_points, [&](Size z) { return z >= least && z <= most; });
  if (q.is_custom || !fits || !sound || !in_range || held.zero_points.size() != pairs)
    return within("tensor '" + name_of(t) + "'",
                  Result<std::shared_ptr<const Quantization>>(
                      fail(Fault::Format, "has " + std::to_string(pairs) + " scales and " +
                                              std::to_string(q.zero_point.size()) + " zero points along axis " +
                                              std::to_string(q.axis) + " of " + std::string(convoy::name_of(*dtype)) +
                                              " numbers, which do not say what these stand for")));
  return std::make_shared<const Quantization>(std::move(held));
}

ValueId ModelReader::add_constant(Graph& graph, const std::string& name, const Tensor& tensor,
                                  std::shared_ptr<const Quantization> quantization, bool trainable) const {
  const ValueId made = graph.constant(graph.unique_name(name), tensor, trainable);
  if (quantization) graph[made].type.dtype = DType::F32;
  graph[made].quantization = std::move(quantization);
  return made;
}

namespace {

// What hands its input on is read as an identity, which brings numbers to other steps. The kernels of all but QUANTIZE take the
// bytes along, whatever these stand for behind them: a transposition that turns nothing does that.
void keep_bytes(Graph& graph, ValueId result) {
  const NodeId producer = graph[result].producer;
  if (!producer || !holds_alternative<Identity>(graph[producer].op)) return;
  const Value& x = graph[graph[producer].inputs[0]];
  if (!x.quantization || !graph[result].quantization || *x.quantization == *graph[result].quantization) return;
  Sizes axes(static_cast<std::size_t>(x.type.rank()));
  std::iota(axes.begin(), axes.end(), Size{0});
  graph[producer].op = Transpose{std::move(axes)};
}

}  // namespace

Status ModelReader::hold(Graph& graph, std::size_t given, const StoredOperator& op, std::vector<ValueId>& outputs,
                         const std::string& layer) {
  if (options_.dequantizes) return keep_ranges(graph, op, outputs, layer);
  std::shared_ptr<const Quantization> first;
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    const auto said = quantization_of(op.outputs[i]);
    if (!said) return std::unexpected(said.error());
    if (i == 0) first = *said;
    const auto& own = graph[outputs[i]].quantization;
    const bool other = *said && own ? !(**said == *own) : static_cast<bool>(*said) != static_cast<bool>(own);
    // What is handed on as it is, and held otherwise.
    if (outputs[i].slot() < given && other) {
      auto made = graph.add(Identity{}, {outputs[i]}, layer);
      if (!made) return pass(made);
      outputs[i] = made->front();
    }
    if (outputs[i].slot() >= given) graph[outputs[i]].quantization = *said;
  }
  for (std::size_t v = given; v < graph.values.size(); ++v) {
    Value& value = graph.values[v];
    const bool is_output = std::ranges::any_of(outputs, [&](ValueId o) { return o.slot() == v; });
    if (!value.producer || value.quantization || is_output || !is_floating(value.type.dtype)) continue;
    const Node& node = graph[value.producer];
    value.quantization = first;
    if (traits_of(node.op).moves_numbers()) value.quantization = graph[node.inputs[0]].quantization;
  }
  if (operator_of(model_.codes[op.code].builtin)->name != "QUANTIZE")
    for (const ValueId output : outputs)
      if (output.slot() >= given) keep_bytes(graph, output);
  return {};
}

namespace {

// (q - zero point) * scale, one pair for all or one for each place along an axis.
Result<Tensor> real_numbers(const Tensor& stored, const StoredQuantization& q) {
  const std::size_t pairs = q.scale.size();
  const auto axis = static_cast<std::size_t>(q.axis);
  const bool per_axis = pairs != 1;
  if (q.is_custom || pairs == 0 || (q.zero_point.size() != pairs && q.zero_point.size() > 1) ||
      (per_axis && (q.axis < 0 || axis >= stored.shape().size() || stored.shape()[axis] != static_cast<Size>(pairs))))
    return fail(Fault::Format, "has " + std::to_string(pairs) + " scales along axis " + std::to_string(q.axis) +
                                   " of shape " + text_of(stored.shape()));
  if (auto afforded = budget::afford(stored.count() * 16, "the real numbers of a weight"); !afforded)
    return std::unexpected(afforded.error());
  const auto numbers = stored.integers();
  std::vector<float> real(numbers.size());
  Size inner = 1;
  for (std::size_t i = axis + 1; per_axis && i < stored.shape().size(); ++i) inner *= stored.shape()[i];
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t p = per_axis ? i / static_cast<std::size_t>(inner) % pairs : 0;
    const std::int64_t zero = q.zero_point.empty() ? 0 : q.zero_point[q.zero_point.size() == 1 ? 0 : p];
    real[i] = static_cast<float>(static_cast<double>(numbers[i] - zero) * static_cast<double>(q.scale[p]));
  }
  return Tensor::of(stored.shape(), std::move(real));
}

}  // namespace

Result<const Tensor*> ModelReader::known_tensor(std::int32_t t) {
  Known& known = known_[static_cast<std::size_t>(t)];
  if (known.tensor) return &*known.tensor;
  if (known.value || known.sizes) return nullptr;
  const StoredTensor& stored = subgraph_->tensors[static_cast<std::size_t>(t)];
  if (!item(model_.buffers, stored.buffer))
    return fail(Fault::Format, "tensor '" + name_of(t) + "' has buffer " + std::to_string(stored.buffer) +
                                   ", there are " + std::to_string(model_.buffers.size()));
  // Tensors without numbers share an empty buffer; one without elements has none either.
  const bool is_empty = std::ranges::count(stored.shape, 0) > 0;
  if (stored.is_variable || (model_.buffers[stored.buffer].empty() && (!is_empty || stored.buffer == 0)))
    return nullptr;
  if (auto s = check_quantization(t); !s) return std::unexpected(s.error());
  auto tensor = within("tensor '" + name_of(t) + "'", held_numbers(stored, model_.buffers[stored.buffer], keeper_));
  if (!tensor) return std::unexpected(tensor.error());
  if (stored.is_quantized() && !is_floating(tensor->dtype()) && options_.dequantizes)
    tensor = within("tensor '" + name_of(t) + "'", real_numbers(*tensor, stored.quantization));
  if (!tensor) return std::unexpected(tensor.error());
  known.tensor = std::move(*tensor);
  allowance_.add(known.tensor->count());
  return &*known.tensor;
}

void ModelReader::know(std::int32_t t, Tensor numbers) {
  const auto recorded = dtype_of(subgraph_->tensors[static_cast<std::size_t>(t)].type);
  const bool is_other = recorded && *recorded != numbers.dtype();
  if (is_other && !is_floating(numbers.dtype()) && !is_floating(*recorded))
    numbers = whole_tensor(*recorded, numbers.shape(), numbers.integers());
  known_[static_cast<std::size_t>(t)].tensor = std::move(numbers);
}

const SizeNumbers* ModelReader::known_sizes(std::int32_t t) {
  Known& known = known_[static_cast<std::size_t>(t)];
  if (known.sizes) return &*known.sizes;
  if (const auto held = quantization_of(t); !held || *held) return nullptr;
  const auto tensor = known_tensor(t);
  if (!tensor || !*tensor || is_floating((*tensor)->dtype()) || (*tensor)->count() > 64 || (*tensor)->rank() > 1)
    return nullptr;
  SizeNumbers numbers{{}, (*tensor)->rank() == 0};
  for (const Size n : (*tensor)->integers()) numbers.all.push_back(plain(n));
  known.sizes = std::move(numbers);
  return &*known.sizes;
}

Result<ValueId> ModelReader::value_of(std::int32_t t) {
  Known& known = known_[static_cast<std::size_t>(t)];
  if (known.value) return known.value;
  const auto tensor = known_tensor(t);
  if (!tensor) return std::unexpected(tensor.error());
  const std::string name = name_of(t);
  if (!*tensor) {
    if (known.sizes || known.spread)
      return fail(Fault::Unsupported,
                  "'" + name + "' follows from sizes that are not known beforehand; give them with --shape");
    return fail(Fault::Format, "'" + name + "' is read before anything gives it");
  }
  auto quantization = quantization_of(t);
  if (!quantization) return std::unexpected(quantization.error());
  const bool trainable = *quantization || is_floating((*tensor)->dtype());
  known.value = add_constant(graph_, name, **tensor, std::move(*quantization), trainable);
  graph_[known.value].literal = (*tensor)->rank() == 0;
  return known.value;
}

}  // namespace convoy::tflite
