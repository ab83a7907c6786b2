// Files that appear whole or not at all. Several files are written as temporaries beside their targets and put in place
// together: data first, the file that refers to them last. Whenever the process ends, that file, old or new, refers to data
// that was made with it: where one is replaced, the new data stands under names that tell its content until the new file
// stands, which refers to it there meanwhile.
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
  // of ours in those folders whose process is gone.
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

  // Whether the last file replaces one: then append_meanwhile() is wanted.
  bool replaces() const;
  // The name that file i, which is closed by this, bears too until the last file stands. Fails as close() does.
  Result<std::string> name_meanwhile(std::size_t i);
  // The last file as it refers to the others by their names meanwhile.
  Status append_meanwhile(Bytes bytes);
  // A file that belongs to the old ones goes with them.
  void drop(std::filesystem::path file);
  // Appears together with this set, and tells of it: what it replaces goes before this set is touched.
  void join(OutputSet other);

  // Closes what is open, waits until all is on the disk, puts all in place and syncs the folders. What fails is taken back:
  // the old files stand as they did.
  Status commit();

 private:
  struct File;
  OutputSet();
  Status finish();
  static Result<bool> remember(const std::vector<OutputSet*>& sets, class Steps& steps);
  Status put_in_place(class Steps& steps, bool remembers);
  std::vector<std::unique_ptr<File>> files_;
  std::unique_ptr<File> meanwhile_;
  std::vector<std::filesystem::path> dropped_;
  std::vector<OutputSet> joined_;
  bool overwrites_ = false;
};

}  // namespace convoy
