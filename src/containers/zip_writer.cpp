#include "base/crc32.h"
#include "containers/zip.h"

namespace convoy {

namespace {

constexpr Size alignment = 64;
constexpr Size most_small = 0xFFFFFFFE;
constexpr std::uint16_t utf8_names = 0x0800, sizes_follow = 0x0008;
constexpr std::uint16_t first_of_january_1980 = 0x0021;

class Record {
 public:
  Record& number(std::uint64_t value, int width) {
    for (int i = 0; i < width; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
    return *this;
  }
  Record& u16(std::uint64_t value) { return number(value, 2); }
  Record& u32(std::uint64_t value) { return number(value, 4); }
  Record& u64(std::uint64_t value) { return number(value, 8); }
  Record& text(std::string_view text) {
    for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
    return *this;
  }
  Record& fill(Size count, char c) {
    bytes_.insert(bytes_.end(), static_cast<std::size_t>(count), static_cast<std::byte>(c));
    return *this;
  }
  Bytes bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

std::uint64_t small(Size n) { return n > most_small ? 0xFFFFFFFFU : static_cast<std::uint64_t>(n); }

}  // namespace

Status ZipWriter::emit(Bytes bytes) {
  if (auto done = append_(bytes); !done) return pass(done);
  at_ += static_cast<Size>(bytes.size());
  return {};
}

// No CRC yet: it and the sizes follow the content.
Status ZipWriter::begin(std::string_view name, Size size, std::optional<std::uint32_t> crc) {
  if (name.empty() || name.size() > 0xFFFF) return fail(Fault::Internal, "a member needs a name of 1 to 65535 bytes");
  const bool large = size > most_small;
  // The padding is an extra field 'FB' filled with Z, as torch writes it; it needs 4 bytes for its own head.
  const Size before = at_ + 30 + static_cast<Size>(name.size()) + (large ? 20 : 0) + 4;
  const Size padding = (alignment - before % alignment) % alignment;
  const auto said = static_cast<std::uint64_t>(crc ? size : 0);
  const std::uint64_t in_header = large ? 0xFFFFFFFFU : said;
  ZipEntry e{
      .name = std::string(name), .deflated = false, .stored = size, .size = size, .crc = crc.value_or(0), .at = at_};
  Record r;
  r.u32(0x04034B50).u16(large ? 45 : 20).u16(utf8_names | (crc ? 0U : sizes_follow)).u16(0).u16(0);
  r.u16(first_of_january_1980).u32(e.crc).u32(in_header).u32(in_header);
  r.u16(name.size()).u16(static_cast<std::uint64_t>((large ? 20 : 0) + 4 + padding)).text(name);
  if (large) r.u16(1).u16(16).u64(said).u64(said);
  r.text("FB").u16(static_cast<std::uint64_t>(padding)).fill(padding, 'Z');
  entries_.push_back({std::move(e), !crc});
  return emit(r.bytes());
}

Status ZipWriter::add(std::string_view name, Bytes content) { return add_parts(name, std::span(&content, 1)); }

Status ZipWriter::add_parts(std::string_view name, std::span<const Bytes> parts) {
  Size size = 0;
  std::uint32_t crc = 0;
  for (const Bytes part : parts) {
    size += static_cast<Size>(part.size());
    crc = crc32_of(part, crc);
  }
  if (auto done = begin(name, size, crc); !done) return done;
  for (const Bytes part : parts)
    if (auto done = emit(part); !done) return done;
  return {};
}

Status ZipWriter::add_stream(std::string_view name, Size size, const std::function<Status(const Append&)>& produce) {
  if (auto done = begin(name, size, {}); !done) return done;
  const Size start = at_;
  std::uint32_t crc = 0;
  const auto count = [&](Bytes bytes) -> Status {
    crc = crc32_of(bytes, crc);
    return emit(bytes);
  };
  if (auto done = produce(count); !done) return done;
  if (at_ - start != size)
    return fail(Fault::Internal, "member '" + std::string(name) + "' was to have " + std::to_string(size) +
                                     " bytes and has " + std::to_string(at_ - start));
  entries_.back().entry.crc = crc;
  const int width = size > most_small ? 8 : 4;
  Record r;
  r.u32(0x08074B50).u32(crc).number(static_cast<std::uint64_t>(size), width);
  return emit(r.number(static_cast<std::uint64_t>(size), width).bytes());
}

Status ZipWriter::finish() {
  const Size start = at_;
  for (const auto& [e, described] : entries_) {
    const bool size64 = e.size > most_small, place64 = e.at > most_small;
    Record r;
    r.u32(0x02014B50).u16(45).u16(size64 || place64 ? 45 : 20);
    r.u16(utf8_names | (described ? sizes_follow : 0U)).u16(0).u16(0).u16(first_of_january_1980);
    r.u32(e.crc).u32(small(e.size)).u32(small(e.size));
    const int extra = (size64 ? 16 : 0) + (place64 ? 8 : 0);
    r.u16(e.name.size()).u16(static_cast<std::uint64_t>(extra > 0 ? extra + 4 : 0)).u16(0).u16(0).u16(0).u32(0);
    r.u32(small(e.at)).text(e.name);
    if (extra > 0) r.u16(1).u16(static_cast<std::uint64_t>(extra));
    if (size64) r.u64(static_cast<std::uint64_t>(e.size)).u64(static_cast<std::uint64_t>(e.size));
    if (place64) r.u64(static_cast<std::uint64_t>(e.at));
    if (auto done = emit(r.bytes()); !done) return pass(done);
  }
  const Size end = at_, length = end - start, count = static_cast<Size>(entries_.size());
  Record r;
  if (count >= 0xFFFF || start > most_small || length > most_small) {
    r.u32(0x06064B50).u64(44).u16(45).u16(45).u32(0).u32(0).u64(static_cast<std::uint64_t>(count));
    r.u64(static_cast<std::uint64_t>(count)).u64(static_cast<std::uint64_t>(length));
    r.u64(static_cast<std::uint64_t>(start)).u32(0x07064B50).u32(0).u64(static_cast<std::uint64_t>(end)).u32(1);
  }
  const auto short_count = static_cast<std::uint64_t>(count >= 0xFFFF ? 0xFFFF : count);
  r.u32(0x06054B50).u16(0).u16(0).u16(short_count).u16(short_count).u32(small(length)).u32(small(start)).u16(0);
  return emit(r.bytes());
}

}  // namespace convoy
