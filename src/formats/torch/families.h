// The write rows of every operator family, one file each.
#pragma once
#include "formats/torch/call.h"
#include "formats/torch/torch.h"

#include <array>
#include <span>

namespace convoy::torch {

std::span<const Row> convolution_rows();
std::span<const Row> pooling_rows();
std::span<const Row> pad_rows();
std::span<const Row> linear_rows();
std::span<const Row> normalization_rows();
std::span<const Row> activation_rows();
std::span<const Row> elementwise_rows();
std::span<const Row> reduction_rows();
std::span<const Row> reshape_rows();
std::span<const Row> slice_concat_rows();
std::span<const Row> resize_rows();
std::span<const Row> recurrent_rows();
std::span<const Row> unfold_rows();

}  // namespace convoy::torch
