// Which known mistake turns the pads of a layer into others, by the cells that windows read.
#pragma once
#include "ops/padding.h"

#include <string_view>
#include <vector>

namespace convoy::diagnose {

// One entry per spatial axis. Pads are numbers, which hold at the size `in`.
struct PadsChange {
  std::vector<Padding> was, now;
  std::vector<Window> windows;
  Sizes in;
  bool pools = false;
};

// An identifier of cause.h; "pad_amount" where no mistake is known that gives these numbers.
std::string_view cause_of_pads(const PadsChange& change);

// Whether half the kernel on both sides stands in place of SAME, or the other way round. At some sizes SAME_LOWER reads as
// equal pads do: what has the very numbers of a turned SAME is not meant.
bool is_same_as_symmetric(const PadsChange& change);

}  // namespace convoy::diagnose
