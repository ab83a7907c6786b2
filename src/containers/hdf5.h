// HDF5 files, the part of the format that model files use: groups of every age, attributes, and datasets that
// are contiguous, compact or chunked (deflate, shuffle, fletcher32). What could reach outside the file
// (external links and storage, virtual datasets, plug-in filters) is refused by name: there is no code for it.
#pragma once
#include "base/bytes.h"
#include "convoy/result.h"
#include "convoy/tensor.h"

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace convoy {

namespace hdf5 {
struct File;
struct Object;
}  // namespace hdf5

// One string; an array of strings (row-major, whatever its rank; may be empty); or numbers (rank 0 for one).
// An array attribute without elements is what its type says: an empty float64 array is a Tensor of count 0.
using AttributeValue = std::variant<std::string, std::vector<std::string>, Tensor>;

// A group or a dataset. A cheap handle; it keeps the file alive. Not for use by several threads at once.
// Paths are relative: "layers/conv2d/vars/0". Every failure names the object's path and a byte position.
class Hdf5Object {
 public:
  const std::string& path() const { return path_; }  // "/" for the root
  bool is_group() const;
  bool is_dataset() const;

  // Children of a group in the order of creation where the file records it, else as they are stored
  // (sorted by their bytes). Links that cannot be followed are listed too.
  Result<std::vector<std::string>> names() const;
  bool has(std::string_view path) const;  // false also where the way there is damaged
  Result<Hdf5Object> open(std::string_view path) const;
  Result<Hdf5Object> group(std::string_view path) const;  // fails where it is a dataset
  Result<Tensor> dataset(std::string_view path) const;    // fails where it is a group

  // The numbers of a dataset: a view into the file where it is contiguous and little-endian. Opaque elements
  // of two bytes are bfloat16; enumerations of FALSE and TRUE are bool.
  Result<Tensor> tensor() const;
  // The strings of a dataset of strings, or its numbers.
  Result<AttributeValue> value() const;

  Result<std::vector<std::string>> attribute_names() const;
  bool has_attribute(std::string_view name) const;
  Result<AttributeValue> attribute(std::string_view name) const;

 private:
  friend class Hdf5File;
  std::shared_ptr<hdf5::File> file_;
  std::shared_ptr<const hdf5::Object> object_;
  std::string path_;
};

class Hdf5File {
 public:
  // Whether the signature stands at byte 0, 512, 1024, 2048 ...
  static bool begins(Bytes bytes);
  static Result<Hdf5File> open(Blob file);
  const Hdf5Object& root() const { return root_; }

 private:
  Hdf5Object root_;
};

}  // namespace convoy
