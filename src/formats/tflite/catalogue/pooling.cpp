// MAX_POOL_2D, AVERAGE_POOL_2D and L2_POOL_2D: padding is no part of a maximum, a mean or a mean of squares.
#include "formats/tflite/catalogue/catalogue.h"
#include "formats/tflite/options.h"

#include <array>

namespace convoy::tflite {
namespace {

constexpr Axes axes{Order::ChannelsLast, 2};

struct PoolGeometry {
  std::vector<Window> windows;
  std::vector<Padding> paddings;
};

PoolGeometry geometry(FunctionCall& call) {
  Sizes kernel;
  for (const char* option : {"filter_height", "filter_width"}) {
    kernel.push_back(call.attrs.integer(option));
    if (kernel.back() < 1)
      call.refuse(Fault::Format, std::string("option '") + option + "' is " + std::to_string(kernel.back()));
  }
  return {windows_of(kernel, per_axis(call, "stride_", 2), {1, 1}), paddings_of(call, 2)};
}

std::vector<ValueId> max_pool(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  PoolGeometry g = geometry(call);
  return {activated(call, call.add(MaxPool{axes, std::move(g.windows), std::move(g.paddings)}, {x}))};
}

ValueId mean(FunctionCall& call, ValueId x) {
  PoolGeometry g = geometry(call);
  return call.add(AveragePool{axes, std::move(g.windows), std::move(g.paddings), false, {}}, {x});
}

std::vector<ValueId> average_pool(FunctionCall& call) { return {activated(call, mean(call, call.tensor("input")))}; }

std::vector<ValueId> l2_pool(FunctionCall& call) {
  const ValueId squares = call.add(Unary{Function::Square}, {call.tensor("input")});
  return {activated(call, call.add(Unary{Function::Sqrt}, {mean(call, squares)}))};
}

constexpr std::string_view pool_options =
    "padding:b stride_w:i stride_h:i filter_width:i filter_height:i fused_activation_function:b";

constexpr std::array pooling_table{
    Operator{"MAX_POOL_2D", 17, "input", 5, pool_options, max_pool},
    Operator{"AVERAGE_POOL_2D", 1, "input", 5, pool_options, average_pool},
    Operator{"L2_POOL_2D", 12, "input", 5, pool_options, l2_pool},
};

}  // namespace

std::span<const Operator> pooling_operators() { return pooling_table; }

}  // namespace convoy::tflite
