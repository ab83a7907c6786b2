// Lists of cells to add or cut, as F.pad, tf.pad, ZeroPadding2D, Cropping2D, ONNX Pad and np.pad write them, said in each
// other's order.
#pragma once
#include "containers/json.h"
#include "containers/python/expression.h"
#include "ops/pad.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::explain {

// Axes are named by one letter each: N batch, C channels, D, H and W space. Where nobody says what the axes are, they
// are named a, b, c, ... and stay in their order in every framework.
struct PadList {
  std::string call;  // "F.pad"
  std::string axes;  // "NCHW"
  std::vector<Added> cells;  // one per axis, in that order; negative: cut off
  std::vector<std::optional<Size>> size;  // one per axis; nothing: any
  PadMode mode = PadMode::Constant;
  double value = 0;
  // A mirror or an edge sees all of x and the cut comes last (PyTorch); otherwise the cut comes first.
  bool cuts_last = false;
  bool named() const { return axes.empty() || axes.front() != 'a'; }
};

struct PadListLine {
  std::string framework, code, remark;
};

// Whether a call's name is one of those that are read here.
bool is_pad_list(std::string_view name);

// `layout`: "NCHW", or empty for what the framework is used with; `size`: of the spatial axes, or of all of them, or empty.
// Fails: Usage, where an argument or option makes no sense; Unsupported, where the framework itself refuses the call.
Result<PadList> read_pad_list(const python::Expression& call, const std::string& layout,
                              const std::vector<std::optional<Size>>& size);

std::vector<PadListLine> lines_of(const PadList& list);
// What the mode demands of every size: "reflect needs more rows than the 3 it adds".
std::vector<std::string> limits_of(const PadList& list);

// The cells of one axis of `size` cells after the list has been applied: the number of the cell that stands there, or -1
// for a constant. Fails: what the mode refuses at this size, nothing left.
Result<std::vector<Size>> cells_of(const PadList& list, std::size_t axis, Size size);

std::string text_of(const PadList& list);
Json json_of(const PadList& list);

}  // namespace convoy::explain
