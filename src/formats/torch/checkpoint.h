// Reads the tensors of PyTorch's own files: what torch.save writes, as a zip archive (since 1.6) or as the older stream.
#pragma once
#include "base/bytes.h"
#include "containers/zip.h"
#include "formats/format.h"

#include <string>
#include <vector>

namespace convoy::torch {

// Whether these bytes begin as the older stream does: a pickle of its magic number.
bool begins_stream(Bytes bytes);

// Every tensor of the saved object, dense and in its own shape, by the names that lead to it through dictionaries, lists
// and modules ("state_dict.conv1.weight"). Tensors that share a storage share its bytes. Anything that is no tensor is
// passed over; nothing is called.
// Fails: Format, Truncated, Limit; a tensor that reaches beyond its storage; Unsupported: quantized and sparse tensors,
// storages of big-endian machines, element types without a name here.
Result<std::vector<LoadedTensor>> weights_of_zip(const ZipArchive& zip);
Result<std::vector<LoadedTensor>> weights_of_stream(const Blob& file);

// What torch.load() of this file gives a program. Nothing: a file of another format. Fails: one that cannot be read, as above.
struct SavedObject;
Result<std::optional<SavedObject>> loaded_object(const std::filesystem::path& file);

// The class, "net.Net", of a module that torch.save wrote whole, alone or in a dictionary; empty where there is none, or the
// file is of no such format.
std::string pickled_module(const ZipArchive& zip);
std::string pickled_module(const Blob& stream);

// A strided view of a storage as a tensor: borrowed where it is dense in some order of its axes, copied otherwise.
// Offset and strides count elements. Fails: a view that reaches beyond the storage; negative strides.
Result<Tensor> strided_tensor(DType dtype, const Sizes& sizes, const Sizes& strides, Size offset, const Blob& storage);

// The memory that all the views of one file may take beside its storages: 4 times what it holds, and 256 MiB. A view that
// is not row-major is copied at some time, and one whose strides are 0 may be much larger than its storage.
class ViewRoom {
 public:
  explicit ViewRoom(const ZipArchive& zip);
  explicit ViewRoom(const Blob& file) : ViewRoom(static_cast<Size>(file.bytes.size())) {}
  // Fails: Limit.
  Status take(DType dtype, const Sizes& sizes, const Sizes& strides);

 private:
  explicit ViewRoom(Size held);
  Size left_ = 0;
};

}  // namespace convoy::torch
