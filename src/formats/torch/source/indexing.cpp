// x[...]: whole numbers, slices, None, `...`, and lists of places.
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "formats/torch/source/free_size.h"
#include "formats/torch/source/tracer.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace convoy::torch {

namespace {

bool is_list(const Value& part) { return part.as<Sequence>() || part.as<SourceTensor>(); }
bool is_number(const Value& part) { return part.is_whole() && !part.is_truth(); }

// Follows one index part by part.
class Indexing {
 public:
  Indexing(Tracer& tracer, Interpreter& in, SourceTensor& tensor)
      : tracer_(tracer),
        in_(in),
        storage_(tensor.storage),
        now_(Value::of(&tensor)) {}

  Made take(const ValueList& parts, const Shape& shape) {
    if (auto done = is_clear(parts); !done) return pass(done);
    const auto named = std::ranges::count_if(
        parts, [](const Value& part) { return !part.is_none() && part.type() != Value::Type::Ellipsis; });
    if (named > std::ssize(shape))
      return fail(Fault::Format,
                  "more indices than the " + std::to_string(shape.size()) + " axes of " + text_of(shape));
    for (const Value& part : parts) {
      if (part.type() == Value::Type::Ellipsis) {
        axis_ += std::ssize(shape) - named;
        continue;
      }
      auto made = next(part);
      if (!made) return made;
      now_ = *made;
    }
    return lists_.empty() ? Made(now_) : picked(lists_);
  }

 private:
  Made call(const char* name, ValueList rest) {
    rest.insert(rest.begin(), now_);
    return call_function_named(tracer_, in_, name, Arguments{std::move(rest), {}});
  }

  // Where lists and numbers stand apart, PyTorch puts the axis of the lists in front of all others.
  static Status is_clear(const ValueList& parts) {
    if (std::ranges::none_of(parts, is_list)) return {};
    const auto picks = [](const Value& part) { return is_list(part) || is_number(part) || part.as<FreeSize>(); };
    const auto first = std::ranges::find_if(parts, picks);
    const auto behind = std::find_if_not(first, parts.end(), picks);
    if (std::any_of(behind, parts.end(), picks))
      return fail(Fault::Unsupported, "picks by lists and numbers that slices stand between");
    return {};
  }

  Made next(const Value& part) {
    if (part.is_none()) return call("unsqueeze", {Value::of(axis_++)});
    if (is_number(part)) return call("select", {Value::of(axis_), part});
    if (const auto* cut = part.as<python::Cut>()) return slice(*cut, axis_++);
    if (const auto* free = part.as<FreeSize>()) {
      const auto place = number_of(tracer_, in_, *free);
      return place ? picked({{axis_, *place}}) : place;
    }
    if (!is_list(part)) return fail(Fault::Unsupported, "an index that is a " + python::type_name(part));
    Made numbers = part;
    if (part.as<Sequence>()) numbers = call_function_named(tracer_, in_, "tensor", Arguments{{part}, {}});
    if (!numbers) return numbers;
    lists_.emplace_back(axis_++, *numbers);
    return now_;
  }

  Made slice(const python::Cut& cut, Size axis) {
    Json arguments{{"dim", axis}};
    TensorArguments tensors;
    for (const auto& [word, bound] : {std::pair{"start", cut.start}, {"end", cut.stop}, {"step", cut.step}}) {
      if (bound.is_none()) continue;
      const auto* free = bound.as<FreeSize>();
      if (free && free->is_size() &&
          bound.as<FreeSize>() == cut.stop.as<FreeSize>()) {  // as far as another tensor is long
        tensors.emplace("like.0", free->tensor);
        arguments["from"] = Json::array({free->axis});
        continue;
      }
      auto json = json_of(in_, bound);
      if (!json) return pass(json);
      arguments[word] = std::move(*json);
    }
    if (arguments.size() == 1) return now_;
    const auto id = tracer_.value_of(*now_.as<SourceTensor>());
    if (!id) return std::unexpected(id.error());
    tensors.emplace("input", *id);
    const auto made = tracer_.call(in_, *catalogued_aten("slice", "Tensor"), arguments, std::move(tensors));
    if (!made) return std::unexpected(made.error());
    return tracer_.tensor(in_, (*made)[0], storage_);
  }

  using Lists = std::vector<std::pair<Size, Value>>;

  // Cells by lists of places, along the axes that are left.
  Made picked(const Lists& lists) {
    const auto x = tracer_.value_of(*now_.as<SourceTensor>());
    if (!x) return std::unexpected(x.error());
    TensorArguments tensors{{"input", *x}};
    for (const auto& [axis, list] : lists) {
      const auto places = tracer_.value_of(*list.as<SourceTensor>());
      if (!places) return std::unexpected(places.error());
      tensors["indices." + std::to_string(axis)] = *places;
    }
    const auto made = tracer_.call(in_, *catalogued_aten("index", "Tensor"), Json::object(), std::move(tensors));
    if (!made) return std::unexpected(made.error());
    return tracer_.tensor(in_, (*made)[0]);
  }

  Tracer& tracer_;
  Interpreter& in_;
  const int storage_;
  Value now_;
  std::int64_t axis_ = 0;
  Lists lists_;
};

}  // namespace

Made SourceTensor::item(Interpreter& in, Value at) {
  ValueList parts{at};
  if (const auto* all = at.as<Sequence>(); all && all->is_tuple) parts = all->items;
  const auto shape = tracer.shape_of(*this);
  if (!shape) return std::unexpected(shape.error());
  auto made = Indexing(tracer, in, *this).take(parts, *shape);
  auto* cut = made ? made->as<SourceTensor>() : nullptr;
  if (cut && cut != this && std::ranges::none_of(parts, is_list)) {
    cut->whole = this;
    cut->key = at;
    cut->of_whole = value;
  }
  return made;
}

}  // namespace convoy::torch
