#include "convoy/tensor.h"

#include "base/half.h"
#include "base/mapped_file.h"
#include "base/permute.h"

#include "convoy/cancellation.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
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

std::optional<DType> type_named(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(DType::Bool); ++i)
    if (const auto type = static_cast<DType>(i); name_of(type) == name) return type;
  return std::nullopt;
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
struct TruthByte {
  std::uint8_t byte;
};

// The nearest value that To has; no number is zero. A plain conversion has no meaning beyond the range.
template <class To>
To saturated(double value) {
  if (std::isnan(value)) return 0;
  constexpr double beyond = static_cast<double>(std::numeric_limits<To>::max());  // rounds up: a power of two
  if (value >= beyond) return std::numeric_limits<To>::max();
  return value <= -beyond ? std::numeric_limits<To>::min() : static_cast<To>(value);
}

template <class From>
auto widened(From value) {
  if constexpr (std::is_same_v<From, Half>) return widen_half(value.bits);
  else if constexpr (std::is_same_v<From, BFloat>) return widen_bfloat(value.bits);
  else if constexpr (std::is_same_v<From, TruthByte>) return std::uint8_t{value.byte != 0};
  else return value;
}

template <class From, class To>
To converted_to(From value) {
  const auto wide = widened(value);
  if constexpr (std::is_integral_v<To> && std::is_floating_point_v<decltype(wide)>) return saturated<To>(wide);
  else return static_cast<To>(wide);
}

// Every element, read without regard to alignment, handed over as To: some at a time, which the compiler makes vectors of.
template <class From, class To>
void convert(std::span<const std::byte> bytes, To* to) {
  constexpr std::size_t together = 8, between = std::size_t{1} << 20;
  const std::size_t count = bytes.size() / sizeof(From);
  std::size_t i = 0;
  for (; i + together <= count; i += together) {
    // Looks whether the caller has cancelled, who looks after it.
    if (i % between == 0 && Listening::is_cancelled()) return;
    std::array<From, together> from;
    std::memcpy(from.data(), bytes.data() + i * sizeof(From), sizeof(from));
    std::array<To, together> made;
    for (std::size_t k = 0; k < together; ++k) made[k] = converted_to<From, To>(from[k]);
    std::memcpy(to + i, made.data(), sizeof(made));
  }
  for (; i < count; ++i) {
    From value;
    std::memcpy(&value, bytes.data() + i * sizeof(From), sizeof(From));
    to[i] = converted_to<From, To>(value);
  }
}

template <class To>
void convert_from(DType dtype, std::span<const std::byte> bytes, To* to) {
  switch (dtype) {
    case DType::F16: return convert<Half>(bytes, to);
    case DType::BF16: return convert<BFloat>(bytes, to);
    case DType::F32: return convert<float>(bytes, to);
    case DType::F64: return convert<double>(bytes, to);
    case DType::I8: return convert<std::int8_t>(bytes, to);
    case DType::I16: return convert<std::int16_t>(bytes, to);
    case DType::I32: return convert<std::int32_t>(bytes, to);
    case DType::I64: return convert<std::int64_t>(bytes, to);
    case DType::U8: return convert<std::uint8_t>(bytes, to);
    case DType::U16: return convert<std::uint16_t>(bytes, to);
    case DType::U32: return convert<std::uint32_t>(bytes, to);
    case DType::U64: return convert<std::uint64_t>(bytes, to);
    case DType::Bool: return convert<TruthByte>(bytes, to);
  }
  std::unreachable();
}

template <class To>
std::vector<To> values(DType dtype, std::span<const std::byte> bytes, Size count) {
  std::vector<To> to(static_cast<std::size_t>(count));
  convert_from(dtype, bytes, to.data());
  return to;
}

// As a tensor, which is not cleared before it is written: that takes as long again.
template <class To>
Tensor rewritten(DType to, const Tensor& from) {
  const auto count = static_cast<std::size_t>(from.count());
  const auto values = std::make_shared_for_overwrite<To[]>(count);
  convert_from(from.dtype(), from.bytes(), values.get());
  return *Tensor::view(to, from.shape(), std::as_bytes(std::span(values.get(), count)), values);
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

template <class To, class Round>
std::vector<std::byte> rounded(const std::vector<double>& from, Round round) {
  std::vector<std::byte> bytes(from.size() * sizeof(To));
  for (std::size_t i = 0; i < from.size(); ++i) {
    const To value = round(from[i]);
    std::memcpy(bytes.data() + i * sizeof(To), &value, sizeof(To));
  }
  return bytes;
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
    const Tensor& source = deferred_->source;
    copy_permuted(source.bytes(), source.shape(), bytes_of(source.dtype()), deferred_->axes, bytes.get());
    if (!source.deferred_ || source.deferred_.use_count() == 1) source.let_go();  // nobody else reads it
    deferred_->bytes = std::move(bytes);
  }
  return {deferred_->bytes.get(), length};
}

void Tensor::let_go() const {
  if (!deferred_) return give_back_pages(bytes_);
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

namespace {

// How many axes of `finer` make up each axis of `shape`, in order. Nothing: an axis of `finer` would be cut.
std::optional<std::vector<std::size_t>> grouped(const Sizes& finer, const Sizes& shape) {
  std::vector<std::size_t> counts;
  std::size_t at = 0;
  for (const Size wanted : shape) {
    Size product = 1;
    const std::size_t first = at;
    while (at < finer.size() && product < wanted) product *= finer[at++];
    if (product != wanted) return std::nullopt;
    counts.push_back(at - first);
  }
  for (; at < finer.size(); ++at) {
    if (finer[at] != 1 || counts.empty()) return std::nullopt;
    ++counts.back();
  }
  return counts;
}

// A tensor of shape `source` was permuted by `first`, reshaped to `reshaped`, and is permuted by `second`: where no axis was
// cut by reshaping both are one permutation, so that nobody makes what lies between.
std::optional<Sizes> joined(const Sizes& source, const Sizes& first, const Sizes& reshaped,
                            std::span<const Size> second) {
  const auto counts = grouped(in_order(source, first), reshaped);
  if (!counts) return std::nullopt;
  std::vector<std::size_t> begins(counts->size() + 1, 0);
  std::partial_sum(counts->begin(), counts->end(), begins.begin() + 1);
  Sizes both;
  for (const Size axis : second) {
    const auto group = static_cast<std::size_t>(axis);
    for (std::size_t i = begins[group]; i < begins[group + 1]; ++i) both.push_back(first[i]);
  }
  return both;
}

}  // namespace

Tensor Tensor::permuted(std::span<const Size> axes) const {
  assert(axes.size() == shape_.size());
  constexpr Size worth_deferring = 64 << 10;  // bytes
  Sizes shape = in_order(shape_, axes);
  if (count() * bytes_of(dtype_) < worth_deferring) {
    std::vector<std::byte> permuted(bytes().size());
    copy_permuted(bytes(), shape_, bytes_of(dtype_), axes, permuted.data());
    return own_bytes(dtype_, std::move(shape), std::move(permuted));
  }
  Tensor result;
  result.dtype_ = dtype_;
  result.shape_ = std::move(shape);
  result.deferred_ = std::make_shared<Deferred>();
  if (deferred_) {
    if (auto both = joined(deferred_->source.shape_, deferred_->axes, shape_, axes)) {
      result.deferred_->source = deferred_->source;
      result.deferred_->axes = *std::move(both);
      return result;
    }
  }
  result.deferred_->source = *this;
  result.deferred_->axes.assign(axes.begin(), axes.end());
  return result;
}

Tensor Tensor::converted(DType dtype) const {
  if (dtype == dtype_) return *this;
  switch (dtype) {
    case DType::F64: return rewritten<double>(dtype, *this);
    case DType::F32: return rewritten<float>(dtype, *this);
    case DType::F16: return own_bytes(dtype, shape_, rounded<std::uint16_t>(doubles(), half_of));
    case DType::BF16: return own_bytes(dtype, shape_, rounded<std::uint16_t>(doubles(), bfloat_of));
    default: assert(false && "only floating types are converted to"); return *this;
  }
}

}  // namespace convoy
