// What a program writes into tensors: into parts of them, into all of them, and the numbers that weights start with.
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "formats/torch/declared_type.h"
#include "formats/torch/source/functions.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace convoy::torch {

namespace {

// Cells start, start + step, ... of one axis.
struct Stretch {
  Size start = 0, count = 0, step = 1;
  bool all = false;  // the whole axis, whose size may be free
  bool dropped = false;  // by a whole number: what is written has no such axis
};

Result<Stretch> stretch_of(const Value& part, Dim size) {
  if (part.is_whole() && !part.is_truth()) {
    if (!size.known()) return fail(Fault::Usage, "writes into an axis whose size is free; give it with --shape");
    const Size at = part.whole() < 0 ? part.whole() + *size : part.whole();
    if (at < 0 || at >= *size)
      return fail(Fault::Format,
                  "index " + std::to_string(part.whole()) + " of an axis of " + std::to_string(*size) + " cells");
    return Stretch{at, 1, 1, *size == 1, true};
  }
  const auto* cut = part.as<python::Cut>();
  if (!cut) return fail(Fault::Unsupported, "writes at an index that is a " + python::type_name(part));
  if (cut->start.is_none() && cut->stop.is_none() && cut->step.is_none())
    return Stretch{0, size.known() ? *size : 0, 1, true, false};
  if (!size.known()) return fail(Fault::Usage, "writes into an axis whose size is free; give it with --shape");
  const auto cells = python::part_of(*cut, *size);
  if (!cells) return std::unexpected(cells.error());
  return Stretch{cells->start, cells->count, cells->step, cells->count == *size && cells->step == 1, false};
}

// One stretch per axis.
Result<std::vector<Stretch>> stretches_of(const Value& key, const Shape& shape) {
  ValueList parts{key};
  if (const auto* all = key.as<Sequence>(); all && all->is_tuple) parts = all->items;
  const auto is_rest = [](const Value& part) { return part.type() == Value::Type::Ellipsis; };
  const auto named = static_cast<std::size_t>(std::ranges::count_if(parts, std::not_fn(is_rest)));
  if (named > shape.size())
    return fail(Fault::Format, "more indices than the " + std::to_string(shape.size()) + " axes of " + text_of(shape));
  std::vector<Stretch> all;
  const auto untouched = [&](std::size_t count) {
    for (std::size_t i = 0; i < count && all.size() < shape.size(); ++i) {
      const Dim size = shape[all.size()];
      all.push_back({0, size.known() ? *size : 0, 1, true, false});
    }
  };
  for (const Value& part : parts) {
    if (is_rest(part)) {
      untouched(shape.size() - named);
      continue;
    }
    auto one = stretch_of(part, shape[all.size()]);
    if (!one) return pass(one);
    all.push_back(*one);
  }
  untouched(shape.size());
  return all;
}

// Of what is written: the axes that the part has.
Sizes shape_of_part(const std::vector<Stretch>& part) {
  Sizes shape;
  for (const Stretch& one : part)
    if (!one.dropped) shape.push_back(one.count);
  return shape;
}

// x with the cells of the part from `given`, whose axes stretch to those of the part.
Result<Tensor> with_part(const Tensor& x, const std::vector<Stretch>& part, const Tensor& given) {
  const Sizes shape = shape_of_part(part);
  Sizes from = given.shape();
  while (from.size() > shape.size() && from.front() == 1) from.erase(from.begin());
  from.insert(from.begin(), shape.size() - std::min(from.size(), shape.size()), 1);
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from.size() != shape.size() || (from[i] != 1 && from[i] != shape[i]))
      return fail(Fault::Format, "writes a tensor of " + std::to_string(given.count()) + " cells into a part of " +
                                     std::to_string(checked_count(shape).value_or(0)) + " cells of another shape");
  const Tensor written = as_declared(given, x.dtype());
  const auto width = static_cast<std::size_t>(bytes_of(x.dtype()));
  std::vector<std::byte> bytes(x.bytes().begin(), x.bytes().end());
  std::vector<Size> at(part.size(), 0);
  const Size cells = checked_count(shape).value_or(0);
  for (Size cell = 0; cell < cells; ++cell) {
    Size to = 0, source = 0;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < part.size(); ++i) {
      to = to * x.shape()[i] + part[i].start + at[i] * part[i].step;
      if (part[i].dropped) continue;
      source = source * from[kept] + (from[kept] == 1 ? 0 : at[i]);
      ++kept;
    }
    std::ranges::copy(written.bytes().subspan(static_cast<std::size_t>(source) * width, width),
                      bytes.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(to) * width));
    for (std::size_t i = part.size(); i-- > 0;) {
      if (++at[i] < part[i].count) break;
      at[i] = 0;
    }
  }
  return Tensor::owning(x.dtype(), x.shape(), std::move(bytes));
}

Tensor tensor_of(const Value& number) {
  if (number.is_whole()) return Tensor::of({}, std::vector<std::int64_t>{number.whole()});
  return Tensor::of({}, std::vector<double>{number.real()});
}

// PyTorch writes no number into a tensor whose type does not reach it; below 0 a type without signs wraps around once.
Status fits(Interpreter& in, const Value& number, DType dtype) {
  if (dtype == DType::Bool || is_floating(dtype) || (dtype == DType::I64 && number.is_whole())) return {};
  const bool is_signed = dtype == DType::I8 || dtype == DType::I16 || dtype == DType::I32 || dtype == DType::I64;
  const double cells = std::ldexp(1.0, static_cast<int>(8 * bytes_of(dtype)));
  const double end = is_signed ? cells / 2 : cells;
  const double least = is_signed ? -end : number.is_whole() ? 1 - cells : 0;
  if (number.real() >= least && number.real() <= end - 1) return {};
  return fail(Fault::Format, "writes " + repr(in, number) + " into a tensor of " + std::string(name_of(dtype)) +
                                 ", which does not hold it");
}

// What is written into a tensor, in the type of its numbers.
Made in_type(Tracer& tracer, Interpreter& in, const Value& given, DType dtype) {
  if (given.is_number()) return tracer.constant(in, as_declared(tensor_of(given), dtype));
  return call_function_named(tracer, in, "_to", Arguments{{given, in.text(std::string(name_of(dtype)))}, {}});
}

// Writes into parts of tensors, known and computed.
class PartWrite {
 public:
  PartWrite(Tracer& tracer, Interpreter& in, std::vector<Stretch> part)
      : tracer_(tracer),
        in_(in),
        part_(std::move(part)) {}

  bool covers_all() const {
    return std::ranges::all_of(part_, [](const Stretch& one) { return one.all; });
  }

  // The numbers of `x` with those of the part.
  Result<Tensor> known(const Tensor& x, const Tensor& given) {
    if (auto paid = in_.charge(x.count() * 16); !paid) return pass(paid);
    if (auto step = in_.step(x.count() / 256); !step) return pass(step);
    return with_part(x, part_, given);
  }

  // The part between what lies before and behind it along each axis.
  Made computed(const Value& x, const Value& given) {
    const auto shape = tracer_.shape_of(*x.as<SourceTensor>());
    if (!shape) return std::unexpected(shape.error());
    const auto value = tracer_.value_of(*x.as<SourceTensor>());
    if (!value) return std::unexpected(value.error());
    auto fitted = fit(given, *shape, tracer_.graph[*value].type.dtype);
    return fitted ? along(0, x, *fitted) : fitted;
  }

 private:
  Made call(const char* name, ValueList placed) {
    return call_function_named(tracer_, in_, name, Arguments{std::move(placed), {}});
  }

  // What is written, with every axis of the part and the tensor's own element type.
  Made fit(const Value& given, const Shape& shape, DType dtype) {
    ValueList sizes, ones;
    for (std::size_t i = 0; i < part_.size(); ++i) {
      const bool is_free = part_[i].all && !shape[i].known();
      if (is_free && given.is_number())
        return fail(Fault::Usage, "fills an axis whose size is free; give it with --shape");
      if (!part_[i].dropped) sizes.push_back(Value::of(is_free ? std::int64_t{-1} : part_[i].count));
    }
    Made fitted = in_type(tracer_, in_, given, dtype);
    if (fitted) fitted = call("expand", {*fitted, in_.list(std::move(sizes))});
    for (std::size_t i = 0; fitted && i < part_.size(); ++i)
      if (part_[i].dropped) fitted = call("unsqueeze", {*fitted, Value::of(static_cast<std::int64_t>(i))});
    return fitted;
  }

  Made along(std::size_t axis, const Value& x, const Value& given) {
    while (axis < part_.size() && part_[axis].all) ++axis;
    if (axis == part_.size()) return given;
    const Stretch& here = part_[axis];
    if (here.step != 1)
      return fail(Fault::Unsupported, "writes into every so many cells of numbers that come only when the model runs");
    const auto shape = tracer_.shape_of(*x.as<SourceTensor>());
    if (!shape) return std::unexpected(shape.error());
    const Size size = *(*shape)[axis], behind = here.start + here.count;
    const Value dim = Value::of(static_cast<std::int64_t>(axis));
    ValueList parts;
    const auto take = [&](Size from, Size count) {
      return call("narrow", {x, dim, Value::of(from), Value::of(count)});
    };
    if (here.count == 0) return x;
    if (here.start > 0) {
      const auto before = take(0, here.start);
      if (!before) return before;
      parts.push_back(*before);
    }
    const bool is_last = std::ranges::all_of(part_.begin() + static_cast<std::ptrdiff_t>(axis) + 1, part_.end(),
                                             [](const Stretch& one) { return one.all; });
    Made inner = is_last ? Made(given) : take(here.start, here.count);
    if (inner && !is_last) inner = along(axis + 1, *inner, given);
    if (!inner) return inner;
    parts.push_back(*inner);
    if (behind < size) {
      const auto after = take(behind, size - behind);
      if (!after) return after;
      parts.push_back(*after);
    }
    return call("cat", {in_.list(std::move(parts)), dim});
  }

  Tracer& tracer_;
  Interpreter& in_;
  std::vector<Stretch> part_;
};

}  // namespace

std::optional<Tensor> known_numbers(const Tracer& tracer, const Value& given) {
  if (given.is_number()) return tensor_of(given);
  const auto* tensor = given.as<SourceTensor>();
  if (!tensor || !tensor->value || tensor->stale || tensor->is_random) return std::nullopt;
  if (tracer.random_values.contains(tensor->value.index)) return std::nullopt;
  if (tracer.weights.contains(tensor->value.index)) return tracer.starting(tensor->value);
  return tracer.graph[tensor->value].constant;
}

namespace {

// Whether an index is drawn: what is written there is a random initialiser's, which nobody follows.
bool is_drawn(const Tracer& tracer, const Value& key) {
  ValueList parts{key};
  if (const auto* all = key.as<Sequence>()) parts = all->items;
  return std::ranges::any_of(parts, [&](const Value& part) {
    const auto* tensor = part.as<SourceTensor>();
    return tensor && (tensor->is_random || (tensor->value && !tracer.graph[tensor->value].constant));
  });
}

// The numbers that a weight starts with, while its module is built. Those of a file come over them.
Status start_with(Tracer& tracer, Interpreter& in, SourceTensor& weight, const Value& key, const Value& given) {
  const bool from_file = tracer.options().weights || tracer.options().structure_only;
  tracer.leave_stale(weight);
  const auto passed_over = [&] {
    tracer.weight_changes.push_back({weight.value, "new numbers", false});
    if (const auto* from = given.as<SourceTensor>(); from && tracer.file_values.contains(from->value.index))
      tracer.file_weights.insert(weight.value.index);
    return Status();
  };
  auto part = stretches_of(key, tracer.graph[weight.value].type.shape);
  if (!part) return from_file || is_drawn(tracer, key) ? passed_over() : pass(part);
  PartWrite write(tracer, in, std::move(*part));
  const auto numbers = known_numbers(tracer, given);
  if (numbers && write.covers_all() && numbers->rank() == 0) {
    if (auto done = tracer.refill(weight, {Filling::How::Constant, numbers->doubles()[0], 0}, "fill_"); !done)
      return done;
    tracer.random_values.erase(weight.value.index);
    weight.is_random = false;
    return {};
  }
  if (from_file) return passed_over();
  const auto before = numbers ? tracer.starting(weight.value) : std::nullopt;
  const auto base = before || !numbers   ? before
                    : write.covers_all() ? tracer.graph[weight.value].constant
                                         : std::nullopt;
  if (!base)
    return fail(Fault::Unsupported,
                "a part of a weight whose numbers are drawn is changed while the module is built; "
                "give its numbers with --weights");
  auto made = write.known(*base, *numbers);
  if (!made) return pass(made);
  tracer.start(weight.value, std::move(*made));
  return {};
}

// x[mask] = number
Made masked(Tracer& tracer, Interpreter& in, SourceTensor& x, const Value& mask, const Value& given) {
  if (!given.is_number()) return fail(Fault::Unsupported, "writes several numbers where a mask is true");
  const auto number = in_type(tracer, in, given, tracer.graph[x.value].type.dtype);
  if (!number) return number;
  return call_function_named(tracer, in, "masked_fill", Arguments{{Value::of(&x), mask, *number}, {}});
}

bool holds_lists(const Value& key) {
  const auto is_list = [](const Value& part) {
    const auto* list = part.as<Sequence>();
    return part.as<SourceTensor>() || (list && !list->is_tuple);
  };
  const auto* all = key.as<Sequence>();
  return all && all->is_tuple ? std::ranges::any_of(all->items, is_list) : is_list(key);
}

// x[list] = given, x[:, list, list] = given
Result<ValueId> put_by_lists(Tracer& tracer, Interpreter& in, ValueId x, const Value& key, const Value& given) {
  ValueList parts{key};
  if (const auto* all = key.as<Sequence>(); all && all->is_tuple) parts = all->items;
  const auto rank = static_cast<std::size_t>(tracer.graph[x].type.rank());
  TensorArguments tensors{{"input", x}};
  std::size_t axis = 0;
  for (const Value& part : parts) {
    if (part.type() == Value::Type::Ellipsis) {
      axis += rank - std::min(rank, parts.size() - 1);
      continue;
    }
    if (const auto* cut = part.as<python::Cut>();
        cut && cut->start.is_none() && cut->stop.is_none() && cut->step.is_none()) {
      ++axis;
      continue;
    }
    Made list = part;
    if (part.as<Sequence>() || part.is_whole()) list = call_function_named(tracer, in, "tensor", Arguments{{part}, {}});
    if (!list) return pass(list);
    auto* places = list->as<SourceTensor>();
    if (!places)
      return fail(Fault::Unsupported, "writes at an index that is a " + python::type_name(part) + " beside a list");
    auto value = tracer.value_of(*places);
    if (!value) return std::unexpected(value.error());
    const TensorType& type = tracer.graph[*value].type;
    if (type.rank() == 0 && type.dtype != DType::Bool) {  // one place goes along with those of every list
      const Made one = call_function_named(tracer, in, "unsqueeze", Arguments{{*list, Value::of(std::int64_t{0})}, {}});
      if (!one) return std::unexpected(one.error());
      value = one->as<SourceTensor>()->value;
    }
    tensors["indices." + std::to_string(axis++)] = *value;
  }
  const Made values = in_type(tracer, in, given, tracer.graph[x].type.dtype);
  if (!values) return std::unexpected(values.error());
  const auto read = tracer.value_of(*values->as<SourceTensor>());
  if (!read) return std::unexpected(read.error());
  tensors["values"] = *read;
  const auto made = tracer.call(in, *catalogued_aten("index_put", "default"), Json::object(), std::move(tensors));
  if (!made) return std::unexpected(made.error());
  return made->front();
}

}  // namespace

Status SourceTensor::set_item(Interpreter& in, Value at, Value given) {
  // `x[0] += 1` has written into the part already, and so into this.
  if (const auto* part = given.as<SourceTensor>();
      part && part->whole == this && part->key.same(at) && part->of_whole == value && value && !part->stale)
    return {};
  if (!tracer.bound && value && tracer.weights.contains(value.index)) return start_with(tracer, in, *this, at, given);
  if (!given.is_number() && !given.as<SourceTensor>()) {
    auto numbers = call_function_named(tracer, in, "tensor", Arguments{{given}, {}});
    if (!numbers) return pass(numbers);
    given = *numbers;
  }
  const auto own = tracer.value_of(*this);
  if (!own) return std::unexpected(own.error());
  if (given.is_number())
    if (auto held = fits(in, given, tracer.graph[*own].type.dtype); !held) return held;
  if (const auto* mask = at.as<SourceTensor>();
      mask && mask->value && tracer.graph[mask->value].type.dtype == DType::Bool) {
    const auto made = masked(tracer, in, *this, at, given);
    if (!made) return std::unexpected(made.error());
    return tracer.write(in, *this, made->as<SourceTensor>()->value);
  }
  if (holds_lists(at)) {
    const auto made = put_by_lists(tracer, in, *own, at, given);
    if (!made) return std::unexpected(made.error());
    return tracer.write(in, *this, *made);
  }
  auto part = stretches_of(at, tracer.graph[*own].type.shape);
  if (!part) return pass(part);
  PartWrite write(tracer, in, std::move(*part));
  const bool is_known =
      tracer.graph[*own].constant && !tracer.weights.contains(own->index) && !tracer.random_values.contains(own->index);
  const auto numbers = is_known ? known_numbers(tracer, given) : std::nullopt;
  if (numbers && !(given.as<SourceTensor>() && tracer.weights.contains(given.as<SourceTensor>()->value.index))) {
    auto made = write.known(*tracer.graph[*own].constant, *numbers);
    if (!made) return pass(made);
    return tracer.write(in, *this, tracer.constant(in, std::move(*made)).as<SourceTensor>()->value);
  }
  const auto made = write.computed(tracer.tensor(in, *own), given);
  if (!made) return std::unexpected(made.error());
  return tracer.write(in, *this, made->as<SourceTensor>()->value);
}

Status SourceTensor::set_attribute(Interpreter& in, const std::string& name, Value given) {
  if (name == "grad") return {};
  if (name == "requires_grad") {
    const auto trains = in.truth(given);
    if (!trains) return std::unexpected(trains.error());
    if (value && is_parameter) tracer.graph[value].trainable = *trains;
    return {};
  }
  if (name != "data") return fail(Fault::Unsupported, "'." + name + "' of a tensor is set");
  if (given.as<SourceTensor>() == this) return {};
  if (!given.as<SourceTensor>()) return fail(Fault::Format, "'.data' is set to a " + python::type_name(given));
  return set_item(in, Value::ellipsis(), given);
}

Result<std::optional<Value>> SourceTensor::copied(Interpreter& in) {
  if (!value || !tracer.weights.contains(value.index)) return value ? tracer.tensor(in, value) : Value::of(this);
  const auto& own = tracer.graph[value];
  auto made = tracer.parameter(in, own.constant->shape(), {}, is_buffer, own.constant->dtype());
  if (!made) return pass(made);
  auto* copy = made->as<SourceTensor>();
  copy->persistent = persistent;
  tracer.draws.pop_back();
  tracer.draws.push_back({Tracer::Draw::What::Copy, copy->value, {}, value, 0, {}});
  tracer.graph[copy->value].trainable = tracer.graph[value].trainable;
  return *made;
}

namespace {

// fill_, zero_, copy_, normal_, uniform_.
Made fill(SourceTensor& tensor, Interpreter& in, const std::string& name, const Arguments& given) {
  const auto number = [&](std::size_t place, const char* word, double otherwise) {
    for (const auto& [said, value] : given.named)
      if (said == word && value.is_number()) return value.real();
    return place < given.placed.size() && given.placed[place].is_number() ? given.placed[place].real() : otherwise;
  };
  if (name == "normal_" || name == "uniform_") {
    if (tensor.tracer.bound || !tensor.value)
      return fail(Fault::Unsupported, "'." + name + "()' inside the model: its numbers come from nowhere");
    const bool normal = name == "normal_";
    const Filling filling{normal ? Filling::How::Normal : Filling::How::Uniform, number(0, normal ? "mean" : "from", 0),
                          number(1, normal ? "std" : "to", 1)};
    if (!tensor.tracer.weights.contains(tensor.value.index)) {
      tensor.is_random = true;
      tensor.tracer.random_values.insert(tensor.value.index);
    }
    tensor.tracer.draws.push_back({Tracer::Draw::What::Fill, tensor.value, filling, {}, 0, {}});
    tensor.tracer.weight_changes.push_back({tensor.value, name + "()"});
    tensor.tracer.leave_stale(tensor);
    return Value::of(&tensor);
  }
  Value with = Value::of(std::int64_t{0});
  if (name != "zero_") {
    if (given.placed.empty() && given.named.empty()) return fail(Fault::Format, "'." + name + "()' of nothing");
    with = given.placed.empty() ? given.named.front().second : given.placed[0];
  }
  if (auto done = tensor.set_item(in, Value::ellipsis(), with); !done) return pass(done);
  return Value::of(&tensor);
}

}  // namespace

std::optional<Value> filling_method(SourceTensor& tensor, Interpreter& in, const std::string& name) {
  constexpr std::array<std::string_view, 5> scaling{"mul_", "div_", "add_", "sub_", "clamp_"};
  // A weight of a module that is being built: a file will give its numbers, and what changes them before says nothing.
  const Tracer& tracer = tensor.tracer;
  const bool is_unfilled =
      !tracer.bound && tensor.is_parameter && tensor.value && tracer.weights.contains(tensor.value.index);
  if (is_unfilled && std::ranges::find(scaling, name) != scaling.end())
    return in.native(name, [&tensor, name](Interpreter&, Arguments&) -> Made {
      const LoadOptions& options = tensor.tracer.options();
      tensor.tracer.weight_changes.push_back({tensor.value, name + "()", false});
      if (options.weights || options.structure_only) return Value::of(&tensor);
      return fail(Fault::Unsupported,
                  "the numbers that a weight starts with are computed with while the module is built; give the weights "
                  "with --weights");
    });
  if (name != "fill_" && name != "normal_" && name != "uniform_" && name != "zero_" && name != "copy_")
    return std::nullopt;
  return in.native(name,
                   [&tensor, name](Interpreter& with, Arguments& given) { return fill(tensor, with, name, given); });
}

}  // namespace convoy::torch
