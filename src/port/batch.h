// Many models at once: which files they are, where each port goes, and the ledger that keeps what became of each.
#pragma once
#include "convoy/result.h"
#include "convoy/size.h"

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace convoy {

// One model of a batch: its source, as it was named or found, and the file that its port becomes.
struct BatchItem {
  std::string source;
  std::filesystem::path output;
};

// What became of one model.
struct LedgerEntry {
  std::string file, sha256;
  std::string verdict;  // proved, written (without a proof), differs, refused, broken, failed (its process was lost)
  std::string reason;  // one sentence; empty where the port stands
  double seconds = 0;
  Size memory = 0;  // the most bytes that its process held
  std::string output;  // empty unless the port stands

  bool stands() const { return !output.empty(); }
};
// By file of the model.
using Ledgers = std::map<std::string, LedgerEntry>;

// Files stand for themselves ("net.py:Net" too), a folder for every model file below it. A model keeps its place below a folder
// that was named; no two ports are one file, and a module of Python gets a name that it can be imported by. A source that is
// named twice is there once, and one that `before` knows keeps its port. Fails: Io, a folder that cannot be read or holds no model.
Result<std::vector<BatchItem>> batch_of(const std::vector<std::string>& named, const std::filesystem::path& folder,
                                        const std::string& extension, const Ledgers& before = {});
// Whether the word names a folder of models rather than one model.
bool names_folder(const std::string& word);

// Every n-th model, beginning with the i-th, counted from 0.
struct Shard {
  std::size_t index = 0, count = 1;
};
// "2/8". Fails: Usage.
Result<Shard> shard_of(const std::string& word);

// Of what the file, or the folder of a SavedModel, holds now, read without a grant for it: whoever carries the model asks for that. Fails: Io.
Result<std::string> sha256_of_model(const std::filesystem::path& model);

// A ledger is a file of JSON lines that only grows: a line that a kill cut off is no entry, and the last of a model counts.
std::string ledger_line(const LedgerEntry& entry);
// Every ledger of the folder (ledger.jsonl, ledger.2-of-8.jsonl); what stands counts before what does not. Fails: Io.
Result<Ledgers> read_ledgers(const std::filesystem::path& folder);
// The ledger of one shard.
std::filesystem::path ledger_in(const std::filesystem::path& folder, const Shard& shard);

}  // namespace convoy
