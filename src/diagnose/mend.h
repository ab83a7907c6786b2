// B with the stretches that differ put right: each does what a's does, and everything else stays b's own.
#pragma once
#include "diagnose/diagnose.h"

namespace convoy::diagnose {

// b in the comparable form, with b's names and, in place of what differs, a's operators and numbers. Whether it then
// computes the same is for the caller to show.
// Fails (Unsupported): a difference that no stretch holds (rows for columns everywhere), or where what a does there does
// not fit into b.
Result<Graph> mend(const Graph& a, const Graph& b, const Diagnosis& diagnosis);

}  // namespace convoy::diagnose
