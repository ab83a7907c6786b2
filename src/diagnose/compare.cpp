#include "diagnose/compare.h"

#include "diagnose/cause.h"
#include "diagnose/error_map.h"
#include "diagnose/fingerprint.h"
#include "diagnose/fix.h"
#include "graph/text.h"
#include "prove/compare.h"
#include "run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace convoy::diagnose {

namespace {

std::size_t index(ValueId v) { return static_cast<std::size_t>(v.index); }

// The operator that a layer is mostly about: the one with numbers, else the last.
const Node* main_node(const Graph& piece) {
  const Node* found = nullptr;
  for (const Node& node : piece.nodes) {
    if (std::holds_alternative<Identity>(node.op) && found) continue;
    const bool has_weights = node.inputs.size() > 1 && constant_of(piece, node, 1);
    const bool found_has = found && found->inputs.size() > 1 && constant_of(piece, *found, 1);
    if (has_weights || !found_has) found = &node;
  }
  return found;
}

std::string pads_in(const Graph& piece) {
  std::string text;
  for (const Node& node : piece.nodes)
    std::visit(
        [&]<class O>(const O& op) {
          if constexpr (std::is_same_v<O, ConvTranspose>) {
            for (const auto& p : op.paddings)
              text += fmt::format("{}cut {},{}", text.empty() ? "" : " ", p.before, p.after);
          } else if constexpr (requires {
                                 op.paddings;
                                 op.windows;
                                 op.axes;
                               }) {
            for (const auto& p : op.paddings)
              text += fmt::format("{}{},{}", text.empty() ? "" : " ", p.before, p.after);
          }
        },
        node.op);
  return text;
}

std::string shape_text(const Sizes& shape) {
  std::string text;
  for (const Size n : shape) text += (text.empty() ? "" : ",") + std::to_string(n);
  return text;
}

// What b did, where undoing it in b is the evidence.
std::string_view mirrored(std::string_view cause) {
  constexpr std::pair<std::string_view, std::string_view> pairs[] = {
      {"activation_missing", "activation_extra"}, {"bias_missing", "bias_extra"}, {"pad_missing", "pad_where_none"}};
  for (const auto& [one, other] : pairs) {
    if (cause == one) return other;
    if (cause == other) return one;
  }
  return cause;
}

}  // namespace

Comparison::Comparison(const Sized& sized, const Alignment& alignment, int threads, bool maps)
    : sized_(sized),
      alignment_(alignment),
      threads_(threads),
      maps_(maps),
      matched_a_(sized.a.values.size(), false),
      matched_b_(sized.b.values.size(), false),
      states_(alignment.matches.size()) {
  for (std::size_t i = 0; i < alignment_.matches.size(); ++i) set(i, true);
  for (Match& match : alignment_.matches) {
    if (!match.permutation.empty()) continue;
    match.permutation.resize(sized.a[match.a].fact.shape.size());
    std::iota(match.permutation.begin(), match.permutation.end(), Size{0});
  }
  for (const Node& node : sized.a.nodes)
    if (const Tensor* kernel = constant_of(sized.a, node, 1)) kernels_.emplace(fingerprint(*kernel), node.layer);
}

void Comparison::set(std::size_t match, bool is_matched) {
  matched_a_[index(alignment_.matches[match].a)] = is_matched;
  matched_b_[index(alignment_.matches[match].b)] = is_matched;
}

Status Comparison::start(const std::vector<Tensor>& inputs) {
  RunOptions options;
  options.precision = Precision::Double;
  options.threads = threads_;
  options.keeps_all = true;
  auto values = run(sized_.a, inputs, options);
  if (!values) return pass(values);
  values_a_.resize(sized_.a.values.size());
  for (auto& [v, tensor] : *values) values_a_[index(v)] = std::move(tensor);
  for (std::size_t i = 0; i < inputs.size(); ++i) values_a_[index(sized_.a.inputs[i])] = inputs[i];
  return {};
}

// A's own numbers, or others between their least and largest: those that the model might have met.
Tensor Comparison::forced(const Match& match, bool fresh) const {
  const Tensor own = rounded(values_a_[index(match.a)]);
  if (!fresh || own.dtype() != DType::F32 || own.count() == 0) return own;
  auto values = own.floats();
  const auto [least, most] = std::ranges::minmax(values);
  if (!std::isfinite(least) || !std::isfinite(most)) return own;
  std::mt19937_64 random(static_cast<std::uint64_t>(match.a.index) + 1);
  for (float& value : values) {
    const float share = static_cast<float>(random() >> 40) * 0x1p-24F;
    value = least * (1 - share) + most * share;
  }
  return Tensor::of(own.shape(), std::move(values));
}

Result<Comparison::Stretch> Comparison::stretch(std::size_t i) const {
  const Match& match = alignment_.matches[i];
  Stretch result;
  result.a = cut(sized_.a, match.a, boundary_of(sized_.a, match.a, matched_a_));
  result.b = cut(sized_.b, match.b, boundary_of(sized_.b, match.b, matched_b_));
  if (result.a.graph.nodes.empty() || result.b.graph.nodes.empty()) return fail(Fault::Internal, "an empty stretch");
  for (const ValueId v : result.a.from) {
    const Match* from = alignment_.of_a(v);
    if (!from) return fail(Fault::Unsupported, "input '" + sized_.a[v].name + "' has no counterpart");
    result.inputs_a.push_back(forced(*from, states_[i].fresh));
    result.reads.push_back(static_cast<std::size_t>(from - alignment_.matches.data()));
  }
  for (const ValueId v : result.b.from) {
    const Match* from = alignment_.of_b(v);
    if (!from) return fail(Fault::Unsupported, "input '" + sized_.b[v].name + "' has no counterpart");
    const auto shape = sizes_of(sized_.b[v].fact.shape);
    result.inputs_b.push_back(arranged(forced(*from, states_[i].fresh), from->permutation, shape.value_or(Sizes{})));
    result.reads.push_back(static_cast<std::size_t>(from - alignment_.matches.data()));
  }
  return result;
}

// Where more than one order of axes fits the shapes, the one under which the numbers agree.
Result<Gap> Comparison::gap(std::size_t i) {
  auto at = stretch(i);
  if (!at) return pass(at);
  auto wanted = evaluate(at->a.graph, at->inputs_a, threads_);
  if (!wanted) return pass(wanted);
  auto got = evaluate_rounded(at->b.graph, at->inputs_b, threads_);
  if (!got) return pass(got);
  Match& match = alignment_.matches[i];
  Gap best = gap_between(*got, *wanted, match.permutation);
  if (maps_) states_[i].map = error_map(*got, arranged(*wanted, match.permutation, got->value.shape()));
  if (best.same) return best;
  for (const Sizes& order : permutations_between(wanted->shape(), got->value.shape())) {
    const Gap other = gap_between(*got, *wanted, order);
    if (!other.same) continue;
    match.permutation = order;
    if (maps_) states_[i].map = error_map(*got, arranged(*wanted, order, got->value.shape()));
    return other;
  }
  return best;
}

std::vector<std::size_t> Comparison::readers_of_match(std::size_t i) const {
  const Match& match = alignment_.matches[i];
  std::vector<std::size_t> readers;
  for (std::size_t j = 0; j < states_.size(); ++j) {
    if (j == i || states_[j].dropped || alignment_.matches[j].how == How::Input) continue;
    const auto a = boundary_of(sized_.a, alignment_.matches[j].a, matched_a_);
    const auto b = boundary_of(sized_.b, alignment_.matches[j].b, matched_b_);
    if (std::ranges::find(a, match.a) != a.end() || std::ranges::find(b, match.b) != b.end()) readers.push_back(j);
  }
  return readers;
}

// The same may be computed by cuts that lie elsewhere: then everything behind agrees without this match.
bool Comparison::only_seems(std::size_t i) {
  if (alignment_.matches[i].how == How::Output) return false;
  const auto readers = readers_of_match(i);
  set(i, false);
  bool all = true;
  for (const std::size_t j : readers) {
    const auto other = gap(j);
    all = all && other && other->same;
    if (!all) break;
  }
  if (!all) set(i, true);
  return all;
}

// Where everything agrees on a's own numbers, some others: a maximum's padding shows only where a whole window is negative.
// Only for stretches with one input, whose numbers hang on nothing else.
void Comparison::try_fresh(std::size_t i) {
  const auto at = stretch(i);
  if (!at || at->a.from.size() != 1 || at->b.from.size() != 1) return;
  const bool chooses = std::ranges::any_of(at->a.graph.nodes, [](const Node& node) {
    return is_function(node.op) || std::holds_alternative<MaxPool>(node.op);
  });
  if (!chooses) return;
  State& state = states_[i];
  state.fresh = true;
  const auto other = gap(i);
  if (other && !other->same) state.gap = *other;
  else state.fresh = false;
}

// A cell that gives its last step and one that gives all of them are no counterparts by their values, nor is what puts
// such values side by side: the cut lies behind them.
void Comparison::drop_other_ends() {
  const auto numbers = [](const Graph& graph, ValueId v) {
    return checked_count(sizes_of(graph[v].fact.shape).value_or(Sizes{})).value_or(0);
  };
  std::set<ValueId> dropped;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const Match& match = alignment_.matches[i];
    if (match.how == How::Input || match.how == How::Output || numbers(sized_.a, match.a) == numbers(sized_.b, match.b))
      continue;
    const Op* op = match.node_a ? &sized_.a[match.node_a].op : nullptr;
    const bool walks = op && (std::holds_alternative<Lstm>(*op) || std::holds_alternative<Gru>(*op) ||
                              std::holds_alternative<SimpleRnn>(*op));
    bool reads_dropped = false;
    if (match.how == How::Place && match.node_a)
      for (const ValueId v : sized_.a[match.node_a].inputs) reads_dropped = reads_dropped || dropped.contains(v);
    if (!walks && !reads_dropped) continue;
    dropped.insert(match.a);
    states_[i].dropped = true;
    set(i, false);
  }
}

Status Comparison::compare_all() {
  drop_other_ends();
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (alignment_.matches[i].how == How::Input || states_[i].dropped) continue;
    auto found = gap(i);
    State& state = states_[i];
    if (found) state.gap = *found;
    else {
      state.gap = {
          std::numeric_limits<double>::infinity(), 0, std::numeric_limits<double>::infinity(), 1, 0, false, true};
      state.trouble = message(found.error());
    }
    state.compared = true;
    if (!state.gap.same && only_seems(i)) state.dropped = true;
    if (state.gap.same) try_fresh(i);
  }
  return {};
}

Result<Explained> Comparison::cause_of(std::size_t i, bool tries_pairs) const {
  auto at = stretch(i);
  if (!at) return pass(at);
  Question question{at->a.graph, at->b.graph, at->inputs_a, at->inputs_b, alignment_.matches[i].permutation, {}, false,
                    {},          &kernels_,   threads_,     tries_pairs};
  for (const ValueId v : at->a.from) {
    const Match* from = alignment_.of_a(v);
    question.before.push_back(from ? layer_of_a(*from) : std::string());
    question.reads_input = question.reads_input || (from && from->how == How::Input);
  }
  question.for_b = [&](const std::vector<Tensor>& inputs) {
    std::vector<Tensor> result;
    for (std::size_t b = 0; b < at->b.from.size(); ++b) {
      const Match* from = alignment_.of_b(at->b.from[b]);
      Tensor tensor = at->inputs_b[b];
      for (std::size_t a = 0; a < at->a.from.size(); ++a)
        if (from && at->a.from[a] == from->a)
          tensor = arranged(inputs[a], from->permutation, sizes_of(sized_.b[from->b].fact.shape).value_or(Sizes{}));
      result.push_back(std::move(tensor));
    }
    return result;
  };
  auto found = explain(question);
  const bool is_plain = found && !found->edits.empty() && found->edits[0].cause != "weights_differ";
  if (!found || is_plain) return found;
  // The other way round: b's stretch, changed, gives a's numbers. A batch norm that was folded into a is still in b.
  Question other{at->b.graph, at->a.graph, at->inputs_b, at->inputs_a, inverse(question.permutation), {}, false,
                 {},          nullptr,     threads_,     tries_pairs};
  other.reads_input = question.reads_input;
  for (const ValueId v : at->b.from) {
    const Match* from = alignment_.of_b(v);
    other.before.push_back(from ? layer_of_b(*from) : std::string());
  }
  auto turned = explain(other);
  if (!turned || turned->edits.empty() || turned->edits[0].cause == "weights_differ") return found;
  turned->of_b = true;
  turned->before = found->before;
  for (Edit& edit : turned->edits) edit.cause = mirrored(edit.cause);
  return turned;
}

// A layer that was moved past another one makes two differences; taken together they are one of order.
void Comparison::join(std::size_t i) {
  const auto readers = readers_of_match(i);
  if (alignment_.matches[i].how == How::Output) return;
  std::vector<std::size_t> differing;
  for (const std::size_t j : readers)
    if (states_[j].compared && !states_[j].gap.same) differing.push_back(j);
  if (differing.empty()) return;
  set(i, false);
  bool all = true;
  std::vector<std::pair<std::size_t, Explained>> found;
  for (const std::size_t j : readers) {
    const auto other = gap(j);
    if (other && other->same) continue;
    auto cause = cause_of(j, false);
    all = all && cause && cause->edits.size() == 1;
    if (!all) break;
    found.emplace_back(j, *std::move(cause));
  }
  if (!all || found.empty()) return set(i, true);
  states_[i].dropped = true;
  for (auto& [j, cause] : found) states_[j].cause = std::move(cause);
}

Status Comparison::explain_all() {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    State& state = states_[i];
    if (!state.compared || state.dropped || state.gap.same || state.cause) continue;
    auto cause = cause_of(i, true);
    if (cause) state.cause = *std::move(cause);
    const bool is_plain = state.cause && state.cause->edits.size() == 1 &&
                          !state.cause->edits[0].cause.starts_with("activation") &&
                          state.cause->edits[0].cause != "weights_differ";
    if (!is_plain) join(i);
  }
  return {};
}

std::string Comparison::layer_of_a(const Match& match) const {
  if (match.node_a) return sized_.a[match.node_a].layer;
  const Value& value = sized_.a[match.a];
  return value.producer ? sized_.a[value.producer].layer : value.name;
}
std::string Comparison::layer_of_b(const Match& match) const {
  if (match.node_b) return sized_.b[match.node_b].layer;
  const Value& value = sized_.b[match.b];
  return value.producer ? sized_.b[value.producer].layer : value.name;
}

// The layer of b that stands for this one of a: matched with one of its operators, else what the stretch is about.
std::string Comparison::b_of(const std::string& layer_a, const Match& match) const {
  const Match* found = nullptr;
  for (const Match& other : alignment_.matches) {
    if (!other.node_a || !other.node_b || sized_.a[other.node_a].layer != layer_a) continue;
    if (!found || (found->how == How::Place && other.how != How::Place)) found = &other;
  }
  return layer_of_b(found ? *found : match);
}

std::string Comparison::a_of(const std::string& layer_b, const Match& match) const {
  const Match* found = nullptr;
  for (const Match& other : alignment_.matches) {
    if (!other.node_a || !other.node_b || sized_.b[other.node_b].layer != layer_b) continue;
    if (!found || (found->how == How::Place && other.how != How::Place)) found = &other;
  }
  return layer_of_a(found ? *found : match);
}

void Comparison::report(Diagnosis& into) const {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const State& state = states_[i];
    const Match& match = alignment_.matches[i];
    if (!state.compared || state.dropped) continue;
    const auto at = stretch(i);
    const Node* a = at ? main_node(at->a.graph) : nullptr;
    const Node* b = at ? main_node(at->b.graph) : nullptr;
    Layer layer;
    layer.a = layer_of_a(match);
    layer.b = layer_of_b(match);
    layer.r = state.gap.r;
    layer.limit = state.gap.limit;
    layer.largest = state.gap.largest;
    layer.share = state.gap.share;
    layer.terms = state.gap.terms;
    layer.same = state.gap.same;
    layer.map = state.map;
    layer.value_a = sized_.a[match.a].name;
    layer.value_b = sized_.b[match.b].name;
    layer.permutation = match.permutation;
    layer.shape_a = shape_text(sizes_of(sized_.a[match.a].fact.shape).value_or(Sizes{}));
    layer.shape_b = shape_text(sizes_of(sized_.b[match.b].fact.shape).value_or(Sizes{}));
    if (at) layer.pads_a = pads_in(at->a.graph), layer.pads_b = pads_in(at->b.graph);
    const bool is_output = match.how == How::Output && layer.same;
    if (!is_output) into.layers.push_back(layer);
    if (layer.same) continue;
    Finding finding;
    finding.ratio = layer.r;
    finding.limit = layer.limit;
    finding.largest = layer.largest;
    finding.share = layer.share;
    finding.other_shape = state.gap.other_shape;
    finding.size = sized_.size;
    if (a) finding.what_a = text_of(a->op);
    if (b) finding.what_b = text_of(b->op);
    finding.a = a && match.how == How::Output ? a->layer : layer.a;
    finding.b = b && match.how == How::Output ? b->layer : layer.b;
    finding.cause = "unknown";
    finding.says = state.trouble;
    if (!state.cause || state.cause->edits.empty()) {
      if (state.cause) finding.next = state.cause->next, finding.ratio_next = state.cause->r_next;
      finding.ratio_after_fix = layer.r;
      finding.certain = false;
      into.findings.push_back(finding);
      continue;
    }
    finding.also = state.cause->also;
    finding.ratio_after_fix = state.cause->r_after;
    finding.next = state.cause->next;
    finding.ratio_next = state.cause->r_next;
    finding.certain = state.cause->certain;
    finding.ratio = state.cause->before.r;
    finding.limit = state.cause->before.limit;
    for (const Edit& edit : state.cause->edits) {
      finding.cause = std::string(edit.cause);
      finding.says = edit.says;
      if (!edit.layer.empty()) {
        finding.a = state.cause->of_b ? a_of(edit.layer, match) : edit.layer;
        finding.b = state.cause->of_b ? edit.layer : b_of(edit.layer, match);
      }
      const bool is_said = std::ranges::any_of(into.findings, [&](const Finding& said) {
        return said.a == finding.a && said.b == finding.b && said.cause == finding.cause;
      });
      if (!is_said) into.findings.push_back(finding);
    }
  }
}

}  // namespace convoy::diagnose
