// A document as Python source: functional or Sequential Keras code, with its weights and a check beside it.
#pragma once
#include "formats/keras/write/document.h"

#include <string>

namespace convoy::keras {

struct SourceOptions {
  std::string source_file;     // what was ported: "net.pt2"
  std::string module_name;     // the stem of the file: "net"
  std::string weights_file;    // "net.weights.h5"
  std::string check_file;      // "net.check.npz"
  std::string weights_sha256;  // empty: load() compares nothing
};

// The whole text. `graph` is what the document was made of: it tells how inputs and outputs lie. Blocks of the source that
// are repeated exactly are functions. The same document gives the same text.
// Fails: a table of numbers too large for source code, with its layer.
Result<std::string> write_source(const Document& document, const Graph& graph, const SourceOptions& options);

}  // namespace convoy::keras
