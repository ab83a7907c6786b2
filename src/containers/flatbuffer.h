// FlatBuffers as tables whose fields are asked for by number: nothing is copied, and no access leaves the bytes. What a
// field means is the reader's business.
#pragma once
#include "base/bytes.h"
#include "convoy/result.h"

#include <concepts>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convoy {

// The bytes and the first failure. Accesses that do not fit give zeros and nothing, so that fields are read in a straight
// line and `done` is asked once. Tables may be shared, so what is read is counted: a file whose tables stand for many
// times its own length is refused (Limit) before a list is made of them.
class FlatFile {
 public:
  explicit FlatFile(Bytes bytes) : bytes_(bytes), left_(64 * bytes.size() + (std::size_t{1} << 20)) {}

  Status done() const {
    if (fault_) return std::unexpected(*fault_);
    return {};
  }
  bool failed() const { return fault_.has_value(); }
  std::size_t size() const { return bytes_.size(); }

  // The bytes from `at`; empty and failed where they are not all there.
  Bytes take(std::uint64_t at, std::uint64_t count, std::string_view what);
  template <class T>
  T number(std::uint64_t at, std::string_view what) {
    T value{};
    if (const Bytes found = take(at, sizeof(T), what); !found.empty()) std::memcpy(&value, found.data(), sizeof(T));
    return value;
  }
  // Where an offset that stands at `at` leads.
  std::uint64_t follow(std::uint64_t at, std::string_view what);
  // Counts what a list takes before it is made.
  bool grants(std::uint64_t bytes, std::string_view what);
  void fail_with(Fault fault, std::string what);

 private:
  Bytes bytes_;
  std::size_t left_;
  std::optional<Error> fault_;
};

template <class T>
concept FlatNumber = std::integral<T> || std::floating_point<T>;

class FlatTable {
 public:
  // The table that the file begins with.
  static FlatTable root(FlatFile& file) { return at_place(file, file.follow(0, "the root table")); }

  bool has(int field) const { return place_of(field) != 0; }
  template <FlatNumber T>
  T number(int field, T otherwise = {}) const {
    const std::uint64_t at = place_of(field);
    return at == 0 ? otherwise : file_->number<T>(at, "a field");
  }
  std::string text(int field) const;
  std::optional<FlatTable> table(int field) const;
  // The bytes of a list of bytes; empty where there is none.
  Bytes run(int field) const;
  template <FlatNumber T>
  std::vector<T> numbers(int field) const {
    const List list = list_of(field, sizeof(T));
    std::vector<T> all(list.count);
    if (!all.empty()) std::memcpy(all.data(), list.bytes.data(), list.bytes.size());
    return all;
  }
  std::vector<FlatTable> tables(int field) const;
  // One more than the last field that the table's layout knows.
  int fields() const { return fields_; }

 private:
  struct List {
    std::uint64_t at = 0;  // of its first item
    std::size_t count = 0;
    Bytes bytes;
  };
  static FlatTable at_place(FlatFile& file, std::uint64_t at);
  std::uint64_t place_of(int field) const;
  List list_of(int field, std::size_t width) const;

  FlatFile* file_ = nullptr;
  std::uint64_t at_ = 0, layout_ = 0;
  int fields_ = 0;
  std::uint16_t length_ = 0;
};

}  // namespace convoy
