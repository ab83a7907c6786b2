// Where the values of a plan lie: numbers of one shape in an arena, in a tensor of their own, or inside a larger value whose
// channels they are a part of. Which bytes of the arena a value takes follows from when it is used.
#pragma once
#include "graph/graph.h"

#include <vector>

namespace convoy::plan {

struct PlaceId {
  int index = -1;
  std::size_t slot() const { return static_cast<std::size_t>(index); }  // in lists with one entry for each
  explicit operator bool() const { return index >= 0; }
};

// `shape` as the numbers lie, channels last: [pixels..., channels].
struct Place {
  enum class Where : std::uint8_t { Arena, Constant, Held, Result };
  Where where = Where::Arena;
  Sizes shape;
  Tensor constant;
  std::size_t result = 0;  // Result: which, whose memory is handed out
  ValueId value;  // Held: the tensor that is kept of it while the plan runs
  PlaceId parent;  // the same numbers under another shape, or a part of the parent's channels
  bool is_part = false;
  Size first_channel = 0;
  bool is_fixed = false;  // shared under another shape: it cannot become a part of something
  bool has_read_parts = false;  // parts of it are read after it is made: nothing may be written over it

  Size channels() const { return shape.empty() ? 1 : shape.back(); }
  Size count() const;
  Size pixels() const { return channels() ? count() / channels() : 0; }

  // Told once all is known.
  Size step = 0;  // from pixel to pixel
  Size start = 0;  // in the arena
};

class Places {
 public:
  PlaceId add(Place place);
  Place& operator[](PlaceId id) { return all_[id.slot()]; }
  const Place& operator[](PlaceId id) const { return all_[id.slot()]; }
  // That whose numbers hold these.
  PlaceId root(PlaceId id) const;
  // Whether the numbers lie without gaps.
  bool is_dense(PlaceId id) const;

  // When each root is first and last used, in steps.
  struct Use {
    int first = -1, last = -1;
  };
  // Sets steps and starts; values that are never in use at once share their bytes. The length of the arena, in numbers.
  Size lay_out(const std::vector<Use>& uses);
  std::size_t size() const { return all_.size(); }

 private:
  std::vector<Place> all_;
};

}  // namespace convoy::plan
