// Functions that make tensors of numbers: those that stand in the program, one number everywhere, ranges, and numbers that
// are drawn.
#include "containers/python/vector_types.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/source/free_size.h"
#include "formats/torch/source/functions.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace convoy::torch {

namespace {

// What kind all numbers of a list are of.
struct KindOfNumbers {
  bool whole = true, truths = true;
};

// A tensor of numbers that stand in the program.
Status numbers_of(Interpreter& in, const Value& value, Sizes& shape, ValueList& out, KindOfNumbers& kind,
                  std::size_t depth) {
  if (value.is_number()) {
    kind.whole = kind.whole && value.is_whole();
    kind.truths = kind.truths && value.is_truth();
    out.push_back(value);
    return in.charge(8);
  }
  if (depth > 8 || !value.is_object()) return fail(Fault::Unsupported, "a tensor of a " + python::type_name(value));
  const auto all = in.elements(value);
  if (!all) return std::unexpected(all.error());
  if (shape.size() <= depth) shape.push_back(static_cast<Size>(all->size()));
  if (shape[depth] != static_cast<Size>(all->size())) return fail(Fault::Format, "a tensor of lists of unlike lengths");
  for (const Value& one : *all)
    if (auto done = numbers_of(in, one, shape, out, kind, depth + 1); !done) return done;
  return {};
}

std::int64_t whole_of(const Value& number) {
  if (number.is_whole()) return number.whole();
  return static_cast<std::int64_t>(std::clamp(number.real(), -9e18, 9e18));
}

Tensor tensor_of_numbers(const Sizes& shape, const ValueList& numbers, DType dtype) {
  if (!is_floating(dtype)) {
    std::vector<std::int64_t> all;
    for (const Value& one : numbers) all.push_back(whole_of(one));
    return Tensor::of(shape, std::move(all));
  }
  std::vector<double> all;
  for (const Value& one : numbers) all.push_back(one.real());
  return Tensor::of(shape, std::move(all)).converted(dtype);
}

// tensor(...), as_tensor(...), from_numpy(...)
Made tensor_of(Tracer& tracer, Interpreter& in, const std::string& name, Arguments given) {
  auto dtype = given.take("dtype");
  if (const auto said = given.take("data")) given.placed.insert(given.placed.begin(), *said);
  if (given.placed.empty()) return fail(Fault::Format, name + "() of nothing");
  if (auto* tensor = given.placed[0].as<SourceTensor>()) {  // PyTorch's own, whoever held it
    const Value same = tensor->value ? tracer.tensor(in, tensor->value, tensor->storage) : given.placed[0];
    if (dtype && !dtype->is_none()) return call_function_named(tracer, in, "_to", Arguments{{same, *dtype}, {}});
    return name == "tensor" ? call_function_named(tracer, in, "clone", Arguments{{same}, {}}) : Made(same);
  }
  if (auto* array = given.placed[0].as<python::Vector>(); array && name != "tensor") {
    std::vector<python::Vector*> rows;
    array->leaves(rows);
    for (auto* row : rows) row->is_lent = true;
  }
  if (given.placed[0].as<python::Vector>() && (!dtype || dtype->is_none()))
    dtype = in.text(python::name_of(python::type_of(in, given.placed[0])));
  Sizes shape;
  ValueList numbers;
  KindOfNumbers kind;
  if (auto done = numbers_of(in, given.placed[0], shape, numbers, kind, 0); !done) return pass(done);
  const bool truths = kind.truths && !numbers.empty();
  const auto* word = dtype ? dtype->as<python::Text>() : nullptr;
  const bool is_real = word && (word->text.starts_with("float") || word->text == "bfloat16");
  const bool as_whole = (!word && kind.whole) || (word && !is_real);
  const bool is_double = word && word->text == "float64";
  const DType held = as_whole ? DType::I64 : is_double ? DType::F64 : DType::F32;
  const Value made = tracer.constant(in, tensor_of_numbers(shape, numbers, held));
  if (is_double) return made;
  if (!word && truths) return call_function_named(tracer, in, "_to", Arguments{{made, in.text("bool")}, {}});
  if (!word || word->text == "float32" || word->text == "int64") return made;
  return call_function_named(tracer, in, "_to", Arguments{{made, *dtype}, {}});
}

// Of this shape, and computed with by nobody: what is drawn inside a model comes from nowhere.
Made drawn_inside(Tracer& tracer, Interpreter& in, const NamedValues& named) {
  const Value made = tracer.tensor(in, ValueId{});
  auto* tensor = made.as<SourceTensor>();
  tensor->is_random = true;
  Shape shape;
  for (const auto& [word, value] : named)
    if (word == "size")
      for (const Value& one : value.as<Sequence>() ? value.as<Sequence>()->items : ValueList{value})
        shape.push_back(one.is_whole() ? Dim(one.whole()) : Dim::unknown());
  tensor->said = std::move(shape);
  return made;
}

std::string_view parameters_of(const std::string& name, const Arguments& given) {
  if (name == "full") return "size fill_value";
  if (name == "eye") return "n m";
  if (name == "linspace") return "start end steps";
  if (name == "hamming_window") return "window_length periodic alpha beta";
  if (name.ends_with("_window")) return "window_length periodic";
  if (name == "randint") return given.placed.size() > 2 ? "low high size" : "high size";
  if (name == "arange") return given.placed.size() == 1 ? "end" : "start end step";
  return "size...";
}

// Whether an element type is given; one that is None is taken out.
bool says_type(Arguments& given) {
  std::erase_if(given.named, [](const auto& one) { return one.first == "dtype" && one.second.is_none(); });
  return std::ranges::any_of(given.named, [](const auto& one) { return one.first == "dtype"; });
}

bool is_free(Tracer& tracer, SourceTensor& like) {
  const auto shape = tracer.shape_of(like);
  return shape && !sizes_of(*shape);
}

// zeros_like(x) and others, where a size of x comes only when the model runs.
Made filled_like(Tracer& tracer, Interpreter& in, const std::string& name, SourceTensor& like, Arguments given) {
  const auto value = tracer.value_of(like);
  if (!value) return std::unexpected(value.error());
  given.placed.erase(given.placed.begin());
  auto named = named_arguments(in, given, name == "full_like" ? "fill_value" : "", name);
  if (!named) return pass(named);
  auto ready = prepared(tracer, in, *named);
  if (!ready) return pass(ready);
  ready->tensors["input"] = *value;
  const auto values = tracer.call(in, *aten_named(name), ready->plain, std::move(ready->tensors));
  if (!values) return std::unexpected(values.error());
  return tracer.tensor(in, (*values)[0]);
}

// Whether a shape has sizes that come only when the model runs.
bool has_free_size(const Value& shape) {
  const auto* all = shape.as<Sequence>();
  return all && std::ranges::any_of(all->items, [](const Value& one) { return one.as<FreeSize>() != nullptr; });
}

// zeros(x.shape[0], 5) and others: one number, stretched. It is nobody's view.
Made filled_freely(Tracer& tracer, Interpreter& in, const std::string& name, NamedValues named) {
  Arguments one;
  Value shape;
  for (auto& [word, value] : named) {
    if (word == "size") {
      auto lengths = lengths_in(tracer, in, value);
      if (!lengths) return lengths;
      shape = *lengths;
      const std::size_t rank = shape.as<Sequence>()->items.size();
      value = in.list(ValueList(rank, Value::of(std::int64_t{1})));
    }
    one.named.emplace_back(word, value);
  }
  const auto made = filled(tracer, in, name, std::move(one));
  if (!made) return made;
  const auto stretched = call_function_named(tracer, in, "expand", Arguments{{*made, shape}, {}});
  if (!stretched) return stretched;
  auto* tensor = stretched->as<SourceTensor>();
  return tensor && tensor->value ? Made(tracer.tensor(in, tensor->value)) : stretched;
}

// arange(x.shape[1]), eye(...), linspace(0, 1, ...): as many as a size that comes only when the model runs, which is taken out of the
// arguments.
FreeSize* counted_axis(const std::string& name, NamedValues& named) {
  const auto is = [&](const char* word, std::int64_t usual) {
    const auto found = std::ranges::find(named, word, [](const auto& one) { return one.first; });
    return found == named.end() || (found->second.is_whole() && found->second.whole() == usual);
  };
  const std::string_view count = name == "arange" ? "end" : name == "linspace" ? "steps" : name == "eye" ? "n" : "";
  const auto end = std::ranges::find(named, count, [](const auto& one) { return one.first; });
  auto* free = end == named.end() ? nullptr : end->second.as<FreeSize>();
  if (!free || (name == "arange" && (!is("start", 0) || !is("step", 1)))) return nullptr;
  std::erase_if(named, [&](const auto& one) {
    return one.first == count || (name == "arange" && (one.first == "start" || one.first == "step"));
  });
  return free;
}

std::optional<Value> said_in(const NamedValues& named, std::string_view word) {
  const auto found = std::ranges::find(named, word, [](const auto& one) { return one.first; });
  return found == named.end() ? std::nullopt : std::optional(found->second);
}

// What a maker draws. Nothing: bounds that are not known, or too far apart for one number of the generator.
std::optional<Filling> filling_of(const std::string& name, const NamedValues& named) {
  if (name == "rand") return Filling{Filling::How::Uniform, 0, 1};
  if (name == "randn") return Filling{Filling::How::Normal, 0, 1};
  if (name == "randperm") return Filling{Filling::How::Permutation};
  const Value low = said_in(named, "low").value_or(Value::of(std::int64_t{0}));
  const Value high = said_in(named, "high").value_or(Value());
  if (!low.is_whole() || !high.is_whole()) return std::nullopt;
  const Filling filling{Filling::How::Whole, low.real(), high.real()};
  constexpr double most = Size{1} << 28;
  return filling.b > filling.a && filling.b - filling.a < most ? std::optional(filling) : std::nullopt;
}

// Notes what the program draws into this value. `by_own`: from a generator of its own, which nobody follows.
void note_draw(Tracer& tracer, ValueId value, const std::optional<Filling>& filling, bool by_own) {
  using What = Tracer::Draw::What;
  if (filling && !by_own) {
    tracer.draws.push_back({What::Fill, value, *filling, {}, 0, {}});
    return;
  }
  tracer.lost_values.insert(value.index);
  if (!by_own) tracer.draws.push_back({What::Lose, {}, {}, {}, 0, {}});
}

}  // namespace

Made filled(Tracer& tracer, Interpreter& in, const std::string& name, Arguments given) {
  const auto generator = given.take("generator");
  std::erase_if(given.named, [](const auto& one) { return is_silent(one.first); });
  if (name == "tensor" || name == "as_tensor" || name == "from_numpy")
    return tensor_of(tracer, in, name, std::move(given));
  if (name.ends_with("_like")) {
    auto* like = given.placed.empty() ? nullptr : given.placed[0].as<SourceTensor>();
    if (!like) return fail(Fault::Format, name + "() of what is no tensor");
    if (!name.starts_with("rand") && is_free(tracer, *like))
      return filled_like(tracer, in, name, *like, std::move(given));
    const auto shape = in.attribute(given.placed[0], "shape");
    if (!shape) return shape;
    given.placed[0] = *shape;
    if (!says_type(given)) given.named.emplace_back("dtype", in.text(std::string(name_of(tracer.dtype_of(*like)))));
    return filled(tracer, in, name.substr(0, name.find('_')), std::move(given));
  }
  if (name.starts_with("new_")) {  // of another tensor's type
    auto* like = given.placed.empty() ? nullptr : given.placed[0].as<SourceTensor>();
    if (!like) return fail(Fault::Format, name + "() of what is no tensor");
    if (!says_type(given)) given.named.emplace_back("dtype", in.text(std::string(name_of(tracer.dtype_of(*like)))));
    given.placed.erase(given.placed.begin());
    return filled(tracer, in, name.substr(4), std::move(given));
  }
  const bool drawn = name.starts_with("rand") || name == "empty";
  auto named = named_arguments(in, given, parameters_of(name, given), name);
  if (!named) return pass(named);
  if (drawn && tracer.bound) return drawn_inside(tracer, in, *named);
  const auto filling = drawn && name != "empty" ? filling_of(name, *named) : std::nullopt;
  if (name == "randint")
    std::erase_if(*named, [](const auto& one) { return one.first == "low" || one.first == "high"; });
  for (auto& [word, value] : *named)  // a number that stands in a tensor
    if (word == "fill_value" && value.as<SourceTensor>()) {
      const auto item = in.attribute(value, "item");
      auto number = item ? in.call(*item, ValueList{}) : item;
      if (!number) return number;
      value = *number;
    }
  const auto size = std::ranges::find(*named, "size", [](const auto& one) { return one.first; });
  if (!drawn && size != named->end() && has_free_size(size->second))
    return filled_freely(tracer, in, name, *std::move(named));
  FreeSize* along = counted_axis(name, *named);
  if (along) {
    const auto length = length_of(tracer, in, *along);
    if (!length) return std::unexpected(length.error());
    along = *length;
  }
  auto ready = prepared(tracer, in, *named);
  if (!ready) return pass(ready);
  if (along) {
    ready->tensors["like.0"] = along->tensor;
    ready->plain["from"] = Json::array({along->axis});
  }
  const bool of_reals = std::ranges::any_of(given.placed, &Value::is_real);
  if (name == "arange" && of_reals && !ready->plain.contains("dtype")) ready->plain["dtype"] = "float32";
  if ((name == "randint" || name == "randperm") && !ready->plain.contains("dtype")) ready->plain["dtype"] = "int64";
  const auto values = tracer.call(in, *aten_named(drawn ? "zeros" : name), ready->plain, std::move(ready->tensors));
  if (!values) return std::unexpected(values.error());
  const Value made = tracer.tensor(in, (*values)[0]);
  made.as<SourceTensor>()->is_random = drawn;
  if (drawn) tracer.random_values.insert((*values)[0].index);
  if (!drawn || name == "empty") return made;
  note_draw(tracer, (*values)[0], filling, generator && !generator->is_none());
  return made;
}

}  // namespace convoy::torch
