#include "containers/safetensors.h"

#include "fuzz/answer.h"
#include "fuzz/targets.h"

void convoy::fuzz::safetensors(Bytes bytes) {
  const auto tensors = read_safetensors(blob_of(bytes));
  if (!answered(tensors)) return;
  // What was read can be written, and is then read as the same.
  std::vector<std::byte> written;
  const auto append = [&](Bytes part) -> Status {
    written.insert(written.end(), part.begin(), part.end());
    return {};
  };
  if (!answered(write_safetensors(*tensors, {}, append))) return;
  const auto again = read_safetensors(blob_of(written));
  if (!answered(again) || again->size() != tensors->size()) std::abort();
}
