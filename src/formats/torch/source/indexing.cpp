// x[...]: whole numbers, slices, None, `...`, and lists of places.
#include "formats/free_length.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "formats/torch/source/free_size.h"
#include "formats/torch/source/tracer.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace convoy::torch {

namespace {

// x[like.shape[axis]:] of a list.
std::vector<ValueId> read_behind(FunctionCall& call) {
  const ValueId x = call.tensor("input"), like = call.tensor("like");
  const ValueId one = call.make_constant("one", Tensor::of({1}, std::vector<std::int64_t>{1}));
  return {call.add(SliceBehind{}, {x, call.add(ExpandLike{0, call.attrs.integer("axis")}, {one, like})})};
}

constexpr FunctionRow cut_row{"slice", "input", read_cut_to}, behind_row{"slice", "input", read_behind};

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

  // A part of an axis.
  struct Part {
    Size begin = 0, length = 0, behind = 0;  // cells in front, in it and behind it
  };

  // Which part of n cells lies between two ends, as Python counts them.
  static Part part_of(std::optional<Size> start, std::optional<Size> stop, Size n) {
    const auto placed = [n](Size at) { return std::clamp<Size>(at < 0 ? at + n : at, 0, n); };
    const Size begin = start ? placed(*start) : 0, end = std::max(begin, stop ? placed(*stop) : n);
    return {begin, end - begin, n - end};
  }

  // x[:, t // 2:]: where it begins and how long it is follow from a size that is free. Nothing: it is another slice.
  Result<std::optional<Value>> freely_cut(const python::Cut& cut, Size axis) {
    auto* free_start = cut.start.as<FreeSize>();
    auto* free_stop = cut.stop.as<FreeSize>();
    const bool has_step = !cut.step.is_none() && !(cut.step.is_whole() && cut.step.whole() == 1);
    const bool to_size = free_stop && free_stop->is_size() && cut.start.is_none();
    if (has_step || (!free_start && !free_stop)) return std::nullopt;
    const auto id = tracer_.value_of(*now_.as<SourceTensor>());
    if (!id) return std::unexpected(id.error());
    const Dim own = tracer_.graph[*id].type.shape[static_cast<std::size_t>(axis)];
    if (!own.known() && tracer_.graph[*id].type.rank() == 1 && free_start && free_start->is_size() &&
        cut.stop.is_none()) {
      const auto made =
          tracer_.call(in_, behind_row, {{"axis", free_start->axis}}, {{"input", *id}, {"like", free_start->tensor}});
      if (!made) return std::unexpected(made.error());
      return tracer_.tensor(in_, (*made)[0]);
    }
    auto* size =
        in_.make<FreeSize>(*id, axis, "size " + std::to_string(axis) + " of " + text_of(tracer_.graph[*id].type.shape));
    ValueList read{cut.start, cut.stop};
    if (!own.known()) read.push_back(Value::of(size));
    // The part, in numbers of what its ends are computed of.
    const auto part = [&, start = cut.start, stop = cut.stop, length = own.known() ? Value::of(*own) : Value::of(size)](
                          Interpreter& with, const FreeSize::Cells& cells) -> Result<Part> {
      const auto whole = [&](const Value& value) -> Result<std::optional<Size>> {
        if (value.is_none()) return std::nullopt;
        const auto* free = value.as<FreeSize>();
        const auto number = free ? free->number(with, cells) : Made(value);
        if (!number) return std::unexpected(number.error());
        if (!number->is_whole()) return fail(Fault::Format, "a slice by " + python::repr(with, *number));
        return number->whole();
      };
      const auto begin = whole(start), end = whole(stop), n = whole(length);
      if (!begin) return std::unexpected(begin.error());
      if (!end) return std::unexpected(end.error());
      if (!n) return std::unexpected(n.error());
      return part_of(*begin, *end, **n);
    };
    if (!own.known()) {
      auto made = cut_evenly(axis, read, part);
      if (!made || *made) return made;
    }
    if (to_size) return std::nullopt;
    return cut_freely(*id, axis, read, part);
  }

  using PartOf = std::function<Result<Part>(Interpreter&, const FreeSize::Cells&)>;
  using NumberOf = std::function<std::optional<Size>(const Part&)>;
  // A number of the part; none where `which` has none.
  FreeSize& computed(std::string words, const ValueList& read, const PartOf& part, const NumberOf& which) {
    return *computed_of(
        in_, std::move(words), read, [part, which](Interpreter& with, const FreeSize::Cells& cells) -> Made {
          const auto found = part(with, cells);
          if (!found) return std::unexpected(found.error());
          const auto number = which(*found);
          return number ? Made(Value::of(*number)) : Made(fail(Fault::Usage, "an empty part has no begin"));
        });
  }
  // Where an empty part lies does not matter.
  const FreeSize& begin_of(const ValueList& read, const PartOf& part) {
    return computed("the begin of a slice", read, part,
                    [](const Part& p) { return p.length > 0 ? std::optional(p.begin) : std::nullopt; });
  }

  // As many cells are left out in front and behind at every size. Nothing: they are not.
  Result<std::optional<Value>> cut_evenly(Size axis, const ValueList& read, const PartOf& part) {
    const auto before = constant_of(tracer_, in_, begin_of(read, part));
    if (!before) return std::unexpected(before.error());
    if (!*before) return std::nullopt;
    const auto behind = constant_of(tracer_, in_, computed("the end of a slice", read, part, [](const Part& p) {
                                      return p.length > 0 ? std::optional(p.behind) : std::nullopt;
                                    }));
    if (!behind) return std::unexpected(behind.error());
    if (!*behind) return std::nullopt;
    // Nothing is left at the same sizes, too.
    const auto differs =
        constant_of(tracer_, in_,
                    computed("a slice", read, part, [out = **before + **behind](const Part& p) -> std::optional<Size> {
                      return p.length == std::max<Size>(0, p.begin + p.length + p.behind - out) ? 0 : 1;
                    }));
    if (!differs) return std::unexpected(differs.error());
    if (!*differs || **differs != 0) return std::nullopt;
    const Value stop = **behind == 0 ? Value{} : Value::of(-**behind);
    const auto made = slice(*in_.make<python::Cut>(Value::of(**before), stop, Value{}), axis);
    if (!made) return std::unexpected(made.error());
    return *made;
  }

  Result<std::optional<Value>> cut_freely(ValueId x, Size axis, const ValueList& read, const PartOf& part) {
    FreeSize& size =
        computed("the length of a slice", read, part, [](const Part& p) { return std::optional(p.length); });
    const auto length = length_of(tracer_, in_, size);
    if (!length) return std::unexpected(length.error());
    const auto start = number_of(tracer_, in_, begin_of(read, part));
    if (!start) return std::unexpected(start.error());
    const auto begin = tracer_.value_of(*start->as<SourceTensor>());
    if (!begin) return std::unexpected(begin.error());
    const auto made =
        tracer_.call(in_, cut_row, {{"dim", axis}}, {{"input", x}, {"like", (*length)->tensor}, {"start", *begin}});
    if (!made) return std::unexpected(made.error());
    return tracer_.tensor(in_, (*made)[0]);
  }

  Made slice(const python::Cut& cut, Size axis) {
    auto part = freely_cut(cut, axis);
    if (!part) return pass(part);
    if (*part) return **part;
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
