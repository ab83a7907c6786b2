// Files that have no name of their own yet: what they are called, who removes them when their process ends early.
#pragma once
#include <filesystem>
#include <string>

namespace convoy {

// A hidden name beside `target` that no file bears and that tells which process made it: .NAME.convoy-PID-BEGAN-MACHINE-RANDOM.
std::filesystem::path temporary_beside(const std::filesystem::path& target);

// Removes temporaries of ours in this folder that no process will finish: those of a process of this machine that has
// ended, and those of another machine, or of before it was started anew, that are a day old.
void clear_litter(const std::filesystem::path& folder);

// What a signal handler unlinks; `path` stays as it is until it is forgotten.
void remember_temporary(const char* path);
void forget_temporary(const char* path);

// While one lives, files are being put in place, which takes a moment: a signal that would end the process waits for it.
class Placing {
 public:
  Placing();
  ~Placing();  // raises what came meanwhile
  Placing(const Placing&) = delete;
  Placing& operator=(const Placing&) = delete;
};

// For signal handlers (async-signal-safe): unlinks the temporaries of this process. False while files are being put in
// place: the handler returns then, and the signal comes again right after.
bool remove_temporaries_of_this_process(int signal);

}  // namespace convoy
