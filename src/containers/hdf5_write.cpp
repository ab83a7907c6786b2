#include "containers/hdf5_write.h"

#include "containers/hdf5_encode.h"
#include "containers/hdf5_object.h"

#include <algorithm>
#include <limits>

namespace convoy {
namespace {

using hdf5::Encoder;
using hdf5::MessageType;

constexpr std::uint64_t undefined = std::numeric_limits<std::uint64_t>::max();
// The defaults of the library: 2 * leaf_rank entries in a symbol node, 2 * inner_rank children of a tree node.
constexpr std::size_t leaf_rank = 4, inner_rank = 16;
constexpr std::size_t superblock_size = 96, entry_size = 40;
constexpr Size longest_message = 65528, least_heap = 4096;
constexpr std::size_t most_heap_objects = 60000;

Hdf5Node& child(Hdf5Node& node, std::string_view path) {
  Hdf5Node* at = &node;
  while (true) {
    const auto slash = path.find('/');
    const std::string_view word = path.substr(0, slash);
    const auto known = at->children.find(word);
    at = known == at->children.end() ? &at->children[std::string(word)] : &known->second;
    if (slash == std::string_view::npos) return *at;
    path.remove_prefix(slash + 1);
  }
}

Status check_link_name(std::string_view name) {
  if (name.empty() || name == "." || name.contains('/') || name.contains('\0'))
    return fail(Fault::Unsupported, "'" + std::string(name) + "' is no name that HDF5 takes");
  return {};
}

struct Placed {
  std::size_t header = 0;
  std::size_t tree = 0, names = 0;  // of a group
};

// Of a group.
struct Child {
  std::string_view name;
  bool is_group = false;
  Placed placed;
};

// A place in the head that will hold an address which is known later.
struct Promise {
  std::size_t at = 0;
  std::size_t what = 0;  // a dataset or a collection of strings, by number
};

class Layout {
 public:
  Layout() { head_.zeros(superblock_size); }

  Result<Placed> place(const Hdf5Node& node) { return node.tensor ? place_dataset(node) : place_group(node); }

  // Strings, then the addresses of the data, then the superblock. Returns the size of the file.
  Size finish(const Placed& root) {
    place_strings();
    Size at = static_cast<Size>(head_.size());
    for (auto& [place, tensor] : data_) {
      place = at;
      at += (tensor.count() * bytes_of(tensor.dtype()) + 7) / 8 * 8;
    }
    Size end = static_cast<Size>(head_.size());
    if (!data_.empty()) end = data_.back().first + data_.back().second.count() * bytes_of(data_.back().second.dtype());
    for (const Promise& p : data_promises_) head_.patch(p.at, static_cast<std::uint64_t>(data_[p.what].first));
    Encoder s;
    s.text("\x89HDF\r\n\x1a\n").zeros(5).u8(8).u8(8).zeros(1).u16(leaf_rank).u16(inner_rank).u32(0);
    s.u64(0).u64(undefined).u64(static_cast<std::uint64_t>(end)).u64(undefined);
    s.u64(0).u64(root.header).u32(1).u32(0).u64(root.tree).u64(root.names);
    head_.overwrite(0, s);
    return end;
  }

  std::vector<std::byte> take_head() { return head_.take(); }
  std::vector<std::pair<Size, Tensor>> take_data() { return std::move(data_); }

 private:
  struct Message {
    MessageType type;
    Encoder body;
    bool constant = false;
    std::optional<std::size_t> data;     // its dataset's address stands at byte 2 of the body
    std::optional<std::size_t> string;   // the address of its string stands 12 bytes before the end
  };

  Result<Placed> place_dataset(const Hdf5Node& node) {
    const Tensor& t = *node.tensor;
    std::vector<Message> messages;
    messages.push_back({MessageType::Dataspace, hdf5::space_of(t.shape()), false, {}, {}});
    messages.push_back({MessageType::Datatype, hdf5::type_of(t.dtype()), true, {}, {}});
    Encoder fill;  // version 2: allocated late, written where it was set, which it was not
    fill.u8(2).u8(2).u8(2).u8(1).u32(0);
    messages.push_back({MessageType::Fill, fill, true, {}, {}});
    Encoder layout;  // version 3, contiguous
    const Size bytes = t.count() * bytes_of(t.dtype());
    layout.u8(3).u8(1).u64(undefined).u64(static_cast<std::uint64_t>(bytes));
    messages.push_back({MessageType::Layout, layout, false, {}, {}});
    if (bytes > 0) {
      messages.back().data = data_.size();
      data_.emplace_back(0, t);
    }
    if (auto added = add_attributes(node, messages); !added) return pass(added);
    return Placed{place_header(messages), 0, 0};
  }

  Result<Placed> place_group(const Hdf5Node& node) {
    std::vector<Child> children;
    for (const auto& [name, one] : node.children) {
      if (auto good = check_link_name(name); !good) return pass(good);
      auto placed = within("'" + name + "'", place(one));
      if (!placed) return placed;
      children.push_back({name, !one.tensor, *placed});
    }
    Placed placed;
    std::vector<std::size_t> offsets;
    placed.names = place_names(children, offsets);
    placed.tree = place_tree(children, offsets);
    Encoder table;
    table.u64(placed.tree).u64(placed.names);
    std::vector<Message> messages{{MessageType::SymbolTable, table, false, {}, {}}};
    if (auto added = add_attributes(node, messages); !added) return pass(added);
    placed.header = place_header(messages);
    return placed;
  }

  Status add_attributes(const Hdf5Node& node, std::vector<Message>& messages) {
    for (std::size_t i = 0; i < node.attributes.size(); ++i) {
      const auto& [name, value] = node.attributes[i];
      const std::string place = "attribute '" + name + "'";
      if (auto good = within(place, check_link_name(name)); !good) return good;
      for (std::size_t j = 0; j < i; ++j)
        if (node.attributes[j].first == name) return fail(Fault::Unsupported, place + " is there twice");
      auto encoded = within(place, hdf5::attribute_of(name, value));
      if (!encoded) return pass(encoded);
      Message message{MessageType::Attribute, std::move(*encoded), false, {}, {}};
      if (static_cast<Size>(message.body.size()) > longest_message)
        return fail(Fault::Limit, place + " takes " + std::to_string(message.body.size()) + " bytes, the limit is " +
                                      std::to_string(longest_message));
      if (const auto* text = std::get_if<std::string>(&value); text && !text->empty()) {
        message.string = strings_.size();
        strings_.push_back(*text);
      }
      messages.push_back(std::move(message));
    }
    if (messages.size() > 0xFFFF) return fail(Fault::Limit, "has more than 65530 attributes");
    return {};
  }

  std::size_t place_header(const std::vector<Message>& messages) {
    std::size_t size = 0;
    for (const Message& m : messages) size += 8 + (m.body.size() + 7) / 8 * 8;
    const std::size_t at = head_.size();
    head_.u8(1).u8(0).u16(messages.size()).u32(1).u32(size).zeros(4);
    for (const Message& m : messages) {
      head_.u16(static_cast<std::uint64_t>(m.type)).u16((m.body.size() + 7) / 8 * 8).u8(m.constant ? 1 : 0).zeros(3);
      if (m.data) data_promises_.push_back({head_.size() + 2, *m.data});
      if (m.string) string_promises_.push_back({head_.size() + m.body.size() - 12, *m.string});
      head_.add(m.body).align(8);
    }
    return at;
  }

  // A local heap: the names one after the other, each ended by zeros; `offsets` tells where in its data.
  std::size_t place_names(const std::vector<Child>& children, std::vector<std::size_t>& offsets) {
    Encoder names;
    names.zeros(8);  // the empty name, left of all others in the tree
    for (const Child& child : children) {
      offsets.push_back(names.size());
      names.text(child.name).zeros(1).align(8);
    }
    constexpr std::uint64_t no_free_block = 1;
    const std::size_t at = head_.size();
    head_.text("HEAP").zeros(4).u64(names.size()).u64(no_free_block).u64(at + 32).add(names);
    return at;
  }

  // A node of the tree below which lie all names up to the one at `last` in the heap.
  struct Branch {
    std::size_t at = 0, last = 0;
  };

  // Symbol nodes, and over them as many levels as it takes until one node holds all.
  std::size_t place_tree(const std::vector<Child>& children, const std::vector<std::size_t>& offsets) {
    std::vector<Branch> below;
    for (std::size_t i = 0; i < children.size(); i += 2 * leaf_rank) {
      const std::size_t end = std::min(i + 2 * leaf_rank, children.size());
      below.push_back({head_.size(), offsets[end - 1]});
      head_.text("SNOD").u8(1).zeros(1).u16(end - i);
      for (std::size_t k = i; k < end; ++k) {
        const auto& [name, group, placed] = children[k];
        head_.u64(offsets[k]).u64(placed.header).u32(group ? 1 : 0).u32(0);
        head_.u64(group ? placed.tree : 0).u64(group ? placed.names : 0);
      }
      head_.zeros((i + 2 * leaf_rank - end) * entry_size);
    }
    for (unsigned level = 0;; ++level) {
      below = place_level(below, level);
      if (below.size() == 1) return below.front().at;
    }
  }

  std::vector<Branch> place_level(const std::vector<Branch>& below, unsigned level) {
    constexpr std::size_t most = 2 * inner_rank, node_size = 24 + (2 * most + 1) * 8;
    const std::size_t first = head_.size(), nodes = std::max<std::size_t>((below.size() + most - 1) / most, 1);
    std::vector<Branch> made;
    std::size_t left = 0;  // the last name of the node before
    for (std::size_t n = 0; n < nodes; ++n) {
      const std::size_t begin = n * most, end = std::min(begin + most, below.size());
      made.push_back({head_.size(), end > begin ? below[end - 1].last : 0});
      head_.text("TREE").u8(0).u8(level).u16(end - begin);
      head_.u64(n == 0 ? undefined : first + (n - 1) * node_size);
      head_.u64(n + 1 == nodes ? undefined : first + (n + 1) * node_size);
      head_.u64(left);
      for (std::size_t i = begin; i < end; ++i) head_.u64(below[i].at).u64(below[i].last);
      head_.zeros((begin + most - end) * 16);
      left = made.back().last;
    }
    return made;
  }

  // Global heaps: the strings of free length, each behind its number and its size.
  void place_strings() {
    for (std::size_t begin = 0; begin < strings_.size(); begin += most_heap_objects) {
      const std::size_t end = std::min(begin + most_heap_objects, strings_.size());
      Encoder objects;
      for (std::size_t i = begin; i < end; ++i)
        objects.u16(i - begin + 1).u16(0).u32(0).u64(strings_[i].size()).text(strings_[i]).align(8);
      // What is left over is object 0, whose size counts its own 16 bytes.
      const std::size_t used = 16 + objects.size();
      const std::size_t size = std::max<std::size_t>(used + 16, least_heap), rest = size - used;
      objects.u16(0).u16(0).u32(0).u64(rest).zeros(rest - 16);
      for (const Promise& p : string_promises_)
        if (p.what >= begin && p.what < end) {
          head_.patch(p.at, head_.size());
          head_.patch(p.at + 8, p.what - begin + 1, 4);
        }
      head_.text("GCOL").u8(1).zeros(3).u64(size).add(objects);
    }
  }

  Encoder head_;
  std::vector<std::pair<Size, Tensor>> data_;
  std::vector<std::string_view> strings_;
  std::vector<Promise> data_promises_, string_promises_;
};

}  // namespace

Hdf5Node& Hdf5Node::group(std::string_view path) { return child(*this, path); }

Hdf5Node& Hdf5Node::dataset(std::string_view path, Tensor numbers) {
  Hdf5Node& made = child(*this, path);
  made.tensor = std::move(numbers);
  return made;
}

Result<Hdf5Layout> Hdf5Layout::of(const Hdf5Node& root) {
  Layout layout;
  const auto placed = layout.place(root);
  if (!placed) return std::unexpected(placed.error());
  Hdf5Layout made;
  made.size_ = layout.finish(*placed);
  made.head_ = layout.take_head();
  for (auto& [at, tensor] : layout.take_data()) made.data_.push_back({at, std::move(tensor)});
  return made;
}

Status Hdf5Layout::write(const std::function<Status(Bytes)>& append) const {
  static constexpr std::byte zeros[8]{};
  if (auto done = append(head_); !done) return done;
  Size at = static_cast<Size>(head_.size());
  for (const Data& data : data_) {
    if (data.at > at)
      if (auto done = append(Bytes(zeros, static_cast<std::size_t>(data.at - at))); !done) return done;
    const Bytes bytes = data.tensor.bytes();
    at = data.at + static_cast<Size>(bytes.size());
    if (auto done = append(bytes); !done) return done;
    data.tensor.let_go();
  }
  return {};
}

}  // namespace convoy
