// Writes a state_dict as torch.save does: a zip of one pickle and the raw storages. Loads with
// torch.load(path, weights_only=True), also with mmap=True.
#pragma once
#include "base/bytes.h"
#include "containers/safetensors.h"
#include "convoy/result.h"

#include <functional>
#include <vector>

namespace convoy {

// An OrderedDict in the order given. Tensors that share the same bytes share one storage (tied weights).
// The same tensors give the same bytes. uint16, uint32 and uint64 need torch 2.3 to load.
// Fails: Unsupported: two tensors of one name; Limit: a name of more than 65535 bytes; and as `append` does.
Status write_state_dict(const std::vector<NamedTensor>& tensors, const std::function<Status(Bytes)>& append);

// The tensors of a file that write_state_dict made of `written`, with the bytes as they stand in the file.
Result<std::vector<NamedTensor>> read_back_state_dict(Blob file, const std::vector<NamedTensor>& written);

}  // namespace convoy
