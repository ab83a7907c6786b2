#include "explain/paste_values.h"
#include "base/words.h"

#include <algorithm>
#include <array>
#include <utility>

namespace convoy::explain {
namespace {

using python::Expression;
using python::Kind;

constexpr std::size_t longest_definition = 4000, longest_line = 300, most_axes = 8;
constexpr Size most_cells_of_axis = Size{1} << 24;

bool is_unfinished(std::string_view line) {
  line = line.substr(0, line.find('#'));
  const std::size_t last = line.find_last_not_of(" \t\r");
  return last != std::string_view::npos && std::string_view(",([{\\").find(line[last]) != std::string_view::npos;
}

// Of `a = b` and `a += b` the place of the sign, not of `a == b` or `a <= b`.
std::size_t assignment_in(std::string_view line) {
  for (std::size_t i = line.find('='); i != std::string_view::npos; i = line.find('=', i + 1)) {
    if (i + 1 < line.size() && line[i + 1] == '=') {
      ++i;
      continue;
    }
    if (i == 0 || std::string_view("<>!").find(line[i - 1]) == std::string_view::npos) return i;
  }
  return std::string_view::npos;
}

bool is_plain(const Expression& value) {
  using enum Kind;
  if (value.kind == Tuple || value.kind == List) return std::ranges::all_of(value.items, is_plain);
  return value.kind == Integer || value.kind == Real || value.kind == String || value.kind == Truth;
}

std::string_view last_name(std::string_view dotted) { return dotted.substr(dotted.rfind('.') + 1); }

// What makes a tensor of a shape, holds one, or is one of the same shape.
constexpr std::array<std::string_view, 9> makers{
    "empty", "zeros", "ones", "rand", "randn", "full", "normal", "uniform", "truncated_normal"};
constexpr std::array<std::string_view, 14> wrappers{
    "Tensor", "tensor",  "from_numpy", "convert_to_tensor", "constant", "Variable",  "Parameter",
    "array",  "asarray", "as_tensor",  "float32",           "cast",     "ones_like", "zeros_like"};
constexpr std::array<std::string_view, 12> keepers{"numpy",      "float",  "double", "half",
                                                   "cuda",       "cpu",    "to",     "clone",
                                                   "contiguous", "astype", "detach", "requires_grad_"};

const Expression* keyword(const Expression& call, std::string_view one, std::string_view other) {
  for (const auto& argument : call.arguments)
    if (argument.keyword == one || argument.keyword == other) return &argument.value;
  return nullptr;
}
std::vector<const Expression*> placed(const Expression& call) {
  std::vector<const Expression*> all;
  for (const auto& argument : call.arguments)
    if (argument.keyword.empty()) all.push_back(&argument.value);
  return all;
}

// (3, 4), [3, 4] or each by its place. Nothing: another thing, or too large.
std::optional<Sizes> numbers_of(const Expression& list) {
  if (list.kind != Kind::Tuple && list.kind != Kind::List) return std::nullopt;
  Sizes all;
  for (const Expression& item : list.items) {
    if (item.kind != Kind::Integer || item.integer < 0 || item.integer > most_cells_of_axis) return std::nullopt;
    all.push_back(item.integer);
  }
  return all.empty() || all.size() > most_axes ? std::nullopt : std::optional(all);
}
std::optional<Sizes> numbers_of(const std::vector<const Expression*>& arguments) {
  if (arguments.empty()) return std::nullopt;
  if (arguments.front()->kind != Kind::Integer) return numbers_of(*arguments.front());
  Expression list{.kind = Kind::List};
  for (const Expression* one : arguments) list.items.push_back(*one);
  return numbers_of(list);
}

// Lists within lists, as long as each other.
std::optional<Sizes> shape_of_list(const Expression& value, std::size_t depth = 0) {
  if (value.kind == Kind::Integer || value.kind == Kind::Real) return Sizes{};
  if ((value.kind != Kind::List && value.kind != Kind::Tuple) || value.items.empty() || depth == most_axes)
    return std::nullopt;
  const auto inner = shape_of_list(value.items.front(), depth + 1);
  for (const Expression& item : value.items)
    if (!inner || shape_of_list(item, depth + 1) != inner) return std::nullopt;
  Sizes all{static_cast<Size>(value.items.size())};
  all.insert(all.end(), inner->begin(), inner->end());
  return all;
}

std::optional<Sizes> permuted(const std::optional<Sizes>& shape, const std::optional<Sizes>& order) {
  if (!shape || !order || order->size() != shape->size()) return std::nullopt;
  Sizes all, sorted = *order;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<Size>(i)) return std::nullopt;
  for (const Size axis : *order) all.push_back((*shape)[static_cast<std::size_t>(axis)]);
  return all;
}

}  // namespace

std::size_t behind_name(std::string_view text, std::size_t at) {
  while (at < text.size() && in_name(text[at])) ++at;
  return at;
}

void PastedValues::advance(std::size_t at) {
  while (true) {
    const std::size_t end = text_.find('\n', next_);
    const bool is_last = end == std::string::npos || end >= at;
    const std::string_view line = std::string_view(text_).substr(next_, is_last ? std::string::npos : end - next_);
    const std::size_t indent = line.find_first_not_of(" \t\r");
    if (indent != std::string_view::npos && line[indent] != '\n') {
      if (!goes_on_) leave_blocks(indent);
      if (!is_last) read(line, indent);
      is_in_brackets_ = line.find_first_of("([{=") != std::string_view::npos;
    } else if (!is_in_brackets_) {
      goes_on_ = false;  // a sentence that ended in a comma
    }
    if (is_last) return;
    next_ = end + 1;
  }
}

const PastedValues::Known* PastedValues::find(std::string_view name) const {
  for (std::size_t i = known_.size(); i-- > 0;)
    if (known_[i].name == name) return &known_[i];
  return nullptr;
}

std::optional<std::string> PastedValues::of(std::string_view name) const {
  const Known* known = find(name);
  return known ? known->value : std::nullopt;
}

// Of what a function's block knew nothing is left; what a block under a condition made of a name may hold or not.
void PastedValues::leave_blocks(std::size_t indent) {
  std::vector<std::string> doubtful;
  std::erase_if(known_, [&](const Known& one) {
    if (one.indent <= indent) return false;
    const auto definition = std::ranges::find_if(definitions_.rbegin(), definitions_.rend(),
                                                 [&](std::size_t at) { return at < one.indent; });
    if (definition == definitions_.rend() || *definition < indent) doubtful.push_back(one.name);
    return true;
  });
  for (std::string& name : doubtful) known_.push_back({std::move(name), indent, {}, {}});
  std::erase_if(definitions_, [&](std::size_t at) { return at >= indent; });
}

void PastedValues::forget_all(std::string_view names, std::size_t indent) {
  for (std::size_t i = 0; i < names.size();) {
    const std::size_t end = behind_name(names, i);
    if (end > i) known_.push_back({std::string(names.substr(i, end - i)), indent, {}, {}});
    i = std::max(end, i + 1);
  }
}

void PastedValues::read(std::string_view whole, std::size_t indent) {
  const std::string_view line = whole.substr(indent);
  const bool goes_on = std::exchange(goes_on_, is_unfinished(line));
  if (line.starts_with("def ") || line.starts_with("class ") || line.starts_with("lambda ")) {
    definitions_.push_back(indent);
    const std::size_t from = next_ + indent, end = std::min(text_.find(')', from), from + longest_definition);
    return forget_all(std::string_view(text_).substr(from, end - from), indent + 1);
  }
  if (line.starts_with("for ")) return forget_all(line.substr(4, line.find(" in ") - 4), indent);
  const std::size_t equals = assignment_in(line);
  if (goes_on || line.size() > longest_line || equals == std::string_view::npos || equals == 0) return;
  const std::string_view names = line.substr(0, equals);
  if (names.find('(') != std::string_view::npos) return;  // a keyword
  const std::size_t end = behind_name(names);
  const bool is_one = end > 0 && names.find_first_not_of(' ', end) == std::string_view::npos;
  if (!is_one) return forget_all(names, indent);
  assign(names.substr(0, end), line.substr(equals + 1), indent);
}

void PastedValues::assign(std::string_view name, std::string_view text, std::size_t indent) {
  text = text.substr(0, text.find('#'));
  Known known{std::string(name), indent, {}, {}};
  const auto value = is_unfinished(text) ? Result<Expression>(fail(Fault::Format, "")) : python::parse_expression(text);
  if (value) {
    // tf.constant([[1, 1]]) is what it holds.
    const Expression* held = &*value;
    if (held->kind == Kind::Call && held->base[0].kind == Kind::Name && !held->arguments.empty() &&
        is_among(wrappers, last_name(held->base[0].text)))
      held = &held->arguments.front().value;
    if (is_plain(*held)) known.value = python::source_of(*held, text);
    known.shape = shape_of(*value);
  }
  known_.push_back(std::move(known));
}

std::optional<Sizes> PastedValues::shape_of(const Expression& expression) const {
  if (expression.kind == Kind::Name) {
    const Known* known = find(expression.text);
    return known ? known->shape : std::nullopt;
  }
  return expression.kind == Kind::Call ? shape_of_call(expression) : std::nullopt;
}

std::optional<Sizes> PastedValues::shape_of_call(const Expression& call) const {
  const Expression& callee = call.base[0];
  if (callee.kind != Kind::Name && callee.kind != Kind::Attribute) return std::nullopt;
  const std::string_view name = last_name(callee.text);
  const auto arguments = placed(call);
  // x.permute(...), x.float().permute(...): what the method belongs to has a shape.
  std::optional<Sizes> object;
  if (callee.kind == Kind::Attribute) object = shape_of(callee.base[0]);
  else if (const std::size_t dot = callee.text.rfind('.'); dot != std::string::npos)
    object = shape_of({.kind = Kind::Name, .text = callee.text.substr(0, dot)});
  if (object) {
    if (is_among(keepers, name)) return object;
    auto order = numbers_of(arguments);
    if (name == "transpose" && order && order->size() == 2 && object->size() != 2 && arguments.size() == 2) {
      if (std::ranges::any_of(*order, [&](Size axis) { return axis >= static_cast<Size>(object->size()); }))
        return std::nullopt;
      std::swap((*object)[static_cast<std::size_t>((*order)[0])], (*object)[static_cast<std::size_t>((*order)[1])]);
      return object;
    }
    if (name == "permute" || name == "transpose") return permuted(object, order);
    return name == "reshape" || name == "view" ? order : std::nullopt;
  }
  if (is_among(makers, name)) {
    const Expression* size = keyword(call, "size", "shape");
    return size ? numbers_of(*size) : numbers_of(arguments);
  }
  if (arguments.empty()) return std::nullopt;
  if (is_among(wrappers, name)) {
    const auto list = shape_of_list(*arguments.front());
    return list && !list->empty() ? list : shape_of(*arguments.front());
  }
  if (name == "transpose" || name == "permute") {
    const Expression* order = keyword(call, "perm", "axes");
    if (!order && arguments.size() == 2) order = arguments[1];
    return order ? permuted(shape_of(*arguments.front()), numbers_of(*order)) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace convoy::explain
