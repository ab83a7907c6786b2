// copy.deepcopy: what a value holds, anew.
#include "containers/python/modules.h"

namespace convoy::python {

namespace {

using Made = Result<Value>;

class Copier {
 public:
  explicit Copier(Interpreter& in) : in_(in) {}

  Made copy(const Value& of) {
    const Object* object = of.object();
    if (!object) return of;
    if (const auto known = done_.find(object); known != done_.end()) return known->second;
    if (++depth_ > 200) return fail(Fault::Limit, "deepcopy() of what is nested over 200 deep");
    if (auto paid = in_.step(); !paid) return pass(paid);
    auto made = anew(of);
    --depth_;
    if (made) done_.emplace(object, *made);
    return made;
  }

 private:
  Made anew(const Value& of) {
    if (const auto* all = of.as<Sequence>()) return list(*all);
    if (const auto* map = of.as<Mapping>()) return mapping(*map);
    if (const auto* instance = of.as<Instance>()) return object(*instance);
    if (const auto* method = of.as<Bound>()) {
      const auto self = copy(method->self);
      return self ? Made(Value::of(in_.make<Bound>(*self, method->function))) : self;
    }
    auto own = of.object()->copied(in_);
    if (!own) return pass(own);
    return *own ? **own : of;
  }

  Made list(const Sequence& all) {
    ValueList items;
    for (const Value& one : ValueList(all.items)) {
      const auto item = copy(one);
      if (!item) return item;
      items.push_back(*item);
    }
    return all.is_tuple ? in_.tuple(std::move(items)) : in_.list(std::move(items));
  }

  Made mapping(const Mapping& map) {
    auto* made = in_.make<Mapping>(map.is_set);
    made->otherwise = map.otherwise;
    for (const auto& [key, value] : map.entries) {
      const auto item = copy(value);
      if (!item) return item;
      if (auto put = made->put(in_, key, *item); !put) return pass(put);
    }
    return Value::of(made);
  }

  // Known before its parts are copied: they may hold it in turn.
  Made object(const Instance& instance) {
    if (instance.extra) return fail(Fault::Unsupported, "deepcopy() of a " + instance.type->name);
    auto* made = in_.make<Instance>(instance.type);
    done_.emplace(&instance, Value::of(made));
    if (auto paid = in_.charge(static_cast<Size>(instance.attributes.all().size()) * 64); !paid) return pass(paid);
    for (const auto& [name, value] : instance.attributes.all()) {
      const auto item = copy(value);
      if (!item) return item;
      made->attributes.set(name, *item);
    }
    return Value::of(made);
  }

  Interpreter& in_;
  std::unordered_map<const Object*, Value> done_;
  int depth_ = 0;
};

}  // namespace

Made deep_copy(Interpreter& in, const Value& of) { return Copier(in).copy(of); }

}  // namespace convoy::python
