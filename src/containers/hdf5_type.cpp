#include "containers/hdf5_type.h"

#include <algorithm>
#include <array>

namespace convoy::hdf5 {

namespace {

std::unexpected<Error> unread(Size place, std::string what) {
  return wrong(place, "elements are " + std::move(what) + ", which no weight is", Fault::Unsupported);
}

Result<Type> read_fixed(ByteReader& r, Size place, unsigned bits, Size size) {
  const unsigned offset = r.u16(), precision = r.u16();
  if (!r.ok()) return r.failure("a datatype");
  const bool is_signed = (bits & 8) != 0;
  Type type{.size = size, .big_endian = (bits & 1) != 0};
  if (offset != 0 || static_cast<Size>(precision) != 8 * size) return unread(place, "integers with unused bits");
  switch (size) {
    case 1: type.dtype = is_signed ? DType::I8 : DType::U8; break;
    case 2: type.dtype = is_signed ? DType::I16 : DType::U16; break;
    case 4: type.dtype = is_signed ? DType::I32 : DType::U32; break;
    case 8: type.dtype = is_signed ? DType::I64 : DType::U64; break;
    default: return unread(place, "integers of " + std::to_string(size) + " bytes");
  }
  return type;
}

struct FloatForm {
  Size size;
  std::array<unsigned, 7> layout;  // precision, exponent at, exponent bits, mantissa at, mantissa bits, bias, sign at
  DType dtype;
};
constexpr std::array float_forms{
    FloatForm{2, {16, 10, 5, 0, 10, 15, 15}, DType::F16},
    FloatForm{2, {16, 7, 8, 0, 7, 127, 15}, DType::BF16},
    FloatForm{4, {32, 23, 8, 0, 23, 127, 31}, DType::F32},
    FloatForm{8, {64, 52, 11, 0, 52, 1023, 63}, DType::F64},
};

Result<Type> read_float(ByteReader& r, Size place, unsigned bits, Size size) {
  const unsigned offset = r.u16();
  std::array<unsigned, 7> layout{};
  layout[0] = r.u16();
  layout[1] = r.u8();
  layout[2] = r.u8();
  layout[3] = r.u8();
  layout[4] = r.u8();
  layout[5] = r.u32();
  layout[6] = (bits >> 8) & 0xFF;
  if (!r.ok()) return r.failure("a datatype");
  const bool plain = offset == 0 && (bits & 0x40) == 0 && ((bits >> 4) & 3) == 2;
  for (const FloatForm& form : float_forms) {
    if (plain && form.size == size && form.layout == layout) {
      return Type{.size = size, .dtype = form.dtype, .big_endian = (bits & 1) != 0};
    }
  }
  return unread(place, "floating numbers of " + std::to_string(size) + " bytes in no IEEE layout");
}

Result<Type> read_nested(ByteReader& r, unsigned depth);

Result<Type> read_enum(ByteReader& r, Size place, unsigned version, unsigned count, Size size, unsigned depth) {
  auto base = read_nested(r, depth + 1);
  if (!base) return base;
  if (base->kind != Type::Kind::Number || base->size != size) return unread(place, "an enumeration of no integers");
  bool all_truth = count == 2 && size == 1;
  std::vector<bool> truths;
  for (unsigned i = 0; i < count; ++i) {
    std::string name;
    for (char c = static_cast<char>(r.u8()); c != 0 && r.ok(); c = static_cast<char>(r.u8())) name += c;
    if (version < 3) r.skip((8 - static_cast<Size>(name.size() + 1) % 8) % 8);
    if (!r.ok()) return r.failure("an enumeration");
    all_truth = all_truth && (name == "FALSE" || name == "TRUE");
    truths.push_back(name == "TRUE");
  }
  for (unsigned i = 0; i < count; ++i) {
    const auto value = r.number(std::min<Size>(size, 8));
    all_truth = all_truth && value == (truths[i] ? 1U : 0U);
  }
  if (!r.ok()) return r.failure("an enumeration");
  if (all_truth) base->dtype = DType::Bool;
  return base;
}

Result<Type> read_array(ByteReader& r, Size place, unsigned version, Size size, unsigned depth) {
  const unsigned rank = r.u8();
  if (version < 3) r.skip(3);
  if (rank > rank_limit) return wrong(place, "array of rank " + std::to_string(rank), Fault::Limit);
  Sizes dims;
  for (unsigned i = 0; i < rank; ++i) dims.push_back(r.u32());
  if (version < 3) r.skip(4 * static_cast<Size>(rank));
  if (!r.ok()) return r.failure("an array type");
  auto base = read_nested(r, depth + 1);
  if (!base) return base;
  const auto count = checked_count(dims);
  const auto bytes = count ? checked_multiply(*count, base->size) : std::nullopt;
  if (!bytes || *bytes != size || !base->dims.empty())
    return wrong(place, "an array type whose size is not its elements'");
  base->dims = std::move(dims);
  return base;
}

Result<Type> read_nested(ByteReader& r, unsigned depth) {
  const Size place = r.place();
  const unsigned head = r.u8();
  const auto bits = static_cast<unsigned>(r.number(3));
  const Size size = r.u32();
  if (!r.ok()) return r.failure("a datatype");
  if (depth > 4) return wrong(place, "datatypes nested deeper than 4", Fault::Limit);
  if (size == 0) return wrong(place, "elements of 0 bytes");
  const unsigned version = head >> 4;
  if (version < 1 || version > 5) {
    return wrong(place, "datatype of version " + std::to_string(version), Fault::Unsupported);
  }
  switch (head & 0xF) {
    case 0: return read_fixed(r, place, bits, size);
    case 1: return read_float(r, place, bits, size);
    case 2: return unread(place, "times");
    case 3:
      if ((bits & 0xF) > 2) return unread(place, "strings of an unknown padding");
      return Type{.kind = Type::Kind::FixedString, .size = size, .padding = bits & 0xF};
    case 4: return unread(place, "bit fields");
    case 5:
      if (size != 2) return unread(place, "opaque, of " + std::to_string(size) + " bytes");
      return Type{.size = 2, .dtype = DType::BF16};
    case 6: return unread(place, "compounds");
    case 7: return unread(place, "references");
    case 8: return read_enum(r, place, version, bits & 0xFFFF, size, depth);
    case 9:
      if ((bits & 0xF) != 1) return unread(place, "sequences of their own lengths");
      return Type{.kind = Type::Kind::LongString, .size = size};
    case 10: return read_array(r, place, version, size, depth);
    default: return unread(place, "of the unknown class " + std::to_string(head & 0xF));
  }
}

// The objects of a global heap collection, by index.
Result<const std::map<std::uint32_t, HeapObject>*> heap_objects(File& file, Size address) {
  if (const auto it = file.heaps.find(address); it != file.heaps.end()) return &it->second;
  auto r = file.block(address, "GCOL", 1);
  if (!r) return pass(r);
  r->skip(3);
  const Size size = file.length(*r);
  const Size head = r->at();
  if (!r->ok()) return r->failure("a global heap");
  auto body = file.reader(address, size, "a global heap");
  if (!body) return pass(body);
  body->skip(head);
  std::map<std::uint32_t, HeapObject> objects;
  while (body->left() >= 8 + file.length_width) {
    if (auto done = file.work(2); !done) return pass(done);
    const auto index = body->u16();
    body->skip(6);
    const Size length = file.length(*body);
    if (index == 0) break;  // free space fills the rest
    if (length > body->left()) return wrong(body->place(), "a heap object longer than its heap");
    if (!objects.emplace(index, HeapObject{body->at(), length}).second) {
      return wrong(body->place(), "two heap objects numbered " + std::to_string(index));
    }
    body->skip(std::min(body->left(), (length + 7) / 8 * 8));
  }
  if (auto room = file.memory(static_cast<Size>(objects.size()) * 64 + 128); !room) return pass(room);
  return &file.heaps.emplace(address, std::move(objects)).first->second;
}

Result<std::string> long_string(File& file, ByteReader r) {
  const Size length = r.u32();
  const Size address = file.address(r);
  const auto index = r.u32();
  if (!r.ok()) return r.failure("a string");
  if (length == 0) return std::string();
  const auto objects = heap_objects(file, address);
  if (!objects) return std::unexpected(objects.error());
  const auto it = (*objects)->find(index);
  if (it == (*objects)->end()) {
    return wrong(r.place(), "a string is number " + std::to_string(index) + " of a heap that has no such object");
  }
  if (it->second.size < length) return wrong(r.place(), "a string is longer than its place in the heap");
  if (auto room = file.memory(length); !room) return pass(room);
  const auto bytes = file.slice(address + it->second.place, length, "a string");
  if (!bytes) return std::unexpected(bytes.error());
  const auto text = text_of(*bytes);
  return std::string(text.substr(0, text.find('\0')));
}

std::string fixed_string(std::string_view text, unsigned padding) {
  if (padding == 0) return std::string(text.substr(0, text.find('\0')));
  const auto last = text.find_last_not_of(padding == 1 ? '\0' : ' ');
  return std::string(text.substr(0, last == std::string_view::npos ? 0 : last + 1));
}

}  // namespace

Result<Type> read_type(ByteReader r) { return read_nested(r, 0); }

Result<Space> read_space(const File& file, ByteReader r) {
  const Size place = r.place();
  const unsigned version = r.u8(), rank = r.u8(), flags = r.u8();
  if (!r.ok()) return r.failure("a dataspace");
  if (version != 1 && version != 2) {
    return wrong(place, "dataspace of version " + std::to_string(version), Fault::Unsupported);
  }
  if (rank > rank_limit) return wrong(place, "rank " + std::to_string(rank) + ", the limit is 32", Fault::Limit);
  Space space;
  if (version == 2) space.null = r.u8() == 2;
  else r.skip(5);
  if (version == 1 && (flags & 2) != 0) return wrong(place, "a dataspace with permuted axes", Fault::Unsupported);
  for (unsigned i = 0; i < rank; ++i) space.shape.push_back(file.length(r));
  if (!r.ok()) return r.failure("a dataspace");
  if (space.null) space.shape = {0};
  const auto count = checked_count(space.shape);
  if (!count) return wrong(place, "a shape with more elements than can be counted", Fault::Limit);
  space.count = *count;
  return space;
}

Result<Size> stored_size(const Type& type, const Space& space, Size place) {
  const Size own =
      type.dims.empty() ? type.size : checked_multiply(*checked_count(type.dims), type.size).value_or(nowhere);
  const auto size = checked_multiply(space.count, own);
  if (!size) return wrong(place, "more bytes than can be counted", Fault::Limit);
  return *size;
}

Result<Tensor> numbers(File& file, const Type& type, const Space& space, const Blob& data) {
  Sizes shape = space.shape;
  shape.insert(shape.end(), type.dims.begin(), type.dims.end());
  if (!type.big_endian || type.size == 1) return Tensor::view(type.dtype, std::move(shape), data.bytes, data.keeper);
  if (auto room = file.memory(static_cast<Size>(data.bytes.size())); !room) return pass(room);
  std::vector<std::byte> swapped(data.bytes.begin(), data.bytes.end());
  for (auto at = swapped.begin(); at != swapped.end(); at += type.size) std::reverse(at, at + type.size);
  return Tensor::owning(type.dtype, std::move(shape), std::move(swapped));
}

Result<std::vector<std::string>> strings(File& file, const Type& type, Bytes data, Size place) {
  const Size count = static_cast<Size>(data.size()) / type.size;
  const auto room = checked_multiply(count, type.size + static_cast<Size>(sizeof(std::string)));
  if (auto given = file.memory(room.value_or(nowhere)); !given) return pass(given);
  if (auto done = file.work(count); !done) return pass(done);
  if (type.kind == Type::Kind::LongString && type.size != 8 + file.offset_width) {
    return wrong(place, "strings whose place in the heap takes " + std::to_string(type.size) + " bytes");
  }
  std::vector<std::string> all;
  all.reserve(static_cast<std::size_t>(count));
  ByteReader r(data, place);
  for (Size i = 0; i < count; ++i) {
    const Size at = r.place();
    const Bytes element = r.take(type.size);
    if (type.kind == Type::Kind::FixedString) {
      all.push_back(fixed_string(text_of(element), type.padding));
      continue;
    }
    auto text = long_string(file, ByteReader(element, at));
    if (!text) return pass(text);
    all.push_back(*std::move(text));
  }
  return all;
}

}  // namespace convoy::hdf5
