// What is computed layer by layer takes and gives back megabytes for each.
#pragma once

namespace convoy {

// From here on the C library keeps tens of megabytes that were given back for what is asked of it next, as it does once a
// program has freed a block as large; the system would have to find and clear their pages anew for every layer.
void keep_pages();

}  // namespace convoy
