// Where the chunks of a dataset lie: one reader per kind of index.
#include "containers/hdf5_chunks.h"
#include "containers/hdf5_dense.h"

#include <algorithm>

namespace convoy::hdf5 {

namespace {

Status walk_tree(File& file, const Chunking& c, Size node, std::optional<unsigned> level, std::vector<Chunk>& chunks) {
  auto r = file.at(node, "a B-tree of chunks");
  if (!r) return pass(r);
  if (text_of(r->take(4)) != "TREE") return wrong(file.base + node, "no 'TREE' where one is declared");
  const unsigned type = r->u8(), here = r->u8(), used = r->u16();
  r->skip(2 * file.offset_width);
  if (type != 1 || here > depth_limit || (level && *level != here)) {
    return wrong(file.base + node, "a B-tree node of type " + std::to_string(type) + " and level " +
                                       std::to_string(here) + ", expected one of chunks" +
                                       (level ? " of level " + std::to_string(*level) : std::string()));
  }
  for (unsigned i = 0; i < used; ++i) {
    if (auto done = file.work(1 + static_cast<Size>(c.shape.size())); !done) return done;
    Chunk chunk;
    chunk.size = r->u32();
    chunk.unfiltered = r->u32();
    for (std::size_t axis = 0; axis < c.shape.size(); ++axis) {
      chunk.at.push_back(static_cast<Size>(std::min(r->u64(), static_cast<std::uint64_t>(nowhere))));
    }
    r->skip(8);
    chunk.address = file.address(*r);
    if (!r->ok()) return r->failure("a B-tree of chunks");
    if (here > 0) {
      if (auto done = walk_tree(file, c, chunk.address, here - 1, chunks); !done) return done;
      continue;
    }
    chunks.push_back(std::move(chunk));
  }
  return {};
}

// The place of chunk number n, counted row-major over the grid.
Sizes place_of(const Chunking& c, Size n) {
  const Sizes grid = c.grid();
  Sizes at(grid.size());
  for (std::size_t axis = grid.size(); axis-- > 0;) {
    at[axis] = n % grid[axis] * c.dims[axis];
    n /= grid[axis];
  }
  return at;
}

Result<std::vector<Chunk>> implicit(File& file, const Chunking& c, Size address) {
  const auto count = checked_count(c.grid());
  const auto bytes = count ? checked_multiply(*count, c.bytes()) : std::nullopt;
  const auto all = file.slice(address, bytes.value_or(nowhere), "the chunks of a dataset");
  if (!all) return std::unexpected(all.error());
  if (auto done = file.work(*count); !done) return pass(done);
  std::vector<Chunk> chunks;
  for (Size i = 0; i < *count; ++i) chunks.push_back({address + i * c.bytes(), c.bytes(), 0, place_of(c, i)});
  return chunks;
}

Status read_element(File& file, const Chunking& c, ByteReader& r, Size width, bool filtered, Size n,
                    std::vector<Chunk>& chunks) {
  if (auto done = file.work(1); !done) return done;
  Chunk chunk;
  chunk.address = file.address(r);
  chunk.size = c.bytes();
  if (filtered) {
    chunk.size =
        static_cast<Size>(std::min(r.number(width - file.offset_width - 4), static_cast<std::uint64_t>(nowhere)));
    chunk.unfiltered = r.u32();
  }
  if (!r.ok()) return r.failure("a fixed array");
  chunk.at = place_of(c, n);
  chunks.push_back(std::move(chunk));
  return {};
}

Result<std::vector<Chunk>> fixed_array(File& file, const Chunking& c, Size address) {
  auto r = file.block(address, "FAHD", 0);
  if (!r) return pass(r);
  const unsigned client = r->u8();
  const Size width = r->u8();
  const unsigned page_bits = r->u8();
  const Size entries = file.length(*r);
  const Size data = file.address(*r);
  if (!r->ok()) return r->failure("a fixed array");
  if (auto good = file.checksum(address, r->at() + 4, "a fixed array"); !good) return pass(good);
  const bool filtered = client == 1;
  const auto count = checked_count(c.grid());
  const bool fits =
      filtered ? width > file.offset_width + 4 && width <= file.offset_width + 12 : width == file.offset_width;
  if (client > 1 || !fits || !count || entries != *count || page_bits > 40) {
    return wrong(file.base + address,
                 "a fixed array of " + std::to_string(entries) + " chunks that does not fit its dataset");
  }
  auto block = file.block(data, "FADB", 0);
  if (!block) return pass(block);
  block->skip(1 + file.offset_width);
  const Size per_page = Size{1} << page_bits;
  std::vector<Chunk> chunks;
  Size page_head = block->at();
  const bool paged = entries > per_page;
  if (paged) page_head += ((entries + per_page - 1) / per_page + 7) / 8 + 4;
  for (Size n = 0; n < entries;) {
    const Size here = std::min(per_page, entries - n);
    const auto bytes = checked_multiply(here, width);
    const auto start = checked_add(data, page_head);
    const Size covered = bytes.value_or(nowhere / 2) + 4 + (paged ? 0 : page_head);
    if (auto good = file.checksum(paged ? *start : data, covered, "a fixed array"); !good) return pass(good);
    auto page = file.reader(*start, *bytes, "a fixed array");
    if (!page) return pass(page);
    for (Size i = 0; i < here; ++i, ++n) {
      if (auto done = read_element(file, c, *page, width, filtered, n, chunks); !done) return pass(done);
    }
    page_head += *bytes + 4;
  }
  return chunks;
}

Result<std::vector<Chunk>> new_tree(File& file, const Chunking& c, Size address) {
  const bool filtered = !c.filters.empty();
  std::vector<Chunk> chunks;
  auto walked = for_each_record(file, address, filtered ? 11 : 10, [&](ByteReader r) -> Status {
    Chunk chunk;
    chunk.address = file.address(r);
    chunk.size = c.bytes();
    const Size scaled = 8 * static_cast<Size>(c.dims.size());
    if (filtered) {
      const Size width = r.left() - 4 - scaled;
      if (width < 1 || width > 8) return wrong(r.place(), "a record of a chunk with no room for its size");
      chunk.size = static_cast<Size>(std::min(r.number(width), static_cast<std::uint64_t>(nowhere)));
      chunk.unfiltered = r.u32();
    }
    for (const Size dim : c.dims) {
      const auto n = static_cast<Size>(std::min(r.u64(), static_cast<std::uint64_t>(nowhere)));
      chunk.at.push_back(checked_multiply(n, dim).value_or(nowhere));
    }
    if (!r.ok()) return r.failure("a record of a chunk");
    chunks.push_back(std::move(chunk));
    return {};
  });
  if (!walked) return pass(walked);
  return chunks;
}

// The dimensions of a chunk; the last one is the size of an element.
Status read_dims(Chunking& c, ByteReader& r, unsigned rank, Size width) {
  const Size place = r.place();
  if (rank != c.shape.size() + 1 || rank > rank_limit + 1 || width < 1 || width > 8) {
    return wrong(place, "chunks of rank " + std::to_string(rank) + " - 1 in a dataset of rank " +
                            std::to_string(c.shape.size()));
  }
  for (unsigned i = 0; i + 1 < rank; ++i) {
    const auto dim = r.number(width);
    if (dim == 0 || dim > (std::uint64_t{1} << 40)) return wrong(place, "a chunk of size " + std::to_string(dim));
    c.dims.push_back(static_cast<Size>(dim));
  }
  const auto element = r.number(width);
  if (!r.ok()) return r.failure("a chunked layout");
  if (element != static_cast<std::uint64_t>(c.element)) {
    return wrong(place, "chunks of elements of " + std::to_string(element) + " bytes, the type has " +
                            std::to_string(c.element));
  }
  const auto count = checked_count(c.dims);
  const auto bytes = count ? checked_multiply(*count, c.element) : std::nullopt;
  if (!bytes || *bytes > (Size{1} << 32)) return wrong(place, "a chunk of more than 4 GiB", Fault::Limit);
  return {};
}

}  // namespace

Size Chunking::bytes() const { return checked_count(dims).value_or(0) * element; }

Sizes Chunking::grid() const {
  Sizes grid;
  for (std::size_t i = 0; i < shape.size(); ++i) grid.push_back(shape[i] / dims[i] + (shape[i] % dims[i] != 0 ? 1 : 0));
  return grid;
}

Result<std::vector<Chunk>> find_chunks(File& file, Chunking& c, ByteReader r, unsigned version) {
  const Size place = r.place();
  std::vector<Chunk> chunks;
  if (version == 3) {
    const unsigned rank = r.u8();
    const Size address = file.address(r);
    if (auto read = read_dims(c, r, rank, 4); !read) return pass(read);
    if (address == nowhere) return chunks;
    if (auto walked = walk_tree(file, c, address, std::nullopt, chunks); !walked) return pass(walked);
    return chunks;
  }
  const unsigned flags = r.u8(), rank = r.u8();
  const Size width = r.u8();
  if (auto read = read_dims(c, r, rank, width); !read) return pass(read);
  if ((flags & 1) != 0) return wrong(place, "chunks at the edges that skip the filters", Fault::Unsupported);
  const unsigned index = r.u8();
  Chunk single{.size = c.bytes(), .at = Sizes(c.shape.size(), 0)};
  if (index == 1 && (flags & 2) != 0) {
    single.size = file.length(r);
    single.unfiltered = r.u32();
  }
  if (index == 3) r.skip(1);
  if (index == 5) r.skip(6);
  if (index == 4) return wrong(place, "chunks in an extensible array", Fault::Unsupported);
  single.address = file.address(r);
  if (!r.ok()) return r.failure("a chunked layout");
  if (single.address == nowhere) return chunks;
  switch (index) {
    case 1: return std::vector<Chunk>{single};
    case 2: return implicit(file, c, single.address);
    case 3: return fixed_array(file, c, single.address);
    case 5: return new_tree(file, c, single.address);
    default: return wrong(place, "chunks in an index of kind " + std::to_string(index), Fault::Unsupported);
  }
}

}  // namespace convoy::hdf5
