// Python text for every writer of source: identifiers, literals, expressions with their precedence, and lines wrapped as `black` wraps them.
// Names and strings from a model file reach the text only through `identifier`, `quoted` and `prose`.
#pragma once
#include "convoy/size.h"

#include <string>
#include <string_view>
#include <vector>

namespace convoy::python {

// How tightly an expression binds, loosest first.
enum class Binds : std::uint8_t { Conditional, Sum, Product, Negation, Power, Atom };

struct Expression {
  std::string text;
  Binds binds = Binds::Atom;
  int calls = 0;  // how much happens in it: a line holds a few
  bool light = false;  // reads well inside any other expression: x.flatten(1)
  std::string comment;  // why it stands there; keeps it on a line of its own
};

// In parentheses unless it binds at least as tightly as `least`.
std::string bound(const Expression& e, Binds least);
// Ready for `.method()` or `[...]` behind it.
inline std::string postfix(const Expression& e) { return bound(e, Binds::Atom); }

std::string identifier(std::string_view name);  // "block 1/conv" -> "block_1_conv"; never a keyword
std::string class_name(std::string_view name);  // "mini_xception" -> "MiniXception"
std::string quoted(std::string_view text);  // a string literal, ASCII only
std::string prose(std::string_view text);  // for comments, docstrings and f-strings: nothing that could end them
std::string number(double value);  // the shortest text that reads back as the same double
std::string number_of_float(float value);  // the same for a float32
std::string tuple(const Sizes& values);  // "(1, 2)", "(1,)"
std::string tuple_or_one(const Sizes& values);  // "3" when all are equal

std::string joined(const std::vector<std::string>& parts, std::string_view between = ", ");

// One statement with its comment, indented and wrapped at 100 columns, ending in a newline.
std::string statement(int indent, const std::string& text, const std::string& comment = {});

}  // namespace convoy::python
