#include "prove/stretch.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

namespace convoy {

Reach reach_back(const Graph& graph, ValueId v, const std::vector<bool>& ends) {
  Reach reach;
  std::set<ValueId> seen;
  std::set<NodeId> nodes;
  std::vector<ValueId> open{v};
  while (!open.empty()) {
    const ValueId at = open.back();
    open.pop_back();
    const NodeId maker = graph[at].producer;
    if (!maker || !nodes.insert(maker).second) continue;
    for (const ValueId in : graph[maker].inputs) {
      if (!in || !seen.insert(in).second) continue;
      if (graph[in].constant) reach.constants.insert(in);
      else if (ends[in.slot()] || !graph[in].producer) reach.boundary.insert(in);
      else open.push_back(in);
    }
  }
  reach.nodes.assign(nodes.begin(), nodes.end());
  return reach;
}

std::vector<Stretch> stretches_of(const Graph& source, const Graph& target, const std::vector<ValueId>& counterparts) {
  const auto meets = meeting(source, target, counterparts);
  const Names names = names_of(source);
  std::vector<bool> ends(target.values.size(), false);
  for (std::size_t i = 0; i < ends.size(); ++i) ends[i] = static_cast<bool>(counterparts[i]);
  std::vector<Stretch> all;
  for (const Node& node : target.nodes) {
    for (const ValueId v : node.outputs) {
      const ValueId s = counterparts[v.slot()];
      if (!s) continue;
      Stretch stretch{s, v, reach_back(source, s, meets), reach_back(target, v, ends), {}};
      std::set<ValueId> named;
      for (const ValueId b : stretch.target.boundary) {
        const ValueId other = counterparts[b.slot()];
        const ValueId from = other ? other : source_of_input(names, target, b);
        if (from) named.insert(from);
      }
      std::ranges::set_symmetric_difference(stretch.source.boundary, named, std::back_inserter(stretch.unlike));
      all.push_back(std::move(stretch));
    }
  }
  return all;
}

Graph cut_out(const Graph& graph, const Reach& reach, ValueId v) {
  Graph cut;
  cut.name = graph.name;
  cut.source_format = graph.source_format;
  cut.rules = graph.rules;
  std::map<ValueId, ValueId> now;
  const auto take = [&](ValueId old) {
    const auto [at, is_new] = now.try_emplace(old, ValueId{static_cast<std::int32_t>(cut.values.size())});
    if (is_new) {
      cut.values.push_back(graph[old]);
      cut.values.back().producer = {};
    }
    return at->second;
  };
  for (const ValueId b : reach.boundary) cut.inputs.push_back(take(b));
  for (const NodeId n : reach.nodes) {
    Node node = graph[n];
    for (ValueId& in : node.inputs)
      if (in) in = take(in);
    for (ValueId& out : node.outputs) {
      out = take(out);
      cut[out].producer = {static_cast<std::int32_t>(cut.nodes.size())};
    }
    cut.nodes.push_back(std::move(node));
  }
  cut.outputs.push_back(take(v));
  cut.output_names.push_back(graph[v].name);
  return cut;
}

namespace {

// How far the sizes of one axis have come on the way through a stretch.
struct Way {
  Spread spread;
  Size scale = 1;  // cells of the input per cell here
  Size reach = 1;

  void blocks(Size stride) { spread.period = std::lcm(spread.period, std::max<Size>(scale * stride, 1)); }
  void widen(Size cells) { reach += std::max<Size>(cells, 0) * scale; }
};

template <class O>
void follow(const O& op, Way& way) {
  if constexpr (requires {
                  op.windows;
                  op.paddings;
                }) {
    Size stride = 1, reach = 0, pads = 0;
    for (std::size_t i = 0; i < op.windows.size(); ++i) {
      const Window& w = op.windows[i];
      if constexpr (std::is_same_v<O, ConvTranspose> || std::is_same_v<O, Fold>) {
        reach = std::max(reach, w.reach());
      } else {
        const Padding& padding = op.paddings[i];
        reach = std::max(reach, w.reach());
        if (padding.spelling == Spelling::Explicit) pads = std::max(pads, padding.before + padding.after);
        way.blocks(w.stride);
        stride = std::max(stride, w.stride);
      }
    }
    way.widen(reach);
    way.widen(pads);
    if constexpr (!std::is_same_v<O, PadToWindow>) way.scale *= stride;
    if constexpr (std::is_same_v<O, Fold>) way.spread.repeats = false;
  } else if constexpr (std::is_same_v<O, Pad>) {
    Size most = 0;
    for (std::size_t i = 0; i < op.before.size(); ++i)
      most = std::max(most, std::abs(op.before[i]) + std::abs(op.after[i]));
    way.widen(most);
  } else if constexpr (std::is_same_v<O, Slice>) {
    way.blocks(std::max<Size>(std::abs(op.step), 1));
    way.widen(std::abs(op.start.value_or(0)) % (Size{1} << 31));
    way.widen(std::abs(op.stop.value_or(0)) % (Size{1} << 31));
    way.scale *= std::max<Size>(std::abs(op.step), 1);
  } else if constexpr (std::is_same_v<O, SpaceToDepth>) {
    way.blocks(op.block);
    way.scale *= op.block;
  } else if constexpr (std::is_same_v<O, SpaceToBatch>) {
    for (std::size_t i = 0; i < op.block.size(); ++i) {
      way.blocks(op.block[i]);
      way.widen(op.before[i] + op.after[i]);
    }
  } else if constexpr (std::is_same_v<O, AdaptivePool>) {
    Size most = 0;
    for (const Size out : op.out) way.blocks(out), most = std::max(most, out);
    way.widen(most);
  } else if constexpr (std::is_same_v<O, Resize>) {
    // By whole factors every cell becomes so many; to a given length, no two sizes are alike.
    const bool whole = std::ranges::all_of(op.factors, [](double f) { return f == std::trunc(f); });
    way.spread.repeats = way.spread.repeats && op.sizes.empty() && whole && op.starts.empty();
    way.widen(4);
  } else if constexpr (std::is_same_v<O, GridSample> || std::is_same_v<O, MaxUnpool>) {
    way.spread.repeats = false;
  }
}

}  // namespace

Spread spread_of(const Graph& graph) {
  constexpr Size most = Size{1} << 20;
  Way way;
  for (const Node& node : graph.nodes) {
    node.op.visit([&](const auto& op) { follow(op, way); });
    way.scale = std::min(way.scale, most);
    way.reach = std::min(way.reach, most);
    way.spread.period = std::min(way.spread.period, most);
  }
  Spread spread = way.spread;
  spread.settled = (ceil_div(way.reach, spread.period) + 2) * spread.period;
  return spread;
}

}  // namespace convoy
