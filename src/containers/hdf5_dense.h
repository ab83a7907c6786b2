// Dense storage of newer HDF5 files: records in a version 2 B-tree, and the fractal heap their ids point into.
// Internal to the reader.
#pragma once
#include "containers/hdf5_file.h"

#include <functional>

namespace convoy::hdf5 {

// Calls `use` for every record of the tree, in order. Fails: a tree of another type than expected, and as
// `use` does.
Status for_each_record(File& file, Size tree, unsigned type, const std::function<Status(ByteReader)>& use);

class FractalHeap {
 public:
  static Result<FractalHeap> open(File& file, Size address);
  // The object that an id names; the bytes lie in the file.
  Result<ByteReader> object(File& file, Bytes id) const;

 private:
  Result<ByteReader> managed(File& file, Size at, Size size) const;
  Result<ByteReader> huge(File& file, ByteReader id) const;
  Result<ByteReader> in_block(File& file, Size block, Size block_start, Size block_size, Size at, Size size) const;

  Size place_ = 0;
  Size id_size_ = 0, most_managed_ = 0, huge_tree_ = nowhere, width_ = 0, start_size_ = 0, most_direct_ = 0;
  Size bits_ = 0, root_ = nowhere, rows_ = 0;
  bool checked_blocks_ = false;
};

}  // namespace convoy::hdf5
