// Messages of protocol buffers as a sequence of fields: numbers and spans of the bytes they stand in, nothing copied.
// What a field number means is the reader's business.
#pragma once
#include "base/bytes.h"

#include <functional>
#include <vector>

namespace convoy {

enum class Wire : std::uint8_t { Varint, Fixed64, Run, Fixed32 };

struct ProtoField {
  std::uint32_t number = 0;
  Wire wire = Wire::Varint;
  std::uint64_t value = 0;  // of a number: its bits
  Bytes bytes;              // of text, a message or packed numbers

  std::int64_t integer() const { return static_cast<std::int64_t>(value); }
  float real() const;  // of Fixed32
  std::string_view text() const { return text_of(bytes); }
};

// Shows the fields of one message in their order until one is not taken. Fails: as `take` does; a length that leaves the
// message, a number longer than ten bytes, groups and unknown kinds of fields, field number 0.
Status each_field(Bytes message, const std::function<Status(const ProtoField&)>& take);

// Appends the numbers of a repeated field, which may stand packed in one run of bytes or one by one.
Status add_integers(const ProtoField& field, std::vector<std::int64_t>& numbers);  // int32, int64, uint64, enum
Status add_floats(const ProtoField& field, std::vector<float>& numbers);
Status add_doubles(const ProtoField& field, std::vector<double>& numbers);

}  // namespace convoy
