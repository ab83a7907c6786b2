#include "formats/torch/source/load_overrides.h"

#include "containers/python/interpreter.h"
#include "containers/python/unread.h"
#include "formats/torch/source/hooks.h"

#include <algorithm>

namespace convoy::torch {

using python::Arguments;
using python::Instance;
using python::Interpreter;
using python::Mapping;
using python::Value;
using python::ValueList;

namespace {

constexpr const char* taking = "_load_from_state_dict";
constexpr int deepest = 64;

bool overrides_taking_within(const Instance& module, int depth) {
  if (defines(module, taking) || has_load_hooks(module)) return true;
  return depth < deepest &&
         std::ranges::any_of(
             children_of(module), [&](const auto& child) { return overrides_taking_within(*child.second, depth + 1); });
}

Status let_take(Tracer& tracer, Interpreter& in, Instance& module, Mapping& dict, const std::string& prefix,
                int depth) {
  if (depth > deepest) return fail(Fault::Limit, "modules are nested over 64 deep");
  if (auto step = in.step(1); !step) return step;
  tracer.taken_state.erase(&module);
  const auto method = in.attribute(Value::of(&module), taking);
  if (!method) return std::unexpected(method.error());
  const Value metadata = Value::of(in.make<python::Outside>("local_metadata"));
  const auto done = in.call(*method, ValueList{Value::of(&dict), in.text(prefix), metadata, Value::of(true),
                                               in.list({}), in.list({}), in.list({})});
  if (!done) return std::unexpected(done.error());
  if (!tracer.taken_state.contains(&module))
    return fail(Fault::Unsupported, module.type->name + "._load_from_state_dict() does not call that of nn.Module");
  for (const auto& [name, child] : children_of(module))
    if (auto taken = let_take(tracer, in, *child, dict, prefix + name + ".", depth + 1); !taken) return taken;
  return {};
}

}  // namespace

bool overrides_loading(const Instance& module) {
  return defines(module, "load_state_dict") || overrides_taking(module);
}

bool overrides_taking(const Instance& module) { return overrides_taking_within(module, 0); }

void add_loading(Tracer& tracer, Interpreter& in, python::Class* module) {
  // The numbers are taken when all modules have been asked.
  module->attributes.set(taking, in.native(taking, [&tracer](Interpreter& with, Arguments& given) -> Made {
    auto* self = given.placed.empty() ? nullptr : given.placed.front().as<Instance>();
    if (!self || given.placed.size() != 8 || !given.named.empty())
      return fail(Fault::Unsupported, "_load_from_state_dict() with other than its seven arguments, by their places");
    tracer.taken_state.insert(self);
    if (auto done = call_load_pre_hooks(with, *self, {given.placed.begin() + 1, given.placed.end()}); !done)
      return pass(done);
    return Value();
  }));
}

Status let_modules_take(Tracer& tracer, Interpreter& in, Instance& module, Mapping& dict) {
  return let_take(tracer, in, module, dict, "", 0);
}

}  // namespace convoy::torch
