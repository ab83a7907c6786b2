// Names of the form __x inside of a class are its own: each is _Class__x.
#include "containers/python/syntax.h"

#include <algorithm>
#include <array>

namespace convoy::python {
namespace {

bool is_private(const std::string& name) {
  return name.starts_with("__") && !name.ends_with("__") && name.find('.') == std::string::npos;
}

bool holds_name(SyntaxKind kind) {
  constexpr std::array kinds{SyntaxKind::Name,  SyntaxKind::Attribute, SyntaxKind::Walrus,   SyntaxKind::Def,
                             SyntaxKind::Class, SyntaxKind::Parameter, SyntaxKind::Argument, SyntaxKind::Handler};
  return std::ranges::find(kinds, kind) != kinds.end();
}

}  // namespace

void name_privates(Syntax& s, const std::string& type) {
  std::string inside = type;
  if (s.kind == SyntaxKind::Class) {
    const auto first = s.text.find_first_not_of('_');
    inside = first == std::string::npos ? "" : s.text.substr(first);
  }
  if (!type.empty() && holds_name(s.kind) && is_private(s.text)) s.text = "_" + type + s.text;
  for (Syntax& part : s.parts) name_privates(part, part.kind == SyntaxKind::Block ? inside : type);
}

}  // namespace convoy::python
