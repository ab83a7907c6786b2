// Numbers of a place that are read with a stride of their own along every axis: what transpositions, splits and slices give as long
// as nobody wants them side by side.
#pragma once
#include "run/plan/steps.h"

#include <optional>
#include <string>

namespace convoy::plan {

struct Strided {
  PlaceId from;  // without gaps
  Size first = 0;
  Sizes shape, strides;
  std::string what, layer;  // of the operator that moved them last

  // Whether they are all of `from`, in its order.
  bool is_dense() const;
};

Sizes dense_strides(const Sizes& shape);
Strided permuted(Strided of, const Sizes& axes);
// Cells first, first + 1, ... of an axis.
Strided part_of(Strided of, std::size_t axis, Size first, Size count);
// The same numbers, in row-major order, under another shape; none where no strides say so.
std::optional<Strided> reshaped(Strided of, const Sizes& to);
// Where the matrix that each index of `outer` finds begins: the axes before the last two, which a lone cell goes through again.
std::vector<Size> matrix_starts(const Strided& of, const Sizes& outer);
// Of the last two axes; whatever it is where there is one cell.
inline Size row_stride(const Strided& of) { return of.strides[of.strides.size() - 2]; }
inline Size column_stride(const Strided& of) { return of.strides.back(); }

class CopyStrided : public FromOne {
 public:
  Strided numbers;
  void prepare(const Places& places) override;
  Status run(Workspace& at) const override;

 private:
  struct Axis {
    Size count = 1, from = 0, to = 0;  // strides
  };
  std::vector<Axis> outer_;
  Axis rows_, columns_;
};

}  // namespace convoy::plan
