// TensorFlow's cases: the attributes of a case become the arguments of the function that it called.
#include "formats/tf/functions.h"

#include "functions/evaluate.h"
#include "golden/calls.h"

#include <array>

namespace convoy::golden {
namespace {

// "nn.conv2d" of "tf.nn.conv2d(x, w, ...)"; a call within tf.pad(...) is the one that counts.
std::string tensorflow_function_of(const Case& c) {
  const bool wrapped = c.op != "pad" && c.call.starts_with("tf.pad(");
  const std::size_t begin = c.call.find("tf.", wrapped ? 7 : 0);
  if (begin == std::string::npos) return {};
  return c.call.substr(begin + 3, c.call.find('(', begin) - begin - 3);
}

struct Call {
  std::string function;
  std::vector<std::string> arrays;  // the function's names for x, w, p
  Json arguments;
};

void rename(Json& arguments, const char* from, const char* to) {
  if (!arguments.contains(from)) return;
  arguments[to] = arguments[from];
  arguments.erase(from);
}

// A case says the same attributes of all functions; each function has its own words for some of them.
Call call_of(const Case& c) {
  Call call{tensorflow_function_of(c), {"input", "filters"}, c.attrs};
  Json& a = call.arguments;
  const auto called = [&](std::string_view name) { return call.function == name; };
  a.erase("crop");
  if (called("pad")) call.arrays = {"tensor"};
  if (call.function.find("image.resize") != std::string::npos) call.arrays = {"images"};
  if (call.function.starts_with("compat.v1.image.resize_")) a.erase("method");
  if (called("nn.conv1d")) rename(a, "strides", "stride");
  if (called("nn.pool")) {
    rename(a, "ksize", "window_shape");
    a["pooling_type"] = c.op == "max_pool" ? "MAX" : "AVG";
    if (a["data_format"] == "NHWC" || a["data_format"] == "NWC" || a["data_format"] == "NDHWC") a.erase("data_format");
  }
  if (call.function.starts_with("nn.atrous_")) {
    call.arrays = {"value", "filters"};
    a["rate"] = a["dilations"][0];
    for (const char* fixed : {"strides", "dilations", "data_format"}) a.erase(fixed);
  }
  if (called("nn.depthwise_conv2d")) call.arrays = {"input", "filter"};
  if (called("nn.separable_conv2d")) call.arrays = {"input", "depthwise_filter", "pointwise_filter"};
  if (called("nn.depthwise_conv2d") || called("nn.separable_conv2d"))
    a["strides"] = Json{1, a["strides"][0], a["strides"][1], 1};
  if (called("raw_ops.Conv2DBackpropInput")) {
    call.arrays = {"out_backprop", "filter"};
    rename(a, "output_shape", "input_sizes");
    Json flat = Json::array();
    for (const Json& pair : a["padding"])
      for (const Json& number : pair) flat.push_back(number);
    a["explicit_paddings"] = flat;
    a["padding"] = "EXPLICIT";
  }
  return call;
}

// Cells cut off behind a call on the first spatial axis; a negative count is a pad.
Result<Tensor> cropped(const Tensor& y, const Json& crop) {
  Graph graph;
  Sizes before(y.shape().size(), 0), after = before;
  before[1] = -crop[0].get<Size>();
  after[1] = -crop[1].get<Size>();
  auto outputs = graph.add(Pad{before, after, PadMode::Constant, 0}, {graph.input("y", type_of(y))}, "crop");
  if (!outputs) return pass(outputs);
  graph.outputs = *outputs;
  graph.output_names = {"cropped"};
  return answer_of(std::move(graph), y, Way::Plain);
}

}  // namespace

Result<Answer> answer_tensorflow(const Case& c) {
  const Call call = call_of(c);
  if (!row_of(tf::functions(), call.function)) return not_mapped("TensorFlow's " + call.function);
  constexpr std::array inputs{"x", "w", "p"};
  std::vector<View> views;
  views.reserve(inputs.size());
  std::vector<ArrayArgument> arrays;
  for (std::size_t i = 0; i < call.arrays.size(); ++i)
    if (const Array* array = c.input(inputs[i])) arrays.push_back({call.arrays[i], &views.emplace_back(array->tensor)});
  auto results = evaluate(tf::functions(), call.function, arrays, call.arguments);
  if (!results) return pass(results);
  Answer answer{{std::move(results->front()), c.want ? c.want->layout : ""}, {}, {}};
  if (results->size() > 1) answer.indices = std::move((*results)[1]);
  if (!c.attrs.contains("crop")) return answer;
  auto rest = cropped(answer.array.tensor, c.attrs["crop"]);
  if (!rest) return pass(rest);
  answer.array.tensor = std::move(*rest);
  return answer;
}

}  // namespace convoy::golden
