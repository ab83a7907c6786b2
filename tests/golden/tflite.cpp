// TFLite's cases: the operator's options as the file holds them, its tensors by TFLite's names.
#include "formats/tflite/catalogue/catalogue.h"

#include "functions/evaluate.h"
#include "golden/answer.h"

#include <array>

namespace convoy::golden {
namespace {

struct Name {
  std::string_view ours, theirs;  // in the case, in the row
};
constexpr std::array names{Name{"x", "input"},
                           Name{"w", "filter"},
                           Name{"b", "bias"},
                           Name{"output_shape", "output_shape"},
                           Name{"paddings", "paddings"},
                           Name{"value", "constant_values"},
                           Name{"size", "size"}};

}  // namespace

Result<Answer> answer_tflite(const Case& c) {
  // "tflite/CONV_2D/0012" names the operator.
  const std::size_t begin = c.id.find('/') + 1;
  const std::string function = c.id.substr(begin, c.id.find('/', begin) - begin);
  if (!row_of(tflite::functions(), function)) return not_mapped("TFLite's " + function);
  std::vector<View> views;
  views.reserve(names.size());
  std::vector<ArrayArgument> arrays;
  for (const Name& name : names)
    if (const Array* array = c.input(name.ours)) arrays.push_back({name.theirs, &views.emplace_back(array->tensor)});
  auto y = evaluate_one(tflite::functions(), function, arrays, c.attrs);
  if (!y) return pass(y);
  return Answer{{std::move(*y), c.want ? c.want->layout : ""}, {}, {}};
}

}  // namespace convoy::golden
