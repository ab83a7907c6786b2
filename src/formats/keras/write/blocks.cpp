#include "formats/keras/write/blocks.h"

#include "formats/keras/weights.h"
#include "formats/repeated_blocks.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace convoy::keras {
namespace {

void read(const Argument& argument, std::vector<Reference>& all) {
  const auto add = [&](const Reference& r) {
    if (std::ranges::find(all, r) == all.end()) all.push_back(r);
  };
  if (const auto* one = std::get_if<Reference>(&argument)) add(*one);
  if (const auto* list = std::get_if<std::vector<Item>>(&argument))
    for (const Item& item : *list)
      if (const auto* one = std::get_if<Reference>(&item)) add(*one);
}

Step step_of(const Reference& r) { return {r.layer, r.call}; }

// Calls in the order of the document, each behind what it reads: a shared layer is called again further down.
Result<std::vector<Step>> in_order(const Document& document) {
  std::vector<Step> waiting, order;
  std::set<Step> made;
  for (std::size_t layer = 0; layer < document.layers.size(); ++layer)
    for (std::size_t call = 0; call < document.layers[layer].calls.size(); ++call)
      if (document.layers[layer].class_name == "InputLayer") made.insert({layer, call});
      else waiting.push_back({layer, call});
  while (!waiting.empty()) {
    std::vector<Step> later;
    for (const Step& step : waiting) {
      const auto reads = reads_of(document, step);
      if (std::ranges::all_of(reads, [&](const Reference& r) { return made.contains(step_of(r)); })) {
        order.push_back(step);
        made.insert(step);
      } else {
        later.push_back(step);
      }
    }
    if (later.size() == waiting.size()) return fail(Fault::Internal, "layers of the document wait for each other");
    waiting = std::move(later);
  }
  return order;
}

constexpr std::size_t most_words = 8;  // of a name, that may be scopes

// What functions of a program have left in the names of its layers: conv2_block1_1_conv stands in conv2, block1 and 1.
std::vector<Scope> scopes_of_name(const std::string& name) {
  std::vector<Scope> scopes;
  for (std::size_t from = 0, to; (to = name.find_first_of("_.-", from)) != std::string::npos; from = to + 1)
    if (to > from && scopes.size() < most_words) scopes.push_back({name.substr(from, to - from), 0});
  return scopes;
}

// "re_lu_4": as Keras names layers that nobody has named.
bool is_usual_name(const DocumentLayer& layer) {
  return layer.name.substr(0, layer.name.find_last_not_of("0123456789_") + 1) == snake_case(layer.class_name);
}

// The scopes down to this depth. Empty: there is none so deep.
std::string scope_at(const std::vector<Scope>& scopes, std::size_t depth) {
  std::string path;
  for (std::size_t i = 0; i <= depth && depth < scopes.size(); ++i)
    path += scopes[i].name + ":" + std::to_string(scopes[i].call) + "/";
  return path;
}

class BlockFinder {
 public:
  BlockFinder(const Document& document, bool by_names) : document_(document), by_names_(by_names) {
    flat_ = std::ranges::all_of(document.layers, [](const DocumentLayer& one) { return one.scopes.empty(); });
    for (const DocumentLayer& one : document.layers) scopes_.push_back(one.scopes);
    for (const Reference& r : document.outputs) readers_[step_of(r)].push_back({});
  }

  Result<std::vector<Part>> run() {
    auto steps = in_order(document_);
    if (!steps) return pass(steps);
    for (const Step& step : *steps)
      for (const Reference& r : reads_of(document_, step)) readers_[step_of(r)].push_back(step);
    if (flat_) *steps = branch_by_branch(*steps);
    if (flat_ && by_names_) scopes_from_names(*steps);
    return level(*steps, 0);
  }

 private:
  // One branch after the other, as a person writes it.
  std::vector<Step> branch_by_branch(const std::vector<Step>& steps) const {
    std::map<Step, int> numbers;
    const auto number = [&](const Step& step) { return numbers.emplace(step, numbers.size()).first->second; };
    std::vector<python::ProgramPiece> pieces;
    for (const Step& step : steps) {
      python::ProgramPiece piece;
      for (const Reference& r : reads_of(document_, step)) piece.reads.push_back(number(step_of(r)));
      piece.makes.push_back(number(step));
      pieces.push_back(std::move(piece));
    }
    std::vector<int> results;
    for (const Reference& r : document_.outputs) results.push_back(number(step_of(r)));
    std::vector<Step> ordered;
    for (const std::size_t i : python::branch_by_branch(pieces, results)) ordered.push_back(steps[i]);
    return ordered;
  }

  // Layers that Keras named belong to what stands around them; words that come back further on say nothing.
  void scopes_from_names(const std::vector<Step>& steps) {
    std::vector<bool> usual;
    for (const Step& step : steps) {
      usual.push_back(is_usual_name(layer(step)));
      scopes_[step.layer] = usual.back() ? std::vector<Scope>{} : scopes_of_name(layer(step).name);
    }
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (!usual[i] || i == 0) continue;
      std::size_t next = i;
      while (next < steps.size() && usual[next]) ++next;
      if (next == steps.size()) break;
      std::vector<Scope> shared = scopes_[steps[i - 1].layer];
      const std::vector<Scope>& after = scopes_[steps[next].layer];
      shared.resize(static_cast<std::size_t>(std::ranges::mismatch(shared, after).in1 - shared.begin()));
      scopes_[steps[i].layer] = std::move(shared);
    }
    for (std::size_t depth = 0; depth < most_words; ++depth) {
      std::map<std::string, int> rows;
      std::string before;
      for (const Step& step : steps) {
        const std::string path = scope_at(scopes_[step.layer], depth);
        if (path != before && !path.empty()) ++rows[path];
        before = path;
      }
      for (const Step& step : steps) {
        auto& scopes = scopes_[step.layer];
        const std::string path = scope_at(scopes, depth);
        if (!path.empty() && rows[path] > 1) scopes.resize(depth);
      }
    }
  }

  bool is_usual(const Step& step) const { return flat_ && is_usual_name(layer(step)); }
  const DocumentLayer& layer(const Step& step) const { return document_.layers[step.layer]; }

  std::vector<Part> level(const std::vector<Step>& steps, std::size_t depth) {
    std::vector<Part> parts;
    for (std::size_t i = 0; i < steps.size();) {
      const std::string path = scope_at(scopes_[steps[i].layer], depth);
      std::size_t end = i + 1;
      while (end < steps.size() && !path.empty() && scope_at(scopes_[steps[end].layer], depth) == path) ++end;
      if (path.empty()) {
        parts.push_back({.step = steps[i]});
      } else {
        const std::vector<Step> own(steps.begin() + static_cast<std::ptrdiff_t>(i),
                                    steps.begin() + static_cast<std::ptrdiff_t>(end));
        Part block{.step = {}, .path = path, .prefix = {}, .inside = level(own, depth + 1)};
        describe(block, own);
        // Two words around the same layers are one.
        const bool said_twice = flat_ && block.inside.size() == 1 && !block.inside[0].step;
        parts.push_back(said_twice ? block.inside[0] : std::move(block));
      }
      i = end;
    }
    return parts;
  }

  void describe(Part& block, const std::vector<Step>& own) const {
    const std::set<Step> inside(own.begin(), own.end());
    for (const Step& step : own) {
      for (const Reference& r : reads_of(document_, step))
        if (!inside.contains(step_of(r)) && std::ranges::find(block.inputs, r) == block.inputs.end())
          block.inputs.push_back(r);
      const auto found = readers_.find(step);
      const bool leaves = found != readers_.end() && std::ranges::any_of(found->second, [&](const auto& reader) {
                            return !reader || !inside.contains(*reader);
                          });
      if (leaves) block.outputs.push_back({step.layer, step.call, 0});
    }
    std::string common;
    bool any = false;
    for (const Step& step : own) {
      const std::string& name = layer(step).name;
      if (is_usual(step)) continue;
      if (!std::exchange(any, true)) common = name;
      const auto differs = std::ranges::mismatch(common, name);
      common.resize(static_cast<std::size_t>(differs.in1 - common.begin()));
    }
    // No name may end where the prefix does.
    const auto separator = common.find_last_of("_.-/");
    common.resize(separator == std::string::npos ? 0 : separator + 1);
    const bool whole =
        std::ranges::all_of(own, [&](const Step& s) { return is_usual(s) || layer(s).name.size() > common.size(); });
    if (whole) block.prefix = common;
  }

  const Document& document_;
  bool by_names_ = true;
  bool flat_ = false;  // the source tells no modules: names of layers stand for them
  std::vector<std::vector<Scope>> scopes_;  // by layer
  std::map<Step, std::vector<std::optional<Step>>> readers_;  // nothing: an output of the model
};

}  // namespace

std::vector<Reference> reads_of(const Document& document, const Step& step) {
  std::vector<Reference> all;
  const DocumentCall& call = document.layers[step.layer].calls[step.call];
  for (const Argument& argument : call.args) read(argument, all);
  for (const auto& [key, argument] : call.kwargs) read(argument, all);
  return all;
}

Result<std::vector<Part>> parts_of(const Document& document, bool by_names) {
  return BlockFinder(document, by_names).run();
}

}  // namespace convoy::keras
