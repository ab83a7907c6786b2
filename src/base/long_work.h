// How work tells what it is at to who watches it (convoy/progress.h), and hears that it is not wanted any more.
#pragma once
#include "convoy/progress.h"
#include "convoy/result.h"

namespace convoy {

// So many steps. Of work within work the outermost is told.
class LongWork {
 public:
  LongWork(std::string_view name, std::size_t count);
  ~LongWork();
  LongWork(const LongWork&) = delete;
  LongWork& operator=(const LongWork&) = delete;
  // A step is begun.
  void next(std::string_view layer) { at(done_ + 1, layer); }
  void at(std::size_t done, std::string_view layer);

 private:
  std::string_view name_;
  std::size_t count_, done_ = 0;
};

// Between steps that go on without an answer where one inside them failed. Fails: Cancelled.
Status still_wanted(std::string_view what);

}  // namespace convoy
