// The causes of what differs, stretch by stretch; where two that follow each other differ, of both together first.
#include "base/long_work.h"
#include "diagnose/cause.h"
#include "diagnose/compare.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace convoy::diagnose {

namespace {

// What b did, where undoing it in b is the evidence.
std::string_view mirrored(std::string_view cause) {
  constexpr std::pair<std::string_view, std::string_view> pairs[] = {
      {"activation_missing", "activation_extra"}, {"bias_missing", "bias_extra"},   {"pad_missing", "pad_where_none"},
      {"layer_missing", "layer_extra"},           {"quant_missing", "quant_extra"}, {"cast_missing", "cast_extra"}};
  for (const auto& [one, other] : pairs) {
    if (cause == one) return other;
    if (cause == other) return one;
  }
  return cause;
}

// What b did, said of b itself, would be a's doing: undoing it in b is no evidence that b did it.
bool is_one_way(std::string_view cause) {
  constexpr std::string_view all[] = {"bias_doubled", "statistics_not_loaded", "weights_not_loaded", "weights_rounded",
                                      "bn_batch_statistics"};
  return std::ranges::find(all, cause) != std::end(all);
}

bool is_computed_from(const Graph& graph, ValueId v, ValueId source) {
  std::vector<ValueId> open{v};
  std::set<ValueId> seen;
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (open[i] == source) return true;
    if (!graph[open[i]].producer) continue;
    for (const ValueId in : graph[graph[open[i]].producer].inputs)
      if (in && !graph[in].constant && seen.insert(in).second) open.push_back(in);
  }
  return false;
}

// The model's input, or what scales, offsets and moves alone make of it.
bool is_prepared_input(const Graph& graph, ValueId v) {
  while (graph[v].producer) {
    const Node& maker = graph[graph[v].producer];
    if (!prepares_input(graph, maker)) return false;
    v = maker.inputs[0];
  }
  return std::ranges::find(graph.inputs, v) != graph.inputs.end();
}

// The last part of a path, letters and digits alone.
std::string plain_name(std::string_view layer) {
  std::string result;
  for (const char c : layer.substr(layer.find_last_of("/.") + 1))
    if (std::isalnum(static_cast<unsigned char>(c)))
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

}  // namespace

bool is_named_alike(std::string_view a, std::string_view b) { return plain_name(a) == plain_name(b); }

// What only b's stretch reads, where it is known before a's stretch is computed: for guesses that a should read it.
void Comparison::add_reads_of_b(std::size_t i, Stretch& at) const {
  const ValueId out = alignment_.matches[i].a;
  for (const ValueId v : at.b.from) {
    const Match* from = alignment_.of_b(v);
    if (!from || std::ranges::find(at.a.from, from->a) != at.a.from.end()) continue;
    if (is_computed_from(sized_.a, from->a, out)) continue;
    at.a.graph.input(sized_.a[from->a].name, sized_.a[from->a].type);
    at.a.from.push_back(from->a);
    at.inputs_a.push_back(forced(*from, states_[i]));
  }
}

Result<Explained> Comparison::cause_of(std::size_t i, bool tries_pairs) const {
  auto at = stretch(i);
  if (!at) return pass(at);
  const std::size_t own = at->a.from.size();
  if (!states_[i].own_sizes) add_reads_of_b(i, *at);
  Question question{at->a.graph, at->b.graph, at->inputs_a, at->inputs_b, alignment_.matches[i].permutation, {}, false,
                    {},          &kernels(),  threads_,     tries_pairs};
  for (const ValueId v : at->a.from) {
    const Match* from = alignment_.of_a(v);
    question.before.push_back(from ? layer_of_a(*from) : std::string());
    question.of_model.push_back(is_prepared_input(sized_.a, v));
    question.reads_input = question.reads_input || question.of_model.back();
  }
  if (own < at->a.from.size()) question.read_by_a = own;
  question.exact_shape = has_exact_shape(i);
  question.keeps_sizes = keeps_sizes(i, *at);
  question.sharpness = states_[i].sharpness;
  for (const Node& node : sized_.a.nodes)
    if (std::ranges::find(node.inputs, alignment_.matches[i].a) != node.inputs.end())
      question.readers.push_back(node.op);
  question.for_b = [&](const std::vector<Tensor>& inputs) {
    std::vector<Tensor> result;
    for (std::size_t b = 0; b < at->b.from.size(); ++b) {
      const Match* from = alignment_.of_b(at->b.from[b]);
      Tensor tensor = at->inputs_b[b];
      for (std::size_t a = 0; a < at->a.from.size(); ++a)
        if (from && at->a.from[a] == from->a)
          tensor = arranged(inputs[a], from->permutation, sizes_of(sized_.b[from->b].type.shape).value_or(Sizes{}));
      result.push_back(std::move(tensor));
    }
    return result;
  };
  auto found = explain(question);
  const bool is_plain = found && !found->edits.empty() && found->edits[0].cause != "weights_differ";
  if (!found || (is_plain && found->edits.size() == 1)) return found;
  // The other way round: b's stretch, changed, gives a's numbers. A batch norm that was folded into a is still in b.
  Question other{at->b.graph, at->a.graph, at->inputs_b, at->inputs_a, inverse(question.permutation), {},
                 false,       {},          nullptr,      threads_,     tries_pairs && !is_plain};
  for (const Node& node : sized_.b.nodes)
    if (std::ranges::find(node.inputs, alignment_.matches[i].b) != node.inputs.end()) other.readers.push_back(node.op);
  other.reads_input = question.reads_input;
  other.exact_shape = question.exact_shape;
  other.keeps_sizes = question.keeps_sizes;
  other.sharpness = question.sharpness;
  for (const ValueId v : at->b.from) {
    const Match* from = alignment_.of_b(v);
    other.of_model.push_back(is_prepared_input(sized_.b, v));
    other.before.push_back(from ? layer_of_b(*from) : std::string());
  }
  auto turned = explain(other);
  if (!turned || turned->edits.empty() || turned->edits[0].cause == "weights_differ") return found;
  if (std::ranges::any_of(turned->edits, [](const Edit& edit) { return is_one_way(edit.cause); })) return found;
  turned->of_b = true;
  turned->before = found->before;
  for (Edit& edit : turned->edits) edit.cause = mirrored(edit.cause);
  return turned;
}

// A layer that was moved past another one, or that one model writes as two, makes two differences; where one change
// explains both, they are one. Says whether it does.
bool Comparison::join(std::size_t i) {
  if (alignment_.matches[i].how == How::Output) return false;
  const auto readers = readers_of_match(i);
  const bool any = std::ranges::any_of(
      readers, [&](std::size_t j) { return states_[j].compared && !states_[j].gap.same && !states_[j].cause; });
  if (!any) return false;
  set(i, false);
  auto found = each_by_one_change(readers);
  if (!found) {
    set(i, true);
    return false;
  }
  // A layer that is gone here and too many there was moved past the one between.
  const auto is = [](std::string_view cause) {
    return [cause](const auto& one) { return one.second.edits[0].cause == cause; };
  };
  const auto gone = std::ranges::find_if(*found, is("layer_missing"));
  if (gone != found->end() && std::ranges::any_of(*found, is("layer_extra"))) {
    const std::size_t between = alignment_.matches[gone->first].how == How::Output
                                    ? std::ranges::find_if(*found, is("layer_extra"))->first
                                    : gone->first;
    auto both = readers_of_match(between);
    std::erase(both, i);
    for (const auto& [j, cause] : *found)
      if (j != between && std::ranges::find(both, j) == both.end()) both.push_back(j);
    set(between, false);
    auto moved = each_by_one_change(both);
    if (moved && moved->size() == 1) states_[between].dropped = true, found = std::move(moved);
    else set(between, true);
  }
  states_[i].dropped = true;
  for (auto& [j, cause] : *found) states_[j].cause = std::move(cause);
  return true;
}

// What was moved past a layer that both have: one of the two places lacks it, the other has it too many, and the layer between
// agrees with itself. One change that explains all of it is the cause.
bool Comparison::join_over(std::size_t i) {
  if (alignment_.matches[i].how == How::Output) return false;
  const auto readers = readers_of_match(i);
  if (readers.size() != 1) return false;
  const std::size_t between = readers[0];
  const State& state = states_[between];
  if (!state.compared || state.dropped || !state.gap.same || alignment_.matches[between].how != How::Place)
    return false;
  auto behind = readers_of_match(between);
  const bool any = std::ranges::any_of(
      behind, [&](std::size_t j) { return states_[j].compared && !states_[j].gap.same && !states_[j].cause; });
  if (!any) return false;
  set(i, false), set(between, false);
  auto found = each_by_one_change(behind);
  if (!found || found->size() != 1) {
    set(i, true), set(between, true);
    return false;
  }
  states_[i].dropped = states_[between].dropped = true;
  states_[found->front().first].cause = std::move(found->front().second);
  return true;
}

// The causes of those that differ, where each has a single one and there are any.
std::optional<std::vector<std::pair<std::size_t, Explained>>> Comparison::each_by_one_change(
    const std::vector<std::size_t>& matches) {
  std::vector<std::pair<std::size_t, Explained>> found;
  for (const std::size_t j : matches) {
    const auto other = gap(j);
    if (other && other->same) continue;
    auto cause = cause_of(j, false);
    if (!cause || cause->edits.size() != 1) return std::nullopt;
    found.emplace_back(j, *std::move(cause));
  }
  if (found.empty()) return std::nullopt;
  return found;
}

// Layers that hold each other's numbers were laid side by side crosswise. By their place, both differ by just that.
void Comparison::uncross_exchanged() {
  const auto is_open = [&](std::size_t i) {
    return states_[i].compared && !states_[i].dropped && !states_[i].gap.same && !states_[i].cause &&
           alignment_.matches[i].how == How::Weights;
  };
  const auto kernel = [](const Graph& graph, NodeId n) {
    const Node& node = graph[n];
    return node.inputs.size() > 1 && node.inputs[1] ? graph[node.inputs[1]].type.shape : Shape{};
  };
  const auto keeps_names = [&](const Match& match) { return is_named_alike(layer_of_a(match), layer_of_b(match)); };
  const auto reads_another = [](const Result<Explained>& found) {
    return found && found->edits.size() == 1 && found->edits[0].cause == "reads_another";
  };
  const auto is_exchanged = [](const Result<Explained>& found) {
    return found &&
           std::ranges::any_of(found->edits, [](const Edit& edit) { return edit.cause == "weights_exchanged"; });
  };
  for (std::size_t i = 0; i < states_.size(); ++i) {
    for (std::size_t j = i + 1; is_open(i) && j < states_.size(); ++j) {
      if (!is_open(j)) continue;
      Match &x = alignment_.matches[i], &y = alignment_.matches[j];
      if (family_of(sized_.a[x.node_a].op) != family_of(sized_.a[y.node_a].op) ||
          kernel(sized_.a, x.node_a) != kernel(sized_.a, y.node_a))
        continue;
      // Under their own names, each with its own numbers: then what they read may have crossed.
      if (keeps_names(x) && keeps_names(y) && reads_another(cause_of(i, false)) && reads_another(cause_of(j, false)))
        continue;
      alignment_.exchange_partners(i, j);
      auto first = cause_of(i, false), second = cause_of(j, false);
      const auto gap_i = gap(i), gap_j = gap(j);
      if (!is_exchanged(first) || !is_exchanged(second) || !gap_i || !gap_j) {
        alignment_.exchange_partners(i, j);
        continue;
      }
      x.how = y.how = How::Place;
      states_[i].gap = *gap_i, states_[j].gap = *gap_j;
      states_[i].cause = *std::move(first), states_[j].cause = *std::move(second);
      uncross_readers(i, j);
    }
  }
}

// What reads two layers was laid side by side by the partners that these had before.
void Comparison::uncross_readers(std::size_t i, std::size_t j) {
  const auto is_open = [&](std::size_t k) {
    return states_[k].compared && !states_[k].dropped && !states_[k].gap.same &&
           alignment_.matches[k].how == How::Place;
  };
  const auto of_first = readers_of_match(i), of_second = readers_of_match(j);
  for (const std::size_t p : of_first)
    for (const std::size_t q : of_second) {
      if (p == q || !is_open(p) || !is_open(q)) continue;
      alignment_.exchange_partners(p, q);
      const auto gap_p = gap(p), gap_q = gap(q);
      if (gap_p && gap_q && gap_p->same && gap_q->same) states_[p].gap = *gap_p, states_[q].gap = *gap_q;
      else alignment_.exchange_partners(p, q);
    }
}

// Two stretches that follow each other and need three changes by themselves may need fewer taken together: that is the
// simpler explanation of all of their numbers.
void Comparison::join_for_fewer(std::size_t i) {
  constexpr std::size_t of_unknown = 3;
  const auto changes = [&](std::size_t j) {
    const auto& cause = states_[j].cause;
    return !cause || cause->edits.empty() ? of_unknown : cause->edits.size();
  };
  const auto differs = [&](std::size_t j) {
    return states_[j].compared && !states_[j].dropped && !states_[j].gap.same;
  };
  if (!differs(i) || alignment_.matches[i].how == How::Output) return;
  std::size_t apart = changes(i);
  bool any = false;
  const auto readers = readers_of_match(i);
  for (const std::size_t j : readers)
    if (differs(j)) apart += changes(j), any = true;
  if (!any || apart < 3) return;
  set(i, false);
  std::size_t together = 0;
  std::vector<std::pair<std::size_t, Explained>> found;
  for (const std::size_t j : readers) {
    auto other = gap(j);
    if (other && other->same) continue;
    auto cause = other ? cause_of(j, true) : Result<Explained>(pass(other));
    together += cause && !cause->edits.empty() ? cause->edits.size() : apart;
    if (together >= apart) break;
    found.emplace_back(j, *std::move(cause));
  }
  if (together >= apart || found.empty()) return set(i, true);
  states_[i].dropped = true;
  for (auto& [j, cause] : found) {
    states_[j].gap = cause.before;
    states_[j].cause = std::move(cause);
  }
}

// Where the operators are the same and the tensors are not, what brings b's weights along explains nothing, and two rows that
// changed places are no order of axes.
bool Comparison::is_roundabout(const std::vector<Edit>& edits, const State& state) {
  constexpr std::string_view with_weights[] = {"kernel_size", "groups", "channels", "reset_after", "cell_kind"};
  return std::ranges::any_of(edits, [&](const Edit& edit) {
    const bool brings_weights = std::ranges::find(with_weights, edit.cause) != std::end(with_weights);
    return brings_weights || (edit.cause == "flatten_order" && state.weights.exchanged);
  });
}

// Two stretches, each of which reads what the other should: their branches are exchanged.
void Comparison::join_crossed_reads() {
  std::vector<std::pair<std::size_t, Edit*>> crossed;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    auto& cause = states_[i].cause;
    const bool is_one = states_[i].compared && !states_[i].dropped && cause && cause->edits.size() == 1;
    if (is_one && cause->edits[0].cause == "reads_another") crossed.emplace_back(i, &cause->edits[0]);
  }
  for (std::size_t n = 0; n < crossed.size(); ++n)
    for (std::size_t m = n + 1; m < crossed.size(); ++m) {
      const auto& [i, x] = crossed[n];
      const auto& [j, y] = crossed[m];
      const bool is_open = x->cause == "reads_another" && y->cause == "reads_another";
      if (!is_open || x->was != y->now || x->now != y->was) continue;
      x->cause = y->cause = "branches_exchanged";
      x->says = "'" + x->was + "' and '" + x->now + "' exchanged";
      states_[j].joined = true;
    }
}

// Two branches by themselves, each with one mistake of its own, may be the same two crossed: one mistake where they meet.
void Comparison::join_crossed_siblings() {
  constexpr std::size_t most = 12;
  std::vector<std::size_t> single;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const State& state = states_[i];
    const bool differs = state.compared && !state.dropped && !state.gap.same && !state.joined;
    if (differs && state.cause && state.cause->edits.size() == 1 && alignment_.matches[i].how == How::Place)
      single.push_back(i);
  }
  if (single.size() < 2 || single.size() > most) return;
  for (const std::size_t i : single)
    for (const std::size_t k : single)
      if (i < k && !states_[i].dropped && !states_[k].dropped) join_crossed(i, k);
}

void Comparison::join_crossed(std::size_t i, std::size_t k) {
  auto readers = readers_of_match(i);
  const auto others = readers_of_match(k);
  const auto meets = [&](std::size_t j) { return std::ranges::find(others, j) != others.end(); };
  if (std::ranges::none_of(readers, meets)) return;
  for (const std::size_t j : others)
    if (std::ranges::find(readers, j) == readers.end()) readers.push_back(j);
  set(i, false), set(k, false);
  auto found = each_by_one_change(readers);
  const bool are_crossed = found && std::ranges::all_of(*found, [](const auto& one) {
                             return one.second.edits[0].cause == "branches_exchanged";
                           });
  if (!are_crossed) {
    set(i, true), set(k, true);
    return;
  }
  states_[i].dropped = states_[k].dropped = true;
  for (auto& [j, cause] : *found) {
    states_[j].compared = true;
    states_[j].gap = cause.before;
    states_[j].cause = std::move(cause);
  }
}

Status Comparison::explain_all() {
  uncross_exchanged();
  LongWork work("looking for causes", states_.size());
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (auto wanted = still_wanted("looking for causes"); !wanted) return wanted;
    State& state = states_[i];
    if (!state.compared || state.dropped || state.gap.same || state.cause) continue;
    // What was dropped meanwhile may have been all that was wrong here.
    if (const auto again = gap(i); again && again->same) {
      state.gap = *again;
      continue;
    }
    work.at(i + 1, layer_of_a(alignment_.matches[i]));
    if (join(i) || join_over(i)) continue;
    auto cause = cause_of(i, true);
    if (cause) state.cause = *std::move(cause);
  }
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (auto wanted = still_wanted("looking for causes"); !wanted) return wanted;
    join_for_fewer(i);
  }
  join_crossed_reads();
  join_crossed_siblings();
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const State& state = states_[i];
    const bool is_unexplained = !state.cause || state.cause->edits.empty() || is_roundabout(state.cause->edits, state);
    if (state.compared && !state.dropped && !state.gap.same && is_unexplained && state.weights.different > 0)
      blame_weights(i);
  }
  return {};
}

}  // namespace convoy::diagnose
