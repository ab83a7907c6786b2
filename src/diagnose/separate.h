// Where several causes give the same numbers at the sizes that were tried: a size at which they would not.
#pragma once
#include "diagnose/diagnose.h"

#include <string>

namespace convoy::diagnose {

// For a layer of `a` with windows, and the finding's cause beside those that stand under `also`: a size of the model's
// input near the one that was tried, "33x36". Empty: the causes are not about windows, the model takes no other size,
// or they agree at every size nearby.
std::string separating_size(const Graph& a, const Finding& finding);

}  // namespace convoy::diagnose
