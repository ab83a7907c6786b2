// Work split over threads. Items must not depend on one another, so the result is the same for any number of threads.
#pragma once
#include "convoy/size.h"

#include <functional>

namespace convoy {

// Calls work(item) once for every item from 0 to count - 1; no further ones once the caller has cancelled, who looks after it.
void for_each_item(int threads, Size count, const std::function<void(Size)>& work);

// As many threads as `wanted` (0: as the machine has), but one where the work is too small to share.
int threads_for(int wanted, double operations);

}  // namespace convoy
