// LSTM, GRU and RNN over time first (layout 0) or batch first, in both directions. Weights hold one block of rows per
// gate: i, o, f, c and z, r, h; ours are those of PyTorch: i, f, c, o and r, z, h. Peepholes are i, o, f; ours are i, f, o.
#include "base/whole_tensor.h"
#include "formats/free_reshape.h"
#include "formats/onnx/arguments.h"
#include "formats/places.h"
#include "graph/counted_steps.h"

#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace convoy::onnx {
namespace {

struct CellKind {
  std::string_view type;
  std::vector<std::size_t> gates;  // gates[i]: ONNX's block that becomes block i
  std::vector<std::string> activations;  // the defaults
};

CellKind kind_of(std::string_view type) {
  if (type == "LSTM") return {type, {0, 2, 3, 1}, {"Sigmoid", "Tanh", "Tanh"}};
  if (type == "GRU") return {type, {1, 0, 2}, {"Sigmoid", "Tanh"}};
  return {type, {0}, {"Tanh"}};
}

struct CellWord {
  std::string_view word;
  CellFunction function;
};
constexpr CellWord words[] = {{"Sigmoid", CellFunction::Sigmoid},   {"Tanh", CellFunction::Tanh},
                              {"Relu", CellFunction::Relu},         {"Softsign", CellFunction::Softsign},
                              {"Softplus", CellFunction::Softplus}, {"HardSigmoid", CellFunction::HardSigmoid5},
                              {"Affine", CellFunction::Linear},     {"Elu", CellFunction::Elu}};

// The numbers of functions that take some, in the order of the functions; where there are fewer, the usual ones are meant.
class Scales {
 public:
  explicit Scales(FunctionCall& call)
      : alpha_(numbers(call, "activation_alpha")),
        beta_(numbers(call, "activation_beta")) {}

  // Nothing: with these numbers it is a function that is not carried.
  std::optional<CellFunction> with(CellFunction function) {
    const auto near = [](double a, double b) { return std::abs(a - b) < 1e-6; };
    switch (function) {
      case CellFunction::Linear:
        if (near(next(alpha_, a_, 1), 1) && near(next(beta_, b_, 0), 0)) return function;
        return std::nullopt;
      case CellFunction::Elu:
        if (near(next(alpha_, a_, 1), 1)) return function;
        return std::nullopt;
      case CellFunction::HardSigmoid5: {
        const double alpha = next(alpha_, a_, 0.2), beta = next(beta_, b_, 0.5);
        if (near(beta, 0.5) && near(alpha, 0.2)) return CellFunction::HardSigmoid5;
        if (near(beta, 0.5) && near(alpha, 1.0 / 6)) return CellFunction::HardSigmoid6;
        return std::nullopt;
      }
      default: return function;
    }
  }

 private:
  static std::vector<double> numbers(FunctionCall& call, std::string_view name) {
    std::vector<double> all;
    if (const Json* list = call.attrs.raw(name); list && list->is_array())
      for (const Json& one : *list) all.push_back(one.is_number() ? one.get<double>() : 0);
    return all;
  }
  static double next(const std::vector<double>& list, std::size_t& at, double otherwise) {
    return at < list.size() ? list[at++] : otherwise;
  }

  std::vector<double> alpha_, beta_;
  std::size_t a_ = 0, b_ = 0;
};

// The functions of every direction, which must be the same ones.
std::vector<CellFunction> functions_of(FunctionCall& call, const CellKind& kind, std::size_t directions) {
  std::vector<std::string> argument;
  if (const Json* list = call.attrs.raw("activations"); list && list->is_array())
    for (const Json& one : *list) argument.push_back(one.is_string() ? one.get<std::string>() : "");
  const std::size_t count = kind.activations.size();
  if (argument.empty())
    for (std::size_t d = 0; d < directions; ++d)
      argument.insert(argument.end(), kind.activations.begin(), kind.activations.end());
  std::vector<CellFunction> functions;
  Scales scales(call);
  for (std::size_t i = 0; i < argument.size(); ++i) {
    const auto found = std::ranges::find(words, argument[i], &CellWord::word);
    const auto meant = found == std::end(words) ? std::nullopt : scales.with(found->function);
    if (!meant || (i >= count && *meant != functions[i - count])) {
      call.refuse(Fault::Unsupported,
                  "attribute 'activations' names '" + argument[i] + "' in a way that is not carried");
      return std::vector(count, CellFunction::Tanh);
    }
    functions.push_back(*meant);
  }
  if (argument.size() != count * directions) {
    call.refuse(Fault::Format, "attribute 'activations' has " + std::to_string(argument.size()) + " words");
    functions.resize(count, CellFunction::Tanh);
  }
  if (count == 3 && functions[1] != functions[2])
    call.refuse(Fault::Unsupported, "attribute 'activations' names two functions for the cell");
  return functions;
}

// The blocks of one direction in PyTorch's order, from block `first` on: rows of [direction, blocks * units, ...].
Tensor blocks(const Tensor& all, Size direction, const CellKind& kind, std::size_t first, Size units) {
  Sizes shape{static_cast<Size>(kind.gates.size()) * units};
  Size row = bytes_of(all.dtype());
  if (all.rank() == 3) {
    shape.push_back(all.shape()[2]);
    row *= all.shape()[2];
  }
  const auto block = static_cast<std::size_t>(units * row);
  const std::size_t begin = static_cast<std::size_t>(direction * all.shape()[1] * row);
  const auto from = all.bytes();
  std::vector<std::byte> bytes(block * kind.gates.size());
  for (std::size_t g = 0; g < kind.gates.size() && block > 0; ++g)
    std::memcpy(bytes.data() + g * block, from.data() + begin + (first + kind.gates[g]) * block, block);
  return *Tensor::owning(all.dtype(), shape, std::move(bytes));
}

struct Cells {
  ValueId x;
  Tensor kernel, recurrent;
  std::optional<Tensor> bias;
  Size directions = 1, units = 1;
};

std::optional<Cells> cells_of(FunctionCall& call, const CellKind& kind, Size directions) {
  Cells cells{call.tensor("X"), {}, {}, {}, directions, call.attrs.integer("hidden_size", 0)};
  const ValueId w = call.tensor("W"), r = call.tensor("R"), b = call.optional("B");
  const Tensor *kernel = call.constant(w), *recurrent = call.constant(r), *bias = call.constant(b);
  if (call.failed()) return std::nullopt;
  if (!kernel || !recurrent || (b && !bias)) {
    call.refuse(Fault::Unsupported, "its weights are computed by the model");
    return std::nullopt;
  }
  const auto gates = static_cast<Size>(kind.gates.size());
  const Sizes& shape = recurrent->shape();
  const Size units = shape.size() == 3 ? shape[2] : 0;
  const bool fits = units > 0 && shape == Sizes{directions, gates * units, units} && kernel->rank() == 3 &&
                    kernel->shape()[0] == directions && kernel->shape()[1] == gates * units &&
                    (!bias || bias->shape() == Sizes{directions, 2 * gates * units}) &&
                    (cells.units == 0 || cells.units == units);
  if (!fits) {
    call.refuse(Fault::Format, "weights of shapes " + text_of(kernel->shape()) + " and " + text_of(shape) +
                                   " do not fit " + std::to_string(directions) + " directions");
    return std::nullopt;
  }
  cells.kernel = *kernel;
  cells.recurrent = *recurrent;
  if (bias) cells.bias = *bias;
  cells.units = units;
  return cells;
}

// Where each sequence ends, behind its last step: whole numbers [N]. Nothing: all end behind the last step of all.
ValueId ends_of(FunctionCall& call, Dim steps, Dim sequences) {
  const ValueId lengths = call.optional("sequence_lens");
  if (!lengths || call.failed()) return {};
  if (call.rank(lengths) != 1 || !agreed(call.dim(lengths, 0), sequences)) {
    call.refuse(Fault::Format, "input 'sequence_lens' has shape " + text_of(call.shape(lengths)) + ", expected " +
                                   text_of(Shape{sequences}));
    return {};
  }
  const Tensor* known = call.constant(lengths);
  if (known && steps.known()) {
    const auto numbers = known->integers();
    if (std::ranges::all_of(numbers, [&](Size n) { return n == *steps; })) return {};
    for (const Size n : numbers)
      if (n < 0 || n > *steps)
        call.refuse(Fault::Format, "input 'sequence_lens' says " + std::to_string(n) + " steps of " +
                                       std::to_string(*steps) + ", which there are not");
  }
  if (call.results > 2)
    call.refuse(Fault::Unsupported,
                "output 'Y_c' is the memory behind the last step of each sequence, whose ends input "
                "'sequence_lens' says; 'Y' and 'Y_h' are carried there");
  return call.type(lengths).dtype == DType::I64 ? lengths : call.add(Cast{DType::I64}, {lengths});
}

// What `input` says of direction d, a state [N, U] before the first step; nothing: zeros.
ValueId state_of(FunctionCall& call, const std::string& input, Size d, Size directions, Size axis) {
  const ValueId all = call.optional(input);
  if (!all || call.is_zeros(all)) return {};
  if (call.rank(all) != 3 || call.dim(all, axis) != Dim(directions)) {
    call.refuse(Fault::Format, "input '" + input + "' has shape " + text_of(call.shape(all)) + ", expected " +
                                   std::to_string(directions) + " along axis " + std::to_string(axis));
    return {};
  }
  if (const Tensor* known = call.constant(all)) {
    const Tensor turned = axis == 0 ? *known : known->permuted(Sizes{1, 0, 2});
    const Sizes one{turned.shape()[1], turned.shape()[2]};
    const auto bytes = turned.bytes();
    const std::size_t length = bytes.size() / static_cast<std::size_t>(directions);
    const auto from = bytes.subspan(static_cast<std::size_t>(d) * length, length);
    return call.make_constant(input + (d == 1 ? "_reverse" : ""),
                              *Tensor::owning(turned.dtype(), one, {from.begin(), from.end()}));
  }
  const ValueId one = directions == 1 ? all : call.add(Slice{axis, d, d + 1, 1}, {all});
  return call.add(Squeeze{{axis}}, {one});
}

// Direction d of [directions, 3 * units]; nothing: zeros.
ValueId peepholes_of(FunctionCall& call, Size d, const Cells& cells) {
  const ValueId all = call.optional("P");
  if (!all || call.is_zeros(all)) return {};
  const Tensor* known = call.constant(all);
  if (!known || known->shape() != Sizes{cells.directions, 3 * cells.units}) {
    call.refuse(known ? Fault::Format : Fault::Unsupported, known ? "input 'P' has shape " + text_of(known->shape())
                                                                  : "input 'P' is known only when the model runs");
    return {};
  }
  return call.make_constant(d == 1 ? "peepholes_reverse" : "peepholes",
                            blocks(*known, d, {"", {0, 2, 1}, {}}, 0, cells.units));
}

Op cell_op(FunctionCall& call, const CellKind& kind, const std::vector<CellFunction>& f, bool backwards) {
  if (kind.type == "LSTM") return Lstm{GateOrder::Torch, f[1], f[0], backwards, true, call.results > 2};
  if (kind.type == "RNN") return SimpleRnn{GateOrder::Torch, f[0], backwards, true};
  return Gru{GateOrder::Torch, f[1], f[0], call.attrs.truth("linear_before_reset", false), backwards, true};
}

// What was walked [N, T, U] up to the end of each sequence, zeros behind it, and the state [N, 1, U] behind its last step, which is
// the `first` one where it has none.
struct Ended {
  ValueId sequence, last;
};
Ended ended(FunctionCall& call, ValueId walked, ValueId ends, ValueId first, bool backwards) {
  const auto add = [&](Op op, std::vector<ValueId> inputs) { return call.add(std::move(op), std::move(inputs)); };
  const auto whole = [&](std::int64_t n) {
    return call.make_constant(n == 0 ? "none" : "one", whole_tensor(DType::I64, {1, 1}, {n}));
  };
  const Dim units = call.dim(walked, 2);
  if (call.failed()) return {};
  const ValueId zero =
      call.make_constant("zero", Tensor::of(Sizes{1, 1, 1}, std::vector<float>{0}).converted(call.type(walked).dtype));
  const ValueId behind = call.add(Unsqueeze{{1}}, {ends});
  const ValueId steps = call.add(Unsqueeze{{0}}, {counted_along(call, walked, 1)});
  const ValueId counts = call.add(Binary{BinaryFunction::Less}, {steps, behind});
  const ValueId before = first ? call.add(Unsqueeze{{1}}, {first}) : zero;
  const ValueId last =
      behind_steps(walked, *units, call.add(Binary{BinaryFunction::Subtract}, {behind, whole(1)}), before, add, whole);
  const ValueId in_time = backwards ? reversed_sequences(call, walked, ends, 1, 0) : walked;
  return {at_counted(in_time, counts, zero, add), last};
}

std::vector<ValueId> recurrent(FunctionCall& call) {
  const CellKind kind = kind_of(call.name);
  const std::string direction = call.attrs.word("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    call.refuse(Fault::Format, "attribute 'direction' is '" + direction + "'");
  const Size directions = direction == "bidirectional" ? 2 : 1;
  const bool batch_first = takes(call, "layout") && call.attrs.truth("layout", false);
  if (kind.type == "LSTM" && call.attrs.truth("input_forget", false))
    call.refuse(Fault::Unsupported, "attribute 'input_forget' couples two gates");
  const auto functions = functions_of(call, kind, static_cast<std::size_t>(directions));
  const auto cells = cells_of(call, kind, directions);
  if (!cells || call.failed()) return {};
  const ValueId ends = ends_of(call, call.dim(cells->x, batch_first ? 1 : 0), call.dim(cells->x, batch_first ? 0 : 1));
  const ValueId x = batch_first ? cells->x : call.add(Transpose{{1, 0, 2}}, {cells->x});
  const Size axis = batch_first ? 1 : 0;  // of directions, in states
  std::vector<ValueId> sequences, states, last_cells;
  for (Size d = 0; d < directions; ++d) {
    const bool backwards = direction == "reverse" || d == 1;
    const std::string end = d == 1 ? "_reverse" : "";
    const ValueId walks = ends && backwards ? reversed_sequences(call, x, ends, 1, 0) : x;
    std::vector<ValueId> inputs{
        walks, call.make_constant("weight_ih" + end, blocks(cells->kernel, d, kind, 0, cells->units)),
        call.make_constant("weight_hh" + end, blocks(cells->recurrent, d, kind, 0, cells->units))};
    if (cells->bias) {
      inputs.push_back(call.make_constant("bias_ih" + end, blocks(*cells->bias, d, kind, 0, cells->units)));
      inputs.push_back(
          call.make_constant("bias_hh" + end, blocks(*cells->bias, d, kind, kind.gates.size(), cells->units)));
    }
    inputs.resize(5);
    inputs.push_back(state_of(call, "initial_h", d, directions, axis));
    if (kind.type == "LSTM") {
      inputs.push_back(state_of(call, "initial_c", d, directions, axis));
      inputs.push_back(peepholes_of(call, d, *cells));
    }
    const auto results = call.add_all(cell_op(call, kind, functions, backwards && !ends), inputs);
    if (call.failed()) return {};
    const ValueId walked = results.front();
    if (results.size() > 1) last_cells.push_back(call.add(Unsqueeze{{axis}}, {results[1]}));
    const Ended cut =
        ends ? ended(call, walked, ends, inputs[5], backwards) : Ended{walked, call.add(Slice{1, -1, {}, 1}, {walked})};
    states.push_back(batch_first ? cut.last : call.add(Transpose{{1, 0, 2}}, {cut.last}));
    const ValueId in_time = backwards && !ends ? call.add(Slice{1, {}, {}, -1}, {walked}) : cut.sequence;
    const ValueId placed = batch_first ? in_time : call.add(Transpose{{1, 0, 2}}, {in_time});
    sequences.push_back(call.add(Unsqueeze{{batch_first ? 2 : 1}}, {placed}));
  }
  if (call.failed()) return {};
  const auto joined = [&](const std::vector<ValueId>& all, Size along) {
    return directions == 1 ? all.front() : call.add(Concat{along}, all);
  };
  std::vector<ValueId> results{joined(sequences, batch_first ? 2 : 1), joined(states, axis)};
  if (!last_cells.empty()) results.push_back(joined(last_cells, axis));
  return results;
}

// clang-format off
constexpr std::array recurrent_table{
    Operator{"LSTM", {}, "X W R B? sequence_lens? initial_h? initial_c? P?", "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i input_forget:i layout:i@14", recurrent, {}, {0, 3}},
    Operator{"GRU", {}, "X W R B? sequence_lens? initial_h?", "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i layout:i@14 linear_before_reset:i", recurrent, {}, {0, 2}},
    Operator{"RNN", {}, "X W R B? sequence_lens? initial_h?", "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i layout:i@14", recurrent, {}, {0, 2}}};
// clang-format on

}  // namespace

std::span<const Operator> recurrent_operators() { return recurrent_table; }

}  // namespace convoy::onnx
