// Rewrites that change numbers by rounding alone and are made only when asked for.
#pragma once
#include "passes/passes.h"

namespace convoy {

// fold_norms: a batch normalisation behind a convolution or a linear layer that nobody else reads is taken into its kernel
// and bias: W' = a * W, b' = a * (b - mean) + beta, with a = gamma / sqrt(variance + epsilon), computed in float64 and
// rounded once. For graphs whose kernels have the target's order, channels first.
// What it may change, against the layers one after the other: (K + 8) * u * (|a| (|W| * |x| + |b| + |mean|) + |beta|) for
// sums of K products, u = 2^-24 in float32; the proof holds it to that.
// Fails: as patches do.
Result<std::vector<PassReport>> optimize(Graph& graph);

}  // namespace convoy
