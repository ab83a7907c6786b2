// The attributes of an object by name, from its header or from dense storage.
#include "containers/hdf5_dense.h"
#include "containers/hdf5_object.h"

namespace convoy::hdf5 {

namespace {

Status add(File& file, const Object& object, std::map<std::string, Message, std::less<>>& all, const Message& message) {
  auto name = attribute_name(message);
  if (!name) return pass(name);
  if (auto room = file.memory(static_cast<Size>(2 * name->size()) + 256); !room) return room;
  if (!all.emplace(*name, message).second) {
    return wrong(message.place, "two attributes named '" + name->substr(0, 100) + "'");
  }
  object.attribute_names.push_back(*std::move(name));
  return {};
}

Status add_dense(File& file, const Object& object, std::map<std::string, Message, std::less<>>& all,
                 const Message& info) {
  ByteReader r = info.reader();
  const unsigned version = r.u8(), flags = r.u8();
  if ((flags & 1) != 0) r.skip(2);
  const Size heap_address = file.address(r), tree = file.address(r);
  if (!r.ok()) return r.failure("an attribute information message");
  if (version != 0) {
    return wrong(info.place, "attribute information of version " + std::to_string(version), Fault::Unsupported);
  }
  if (heap_address == nowhere) return {};
  const auto heap = FractalHeap::open(file, heap_address);
  if (!heap) return std::unexpected(heap.error());
  return for_each_record(file, tree, 8, [&](ByteReader record) -> Status {
    const Bytes id = record.take(8);
    const unsigned message_flags = record.u8();
    if (!record.ok()) return record.failure("a record of an attribute");
    if ((message_flags & 2) != 0) {
      return wrong(record.place(), "an attribute in a table of shared messages", Fault::Unsupported);
    }
    auto body = heap->object(file, id);
    if (!body) return pass(body);
    Message m{.type = static_cast<unsigned>(MessageType::Attribute), .flags = 0, .data = {}, .place = body->place()};
    m.data = body->take(body->left());
    return add(file, object, all, m);
  });
}

}  // namespace

Result<std::string> attribute_name(const Message& message) {
  ByteReader r = message.reader();
  const unsigned version = r.u8();
  r.skip(1);
  const Size length = r.u16();
  r.skip(4 + (version == 3 ? 1 : 0));
  const auto name = text_of(r.take(length));
  if (!r.ok()) return r.failure("an attribute");
  if (version < 1 || version > 3) {
    return wrong(message.place, "attribute of version " + std::to_string(version) + "; 1 to 3 are read",
                 Fault::Unsupported);
  }
  const auto end = name.find('\0');
  if (end == std::string_view::npos || end == 0) return wrong(message.place, "an attribute's name does not end");
  return std::string(name.substr(0, end));
}

Status load_attributes(File& file, const Object& object) {
  if (object.attributes) return {};
  object.attribute_names.clear();
  std::map<std::string, Message, std::less<>> all;
  for (const Message& m : object.messages) {
    if (m.type == static_cast<unsigned>(MessageType::AttributeInfo)) {
      if (auto done = add_dense(file, object, all, m); !done) return done;
    }
    if (m.type != static_cast<unsigned>(MessageType::Attribute)) continue;
    auto message = resolve(file, m);
    if (!message) return pass(message);
    if (auto done = add(file, object, all, *message); !done) return done;
  }
  object.attributes = std::move(all);
  return {};
}

}  // namespace convoy::hdf5
