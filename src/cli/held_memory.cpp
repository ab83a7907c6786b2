// Counts the bytes that this program holds, where it makes and gives back every one of them: the net under the places that
// ask the budget themselves. What is over it ends as an exception that main() turns into the budget's sentence.
#include "base/budget.h"

#include <malloc.h>
#include <cstdlib>
#include <new>
#include <utility>

#if !defined(__SANITIZE_ADDRESS__)  // its allocator wants to see every call itself

namespace convoy::cli {
namespace {

constexpr Size worth_telling = 64 << 10;  // bytes: threads tell each other that often
constexpr Size allocations_per_look = 256;  // at the budget

// What this thread made and gave back since it told the others.
struct Share {
  Size untold = 0;
  Size allocations = 0;
  ~Share() { budget::count(untold); }
  void tell(Size bytes) {
    untold += bytes;
    if (untold < worth_telling && untold > -worth_telling) return;
    budget::count(untold);
    untold = 0;
  }
};
thread_local Share share;

void* made(std::size_t size) noexcept {
  const auto bytes = static_cast<Size>(size);
  ++share.allocations;
  if ((bytes >= worth_telling || share.allocations >= allocations_per_look) &&
      !budget::allows(bytes, std::exchange(share.allocations, 0)))
    return nullptr;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory) share.tell(static_cast<Size>(::malloc_usable_size(memory)) + 8);
  return memory;
}

void give_back(void* memory) noexcept {
  if (!memory) return;
  share.tell(-static_cast<Size>(::malloc_usable_size(memory)) - 8);
  std::free(memory);
}

}  // namespace
}  // namespace convoy::cli

using convoy::cli::give_back;
using convoy::cli::made;

void* operator new(std::size_t size) {
  if (void* memory = made(size)) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t size) { return ::operator new(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return made(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return made(size); }

void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete[](void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { give_back(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { give_back(memory); }

#endif
