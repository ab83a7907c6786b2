// The arguments of Keras's layers by place, as their constructors take them, and the words of Keras 1 in those of today.
#pragma once
#include "containers/json.h"

#include <optional>
#include <string>
#include <string_view>

namespace convoy::keras {

// "filters kernel_size strides ..."; nothing: no layer of this name. Source: the constructors of Keras 3.15.
std::optional<std::string_view> signature_of(std::string_view class_name);
// Of the names of Keras 1, whose arguments stand in another order.
std::optional<std::string_view> old_signature_of(std::string_view class_name);
// Renames what Keras 1 called otherwise: border_mode, subsample, nb_row and nb_col, dim_ordering, output_dim, p.
void modernise(const std::string& class_name, Json& config);
// "Conv2DTranspose" -> "conv2d_transpose", as Keras names layers.
std::string usual_layer_name(const std::string& class_name);

}  // namespace convoy::keras
