#include "base/kept_pages.h"

#include <cstdlib>

namespace convoy {

void keep_pages() {
#if defined(__GLIBC__)
  // Its thresholds of mapping and trimming follow the largest block that was freed, up to 32 MB. Nothing is written there.
  constexpr std::size_t largest = (std::size_t{32} << 20) - (std::size_t{64} << 10);
  void* volatile block = std::malloc(largest);
  std::free(block);
#endif
}

}  // namespace convoy
