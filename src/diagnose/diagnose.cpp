#include "diagnose/diagnose.h"

#include "base/budget.h"
#include "base/long_work.h"
#include "diagnose/cause.h"
#include "diagnose/compare.h"
#include "diagnose/error_map.h"
#include "diagnose/fix.h"
#include "diagnose/freely.h"
#include "diagnose/hidden_order.h"
#include "diagnose/idle_steps.h"
#include "diagnose/merge_calls.h"
#include "diagnose/named_order.h"
#include "diagnose/run_apart.h"
#include "diagnose/separate.h"
#include "diagnose/share.h"
#include "diagnose/spelt_products.h"
#include "diagnose/steps_causes.h"
#include "diagnose/twin.h"
#include "diagnose/twin_weights.h"
#include "graph/quantized_steps.h"
#include "ops/expect.h"
#include "prove/meeting.h"
#include "run/run.h"

#include <fmt/format.h>
#include <utility>

#include <algorithm>
#include <cmath>
#include <limits>

namespace convoy::diagnose {

namespace {

Tensor scaled(const Tensor& tensor, float factor) {
  if (tensor.dtype() != DType::F32 || factor == 1) return tensor;
  auto values = tensor.floats();
  for (float& value : values) value *= factor;
  return Tensor::of(tensor.shape(), std::move(values));
}

// Causes that explain one trial and not the other fall away.
void narrow(Finding& finding, const Finding& again) {
  const auto names = [](const Finding& one) {
    std::vector<std::string> all{one.cause};
    all.insert(all.end(), one.also.begin(), one.also.end());
    return all;
  };
  if (finding.also.empty() || finding.b != again.b) return;
  const auto others = names(again);
  std::vector<std::string> both;
  for (const std::string& name : names(finding))
    if (std::ranges::find(others, name) != others.end()) both.push_back(name);
  if (both.empty()) return;
  if (both.front() != finding.cause && both.front() == again.cause)
    finding.says = again.says, finding.size = again.size;
  finding.cause = both.front();
  finding.also.assign(both.begin() + 1, both.end());
}

// What a later trial adds: a layer's worst numbers, and findings about layers that had none.
void merge(Diagnosis& into, const Diagnosis& more) {
  const auto same_layer = [&](const Layer& layer) {
    return std::ranges::find_if(into.layers, [&](const Layer& l) {
      return l.a == layer.a && l.b == layer.b && l.shape_a.size() == layer.shape_a.size();
    });
  };
  for (const Layer& layer : more.layers) {
    const auto it = same_layer(layer);
    if (it == into.layers.end()) continue;
    if (!layer.same && it->same) *it = layer;
  }
  for (const Finding& finding : more.findings) {
    const auto is_here = [&](const Finding& said) { return said.a == finding.a; };
    const auto is_this = [&](const Finding& said) { return said.a == finding.a && said.cause == finding.cause; };
    const auto here = std::ranges::count_if(into.findings, is_here);
    auto it = std::ranges::find_if(into.findings, is_this);
    if (it == into.findings.end() && here == 1) it = std::ranges::find_if(into.findings, is_here);
    if (it != into.findings.end()) narrow(*it, finding);
    if (here > 0) continue;
    into.findings.push_back(finding);
    const bool has_row = finding.shows_in < more.layers.size();
    const auto row = has_row ? same_layer(more.layers[finding.shows_in]) : into.layers.end();
    into.findings.back().shows_in = static_cast<std::size_t>(row - into.layers.begin());
  }
}

// The layer as its file has it: passes carry axes along, so that a transpose may be left in the layer beside it.
std::string turning_layer(const Graph& a, const std::string& layer) {
  const auto moves = [](const Op& op) {
    return holds_alternative<Reshape>(op) || holds_alternative<Transpose>(op) || holds_alternative<Unsqueeze>(op) ||
           holds_alternative<Squeeze>(op);
  };
  for (std::size_t i = a.nodes.size(); i-- > 0;) {
    if (a.nodes[i].layer != layer || !moves(a.nodes[i].op)) continue;
    const Node* node = &a.nodes[i];
    while (node && moves(node->op)) {
      if (holds_alternative<Transpose>(node->op)) return node->layer;
      const NodeId before = a[node->inputs[0]].producer;
      node = before ? &a[before] : nullptr;
    }
  }
  return layer;
}

// The pad that reads the model's input as its file has it: passes take it into the layer behind.
std::string padding_in_front(const Graph& a, const std::string& layer) {
  for (const Node& node : a.nodes) {
    if (node.layer != layer || node.inputs.empty() || !node.inputs[0]) continue;
    const NodeId maker = a[node.inputs[0]].producer;
    const bool is_pad = maker && holds_alternative<Pad>(a[maker].op);
    if (is_pad && std::ranges::find(a.inputs, a[maker].inputs[0]) != a.inputs.end()) return a[maker].layer;
  }
  return layer;
}

bool is_about_pads(std::string_view cause) {
  return cause.starts_with("pad_") || cause == "pads_hw_swapped" || cause == "same_as_symmetric" ||
         cause == "odd_cell_on_the_other_side";
}

// The layer that pads for this one, where this one does not pad by itself.
std::string pad_of(const Graph& b, const std::string& layer) {
  for (const Node& node : b.nodes) {
    const auto* conv = get_if<Conv>(&node.op);
    if (!conv || node.layer != layer || !b[node.inputs[0]].producer) continue;
    const bool is_bare = std::ranges::all_of(conv->paddings, [](Padding p) {
      return p.spelling == Spelling::Valid || (p.spelling == Spelling::Explicit && p.before == 0 && p.after == 0);
    });
    const Node& maker = b[b[node.inputs[0]].producer];
    if (is_bare && holds_alternative<Pad>(maker.op)) return maker.layer;
  }
  return layer;
}

using Computed = std::vector<std::pair<std::string, std::string>>;  // layers and values, as they are computed

// A layer that passes took into the one behind it stands where that one does.
std::string standing(const Graph& a, const Computed& order, std::string layer) {
  constexpr int most = 8;
  for (int i = 0; i < most && std::ranges::find(order, layer, &Computed::value_type::first) == order.end(); ++i) {
    const auto own = std::ranges::find(a.nodes, layer, &Node::layer);
    if (own == a.nodes.end()) break;
    const auto reader = std::ranges::find_if(a.nodes, [&](const Node& node) {
      return node.layer != layer && std::ranges::find(node.inputs, own->outputs[0]) != node.inputs.end();
    });
    if (reader == a.nodes.end()) break;
    layer = reader->layer;
  }
  return layer;
}

// Where a computes the layer: of several with its name, the last one up to the stretch in which the fault shows.
std::size_t place_of(const Finding& finding, const std::string& layer, const std::vector<Layer>& layers,
                     const Computed& order) {
  std::size_t end = order.size(), place = order.size();
  for (std::size_t i = 0; i < order.size() && finding.shows_in < layers.size(); ++i)
    if (order[i].second == layers[finding.shows_in].value_a) end = i + 1;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (order[i].first == layer && (i < end || place == order.size())) place = i;
  return place;
}

// Of the layer at fault, or of the one whose numbers show it: a pad has no windows of its own.
void draw_windows(const Sized& at, const std::vector<Layer>& layers, Finding& finding) {
  finding.windows_a = windows_of(at.a, finding.a);
  finding.windows_b = windows_of(at.b, finding.b);
  if (finding.shows_in >= layers.size()) return;
  const Layer& layer = layers[finding.shows_in];
  if (finding.windows_a.empty()) finding.windows_a = windows_of(at.a, layer.a);
  if (finding.windows_b.empty()) finding.windows_b = windows_of(at.b, layer.b);
}

// Whether everything agrees once rows of a are taken for columns of b.
bool is_turned(const Graph& a, const Graph& b, const Options& options, Unsaid unsaid, Diagnosis& result) {
  if (a.inputs.size() != 1 || a[a.inputs[0]].type.shape.size() != 4) return false;
  auto at = at_one_size(a, b, 0, options.seed, options.inputs, unsaid, true);
  if (!at) return false;
  // Either everything in b is turned, or b turns its input and goes on as a does.
  Diagnosis one;
  bool agrees = false;
  for (const bool only_input : {false, true}) {
    Alignment alignment = align(at->a, at->b);
    if (options.shares_weights) share_weights(*at, alignment, {});
    if (only_input) {
      for (Match& match : alignment.matches)
        if (match.how == How::Input) match.permutation = turned_order(at->a[match.a].type.shape.size());
    } else {
      alignment = turned(std::move(alignment), at->a);
    }
    Comparison comparison(*at, alignment, options.threads);
    if (!comparison.start(at->inputs) || !comparison.compare_all()) continue;
    one = {};
    comparison.report(one);
    agrees = one.findings.empty() && !one.layers.empty();
    if (agrees) break;
  }
  if (!agrees) return false;
  Finding finding;
  if (!result.findings.empty()) finding = result.findings.front();
  finding.a = one.layers.front().a;
  finding.b = one.layers.front().b;
  finding.cause = "input_hw_swapped";
  finding.says = "rows taken for columns everywhere";
  finding.also.clear();
  finding.ratio_after_fix = one.layers.front().r;
  finding.limit = one.layers.front().limit;
  finding.size = at->size;
  if (result.findings.empty()) finding.ratio = std::numeric_limits<double>::infinity(), finding.other_shape = true;
  finding.fix = {
      "x = x.transpose(2, 3)  # in front of the model, and back behind it where the output is an image",
      "x = ops.transpose(x, (0, 2, 1, 3))  # in front of the model, and back behind it where the output is an image"};
  if (result.layers.empty()) result.layers = one.layers;
  result.sizes = {at->size};
  result.findings = {finding};
  result.same = false;
  return true;
}

// A model that gives fewer or more than the other, whatever they are.
std::optional<Finding> other_outputs(const Graph& a, const Graph& b, const Diagnosis& found) {
  const std::size_t of_a = a.outputs.size(), of_b = b.outputs.size();
  if (of_a == of_b) return std::nullopt;
  const std::size_t first = std::min(of_a, of_b);
  const auto layer = [first](const Graph& graph) {
    if (graph.outputs.empty()) return std::string();
    const Value& value = graph[graph.outputs[std::min(first, graph.outputs.size() - 1)]];
    return value.producer ? graph[value.producer].layer : value.name;
  };
  Finding finding;
  finding.a = layer(a), finding.b = layer(b);
  finding.cause = "outputs";
  finding.says = fmt::format("{} outputs in place of {}", of_b, of_a);
  finding.ratio = std::numeric_limits<double>::infinity();
  finding.other_shape = true;
  finding.size = found.sizes.empty() ? std::string() : found.sizes.front();
  finding.shows_in = found.layers.size();
  return finding;
}

void note_alignment(const Alignment& alignment, Diagnosis& result) {
  result.weighted_a = alignment.weighted_a;
  result.weighted_b = alignment.weighted_b;
  result.by_weights = alignment.by_weights;
  result.by_place = alignment.by_place;
  result.only_a = alignment.only_a;
  result.only_b = alignment.only_b;
}

// Those that look up rows of a table stay as they are.
std::vector<Tensor> inputs_times(float factor, const Sized& at) {
  std::vector<Tensor> inputs;
  const auto rows = index_ranges(at.a);
  for (std::size_t i = 0; i < at.inputs.size(); ++i) {
    const bool asks_for_rows = rows[at.a.inputs[i].slot()] > 0;
    inputs.push_back(asks_for_rows ? at.inputs[i] : scaled(at.inputs[i], factor));
  }
  return inputs;
}

// Which layers the user knows it by, what its windows read, and what to write.
void advise(Finding& finding, const Graph& a, const Graph& b, const Sized& at, const std::vector<Layer>& layers) {
  if (finding.cause == "depth_to_space_order") finding.a = turning_layer(a, finding.a);
  if (is_about_pads(finding.cause)) finding.b = pad_of(b, finding.b);
  if (finding.cause == "preprocessing" || finding.cause == "channel_order") finding.a = padding_in_front(a, finding.a);
  draw_windows(at, layers, finding);
  finding.fix = fix_of(a, at.a, finding);
}

void order_findings(const Graph& a, const Computed& order, Diagnosis& result) {
  // What a later trial found may lie further in front.
  std::ranges::stable_sort(result.findings, {}, [&](const Finding& finding) {
    return place_of(finding, standing(a, order, finding.a), result.layers, order);
  });
  for (Finding& finding : result.findings) {
    finding.separating_size = separating_size(a, finding);
    // What explains the numbers just as well may be meant as well.
    finding.certain = finding.certain && std::ranges::none_of(finding.also, [&](const std::string& other) {
                        return is_rival(other, finding.cause);
                      });
  }
}

// How many sizes have to be tried until every stride has left over all that it may.
int sizes_for_strides(const Graph& a, const Graph& b) {
  constexpr Size fewest = 2, most = 16;
  Size longest = fewest;
  for (const Graph* graph : {&a, &b})
    for (const Node& node : graph->nodes)
      node.op.visit([&]<class O>(const O& op) {
        if constexpr (requires { op.windows.front().stride; })
          for (const auto& window : op.windows) longest = std::max(longest, window.stride);
      });
  return static_cast<int>(std::min(longest, most));
}

// Where windows begin in both, and the sizes that come of it: where one of these fits and another does not at a further size,
// numbers may differ there.
std::vector<bool> fits_of(const Sized& at, const Alignment& alignment) {
  std::vector<bool> fits;
  const auto pads_of = [](const Graph& graph, NodeId n) {
    Sizes before;
    if (n)
      graph[n].op.visit([&]<class O>(const O& op) {
        if constexpr (requires { op.paddings.front().before; })
          for (const auto& padding : op.paddings) before.push_back(padding.before);
      });
    return before;
  };
  for (const Match& match : alignment.matches) {
    fits.push_back(pads_of(at.a, match.node_a) == pads_of(at.b, match.node_b));
    const auto of_a = sizes_of(at.a[match.a].type.shape), of_b = sizes_of(at.b[match.b].type.shape);
    fits.push_back(of_a && of_b && have_same_sizes(*of_a, *of_b));
  }
  return fits;
}

// Two models, tried at some sizes with numbers of two magnitudes.
class Trials {
 public:
  Trials(const Graph& a, const Graph& b, const Options& options, Unsaid unsaid)
      : a_(a),
        b_(b),
        options_(options),
        unsaid_(unsaid) {
    result_.unsaid = unsaid;
  }

  Result<Diagnosis> run() {
    const int most = sizes_for_strides(a_, b_);
    for (int trial = 0; trial < most && (trial == 0 || is_free_); ++trial) {
      if (trial >= 2 && !result_.findings.empty()) break;
      if (auto wanted = still_wanted("comparing"); !wanted) return pass(wanted);
      auto at = at_one_size(a_, b_, trial, options_.seed, options_.inputs, unsaid_);
      if (auto wanted = still_wanted("comparing"); !wanted) return pass(wanted);
      if (!at && trial == 0 && is_turned(a_, b_, options_, unsaid_, result_)) return result_;
      if (!at && trial >= 2) break;
      if (!at) return pass(at);
      if (auto done = compare_at(*at, trial); !done) return pass(done);
      if (is_all_turned_) return result_;
    }
    order_findings(a_, order_, result_);
    if (auto finding = other_outputs(a_, b_, result_)) result_.findings.push_back(*std::move(finding));
    if (apart_ && result_.findings.empty()) {
      apart_->shows_in = result_.layers.size();
      result_.findings.push_back(*apart_);
    }
    result_.same = result_.findings.empty();
    return result_;
  }

  // Whether inputs and outputs might be held against each other otherwise.
  bool is_open() const { return is_open_; }

 private:
  Status compare_at(Sized& at, int trial) {
    is_open_ = at.outsides.is_open;
    is_free_ = at.free && options_.inputs.empty();
    result_.outside = at.outsides.said;
    auto apart = run_apart(at, options_.threads);
    Values known =
        options_.shares_weights ? Values() : std::exchange(apart.values_a, {});  // other weights, other values
    const Alignment alignment = align(at.a, at.b, {.apart = std::move(apart)});
    if (auto wanted = still_wanted("comparing"); !wanted) return wanted;
    const auto fits = fits_of(at, alignment);
    if (trial == 0) fits_at_first_ = fits;
    if (trial >= 2 && fits == fits_at_first_) return {};
    result_.sizes.push_back(at.size);
    if (options_.shares_weights)
      result_.shared = share_weights(at, alignment, places_of(a_, b_, trial, options_.seed, options_.inputs));
    const auto hidden = settle_hidden_orders(at.a, at.b, alignment);
    if (auto wanted = still_wanted("comparing"); !wanted) return wanted;
    if (trial == 0) {
      result_.hidden_orders = hidden;
      for (const Node& node : at.a.nodes) order_.emplace_back(node.layer, at.a[node.outputs[0]].name);
      note_alignment(alignment, result_);
      run_freely(at, alignment, result_, options_.threads);
      apart_ = outputs_apart(at, alignment, result_, options_.threads);
    }
    // Larger numbers reach limits that the first ones do not.
    for (const float factor : {1.0F, 16.0F}) {
      if (factor > 1 && !options_.inputs.empty()) continue;
      const bool is_first = trial == 0 && factor == 1;
      if (auto done = compare_with(at, alignment, factor, is_first, std::exchange(known, {})); !done) return done;
      if (is_all_turned_) return {};
    }
    return {};
  }

  // `known`: what a makes of the inputs times the factor; empty: not known.
  Status compare_with(const Sized& at, const Alignment& alignment, float factor, bool is_first, Values known) {
    Comparison comparison(at, alignment, options_.threads, options_.maps);
    if (auto done = comparison.start(inputs_times(factor, at), std::move(known)); !done) return within("a", done);
    if (auto done = comparison.compare_all(!is_first); !done) return done;
    if (is_first) comparison.compare_exactly();
    comparison.settle_doubts();
    if (is_first) {
      if (ask_whether_turned(comparison)) return {};
      comparison.tell_scope(result_.scope);
    }
    if (auto done = comparison.explain_all(); !done) return done;
    Diagnosis one;
    comparison.report(one);
    for (Finding& finding : one.findings) advise(finding, a_, b_, at, one.layers);
    if (result_.layers.empty()) result_.layers = one.layers, result_.findings = one.findings;
    else merge(result_, one);
    return {};
  }

  // Cheaper asked before the causes of every layer.
  bool ask_whether_turned(const Comparison& comparison) {
    Diagnosis quick;
    comparison.report(quick);
    if (quick.findings.size() <= 1 || !is_turned(a_, b_, options_, unsaid_, quick)) return false;
    quick.by_weights = result_.by_weights, quick.by_place = result_.by_place;
    quick.weighted_a = result_.weighted_a, quick.weighted_b = result_.weighted_b;
    quick.unsaid = unsaid_, quick.outside = result_.outside;
    quick.outputs_largest = result_.outputs_largest, quick.outputs_scale = result_.outputs_scale;
    quick.outputs_agree = result_.outputs_agree;
    result_ = std::move(quick);
    is_all_turned_ = true;
    return true;
  }

  const Graph& a_;
  const Graph& b_;
  const Options& options_;
  const Unsaid unsaid_;
  Diagnosis result_;
  Computed order_;  // of a
  std::vector<bool> fits_at_first_;
  std::optional<Finding> apart_;  // of the whole models, whatever their stretches say
  bool is_free_ = true, is_open_ = false, is_all_turned_ = false;
};

Result<Diagnosis> diagnosed_as_written(const Graph& a, const Graph& b, const Options& options) {
  Trials trials(a, b, options, Unsaid::Convention);
  auto result = trials.run();
  if (!trials.is_open() || (result && result->same)) return result;
  auto other = Trials(a, b, options, Unsaid::AsItLies).run();
  return other && (!result || other->same) ? other : result;
}

// A model that computes something twice and one that keeps it differ in no number.
Result<Diagnosis> diagnosed(const Graph& a, const Graph& b, const Options& options) {
  auto result = diagnosed_as_written(a, b, options);
  if (!result || result->same) return result;
  Graph once_a = a, once_b = b;
  const auto of_a = merge_repeats(once_a), of_b = merge_repeats(once_b);
  if (!of_a || !of_b || (!*of_a && !*of_b)) return result;
  auto other = diagnosed_as_written(once_a, once_b, options);
  return other && other->same ? other : result;
}

void name_other_types(const Graph& a, const Graph& b, Scope& scope) {
  for (std::size_t i = 0; a.outputs.size() == b.outputs.size() && i < a.outputs.size(); ++i) {
    const DType ours = a[a.outputs[i]].type.dtype, theirs = b[b.outputs[i]].type.dtype;
    if (ours != theirs)
      scope.other_types.push_back("output '" + a.output_names[i] + "' is " + std::string(name_of(ours)) + " in a, " +
                                  std::string(name_of(theirs)) + " in b");
  }
}

// A file's order of outputs and that of its signature's names are both the model's.
Result<Diagnosis> diagnosed_in_some_order(const Graph& a, const Graph& b, const Options& options) {
  auto result = diagnosed(a, b, options);
  if (!result) return result;
  name_other_types(a, b, result->scope);
  const auto other_a = result->same ? std::nullopt : by_numbered_outputs(a);
  const auto other_b = result->same ? std::nullopt : by_numbered_outputs(b);
  if (!other_a == !other_b) return result;
  const Graph &now_a = other_a ? *other_a : a, &now_b = other_b ? *other_b : b;
  auto other = diagnosed(now_a, now_b, options);
  if (!other || !other->same) return result;
  name_other_types(now_a, now_b, other->scope);
  return other;
}

// What is not rounding is found with ranges in place of steps, and how much rounding loses, layer by layer.
Result<Diagnosis> twins_diagnosed(const Graph& a, const Graph& b, const Options& options) {
  const bool of_a = rounds_to_steps(a);
  const Graph ranged = without_steps(of_a ? a : b);
  auto result = of_a ? diagnosed(ranged, b, options) : diagnosed(a, ranged, options);
  if (!result) return result;
  drop_rounded(a, b, result->findings);
  if (const auto at = at_one_size(of_a ? ranged : a, of_a ? b : ranged, 0, options.seed, options.inputs))
    put_in_place(weights_off_their_steps(*at, scales_of_inputs(of_a ? a : b), of_a), *result);
  result->same = false;
  if (options.inputs.empty() || !of_a) {
    auto losses = of_a ? losses_of_twins(b, a, ranged, options) : losses_of_twins(a, b, ranged, options);
    if (losses) {
      result->losses = std::move(losses->layers);
      result->outputs_with_ranges = result->outputs_largest;
      result->outputs_largest = losses->outputs_largest, result->outputs_scale = losses->outputs_scale;
      result->beyond_range = std::move(losses->beyond_range), result->share_beyond = losses->share_beyond;
    } else if (losses.error().fault != Fault::Budget) return std::unexpected(losses.error());
  }
  if (of_a)
    for (LayerLoss& loss : result->losses) std::swap(loss.a, loss.b);
  return result;
}

// What rounding of weights alone explains leaves the findings, and how much that loses, layer by layer.
Status weigh_rounded_weights(const Graph& a, const Graph& b, const Options& options, Diagnosis& result) {
  const auto rounded = drop_rounded_weights(a, b, result.findings);
  if (std::ranges::find(result.findings, "weights_differ", &Finding::cause) != result.findings.end())
    if (const auto at = at_one_size(a, b, 0, options.seed, options.inputs))
      put_in_place(weights_alone_off_their_steps(*at, result.findings), result);
  if (!rounded) return {};
  const bool of_a = *rounded == Side::A;
  result.rounds_weights_alone = true;
  if (!options.inputs.empty() && of_a) return {};
  auto losses = of_a ? losses_of_twins(b, a, a, options) : losses_of_twins(a, b, b, options);
  if (!losses) return losses.error().fault == Fault::Budget ? Status{} : pass(losses);
  result.losses = std::move(losses->layers);
  if (of_a)
    for (LayerLoss& loss : result.losses) std::swap(loss.a, loss.b);
  return {};
}

// What is behind a number that is none is compared with nothing, and so is what no example goes through.
Status check_given(const Graph& a, const std::vector<Tensor>& given) {
  if (given.size() > a.inputs.size())
    return fail(Fault::Usage, std::to_string(given.size()) + " arrays are given, a has " +
                                  std::to_string(a.inputs.size()) + " inputs: give one for each");
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string& name = a[a.inputs[i]].name;
    const std::size_t axes = given[i].shape().size(), wanted = a[a.inputs[i]].type.shape.size();
    if (axes != wanted)
      return fail(Fault::Usage, "the array for input '" + name + "' has " + std::to_string(axes) +
                                    " axes, a has it with " + std::to_string(wanted));
    if (given[i].count() == 0)
      return fail(Fault::Usage, "the array for input '" + name + "' is empty: nothing would be compared");
    if (is_floating(given[i].dtype()) &&
        !std::ranges::all_of(given[i].doubles(), [](double x) { return std::isfinite(x); }))
      return fail(Fault::Usage, "the array for input '" + name +
                                    "' holds NaN or infinity, behind which no difference shows: give finite numbers");
  }
  return {};
}

}  // namespace

Result<Diagnosis> diagnose(const Graph& a, const Graph& written_b, const Options& options) {
  const budget::Computing computing;
  if (auto sound = check_given(a, options.inputs); !sound) return pass(sound);
  const Graph b = in_order_of(a, written_b);
  Graph divided_a = a, divided_b = b;  // one way of writing steps
  divide_by_scales(divided_a), divide_by_scales(divided_b);
  auto of_a = spell_out_products(divided_a, options.threads), of_b = spell_out_products(divided_b, options.threads);
  if (!of_a) return within("a", Result<Diagnosis>(pass(of_a)));
  if (!of_b) return within("b", Result<Diagnosis>(pass(of_b)));
  if (are_twins(divided_a, divided_b)) return twins_diagnosed(divided_a, divided_b, options);
  // Steps behind what hands numbers on are written in the one form alone.
  if ((*of_a > 0) != (*of_b > 0)) drop_idle_steps(divided_a), drop_idle_steps(divided_b);
  auto result = diagnosed_in_some_order(a, b, options);
  if (!result) return result;
  // Where a factor hides the scales, what differs is told by the products of the real numbers that they stand for.
  if (!result->same && (*of_a > 0 || *of_b > 0)) {
    auto spelt = diagnosed_in_some_order(divided_a, divided_b, options);
    if (spelt) result = std::move(spelt);
    else if (spelt.error().fault == Fault::Budget) return spelt;
  }
  if (auto done = weigh_rounded_weights(a, b, options, *result); !done) return pass(done);
  const auto is_widening = [](const Node& node) { return node.kind == "DequantizeLinear"; };
  if (rounds_to_steps(divided_a) || std::ranges::any_of(a.nodes, is_widening))
    name_steps(divided_a, divided_b, result->findings);
  return result;
}

}  // namespace convoy::diagnose
