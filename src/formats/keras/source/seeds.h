// Python's random numbers, which Keras draws the seeds of its initialisers from.
#pragma once
#include <array>
#include <cstdint>

namespace convoy::keras {

// random.seed(n); random.randint(1, 10 ** 9). Source: CPython's _randommodule.c and random.py; the generator is the Mersenne
// twister of Matsumoto and Nishimura, started by an array.
class Seeds {
 public:
  explicit Seeds(std::uint64_t seed) { restart(seed); }
  void restart(std::uint64_t seed);
  std::int64_t next();  // the seed that a layer or initialiser takes that is given none

 private:
  std::uint32_t bits();
  std::array<std::uint32_t, 624> state_{};
  std::size_t at_ = 0;
};

}  // namespace convoy::keras
