// Which row reads a function by PyTorch's name, and its arguments by theirs.
#include "base/words.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "formats/torch/source/functions.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace convoy::torch {

const FunctionRow* aten_named(std::string_view name) {
  const auto dot = std::min(name.find('.'), name.size());
  return catalogued_aten(name.substr(0, dot), dot < name.size() ? name.substr(dot + 1) : "default");
}

const FunctionRow* row_named(std::string_view name) {
  const FunctionRow* row = catalogued_function(name);
  if (row) return row;
  const bool of_a_part = name.starts_with("linalg_") || name.starts_with("special_");
  return of_a_part ? catalogued_aten(name, "default") : row_of(functions(), name);
}

bool is_silent(std::string_view word) {
  return word == "device" || word == "memory_format" || word == "requires_grad" || word == "non_blocking" ||
         word == "layout" || word == "pin_memory" || word == "out_dtype" || word == "_stacklevel" || word == "copy";
}

// Arguments by name: by place, by keyword, and all that are left for the last.
Result<std::vector<std::pair<std::string, Value>>> named_arguments(Interpreter& in, const Arguments& given,
                                                                   std::string_view parameters,
                                                                   const std::string& name) {
  auto words = words_in(parameters);
  std::vector<std::pair<std::string, Value>> all;
  bool takes_rest = !words.empty() && words.back().ends_with("...");
  if (takes_rest) words.back().remove_suffix(3);
  for (std::size_t i = 0; i < given.placed.size(); ++i) {
    if (takes_rest && i + 1 == words.size()) {
      ValueList rest(given.placed.begin() + static_cast<std::ptrdiff_t>(i), given.placed.end());
      const bool listed = rest.size() == 1 && rest[0].as<python::Sequence>();
      all.emplace_back(words[i], listed ? rest[0] : in.list(std::move(rest)));
      break;
    }
    if (i >= words.size())
      return fail(Fault::Format, name + "() takes " + std::to_string(words.size()) + " arguments, " +
                                     std::to_string(given.placed.size()) + " are given");
    all.emplace_back(words[i], given.placed[i]);
  }
  for (auto [word, value] : given.named) {
    if (is_silent(word)) continue;
    if (word == "axis") word = "dim";
    if (word == "keepdims") word = "keepdim";
    if (std::ranges::find(all, word, &std::pair<std::string, Value>::first) != all.end())
      return fail(Fault::Format, name + "(): '" + word + "' is given twice");
    all.emplace_back(word, value);
  }
  return all;
}

}  // namespace convoy::torch
