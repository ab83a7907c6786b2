#include "formats/keras/write/repeated.h"

#include "formats/block_names.h"
#include "formats/keras/weights.h"
#include "formats/keras/write/functions.h"
#include "formats/repeated_blocks.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

namespace convoy::keras {
namespace {

using python::Grouped;

constexpr python::BlockCost cost{.definition = 4, .use = 1, .worth = 3, .most_inputs = 3};

// What a class of Keras computes, as a reader says it.
constexpr std::array<std::pair<std::string_view, std::string_view>, 16> spoken{{
    {"DepthwiseConv", "depthwise"},
    {"SeparableConv", "separable"},
    {"Transpose", "conv_transpose"},
    {"Conv", "conv"},
    {"BatchNormalization", "bn"},
    {"Normalization", "norm"},
    {"Dense", "linear"},
    {"MaxPooling", "pool"},
    {"AveragePooling", "pool"},
    {"ZeroPadding", "pad"},
    {"Concatenate", "concat"},
    {"LSTM", "lstm"},
    {"GRU", "gru"},
    {"Matmul", "matmul"},
    {"ReLU", "relu"},
    {"Relu6", "relu6"},
}};

std::string word_of(const DocumentLayer& layer) {
  if (layer.class_name == "Activation" && layer.arguments.contains("activation"))
    if (const Json& function = layer.arguments["activation"]; function.is_string()) return function.get<std::string>();
  for (const auto& [part, word] : spoken)
    if (layer.class_name.find(part) != std::string::npos) return std::string(word);
  return snake_case(layer.class_name);
}

class Repeats {
 public:
  explicit Repeats(Document& document) : document_(document), lines_(document), names_() {
    std::set<std::string> taken;
    for (const DocumentLayer& layer : document.layers) taken.insert(layer.name);
    names_ = FreshNames(std::move(taken));
  }

  std::vector<Part> run(std::vector<Part> parts, const std::vector<Reference>& results) {
    for (Part& part : parts)
      if (!part.step) part.inside = run(std::move(part.inside), part.outputs);
    std::vector<python::ProgramPiece> pieces;
    for (const Part& part : parts) pieces.push_back(piece_of(part));
    const auto grouped = python::repeated_blocks(pieces, numbers(results), cost);
    parts_ = &parts;
    uses_.clear();
    named_.clear();
    for (const Grouped& one : grouped) count_uses(one);
    for (const auto& [block, uses] : uses_) named_[block] = names_of(uses);
    std::vector<Part> made;
    for (const Grouped& one : grouped) made.push_back(part_of(one, {}));
    return made;
  }

  bool any() const { return any_; }

 private:
  struct Named {
    python::BlockNames names;
    std::string word;
    std::map<const Grouped*, std::size_t> use;
  };

  int number(const Reference& r) {
    const auto [at, made] = known_.emplace(std::tuple(r.layer, r.call, r.tensor), references_.size());
    if (made) references_.push_back(r);
    return static_cast<int>(at->second);
  }
  std::vector<int> numbers(const std::vector<Reference>& all) {
    std::vector<int> made;
    for (const Reference& r : all) made.push_back(number(r));
    return made;
  }

  bool is_opaque(const DocumentLayer& layer) const {
    return layer.is_operation() ||
           layer.name.substr(0, layer.name.find_last_not_of("0123456789_") + 1) == snake_case(layer.class_name) ||
           python::role_of(layer.name.substr(0, layer.name.find('_'))) == python::Role::Combines;
  }

  python::ProgramPiece piece_of(const Part& part) {
    python::ProgramPiece piece;
    PartText text = text_alone(lines_, part);
    piece.kind = std::move(text.kind);
    piece.numbers = std::move(text.numbers);
    piece.lines = static_cast<double>(text.lines);
    if (!part.step) {
      piece.reads = numbers(part.inputs);
      piece.makes = numbers(part.outputs);
      return piece;
    }
    const DocumentLayer& layer = document_.layers[part.step->layer];
    piece.reads = numbers(reads_of(document_, *part.step));
    const auto results = layer.calls[part.step->call].results.size();
    for (std::size_t i = 0; i < results; ++i) piece.makes.push_back(number({part.step->layer, part.step->call, i}));
    piece.word = word_of(layer);
    if (!is_opaque(layer)) piece.name = layer.name;
    return piece;
  }

  void count_uses(const Grouped& one) {
    if (one.piece) return;
    any_ = true;
    uses_[one.block].push_back(&one);
    for (const Grouped& inner : one.inside) count_uses(inner);
  }

  const Part& at(const Grouped& one) const { return (*parts_)[*one.piece]; }

  std::string word_at(const Grouped& piece) const {
    return at(piece).step ? word_of(document_.layers[at(piece).step->layer]) : "block";
  }

  Named names_of(const std::vector<const Grouped*>& uses) const {
    Named made;
    std::vector<python::LayerNames> layers;
    for (const Grouped* use : uses) {
      made.use[use] = layers.size();
      python::LayerNames own;
      for (const Grouped& inner : use->inside) {
        const bool call = inner.piece && at(inner).step;
        own.names.push_back(!inner.piece ? ""
                            : call       ? document_.layers[at(inner).step->layer].name
                                         : at(inner).prefix.substr(0, at(inner).prefix.size() - 1));
        own.opaque.push_back(call && is_opaque(document_.layers[at(inner).step->layer]));
      }
      layers.push_back(std::move(own));
    }
    const auto words = python::description_of_block(*uses[0], [&](const Grouped& piece) { return word_at(piece); });
    made.names = python::names_in_block(layers, words.lines);
    FreshNames inside;
    for (std::string& name : made.names.inside) name = inside.take(name);
    made.word = made.names.word.empty() ? words.name : made.names.word;
    return made;
  }

  // The name of a block's use: the source's, or counted.
  std::string name_of_use(const Named& named, std::size_t use) {
    if (!named.names.uses.empty()) return names_.take(named.names.uses[use]);
    for (;;) {
      std::string name = named.word + "_" + std::to_string(++counted_[named.word]);
      if (names_.free(name)) return names_.take(name);
    }
  }

  void rename(const Part& part, const std::string& before, const std::string& by) {
    if (part.step) {
      std::string& name = document_.layers[part.step->layer].name;
      name = before.empty() ? by : by + "_" + name.substr(before.size());
    }
    for (const Part& inner : part.inside) rename(inner, before, by);
  }
  static void prefix_anew(Part& part, const std::string& before, const std::string& by) {
    if (part.step) return;
    part.prefix = by + "_" + part.prefix.substr(before.size());
    for (Part& inner : part.inside) prefix_anew(inner, before, by);
  }

  // `name`: what it is called in the block around it; empty: it stands in none.
  Part part_of(const Grouped& one, const std::string& name) {
    if (one.piece) {
      Part part = std::move((*parts_)[*one.piece]);
      if (name.empty()) return part;
      const std::string before = part.prefix;
      rename(part, before, name);
      prefix_anew(part, before, name);
      return part;
    }
    const Named& named = named_.at(one.block);
    const std::string own = name.empty() ? name_of_use(named, named.use.at(&one)) : name;
    Part made;
    made.word = named.word;
    made.path = own + ":0/";
    made.prefix = own + "_";
    for (std::size_t i = 0; i < one.inside.size(); ++i)
      made.inside.push_back(part_of(one.inside[i], made.prefix + named.names.inside[i]));
    for (const int v : one.reads) made.inputs.push_back(references_[static_cast<std::size_t>(v)]);
    for (const int v : one.makes) made.outputs.push_back(references_[static_cast<std::size_t>(v)]);
    return made;
  }

  Document& document_;
  SourceParts lines_;  // apart from those that are written
  FreshNames names_;
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, std::size_t> known_;
  std::vector<Reference> references_;
  std::vector<Part>* parts_ = nullptr;
  std::map<int, std::vector<const Grouped*>> uses_;
  std::map<int, Named> named_;
  std::map<std::string, int> counted_;
  bool any_ = false;
};

}  // namespace

Result<Repeated> with_repeated_blocks(const Document& document, bool by_names) {
  Repeated made{.document = document, .parts = {}, .any = false};
  auto parts = parts_of(document, by_names);
  if (!parts) return std::unexpected(parts.error());
  Repeats repeats(made.document);
  made.parts = repeats.run(std::move(*parts), document.outputs);
  made.any = repeats.any();
  std::set<std::string> names;
  for (const DocumentLayer& layer : made.document.layers)
    if (!names.insert(layer.name).second) return fail(Fault::Internal, "two layers are called '" + layer.name + "'");
  return made;
}

}  // namespace convoy::keras
