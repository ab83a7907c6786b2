#include "run/plan/strided.h"

#include "base/permute.h"
#include "run/threads.h"

#include <algorithm>
#include <cstring>

namespace convoy::plan {

Sizes dense_strides(const Sizes& shape) {
  Sizes strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

bool Strided::is_dense() const {
  const Sizes dense = dense_strides(shape);
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1 && strides[i] != dense[i]) return false;
  return first == 0;
}

Strided permuted(Strided of, const Sizes& axes) {
  of.shape = in_order(of.shape, axes), of.strides = in_order(of.strides, axes);
  return of;
}

Strided part_of(Strided of, std::size_t axis, Size first, Size count) {
  of.first += first * of.strides[axis], of.shape[axis] = count;
  return of;
}

// Axes of both that together hold as many numbers correspond; what becomes one axis must be one already.
std::optional<Strided> reshaped(Strided of, const Sizes& to) {
  Sizes shape, strides;
  for (std::size_t i = 0; i < of.shape.size(); ++i)
    if (of.shape[i] != 1) shape.push_back(of.shape[i]), strides.push_back(of.strides[i]);
  Sizes made(to.size(), 1);
  std::size_t next = 0, next_to = 0;
  while (next < shape.size() && next_to < to.size()) {
    const std::size_t begin = next, begin_to = next_to;
    Size count = shape[next++], count_to = to[next_to++];
    while (count != count_to) {
      if (count_to < count) count_to *= to[next_to++];
      else count *= shape[next++];
    }
    for (std::size_t i = begin; i + 1 < next; ++i)
      if (strides[i] != shape[i + 1] * strides[i + 1]) return std::nullopt;
    made[next_to - 1] = strides[next - 1];
    for (std::size_t i = next_to - 1; i > begin_to; --i) made[i - 1] = made[i] * to[i];
  }
  of.shape = to, of.strides = std::move(made);
  return of;
}

std::vector<Size> matrix_starts(const Strided& of, const Sizes& outer) {
  const std::size_t own = of.shape.size() - 2, missing = outer.size() - own;
  std::vector<Size> starts{of.first};
  for (std::size_t i = 0; i < outer.size(); ++i) {
    const Size stride = i < missing || of.shape[i - missing] == 1 ? 0 : of.strides[i - missing];
    std::vector<Size> more;
    more.reserve(starts.size() * static_cast<std::size_t>(outer[i]));
    for (const Size start : starts)
      for (Size k = 0; k < outer[i]; ++k) more.push_back(start + k * stride);
    starts = std::move(more);
  }
  return starts;
}

void CopyStrided::prepare(const Places& places) {
  FromOne::prepare(places);
  std::vector<Axis> axes;
  const Sizes dense = dense_strides(numbers.shape);
  for (std::size_t i = 0; i < numbers.shape.size(); ++i) {
    const bool is_last = i + 1 == numbers.shape.size();  // the channels, which may be a part of more
    const Axis axis{numbers.shape[i], numbers.strides[i], is_last ? 1 : dense[i] / y_.channels * y_.step};
    if (axis.count == 1) continue;
    if (!axes.empty() && axes.back().from == axis.count * axis.from && axes.back().to == axis.count * axis.to) {
      axes.back() = {axes.back().count * axis.count, axis.from, axis.to};
    } else {
      axes.push_back(axis);
    }
  }
  columns_ = {1, 1, 1};  // side by side in y, which a lone channel of several is not
  if (!axes.empty() && axes.back().to == 1) columns_ = axes.back(), axes.pop_back();
  // Rows are those whose columns lie side by side in x, where there are such.
  if (!axes.empty()) {
    auto rows = std::ranges::find(axes, Size{1}, &Axis::from);
    if (columns_.from == 1 || rows == axes.end()) rows = axes.end() - 1;
    rows_ = *rows;
    axes.erase(rows);
  }
  outer_ = std::move(axes);
}

Status CopyStrided::run(Workspace& at) const {
  const float* const all = x_.in(at) + numbers.first;
  float* const made = y_.out(at);
  Size items = 1;
  for (const Axis& axis : outer_) items *= axis.count;
  const int threads = threads_for(at.threads, 2.0 * static_cast<double>(items * rows_.count * columns_.count));
  for_each_item(threads, items, [&](Size item) {
    const float* from = all;
    float* to = made;
    for (std::size_t i = outer_.size(); i-- > 0;) {
      const Size cell = item % outer_[i].count;
      item /= outer_[i].count;
      from += cell * outer_[i].from, to += cell * outer_[i].to;
    }
    if (columns_.from != 1 && rows_.from == 1)
      return fast::kernels<float>().transpose(from, columns_.count, rows_.count, columns_.from, to, rows_.to);
    for (Size r = 0; r < rows_.count; ++r, from += rows_.from, to += rows_.to) {
      if (columns_.from == 1) std::memcpy(to, from, static_cast<std::size_t>(columns_.count) * sizeof(float));
      else
        for (Size c = 0; c < columns_.count; ++c) to[c] = from[c * columns_.from];
    }
  });
  return {};
}

}  // namespace convoy::plan
