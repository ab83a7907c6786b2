// What long work of the library is at, for whoever waits for it.
#pragma once
#include <cstddef>
#include <functional>
#include <string_view>

namespace convoy {

struct Progress {
  std::string_view step;  // "computing", "proving", "comparing", "looking for causes"
  std::size_t done = 0, of = 0;  // its layers; the one that is begun now is counted
  std::string_view layer;  // that one; may be empty. The text is there during the call alone
};

// While one lives, what its thread asks of the library tells `told` what it is at: in front of each layer, on that thread.
//   const convoy::Watching watching([](const convoy::Progress& at) { std::fprintf(stderr, "%zu of %zu\r", at.done, at.of); });
//   const auto y = model.run(inputs);
class Watching {
 public:
  using Told = std::function<void(const Progress&)>;
  explicit Watching(Told told);
  ~Watching();
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;

 private:
  Told told_;
  const Told* before_;
};

}  // namespace convoy
