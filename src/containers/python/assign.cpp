// Putting values where names, attributes and items are, and taking them away.
#include "containers/python/evaluator.h"
#include "containers/python/vector.h"

#include <algorithm>
#include <optional>

namespace convoy::python {

void Evaluator::set(const std::string& name, Value value) {
  const auto named = [&](const std::vector<std::string>& names) {
    return std::ranges::find(names, name) != names.end();
  };
  if (named(scope_.global_names) && file_.scope) return file_.scope->names.set(name, value);
  if (named(scope_.outer_names))
    for (Scope* scope = scope_.outer; scope; scope = scope->outer)
      if (!scope->class_of_body && scope->names.find(name)) return scope->names.set(name, value);
  scope_.names.set(name, value);
}

Status Evaluator::assign(const Syntax& target, Value given) {
  switch (target.kind) {
    case SyntaxKind::Name: set(target.text, given); return in_.charge(48);
    case SyntaxKind::Attribute: {
      const auto object = value(target.parts[0]);
      if (!object) return std::unexpected(object.error());
      return at(target, in_.set_attribute(*object, target.text, given));
    }
    case SyntaxKind::Subscript: {
      const auto object = value(target.parts[0]);
      if (!object) return std::unexpected(object.error());
      const auto key = value(target.parts[1]);
      if (!key) return std::unexpected(key.error());
      if (!object->is_object()) return refused(target, "a " + type_name(*object) + " has no items");
      return at(target, object->object()->set_item(in_, *key, given));
    }
    case SyntaxKind::Tuple:
    case SyntaxKind::List: return unpack(target, given);
    default: return refused(target, "cannot be assigned to", Fault::Format);
  }
}

Status Evaluator::unpack(const Syntax& target, Value given) {
  const auto all = in_.elements(given);
  if (!all) return at(target, Status(std::unexpected(all.error())));
  const auto star = std::ranges::find(target.parts, SyntaxKind::Starred, &Syntax::kind);
  const std::size_t names = target.parts.size();
  if (star == target.parts.end() ? all->size() != names : all->size() + 1 < names)
    return refused(target, std::to_string(all->size()) + " values for " + std::to_string(names) + " names",
                   Fault::Format);
  std::size_t next = 0;
  for (const Syntax& part : target.parts) {
    if (part.kind != SyntaxKind::Starred) {
      if (auto put = assign(part, (*all)[next++]); !put) return put;
      continue;
    }
    const std::size_t count = all->size() + 1 - names;
    ValueList rest(all->begin() + static_cast<std::ptrdiff_t>(next),
                   all->begin() + static_cast<std::ptrdiff_t>(next + count));
    next += count;
    if (auto put = assign(part.parts[0], in_.list(std::move(rest))); !put) return put;
  }
  return {};
}

Status Evaluator::augmented(const Syntax& s) {
  const Syntax& target = s.parts[0];
  Value object, key;
  Result<Value> old = Value();
  if (target.kind == SyntaxKind::Name) {
    old = value(target);
  } else {
    const auto holder = value(target.parts[0]);
    if (!holder) return std::unexpected(holder.error());
    object = *holder;
    if (target.kind == SyntaxKind::Attribute) {
      old = at(target, in_.attribute(object, target.text));
    } else {
      const auto index = value(target.parts[1]);
      if (!index) return std::unexpected(index.error());
      key = *index;
      old = at(target, in_.item(object, key));
    }
  }
  if (!old) return pass(old);
  const auto operand = value(s.parts[1]);
  if (!operand) return std::unexpected(operand.error());
  std::optional<Value> made;
  const auto* part = target.kind == SyntaxKind::Subscript ? old->as<Vector>() : nullptr;
  const bool is_put_back = part && part->sources;  // a part of an array, which is written where it stands
  if (old->is_object() && !is_put_back) {
    auto own = old->object()->augmented(in_, s.text, *operand);
    if (!own) return pass(own);
    made = *own;
  }
  if (!made) {
    const auto usual = in_.binary(s.text, *old, *operand);
    if (!usual) return std::unexpected(usual.error());
    made = *usual;
  }
  if (target.kind == SyntaxKind::Name) set(target.text, *made);
  else if (target.kind == SyntaxKind::Attribute) return in_.set_attribute(object, target.text, *made);
  else return object.object()->set_item(in_, key, *made);
  return in_.charge(48);
}

Status Evaluator::remove(const Syntax& target) {
  if (target.kind == SyntaxKind::Tuple || target.kind == SyntaxKind::List) {
    for (const Syntax& part : target.parts)
      if (auto gone = remove(part); !gone) return gone;
    return {};
  }
  if (target.kind == SyntaxKind::Name) {
    if (scope_.names.erase(target.text)) return {};
    return refused(target, "'" + target.text + "' is not defined here", Fault::Format);
  }
  if (target.kind != SyntaxKind::Attribute && target.kind != SyntaxKind::Subscript)
    return refused(target, "cannot be deleted", Fault::Format);
  const auto object = value(target.parts[0]);
  if (!object) return std::unexpected(object.error());
  if (target.kind == SyntaxKind::Attribute) {
    auto* instance = object->as<Instance>();
    if (instance && instance->attributes.erase(target.text)) return {};
    return refused(target, "has no attribute '" + target.text + "' to delete", Fault::Format);
  }
  const auto key = value(target.parts[1]);
  if (!key) return std::unexpected(key.error());
  if (!object->is_object()) return refused(target, "a " + type_name(*object) + " has no items");
  if (const auto* instance = object->as<Instance>())
    if (const Value* method = instance->type->find("__delitem__")) {
      auto gone = in_.call(*method, ValueList{*object, *key});
      if (!gone) return pass(gone);
      return {};
    }
  return object->object()->delete_item(in_, *key);
}

}  // namespace convoy::python
