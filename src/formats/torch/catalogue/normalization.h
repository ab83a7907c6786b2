// What norms share: weights per channel, and what PyTorch asks of them.
#pragma once
#include "formats/function.h"
#include "formats/torch/call.h"

#include <string>
#include <string_view>
#include <vector>

namespace convoy::torch {

// A weight or bias: one number per channel.
ValueId per_channel(FunctionCall& call, std::string_view argument, ValueId x);
// Statistics of one number are none.
void expect_several(FunctionCall& call, ValueId x, Size first, Size times);
void expect_rank_from(FunctionCall& call, ValueId x, Size least);
double epsilon_of(FunctionCall& call, double otherwise);
// Of layers: `affine` says whether weight and bias are there.
void expect_affine(FunctionCall& call, bool affine);
void expect_features(FunctionCall& call, ValueId x, std::string_view key);

// ---- for writers
Tensor filled(Size count, float value);
// A weight and a bias, one of which may be left as it is.
void add_affine(Call& c, Size count, std::vector<State>& states, std::vector<std::string>& then);
// 1 - 0.99 as a person writes it.
std::string short_number(double value);
Status write_batch_norm(const BatchNorm& norm, Call& c);

}  // namespace convoy::torch
