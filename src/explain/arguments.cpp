#include "explain/arguments.h"

#include "base/nearest.h"
#include "base/words.h"
#include "explain/vocabularies.h"

#include <algorithm>

namespace convoy::explain {
namespace {

// Keras 2 calls Conv2D also Convolution2D: then the kernel's size is one argument, a pair.
std::vector<std::string_view> order_of(const Named& named, const std::vector<python::Argument>& given) {
  const bool alias = named.framework == Framework::Keras && named.function.starts_with("Convolution");
  const auto whole = [&](std::size_t i) {
    return i < given.size() && given[i].keyword.empty() && given[i].value.kind == python::Kind::Integer;
  };
  const auto said = [&](std::string_view word) {
    return std::ranges::any_of(given, [&](const python::Argument& a) { return a.keyword == word; });
  };
  const bool pair = given.size() > 1 && given[1].keyword.empty() &&
                    (given[1].value.kind == python::Kind::Tuple || given[1].value.kind == python::Kind::List);
  const bool today = said("filters") || said("kernel_size") || said("strides") || said("padding") ||
                     (named.function == "Convolution1D" && !said("border_mode"));
  if (alias && (pair || (today && !(whole(1) && whole(2)))))
    return words_in(*parameters_of({Framework::Keras, "Conv" + named.function.substr(named.function.size() - 2)}));
  return words_in(parameters_of(named).value_or(""));
}

}  // namespace

Result<Arguments> Arguments::bind(const Named& named, const std::vector<python::Argument>& given,
                                  std::string_view text) {
  Arguments bound;
  bound.text_ = text;
  const auto order = order_of(named, given);
  std::size_t place = 0;
  for (const python::Argument& a : given) {
    std::string name = a.keyword;
    if (!name.empty() && name[0] == '*')
      return fail(Fault::Usage, "'" + name + source_of(a.value, text) + "' is not evaluated; write the arguments");
    if (name.empty()) {
      if (place >= order.size())
        return fail(Fault::Usage, "has " + std::to_string(place + 1) + " arguments by place, takes at most " +
                                      std::to_string(order.size()));
      name = order[place++];
      if (name.ends_with("...")) return fail(Fault::Usage, "takes any number of inputs, which have no windows");
    } else if (!takes(named, name)) {
      return fail(Fault::Usage, "has no argument '" + name + "'" + did_you_mean(name, keywords_of(named)));
    }
    if (bound.has(name)) return fail(Fault::Usage, "argument '" + name + "' is given twice");
    bound.given_.push_back({std::move(name), &a.value});
  }
  return bound;
}

const python::Expression* Arguments::find(std::string_view name) const {
  const auto found = std::ranges::find(given_, name, &Given::name);
  return found == given_.end() ? nullptr : found->value;
}

Result<Json> Arguments::json(const std::vector<std::string_view>& without) const {
  Json object = Json::object();
  for (const auto& [name, value] : given_) {
    if (std::ranges::find(without, name) != without.end() || value->kind == python::Kind::None) continue;
    auto made = json_of(*value, text_);
    if (!made) return within("argument '" + name + "'", std::move(made));
    object[name] = std::move(*made);
  }
  return object;
}

Result<Json> json_of(const python::Expression& value, std::string_view text) {
  using python::Kind;
  switch (value.kind) {
    case Kind::None: return Json(nullptr);
    case Kind::Truth: return Json(value.truth);
    case Kind::Integer: return Json(value.integer);
    case Kind::Real: return Json(value.real);
    case Kind::String: return Json(value.text);
    case Kind::Tuple:
    case Kind::List: {
      Json list = Json::array();
      for (const auto& item : value.items) {
        auto made = json_of(item, text);
        if (!made) return made;
        list.push_back(std::move(*made));
      }
      return list;
    }
    default:
      return fail(Fault::Usage,
                  "'" + source_of(value, text) + "' is not evaluated; write the number or word it stands for");
  }
}

}  // namespace convoy::explain
