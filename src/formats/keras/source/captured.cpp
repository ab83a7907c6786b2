// What Lambda layers read from around them: Keras computes such a layer anew whenever the model runs, so a name that the
// program binds again behind it, as a loop does, means another model than the one that was built.
#include "formats/keras/source/library.h"

#include <algorithm>

namespace convoy::keras {

namespace {

void names_in(const python::Syntax& syntax, std::vector<std::string>& into, int depth) {
  if (syntax.kind == python::SyntaxKind::Name && std::ranges::find(into, syntax.text) == into.end())
    into.push_back(syntax.text);
  if (depth < 64)
    for (const python::Syntax& part : syntax.parts) names_in(part, into, depth + 1);
}

bool is_plain(const Value& value) {
  return value.is_number() || value.as<python::Text>() || value.as<python::Sequence>();
}

}  // namespace

void SourceLibrary::remember_captured(Interpreter& in, const SourceLayer& layer, const Value& function) {
  const auto* own = function.as<python::Function>();
  if (!own || !in.charge(500)) return;
  std::vector<std::string> names;
  names_in(*own->body, names, 0);
  for (const std::string& name : names) {
    const auto& parameters = own->parameters->parts;
    if (std::ranges::find(parameters, name, &python::Syntax::text) != parameters.end()) continue;
    for (const python::Scope* scope = own->outer; scope; scope = scope->outer)
      if (const Value* value = scope->class_of_body ? nullptr : scope->names.find(name)) {
        if (is_plain(*value)) captured_.push_back({&layer, scope, name, *value});
        break;
      }
  }
}

Status SourceLibrary::check_captured(Interpreter& in) const {
  for (const Captured& one : captured_) {
    const Value* now = one.scope->names.find(one.name);
    if (now && (now->same(one.value) || (is_plain(*now) && in.equal(*now, one.value).value_or(false)))) continue;
    return fail(
        Fault::Unsupported,
        "Lambda layer '" + one.layer->name + "' reads '" + one.name + "', which was " + python::repr(in, one.value) +
            " when the layer was called and is " + (now ? python::repr(in, *now) : "gone") +
            " at the end: TensorFlow 2 computes the layer with the last value, TensorFlow 1 did with the first; "
            "bind the one that is meant, as in lambda x, " +
            one.name + "=" + one.name + ": ...");
  }
  return {};
}

}  // namespace convoy::keras
