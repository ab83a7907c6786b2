// How a caller ends early what it asked of the library.
#pragma once
#include <atomic>

namespace convoy {

// Shared between who works and who may want it to end. What is ended so fails with Fault::Cancelled and leaves no file behind.
class Cancellation {
 public:
  void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }  // from any thread
  bool is_cancelled() const noexcept { return cancelled_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> cancelled_ = false;
};

// While one lives, what its thread asks of the library, and the threads that work for it, listen to `cancellation`.
//   convoy::Cancellation stop;               // another thread calls stop.cancel()
//   const convoy::Listening listening(stop);
//   const auto y = model.run(inputs);        // ends within about 0.1 s
class Listening {
 public:
  explicit Listening(const Cancellation& cancellation) noexcept : Listening(&cancellation) {}
  // Null: to none.
  explicit Listening(const Cancellation* cancellation) noexcept;
  ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

  // What this thread listens to.
  static const Cancellation* current() noexcept;
  // Whether this thread's work is to end.
  static bool is_cancelled() noexcept;

 private:
  const Cancellation* before_;
};

}  // namespace convoy
