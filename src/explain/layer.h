// One layer with windows, freed from the framework that said it: what every explanation, drawing and equivalent reads.
#pragma once
#include "ops/axes.h"
#include "ops/pad.h"
#include "ops/tensor_type.h"
#include "ops/transposed_vocabulary.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::explain {

std::string_view name_of(Framework framework);  // "PyTorch"

enum class Does : std::uint8_t { Convolve, Transpose, Maximum, Average, PowerNorm };

// A number of channels, or the name that stands for it in what is printed.
struct Channels {
  std::optional<Size> number;
  std::string name;
  std::string text() const { return number ? std::to_string(*number) : name; }
};

// Cells that an operator of its own puts in front of the windows, one count per spatial axis.
struct FrontPad {
  PadMode mode = PadMode::Constant;
  double value = 0;
  Sizes before, after;
};

// One window, padding (or crop, where Does::Transpose) and size per spatial axis.
struct Layer {
  Does does = Does::Convolve;
  Axes axes;
  std::vector<Dim> in;
  std::vector<Window> windows;
  std::vector<Padding> paddings;
  std::vector<TransposedPadding> crops;
  std::optional<FrontPad> front;
  Channels channels{{}, "c"}, filters{{}, "filters"};
  Size groups = 1;
  bool depthwise = false;  // groups are the channels, so that their number may be unknown as well
  Size multiplier = 1;     // of a depthwise layer: filters per channel
  bool biased = true;      // false only where the layer says that it has none
  bool counts_padding = false;       // of an average
  std::optional<Size> divisor;       // of an average
  double power = 2;                  // of a power norm

  std::size_t space() const { return windows.size(); }
  bool pools() const { return does != Does::Convolve && does != Does::Transpose; }
  std::vector<std::optional<Size>> sizes() const;
  bool size_known() const;
};

// How the framework's vocabulary is to be asked about this layer.
Speaker speaker(Framework framework, const Layer& layer);

// "rows", "cols", "depth"; "time" where there is one axis.
std::string axis_name(std::size_t axis, std::size_t space);

}  // namespace convoy::explain
