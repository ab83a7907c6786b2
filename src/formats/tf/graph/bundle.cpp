// tensor_bundle.proto, and the object graph in which TensorFlow 2 keeps the names of variables.
#include "formats/tf/graph/bundle.h"

#include "base/budget.h"
#include "base/crc32c.h"
#include "containers/table.h"
#include "formats/tf/graph/messages.h"
#include "formats/tf/graph/tensor.h"
#include "ops/expect.h"

#include <fmt/format.h>

#include <algorithm>

namespace convoy::tf {
namespace {

constexpr Size most_shards = 100'000;
constexpr Size text_type = 7;

Status read_entry_of_bundle(Bytes bytes, BundleEntry& entry) {
  auto done = each_field(bytes, [&](const ProtoField& f) -> Status {
    switch (f.number) {
      case 1: entry.type = f.integer(); return {};
      case 2: {
        StoredShape shape;
        if (auto s = parse_shape(f.bytes, shape); !s) return s;
        if (!shape.sizes) return fail(Fault::Format, "is of unknown rank");
        entry.shape = *shape.sizes;
        return {};
      }
      case 3: entry.shard = f.integer(); return {};
      case 4: entry.offset = f.integer(); return {};
      case 5: entry.size = f.integer(); return {};
      case 6: entry.sum = static_cast<std::uint32_t>(f.value); return {};
      case 7: entry.sliced = true; return {};
      default: return {};
    }
  });
  if (!done) return done;
  if (entry.offset < 0 || entry.size < 0 || entry.shard < 0)
    return fail(Fault::Format,
                fmt::format("lies at byte {}, {} bytes long, in file {}", entry.offset, entry.size, entry.shard));
  return {};
}

}  // namespace

Result<Bundle> Bundle::open(const std::filesystem::path& prefix) {
  const auto file = open_file(prefix.string() + ".index");
  if (!file) return std::unexpected(file.error());
  const std::string name = prefix.filename().string() + ".index";
  auto table = within(name, read_table((*file)->bytes()));
  if (!table) return pass(table);
  Bundle bundle;
  bundle.prefix_ = prefix;
  bool headed = false, big_endian = false;
  for (const TableEntry& one : *table) {
    if (one.key.empty()) {
      headed = true;
      auto header = each_field(bytes_of(one.value), [&](const ProtoField& f) -> Status {
        if (f.number == 1) bundle.shards_ = f.integer();
        if (f.number == 2) big_endian = f.value == 1;
        return {};
      });
      if (!header) return within(name, Result<Bundle>(pass(header)));
      continue;
    }
    BundleEntry entry;
    entry.key = one.key;
    auto read = read_entry_of_bundle(bytes_of(one.value), entry);
    if (!read) return within(name + ": '" + entry.key + "'", Result<Bundle>(pass(read)));
    bundle.entries_.push_back(std::move(entry));
  }
  if (!headed)
    return within(
        name, Result<Bundle>(
                  fail(Fault::Unsupported,
                       "is a table without a checkpoint's header: TensorFlow 1's oldest checkpoints are not read")));
  if (big_endian)
    return within(name, Result<Bundle>(fail(Fault::Unsupported, "holds numbers of a big-endian machine")));
  if (bundle.shards_ < 1 || bundle.shards_ > most_shards)
    return within(name,
                  Result<Bundle>(fail(Fault::Format, fmt::format("declares {} files of numbers", bundle.shards_))));
  return bundle;
}

const BundleEntry* Bundle::find(const std::string& key) const {
  const auto at = std::ranges::lower_bound(entries_, key, {}, &BundleEntry::key);
  return at == entries_.end() || at->key != key ? nullptr : &*at;
}

Result<Bytes> Bundle::bytes_of_entry(const BundleEntry& entry) {
  if (entry.shard >= shards_) return fail(Fault::Format, fmt::format("lies in file {} of {}", entry.shard, shards_));
  auto& file = files_[entry.shard];
  const std::string name = fmt::format("{}.data-{:05}-of-{:05}", prefix_.string(), entry.shard, shards_);
  if (!file) {
    auto opened = open_file(name);
    if (!opened) return pass(opened);
    file = std::move(*opened);
  }
  const auto length = static_cast<Size>(file->bytes().size());
  if (entry.offset > length || entry.size > length - entry.offset)
    return fail(Fault::Truncated,
                fmt::format("needs {} bytes at byte {}, the file of numbers has {}", entry.size, entry.offset, length));
  return file->bytes().subspan(static_cast<std::size_t>(entry.offset), static_cast<std::size_t>(entry.size));
}

Result<Tensor> Bundle::tensor(const BundleEntry& entry) {
  const auto dtype = dtype_of(entry.type);
  if (!dtype) return fail(Fault::Unsupported, "holds " + type_name(entry.type) + ", which is not carried");
  if (entry.sliced) return fail(Fault::Unsupported, "is a variable in several parts, which are not put together");
  if (entry.shape.size() > 32) return fail(Fault::Limit, fmt::format("has {} axes", entry.shape.size()));
  const auto bytes = bytes_of_entry(entry);
  if (!bytes) return std::unexpected(bytes.error());
  auto tensor = Tensor::view(*dtype, entry.shape, *bytes, files_[entry.shard]);
  if (!tensor)
    return fail(Fault::Format,
                fmt::format("has {} bytes for shape {} of {}", entry.size, text_of(entry.shape), name_of(*dtype)));
  if (masked_crc32c(crc32c_of(*bytes)) != entry.sum)
    return fail(Fault::Format, "has another checksum than the file says");
  return tensor;
}

// Texts: their lengths, the sum of these, then the letters.
Result<std::string> Bundle::text(const BundleEntry& entry) {
  const auto bytes = bytes_of_entry(entry);
  if (!bytes) return std::unexpected(bytes.error());
  const auto count = checked_count(entry.shape);
  if (entry.type != text_type || count != Size{1}) return fail(Fault::Format, "is not one text");
  ByteReader reader(*bytes);
  std::uint64_t length = 0;
  for (int shift = 0; shift < 63; shift += 7) {
    const std::uint8_t byte = reader.u8();
    length |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  reader.skip(4);
  const Bytes letters = reader.take(static_cast<Size>(length));
  if (!reader.ok()) return reader.failure("a text");
  if (auto s = budget::afford(static_cast<Size>(letters.size()), "a text"); !s) return pass(s);
  return std::string(text_of(letters));
}

Result<std::map<std::string, std::string>> Bundle::keys_by_name() {
  std::map<std::string, std::string> keys;
  const BundleEntry* entry = find("_CHECKPOINTABLE_OBJECT_GRAPH");
  if (!entry) return keys;
  auto graph = text(*entry);
  if (!graph) return pass(graph);
  auto done = each_field(bytes_of(*graph), [&](const ProtoField& object) -> Status {
    if (object.number != 1) return {};
    return each_field(object.bytes, [&](const ProtoField& f) -> Status {
      if (f.number != 2) return {};
      std::string name, key;
      auto read = each_field(f.bytes, [&](const ProtoField& a) -> Status {
        if (a.number == 2) name = std::string(a.text());
        if (a.number == 3) key = std::string(a.text());
        return {};
      });
      if (!name.empty() && !key.empty()) {
        const auto [at, added] = keys.emplace(name, key);
        if (!added && at->second != key) at->second.clear();  // two variables of one name
      }
      return read;
    });
  });
  if (!done) return pass(done);
  std::erase_if(keys, [](const auto& one) { return one.second.empty(); });
  return keys;
}

}  // namespace convoy::tf
