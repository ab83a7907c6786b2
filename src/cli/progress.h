// One line on standard error that says what long work is at: on a terminal only, and only after half a second.
#pragma once
#include "convoy/progress.h"

#include <chrono>
#include <cstddef>
#include <string_view>

namespace convoy::cli {

class ProgressLine {
 public:
  explicit ProgressLine(bool wanted);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  // "comparing  41 of 167  block4_3/depthwise  6.2 s"
  void show(std::string_view step, std::size_t done, std::size_t of, std::string_view what);
  // Before something else is said.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool wanted_, shown_ = false;
  Clock::time_point begun_ = Clock::now(), last_{};
};

// The same for what the library does while it lives.
class WorkLine {
 public:
  explicit WorkLine(bool wanted)
      : line_(wanted),
        watching_([this](const Progress& at) { line_.show(at.step, at.done, at.of, at.layer); }) {}

 private:
  ProgressLine line_;
  Watching watching_;
};

}  // namespace convoy::cli
