// Where piecewise operators change what they do, and which of these limits some numbers have been on both sides of.
#pragma once
#include "diagnose/choices.h"
#include "graph/graph.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convoy::diagnose {

// Where the operators of a piece change what they do with one value: numbers between which its readers are smooth. Zero is
// one of them, so that what lies between it and a limit close by is met as well.
struct Limits {
  ValueId value;
  std::vector<double> at;  // in order
  std::vector<std::string> layers;  // per limit, that has it; empty: zero, which is no limit of its own
  std::vector<bool> met;  // per stretch between two of them, with both ends
};
std::vector<Limits> limits_in(const Graph& piece);
// What an input of the piece must hold for its limits to be met, where steps that can be undone lead there.
std::vector<double> limits_at_inputs(const Graph& piece, const std::vector<Limits>& limits);

// Where an operator chooses among numbers, or compares two: what it does with equal ones shows where there are some.
struct Ties {
  ValueId value, other;  // other: what it is compared with; none: with the number, or itself along the axis
  std::optional<double> number = {};
  Size axis = 0, count = 1;  // of the numbers along the axis, so many are chosen
  bool largest = true;
  std::string layer = {};
  bool met = false;
};
std::vector<Ties> ties_in(const Graph& piece);

// A truth that is computed: what follows from it shows where it holds, and where it does not.
struct Truth {
  ValueId value;
  std::string layer;
  bool held = false, failed = false;
};

// Where numbers are rounded: what is done with one that lies on a step shows at no other.
struct Steps {
  ValueId value;
  double at = 0, apart = 1;  // one of them, and how far it is to the next that is treated alike
  std::string layer;
  bool met = false;
};

// What the numbers of a piece have reached so far.
struct Reached {
  std::vector<Limits> limits;
  std::vector<Ties> ties;
  std::vector<Truth> truths;
  std::vector<Steps> steps;
  std::vector<Choice> choices;
};
Reached nothing_reached(const Graph& piece);

// Notes where the numbers of these values lie.
void note(Reached& reached, const std::vector<Tensor>& values);

// Per stretch that was not met: by how much the numbers that lead to the value must grow or shrink to lie there.
std::vector<double> factors_toward(const Limits& limits, const std::vector<Tensor>& values);

// Where a piece goes one way or the other: a value is held against another one, or against a number.
struct Crossing {
  enum class Kind : std::uint8_t {
    Border,  // of a comparison or a limit
    Middle,  // of a sigmoid and its kin: right there it changes most
    Step  // of a rounding
  };
  ValueId value, other;
  double at = 0;
  Kind kind = Kind::Border;
};
// Comparisons, those limits that `other`, the piece it stands beside, has not as well, and the middle of functions that are
// flat beyond it and a step of those that round, where what they read is computed.
std::vector<Crossing> crossings_in(const Graph& piece, const Graph& other);
// By how much each number lies beyond the crossing; sizes 1 stretch. Empty: the shapes do not fit.
std::vector<double> beyond(const Crossing& crossing, const Graph& piece, const std::vector<Tensor>& values);

// Whether a limit, a truth or a side is left.
bool is_one_sided(const Reached& reached);
// "x > 100 at 'where'", per stretch that was not met; "equal numbers at 'argmax'", "true at 'all'".
std::vector<std::string> not_met(const Reached& reached);

}  // namespace convoy::diagnose
