#include "run/run.h"

#include "base/budget.h"
#include "base/long_work.h"
#include "graph/size_condition.h"
#include "ops/expect.h"
#include "run/fast/kernels.h"
#include "run/held.h"
#include "run/plain/kernels.h"
#include "run/plain/lines.h"
#include "run/quantized/node.h"
#include "run/work.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace convoy {

namespace {

template <class T>
constexpr DType working = std::is_same_v<T, float>    ? DType::F32
                          : std::is_same_v<T, double> ? DType::F64
                                                      : DType::I64;

// The numbers of a tensor as T: itself where it holds them already, otherwise a copy.
template <class T>
Tensor as_numbers(const Tensor& tensor) {
  if (tensor.dtype() == working<T>) return tensor.realigned();
  if constexpr (std::is_integral_v<T>) return Tensor::of(tensor.shape(), tensor.integers());
  else return tensor.converted(working<T>);
}

// Operators that leave the numbers where they are: the output shares the bytes of the input, whatever their type.
bool keeps_numbers(const Op& op) { return traits_of(op).contents == Contents::Kept; }

// Toward zero; what 32 or 64 bits cannot hold, NaN among it, becomes the lowest number, as the processor has it.
std::int64_t whole_of(double value, DType to) {
  if (to == DType::U64 && value >= 0x1p63 && value < 0x1p64)
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(value));
  const double end = to == DType::I32 ? 0x1p31 : 0x1p63,
               below = to == DType::I32 ? -end - 1 : std::nextafter(-end, -INFINITY);
  if (value > below && value < end) return static_cast<std::int64_t>(value);
  return to == DType::I32 ? std::numeric_limits<std::int32_t>::min() : std::numeric_limits<std::int64_t>::min();
}

template <class T>
Tensor cast(const Tensor& x, DType to) {
  if (is_floating(to)) {
    // What a 16-bit type cannot hold is lost here as it would be there.
    return as_numbers<T>(is_half(to) ? as_numbers<T>(x).converted(to) : x);
  }
  if (to == DType::Bool) {
    std::vector<std::int64_t> truth;
    for (const double value : x.doubles()) truth.push_back(value != 0);
    return Tensor::of(x.shape(), std::move(truth));
  }
  if (!is_floating(x.dtype())) return wrapped(x.dtype() == DType::I64 ? x : Tensor::of(x.shape(), x.integers()), to);
  std::vector<std::int64_t> whole;
  for (const double value : x.doubles()) whole.push_back(whole_of(value, to));
  return wrapped(Tensor::of(x.shape(), std::move(whole)), to);
}

// Which output holds whole numbers that tell places, which no float type holds all of.
std::optional<std::size_t> positions_output(const Op& op) {
  switch (traits_of(op).indices) {
    case Indices::FirstOutput: return 0;
    case Indices::SecondOutput: return 1;
    default: return std::nullopt;
  }
}

// What is whole by its type goes on as whole numbers: no further operator sees a fraction there.
template <class T>
Tensor as_type(const TensorType& type, const Tensor& numbers, DType whole) {
  return is_floating(type.dtype) ? numbers : cast<T>(numbers, whole);
}

// Numbers that a kernel fills, and that the tensor made of them keeps. Clearing them takes as long as many a kernel.
template <class T>
class Buffer {
 public:
  Buffer(Size count, bool is_cleared)
      : count_(static_cast<std::size_t>(count)),
        numbers_(std::make_shared_for_overwrite<T[]>(count_)) {
    if (is_cleared) plain::for_each_part(numbers(), [](std::span<T> part) { std::ranges::fill(part, T{}); });
  }
  std::span<T> numbers() const { return {numbers_.get(), count_}; }
  Result<Tensor> tensor(Sizes shape) const {
    return Tensor::view(working<T>, std::move(shape), std::as_bytes(numbers()), numbers_);
  }

 private:
  std::size_t count_;
  std::shared_ptr<T[]> numbers_;
};

struct Room {
  Size taken = 0, limit = 0;

  // Asks for bytes before they are allocated.
  Status take(std::optional<Size> bytes, std::string_view what) {
    const auto sum = bytes ? checked_add(taken, *bytes) : std::nullopt;
    if (!sum || *sum > limit)
      return fail(Fault::Budget, std::string(what) + " needs " + (bytes ? std::to_string(*bytes) : "too many") +
                                     " bytes beside " + std::to_string(taken) + " in use; the limit is " +
                                     std::to_string(limit));
    if (auto held = budget::afford(bytes, what); !held) return held;
    taken = *sum;
    return {};
  }
};

// Whether the kernel takes these numbers as they came although they are no T: weights are by far the largest numbers of many
// a network.
template <class T>
bool widens_itself(const Op& op, std::size_t input, const Tensor& stored, KernelChoice kernels) {
  if (!std::is_same_v<T, double> || input != 1 || stored.dtype() != DType::F32 || stored.count() == 0) return false;
  const bool convolves = holds_alternative<Conv>(op) || holds_alternative<ConvTranspose>(op);
  return convolves ? kernels == KernelChoice::Fast : holds_alternative<Linear>(op) && stored.aligned();
}

// On how many threads, by whose rules, and of which type the graph says the first result is: whole numbers are held in 64 bits.
struct Way {
  int threads = 0;
  EdgeRules rules;
  DType said = DType::I64;
  KernelChoice kernels = KernelChoice::Fast;
};

// What is known of the kernel of each operator, by its place among them.
struct KernelFacts {
  bool writes_everything, computes_whole;
};
template <class... O>
constexpr std::array<KernelFacts, sizeof...(O)> facts_of(std::type_identity<std::tuple<O...>>) {
  return {{{plain::writes_everything<O>, plain::computes_whole<O>}...}};
}
const KernelFacts& kernel_facts(const Op& op) {
  static constexpr auto facts = facts_of(std::type_identity<AnyOp::tuple>());
  return facts[op.index()];
}

// All that differs from operator to operator: what is written here is compiled for each of them.
template <class T>
Status compute(const Op& op, const plain::Call<T>& call, KernelChoice choice) {
  return op.visit([&]<class O>(const O& o) -> Status {
    constexpr bool only_renames = O::traits.contents == Contents::Kept || std::is_same_v<O, Cast>;
    if constexpr (only_renames || (std::is_integral_v<T> && !plain::computes_whole<O>)) {
      return fail(Fault::Internal, "no kernel computes this operator over these numbers");
    } else {
      if constexpr (fast::has_kernel<O>)
        if (choice == KernelChoice::Fast) return fast::compute(o, call);
      return plain::run_kernel(o, call);
    }
  });
}

// The numbers of one operator's outputs while its kernel fills them.
template <class T>
class Results {
 public:
  Results(const Op& op, const TensorTypes& types) : positions_output_(positions_output(op)) {
    const bool is_cleared = !kernel_facts(op).writes_everything;
    for (std::size_t i = 0; i < types.size(); ++i) {
      const Sizes shape = *sizes_of(types[i].shape);
      const Size count = *checked_count(shape);
      const bool tells = i == positions_output_;
      if (tells) positions_.resize(static_cast<std::size_t>(count));
      buffers_.emplace_back(tells ? 0 : count, is_cleared);
      outputs_.push_back({buffers_[i].numbers(), shape, tells ? positions_ : std::span<std::int64_t>()});
    }
  }
  std::span<const plain::Output<T>> outputs() const { return outputs_; }

  // What is whole by its type and was computed in fractions becomes of type `whole`.
  Result<std::vector<Tensor>> tensors(const TensorTypes& types, DType whole) && {
    std::vector<Tensor> results;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (i == positions_output_) {
        results.push_back(Tensor::of(std::move(outputs_[i].shape), std::move(positions_)));
        continue;
      }
      auto made = buffers_[i].tensor(std::move(outputs_[i].shape));
      if (!made) return pass(made);
      if constexpr (std::is_integral_v<T>) results.push_back(*std::move(made));
      else results.push_back(as_type<T>(types[i], *made, whole));
    }
    return results;
  }

 private:
  std::optional<std::size_t> positions_output_;
  std::vector<Buffer<T>> buffers_;
  std::vector<std::int64_t> positions_;
  std::vector<plain::Output<T>> outputs_;
};

// Runs one operator over inputs whose numbers are T already (`numbers`) and as they came (`stored`).
template <class T>
Result<std::vector<Tensor>> run_op(const Op& op, const std::vector<const Tensor*>& stored,
                                   const std::vector<const Tensor*>& numbers, const TensorTypes& types,
                                   const Way& way) {
  if (auto paid = budget::spend(work_of(op, stored, types), std::string(name_of(op))); !paid) return pass(paid);
  if constexpr (!std::is_integral_v<T>)
    if (const auto* o = get_if<Cast>(&op)) return std::vector{cast<T>(*stored[0], o->to)};
  if (keeps_numbers(op)) return std::vector{stored[0]->reshaped(*sizes_of(types[0].shape))};
  std::vector<plain::Operand<T>> operands;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (!stored[i]) operands.emplace_back();
    else if (widens_itself<T>(op, i, *stored[i], way.kernels))
      operands.push_back({{}, stored[i]->shape(), true, stored[i]});
    else operands.push_back({numbers[i]->raw<T>(), numbers[i]->shape(), true, stored[i]});
  }
  Results<T> results(op, types);
  if (auto cleared = budget::spend(0, name_of(op)); !cleared) return pass(cleared);  // cancelled on the way
  if (auto status = compute(op, plain::Call<T>{operands, results.outputs(), way.threads, way.rules}, way.kernels);
      !status)
    return pass(status);
  if (auto whole = budget::spend(0, name_of(op)); !whole) return pass(whole);  // cancelled on the way
  // A power of whole numbers is cast as it is; what is computed otherwise has wrapped around.
  const bool casts = way.rules.whole_folds_in_fractions && op == Op(Binary{BinaryFunction::Power});
  return std::move(results).tensors(types, casts ? way.said : DType::I64);
}

// A sum or product that ran in float64, as the type holds it: at the last number of 32 bits it stops.
std::int64_t held(double value, DType dtype) {
  if (dtype == DType::I32) return static_cast<std::int64_t>(std::clamp(value, -0x1p31, 0x1p31 - 1));
  return whole_of(value, dtype);
}

Result<std::vector<Tensor>> folded_in_fractions(const Reduce& op, const Tensor& x, const TensorType& type,
                                                const Way& way) {
  const auto numbers = x.doubles();
  const plain::Operand<double> operand{numbers, x.shape(), true, &x};
  Sizes shape = *sizes_of(type.shape);
  std::vector<double> values(static_cast<std::size_t>(*checked_count(shape)));
  const plain::Output<double> output{values, shape, {}};
  if (auto status = plain::run_kernel(op, plain::Call<double>{{&operand, 1}, {&output, 1}, 1, way.rules}); !status)
    return pass(status);
  std::vector<std::int64_t> whole;
  for (const double value : values) whole.push_back(held(value, way.said));
  std::vector<Tensor> results{Tensor::of(std::move(shape), std::move(whole))};
  return results;
}

// Products of whole numbers, and sums of them, run in float64 where that holds every sum.
bool fits_float64(const Op& op, const std::vector<const Tensor*>& stored) {
  if (!holds_alternative<MatMul>(op) || stored[0]->rank() == 0) return false;
  double most = static_cast<double>(stored[0]->shape().back());
  for (const Tensor* one : stored) {
    double largest = 0;
    for (const double value : one->doubles()) largest = std::max(largest, std::abs(value));
    most *= largest;
  }
  return most < 0x1p53;
}

// Whether whole numbers are computed as such, in 64 bits, and not in float64, which holds them up to 2^53.
bool computes_in_whole(const Op& op, const std::vector<const Tensor*>& stored, const TensorTypes& types) {
  return kernel_facts(op).computes_whole && !is_floating(types[0].dtype) && !fits_float64(op, stored);
}

// The first of the numbers that 64 bits with a sign do not hold, or nothing.
std::optional<std::uint64_t> beyond_sign(const Tensor& tensor) {
  if (tensor.dtype() != DType::U64) return std::nullopt;
  for (const std::int64_t value : tensor.integers())
    if (value < 0) return static_cast<std::uint64_t>(value);
  return std::nullopt;
}

// Whether the lowest 64 bits of the result are the same with a sign and without: numbers that are moved, sums and products.
bool needs_no_sign(const Op& op) {
  if (traits_of(op).moves_numbers()) return true;
  if (const auto* binary = get_if<Binary>(&op))
    return binary->function <= BinaryFunction::Multiply || binary->function == BinaryFunction::Equal ||
           binary->function == BinaryFunction::NotEqual || binary->function >= BinaryFunction::And;
  if (const auto* unary = get_if<Unary>(&op))
    return unary->function != Function::Abs && unary->function != Function::Sign;
  if (const auto* reduce = get_if<Reduce>(&op))
    return reduce->reduction == Reduction::Sum || reduce->reduction == Reduction::Product;
  return holds_alternative<MatMul>(op) || holds_alternative<Accumulate>(op);
}

Status expect_signed(const Op& op, const std::vector<const Tensor*>& stored) {
  if (needs_no_sign(op)) return {};
  for (const Tensor* one : stored)
    if (const auto number = one ? beyond_sign(*one) : std::nullopt)
      return fail(Fault::Unsupported, "the number " + std::to_string(*number) +
                                          " of type uint64 lies beyond 2^63, where this operator is not computed");
  return {};
}

// Nothing: sums and products run as others do.
std::optional<Result<std::vector<Tensor>>> run_folded(const Op& op, const std::vector<const Tensor*>& stored,
                                                      const TensorTypes& types, const Way& way) {
  const auto* reduce = get_if<Reduce>(&op);
  if (!reduce || !way.rules.whole_folds_in_fractions || is_floating(types[0].dtype)) return std::nullopt;
  if (reduce->reduction != Reduction::Sum && reduce->reduction != Reduction::Product) return std::nullopt;
  return folded_in_fractions(*reduce, *stored[0], types[0], way);
}

Result<TensorTypes> types_of(const Op& op, const std::vector<const Tensor*>& inputs) {
  TensorTypes types(inputs.size());
  std::vector<Input> seen(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) continue;
    types[i] = type_of(*inputs[i]);
    seen[i] = {&types[i], inputs[i]};
  }
  return infer(op, Inputs(seen));
}

// Whole numbers stay as they are until an operator computes with them.
bool reads_numbers(const Op& op, std::size_t input) {
  const Indices indices = traits_of(op).indices;
  return !keeps_numbers(op) && !holds_alternative<Cast>(op) && !(indices == Indices::FirstInput && input == 0) &&
         !(indices == Indices::SecondInput && input == 1);
}

// Whether an operator computes with whole numbers alone: in 64 bits, or where it makes fractions in float64.
bool is_whole(const Op& op, const std::vector<const Tensor*>& inputs) {
  bool any = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i] || !reads_numbers(op, i)) continue;
    if (is_floating(inputs[i]->dtype())) return false;
    any = true;
  }
  return any;
}

template <class T>
Size bytes_for(const TensorTypes& types) {
  Size bytes = 0;
  for (const TensorType& type : types) {
    const auto count = checked_count(*sizes_of(type.shape));
    const auto each = count ? checked_multiply(*count, type.dtype == DType::I64 ? 8 : sizeof(T)) : std::nullopt;
    const auto sum = each ? checked_add(bytes, *each) : std::nullopt;
    if (!sum) return -1;
    bytes = *sum;
  }
  return bytes;
}

template <class T>
Result<std::vector<Tensor>> run_node_as(const Node& node, const std::vector<const Tensor*>& inputs, const Way& way);

template <class T>
class Runner {
 public:
  Runner(const Graph& graph, const RunOptions& options) : graph_(graph), options_(options) {
    room_.limit = options.memory_limit;
    uses_.resize(graph.values.size());
    for (const Node& node : graph.nodes)
      for (const ValueId v : node.inputs)
        if (v) ++uses_[v.slot()];
    for (const ValueId v : graph.outputs) ++uses_[v.slot()];
    values_.resize(graph.values.size());
    numbers_.resize(graph.values.size());
  }

  Status set_inputs(const std::vector<Tensor>& inputs) {
    if (inputs.size() != graph_.inputs.size())
      return fail(Fault::Usage, "the network has " + std::to_string(graph_.inputs.size()) + " inputs, " +
                                    std::to_string(inputs.size()) + " were given");
    if (auto met = expect_conditions(graph_, shapes_of(inputs)); !met) return met;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Value& value = graph_[graph_.inputs[i]];
      const TensorType given = type_of(inputs[i]);
      if (!agree(given.shape, value.type.shape))
        return fail(Fault::Usage, "input '" + value.name + "' has shape " + text_of(given.shape) + ", expected " +
                                      text_of(value.type.shape));
      if (auto s = quantized::check_held(value, inputs[i]); !s) return s;
      // What is fed is of the type that the input has.
      if (auto s = put(graph_.inputs[i], rounded_to_half(inputs[i], value.type.dtype)); !s) return s;
    }
    return {};
  }

  Status run(const Node& node) {
    std::vector<const Tensor*> stored, numbers;
    for (const ValueId v : node.inputs) {
      stored.push_back(v ? stored_of(v) : nullptr);
      if (v && !stored.back()) return fail(Fault::Internal, "value '" + graph_[v].name + "' is used before it is made");
    }
    if (quantized::is_quantized(graph_, node))
      return keep(node, quantized::run_quantized_node(graph_, node, stored, options_.threads));
    const bool wide = is_whole(node.op, stored) || (std::is_same_v<T, float> && computes_in_double(graph_, node));
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId v = node.inputs[i];
      if (v && !wide && reads_numbers(node.op, i) && !widens_itself<T>(node.op, i, *stored[i], options_.kernels)) {
        auto converted = numbers_of(v);
        if (!converted) return pass(converted);
        numbers.push_back(*converted);
      } else {
        numbers.push_back(stored[i]);
      }
    }
    const auto types = types_of(node.op, stored);
    if (!types) return std::unexpected(types.error());
    const Size bytes = bytes_for<T>(*types);
    if (auto s = room_.take(bytes < 0 ? std::nullopt : std::optional(bytes), "the result"); !s) return s;
    const Way way{options_.threads, graph_.rules, graph_[node.outputs[0]].type.dtype, options_.kernels};
    auto results = wide ? run_node_as<double>(node, stored, way) : run_op<T>(node.op, stored, numbers, *types, way);
    room_.taken -= bytes;
    return keep(node, std::move(results));
  }

  // The values that a node gave, and no longer those that nothing reads any more.
  Status keep(const Node& node, Result<std::vector<Tensor>> results) {
    if (!results) return pass(results);
    if (results->size() != node.outputs.size())
      return fail(Fault::Internal, "the operator has " + std::to_string(results->size()) + " results, the node " +
                                       std::to_string(node.outputs.size()));
    for (std::size_t i = 0; i < results->size(); ++i)
      if (auto s = put(node.outputs[i], held(std::move((*results)[i]), graph_[node.outputs[i]].type.dtype)); !s)
        return s;
    release(node);
    return {};
  }

  Result<Values> results() {
    Values all;
    const auto add = [&](ValueId v) -> Status {
      const Tensor* stored = stored_of(v);
      if (!stored) return fail(Fault::Internal, "value '" + graph_[v].name + "' was never made");
      const bool is_wide = graph_[v].type.dtype == DType::F64 && stored->dtype() == DType::F64;
      all.insert_or_assign(v, is_floating(stored->dtype()) && !is_wide ? as_numbers<T>(*stored) : *stored);
      return {};
    };
    for (const ValueId v : graph_.outputs)
      if (auto s = add(v); !s) return pass(s);
    if (options_.keeps_all)
      for (std::size_t i = 0; i < values_.size(); ++i)
        if (const ValueId v{static_cast<std::int32_t>(i)}; values_[i])
          if (auto s = add(v); !s) return pass(s);
    return all;
  }

 private:
  Tensor held(Tensor result, DType dtype) const {
    constexpr Precision precision = std::is_same_v<T, float> ? Precision::Single : Precision::Double;
    return held_as(std::move(result), dtype, precision, graph_.rules);
  }

  const Tensor* stored_of(ValueId v) const {
    if (values_[v.slot()]) return &*values_[v.slot()];
    return graph_[v].constant ? &*graph_[v].constant : nullptr;
  }

  // Converted once, however often it is read. A float32 constant is not copied when float32 is asked for.
  Result<const Tensor*> numbers_of(ValueId v) {
    auto& kept = numbers_[v.slot()];
    if (!kept) {
      const Tensor& stored = *stored_of(v);
      if (stored.dtype() != working<T> || !stored.aligned())
        if (auto s = room_.take(checked_multiply(stored.count(), sizeof(T)), "value '" + graph_[v].name + "'"); !s)
          return pass(s);
      kept = as_numbers<T>(stored);
    }
    return &*kept;
  }

  Status put(ValueId v, Tensor tensor) {
    if (auto s = room_.take(static_cast<Size>(tensor.bytes().size()), "value '" + graph_[v].name + "'"); !s) return s;
    values_[v.slot()] = std::move(tensor);
    return {};
  }

  void release(const Node& node) {
    if (options_.keeps_all) return;
    for (const ValueId v : node.inputs)
      if (v && --uses_[v.slot()] == 0) drop(v);
    for (const ValueId v : node.outputs)
      if (uses_[v.slot()] == 0) drop(v);
  }

  void drop(ValueId v) {
    auto &value = values_[v.slot()], &numbers = numbers_[v.slot()];
    if (numbers && numbers->bytes().data() != stored_of(v)->bytes().data())
      room_.taken -= static_cast<Size>(numbers->bytes().size());
    if (value) room_.taken -= static_cast<Size>(value->bytes().size());
    value.reset();
    numbers.reset();
    if (options_.lets_go_of_weights && graph_[v].constant) graph_[v].constant->let_go();
  }

  const Graph& graph_;
  const RunOptions& options_;
  Room room_;
  std::vector<int> uses_;
  std::vector<std::optional<Tensor>> values_, numbers_;
};

template <class T>
Result<Values> run_as(const Graph& graph, const std::vector<Tensor>& inputs, const RunOptions& options) {
  Runner<T> runner(graph, options);
  if (auto s = runner.set_inputs(inputs); !s) return pass(s);
  LongWork work("computing", graph.nodes.size());
  for (const Node& node : graph.nodes) {
    work.next(node.layer);
    if (auto s = within(place_of(node), runner.run(node)); !s) return pass(s);
  }
  return runner.results();
}

// Runs a node over numbers of any type, computing in T.
template <class T>
Result<std::vector<Tensor>> run_in(const Node& node, const std::vector<const Tensor*>& inputs, const TensorTypes& types,
                                   const Way& way) {
  std::vector<Tensor> held;
  held.reserve(inputs.size());
  std::vector<const Tensor*> numbers;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i] || !reads_numbers(node.op, i) || widens_itself<T>(node.op, i, *inputs[i], way.kernels)) {
      numbers.push_back(inputs[i]);
    } else {
      held.push_back(as_numbers<T>(*inputs[i]));
      numbers.push_back(&held.back());
    }
  }
  return run_op<T>(node.op, inputs, numbers, types, way);
}

template <class T>
Result<std::vector<Tensor>> run_node_as(const Node& node, const std::vector<const Tensor*>& inputs, const Way& way) {
  const auto types = types_of(node.op, inputs);
  if (!types) return std::unexpected(types.error());
  if (const Size bytes = bytes_for<T>(*types); bytes < 0 || bytes > RunOptions{}.memory_limit)
    return fail(Fault::Budget, "the result of shape " + text_of(types->front().shape) + " is too large");
  else if (auto held = budget::afford(bytes, "the result of shape " + text_of(types->front().shape)); !held)
    return pass(held);
  if (is_whole(node.op, inputs)) {
    if (auto done = run_folded(node.op, inputs, *types, way)) return *std::move(done);
    if (computes_in_whole(node.op, inputs, *types)) {
      if (auto fits = expect_signed(node.op, inputs); !fits) return pass(fits);
      return run_in<std::int64_t>(node, inputs, *types, way);
    }
  }
  return run_in<T>(node, inputs, *types, way);
}

Result<std::vector<Tensor>> run_node_by(const Node& node, const std::vector<const Tensor*>& inputs, Precision precision,
                                        const Way& way) {
  return precision == Precision::Single && !is_whole(node.op, inputs) ? run_node_as<float>(node, inputs, way)
                                                                      : run_node_as<double>(node, inputs, way);
}

}  // namespace

Result<Values> run(const Graph& graph, const std::vector<Tensor>& inputs, const RunOptions& options) {
  return options.precision == Precision::Single ? run_as<float>(graph, inputs, options)
                                                : run_as<double>(graph, inputs, options);
}

Result<std::vector<Tensor>> run_node(const Node& node, const std::vector<const Tensor*>& inputs, Precision precision,
                                     int threads, const EdgeRules& rules, KernelChoice kernels) {
  return run_node_by(node, inputs, precision, {threads, rules, DType::I64, kernels});
}

Result<std::vector<Tensor>> run_node_of(const Graph& graph, const Node& node, const std::vector<const Tensor*>& inputs,
                                        Precision precision, int threads) {
  const Way way{threads, graph.rules, graph[node.outputs[0]].type.dtype};
  auto results = run_node_by(node, inputs, computes_in_double(graph, node) ? Precision::Double : precision, way);
  if (results)
    for (std::size_t i = 0; i < std::min(results->size(), node.outputs.size()); ++i)
      (*results)[i] = held_as(std::move((*results)[i]), graph[node.outputs[i]].type.dtype, precision, graph.rules);
  return results;
}

}  // namespace convoy
