// Arguments that hold sizes which are known only when the model runs.
#include "formats/free_reshape.h"
#include "formats/keras/operation.h"
#include "formats/stretch.h"

#include <algorithm>
#include <cmath>

namespace convoy::keras {
namespace {

constexpr const char* free_size = "__size__";

bool is_free_size(const Json& value) {
  const auto name = value.is_object() ? value.find("class_name") : value.end();
  return value.is_object() && name != value.end() && *name == free_size;
}

// So many times the size of a tensor, and something added; of a size that turns out to be known, the number.
Number number_of(Call& call, const Json& size) {
  const auto config = size.find("config");
  if (config == size.end() || !config->is_object() || !config->contains("tensor")) return {};
  const auto member = [&](const char* word) -> const Json& {
    static const Json none;
    const auto found = config->find(word);
    return found == config->end() ? none : *found;
  };
  const Json& tensor = member("tensor");
  const auto index = tensor.is_object() ? tensor.find("$tensor") : tensor.end();
  const Json &axis = member("axis"), &times = member("times"), &added = member("added");
  const bool is_said = tensor.is_object() && index != tensor.end() && index->is_number_unsigned() &&
                       axis.is_number_integer() && times.is_number() && added.is_number_integer();
  if (!is_said || index->get<std::size_t>() >= call.inputs.size()) {
    call.refuse(Fault::Format, "a size is that of no tensor");
    return {};
  }
  const ValueId of = call.inputs[index->get<std::size_t>()];
  const Size at = call.axis(axis.get<Size>(), call.rank(of));
  if (call.failed()) return {};
  const Dim known = call.dim(of, at);
  const auto ids = known.known() ? std::vector<SizeId>{} : call.builder().known_sizes().of(of);
  if (!known.known() && static_cast<std::size_t>(at) >= ids.size()) return {};
  const Number one = known.known() ? Number::of(static_cast<std::int64_t>(*known))
                                   : Number::multiple(1, ids[static_cast<std::size_t>(at)]);
  const double factor = times.get<double>();
  if (factor != std::floor(factor) || std::abs(factor) > 1e9) return {};
  const Number many = of_whole(BinaryFunction::Multiply, one, Number::of(static_cast<std::int64_t>(factor)));
  return of_whole(BinaryFunction::Add, many, Number::of(added.get<std::int64_t>()));
}

}  // namespace

bool holds_free_size(const Json* value) {
  if (!value) return false;
  const Json* list = Attrs::tuple_of(value);
  return is_free_size(*value) || (list->is_array() && std::ranges::any_of(*list, is_free_size));
}

Numbers sizes_in(Call& call, const Json* value, std::string_view name, ValueId x) {
  Numbers sizes;
  if (call.failed() || !value) return sizes;
  const Json* said = Attrs::tuple_of(value);
  const Json alone = Json::array({*said});
  for (const Json& one : said->is_array() ? *said : alone) {
    const auto at = static_cast<Size>(sizes.all.size());
    if (is_free_size(one)) sizes.all.push_back(number_of(call, one));
    else if (!one.is_null()) sizes.all.push_back(Number::of(call.attrs.integer_of(&one, name)));
    else if (at < call.rank(x) && !call.dim(x, at).known())
      sizes.all.push_back(Number::multiple(1, call.builder().known_sizes().of(x)[static_cast<std::size_t>(at)]));
    else
      call.refuse(Fault::Unsupported,
                  "argument '" + std::string(name) + "' holds a size that is free; give it with --shape");
    if (call.failed()) break;
  }
  sizes.shape = {std::ssize(sizes.all)};
  return sizes;
}

ValueId stretched(Call& call, ValueId x, const Numbers& shape) {
  if (call.failed()) return {};
  Builder& builder = call.builder();
  const std::size_t first = builder.graph.nodes.size();
  auto made = stretch(builder.graph, builder.known_sizes(), x, shape, call.full_name());
  call.adopt(first);
  if (made) return *made;
  call.refuse(made.error().fault, made.error().what);
  return {};
}

ValueId reshaped(Call& call, ValueId x, const Numbers& shape) {
  for (const Number& n : shape.all)
    if (n.kind == Number::Kind::Whole && n.whole != -1 && n.whole < 1)
      call.refuse(Fault::Format, "a new shape holds " + std::to_string(n.whole));
  if (call.failed()) return {};
  Builder& builder = call.builder();
  UnknownSizes& sizes = builder.known_sizes();
  const Shaped data{call.type(x).shape, sizes.of(x)};
  if (const auto target = reshape_target(shape, data)) {
    const auto to = target->raw<std::int64_t>();
    return call.add(Reshape{{to.begin(), to.end()}}, {x});
  }
  const std::size_t first = builder.graph.nodes.size();
  const auto owned = shape_by_owners(builder.graph, sizes, shape, data, call.full_name());
  if (!owned) {
    call.refuse(Fault::Unsupported, "a new shape holds several sizes that are free; give them with --shape");
    return {};
  }
  Json words{{"kept", owned->kept}};
  if (!owned->from.empty()) words["from"] = owned->from;
  FunctionCall inner(builder.graph, "reshape", words, owned->likes, call.full_name());
  const Values made = reshape_keeping(inner, x, owned->to);
  call.adopt(first);
  if (auto done = inner.done(); !done) call.refuse(done.error().fault, done.error().what);
  return call.failed() ? ValueId{} : made.front();
}

ValueId first_cells(Call& call, ValueId x, Size axis, const Number& count) {
  if (call.failed()) return {};
  if (count.kind == Number::Kind::Whole) return call.add(Slice{axis, std::nullopt, count.whole, 1}, {x});
  Builder& builder = call.builder();
  UnknownSizes& sizes = builder.known_sizes();
  const auto& own = sizes.of(x);
  const bool is_whole =
      !call.dim(x, axis).known() && count.is_multiple(1) && own[static_cast<std::size_t>(axis)] == count.size;
  if (is_whole) return x;
  const auto owner = count.is_multiple(1) ? owner_of(builder.graph, sizes, count.size) : std::nullopt;
  if (!owner) {
    call.refuse(Fault::Unsupported, "is cut at a size that is computed from free ones; give them with --shape");
    return {};
  }
  const std::size_t first = builder.graph.nodes.size();
  const Json none = Json::object();
  FunctionCall inner(builder.graph, "arange", none, {}, call.full_name() + "/places");
  const ValueId places = counted_along(inner, owner->value, owner->axis);
  call.adopt(first);
  if (auto done = inner.done(); !done) call.refuse(done.error().fault, done.error().what);
  return call.add(Gather{axis}, {x, places});
}

}  // namespace convoy::keras
