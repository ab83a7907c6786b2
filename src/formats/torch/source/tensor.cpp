// What a program asks of a tensor: its shape, its methods, parts of it, arithmetic.
#include "base/whole_tensor.h"
#include "containers/python/unread.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/source/tracer.h"
#include "formats/torch/source/written_out.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace convoy::torch {

namespace {

Made sizes_of(SourceTensor& tensor, Interpreter& in) {
  const auto shape = tensor.tracer.shape_of(tensor);
  if (!shape) return std::unexpected(shape.error());
  // A size that is free is that of a value: an input that nobody has used becomes one.
  if (std::ranges::any_of(*shape, [](Dim n) { return !n.known(); }))
    if (auto made = tensor.tracer.value_of(tensor); !made) return pass(made);
  ValueList sizes;
  for (std::size_t i = 0; i < shape->size(); ++i) {
    if ((*shape)[i].known()) sizes.push_back(Value::of(*(*shape)[i]));
    else
      sizes.push_back(Value::of(in.make<FreeSize>(tensor.value, static_cast<Size>(i),
                                                  "size " + std::to_string(i) + " of " + text_of(*shape))));
  }
  const Value all = in.tuple(std::move(sizes));
  all.as<python::Sequence>()->is_size = true;
  return all;
}

Made size(SourceTensor& tensor, Interpreter& in, Arguments& given) {
  const auto taken = python::bound(given, "dim", 0, "size");
  if (!taken) return std::unexpected(taken.error());
  const auto all = sizes_of(tensor, in);
  if (!all || !(*taken)[0] || (*taken)[0]->is_none()) return all;
  return in.item(*all, *(*taken)[0]);
}

Made count(SourceTensor& tensor, Interpreter& in) {
  const auto all = sizes_of(tensor, in);
  if (!all) return all;
  Made product = Value::of(std::int64_t{1});
  for (const Value& one : all->as<python::Sequence>()->items)
    if (product) product = in.binary("*", *product, one);
  return product;
}

Value number_of(DType dtype, double x) {
  if (dtype == DType::Bool) return Value::of(x != 0);
  const bool is_real = dtype == DType::F16 || dtype == DType::BF16 || dtype == DType::F32 || dtype == DType::F64;
  return is_real ? Value::of(x) : Value::of(static_cast<std::int64_t>(x));
}

// Numbers in order as lists of lists.
Value nested(Interpreter& in, ValueList all, const Sizes& shape) {
  for (std::size_t axis = shape.size(); axis-- > 1;) {
    const auto width = static_cast<std::ptrdiff_t>(shape[axis]);
    Size rows = 1;
    for (std::size_t i = 0; i < axis; ++i) rows *= shape[i];
    ValueList lists;
    for (std::ptrdiff_t row = 0; row < rows; ++row)
      lists.push_back(in.list(ValueList(all.begin() + row * width, all.begin() + (row + 1) * width)));
    all = std::move(lists);
  }
  return in.list(std::move(all));
}

// x.item(), x.tolist() and x.numpy() of numbers that are known beforehand.
Made numbers_of(SourceTensor& tensor, Interpreter& in, const std::string& method) {
  Tracer& tracer = tensor.tracer;
  const auto id = tracer.value_of(tensor);
  if (!id) return std::unexpected(id.error());
  const auto& numbers = tracer.graph[*id].constant;
  if (!numbers || tracer.weights.contains(id->index))
    return fail(Fault::Unsupported, "'." + method + "()' of numbers that come only when the model runs");
  if (tracer.is_drawn(*id)) return Value::of(in.make<python::Outside>("random numbers"));
  if (numbers->count() > 100000)
    return fail(Fault::Limit, "'." + method + "()' of " + std::to_string(numbers->count()) + " numbers");
  if (auto paid = in.charge(numbers->count() * 24); !paid) return pass(paid);
  ValueList all;
  const bool is_whole = !is_floating(numbers->dtype()) && numbers->dtype() != DType::Bool;
  if (is_whole)
    for (const std::int64_t n : numbers->integers()) all.push_back(Value::of(n));
  else
    for (const double x : numbers->doubles()) all.push_back(number_of(numbers->dtype(), x));
  if (method == "item")
    return all.size() == 1 ? Made(all[0]) : Made(fail(Fault::Format, "'.item()' of several numbers"));
  return numbers->rank() == 0 ? all[0] : nested(in, std::move(all), numbers->shape());
}

// torch.device("cpu")
Made processor(Interpreter& in) {
  const auto framework = in.import("torch");
  const auto type = framework ? in.attribute(*framework, "device") : framework;
  return type ? in.call(*type, ValueList{in.text("cpu")}) : type;
}

// x.T and x.mT: the last two axes exchanged.
Made turned(SourceTensor& x, Interpreter& in, const std::string& name) {
  const auto shape = x.tracer.shape_of(x);
  if (!shape) return std::unexpected(shape.error());
  if (name == "T" && shape->size() != 2) return fail(Fault::Unsupported, "'.T' of other than a matrix");
  return call_function_named(x.tracer, in, "transpose",
                             Arguments{{Value::of(&x), Value::of(std::int64_t{-2}), Value::of(std::int64_t{-1})}, {}});
}

}  // namespace

Result<std::optional<Value>> SourceTensor::attribute(Interpreter& in, const std::string& name) {
  const auto answer = [](Made made) -> Result<std::optional<Value>> {
    if (!made) return pass(made);
    return *made;
  };
  if (name == "shape") return answer(sizes_of(*this, in));
  if (name == "size")
    return in.native(name, [this](Interpreter& with, Arguments& given) { return torch::size(*this, with, given); });
  if (name == "ndim" || name == "dim" || name == "ndimension") {
    const auto shape = tracer.shape_of(*this);
    if (!shape) return std::unexpected(shape.error());
    const Value rank = Value::of(static_cast<std::int64_t>(shape->size()));
    if (name == "ndim") return rank;
    return in.native(name, [rank](Interpreter&, Arguments&) -> Made { return rank; });
  }
  if (name == "numel" || name == "nelement")
    return in.native(name, [this](Interpreter& with, Arguments&) { return count(*this, with); });
  if (name == "dtype") {
    const std::string type(name_of(tracer.dtype_of(*this)));
    return in.text(type, "torch." + type);
  }
  if (name == "device") return answer(processor(in));
  if (name == "is_cuda" || name == "requires_grad" || name == "is_sparse" || name == "is_quantized")
    return Value::of(false);
  if (name == "data") return answer(tracer.detached(in, *this));
  if (name == "T" || name == "mT") return answer(turned(*this, in, name));
  if (name == "item" || name == "tolist" || name == "numpy") {
    if (name == "numpy" && value && tracer.graph[value].constant)
      return in.native(name, [this](Interpreter&, Arguments&) -> Made { return Value::of(this); });
    return in.native(name, [this, name](Interpreter& with, Arguments&) { return numbers_of(*this, with, name); });
  }
  if ((name == "of_int" || name == "of_float") && known_numbers(tracer, Value::of(this)))
    return in.native(name, [this, name](Interpreter& with, Arguments&) -> Made {
      const auto number = numbers_of(*this, with, "item");
      if (!number || !number->is_number()) return number;
      return with.call(with.builtins[name.substr(3)], ValueList{*number});
    });
  if (name == "retain_grad" || name == "register_hook")  // of the gradient
    return in.native(name, [](Interpreter&, Arguments&) -> Made { return Value(); });
  if (name == "requires_grad_")
    return in.native(name, [this](Interpreter& with, Arguments& given) -> Made {
      const auto trains = given.placed.empty() ? Result<bool>(true) : with.truth(given.placed[0]);
      if (!trains) return std::unexpected(trains.error());
      if (value && is_parameter) tracer.graph[value].trainable = *trains;
      return Value::of(this);
    });
  if (auto method = filling_method(*this, in, name)) return method;
  if (name == "set_")  // without a storage: its memory is given back, and nobody reads it again
    return in.native(name, [this](Interpreter&, Arguments& given) -> Made {
      if (!given.placed.empty()) return fail(Fault::Unsupported, "'.set_()' to another memory");
      stale = true;
      return Value::of(this);
    });
  if (name == "unfold")  // along one axis, unlike F.unfold
    return in.native(name, [this](Interpreter& with, Arguments& given) {
      given.placed.insert(given.placed.begin(), Value::of(this));
      return call_function_named(tracer, with, "_unfold_axis", std::move(given));
    });
  if (!is_function(name)) {
    auto found = written_out(in, name);
    if (!found || !*found || !(*found)->as<python::Function>()) return found ? std::nullopt : std::move(found);
    return Value::of(in.make<python::Bound>(Value::of(this), **found));
  }
  return in.native(name, [this, name](Interpreter& with, Arguments& given) {
    // x.where(condition, other): the tensor is what is chosen, not what chooses.
    const bool second = name == "where" && !given.placed.empty();
    if (name == "where" && !second) given.named.emplace_back("input", Value::of(this));
    else given.placed.insert(given.placed.begin() + (second ? 1 : 0), Value::of(this));
    return call_function_named(tracer, with, name, std::move(given));
  });
}

namespace {

Tensor truth_tensor(bool truth) { return *Tensor::owning(DType::Bool, {}, {static_cast<std::byte>(truth)}); }

// A number is of the type that it meets, but beside truths a whole one is int64, and a fraction beside what is whole float32.
Tensor number_beside(DType dtype, const Value& number) {
  if (number.is_whole() && !is_floating(dtype))
    return whole_tensor(dtype == DType::Bool ? DType::I64 : dtype, {}, {number.whole()});
  return Tensor::of({}, std::vector<double>{number.real()}).converted(is_floating(dtype) ? dtype : DType::F32);
}

}  // namespace

Result<std::optional<Value>> SourceTensor::binary(Interpreter& in, std::string_view symbol, Value other,
                                                  bool reversed) {
  struct Operator {
    std::string_view symbol, name, turned;
  };
  static constexpr std::array operators{Operator{"+", "add", "add"},
                                        Operator{"-", "sub", "rsub"},
                                        Operator{"*", "mul", "mul"},
                                        Operator{"/", "div", ""},
                                        Operator{"**", "pow", ""},
                                        Operator{"@", "matmul", ""},
                                        Operator{"//", "floor_divide", ""},
                                        Operator{"%", "remainder", ""},
                                        Operator{"&", "bitwise_and", "bitwise_and"},
                                        Operator{"|", "bitwise_or", "bitwise_or"},
                                        Operator{"^", "bitwise_xor", "bitwise_xor"},
                                        Operator{"<<", "bitwise_left_shift", ""},
                                        Operator{">>", "bitwise_right_shift", ""},
                                        Operator{"<", "lt", "gt"},
                                        Operator{"<=", "le", "ge"},
                                        Operator{">", "gt", "lt"},
                                        Operator{">=", "ge", "le"},
                                        Operator{"==", "eq", "eq"},
                                        Operator{"!=", "ne", "ne"}};
  const auto found = std::ranges::find(operators, symbol, &Operator::symbol);
  if (found == operators.end()) return std::nullopt;
  if (symbol == "*" && other.as<python::Sequence>()) {  // a list so many times over
    const auto times = known_numbers(tracer, Value::of(this));
    if (times && times->rank() == 0 && !is_floating(times->dtype()) && times->dtype() != DType::Bool)
      return in.binary("*", other, Value::of(times->integers().front()));
  }
  if (const auto* free = other.as<FreeSize>()) {
    auto number = number_of(tracer, in, *free);
    if (!number) return pass(number);
    other = *number;
  }
  if (!other.is_number() && !other.as<SourceTensor>()) return std::nullopt;
  if (other.is_truth()) {  // beside truths it is one, and a number beside numbers
    const bool meets_truths = value && tracer.graph[value].type.dtype == DType::Bool;
    other = meets_truths ? tracer.constant(in, truth_tensor(other.whole() != 0)) : Value::of(other.whole());
  }
  if (symbol == "<<" || symbol == ">>")  // only whole numbers have bits: so does an input that says no type
    if (const auto own = tracer.value_of(*this, {}, DType::I64); !own) return std::unexpected(own.error());
  ValueList both{Value::of(this), other};
  std::string name(found->name);
  if (reversed && found->turned.empty()) {
    if (!other.is_number()) return std::nullopt;
    const auto own = tracer.value_of(*this);
    if (!own) return std::unexpected(own.error());
    const DType beside = tracer.graph[*own].type.dtype;
    const bool makes_fractions = symbol == "/" && !is_floating(beside);
    if (symbol == "/" && is_half(beside)) {  // as Tensor.__rtruediv__ of torch/_tensor.py: rounded twice
      auto part = call_function_named(tracer, in, "reciprocal", Arguments{{Value::of(this)}, {}});
      if (!part) return pass(part);
      return in.binary("*", *part, other);
    }
    both = {tracer.constant(in, number_beside(makes_fractions ? DType::F32 : beside, other)), Value::of(this)};
  } else if (reversed) {
    name = found->turned;
  }
  auto made = call_function_named(tracer, in, name, Arguments{std::move(both), {}});
  if (!made) return pass(made);
  return *made;
}

Result<std::optional<Value>> SourceTensor::augmented(Interpreter& in, std::string_view symbol, Value other) {
  // A weight of a module that is being built: as mul_() and its like.
  if (!tracer.bound && is_parameter && value && tracer.weights.contains(value.index)) {
    tracer.weight_changes.push_back({value, std::string(symbol), false});
    if (tracer.options().weights || tracer.options().structure_only) return Value::of(this);
    return fail(Fault::Unsupported,
                "computes with weights while the module is built; give their numbers with --weights");
  }
  auto made = binary(in, symbol, other, false);
  if (!made || !*made) return made;
  const auto* result = (*made)->as<SourceTensor>();
  if (!result) return made;
  if (auto done = tracer.write(in, *this, result->value); !done) return pass(done);
  return Value::of(this);
}

Result<std::optional<Value>> SourceTensor::unary(Interpreter& in, std::string_view symbol) {
  if (symbol == "+") return Value::of(this);
  if (symbol != "-" && symbol != "~") return std::nullopt;
  auto made = call_function_named(tracer, in, symbol == "-" ? "neg" : "bitwise_not", Arguments{{Value::of(this)}, {}});
  if (!made) return pass(made);
  return *made;
}

Result<bool> SourceTensor::truth(Interpreter& in) {
  if (const auto known = known_numbers(tracer, Value::of(this)); known && known->count() == 1) {
    const auto number = numbers_of(*this, in, "item");
    if (number && number->is_number()) return in.truth(*number);
  }
  return fail(
      Fault::Unsupported,
      "a decision by the numbers of a tensor, which come only when the model runs: torch.where(condition, a, b) "
      "computes both ways, and chooses");
}

Result<Size> SourceTensor::length(Interpreter&) {
  const auto shape = tracer.shape_of(*this);
  if (!shape) return std::unexpected(shape.error());
  if (shape->empty() || !shape->front().known())
    return fail(Fault::Usage, "the length of " + text_of(*shape) + " is free; give it with --shape");
  return *shape->front();
}

Result<ValueList> SourceTensor::elements(Interpreter& in) {
  const auto all = call_function_named(tracer, in, "unbind", Arguments{{Value::of(this)}, {}});
  if (!all) return std::unexpected(all.error());
  return all->as<python::Sequence>()->items;
}

}  // namespace convoy::torch
