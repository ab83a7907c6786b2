#include "run/threads.h"

#include "convoy/cancellation.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace convoy {

void for_each_item(int threads, Size count, const std::function<void(Size)>& work) {
  std::atomic<Size> next = 0;
  std::mutex guard;
  std::exception_ptr failed;  // memory may end on any thread; it is told on the one that waits
  const Cancellation* const cancellation = Listening::current();
  const auto serve = [&] {
    const Listening listening(cancellation);
    try {
      for (Size item = next++; item < count && !Listening::is_cancelled(); item = next++) work(item);
    } catch (...) {
      next = count;
      const std::lock_guard lock(guard);
      if (!failed) failed = std::current_exception();
    }
  };
  std::vector<std::jthread> others;
  const auto wanted = std::min<Size>(threads, count);
  try {
    for (Size i = 1; i < wanted; ++i) others.emplace_back(serve);
  } catch (const std::system_error&) {
    // The machine gives no more threads: those that there are do the work.
  }
  serve();
  others.clear();  // all have ended
  if (failed) std::rethrow_exception(failed);
}

int threads_for(int wanted, double operations) {
  if (operations < 1e6) return 1;
  if (wanted > 0) return std::min(wanted, 256);
  static const auto machine = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return machine;
}

}  // namespace convoy
