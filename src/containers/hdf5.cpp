#include "containers/hdf5.h"

#include "containers/hdf5_chunks.h"
#include "containers/hdf5_object.h"
#include "containers/hdf5_type.h"

#include <new>

namespace convoy {

namespace hdf5 {

namespace {

Result<Blob> read_layout(File& file, const Message& layout, const std::vector<Filter>& filters, const Type& type,
                         const Space& space, Size size) {
  ByteReader r = layout.reader();
  const unsigned version = r.u8();
  if (version < 3 || version > 4) {
    return wrong(layout.place, "layout of version " + std::to_string(version) + "; 3 and 4 are read",
                 Fault::Unsupported);
  }
  const unsigned kind = r.u8();
  if (!r.ok()) return r.failure("a layout");
  if (kind == 3) return wrong(layout.place, "a virtual dataset, whose numbers lie in other files", Fault::Unsupported);
  if (kind > 3) return wrong(layout.place, "a layout of kind " + std::to_string(kind), Fault::Unsupported);
  if (kind == 2) {
    Chunking chunking{.shape = space.shape, .element = type.size, .filters = filters};
    if (!type.dims.empty()) chunking.element = *checked_multiply(type.size, *checked_count(type.dims));
    const auto chunks = find_chunks(file, chunking, r, version);
    if (!chunks) return std::unexpected(chunks.error());
    auto bytes = assemble(file, chunking, *chunks);
    if (!bytes) return pass(bytes);
    auto held = std::make_shared<const std::vector<std::byte>>(*std::move(bytes));
    return Blob{*held, held};
  }
  if (!filters.empty()) return wrong(layout.place, "filters without chunks");
  if (kind == 0) {
    const Size stored = r.u16();
    const Bytes data = r.take(stored);
    if (!r.ok()) return r.failure("a compact dataset");
    if (stored != size) {
      return wrong(layout.place, std::to_string(stored) + " bytes are stored, the shape needs " + std::to_string(size));
    }
    return Blob{data, file.blob.keeper};
  }
  const Size address = file.address(r), stored = file.length(r);
  if (!r.ok()) return r.failure("a contiguous dataset");
  if (size == 0) return Blob{{}, file.blob.keeper};
  if (stored != size) {
    return wrong(layout.place, std::to_string(stored) + " bytes are stored, the shape needs " + std::to_string(size));
  }
  const auto data = file.slice(address, size, "the numbers of a dataset");
  if (!data) return std::unexpected(data.error());
  return Blob{*data, file.blob.keeper};
}

}  // namespace

Result<Stored> read_stored(File& file, const Object& dataset) {
  const Size place = file.base + dataset.address;
  const Message *type_at = dataset.find(MessageType::Datatype), *space_at = dataset.find(MessageType::Dataspace),
                *layout = dataset.find(MessageType::Layout), *filters_at = dataset.find(MessageType::Filters);
  if (type_at == nullptr || space_at == nullptr || layout == nullptr) {
    return wrong(place, "a dataset without type, shape or layout");
  }
  if (dataset.find(MessageType::ExternalFiles) != nullptr) {
    return wrong(place, "a dataset whose numbers lie in external files", Fault::Unsupported);
  }
  const auto type_message = resolve(file, *type_at), space_message = resolve(file, *space_at);
  if (!type_message) return std::unexpected(type_message.error());
  if (!space_message) return std::unexpected(space_message.error());
  const auto type = read_type(type_message->reader());
  if (!type) return std::unexpected(type.error());
  const auto space = read_space(file, space_message->reader());
  if (!space) return std::unexpected(space.error());
  const auto size = stored_size(*type, *space, place);
  if (!size) return std::unexpected(size.error());
  std::vector<Filter> filters;
  if (filters_at != nullptr) {
    const auto message = resolve(file, *filters_at);
    if (!message) return std::unexpected(message.error());
    auto read = read_filters(message->reader());
    if (!read) return pass(read);
    filters = *std::move(read);
  }
  auto data = read_layout(file, *layout, filters, *type, *space, *size);
  if (!data) return pass(data);
  return Stored{*type, *space, *std::move(data), place};
}

namespace {

Result<AttributeValue> read_attribute(File& file, const Message& message) {
  ByteReader r = message.reader();
  const unsigned version = r.u8(), flags = r.u8();
  const Size name = r.u16(), type_size = r.u16(), space_size = r.u16();
  if (version == 3) r.skip(1);
  const auto padded = [&](Size n) { return version == 1 ? (n + 7) / 8 * 8 : n; };
  r.skip(padded(name));
  const auto part = [&](unsigned kind, Size size, bool shared) {
    Message m{.type = kind, .flags = shared ? 2U : 0U, .data = {}, .place = r.place()};
    m.data = r.take(size);
    r.skip(padded(size) - size);
    return m;
  };
  const bool may_share = version >= 2;
  const Message type_part =
      part(static_cast<unsigned>(MessageType::Datatype), type_size, may_share && (flags & 1) != 0);
  const Message space_part =
      part(static_cast<unsigned>(MessageType::Dataspace), space_size, may_share && (flags & 2) != 0);
  if (!r.ok()) return r.failure("an attribute");
  const auto type_message = resolve(file, type_part), space_message = resolve(file, space_part);
  if (!type_message) return std::unexpected(type_message.error());
  if (!space_message) return std::unexpected(space_message.error());
  const auto type = read_type(type_message->reader());
  if (!type) return std::unexpected(type.error());
  const auto space = read_space(file, space_message->reader());
  if (!space) return std::unexpected(space.error());
  const auto size = stored_size(*type, *space, message.place);
  if (!size) return std::unexpected(size.error());
  const Size place = r.place();
  const Bytes data = r.take(*size);
  if (!r.ok()) return r.failure("the value of an attribute");
  if (type->kind == Type::Kind::Number) {
    auto tensor = numbers(file, *type, *space, Blob{data, file.blob.keeper});
    if (!tensor) return pass(tensor);
    return *std::move(tensor);
  }
  auto all = strings(file, *type, data, place);
  if (!all) return pass(all);
  if (space->shape.empty() && type->dims.empty() && all->size() == 1) return std::move(all->front());
  return *std::move(all);
}

template <class Work>
auto guarded(const std::string& path, Work work) -> decltype(work()) {
  using Answer = decltype(work());
  try {
    Answer answer = work();
    return path == "/" ? within("the root group", std::move(answer)) : within("'" + path + "'", std::move(answer));
  } catch (const std::bad_alloc&) {
    return std::unexpected(Error{Fault::Limit, "not enough memory", "'" + path + "'"});
  }
}

std::string joined(const std::string& path, std::string_view step) {
  return (path == "/" ? std::string() : path + "/") + std::string(step);
}

}  // namespace

}  // namespace hdf5

using hdf5::guarded;

bool Hdf5Object::is_group() const { return object_ && object_->is_group(); }
bool Hdf5Object::is_dataset() const { return object_ && object_->is_dataset(); }

Result<std::vector<std::string>> Hdf5Object::names() const {
  return guarded(path_, [&]() -> Result<std::vector<std::string>> {
    if (!is_group()) return fail(Fault::Format, "is a dataset, expected a group");
    if (auto loaded = hdf5::load_links(*file_, *object_); !loaded) return pass(loaded);
    std::vector<std::string> names;
    for (const auto& link : *object_->links) names.push_back(link.name);
    return names;
  });
}

Result<Hdf5Object> Hdf5Object::open(std::string_view path) const {
  Hdf5Object here = *this;
  for (std::size_t at = 0; at < path.size();) {
    const auto next = std::min(path.find('/', at), path.size());
    const auto step = path.substr(at, next - at);
    at = next + 1;
    if (step.empty() || step == ".") continue;
    const std::string full = hdf5::joined(here.path_, step);
    auto child = guarded(here.path_, [&]() -> Result<std::shared_ptr<const hdf5::Object>> {
      if (!here.is_group()) return fail(Fault::Format, "is a dataset, expected a group");
      if (auto loaded = hdf5::load_links(*here.file_, *here.object_); !loaded) return pass(loaded);
      const auto it = here.object_->link_index.find(step);
      if (it == here.object_->link_index.end()) {
        return fail(Fault::Format, "has no member '" + std::string(step) + "'");
      }
      const hdf5::Link& link = (*here.object_->links)[it->second];
      if (!link.obstacle.empty()) {
        return fail(Fault::Unsupported,
                    "member '" + std::string(step) + "' " + link.obstacle + "; links are not followed");
      }
      return within("member '" + std::string(step) + "'", hdf5::read_object(*here.file_, link.address));
    });
    if (!child) return pass(child);
    here.object_ = *std::move(child);
    here.path_ = full;
  }
  return here;
}

bool Hdf5Object::has(std::string_view path) const { return open(path).has_value(); }

Result<Hdf5Object> Hdf5Object::group(std::string_view path) const {
  auto object = open(path);
  if (object && !object->is_group()) {
    return std::unexpected(Error{Fault::Format, "is not a group", "'" + object->path_ + "'"});
  }
  return object;
}

Result<Tensor> Hdf5Object::dataset(std::string_view path) const {
  const auto object = open(path);
  if (!object) return std::unexpected(object.error());
  return object->tensor();
}

Result<Tensor> Hdf5Object::tensor() const {
  return guarded(path_, [&]() -> Result<Tensor> {
    if (!is_dataset()) return fail(Fault::Format, "is not a dataset");
    if (object_->unpacked) return *object_->unpacked;
    auto stored = hdf5::read_stored(*file_, *object_);
    if (!stored) return pass(stored);
    if (stored->type.kind != hdf5::Type::Kind::Number) {
      return fail(Fault::Format, "at byte " + std::to_string(stored->place) + ": holds strings, expected numbers");
    }
    auto tensor = hdf5::numbers(*file_, stored->type, stored->space, stored->data);
    // What was unpacked is kept: asking twice must not cost the file's budget twice.
    if (tensor && (stored->data.keeper != file_->blob.keeper || stored->type.big_endian)) object_->unpacked = *tensor;
    return tensor;
  });
}

Result<AttributeValue> Hdf5Object::value() const {
  auto texts = guarded(path_, [&]() -> Result<std::optional<std::vector<std::string>>> {
    if (!is_dataset()) return fail(Fault::Format, "is not a dataset");
    auto stored = hdf5::read_stored(*file_, *object_);
    if (!stored) return pass(stored);
    if (stored->type.kind == hdf5::Type::Kind::Number) return std::optional<std::vector<std::string>>();
    auto all = hdf5::strings(*file_, stored->type, stored->data.bytes, stored->place);
    if (!all) return pass(all);
    return std::optional(*std::move(all));
  });
  if (!texts) return pass(texts);
  if (*texts) return **std::move(texts);
  auto numbers = tensor();
  if (!numbers) return pass(numbers);
  return *std::move(numbers);
}

Result<std::vector<std::string>> Hdf5Object::attribute_names() const {
  return guarded(path_, [&]() -> Result<std::vector<std::string>> {
    if (auto loaded = hdf5::load_attributes(*file_, *object_); !loaded) return pass(loaded);
    return object_->attribute_names;
  });
}

bool Hdf5Object::has_attribute(std::string_view name) const {
  return attribute_names().has_value() && object_->attributes->contains(name);
}

Result<AttributeValue> Hdf5Object::attribute(std::string_view name) const {
  return guarded(path_, [&]() -> Result<AttributeValue> {
    if (auto loaded = hdf5::load_attributes(*file_, *object_); !loaded) return pass(loaded);
    const auto it = object_->attributes->find(name);
    if (it == object_->attributes->end()) return fail(Fault::Format, "has no attribute '" + std::string(name) + "'");
    return within("attribute '" + std::string(name) + "'", hdf5::read_attribute(*file_, it->second));
  });
}

bool Hdf5File::begins(Bytes bytes) { return hdf5::begins(bytes); }

Result<Hdf5File> Hdf5File::open(Blob blob) {
  try {
    auto file = hdf5::open_superblock(std::move(blob));
    if (!file) return pass(file);
    auto root = hdf5::read_object(**file, (*file)->root);
    if (!root) return std::unexpected(within("the root group", std::move(root)).error());
    if (!(*root)->is_group()) return fail(Fault::Format, "the root is not a group");
    Hdf5File opened;
    opened.root_.file_ = *std::move(file);
    opened.root_.object_ = *std::move(root);
    opened.root_.path_ = "/";
    return opened;
  } catch (const std::bad_alloc&) { return fail(Fault::Limit, "not enough memory"); }
}

}  // namespace convoy
