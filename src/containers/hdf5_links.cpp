// The links of a group: symbol tables of old files, link messages and dense storage of newer ones.
#include "containers/hdf5_dense.h"
#include "containers/hdf5_object.h"

#include <algorithm>

namespace convoy::hdf5 {

namespace {

constexpr Size name_limit = 65'536;

// The zero-ended text at `at` of a local heap.
Result<std::string> heap_text(File& file, Size heap, Size at) {
  auto r = file.block(heap, "HEAP", 0);
  if (!r) return pass(r);
  r->skip(3);
  const Size size = file.length(*r);
  r->skip(file.length_width);
  const Size data = file.address(*r);
  if (!r->ok()) return r->failure("a local heap");
  const auto segment = file.slice(data, size, "the names of a group");
  if (!segment) return std::unexpected(segment.error());
  if (at >= size) return wrong(file.base + heap, "a name outside its heap");
  const auto rest = text_of(*segment).substr(static_cast<std::size_t>(at), static_cast<std::size_t>(name_limit) + 1);
  const auto end = rest.find('\0');
  if (end == std::string_view::npos) return wrong(file.base + heap, "a name that does not end in its heap");
  if (auto done = file.work(static_cast<Size>(end) / 32); !done) return pass(done);
  return std::string(rest.substr(0, end));
}

Status read_symbols(File& file, Size node, Size heap, std::vector<Link>& links) {
  auto r = file.block(node, "SNOD", 1);
  if (!r) return pass(r);
  r->skip(1);
  const unsigned count = r->u16();
  for (unsigned i = 0; i < count; ++i) {
    if (auto done = file.work(1); !done) return done;
    const Size name = file.address(*r);
    Link link;
    link.address = file.address(*r);
    const unsigned kind = r->u32();
    r->skip(4);
    const Size target = r->u32();
    r->skip(12);
    if (!r->ok()) return r->failure("the symbols of a group");
    auto text = heap_text(file, heap, name);
    if (!text) return pass(text);
    link.name = *std::move(text);
    if (kind == 2) {
      auto to = heap_text(file, heap, target);
      if (!to) return pass(to);
      link.obstacle = "is a soft link to '" + *to + "'";
    } else if (kind > 2) {
      return wrong(file.base + node, "a symbol of kind " + std::to_string(kind), Fault::Unsupported);
    }
    links.push_back(std::move(link));
  }
  return {};
}

Status walk_symbols(File& file, Size node, Size heap, std::optional<unsigned> level, std::vector<Link>& links) {
  auto r = file.at(node, "a B-tree");
  if (!r) return pass(r);
  if (text_of(r->take(4)) != "TREE") return wrong(file.base + node, "no 'TREE' where one is declared");
  const unsigned type = r->u8(), here = r->u8(), used = r->u16();
  r->skip(2 * file.offset_width);
  if (type != 0 || here > depth_limit || (level && *level != here)) {
    return wrong(file.base + node, "a B-tree node of type " + std::to_string(type) + " and level " +
                                       std::to_string(here) + ", expected a group's" +
                                       (level ? " of level " + std::to_string(*level) : std::string()));
  }
  for (unsigned i = 0; i < used; ++i) {
    r->skip(file.length_width);
    const Size child = file.address(*r);
    if (!r->ok()) return r->failure("a B-tree node");
    const Status done =
        here == 0 ? read_symbols(file, child, heap, links) : walk_symbols(file, child, heap, here - 1, links);
    if (!done) return done;
  }
  return {};
}

Result<Link> read_link(File& file, ByteReader r) {
  const Size place = r.place();
  const unsigned version = r.u8(), flags = r.u8();
  const unsigned kind = (flags & 8) != 0 ? r.u8() : 0;
  Link link;
  if ((flags & 4) != 0) link.order = r.u64();
  if ((flags & 16) != 0) r.skip(1);
  const auto length = r.number(Size{1} << (flags & 3));
  if (!r.ok()) return r.failure("a link");
  if (version != 1) return wrong(place, "link of version " + std::to_string(version), Fault::Unsupported);
  if (length > static_cast<std::uint64_t>(name_limit)) return wrong(place, "link name over 64 KiB", Fault::Limit);
  link.name = std::string(text_of(r.take(static_cast<Size>(length))));
  if (kind == 0) {
    link.address = file.address(r);
  } else {
    const Size size = r.u16();
    const auto target = text_of(r.take(size));
    if (kind == 1) link.obstacle = "is a soft link to '" + std::string(target) + "'";
    else if (kind == 64) link.obstacle = "is an external link to another file";
    else link.obstacle = "is a link of the user-defined kind " + std::to_string(kind);
  }
  if (!r.ok()) return r.failure("a link");
  return link;
}

Status read_dense_links(File& file, const Message& info, std::vector<Link>& links, bool& ordered) {
  ByteReader r = info.reader();
  const unsigned version = r.u8(), flags = r.u8();
  ordered = (flags & 1) != 0;
  if (ordered) r.skip(8);
  const Size heap_address = file.address(r), tree = file.address(r);
  if (!r.ok()) return r.failure("a link information message");
  if (version != 0)
    return wrong(info.place, "link information of version " + std::to_string(version), Fault::Unsupported);
  if (heap_address == nowhere) return {};
  const auto heap = FractalHeap::open(file, heap_address);
  if (!heap) return std::unexpected(heap.error());
  return for_each_record(file, tree, 5, [&](ByteReader record) -> Status {
    record.skip(4);
    auto object = heap->object(file, record.take(record.left()));
    if (!object) return pass(object);
    auto link = read_link(file, *object);
    if (!link) return pass(link);
    links.push_back(*std::move(link));
    return {};
  });
}

}  // namespace

Status load_links(File& file, const Object& group) {
  if (group.links) return {};
  group.link_index.clear();
  std::vector<Link> links;
  bool ordered = false;
  if (const Message* m = group.find(MessageType::SymbolTable)) {
    ByteReader r = m->reader();
    const Size tree = file.address(r), heap = file.address(r);
    if (!r.ok()) return r.failure("a symbol table");
    if (auto done = walk_symbols(file, tree, heap, std::nullopt, links); !done) return done;
  }
  if (const Message* m = group.find(MessageType::LinkInfo)) {
    if (auto done = read_dense_links(file, *m, links, ordered); !done) return done;
  }
  for (const Message& m : group.messages) {
    if (m.type != static_cast<unsigned>(MessageType::Link)) continue;
    auto link = read_link(file, m.reader());
    if (!link) return pass(link);
    links.push_back(*std::move(link));
  }
  std::stable_sort(links.begin(), links.end(), [&](const Link& a, const Link& b) {
    return ordered && a.order != b.order ? a.order < b.order : a.name < b.name;
  });
  Size held = 0;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const std::string& name = links[i].name;
    held += static_cast<Size>(2 * name.size() + links[i].obstacle.size() + 256);
    const Size place = file.base + group.address;
    if (name.empty() || name == "." || name.find('/') != std::string::npos || name.find('\0') != std::string::npos) {
      return wrong(place, "a link named '" + name.substr(0, 100) + "'");
    }
    if (!group.link_index.emplace(name, i).second) return wrong(place, "two links named '" + name.substr(0, 100) + "'");
  }
  if (auto room = file.memory(held); !room) return room;
  group.links = std::move(links);
  return {};
}

}  // namespace convoy::hdf5
