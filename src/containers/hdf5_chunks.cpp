#include "containers/hdf5_chunks.h"

#include "containers/inflate.h"

#include <algorithm>
#include <cstring>

namespace convoy::hdf5 {

namespace {

enum : unsigned { deflate_filter = 1, shuffle_filter = 2, fletcher_filter = 3 };

std::string filter_name(unsigned id) {
  switch (id) {
    case 4: return "szip";
    case 5: return "nbit";
    case 6: return "scaleoffset";
    case 32000: return "lzf";
    case 32001: return "blosc";
    case 32015: return "zstd";
    default: return "number " + std::to_string(id);
  }
}

// Big-endian words in blocks short enough for 32-bit sums, as the library does it.
std::uint32_t fletcher32(Bytes bytes) {
  std::uint32_t low = 0, high = 0;
  const auto fold = [](std::uint32_t x) { return (x & 0xFFFF) + (x >> 16); };
  std::size_t at = 0;
  while (at + 2 <= bytes.size()) {
    for (int i = 0; i < 360 && at + 2 <= bytes.size(); ++i, at += 2) {
      low += std::to_integer<std::uint32_t>(bytes[at]) << 8 | std::to_integer<std::uint32_t>(bytes[at + 1]);
      high += low;
    }
    low = fold(low), high = fold(high);
  }
  if (at < bytes.size()) {
    low += std::to_integer<std::uint32_t>(bytes[at]) << 8;
    high += low;
    low = fold(low), high = fold(high);
  }
  return fold(high) << 16 | fold(low);
}

// Bytes lie sorted by their place within the element; what does not fill an element stays at the end.
std::vector<std::byte> unshuffle(Bytes from, std::size_t width) {
  std::vector<std::byte> to(from.begin(), from.end());
  const std::size_t count = from.size() / width;
  for (std::size_t b = 0; b < width; ++b) {
    for (std::size_t i = 0; i < count; ++i) to[i * width + b] = from[b * count + i];
  }
  return to;
}

// Undoes the filters, last one first. `made` keeps what had to be produced.
Result<Bytes> unfilter(File& file, const Chunking& c, const Chunk& chunk, Bytes bytes, std::vector<std::byte>& made) {
  const Size most = c.bytes() + 4 * static_cast<Size>(c.filters.size());
  for (std::size_t i = c.filters.size(); i-- > 0;) {
    if ((chunk.unfiltered >> i & 1) != 0) continue;
    if (auto done = file.work(most / 32); !done) return pass(done);
    const Filter& filter = c.filters[i];
    const Size place = file.base + chunk.address;
    if (filter.id == fletcher_filter) {
      if (bytes.size() < 4) return wrong(place, "a chunk too short for its checksum");
      const Bytes body = bytes.first(bytes.size() - 4);
      if (fletcher32(body) != ByteReader(bytes.last(4)).u32()) {
        return wrong(place, "a chunk does not have the checksum it declares");
      }
      bytes = body;
    } else if (filter.id == shuffle_filter) {
      const std::size_t width = filter.values.empty() ? static_cast<std::size_t>(c.element) : filter.values[0];
      if (width == 0 || width > bytes.size() || static_cast<Size>(bytes.size()) > most) {
        return wrong(place, "a chunk shuffled by " + std::to_string(width) + " bytes");
      }
      if (width == 1) continue;
      made = unshuffle(bytes, width);
      bytes = made;
    } else {
      auto inflated = within("a chunk at byte " + std::to_string(place), inflate(bytes, Wrapping::Zlib, most));
      if (!inflated) return pass(inflated);
      made = *std::move(inflated);
      bytes = made;
    }
  }
  return bytes;
}

// Copies a chunk to its place, without the part that hangs over the edge of the dataset.
void copy_chunk(const Chunking& c, const Chunk& chunk, Bytes from, std::vector<std::byte>& to) {
  const std::size_t rank = c.shape.size();
  Sizes extent(rank), index(rank, 0);
  for (std::size_t i = 0; i < rank; ++i) extent[i] = std::min(c.dims[i], c.shape[i] - chunk.at[i]);
  const std::size_t run = static_cast<std::size_t>((rank == 0 ? 1 : extent[rank - 1]) * c.element);
  for (;;) {
    Size source = 0, target = 0;
    for (std::size_t i = 0; i < rank; ++i) {
      source = source * c.dims[i] + index[i];
      target = target * c.shape[i] + chunk.at[i] + index[i];
    }
    std::memcpy(to.data() + target * c.element, from.data() + source * c.element, run);
    if (rank < 2) return;
    std::size_t axis = rank - 1;
    while (axis > 0 && ++index[axis - 1] == extent[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

// Every chunk of the grid once, in reach of the file. Nothing is allocated before this holds.
Status check_chunks(File& file, const Chunking& c, const std::vector<Chunk>& chunks) {
  const Sizes grid = c.grid();
  const auto count = checked_count(grid);
  if (!count || *count != static_cast<Size>(chunks.size())) {
    return fail(Fault::Format, std::to_string(chunks.size()) + " chunks are stored, the shape has " +
                                   (count ? std::to_string(*count) : std::string("uncountably many")));
  }
  std::vector<bool> seen(chunks.size());
  Size stored = 0;
  for (const Chunk& chunk : chunks) {
    Size n = 0;
    for (std::size_t i = 0; i < grid.size(); ++i) {
      if (chunk.at[i] >= c.shape[i] || chunk.at[i] % c.dims[i] != 0) {
        return wrong(file.base, "a chunk begins at " + std::to_string(chunk.at[i]) + " of axis " + std::to_string(i) +
                                    ", which has " + std::to_string(c.shape[i]));
      }
      n = n * grid[i] + chunk.at[i] / c.dims[i];
    }
    if (seen[static_cast<std::size_t>(n)]) return wrong(file.base, "a chunk is stored twice");
    seen[static_cast<std::size_t>(n)] = true;
    const auto bytes = file.slice(chunk.address, chunk.size, "a chunk");
    if (!bytes) return std::unexpected(bytes.error());
    stored += std::min(chunk.size, Size{1} << 40);
  }
  const bool deflated =
      std::any_of(c.filters.begin(), c.filters.end(), [](const Filter& f) { return f.id == deflate_filter; });
  const Size all = *count * c.bytes();
  if (deflated ? all / 1100 > stored : all > stored) {
    return fail(Fault::Limit, std::to_string(all) + " bytes of chunks claimed out of " + std::to_string(stored));
  }
  return {};
}

}  // namespace

Result<std::vector<Filter>> read_filters(ByteReader r) {
  const Size place = r.place();
  const unsigned version = r.u8(), count = r.u8();
  if (version == 1) r.skip(6);
  if (!r.ok()) return r.failure("a filter message");
  if (version != 1 && version != 2) {
    return wrong(place, "filters of version " + std::to_string(version), Fault::Unsupported);
  }
  if (count > 32) return wrong(place, std::to_string(count) + " filters, the limit is 32", Fault::Limit);
  std::vector<Filter> filters;
  for (unsigned i = 0; i < count; ++i) {
    Filter filter;
    filter.id = r.u16();
    const Size name = version == 1 || filter.id >= 256 ? r.u16() : 0;
    r.skip(2);
    const unsigned values = r.u16();
    r.skip(version == 1 ? (name + 7) / 8 * 8 : name);
    for (unsigned v = 0; v < values && r.ok(); ++v) filter.values.push_back(r.u32());
    if (version == 1 && values % 2 == 1) r.skip(4);
    if (!r.ok()) return r.failure("a filter message");
    if (filter.id < deflate_filter || filter.id > fletcher_filter) {
      return wrong(place, "filter " + filter_name(filter.id) + "; deflate, shuffle and fletcher32 are read",
                   Fault::Unsupported);
    }
    filters.push_back(std::move(filter));
  }
  return filters;
}

Result<std::vector<std::byte>> assemble(File& file, const Chunking& c, const std::vector<Chunk>& chunks) {
  const auto count = checked_count(c.shape);
  const auto bytes = count ? checked_multiply(*count, c.element) : std::nullopt;
  if (!bytes) return fail(Fault::Limit, "more bytes than can be counted");
  if (*bytes == 0) return std::vector<std::byte>();
  if (auto good = check_chunks(file, c, chunks); !good) return pass(good);
  if (auto room = file.memory(*bytes); !room) return pass(room);
  if (c.bytes() > file.memory_left / 3) return fail(Fault::Limit, "a chunk of " + std::to_string(c.bytes()) + " bytes");
  std::vector<std::byte> all(static_cast<std::size_t>(*bytes));
  std::vector<std::byte> made;
  for (const Chunk& chunk : chunks) {
    const auto stored = file.slice(chunk.address, chunk.size, "a chunk");
    if (!stored) return std::unexpected(stored.error());
    const auto plain = unfilter(file, c, chunk, *stored, made);
    if (!plain) return std::unexpected(plain.error());
    if (static_cast<Size>(plain->size()) != c.bytes()) {
      return wrong(file.base + chunk.address,
                   "a chunk of " + std::to_string(plain->size()) + " bytes, expected " + std::to_string(c.bytes()));
    }
    if (auto done = file.work(c.bytes() / 64); !done) return pass(done);
    copy_chunk(c, chunk, *plain, all);
  }
  return all;
}

}  // namespace convoy::hdf5
