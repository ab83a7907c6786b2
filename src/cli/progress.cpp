#include "cli/progress.h"

#include "base/shown.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace convoy::cli {

ProgressLine::ProgressLine(bool wanted) : wanted_(wanted && isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::clear() {
  if (std::exchange(shown_, false)) std::fputs("\r\033[K", stderr);
}

void ProgressLine::show(std::string_view step, std::size_t done, std::size_t of, std::string_view what) {
  using namespace std::chrono_literals;
  const auto now = Clock::now();
  if (!wanted_ || now - begun_ < 500ms || now - last_ < 100ms) return;
  last_ = now;
  shown_ = true;
  const double seconds = std::chrono::duration<double>(now - begun_).count();
  std::fputs(fmt::format("\r\033[K{}  {} of {}  {}  {:.1f} s", step, done, of, shown(what), seconds).c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace convoy::cli
