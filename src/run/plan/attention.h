// Scaled products of queries and keys, their softmax, and its products with values: one step, some queries at a time, so that what
// lies between them stays in the cache.
#pragma once
#include "run/plan/strided.h"

namespace convoy::plan {

class Attend : public Step {
 public:
  // [..., queries, depth], [..., depth, keys], [..., keys, columns] and what is added, [..., queries, keys]; all numbers of a row
  // of queries and of what is added lie side by side.
  Strided query, key, value;
  std::optional<Strided> added;
  Sizes outer;  // the axes before the last two of what is made
  fast::MapCall scale;  // before anything is added
  PlaceId y;
  Sizes y_strides;  // of the outer axes, the queries and the columns, the last one 1

  void prepare(const Places& places) override;
  Status run(Workspace& at) const override;

 private:
  void attend(Workspace& at, std::size_t pair, int threads) const;

  Numbers query_, key_, value_, added_, y_;
  std::vector<Size> query_starts_, key_starts_, value_starts_, added_starts_, y_starts_;
};

}  // namespace convoy::plan
