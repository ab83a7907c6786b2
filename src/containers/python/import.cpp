// import and from ... import. What cannot be read is an error only where it is used.
#include "containers/python/evaluator.h"
#include "containers/python/unread.h"

#include <algorithm>
#include <optional>

namespace convoy::python {
namespace {

// "torchvision/utils.py:556:36: what is wrong" in one line.
std::string sentence_of(const Error& e) {
  std::string what = e.what.substr(0, e.what.find('\n'));
  return e.where.empty() ? what : e.where + ": " + what;
}

}  // namespace

Result<Value> Evaluator::unread(const Syntax& alias, const std::string& name, const Error& why) {
  if (in_.forbidden_ || (why.fault != Fault::Unsupported && why.fault != Fault::Format && why.fault != Fault::Usage))
    return at(alias, Result<Value>(std::unexpected(why)));
  if (in_.tries_imports_ &&
      (in_.raised_ || !in_.placed_)) {  // not there; one that is there, but not understood, is no exception
    in_.raised_ = in_.builtins["ImportError"].as<Class>();
    return at(alias, Result<Value>(std::unexpected(why)));
  }
  in_.placed_ = false;
  in_.raised_ = nullptr;
  return Value::of(in_.make<Unread>(name, sentence_of(why)));
}

Status Evaluator::import(const Syntax& s) {
  for (const Syntax& alias : s.parts) {
    const std::string top = alias.text.substr(0, alias.text.find('.'));
    // A package is read before what lies in it, and holds that by its name. Where it is not understood, its use says so.
    for (auto dot = alias.text.find('.'); dot != std::string::npos; dot = alias.text.find('.', dot + 1))
      if (auto around = in_.import(alias.text.substr(0, dot), &file_); !around)
        if (auto none = unread(alias, alias.text, around.error()); !none) return pass(none);
    auto whole = in_.import(alias.text, &file_);
    if (!whole) whole = unread(alias, alias.text, whole.error());
    if (!whole) return pass(whole);
    if (!alias.parts.empty()) {
      set(alias.parts[0].text, *whole);
      continue;
    }
    auto first = in_.import(top, &file_);
    if (!first) first = unread(alias, top, first.error());
    if (!first) return pass(first);
    set(top, *first);
  }
  return {};
}

Status Evaluator::import_from(const Syntax& s) {
  if (s.text == "__future__") return {};
  const std::string dots(static_cast<std::size_t>(std::clamp<std::int64_t>(s.integer, 0, 50)), '.');
  const std::string from = dots + s.text;
  auto module = s.integer == 0 ? in_.import(s.text, &file_) : in_.import_source(s.text, s.integer, &file_);
  std::optional<Error> missing;
  if (!module) {
    missing = module.error();
    if (auto none = unread(s, from, *missing); !none) return pass(none);
  }
  for (const Syntax& alias : s.parts) {
    if (alias.text == "*") {
      if (auto done = missing ? Status() : import_all(*module); !done) return done;
      if (missing) file_.starred.push_back({from, sentence_of(*missing)});
      continue;
    }
    std::optional<Value> found;
    if (!missing) {
      auto inside = in_.find_attribute(*module, alias.text);
      if (!inside) return at(alias, Status(pass(inside)));
      found = *inside;
    }
    std::optional<Error> why = missing;
    if (!found) {  // a module inside the module, whose own file may be missing
      const std::string name = s.text.empty() ? alias.text : s.text + "." + alias.text;
      const auto inner = s.integer == 0 ? in_.import(name, &file_) : in_.import_source(name, s.integer, &file_);
      if (inner) found = *inner;
      else if (in_.placed_) why = inner.error();
      else if (!missing)
        why = Error{Fault::Unsupported, "", "'" + from + "' has no '" + alias.text + "' that is known here"};
    }
    if (!found) {
      const auto none = unread(alias, from + (s.text.empty() ? "" : ".") + alias.text, *why);
      if (!none) return std::unexpected(none.error());
      found = *none;
    }
    set(alias.parts.empty() ? alias.text : alias.parts[0].text, *found);
  }
  return {};
}

// `from module import *`: what __all__ lists, or every name that does not begin with '_'.
Status Evaluator::import_all(const Value& module) {
  if (const auto* unread = module.as<Unread>()) return unread->refused(in_);
  const auto* all = module.as<Module>();
  if (!all) return {};
  const Value* said = all->attributes.find("__all__");
  if (const auto* listed = said ? said->as<Sequence>() : nullptr) {
    for (const Value& one : listed->items)
      if (const auto* word = one.as<Text>())
        if (const Value* inside = all->attributes.find(word->text)) set(word->text, *inside);
    return {};
  }
  for (const auto& [word, inside] : all->attributes.all())
    if (word[0] != '_') set(word, inside);
  return {};
}

}  // namespace convoy::python
