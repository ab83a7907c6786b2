// The wire of protocol buffers, read by protozero. Its exceptions end here.
#include "containers/proto.h"

#include <protozero/pbf_reader.hpp>

#include <bit>
#include <cstring>

namespace convoy {
namespace {

protozero::data_view view_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::unexpected<Error> broken(const protozero::exception& error) {
  if (dynamic_cast<const protozero::end_of_buffer_exception*>(&error))
    return fail(Fault::Truncated, "a message ends within a field");
  if (dynamic_cast<const protozero::varint_too_long_exception*>(&error))
    return fail(Fault::Format, "a number of a message is longer than ten bytes");
  return fail(Fault::Format, "a message holds a field of no known kind");
}

// The numbers of a packed run, `width` bytes each.
template <class Bits, class T>
Status add_fixed(const ProtoField& field, Wire wire, std::vector<T>& numbers) {
  if (field.wire == wire) {
    numbers.push_back(std::bit_cast<T>(static_cast<Bits>(field.value)));
    return {};
  }
  if (field.wire != Wire::Run || field.bytes.size() % sizeof(T) != 0)
    return fail(Fault::Format, "repeated field " + std::to_string(field.number) + " holds " +
                                   std::to_string(field.bytes.size()) + " bytes, which are no list of numbers");
  const std::size_t count = field.bytes.size() / sizeof(T), first = numbers.size();
  numbers.resize(first + count);
  if (count > 0) std::memcpy(numbers.data() + first, field.bytes.data(), field.bytes.size());
  return {};
}

}  // namespace

float ProtoField::real() const { return std::bit_cast<float>(static_cast<std::uint32_t>(value)); }

Status each_field(Bytes message, const std::function<Status(const ProtoField&)>& take) {
  try {
    protozero::pbf_reader reader(view_of(message));
    while (reader.next()) {
      ProtoField field{reader.tag(), Wire::Varint, 0, {}};
      switch (reader.wire_type()) {
        case protozero::pbf_wire_type::varint: field.value = reader.get_uint64(); break;
        case protozero::pbf_wire_type::fixed64:
          field.wire = Wire::Fixed64;
          field.value = reader.get_fixed64();
          break;
        case protozero::pbf_wire_type::fixed32:
          field.wire = Wire::Fixed32;
          field.value = reader.get_fixed32();
          break;
        case protozero::pbf_wire_type::length_delimited: {
          field.wire = Wire::Run;
          const auto view = reader.get_view();
          field.bytes = {reinterpret_cast<const std::byte*>(view.data()), view.size()};
          break;
        }
        default: return fail(Fault::Format, "a message holds a field of no known kind");
      }
      if (Status taken = take(field); !taken) return taken;
    }
  } catch (const protozero::exception& error) { return broken(error); }
  return {};
}

Status add_integers(const ProtoField& field, std::vector<std::int64_t>& numbers) {
  if (field.wire == Wire::Varint) {
    numbers.push_back(field.integer());
    return {};
  }
  if (field.wire != Wire::Run)
    return fail(Fault::Format, "repeated field " + std::to_string(field.number) + " holds no whole numbers");
  const char* at = reinterpret_cast<const char*>(field.bytes.data());
  const char* const end = at + field.bytes.size();
  try {
    while (at != end) numbers.push_back(static_cast<std::int64_t>(protozero::decode_varint(&at, end)));
  } catch (const protozero::exception& error) { return broken(error); }
  return {};
}

Status add_floats(const ProtoField& field, std::vector<float>& numbers) {
  return add_fixed<std::uint32_t>(field, Wire::Fixed32, numbers);
}
Status add_doubles(const ProtoField& field, std::vector<double>& numbers) {
  return add_fixed<std::uint64_t>(field, Wire::Fixed64, numbers);
}

}  // namespace convoy
