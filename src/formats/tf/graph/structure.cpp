// Nodes that are no operators: inputs, constants, variables, shapes, one number repeated, calls, branches and loops.
#include "base/budget.h"
#include "base/words.h"
#include "formats/chosen.h"
#include "formats/filled.h"
#include "formats/tf/graph/reader.h"
#include "formats/tf/graph/tensor.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <set>

namespace convoy::tf {
namespace {

constexpr int deepest_call = 64;
constexpr int most_turns = 4096;

Slot slot_of(Known known) { return std::make_shared<Known>(std::move(known)); }

Slot slot_of(Numbers numbers) {
  Known known;
  known.numbers = std::move(numbers);
  known.of_shapes = true;
  return slot_of(std::move(known));
}

Slot dead() {
  Known known;
  known.dead = true;
  return slot_of(std::move(known));
}

bool changes_variable(std::string_view op) {
  return op.starts_with("Assign") || op.starts_with("ResourceScatter") || op.starts_with("ResourceApply");
}

DType shape_type(const GraphNode& node, const char* attribute) {
  const NodeAttribute* type = node.attribute(attribute);
  return (type ? dtype_of(type->integer) : std::nullopt).value_or(DType::I32);
}

}  // namespace

std::optional<bool> GraphReader::truth_of(Known& known) {
  const Numbers* all = numbers(known);
  if (!all || all->all.size() != 1 || !all->known()) return std::nullopt;
  return all->all.front().value() != 0;
}

// Whether an order that the graph states puts an assignment in front of this node; only those of its own variable do.
bool GraphReader::is_behind_change(const Frame& frame, const GraphNode& node) const {
  std::vector<const GraphNode*> behind{&node};
  std::set<const GraphNode*> seen{&node};
  while (!behind.empty()) {
    const GraphNode* const one = behind.back();
    behind.pop_back();
    for (const std::string& input : one->inputs) {
      if (!input.starts_with('^')) continue;
      const auto at = index_of(frame, std::string_view(input).substr(1));
      if (!at) continue;
      const GraphNode& before = (*frame.nodes)[*at];
      if (changes_variable(before.op)) return true;
      if (seen.insert(&before).second) behind.push_back(&before);
    }
  }
  return false;
}

Result<GraphReader::Slots> GraphReader::structural(Frame& frame, const GraphNode& node, const Slots& inputs,
                                                   bool& handled) {
  const std::string_view op = node.op;
  handled = true;
  if (op == "Const" || op == "HostConst") return constant(frame, node);
  if (op.starts_with("Placeholder")) return placeholder(node, inputs);
  if (op == "IdentityN") return inputs;
  if (has_word("Identity StopGradient PreventGradient Snapshot EnsureShape PlaceholderWithDefault Enter "
               "RefEnter RefIdentity DisableCopyOnRead GuaranteeConst LoopCond CheckNumerics "
               "CheckNumericsV2",
               op)) {
    if (op.ends_with("Enter") && frame.around) {
      if (node.inputs.empty()) return fail(Fault::Format, "has no input");
      auto entered = evaluate(*frame.around, node.inputs.front());
      if (!entered) return pass(entered);
      return Slots{*entered};
    }
    if (inputs.empty()) return fail(Fault::Format, "has no input");
    return Slots{inputs.front()};
  }
  if (has_word("VarHandleOp VariableV2 Variable AutoReloadVariable", op)) {
    if (op != "VarHandleOp") return variable(node, node.name);
    Known known;
    known.variable = node.name;
    return Slots{slot_of(std::move(known))};
  }
  if ((op == "ReadVariableOp" || op == "ResourceGather") && is_behind_change(frame, node))
    return fail(Fault::Unsupported, "reads a variable that the model has changed in the same call");
  if (op == "ReadVariableOp") {
    if (inputs.empty()) return fail(Fault::Format, "has no input");
    if (inputs[0]->variable.empty()) return Slots{inputs[0]};  // a frozen graph has the number in its place
    const GraphNode* holder = this->node(inputs[0]->variable);
    if (!holder) return fail(Fault::Format, "reads '" + inputs[0]->variable + "', which is no node of the graph");
    return variable(*holder, holder->name);
  }
  if (op == "ResourceGather" && !inputs.empty() && !inputs[0]->variable.empty()) {
    const GraphNode* holder = this->node(inputs[0]->variable);
    if (!holder) return fail(Fault::Format, "reads '" + inputs[0]->variable + "', which is no node of the graph");
    auto table = variable(*holder, holder->name);
    if (!table) return table;
    Slots read = inputs;
    read[0] = table->front();
    return by_row(node, read, layer_of(frame, node));
  }
  if (has_word("Shape Size Rank", op)) {
    if (inputs.size() != 1) return fail(Fault::Format, "needs one input");
    return shape(node, *inputs[0]);
  }
  if (op == "ShapeN") {
    Slots all;
    for (const Slot& input : inputs) {
      auto one = shape(node, *input);
      if (!one) return one;
      all.push_back(one->front());
    }
    return all;
  }
  if (op == "Fill" || op == "ZerosLike" || op == "OnesLike") return filled(node, inputs);
  if (has_word("PartitionedCall StatefulPartitionedCall", op)) return call(frame, node, node.text("f"), inputs);
  if (stored_.functions.contains(node.op)) return call(frame, node, node.op, inputs);
  if (has_word("If StatelessIf", op)) return branch(frame, node, inputs);
  if (has_word("While StatelessWhile", op)) return while_loop(frame, node, inputs);
  if (op == "Switch" || op == "RefSwitch") {
    if (inputs.size() != 2) return fail(Fault::Format, "needs two inputs");
    const auto taken = truth_of(*inputs[1]);
    if (!taken) return fail(Fault::Unsupported, "its condition is computed by the model");
    return Slots{*taken ? dead() : inputs[0], *taken ? inputs[0] : dead()};
  }
  if (op == "Merge" || op == "RefMerge") {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (!inputs[i]->dead)
        return Slots{inputs[i], slot_of(Numbers{DType::I32, {}, {Number::of(static_cast<std::int64_t>(i))}})};
    return Slots{dead()};
  }
  handled = false;
  return Slots{};
}

Result<GraphReader::Slots> GraphReader::placeholder(const GraphNode& node, const Slots& inputs) {
  if (node.op == "PlaceholderWithDefault" && inputs.size() == 1) return inputs;
  return fail(Fault::Unsupported, "is an input that the model is not given");
}

Result<GraphReader::Slots> GraphReader::constant(const Frame& frame, const GraphNode& node) {
  const NodeAttribute* value = node.attribute("value");
  if (!value || value->kind != AttributeKind::Tensor) return fail(Fault::Format, "has no attribute 'value'");
  Known known;
  auto tensor = tensor_of(value->tensor, keeper_);
  if (!tensor) return pass(tensor);
  allowance_.add(tensor->count());
  known.tensor = std::move(*tensor);
  if (known.tensor->rank() > 0) known.name = frame.way.empty() ? node.name : graph_.unique_name(node.name);
  return Slots{slot_of(std::move(known))};
}

Result<GraphReader::Slots> GraphReader::variable(const GraphNode& node, const std::string& name) {
  Slot& slot = variables_read_[name];
  if (!slot) {
    if (!variables_)
      return fail(Fault::Unsupported, "'" + name + "' is a variable, and the file holds no numbers of it");
    auto tensor = within("variable '" + name + "'", variables_(node));
    if (!tensor) return pass(tensor);
    allowance_.add(tensor->count());
    Known known;
    known.tensor = std::move(*tensor);
    const std::string shared = node.text("shared_name");
    known.name = shared.empty() ? name : shared;
    slot = slot_of(std::move(known));
  }
  return Slots{slot};
}

Result<GraphReader::Slots> GraphReader::shape(const GraphNode& node, const Known& x) {
  if (!x.value && !x.tensor && !x.numbers && !x.fill) return fail(Fault::Unsupported, "its input is of unknown shape");
  Numbers shape;
  if (x.fill) shape = *x.fill;
  else if (x.value) shape = numbers_of(graph_[x.value].type.shape, sizes_.of(x.value));
  else
    for (const Size n : x.tensor ? x.tensor->shape() : x.numbers->shape) shape.all.push_back(Number::of(n));
  shape.dtype = shape_type(node, "out_type");
  shape.shape = {static_cast<Size>(shape.all.size())};
  if (node.op == "Rank")
    return Slots{slot_of(Numbers{DType::I32, {}, {Number::of(static_cast<std::int64_t>(shape.all.size()))}})};
  if (node.op != "Size") return Slots{slot_of(std::move(shape))};
  shape.all.push_back(Number::of(std::int64_t{1}));
  shape.shape = {static_cast<Size>(shape.all.size())};
  auto product = folded(Reduction::Product, false, shape);
  if (!product) return fail(Fault::Unsupported, "the number of elements is not known");
  product->shape = {};
  return Slots{slot_of(std::move(*product))};
}

// One number, as many times as a shape says.
Result<GraphReader::Slots> GraphReader::filled(const GraphNode& node, const Slots& inputs) {
  Tensor value;
  Numbers like;
  if (node.op == "Fill") {
    const Numbers* dims = inputs.size() == 2 ? numbers(*inputs[0]) : nullptr;
    const Numbers* number = inputs.size() == 2 ? numbers(*inputs[1]) : nullptr;
    if (!dims || !number || number->all.size() != 1 || !number->known())
      return fail(Fault::Unsupported, "its shape or its number is computed by the model");
    like = *dims;
    auto one = number->tensor();
    if (!one) return pass(one);
    value = one->reshaped({});
  } else {
    if (inputs.size() != 1) return fail(Fault::Format, "needs one input");
    auto shaped = shape(node, *inputs[0]);
    if (!shaped) return shaped;
    like = *shaped->front()->numbers;
    const auto type = inputs[0]->value     ? graph_[inputs[0]->value].type.dtype
                      : inputs[0]->tensor  ? inputs[0]->tensor->dtype()
                      : inputs[0]->numbers ? inputs[0]->numbers->dtype
                                           : DType::F32;
    const Numbers one{
        type, {}, {as_type(Numbers{DType::I64, {}, {Number::of(std::int64_t{node.op == "OnesLike"})}}, type).all}};
    auto tensor = one.tensor();
    if (!tensor) return pass(tensor);
    value = *tensor;
  }
  Known known;
  Sizes sizes;
  for (const Number& n : like.all) sizes.push_back(n.known() ? n.whole : 0);
  const auto count = checked_count(sizes);
  if (!count) return fail(Fault::Limit, "makes a tensor of shape " + text_of(sizes) + ", which is too large");
  if (!like.known()) {
    known.filled = value;
    known.fill = like;
    return Slots{slot_of(std::move(known))};
  }
  if (auto s = allowance_.spend({.numbers = *count}); !s) return pass(s);
  auto tensor = convoy::filled(value, sizes, *count);
  if (!tensor) return pass(tensor);
  known.tensor = std::move(*tensor);
  known.of_shapes = node.op == "Fill" && inputs[0]->of_shapes;
  return Slots{slot_of(std::move(known))};
}

Result<GraphReader::Slots> GraphReader::call(Frame& frame, const GraphNode& node, const std::string& function,
                                             const Slots& arguments) {
  const auto found = stored_.functions.find(function);
  if (found == stored_.functions.end())
    return fail(Fault::Format, "calls '" + function + "', which is no function of the file");
  const StoredFunction& called = found->second;
  if (frame.depth >= deepest_call)
    return fail(Fault::Limit, "functions call one another more than " + std::to_string(deepest_call) + " deep");
  if (arguments.size() != called.arguments.size())
    return fail(Fault::Format, "calls '" + function + "' with " + std::to_string(arguments.size()) +
                                   " arguments, it takes " + std::to_string(called.arguments.size()));
  if (auto s = budget::spend(100.0 * static_cast<double>(called.nodes.size()), "a call"); !s) return pass(s);
  Frame inner = frame_of(called.nodes, frame.way + node.name + "/");
  inner.depth = frame.depth + 1;
  for (std::size_t i = 0; i < arguments.size(); ++i) inner.arguments[called.arguments[i].name] = arguments[i];
  Slots results;
  for (const FunctionArgument& result : called.results) {
    const auto place = called.returns.find(result.name);
    if (place == called.returns.end())
      return fail(Fault::Format, "function '" + function + "' does not say what '" + result.name + "' is");
    auto value = evaluate(inner, place->second);
    if (!value && (is_too_much(value.error().fault) || value.error().fault == Fault::Internal)) return pass(value);
    if (value) {
      results.push_back(*value);
    } else {
      Known known;
      known.error = value.error();
      results.push_back(slot_of(std::move(known)));
    }
  }
  if (results.empty()) results.push_back(dead());
  note_changes(inner);
  return results;
}

// TensorFlow runs the assignments of a function whether or not a result reads them.
void GraphReader::note_changes(Frame& frame) {
  for (const GraphNode& node : *frame.nodes) {
    if (!changes_variable(node.op) || node.inputs.empty()) continue;
    const auto changed = evaluate(frame, node.inputs.front());
    if (changed && !(*changed)->variable.empty()) changed_.emplace((*changed)->variable, frame.way + node.name);
  }
}

void GraphReader::remark_on_memory() const {
  if (!options_.remarks) return;
  for (const auto& [variable, node] : changed_)
    if (variables_read_.contains(variable))
      options_.remarks->push_back("the model keeps '" + variable + "' from call to call (node '" + node +
                                  "' assigns to it); here every call begins with what the file holds");
}

// Of If, the function that a known condition chooses; of one that is computed, both, and a choice.
Result<GraphReader::Slots> GraphReader::branch(Frame& frame, const GraphNode& node, const Slots& inputs) {
  if (inputs.empty()) return fail(Fault::Format, "has no condition");
  const auto taken = truth_of(*inputs[0]);
  const Slots given(inputs.begin() + 1, inputs.end());
  if (taken) return call(frame, node, node.text(*taken ? "then_branch" : "else_branch"), given);
  const auto condition = value_of(*inputs[0], node.name + "/condition");
  if (!condition) return fail(Fault::Unsupported, "its condition is computed by the model");
  const auto if_true = call(frame, node, node.text("then_branch"), given);
  if (!if_true) return if_true;
  const auto if_false = call(frame, node, node.text("else_branch"), given);
  if (!if_false) return if_false;
  if (if_true->size() != if_false->size()) return fail(Fault::Format, "its branches give unlike numbers of results");
  const std::string layer = layer_of(frame, node);
  if (options_.remarks) options_.remarks->push_back(remark_of_both(layer));
  Slots results;
  for (std::size_t i = 0; i < if_true->size(); ++i) {
    Known known;
    if (auto made = one_of(*condition, *(*if_true)[i], *(*if_false)[i], layer); made) known.value = *made;
    else if (is_too_much(made.error().fault) || made.error().fault == Fault::Internal) return pass(made);
    else known.error = made.error();  // of which nobody may ask
    results.push_back(slot_of(std::move(known)));
  }
  return results;
}

Result<ValueId> GraphReader::one_of(ValueId condition, Known& if_true, Known& if_false, const std::string& layer) {
  for (const Known* known : {&if_true, &if_false})
    if (known->error)
      return fail(Fault::Unsupported,
                  "its condition is computed by the model, and both branches cannot be carried, because of " +
                      message(*known->error));
  const auto first = value_of(if_true, layer + "/then"), second = value_of(if_false, layer + "/else");
  if (!first) return std::unexpected(first.error());
  if (!second) return std::unexpected(second.error());
  return chosen(graph_, sizes_, condition, *first, *second, layer);
}

// Turns are made one behind the other, as many as the condition lets run.
Result<GraphReader::Slots> GraphReader::while_loop(Frame& frame, const GraphNode& node, const Slots& inputs) {
  Slots state = inputs;
  for (int turn = 0; turn < most_turns; ++turn) {
    auto condition = call(frame, node, node.text("cond"), state);
    if (!condition) return condition;
    if (condition->front()->error) return std::unexpected(*condition->front()->error);
    const auto goes_on = truth_of(*condition->front());
    if (!goes_on) return fail(Fault::Unsupported, "how often it runs is computed by the model");
    if (!*goes_on) return state;
    auto next = call(frame, node, node.text("body"), state);
    if (!next) return next;
    if (next->size() != state.size()) return fail(Fault::Format, "its body gives another number of results");
    state = std::move(*next);
  }
  return fail(Fault::Unsupported, "runs more than " + std::to_string(most_turns) + " times");
}

// A loop of TensorFlow 1: variables enter it by Enter, meet in Merge what the turn before gave, and leave by Exit.
Result<GraphReader::Slots> GraphReader::exit_of_loop(Frame& frame, const GraphNode& node, std::size_t place) {
  const auto node_of = [&](std::string_view text) -> const GraphNode* {
    const auto at = index_of(frame, reference_in(frame, text).node);
    return at ? &(*frame.nodes)[*at] : nullptr;
  };
  const GraphNode* leaving = node.inputs.empty() ? nullptr : node_of(node.inputs[0]);
  const GraphNode* merge = leaving && !leaving->inputs.empty() ? node_of(leaving->inputs[0]) : nullptr;
  std::string name;
  if (merge)
    for (const std::string& input : merge->inputs)
      if (const GraphNode* enter = node_of(input); enter && enter->op.ends_with("Enter"))
        name = enter->text("frame_name");
  if (name.empty()) return fail(Fault::Unsupported, "is of a loop that is not understood");
  if (!frame.loops.contains(name))
    if (auto run = run_loop(frame, name); !run) return pass(run);
  const auto& exits = frame.loops[name];
  const auto found = exits.find(place);
  if (found == exits.end()) return fail(Fault::Unsupported, "is of a loop that is not understood");
  return Slots{found->second};
}

Status GraphReader::run_loop(Frame& frame, const std::string& name) {
  struct Variable {
    std::size_t merge = 0;
    std::string enters, next;
    std::optional<std::size_t> exit;
    Slot state;
  };
  if (frame.depth >= deepest_call) return fail(Fault::Limit, "loops are nested too deep");
  const auto index = [&](std::string_view text) { return index_of(frame, reference_in(frame, text).node); };
  const std::vector<GraphNode>& nodes = *frame.nodes;
  std::vector<Variable> variables;
  std::string condition;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].op.ends_with("Merge")) continue;
    Variable variable{i, {}, {}, {}, {}};
    bool mine = false;
    for (const std::string& input : nodes[i].inputs) {
      const auto at = index(input);
      if (!at || nodes[*at].inputs.empty()) continue;
      if (nodes[*at].op.ends_with("Enter") && nodes[*at].text("frame_name") == name)
        mine = true, variable.enters = nodes[*at].inputs[0];
      if (nodes[*at].op.ends_with("NextIteration")) variable.next = nodes[*at].inputs[0];
    }
    if (mine && !variable.next.empty()) variables.push_back(variable);
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].inputs.empty()) continue;
    const auto first = index(nodes[i].inputs[0]);
    if (!first) continue;
    if (nodes[i].op.ends_with("Switch") && nodes[i].inputs.size() > 1) {
      const auto of = std::ranges::find(variables, *first, &Variable::merge);
      const auto decides = index(nodes[i].inputs[1]);
      if (of != variables.end() && decides && nodes[*decides].op == "LoopCond" && !nodes[*decides].inputs.empty())
        condition = nodes[*decides].inputs[0];
    }
    if (nodes[i].op.ends_with("Exit") && !nodes[*first].inputs.empty()) {
      const auto merged = index(nodes[*first].inputs[0]);
      const auto of = merged ? std::ranges::find(variables, *merged, &Variable::merge) : variables.end();
      if (of != variables.end()) of->exit = i;
    }
  }
  if (variables.empty() || condition.empty()) return fail(Fault::Unsupported, "is of a loop that is not understood");
  for (Variable& variable : variables) {
    auto entered = evaluate(frame, variable.enters);
    if (!entered) return pass(entered);
    variable.state = *entered;
  }
  for (int turn = 0; turn < most_turns; ++turn) {
    if (auto s = budget::spend(100.0 * static_cast<double>(nodes.size()), "a turn of a loop"); !s) return s;
    Frame inner = frame_of(nodes, frame.way + name + "/" + std::to_string(turn) + "/");
    inner.around = &frame;
    inner.depth = frame.depth + 1;
    for (const Variable& variable : variables)
      inner.results[variable.merge] = {variable.state,
                                       slot_of(Numbers{DType::I32, {}, {Number::of(std::int64_t{turn > 0})}})};
    auto decided = evaluate(inner, condition);
    if (!decided) return pass(decided);
    if ((*decided)->error) return std::unexpected(*(*decided)->error);
    const auto goes_on = truth_of(**decided);
    if (!goes_on) return fail(Fault::Unsupported, "how often it runs is computed by the model");
    if (!*goes_on) {
      for (const Variable& variable : variables)
        if (variable.exit) frame.loops[name][*variable.exit] = variable.state;
      frame.loops[name];
      return {};
    }
    for (Variable& variable : variables) {
      auto next = evaluate(inner, variable.next);
      if (!next) return pass(next);
      variable.state = *next;
    }
  }
  return fail(Fault::Unsupported, "runs more than " + std::to_string(most_turns) + " times");
}

}  // namespace convoy::tf
