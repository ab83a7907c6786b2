// Python source as a tree: every statement and expression with its place, nothing looked up, nothing computed. The tree
// knows the language and no library.
#pragma once
#include "containers/python/token.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::python {

enum class SyntaxKind : std::uint8_t {
  Absent,  // a part that is left out: a bound of a slice, the key of **mapping
  // expressions
  None,
  Truth,  // integer: 0 or 1
  Integer,
  Real,
  Imaginary,  // text: as written
  String,  // text; integer: 1 where it is bytes
  Formatted,  // f-string: String and Replacement parts
  Replacement,  // value, specification (Formatted or Absent); text: "r", "s" or empty
  Ellipsis,
  Name,  // text
  Attribute,  // object; text
  Subscript,  // object, key
  Slice,  // begin, end, step
  Call,  // function, Argument ...
  Argument,  // value; text: the keyword, "*", "**" or empty
  Unary,  // operand; text: "-", "+", "~", "not"
  Binary,  // left, right; text: the operator
  Compare,  // left, Operand ...
  Operand,  // value; text: "<", "not in", "is" ...
  And,
  Or,
  Conditional,  // condition, value, otherwise
  Lambda,  // Parameters, body
  Tuple,
  List,
  Set,
  Dict,  // key, value, key, value, ...
  Starred,  // value
  Comprehension,  // element (and value, where text is "dict"), Clause ...; text: "list", "set", "dict", "generator"
  Clause,  // target, iterable, condition ...
  Walrus,  // value; text: the name
  Yield,  // value or Absent; text: "from" or empty
  // statements
  Expression,  // value
  Assign,  // target ..., value
  Augmented,  // target, value; text: "+", "//", ...
  Annotated,  // target, value or Absent; text: ClassVar, InitVar or KW_ONLY where its type is one
  Return,  // value or Absent
  If,  // condition, Block, condition, Block, ..., [Block]
  For,  // target, iterable, Block, [Block]
  While,  // condition, Block, [Block]
  Break,
  Continue,
  Pass,
  Def,  // Parameters, Block, decorator ...; text: the name; integer: 1 where it yields
  Parameters,  // Parameter ...
  Parameter,  // default or Absent; text: the name; integer: what it takes, a ParameterKind
  Class,  // Block, Decorators, Argument ...; text: the name
  Decorators,
  Import,  // Alias ...
  ImportFrom,  // Alias ...; text: the module; integer: the number of dots in front
  Alias,  // text: "a.b"; parts[0]: Name, where `as` gives one
  With,  // Argument (value; text: the name) ..., Block
  Try,  // Block, Handler ..., Block (else) or Absent, Block (finally) or Absent
  Handler,  // what it catches or Absent, Block; text: the name
  Raise,  // value or Absent
  Assert,  // condition
  Delete,  // target ...
  Scope,  // Name ...; text: "global" or "nonlocal"
  Block  // statements
};

enum class ParameterKind : std::uint8_t { Usual, NameOnly, Rest, RestNamed };

struct Syntax {
  SyntaxKind kind = SyntaxKind::Absent;
  std::size_t at = 0;  // byte of the text
  std::string text;
  std::int64_t integer = 0;
  double real = 0;
  int height = 1;
  std::vector<Syntax> parts;
};

// A program as a Block. Fails (Format) with line and column, and with what was expected there; Limit: brackets or
// operators nested over 100 deep, trees over 400 high, more than 1 MiB of text.
Result<Syntax> parse_program(std::string_view text);

// Gives names of the form __x inside of classes the name of their class; `type`: the class around; empty: there is none.
void name_privates(Syntax& s, const std::string& type);

// The line of the text that holds this byte, without its indentation, at most 120 characters.
std::string line_around(std::string_view text, std::size_t at);

}  // namespace convoy::python
