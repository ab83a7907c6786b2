#include "containers/table.h"

#include "base/budget.h"
#include "base/crc32c.h"
#include "containers/snappy.h"

#include <functional>

namespace convoy {
namespace {

constexpr Size footer_length = 48, trailer_length = 5;
constexpr std::string_view table_magic = "\x57\xfb\x80\x8b\x24\x75\x47\xdb";

std::optional<Size> table_varint(ByteReader& reader) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 63; shift += 7) {
    const std::uint8_t byte = reader.u8();
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return reader.ok() ? std::optional(static_cast<Size>(value)) : std::nullopt;
  }
  return std::nullopt;
}

struct BlockHandle {
  Size offset = 0, size = 0;
};

Result<BlockHandle> handle_in(ByteReader& reader) {
  const auto offset = table_varint(reader), size = table_varint(reader);
  if (!offset || !size) return fail(Fault::Format, "a table's block has no place");
  return BlockHandle{*offset, *size};
}

// The bytes of a block, its sum checked. `inflated` keeps them where they were compressed.
Result<Bytes> block_at(Bytes table, BlockHandle at, std::vector<std::byte>& inflated) {
  const auto end = static_cast<Size>(table.size()) - footer_length;
  if (at.offset > end || at.size > end - trailer_length - at.offset || at.offset + at.size + trailer_length > end)
    return fail(Fault::Truncated, "a table's block of " + std::to_string(at.size) + " bytes at byte " +
                                      std::to_string(at.offset) + " leaves the " + std::to_string(end) + " there are");
  const Bytes whole =
      table.subspan(static_cast<std::size_t>(at.offset), static_cast<std::size_t>(at.size + trailer_length));
  const Bytes summed = whole.first(static_cast<std::size_t>(at.size) + 1);
  ByteReader trailer(whole.subspan(static_cast<std::size_t>(at.size)));
  const std::uint8_t kind = trailer.u8();
  if (masked_crc32c(crc32c_of(summed)) != trailer.u32())
    return fail(Fault::Format,
                "a table's block at byte " + std::to_string(at.offset) + " has another checksum than the file says");
  const Bytes content = whole.first(static_cast<std::size_t>(at.size));
  if (kind == 0) return content;
  if (kind != 1) return fail(Fault::Unsupported, "a table's block is compressed in way " + std::to_string(kind));
  auto bytes = unsnap(content);
  if (!bytes) return pass(bytes);
  inflated = std::move(*bytes);
  return Bytes(inflated);
}

using TakeEntry = std::function<Status(const std::string& key, Bytes value)>;

// Each key says how much of the one before it begins with.
Status each_entry(Bytes block, const TakeEntry& take) {
  if (block.size() < 4) return fail(Fault::Truncated, "a table's block has " + std::to_string(block.size()) + " bytes");
  ByteReader last(block.last(4));
  const auto restarts = static_cast<Size>(last.u32());
  if (restarts > (static_cast<Size>(block.size()) - 4) / 4)
    return fail(Fault::Format, "a table's block has " + std::to_string(restarts) + " restarts");
  ByteReader reader(block.first(block.size() - 4 - static_cast<std::size_t>(restarts) * 4));
  std::string key;
  while (reader.left() > 0) {
    const auto shared = table_varint(reader), own = table_varint(reader), length = table_varint(reader);
    if (!shared || !own || !length || *shared > static_cast<Size>(key.size()))
      return fail(Fault::Format, "a table's entry at byte " + std::to_string(reader.place()) + " is broken");
    const Bytes suffix = reader.take(*own), value = reader.take(*length);
    if (!reader.ok()) return reader.failure("a table's entry");
    if (auto s = budget::spend(100.0 + static_cast<double>(*shared + *own), "a table's keys"); !s) return s;
    key.resize(static_cast<std::size_t>(*shared));
    key += text_of(suffix);
    if (auto s = take(key, value); !s) return s;
  }
  return {};
}

}  // namespace

bool ends_table(Bytes bytes) {
  return static_cast<Size>(bytes.size()) >= footer_length && text_of(bytes.last(table_magic.size())) == table_magic;
}

Result<std::vector<TableEntry>> read_table(Bytes bytes) {
  if (!ends_table(bytes)) return fail(Fault::Format, "does not end as a table does");
  ByteReader footer(bytes.last(static_cast<std::size_t>(footer_length)));
  if (auto meta = handle_in(footer); !meta) return pass(meta);
  const auto index = handle_in(footer);
  if (!index) return std::unexpected(index.error());
  std::vector<std::byte> index_bytes;
  const auto index_block = block_at(bytes, *index, index_bytes);
  if (!index_block) return std::unexpected(index_block.error());
  std::vector<TableEntry> all;
  Size behind = 0;
  auto done = each_entry(*index_block, [&](const std::string&, Bytes place) -> Status {
    ByteReader reader(place);
    const auto at = handle_in(reader);
    if (!at) return std::unexpected(at.error());
    if (at->offset < behind)
      return fail(Fault::Format, "a table's block at byte " + std::to_string(at->offset) + " overlaps the one before");
    std::vector<std::byte> inflated;
    const auto block = block_at(bytes, *at, inflated);
    if (!block) return std::unexpected(block.error());
    behind = at->offset + at->size + trailer_length;
    return each_entry(*block, [&](const std::string& key, Bytes value) -> Status {
      if (!all.empty() && key <= all.back().key)
        return fail(Fault::Format, "a table's keys are out of order at '" + key + "'");
      if (auto s = budget::afford_one_more(all, "a table's entries"); !s) return s;
      if (auto s = budget::afford(static_cast<Size>(key.size() + value.size()), "a table's entry"); !s) return s;
      all.push_back({key, std::string(text_of(value))});
      return {};
    });
  });
  if (!done) return pass(done);
  return all;
}

}  // namespace convoy
