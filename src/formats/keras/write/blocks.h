// A document in the order in which source code says it: calls one behind the other, and the source's blocks around them.
#pragma once
#include "formats/keras/write/document.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convoy::keras {

// One call of a layer: what it gives is read as a whole or by its place.
struct Step {
  std::size_t layer = 0, call = 0;
  friend auto operator<=>(const Step&, const Step&) = default;
};

// A call, or a block of them.
struct Part {
  std::optional<Step> step;
  std::string path;  // of a block: the source's scopes
  std::string word;  // of a block that no source has: what its function is called
  std::string prefix;  // what the names of all its layers begin with, a separator at its end; empty: nothing
  std::vector<Part> inside;
  std::vector<Reference> inputs;  // of a block: what it reads from outside, in order
  std::vector<Reference> outputs;  // what is read of it from outside
};

// Everything but the inputs of the model. `by_names`: where the source tells no blocks, names of layers do.
// Fails: calls that wait for each other.
Result<std::vector<Part>> parts_of(const Document& document, bool by_names = true);

// What a call reads, in order, each once.
std::vector<Reference> reads_of(const Document& document, const Step& step);

}  // namespace convoy::keras
