// Tensors inside a pickle of PyTorch: which calls make them, and which storages they are views of.
#pragma once
#include "containers/pickle.h"
#include "formats/torch/checkpoint.h"
#include "ops/tensor_type.h"

#include <functional>
#include <optional>

namespace convoy::torch {

// What a persistent id says of a storage. No dtype: it is counted in bytes.
struct PickledStorage {
  std::optional<DType> dtype;
  std::string key;
  Size count = 0;
  Size first = 0;  // of the storage `key`, where this one is a part of it (older streams)
};

Result<PickledStorage> storage_of(const Pickle& pickle, PickleId id);
Size width_of(const PickledStorage& storage);
// The part of a storage that an id speaks of. Fails (Format): its file holds fewer bytes than the id counts.
Result<Blob> part_of(const PickledStorage& storage, const Blob& whole);

using StorageOf = std::function<Result<Blob>(const PickledStorage&)>;
// The storages of an archive: members FOLDER/KEY, each read once.
StorageOf storages_in(const ZipArchive& zip, std::string folder);
// Fails (Unsupported): an archive of a machine with another byte order.
Status check_byte_order(const ZipArchive& zip, const std::string& root);

// What a call of torch._utils says of its tensor, whose numbers may be absent. Nothing: it says no type or sizes.
std::optional<TensorType> declared_type(const Pickle& pickle, const PickleValue& call);

// What a call of torch._utils says of requires_grad; true where it says nothing.
bool requires_grad(const Pickle& pickle, const PickleValue& call);

class PickledTensors {
 public:
  PickledTensors(const Pickle& pickle, StorageOf storage, ViewRoom room)
      : pickle_(pickle),
        storage_(std::move(storage)),
        room_(room) {}

  static bool makes_tensor(std::string_view callee) {
    return callee.starts_with("torch._utils _rebuild") || callee == "torch._tensor _rebuild_from_type_v2";
  }
  // The tensor that a call of torch._utils makes. Nothing: a call that makes no tensor of this object.
  Result<std::optional<Tensor>> tensor_of(const PickleValue& call) {
    return tensor_of(call, pickle_.global(call.callee), 0);
  }

 private:
  Result<std::optional<Tensor>> tensor_of(const PickleValue& call, std::string_view callee, int depth);
  Result<std::optional<Tensor>> strided(const std::vector<PickleId>& arguments, PickleId named_dtype);

  const Pickle& pickle_;
  StorageOf storage_;
  ViewRoom room_;
};

}  // namespace convoy::torch
