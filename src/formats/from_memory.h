// A model whose file somebody holds in memory.
#pragma once
#include "base/bytes.h"
#include "formats/format.h"

#include <string>

namespace convoy {

// As load() does for a file of these bytes, which `name` calls in messages; files beside it are not found. Bytes of source are
// not read: they are no model to any reader.
Result<Graph> load_from_memory(const Blob& blob, const std::string& name, const LoadOptions& options);

}  // namespace convoy
