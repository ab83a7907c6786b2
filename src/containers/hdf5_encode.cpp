#include "containers/hdf5_encode.h"

#include <algorithm>
#include <array>

namespace convoy::hdf5 {
namespace {

// The first byte of a datatype: its class, in version 1.
constexpr std::uint64_t version_1 = 0x10;
enum Class : unsigned {
  FixedPoint = 0,
  FloatingPoint = 1,
  FixedString = 3,
  Opaque = 5,
  Enumeration = 8,
  FreeLength = 9
};

struct Floating {
  DType dtype;
  unsigned exponent_bits, mantissa_bits;
};
constexpr std::array floatings{Floating{DType::F16, 5, 10}, Floating{DType::F32, 8, 23}, Floating{DType::F64, 11, 52}};

bool is_signed(DType dtype) {
  return dtype == DType::I8 || dtype == DType::I16 || dtype == DType::I32 || dtype == DType::I64;
}

Encoder integer_type(std::uint64_t width, bool with_sign) {
  Encoder e;
  e.u8(version_1 | FixedPoint).u8(with_sign ? 8 : 0).u16(0).u32(width);
  return std::move(e.u16(0).u16(8 * width));  // no bits are left over
}

// The mantissa's leading bit is implied; the sign is the topmost bit.
Encoder floating_type(const Floating& f, std::uint64_t width) {
  Encoder e;
  e.u8(version_1 | FloatingPoint).u8(0x20).u8(8 * width - 1).u8(0).u32(width).u16(0).u16(8 * width);
  e.u8(f.mantissa_bits).u8(f.exponent_bits).u8(0).u8(f.mantissa_bits);
  return std::move(e.u32((1U << (f.exponent_bits - 1)) - 1));
}

Encoder bool_type() {
  Encoder e;
  e.u8(version_1 | Enumeration).u16(2).u8(0).u32(1).add(integer_type(1, true));
  return std::move(e.text("FALSE").zeros(3).text("TRUE").zeros(4).u8(0).u8(1));
}

// Padded with zeros; ASCII, which is what h5py calls the bytes of numpy.
Encoder fixed_string_type(std::size_t width) {
  Encoder e;
  return std::move(e.u8(version_1 | FixedString).u8(1).u16(0).u32(width));
}

// UTF-8, over unsigned bytes.
Encoder free_string_type() {
  Encoder e;
  return std::move(e.u8(version_1 | FreeLength).u8(1).u8(1).u8(0).u32(16).add(integer_type(1, false)));
}

Result<Encoder> strings_data(const std::vector<std::string>& all, std::size_t width) {
  Encoder e;
  for (const std::string& one : all) {
    if (one.contains('\0')) return fail(Fault::Unsupported, "a string has a zero byte in it");
    e.text(one).zeros(width - one.size());
  }
  return e;
}

}  // namespace

Encoder space_of(const Sizes& shape) {
  Encoder e;
  e.u8(1).u8(shape.size()).u8(0).zeros(5);
  for (const Size n : shape) e.u64(static_cast<std::uint64_t>(n));
  return e;
}

Encoder type_of(DType dtype) {
  const auto width = static_cast<std::uint64_t>(bytes_of(dtype));
  for (const Floating& f : floatings)
    if (f.dtype == dtype) return floating_type(f, width);
  if (dtype == DType::Bool) return bool_type();
  Encoder opaque;
  if (dtype == DType::BF16) return std::move(opaque.u8(version_1 | Opaque).zeros(3).u32(width));
  return integer_type(width, is_signed(dtype));
}

Result<Encoder> attribute_of(std::string_view name, const AttributeValue& value) {
  Encoder type, space, data;
  if (const auto* text = std::get_if<std::string>(&value)) {
    if (text->contains('\0')) return fail(Fault::Unsupported, "the string has a zero byte in it");
    type = free_string_type();
    space = space_of({});
    data.u32(text->size()).u64(0).u32(0);
  } else if (const auto* all = std::get_if<std::vector<std::string>>(&value)) {
    std::size_t width = 1;
    for (const std::string& one : *all) width = std::max(width, one.size());
    auto strings = strings_data(*all, width);
    if (!strings) return strings;
    type = fixed_string_type(width);
    space = space_of({static_cast<Size>(all->size())});
    data = std::move(*strings);
  } else {
    const Tensor& tensor = std::get<Tensor>(value);
    type = type_of(tensor.dtype());
    space = space_of(tensor.shape());
    data.raw(tensor.bytes());
  }
  Encoder e;
  e.u8(1).zeros(1).u16(name.size() + 1).u16(type.size()).u16(space.size());
  e.text(name).zeros(1).align(8).add(type).align(8).add(space).align(8).add(data);
  return e;
}

}  // namespace convoy::hdf5
