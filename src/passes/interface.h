// How the inputs and outputs of a port lie: told before any pass runs, from what the source's own layers say of their
// axes and where the target has channels. Passes keep to it; the proof finds it again by a road of its own.
#pragma once
#include "graph/graph.h"

#include <string>
#include <vector>

namespace convoy {

// Whose axes a port has outside.
enum class Outside : std::uint8_t {
  Target,  // channels where the target's own layers have them
  Source,  // every axis where the source has it
};

// One input or output.
struct Border {
  Sizes permutation;  // axis i of the port is axis permutation[i] of the source
  std::string channels_of;  // the source's layer that names the axis of channels which moved; empty: every axis is kept
};

struct Interface {
  std::vector<Border> inputs, outputs;
};

// Toward channels in the order `to`, an input or output takes the one standard permutation of its rank, and only where
// layers of the source that read or make it name its axis of channels: convolutions, pools, resizing, shuffles and
// norms, met at once or across operators that leave every axis where it is. Where they name several axes, where a
// recurrent cell walks along one, where nothing names any, or where it holds whole numbers, every axis is kept.
Interface interface_of(const Graph& source, Order to);
// Every axis as the source has it.
Interface interface_of_source(const Graph& source);

}  // namespace convoy
