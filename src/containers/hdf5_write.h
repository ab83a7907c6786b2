// Writes HDF5 files in the oldest form of the format, which every reader opens: symbol-table groups, attributes,
// contiguous datasets. The whole file is laid out before a byte is written; the numbers of tensors stay where they are
// until they are appended. No times, no names of programs: the same document gives the same bytes.
// Source: HDF5 File Format Specification, version 3.0 (superblock 0, object headers of version 1).
#pragma once
#include "base/bytes.h"
#include "containers/hdf5.h"
#include "convoy/tensor.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convoy {

// A group with its children, or a dataset.
struct Hdf5Node {
  // A string is written with its length free (UTF-8, of any size), a list of strings as strings of one length, padded
  // with zeros. Numbers keep their type; a Tensor of rank 0 is one number.
  std::vector<std::pair<std::string, AttributeValue>> attributes;
  std::optional<Tensor> tensor;  // of a dataset
  // Of a group, by names without '/': sorted by their bytes, as the format keeps them.
  std::map<std::string, Hdf5Node, std::less<>> children;

  void set(std::string_view attribute, AttributeValue value) {
    attributes.emplace_back(std::string(attribute), std::move(value));
  }
  // The group or the dataset "a/b/c" below this one; what is missing of the way there is made.
  Hdf5Node& group(std::string_view path);
  Hdf5Node& dataset(std::string_view path, Tensor tensor);
};

// Where everything lies in the file. Bool becomes the enumeration FALSE, TRUE and bfloat16 opaque elements of 2 bytes, as
// h5py writes them.
class Hdf5Layout {
 public:
  // An attribute that is a list or has numbers must fit in a message. A name, a shape and a type go with it, which is why
  // Keras cuts its lists into parts of at most so many bytes ("layer_names0", "layer_names1", ...).
  static constexpr Size longest_list = 64512;

  // Fails: Limit: such an attribute above 65,528 bytes with all; Unsupported: a name that is empty or has a zero byte
  // or '/' in it; a string with a zero byte. The failure names the object's path.
  static Result<Hdf5Layout> of(const Hdf5Node& root);

  Size size() const { return size_; }
  // Gives each tensor's bytes back (Tensor::let_go) once they are appended. May be called again.
  Status write(const std::function<Status(Bytes)>& append) const;

 private:
  struct Data {
    Size at = 0;
    Tensor tensor;
  };
  std::vector<std::byte> head_;  // everything but the datasets
  std::vector<Data> data_;  // after it, in the order of the file
  Size size_ = 0;
};

}  // namespace convoy
