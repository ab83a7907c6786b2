// Python expressions as data: what a call says, without calling anything. Names stay names; only arithmetic on numbers
// that are written out is done.
#pragma once
#include "containers/python/token.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::python {

// The writers of Python text have an Expression of their own in this namespace: these are other types to the linker.
inline namespace pasted {

enum class Kind : std::uint8_t {
  None,
  Truth,
  Integer,
  Real,
  String,
  Name,       // text: "torch.nn.Conv2d"
  Tuple,      // items
  List,       // items
  Dict,       // items: key, value, key, value, ...
  Call,       // base called with arguments
  Attribute,  // base.text, where base is no name
  Subscript,  // base[items]
  Slice,      // items: begin, end, step; absent ones are None
  Opaque      // text: anything else, as written
};

struct Argument;

struct Expression {
  Kind kind = Kind::None;
  std::size_t at = 0, end = 0;  // bytes [at, end) of the text
  bool truth = false;
  std::int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<Expression> items;
  std::vector<Expression> base;  // one, where there is any
  std::vector<Argument> arguments;

  bool is_name(std::string_view name) const { return kind == Kind::Name && text == name; }
};

struct Argument {
  std::string keyword;  // empty: by place; "*" and "**": unpacked
  Expression value;
};

}  // namespace pasted

// One expression. In front of it `name =` and `return` are skipped, behind it a comma or semicolon.
// Fails (Format) with the column as place, and with what was expected there; Limit: brackets nested over 64 deep.
Result<Expression> parse_expression(std::string_view text);

// The text of an expression as it was written.
std::string source_of(const Expression& expression, std::string_view text);

}  // namespace convoy::python
