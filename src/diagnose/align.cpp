#include "diagnose/align.h"

#include "convoy/cancellation.h"
#include "diagnose/axis_order.h"
#include "diagnose/comparable.h"
#include "diagnose/family.h"
#include "diagnose/fingerprint.h"
#include "diagnose/kinds.h"
#include "diagnose/outside.h"
#include "diagnose/scaled.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace convoy::diagnose {

namespace {

bool computes(const Graph& graph, const Node& node) {
  return std::ranges::any_of(node.inputs, [&](ValueId v) { return v && !graph[v].constant; });
}

// Behind a cell that walks with the steps first, the value with the batch first again.
ValueId batch_first(const Graph& graph, const std::vector<std::vector<NodeId>>& readers, ValueId v) {
  const auto& next = readers[v.slot()];
  const auto* turns = next.size() == 1 ? get_if<Transpose>(&graph[next[0]].op) : nullptr;
  return turns && turns->permutation == Sizes{1, 0, 2} ? graph[next[0]].outputs[0] : v;
}

// Whether the cell reads its steps first and what it makes stays so: passes may have carried the turn back further on.
bool is_left_turned(const Graph& graph, const Node& cell, ValueId out) {
  const NodeId before = graph[cell.inputs[0]].producer;
  const auto* turns = before ? get_if<Transpose>(&graph[before].op) : nullptr;
  return turns && turns->permutation == Sizes{1, 0, 2} && out == cell.outputs[0];
}

// Where a cut right behind `v` is its only use, the value that is left: a convolution and the crop that belongs to it.
ValueId cut_out(const Graph& graph, const std::vector<std::vector<NodeId>>& readers, ValueId v) {
  while (readers[v.slot()].size() == 1) {
    const Node& next = graph[readers[v.slot()][0]];
    const auto* pad = get_if<Pad>(&next.op);
    const bool cuts =
        holds_alternative<Slice>(next.op) || (pad && std::ranges::all_of(pad->before, [](Size n) { return n <= 0; }) &&
                                              std::ranges::all_of(pad->after, [](Size n) { return n <= 0; }));
    if (!cuts) break;
    v = next.outputs[0];
  }
  return v;
}

class Aligner {
 public:
  Aligner(const Graph& a, const Graph& b, const Guide& guide)
      : a_(a),
        b_(b),
        guide_(guide),
        readers_a_(readers_of(a)),
        readers_b_(readers_of(b)),
        norms_a_(norms_in(a)),
        norms_b_(norms_in(b)),
        likeness_(a, b),
        matched_a_(a.values.size(), false),
        matched_b_(b.values.size(), false),
        is_fed_a_(fed_values(a)),
        is_fed_b_(fed_values(b)) {
    result_.places_a.resize(a.values.size(), -1);
    result_.places_b.resize(b.values.size(), -1);
  }

  Alignment run() {
    for (std::size_t i = 0; i < std::min(a_.inputs.size(), b_.inputs.size()); ++i)
      add(a_.inputs[i], b_.inputs[i], How::Input, {}, {});
    for (std::size_t i = 0; i < std::min(a_.outputs.size(), b_.outputs.size()); ++i)
      add(a_.outputs[i], b_.outputs[i], How::Output, {}, {});
    for (const auto& [n, m] : guide_.known) match_layers(n, m, How::Place);
    if (guide_.by_numbers) {
      by_fingerprint();
      if (Listening::is_cancelled()) return std::move(result_);  // who asked says so
      const auto pairs = scaled_pairs(a_, b_, [&](NodeId n) { return open_a(n); }, [&](NodeId n) { return open_b(n); });
      for (const auto& [n, m] : pairs) match_layers(n, m, How::Scaled);
    }
    by_place();
    by_order();
    by_place();
    count();
    std::ranges::sort(result_.matches, {},
                      [&](const Match& m) { return std::pair(a_[m.a].producer.index, m.a.index); });
    for (std::size_t i = 0; i < result_.matches.size(); ++i) {
      const Match& match = result_.matches[i];
      result_.places_a[match.a.slot()] = result_.places_b[match.b.slot()] = static_cast<int>(i);
    }
    return std::move(result_);
  }

 private:
  bool add(ValueId a, ValueId b, How how, NodeId node_a, NodeId node_b) {
    if (result_.places_a[a.slot()] >= 0 || result_.places_b[b.slot()] >= 0) return false;
    Match match{a, b, how, {}, node_a, node_b};
    const auto from = sizes_of(a_[a].type.shape), to = sizes_of(b_[b].type.shape);
    // Inputs and outputs lie alike in the form that both have.
    if (how == How::Input || how == How::Output) match.permutation = own_order(a_[a].type.shape.size());
    else if (from && to) match.permutation = likely_order(*from, *to);
    result_.places_a[a.slot()] = result_.places_b[b.slot()] = static_cast<int>(result_.matches.size());
    matched_a_[a.slot()] = matched_b_[b.slot()] = true;
    result_.matches.push_back(std::move(match));
    return true;
  }

  bool open_a(NodeId n) const { return !taken_a_.contains(n) && result_.places_a[a_[n].outputs[0].slot()] < 0; }
  bool open_b(NodeId n) const { return !taken_b_.contains(n) && result_.places_b[b_[n].outputs[0].slot()] < 0; }

  // The values that two matched layers make: behind the crop, or behind the batch norm that only one of them keeps.
  void match_layers(NodeId a, NodeId b, How how) {
    ValueId out_a = a_[a].outputs[0], out_b = b_[b].outputs[0];
    const Family family = family_of(a_[a].op);
    if (how == How::Scaled || (how == How::Place && (family == Family::Convolution || family == Family::Product))) {
      const ValueId norm_a = norm_behind(a_, readers_a_, out_a), norm_b = norm_behind(b_, readers_b_, out_b);
      // One that folds its norms has fewer of them: otherwise they stand elsewhere.
      if (norm_a && !norm_b && norms_a_ > norms_b_) out_a = norm_a;
      if (norm_b && !norm_a && norms_b_ > norms_a_) out_b = norm_b;
    }
    if (how == How::Place && family == Family::Norm) {
      const bool scales_a = holds_numbers(a_, a), scales_b = holds_numbers(b_, b);
      if (scales_a && !scales_b) out_b = scaled_behind(b_, readers_b_, out_b, taken_b_);
      if (scales_b && !scales_a) out_a = scaled_behind(a_, readers_a_, out_a, taken_a_);
    }
    bool turned = false;
    if (family == Family::Recurrent) {
      out_a = batch_first(a_, readers_a_, out_a);
      out_b = batch_first(b_, readers_b_, out_b);
      turned = is_left_turned(a_, a_[a], out_a) != is_left_turned(b_, b_[b], out_b);
    }
    taken_a_.insert(a);
    taken_b_.insert(b);
    out_a = cut_out(a_, readers_a_, out_a), out_b = cut_out(b_, readers_b_, out_b);
    if (has_fingerprint(a_, a_[a]) && family != Family::Recurrent)
      std::tie(out_a, out_b) = meeting_behind(out_a, out_b, Beside::Constants);
    // One model's function may be written in steps by the other, which read again what it reads: x * sigmoid(x).
    if (how == How::Place && family == Family::Function)
      std::tie(out_a, out_b) = meeting_behind(out_a, out_b, Beside::Anything);
    const bool added = add(out_a, out_b, how, a, b);
    if (added && turned && a_[out_a].type.rank() == 3) result_.matches.back().permutation = {1, 0, 2};
  }

  // What else the steps behind a layer may read.
  enum class Beside : std::uint8_t { Constants, Anything };

  // What one model adds or scales in a step of its own, the other may have taken into the layer: where the two make other
  // numbers, but the same further on, before anything else comes in, that is where they stand for each other.
  std::pair<ValueId, ValueId> meeting_behind(ValueId a, ValueId b, Beside beside) const {
    if (!are_known(a, b) || !are_spread_apart(*guide_.apart.a[a.slot()], *guide_.apart.b[b.slot()])) return {a, b};
    const auto here = alone_behind(a_, readers_a_, a, beside), there = alone_behind(b_, readers_b_, b, beside);
    for (std::size_t steps = 1; steps < here.size() + there.size(); ++steps)
      for (std::size_t i = 0; i <= steps && i < here.size(); ++i)
        if (steps - i < there.size() && !matched_a_[here[i].slot()] && !matched_b_[there[steps - i].slot()] &&
            hold_the_same(here[i], there[steps - i]))
          return {here[i], there[steps - i]};
    return {a, b};
  }

  // The value and what is made of it alone, as long as nothing else reads it.
  static std::vector<ValueId> alone_behind(const Graph& graph, const std::vector<std::vector<NodeId>>& readers,
                                           ValueId v, Beside beside) {
    constexpr std::size_t most = 8;
    std::vector<ValueId> chain{v};
    while (chain.size() < most && readers[chain.back().slot()].size() == 1) {
      const Node& next = graph[readers[chain.back().slot()][0]];
      const bool is_alone = std::ranges::all_of(next.inputs, [&](ValueId in) {
        return beside == Beside::Anything || !in || graph[in].constant || in == chain.back();
      });
      if (!is_alone || kernel_of(graph, next)) break;
      chain.push_back(next.outputs[0]);
    }
    return chain;
  }

  static bool holds_numbers(const Graph& graph, NodeId n) {
    const Node& node = graph[n];
    return std::ranges::any_of(node.inputs, [&](ValueId v) { return v && graph[v].constant; });
  }

  // Behind the factor and the term that a norm without numbers of its own is written with.
  static ValueId scaled_behind(const Graph& graph, const std::vector<std::vector<NodeId>>& readers, ValueId v,
                               std::set<NodeId>& taken) {
    for (const BinaryFunction wanted : {BinaryFunction::Multiply, BinaryFunction::Add}) {
      const auto& next = readers[v.slot()];
      const auto* binary = next.size() == 1 ? get_if<Binary>(&graph[next[0]].op) : nullptr;
      if (!binary || binary->function != wanted || !holds_numbers(graph, next[0]) || taken.contains(next[0])) continue;
      taken.insert(next[0]);
      v = graph[next[0]].outputs[0];
    }
    return v;
  }

  static std::ptrdiff_t norms_in(const Graph& graph) {
    return std::ranges::count_if(graph.nodes, [](const Node& n) { return holds_alternative<BatchNorm>(n.op); });
  }

  static ValueId norm_behind(const Graph& graph, const std::vector<std::vector<NodeId>>& readers, ValueId v) {
    const auto& next = readers[v.slot()];
    if (next.size() != 1 || !holds_alternative<BatchNorm>(graph[next[0]].op)) return {};
    return graph[next[0]].outputs[0];
  }

  void by_fingerprint() {
    std::map<std::pair<std::uint64_t, Family>, std::pair<std::vector<NodeId>, std::vector<NodeId>>> groups;
    const auto collect = [&](const Graph& graph, bool first) {
      for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        const Node& node = graph.nodes[i];
        if (!computes(graph, node) || Listening::is_cancelled()) continue;
        const auto print = fingerprint(graph, node);
        if (!print) continue;
        Family family = family_of(node.op);
        if (family == Family::Product) family = Family::Convolution;
        auto& group = groups[{*print, family}];
        (first ? group.first : group.second).push_back({static_cast<std::int32_t>(i)});
      }
    };
    collect(a_, true);
    collect(b_, false);
    std::vector<Pair> pairs;
    for (const auto& [key, group] : groups) {
      // One layer called twice, one of whose calls is another layer in the other model: the place must tell which.
      if (group.first.size() != group.second.size() && std::max(group.first.size(), group.second.size()) > 1 &&
          std::min(group.first.size(), group.second.size()) > 0)
        continue;
      for (const auto& [n, m] : paired(group.first, group.second)) pairs.push_back({n, m, How::Weights});
    }
    uncross(pairs);
    for (const Pair& pair : pairs) match_layers(pair.a, pair.b, pair.how);
  }

  // Layers with the same numbers: those in the same surroundings stand for each other, the others in order.
  std::vector<std::pair<NodeId, NodeId>> paired(const std::vector<NodeId>& here, std::vector<NodeId> there) {
    std::vector<std::pair<NodeId, NodeId>> pairs;
    if (here.size() < 2 || there.size() < 2) {
      if (!here.empty() && !there.empty()) pairs.emplace_back(here[0], there[0]);
      return pairs;
    }
    if (kinds_a_.empty()) {
      kinds_a_ = kinds_of(a_), kinds_b_ = kinds_of(b_);
      inputs_of_a_ = inputs_behind(a_), inputs_of_b_ = inputs_behind(b_);
    }
    std::vector<NodeId> left = here;
    const auto pair_those = [&](const auto& stand_alike) {
      std::erase_if(left, [&](NodeId n) {
        const auto like = std::ranges::find_if(there, [&](NodeId m) { return stand_alike(n, m); });
        if (like == there.end()) return false;
        pairs.emplace_back(n, *like);
        there.erase(like);
        return true;
      });
    };
    const auto are_of_one_kind = [&](NodeId n, NodeId m) { return kinds_a_[n.slot()] == kinds_b_[m.slot()]; };
    pair_those([&](NodeId n, NodeId m) { return make_the_same(n, m) && are_of_one_kind(n, m); });
    pair_those([&](NodeId n, NodeId m) { return make_the_same(n, m); });
    pair_those(are_of_one_kind);
    // An encoder that is applied to each of two inputs, in whatever order.
    pair_those([&](NodeId n, NodeId m) { return inputs_of_a_[n.slot()] == inputs_of_b_[m.slot()]; });
    for (std::size_t i = 0; i < std::min(left.size(), there.size()); ++i) pairs.emplace_back(left[i], there[i]);
    return pairs;
  }

  // When the models run by themselves.
  bool are_known(ValueId a, ValueId b) const {
    const auto &here = guide_.apart.a, &there = guide_.apart.b;
    return a.slot() < here.size() && b.slot() < there.size() && here[a.slot()] && there[b.slot()];
  }
  bool hold_the_same(ValueId a, ValueId b) const {
    return are_known(a, b) && are_spread_alike(*guide_.apart.a[a.slot()], *guide_.apart.b[b.slot()]);
  }
  bool make_the_same(NodeId n, NodeId m) const { return hold_the_same(a_[n].outputs[0], b_[m].outputs[0]); }

  // Which inputs of the model each node is computed from.
  static std::vector<std::vector<bool>> inputs_behind(const Graph& graph) {
    std::vector<std::vector<bool>> of_values(graph.values.size(), std::vector<bool>(graph.inputs.size(), false)), all;
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) of_values[graph.inputs[i].slot()][i] = true;
    for (const Node& node : graph.nodes) {
      std::vector<bool>& own = all.emplace_back(graph.inputs.size(), false);
      for (const ValueId v : node.inputs)
        for (std::size_t i = 0; v && i < own.size(); ++i) own[i] = own[i] || of_values[v.slot()][i];
      for (const ValueId v : node.outputs)
        if (v) of_values[v.slot()] = own;
    }
    return all;
  }

  struct Pair {
    NodeId a, b;
    How how;
  };

  // Layers of one kind and shape that hold each other's numbers: one comes before the other in a and behind it in b. They
  // stand for each other by their place.
  void uncross(std::vector<Pair>& pairs) {
    constexpr std::size_t most = 4000;
    if (a_.nodes.size() > most || b_.nodes.size() > most) return;
    const auto before_a = ancestors(a_), before_b = ancestors(b_);
    const auto is_before = [](const auto& all, NodeId first, NodeId second) {
      return all[second.slot()][first.slot()];
    };
    const auto shape = [](const Graph& graph, NodeId n) {
      const Node& node = graph[n];
      return node.inputs.size() > 1 && node.inputs[1] ? graph[node.inputs[1]].type.shape : Shape{};
    };
    const auto may_cross = [&](const Pair& p, const Pair& q) {
      return family_of(a_[p.a].op) == family_of(a_[q.a].op) && shape(a_, p.a) == shape(a_, q.a);
    };
    const auto crosses = [&](const Pair& p, const Pair& q) {
      const bool are_turned = (is_before(before_a, p.a, q.a) && is_before(before_b, q.b, p.b)) ||
                              (is_before(before_a, q.a, p.a) && is_before(before_b, p.b, q.b));
      return are_turned && may_cross(p, q);
    };
    const auto crossings_of = [&](std::size_t i, std::size_t j) {
      std::ptrdiff_t count = 0;
      for (std::size_t k = 0; k < pairs.size(); ++k)
        count += (k != i && crosses(pairs[i], pairs[k])) + (k != i && k != j && crosses(pairs[j], pairs[k]));
      return count;
    };
    // Those first whose exchange takes away the most: what stands between two that are exchanged crosses both of them.
    for (std::size_t round = 0; round < pairs.size(); ++round) {
      std::ptrdiff_t largest = 0;
      std::pair<std::size_t, std::size_t> best;
      for (std::size_t i = 0; i < pairs.size(); ++i)
        for (std::size_t j = i + 1; j < pairs.size(); ++j) {
          if (!crosses(pairs[i], pairs[j])) continue;
          const std::ptrdiff_t before = crossings_of(i, j);
          std::swap(pairs[i].b, pairs[j].b);
          const std::ptrdiff_t fewer = before - crossings_of(i, j);
          std::swap(pairs[i].b, pairs[j].b);
          if (fewer > largest) largest = fewer, best = {i, j};
        }
      if (largest == 0) return;
      Pair &p = pairs[best.first], &q = pairs[best.second];
      std::swap(p.b, q.b);
      p.how = q.how = How::Place;
    }
  }

  static std::vector<std::vector<bool>> ancestors(const Graph& graph) {
    std::vector<std::vector<bool>> all(graph.nodes.size(), std::vector<bool>(graph.nodes.size(), false));
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      for (const ValueId v : graph.nodes[i].inputs) {
        if (!v || !graph[v].producer) continue;
        const auto from = graph[v].producer.slot();
        all[i][from] = true;
        for (std::size_t j = 0; j < from; ++j)
          if (all[from][j]) all[i][j] = true;
      }
    return all;
  }

  // The same kind of operator that reads what stands for each other; of several, those that are most alike.
  void by_place() {
    for (std::size_t i = 0; i < a_.nodes.size(); ++i) {
      const NodeId n{static_cast<std::int32_t>(i)};
      const Family family = family_of(a_.nodes[i].op);
      if (family == Family::None || !open_a(n) || !computes(a_, a_.nodes[i])) continue;
      const std::vector<ValueId> wanted = boundary_of(a_, a_.nodes[i].outputs[0], matched_a_);
      const auto wanted_b = in_terms_of_b(wanted);
      if (!wanted_b) continue;
      std::vector<NodeId> here, there;
      for (const NodeId m : readers_of_all(b_, readers_b_, *wanted_b, matched_b_, is_fed_b_))
        if (open_b(m) && may_stand_for(n, m)) there.push_back(m);
      if (there.empty()) continue;
      for (const NodeId m : readers_of_all(a_, readers_a_, wanted, matched_a_, is_fed_a_))
        if (m >= n && family_of(a_[m].op) == family && open_a(m) && computes(a_, a_[m])) here.push_back(m);
      match_alike(here, there);
    }
  }

  // Nothing: one of them stands for none, or there are none.
  std::optional<std::vector<ValueId>> in_terms_of_b(const std::vector<ValueId>& boundary_a) const {
    std::vector<ValueId> result;
    for (const ValueId v : boundary_a) {
      const int at = result_.places_a[v.slot()];
      if (at < 0) return std::nullopt;
      result.push_back(result_.matches[static_cast<std::size_t>(at)].b);
    }
    if (result.empty()) return std::nullopt;
    return result;
  }

  static std::vector<bool> fed_values(const Graph& graph) {
    std::vector<bool> is_fed(graph.values.size());
    for (std::size_t i = 0; i < is_fed.size(); ++i) is_fed[i] = !graph.values[i].constant && !graph.values[i].producer;
    for (const Node& node : graph.nodes) {
      const bool reads = std::ranges::any_of(node.inputs, [&](ValueId v) { return v && is_fed[v.slot()]; });
      for (const ValueId v : node.outputs)
        if (v) is_fed[v.slot()] = reads;
    }
    return is_fed;
  }

  // Nodes that read all of these through what is not matched, and nothing else: whose boundary they are.
  static std::vector<NodeId> readers_of_all(const Graph& graph, const std::vector<std::vector<NodeId>>& readers,
                                            const std::vector<ValueId>& from, const std::vector<bool>& matched,
                                            const std::vector<bool>& is_fed) {
    using Read = std::vector<bool>;  // which of `from`; empty: something else as well
    std::map<ValueId, Read> read_by;
    for (std::size_t i = 0; i < from.size(); ++i) {
      Read alone(from.size(), false);
      alone[i] = true;
      read_by[from[i]] = std::move(alone);
    }
    std::vector<NodeId> found;
    for (const NodeId n : reached_from(graph, readers, from, matched)) {
      Read all(from.size(), false);
      for (const ValueId v : graph[n].inputs) {
        if (!v || !is_fed[v.slot()] || all.empty()) continue;
        const auto it = read_by.find(v);
        if (it == read_by.end() || it->second.empty()) all.clear();
        else
          for (std::size_t i = 0; i < all.size(); ++i) all[i] = all[i] || it->second[i];
      }
      if (!all.empty() && std::ranges::all_of(all, std::identity{})) found.push_back(n);
      for (const ValueId v : graph[n].outputs)
        if (v && !matched[v.slot()]) read_by.try_emplace(v, all);
    }
    return found;
  }

  void match_alike(const std::vector<NodeId>& here, const std::vector<NodeId>& there) {
    constexpr int surroundings = 64, numbers_made = 128;  // each more than every other likeness together
    // Of thousands that read the same, those that are about as far behind it: all pairs would take the memory.
    constexpr std::size_t most_pairs = std::size_t{1} << 20U;
    const std::size_t reach = here.size() * there.size() <= most_pairs ? there.size() : most_pairs / here.size();
    struct Candidate {
      int likeness;
      NodeId a, b;
    };
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < here.size(); ++i)
      for (std::size_t j = i > reach ? i - reach : 0; j < std::min(there.size(), i + reach + 1); ++j) {
        const NodeId a = here[i], b = there[j];
        if (may_stand_for(a, b) && (!guide_.by_numbers || likeness_.shares_output(a, b)))
          candidates.push_back({(make_the_same(a, b) ? numbers_made : 0) + (is_alike(a, b) ? surroundings : 0) +
                                    (guide_.by_numbers ? likeness_.of(a, b) : 0),
                                a, b});
      }
    std::ranges::stable_sort(candidates, std::greater{}, &Candidate::likeness);
    for (const Candidate& one : candidates)
      if (open_a(one.a) && open_b(one.b)) match_layers(one.a, one.b, How::Place);
  }

  // By structure alone, a product is a convolution of one cell.
  bool may_stand_for(NodeId n, NodeId m) const {
    Family here = family_of(a_[n].op), there = family_of(b_[m].op);
    if (guide_.by_numbers) return here == there;
    if (here == Family::Product) here = Family::Convolution;
    if (there == Family::Product) there = Family::Convolution;
    if (here != there) return false;
    if (here != Family::Norm) return numbers(a_, a_[n]) == numbers(b_, b_[m]);
    // Each of a norm's vectors may be left out where it would change nothing.
    const Size of_a = channels(a_, a_[n]), of_b = channels(b_, b_[m]);
    return of_a == of_b || of_a == 0 || of_b == 0;
  }
  bool is_alike(NodeId n, NodeId m) const {
    const std::size_t i = n.slot(), j = m.slot();
    return i < guide_.kinds_a.size() && j < guide_.kinds_b.size() && guide_.kinds_a[i] == guide_.kinds_b[j];
  }

  // Layers with numbers that are still open: in order, where their kernels have the same number of numbers.
  void by_order() {
    for (std::size_t i = 0; i < a_.nodes.size(); ++i) {
      const NodeId n{static_cast<std::int32_t>(i)};
      if (!open_a(n) || !has_fingerprint(a_, a_.nodes[i])) continue;
      for (std::size_t j = 0; j < b_.nodes.size(); ++j) {
        const NodeId m{static_cast<std::int32_t>(j)};
        if (!open_b(m) || family_of(b_.nodes[j].op) != family_of(a_.nodes[i].op) || !has_fingerprint(b_, b_.nodes[j]))
          continue;
        if (numbers(a_, a_.nodes[i]) != numbers(b_, b_.nodes[j])) continue;
        match_layers(n, m, How::Place);
        break;
      }
    }
  }

  static Size numbers(const Graph& graph, const Node& node) {
    return node.inputs.size() > 1 && node.inputs[1] && graph[node.inputs[1]].constant
               ? graph[node.inputs[1]].constant->count()
               : 0;
  }

  // Of a norm, as far as it holds numbers.
  static Size channels(const Graph& graph, const Node& norm) {
    Size most = 0;
    for (std::size_t i = 1; i < norm.inputs.size(); ++i)
      if (const ValueId v = norm.inputs[i]; v && graph[v].constant) most = std::max(most, graph[v].constant->count());
    return most;
  }

  void count() {
    std::set<NodeId> known_a, known_b;
    for (const Match& match : result_.matches) {
      if (match.node_a) known_a.insert(match.node_a);
      if (match.node_b) known_b.insert(match.node_b);
      if (!match.node_a || !has_fingerprint(a_, a_[match.node_a])) continue;
      ++(match.how == How::Place ? result_.by_place : result_.by_weights);
    }
    const auto left = [](const Graph& graph, const std::set<NodeId>& known, int& all) {
      std::vector<std::string> names;
      for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        if (!computes(graph, graph.nodes[i]) || !has_fingerprint(graph, graph.nodes[i])) continue;
        ++all;
        if (!known.contains({static_cast<std::int32_t>(i)})) names.push_back(graph.nodes[i].layer);
      }
      return names;
    };
    result_.only_a = left(a_, known_a, result_.weighted_a);
    result_.only_b = left(b_, known_b, result_.weighted_b);
  }

  const Graph& a_;
  const Graph& b_;
  const Guide& guide_;
  std::vector<std::vector<NodeId>> readers_a_, readers_b_;
  std::ptrdiff_t norms_a_, norms_b_;
  Likeness likeness_;
  std::vector<bool> matched_a_, matched_b_;
  std::vector<bool> is_fed_a_, is_fed_b_;  // hang on a number that is no constant
  std::set<NodeId> taken_a_, taken_b_;
  // Made where layers with the same numbers have to be told apart.
  std::vector<std::uint64_t> kinds_a_, kinds_b_;
  std::vector<std::vector<bool>> inputs_of_a_, inputs_of_b_;
  Alignment result_;
};

const Match* match_at(const std::vector<Match>& matches, const std::vector<int>& places, ValueId v) {
  const auto i = v.slot();
  return v && i < places.size() && places[i] >= 0 ? &matches[static_cast<std::size_t>(places[i])] : nullptr;
}

}  // namespace

const Match* Alignment::of_a(ValueId v) const { return match_at(matches, places_a, v); }
const Match* Alignment::of_b(ValueId v) const { return match_at(matches, places_b, v); }

void Alignment::exchange_partners(std::size_t first, std::size_t second) {
  Match &x = matches[first], &y = matches[second];
  std::swap(x.b, y.b);
  std::swap(x.node_b, y.node_b);
  std::swap(x.permutation, y.permutation);
  std::swap(places_b[x.b.slot()], places_b[y.b.slot()]);
}

Alignment align(const Graph& a, const Graph& b, const Guide& guide) { return Aligner(a, b, guide).run(); }

Alignment turned(Alignment alignment, const Graph& a) {
  for (Match& match : alignment.matches) {
    const Sizes order = turned_order(a[match.a].type.shape.size());
    const bool keeps_order = match.how == How::Output && match.permutation.size() == order.size();
    if (keeps_order)
      for (Size& axis : match.permutation) axis = order[static_cast<std::size_t>(axis)];
    else match.permutation = order;
  }
  return alignment;
}

std::vector<ValueId> boundary_of(const Graph& graph, ValueId v, const std::vector<bool>& matched) {
  std::vector<ValueId> boundary, open{v};
  std::vector<bool> seen(graph.values.size(), false);
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (!graph[open[i]].producer) continue;
    for (const ValueId in : graph[graph[open[i]].producer].inputs) {
      if (!in || graph[in].constant || seen[in.slot()]) continue;
      seen[in.slot()] = true;
      const bool ends = matched[in.slot()] || !graph[in].producer;
      (ends ? boundary : open).push_back(in);
    }
  }
  return boundary;
}

std::vector<NodeId> reached_from(const Graph& graph, const std::vector<std::vector<NodeId>>& readers,
                                 const std::vector<ValueId>& from, const std::vector<bool>& matched) {
  std::set<NodeId> reached;
  std::vector<ValueId> open = from;
  while (!open.empty()) {
    const ValueId v = open.back();
    open.pop_back();
    for (const NodeId n : readers[v.slot()]) {
      if (!reached.insert(n).second) continue;
      for (const ValueId out : graph[n].outputs)
        if (out && !matched[out.slot()]) open.push_back(out);
    }
  }
  return {reached.begin(), reached.end()};
}

}  // namespace convoy::diagnose
