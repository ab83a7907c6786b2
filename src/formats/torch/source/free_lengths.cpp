// Sizes that are free as the model makes them: numbers that it counts, and lists that are so long.
#include "formats/free_length.h"
#include "formats/torch/source/functions.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace convoy::torch {

namespace {

constexpr FunctionRow length_row{"length", "like", read_length}, size_row{"size", "like", read_size};

Result<ValueId> made_by(Tracer& tracer, Interpreter& in, const FunctionRow& row, const Growth& growth) {
  const Json plain{{"from", growth.axis}, {"first", growth.steps.first}, {"steps", growth.steps.steps}};
  auto made = tracer.call(in, row, plain, {{"like", growth.like}});
  if (!made) return pass(made);
  return made->front();
}

std::optional<Size> whole_in(const Made& number) {
  return number && number->is_whole() ? std::optional(number->whole()) : std::nullopt;
}

void find_sizes(const FreeSize& free, std::vector<const FreeSize*>& found) {
  if (free.is_size()) found.push_back(&free);
  for (const Value& one : free.how.of)
    if (const auto* inner = one.as<FreeSize>()) find_sizes(*inner, found);
}

// The sizes of all values where one axis of an input has n cells, and other free axes `others`.
class SizesByInput {
 public:
  explicit SizesByInput(const Graph& graph) : graph_(graph) {
    for (const ValueId input : graph.inputs) shapes_.push_back(graph[input].type.shape);
  }

  bool set(std::size_t input, std::size_t axis, Size n, Size others) {
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      Shape shape = shapes_[i];
      for (Dim& size : shape)
        if (!size.known()) size = Dim(others);
      if (i == input) shape[axis] = Dim(n);
      graph_[graph_.inputs[i]].type.shape = std::move(shape);
    }
    return infer_all(graph_).has_value();
  }
  // Every free axis another multiple of `unit`.
  bool set_unlike(Size unit) {
    constexpr std::array<Size, 8> primes{11, 13, 17, 19, 23, 29, 31, 37};
    std::size_t next = 0;
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      Shape shape = shapes_[i];
      for (Dim& size : shape)
        if (!size.known()) size = Dim(unit * primes[next++ % primes.size()]);
      graph_[graph_.inputs[i]].type.shape = std::move(shape);
    }
    return infer_all(graph_).has_value();
  }
  std::optional<Size> cells(const FreeSize& size) const {
    const Shape& shape = graph_[size.tensor].type.shape;
    const auto at = static_cast<std::size_t>(size.axis);
    return at < shape.size() && shape[at].known() ? std::optional(*shape[at]) : std::nullopt;
  }
  const std::vector<Shape>& shapes() const { return shapes_; }
  // Of working them out once, in steps of a program.
  Size cost() const { return 1 + std::ssize(graph_.nodes) / 2; }
  ValueId input(std::size_t i) const { return graph_.inputs[i]; }

 private:
  Graph graph_;
  std::vector<Shape> shapes_;
};

// How it grows with one axis of one input, on which all sizes in it hang.
std::optional<Growth> growth_by_input(Tracer& tracer, Interpreter& in, const FreeSize& free) {
  constexpr Size one = 96, next = 97, others = 64, more_others = 128;
  SizesByInput sizes(tracer.graph);
  const auto value = [&](std::size_t input, std::size_t axis, Size n, Size beside) -> std::optional<Size> {
    if (!in.step(sizes.cost()) || !sizes.set(input, axis, n, beside)) return std::nullopt;
    return whole_in(free.number(in, [&](const FreeSize& size) { return sizes.cells(size); }));
  };
  std::vector<const FreeSize*> read;
  find_sizes(free, read);
  const auto hangs_on = [&](std::size_t input, std::size_t axis, Size n, Size beside) {
    std::vector<std::optional<Size>> all;
    if (sizes.set(input, axis, n, beside))
      for (const FreeSize* size : read) all.push_back(sizes.cells(*size));
    return all;
  };
  for (std::size_t i = 0; i < sizes.shapes().size(); ++i)
    for (std::size_t axis = 0; axis < sizes.shapes()[i].size(); ++axis) {
      if (sizes.shapes()[i][axis].known()) continue;
      const auto here = hangs_on(i, axis, one, others);
      if (here.empty() || here == hangs_on(i, axis, next + 31, others) || here != hangs_on(i, axis, one, more_others))
        continue;
      constexpr Size far_apart = 487;  // all sizes of a graph are worked out anew
      const auto steps = stepwise([&](Size n) { return value(i, axis, n, others); }, far_apart);
      return steps ? std::optional(Growth{sizes.input(i), static_cast<Size>(axis), *steps}) : std::nullopt;
    }
  return std::nullopt;
}

// `from` may be any size.
std::optional<Growth> growth_at_last(Tracer& tracer, Interpreter& in, const FreeSize& free) {
  if (free.axis < 0) return growth_by_input(tracer, in, free);
  const auto steps = stepwise([&](Size n) { return whole_in(free.number(in, n)); });
  return steps ? std::optional(Growth{free.tensor, free.axis, *steps}) : std::nullopt;
}

std::optional<Growth> growth_of(Tracer& tracer, Interpreter& in, const FreeSize& free) {
  auto growth = growth_at_last(tracer, in, free);
  return growth && growth->steps.from == 1 ? growth : std::nullopt;
}

std::unexpected<Error> computes_with(const FreeSize& free) {
  return fail(Fault::Usage, "computes with " + free.text + ", which is free; give the sizes of the input with --shape");
}

struct Computation {
  std::string_view function, name;
  bool is_whole = false;  // makes whole numbers of fractions
};
constexpr std::array computations{Computation{"+", "add"},
                                  Computation{"-", "sub"},
                                  Computation{"*", "mul"},
                                  Computation{"/", "div"},
                                  Computation{"**", "pow"},
                                  Computation{"//", "floor_divide"},
                                  Computation{"%", "remainder"},
                                  Computation{"float", "float"},
                                  Computation{"abs", "abs"},
                                  Computation{"max", "maximum"},
                                  Computation{"min", "minimum"},
                                  Computation{"int", "trunc", true},
                                  Computation{"floor", "floor", true},
                                  Computation{"ceil", "ceil", true}};

// What it was computed with, computed by the model.
Made computed_again(Tracer& tracer, Interpreter& in, const FreeSize& free) {
  const auto found = std::ranges::find(computations, free.how.function, &Computation::function);
  if (found == computations.end() || free.how.of.empty() || free.how.of.size() > 2) return computes_with(free);
  ValueList numbers;
  for (const Value& one : free.how.of) {
    if (const auto* inner = one.as<FreeSize>()) {
      auto number = number_of(tracer, in, *inner);
      if (!number) return number;
      numbers.push_back(*number);
    } else if (numbers.empty() && free.how.of.size() == 2) {
      numbers.push_back(tracer.constant(in, one.is_whole()
                                                ? Tensor::of({}, std::vector<std::int64_t>{one.whole()})
                                                : Tensor::of({}, std::vector<float>{static_cast<float>(one.real())})));
    } else if (found->function == "max" || found->function == "min") {
      return computes_with(free);
    } else {
      numbers.push_back(one);
    }
  }
  const auto made = call_function_named(tracer, in, std::string(found->name), Arguments{std::move(numbers), {}});
  if (!made || !found->is_whole) return made;
  return call_function_named(tracer, in, "_to", Arguments{{*made, in.text("int64")}, {}});
}

}  // namespace

namespace {

// The product of sizes, those that are free as `cells` says. Nothing: one of them has no value.
std::optional<Size> product_of(Interpreter& in, const ValueList& sizes, const FreeSize::Cells& cells) {
  Size product = 1;
  for (const Value& one : sizes) {
    const auto* free = one.as<FreeSize>();
    const auto number = free ? whole_in(free->number(in, cells)) : whole_in(one);
    const auto more = number ? checked_multiply(product, *number) : std::nullopt;
    if (!more) return std::nullopt;
    product = *more;
  }
  return product;
}

// The number of which those sizes are multiples at which `holds`; 1: it holds at all. Nothing: they are no multiples of one.
std::optional<Size> divisor_where(const std::function<std::optional<bool>(Size n)>& holds) {
  constexpr Size most = 192;
  std::vector<std::optional<bool>> found{std::nullopt};
  for (Size n = 1; n <= most; ++n) found.push_back(holds(n));
  const auto fits = [&](Size divisor) {
    Size seen = 0;
    for (Size n = 1; n <= most; ++n) {
      const auto& one = found[static_cast<std::size_t>(n)];
      if (one && *one != (n % divisor == 0)) return false;
      seen += one && *one;
    }
    return seen > 1;
  };
  for (Size divisor = 1; 2 * divisor <= most; ++divisor)
    if (fits(divisor)) return divisor;
  return std::nullopt;
}

}  // namespace

Result<std::optional<Value>> reshaped_by_groups(Tracer& tracer, Interpreter& in, const Value& x, const ValueList& to) {
  constexpr Size unit = 420;
  const auto own = in.attribute(x, "shape");
  if (!own) return std::unexpected(own.error());
  SizesByInput sizes(tracer.graph);
  if (!sizes.set_unlike(unit)) return std::nullopt;
  const auto cells = [&](const FreeSize& size) { return sizes.cells(size); };
  // `whole`: how many cells there are, of which one size may be what is left.
  const auto numbers = [&](const ValueList& all, std::optional<Size> whole) -> std::optional<Sizes> {
    Sizes found;
    Size product = 1;
    Size* left = nullptr;
    found.reserve(all.size());
    for (const Value& one : all) {
      const bool is_left = one.is_whole() && one.whole() == -1;
      const auto n = is_left ? std::optional<Size>(1) : product_of(in, {one}, cells);
      const auto more = n && *n > 0 ? checked_multiply(product, *n) : std::nullopt;
      if (!more || (is_left && (left || !whole))) return std::nullopt;
      product = *more;
      found.push_back(*n);
      if (is_left) left = &found.back();
    }
    if (left && *whole % product != 0) return std::nullopt;
    if (left) *left = *whole / product;
    return found;
  };
  const ValueList& sizes_before = own->as<python::Sequence>()->items;
  const auto before = numbers(sizes_before, {}), after = numbers(to, product_of(in, sizes_before, cells));
  const auto groups = before && after ? axis_groups(*before, *after) : std::nullopt;
  if (!groups) return std::nullopt;
  const auto changes = std::ranges::count_if(*groups, [](RegroupedAxes g) { return g.from != 1 || g.to != 1; });
  if (changes < 2) return std::nullopt;
  Value now = x;
  std::size_t axis = 0, wanted = 0;
  for (const RegroupedAxes& group : *groups) {
    if (group.from != 1 || group.to != 1) {
      const auto shape = in.attribute(now, "shape");
      if (!shape) return std::unexpected(shape.error());
      const ValueList& all = shape->as<python::Sequence>()->items;
      ValueList list(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(axis));
      for (std::size_t i = 0; i < group.to; ++i) list.push_back(to[wanted + i]);
      list.insert(list.end(), all.begin() + static_cast<std::ptrdiff_t>(axis + group.from), all.end());
      auto made = call_function_named(tracer, in, "reshape", Arguments{{now, in.list(std::move(list))}, {}});
      if (!made) return pass(made);
      now = *made;
    }
    axis += group.to, wanted += group.to;
  }
  return now;
}

namespace {

constexpr std::string_view fails_elsewhere = "at others it fails, and what is written of it may not";

// Makes it a condition that the size of an input is so.
void ask(Tracer& tracer, ValueId input, std::size_t axis, const std::string& holds, std::string_view elsewhere) {
  auto& all = tracer.graph.conditions;
  std::string condition = tracer.graph[input].name + ".shape[" + std::to_string(axis) + "] " + holds;
  if (std::ranges::find(all, condition) != all.end()) return;
  if (tracer.options().remarks)
    tracer.options().remarks->push_back("takes sizes where " + condition + ": " + std::string(elsewhere));
  all.push_back(std::move(condition));
}

}  // namespace

Status expect_as_many(Tracer& tracer, Interpreter& in, const ValueList& from, const ValueList& to) {
  constexpr Size others = 6720;  // which windows of every usual size divide
  SizesByInput sizes(tracer.graph);
  for (std::size_t i = 0; i < sizes.shapes().size(); ++i)
    for (std::size_t axis = 0; axis < sizes.shapes()[i].size(); ++axis) {
      if (sizes.shapes()[i][axis].known()) continue;
      const auto divisor = divisor_where([&](Size n) -> std::optional<bool> {
        if (!in.step(sizes.cost()) || !sizes.set(i, axis, n, others)) return std::nullopt;
        const auto cells = [&](const FreeSize& size) { return sizes.cells(size); };
        const auto before = product_of(in, from, cells), after = product_of(in, to, cells);
        return before && after ? std::optional(*before == *after) : std::nullopt;
      });
      if (!divisor)
        return fail(Fault::Usage,
                    "makes sizes of free ones that hold as many cells at some sizes alone; give the sizes of the input "
                    "with --shape");
      if (*divisor == 1) continue;
      ask(tracer, sizes.input(i), axis, "% " + std::to_string(*divisor) + " == 0", fails_elsewhere);
    }
  return {};
}

namespace {

// Makes it a condition that a value has so many cells along an axis.
Status ask_at_least(Tracer& tracer, Interpreter& in, ValueId value, Size axis, Size least, std::string_view elsewhere) {
  constexpr Size others = 6720, most = 128;
  const auto* size = in.make<FreeSize>(value, axis, "a size");
  SizesByInput sizes(tracer.graph);
  for (std::size_t i = 0; i < sizes.shapes().size(); ++i)
    for (std::size_t along = 0; along < sizes.shapes()[i].size(); ++along) {
      if (sizes.shapes()[i][along].known()) continue;
      Size last = 0;  // at which there are fewer
      for (Size n = 1; n <= most; ++n) {
        if (auto step = in.step(sizes.cost()); !step) return step;
        const auto cells = sizes.set(i, along, n, others) ? sizes.cells(*size) : std::nullopt;
        if (cells && *cells < least) last = n;
      }
      if (last > 0 && last < most) ask(tracer, sizes.input(i), along, ">= " + std::to_string(last + 1), elsewhere);
    }
  return {};
}

}  // namespace

Status expect_at_least(Tracer& tracer, Interpreter& in, SourceTensor& tensor, Size axis, Size least) {
  const auto value = tracer.value_of(tensor);
  if (!value) return std::unexpected(value.error());
  const Shape& shape = tracer.graph[*value].type.shape;
  if (axis < 0) axis += std::ssize(shape);
  if (axis < 0 || axis >= std::ssize(shape) || shape[static_cast<std::size_t>(axis)].known()) return {};
  return ask_at_least(tracer, in, *value, axis, least, fails_elsewhere);
}

Result<std::optional<Size>> constant_of(Tracer& tracer, Interpreter& in, const FreeSize& free) {
  constexpr Size most_least = 32;  // further on it is a limit that a program has
  const auto growth = growth_at_last(tracer, in, free);
  if (!growth || !growth->is_constant() || growth->steps.from > most_least) return std::nullopt;
  if (growth->steps.from > 1) {
    const auto asked = ask_at_least(tracer, in, growth->like, growth->axis, growth->steps.from,
                                    "at others it computes other sizes than what is written of it");
    if (!asked) return std::unexpected(asked.error());
  }
  return growth->steps.first;
}

Made number_of(Tracer& tracer, Interpreter& in, const FreeSize& free) {
  const auto steady = free.axis >= 0 ? free.steady(in) : std::nullopt;
  if (!steady && (free.axis >= 0 || free.how.function.empty())) {
    if (const auto growth = growth_of(tracer, in, free)) {
      if (growth->is_constant())
        return tracer.constant(in, Tensor::of({}, std::vector<std::int64_t>{growth->steps.first}));
      const auto number = made_by(tracer, in, size_row, *growth);
      return number ? Made(tracer.tensor(in, *number)) : Made(std::unexpected(number.error()));
    }
  }
  if (!steady) return computed_again(tracer, in, free);
  const auto size = made_by(tracer, in, size_row, {free.tensor, free.axis, {0, {1}}});
  if (!size) return std::unexpected(size.error());
  Made number = tracer.tensor(in, *size);
  if (steady->scale != 1)
    number = call_function_named(tracer, in, "mul", Arguments{{*number, Value::of(steady->scale)}, {}});
  if (number && steady->offset != 0)
    number = call_function_named(tracer, in, "add", Arguments{{*number, Value::of(steady->offset)}, {}});
  return number;
}

Result<FreeSize*> length_of(Tracer& tracer, Interpreter& in, FreeSize& free) {
  if (free.is_size()) return &free;
  const auto growth = growth_of(tracer, in, free);
  if (!growth)
    return fail(Fault::Usage, "depends on " + free.text + ", which is free; give the sizes of the input with --shape");
  const auto made = made_by(tracer, in, length_row, *growth);
  if (!made) return std::unexpected(made.error());
  return in.make<FreeSize>(*made, 0, free.text);
}

Made lengths_in(Tracer& tracer, Interpreter& in, const Value& list) {
  const auto* sizes = list.as<python::Sequence>();
  if (!sizes || std::ranges::none_of(sizes->items, [](const Value& one) {
        const auto* free = one.as<FreeSize>();
        return free && !free->is_size();
      }))
    return list;
  ValueList all;
  for (const Value& one : sizes->items) {
    auto* free = one.as<FreeSize>();
    if (!free || free->is_size()) {
      all.push_back(one);
      continue;
    }
    const auto length = length_of(tracer, in, *free);
    if (!length) return std::unexpected(length.error());
    all.push_back(Value::of(*length));
  }
  return in.list(std::move(all));
}

}  // namespace convoy::torch
