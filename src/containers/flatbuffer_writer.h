// Writes FlatBuffers from the front: every table and list lies before what it refers to, so that large runs of bytes can
// follow as they are, without a copy of the whole.
#pragma once
#include "base/bytes.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace convoy {

// A field of a table: its number, how many bytes wide, and its bits; a reference is 4 bytes that are pointed later.
struct FlatField {
  int number = 0;
  int width = 4;
  std::uint32_t bits = 0;
};

class FlatWriter {
 public:
  explicit FlatWriter(std::string_view identifier);

  // Where the fields lie that were asked for, in their order.
  struct Table {
    std::size_t at = 0;
    std::vector<std::size_t> fields;
  };
  Table table(const std::vector<FlatField>& fields);
  std::size_t numbers(const std::vector<std::int32_t>& all);
  std::size_t long_numbers(const std::vector<std::int64_t>& all);
  std::size_t text(std::string_view text);
  // So many references; the first lies 4 bytes behind what is returned.
  std::size_t references(std::size_t count);
  // The reference at `from` leads to `to`, which lies behind it.
  void point(std::size_t from, std::size_t to);
  void root(std::size_t table) { point(0, table); }
  const std::string& bytes() const { return bytes_; }

 private:
  void align(std::size_t to);
  void put(std::uint32_t bits, int width);

  std::string bytes_;
};

}  // namespace convoy
