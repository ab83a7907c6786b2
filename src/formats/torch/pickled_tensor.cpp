// Source: torch/_utils.py, torch/_weights_only_unpickler.py.
#include "formats/torch/pickled_tensor.h"

#include <array>
#include <map>
#include <memory>

namespace convoy::torch {
namespace {

constexpr int deepest_tensor = 100;

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
constexpr std::array pickled_dtypes{NamedType{"torch float32", DType::F32}, NamedType{"torch float64", DType::F64},
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

// A tuple or a list, or the call of torch.Size on one.
std::optional<Sizes> numbers(const Pickle& pickle, PickleId id) {
  if (pickle.is(id, PickleKind::Call) && pickle.is(pickle[id].arguments, PickleKind::Tuple) &&
      pickle[pickle[id].arguments].items.size() == 1)
    id = pickle[pickle[id].arguments].items[0];
  if (!pickle.is(id, PickleKind::Tuple) && !pickle.is(id, PickleKind::List)) return std::nullopt;
  Sizes all;
  for (const PickleId one : pickle[id].items) {
    if (!pickle.is(one, PickleKind::Integer)) return std::nullopt;
    all.push_back(pickle[one].integer);
  }
  return all;
}

}  // namespace

Size width_of(const PickledStorage& storage) { return storage.dtype ? bytes_of(*storage.dtype) : 1; }

Result<PickledStorage> storage_of(const Pickle& pickle, PickleId id) {
  if (!pickle.is(id, PickleKind::Persistent) || !pickle.is(pickle[id].arguments, PickleKind::Tuple))
    return fail(Fault::Format, "a tensor has no storage");
  const auto& said = pickle[pickle[id].arguments].items;
  if (said.size() < 5 || !pickle.is(said[0], PickleKind::Text) || pickle[said[0]].text != "storage" ||
      !pickle.is(said[2], PickleKind::Text) || !pickle.is(said[4], PickleKind::Integer))
    return fail(Fault::Format, "a storage is not named by class, key and count");
  PickledStorage storage{{}, pickle[said[2]].text, pickle[said[4]].integer, 0};
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

// The part of a storage that an id speaks of; its file must hold as many bytes as the id counts.
Result<Blob> part_of(const PickledStorage& storage, const Blob& whole) {
  const Size width = width_of(storage);
  const auto first = checked_multiply(storage.first, width), length = checked_multiply(storage.count, width);
  const auto end = first && length ? checked_add(*first, *length) : std::nullopt;
  if (!end || *end > static_cast<Size>(whole.bytes.size()))
    return fail(Fault::Format, "storage '" + storage.key + "' holds " + std::to_string(whole.bytes.size()) +
                                   " bytes, less than its " + std::to_string(storage.count) + " elements");
  return Blob{whole.bytes.subspan(static_cast<std::size_t>(*first), static_cast<std::size_t>(*length)), whole.keeper};
}

StorageOf storages_in(const ZipArchive& zip, std::string folder) {
  auto members = std::make_shared<std::map<std::string, Blob>>();
  return [&zip, folder = std::move(folder), members](const PickledStorage& wanted) -> Result<Blob> {
    auto found = members->find(wanted.key);
    if (found == members->end()) {
      auto member = zip.read(folder + wanted.key);
      if (!member) return pass(member);
      found = members->emplace(wanted.key, std::move(*member)).first;
    }
    return part_of(wanted, found->second);
  };
}

Status check_byte_order(const ZipArchive& zip, const std::string& root) {
  const auto* order = zip.find(root + "byteorder");
  if (!order) return {};
  auto said = zip.read(order->name);
  if (!said) return pass(said);
  if (text_of(said->bytes) == "little") return {};
  return fail(Fault::Unsupported, "was written with byte order '" + std::string(text_of(said->bytes)) + "'");
}

Result<std::optional<Tensor>> PickledTensors::tensor_of(const PickleValue& call, std::string_view callee, int depth) {
  if (depth > deepest_tensor || !pickle_.is(call.arguments, PickleKind::Tuple))
    return fail(Fault::Format, "has no arguments");
  const auto& arguments = pickle_[call.arguments].items;
  const auto inner = [&](PickleId id) -> Result<std::optional<Tensor>> {
    if (!pickle_.is(id, PickleKind::Call)) return fail(Fault::Format, "wraps no tensor");
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
  // What torch.save tells beside the numbers: that they are to be negated or conjugated when they are read.
  const std::size_t metadata = function == "_rebuild_tensor_v3" ? 7 : 6;
  if (arguments.size() > metadata && pickle_.is(arguments[metadata], PickleKind::Dict))
    return fail(Fault::Unsupported,
                "is kept as a negated or conjugated view of its numbers; save it after .resolve_neg().resolve_conj()");
  return strided(arguments, function == "_rebuild_tensor_v3" && arguments.size() > 6 ? arguments[6] : PickleId{});
}

Result<std::optional<Tensor>> PickledTensors::strided(const std::vector<PickleId>& arguments, PickleId named_dtype) {
  if (arguments.size() < 4 || !pickle_.is(arguments[1], PickleKind::Integer))
    return fail(Fault::Format, "is not storage, offset, sizes and strides");
  const auto storage = storage_of(pickle_, arguments[0]);
  if (!storage) return std::unexpected(storage.error());
  auto dtype = storage->dtype;
  if (named_dtype) dtype = dtype_named(pickled_dtypes, pickle_.global(named_dtype));
  if (!dtype) return fail(Fault::Unsupported, "is of an element type that is not carried");
  const auto sizes = numbers(pickle_, arguments[2]), strides = numbers(pickle_, arguments[3]);
  if (!sizes || !strides) return fail(Fault::Format, "has sizes or strides that are no numbers");
  if (auto room = room_.take(*dtype, *sizes, *strides); !room) return pass(room);
  auto blob = storage_(*storage);
  if (!blob) return pass(blob);
  auto tensor = strided_tensor(*dtype, *sizes, *strides, pickle_[arguments[1]].integer, *blob);
  if (!tensor) return pass(tensor);
  return std::optional(std::move(*tensor));
}

bool requires_grad(const Pickle& pickle, const PickleValue& call) {
  const std::string_view callee = pickle.global(call.callee);
  const bool wraps = callee.substr(callee.find(' ') + 1).starts_with("_rebuild_parameter");
  const std::size_t place =
      wraps ? 1 : 4;  // (tensor, requires_grad, ...), (storage, offset, sizes, strides, requires_grad)
  if (!pickle.is(call.arguments, PickleKind::Tuple) || pickle[call.arguments].items.size() <= place) return true;
  const PickleId said = pickle[call.arguments].items[place];
  return !pickle.is(said, PickleKind::Bool) || pickle[said].integer != 0;
}

std::optional<TensorType> declared_type(const Pickle& pickle, const PickleValue& call) {
  if (!PickledTensors::makes_tensor(pickle.global(call.callee)) || !pickle.is(call.arguments, PickleKind::Tuple))
    return std::nullopt;
  const auto& arguments = pickle[call.arguments].items;
  if (arguments.size() < 3) return std::nullopt;
  const auto storage = storage_of(pickle, arguments[0]);
  const auto sizes = numbers(pickle, arguments[2]);
  if (!storage || !storage->dtype || !sizes) return std::nullopt;
  TensorType type{*storage->dtype, {}};
  for (const Size size : *sizes) {
    if (size < 0) return std::nullopt;
    type.shape.emplace_back(size);
  }
  return type;
}

}  // namespace convoy::torch
