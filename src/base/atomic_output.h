// Files that appear whole or not at all. Several files are written as temporaries beside their targets and put in
// place in the order given: data first, the file that refers to them last.
#pragma once
#include "base/bytes.h"
#include "convoy/result.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace convoy {

using Append = std::function<Status(Bytes)>;

class OutputSet {
 public:
  // Creates one temporary per target, so that what cannot be written is known before any work. Clears away temporaries
  // of ours in those folders whose process is gone and that are older than an hour.
  // Fails (Io): a target that exists (without `overwrites`), is a folder, a device or a link out of its folder, is one
  // of `sources`, or whose folder cannot be written.
  static Result<OutputSet> begin(const std::vector<std::filesystem::path>& targets, bool overwrites,
                                 const std::vector<std::filesystem::path>& sources = {});
  OutputSet(OutputSet&&) noexcept;
  OutputSet& operator=(OutputSet&&) noexcept;
  ~OutputSet();  // removes what was not committed

  // Appends to file i. Holds a reference to this set: do not keep it longer.
  Append sink(std::size_t i);
  Status append(std::size_t i, Bytes bytes);
  // Ends file i: nothing may be appended, and it may be read back. Returns the SHA-256 of what was written. The disk
  // works on meanwhile; commit waits for it.
  Result<std::string> close(std::size_t i);
  // Where file i is until it is committed: to read it back.
  const std::filesystem::path& temporary(std::size_t i) const;
  Size bytes_written(std::size_t i) const;

  // Closes what is open, waits until all is on the disk, renames in order and syncs the folders.
  Status commit();

 private:
  struct File;
  OutputSet();
  std::vector<std::unique_ptr<File>> files_;
};

// For signal handlers: unlinks the temporaries of this process (async-signal-safe).
void remove_temporaries_of_this_process();

}  // namespace convoy
