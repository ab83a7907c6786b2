// Layers and models of the program's own: their call() is followed, their build() runs once, and add_weight makes weights.
#include "formats/keras/masks.h"
#include "formats/keras/source/library.h"
#include "formats/keras/source_values.h"

#include <algorithm>

namespace convoy::keras {

bool SourceLayer::is_weight() const { return class_name == source_weight; }
bool SourceLayer::is_known() const { return is_weight() || class_name == source_constant; }

bool SourceLayer::is_own() const {
  if (class_name == "Lambda" || own_activation()) return true;
  const Value* call = instance ? instance->type->find("call") : nullptr;
  return call && call->as<python::Function>();
}

const Value* SourceLayer::own_activation() const {
  return instance ? instance->attributes.find("$activation") : nullptr;
}

bool SourceLayer::holds_own() const {
  return std::ranges::any_of(layers, [](const SourceLayer* one) {
    return one->is_own() || (one->class_name == "Sequential" && one->holds_own());
  });
}

std::string SourceLayer::own_class() const {
  if (!instance || !instance->type->native.empty()) return class_name;
  return instance->type->name;
}

namespace {

void tensors_in(const Value& value, std::vector<SourceTensor*>& into, int depth) {
  if (auto* tensor = value.as<SourceTensor>()) into.push_back(tensor);
  if (depth > 16) return;
  if (const auto* all = value.as<python::Sequence>())
    for (const Value& one : all->items) tensors_in(one, into, depth + 1);
  if (const auto* map = value.as<python::Mapping>())
    for (const auto& [key, one] : map->entries) tensors_in(one, into, depth + 1);
}

std::vector<SourceTensor*> tensors_of(const Arguments& given) {
  std::vector<SourceTensor*> tensors;
  for (const Value& one : given.placed) tensors_in(one, tensors, 0);
  for (const auto& [word, one] : given.named) tensors_in(one, tensors, 0);
  return tensors;
}

// The shape of a tensor, or a list of those of several.
Made shape_in(Interpreter& in, const Value& value) {
  if (value.as<SourceTensor>()) return in.attribute(value, "shape");
  const auto* all = value.as<python::Sequence>();
  if (!all) return Value();
  ValueList shapes;
  for (const Value& one : all->items) {
    auto shape = shape_in(in, one);
    if (!shape) return shape;
    shapes.push_back(*shape);
  }
  return in.list(std::move(shapes));
}

bool takes(const Value& function, std::string_view parameter) {
  const auto* own = function.as<python::Function>();
  return own &&
         std::ranges::any_of(own->parameters->parts, [&](const python::Syntax& one) { return one.text == parameter; });
}

}  // namespace

// What a layer calls inside belongs to the outermost one: to a file of Keras that is the layer.
Made SourceLibrary::follow(Interpreter& in, SourceLayer* state, Value function, Arguments given, const char* mask) {
  if (!state) return in.call(function, std::move(given));
  const auto read = tensors_of(given);
  auto* const first = read.empty() ? nullptr : read.front();
  Arguments flattened = given;  // as Keras does: arguments by name in the order of their names
  std::ranges::stable_sort(flattened.named, {}, [](const auto& one) { return one.first; });
  state->followed.push_back(tensors_of(flattened));
  within_.emplace_back(state, state->followed.size() - 1);
  auto made = in.call(function, std::move(given));
  if (made && mask && first) made = with_mask(in, *made, Value::of(first), mask);
  within_.pop_back();
  return made;
}

Made SourceLibrary::with_mask(Interpreter& in, Value made, Value read, const char* how) {
  if (auto* all = made.as<python::Sequence>()) {
    for (Value& one : all->items) {
      auto each = with_mask(in, one, read, how == std::string_view(mask_is_kept) ? mask_is_unknown : how);
      if (!each) return each;
      one = *each;
    }
    return made;
  }
  if (!made.as<SourceTensor>() || !read.as<SourceTensor>()) return made;
  auto* layer = in.make<SourceLayer>();
  layer->class_name = source_mask;
  layer->name = fresh_name("mask");
  layer->config = {{"how", how}};
  Arguments given{{in.list({made, read})}, {}};
  return call(in, *layer, given);
}

const char* SourceLibrary::mask_of_own(Interpreter& in, const Value& self, const Value& call, const Arguments& given) {
  auto* instance = self.as<Instance>();
  const bool is_given =
      given.placed.size() > 2 || std::ranges::any_of(given.named, [](const auto& one) { return one.first == "mask"; });
  if (takes(call, "mask") && !is_given) return mask_is_read;
  const Value* computes = instance->type->find("compute_mask");
  if (computes && computes->as<python::Function>()) {
    const Value asked = in.text("mask");
    const Value read = given.placed.size() > 1 ? given.placed[1] : Value();
    const auto found = in.call(*computes, ValueList{self, read, asked});
    if (!found) return mask_is_unknown;
    return found->is_none() ? nullptr : found->as<python::Text>() ? mask_is_kept : mask_is_unknown;
  }
  const Value* supports = instance->attributes.find("supports_masking");
  if (!supports) supports = instance->type->find("supports_masking");
  const auto is_so = supports ? in.truth(*supports) : Result<bool>(false);
  return is_so && !*is_so ? nullptr : mask_is_kept;
}

std::vector<SourceLayer*> SourceLibrary::branches_of(const SourceLayer& layer) const {
  std::vector<SourceLayer*> all;
  const Value* argument =
      layer.instance && layer.class_name == "Merge" ? layer.instance->attributes.find("branches") : nullptr;
  if (const auto* list = argument ? argument->as<python::Sequence>() : nullptr)
    for (const Value& one : list->items)
      if (SourceLayer* branch = state_of(one)) all.push_back(branch);
  return all;
}

Made SourceLibrary::follow_sequential(Interpreter& in, SourceLayer& model, Value x) {
  auto& read = model.followed.emplace_back();
  tensors_in(x, read, 0);
  within_.emplace_back(&model, model.followed.size() - 1);
  Made y = x;
  for (SourceLayer* layer : model.layers) {
    if (!y || layer->class_name == "InputLayer") continue;
    Arguments given{{*y}, {}};
    y = layer->is_own() ? in.call(Value::of(layer->instance), std::move(given)) : call(in, *layer, given);
  }
  within_.pop_back();
  return y;
}

Status SourceLibrary::build_once(Interpreter& in, Instance& instance, const Arguments& given) {
  const Value* build = instance.type->find("build");
  if (!build || !build->as<python::Function>() || instance.attributes.find("$built")) return {};
  instance.attributes.set("$built", Value::of(true));
  auto shape = given.placed.size() > 1 ? shape_in(in, given.placed[1]) : Made(Value());
  if (!shape) return pass(shape);
  const auto around = std::exchange(within_, {});
  const auto built = in.call(*build, ValueList{Value::of(&instance), *shape});
  within_ = around;
  if (!built) return std::unexpected(built.error());
  return {};
}

// layer(x), model(x); what its first call reads and gives is what layer.input and layer.output say.
Made SourceLibrary::call_instance(Interpreter& in, Arguments& given) {
  auto* instance = given.placed.front().as<Instance>();
  const Value read = given.placed.size() > 1 ? given.placed[1] : Value();
  auto made = called(in, given);
  if (made && !instance->attributes.find("$output")) {
    instance->attributes.set("$input", read);
    instance->attributes.set("$output", *made);
  }
  return made;
}

// A program's own class is followed through its call().
Made SourceLibrary::called(Interpreter& in, Arguments& given) {
  const Value self = given.placed.front();
  auto* instance = self.as<Instance>();
  SourceLayer* state = state_of(self);
  const Value* own = instance->type->find("call");
  if (own && own->as<python::Function>()) {
    if (auto built = build_once(in, *instance, given); !built) return pass(built);
    bool trains = false;
    while (const auto said = given.take("training")) trains = said->is_truth() && said->whole() != 0;
    // At rest unless the program says otherwise; a parameter without a default is given it, too.
    if (takes(*own, "training") && given.placed.size() <= 2) given.named.emplace_back("training", Value::of(trains));
    const char* mask = state ? mask_of_own(in, self, *own, given) : nullptr;
    return follow(in, state, *own, std::move(given), mask);
  }
  if (!state) return fail(Fault::Format, "a " + instance->type->name + " is called before its super().__init__()");
  given.placed.erase(given.placed.begin());
  if (state->class_name == "Lambda") {
    if (const Value* more = instance->attributes.find("$arguments"))
      if (const auto* map = more->as<python::Mapping>())
        for (const auto& [key, value] : map->entries)
          if (const auto* word = key.as<python::Text>()) given.named.emplace_back(word->text, value);
    const Value function = *instance->attributes.find("$function");
    remember_captured(in, *state, function);
    return follow(in, state, function, std::move(given));
  }
  const Value* activation = state->own_activation();
  auto made = call(in, *state, given);
  if (!made || !activation) return made;
  const auto activated = in.call(*activation, ValueList{*made});
  return activated ? with_mask(in, *activated, *made, mask_is_kept) : activated;
}

// add_weight(shape, initializer, ...) of Keras 3, add_weight(name, shape, ...) of Keras 1 and 2.
Made SourceLibrary::add_weight(Interpreter& in, Arguments& given) {
  SourceLayer* owner = state_of(given.placed.front());
  given.placed.erase(given.placed.begin());
  const bool named_first = !given.placed.empty() && given.placed[0].as<python::Text>();
  const auto taken =
      python::bound(given,
                    named_first ? "name shape dtype initializer regularizer trainable constraint autocast "
                                  "aggregation experimental_autocast synchronization use_resource"
                                : "shape initializer dtype trainable autocast regularizer constraint "
                                  "aggregation overwrite_with_gradient name experimental_autocast "
                                  "synchronization use_resource",
                    0, "add_weight");
  if (!taken) return std::unexpected(taken.error());
  const auto argument = [&](std::size_t first, std::size_t otherwise) {
    const auto& one = (*taken)[named_first ? first : otherwise];
    return one ? *one : Value();
  };
  const Value name = argument(0, 9), shape = argument(1, 0), dtype = argument(2, 2), initializer = argument(3, 1),
              trains = argument(5, 3);
  if (const auto* type = dtype.as<python::Text>(); type && type->text != "float32")
    return fail(Fault::Unsupported, "add_weight() of element type " + type->text);
  auto sizes = shape.is_none() ? Result<Json>(Json::array()) : json_of(in, shape);
  if (!sizes) return pass(sizes);
  if (!sizes->is_array()) *sizes = Json::array({*sizes});
  TensorType type;
  for (const Json& n : *sizes) {
    if (!n.is_number_integer() || n < 0)
      return fail(Fault::Format, "add_weight(): the shape " + sizes->dump() + " holds what is no size");
    type.shape.push_back(Dim(n.get<Size>()));
  }
  auto start = initializer.is_none() ? Result<Json>(fresh("GlorotUniform")) : initialiser_of(in, initializer);
  if (!start) return pass(start);
  const auto trained = trains.is_none() ? Result<bool>(true) : in.truth(trains);
  if (!trained) return std::unexpected(trained.error());
  auto* weight = in.make<SourceLayer>();
  weight->class_name = source_weight;
  const auto* word = name.as<python::Text>();
  weight->name = owner->name + "/" + (word ? word->text : "variable");
  weight->config = {{"shape", *sizes}, {"trainable", *trained}, {"kernel_initializer", *start}, {starts_anew, true}};
  weight->calls.emplace_back().order = ++calls_;
  owner->variables.push_back(weight);
  return Value::of(in.make<SourceTensor>(*this, weight, 0, 0, std::move(type)));
}

}  // namespace convoy::keras
