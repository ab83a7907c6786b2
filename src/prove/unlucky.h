// A graph run in float32 where every operator rounds as badly as its bound lets it, to one side or the other at random: how
// far another runtime, which sums in another order and with another number of digits between, may come out.
#pragma once
#include "prove/prove.h"

namespace convoy {

// The outputs. Products (convolutions, matrices) round as ours do: theirs are many and even out, and their bounds cost a
// second product. Sums and means may be added one by one, K roundings for K numbers, which is what some runtimes do.
// Fails: as run_node does; the memory limit.
Result<std::vector<Tensor>> run_unluckily(const Graph& graph, const std::vector<Tensor>& inputs, std::uint64_t seed,
                                          const ProofOptions& options);

}  // namespace convoy
