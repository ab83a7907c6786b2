// What a layer multiplies and adds once the norms and factors behind it are taken in: so that a kernel with a norm folded
// into it can be compared, number by number, with the kernel and the norm.
#pragma once
#include "graph/graph.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace convoy::diagnose {

struct AffineForm {
  std::string layer;
  Sizes shape;  // of the kernel: a convolution's cells in one axis
  std::vector<double> kernel, bias;
  std::vector<double> bias_size;  // per channel: what the bias was added up of, by magnitude
  std::size_t out_axis = 0;  // of the shape
  Size groups = 1;
  int scalings = 0;  // how many steps scale the channels
  double least = -std::numeric_limits<double>::infinity(),
         most = std::numeric_limits<double>::infinity();  // cut off there
  bool is_cut() const { return std::isfinite(least) || std::isfinite(most); }
};
// Nothing: the piece is another than one layer with a kernel, what scales and shifts its channels, and limits to all of them.
std::optional<AffineForm> affine_form_of(const Graph& piece);

// The kernel's numbers by the output channels that they are for.
std::vector<std::vector<double>> kernels_of_channels(const AffineForm& form);

// The numbers of b that rounding a's does not explain; empty where it explains all of them, or where so many differ that
// they lie in another order. "kernel [4, 7] is 0.25 in a, 0.5 in b with the norms taken in; 1 of 800 numbers differs".
std::string unexplained_in(const AffineForm& a, const AffineForm& b);

// Rounding a factor moves all numbers of a channel by one share, but by a few units at most: channels whose numbers all lie
// further off, to one side. "the numbers of 7 of 8 output channels are larger in b, by up to 2.1e-06 of them".
std::string unexplained_factors_in(const AffineForm& a, const AffineForm& b);

// Whether rounding explains every number of both, and nothing is cut off: then they are one map, whatever they are fed, if they
// lie alike over their inputs.
bool are_one_map(const AffineForm& a, const AffineForm& b);

// Whether both have the same kernel to the last bit and, but for rounding, add the same.
bool adds_the_same(const AffineForm& a, const AffineForm& b);

}  // namespace convoy::diagnose
