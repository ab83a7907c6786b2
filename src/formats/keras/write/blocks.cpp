#include "formats/keras/write/blocks.h"

#include <algorithm>
#include <map>
#include <set>

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

// The scopes down to this depth. Empty: there is none so deep.
std::string scope_at(const DocumentLayer& layer, std::size_t depth) {
  std::string path;
  for (std::size_t i = 0; i <= depth && depth < layer.scopes.size(); ++i)
    path += layer.scopes[i].name + ":" + std::to_string(layer.scopes[i].call) + "/";
  return path;
}

class Builder {
 public:
  explicit Builder(const Document& document) : document_(document) {
    for (const Reference& r : document.outputs) readers_[step_of(r)].push_back({});
  }

  Result<std::vector<Part>> run() {
    auto steps = in_order(document_);
    if (!steps) return pass(steps);
    for (const Step& step : *steps)
      for (const Reference& r : reads_of(document_, step)) readers_[step_of(r)].push_back(step);
    return level(*steps, 0);
  }

 private:
  const DocumentLayer& layer(const Step& step) const { return document_.layers[step.layer]; }

  std::vector<Part> level(const std::vector<Step>& steps, std::size_t depth) {
    std::vector<Part> parts;
    for (std::size_t i = 0; i < steps.size();) {
      const std::string path = scope_at(layer(steps[i]), depth);
      std::size_t end = i + 1;
      while (end < steps.size() && !path.empty() && scope_at(layer(steps[end]), depth) == path) ++end;
      if (path.empty()) {
        parts.push_back({.step = steps[i]});
      } else {
        const std::vector<Step> own(steps.begin() + static_cast<std::ptrdiff_t>(i),
                                    steps.begin() + static_cast<std::ptrdiff_t>(end));
        Part block{.step = {}, .path = path, .prefix = {}, .inside = level(own, depth + 1)};
        describe(block, own);
        parts.push_back(std::move(block));
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
    std::string common = layer(own.front()).name;
    for (const Step& step : own) {
      const std::string& name = layer(step).name;
      const auto differs = std::ranges::mismatch(common, name);
      common.resize(static_cast<std::size_t>(differs.in1 - common.begin()));
    }
    // No name may end where the prefix does.
    const auto separator = common.find_last_of("_.-/");
    common.resize(separator == std::string::npos ? 0 : separator + 1);
    const bool whole = std::ranges::all_of(own, [&](const Step& s) { return layer(s).name.size() > common.size(); });
    if (whole) block.prefix = common;
  }

  const Document& document_;
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

Result<std::vector<Part>> parts_of(const Document& document) { return Builder(document).run(); }

}  // namespace convoy::keras
