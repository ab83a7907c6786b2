#include "run/threads.h"

#include "convoy/cancellation.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace convoy {

namespace {

// One call of for_each_item: whoever has time takes the next item.
class Job {
 public:
  Job(Size count, const std::function<void(Size)>& work) : count_(count), work_(work) {}

  void serve() {
    const Listening listening(cancellation_);
    try {
      for (Size item = next_++; item < count_ && !Listening::is_cancelled(); item = next_++) work_(item);
    } catch (...) {
      next_ = count_;
      const std::lock_guard lock(guard_);
      if (!failed_) failed_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (failed_) std::rethrow_exception(failed_);  // memory may end on any thread; it is told on the one that waits
  }

  // Under the lock of the pool.
  Size wanted = 0;  // helpers that may still come
  std::atomic<Size> inside = 0;

 private:
  Size count_;
  const std::function<void(Size)>& work_;
  const Cancellation* cancellation_ = Listening::current();
  std::atomic<Size> next_ = 0;
  std::mutex guard_;
  std::exception_ptr failed_;
};

// A hint that this thread waits for a short time.
void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}
// Some microseconds: the next step of a network follows the last one at once. Longer ones sleep, so that a busy machine loses
// nothing.
template <class F>
bool soon(const F& done) {
  constexpr int looks = 500;
  for (int i = 0; i < looks; ++i) {
    if (done()) return true;
    pause();
  }
  return done();
}

// Threads that stay, started as they are first wanted. The caller of a job serves it too and waits only for helpers that are at an
// item of it: on a busy machine those that do not get to run are not waited for.
class Pool {
 public:
  static Pool& here() {
    static const bool once = [] {
      // A child process has none of the threads.
      ::pthread_atfork(nullptr, nullptr, [] { current() = new Pool; });
      return true;
    }();
    (void)once;
    return *current();
  }

  void run(Job& job, Size helpers) {
    offer(job, helpers);
    job.serve();
    {
      const std::lock_guard lock(guard_);
      std::erase(jobs_, &job);
    }
    if (soon([&] { return job.inside == 0; })) return;
    std::unique_lock lock(guard_);
    left_.wait(lock, [&] { return job.inside == 0; });
  }

 private:
  // Never destroyed: its threads live as long as the process.
  static Pool*& current() {
    static Pool* pool = new Pool;
    return pool;
  }

  void offer(Job& job, Size helpers) {
    const std::lock_guard lock(guard_);
    job.wanted = helpers;
    jobs_.push_back(&job);
    ++offers_;
    try {
      Size needed = 0;
      for (const Job* one : jobs_) needed += one->wanted + one->inside;
      for (; started_ < std::min(needed, most_threads); ++started_) std::thread([this] { help(); }).detach();
    } catch (const std::system_error&) {
      // The machine gives no more threads: those that there are do the work.
    }
    if (helpers == 1) come_.notify_one();
    else come_.notify_all();
  }

  void help() {
    while (true) {
      Job* const job = next_job();
      job->serve();
      const std::lock_guard lock(guard_);
      // The job may end with this.
      if (--job->inside == 0) left_.notify_all();
    }
  }

  Job* next_job() {
    const auto find = [&]() -> Job* {
      const auto found = std::ranges::find_if(jobs_, [](const Job* job) { return job->wanted > 0; });
      if (found == jobs_.end()) return nullptr;
      --(*found)->wanted, ++(*found)->inside;
      return *found;
    };
    const Size seen = offers_;
    {
      const std::lock_guard lock(guard_);
      if (Job* const job = find()) return job;
    }
    soon([&] { return offers_ != seen; });
    std::unique_lock lock(guard_);
    Job* job = nullptr;
    come_.wait(lock, [&] { return (job = find()) != nullptr; });
    return job;
  }

  static constexpr Size most_threads = 256;
  std::mutex guard_;
  std::condition_variable come_, left_;
  std::vector<Job*> jobs_;
  std::atomic<Size> offers_ = 0;
  Size started_ = 0;
};

}  // namespace

void for_each_item(int threads, Size count, const std::function<void(Size)>& work) {
  Job job(count, work);
  const auto wanted = std::min<Size>(threads, count);
  if (wanted > 1) Pool::here().run(job, wanted - 1);
  else job.serve();
  job.rethrow();
}

int threads_for(int wanted, double operations) {
  if (operations < 1e6) return 1;
  if (wanted > 0) return std::min(wanted, 256);
  static const auto machine = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return machine;
}

}  // namespace convoy
