#include "containers/python/expression.h"
#include "containers/python/syntax.h"

#include "fuzz/answer.h"
#include "fuzz/targets.h"

void convoy::fuzz::python(Bytes bytes) {
  const auto text = text_of(bytes);
  answered(convoy::python::parse_program(text));
  const auto expression = convoy::python::parse_expression(text);
  if (!answered(expression)) return;
  // The text of an expression is an expression.
  const std::string again = convoy::python::source_of(*expression, text);
  if (!again.empty() && !answered(convoy::python::parse_expression(again))) std::abort();
}
