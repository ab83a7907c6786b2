// What readers are told, of what the library and the command were asked.
#pragma once
#include "convoy/settings.h"
#include "formats/format.h"

#include <filesystem>

namespace convoy {

// A shape of sizes from 1, or free ones. Fails (Usage): another size.
Result<Shape> shape_of(const ModelShape& sizes, const std::string& input);

// Source that is given no weights takes those beside it, where there are any. Fails: Usage, a size that is none; as
// weights_beside does.
Result<LoadOptions> load_options(const std::filesystem::path& file, const ReadOptions& options);

}  // namespace convoy
