// Chunked data: where the chunks of a dataset lie, by every index the format has but the extensible array,
// and the filters that they went through. Internal to the reader.
#pragma once
#include "containers/hdf5_file.h"

namespace convoy::hdf5 {

struct Filter {
  unsigned id = 0;
  std::vector<std::uint32_t> values;
};

struct Chunk {
  Size address = nowhere;
  Size size = 0;                // as stored
  std::uint32_t unfiltered = 0;  // bit i: filter i was left out
  Sizes at;                     // of its first element
};

struct Chunking {
  Sizes shape;         // of the dataset
  Sizes dims;          // of a chunk
  Size element = 0;    // bytes
  std::vector<Filter> filters;

  Size bytes() const;               // of a whole chunk, unfiltered; checked when it was read
  Sizes grid() const;               // chunks along each axis
};

// `layout` stands behind the class number of a layout message of this version (3 or 4).
Result<std::vector<Chunk>> find_chunks(File& file, Chunking& chunking, ByteReader layout, unsigned version);

Result<std::vector<Filter>> read_filters(ByteReader r);

// All chunks put together. Fails: a chunk that is missing, doubled or of the wrong size.
Result<std::vector<std::byte>> assemble(File& file, const Chunking& chunking, const std::vector<Chunk>& chunks);

}  // namespace convoy::hdf5
