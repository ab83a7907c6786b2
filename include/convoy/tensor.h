// An array of numbers: element type, shape, and bytes that it shares or borrows from a mapped file.
// Always dense and row-major. Copying a Tensor copies the handle, never the bytes.
#pragma once
#include "convoy/result.h"
#include "convoy/size.h"

#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace convoy {

enum class DType : std::uint8_t { F16, BF16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Bool };

std::string_view name_of(DType dtype);  // "float32", as numpy says it
// The type of that name. Nothing: none of them.
std::optional<DType> type_named(std::string_view name);
Size bytes_of(DType dtype);             // per element

class Tensor {
 public:
  Tensor() = default;

  // Bytes that somebody else keeps alive: `keeper` holds them (a mapped file, a vector).
  // Fails: a shape whose byte count is not exactly the length of `bytes`.
  static Result<Tensor> view(DType dtype, Sizes shape, std::span<const std::byte> bytes,
                             std::shared_ptr<const void> keeper);

  // Takes over bytes that nobody else writes; the same rule for their count.
  static Result<Tensor> owning(DType dtype, Sizes shape, std::vector<std::byte> bytes);

  // Owns a copy of the values. The count must be that of the shape (asserted: never from a file).
  static Tensor of(Sizes shape, std::vector<float> values);
  static Tensor of(Sizes shape, std::vector<double> values);
  static Tensor of(Sizes shape, std::vector<std::int64_t> values);

  DType dtype() const { return dtype_; }
  const Sizes& shape() const { return shape_; }
  Size rank() const { return static_cast<Size>(shape_.size()); }
  Size count() const;  // elements
  // Of a tensor that was permuted and is large, the bytes are put in order at the first call and kept.
  std::span<const std::byte> bytes() const { return deferred_ ? deferred_bytes() : bytes_; }
  // Gives back the memory of bytes that were put in order; spans of them end here, a later call orders them anew. Of a view
  // into a file, the pages until they are read again.
  // Writers call it tensor by tensor, so that reordering a model does not hold it in memory twice.
  void let_go() const;
  // Equal for two tensors that share their bytes (tied weights), without putting any in order.
  const void* identity() const { return deferred_ ? static_cast<const void*>(deferred_.get()) : bytes_.data(); }

  // A view into a file may lie at any byte. `realigned` is this tensor, or a copy that raw() may read.
  bool aligned() const;
  Tensor realigned() const;

  // The values as they lie in memory; only where T is the dtype and the bytes are aligned for it.
  template <class T>
  std::span<const T> raw() const {
    return {reinterpret_cast<const T*>(bytes().data()), bytes().size() / sizeof(T)};
  }
  // The values converted to float or double (halves widened, integers converted). One copy.
  std::vector<float> floats() const;
  std::vector<double> doubles() const;
  std::vector<std::int64_t> integers() const;

  // The same bytes under another shape of the same count.
  Tensor reshaped(Sizes shape) const;
  // axes[i] is the axis of this tensor that becomes axis i, whatever the element type. A large tensor's elements are
  // copied only when its bytes are first asked for.
  Tensor permuted(std::span<const Size> axes) const;
  // This tensor in another floating type (values rounded to nearest).
  Tensor converted(DType dtype) const;

  friend bool same_bytes(const Tensor& a, const Tensor& b) {
    if (a.dtype_ != b.dtype_ || a.shape_ != b.shape_) return false;
    const auto x = a.bytes(), y = b.bytes();
    return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size()) == 0);
  }

 private:
  struct Deferred;
  std::span<const std::byte> deferred_bytes() const;

  DType dtype_ = DType::F32;
  Sizes shape_;
  std::span<const std::byte> bytes_;  // empty where deferred_ holds them
  std::shared_ptr<const void> keeper_;
  std::shared_ptr<Deferred> deferred_;
};

}  // namespace convoy
