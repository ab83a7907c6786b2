// Opens a container and everything in it, as no reader does: what lies beside a reader's way is walked, too.
#pragma once
#include "convoy/result.h"

#include <filesystem>

namespace convoy::hostile {

// The first failure on the way; success where every part could be read.
Status walk(const std::filesystem::path& file);

}  // namespace convoy::hostile
