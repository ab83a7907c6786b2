// torch.autograd.Function: functions with a gradient of their own, of which a model in eval mode runs the forward alone.
#include "formats/torch/source/torch_module.h"

namespace convoy::torch {

namespace {

// What forward may leave for the gradient.
Class* context_class(Interpreter& in) {
  Class* made = in.make_class("FunctionCtx", {});
  made->attributes.set(
      "save_for_backward", in.native("save_for_backward", [](Interpreter& with, Arguments& given) -> Made {
        if (auto* self = given.placed.empty() ? nullptr : given.placed[0].as<Instance>())
          self->attributes.set("saved_tensors", with.tuple(ValueList(given.placed.begin() + 1, given.placed.end())));
        return Value();
      }));
  for (const char* word : {"mark_dirty", "mark_non_differentiable", "set_materialize_grads"})
    made->attributes.set(word, in.native(word, [](Interpreter&, Arguments&) -> Made { return Value(); }));
  return made;
}

Made applied(Interpreter& in, Class* context, Arguments& given) {
  auto* type = given.placed.empty() ? nullptr : given.placed.front().as<Class>();
  if (!type || !type->find("forward")) return fail(Fault::Format, "a Function is applied without forward()");
  const auto forward = in.attribute(Value::of(type), "forward");
  if (!forward) return forward;
  if (type->find("setup_context")) {  // forward is a plain function
    given.placed.erase(given.placed.begin());
    return in.call(*forward, std::move(given));
  }
  auto* kept = in.make<Instance>(context);
  ValueList untold(given.placed.size() - 1, Value::of(false));
  kept->attributes.set("needs_input_grad", in.tuple(std::move(untold)));
  given.placed.front() = Value::of(kept);
  return in.call(*forward, std::move(given));
}

}  // namespace

Class* function_class(Interpreter& in) {
  Class* made = in.make_class("Function", {});
  Class* context = context_class(in);
  const Value apply =
      in.native("apply", [context](Interpreter& with, Arguments& given) { return applied(with, context, given); });
  made->attributes.set("apply", Value::of(in.make<python::Described>(python::Described::As::OfClass, apply)));
  return made;
}

}  // namespace convoy::torch
