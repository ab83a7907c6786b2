#include "containers/hdf5_file.h"

#include <algorithm>
#include <array>

namespace convoy::hdf5 {

namespace {

constexpr std::string_view signature = "\x89HDF\r\n\x1a\n";

std::optional<Size> find_signature(Bytes bytes) {
  const auto size = static_cast<Size>(bytes.size());
  for (Size at = 0; at + 8 <= size; at = at == 0 ? 512 : at * 2) {
    if (text_of(bytes).substr(static_cast<std::size_t>(at), 8) == signature) return at;
    if (at > (Size{1} << 40)) break;
  }
  return std::nullopt;
}

// Bob Jenkins' lookup3 (public domain), read as little-endian words: the format's metadata checksum.
std::uint32_t lookup3(Bytes bytes) {
  const auto rotate = [](std::uint32_t x, int k) { return (x << k) | (x >> (32 - k)); };
  std::uint32_t a = 0xDEADBEEF + static_cast<std::uint32_t>(bytes.size()), b = a, c = a;
  const auto word = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4 && at + i < bytes.size(); ++i) {
      value |= std::to_integer<std::uint32_t>(bytes[at + i]) << (8 * i);
    }
    return value;
  };
  std::size_t at = 0;
  for (; bytes.size() - at > 12; at += 12) {
    a += word(at), b += word(at + 4), c += word(at + 8);
    a -= c, a ^= rotate(c, 4), c += b;
    b -= a, b ^= rotate(a, 6), a += c;
    c -= b, c ^= rotate(b, 8), b += a;
    a -= c, a ^= rotate(c, 16), c += b;
    b -= a, b ^= rotate(a, 19), a += c;
    c -= b, c ^= rotate(b, 4), b += a;
  }
  if (at == bytes.size()) return c;
  a += word(at), b += word(at + 4), c += word(at + 8);
  c ^= b, c -= rotate(b, 14);
  a ^= c, a -= rotate(c, 11);
  b ^= a, b -= rotate(a, 25);
  c ^= b, c -= rotate(b, 16);
  a ^= c, a -= rotate(c, 4);
  b ^= a, b -= rotate(a, 14);
  c ^= b, c -= rotate(b, 24);
  return c;
}

Status check_widths(const File& file) {
  for (const Size width : {file.offset_width, file.length_width}) {
    if (width != 2 && width != 4 && width != 8) {
      return wrong(file.base, "addresses of " + std::to_string(file.offset_width) + " and lengths of " +
                                  std::to_string(file.length_width) + " bytes, expected 2, 4 or 8");
    }
  }
  return {};
}

Status read_old_superblock(File& file, ByteReader& r, unsigned version, Size& end) {
  r.skip(4);  // versions of free space, root table, a reserved byte, shared messages
  file.offset_width = r.u8();
  file.length_width = r.u8();
  if (auto good = check_widths(file); !good) return pass(good);
  r.skip(1 + 2 + 2 + 4 + (version == 1 ? 4 : 0));
  const Size base = file.address(r);
  r.skip(file.offset_width);  // free space
  end = file.address(r);
  r.skip(file.offset_width);  // driver information
  r.skip(file.offset_width);  // the root's name
  file.root = file.address(r);
  if (end != nowhere && base <= end) end -= base;
  return {};
}

Status read_new_superblock(File& file, ByteReader& r, Size& end) {
  file.offset_width = r.u8();
  file.length_width = r.u8();
  if (auto good = check_widths(file); !good) return pass(good);
  r.skip(1);
  const Size base = file.address(r);
  r.skip(file.offset_width);  // extension
  end = file.address(r);
  file.root = file.address(r);
  if (end != nowhere && base <= end) end -= base;
  if (!r.ok()) return r.failure("the superblock");
  return file.checksum(0, r.at() + 4, "the superblock");
}

}  // namespace

std::unexpected<Error> wrong(Size place, std::string what, Fault fault) {
  return fail(fault, "at byte " + std::to_string(place) + ": " + std::move(what));
}

Status File::work(Size steps) {
  if (steps > work_left) {
    work_left = 0;
    return fail(Fault::Limit, "takes more steps to read than its " + std::to_string(bytes.size()) + " bytes allow");
  }
  work_left -= steps;
  return {};
}

Status File::memory(Size count) {
  if (count > memory_left) {
    return fail(Fault::Limit, std::to_string(count) + " bytes of memory asked for, " + std::to_string(memory_left) +
                                  " are left of 4 times the file and 96 MiB");
  }
  memory_left -= count;
  return {};
}

Result<ByteReader> File::at(Size address, std::string_view what) {
  if (auto done = work(1); !done) return pass(done);
  const auto size = static_cast<Size>(bytes.size());
  if (address >= size) {
    return fail(Fault::Truncated,
                "ends at byte " + std::to_string(base + size) + ", " + std::string(what) +
                    (address == nowhere ? " has no address" : " lies at byte " + std::to_string(address) + " of it"));
  }
  return ByteReader(bytes.subspan(static_cast<std::size_t>(address)), base + address);
}

Result<Bytes> File::slice(Size address, Size size, std::string_view what) {
  auto r = at(address, what);
  if (!r) return pass(r);
  const Bytes part = r->take(size);
  if (!r->ok()) return r->failure(what);
  return part;
}

Result<ByteReader> File::reader(Size address, Size size, std::string_view what) {
  const auto part = slice(address, size, what);
  if (!part) return std::unexpected(part.error());
  return ByteReader(*part, base + address);
}

Result<ByteReader> File::block(Size address, std::string_view mark, unsigned version) {
  auto r = at(address, "'" + std::string(mark) + "'");
  if (!r) return r;
  const auto found = text_of(r->take(4));
  const auto number = r->u8();
  if (!r->ok()) return r->failure("'" + std::string(mark) + "'");
  if (found != mark) return wrong(base + address, "no '" + std::string(mark) + "' where one is declared");
  if (number != version) {
    return wrong(
        base + address,
        "'" + std::string(mark) + "' of version " + std::to_string(number) + ", expected " + std::to_string(version),
        Fault::Unsupported);
  }
  return r;
}

Status File::checksum(Size address, Size size, std::string_view what) {
  const auto part = slice(address, size, what);
  if (!part) return std::unexpected(part.error());
  if (auto done = work(size / 32); !done) return done;
  const auto body = part->first(part->size() - std::min<std::size_t>(part->size(), 4));
  if (part->size() < 4 || lookup3(body) != ByteReader(part->last(4)).u32()) {
    return wrong(base + address, std::string(what) + " does not have the checksum it declares");
  }
  return {};
}

bool begins(Bytes bytes) { return find_signature(bytes).has_value(); }

Result<std::shared_ptr<File>> open_superblock(Blob blob) {
  const auto size = static_cast<Size>(blob.bytes.size());
  const auto at = find_signature(blob.bytes);
  if (!at) {
    const bool cut = text_of(blob.bytes) == signature.substr(0, std::min<std::size_t>(8, blob.bytes.size()));
    return fail(cut ? Fault::Truncated : Fault::Format, "no HDF5 signature in " + std::to_string(size) + " bytes");
  }
  auto file = std::make_shared<File>();
  file->blob = std::move(blob);
  file->base = *at;
  file->bytes = file->blob.bytes.subspan(static_cast<std::size_t>(*at));
  file->work_left = 4'000'000 + size;
  file->memory_left = checked_multiply(size, 4).value_or(0) + (Size{96} << 20);
  ByteReader r(file->bytes, *at);
  r.skip(8);
  const unsigned version = r.u8();
  Size end = nowhere;
  Status read;
  if (!r.ok()) return r.failure("the superblock");
  if (version <= 1) read = read_old_superblock(*file, r, version, end);
  else if (version <= 3) read = read_new_superblock(*file, r, end);
  else return wrong(*at, "superblock of version " + std::to_string(version) + "; 0 to 3 are read", Fault::Unsupported);
  if (!r.ok()) return r.failure("the superblock");
  if (!read) return pass(read);
  if (end > static_cast<Size>(file->bytes.size())) {
    return fail(Fault::Truncated,
                "ends at byte " + std::to_string(size) + ", the superblock says " +
                    (end == nowhere ? std::string("it has no end") : "byte " + std::to_string(*at + end)));
  }
  file->bytes = file->bytes.first(static_cast<std::size_t>(end));
  return file;
}

}  // namespace convoy::hdf5
