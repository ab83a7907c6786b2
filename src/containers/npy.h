// numpy's files: one array (.npy) or several in a zip (.npz).
#pragma once
#include "base/bytes.h"
#include "convoy/tensor.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace convoy {

// Versions 1 to 3. A little-endian array in C order is a view; Fortran order and big-endian numbers are copied.
// Fails: Format, Truncated (fewer bytes than the shape asks for, or more); Unsupported: objects, strings, complex numbers.
Result<Tensor> read_npy(Blob file);

// Version 1.0, C order, the data at a multiple of 64 bytes. bfloat16, which numpy does not know, becomes float32.
Status write_npy(const Tensor& tensor, const std::function<Status(Bytes)>& append);

// A stored zip of NAME.npy in the order given, times zero: the same values give the same bytes.
Status write_npz(const std::vector<std::pair<std::string, Tensor>>& tensors,
                 const std::function<Status(Bytes)>& append);
Result<std::vector<std::pair<std::string, Tensor>>> read_npz(Blob file);

}  // namespace convoy
