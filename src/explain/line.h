// A layer as lines of code in another framework's words, and for which input sizes they hold.
#pragma once
#include "explain/layer.h"
#include "explain/validity.h"

#include <string>
#include <string_view>
#include <vector>

namespace convoy::explain {

// Statements in order. One that is an expression is applied to x: a layer is called with it, a tensor takes its place.
// Where `equal` is false, they are what is often written instead, and `remark` says how it differs. No code: the
// framework cannot say it, and `remark` says why.
struct Line {
  Framework framework = Framework::Torch;
  std::vector<std::string> code;
  std::string holds;
  bool equal = true;
  std::string remark;
};

std::vector<Line> lines_in_torch(const Layer& layer);
std::vector<Line> lines_in_keras(const Layer& layer);
std::vector<Line> lines_in_tensorflow(const Layer& layer);
std::vector<Line> lines_in_onnx(const Layer& layer);
std::vector<Line> lines_in_tflite(const Layer& layer);
std::vector<Line> lines_in_coreml(const Layer& layer);
std::vector<Line> lines_in(Framework framework, const Layer& layer);

// ---- what they share

// The layer's padding in the framework's own words, and where it holds: for every size, or else for the one known.
// VALID is said wherever it means the same. Nothing: a pad in front is needed.
struct Direct {
  Form form = Form::Valid;
  std::vector<Padding> paddings;
  Validity validity;
};
std::optional<Direct> direct(Framework framework, const Layer& layer);
// The same in this one form.
std::optional<Direct> direct(Framework framework, const Layer& layer, Form form, bool at_every_size);

// Cells to put in front so that windows without padding read the same. Nothing: they change with the size, which is free.
struct InFront {
  Sizes before, after;
  Validity validity;
  bool none() const;
};
std::optional<InFront> in_front(const Layer& layer);

// The crops of a transposed layer, the same at every size. Nothing: none is left.
struct Cuts {
  Sizes before, after;
};
std::optional<Cuts> cuts_of(const Layer& layer);

// "3", "(3, 1)", "[3, 1]"; "[[0, 0], [1, 2], [0, 0]]" for every axis of the input in this order.
std::string tuple_or_one(const Sizes& numbers);
std::string list(const Sizes& numbers);
std::string pairs_of_all_axes(Order order, const Sizes& before, const Sizes& after);
// What stands beside each other along spatial axis i of a channels-last x, whose border is wrapped around or else repeated
// by the function `repeat`: "x[:, -2:]", "x". "x" alone: nothing is added along this axis.
std::vector<std::string> with_border(const FrontPad& front, std::size_t i, std::string_view repeat);
Sizes kernels(const Layer& layer);
Sizes strides(const Layer& layer);
Sizes dilations(const Layer& layer);
bool all_are(const Sizes& numbers, Size n);
// "Name(a, b)"
std::string call(const std::string& name, const std::vector<std::string>& arguments);
// "2D"
std::string dimensions(const Layer& layer);
// The filters of the layer, as text; of a depthwise layer channels times multiplier.
std::string filters_text(const Layer& layer);

}  // namespace convoy::explain
