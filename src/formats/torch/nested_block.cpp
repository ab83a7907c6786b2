// Models inside a model: classes of their own, called by attribute, or in a row as nn.Sequential.
#include "formats/torch/block.h"

#include <algorithm>

namespace convoy::torch {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool same_parameters(const std::vector<Parameter>& a, const std::vector<Parameter>& b) {
  return std::ranges::equal(a, b, [](const Parameter& p, const Parameter& q) {
    return p.name == q.name && p.value == q.value && (p.value || same_bytes(p.tensor, q.tensor));
  });
}

}  // namespace

// The class of a nested model, written where no equal one is known.
Result<Block::Made> Block::class_for(const Step& step) {
  Block inner(text_, step.inside, step.inputs, step.outputs, true);
  std::vector<std::string> arguments;
  FreshNames names(taken_variables());
  for (std::size_t i = 0; i < step.inputs.size(); ++i)
    arguments.push_back(!step.arguments.empty()   ? step.arguments[i]
                        : step.inputs.size() == 1 ? "x"
                                                  : names.take(identifier((*graph_)[step.inputs[i]].name)));
  auto written = inner.write(arguments, {});
  if (!written) return pass(written);
  // The number of a block in its row says nothing.
  std::string wanted = step.class_word.empty() ? step.name : step.class_word;
  const auto last = wanted.find_last_not_of("0123456789");
  if (last != std::string::npos && last + 1 < wanted.size() && (wanted[last] == '_' || wanted[last] == '.'))
    wanted = wanted.substr(0, last) + "_block";
  return Made{class_of(class_name(wanted), written->body), std::move(written->parameters)};
}

// The step behind the last of a row of blocks that begins here: each reads only the one before it.
std::size_t Block::sequence_end() const {
  const auto alone = [&](const Step& step) {
    return !step.node && step.inputs.size() == 1 && step.outputs.size() == 1 && !nested_.contains(step.path) &&
           std::ranges::count(steps_, step.path, &Step::path) == 1;
  };
  std::size_t end = at_;
  while (end < steps_.size() && alone(steps_[end])) {
    if (end > at_ && (steps_[end].inputs[0] != steps_[end - 1].outputs[0] || uses_.at(steps_[end].inputs[0]) != 1))
      break;
    ++end;
  }
  return end;
}

Status Block::write_sequence(std::size_t end) {
  // Named after what their names begin with: stages_0, stages_1.
  std::string common = identifier(steps_[at_].name);
  for (std::size_t i = at_ + 1; i < end; ++i) {
    const std::string other = identifier(steps_[i].name);
    common.resize(static_cast<std::size_t>(std::ranges::mismatch(common, other).in1 - common.begin()));
  }
  // No half of a word.
  const bool torn = std::ranges::any_of(steps_.begin() + static_cast<std::ptrdiff_t>(at_),
                                        steps_.begin() + static_cast<std::ptrdiff_t>(end), [&](const Step& step) {
                                          const std::string name = identifier(step.name);
                                          return name.size() > common.size() && is_letter(name[common.size()]);
                                        });
  if (torn) common.resize(common.find_last_of('_') == std::string::npos ? 0 : common.find_last_of('_'));
  while (!common.empty() && (common.back() == '_' || (common.back() >= '0' && common.back() <= '9'))) common.pop_back();
  if (!common.empty() && common == steps_[at_].class_word) common += "s";
  const std::string attribute = members_.take(common.empty() ? "blocks" : common);
  std::vector<std::string> blocks;
  for (std::size_t i = at_; i < end; ++i) {
    auto made = class_for(steps_[i]);
    if (!made) return pass(made);
    for (const Parameter& p : made->parameters)
      children_.push_back({attribute + "." + std::to_string(i - at_) + "." + p.name, p.tensor, p.value, p.buffer});
    blocks.push_back(made->class_name + "()");
  }
  // One line until the blocks have got their arguments.
  init_ += "        self." + attribute + " = nn.Sequential(" + joined(blocks) + ")\n";
  taking_ = true;
  const Expression x = take(steps_[at_].inputs[0], 2, true);
  layer_ = attribute;
  const std::string text = "self." + attribute + "(" + x.text + ")";
  at_ = end - 1;
  set_result(steps_[at_].outputs[0], {text, Binds::Atom, x.calls + 1, false, {}});
  return {};
}

Status Block::write_nested(const Step& step) {
  if (const std::size_t end = sequence_end(); end > at_ + 1) return write_sequence(end);
  auto written = class_for(step);
  if (!written) return pass(written);
  const std::string class_ = written->class_name;
  auto nested = nested_.find(step.path);
  if (nested == nested_.end()) {
    const std::string attribute = members_.take(identifier(step.name));
    declare("self." + attribute + " = " + class_ + "()");
    for (const Parameter& p : written->parameters)
      children_.push_back({attribute + "." + p.name, p.tensor, p.value, p.buffer});
    nested = nested_.emplace(step.path, Nested{attribute, class_, written->parameters}).first;
  } else if (nested->second.class_name != class_ || !same_parameters(nested->second.parameters, written->parameters)) {
    text_.flattened.insert(step.path);
    text_.again = true;
  }
  std::vector<std::string> passed;
  int calls = 1;
  taking_ = true;
  for (const ValueId v : step.inputs) {
    const Expression x = take(v, 2, true);
    calls += x.calls;
    passed.push_back(x.text);
  }
  layer_ = step.name;
  const std::string text = "self." + nested->second.attribute + "(" + joined(passed) + ")";
  if (step.outputs.size() == 1) set_result(step.outputs[0], {text, Binds::Atom, calls, false, {}});
  else results(text);
  return {};
}

}  // namespace convoy::torch
