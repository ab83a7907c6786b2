#include "explain/examples.h"

#include "graph/graph.h"
#include "run/run.h"

#include <fmt/format.h>

#include <algorithm>

namespace convoy::explain {
namespace {

constexpr Axes one_axis{Order::ChannelsFirst, 1};

Tensor along_time(const Numbers& x) { return Tensor::of({1, 1, static_cast<Size>(x.size())}, x); }

// The graph of one operator on x, and a kernel if there is one.
Result<Numbers> result(const Op& op, const Numbers& x, const Numbers* kernel = nullptr) {
  Graph graph;
  const Tensor tensor = along_time(x);
  std::vector<ValueId> inputs{graph.input("x", type_of(tensor))};
  if (kernel) inputs.push_back(graph.constant("w", along_time(*kernel)));
  auto outputs = graph.add(op, inputs, "example", "example");
  if (!outputs) return pass(outputs);
  graph.outputs = *outputs;
  graph.output_names = {"y"};
  RunOptions options;
  options.precision = Precision::Double;
  options.threads = 1;
  auto values = run(graph, {tensor}, options);
  if (!values) return pass(values);
  return values->at(outputs->front()).doubles();
}

Window window(Size kernel, Size stride, Size dilation = 1) { return {kernel, stride, dilation}; }

}  // namespace

Result<Numbers> convolved(const Numbers& x, const Numbers& kernel, Padding padding, Size stride, Size dilation) {
  Conv op;
  op.axes = one_axis;
  op.windows = {window(static_cast<Size>(kernel.size()), stride, dilation)};
  op.paddings = {padding};
  return result(op, x, &kernel);
}

Result<Numbers> transposed(const Numbers& x, const Numbers& kernel, TransposedPadding padding, Size stride) {
  ConvTranspose op;
  op.axes = one_axis;
  op.windows = {window(static_cast<Size>(kernel.size()), stride)};
  op.paddings = {padding};
  return result(op, x, &kernel);
}

Result<Numbers> maximum(const Numbers& x, Size kernel, Padding padding, Size stride) {
  MaxPool op;
  op.axes = one_axis;
  op.windows = {window(kernel, stride)};
  op.paddings = {padding};
  return result(op, x);
}

Result<Numbers> average(const Numbers& x, Size kernel, Padding padding, Size stride, bool counts_padding) {
  AveragePool op;
  op.axes = one_axis;
  op.windows = {window(kernel, stride)};
  op.paddings = {padding};
  op.counts_padding = counts_padding;
  return result(op, x);
}

Result<Numbers> padded(const Numbers& x, Added cells, PadMode mode) {
  Pad op;
  op.before = {0, 0, cells.before};
  op.after = {0, 0, cells.after};
  op.mode = mode;
  return result(op, x);
}

std::string text_of(const Numbers& numbers) {
  std::string text;
  for (const double n : numbers) text += fmt::format("{}{:.4g}", text.empty() ? "" : " ", n);
  return text;
}

}  // namespace convoy::explain
