// The SHA-256 of a file while it grows.
#pragma once
#include "base/sha256.h"
#include "convoy/size.h"

#include <atomic>
#include <thread>

namespace convoy {

// Reads what has been appended to a file from the cache of the system and hashes it on a thread of its own, so that
// hashing, which costs about what writing costs, takes none of the writer's time. The thread begins when there is
// enough to be worth it.
class HashBehind {
 public:
  HashBehind() = default;
  HashBehind(const HashBehind&) = delete;
  HashBehind& operator=(const HashBehind&) = delete;
  ~HashBehind() { abandon(); }

  // The first `written` bytes of the file are in place and stay as they are. `handle` can be read and stays open until
  // finish().
  void follow(int handle, Size written);
  // Waits until all of the file's `written` bytes are hashed. Returns 0, or the number of the system's fault; hex() is
  // then the checksum.
  int finish(int handle, Size written);
  const std::string& hex() const { return hex_; }
  // Reads no more: the file may be closed.
  void abandon() { stop(0); }

 private:
  void stop(Size at);
  void hash_until(int handle, Size end);

  std::atomic<Size> goal_ = 0;  // how far to hash; ~n: up to n, and that is the end
  Size told_ = 0;  // the last goal
  Size hashed_ = 0;
  int fault_ = 0;
  Sha256 hash_;
  std::string hex_;
  std::jthread thread_;  // last: it ends before what it uses
};

}  // namespace convoy
