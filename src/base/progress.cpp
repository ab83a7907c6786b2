#include "base/long_work.h"

#include "convoy/cancellation.h"

#include <utility>

namespace convoy {
namespace {

thread_local const Watching::Told* watcher = nullptr;
thread_local int works = 0;

}  // namespace

Watching::Watching(Told told) : told_(std::move(told)), before_(std::exchange(watcher, told_ ? &told_ : nullptr)) {}
Watching::~Watching() { watcher = before_; }

LongWork::LongWork(std::string_view name, std::size_t count) : name_(name), count_(count) { ++works; }
LongWork::~LongWork() { --works; }

void LongWork::at(std::size_t done, std::string_view layer) {
  done_ = done;
  if (watcher && works == 1) (*watcher)({name_, done_, count_, layer});
}

Status still_wanted(std::string_view what) {
  if (Listening::is_cancelled()) return fail(Fault::Cancelled, std::string(what) + " was cancelled");
  return {};
}

}  // namespace convoy
