// How the arguments of a call find the names of a function of ours.
#include "base/words.h"
#include "containers/python/interpreter.h"

#include <algorithm>

namespace convoy::python {

Result<std::vector<std::optional<Value>>> bound(const Arguments& given, std::string_view words, std::size_t least,
                                                std::string_view function) {
  const auto names = words_in(words);
  std::vector<std::optional<Value>> all(names.size());
  const std::string who = std::string(function) + "(): ";
  if (given.placed.size() > names.size())
    return fail(Fault::Format, who + "takes " + std::to_string(names.size()) + " arguments, " +
                                   std::to_string(given.placed.size()) + " are given");
  for (std::size_t i = 0; i < given.placed.size(); ++i) all[i] = given.placed[i];
  for (const auto& [word, value] : given.named) {
    const auto at = std::ranges::find(names, word);
    if (at == names.end())
      return fail(Fault::Unsupported, who + "has no argument '" + word + "'; it takes " + std::string(words));
    auto& place = all[static_cast<std::size_t>(at - names.begin())];
    if (place) return fail(Fault::Format, who + "'" + word + "' is given twice");
    place = value;
  }
  for (std::size_t i = 0; i < least; ++i)
    if (!all[i]) return fail(Fault::Format, who + "argument '" + std::string(names[i]) + "' is missing");
  return all;
}

}  // namespace convoy::python
