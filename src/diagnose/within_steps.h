// Numbers on steps beside the real ones that were rounded to them: the factors and the shifts that leave all of them within half a
// step.
#pragma once
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

namespace convoy::diagnose {

// Both ends count; empty where `least` is beyond `most`.
struct Between {
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
  bool holds(double x) const { return least <= x && x <= most; }
  bool is_empty() const { return !(least <= most); }
  void narrow(const Between& other) { least = std::fmax(least, other.least), most = std::fmin(most, other.most); }
};

// One channel: the real numbers, and those on steps, both in ascending order. The first and the last of the tensor on steps may
// stand for more than they are. `reach`: how far rounding brings a number, half a step.
struct StepChannel {
  std::vector<double> real, stepped;
  double reach = 0, least = 0, most = 0;
};

// real * factor lies within reach of the steps, for positive factors.
Between factors_within(const StepChannel& channel);
// real + shift does.
Between shifts_within(const StepChannel& channel);

// The number of fewest digits in it.
double simplest_in(const Between& between);

}  // namespace convoy::diagnose
