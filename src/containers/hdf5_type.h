// What the elements of an attribute or dataset are, how many there are, and their bytes as values.
// Internal to the reader.
#pragma once
#include "containers/hdf5_object.h"

namespace convoy::hdf5 {

struct Type {
  enum class Kind { Number, FixedString, LongString };  // a long string lies in a global heap
  Kind kind = Kind::Number;
  Size size = 0;  // of one element, as stored
  DType dtype = DType::F32;
  bool big_endian = false;
  unsigned padding = 0;  // of fixed strings: 0 ends at a zero byte, 1 zeros at the end, 2 spaces at the end
  Sizes dims;            // of an array type: they follow the shape of the space
};

struct Space {
  Sizes shape;
  Size count = 0;
  bool null = false;
};

// Fails: Unsupported naming what the type is (a compound, a reference, ...).
Result<Type> read_type(ByteReader r);
Result<Space> read_space(const File& file, ByteReader r);

// `data` holds exactly the elements of `space`. Numbers in the file's own order stay views of it.
Result<Tensor> numbers(File& file, const Type& type, const Space& space, const Blob& data);
Result<std::vector<std::string>> strings(File& file, const Type& type, Bytes data, Size place);

// The bytes that space and type ask for. Fails: Limit.
Result<Size> stored_size(const Type& type, const Space& space, Size place);

// The numbers of a dataset, or its strings' stored bytes.
struct Stored {
  Type type;
  Space space;
  Blob data;
  Size place = 0;
};
Result<Stored> read_stored(File& file, const Object& dataset);

}  // namespace convoy::hdf5
