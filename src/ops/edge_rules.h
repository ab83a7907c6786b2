// What frameworks answer where the formula leaves it open: numbers that are none, infinite ones, and whole ones that no longer
// fit. A reader states its framework's rules, the graph carries them, and the kernels follow the rule and know no framework.
#pragma once
#include <cstdint>

namespace convoy {

// Where a search for the extreme of a row ends when NaN are among its numbers.
enum class NanInSearch : std::uint8_t {
  IsExtreme,  // at the first NaN
  StaysInFront,  // no comparison holds for one, so it stays where it comes first, and is passed over elsewhere
  IsPassedOver  // nowhere: the search begins at the lowest finite number, and names the first place where nothing is above that
};

struct EdgeRules {
  bool max_pools_pass_over_nan = false;  // and begin at the lowest finite number; otherwise a NaN is the maximum
  NanInSearch nan_in_search = NanInSearch::IsExtreme;
  bool thresholds_stop_nan = false;  // a NaN is not above a threshold, and what is not becomes 0 or the value
  bool sign_of_nan_is_zero = false;
  bool open_bounds_are_finite = false;  // a clip without a bound has the last finite number there
  // Sums, products, powers and remainders as of C of whole numbers run in float64. What 32 bits do not hold stops at the last number; of a power it
  // becomes the lowest, as a cast has it.
  bool whole_folds_in_fractions = false;
  // Numbers of 16 bits are kept in float32 from one operator to the next, and rounded where they are cast or handed out.
  bool halves_stay_wide = false;

  friend bool operator==(const EdgeRules&, const EdgeRules&) = default;
};

inline constexpr EdgeRules torch_rules{.sign_of_nan_is_zero = true};
inline constexpr EdgeRules tensorflow_rules{
    .max_pools_pass_over_nan = true, .nan_in_search = NanInSearch::IsPassedOver, .thresholds_stop_nan = true};
// Its maxima over windows and rows run on vectors of numbers, and a NaN's place in these decides whether it passes.
inline constexpr EdgeRules onnx_runtime_rules{.nan_in_search = NanInSearch::StaysInFront,
                                              .thresholds_stop_nan = true,
                                              .open_bounds_are_finite = true,
                                              .whole_folds_in_fractions = true,
                                              .halves_stay_wide = true};

}  // namespace convoy
