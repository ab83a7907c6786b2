// What tools/alone.py has to find, and batches of sources hide: a header that another file includes, and a shadowed name.
#include "ops/axes.h"

namespace convoy {

std::size_t shadowed(std::size_t size) {
  for (std::size_t size = 0; size < 2; ++size) {}
  return size;
}

nlohmann::json forgotten() { return {}; }

}  // namespace convoy
