// An object of an HDF5 file: the messages of its header, the links of a group, the attributes by name.
// Internal to the reader.
#pragma once
#include "containers/hdf5_file.h"

#include <functional>

namespace convoy::hdf5 {

enum class MessageType : unsigned {
  Nil = 0x00,
  Dataspace = 0x01,
  LinkInfo = 0x02,
  Datatype = 0x03,
  Fill = 0x05,
  Link = 0x06,
  ExternalFiles = 0x07,
  Layout = 0x08,
  Filters = 0x0B,
  Attribute = 0x0C,
  Continuation = 0x10,
  SymbolTable = 0x11,
  AttributeInfo = 0x15,
};

struct Message {
  unsigned type = 0;
  unsigned flags = 0;
  Bytes data;
  Size place = 0;  // of the data, in the file
  bool shared() const { return (flags & 2) != 0; }
  ByteReader reader() const { return ByteReader(data, place); }
};

struct Link {
  std::string name;
  std::string obstacle;  // why it cannot be followed: "is a soft link to '/x'"; empty for hard links
  Size address = nowhere;
  std::uint64_t order = 0;
};

struct Object {
  Size address = nowhere;
  std::vector<Message> messages;
  // Filled when first asked for.
  mutable std::optional<std::vector<Link>> links;
  mutable std::map<std::string, std::size_t, std::less<>> link_index;
  mutable std::optional<std::map<std::string, Message, std::less<>>> attributes;
  mutable std::vector<std::string> attribute_names;  // in the order of the file
  mutable std::optional<Tensor> unpacked;            // a dataset whose numbers had to be made

  const Message* find(MessageType type) const;
  bool is_group() const;
  bool is_dataset() const;
};

Result<std::shared_ptr<const Object>> read_object(File& file, Size address);

// The message itself, or the one of the committed object that it points to.
Result<Message> resolve(File& file, const Message& message);

Status load_links(File& file, const Object& group);
Status load_attributes(File& file, const Object& object);

// The name alone of an attribute's message (or of its bytes in a heap).
Result<std::string> attribute_name(const Message& message);

}  // namespace convoy::hdf5
