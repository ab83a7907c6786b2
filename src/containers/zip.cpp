#include "containers/zip.h"

#include "base/crc32.h"
#include "base/mapped_file.h"
#include "containers/inflate.h"

#include <algorithm>
#include <new>
#include <optional>

namespace convoy {

namespace {

constexpr std::uint32_t local_mark = 0x04034B50, central_mark = 0x02014B50, end_mark = 0x06054B50;
constexpr std::uint32_t end64_mark = 0x06064B50, locator_mark = 0x07064B50, descriptor_mark = 0x08074B50;
constexpr Size entry_limit = 1'000'000;
constexpr Size inflated_base = Size{64} << 20;
constexpr std::uint64_t in_extra = 0xFFFFFFFF;

Bytes part(Bytes bytes, Size at, Size count) {
  return bytes.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count));
}
Bytes from(Bytes bytes, Size at) { return bytes.subspan(static_cast<std::size_t>(at)); }

std::unexpected<Error> at_byte(Size at, std::string what, Fault fault = Fault::Format) {
  return fail(fault, "at byte " + std::to_string(at) + ": " + std::move(what));
}

struct Directory {
  std::uint64_t entries = 0, at = 0, size = 0;
  Size ends = 0;  // where the records after it begin
};

// The end record: the last 22 bytes, or further in front by exactly its comment.
Result<Size> find_end(Bytes bytes) {
  const Size size = static_cast<Size>(bytes.size());
  if (size < 22) return fail(Fault::Truncated, "ends at byte " + std::to_string(size) + ", a zip archive needs 22");
  std::optional<Size> found;
  for (Size at = size - 22; at >= 0 && at >= size - 22 - 0xFFFF; --at) {
    if (bytes[static_cast<std::size_t>(at)] != std::byte{'P'}) continue;
    ByteReader r(from(bytes, at), at);
    if (r.u32() != end_mark) continue;
    r.skip(16);
    if (at + 22 + r.u16() != size) continue;
    if (found) return at_byte(at, "a second end record: two readers could see two archives");
    found = at;
  }
  if (!found) {
    return fail(Fault::Truncated, "no end record in the last 65557 of " + std::to_string(size) +
                                      " bytes: the zip archive is cut off or something follows it");
  }
  return *found;
}

Result<Directory> find_directory(Bytes bytes) {
  const auto end = find_end(bytes);
  if (!end) return std::unexpected(end.error());
  ByteReader r(from(bytes, *end), *end);
  r.skip(4);
  const auto disk = r.u16(), directory_disk = r.u16(), entries_here = r.u16(), entries = r.u16();
  Directory d{.entries = entries, .at = 0, .size = r.u32(), .ends = *end};
  d.at = r.u32();
  const bool locator = *end >= 20 && ByteReader(from(bytes, *end - 20)).u32() == locator_mark;
  if (locator) {
    ByteReader l(part(bytes, *end - 16, 16), *end - 16);
    const auto end64_disk = l.u32();
    const auto at64 = l.u64();
    const auto disks = l.u32();
    if (end64_disk != 0 || disks > 1) return at_byte(*end - 20, "several disks", Fault::Unsupported);
    if (at64 > static_cast<std::uint64_t>(*end - 20)) return at_byte(*end - 20, "Zip64 end record lies outside");
    const Size at = static_cast<Size>(at64);
    ByteReader e(from(bytes, at), at);
    if (e.u32() != end64_mark) return at_byte(at, "no Zip64 end record where one is declared");
    const auto length = e.u64();
    if (at + 12 + static_cast<Size>(std::min<std::uint64_t>(length, 1U << 20)) != *end - 20) {
      return at_byte(at, "the Zip64 end record does not reach its locator");
    }
    e.skip(4);
    const auto disk64 = e.u32(), directory_disk64 = e.u32();
    const auto here64 = e.u64(), entries64 = e.u64(), size64 = e.u64(), place64 = e.u64();
    if (!e.ok()) return e.failure("the Zip64 end record");
    if (disk64 != 0 || directory_disk64 != 0 || here64 != entries64) {
      return at_byte(at, "several disks", Fault::Unsupported);
    }
    const auto agree = [](std::uint64_t small, std::uint64_t large, std::uint64_t mark) {
      return small == large || small == mark;
    };
    if (!agree(entries, entries64, 0xFFFF) || !agree(d.size, size64, in_extra) || !agree(d.at, place64, in_extra)) {
      return at_byte(at, "the two end records disagree");
    }
    d = {.entries = entries64, .at = place64, .size = size64, .ends = at};
  } else if (disk != 0 || directory_disk != 0 || entries_here != entries) {
    return at_byte(*end, "several disks", Fault::Unsupported);
  }
  const auto ends = static_cast<std::uint64_t>(d.ends);
  if (d.at > ends || d.size != ends - d.at) {
    return at_byte(d.ends, "the central directory (" + std::to_string(d.size) + " bytes at " + std::to_string(d.at) +
                               ") does not end where the end record begins");
  }
  if (d.entries > static_cast<std::uint64_t>(entry_limit)) {
    return at_byte(d.ends, std::to_string(d.entries) + " entries, the limit is 1000000", Fault::Limit);
  }
  if (d.entries > d.size / 46) return at_byte(d.ends, "more entries declared than the directory has room for");
  return d;
}

// Sizes and place of one member as a header gives them, large ones in the Zip64 extra field.
struct Span {
  std::uint64_t size = 0, stored = 0, at = 0;
};

Status read_zip64(Bytes extra, Size place, Span& span, bool has_place) {
  ByteReader r(extra, place);
  while (r.left() >= 4) {
    const auto id = r.u16();
    const auto length = r.u16();
    const Size origin = r.place();
    const Bytes field = r.take(length);
    if (!r.ok()) break;
    if (id != 1) continue;
    ByteReader f(field, origin);
    if (span.size == in_extra) span.size = f.u64();
    if (span.stored == in_extra) span.stored = f.u64();
    if (has_place && span.at == in_extra) span.at = f.u64();
    if (!f.ok()) return f.failure("the Zip64 field");
  }
  // Some writers pad with up to three zero bytes; more than that is not padding.
  if (!r.ok()) return at_byte(place, "an extra field is longer than its header says");
  return {};
}

Status check_entry_name(std::string_view name) {
  const auto refuse = [&](std::string_view why) {
    return fail(Fault::UnsafePath, "member '" + std::string(name.substr(0, 200)) + "' " + std::string(why));
  };
  if (name.empty()) return refuse("has no name");
  if (name.find('\0') != std::string_view::npos) return refuse("has a zero byte in its name");
  if (name.find('\\') != std::string_view::npos) return refuse("has a backslash in its name");
  if (name.front() == '/') return refuse("has an absolute name");
  if (name.size() >= 2 && name[1] == ':') return refuse("names a drive");
  for (std::size_t at = 0; at <= name.size();) {
    const auto next = std::min(name.find('/', at), name.size());
    const auto step = name.substr(at, next - at);
    if (step == "..") return refuse("leaves its directory");
    if (step == "." || (step.empty() && next != name.size())) return refuse("has an empty step in its name");
    at = next + 1;
  }
  return {};
}

struct Central {
  ZipEntry entry;
  std::uint16_t flags = 0;
  bool directory = false;
};

Result<Central> read_central(ByteReader& r) {
  const Size start = r.place();
  if (r.u32() != central_mark) return at_byte(start, "no entry of the central directory");
  const auto made_by = r.u16();
  r.skip(2);
  Central c;
  c.flags = r.u16();
  const auto method = r.u16();
  r.skip(4);
  c.entry.crc = r.u32();
  Span span;
  span.stored = r.u32();
  span.size = r.u32();
  const auto name_length = r.u16(), extra_length = r.u16(), comment_length = r.u16(), disk = r.u16();
  r.skip(2);
  const auto attributes = r.u32();
  span.at = r.u32();
  c.entry.name = std::string(text_of(r.take(name_length)));
  const Size extra_place = r.place();
  const Bytes extra = r.take(extra_length);
  r.skip(comment_length);
  if (!r.ok()) return r.failure("the central directory");
  if (auto good = check_entry_name(c.entry.name); !good) return pass(good);
  const auto wrong = [&](std::string what, Fault fault = Fault::Format) {
    return at_byte(start, "member '" + c.entry.name + "' " + std::move(what), fault);
  };
  if (auto good = read_zip64(extra, extra_place, span, true); !good) return pass(good);
  if (disk != 0) return wrong("lies on another disk", Fault::Unsupported);
  if ((c.flags & 0x2041) != 0) return wrong("is encrypted", Fault::Unsupported);
  if ((c.flags & 0x0020) != 0) return wrong("is a patch", Fault::Unsupported);
  if (method != 0 && method != 8) {
    return wrong("uses compression method " + std::to_string(method) + "; stored and deflate are read",
                 Fault::Unsupported);
  }
  if (made_by >> 8 == 3 && ((attributes >> 16) & 0xF000) == 0xA000) {
    return wrong("is a symbolic link", Fault::UnsafePath);
  }
  constexpr std::uint64_t most = std::uint64_t{1} << 62;
  if (span.at > most || span.stored > most || span.size > most) return wrong("lies outside the archive");
  c.entry.deflated = method == 8;
  c.entry.stored = static_cast<Size>(span.stored);
  c.entry.size = static_cast<Size>(span.size);
  c.entry.at = static_cast<Size>(span.at);
  if (!c.entry.deflated && span.stored != span.size) return wrong("is stored but has two sizes");
  if (c.entry.deflated && c.entry.size / 1032 > c.entry.stored) {
    return wrong("claims " + std::to_string(c.entry.size) + " bytes out of " + std::to_string(c.entry.stored) +
                     ", more than deflate can hold",
                 Fault::Limit);
  }
  c.directory = c.entry.name.back() == '/';
  if (c.directory && c.entry.size != 0) return wrong("is a directory with content");
  return c;
}

// Moves entry.at from the local header to the content; gives the place behind the member, with its descriptor.
Result<Size> check_local(Bytes bytes, Size limit, Central& c) {
  ZipEntry& e = c.entry;
  const Size start = e.at;
  const auto wrong = [&](std::string what) { return at_byte(start, "member '" + e.name + "' " + std::move(what)); };
  if (start > limit) return wrong("begins behind the central directory");
  ByteReader r(part(bytes, start, limit - start), start);
  if (r.u32() != local_mark) return wrong("has no local header");
  r.skip(2);
  const auto flags = r.u16(), method = r.u16();
  r.skip(4);
  const auto crc = r.u32();
  Span span;
  span.stored = r.u32();
  span.size = r.u32();
  const auto name_length = r.u16(), extra_length = r.u16();
  const auto name = text_of(r.take(name_length));
  const Size extra_place = r.place();
  const Bytes extra = r.take(extra_length);
  if (!r.ok()) return r.failure("the local header of '" + e.name + "'");
  if (name != e.name) return wrong("is named '" + std::string(name.substr(0, 200)) + "' in its local header");
  if ((flags & 0x0009) != (c.flags & 0x0009) || (method == 8) != e.deflated || (method != 0 && method != 8)) {
    return wrong("has another method or other flags in its local header");
  }
  const bool zip64 = span.size == in_extra || span.stored == in_extra;
  if (auto good = read_zip64(extra, extra_place, span, false); !good) return pass(good);
  const bool later = (flags & 8) != 0;  // sizes follow the content; zero here, or already right
  const auto agrees = [&](std::uint64_t here, std::uint64_t there) { return here == there || (later && here == 0); };
  if (!agrees(span.size, static_cast<std::uint64_t>(e.size)) ||
      !agrees(span.stored, static_cast<std::uint64_t>(e.stored)) || !agrees(crc, e.crc)) {
    return wrong("has other sizes or another CRC in its local header");
  }
  e.at = r.place();
  if (e.stored > limit - e.at) return wrong("reaches past the central directory");
  const Size ends = e.at + e.stored;
  if (!later) return ends;
  // The descriptor: with or without its mark, sizes of 4 or of 8 bytes.
  for (const Size width : {zip64 ? 8 : 4, zip64 ? 4 : 8}) {
    ByteReader d(part(bytes, ends, limit - ends), ends);
    if (ByteReader(part(bytes, ends, limit - ends)).u32() == descriptor_mark) d.skip(4);
    const auto after = d.u32();
    const auto stored = d.number(width), size = d.number(width);
    if (d.ok() && after == e.crc && stored == static_cast<std::uint64_t>(e.stored) &&
        size == static_cast<std::uint64_t>(e.size)) {
      return d.place();
    }
  }
  return wrong("has no data descriptor behind its content");
}

// Every byte in front of the central directory belongs to exactly one member. A writer that aligns leaves
// zero bytes between members; anything else there is hidden data.
Status check_cover(Bytes bytes, std::vector<std::pair<Size, Size>> spans, Size limit) {
  std::sort(spans.begin(), spans.end());
  spans.emplace_back(limit, limit);
  Size at = 0;
  for (const auto& [begin, end] : spans) {
    if (begin < at) return at_byte(begin, "two members overlap");
    const Bytes gap = part(bytes, at, begin - at);
    if (std::any_of(gap.begin(), gap.end(), [](std::byte b) { return b != std::byte{0}; })) {
      return at_byte(at, std::to_string(begin - at) + " bytes that belong to no member");
    }
    at = end;
  }
  return {};
}

Result<Blob> inflate_entry(const ZipEntry& e, Bytes stored) {
  auto inflated = inflate(stored, Wrapping::Raw, e.size);
  if (!inflated) return pass(inflated);
  if (static_cast<Size>(inflated->size()) != e.size) {
    return fail(Fault::Format,
                "inflates to " + std::to_string(inflated->size()) + " bytes, expected " + std::to_string(e.size));
  }
  auto content = std::make_shared<const std::vector<std::byte>>(*std::move(inflated));
  return Blob{*content, content};
}

}  // namespace

bool ZipArchive::begins(Bytes bytes) {
  const auto mark = ByteReader(bytes).u32();
  return mark == local_mark || mark == end_mark;
}

Result<ZipArchive> ZipArchive::open(Blob archive) {
  try {
    const Bytes bytes = archive.bytes;
    const auto directory = find_directory(bytes);
    if (!directory) return std::unexpected(directory.error());
    const Size limit = static_cast<Size>(directory->at);
    ByteReader r(part(bytes, limit, static_cast<Size>(directory->size)), limit);
    ZipArchive zip;
    std::vector<std::pair<Size, Size>> spans;
    std::vector<std::string> directories;
    Size room = checked_multiply(static_cast<Size>(bytes.size()), 4).value_or(0) + inflated_base;
    for (std::uint64_t i = 0; i < directory->entries; ++i) {
      auto central = read_central(r);
      if (!central) return pass(central);
      const Size begin = central->entry.at;
      const auto end = check_local(bytes, limit, *central);
      if (!end) return std::unexpected(end.error());
      spans.emplace_back(begin, *end);
      if (central->entry.deflated && (room -= std::min(room + 1, central->entry.size)) < 0) {
        return at_byte(
            begin,
            "the deflated members up to '" + central->entry.name + "' claim more than 4 times the archive and 64 MiB",
            Fault::Limit);
      }
      if (central->directory) {
        directories.push_back(std::move(central->entry.name));
        continue;
      }
      if (!zip.index_.emplace(central->entry.name, zip.entries_.size()).second) {
        return fail(Fault::Format, "member '" + central->entry.name + "' occurs twice");
      }
      zip.entries_.push_back(std::move(central->entry));
    }
    if (r.left() != 0) return at_byte(r.place(), "more entries in the central directory than declared");
    std::sort(directories.begin(), directories.end());
    if (const auto twice = std::adjacent_find(directories.begin(), directories.end()); twice != directories.end()) {
      return fail(Fault::Format, "directory '" + *twice + "' occurs twice");
    }
    if (auto covered = check_cover(bytes, std::move(spans), limit); !covered) return pass(covered);
    zip.archive_ = std::move(archive);
    return zip;
  } catch (const std::bad_alloc&) {
    return fail(Fault::Limit, "not enough memory for the directory of the zip archive");
  }
}

const ZipEntry* ZipArchive::find(std::string_view name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : &entries_[it->second];
}

Result<Blob> ZipArchive::read(std::string_view name) const {
  const ZipEntry* e = find(name);
  if (e == nullptr) return fail(Fault::Format, "has no member '" + std::string(name) + "'");
  const Bytes stored = part(archive_.bytes, e->at, e->stored);
  Result<Blob> content = Blob{stored, archive_.keeper};
  if (e->deflated) {
    try {
      content = inflate_entry(*e, stored);
    } catch (const std::bad_alloc&) {
      content = fail(Fault::Limit, "not enough memory for " + std::to_string(e->size) + " bytes");
    }
  }
  if (content && crc32_of(content->bytes) != e->crc) content = fail(Fault::Format, "does not have the CRC it declares");
  if (content) give_back_pages(content->bytes);
  return within("member '" + e->name + "' at byte " + std::to_string(e->at), std::move(content));
}

}  // namespace convoy
