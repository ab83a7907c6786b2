// Source: the alias annotations of ATen/native/native_functions.yaml.
#include "formats/torch/catalogue/views.h"
#include "base/words.h"

#include <algorithm>
#include <array>

namespace convoy::torch {
namespace {

// clang-format off
constexpr std::array<std::string_view, 73> sharing{
    "H", "T", "_conj", "_reshape_alias", "adjoint", "alias", "alpha_dropout", "as_strided", "atleast_1d",
    "atleast_2d", "atleast_3d", "broadcast_tensors", "broadcast_to", "chunk", "conj", "conj_physical", "contiguous",
    "data", "detach", "diagonal", "dropout", "dropout1d", "dropout2d", "dropout3d", "dsplit", "expand", "expand_as",
    "feature_alpha_dropout", "feature_dropout", "flatten", "hsplit", "imag", "linalg_diagonal", "mH", "mT",
    "matrix_H", "moveaxis", "movedim", "narrow", "numpy_T", "permute", "positive", "ravel", "real", "reshape",
    "reshape_as", "resolve_conj", "resolve_neg", "select", "slice", "split", "split_with_sizes", "squeeze",
    "swapaxes", "swapdims", "t", "tensor_split", "to", "transpose", "type_as", "unbind", "unflatten", "unfold",
    "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes", "unsqueeze", "view", "view_as", "view_as_complex",
    "view_as_real", "vsplit", "_unsafe_view"};
constexpr std::array<std::string_view, 7> splitting{
    "chunk", "split", "split_with_sizes", "unbind", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes"};
// clang-format on

}  // namespace

bool may_share_memory(std::string_view operation) { return is_among(sharing, operation); }
bool takes_apart(std::string_view operation) { return is_among(splitting, operation); }

}  // namespace convoy::torch
