#include "base/hash_behind.h"

#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <vector>

namespace convoy {
namespace {

constexpr Size worth_waking = 1 << 20;
constexpr Size piece = 256 << 10;  // stays in the second cache between being read and being hashed

}  // namespace

void HashBehind::follow(int handle, Size written) {
  if (written - told_ < worth_waking) return;
  goal_ = told_ = written;
  goal_.notify_one();
  if (thread_.joinable()) return;
  thread_ = std::jthread([this, handle] {
    for (;;) {
      const Size goal = goal_;
      hash_until(handle, goal < 0 ? ~goal : goal);
      if (goal < 0) return;
      goal_.wait(goal);
    }
  });
}

int HashBehind::finish(int handle, Size written) {
  stop(written);
  hash_until(handle, written);  // what was too little for a thread
  hex_ = hash_.finish_hex();
  return fault_;
}

void HashBehind::stop(Size at) {
  goal_ = ~at;
  goal_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void HashBehind::hash_until(int handle, Size end) {
  if (hashed_ >= end || fault_ != 0) return;
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(piece, end - hashed_)));
  while (hashed_ < end) {
    const auto wanted = static_cast<std::size_t>(std::min(piece, end - hashed_));
    const auto n = ::pread(handle, buffer.data(), wanted, hashed_);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      fault_ = n < 0 ? errno : EIO;  // shorter than what was written to it
      return;
    }
    hash_.update(Bytes(buffer).first(static_cast<std::size_t>(n)));
    hashed_ += n;
  }
}

}  // namespace convoy
