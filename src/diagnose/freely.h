// The whole of b against the whole of a, with nothing forced in between: another road to the same answer.
#pragma once
#include "diagnose/align.h"
#include "diagnose/comparable.h"
#include "diagnose/diagnose.h"

#include <optional>

namespace convoy::diagnose {

// Notes how far the outputs are apart in float32.
void run_freely(const Sized& at, const Alignment& alignment, Diagnosis& into, int threads);

// Where they do not agree there: an output that float64 does not make alike either, by more than roundings of weights come to.
// Nothing where a step stands in the way, of which a rounding may take the other side, and where the last digits of a's weights
// move the output as far, which is noted.
std::optional<Finding> outputs_apart(const Sized& at, const Alignment& alignment, Diagnosis& noted, int threads);

}  // namespace convoy::diagnose
