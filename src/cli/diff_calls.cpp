#include "cli/diff_calls.h"

#include "cli/command.h"
#include "cli/output.h"
#include "cli/pad.h"
#include "containers/python/expression.h"
#include "port/compared_calls.h"
#include "report/calls.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <system_error>

namespace convoy::cli {

bool is_call(const std::string& word) {
  std::error_code none;
  if (word.find('(') == std::string::npos || std::filesystem::exists(word, none)) return false;
  const auto whole = python::parse_expression(word);
  return whole && whole->kind == python::Kind::Call;
}

int diff_calls(const CallOptions& words) {
  for (const std::string* word : {&words.a, &words.b})
    if (!is_call(*word))
      return report({Fault::Usage,
                     "'" + *word +
                         "' is no call, and the other is one; give two calls, or two models "
                         "(convoy pad FILE tells what the layers of a file do)",
                     {}});
  PadOptions one;
  one.size = words.size;
  one.kernel = words.kernel;
  one.channels = words.channels;
  PadOptions other = one;
  one.layer = words.a;
  other.layer = words.b;
  auto a = question_of(one);
  if (!a) return report(a.error());
  auto b = question_of(other);
  if (!b) return report(b.error());
  std::optional<Shape> shape;
  if (!words.shapes.empty()) {
    ModelOptions one_input;
    one_input.shapes = words.shapes;
    const auto parsed = one_input.parsed();
    if (!parsed) return report(parsed.error());
    const Shape* given = parsed->shape_of("", 1);
    if (!given || words.shapes.size() != 1)
      return report({Fault::Usage, "--shape of two calls is that of a's input, without a name: 2,6,5,7", {}});
    shape = *given;
  }
  const auto found = compare_calls(*a, *b, shape);
  if (!found) return report(found.error());
  if (words.json) print_json(calls_json(*found));
  else if (!words.quiet) print("{}", calls_text(*found));
  return found->same() ? Done : Differs;
}

}  // namespace convoy::cli
