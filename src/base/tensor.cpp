#include "convoy/tensor.h"

#include "base/half.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>

namespace convoy {

std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::F16: return "float16";
    case DType::BF16: return "bfloat16";
    case DType::F32: return "float32";
    case DType::F64: return "float64";
    case DType::I8: return "int8";
    case DType::I16: return "int16";
    case DType::I32: return "int32";
    case DType::I64: return "int64";
    case DType::U8: return "uint8";
    case DType::U16: return "uint16";
    case DType::U32: return "uint32";
    case DType::U64: return "uint64";
    case DType::Bool: return "bool";
  }
  std::unreachable();
}

Size bytes_of(DType dtype) {
  switch (dtype) {
    case DType::I8:
    case DType::U8:
    case DType::Bool: return 1;
    case DType::F16:
    case DType::BF16:
    case DType::I16:
    case DType::U16: return 2;
    case DType::F32:
    case DType::I32:
    case DType::U32: return 4;
    case DType::F64:
    case DType::I64:
    case DType::U64: return 8;
  }
  std::unreachable();
}

namespace {

std::string text_of(const Sizes& shape) {
  std::string text = "[";
  for (const Size n : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(n);
  return text + "]";
}

struct Half {
  std::uint16_t bits;
};
struct BFloat {
  std::uint16_t bits;
};

// The nearest value that To has; no number is zero. A plain conversion has no meaning beyond the range.
template <class To>
To saturated(double value) {
  if (std::isnan(value)) return 0;
  constexpr double beyond = static_cast<double>(std::numeric_limits<To>::max());  // rounds up: a power of two
  if (value >= beyond) return std::numeric_limits<To>::max();
  return value <= -beyond ? std::numeric_limits<To>::min() : static_cast<To>(value);
}

// Every element, read without regard to alignment, handed over as To.
template <class From, class To>
void convert(std::span<const std::byte> bytes, To* to) {
  const Size count = static_cast<Size>(bytes.size() / sizeof(From));
  for (Size i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, bytes.data() + i * static_cast<Size>(sizeof(From)), sizeof(From));
    const auto wide = [&] {
      if constexpr (std::is_same_v<From, Half>) return widen_half(value.bits);
      else if constexpr (std::is_same_v<From, BFloat>) return widen_bfloat(value.bits);
      else return value;
    }();
    if constexpr (std::is_integral_v<To> && std::is_floating_point_v<decltype(wide)>) to[i] = saturated<To>(wide);
    else to[i] = static_cast<To>(wide);
  }
}

template <class To>
std::vector<To> values(DType dtype, std::span<const std::byte> bytes, Size count) {
  std::vector<To> to(static_cast<std::size_t>(count));
  switch (dtype) {
    case DType::F16: convert<Half>(bytes, to.data()); break;
    case DType::BF16: convert<BFloat>(bytes, to.data()); break;
    case DType::F32: convert<float>(bytes, to.data()); break;
    case DType::F64: convert<double>(bytes, to.data()); break;
    case DType::I8: convert<std::int8_t>(bytes, to.data()); break;
    case DType::I16: convert<std::int16_t>(bytes, to.data()); break;
    case DType::I32: convert<std::int32_t>(bytes, to.data()); break;
    case DType::I64: convert<std::int64_t>(bytes, to.data()); break;
    case DType::U8: convert<std::uint8_t>(bytes, to.data()); break;
    case DType::U16: convert<std::uint16_t>(bytes, to.data()); break;
    case DType::U32: convert<std::uint32_t>(bytes, to.data()); break;
    case DType::U64: convert<std::uint64_t>(bytes, to.data()); break;
    case DType::Bool:
      std::transform(bytes.begin(), bytes.end(), to.begin(),
                     [](std::byte b) { return static_cast<To>(b != std::byte{0} ? 1 : 0); });
      break;
  }
  return to;
}

template <class T>
Tensor own(DType dtype, Sizes shape, std::vector<T> values) {
  assert(checked_count(shape) == static_cast<Size>(values.size()));
  auto held = std::make_shared<const std::vector<T>>(std::move(values));
  auto tensor = Tensor::view(dtype, std::move(shape), std::as_bytes(std::span(*held)), held);
  return tensor ? *std::move(tensor) : Tensor();
}

Tensor own_bytes(DType dtype, Sizes shape, std::vector<std::byte> bytes) {
  auto tensor = Tensor::owning(dtype, std::move(shape), std::move(bytes));
  assert(tensor);
  return tensor ? *std::move(tensor) : Tensor();
}

// One axis of a permutation after neighbours that stay neighbours have been joined: its length, and how
// far one step moves in the source and in the result, in elements.
struct Stride {
  Size size, from, to;
};

std::vector<Stride> joined_strides(const Sizes& shape, std::span<const Size> axes) {
  Sizes step(shape.size());
  Size running = 1;
  for (Size i = static_cast<Size>(shape.size()) - 1; i >= 0; --i) {
    step[static_cast<std::size_t>(i)] = running;
    running *= shape[static_cast<std::size_t>(i)];
  }
  std::vector<Stride> strides;  // innermost of the result first
  Size to = 1;
  for (Size i = static_cast<Size>(axes.size()) - 1; i >= 0; --i) {
    const auto axis = static_cast<std::size_t>(axes[static_cast<std::size_t>(i)]);
    const Size size = shape[axis];
    if (size == 1) continue;
    if (!strides.empty() && strides.back().from * strides.back().size == step[axis]) strides.back().size *= size;
    else strides.push_back({size, step[axis], to});
    to *= size;
  }
  return strides;
}

// Copies one plane: `a` is the innermost axis of the result, `b` the innermost of the source. Small tiles
// keep both sides in cache.
template <class T>
void copy_plane(const std::byte* from, std::byte* to, const Stride& a, const Stride& b) {
  constexpr Size tile = 32;
  constexpr Size width = sizeof(T);
  for (Size i0 = 0; i0 < b.size; i0 += tile) {
    for (Size j0 = 0; j0 < a.size; j0 += tile) {
      const Size i1 = std::min(i0 + tile, b.size), j1 = std::min(j0 + tile, a.size);
      for (Size i = i0; i < i1; ++i) {
        for (Size j = j0; j < j1; ++j) {
          std::memcpy(to + (i * b.to + j) * width, from + (i * b.from + j * a.from) * width, sizeof(T));
        }
      }
    }
  }
}

template <class T>
void copy_permuted(const std::byte* from, std::byte* to, std::vector<Stride> strides) {
  constexpr Size width = sizeof(T);
  if (strides.empty()) {
    std::memcpy(to, from, sizeof(T));
    return;
  }
  const Stride inner = strides.front();
  strides.erase(strides.begin());
  Stride plane{1, 0, 0};
  if (inner.from != 1) {  // the axis that is innermost in the source runs in the inner loops too
    const auto it = std::min_element(strides.begin(), strides.end(),
                                     [](const Stride& x, const Stride& y) { return x.from < y.from; });
    if (it != strides.end()) {
      plane = *it;
      strides.erase(it);
    }
  }
  Sizes index(strides.size(), 0);
  for (;;) {
    if (inner.from == 1) std::memcpy(to, from, static_cast<std::size_t>(inner.size * width));
    else copy_plane<T>(from, to, inner, plane);
    std::size_t axis = 0;
    for (; axis < strides.size(); ++axis) {
      const Stride& s = strides[axis];
      from += s.from * width;
      to += s.to * width;
      if (++index[axis] < s.size) break;
      from -= s.from * s.size * width;
      to -= s.to * s.size * width;
      index[axis] = 0;
    }
    if (axis == strides.size()) return;
  }
}

template <class To, class Round>
std::vector<std::byte> rounded(const std::vector<double>& from, Round round) {
  std::vector<std::byte> bytes(from.size() * sizeof(To));
  for (std::size_t i = 0; i < from.size(); ++i) {
    const To value = round(from[i]);
    std::memcpy(bytes.data() + i * sizeof(To), &value, sizeof(To));
  }
  return bytes;
}

// `to` has room for all of the source's bytes.
void copy_permuted(const Tensor& source, std::span<const Size> axes, std::byte* to) {
  const auto from = source.bytes();
  if (from.empty()) return;
  auto strides = joined_strides(source.shape(), axes);
  switch (bytes_of(source.dtype())) {
    case 1: copy_permuted<std::uint8_t>(from.data(), to, std::move(strides)); break;
    case 2: copy_permuted<std::uint16_t>(from.data(), to, std::move(strides)); break;
    case 4: copy_permuted<std::uint32_t>(from.data(), to, std::move(strides)); break;
    default: copy_permuted<std::uint64_t>(from.data(), to, std::move(strides)); break;
  }
}

}  // namespace

Result<Tensor> Tensor::view(DType dtype, Sizes shape, std::span<const std::byte> bytes,
                            std::shared_ptr<const void> keeper) {
  const auto count = checked_count(shape);
  const auto wanted = count ? checked_multiply(*count, bytes_of(dtype)) : std::nullopt;
  if (!wanted) return fail(Fault::Limit, "shape " + text_of(shape) + " has more bytes than can be counted");
  if (*wanted != static_cast<Size>(bytes.size())) {
    return fail(Fault::Format, std::to_string(bytes.size()) + " bytes, expected " + std::to_string(*wanted) + " for " +
                                   std::string(name_of(dtype)) + " of shape " + text_of(shape));
  }
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.shape_ = std::move(shape);
  tensor.bytes_ = bytes;
  tensor.keeper_ = std::move(keeper);
  return tensor;
}

Result<Tensor> Tensor::owning(DType dtype, Sizes shape, std::vector<std::byte> bytes) {
  auto held = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return view(dtype, std::move(shape), *held, held);
}

Tensor Tensor::of(Sizes shape, std::vector<float> values) {
  return own(DType::F32, std::move(shape), std::move(values));
}
Tensor Tensor::of(Sizes shape, std::vector<double> values) {
  return own(DType::F64, std::move(shape), std::move(values));
}
Tensor Tensor::of(Sizes shape, std::vector<std::int64_t> values) {
  return own(DType::I64, std::move(shape), std::move(values));
}

// A permutation still to be carried out: many threads may ask for its bytes.
struct Tensor::Deferred {
  Tensor source;
  Sizes axes;
  std::mutex guard;
  std::unique_ptr<std::byte[]> bytes;  // none until they are asked for; not zeroed first, which takes as long again
};

std::span<const std::byte> Tensor::deferred_bytes() const {
  const std::lock_guard lock(deferred_->guard);
  const auto length = deferred_->source.bytes().size();
  if (!deferred_->bytes) {
    auto bytes = std::make_unique_for_overwrite<std::byte[]>(length);
    copy_permuted(deferred_->source, deferred_->axes, bytes.get());
    deferred_->bytes = std::move(bytes);
  }
  return {deferred_->bytes.get(), length};
}

void Tensor::let_go() const {
  if (!deferred_) return;
  const std::lock_guard lock(deferred_->guard);
  deferred_->bytes.reset();
}

Size Tensor::count() const { return checked_count(shape_).value_or(0); }

bool Tensor::aligned() const {
  return reinterpret_cast<std::uintptr_t>(bytes().data()) % static_cast<std::uintptr_t>(bytes_of(dtype_)) == 0;
}

Tensor Tensor::realigned() const {
  if (aligned()) return *this;
  return own_bytes(dtype_, shape_, std::vector<std::byte>(bytes().begin(), bytes().end()));
}

std::vector<float> Tensor::floats() const { return values<float>(dtype_, bytes(), count()); }
std::vector<double> Tensor::doubles() const { return values<double>(dtype_, bytes(), count()); }
std::vector<std::int64_t> Tensor::integers() const { return values<std::int64_t>(dtype_, bytes(), count()); }

Tensor Tensor::reshaped(Sizes shape) const {
  assert(checked_count(shape) == count());
  Tensor result = *this;
  result.shape_ = std::move(shape);
  return result;
}

Tensor Tensor::permuted(std::span<const Size> axes) const {
  assert(axes.size() == shape_.size());
  constexpr Size worth_deferring = 64 << 10;  // bytes
  Sizes shape;
  for (const Size axis : axes) shape.push_back(shape_[static_cast<std::size_t>(axis)]);
  if (count() * bytes_of(dtype_) < worth_deferring) {
    std::vector<std::byte> permuted(bytes().size());
    copy_permuted(*this, axes, permuted.data());
    return own_bytes(dtype_, std::move(shape), std::move(permuted));
  }
  Tensor result;
  result.dtype_ = dtype_;
  result.shape_ = std::move(shape);
  result.deferred_ = std::make_shared<Deferred>();
  result.deferred_->source = *this;
  result.deferred_->axes.assign(axes.begin(), axes.end());
  return result;
}

Tensor Tensor::converted(DType dtype) const {
  if (dtype == dtype_) return *this;
  switch (dtype) {
    case DType::F64: return of(shape_, doubles());
    case DType::F32: return of(shape_, floats());
    case DType::F16: return own_bytes(dtype, shape_, rounded<std::uint16_t>(doubles(), half_of));
    case DType::BF16: return own_bytes(dtype, shape_, rounded<std::uint16_t>(doubles(), bfloat_of));
    default: assert(false && "only floating types are converted to"); return *this;
  }
}

}  // namespace convoy
