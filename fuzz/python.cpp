#include "containers/python/expression.h"

#include "fuzz/answer.h"
#include "fuzz/targets.h"

void convoy::fuzz::python(Bytes bytes) {
  const auto expression = convoy::python::parse_expression(text_of(bytes));
  if (!answered(expression)) return;
  // The text of an expression is an expression.
  const std::string text = convoy::python::source_of(*expression, text_of(bytes));
  if (!text.empty() && !answered(convoy::python::parse_expression(text))) std::abort();
}
