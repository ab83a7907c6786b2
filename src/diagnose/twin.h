// A model of real numbers beside the same one that was quantised.
#pragma once
#include "diagnose/diagnose.h"

namespace convoy::diagnose {

bool rounds_to_steps(const Graph& graph);

// One of both rounds to steps, and the other rounds nothing: steps that are spelt out in several layers are steps all the same.
bool are_twins(const Graph& a, const Graph& b);

// With real numbers in place of steps. A range that begins at 0 is a ReLU, which quantisers leave out in front of it.
Graph without_steps(const Graph& graph);

// What rounding alone explains is no finding: weights that lie on steps beside a's own, limits that are the ranges of steps.
void drop_rounded(const Graph& a, const Graph& b, std::vector<Finding>& findings);

// The same where weights alone lie on steps: within half a step of the other model's, which lie on none. Says whose were dropped.
enum class Side : std::uint8_t { A, B };
std::optional<Side> drop_rounded_weights(const Graph& a, const Graph& b, std::vector<Finding>& findings);

struct TwinLosses {
  std::vector<LayerLoss> layers;  // worst first
  double outputs_largest = 0, outputs_scale = 0;  // how far the outputs are apart with all that is rounded
  std::string beyond_range;  // as in Diagnosis
  double share_beyond = 0;
};

// Layer by layer, at the size of the first trial. `ranged` is the one of steps without them, by
// which they are aligned. Fails: as runs do.
Result<TwinLosses> losses_of_twins(const Graph& real, const Graph& stepped, const Graph& ranged,
                                   const Options& options);

}  // namespace convoy::diagnose
