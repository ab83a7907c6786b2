#include "base/permute.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace convoy {
namespace {

// One axis of a permutation after neighbours that stay neighbours have been joined: its length, and how
// far one step moves in the source and in the result, in bytes.
struct Stride {
  Size size, from, to;
};
using Strides = std::vector<Stride>;

Strides joined_strides(std::span<const Size> shape, Size width, std::span<const Size> axes) {
  std::vector<Size> step(shape.size());
  Size running = width;
  for (std::size_t i = shape.size(); i-- > 0; running *= shape[i]) step[i] = running;
  Strides strides;  // innermost of the result first
  Size to = width;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    const Size size = shape[axis];
    if (size == 1) continue;
    if (!strides.empty() && strides.back().from * strides.back().size == step[axis]) strides.back().size *= size;
    else strides.push_back({size, step[axis], to});
    to *= size;
  }
  return strides;
}

// Goes through all places of some axes, the first fastest.
class Walk {
 public:
  explicit Walk(const Strides& strides) : strides_(strides), index_(strides.size(), 0) {}

  Size from() const { return from_; }
  Size to() const { return to_; }
  bool next() {  // false: it was the last, and the first comes again
    for (std::size_t axis = 0; axis < strides_.size(); ++axis) {
      const Stride& s = strides_[axis];
      from_ += s.from, to_ += s.to;
      if (++index_[axis] < s.size) return true;
      from_ -= s.from * s.size, to_ -= s.to * s.size;
      index_[axis] = 0;
    }
    return false;
  }

 private:
  const Strides& strides_;
  std::vector<Size> index_;
  Size from_ = 0, to_ = 0;
};

constexpr Size block_rows = 8;  // elements next to each other in the source that are taken at a time

using Four = std::uint32_t __attribute__((vector_size(16), may_alias));

Four load(const std::byte* from) {
  Four four;
  std::memcpy(&four, from, sizeof four);
  return four;
}

// Four elements of each of four lines, into four rows of a block, `row` apart. Compilers do not find this by themselves.
void turn_square(const std::byte* from, Size line, Four* to, Size row) {
  const Four a = load(from), b = load(from + line), c = load(from + 2 * line), d = load(from + 3 * line);
  const Four ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab1 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four cd0 = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd1 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  to[0] = __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5);
  to[row] = __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7);
  to[2 * row] = __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5);
  to[3 * row] = __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7);
}

// Eight elements of each of `columns` lines of the source become eight lines of the result. Whole lines of the cache
// are written: planes whose sides are powers of two share so few of its places that none would stay until the rest of
// it came.
template <class T, Size columns>
void turn_block(const std::byte* from, Size line, std::byte* to, const std::array<Size, block_rows>& places) {
  alignas(Four) std::array<T, static_cast<std::size_t>(block_rows * columns)> block;
  if constexpr (sizeof(T) == sizeof(Four) / 4) {
    Four* fours = reinterpret_cast<Four*>(block.data());
    for (Size j = 0; j < columns; j += 4)
      for (Size i = 0; i < block_rows; i += 4)
        turn_square(from + j * line + i * 4, line, fours + (i * columns + j) / 4, columns / 4);
  } else {
    T* elements = block.data();
    for (Size j = 0; j < columns; ++j)
      for (Size i = 0; i < block_rows; ++i)
        std::memcpy(elements + i * columns + j, from + j * line + i * Size{sizeof(T)}, sizeof(T));
  }
  const T* row = block.data();
  for (const Size place : places) {
    std::memcpy(to + place, row, columns * sizeof(T));
    row += columns;
  }
}

// `columns` lines of the source, each `length` elements long, `line` bytes apart: they lie side by side in the result,
// at the places that `run` tells.
template <class T, Size columns>
void turn_lines(const std::byte* from, Size line, std::byte* to, const Strides& run, Size length) {
  constexpr Size width = sizeof(T);
  Walk walk(run);
  Size i = 0;
  if constexpr (columns > 1) {
    std::array<Size, block_rows> places;
    for (; i + block_rows <= length; i += block_rows) {
      for (Size& place : places) {
        place = walk.to();
        walk.next();
      }
      turn_block<T, columns>(from + i * width, line, to, places);
    }
  }
  for (; i < length; ++i, walk.next())
    for (Size j = 0; j < columns; ++j) std::memcpy(to + walk.to() + j * width, from + i * width + j * line, sizeof(T));
}

template <class T>
void copy_permuted(const std::byte* from, std::byte* to, Strides strides) {
  constexpr Size width = sizeof(T);
  const Stride inner = strides.front();
  strides.erase(strides.begin());
  if (inner.from == width) {
    Walk walk(strides);
    do std::memcpy(to + walk.to(), from + walk.from(), static_cast<std::size_t>(inner.size * width));
    while (walk.next());
    return;
  }
  // The axes that lie next to each other in the source run in the inner loops too: it is read in long lines.
  std::sort(strides.begin(), strides.end(), [](const Stride& x, const Stride& y) { return x.from < y.from; });
  Strides run;
  Size length = 1;
  auto axis = strides.begin();
  for (; axis != strides.end() && axis->from == length * width; ++axis) {
    run.push_back(*axis);
    length *= axis->size;
  }
  const Strides rest(axis, strides.end());
  Walk walk(rest);
  do {
    const std::byte* at = from + walk.from();
    std::byte* place = to + walk.to();
    Size j = 0;
    const auto turn = [&]<Size columns>() {
      for (; j + columns <= inner.size; j += columns)
        turn_lines<T, columns>(at + j * inner.from, inner.from, place + j * width, run, length);
    };
    turn.template operator()<64>();
    turn.template operator()<16>();
    turn.template operator()<4>();
    turn.template operator()<1>();
  } while (walk.next());
}

}  // namespace

void copy_permuted(Bytes from, std::span<const Size> shape, Size width, std::span<const Size> axes, std::byte* to) {
  if (from.empty()) return;
  Strides strides = joined_strides(shape, width, axes);
  if (strides.empty()) strides.push_back({1, width, width});
  switch (width) {
    case 1: copy_permuted<std::uint8_t>(from.data(), to, std::move(strides)); break;
    case 2: copy_permuted<std::uint16_t>(from.data(), to, std::move(strides)); break;
    case 4: copy_permuted<std::uint32_t>(from.data(), to, std::move(strides)); break;
    default: copy_permuted<std::uint64_t>(from.data(), to, std::move(strides)); break;
  }
}

}  // namespace convoy
