// Inputs that can show a fault, and the sizes at which they are tried where the model leaves sizes free.
#include "base/budget.h"
#include "base/whole_tensor.h"
#include "ops/expect.h"
#include "prove/drawn_numbers.h"
#include "prove/meeting.h"
#include "prove/prove.h"
#include "run/held.h"

#include <array>
#include <charconv>
#include <cmath>
#include <random>

namespace convoy {

namespace {

constexpr Size small_input = Size{1} << 14;  // numbers in one example; up to here two examples are tried together

// Two sizes of free axes that lie next to each other: unlike, so that swapped axes show.
struct Pair {
  Size first, second;
};

// From the likeliest to the odder ones. Even: multiples of 4, then ever coarser grids. Odd: really odd sizes first, and
// then, for models that only take multiples of a power of two, odd multiples of it.
constexpr std::array<Pair, 14> even_sizes{{{32, 36},
                                           {32, 48},
                                           {64, 96},
                                           {64, 72},
                                           {96, 128},
                                           {128, 192},
                                           {16, 20},
                                           {8, 12},
                                           {224, 256},
                                           {256, 320},
                                           {4, 6},
                                           {2, 4},
                                           {512, 640},
                                           {1024, 1536}}};
constexpr std::array<Pair, 22> odd_sizes{{{33, 37}, {49, 41},   {65, 71},   {97, 111},   {129, 151}, {17, 23},
                                          {9, 13},  {225, 255}, {257, 321}, {5, 7},      {3, 5},     {1, 3},
                                          {34, 38}, {36, 44},   {40, 56},   {48, 80},    {96, 160},  {192, 320},
                                          {18, 22}, {12, 20},   {513, 641}, {1025, 1281}}};

bool has_free_size(const Shape& shape) {
  for (std::size_t i = 1; i < shape.size(); ++i) {
    if (!shape[i].known()) return true;
  }
  return false;
}

// The inputs' shapes with free sizes filled in: those of one input in turn, so that inputs that meet further on agree;
// with `equal`, all the same.
std::vector<Shape> filled(const Graph& graph, Pair sizes, bool equal, Size batch) {
  std::vector<Shape> shapes;
  for (const ValueId v : graph.inputs) {
    Shape shape = graph[v].type.shape;
    std::size_t free = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i].known()) continue;
      if (i == 0) shape[i] = Dim(batch);
      else shape[i] = Dim(equal || free % 2 == 0 ? sizes.first : sizes.second), ++free;
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

Size numbers_in(const std::vector<Shape>& shapes) {
  Size most = 0;
  for (const Shape& shape : shapes) most = std::max(most, checked_count(*sizes_of(shape)).value_or(0));
  return most;
}

// Examples tried together where neither two nor one fit: a model that takes a certain example out of the batch, or
// counts frames of a film or parts of an image in it.
constexpr std::array<Size, 14> odder_batches{3, 4, 5, 6, 8, 7, 9, 10, 12, 16, 24, 32, 48, 64};

// Two examples where that is cheap: one example hides what mixes examples up.
Result<Graph> shaped(const Graph& graph, Pair sizes, bool equal) {
  auto shapes = filled(graph, sizes, equal, 1);
  if (numbers_in(shapes) <= small_input) {
    if (auto two = with_input_shapes(graph, filled(graph, sizes, equal, 2))) return two;
  }
  return with_input_shapes(graph, shapes);
}

bool has_free_batch(const Graph& graph) {
  return std::ranges::any_of(graph.inputs, [&](ValueId v) {
    const Shape& shape = graph[v].type.shape;
    return !shape.empty() && !shape[0].known();
  });
}

// How far the indices count, where they are 0, 1, ... along an axis: steps of a running sum, by other axes and types.
std::optional<Size> count_behind(const Graph& graph, ValueId indices) {
  for (int steps = 0; steps < 16 && indices && graph[indices].producer; ++steps) {
    const Node& node = graph[graph[indices].producer];
    if (const auto* sum = get_if<Accumulate>(&node.op))
      return graph[node.outputs[0]].type.shape[static_cast<std::size_t>(sum->axis)].size();
    indices = node.inputs.empty() ? ValueId{} : node.inputs[0];
  }
  return std::nullopt;
}

// What a node adds to the one value of whole numbers that it reads; 0 of what adds nothing.
Size added_by(const Graph& graph, const Node& node) {
  const auto* binary = get_if<Binary>(&node.op);
  const auto& number = binary ? graph[node.inputs[1]].constant : std::nullopt;
  if (!number || number->count() != 1 || is_floating(number->dtype())) return 0;
  const Size added = number->integers()[0];
  return binary->function == BinaryFunction::Add ? added : binary->function == BinaryFunction::Subtract ? -added : 0;
}

// The last of the indices, where they count along an axis: as many as there are, and what is added behind the running sum of ones.
std::optional<Size> last_of_count(const Graph& graph, ValueId indices) {
  const auto count = count_behind(graph, indices);
  if (!count) return std::nullopt;
  Size added = 0;
  for (NodeId at = graph[indices].producer; at; at = graph[graph[at].inputs[0]].producer) {
    if (const auto* sum = get_if<Accumulate>(&graph[at].op)) return *count - (sum->exclusive ? 1 : 0) + added;
    added += added_by(graph, graph[at]);
  }
  return std::nullopt;
}

// Whether what counts along an axis ends inside the table that it looks up.
bool counts_fit(const Graph& graph) {
  const auto fits = [&](ValueId indices, ValueId table, Size axis) {
    const auto last = last_of_count(graph, indices);
    const Dim length = graph[table].type.shape[static_cast<std::size_t>(axis)];
    return !last || !length.known() || *last < *length;
  };
  for (const Node& node : graph.nodes) {
    if (const auto* op = get_if<Gather>(&node.op); op && !fits(node.inputs[1], node.inputs[0], op->axis)) return false;
    if (holds_alternative<Embedding>(node.op) && !fits(node.inputs[0], node.inputs[1], 0)) return false;
  }
  return true;
}

std::string complaint(const Graph& graph) {
  for (const ValueId v : graph.inputs) {
    if (has_free_size(graph[v].type.shape)) {
      return "no size was found that fits input '" + graph[v].name + "' " + text_of(graph[v].type.shape);
    }
  }
  return "the graph does not accept its own input shapes";
}

// `batch`: how many examples, or 0 for one or two.
Result<Graph> shaped_for_trial(const Graph& graph, int trial, Size batch) {
  const auto shaped_so = [&](Pair sizes, bool equal) {
    return batch == 0 ? shaped(graph, sizes, equal) : with_input_shapes(graph, filled(graph, sizes, equal, batch));
  };
  bool free = false;
  for (const ValueId v : graph.inputs) free = free || has_free_size(graph[v].type.shape);
  if (!free) return shaped_so({}, false);
  std::optional<Error> first;
  std::optional<Graph> too_long;
  const auto attempt = [&](Pair sizes, bool equal) -> std::optional<Graph> {
    auto result = shaped_so(sizes, equal);
    if (result && counts_fit(*result)) return *std::move(result);
    if (result && !too_long) too_long = *std::move(result);
    else if (!result && !first) first = std::move(result.error());
    return std::nullopt;
  };
  const std::span<const Pair> even = even_sizes, odd = odd_sizes;
  const Size further = trial < 2 ? 0 : trial - trial % 2;  // what is left over by strides of three and more
  const auto among = [&](std::span<const Pair> sizes, bool turned) -> std::optional<Graph> {
    for (const bool equal : {false, true}) {
      for (Pair pair : sizes) {
        if (turned) std::swap(pair.first, pair.second);
        if (auto result = attempt({pair.first + further, pair.second + further}, equal)) return result;
      }
    }
    return std::nullopt;
  };
  if (auto result = among(trial % 2 == 0 ? even : odd, false)) return *std::move(result);
  if (!graph.conditions.empty())  // a program that was followed where images are upright, or odd
    for (const auto& [sizes, turned] : {std::pair{trial % 2 == 0 ? even : odd, true},
                                        {trial % 2 == 0 ? odd : even, false},
                                        {trial % 2 == 0 ? odd : even, true}})
      if (auto result = among(sizes, turned)) return *std::move(result);
  if (too_long) return *std::move(too_long);
  if (first->fault == Fault::Format) {  // what these sizes do not fit is no fault of the file
    first->fault = Fault::Usage;
    first->what += "; say sizes that fit with --size or --shape";
  }
  return within(complaint(graph), Result<Graph>(std::unexpected(*std::move(first))));
}

// The number at the end of a text.
std::optional<Size> last_number(std::string_view text) {
  const std::size_t last = text.find_last_not_of("0123456789");
  const std::string_view digits = text.substr(last == std::string_view::npos ? 0 : last + 1);
  Size number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  constexpr Size most = 4096;  // a batch that may still be computed
  return error == std::errc() && number >= 1 && number <= most ? std::optional(number) : std::nullopt;
}

Result<Graph> shaped_for_trial(const Graph& graph, int trial) {
  auto result = shaped_for_trial(graph, trial, 0);
  if (result || !has_free_batch(graph)) return result;
  std::vector<Size> batches(odder_batches.begin(), odder_batches.end());
  for (const std::string& condition : graph.conditions)  // "x.shape[0] >= 33"
    if (const auto bound = last_number(condition)) batches.push_back(*bound);
  for (const Size batch : batches)
    if (auto odder = shaped_for_trial(graph, trial, batch)) return odder;
  return result;
}

Tensor random_indices(const Sizes& shape, Size least, Size most, std::mt19937_64& random) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(checked_count(shape).value_or(0)));
  const auto span = static_cast<std::uint64_t>(most - least + 1);
  for (auto& value : values) value = least + static_cast<Size>((random() >> 11) % span);
  return Tensor::of(shape, std::move(values));
}

// Somewhere a whole number is divided by another: 0 among the inputs would have no answer.
bool divides_whole_numbers(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    const auto* binary = get_if<Binary>(&node.op);
    return binary && divides_whole(binary->function) && !is_floating(graph[node.inputs[1]].type.dtype);
  });
}

// From -most to most without 0.
Tensor random_divisors(const Sizes& shape, Size most, std::mt19937_64& random) {
  std::vector<std::int64_t> values = random_indices(shape, -most, most - 1, random).integers();
  for (auto& value : values) value += value >= 0 ? 1 : 0;
  return Tensor::of(shape, std::move(values));
}

// The numbers that the model asks its input for, on ways that leave them as they are: those that mask a step.
struct NumbersAskedFor {
  std::vector<double> equal;
  Size up_to = 0;  // it is held against what counts so far: a length
};
NumbersAskedFor numbers_asked_for(const Graph& graph, ValueId input) {
  std::vector<char> is_input(graph.values.size(), 0);
  is_input[input.slot()] = 1;
  const bool is_whole = !is_floating(graph[input].type.dtype) && graph[input].type.dtype != DType::Bool;
  NumbersAskedFor numbers;
  for (const Node& node : graph.nodes) {
    const auto reads_input = [&](std::size_t i) { return node.inputs[i] && is_input[node.inputs[i].slot()]; };
    const auto contents = traits_of(node.op).contents;
    const bool keeps = contents == Contents::Moved || contents == Contents::Kept || holds_alternative<Cast>(node.op);
    if (keeps && !node.inputs.empty() && reads_input(0))
      for (const ValueId v : node.outputs) is_input[v.slot()] = 1;
    const auto* binary = get_if<Binary>(&node.op);
    if (!binary || graph[node.outputs[0]].type.dtype != DType::Bool) continue;
    const bool is_equality = binary->function == BinaryFunction::Equal || binary->function == BinaryFunction::NotEqual;
    for (const std::size_t i : {0, 1}) {
      if (!reads_input(i)) continue;
      const auto& asked = graph[node.inputs[1 - i]].constant;
      if (is_equality && asked && asked->count() == 1) numbers.equal.push_back(asked->doubles()[0]);
      if (!is_equality && is_whole) numbers.up_to = count_behind(graph, node.inputs[1 - i]).value_or(numbers.up_to);
    }
  }
  return numbers;
}

// One number of four is one that the model asks for; of what has features, with all that stand beside it. One of those along
// the last axis, or that axis, stays as it is: an average over nothing would be no number.
Tensor with_numbers_asked_for(const Tensor& drawn, const NumbersAskedFor& all, std::mt19937_64& random) {
  const Sizes& shape = drawn.shape();
  if (all.up_to > 0) return random_indices(shape, 1, all.up_to, random).converted(drawn.dtype());
  const std::vector<double>& asked = all.equal;
  if (asked.empty() || shape.size() < 2 || drawn.count() == 0) return drawn;
  const bool has_features = shape.size() > 2 && is_floating(drawn.dtype());
  const auto width = static_cast<std::size_t>(has_features ? shape.back() : 1);
  const auto steps = static_cast<std::size_t>(has_features ? shape[shape.size() - 2] : shape.back());
  std::vector<double> numbers = drawn.doubles();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < numbers.size() / width; ++i) {
    if (i % steps == 0) kept = random() % steps;
    if (random() % 4 != 0 || i % steps == kept) continue;
    const double number = asked[(random() >> 8) % asked.size()];
    std::fill_n(numbers.begin() + static_cast<std::ptrdiff_t>(i * width), width, number);
  }
  if (is_floating(drawn.dtype())) return Tensor::of(shape, std::move(numbers)).converted(drawn.dtype());
  return whole_tensor(drawn.dtype(), shape, {numbers.begin(), numbers.end()});
}

}  // namespace

Result<std::vector<Tensor>> probing_inputs(const Graph& graph, int trial, std::uint64_t seed) {
  auto sized = shaped_for_trial(graph, trial);
  if (!sized) return pass(sized);
  const auto ranges = index_ranges(*sized);
  const bool divides = divides_whole_numbers(*sized);
  std::mt19937_64 random(seed * 0x9E3779B97F4A7C15 + static_cast<std::uint64_t>(trial) + 1);
  std::vector<Tensor> inputs;
  for (const ValueId v : sized->inputs) {
    const TensorType& type = (*sized)[v].type;
    const auto shape = sizes_of(type.shape);
    if (!shape) return fail(Fault::Internal, "input '" + (*sized)[v].name + "' has a size left open");
    const auto count = checked_count(*shape);
    if (!count || *count > Size{1} << 31) {
      return fail(Fault::Budget, "input '" + (*sized)[v].name + "' " + text_of(type.shape) + " is too large to try");
    }
    if (auto held =
            budget::afford(checked_multiply(*count, 8), "input '" + (*sized)[v].name + "' " + text_of(type.shape));
        !held)
      return pass(held);
    const Size range = ranges[v.slot()];
    const bool is_unsigned = type.dtype >= DType::U8;
    if (range > 0) {
      const Tensor indices = random_indices(*shape, 0, range - 1, random);
      inputs.push_back(is_floating(type.dtype) ? Tensor::of(*shape, indices.floats()) : indices);
    } else if (is_floating(type.dtype)) {
      inputs.push_back(rounded_to_half(drawn_numbers(*shape, random), type.dtype));  // what the framework is handed
    } else if (type.dtype == DType::Bool) {
      inputs.push_back(random_indices(*shape, 0, 1, random));
    } else {
      inputs.push_back(is_unsigned ? random_indices(*shape, 1, 100, random)
                       : divides   ? random_divisors(*shape, 100, random)
                                   : random_indices(*shape, -100, 100, random));
    }
    NumbersAskedFor asked = numbers_asked_for(*sized, v);
    if (range > 0) {  // what looks up a table stays inside it
      std::erase_if(asked.equal, [&](double n) { return n < 0 || n >= static_cast<double>(range); });
      asked.up_to = std::min(asked.up_to, range - 1);
    }
    inputs.back() = with_numbers_asked_for(inputs.back(), asked, random);
  }
  return inputs;
}

}  // namespace convoy
