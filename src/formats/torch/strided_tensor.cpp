// Strided views of storages: a view, a view with its axes in another order, or a copy.
#include "formats/torch/checkpoint.h"

#include "ops/axes.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

namespace convoy::torch {
namespace {

// A view that repeats cells may be larger than its storage, but not without end.
constexpr Size largest_repeated = Size{256} << 20;

std::string text_of(const Sizes& numbers) {
  std::string text;
  for (const Size n : numbers) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return "[" + text + "]";
}

// One past the last element that the view reads. Nothing: it wraps.
std::optional<Size> reach_of(const Sizes& sizes, const Sizes& strides, Size offset) {
  std::optional<Size> last = offset;
  for (std::size_t i = 0; i < sizes.size() && last; ++i) {
    const auto step = checked_multiply(sizes[i] - 1, strides[i]);
    last = step ? checked_add(*last, *step) : std::nullopt;
  }
  return last ? checked_add(*last, 1) : std::nullopt;
}

// The order of the axes in which the view is dense: axes by falling stride, those of one cell last. Nothing: it is dense in
// none.
std::optional<Sizes> dense_order(const Sizes& sizes, const Sizes& strides) {
  Sizes order(sizes.size());
  std::iota(order.begin(), order.end(), Size{0});
  const auto at = [](const Sizes& numbers, Size axis) { return numbers[static_cast<std::size_t>(axis)]; };
  const auto rank = [&](Size axis) { return at(sizes, axis) == 1 ? Size{-1} : at(strides, axis); };
  std::ranges::stable_sort(order, std::ranges::greater{}, rank);
  Size expected = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const Size axis = order[i];
    if (at(sizes, axis) == 1) continue;
    if (at(strides, axis) != expected) return std::nullopt;
    expected *= at(sizes, axis);
  }
  return order;
}

bool row_major(const Sizes& sizes, const Sizes& strides) {
  Size expected = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] != 1 && strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

Result<Tensor> gathered(DType dtype, const Sizes& sizes, const Sizes& strides, Size offset, Size count, Bytes storage) {
  const auto width = static_cast<std::size_t>(bytes_of(dtype));
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * width);
  Sizes at(sizes.size(), 0);
  Size place = offset;
  for (Size i = 0; i < count; ++i) {
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * width,
                storage.data() + static_cast<std::size_t>(place) * width, width);
    for (std::size_t a = sizes.size(); a-- > 0;) {
      if (sizes[a] == 1) continue;  // its stride may be any number: no step is made
      place += strides[a];
      if (++at[a] < sizes[a]) break;
      place -= at[a] * strides[a];
      at[a] = 0;
    }
  }
  return Tensor::owning(dtype, sizes, std::move(bytes));
}

}  // namespace

ViewRoom::ViewRoom(Size held) {
  const auto most = checked_multiply(held, 4);
  left_ = most.value_or(Size{1} << 60) + (Size{256} << 20);
}

ViewRoom::ViewRoom(const ZipArchive& zip)
    : ViewRoom(std::accumulate(zip.entries().begin(), zip.entries().end(), Size{0},
                               [](Size sum, const ZipEntry& e) { return checked_add(sum, e.size).value_or(sum); })) {}

Status ViewRoom::take(DType dtype, const Sizes& sizes, const Sizes& strides) {
  const auto count = checked_count(sizes);
  const auto bytes = count ? checked_multiply(*count, bytes_of(dtype)) : std::nullopt;
  if (!bytes || *bytes == 0 || sizes.size() != strides.size() || row_major(sizes, strides)) return {};
  if (*bytes > left_)
    return fail(Fault::Limit, "the view " + text_of(sizes) + " with strides " + text_of(strides) + " needs " +
                                  std::to_string(*bytes) + " bytes beside its storage, and " + std::to_string(left_) +
                                  " of 4 times the file and 256 MiB are left");
  left_ -= *bytes;
  return {};
}

Result<Tensor> strided_tensor(DType dtype, const Sizes& sizes, const Sizes& strides, Size offset, const Blob& storage) {
  const std::string view = "the view " + text_of(sizes) + " with strides " + text_of(strides);
  if (strides.size() != sizes.size() || sizes.size() > 64)
    return fail(Fault::Format, view + " has not one stride per axis");
  if (offset < 0 || std::ranges::any_of(strides, [](Size s) { return s < 0; }))
    return fail(Fault::Format, view + " runs backwards");
  const auto count = checked_count(sizes);
  const Size width = bytes_of(dtype), held = static_cast<Size>(storage.bytes.size()) / width;
  const auto bytes = count ? checked_multiply(*count, width) : std::nullopt;
  if (!bytes) return fail(Fault::Format, view + " is no shape");
  if (*count == 0) return Tensor::owning(dtype, sizes, {});
  const auto reach = reach_of(sizes, strides, offset);
  if (!reach || *reach > held)
    return fail(Fault::Format, view + " from element " + std::to_string(offset) + " reaches beyond its storage of " +
                                   std::to_string(held));
  const auto part = [&] {
    return storage.bytes.subspan(static_cast<std::size_t>(offset * width), static_cast<std::size_t>(*bytes));
  };
  if (row_major(sizes, strides)) return Tensor::view(dtype, sizes, part(), storage.keeper);
  if (const auto order = dense_order(sizes, strides)) {
    Sizes stored;
    for (const Size axis : *order) stored.push_back(sizes[static_cast<std::size_t>(axis)]);
    auto tensor = Tensor::view(dtype, stored, part(), storage.keeper);
    if (!tensor) return tensor;
    return tensor->permuted(inverse(*order));
  }
  if (*bytes > std::max(largest_repeated, static_cast<Size>(storage.bytes.size())))
    return fail(Fault::Limit, view + " repeats a storage of " + std::to_string(storage.bytes.size()) + " bytes to " +
                                  std::to_string(*bytes));
  return gathered(dtype, sizes, strides, offset, *count, storage.bytes);
}

}  // namespace convoy::torch
