#include "containers/flatbuffer_writer.h"

#include <algorithm>

namespace convoy {

FlatWriter::FlatWriter(std::string_view identifier) : bytes_(4, '\0') { bytes_ += identifier; }

void FlatWriter::align(std::size_t to) {
  while (bytes_.size() % to != 0) bytes_ += '\0';
}

void FlatWriter::put(std::uint32_t bits, int width) {
  for (int i = 0; i < width; ++i) bytes_ += static_cast<char>(bits >> (8 * i) & 0xFF);
}

// The layout lies in front of its table, wide fields before narrow ones.
FlatWriter::Table FlatWriter::table(const std::vector<FlatField>& fields) {
  int most = 0, length = 4;
  for (const FlatField& field : fields) most = std::max(most, field.number + 1);
  std::vector<std::uint16_t> layout(static_cast<std::size_t>(most), 0);
  for (const int width : {4, 2, 1})
    for (const FlatField& field : fields)
      if (field.width == width) {
        layout[static_cast<std::size_t>(field.number)] = static_cast<std::uint16_t>(length);
        length += width;
      }
  const std::size_t size = 4 + 2 * layout.size();
  align(4);
  if (size % 4 != 0) put(0, 2);
  const std::size_t begin = bytes_.size();
  put(static_cast<std::uint32_t>(size), 2);
  put(static_cast<std::uint32_t>(length), 2);
  for (const std::uint16_t place : layout) put(place, 2);
  Table made{bytes_.size(), {}};
  put(static_cast<std::uint32_t>(made.at - begin), 4);
  bytes_.resize(made.at + static_cast<std::size_t>(length), '\0');
  for (const FlatField& field : fields) {
    const std::size_t at = made.at + layout[static_cast<std::size_t>(field.number)];
    for (int i = 0; i < field.width; ++i)
      bytes_[at + static_cast<std::size_t>(i)] = static_cast<char>(field.bits >> (8 * i) & 0xFF);
    made.fields.push_back(at);
  }
  return made;
}

std::size_t FlatWriter::numbers(const std::vector<std::int32_t>& all) {
  align(4);
  const std::size_t at = bytes_.size();
  put(static_cast<std::uint32_t>(all.size()), 4);
  for (const std::int32_t number : all) put(static_cast<std::uint32_t>(number), 4);
  return at;
}

std::size_t FlatWriter::long_numbers(const std::vector<std::int64_t>& all) {
  align(4);
  if (bytes_.size() % 8 == 0) put(0, 4);  // the numbers themselves begin at a multiple of 8
  const std::size_t at = bytes_.size();
  put(static_cast<std::uint32_t>(all.size()), 4);
  for (const std::int64_t number : all)
    for (const int shift : {0, 32}) put(static_cast<std::uint32_t>(static_cast<std::uint64_t>(number) >> shift), 4);
  return at;
}

std::size_t FlatWriter::text(std::string_view text) {
  align(4);
  const std::size_t at = bytes_.size();
  put(static_cast<std::uint32_t>(text.size()), 4);
  bytes_ += text;
  bytes_ += '\0';
  return at;
}

std::size_t FlatWriter::references(std::size_t count) {
  align(4);
  const std::size_t at = bytes_.size();
  put(static_cast<std::uint32_t>(count), 4);
  bytes_.resize(bytes_.size() + 4 * count, '\0');
  return at;
}

void FlatWriter::point(std::size_t from, std::size_t to) {
  const auto offset = static_cast<std::uint32_t>(to - from);
  for (std::size_t i = 0; i < 4; ++i) bytes_[from + i] = static_cast<char>(offset >> (8 * i) & 0xFF);
}

}  // namespace convoy
