#include "containers/hdf5_object.h"

#include <algorithm>

namespace convoy::hdf5 {

namespace {

constexpr std::size_t message_limit = 4096;

struct Part {
  Size address = 0, size = 0;
};

Status add_message(File& file, Object& object, std::vector<Part>& parts, Message message) {
  if (auto done = file.work(1); !done) return done;
  if (object.messages.size() >= message_limit) {
    return wrong(message.place, "more than 4096 messages in one header", Fault::Limit);
  }
  if (message.type == static_cast<unsigned>(MessageType::Continuation)) {
    ByteReader r = message.reader();
    Part next;
    next.address = file.address(r);
    next.size = file.length(r);
    if (!r.ok()) return r.failure("a continuation");
    if (parts.size() >= message_limit) return wrong(message.place, "more than 4096 parts of one header", Fault::Limit);
    parts.push_back(next);
  } else if (message.type != static_cast<unsigned>(MessageType::Nil)) {
    object.messages.push_back(message);
  }
  return {};
}

Status read_old_part(File& file, Object& object, std::vector<Part>& parts, Part part) {
  auto r = file.reader(part.address, part.size, "an object header");
  if (!r) return pass(r);
  while (r->left() >= 8) {
    Message m;
    m.type = r->u16();
    const Size size = r->u16();
    m.flags = r->u8();
    r->skip(3);
    m.place = r->place();
    m.data = r->take(size);
    if (!r->ok()) return r->failure("a message of an object header");
    if (auto added = add_message(file, object, parts, m); !added) return added;
  }
  return {};
}

Status read_new_part(File& file, Object& object, std::vector<Part>& parts, ByteReader r, bool ordered) {
  const Size head = ordered ? 6 : 4;
  while (r.left() >= head) {  // fewer bytes than a head are a gap
    Message m;
    m.type = r.u8();
    const Size size = r.u16();
    m.flags = r.u8();
    if (ordered) r.skip(2);
    m.place = r.place();
    m.data = r.take(size);
    if (!r.ok()) return r.failure("a message of an object header");
    if (auto added = add_message(file, object, parts, m); !added) return added;
  }
  return {};
}

Status read_old(File& file, Object& object) {
  auto r = file.at(object.address, "an object header");
  if (!r) return pass(r);
  r->skip(2 + 2 + 4);
  const Size size = r->u32();
  if (!r->ok()) return r->failure("an object header");
  std::vector<Part> parts{{object.address + 16, size}};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].size == 0) continue;
    if (auto done = read_old_part(file, object, parts, parts[i]); !done) return done;
  }
  return {};
}

Status read_new(File& file, Object& object) {
  auto r = file.block(object.address, "OHDR", 2);
  if (!r) return pass(r);
  const unsigned flags = r->u8();
  if ((flags & 0x20) != 0) r->skip(16);
  if ((flags & 0x10) != 0) r->skip(4);
  const auto size = r->number(Size{1} << (flags & 3));
  const Size head = r->at();
  if (!r->ok() || size > static_cast<std::uint64_t>(r->left())) return r->failure("an object header");
  const bool ordered = (flags & 4) != 0;
  if (auto good = file.checksum(object.address, head + static_cast<Size>(size) + 4, "an object header"); !good) {
    return good;
  }
  std::vector<Part> parts;
  const Bytes first = r->take(static_cast<Size>(size));
  const ByteReader body(first, file.base + object.address + head);
  if (auto done = read_new_part(file, object, parts, body, ordered); !done) return done;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part part = parts[i];
    auto block = file.reader(part.address, part.size, "a continuation");
    if (!block) return pass(block);
    if (text_of(block->take(4)) != "OCHK" || block->left() < 4) {
      return wrong(file.base + part.address, "no 'OCHK' where one is declared");
    }
    if (auto good = file.checksum(part.address, part.size, "a continuation"); !good) return good;
    const Size place = block->place();
    const ByteReader rest(block->take(block->left() - 4), place);
    if (auto done = read_new_part(file, object, parts, rest, ordered); !done) return done;
  }
  return {};
}

}  // namespace

const Message* Object::find(MessageType type) const {
  const auto it = std::find_if(messages.begin(), messages.end(),
                               [&](const Message& m) { return m.type == static_cast<unsigned>(type); });
  return it == messages.end() ? nullptr : &*it;
}

bool Object::is_group() const {
  return find(MessageType::SymbolTable) != nullptr || find(MessageType::LinkInfo) != nullptr ||
         find(MessageType::Link) != nullptr;
}

bool Object::is_dataset() const {
  return find(MessageType::Dataspace) != nullptr && find(MessageType::Datatype) != nullptr && !is_group();
}

Result<std::shared_ptr<const Object>> read_object(File& file, Size address) {
  if (const auto it = file.objects.find(address); it != file.objects.end()) return it->second;
  auto object = std::make_shared<Object>();
  object->address = address;
  auto r = file.at(address, "an object header");
  if (!r) return pass(r);
  const unsigned first = r->u8();
  Status read;
  if (first == 1) read = read_old(file, *object);
  else if (first == 'O') read = read_new(file, *object);
  else return wrong(file.base + address, "no object header where one is declared");
  if (!read) return pass(read);
  if (auto room = file.memory(static_cast<Size>(object->messages.size() * sizeof(Message)) + 512); !room) {
    return pass(room);
  }
  file.objects.emplace(address, object);
  return object;
}

Result<Message> resolve(File& file, const Message& message) {
  if (!message.shared()) return message;
  ByteReader r = message.reader();
  const unsigned version = r.u8(), kind = r.u8();
  if (version == 1) r.skip(6);
  const Size address = file.address(r);
  if (!r.ok()) return r.failure("a shared message");
  if (version < 1 || version > 3) {
    return wrong(message.place, "shared message of version " + std::to_string(version), Fault::Unsupported);
  }
  if (version == 3 && kind != 2) {
    return wrong(message.place, "a message in a table of shared messages", Fault::Unsupported);
  }
  auto object = read_object(file, address);
  if (!object) return pass(object);
  for (const Message& m : (*object)->messages) {
    if (m.type == message.type && !m.shared()) return m;
  }
  return wrong(message.place, "a shared message points to an object that does not hold it");
}

}  // namespace convoy::hdf5
