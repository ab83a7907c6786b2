// Functions that take a tensor apart along an axis, or lay several out along axes of their own.
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "formats/torch/source/functions.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace convoy::torch {

// x.unfold(dim, size, step): windows along one axis, which come last.
Made unfolded(Tracer& tracer, Interpreter& in, const std::string&, Arguments given) {
  auto named = named_arguments(in, given, "input dimension size step", "unfold");
  if (!named) return pass(named);
  for (auto& [word, value] : *named)
    if (word == "dim") word = "dimension";
  auto ready = prepared(tracer, in, *named);
  if (!ready) return pass(ready);
  const auto whole = [&](const char* word) { return ready->plain.value(word, Json()); };
  if (ready->first && whole("dimension").is_number_integer() && whole("size").is_number_integer())
    if (auto asked =
            expect_at_least(tracer, in, *ready->first, whole("dimension").get<Size>(), whole("size").get<Size>());
        !asked)
      return pass(asked);
  const auto values = tracer.call(in, *aten_named("unfold"), ready->plain, std::move(ready->tensors));
  if (!values) return std::unexpected(values.error());
  return answered(tracer, in, *values, ready->first ? ready->first->storage : -1, false);
}

Made split_up(Tracer& tracer, Interpreter& in, const std::string& name, Arguments given) {
  auto named = named_arguments(in, given, "input split_size_or_sections dim", name);
  if (!named) return pass(named);
  bool listed = false;
  for (auto& [word, value] : *named)
    if (word == "split_size_or_sections" || word == "split_size") {
      listed = value.as<Sequence>() != nullptr;
      word = listed ? "split_sizes" : "split_size";
    }
  auto ready = prepared(tracer, in, *named);
  if (!ready) return pass(ready);
  const int storage = ready->first ? ready->first->storage : -1;
  const auto values = tracer.call(in, *aten_named(listed ? "split_with_sizes" : "split.Tensor"), ready->plain,
                                  std::move(ready->tensors), 2);
  if (!values) return std::unexpected(values.error());
  return answered(tracer, in, *values, storage, true);
}

// Cut at indices, or into so many parts of which the first ones are one cell longer.
Made tensor_split(Tracer& tracer, Interpreter& in, const std::string& name, Arguments given) {
  auto named = named_arguments(in, given, "input indices_or_sections dim", name);
  if (!named) return pass(named);
  Value x, at, dim = Value::of(std::int64_t{0});
  for (const auto& [word, value] : *named) {
    if (word == "input") x = value;
    else if (word == "dim") dim = value;
    else at = value;
  }
  auto* tensor = x.as<SourceTensor>();
  if (!tensor || !dim.is_whole()) return fail(Fault::Format, "tensor_split() of a " + python::type_name(x));
  const auto shape = tracer.shape_of(*tensor);
  if (!shape) return std::unexpected(shape.error());
  const auto rank = static_cast<Size>(shape->size());
  const Size axis = dim.whole() < 0 ? dim.whole() + rank : dim.whole();
  if (axis < 0 || axis >= rank) return fail(Fault::Format, "tensor_split() along axis " + std::to_string(dim.whole()));
  const Dim size = (*shape)[static_cast<std::size_t>(axis)];
  if (!size.known()) return fail(Fault::Usage, "tensor_split() of an axis whose size is free; give it with --shape");
  Sizes cuts;
  if (at.is_whole() && at.whole() > 0 && at.whole() <= *size)
    for (Size i = 1; i < at.whole(); ++i) cuts.push_back(i * (*size / at.whole()) + std::min(i, *size % at.whole()));
  else if (const auto* list = at.as<Sequence>())
    for (const Value& one : list->items) {
      if (!one.is_whole()) return fail(Fault::Unsupported, "tensor_split() at a " + python::type_name(one));
      cuts.push_back(std::clamp<Size>(one.whole() < 0 ? one.whole() + *size : one.whole(), 0, *size));
    }
  else return fail(Fault::Unsupported, "tensor_split() by a " + python::type_name(at));
  ValueList sizes;
  Size from = 0;
  cuts.push_back(*size);
  for (const Size cut : cuts) {
    sizes.push_back(Value::of(std::max<Size>(cut - from, 0)));
    from = std::max(from, cut);
  }
  return split_up(tracer, in, "split", Arguments{{x, in.list(std::move(sizes)), Value::of(axis)}, {}});
}

// Every cell less the one before it.
Made difference(Tracer& tracer, Interpreter& in, const std::string& name, Arguments given) {
  const auto taken = python::bound(given, "input n dim", 1, name);
  if (!taken) return std::unexpected(taken.error());
  if ((*taken)[1] && !((*taken)[1]->is_whole() && (*taken)[1]->whole() == 1))
    return fail(Fault::Unsupported, name + "() of other than neighbours: argument 'n'");
  auto* tensor = (*taken)[0]->as<SourceTensor>();
  if (!tensor) return fail(Fault::Format, name + "() of a " + python::type_name(*(*taken)[0]));
  const auto shape = tracer.shape_of(*tensor);
  if (!shape) return std::unexpected(shape.error());
  const Value said = (*taken)[2].value_or(Value::of(std::int64_t{-1}));
  const auto rank = static_cast<std::int64_t>(shape->size());
  const std::int64_t axis = !said.is_whole() ? rank : said.whole() < 0 ? said.whole() + rank : said.whole();
  if (axis < 0 || axis >= rank) return fail(Fault::Format, name + "() along no axis of " + text_of(*shape));
  const Dim size = (*shape)[static_cast<std::size_t>(axis)];
  if (!size.known() || *size < 1) return fail(Fault::Usage, name + "() of a free size; give it with --shape");
  const auto part = [&](Size from) {
    return call_function_named(tracer, in, "narrow",
                               Arguments{{(*(*taken)[0]), Value::of(axis), Value::of(from), Value::of(*size - 1)}, {}});
  };
  const auto later = part(1), earlier = part(0);
  if (!later) return later;
  if (!earlier) return earlier;
  return in.binary("-", *later, *earlier);
}

// The places of the numbers that are not zero, where they are known.
Made nonzero(Tracer& tracer, Interpreter& in, const std::string& name, Arguments given) {
  const auto taken = python::bound(given, "input as_tuple", 1, name);
  if (!taken) return std::unexpected(taken.error());
  auto* tensor = (*taken)[0]->as<SourceTensor>();
  if (!tensor) return fail(Fault::Format, name + "() of a " + python::type_name(*(*taken)[0]));
  const auto value = tracer.value_of(*tensor);
  if (!value) return std::unexpected(value.error());
  const auto& known = tracer.graph[*value].constant;
  if (!known || tracer.weights.contains(value->index) || tracer.random_values.contains(value->index))
    return fail(Fault::Unsupported, name + "(): how many places there are comes only when the model runs");
  if (auto paid = in.charge(known->count() * (8 + 8 * known->rank())); !paid) return pass(paid);
  std::vector<std::vector<std::int64_t>> places(static_cast<std::size_t>(known->rank()));
  const auto numbers = known->doubles();
  Size count = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == 0) continue;
    ++count;
    auto rest = static_cast<Size>(i);
    for (std::size_t axis = places.size(); axis-- > 0; rest /= known->shape()[axis])
      places[axis].push_back(rest % known->shape()[axis]);
  }
  const auto holds = (*taken)[1] ? in.truth(*(*taken)[1]) : Result<bool>(false);
  if (!holds) return std::unexpected(holds.error());
  if (*holds) {
    ValueList axes;
    for (auto& one : places) axes.push_back(tracer.constant(in, Tensor::of({count}, std::move(one))));
    return in.tuple(std::move(axes));
  }
  std::vector<std::int64_t> rows;
  for (Size i = 0; i < count; ++i)
    for (const auto& one : places) rows.push_back(one[static_cast<std::size_t>(i)]);
  return tracer.constant(in, Tensor::of({count, static_cast<Size>(places.size())}, std::move(rows)));
}

// Each list along its own axis, repeated along those of the others; they are given one by one, or as a list.
Made meshgrid(Tracer& tracer, Interpreter& in, const std::string& name, Arguments given) {
  const auto said = given.take("indexing");
  const auto* word = said ? said->as<python::Text>() : nullptr;
  ValueList lists = given.placed;
  if (lists.size() == 1 && lists[0].as<Sequence>()) lists = lists[0].as<Sequence>()->items;
  TensorArguments tensors;
  for (const Value& one : lists) {
    auto* tensor = one.as<SourceTensor>();
    if (!tensor) return fail(Fault::Format, name + "() of a " + python::type_name(one));
    const auto value = tracer.value_of(*tensor);
    if (!value) return std::unexpected(value.error());
    tensors["tensors." + std::to_string(tensors.size())] = *value;
  }
  const auto grids = tracer.call(in, *catalogued_aten("meshgrid", "indexing"),
                                 Json{{"indexing", word ? word->text : "ij"}}, std::move(tensors));
  if (!grids) return std::unexpected(grids.error());
  ValueList all;
  for (const ValueId grid : *grids) all.push_back(tracer.tensor(in, grid));
  return in.tuple(std::move(all));
}

}  // namespace convoy::torch
