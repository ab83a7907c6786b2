// Numbers that begin at a line of the cache, so that no vector of them lies in two; many of them lie in pages as large as the machine
// has, of which it looks up fewer. What they are before they are written is anything, as of a local variable.
#pragma once
#include <cstddef>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace convoy::fast {

template <class T>
struct AlignedStorage {
  using value_type = T;
  AlignedStorage() = default;
  template <class U>
  AlignedStorage(const AlignedStorage<U>&) {}  // NOLINT: vectors convert it

  static constexpr std::size_t line = 64, large_page = std::size_t{2} << 20;
  static std::align_val_t alignment(std::size_t bytes) {
    return std::align_val_t{bytes >= large_page ? large_page : line};
  }
  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    void* const made = ::operator new(bytes, alignment(bytes));
#if defined(__linux__)
    // Only asked for: where it is not given, nothing is lost.
    if (bytes >= large_page) ::madvise(made, bytes / large_page * large_page, MADV_HUGEPAGE);
#endif
    return static_cast<T*>(made);
  }
  template <class U>
  void construct(U* at) {
    ::new (static_cast<void*>(at)) U;
  }
  void deallocate(T* at, std::size_t count) { ::operator delete(at, alignment(count * sizeof(T))); }
  bool operator==(const AlignedStorage&) const { return true; }
};

template <class T>
using Aligned = std::vector<T, AlignedStorage<T>>;

}  // namespace convoy::fast
