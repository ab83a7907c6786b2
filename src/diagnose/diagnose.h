// Where two models part, why, and what to write instead. Both are read, brought into one form, aligned, and compared
// stretch by stretch: each stretch of b gets the very numbers that a's gets, so that every difference is a difference of
// that stretch alone. The bound is that of the proof (prove/bound.h): r beyond its limit is no rounding.
#pragma once
#include "diagnose/outside.h"
#include "graph/graph.h"
#include "ops/padding.h"
#include "ops/transposed_padding.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::diagnose {

struct Options {
  std::vector<Tensor> inputs;  // for a, in its own order; empty: probing numbers
  std::uint64_t seed = 0;
  int threads = 0;
  bool maps = false;  // where on each feature map the numbers differ
  // One of the models is source without weights: what stands for each other, and has the same shape, holds a's numbers.
  bool shares_weights = false;
};

// Where the numbers of a stretch differ: of each place the largest over batch and channels, long axes in blocks. 0: equal;
// 1 to 99: a share of what rounding explains; 100 to 255: beyond it, by powers of ten.
struct ErrorMap {
  Size rows = 0, cols = 0;  // of the map; nothing where there is none
  Size full_rows = 0, full_cols = 0;  // of what it stands for
  bool of_channels = false;  // the columns are channels: the value has no places
  std::vector<std::uint8_t> cells;
};

// The windows of a layer along one axis, at the size at which it was compared.
struct AxisOfWindows {
  Window window;
  Size in = 0;
  std::optional<Placement> placed;
  std::optional<Crop> cut;  // of a transposed convolution
};

// The lines to write so that the layer does what a's does, in both source styles.
struct Fix {
  std::string torch, keras;
};

struct Layer {
  std::string a, b;  // layers, by the names in the files
  std::string shape_a, shape_b;
  Sizes sizes_a, sizes_b;  // the same, of the inputs that were tried first
  std::string pads_a, pads_b;  // as numbers, where the layer has windows
  double r = 0, limit = 0, largest = 0, share = 0;
  Size terms = 0;
  bool same = true;
  ErrorMap map;
  std::string value_a, value_b;  // what is compared, by its name in the comparable form
  Sizes permutation;  // from a's axes to b's
};

struct Finding {
  std::string a, b;  // the layers at fault
  std::size_t shows_in =
      0;  // the stretch in which that shows, by its place among Diagnosis::layers, or behind the last
  std::string cause;  // an identifier of cause.h; "unknown": nothing explains it
  std::vector<std::string> also;  // other causes that give the same numbers
  std::string says;  // what was changed in a to get b's numbers
  double ratio = 0, limit = 0, ratio_after_fix = 0;
  double largest = 0, share = 0;
  std::string next;  // the nearest other explanation
  double ratio_next = 0;
  bool certain = true;
  bool other_shape = false;
  std::string size;  // at which it shows
  std::string separating_size;  // of the input, at which the causes under `also` would give other numbers; may be empty
  std::string what_a, what_b;  // the operators with their attributes
  std::vector<AxisOfWindows> windows_a, windows_b;  // of layers that have some
  Fix fix;
};

// What `same` stands on.
struct Scope {
  int stretches = 0, identical = 0;  // the latter: operator by operator, number by number
  int tensors = 0, equal = 0, moved = 0;  // of weights: to the last bit; the same numbers in another order
  std::vector<std::string> not_reached;  // "x > 100 at 'where'"
  std::vector<std::string>
      not_finite;  // "'div' of b with numbers up to 1e+03": where the other one's numbers are finite
  std::vector<std::string> other_types;  // "output 'y' is int64 in a, float32 in b": numbers alone are compared
};

// How much of a layer's numbers a model of steps keeps, beside one of real numbers.
struct LayerLoss {
  std::string a, b;  // layers
  double decibels = 0;  // of the layer by itself: it reads what the real one reads
  double together = 0;  // with all that was lost in front of it
};

struct Diagnosis {
  bool same = true;
  std::vector<LayerLoss> losses;  // where one model rounds to steps and the other does not: worst first
  bool rounds_weights_alone = false;  // one model's weights lie on steps, and nothing else is rounded
  std::vector<Layer> layers;
  std::vector<Finding> findings;  // in the order in which a computes the layers
  std::vector<std::string> sizes;
  int weighted_a = 0, weighted_b = 0, by_weights = 0, by_place = 0;
  int shared = 0;  // tensors of b that were given a's numbers
  std::vector<std::string> only_a, only_b;
  std::vector<std::string>
      hidden_orders;  // layers of a whose channels lie in another order in b, and in all that reads them
  Scope scope;
  Unsaid unsaid = Unsaid::Convention;  // how inputs and outputs were held against each other,
  std::vector<std::string> outside;  // and each that does not lie in b as it does in a: a sentence
  double outputs_largest = 0;  // of the outputs, run freely
  double outputs_scale = 0;  // the largest magnitude of a's
  // Where they are far apart although every stretch agrees: how far the last digits of a's weights alone move them.
  double outputs_moved = 0;
  // Of a model of steps beside one of real numbers: how far its ranges alone move the outputs, and the layer most of whose numbers lie
  // beyond its range (empty: none), with their share.
  double outputs_with_ranges = 0;
  std::string beyond_range;
  double share_beyond = 0;
  bool outputs_agree = false;  // each to within a millionth of its own largest, whole numbers to the last bit
};

// Fails: a model that cannot be run, or inputs that cannot be brought together.
Result<Diagnosis> diagnose(const Graph& a, const Graph& b, const Options& options = {});

}  // namespace convoy::diagnose
