// PyTorch's names for functions: which row reads each of them, and the names of its arguments.
#include "base/words.h"
#include "formats/torch/aten/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "formats/torch/functions/functions.h"
#include "formats/torch/source/functions.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace convoy::torch {

namespace {

constexpr std::array spelled{
    Spelled{"norm", "linalg_vector_norm", "input ord dim keepdim"},
    Spelled{"index_select", "index_select", "input dim index"},
    Spelled{"scaled_dot_product_attention", "scaled_dot_product_attention",
            "query key value attn_mask dropout_p is_causal scale enable_gqa"},
    Spelled{"new_zeros", "new_zeros", "input size..."},
    Spelled{"new_ones", "new_ones", "input size..."},
    Spelled{"gather", "gather", "input dim index"},
};

}  // namespace

const Spelled* spelling_of(std::string_view name) {
  const auto found = std::ranges::find(spelled, name, &Spelled::name);
  return found == spelled.end() ? nullptr : &*found;
}

const FunctionRow* aten_named(std::string_view name) {
  const auto dot = std::min(name.find('.'), name.size());
  if (const FunctionRow* row =
          catalogued_aten(name.substr(0, dot), dot < name.size() ? name.substr(dot + 1) : "default"))
    return row;
  for (const auto rows : {aten_picks(), aten_attention(), aten_constants()})
    if (const FunctionRow* row = row_of(rows, name)) return row;
  return nullptr;
}

const FunctionRow* row_named(std::string_view name) {
  if (const FunctionRow* row = catalogued_function(name)) return row;
  const Spelled* said = spelling_of(name);
  const std::string_view row = said ? said->row : name;
  if (const FunctionRow* own = row_of(functions(), row)) return own;
  if (said) return aten_named(row);
  return row_of(aten_attention(), row);
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
    if (word == "p" && name == "norm") word = "ord";
    if (std::ranges::find(all, word, &std::pair<std::string, Value>::first) != all.end())
      return fail(Fault::Format, name + "(): '" + word + "' is given twice");
    all.emplace_back(word, value);
  }
  return all;
}

}  // namespace convoy::torch
