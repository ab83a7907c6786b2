// The object that torch.save wrote, searched for tensors. Source: torch/serialization.py, torch/_utils.py,
// torch/_weights_only_unpickler.py.
#include "formats/torch/checkpoint.h"

#include "base/mapped_file.h"
#include "containers/pickle.h"
#include "formats/torch/exported/archive.h"
#include "formats/torch/pickled_tensor.h"
#include "formats/torch/saved_object.h"
#include "formats/torch/script/reader.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>

namespace convoy::torch {
namespace {

// ---- the older stream: magic number, protocol, system, the object, the keys, then each storage with its count.
Result<Pickle> next_pickle(ByteReader& reader) {
  ByteReader ahead = reader;
  auto pickle = Pickle::parse(ahead.take(ahead.left()), reader.place());
  if (pickle) reader.skip(pickle->length());
  return pickle;
}

// Element widths by key, from every storage that the object names.
std::map<std::string, Size> widths_of(const Pickle& object, Size values) {
  std::map<std::string, Size> widths;
  for (std::int32_t i = 0; i < values; ++i)
    if (object.is({i}, PickleKind::Persistent))
      if (const auto storage = storage_of(object, {i})) widths[storage->key] = width_of(*storage);
  return widths;
}

// Why the width of this storage is not known: its class is not carried, or nothing names it.
std::unexpected<Error> without_width(const Pickle& object, const std::string& name) {
  for (std::int32_t i = 0; i < object.size(); ++i) {
    if (!object.is({i}, PickleKind::Persistent)) continue;
    if (auto storage = storage_of(object, {i}); !storage && storage.error().fault == Fault::Unsupported)
      return std::unexpected(std::move(storage.error()));
  }
  return fail(Fault::Format, "storage '" + name + "' belongs to no tensor");
}

std::string module_in(const Pickle& pickle) {
  std::vector<PickleId> asked{pickle.root()};
  if (pickle.is(pickle.root(), PickleKind::Dict))
    for (const PickleId item : pickle[pickle.root()].items) asked.push_back(item);
  for (const PickleId id : asked) {
    if (!pickle.is(id, PickleKind::Call) || !pickle.at(pickle[id].state, "_modules")) continue;
    // The older stream names the class in a persistent id: ("module", class, its file, its text).
    PickleId kind = pickle[id].callee;
    if (pickle.is(kind, PickleKind::Persistent))
      if (const PickleId said = pickle[kind].arguments;
          pickle.is(said, PickleKind::Tuple) && pickle[said].items.size() > 1)
        kind = pickle[said].items[1];
    std::string name(pickle.global(kind));
    std::ranges::replace(name, ' ', '.');
    return name;
  }
  return {};
}

Result<Pickle> pickle_of_zip(const ZipArchive& zip, const std::string& root) {
  auto data = zip.read(root + "data.pkl");
  if (!data) return pass(data);
  return within("data.pkl", Pickle::parse(data->bytes));
}

std::string checkpoint_root(const ZipArchive& zip) {
  std::string root;
  for (const ZipEntry& entry : zip.entries())
    if (entry.name.ends_with("/data.pkl")) root = entry.name.substr(0, entry.name.size() - 8);
  return root;
}

// Behind the magic number, the protocol and the system.
Result<Pickle> object_of_stream(ByteReader& reader) {
  for (int i = 0; i < 3; ++i)
    if (auto skipped = next_pickle(reader); !skipped) return skipped;
  return next_pickle(reader);
}

}  // namespace

std::string pickled_module(const ZipArchive& zip) {
  const auto pickle = pickle_of_zip(zip, checkpoint_root(zip));
  return pickle ? module_in(*pickle) : std::string();
}

std::string pickled_module(const Blob& stream) {
  ByteReader reader(stream.bytes);
  const auto object = begins_stream(stream.bytes) ? object_of_stream(reader) : fail(Fault::Format, "is no stream");
  return object ? module_in(*object) : std::string();
}

// Begins with a pickled number, from protocol 4 on within a frame. Source: torch/serialization.py, MAGIC_NUMBER.
bool begins_stream(Bytes bytes) {
  constexpr std::string_view number("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e", 13);
  constexpr std::size_t frame = 1 + 8;  // its opcode and its length
  std::string_view text = text_of(bytes);
  if (text.size() < 2 || text[0] != '\x80' || text[1] < 2 || text[1] > 5) return false;
  text.remove_prefix(2);
  if (text.starts_with('\x95') && text.size() > frame) text.remove_prefix(frame);
  return text.starts_with(number);
}

Result<SavedObject> object_in(const ZipArchive& zip) {
  const std::string root = checkpoint_root(zip);
  if (auto ordered = check_byte_order(zip, root); !ordered) return pass(ordered);
  const auto pickle = pickle_of_zip(zip, root);
  if (!pickle) return std::unexpected(pickle.error());
  return saved_object(*pickle, PickledTensors(*pickle, storages_in(zip, root + "data/"), ViewRoom(zip)));
}

Result<SavedObject> object_in(const Blob& file) {
  ByteReader reader(file.bytes);
  const auto object = object_of_stream(reader);
  if (!object) return std::unexpected(object.error());
  const auto keys = next_pickle(reader);
  if (!keys) return std::unexpected(keys.error());
  if (!keys->is(keys->root(), PickleKind::List)) return fail(Fault::Format, "the list of storages is no list");
  const auto widths = widths_of(*object, object->size());
  std::map<std::string, Blob> stored;
  for (const PickleId key : (*keys)[keys->root()].items) {
    const std::string name = keys->is(key, PickleKind::Text) ? (*keys)[key].text : std::string();
    const auto width = widths.find(name);
    if (width == widths.end()) return without_width(*object, name);
    const auto bytes = checked_multiply(static_cast<Size>(reader.u64()), width->second);
    const Bytes content = reader.take(bytes.value_or(-1));
    if (!reader.ok()) return reader.failure("storage '" + name + "'");
    stored.emplace(name, Blob{content, file.keeper});
  }
  const StorageOf storage = [&](const PickledStorage& wanted) -> Result<Blob> {
    const auto found = stored.find(wanted.key);
    if (found == stored.end()) return fail(Fault::Format, "storage '" + wanted.key + "' is not in the file");
    return part_of(wanted, found->second);
  };
  return saved_object(*object, PickledTensors(*object, storage, ViewRoom(file)));
}

Result<std::vector<LoadedTensor>> weights_of_zip(const ZipArchive& zip) {
  auto object = object_in(zip);
  return object ? named_tensors(*std::move(object)) : std::unexpected(std::move(object.error()));
}

Result<std::vector<LoadedTensor>> weights_of_stream(const Blob& file) {
  auto object = object_in(file);
  return object ? named_tensors(*std::move(object)) : std::unexpected(std::move(object.error()));
}

Result<std::optional<SavedObject>> loaded_object(const std::filesystem::path& file) {
  const auto bytes = open_file(file.string());
  if (!bytes) return std::unexpected(bytes.error());
  const Blob blob = blob_of(*bytes);
  const auto made = [&](Result<SavedObject> object) -> Result<std::optional<SavedObject>> {
    auto named = within(file.filename().string(), std::move(object));
    if (!named) return pass(named);
    return *std::move(named);
  };
  if (begins_stream(blob.bytes)) return made(object_in(blob));
  if (!ZipArchive::begins(blob.bytes)) return std::nullopt;
  const auto zip = ZipArchive::open(blob);
  if (!zip) return made(std::unexpected(zip.error()));
  if (is_exported(*zip) || is_script(*zip) || checkpoint_root(*zip).empty()) return std::nullopt;
  return made(object_in(*zip));
}

}  // namespace convoy::torch
