#include "formats/torch/block.h"

#include "formats/source_text.h"
#include "formats/torch/families.h"
#include "formats/torch/tied_weights.h"
#include "ops/expect.h"

#include <fmt/format.h>
#include <algorithm>
#include <utility>

namespace convoy::torch {
namespace {

constexpr std::size_t longest_inline = 72;

// What a module already has under these names, and what the text itself uses.
const std::set<std::string> taken_members{"training",
                                          "forward",
                                          "parameters",
                                          "buffers",
                                          "modules",
                                          "children",
                                          "train",
                                          "eval",
                                          "float",
                                          "double",
                                          "half",
                                          "bfloat16",
                                          "to",
                                          "type",
                                          "cpu",
                                          "cuda",
                                          "apply",
                                          "compile",
                                          "dump_patches",
                                          "call_super_init",
                                          "state_dict",
                                          "load_state_dict",
                                          "register_buffer",
                                          "register_parameter",
                                          "register_module",
                                          "add_module",
                                          "named_parameters",
                                          "named_buffers",
                                          "named_modules",
                                          "named_children",
                                          "get_parameter",
                                          "get_buffer",
                                          "get_submodule",
                                          "set_submodule",
                                          "requires_grad_",
                                          "zero_grad",
                                          "share_memory",
                                          "extra_repr",
                                          "to_empty",
                                          "xpu",
                                          "ipu",
                                          "mtia",
                                          "T_destination",
                                          "get_extra_state",
                                          "set_extra_state",
                                          "register_forward_hook",
                                          "register_forward_pre_hook",
                                          "register_full_backward_hook",
                                          "register_full_backward_pre_hook",
                                          "register_backward_hook",
                                          "register_load_state_dict_post_hook",
                                          "register_load_state_dict_pre_hook",
                                          "register_state_dict_post_hook",
                                          "register_state_dict_pre_hook"};

std::string empty_tensor(const Tensor& t) {
  std::string text =
      "torch.empty(" + (t.rank() == 0 ? std::string("()") : fmt::format("{}", fmt::join(t.shape(), ", ")));
  if (t.dtype() != DType::F32) text += ", dtype=" + dtype(t.dtype());
  return text + ")";
}

}  // namespace

const std::set<std::string>& taken_variables() {
  static const std::set<std::string> names{"self",
                                           "torch",
                                           "nn",
                                           "F",
                                           "Tensor",
                                           "same_pad",
                                           "same_lower_pad",
                                           "symmetric_pad",
                                           "sequence_and_cell",
                                           "state_and_cell",
                                           "list",
                                           "tuple",
                                           "int",
                                           "float",
                                           "max",
                                           "min",
                                           "zip",
                                           "len",
                                           "str",
                                           "ValueError"};
  return names;
}

const Tensor* Call::constant(std::size_t i) const {
  if (!has(i)) return nullptr;
  const auto& constant = (*graph_)[node_->inputs[i]].constant;
  return constant ? &*constant : nullptr;
}
State Call::state(std::string name, std::size_t i, bool buffer) const {
  return {std::move(name), *constant(i), node_->inputs[i], buffer};
}
State Call::state(std::string name, std::size_t i, Tensor as, bool buffer) const {
  return {std::move(name), std::move(as), node_->inputs[i], buffer};
}
void Call::result_of_module(const std::string& self, const Expression& x) {
  result({self + "(" + x.text + ")", Binds::Atom, x.calls + 1, false, {}});
}

Block::Block(ModuleText& module, const std::vector<Step>& steps, const std::vector<ValueId>& inputs,
             const std::vector<ValueId>& outputs, bool nested)
    : text_(module),
      steps_(steps),
      inputs_(inputs),
      outputs_(outputs),
      nested_in_(nested),
      members_(FreshNames::beside(taken_members)),
      names_(FreshNames::beside(taken_variables())) {
  graph_ = &module.graph;
  names_.take("x");
  count_uses();
}

void Block::count_uses() {
  const auto use = [&](ValueId v, std::size_t at) {
    ++uses_[v];
    last_use_[v] = at;
  };
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    for (const ValueId v : steps_[i].inputs) use(v, i);
    for (const ValueId v : steps_[i].outputs) made_at_[v] = i;
  }
  for (const ValueId v : outputs_) use(v, steps_.size());
}

// ---- values as text

std::string Block::constant_text(ValueId v) {
  const Value& value = (*graph_)[v];
  const Tensor& t = *value.constant;
  const bool floating =
      t.dtype() == DType::F32 || t.dtype() == DType::F64 || t.dtype() == DType::F16 || t.dtype() == DType::BF16;
  const bool returned = at_ >= steps_.size();  // an output of the whole: no node takes it
  if (!returned && t.count() == 1 && !value.trainable && t.dtype() == DType::F32 &&
      holds_alternative<Binary>(node_->op)) {
    const auto function = get<Binary>(node_->op).function;
    const bool infix = function < BinaryFunction::Maximum ||
                       (function >= BinaryFunction::Equal && function <= BinaryFunction::GreaterOrEqual);
    // A number takes no axes: only where the other side has them all.
    const bool other_is_larger = std::ranges::any_of(node_->inputs, [&](ValueId o) {
      return o != v && !(*graph_)[o].constant && (*graph_)[o].type.rank() >= t.rank();
    });
    if (infix && other_is_larger) return number_of_float(t.floats()[0]);
  }
  std::string wanted = value.name;
  if (!returned)
    for (const Scope& scope : node_->scopes)
      if (wanted.starts_with(scope.name + "/")) wanted.erase(0, scope.name.size() + 1);
  // In a class that several layers share: after the last word of the name.
  if (!returned && !steps_[at_].spoken.empty()) {
    const std::string word = wanted.substr(wanted.find_last_of("/.") + 1);
    wanted = steps_[at_].spoken + "_" + word.substr(0, word.find_first_of("0123456789"));
  }
  State state{identifier(wanted), t, v, !(value.trainable && floating)};
  const std::string key = "tensor " + std::to_string(v.index);
  if (const auto known = known_members_.find(key); known != known_members_.end()) return "self." + known->second;
  const std::string member = members_.take(state.name);
  known_members_[key] = member;
  if (state.buffer) {
    declare(fmt::format("self.register_buffer(\"{}\", {})", member, empty_tensor(t)));
    own_buffers_.push_back({member, t, v, true});
  } else {
    declare(fmt::format("self.{} = nn.Parameter({})", member, empty_tensor(t)));
    own_parameters_.push_back({member, t, v, false});
  }
  return "self." + member;
}

std::string Block::tensor(State state) {
  std::string key = fmt::format("state {} {} {}", layer_, state.name, state.value.index);
  const auto& declared = state.buffer ? own_buffers_ : own_parameters_;
  // Numbers that the graph does not hold as a value are told apart by themselves.
  for (auto known = known_members_.find(key); known != known_members_.end(); known = known_members_.find(key += "+")) {
    const auto same = std::ranges::find(declared, known->second, &Parameter::name);
    if (state.value || (same != declared.end() && same_bytes(same->tensor, state.tensor)))
      return "self." + known->second;
  }
  const std::string member = members_.take(identifier(layer_ + "_" + state.name));
  known_members_[key] = member;
  const char* form = state.buffer ? "self.register_buffer(\"{}\", {})" : "self.{} = nn.Parameter({})";
  declare(fmt::format(fmt::runtime(form), member, empty_tensor(state.tensor)));
  (state.buffer ? own_buffers_ : own_parameters_).push_back({member, state.tensor, state.value, state.buffer});
  return "self." + member;
}

Expression Block::take(ValueId v, int most_calls, bool only_light) {
  if ((*graph_)[v].constant && !made_at_.contains(v) && !variables_.contains(v))
    return {constant_text(v), Binds::Atom, 0, true, {}};
  if (pending_ && pending_->value == v) {
    const Expression& e = pending_->e;
    if (e.comment.empty() && e.calls <= most_calls && e.text.size() <= longest_inline && (e.light || !only_light)) {
      Expression taken = std::move(pending_->e);
      pending_.reset();
      return taken;
    }
    flush();
  }
  return {variables_[v], Binds::Atom, 0, true, {}};
}

Expression Block::follow(std::size_t i) { return take(node_->inputs[i], 2, false); }
Expression Block::begin(std::size_t i) { return take(node_->inputs[i], 2, true); }
std::string Block::name(std::size_t i) { return take(node_->inputs[i], -1, false).text; }

// ---- results

// `x` for what the next step uses up; a name after the layer for what lives longer.
std::string Block::variable_for(ValueId v, const std::string& layer) {
  const auto last = last_use_.find(v);
  const bool brief = last != last_use_.end() && last->second == made_at_[v] + 1;
  // While inputs are taken, what `x` holds may already stand in the text of this step.
  const bool x_free = !x_needed_until_ || (taking_ ? *x_needed_until_ < at_ : *x_needed_until_ <= at_);
  if (brief && x_free) {
    x_needed_until_ = last->second;
    return "x";
  }
  return names_.take(identifier(layer));
}

void Block::assign(ValueId v, const Expression& e, const std::string& layer) {
  const std::string variable = variable_for(v, layer);
  call_by(v, variable);
  forward_ += statement(8, variable + " = " + e.text, e.comment);
}

void Block::flush() {
  if (!pending_) return;
  const Pending p = *std::exchange(pending_, std::nullopt);
  assign(p.value, p.e, p.layer);
}

void Block::call_by(ValueId v, std::string variable) {
  named_.insert(variable);
  variables_[v] = std::move(variable);
}

void Block::set_result(ValueId v, Expression e) {
  taking_ = false;
  flush();
  const bool variable = named_.contains(e.text);
  const auto last = last_use_.find(v);
  if (variable && e.binds == Binds::Atom) {  // nothing happened: another name for the same
    call_by(v, e.text);
    if (e.text == "x" && last != last_use_.end()) x_needed_until_ = std::max(*x_needed_until_, last->second);
    return;
  }
  if (last == last_use_.end()) return;  // nobody asks
  if (uses_[v] == 1 && last->second == at_ + 1) pending_ = Pending{v, std::move(e), layer_};
  else assign(v, e, layer_);
}

void Block::result(Expression e) { set_result(steps_[at_].outputs[0], std::move(e)); }

void Block::results(std::string text) {
  taking_ = false;
  flush();
  std::vector<std::string> targets;
  for (const ValueId v : steps_[at_].outputs) {
    call_by(v, last_use_.contains(v) ? names_.take(identifier(layer_)) : "_");
    targets.push_back(variables_[v]);
  }
  forward_ += statement(8, joined(targets) + (targets.size() == 1 ? ", = " : " = ") + text);
}

void Block::helper(std::string_view source) {
  if (std::ranges::find(text_.helpers, source) == text_.helpers.end()) text_.helpers.emplace_back(source);
}

std::string Block::class_of(const std::string& wanted, const std::string& body) {
  auto known = text_.known.find(body);
  if (known == text_.known.end()) {
    known = text_.known.emplace(body, text_.class_names.take(wanted, "")).first;
    text_.classes.push_back({known->second, body});
  }
  return known->second;
}

// ---- modules

// A line of __init__. In a class that may become one with others it is wrapped when its numbers have become arguments.
void Block::declare(const std::string& text, const std::string& comment) {
  init_ += nested_in_ && comment.empty() ? "        " + text + "\n" : statement(8, text, comment);
}

// The layer's name; where a layer has several modules, the word that its weights have in front of "kernel" tells them
// apart: separable/depthwise_kernel, bidirectional/forward/kernel.
std::string Block::member_name(const std::vector<State>& states) {
  const std::string plain = identifier(layer_);
  if (members_.free(plain) || states.empty() || !states[0].value) return members_.take(plain);
  std::string value = (*graph_)[states[0].value].name;
  for (const std::string_view word :
       {"depthwise", "pointwise", "forward", "backward", "query", "key", "value", "output"})
    if (value.find(word) != std::string::npos && plain.find(word) == std::string::npos)
      return members_.take(plain + "_" + std::string(word));
  return members_.take(plain);
}

namespace {

// The types of real numbers among these weights, each once.
std::set<DType> real_types(const std::vector<State>& states) {
  std::set<DType> types;
  for (const State& s : states)
    if (is_floating(s.tensor.dtype())) types.insert(s.tensor.dtype());
  return types;
}

// nn.PReLU(4) as nn.PReLU(4, dtype=torch.float16): without it, numbers of another type would be turned into float32.
std::string typed(std::string constructor, DType type) {
  if (type == DType::F32 || constructor.find("dtype=") != std::string::npos) return constructor;
  const std::size_t end = constructor.rfind(')');
  if (end == std::string::npos) return constructor;
  return constructor.insert(end, (constructor[end - 1] == '(' ? "dtype=" : ", dtype=") + dtype(type));
}

}  // namespace

std::string Block::module(std::string constructor, std::vector<State> states, std::string comment,
                          std::vector<std::string> then) {
  const auto types = real_types(states);
  if (types.size() == 1) constructor = typed(std::move(constructor), *types.begin());
  else if (types.size() > 1) holds_unlike_types_ = true;
  std::string key = layer_ + " " + constructor;
  for (const State& s : states) key += fmt::format(" {}={}", s.name, s.value.index);
  if (const auto known = known_members_.find(key); known != known_members_.end()) return "self." + known->second;
  const std::string member = member_name(states);
  known_members_[key] = member;
  const auto weights = [](const State& s) { return !s.buffer && s.value; };
  const bool frozen = std::ranges::any_of(states, weights) && std::ranges::all_of(states, [&](const State& s) {
                        return !weights(s) || !(*graph_)[s.value].trainable;
                      });
  // Keras's frozen norms keep to their moving averages in training too; PyTorch's own do not.
  if (frozen && constructor.starts_with("nn.BatchNorm") && graph_->source_format.starts_with("Keras"))
    frozen_norms_.push_back(member);
  if (frozen) constructor += ".requires_grad_(False)";
  declare("self." + member + " = " + constructor, comment);
  for (const State& s : states)
    if (!frozen && weights(s) && !(*graph_)[s.value].trainable) then.push_back(s.name + ".requires_grad_(False)");
  if (!frozen)
    for (const std::string& line : then) declare("self." + member + "." + line);
  for (State& s : states) children_.push_back({member + "." + s.name, std::move(s.tensor), s.value, s.buffer});
  return "self." + member;
}

// ---- the class

Status Block::write_step(const Step& step) {
  // What was computed before and is not used here gets its line first.
  if (pending_ && std::ranges::find(step.inputs, pending_->value) == step.inputs.end()) flush();
  if (!step.node) return write_nested(step);
  node_ = &(*graph_)[step.node];
  layer_ = step.spoken.empty() ? layer_of(*node_, text_.flattened) : step.spoken;
  taking_ = true;
  holds_unlike_types_ = false;
  auto written = within(place_of(*node_), write_node(node_->op, *this));
  if (written && holds_unlike_types_)
    return within(place_of(*node_), Status(refused("a module whose weights are of several types")));
  return written;
}

std::string Block::return_line(const std::vector<std::string>& keys, bool in_tuple) {
  const auto given = [&](const std::string& text) { return in_tuple ? "(" + text + ",)" : text; };
  if (keys.empty() && outputs_.size() == 1 && pending_ && pending_->value == outputs_[0]) {
    const Pending p = *std::exchange(pending_, std::nullopt);
    return statement(8, "return " + given(p.e.text), p.e.comment);
  }
  taking_ = true;  // an input that is an output stands in this line, too
  flush();
  std::vector<std::string> texts;
  for (const ValueId v : outputs_) texts.push_back(variables_.contains(v) ? variables_[v] : constant_text(v));
  return statement(8, "return " + (keys.empty() ? given(joined(texts)) : python::dictionary_text(keys, texts)));
}

std::string Block::train_method() const {
  if (frozen_norms_.empty()) return {};
  std::string text =
      "\n    def train(self, mode: bool = True) -> nn.Module:\n"
      "        super().train(mode)\n"
      "        # frozen norms keep to their moving averages, as in Keras\n";
  for (const std::string& member : frozen_norms_) text += "        self." + member + ".eval()\n";
  return text + "        return self\n";
}

Result<WrittenClass> Block::write(const std::vector<std::string>& arguments, const std::string& check,
                                  const std::vector<std::string>& input_keys,
                                  const std::vector<std::string>& output_keys, bool in_tuple) {
  std::vector<std::string> signature{"self"};
  std::string taken;  // what stands in a dictionary, under names of its own
  if (!input_keys.empty()) signature.push_back("inputs: dict[str, Tensor]");
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    call_by(inputs_[i], arguments[i] == "x" ? "x" : names_.take(arguments[i]));
    if (arguments[i] == "x") x_needed_until_ = last_use_.contains(inputs_[i]) ? last_use_[inputs_[i]] : 0;
    if (input_keys.empty()) signature.push_back(variables_[inputs_[i]] + ": Tensor");
    else taken += statement(8, variables_[inputs_[i]] + " = inputs[" + python::quoted(input_keys[i]) + "]");
  }
  for (at_ = 0; at_ < steps_.size(); ++at_)
    if (auto ok = write_step(steps_[at_]); !ok) return pass(ok);
  const std::string returned = return_line(output_keys, in_tuple);
  std::string type = "Tensor";
  if (outputs_.size() != 1 || in_tuple)
    type = "tuple[" + joined(std::vector<std::string>(outputs_.size(), "Tensor")) + "]";
  if (!output_keys.empty()) type = "dict[str, Tensor]";

  WrittenClass written;
  for (auto* part : {&own_parameters_, &own_buffers_, &children_})
    std::ranges::move(*part, std::back_inserter(written.parameters));
  if (!nested_in_)
    for (const std::string& text : tying_statements(*graph_, written.parameters)) declare(text);
  written.body = "    def __init__(self) -> None:\n        super().__init__()\n" + init_ + "\n" +
                 statement(4, "def forward(" + joined(signature) + ") -> " + type + ":") + taken + check + forward_ +
                 returned + train_method();
  return written;
}

}  // namespace convoy::torch
