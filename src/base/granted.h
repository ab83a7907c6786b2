// One budget for the calls of a library, which come from several threads.
#pragma once

namespace convoy::budget {

// What is granted to files lasts as long as some call does. Calls side by side share it: the largest grant holds for all.
class Granted {
 public:
  Granted();  // what the thread grants (convoy/granting.h)
  Granted(const Granted&) = delete;
  Granted& operator=(const Granted&) = delete;
  ~Granted();
};

}  // namespace convoy::budget
