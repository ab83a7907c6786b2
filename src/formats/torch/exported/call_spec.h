// How forward of an exported program is called, as its trees of arguments and results say it.
#pragma once
#include "containers/json.h"

#include <string>
#include <vector>

namespace convoy::torch {

struct CallSpec {
  std::vector<std::string> keys_taken, keys_given;  // of the one dictionary of tensors; none: it is something else
  bool gives_sequence = false;                      // a tuple or a list
  bool gives_nested = false;                        // one holds another
};

// `signature` of the whole module. What it does not say is left as it is.
CallSpec call_spec_of(const Json& signature);

// For the user: ports have no such structure.
std::string nested_outputs(const std::vector<std::string>& names);

}  // namespace convoy::torch
