// The object that torch.save wrote, searched for tensors. Source: torch/serialization.py, torch/_utils.py,
// torch/_weights_only_unpickler.py.
#include "formats/torch/checkpoint.h"

#include "containers/pickle.h"

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>

namespace convoy::torch {
namespace {

constexpr int deepest = 100;
constexpr Size most_visits = 4'000'000;
constexpr Size most_name_bytes = Size{1} << 30;

struct NamedType {
  std::string_view name;
  DType dtype;
};
constexpr std::array storages{
    NamedType{"torch FloatStorage", DType::F32}, NamedType{"torch DoubleStorage", DType::F64},
    NamedType{"torch HalfStorage", DType::F16},  NamedType{"torch BFloat16Storage", DType::BF16},
    NamedType{"torch LongStorage", DType::I64},  NamedType{"torch IntStorage", DType::I32},
    NamedType{"torch ShortStorage", DType::I16}, NamedType{"torch CharStorage", DType::I8},
    NamedType{"torch ByteStorage", DType::U8},   NamedType{"torch BoolStorage", DType::Bool}};
constexpr std::array dtypes{NamedType{"torch float32", DType::F32}, NamedType{"torch float64", DType::F64},
                            NamedType{"torch float16", DType::F16}, NamedType{"torch bfloat16", DType::BF16},
                            NamedType{"torch int64", DType::I64},   NamedType{"torch int32", DType::I32},
                            NamedType{"torch int16", DType::I16},   NamedType{"torch int8", DType::I8},
                            NamedType{"torch uint8", DType::U8},    NamedType{"torch uint16", DType::U16},
                            NamedType{"torch uint32", DType::U32},  NamedType{"torch uint64", DType::U64},
                            NamedType{"torch bool", DType::Bool}};

template <class Types>
std::optional<DType> dtype_named(const Types& types, std::string_view name) {
  for (const NamedType& t : types)
    if (t.name == name) return t.dtype;
  return std::nullopt;
}

// What a persistent id says of a storage. No dtype: it is counted in bytes.
struct Storage {
  std::optional<DType> dtype;
  std::string key;
  Size count = 0;
  Size first = 0;  // of the storage `key`, where this one is a part of it (older streams)
};

using StorageOf = std::function<Result<Blob>(const Storage&)>;

Result<Storage> storage_of(const Pickle& pickle, PickleId id) {
  if (!pickle.is(id, PickleKind::Persistent) || !pickle.is(pickle[id].arguments, PickleKind::Tuple))
    return fail(Fault::Format, "a tensor has no storage");
  const auto& said = pickle[pickle[id].arguments].items;
  if (said.size() < 5 || !pickle.is(said[0], PickleKind::Text) || pickle[said[0]].text != "storage" ||
      !pickle.is(said[2], PickleKind::Text) || !pickle.is(said[4], PickleKind::Integer))
    return fail(Fault::Format, "a storage is not named by class, key and count");
  Storage storage{{}, pickle[said[2]].text, pickle[said[4]].integer, 0};
  const std::string_view type = pickle.global(said[1]);
  storage.dtype = dtype_named(storages, type);
  if (!storage.dtype && type != "torch.storage UntypedStorage" && type != "torch UntypedStorage")
    return fail(Fault::Unsupported, "a storage of class '" + std::string(type) + "' is not carried");
  if (storage.count < 0) return fail(Fault::Format, "a storage has " + std::to_string(storage.count) + " elements");
  // (key, offset, count) of a view into the storage `key`
  if (said.size() > 5 && pickle.is(said[5], PickleKind::Tuple)) {
    const auto& view = pickle[said[5]].items;
    if (view.size() != 3 || !pickle.is(view[1], PickleKind::Integer) || !pickle.is(view[2], PickleKind::Integer) ||
        pickle[view[1]].integer < 0 || pickle[view[2]].integer < 0)
      return fail(Fault::Format, "the view of a storage is not key, offset and count");
    storage.first = pickle[view[1]].integer;
    storage.count = pickle[view[2]].integer;
  }
  return storage;
}

class Search {
 public:
  Search(const Pickle& pickle, const StorageOf& storage, ViewRoom room)
      : pickle_(pickle),
        storage_(storage),
        room_(room) {}

  Result<std::vector<LoadedTensor>> run() {
    if (auto s = visit(pickle_.root(), "", 0); !s) return pass(s);
    return std::move(found_);
  }

 private:
  using Kind = PickleKind;

  Status visit(PickleId id, const std::string& name, int depth) {
    if (!id) return {};
    if (depth > deepest) return fail(Fault::Limit, "'" + name + "' lies deeper than 100 levels");
    if (++visits_ > most_visits) return fail(Fault::Limit, "more than 4000000 values are reached");
    if ((name_bytes_ += static_cast<Size>(name.size())) > most_name_bytes)
      return fail(Fault::Limit, "the names of what is reached are longer than 1 GiB together");
    const PickleValue& v = pickle_[id];
    switch (v.kind) {
      case Kind::Dict: return visit_entries(v.items, name, depth);
      case Kind::List:
      case Kind::Tuple:
        for (std::size_t i = 0; i < v.items.size(); ++i)
          if (auto s = visit(v.items[i], joined(name, std::to_string(i)), depth + 1); !s) return s;
        return {};
      case Kind::Call: return visit_call(v, name, depth);
      default: return {};
    }
  }

  Status visit_entries(const std::vector<PickleId>& entries, const std::string& name, int depth) {
    for (std::size_t i = 0; i + 1 < entries.size(); i += 2) {
      const PickleValue& key = pickle_[entries[i]];
      if (key.kind != Kind::Text && key.kind != Kind::Integer) continue;
      const std::string word = key.kind == Kind::Text ? key.text : std::to_string(key.integer);
      if (auto s = visit(entries[i + 1], joined(name, word), depth + 1); !s) return s;
    }
    return {};
  }

  Status visit_call(const PickleValue& call, const std::string& name, int depth) {
    const std::string_view callee = pickle_.global(call.callee);
    if (callee.starts_with("torch._utils _rebuild") || callee == "torch._tensor _rebuild_from_type_v2") {
      auto tensor = within("tensor '" + name + "'", tensor_of(call, callee, depth));
      if (!tensor) return pass(tensor);
      if (!*tensor) return {};
      if (!names_.insert(name).second) return fail(Fault::Format, "'" + name + "' is there twice");
      found_.push_back({name, std::move(**tensor)});
      return {};
    }
    if (callee == "collections OrderedDict" || callee == "collections defaultdict") {
      // An older OrderedDict is called with a list of pairs.
      if (pickle_.is(call.arguments, Kind::Tuple))
        for (const PickleId argument : pickle_[call.arguments].items)
          if (pickle_.is(argument, Kind::List))
            for (const PickleId pair : pickle_[argument].items)
              if ((pickle_.is(pair, Kind::List) || pickle_.is(pair, Kind::Tuple)) && pickle_[pair].items.size() == 2)
                if (auto s = visit_entries(pickle_[pair].items, name, depth); !s) return s;
      return visit_entries(call.entries, name, depth);
    }
    // A module: what it holds is in its state.
    for (const std::string_view part : {"_parameters", "_buffers", "_modules"})
      if (auto s = visit(pickle_.at(call.state, part), name, depth + 1); !s) return s;
    return {};
  }

  // Nothing: a call that makes no tensor of this object.
  Result<std::optional<Tensor>> tensor_of(const PickleValue& call, std::string_view callee, int depth) {
    if (depth > deepest || !pickle_.is(call.arguments, Kind::Tuple)) return fail(Fault::Format, "has no arguments");
    const auto& arguments = pickle_[call.arguments].items;
    const auto inner = [&](PickleId id) -> Result<std::optional<Tensor>> {
      if (!pickle_.is(id, Kind::Call)) return fail(Fault::Format, "wraps no tensor");
      return tensor_of(pickle_[id], pickle_.global(pickle_[id].callee), depth + 1);
    };
    const std::string_view function = callee.substr(callee.find(' ') + 1);
    if (function == "_rebuild_parameter" || function == "_rebuild_parameter_with_state")
      return arguments.empty() ? fail(Fault::Format, "wraps no tensor") : inner(arguments[0]);
    if (function == "_rebuild_from_type_v2") {
      if (arguments.size() < 3) return fail(Fault::Format, "wraps no tensor");
      PickleValue unwrapped;
      unwrapped.arguments = arguments[2];
      return tensor_of(unwrapped, pickle_.global(arguments[0]), depth + 1);
    }
    if (function != "_rebuild_tensor" && function != "_rebuild_tensor_v2" && function != "_rebuild_tensor_v3")
      return fail(Fault::Unsupported, "is made by '" + std::string(callee) + "', which is not carried");
    return strided(arguments, function == "_rebuild_tensor_v3" && arguments.size() > 6 ? arguments[6] : PickleId{});
  }

  Result<std::optional<Tensor>> strided(const std::vector<PickleId>& arguments, PickleId named_dtype) {
    if (arguments.size() < 4 || !pickle_.is(arguments[1], Kind::Integer))
      return fail(Fault::Format, "is not storage, offset, sizes and strides");
    const auto storage = storage_of(pickle_, arguments[0]);
    if (!storage) return std::unexpected(storage.error());
    auto dtype = storage->dtype;
    if (named_dtype) dtype = dtype_named(dtypes, pickle_.global(named_dtype));
    if (!dtype) return fail(Fault::Unsupported, "is of an element type that is not carried");
    const auto sizes = numbers(arguments[2]), strides = numbers(arguments[3]);
    if (!sizes || !strides) return fail(Fault::Format, "has sizes or strides that are no numbers");
    if (auto room = room_.take(*dtype, *sizes, *strides); !room) return pass(room);
    auto blob = storage_(*storage);
    if (!blob) return pass(blob);
    auto tensor = strided_tensor(*dtype, *sizes, *strides, pickle_[arguments[1]].integer, *blob);
    if (!tensor) return pass(tensor);
    return std::optional(std::move(*tensor));
  }

  // A tuple or a list, or the call of torch.Size on one.
  std::optional<Sizes> numbers(PickleId id) const {
    if (pickle_.is(id, Kind::Call) && pickle_.is(pickle_[id].arguments, Kind::Tuple) &&
        pickle_[pickle_[id].arguments].items.size() == 1)
      id = pickle_[pickle_[id].arguments].items[0];
    if (!pickle_.is(id, Kind::Tuple) && !pickle_.is(id, Kind::List)) return std::nullopt;
    Sizes all;
    for (const PickleId one : pickle_[id].items) {
      if (!pickle_.is(one, Kind::Integer)) return std::nullopt;
      all.push_back(pickle_[one].integer);
    }
    return all;
  }

  static std::string joined(const std::string& name, const std::string& word) {
    return name.empty() ? word : name + "." + word;
  }

  const Pickle& pickle_;
  const StorageOf& storage_;
  std::vector<LoadedTensor> found_;
  std::set<std::string> names_;
  Size visits_ = 0, name_bytes_ = 0;
  ViewRoom room_;
};

// The part of a storage that an id speaks of; its file must hold as many bytes as the id counts.
Result<Blob> part_of(const Storage& storage, const Blob& whole, Size width) {
  const auto first = checked_multiply(storage.first, width), length = checked_multiply(storage.count, width);
  const auto end = first && length ? checked_add(*first, *length) : std::nullopt;
  if (!end || *end > static_cast<Size>(whole.bytes.size()))
    return fail(Fault::Format, "storage '" + storage.key + "' holds " + std::to_string(whole.bytes.size()) +
                                   " bytes, less than its " + std::to_string(storage.count) + " elements");
  return Blob{whole.bytes.subspan(static_cast<std::size_t>(*first), static_cast<std::size_t>(*length)), whole.keeper};
}

Size width_of(const Storage& storage) { return storage.dtype ? bytes_of(*storage.dtype) : 1; }

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

}  // namespace

bool begins_stream(Bytes bytes) {
  return text_of(bytes).starts_with(
      std::string_view("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e", 15));
}

Result<std::vector<LoadedTensor>> weights_of_zip(const ZipArchive& zip) {
  std::string root;
  for (const ZipEntry& entry : zip.entries())
    if (entry.name.ends_with("/data.pkl")) root = entry.name.substr(0, entry.name.size() - 8);
  if (const auto* order = zip.find(root + "byteorder")) {
    auto said = zip.read(order->name);
    if (!said) return pass(said);
    if (text_of(said->bytes) != "little")
      return fail(Fault::Unsupported, "was written with byte order '" + std::string(text_of(said->bytes)) + "'");
  }
  auto data = zip.read(root + "data.pkl");
  if (!data) return pass(data);
  const auto pickle = within("data.pkl", Pickle::parse(data->bytes));
  if (!pickle) return std::unexpected(pickle.error());
  std::map<std::string, Blob> members;
  const StorageOf storage = [&](const Storage& wanted) -> Result<Blob> {
    auto found = members.find(wanted.key);
    if (found == members.end()) {
      auto member = zip.read(root + "data/" + wanted.key);
      if (!member) return pass(member);
      found = members.emplace(wanted.key, std::move(*member)).first;
    }
    return part_of(wanted, found->second, width_of(wanted));
  };
  return Search(*pickle, storage, ViewRoom(zip)).run();
}

Result<std::vector<LoadedTensor>> weights_of_stream(const Blob& file) {
  ByteReader reader(file.bytes);
  for (int i = 0; i < 3; ++i)
    if (auto skipped = next_pickle(reader); !skipped) return pass(skipped);
  const auto object = next_pickle(reader);
  if (!object) return std::unexpected(object.error());
  const auto keys = next_pickle(reader);
  if (!keys) return std::unexpected(keys.error());
  if (!keys->is(keys->root(), PickleKind::List)) return fail(Fault::Format, "the list of storages is no list");
  const auto widths = widths_of(*object, object->size());
  std::map<std::string, Blob> stored;
  for (const PickleId key : (*keys)[keys->root()].items) {
    const std::string name = keys->is(key, PickleKind::Text) ? (*keys)[key].text : std::string();
    const auto width = widths.find(name);
    if (width == widths.end()) return fail(Fault::Format, "storage '" + name + "' belongs to no tensor");
    const auto bytes = checked_multiply(static_cast<Size>(reader.u64()), width->second);
    const Bytes content = reader.take(bytes.value_or(-1));
    if (!reader.ok()) return reader.failure("storage '" + name + "'");
    stored.emplace(name, Blob{content, file.keeper});
  }
  const StorageOf storage = [&](const Storage& wanted) -> Result<Blob> {
    const auto found = stored.find(wanted.key);
    if (found == stored.end()) return fail(Fault::Format, "storage '" + wanted.key + "' is not in the file");
    return part_of(wanted, found->second, width_of(wanted));
  };
  return Search(*object, storage, ViewRoom(file)).run();
}

}  // namespace convoy::torch
