// A layer of Keras's as its constructor, with the arguments that the catalogue does not say already.
#pragma once
#include "containers/json.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace convoy::keras {

using Given = std::initializer_list<std::pair<std::string_view, Json>>;

// "layers.Conv2D(8, 3, strides=2)", arguments in this order, the first in any case. The name is the catalogue's: "layers.Conv2D".
std::string layer_text(std::string_view name, const Given& given);
// In place of a number: Python to stand there as it is.
Json verbatim(std::string_view python);

// Whether a layer, or an operation of keras.ops, takes `data_format`.
bool takes_data_format(std::string_view class_name, bool is_operation);

}  // namespace convoy::keras
