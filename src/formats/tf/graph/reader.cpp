// The walk through a graph: names, frames, what is needed, inputs and outputs.
#include "formats/tf/graph/reader.h"

#include "base/budget.h"
#include "base/nearest.h"
#include "base/words.h"
#include "formats/recorded_type.h"
#include "formats/tf/catalogue/catalogue.h"
#include "formats/tf/graph/tensor.h"
#include "graph/cut.h"
#include "ops/expect.h"

#include <algorithm>
#include <charconv>

namespace convoy::tf {
namespace {

constexpr double steps_of_a_node = 2000;

std::optional<Size> number_in(std::string_view text) {
  Size number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

// What trains, saves, reports or feeds a model, and gives no answer of it.
bool is_beside_the_answer(const GraphNode& node) {
  const std::string_view op = node.op;
  for (const std::string_view begin : {"Assign", "Apply", "ResourceApply", "SparseApply", "Save", "Restore", "Queue",
                                       "Iterator", "Scatter", "ResourceScatter"})
    if (op.starts_with(begin)) return true;
  for (const std::string_view part : {"Summary", "Dataset", "Lookup", "Gradient"})
    if (op.find(part) != std::string_view::npos) return true;
  static constexpr std::string_view words[] = {"NoOp",
                                               "Const",
                                               "Placeholder",
                                               "PlaceholderWithDefault",
                                               "Assert",
                                               "Print",
                                               "PrintV2",
                                               "VarHandleOp",
                                               "VariableV2",
                                               "Variable",
                                               "ReadVariableOp",
                                               "MergeV2Checkpoints",
                                               "ShardedFilename",
                                               "StringJoin",
                                               "VarIsInitializedOp",
                                               "IsVariableInitialized"};
  return std::ranges::find(words, op) != std::end(words);
}

}  // namespace

GraphReader::GraphReader(const StoredGraph& graph, std::shared_ptr<const void> keeper, const LoadOptions& options,
                         VariableSource variables)
    : stored_(graph),
      keeper_(std::move(keeper)),
      options_(options),
      variables_(std::move(variables)),
      main_(frame_of(graph.nodes, "")) {
  main_.main = true;
}

Frame GraphReader::frame_of(const std::vector<GraphNode>& nodes, std::string way) {
  auto& index = indices_[&nodes];
  if (!index) {
    index = std::make_unique<NodeIndex>();
    for (std::size_t i = 0; i < nodes.size(); ++i) index->by_name.emplace(nodes[i].name, i);
  }
  Frame frame;
  frame.nodes = &nodes;
  frame.index = index.get();
  frame.way = std::move(way);
  frame.results.resize(nodes.size());
  frame.open.resize(nodes.size());
  return frame;
}

std::optional<std::size_t> GraphReader::index_of(const Frame& frame, std::string_view name) const {
  const auto at = frame.index->by_name.find(name);
  return at == frame.index->by_name.end() ? std::nullopt : std::optional(at->second);
}

const GraphNode* GraphReader::node(std::string_view name) const {
  const auto at = index_of(main_, name);
  return at ? &stored_.nodes[*at] : nullptr;
}

// "node", "node:1" or "^node"; in functions "node:output:1".
GraphReader::Reference GraphReader::reference_in(const Frame& frame, std::string_view text) const {
  Reference reference;
  if (text.starts_with("^")) return {text.substr(1), {}, 0, true};
  if (frame.index->by_name.contains(text)) return {text, {}, 0, false};
  const auto last = text.rfind(':');
  if (last == std::string_view::npos) return {text, {}, 0, false};
  reference.place = number_in(text.substr(last + 1)).value_or(-1);
  text = text.substr(0, last);
  const auto middle = text.find(':');
  reference.node = text.substr(0, middle);
  if (middle != std::string_view::npos) reference.output = text.substr(middle + 1);
  return reference;
}

// What a node needs walked before it. A loop is walked from its Exit; what enters a turn of it comes from around.
std::vector<std::string> GraphReader::reads(const Frame& frame, const GraphNode& node) const {
  if (node.op == "Exit" || node.op == "RefExit" || (frame.around && (node.op == "Enter" || node.op == "RefEnter")))
    return {};
  std::vector<std::string> all;
  for (const std::string& input : node.inputs)
    if (!input.starts_with("^")) all.push_back(input);
  return all;
}

Result<Slot> GraphReader::found(Frame& frame, const std::string& text) {
  if (const auto argument = frame.arguments.find(text); argument != frame.arguments.end()) return argument->second;
  const Reference reference = reference_in(frame, text);
  const auto at = index_of(frame, reference.node);
  if (!at) {
    if (const auto argument = frame.arguments.find(reference.node); argument != frame.arguments.end())
      return argument->second;
    return fail(Fault::Format, "there is no node '" + std::string(reference.node) + "'");
  }
  const Slots& results = frame.results[*at];
  if (results.size() == 1 && (results[0]->error || results[0]->dead)) return results[0];
  Size place = reference.place;
  if (!reference.output.empty()) {
    const GraphNode& node = (*frame.nodes)[*at];
    const Operator* row = operator_named(node.op);
    std::string_view names = row ? row->outputs : std::string_view();
    if (node.op == "Switch" || node.op == "RefSwitch") names = "output_false output_true";
    if (node.op == "Merge" || node.op == "RefMerge") names = "output value_index";
    Size index = 0;
    for (std::size_t from = 0; from < names.size(); ++index) {
      const auto end = std::min(names.find(' ', from), names.size());
      if (names.substr(from, end - from) == reference.output) place = index + reference.place;
      from = end + 1;
    }
  }
  if (place < 0 || place >= static_cast<Size>(results.size()))
    return fail(Fault::Unsupported,
                "result " + std::to_string(place) + " of node '" + std::string(reference.node) + "' is not carried");
  return results[static_cast<std::size_t>(place)];
}

Result<Slot> GraphReader::evaluate(Frame& frame, const std::string& text) {
  if (!frame.arguments.contains(text))
    if (const auto at = index_of(frame, reference_in(frame, text).node))
      if (auto walked = walk(frame, *at); !walked) return pass(walked);
  return found(frame, text);
}

// Nodes in an order of computation, without recursion: graphs are as deep as they like. Open nodes are those that wait
// for one another.
Status GraphReader::walk(Frame& frame, std::size_t node) {
  std::vector<std::size_t> path{node};
  while (!path.empty()) {
    const std::size_t at = path.back();
    if (!frame.results[at].empty()) {
      path.pop_back();
      continue;
    }
    const GraphNode& here = (*frame.nodes)[at];
    if (!frame.open[at]) {
      if (auto s = budget::spend(steps_of_a_node, "the graph's nodes"); !s) return s;
      frame.open[at] = 1;
      bool in_circle = false;
      for (const std::string& input : reads(frame, here)) {
        if (frame.arguments.contains(input)) continue;
        const auto next = index_of(frame, reference_in(frame, input).node);
        if (!next || !frame.results[*next].empty()) continue;
        in_circle = in_circle || frame.open[*next];
        path.push_back(*next);
      }
      if (!in_circle) continue;
      auto circle = std::make_shared<Known>();
      circle->error = Error{Fault::Unsupported, "is computed from its own result",
                            "node '" + frame.way + here.name + "' (" + here.op + ")"};
      frame.results[at] = {circle};
      continue;
    }
    auto results = evaluate_node(frame, here, at);
    if (!results) return pass(results);
    frame.results[at] = std::move(*results);
  }
  return {};
}

// Failures wait for whoever needs the value; what is too much is too much at once.
Result<GraphReader::Slots> GraphReader::evaluate_node(Frame& frame, const GraphNode& node, std::size_t place) {
  const auto nothing = [&](Error error) {
    auto known = std::make_shared<Known>();
    known->error = std::move(error);
    return Slots{known};
  };
  const auto failed = [&](Error error) -> Result<Slots> {
    if (is_too_much(error.fault) || error.fault == Fault::Internal) return std::unexpected(std::move(error));
    return nothing(std::move(error));
  };
  const std::string here = "node '" + frame.way + node.name + "' (" + node.op + ")";
  if (options_.listing) options_.listing->push_back({frame.way + node.name, node.op});
  const bool merges = node.op == "Merge" || node.op == "RefMerge";
  Slots inputs;
  for (const std::string& input : reads(frame, node)) {
    auto slot = found(frame, input);
    if (!slot) return failed(within(here, Status(pass(slot))).error());
    if (!merges && (*slot)->error) return Slots{*slot};
    if (!merges && (*slot)->dead) return Slots{*slot};
    inputs.push_back(*slot);
  }
  bool handled = true;
  Result<Slots> results = node.op == "Exit" || node.op == "RefExit" ? exit_of_loop(frame, node, place)
                                                                    : structural(frame, node, inputs, handled);
  if (!handled) { results = operate(frame, node, inputs); }
  if (!results) return failed(within(here, std::move(results)).error());
  if (results->empty()) return nothing(within(here, Status(fail(Fault::Unsupported, "gives no value"))).error());
  if (auto s = check_recorded(node, *results); !s) return failed(within(here, std::move(s)).error());
  return results;
}

// TensorFlow wrote down what it inferred when the graph was made; of an older file, for other sizes than are asked for.
Status GraphReader::check_recorded(const GraphNode& node, const Slots& results) const {
  const NodeAttribute* recorded = node.attribute("_output_shapes");
  if (!recorded || is_resized()) return {};
  for (std::size_t i = 0; i < std::min(results.size(), recorded->shapes.size()); ++i) {
    if (!results[i] || !results[i]->value || !recorded->shapes[i].sizes) continue;
    const TensorType& read = graph_[results[i]->value].type;
    if (auto s = expect_recorded(read, {read.dtype, shape_of(*recorded->shapes[i].sizes)}); !s) return s;
  }
  return {};
}

// What a signature says of it.
Status GraphReader::check_output(const Endpoint& output, const TensorType& read) const {
  const TensorType recorded{output.dtype.value_or(read.dtype), output.shape.value_or(read.shape)};
  return within("output '" + output.name + "'",
                expect_recorded(read, is_resized() ? TensorType{recorded.dtype, read.shape} : recorded));
}

std::vector<char> GraphReader::needed_by(const std::vector<Endpoint>& outputs) const {
  std::vector<char> needed(stored_.nodes.size(), 0);
  std::vector<std::size_t> path;
  const auto need = [&](std::string_view text) {
    const auto at = index_of(main_, reference_in(main_, text).node);
    if (at && !needed[*at]) needed[*at] = 1, path.push_back(*at);
  };
  for (const Endpoint& output : outputs) need(output.place);
  while (!path.empty()) {
    const std::size_t at = path.back();
    path.pop_back();
    for (const std::string& input : stored_.nodes[at].inputs)
      if (!input.starts_with("^")) need(input);
  }
  return needed;
}

namespace {

constexpr std::string_view of_shapes = "Shape ShapeN Size Rank";

// tf.gradients names what it adds so: "gradients/conv/Conv2D_grad/ShapeN".
bool is_gradient(const GraphNode& node) {
  return node.name.starts_with("gradients") || node.name.find("/gradients") != std::string::npos ||
         node.name.find("_grad/") != std::string::npos;
}

}  // namespace

std::vector<std::vector<std::size_t>> GraphReader::readers_of_nodes() const {
  std::vector<std::vector<std::size_t>> readers(stored_.nodes.size());
  for (std::size_t i = 0; i < stored_.nodes.size(); ++i)
    for (const std::string& input : stored_.nodes[i].inputs)
      if (!input.starts_with("^"))
        if (const auto at = index_of(main_, reference_in(main_, input).node)) readers[*at].push_back(i);
  return readers;
}

// What is fed. What may be fed and has a default is none where something else is: file names of a saver are such.
std::vector<std::size_t> GraphReader::input_nodes() const {
  std::vector<std::size_t> fed, may_be;
  for (std::size_t i = 0; i < stored_.nodes.size(); ++i)
    if (const std::string_view op = stored_.nodes[i].op; op.starts_with("Placeholder"))
      (op == "PlaceholderWithDefault" ? may_be : fed).push_back(i);
  return fed.empty() ? may_be : fed;
}

std::vector<std::uint64_t> GraphReader::computed_from(const std::vector<std::size_t>& roots, bool by_shapes) const {
  const auto readers = readers_of_nodes();
  std::vector<std::uint64_t> from(readers.size(), 0);
  std::vector<std::size_t> path = roots;
  constexpr std::size_t most = 63;
  for (std::size_t i = 0; i < roots.size(); ++i) from[roots[i]] |= std::uint64_t{1} << std::min(i, most);
  while (!path.empty()) {
    const std::size_t at = path.back();
    path.pop_back();
    if (!by_shapes && has_word(of_shapes, stored_.nodes[at].op)) continue;
    for (const std::size_t reader : readers[at])
      if ((from[reader] | from[at]) != from[reader]) from[reader] |= from[at], path.push_back(reader);
  }
  return from;
}

// What no other node reads and what depends on an input.
std::vector<Endpoint> GraphReader::sinks() const {
  const auto readers = readers_of_nodes();
  const auto depends = computed_from(input_nodes(), true);
  std::vector<Endpoint> all;
  for (std::size_t i = 0; i < readers.size(); ++i)
    if (const GraphNode& node = stored_.nodes[i]; readers[i].empty() && depends[i] != 0 && !is_beside_the_answer(node))
      all.push_back({node.name, node.name});
  return all;
}

// Where a weight is changed by what an input says. What is computed with weights and meets an input there that it is not computed from
// is compared with a label: the last such node is an answer, and so is what nobody reads and no label is in.
Status GraphReader::expect_no_training() const {
  const std::vector<GraphNode>& nodes = stored_.nodes;
  const auto from = computed_from(input_nodes(), false);
  const auto trains = [&](std::size_t i) {
    const std::string_view op = nodes[i].op;
    return from[i] != 0 &&
           (op.starts_with("Apply") || op.starts_with("ResourceApply") || op.starts_with("SparseApply"));
  };
  std::vector<std::size_t> weights;
  std::uint64_t trained_from = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (trains(i)) trained_from |= from[i];
    if (has_word("VarHandleOp VariableV2 Variable", nodes[i].op)) weights.push_back(i);
  }
  if (trained_from == 0) return {};
  const auto readers = readers_of_nodes();
  const auto weighed = computed_from(weights, false);
  std::vector<std::vector<std::size_t>> read_by(nodes.size());
  std::vector<std::size_t> meeting, path;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    bool meets = readers[i].empty() && (trained_from & ~from[i]) != 0;
    for (const std::size_t reader : readers[i]) {
      read_by[reader].push_back(i);
      meets = meets || (from[reader] & ~from[i]) != 0;
    }
    if (meets && from[i] != 0 && weighed[i] != 0 && !is_beside_the_answer(nodes[i]) && !is_gradient(nodes[i]) &&
        !has_word(of_shapes, nodes[i].op))
      meeting.push_back(i);
  }
  // Gradients read every layer: those that lead to another one are not the last.
  std::vector<char> leads(nodes.size(), 0);
  path = meeting;
  while (!path.empty()) {
    const std::size_t at = path.back();
    path.pop_back();
    for (const std::size_t before : read_by[at])
      if (from[before] == from[at] && !leads[before]) leads[before] = 1, path.push_back(before);
  }
  std::string candidates;
  constexpr int most = 6;
  int count = 0;
  for (const std::size_t i : meeting)
    if (!leads[i] && count++ < most) candidates += (candidates.empty() ? ", such as '" : ", '") + nodes[i].name + "'";
  return fail(
      Fault::Usage,
      "trains its weights too, so nothing says which of its nodes answer; choose them with --outputs" + candidates);
}

Status GraphReader::add_input(const Endpoint& input, std::size_t inputs) {
  const Reference reference = reference_in(main_, input.place);
  const auto at = index_of(main_, reference.node);
  if (!at) return fail(Fault::Format, "its node '" + std::string(reference.node) + "' is not in the graph");
  const GraphNode& node = stored_.nodes[*at];
  const NodeAttribute* type = node.attribute("dtype");
  const auto dtype = type ? dtype_of(type->integer) : std::nullopt;
  if (!dtype)
    return fail(Fault::Unsupported,
                "is " + (type ? type_name(type->integer) : "of no type") + ", which is not carried");
  std::optional<Shape> shape = input.shape;
  const NodeAttribute* said = node.attribute("shape");
  if (!shape && said && said->shape.sizes) shape = shape_of(*said->shape.sizes);
  if (!shape)
    if (const NodeAttribute* shapes = node.attribute("_output_shapes");
        shapes && !shapes->shapes.empty() && shapes->shapes[0].sizes)
      shape = shape_of(*shapes->shapes[0].sizes);
  const std::size_t space = options_.size.size();
  if (shape && space > 0 && shape->size() == space + 2) {
    const bool first =
        std::ranges::any_of(stored_.nodes, [](const GraphNode& n) { return n.text("data_format").starts_with("NC"); });
    for (std::size_t i = 0; i < space; ++i)
      (*shape)[i + (first ? 2 : 1)] = options_.size[i] ? Dim(*options_.size[i]) : Dim::unknown();
  }
  if (const Shape* given = options_.shape_of(input.name, inputs)) shape = *given;
  if (!shape) return fail(Fault::Unsupported, "has no shape; give one with --shape");
  constexpr Size most = Size{1} << 40;
  for (const Dim size : *shape)
    if (size.known() && *size > most) return fail(Fault::Limit, "has a size of " + std::to_string(*size));
  auto known = std::make_shared<Known>();
  known->value = graph_.input(graph_.unique_name(input.name), {*dtype, *shape});
  sizes_.add_input(graph_, known->value, {});
  main_.results[*at] = {known};
  return {};
}

Status GraphReader::add_inputs(std::vector<Endpoint>& inputs, const std::vector<Endpoint>& outputs) {
  if (inputs.empty()) {
    const auto needed = needed_by(outputs);
    for (std::size_t i = 0; i < stored_.nodes.size(); ++i) {
      const GraphNode& node = stored_.nodes[i];
      if (needed[i] && (node.op == "Placeholder" || node.op == "PlaceholderV2"))
        inputs.push_back({node.name, node.name});
    }
  }
  for (const Endpoint& input : inputs)
    if (auto added = within("input '" + input.name + "'", add_input(input, inputs.size())); !added) return added;
  return {};
}

Result<Graph> GraphReader::read(std::vector<Endpoint> inputs, std::vector<Endpoint> outputs) {
  graph_.rules = tensorflow_rules;
  const bool cuts = !options_.outputs.empty() && std::ranges::all_of(options_.outputs, [&](const std::string& name) {
    return node(reference_in(main_, name).node) != nullptr;
  });
  if (cuts) {
    outputs.clear();
    for (const std::string& name : options_.outputs) outputs.push_back({name, name});
  }
  const bool chosen = !outputs.empty();
  if (!chosen)
    if (auto s = expect_no_training(); !s) return pass(s);
  if (!chosen) outputs = sinks();
  if (outputs.empty())
    return fail(Fault::Format, "holds a graph without an output: nothing in it is computed from an input");
  if (auto s = add_inputs(inputs, outputs); !s) return pass(s);
  for (const Endpoint& output : outputs) {
    auto slot = evaluate(main_, output.place);
    if (!slot) return within("output '" + output.name + "'", Result<Graph>(pass(slot)));
    if ((*slot)->error) return std::unexpected(*(*slot)->error);
    if ((*slot)->dead && !chosen) continue;  // of a branch that is not taken
    if ((*slot)->dead) return fail(Fault::Unsupported, "output '" + output.name + "' is of a branch that is not taken");
    const auto value = within("output '" + output.name + "'", value_of(**slot, output.name));
    if (!value) return std::unexpected(value.error());
    if (auto s = check_output(output, graph_[*value].type); !s) return pass(s);
    graph_.outputs.push_back(*value);
    graph_.output_names.push_back(output.name);
  }
  if (graph_.outputs.empty()) return fail(Fault::Format, "has no output that is computed");
  remark_on_memory();
  prune(graph_);
  if (!options_.outputs.empty() && !cuts) return cut_at(std::move(graph_), options_.outputs);
  return std::move(graph_);
}

}  // namespace convoy::tf
