// Calls that repeat themselves, as blocks with functions of their own: what no scope of the source says.
#pragma once
#include "formats/keras/write/blocks.h"

namespace convoy::keras {

// The document with layers named after the blocks that they stand in, and its parts with these blocks.
struct Repeated {
  Document document;
  std::vector<Part> parts;
  bool any = false;  // false: nothing repeats itself
};
// `by_names`: where the source tells no blocks, names of layers do, before structure does.
Result<Repeated> with_repeated_blocks(const Document& document, bool by_names);

}  // namespace convoy::keras
