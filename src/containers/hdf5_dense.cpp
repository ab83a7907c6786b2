#include "containers/hdf5_dense.h"

#include <algorithm>
#include <bit>

namespace convoy::hdf5 {

namespace {

struct Tree {
  unsigned type = 0;
  Size node_size = 0, record_size = 0;
  unsigned depth = 0;
  Size count_width = 0;            // of a child's own records
  std::vector<Size> total_width;   // of all records below a child of a node at this depth
};

Status walk(File& file, const Tree& tree, Size address, Size records, unsigned depth,
            const std::function<Status(ByteReader)>& use) {
  auto r = file.block(address, depth == 0 ? "BTLF" : "BTIN", 0);
  if (!r) return pass(r);
  if (r->u8() != tree.type) return wrong(file.base + address, "a node of another type than its B-tree");
  const Size pointer = file.offset_width + tree.count_width + (depth > 1 ? tree.total_width[depth - 1] : 0);
  const auto body = checked_multiply(records, tree.record_size);
  if (!body || *body > tree.node_size) return wrong(file.base + address, "more records than a B-tree node holds");
  const Size used = 6 + *body + (depth > 0 ? (records + 1) * pointer : 0) + 4;
  if (used > tree.node_size) return wrong(file.base + address, "more records than a B-tree node holds");
  if (auto good = file.checksum(address, used, "a B-tree node"); !good) return good;
  if (auto done = file.work(records); !done) return done;
  std::vector<ByteReader> kept;
  for (Size i = 0; i < records; ++i) {
    const Size place = r->place();
    kept.emplace_back(r->take(tree.record_size), place);
  }
  for (Size i = 0; i <= records; ++i) {
    if (depth > 0) {
      const Size child = file.address(*r);
      const auto count = r->number(tree.count_width);
      if (depth > 1) r->skip(tree.total_width[depth - 1]);
      if (!r->ok() || count > static_cast<std::uint64_t>(tree.node_size)) return r->failure("a B-tree node");
      if (auto done = walk(file, tree, child, static_cast<Size>(count), depth - 1, use); !done) return done;
    }
    if (i < records) {
      if (auto done = use(kept[static_cast<std::size_t>(i)]); !done) return done;
    }
  }
  return {};
}

}  // namespace

Status for_each_record(File& file, Size address, unsigned type, const std::function<Status(ByteReader)>& use) {
  auto r = file.block(address, "BTHD", 0);
  if (!r) return pass(r);
  Tree tree;
  tree.type = r->u8();
  tree.node_size = r->u32();
  tree.record_size = r->u16();
  tree.depth = r->u16();
  r->skip(2);
  const Size root = file.address(*r);
  const Size records = r->u16();
  r->skip(file.length_width);
  if (!r->ok()) return r->failure("a B-tree header");
  if (auto good = file.checksum(address, r->at() + 4, "a B-tree header"); !good) return good;
  const auto refuse = [&](const std::string& what) { return wrong(file.base + address, "a B-tree " + what); };
  if (tree.type != type) {
    return refuse("of type " + std::to_string(tree.type) + ", expected " + std::to_string(type));
  }
  if (records == 0) return {};
  if (tree.depth > depth_limit) return refuse("of depth " + std::to_string(tree.depth) + ", the limit is 16");
  if (tree.record_size == 0 || tree.node_size < tree.record_size + 10) return refuse("node holds no record");
  // How many records a node can have at each depth decides the width of the counts (H5B2hdr.c).
  const Size leaf = (tree.node_size - 10) / tree.record_size;
  tree.count_width = width_for(static_cast<std::uint64_t>(leaf));
  std::uint64_t total = static_cast<std::uint64_t>(leaf);
  tree.total_width.push_back(0);
  for (unsigned depth = 1; depth <= tree.depth; ++depth) {
    const Size pointer = file.offset_width + tree.count_width + (depth > 1 ? tree.total_width[depth - 1] : 0);
    const Size most = (tree.node_size - 10 - pointer) / (tree.record_size + pointer);
    if (most <= 0) return refuse("node holds no record");
    const auto below = checked_multiply(most + 1, static_cast<Size>(total));
    const auto all = below ? checked_add(*below, most) : std::nullopt;
    if (!all) return refuse("holds more records than can be counted");
    total = static_cast<std::uint64_t>(*all);
    tree.total_width.push_back(width_for(total));
  }
  return walk(file, tree, root, records, tree.depth, use);
}

Result<FractalHeap> FractalHeap::open(File& file, Size address) {
  auto r = file.block(address, "FRHP", 0);
  if (!r) return pass(r);
  FractalHeap heap;
  heap.place_ = file.base + address;
  heap.id_size_ = r->u16();
  const Size filters = r->u16();
  heap.checked_blocks_ = (r->u8() & 2) != 0;
  heap.most_managed_ = r->u32();
  r->skip(file.length_width);
  heap.huge_tree_ = file.address(*r);
  r->skip(file.length_width + file.offset_width + 8 * file.length_width);
  heap.width_ = r->u16();
  heap.start_size_ = file.length(*r);
  heap.most_direct_ = file.length(*r);
  heap.bits_ = r->u16();
  r->skip(2);
  heap.root_ = file.address(*r);
  heap.rows_ = r->u16();
  if (!r->ok()) return r->failure("a fractal heap");
  if (filters != 0) return wrong(heap.place_, "a fractal heap with filters", Fault::Unsupported);
  if (auto good = file.checksum(address, r->at() + 4, "a fractal heap"); !good) return pass(good);
  const auto power = [](Size n) {
    return n > 0 && n < (Size{1} << 40) && std::has_single_bit(static_cast<std::uint64_t>(n));
  };
  if (!power(heap.width_) || !power(heap.start_size_) || !power(heap.most_direct_) || heap.bits_ == 0 ||
      heap.bits_ > 62 || heap.most_direct_ < heap.start_size_ || heap.id_size_ < 2) {
    return wrong(heap.place_, "a fractal heap whose table is not made of powers of two");
  }
  return heap;
}

Result<ByteReader> FractalHeap::object(File& file, Bytes id) const {
  if (auto done = file.work(1); !done) return pass(done);
  if (static_cast<Size>(id.size()) > id_size_) id = id.first(static_cast<std::size_t>(id_size_));
  ByteReader r(id);
  const unsigned first = r.u8();
  if ((first & 0xC0) != 0) return wrong(place_, "a heap id of another version", Fault::Unsupported);
  switch ((first >> 4) & 3) {
    case 0: {
      const Size at_width = (bits_ + 7) / 8;
      const Size size_width = std::min<Size>((std::bit_width(static_cast<std::uint64_t>(most_direct_)) - 1 + 7) / 8,
                                             width_for(static_cast<std::uint64_t>(most_managed_)));
      const auto at = r.number(at_width), size = r.number(size_width);
      if (!r.ok()) return wrong(place_, "a heap id that is too short");
      if (at >= (std::uint64_t{1} << bits_) || size > static_cast<std::uint64_t>(most_direct_)) {
        return wrong(place_, "a heap id outside its heap");
      }
      return managed(file, static_cast<Size>(at), static_cast<Size>(size));
    }
    case 1: return huge(file, r);
    case 2: {
      const bool wide = id_size_ > 18;
      Size size = (first & 0xF) + 1;
      if (wide) size = (((first & 0xF) << 8) | r.u8()) + 1;
      const Bytes data = r.take(size);
      if (!r.ok()) return wrong(place_, "a heap id that is too short for its object");
      return ByteReader(data, place_);
    }
    default: return wrong(place_, "a heap id of a reserved kind");
  }
}

Result<ByteReader> FractalHeap::in_block(File& file, Size block, Size block_start, Size block_size, Size at,
                                         Size size) const {
  auto r = file.block(block, "FHDB", 0);
  if (!r) return r;
  const Size head = 5 + file.offset_width + (bits_ + 7) / 8 + (checked_blocks_ ? 4 : 0);
  const Size inside = at - block_start;
  if (inside < head || size > block_size || inside > block_size - size) {
    return wrong(file.base + block, "a heap object outside its block");
  }
  const auto address = checked_add(block, inside);
  return file.reader(address.value_or(nowhere), size, "an object of a fractal heap");
}

Result<ByteReader> FractalHeap::managed(File& file, Size at, Size size) const {
  if (rows_ == 0) return in_block(file, root_, 0, start_size_, at, size);
  const auto log = [](Size n) { return std::bit_width(static_cast<std::uint64_t>(n)) - 1; };
  const Size direct_rows = log(most_direct_) - log(start_size_) + 2;
  Size block = root_, start = 0, rows = rows_;
  for (unsigned depth = 0; depth < depth_limit; ++depth) {
    auto r = file.block(block, "FHIB", 0);
    if (!r) return r;
    r->skip(file.offset_width + (bits_ + 7) / 8);
    // Row 0 and 1 have blocks of the first size, each later row of twice the one before.
    Size row_start = start, row = 0, block_size = start_size_;
    for (; row < rows; ++row) {
      if (row >= 2) block_size *= 2;
      if (block_size > (Size{1} << 46)) return wrong(place_, "a fractal heap beyond all sizes");
      if (at - row_start < block_size * width_) break;
      row_start += block_size * width_;
    }
    if (row == rows) return wrong(file.base + block, "a heap object outside its heap");
    const Size column = (at - row_start) / block_size;
    const Size child_start = row_start + column * block_size;
    const Size index = row * width_ + column;  // direct and indirect children lie one after the other
    r->skip(index * file.offset_width);
    const Size child = file.address(*r);
    if (!r->ok()) return r->failure("an indirect block of a fractal heap");
    if (row < direct_rows) return in_block(file, child, child_start, block_size, at, size);
    rows = log(block_size) - (log(start_size_) + log(width_)) + 1;
    if (rows <= 0) return wrong(file.base + block, "an indirect block without rows");
    block = child;
    start = child_start;
  }
  return wrong(place_, "a fractal heap deeper than 16", Fault::Limit);
}

Result<ByteReader> FractalHeap::huge(File& file, ByteReader id) const {
  // Where an id has room for it, it is address and length; else the key of a record that says both.
  if (id_size_ - 1 >= file.offset_width + file.length_width) {
    const Size address = file.address(id), size = file.length(id);
    return file.reader(address, size, "a huge object of a fractal heap");
  }
  const auto key = id.number(std::min<Size>(id.left(), 8));
  std::optional<std::pair<Size, Size>> found;
  auto walked = for_each_record(file, huge_tree_, 1, [&](ByteReader r) -> Status {
    const Size address = file.address(r), size = file.length(r);
    if (r.number(file.length_width) == key && r.ok()) found = {address, size};
    return {};
  });
  if (!walked) return pass(walked);
  if (!found) return wrong(place_, "a heap id that names no huge object");
  return file.reader(found->first, found->second, "a huge object of a fractal heap");
}

}  // namespace convoy::hdf5
