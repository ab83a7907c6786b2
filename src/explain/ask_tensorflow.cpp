// TensorFlow's functions: the row of tf.NAME, with filters that fit the call.
#include "explain/asked.h"
#include "formats/tf/functions.h"

#include <algorithm>

namespace convoy::explain {
namespace {

using python::Expression;
using python::Kind;

std::size_t axes_of(const Asked& asked, const Question& question) {
  if (const auto axes = axes_in(asked.named.function)) return *axes;
  if (const Expression* format = asked.arguments.find("data_format"); format && format->text.size() > 2)
    return format->text.size() - 2;
  if (const Expression* window = asked.arguments.find("window_shape"); window && !window->items.empty())
    return window->items.size();
  for (const char* key : {"ksize", "strides"})
    if (const Expression* list = asked.arguments.find(key); list && list->items.size() > 1)
      return list->items.size() > 3 ? list->items.size() - 2 : list->items.size();
  if (question.kernel.size() > 1) return question.kernel.size();
  return question.size.size() > 1 ? question.size.size() : 2;
}

// The sizes asked for. Batch and channels may be names: they get numbers that fit.
Result<Json> output_shape(const Asked& asked, std::size_t axes, Order order, Channels& filters, Json& batch) {
  const Expression* shape = asked.arguments.find("output_shape");
  if (!shape || shape->items.empty())
    return fail(Fault::Usage, "output_shape is not written out; TensorFlow's crop depends on it: write its numbers");
  const bool all = shape->items.size() == axes + 2;
  Json list = Json::array();
  for (std::size_t i = 0; i < shape->items.size(); ++i) {
    const Expression& e = shape->items[i];
    const bool is_batch = all && i == 0, is_channels = all && i == (order == Order::ChannelsFirst ? 1 : axes + 1);
    if (e.kind == Kind::Integer) {
      if (is_channels) filters.number = e.integer;
      if (is_batch) batch = e.integer;
      list.push_back(e.integer);
    } else if (is_batch || is_channels) {
      if (is_channels) filters.name = asked.arguments.source(e);
      list.push_back(1);
    } else {
      return fail(Fault::Usage,
                  "output_shape holds '" + asked.arguments.source(e) + "', which is not evaluated; write its number");
    }
  }
  return list;
}

// The first of `names` that the function has.
std::string argument_of(const std::string& function, std::initializer_list<std::string_view> names) {
  const FunctionRow* row = row_of(tf::functions(), function);
  for (const auto word : names)
    if ((" " + std::string(row->parameters) + " ").find(" " + std::string(word) + " ") != std::string::npos)
      return std::string(word);
  return "input";
}

// The order that the call says, else the question's, which is then said in the call.
Order said_order(Json& arguments, std::optional<Order> layout, std::size_t axes) {
  if (const auto said = arguments.find("data_format"); said != arguments.end())
    return said->is_string() && said->get<std::string>().starts_with("NC") ? Order::ChannelsFirst : Order::ChannelsLast;
  if (layout != Order::ChannelsFirst) return Order::ChannelsLast;
  arguments["data_format"] = axes == 1 ? "NCW" : axes == 2 ? "NCHW" : "NCDHW";
  return Order::ChannelsFirst;
}

// The kernels of a convolution, and where the call says it, the size of its output.
Status add_kernels(const Asked& asked, const Question& question, std::size_t axes, Order order, Json& arguments,
                   Spoken& spoken, TensorArguments& tensors) {
  const std::string& name = asked.named.function;
  const Size channels = question.channels.value_or(1);
  auto kernel = kernel_for(question, axes);
  if (!kernel) return pass(kernel);
  Shape shape(kernel->begin(), kernel->end());
  if (name.contains("transpose")) {
    Json batch;
    auto wanted = output_shape(asked, axes, order, spoken.filters, batch);
    if (!wanted) return pass(wanted);
    arguments["output_shape"] = std::move(*wanted);
    shape.emplace_back(spoken.filters.number.value_or(1));
    shape.emplace_back(channels);
  } else {
    shape.emplace_back(channels);
    shape.emplace_back(1);
  }
  tensors.emplace(argument_of(name, {"filters", "depthwise_filter", "filter"}),
                  spoken.graph.input("w", {DType::F32, std::move(shape)}));
  if (name.contains("separable"))
    tensors.emplace("pointwise_filter", spoken.graph.input("p", {DType::F32, {1, 1, channels, 1}}));
  return {};
}

}  // namespace

Result<Spoken> ask_tensorflow(const Asked& asked, const Question& question) {
  const std::string& name = asked.named.function;
  const std::size_t axes = axes_of(asked, question);
  if (axes > 3) return fail(Fault::Unsupported, "reads " + std::to_string(axes) + " spatial axes");
  auto sizes = sizes_for(question, axes);
  if (!sizes) return pass(sizes);
  auto layout = order_for(question, axes);
  if (!layout) return pass(layout);
  auto json = asked.arguments.json({"input", "filters", "filter", "value", "tensor", "depthwise_filter",
                                    "pointwise_filter", "out_backprop", "name", "output_shape"});
  if (!json) return pass(json);
  const Order order = said_order(*json, *layout, axes);
  Spoken spoken;
  if (question.channels) spoken.channels.number = *question.channels;
  const Size channels = question.channels.value_or(1);
  TensorArguments tensors;
  if (name.contains("conv")) {
    auto added = add_kernels(asked, question, axes, order, *json, spoken, tensors);
    if (!added) return pass(added);
  } else if (!question.kernel.empty()) {
    return fail(Fault::Usage, "--kernel: the call says its own");
  }
  spoken.depthwise = name.contains("depthwise") || name.contains("separable");
  const std::string reads = argument_of(name, {"input", "value", "tensor"});
  const auto input =
      padded_input(asked, reads, tf::functions(), spoken, spoken.graph.input("x", input_type(order, channels, *sizes)));
  if (!input) return std::unexpected(input.error());
  tensors.emplace(reads, *input);
  auto made = call_function(tf::functions(), spoken.graph, name, *json, std::move(tensors), name);
  if (!made) return pass(made);
  spoken.graph.outputs = *made;
  return spoken;
}

}  // namespace convoy::explain
