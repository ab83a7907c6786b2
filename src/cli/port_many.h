// convoy port of many models: each in a process of its own, so that one that fails, or takes its process down, leaves the
// others alone, and each has the budget that it has by itself.
#pragma once
#include "port/batch.h"

#include <filesystem>
#include <functional>
#include <vector>

namespace convoy::cli {

struct Batch {
  std::vector<BatchItem> items;
  std::filesystem::path folder;  // of the ports and of the ledger
  Shard shard;
  Ledgers before;  // where it resumes
  bool overwrites = false, proves = true, json = false, quiet = false;
  int jobs = 1;  // processes at once
};

// `carry` ports one model, says what is wrong on standard error and returns the exit code; whether it may replace the port is
// the second argument. It is called in a child, where this returns what it returned, for the child to end with. In the parent:
// the gravest exit code of all.
using Carry = std::function<int(const BatchItem&, bool)>;
int port_many(const Batch& batch, const Carry& carry);

}  // namespace convoy::cli
