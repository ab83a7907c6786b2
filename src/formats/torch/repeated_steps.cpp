#include "formats/torch/repeated_steps.h"

#include "formats/block_names.h"
#include "formats/repeated_blocks.h"
#include "graph/text.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

namespace convoy::torch {
namespace {

using python::Grouped;

constexpr python::BlockCost cost{.definition = 9, .use = 1.5, .worth = 4, .most_inputs = 3};

// The operator as a reader of layers says it: "depthwise", "bn", "add".
std::string word_of(const Graph& graph, const Node& node) {
  const std::string text = text_of(node.op);
  const std::string name = text.substr(0, text.find_first_of(" ("));
  if (const auto* conv = get_if<Conv>(&node.op)) {
    const Dim channels = graph[node.outputs[0]].type.rank() > 1 ? graph[node.outputs[0]].type.shape[1] : Dim();
    return conv->groups > 1 && channels.size() && *channels.size() % conv->groups == 0 && conv->groups > 8 ? "depthwise"
                                                                                                           : "conv";
  }
  if (name == "batch_norm") return "bn";
  if (name.ends_with("_norm")) return "norm";
  if (name.ends_with("_pool")) return "pool";
  if (const auto function = text.find("function="); function != std::string::npos) {
    const std::string word = text.substr(function + 9, text.find(' ', function) - function - 9);
    return word;
  }
  return name == "binary" ? "add" : name == "unary" ? "sigmoid" : name;  // the first of each goes unsaid
}

// "conv2d_5", "Conv_12": named after the source's word for the operator.
bool is_opaque(const Node& node, const std::string& layer) {
  std::string bare, kind;
  for (const char c : layer)
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) bare += static_cast<char>(std::tolower(c));
  for (const char c : node.kind)
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) kind += static_cast<char>(std::tolower(c));
  return bare.empty() || bare == kind;
}

class Repeats {
 public:
  Repeats(const Graph& graph, const std::set<std::string>& flattened) : graph_(graph), flattened_(flattened) {
    for (const Node& node : graph.nodes)
      for (const ValueId v : node.inputs)
        if (v && graph[v].constant) ++readers_[v];
  }

  std::vector<Step> run(std::vector<Step> steps, const std::vector<ValueId>& results, const std::string& around) {
    for (Step& step : steps)
      if (!step.node) step.inside = run(std::move(step.inside), step.outputs, step.path);
    std::vector<python::ProgramPiece> pieces;
    std::map<std::string, int> calls;
    for (const Step& step : steps)
      if (!step.node) ++calls[step.path];
    for (const Step& step : steps) {
      python::ProgramPiece piece = piece_of(step);
      if (!step.node && calls[step.path] > 1) piece.kind.clear();  // one model called twice
      pieces.push_back(std::move(piece));
    }
    const auto grouped = python::repeated_blocks(pieces, numbers(results), cost);
    steps_ = &steps;
    maker_.clear();
    for (std::size_t i = 0; i < steps.size(); ++i)
      for (const ValueId v : steps[i].outputs) maker_[v.index] = i + 1;
    uses_.clear();
    names_.clear();
    count_ = 0;
    for (const Grouped& one : grouped) count_uses(one);
    for (const auto& [block, uses] : uses_) names_[block] = names_of(uses);
    std::vector<Step> made;
    for (const Grouped& one : grouped) made.push_back(step_of(one, around));
    return made;
  }

 private:
  static std::vector<int> numbers(const std::vector<ValueId>& values) {
    std::vector<int> made;
    for (const ValueId v : values) made.push_back(v.index);
    return made;
  }

  // The text that the step alone is, and its place in the program.
  python::ProgramPiece piece_of(const Step& step) {
    python::ProgramPiece piece{.kind = {}, .lines = 1, .reads = numbers(step.inputs), .makes = numbers(step.outputs)};
    if (step.node) {
      const Node& node = graph_[step.node];
      for (const ValueId v : node.inputs)
        if (v && readers_.contains(v) && readers_.at(v) > 1) return piece;  // weights that several lines share
      Step alone = step;
      alone.spoken = "layer";
      const std::vector<Step> one{alone};
      const auto text = text_alone(one, step.inputs, step.outputs);
      if (!text) return piece;
      auto [kind, numbers] = kind_of_class(*text);
      piece.kind = std::move(kind);
      piece.numbers = std::move(numbers);
      piece.word = word_of(graph_, node);
      if (std::string name = layer_of(node, flattened_); !is_opaque(node, name)) piece.name = std::move(name);
      piece.lines = lines_of_class(*text);
      return piece;
    }
    // A model inside: alike are those whose layers are alike, by name and text.
    std::map<ValueId, int> known;
    std::string kind = "model";
    double lines = 0;
    for (const Step& inner : step.inside) {
      const python::ProgramPiece own = piece_of(inner);
      if (own.kind.empty()) return piece;
      kind += "\n" + name_of(inner) + "\n" + own.kind;
      for (const ValueId v : inner.inputs) kind += " " + std::to_string(known.emplace(v, known.size()).first->second);
      for (const ValueId v : inner.outputs) known.emplace(v, known.size());
      lines += own.lines;
    }
    piece.kind = std::move(kind);
    piece.lines = 1.5;
    return piece;
  }

  std::optional<std::string> text_alone(const std::vector<Step>& steps, const std::vector<ValueId>& inputs,
                                        const std::vector<ValueId>& outputs) const {
    std::set<std::string> flattened = flattened_;
    ModuleText text{.graph = graph_,
                    .flattened = flattened,
                    .classes = {},
                    .helpers = {},
                    .class_names = FreshNames(),
                    .known = {}};
    std::vector<std::string> arguments;
    for (std::size_t i = 0; i < inputs.size(); ++i) arguments.push_back("x" + std::to_string(i + 1));
    Block block(text, steps, inputs, outputs, true);
    auto written = block.write(arguments, {});
    if (!written || !text.classes.empty()) return std::nullopt;
    return std::move(written->body);
  }

  void count_uses(const Grouped& one) {
    if (one.piece) return;
    uses_[one.block].push_back(&one);
    for (const Grouped& inner : one.inside) count_uses(inner);
  }

  const Step& step_at(const Grouped& one) const { return (*steps_)[*one.piece]; }

  std::string name_of(const Step& step) const {
    if (!step.spoken.empty()) return step.spoken;
    return step.node ? layer_of(graph_[step.node], flattened_) : step.name;
  }

  std::string word_at(const Grouped& piece) const {
    return step_at(piece).node ? word_of(graph_, graph_[step_at(piece).node]) : step_at(piece).name;
  }

  struct Named {
    python::BlockNames names;
    std::string word;
    std::map<const Grouped*, std::size_t> use;
    std::vector<std::string> arguments;
  };

  Named names_of(const std::vector<const Grouped*>& uses) const {
    std::vector<python::LayerNames> layers;
    Named made;
    for (const Grouped* use : uses) {
      made.use[use] = layers.size();
      python::LayerNames own;
      for (const Grouped& inner : use->inside) {
        const bool node = inner.piece && step_at(inner).node;
        own.names.push_back(inner.piece ? name_of(step_at(inner)) : "");
        own.opaque.push_back(node && is_opaque(graph_[step_at(inner).node], own.names.back()));
      }
      layers.push_back(std::move(own));
    }
    const auto words = python::description_of_block(*uses[0], [&](const Grouped& piece) { return word_at(piece); });
    made.names = python::names_in_block(layers, words.lines);
    for (std::string& name : made.names.inside) name = python::attribute_name(name);
    made.word = made.names.word.empty() ? words.name : made.names.word;
    // What was made last is x; what skips layers is called so.
    const auto& inputs = uses[0]->reads;
    const auto latest =
        std::ranges::max_element(inputs, {}, [&](int v) { return maker_.contains(v) ? maker_.at(v) : 0; });
    for (std::size_t i = 0, skips = 0; i < inputs.size(); ++i)
      if (inputs[i] == *latest) made.arguments.emplace_back("x");
      else made.arguments.push_back(++skips == 1 ? "skip" : "skip_" + std::to_string(skips));
    return made;
  }

  Step step_of(const Grouped& one, const std::string& around) {
    if (one.piece) return std::move((*steps_)[*one.piece]);
    const Named& named = names_.at(one.block);
    const std::size_t use = named.use.at(&one);
    Step made;
    made.path = around + "#" + std::to_string(++count_);
    made.class_word = named.word;
    made.name = named.names.uses.empty() ? named.word : named.names.uses[use];
    for (std::size_t i = 0; i < one.inside.size(); ++i) {
      Step inner = step_of(one.inside[i], around);
      if (one.inside[i].piece && inner.node) inner.spoken = named.names.inside[i];
      else if (!one.inside[i].piece) inner.name = named.names.inside[i];
      made.inside.push_back(std::move(inner));
    }
    for (const int v : one.reads) made.inputs.push_back({v});
    for (const int v : one.makes) made.outputs.push_back({v});
    made.arguments = named.arguments;
    return made;
  }

  const Graph& graph_;
  const std::set<std::string>& flattened_;
  std::map<ValueId, int> readers_;  // of constants
  std::vector<Step>* steps_ = nullptr;
  std::map<int, std::size_t> maker_;  // of values: which step, counted from 1
  std::map<int, std::vector<const Grouped*>> uses_;
  std::map<int, Named> names_;
  int count_ = 0;
};

}  // namespace

std::vector<Step> with_repeated_blocks(const Graph& graph, const std::set<std::string>& flattened,
                                       std::vector<Step> steps, const std::vector<ValueId>& results) {
  return Repeats(graph, flattened).run(std::move(steps), results, {});
}

}  // namespace convoy::torch
