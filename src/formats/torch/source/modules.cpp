// torch.nn.Module and the modules that hold others.
#include "containers/python/unread.h"
#include "formats/torch/source/conv_padding.h"
#include "formats/torch/source/hooks.h"
#include "formats/torch/source/load_overrides.h"
#include "formats/torch/source/loading.h"
#include "formats/torch/source/recurrent.h"
#include "formats/torch/source/stored_tensor.h"
#include "formats/torch/source/training.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <set>

namespace convoy::torch {

namespace {

Instance* self_of(Arguments& given) { return given.placed.empty() ? nullptr : given.placed.front().as<Instance>(); }

void all_modules(Instance& module, const std::string& path, std::vector<std::pair<std::string, Instance*>>& into,
                 int depth) {
  if (depth > 64 || std::ranges::find(into, &module, &std::pair<std::string, Instance*>::second) != into.end()) return;
  into.emplace_back(path, &module);
  for (const auto& [name, child] : children_of(module))
    all_modules(*child, path.empty() ? name : path + "." + name, into, depth + 1);
}

Made module_call(Tracer& tracer, Interpreter& in, Arguments& given) {
  Instance* self = self_of(given);
  if (!self) return fail(Fault::Format, "a module is called without itself");
  // A static one takes no module, and one that the module was given itself comes before that of its class.
  const auto forward = in.find_attribute(Value::of(self), "forward");
  if (!forward) return std::unexpected(forward.error());
  if (!*forward) return fail(Fault::Format, "class " + self->type->name + " has no forward()");
  given.placed.erase(given.placed.begin());
  if (auto paid = in.charge(300); !paid) return pass(paid);
  const auto known = tracer.paths.find(self);
  const std::string path = known == tracer.paths.end() ? std::string() : known->second;
  tracer.calling.push_back({path, self->type->name, children_of(*self).empty(), tracer.scope_calls[path]++});
  auto made = called_between_hooks(in, *self, **forward, std::move(given));
  tracer.calling.pop_back();
  return made;
}

// A method of ours. Fails where it is called without a module of its own.
void add_method(Interpreter& in, Class* to, const std::string& name, python::NativeFunction run,
                std::size_t least = 1) {
  to->attributes.set(name,
                     in.native(name, [name, least, run = std::move(run)](Interpreter& with, Arguments& given) -> Made {
                       if (!self_of(given)) return fail(Fault::Format, "'" + name + "' is called without a module");
                       if (given.placed.size() < least)
                         return fail(Fault::Format, "'" + name + "' is called with too few arguments");
                       return run(with, given);
                     }));
}

}  // namespace

bool defines(const Instance& module, const std::string& method) {
  const Value* found = module.type->find(method);
  return found && found->as<python::Function>();
}

bool is_module(const Value& value) {
  const auto* instance = value.as<Instance>();
  return instance && std::ranges::any_of(instance->type->order, [](const Class* c) { return c->native == "Module"; });
}

std::vector<std::pair<std::string, Instance*>> children_of(const Instance& module) {
  std::vector<std::pair<std::string, Instance*>> all;
  for (const auto& [name, value] : module.attributes.all())
    if (is_module(value)) all.emplace_back(name, value.as<Instance>());
  return all;
}

namespace {

Made add_module(Interpreter&, Arguments& given) {
  const auto taken =
      python::bound({{given.placed.begin() + 1, given.placed.end()}, given.named}, "name module", 2, "add_module");
  if (!taken) return std::unexpected(taken.error());
  const auto* name = (*taken)[0]->as<python::Text>();
  if (!name) return fail(Fault::Format, "add_module() wants a name and a module");
  self_of(given)->attributes.set(name->text, *(*taken)[1]);
  return Value();
}

Made trains_or_not(Tracer& tracer, Interpreter& in, Arguments& given) {
  const auto said = given.placed.size() > 1 ? in.truth(given.placed[1]) : Result<bool>(true);
  if (!said) return std::unexpected(said.error());
  std::vector<std::pair<std::string, Instance*>> all;
  all_modules(*self_of(given), "", all, 0);
  for (const auto& [path, module] : all)
    for (const auto& [name, value] : module->attributes.all())
      if (const auto* tensor = value.as<SourceTensor>(); tensor && tensor->is_parameter)
        tracer.graph[tensor->value].trainable = *said;
  return given.placed.front();
}

// half(), to(torch.bfloat16): every weight and running number that is a real one, of the module and all below it, takes the type.
Status take_type(Tracer& tracer, Interpreter& in, Instance& of, const std::string& method, const Value& asked) {
  const auto* word = asked.as<python::Text>();
  const auto dtype = word ? type_named(word->text) : std::nullopt;
  if (!dtype || !is_floating(*dtype))
    return fail(Fault::Unsupported, "." + method + "() of a module asks for '" + (word ? word->text : "?") +
                                        "'; float16, bfloat16, float32 and float64 are carried");
  std::vector<std::pair<std::string, Instance*>> all;
  all_modules(of, "", all, 0);
  for (const auto& [path, module] : all)
    for (const auto& [name, value] : module->attributes.all()) {
      auto* tensor = value.as<SourceTensor>();
      if (!tensor || !(tensor->is_parameter || tensor->is_buffer) || !tensor->value) continue;
      const auto& own = tracer.graph[tensor->value];
      if (!is_floating(own.type.dtype) || own.type.dtype == *dtype) continue;
      const std::string place =
          "." + method + "() gives '" + (path.empty() ? name : path + "." + name) + "' another type";
      if (tracer.bound) return fail(Fault::Unsupported, place + " while the model runs; do so when it is made");
      if (!own.constant) return fail(Fault::Unsupported, place + ", which is computed");
      const bool trains = own.trainable;
      if (!tracer.weights.contains(tensor->value.index)) {
        tensor->value = tracer.constant(in, own.constant->converted(*dtype)).as<SourceTensor>()->value;
        continue;
      }
      // Its numbers are drawn, or filled, in the type that it had.
      const ValueId before = tensor->value;
      auto made = tracer.parameter(in, own.constant->shape(), {}, tensor->is_buffer, *dtype);
      if (!made) return pass(made);
      tracer.draws.pop_back();
      tensor->value = made->as<SourceTensor>()->value;
      tracer.draws.push_back({Tracer::Draw::What::Copy, tensor->value, {}, before, 0, {}});
      tracer.graph[tensor->value].trainable = trains;
    }
  return {};
}

// train(mode) as nn.Module defines it: for the module, and by the train() of each below it.
Status put(Tracer& tracer, Interpreter& in, Instance& module, bool in_training, int depth) {
  if (depth > 64) return fail(Fault::Limit, "modules are nested over 64 deep");
  if (auto step = in.step(1); !step) return step;
  module.attributes.erase("training");
  if (in_training) tracer.at_rest.erase(&module);
  else tracer.at_rest.insert(&module);
  for (const auto& [name, child] : children_of(module)) {
    if (!defines(*child, "train")) {
      if (auto done = put(tracer, in, *child, in_training, depth + 1); !done) return done;
      continue;
    }
    const auto train = in.attribute(Value::of(child), "train");
    const auto told = train ? in.call(*train, ValueList{Value::of(in_training)}) : train;
    if (!told) return std::unexpected(told.error());
  }
  return {};
}

// eval(), train(mode).
Status put_to_rest(Tracer& tracer, Interpreter& in, const std::string& name, Arguments& given) {
  Instance& module = *self_of(given);
  if (name == "eval" && defines(module, "train")) {
    const auto train = in.attribute(Value::of(&module), "train");
    const auto told = train ? in.call(*train, ValueList{Value::of(false)}) : train;
    return told ? Status() : Status(std::unexpected(told.error()));
  }
  const auto trains = given.placed.size() > 1 ? in.truth(given.placed[1]) : Result<bool>(false);
  if (!trains) return std::unexpected(trains.error());
  return put(tracer, in, module, *trains, 0);
}

// How a module is put together, and what it is told before it is called.
void add_building(Tracer& tracer, Interpreter& in, Class* module) {
  add_method(in, module, "__init__", [](Interpreter&, Arguments&) -> Made { return Value(); });
  add_method(in, module, "__call__",
             [&tracer](Interpreter& with, Arguments& given) { return module_call(tracer, with, given); });
  add_method(in, module, "register_buffer",
             [&tracer](Interpreter& with, Arguments& given) { return registered(tracer, with, given, true); });
  add_method(in, module, "register_parameter",
             [&tracer](Interpreter& with, Arguments& given) { return registered(tracer, with, given, false); });
  add_method(
      in, module, "__setattr__",
      [&tracer](Interpreter& with, Arguments& given) { return set_on_module(tracer, with, given); }, 2);
  add_method(in, module, "add_module", add_module);
  add_method(in, module, "register_module", add_module);
  for (const char* name :
       {"eval", "train", "to", "cuda", "cpu", "float", "half", "double", "bfloat16", "type", "share_memory", "compile"})
    add_method(in, module, name, [&tracer, name = std::string(name)](Interpreter& with, Arguments& given) -> Made {
      if (name == "train" && given.placed.size() == 1)
        return fail(Fault::Unsupported, "a model in training; call eval()");
      if (name == "eval" || name == "train")
        if (auto done = put_to_rest(tracer, with, name, given); !done) return pass(done);
      if (const Value type = element_type(tracer, with, name, given); !type.is_none())
        if (auto done = take_type(tracer, with, *self_of(given), name, type); !done) return pass(done);
      return given.placed.front();
    });
  add_method(in, module, "requires_grad_",
             [&tracer](Interpreter& with, Arguments& given) { return trains_or_not(tracer, with, given); });
  add_method(
      in, module, "load_state_dict",
      [&tracer](Interpreter& with, Arguments& given) { return load_state_dict(tracer, with, given); }, 2);
  add_method(in, module, "state_dict",
             [&tracer](Interpreter& with, Arguments& given) { return state_dict(tracer, with, given); });
  // Draws once more what its weights were first filled with.
  add_method(in, module, "reset_parameters", [&tracer](Interpreter&, Arguments& given) -> Made {
    for (const auto& [name, value] : self_of(given)->attributes.all())
      if (const auto* tensor = value.as<SourceTensor>(); tensor && !tracer.bound && tensor->is_parameter) {
        const auto first = std::ranges::find(tracer.draws, tensor->value, &Tracer::Draw::value);
        tracer.weight_changes.push_back({tensor->value, "reset_parameters()"});
        const auto usual = tracer.usual_fillings.find(tensor->value.index);
        if (usual != tracer.usual_fillings.end())
          tracer.draws.push_back({Tracer::Draw::What::Fill, tensor->value, usual->second, {}, 0, {}});
        else if (first != tracer.draws.end() && first->what == Tracer::Draw::What::Fill)
          tracer.draws.push_back(Tracer::Draw(*first));
      }
    return Value();
  });
  add_method(in, module, "zero_grad", [](Interpreter&, Arguments&) -> Made { return Value(); });
  add_method(in, module, "extra_repr", [](Interpreter& with, Arguments&) -> Made { return with.text(""); });
  // A module is made in training, and called at rest.
  add_method(in, module, "__getattr__", [&tracer](Interpreter&, Arguments& given) -> Made {
    const auto* word = given.placed.size() > 1 ? given.placed[1].as<python::Text>() : nullptr;
    if (word && word->text == "training") return Value::of(is_in_training(tracer, *self_of(given)));
    // A wrapper is the module itself here.
    if (word && (word->text == "module" || word->text == "_orig_mod") && tracer.is_wrapped) return given.placed.front();
    return Value::ellipsis();
  });
}

Made modules_in(Interpreter& in, Arguments& given) {
  auto* all = in.make<python::Mapping>();
  for (const auto& [name, child] : children_of(*self_of(given)))
    if (auto put = all->put(in, in.text(name), Value::of(child)); !put) return pass(put);
  return Value::of(all);
}

Made apply(Interpreter& in, Arguments& given) {
  std::vector<std::pair<std::string, Instance*>> found;
  all_modules(*self_of(given), "", found, 0);
  for (const auto& [path, module] : found)
    if (auto done = in.call(given.placed[1], ValueList{Value::of(module)}); !done) return done;
  return given.placed.front();
}

// What a module holds, itself and further down.
void add_walks(Interpreter& in, Class* module) {
  module->attributes.set("_modules", Value::of(in.make<python::Described>(python::Described::As::Property,
                                                                          in.native("_modules", modules_in))));
  const auto listed = [](bool deep, bool with_names) {
    return [deep, with_names](Interpreter& with, Arguments& given) -> Made {
      std::vector<std::pair<std::string, Instance*>> found;
      if (deep) all_modules(*self_of(given), "", found, 0);
      else found = children_of(*self_of(given));
      ValueList all;
      for (const auto& [name, one] : found)
        all.push_back(with_names ? with.tuple({with.text(name), Value::of(one)}) : Value::of(one));
      return Value::of(with.make<python::Iterator>(std::move(all)));
    };
  };
  add_method(in, module, "children", listed(false, false));
  add_method(in, module, "named_children", listed(false, true));
  add_method(in, module, "modules", listed(true, false));
  add_method(in, module, "named_modules", listed(true, true));
  const auto tensors = [](bool buffers, bool with_names) {
    return [buffers, with_names](Interpreter& with, Arguments& given) -> Made {
      std::vector<std::pair<std::string, Instance*>> found;
      all_modules(*self_of(given), "", found, 0);
      ValueList all;
      std::set<const SourceTensor*> seen;  // one under two names comes once
      for (const auto& [path, one] : found)
        for (const auto& [name, value] : one->attributes.all())
          if (const auto* tensor = value.as<SourceTensor>();
              tensor && (buffers ? tensor->is_buffer : tensor->is_parameter) && seen.insert(tensor).second)
            all.push_back(with_names ? with.tuple({with.text(path.empty() ? name : path + "." + name), value}) : value);
      return Value::of(with.make<python::Iterator>(std::move(all)));
    };
  };
  add_method(in, module, "parameters", tensors(false, false));
  add_method(in, module, "named_parameters", tensors(false, true));
  add_method(in, module, "buffers", tensors(true, false));
  add_method(in, module, "named_buffers", tensors(true, true));
  add_method(in, module, "apply", apply, 2);
}

}  // namespace

Class* ModuleClasses::module_class(Interpreter& in) {
  if (module_) return module_;
  module_ = in.make_class("Module", {});
  module_->native = "Module";
  add_building(tracer_, in, module_);
  add_walks(in, module_);
  add_hooks(in, module_);
  add_loading(tracer_, in, module_);
  return module_;
}

namespace {

// For what programs do as often as they like: looking through the children is work.
Result<std::vector<std::pair<std::string, Instance*>>> paid_children_of(Interpreter& in, const Instance& self) {
  if (auto paid = in.step(static_cast<Size>(self.attributes.all().size()) / 8); !paid) return pass(paid);
  return children_of(self);
}

// Modules of a list or of (name, module) pairs; a dictionary gives names.
Made filled(Interpreter& in, Instance& self, const Value& from, bool named) {
  if (const auto* map = from.as<python::Mapping>()) {
    for (const auto& [key, value] : map->entries) {
      const auto name = in.string_of(key);
      if (!name) return std::unexpected(name.error());
      self.attributes.set(*name, value);
    }
    return Value();
  }
  const auto all = in.elements(from);
  if (!all) return std::unexpected(all.error());
  const auto before = paid_children_of(in, self);
  if (!before) return std::unexpected(before.error());
  std::size_t next = before->size();
  for (const Value& one : *all) {
    if (const auto* pair = one.as<python::Sequence>(); named && pair && pair->items.size() == 2) {
      const auto name = in.string_of(pair->items[0]);
      if (!name) return std::unexpected(name.error());
      self.attributes.set(*name, pair->items[1]);
      continue;
    }
    if (!is_module(one) && !one.is_none()) return fail(Fault::Format, "a " + python::type_name(one) + " is no module");
    self.attributes.set(std::to_string(next++), one);
  }
  return Value();
}

Made sequential_init(Interpreter& in, Arguments& given) {
  Instance* self = self_of(given);
  if (given.placed.size() == 2 && given.placed[1].as<python::Mapping>())
    return filled(in, *self, given.placed[1], true);
  ValueList rest(given.placed.begin() + 1, given.placed.end());
  return filled(in, *self, in.list(std::move(rest)), false);
}

Made sequential_forward(Interpreter& in, Arguments& given) {
  if (given.placed.size() != 2) return fail(Fault::Format, "a Sequential takes one input");
  Instance* self = self_of(given);
  ValueList modules;  // in its own order, where a subclass has an __iter__()
  if (defines(*self, "__iter__")) {
    auto own = in.elements(Value::of(self));
    if (!own) return pass(own);
    modules = std::move(*own);
  } else {
    for (const auto& [name, module] : children_of(*self)) modules.push_back(Value::of(module));
  }
  Made x = given.placed[1];
  for (const Value& module : modules) {
    if (!x) return x;
    x = in.call(module, ValueList{*x});
  }
  return x;
}

Made items_of(Interpreter& in, Arguments& given) {
  ValueList all;
  const auto children = paid_children_of(in, *self_of(given));
  if (!children) return std::unexpected(children.error());
  for (const auto& [name, module] : *children) all.push_back(Value::of(module));
  return in.list(std::move(all));
}

Made item_of(Interpreter& in, Arguments& given) {
  Instance* self = self_of(given);
  if (const auto* name = given.placed[1].as<python::Text>()) {
    const Value* found = self->attributes.find(name->text);
    return found ? Made(*found) : Made(fail(Fault::Format, "there is no module '" + name->text + "'"));
  }
  const auto all = items_of(in, given);
  if (!all) return all;
  auto found = in.item(*all, given.placed[1]);
  if (!found || !found->as<python::Sequence>()) return found;
  // A slice is a container of the same kind, which shares its modules.
  auto* part = in.make<Instance>(self->type);
  if (auto done = filled(in, *part, *found, false); !done) return done;
  return Value::of(part);
}

// What is left is counted anew, whatever it was called, as PyTorch does.
Made delete_item(Interpreter& in, Arguments& given) {
  Instance* self = self_of(given);
  const auto found = paid_children_of(in, *self);
  if (!found) return std::unexpected(found.error());
  const auto& children = *found;
  ValueList indices;
  for (std::size_t i = 0; i < children.size(); ++i) indices.push_back(Value::of(static_cast<std::int64_t>(i)));
  const auto chosen = in.item(in.list(std::move(indices)), given.placed[1]);
  if (!chosen) return chosen;
  const auto is_gone = [&](std::size_t i) {
    if (chosen->is_whole()) return chosen->whole() == static_cast<std::int64_t>(i);
    return std::ranges::any_of(chosen->as<python::Sequence>()->items,
                               [&](const Value& v) { return v.whole() == static_cast<std::int64_t>(i); });
  };
  for (const auto& [name, module] : children) self->attributes.erase(name);
  std::size_t next = 0;
  for (std::size_t i = 0; i < children.size(); ++i)
    if (!is_gone(i)) self->attributes.set(std::to_string(next++), Value::of(children[i].second));
  return Value();
}

// The place of an index into a container of so many, counted from behind where it is negative.
Result<std::size_t> place_of(const Value& index, std::size_t count, bool behind_the_last) {
  const auto size = static_cast<std::int64_t>(count);
  if (!index.is_whole()) return fail(Fault::Format, "a module of a list is chosen by a whole number");
  const std::int64_t at = index.whole() < 0 ? index.whole() + size : index.whole();
  if (at < 0 || at >= size + (behind_the_last ? 1 : 0))
    return fail(Fault::Format,
                "index " + std::to_string(index.whole()) + " is not one of the " + std::to_string(count) + " modules");
  return static_cast<std::size_t>(at);
}

// Those behind it move on by one, as their names are numbers.
Made insert_item(Interpreter& in, Arguments& given) {
  Instance* self = self_of(given);
  const auto found = paid_children_of(in, *self);
  if (!found) return std::unexpected(found.error());
  const auto at = place_of(given.placed[1], found->size(), true);
  if (!at) return std::unexpected(at.error());
  if (!is_module(given.placed[2]))
    return fail(Fault::Format, "a " + python::type_name(given.placed[2]) + " is no module");
  const auto& children = *found;
  for (const auto& [name, module] : children) self->attributes.erase(name);
  for (std::size_t i = 0; i <= children.size(); ++i) {
    const Value one = i == *at ? given.placed[2] : Value::of(children[i < *at ? i : i - 1].second);
    self->attributes.set(std::to_string(i), one);
  }
  return Value::of(self);
}

Made set_module(Interpreter& in, Arguments& given) {
  Instance* self = self_of(given);
  const auto children = paid_children_of(in, *self);
  if (!children) return std::unexpected(children.error());
  const auto at = place_of(given.placed[1], children->size(), false);
  if (!at) return std::unexpected(at.error());
  self->attributes.set((*children)[*at].first, given.placed[2]);
  return Value();
}

Made pop_item(Interpreter& in, Arguments& given) {
  auto taken = item_of(in, given);
  if (!taken) return taken;
  const auto done = delete_item(in, given);
  return done ? taken : done;
}

// One behind the other, in a container of the first one's kind; the modules are shared.
Made joined_with(Interpreter& in, Arguments& given) {
  Instance* self = self_of(given);
  auto* both = in.make<Instance>(self->type);
  for (const Value& part : given.placed) {
    const auto all = in.elements(part);
    if (!all) return std::unexpected(all.error());
    if (auto done = filled(in, *both, in.list(*all), false); !done) return done;
  }
  return Value::of(both);
}

template <int What>  // 0: names, 1: modules, 2: pairs
Made dictionary_of(Interpreter& in, Arguments& given) {
  ValueList all;
  for (const auto& [name, module] : children_of(*self_of(given)))
    all.push_back(What == 0   ? in.text(name)
                  : What == 1 ? Value::of(module)
                              : in.tuple({in.text(name), Value::of(module)}));
  return in.list(std::move(all));
}

void add_dictionary_methods(Interpreter& in, Class* made) {
  add_method(in, made, "__init__", [](Interpreter& with, Arguments& given) -> Made {
    return given.placed.size() > 1 ? filled(with, *self_of(given), given.placed[1], true) : Made(Value());
  });
  add_method(
      in, made, "update",
      [](Interpreter& with, Arguments& given) { return filled(with, *self_of(given), given.placed[1], true); }, 2);
  add_method(
      in, made, "__setitem__",
      [](Interpreter& with, Arguments& given) -> Made {
        const auto word = with.string_of(given.placed[1]);
        if (!word) return std::unexpected(word.error());
        self_of(given)->attributes.set(*word, given.placed[2]);
        return Value();
      },
      3);
  add_method(
      in, made, "__contains__",
      [](Interpreter&, Arguments& given) -> Made {
        const auto* word = given.placed[1].as<python::Text>();
        return Value::of(word && self_of(given)->attributes.find(word->text));
      },
      2);
  add_method(in, made, "__iter__", dictionary_of<0>);
  add_method(in, made, "keys", dictionary_of<0>);
  add_method(in, made, "values", dictionary_of<1>);
  add_method(in, made, "items", dictionary_of<2>);
}

}  // namespace

Class* ModuleClasses::container(Interpreter& in, const std::string& name) {
  Class* made = in.make_class(name, {module_class(in)});
  made->native = name;
  add_method(in, made, "__len__", [](Interpreter& with, Arguments& given) -> Made {
    const auto children = paid_children_of(with, *self_of(given));
    if (!children) return std::unexpected(children.error());
    return Value::of(static_cast<std::int64_t>(children->size()));
  });
  add_method(in, made, "__getitem__", item_of, 2);
  const auto grow = [](bool several) {
    return [several](Interpreter& with, Arguments& given) -> Made {
      Instance* self = self_of(given);
      if (given.placed.size() != 2) return fail(Fault::Format, "one module, or a list of them, is added");
      const Value more = several ? given.placed[1] : with.list({given.placed[1]});
      auto done = filled(with, *self, more, false);
      return done ? given.placed[0] : done;
    };
  };
  if (name == "ModuleDict") {
    add_dictionary_methods(in, made);
    return made;
  }
  add_method(in, made, "__iter__", items_of);
  add_method(in, made, "append", grow(false));
  add_method(in, made, "extend", grow(true));
  add_method(in, made, "__iadd__", grow(true));
  add_method(in, made, "__add__", joined_with, 2);
  add_method(in, made, "__delitem__", delete_item, 2);
  add_method(in, made, "__setitem__", set_module, 3);
  add_method(in, made, "insert", insert_item, 3);
  add_method(in, made, "pop", pop_item, 2);
  if (name == "Sequential") {
    add_method(in, made, "__init__", sequential_init);
    add_method(in, made, "forward", sequential_forward);
  } else {
    add_method(in, made, "__init__", [](Interpreter& with, Arguments& given) -> Made {
      if (auto named = given.take("modules")) given.placed.push_back(*named);
      return given.placed.size() > 1 ? filled(with, *self_of(given), given.placed[1], false) : Made(Value());
    });
  }
  return made;
}

Class* ModuleClasses::layer(Interpreter& in, const std::string& name) {
  Class* above = module_class(in);
  for (const auto& [prefix, base] : {std::pair{"BatchNorm", "_BatchNorm"}, std::pair{"InstanceNorm", "_InstanceNorm"}})
    if (name.starts_with(prefix)) above = named(in, base)->as<Class>();
  Class* made = in.make_class(name, {above});
  made->native = name;
  Tracer& tracer = tracer_;
  const bool is_base = name[0] == '_';  // of the layers for one, two and three axes, which make the same weights
  const std::string own = is_base ? name.substr(1) + "1d" : name;
  add_method(in, made, "__init__",
             [&tracer, own](Interpreter& with, Arguments& given) { return make_layer(tracer, with, own, given); });
  add_method(in, made, "forward", [&tracer, own, is_base](Interpreter& with, Arguments& given) -> Made {
    auto* x = is_base && given.placed.size() > 1 ? given.placed[1].as<SourceTensor>() : nullptr;
    if (!x) return run_layer(tracer, with, own, given);
    const auto shape = tracer.shape_of(*x);
    if (!shape) return std::unexpected(shape.error());
    const auto axes = std::clamp<std::size_t>(shape->size(), 3, 5) - 2;
    return run_layer(tracer, with, own.substr(0, own.size() - 2) + std::to_string(axes) + "d", given);
  });
  if (name.contains("BatchNorm") || name.contains("InstanceNorm"))
    add_method(in, made, "_check_input_dim", [](Interpreter&, Arguments&) -> Made { return Value(); });
  if (name == "Embedding") {
    const Value from = in.native("from_pretrained", [&tracer](Interpreter& with, Arguments& given) {
      return embedding_of(tracer, with, given);
    });
    made->attributes.set("from_pretrained",
                         Value::of(in.make<python::Described>(python::Described::As::OfClass, from)));
  }
  // About memory alone.
  if (is_recurrent(name))
    for (const char* word : {"flatten_parameters", "_flatten_parameters"})
      add_method(in, made, word, [](Interpreter&, Arguments&) -> Made { return Value(); });
  if (is_padding_convolution(name)) {
    // The convolution itself, with a weight and a bias that are given.
    add_method(in, made, "_conv_forward", [&tracer](Interpreter& with, Arguments& given) -> Made {
      Instance* self = self_of(given);
      if (given.placed.size() < 3) return fail(Fault::Format, "_conv_forward() wants an input and a weight");
      const bool is_padded = pads_in_front(*self);
      const auto input = is_padded ? padded_in_front(tracer, with, *self, given.placed[1]) : Made(given.placed[1]);
      if (!input) return input;
      Arguments call{{*input, given.placed[2], given.placed.size() > 3 ? given.placed[3] : Value()}, given.named};
      for (const char* word : {"stride", "padding", "dilation", "groups"})
        if (const Value* said = self->attributes.find(word))
          call.named.emplace_back(
              word, is_padded && word == std::string_view("padding") ? Value::of(std::int64_t{0}) : *said);
      const auto dims = self->type->order;
      std::string native;
      for (const Class* c : dims)
        if (native.empty() && c->native.starts_with("Conv")) native = c->native;
      return call_function_named(tracer, with, "conv" + native.substr(4), std::move(call));
    });
  }
  return made;
}

namespace {

// Which programs derive their own from, by torch.nn.modules.
bool is_base_layer(const std::string& name) { return name == "_BatchNorm" || name == "_InstanceNorm"; }

}  // namespace

std::optional<Value> ModuleClasses::named(Interpreter& in, const std::string& name) {
  if (name == "Module") return Value::of(module_class(in));
  if (const auto known = made_.find(name); known != made_.end()) return Value::of(known->second);
  constexpr std::array<std::string_view, 3> containers{"Sequential", "ModuleList", "ModuleDict"};
  Class* made = nullptr;
  if (std::ranges::find(containers, name) != containers.end()) made = container(in, name);
  else if (is_layer(name) || is_base_layer(name)) made = layer(in, name);
  if (!made) return std::nullopt;
  return Value::of(made_[name] = made);
}

}  // namespace convoy::torch
