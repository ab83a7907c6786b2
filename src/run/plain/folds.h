// Numbers grouped by axes: which elements of a tensor belong together when some of its axes are reduced.
#pragma once
#include "run/plain/lines.h"

#include <algorithm>

namespace convoy::plain {

// Every element belongs to one group (its place along the kept axes) and has one place in it (along `axes`, sorted).
class Groups {
 public:
  Groups(const Sizes& shape, const Sizes& axes) {
    const Sizes strides = strides_of(shape);
    starts_ = {0};
    places_ = {0};
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const bool reduced = std::ranges::find(axes, static_cast<Size>(i)) != axes.end();
      spread(reduced ? places_ : starts_, shape[i], strides[i]);
    }
    if (Listening::is_cancelled()) starts_.clear();
  }
  // Of each group the offset of its first element and its number, in row-major order.
  template <class F>
  void for_each(const F& group) const {
    Polling polling;
    for (std::size_t g = 0; g < starts_.size() && !polling.ends(static_cast<Size>(places_.size())); ++g)
      group(starts_[g], g);
  }
  const Sizes& places() const { return places_; }   // offsets within a group, in row-major order of the reduced axes

 private:
  static void spread(Sizes& offsets, Size size, Size stride) {
    Sizes more;
    more.reserve(offsets.size() * static_cast<std::size_t>(size));
    Polling polling;
    constexpr Size most = 1 << 16;  // of one that is long
    for (const Size offset : offsets)
      for (Size at = 0; at < size && !polling.ends(std::min(most, size - at)); at += most)
        for (Size i = at; i < std::min(at + most, size); ++i) more.push_back(offset + i * stride);
    offsets = std::move(more);
  }
  Sizes starts_, places_;
};

}  // namespace convoy::plain
