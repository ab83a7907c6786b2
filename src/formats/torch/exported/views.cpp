// Source: ATen/native/TensorShape.cpp, native_functions.yaml (the alias annotations).
#include "formats/torch/exported/views.h"

#include "base/words.h"
#include "formats/torch/catalogue/views.h"
#include "formats/torch/exported/archive.h"
#include "formats/torch/exported/arguments.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace convoy::torch {
namespace {

constexpr std::array looks{"transpose_", "t_", "unsqueeze_", "squeeze_", "detach_", "swapaxes_", "swapdims_"};

constexpr std::array perhaps{"reshape", "flatten", "reshape_as", "ravel"};
constexpr std::array casts{"to", "type_as"};

std::unexpected<Error> unknown_way(const std::string& operation) {
  return fail(Fault::Unsupported, "changes a tensor through '" + operation + "', which is not followed");
}
Result<WayBack> way_back(const Json& said) {
  const Json* dims = member(said, "dims");
  if (!dims || !dims->is_array()) return fail(Fault::Format, "has no dims");
  Json back = *dims;
  const auto rank = static_cast<Size>(dims->size());
  for (Size i = 0; i < rank; ++i) {
    const Json& one = (*dims)[static_cast<std::size_t>(i)];
    if (!one.is_number_integer()) return fail(Fault::Format, "has dims that are no whole numbers");
    const Size axis = one.get<Size>() < 0 ? one.get<Size>() + rank : one.get<Size>();
    if (axis < 0 || axis >= rank) return fail(Fault::Format, "has a dim that there is not");
    back[static_cast<std::size_t>(axis)] = i;
  }
  return WayBack{"permute.default", {{"dims", std::move(back)}}};
}

}  // namespace

void Views::add(const std::string& name, View view) {
  const std::string of = view.of;
  if (name != of && views_.emplace(name, std::move(view)).second) shown_[of].push_back(name);
}

const View* Views::find(const std::string& name) const {
  const auto found = views_.find(name);
  return found == views_.end() ? nullptr : &found->second;
}

const std::string& Views::whole(const std::string& name) const {
  const std::string* at = &name;
  std::set<std::string_view> seen{name};  // views that show each other
  for (const View* view = find(*at); view && seen.insert(view->of).second; view = find(*at)) at = &view->of;
  return *at;
}

const std::vector<std::string>& Views::shown(const std::string& name) const {
  static const std::vector<std::string> none;
  const auto found = shown_.find(name);
  return found == shown_.end() ? none : found->second;
}

Sharing sharing_of(std::string_view operation) {
  if (operation == "contiguous") return Sharing::WhereRowMajor;
  if (is_among(perhaps, operation)) return Sharing::PerhapsWhereRowMajor;
  if (is_among(casts, operation)) return Sharing::Never;  // where they give another tensor
  return is_among(looks, operation) || may_share_memory(operation) ? Sharing::Always : Sharing::Never;
}

bool changes_in_place(std::string_view operation) {
  return operation.size() > 1 && operation.ends_with('_') && !operation.starts_with("__") &&
         !is_among(looks, operation);
}

bool is_row_major(const Json* meta) {
  const auto sizes = Symbols::sizes_of(meta);
  const Json* strides = meta ? member(*meta, "strides") : nullptr;
  if (!strides || !strides->is_array() || strides->size() != sizes.size()) return false;
  Size inner = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i].known == Size{1}) continue;
    const Json* stride = member((*strides)[i], "as_int");
    if (!stride || !stride->is_number_integer() || stride->get<Size>() != inner) return false;
    if (i == 0) break;
    if (!sizes[i].known || *sizes[i].known > (Size{1} << 40) / std::max<Size>(1, inner)) return false;
    inner *= *sizes[i].known;
  }
  return true;
}

bool have_same_strides(const Json* a, const Json* b) {
  const Json *x = a ? member(*a, "strides") : nullptr, *y = b ? member(*b, "strides") : nullptr;
  return x && y && *x == *y;
}

Result<WayBack> way_back(const View& view, const Json& said, const Shape& whole) {
  const std::string& operation = view.operation;
  if (operation == "slice") return WayBack{"slice_scatter.default", said};
  if (operation == "select") return WayBack{"select_scatter.default", said};
  const Json* dim = member(said, "dim");
  if (operation == "unbind")
    return WayBack{"select_scatter.default", {{"dim", dim ? *dim : Json(0)}, {"index", view.part}}};
  if (operation == "unsqueeze") return WayBack{"squeeze.dim", said};
  if (operation == "squeeze" && dim && dim->is_number_integer()) {
    const auto rank = static_cast<Size>(whole.size());
    const Size axis = dim->get<Size>() + (dim->get<Size>() < 0 ? rank : 0);
    const bool is_one = axis >= 0 && axis < rank && whole[static_cast<std::size_t>(axis)] == Dim(1);
    return is_one ? WayBack{"unsqueeze.default", said} : WayBack{};  // another axis stays
  }
  if (operation == "transpose") return WayBack{"transpose.int", said};
  if (operation == "t") return WayBack{"transpose.int", {{"dim0", 0}, {"dim1", 1}}};
  if (operation == "permute") return way_back(said);
  if (operation == "alias" || operation == "detach" || operation == "contiguous" || operation == "to" ||
      operation == "type_as" || operation == "positive" || operation == "real" || operation.contains("conj") ||
      operation == "resolve_neg" || operation.ends_with("dropout"))
    return WayBack{};
  constexpr std::string_view regrouping[] = {"view",    "reshape", "flatten",    "unflatten",  "squeeze",
                                             "view_as", "ravel",   "atleast_1d", "atleast_2d", "atleast_3d"};
  if (std::ranges::find(regrouping, operation) == std::end(regrouping)) return unknown_way(operation);
  Json shape = Json::array();
  for (const Dim n : whole) shape.push_back(n.known() ? *n : -1);
  if (std::ranges::count(shape, Json(-1)) > 1) return unknown_way(operation);
  return WayBack{"reshape.default", {{"shape", std::move(shape)}}};
}

}  // namespace convoy::torch
