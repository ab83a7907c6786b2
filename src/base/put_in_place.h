// Moves finished files to their places, step by step, so that what fails half way is taken back.
#pragma once
#include "convoy/result.h"

#include <filesystem>
#include <string>
#include <vector>

namespace convoy {

// "'net.py' cannot be written: No space left on device"
std::unexpected<Error> io_fault(const std::filesystem::path& path, const std::string& what);
std::string reason_of(int system_fault);

// Holds folders for one process at a time while it lives; others wait. A process that ends lets go.
class HeldFolders {
 public:
  // Fails (Io): another process holds one for ten seconds. A file system that cannot hold folders is no failure.
  static Result<HeldFolders> hold(const std::vector<std::filesystem::path>& folders);
  HeldFolders(HeldFolders&&) noexcept = default;
  ~HeldFolders();
  // Waits until the names in them are on the disk.
  Status sync() const;

 private:
  HeldFolders() = default;
  struct Held {
    std::filesystem::path path;
    int handle = -1;
  };
  std::vector<Held> held_;
};

// Each step leaves the folder as sound as it was, and so does taking it back: a kill between two steps needs no repair.
class Steps {
 public:
  Steps() = default;
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;
  ~Steps();  // takes back what was not kept

  // A second, hidden name for what stands at `target`, so that replacing it can be taken back. False: the file system
  // has none to give, and it must be set aside. Nothing at `target` is no failure.
  bool remember(const std::filesystem::path& target);
  // Moves what stands at `target`, if anything, under a hidden name. Fails (Io), as the others.
  Status set_aside(const std::filesystem::path& target);
  // Another name for a file. Taken away at the end, whatever that is.
  Status name_also(const std::filesystem::path& file, const std::filesystem::path& name);
  // The file takes the place of `target`, which was remembered or set aside, or does not exist. `back`: a file that takes
  // the place when this is taken back, instead of what was remembered.
  Status move(const std::filesystem::path& file, const std::filesystem::path& target,
              const std::filesystem::path& back = {});
  // The same, and the file keeps its own name too.
  Status move_copy(const std::filesystem::path& file, const std::filesystem::path& target);
  // The steps stand; what they replaced is gone.
  void keep();

 private:
  struct Step {
    std::filesystem::path back, to;  // renamed to take it back; no `to`: removed
  };
  struct Replaced {
    std::filesystem::path target, hidden;
  };
  bool take_back();
  const std::filesystem::path* hidden_of(const std::filesystem::path& target) const;

  std::vector<Step> steps_;
  std::vector<Replaced> replaced_;
  struct Extra {
    std::filesystem::path name;
    bool stood;  // before, so that what is put back may refer to it
  };
  std::vector<Extra> extra_;
};

// "net.0123456789abcdef.safetensors", for net.safetensors beside net.py: a name that tells the content.
std::filesystem::path name_by_content(const std::filesystem::path& file, const std::filesystem::path& main,
                                      const std::string& sha256);
// Removes what an earlier process left under such names: files whose content is what their name tells.
void clear_names_by_content(const std::filesystem::path& file, const std::filesystem::path& main);

}  // namespace convoy
