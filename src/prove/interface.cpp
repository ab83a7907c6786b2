#include "prove/interface.h"

#include "ops/expect.h"
#include "prove/compare.h"
#include "prove/meeting.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <type_traits>

namespace convoy {

namespace {

template <class T, class... All>
concept AnyOf = (std::is_same_v<T, All> || ...);
// Operators whose result has other axes than what they read, or whose axes are not those of what they read.
template <class T>
concept MakesAxes = T::traits.axes == AxisUse::Made;
// Windowed layers say themselves which of their axes holds the channels, on both sides.
template <class T>
concept HasWindows = requires(const T& op) { op.axes.channel(); };

constexpr Size image_rank = 4;

bool carries_axes(const Op& op, Size rank) {
  return op.visit([&]<class T>(const T& o) {
    if constexpr (MakesAxes<T> || HasWindows<T>) return false;
    else if constexpr (std::is_same_v<T, Reduce>) return o.keeps_axes;
    else if constexpr (std::is_same_v<T, Linear>) return rank >= image_rank;
    else return true;
  });
}

// What one layer says of a value that it reads or makes.
struct Word {
  std::optional<Size> channels;
  bool walks = false;  // along the value's axis of time
};

bool is_space(const Sizes& axes, Size first, Size count) {
  Sizes space(static_cast<std::size_t>(count));
  std::iota(space.begin(), space.end(), first);
  return axes == space;
}

Word word_of(const Op& op, Size rank, bool reads) {
  return op.visit([&]<class T>(const T& o) -> Word {
    if constexpr (HasWindows<T>) {
      if (o.axes.space + 2 != rank) return {};
      return {o.axes.order == Order::ChannelsLast ? rank - 1 : 1};
    } else if constexpr (AnyOf<T, DepthToSpace, SpaceToDepth>) {
      return {o.order == Order::ChannelsLast ? 3 : 1};
    } else if constexpr (std::is_same_v<T, GridSample>) {
      return {1};
    } else if constexpr (std::is_same_v<T, Unfold>) {
      return reads ? Word{1} : Word{};
    } else if constexpr (std::is_same_v<T, Fold>) {
      return reads ? Word{} : Word{1};
    } else if constexpr (std::is_same_v<T, Resize>) {
      if (rank > 2 && is_space(o.axes, 2, rank - 2)) return {1};
      if (rank > 2 && is_space(o.axes, 1, rank - 2)) return {rank - 1};
      return {};
    } else if constexpr (AnyOf<T, BatchNorm, GroupNorm, LocalResponseNorm>) {
      if (rank < image_rank) return {};
      return {o.axis < 0 ? o.axis + rank : o.axis};
    } else if constexpr (T::traits.kind == LayerKind::Recurrence) {
      return {std::nullopt, rank == 3};
    } else {
      return {};
    }
  });
}

class Walk {
 public:
  explicit Walk(const Graph& graph) : graph_(graph), readers_(readers_of(graph)) {}

  // The one axis of channels that all layers name which know this value. Nothing: none does, or they disagree.
  std::optional<Size> channels_of(ValueId start) {
    if (const auto known = known_.find(start); known != known_.end()) return known->second;
    std::set<ValueId> seen;
    std::vector<ValueId> open{start};
    std::optional<Size> found;
    bool agrees = true;
    const Size rank = graph_[start].type.rank();
    const auto meets = [&](ValueId v) {
      return v && !graph_[v].constant && graph_[v].type.rank() == rank && is_real(v) && !seen.contains(v);
    };
    const auto hears = [&](const Node& node, bool reads) {
      const Word word = word_of(node.op, rank, reads);
      agrees = agrees && !word.walks && (!word.channels || !found || *found == *word.channels);
      if (word.channels) found = word.channels;
    };
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      if (!meets(v)) continue;
      seen.insert(v);
      const auto goes_on = [&](const Node& node) {
        if (graph_[node.outputs[0]].type.rank() != rank || !carries_axes(node.op, rank)) return;
        open.insert(open.end(), node.outputs.begin(), node.outputs.end());
        const bool one = holds_alternative<ExpandLike>(node.op);
        open.insert(open.end(), node.inputs.begin(), one ? node.inputs.begin() + 1 : node.inputs.end());
      };
      for (const NodeId reader : readers_[v.slot()]) {
        const Node& node = graph_[reader];
        if (node.inputs[0] == v) hears(node, true);
        const bool is_beside = holds_alternative<ExpandLike>(node.op) && node.inputs[0] != v;
        if (!is_beside) goes_on(node);
      }
      if (!graph_[v].producer) continue;
      hears(graph_[graph_[v].producer], false);
      goes_on(graph_[graph_[v].producer]);
    }
    if (!agrees) found.reset();
    for (const ValueId v : seen) known_.emplace(v, found);
    return found;
  }

  bool is_real(ValueId v) const {
    const DType dtype = graph_[v].type.dtype;
    return dtype == DType::F16 || dtype == DType::BF16 || dtype == DType::F32 || dtype == DType::F64;
  }

 private:
  const Graph& graph_;
  std::vector<std::vector<NodeId>> readers_;
  std::map<ValueId, std::optional<Size>> known_;
};

Sizes order_of(const Graph& source, Walk& walk, ValueId v, const Convention& convention) {
  const Size rank = source[v].type.rank();
  Sizes order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), Size{0});
  if (rank < 3 || !convention.channels || !walk.is_real(v)) return order;
  const Size here = *convention.channels == Order::ChannelsLast ? rank - 1 : 1;
  const Size there = here == 1 ? rank - 1 : 1;
  if (walk.channels_of(v) != there) return order;
  order.erase(order.begin() + there);
  order.insert(order.begin() + here, there);
  return order;
}

std::string words_of(const Sizes& order) {
  std::string text;
  for (const Size axis : order) text += (text.empty() ? "" : ", ") + std::to_string(axis);
  return "[" + text + "]";
}

bool declares(const Value& value, const Sizes& order) {
  const Origin origin = origin_of(value);
  if (!origin.split.empty()) return false;
  return origin.permutation == order || (origin.permutation.empty() && std::ranges::is_sorted(order));
}

std::string wrong_order(std::string_view what, const std::string& name, const Value& value, const Sizes& order) {
  const Origin origin = origin_of(value);
  return std::string(what) + " '" + name + "' of the port has the axes " + words_of(origin.permutation) +
         " of the source's, and has to have " + words_of(order) + "; this is a fault of convoy's, please report it";
}

// Whole numbers and truths keep their type; of real numbers, a port may be asked for others.
std::string other_type(std::string_view what, const std::string& name, const Value& port, const Value& source) {
  const DType is = port.type.dtype, was = source.type.dtype;
  if (is == was || (is_floating(is) && is_floating(was))) return {};
  return std::string(what) + " '" + name + "' of the port is " + std::string(name_of(is)) + ", and has to be " +
         std::string(name_of(was)) + " as the source's";
}

// A caller who is given a dictionary goes by its keys. A port that knows places only has the key as the name in that place;
// not held to it is an output whose key an input or a weight of the port has as its name.
std::string compare_keys(const Graph& source, const Graph& target) {
  if (target.inputs_by_name && !source.inputs_by_name)
    return "the port takes its inputs in a dictionary, and the source takes them by their places";
  if (target.outputs_by_name && !source.outputs_by_name)
    return "the port gives its outputs in a dictionary, and the source gives them by their places";
  if (!source.outputs_by_name) return {};
  std::set<std::string> taken;
  for (const Value& value : target.values)
    if (!value.producer) taken.insert(value.name);
  for (std::size_t i = 0; i < source.outputs.size(); ++i) {
    const std::string &key = source.output_names[i], &name = target.output_names[i];
    if (name == key || (!target.outputs_by_name && taken.contains(key))) continue;
    return "output " + std::to_string(i) + " of the port has the name '" + name + "', and has to have '" + key + "'";
  }
  return {};
}

}  // namespace

Orders expected_orders(const Graph& source, const Convention& convention) {
  Walk walk(source);
  Orders all;
  for (const ValueId v : source.inputs) all.inputs.push_back(order_of(source, walk, v, convention));
  for (const ValueId v : source.outputs) all.outputs.push_back(order_of(source, walk, v, convention));
  return all;
}

std::string compare_calls(const Graph& source, const Graph& target, const Convention& convention) {
  if (convention.has_dictionaries && source.inputs_by_name && !target.inputs_by_name)
    return "the port takes its inputs by their places, and the source takes them in a dictionary";
  if (convention.has_dictionaries && source.outputs_by_name && !target.outputs_by_name)
    return "the port gives its outputs by their places, and the source gives them in a dictionary";
  if (convention.has_tuples_of_one && source.one_output_in_tuple != target.one_output_in_tuple)
    return std::string("the port gives its output ") +
           (target.one_output_in_tuple ? "in a tuple of one" : "by itself") + ", and the source gives it " +
           (source.one_output_in_tuple ? "in a tuple of one" : "by itself");
  return {};
}

std::string compare_interface(const Graph& source, const Graph& target, const Orders& expected) {
  if (target.inputs.size() != source.inputs.size())
    return "the port has " + std::to_string(target.inputs.size()) + " inputs, the source has " +
           std::to_string(source.inputs.size());
  const Names names = names_of(source);
  for (std::size_t i = 0; i < source.inputs.size(); ++i) {
    const std::string& name = source[source.inputs[i]].name;
    const Value& value = target[target.inputs[i]];
    if (source_of_input(names, target, target.inputs[i]) != source.inputs[i])
      return "input " + std::to_string(i) + " of the port is '" + value.name + "', and has to be '" + name + "'";
    if (!declares(value, expected.inputs[i])) return wrong_order("input", name, value, expected.inputs[i]);
    if (auto other = other_type("input", name, value, source[source.inputs[i]]); !other.empty()) return other;
  }
  for (std::size_t i = 0; i < source.outputs.size() && i < target.outputs.size(); ++i) {
    const Value& value = target[target.outputs[i]];
    if (!declares(value, expected.outputs[i]))
      return wrong_order("output", source.output_names[i], value, expected.outputs[i]);
    auto other = other_type("output", source.output_names[i], value, source[source.outputs[i]]);
    if (!other.empty()) return other;
  }
  return compare_keys(source, target);
}

}  // namespace convoy
