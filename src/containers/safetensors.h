// safetensors: a JSON header, then the tensors' bytes, every byte of the buffer in exactly one tensor.
#pragma once
#include "base/bytes.h"
#include "convoy/tensor.h"

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace convoy {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// The tensors as views, in the order of their data. Fails: Format, Truncated, Limit (header above 100,000,000 bytes);
// overlaps, gaps, duplicate names, a size that is not that of the shape.
Result<std::vector<NamedTensor>> read_safetensors(Blob file);

// The header (padded with spaces to a multiple of 8), then each tensor as it is asked for: nothing is gathered first.
// Tensors are laid out as the common writer does, wider element types first, then by name.
// `metadata` becomes "__metadata__".
Status write_safetensors(std::vector<NamedTensor> tensors, const std::map<std::string, std::string>& metadata,
                         const std::function<Status(Bytes)>& append);

}  // namespace convoy
