// What differs between two roundings to steps, or two weights on steps, by what both models say of them.
#pragma once
#include "diagnose/diagnose.h"

namespace convoy::diagnose {

// Findings in layers that round to steps, and about weights that lie on some, get the cause that their scales and zero points
// tell; of a rounding and the widening behind it, which say one scale, one finding is left.
void name_steps(const Graph& a, const Graph& b, std::vector<Finding>& findings);

}  // namespace convoy::diagnose
