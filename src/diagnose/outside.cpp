#include "diagnose/outside.h"

#include "base/shown.h"
#include "ops/axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

namespace convoy::diagnose {

namespace {

// Frameworks whose models are written for each other's arrays, and where their layers have channels that say nothing else.
enum class Kin : std::uint8_t { Torch, Onnx, TensorFlow };
Kin kin_of(const Graph& graph) {
  const std::string& format = graph.source_format;
  if (format.starts_with("ONNX")) return Kin::Onnx;
  return format.starts_with("PyTorch") || format.starts_with("TorchScript") ? Kin::Torch : Kin::TensorFlow;
}
Order convention_of(Kin kin) { return kin == Kin::TensorFlow ? Order::ChannelsLast : Order::ChannelsFirst; }

// What the layers of one model name, per input and output.
struct Names {
  Interface last, first;  // an axis of channels that lies last moves in the one, one that lies first in the other

  explicit Names(const Graph& graph)
      : last(interface_of(graph, Order::ChannelsFirst)),
        first(interface_of(graph, Order::ChannelsLast)) {}
};

std::optional<Order> named(const Border& last, const Border& first) {
  if (!last.channels_of.empty()) return Order::ChannelsLast;
  if (!first.channels_of.empty()) return Order::ChannelsFirst;
  return std::nullopt;
}

// Sizes that both say and that are equal. Below 0: some are not.
int likeness(const Shape& a, const Sizes& order_a, const Shape& b, const Sizes& order_b) {
  int equal = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Dim x = a[static_cast<std::size_t>(order_a[i])], y = b[static_cast<std::size_t>(order_b[i])];
    if (!x.known() || !y.known()) continue;
    if (x != y) return -1;
    ++equal;
  }
  return equal;
}

struct Laid {
  Sizes a, b;
  bool is_open = false;
};

bool may_be(Kin kin, Order order) { return kin == Kin::Onnx || convention_of(kin) == order; }

// No layer of either names channels, as where features are only averaged and multiplied: the sizes tell, and images of models
// whose frameworks have other conventions may lie by these.
Laid unnamed(const Shape& a, Kin kin_a, const Shape& b, Kin kin_b, const Laid& same, Unsaid unsaid) {
  const Sizes moved = to_channels_first(static_cast<Size>(a.size()) - 2);
  const int by_same = likeness(a, same.a, b, same.b);
  std::optional<Laid> turned;
  int by_turned = -1;
  for (const bool is_last_in_a : {true, false}) {
    const Order of_a = is_last_in_a ? Order::ChannelsLast : Order::ChannelsFirst;
    const Order of_b = is_last_in_a ? Order::ChannelsFirst : Order::ChannelsLast;
    if (!may_be(kin_a, of_a) || !may_be(kin_b, of_b)) continue;
    const Laid one = is_last_in_a ? Laid{moved, same.b} : Laid{same.a, moved};
    const int fits = likeness(a, one.a, b, one.b);
    if (turned && fits == by_turned) return same;  // either way
    if (fits > by_turned) turned = one, by_turned = fits;
  }
  if (!turned || by_turned < by_same) return same;
  if (by_turned > by_same) return *turned;
  const bool is_image = a.size() > 3 && convention_of(kin_a) != convention_of(kin_b);
  if (!is_image) return same;
  Laid result = unsaid == Unsaid::Convention ? *turned : same;
  result.is_open = true;
  return result;
}

// `may_turn`: also between models of frameworks with one convention. `inputs`: of outputs, how a's inputs lie where those of b
// lie otherwise.
Laid laid(const Shape& a, std::optional<Order> of_a, Kin kin_a, const Shape& b, std::optional<Order> of_b, Kin kin_b,
          bool may_turn, Unsaid unsaid, std::optional<Order> inputs) {
  const Sizes kept_a = own_order(a.size()), kept_b = own_order(b.size());
  if (a.size() != b.size() || a.size() < 3) return {kept_a, kept_b};
  const Sizes moved = to_channels_first(static_cast<Size>(a.size()) - 2);
  const bool is_last = of_a == Order::ChannelsLast || of_b == Order::ChannelsLast;
  const Laid same = is_last && of_a != Order::ChannelsFirst && of_b != Order::ChannelsFirst ? Laid{moved, moved}
                                                                                            : Laid{kept_a, kept_b};
  const auto turned_where = [&](bool is_last_in_a) { return is_last_in_a ? Laid{moved, kept_b} : Laid{kept_a, moved}; };
  // Neither names any: they may lie as the inputs do.
  if (!of_a && !of_b && inputs) {
    Laid turned = turned_where(*inputs == Order::ChannelsLast);
    const bool fits_turned = likeness(a, turned.a, b, turned.b) >= 0;
    if (likeness(a, same.a, b, same.b) < 0) return fits_turned ? turned : same;
    if (!fits_turned) return same;
    Laid result = unsaid == Unsaid::Convention ? turned : same;
    result.is_open = true;
    return result;
  }
  if (!of_a && !of_b) return unnamed(a, kin_a, b, kin_b, same, unsaid);
  if (of_a == of_b) return same;
  // One names what the other does not, or names the other order.
  const Laid turned = turned_where(of_a ? *of_a == Order::ChannelsLast : *of_b == Order::ChannelsFirst);
  const int by_same = likeness(a, same.a, b, same.b), by_turned = likeness(a, turned.a, b, turned.b);
  if (of_a && of_b) return by_turned >= 0 || by_same < 0 ? turned : same;
  const bool are_one_family = convention_of(kin_a) == convention_of(kin_b);
  if (are_one_family && !may_turn) return same;
  if (by_same != by_turned) return by_turned > by_same ? turned : same;
  if (are_one_family) return same;
  Laid result = unsaid == Unsaid::Convention ? turned : same;
  result.is_open = true;
  return result;
}

}  // namespace

Sizes own_order(std::size_t rank) {
  Sizes order(rank);
  std::iota(order.begin(), order.end(), Size{0});
  return order;
}

Outsides outsides_of(const Graph& a, const Graph& b, Unsaid unsaid) {
  const Names of_a(a), of_b(b);
  Outsides result;
  // ONNX files hold what either family wrote; where they take images as the other does, they may give them so as well.
  bool may_turn = kin_of(a) == Kin::Onnx || kin_of(b) == Kin::Onnx;
  std::optional<Order> turned_inputs;
  const auto lay = [&](std::string_view what, const std::string& name_a, const TensorType& x, const Border& last_a,
                       const Border& first_a, const std::string& name_b, const TensorType& y, const Border& last_b,
                       const Border& first_b, std::vector<Border>& to_a, std::vector<Border>& to_b) {
    const Laid both = laid(x.shape, named(last_a, first_a), kin_of(a), y.shape, named(last_b, first_b), kin_of(b),
                           may_turn, unsaid, turned_inputs);
    to_a.push_back({both.a, last_a.channels_of});
    to_b.push_back({both.b, last_b.channels_of});
    result.is_open = result.is_open || both.is_open;
    if (both.a == both.b) return;
    const bool is_last_in_a = both.b == own_order(y.shape.size());
    result.said.push_back(fmt::format("{} '{}' of a has its channels {}, '{}' of b has them {}", what, shown(name_a),
                                      is_last_in_a ? "last" : "first", shown(name_b), is_last_in_a ? "first" : "last"));
  };
  for (std::size_t i = 0; i < std::min(a.inputs.size(), b.inputs.size()); ++i) {
    const Value &x = a[a.inputs[i]], &y = b[b.inputs[i]];
    lay("input", x.name, x.type, of_a.last.inputs[i], of_a.first.inputs[i], y.name, y.type, of_b.last.inputs[i],
        of_b.first.inputs[i], result.a.inputs, result.b.inputs);
  }
  may_turn = may_turn && !result.said.empty();
  for (std::size_t i = 0; i < std::min(result.a.inputs.size(), result.b.inputs.size()); ++i) {
    const Sizes &x = result.a.inputs[i].permutation, &y = result.b.inputs[i].permutation;
    if (x != y) turned_inputs = y == own_order(y.size()) ? Order::ChannelsLast : Order::ChannelsFirst;
  }
  for (std::size_t i = 0; i < std::min(a.outputs.size(), b.outputs.size()); ++i)
    lay("output", a.output_names[i], a[a.outputs[i]].type, of_a.last.outputs[i], of_a.first.outputs[i],
        b.output_names[i], b[b.outputs[i]].type, of_b.last.outputs[i], of_b.first.outputs[i], result.a.outputs,
        result.b.outputs);
  // What the other model has no counterpart of.
  const auto fill = [](const Graph& graph, Interface& sides) {
    for (std::size_t i = sides.inputs.size(); i < graph.inputs.size(); ++i)
      sides.inputs.push_back({own_order(graph[graph.inputs[i]].type.shape.size()), {}});
    for (std::size_t i = sides.outputs.size(); i < graph.outputs.size(); ++i)
      sides.outputs.push_back({own_order(graph[graph.outputs[i]].type.shape.size()), {}});
  };
  fill(a, result.a);
  fill(b, result.b);
  return result;
}

}  // namespace convoy::diagnose
