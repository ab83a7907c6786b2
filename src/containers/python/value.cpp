// Names, arguments, and what objects answer that override nothing.
#include "containers/python/value.h"

#include "containers/python/formatting.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace convoy::python {

std::optional<Value> Arguments::take(std::string_view name) {
  const auto found = std::ranges::find(named, name, &std::pair<std::string, Value>::first);
  if (found == named.end()) return std::nullopt;
  const Value value = found->second;
  named.erase(found);
  return value;
}

const Value* NameTable::find(const std::string& name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : &all_[found->second].second;
}

void NameTable::set(const std::string& name, Value value) {
  const auto [found, added] = places_.try_emplace(name, all_.size());
  if (added) all_.emplace_back(name, value);
  else all_[found->second].second = value;
}

bool NameTable::erase(const std::string& name) {
  const auto found = places_.find(name);
  if (found == places_.end()) return false;
  all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(found->second));
  places_.clear();
  for (std::size_t i = 0; i < all_.size(); ++i) places_[all_[i].first] = i;
  return true;
}

namespace {

std::unexpected<Error> cannot(const Object& object, std::string_view what) {
  return fail(Fault::Unsupported, "a " + object.type_name() + " " + std::string(what));
}

}  // namespace

Result<std::optional<Value>> Object::attribute(Interpreter&, const std::string&) { return std::nullopt; }
Status Object::set_attribute(Interpreter&, const std::string& name, Value) {
  return cannot(*this, "has no attribute '" + name + "' that could be set");
}
Result<Value> Object::call(Interpreter&, Arguments&) { return cannot(*this, "cannot be called"); }
Result<Value> Object::item(Interpreter&, Value) { return cannot(*this, "has no items"); }
Status Object::set_item(Interpreter&, Value, Value) { return cannot(*this, "has no items that could be set"); }
Status Object::delete_item(Interpreter&, Value) { return cannot(*this, "has no items that could be deleted"); }
Result<std::optional<Value>> Object::binary(Interpreter&, std::string_view, Value, bool) { return std::nullopt; }
Result<std::optional<Value>> Object::augmented(Interpreter&, std::string_view, Value) { return std::nullopt; }
Result<std::optional<Value>> Object::unary(Interpreter&, std::string_view) { return std::nullopt; }
Result<bool> Object::truth(Interpreter&) { return true; }
Result<Size> Object::length(Interpreter&) { return cannot(*this, "has no length"); }
Result<ValueList> Object::elements(Interpreter&) { return cannot(*this, "cannot be gone through"); }
Result<bool> Object::contains(Interpreter& in, Value value) {
  const auto all = iterator(in);
  return all ? (*all)->contains(in, value) : std::unexpected(all.error());
}

const Sequence* tuple_in(const Value& value) {
  const auto* instance = value.as<Instance>();
  const auto* all = instance ? dynamic_cast<const Sequence*>(instance->extra) : value.as<Sequence>();
  return all && all->is_tuple ? all : nullptr;
}

std::string type_name(const Value& value) {
  switch (value.type()) {
    case Value::Type::None: return "None";
    case Value::Type::Ellipsis: return "ellipsis";
    case Value::Type::Truth: return "bool";
    case Value::Type::Integer: return "int";
    case Value::Type::Real: return "float";
    case Value::Type::Object: return value.object()->type_name();
  }
  return "object";
}

std::string text_of_real(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  char digits[40];
  const bool plain = x == 0 || (std::abs(x) >= 1e-4 && std::abs(x) < 1e16);
  const auto end =
      std::to_chars(digits, digits + sizeof digits, x, plain ? std::chars_format::fixed : std::chars_format::scientific)
          .ptr;
  std::string text(digits, end);
  if (plain && text.find('.') == std::string::npos) text += ".0";
  return text;
}

namespace {

void write(Interpreter& in, const Value& value, std::string& out, int depth) {
  constexpr std::size_t longest = 400;
  if (out.size() > longest || depth > 8) {
    out += "...";
    return;
  }
  switch (value.type()) {
    case Value::Type::None: out += "None"; return;
    case Value::Type::Ellipsis: out += "Ellipsis"; return;
    case Value::Type::Truth: out += value.whole() ? "True" : "False"; return;
    case Value::Type::Integer: out += std::to_string(value.whole()); return;
    case Value::Type::Real: out += text_of_real(value.real()); return;
    case Value::Type::Object: break;
  }
  if (const auto* text = value.as<Text>()) {
    out += "'" + text->text.substr(0, longest) + "'";
  } else if (const auto* all = value.as<Sequence>()) {
    out += all->is_tuple ? "(" : "[";
    for (std::size_t i = 0; i < all->items.size() && out.size() <= longest; ++i) {
      if (i) out += ", ";
      write(in, all->items[i], out, depth + 1);
    }
    out += all->is_tuple ? (all->items.size() == 1 ? ",)" : ")") : "]";
  } else if (const auto* map = value.as<Mapping>()) {
    out += "{";
    for (std::size_t i = 0; i < map->entries.size() && out.size() <= longest; ++i) {
      if (i) out += ", ";
      write(in, map->entries[i].first, out, depth + 1);
      if (map->is_set) continue;
      out += ": ";
      write(in, map->entries[i].second, out, depth + 1);
    }
    out += "}";
  } else if (const auto* type = value.as<Class>()) {
    out += "<class '" + type->name + "'>";
  } else {
    out += "<" + value.object()->type_name() + ">";
  }
}

}  // namespace

std::string repr(Interpreter& in, const Value& value) {
  std::string out;
  write(in, value, out, 0);
  return out;
}

}  // namespace convoy::python
