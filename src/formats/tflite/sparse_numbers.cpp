// Source: tensorflow/lite/kernels/internal/utils/sparsity_format_converter.cc of TensorFlow 2.21. Axis by axis in the order of the
// file, each place that is stored is as far into the dense tensor as its place along every axis says.
#include "formats/tflite/sparse_numbers.h"

#include "base/budget.h"
#include "ops/expect.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace convoy::tflite {

namespace {

// How many places an axis has, and how many numbers of the dense tensor lie between two of them.
struct SparseStep {
  Size size = 0, distance = 0;
};

Result<std::vector<SparseStep>> steps_of(const StoredSparsity& sparsity, const Sizes& shape) {
  const std::size_t rank = shape.size(), blocks = sparsity.blocked.size(), all = rank + blocks;
  const auto misfit = [&](const std::string& what) -> Result<std::vector<SparseStep>> {
    return fail(Fault::Format,
                "stores its numbers sparsely " + what + ", which does not fit its shape " + text_of(shape));
  };
  if (sparsity.order.size() != all || sparsity.axes.size() != all)
    return misfit("over " + std::to_string(sparsity.axes.size()) + " axes in an order of " +
                  std::to_string(sparsity.order.size()) + " and " + std::to_string(blocks) + " blocked ones");
  std::vector<SparseStep> steps(all);
  Size distance = 1;
  for (std::size_t i = rank; i-- > 0; distance *= std::max(shape[i], Size{1})) steps[i] = {shape[i], distance};
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::int32_t axis = sparsity.blocked[i];
    const SparseAxis& inside = sparsity.axes[rank + i];
    const bool repeats = i > 0 && axis <= sparsity.blocked[i - 1];
    if (axis < 0 || static_cast<std::size_t>(axis) >= rank || repeats || !inside.is_dense || inside.size < 1 ||
        shape[static_cast<std::size_t>(axis)] % inside.size != 0)
      return misfit("in blocks of " + std::to_string(inside.size) + " along axis " + std::to_string(axis));
    SparseStep& whole = steps[static_cast<std::size_t>(axis)];
    steps[rank + i] = {inside.size, whole.distance};
    whole = {whole.size / inside.size, whole.distance * inside.size};
  }
  std::vector<SparseStep> ordered;
  std::vector<bool> seen(all);
  for (std::size_t i = 0; i < all; ++i) {
    const auto axis = static_cast<std::size_t>(sparsity.order[i]);
    if (sparsity.order[i] < 0 || axis >= all || seen[axis] || (i >= rank && axis != i))
      return misfit("in an order that names axis " + std::to_string(sparsity.order[i]) + " at place " +
                    std::to_string(i));
    seen[axis] = true;
    ordered.push_back(steps[axis]);
  }
  return ordered;
}

// From how far into the dense tensor the places of the axes before lie, how far those of one more do.
Result<std::vector<Size>> further(const std::vector<Size>& before, const SparseAxis& axis, const SparseStep& step) {
  std::vector<Size> now;
  if (axis.is_dense) {
    if (axis.size != step.size)
      return fail(Fault::Format,
                  "stores " + std::to_string(axis.size) + " places of an axis of " + std::to_string(step.size));
    for (const Size offset : before)
      for (Size i = 0; i < step.size; ++i) now.push_back(offset + i * step.distance);
    return now;
  }
  const auto& [is_dense, size, segments, places] = axis;
  const auto count = static_cast<std::int64_t>(places.size());
  if (segments.size() != before.size() + 1 || segments.front() != 0 || segments.back() != count ||
      !std::ranges::is_sorted(segments))
    return fail(Fault::Format, "stores " + std::to_string(count) + " places of an axis in " +
                                   std::to_string(segments.size()) + " segments, expected " +
                                   std::to_string(before.size() + 1) + " rising from 0 to as many");
  for (std::size_t i = 0; i < before.size(); ++i)
    for (std::int64_t at = segments[i]; at < segments[i + 1]; ++at) {
      const std::int64_t place = places[static_cast<std::size_t>(at)];
      const bool rises = at == segments[i] || place > places[static_cast<std::size_t>(at) - 1];
      if (place < 0 || place >= step.size || !rises)
        return fail(Fault::Format, "stores place " + std::to_string(place) + " of an axis of " +
                                       std::to_string(step.size) +
                                       ", which is outside it or not behind the one before");
      now.push_back(before[i] + place * step.distance);
    }
  return now;
}

}  // namespace

Result<Tensor> dense_numbers(const StoredTensor& stored, DType dtype, const Sizes& shape, Bytes bytes) {
  if (stored.is_packed) return fail(Fault::Unsupported, "stores numbers of 4 bits sparsely, which is not carried");
  const auto count = checked_count(shape);
  if (!count) return fail(Fault::Format, "has shape " + text_of(shape) + ", of more numbers than there can be");
  if (*count == 0 && bytes.empty()) return Tensor::owning(dtype, shape, {});
  const Size each = bytes_of(dtype);
  // The places of each number, before they are put in their order.
  if (auto afforded = budget::afford(*count * (each + 2 * static_cast<Size>(sizeof(Size))), "a sparse weight");
      !afforded)
    return pass(afforded);
  if (*count == 0) return fail(Fault::Format, "holds numbers of shape " + text_of(shape) + ", which has none");
  auto steps = steps_of(*stored.sparsity, shape);
  if (!steps) return pass(steps);
  std::vector<Size> offsets{0};
  for (std::size_t i = 0; i < steps->size(); ++i) {
    auto now = further(offsets, stored.sparsity->axes[i], (*steps)[i]);
    if (!now) return pass(now);
    offsets = std::move(*now);
  }
  const auto width = static_cast<std::size_t>(each);
  if (bytes.size() != offsets.size() * width)
    return fail(Fault::Format, "holds " + std::to_string(bytes.size()) + " bytes, expected " +
                                   std::to_string(offsets.size() * width) + " of the places that it stores");
  std::vector<std::byte> dense(static_cast<std::size_t>(*count) * width);
  for (std::size_t i = 0; i < offsets.size(); ++i)
    std::memcpy(dense.data() + static_cast<std::size_t>(offsets[i]) * width, bytes.data() + i * width, width);
  return Tensor::owning(dtype, shape, std::move(dense));
}

}  // namespace convoy::tflite
