// LevelDB's sorted tables as TensorFlow's checkpoints hold them: keys in rising order, each with the bytes of its value.
#pragma once
#include "base/bytes.h"
#include "convoy/result.h"

#include <string>
#include <vector>

namespace convoy {

struct TableEntry {
  std::string key, value;
};

// Whether bytes end as a table does.
bool ends_table(Bytes bytes);

// All entries in their order. Blocks may be compressed by Snappy. Fails: Format, Truncated: blocks or entries outside of the
// file, blocks that overlap or run backwards, keys out of order, sums of bytes that are other ones; Budget.
Result<std::vector<TableEntry>> read_table(Bytes bytes);

}  // namespace convoy
