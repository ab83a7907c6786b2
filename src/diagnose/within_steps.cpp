#include "diagnose/within_steps.h"

#include <fmt/format.h>

#include <cstdlib>

namespace convoy::diagnose {

namespace {

// What float32 adds to half a step.
double slack_of(const StepChannel& channel, double number) { return channel.reach * 1.004 + 1e-6 * std::abs(number); }

// Whether the number may have been cut off there.
bool is_first(const StepChannel& channel, double y) { return y <= channel.least; }
bool is_last(const StepChannel& channel, double y) { return y >= channel.most; }

}  // namespace

Between factors_within(const StepChannel& channel) {
  constexpr double endless = std::numeric_limits<double>::infinity();
  Between all{0, endless};
  for (std::size_t i = 0; i < channel.real.size(); ++i) {
    const double x = channel.real[i], y = channel.stepped[i], slack = slack_of(channel, y);
    const double low = is_first(channel, y) ? -endless : y - slack, high = is_last(channel, y) ? endless : y + slack;
    if (x == 0) {
      if (low > 0 || high < 0) return {1, 0};
    } else {
      all.narrow(x > 0 ? Between{low / x, high / x} : Between{high / x, low / x});
    }
  }
  return all;
}

Between shifts_within(const StepChannel& channel) {
  Between all;
  for (std::size_t i = 0; i < channel.real.size(); ++i) {
    const double x = channel.real[i], y = channel.stepped[i], slack = slack_of(channel, y);
    if (!is_first(channel, y)) all.least = std::fmax(all.least, y - slack - x);
    if (!is_last(channel, y)) all.most = std::fmin(all.most, y + slack - x);
  }
  return all;
}

double simplest_in(const Between& between) {
  const double middle = (between.least + between.most) / 2;
  constexpr int most_digits = 8;
  for (int digits = 1; digits <= most_digits; ++digits) {
    const double round = std::strtod(fmt::format("{:.{}g}", middle, digits).c_str(), nullptr);
    if (between.holds(round)) return round;
  }
  return middle;
}

}  // namespace convoy::diagnose
