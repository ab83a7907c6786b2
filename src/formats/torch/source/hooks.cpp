#include "formats/torch/source/hooks.h"

#include <array>
#include <utility>

namespace convoy::torch {

namespace {

constexpr const char* before = "_forward_pre_hooks";
constexpr const char* behind = "_forward_hooks";
constexpr const char* before_loading =
    "_load_state_dict_pre_hooks";  // pairs of the function and whether it is given the module
constexpr const char* behind_loading = "_load_state_dict_post_hooks";

// The functions, in the order in which they were hung.
ValueList hooks_of(const python::Instance& module, const char* when) {
  ValueList all;
  const Value* kept = module.attributes.find(when);
  if (const auto* hooks = kept ? kept->as<python::Mapping>() : nullptr)
    for (const auto& [number, hook] : hooks->entries) all.push_back(hook);
  return all;
}

// What register_...() gives, whose remove() takes the function off again. `hooks`: null, it is called nowhere.
Value handle(Interpreter& in, python::Mapping* hooks, const Value& number) {
  auto* made = in.make<python::Module>("torch.utils.hooks.RemovableHandle");
  made->attributes.set("remove", in.native("remove", [hooks, number](Interpreter& with, Arguments&) mutable -> Made {
    auto* from = std::exchange(hooks, nullptr);  // once: another function may have the number by then
    const auto there = from ? from->find(number) : Result<Value*>(nullptr);
    if (!there) return std::unexpected(there.error());
    if (*there)
      if (auto done = from->delete_item(with, number); !done) return pass(done);
    return Value();
  }));
  return Value::of(made);
}

// Behind the last one that is still there.
Made kept(Interpreter& in, python::Instance& module, const char* when, Value hook) {
  if (!module.attributes.find(when)) module.attributes.set(when, Value::of(in.make<python::Mapping>()));
  auto* hooks = module.attributes.find(when)->as<python::Mapping>();
  if (!hooks) return fail(Fault::Unsupported, std::string("a program's own ") + when);
  std::int64_t number = 0;
  for (const auto& [key, earlier] : hooks->entries)
    if (key.is_whole()) number = std::max(number, key.whole() + 1);
  if (auto put = hooks->put(in, Value::of(number), hook); !put) return pass(put);
  return handle(in, hooks, Value::of(number));
}

Made hang(Interpreter& in, Arguments& given, const char* when, const std::string& method) {
  const auto taken = python::bound(given, "self hook prepend with_kwargs always_call", 2, method);
  if (!taken) return std::unexpected(taken.error());
  auto* module = (*taken)[0]->as<python::Instance>();
  if (!module) return fail(Fault::Format, "'" + method + "' is called without a module");
  for (const std::size_t option : {2, 3})
    if (const auto& value = (*taken)[option]; value && !(value->is_whole() && value->whole() == 0))
      return fail(Fault::Unsupported, method + (option == 2 ? "() with prepend" : "() with with_kwargs"));
  return kept(in, *module, when, *(*taken)[1]);
}

// _register_load_state_dict_pre_hook(), which gives the module only where that is asked for, and those that always do.
Made hang_on_loading(Interpreter& in, Arguments& given, const char* when, const std::string& method, bool is_public) {
  const auto taken = python::bound(given, is_public ? "self hook" : "self hook with_module", 2, method);
  if (!taken) return std::unexpected(taken.error());
  auto* module = (*taken)[0]->as<python::Instance>();
  if (!module) return fail(Fault::Format, "'" + method + "' is called without a module");
  Result<bool> with_module = is_public;
  if (!is_public && (*taken)[2]) with_module = in.truth(*(*taken)[2]);
  if (!with_module) return std::unexpected(with_module.error());
  return kept(in, *module, when, in.tuple({*(*taken)[1], Value::of(*with_module)}));
}

Status call_load_hooks(Interpreter& in, python::Instance& module, const char* when, const ValueList& arguments) {
  for (const Value& kept : hooks_of(module, when)) {
    const auto* pair = kept.as<python::Sequence>();  // as hang_on_loading() makes it
    if (!pair || pair->items.size() != 2 || !pair->items[1].is_whole())
      return fail(Fault::Unsupported, std::string("a program's own ") + when);
    ValueList given = arguments;
    if (pair->items[1].whole() != 0) given.insert(given.begin(), Value::of(&module));
    if (const auto done = in.call(pair->items[0], std::move(given)); !done) return std::unexpected(done.error());
  }
  return {};
}

}  // namespace

void add_hooks(Interpreter& in, python::Class* module) {
  constexpr std::array forwards{std::pair{"register_forward_pre_hook", before},
                                std::pair{"register_forward_hook", behind}};
  for (const auto& [method, when] : forwards)
    module->attributes.set(method, in.native(method, [method, when](Interpreter& with, Arguments& given) {
      return hang(with, given, when, method);
    }));
  struct LoadHook {
    const char* method;
    const char* when;
    bool is_public;
  };
  for (const LoadHook& hook : {LoadHook{"register_load_state_dict_pre_hook", before_loading, true},
                               LoadHook{"_register_load_state_dict_pre_hook", before_loading, false},
                               LoadHook{"register_load_state_dict_post_hook", behind_loading, true}})
    module->attributes.set(hook.method, in.native(hook.method, [hook](Interpreter& with, Arguments& given) {
      return hang_on_loading(with, given, hook.when, hook.method, hook.is_public);
    }));
  // What is saved is a matter of the file.
  for (const char* method :
       {"register_backward_hook", "register_full_backward_hook", "register_full_backward_pre_hook",
        "register_state_dict_pre_hook", "register_state_dict_post_hook", "_register_state_dict_hook"})
    module->attributes.set(
        method, in.native(method, [](Interpreter& with, Arguments&) -> Made { return handle(with, nullptr, {}); }));
}

bool has_load_hooks(const python::Instance& module) {
  return !hooks_of(module, before_loading).empty() || !hooks_of(module, behind_loading).empty();
}

Status call_load_pre_hooks(Interpreter& in, python::Instance& module, const ValueList& arguments) {
  return call_load_hooks(in, module, before_loading, arguments);
}

Status call_load_post_hooks(Interpreter& in, python::Instance& module, Value incompatible_keys) {
  return call_load_hooks(in, module, behind_loading, {incompatible_keys});
}

Made called_between_hooks(Interpreter& in, python::Instance& module, const Value& forward, Arguments given) {
  const Value self = Value::of(&module);
  for (const Value& hook : hooks_of(module, before)) {
    auto changed = in.call(hook, ValueList{self, in.tuple(given.placed)});
    if (!changed) return changed;
    if (changed->is_none()) continue;
    const auto* several = changed->as<python::Sequence>();
    given.placed = several && several->is_tuple ? several->items : ValueList{*changed};
  }
  const ValueList hooks = hooks_of(module, behind);
  if (hooks.empty()) return in.call(forward, std::move(given));
  const Value arguments = in.tuple(given.placed);
  auto made = in.call(forward, std::move(given));
  for (const Value& hook : hooks) {
    if (!made) return made;
    auto changed = in.call(hook, ValueList{self, arguments, *made});
    if (!changed || !changed->is_none()) made = std::move(changed);
  }
  return made;
}

}  // namespace convoy::torch
