// Source: FlatBuffers, "Internals": a table begins with the signed distance to its layout, which holds its own length, the
// table's, and for each field where it lies in the table, 0 where it is absent. Other offsets lead forward.
#include "containers/flatbuffer.h"

#include "base/budget.h"

namespace convoy {

void FlatFile::fail_with(Fault fault, std::string what) {
  if (!fault_) fault_ = Error{fault, std::move(what), {}};
}

Bytes FlatFile::take(std::uint64_t at, std::uint64_t count, std::string_view what) {
  if (failed()) return {};
  if (at <= bytes_.size() && count <= bytes_.size() - at)
    return bytes_.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count));
  fail_with(Fault::Truncated, "ends at byte " + std::to_string(bytes_.size()) + ", " + std::string(what) + " needs " +
                                  std::to_string(count) + " bytes at byte " + std::to_string(at));
  return {};
}

std::uint64_t FlatFile::follow(std::uint64_t at, std::string_view what) {
  const auto offset = number<std::uint32_t>(at, what);
  if (offset == 0 && !failed())
    fail_with(Fault::Format, std::string(what) + " at byte " + std::to_string(at) + " leads to itself");
  return at + offset;
}

bool FlatFile::grants(std::uint64_t bytes, std::string_view what) {
  if (failed()) return false;
  if (bytes > left_) {
    fail_with(Fault::Limit, "holds tables that stand for many times its own length, at " + std::string(what));
    return false;
  }
  left_ -= static_cast<std::size_t>(bytes);
  if (const auto afforded = budget::afford(static_cast<Size>(bytes), what); !afforded) {
    fail_with(afforded.error().fault, afforded.error().what);
    return false;
  }
  return true;
}

FlatTable FlatTable::at_place(FlatFile& file, std::uint64_t at) {
  FlatTable table;
  table.file_ = &file;
  const auto back = file.number<std::int32_t>(at, "a table");
  const std::int64_t layout = static_cast<std::int64_t>(at) - back;
  if (file.failed()) return table;
  if (layout < 0) {
    file.fail_with(Fault::Format, "the table at byte " + std::to_string(at) + " has its layout before the file");
    return table;
  }
  const auto length = file.number<std::uint16_t>(static_cast<std::uint64_t>(layout), "the layout of a table");
  const auto own = file.number<std::uint16_t>(static_cast<std::uint64_t>(layout) + 2, "the layout of a table");
  file.take(static_cast<std::uint64_t>(layout), length, "the layout of a table");
  file.take(at, own, "a table");
  if (file.failed()) return table;
  if (length < 4 || length % 2 != 0 || own < 4) {
    file.fail_with(Fault::Format, "the layout of the table at byte " + std::to_string(at) + " is " +
                                      std::to_string(length) + " bytes long for a table of " + std::to_string(own));
    return table;
  }
  table.at_ = at;
  table.layout_ = static_cast<std::uint64_t>(layout);
  table.fields_ = (length - 4) / 2;
  table.length_ = own;
  return table;
}

std::uint64_t FlatTable::place_of(int field) const {
  if (field >= fields_ || file_->failed()) return 0;
  const auto in_table = file_->number<std::uint16_t>(layout_ + 4 + 2 * static_cast<std::uint64_t>(field), "a layout");
  if (in_table == 0) return 0;
  if (in_table < 4 || in_table >= length_) {
    file_->fail_with(Fault::Format, "field " + std::to_string(field) + " of the table at byte " + std::to_string(at_) +
                                        " lies outside of it");
    return 0;
  }
  return at_ + in_table;
}

FlatTable::List FlatTable::list_of(int field, std::size_t width) const {
  const std::uint64_t place = place_of(field);
  if (place == 0) return {};
  const std::uint64_t at = file_->follow(place, "a list");
  const std::uint64_t count = file_->number<std::uint32_t>(at, "the length of a list");
  const Bytes bytes = file_->take(at + 4, count * width, "a list");
  if (file_->failed() || (width > 1 && !file_->grants(count * width, "a list"))) return {};
  return {at + 4, static_cast<std::size_t>(count), bytes};
}

Bytes FlatTable::run(int field) const { return list_of(field, 1).bytes; }

std::string FlatTable::text(int field) const {
  const Bytes bytes = run(field);
  return file_->grants(bytes.size(), "a text") ? std::string(text_of(bytes)) : std::string();
}

std::optional<FlatTable> FlatTable::table(int field) const {
  const std::uint64_t place = place_of(field);
  if (place == 0) return std::nullopt;
  const FlatTable found = at_place(*file_, file_->follow(place, "a table"));
  if (file_->failed()) return std::nullopt;
  return found;
}

std::vector<FlatTable> FlatTable::tables(int field) const {
  const List list = list_of(field, 4);
  std::vector<FlatTable> all;
  if (!file_->grants(list.count * sizeof(FlatTable), "a list of tables")) return all;
  all.reserve(list.count);
  for (std::size_t i = 0; i < list.count && !file_->failed(); ++i)
    all.push_back(at_place(*file_, file_->follow(list.at + 4 * i, "a table")));
  return all;
}

}  // namespace convoy
