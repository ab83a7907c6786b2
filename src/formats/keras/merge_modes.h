// The words by which Keras 1 said how tensors are merged.
#pragma once
#include <string_view>

namespace convoy::keras {

// The layer of later versions that does the same: "sum" -> "Add". Empty: no such mode, or one without a layer ("cos").
std::string_view merging_class(std::string_view mode);

}  // namespace convoy::keras
