#include "explain/explanation.h"

#include <fmt/format.h>

#include <algorithm>

namespace convoy::explain {
namespace {

std::string cells(Size n) { return n == 1 ? "1 cell" : std::to_string(n) + " cells"; }

// What a crop does, in PyTorch's and ONNX's sense: a negative one extends.
std::string cut_words(std::string_view who, Size before, Size after) {
  const auto one = [](Size n, std::string_view where) {
    return n >= 0 ? fmt::format("cuts {} {}", n, where) : fmt::format("adds {} {}", -n, where);
  };
  if (before >= 0 && after >= 0) return fmt::format("{} cuts {} in front and {} behind.", who, before, after);
  return fmt::format("{} {} and {}.", who, one(before, "in front"), one(after, "behind"));
}

void tell_transposed(Explanation& e) {
  for (std::size_t i = 0; i < e.axes.size(); ++i) {
    const AxisFacts& axis = e.axes[i];
    const Size before = axis.placed[0].before, after = axis.placed[0].after;
    const std::string who(name_of(e.framework));
    const std::string of = e.axes.size() == 1 ? "" : axis.name + ": ";
    if (axis.scatter)
      e.sentences.push_back(fmt::format("{}The scatter of {} is {} long. {}", of, cells(*axis.size), *axis.scatter,
                                        cut_words(who, before, after)));
    else e.sentences.push_back(fmt::format("{}Of the scatter {}", of, cut_words(who, before, after)));
    // SAME of the same length.
    const Size in = axis.size.known() ? *axis.size : ample_size(axis.window);
    const Size out = crop_by(before, after, axis.window, in).out;
    const auto same = crop_to_gradient({Spelling::SameUpper}, axis.window, in, out);
    if (!same) {
      e.sentences.push_back("TensorFlow's SAME has no such length.");
    } else if (same->before == before) {
      e.sentences.push_back("TensorFlow's SAME cuts the same.");
    } else {
      const Size by = before - same->before;
      const Size places = by < 0 ? -by : by;
      e.sentences.push_back(fmt::format(
          "TensorFlow SAME would cut {} in front and {} behind: same length, every value {} {}.", same->before,
          same->after, places == 1 ? "one place" : fmt::format("{} places", places), by > 0 ? "later" : "earlier"));
      if (!e.comparison) e.comparison = compare(e.layer, i);
    }
    if (i + 1 < e.axes.size() && i == 0 && std::ranges::all_of(e.axes, [&](const AxisFacts& a) {
          return a.window == axis.window && a.placed == axis.placed && a.size == axis.size;
        })) {
      e.sentences.front() = "On every axis: " + e.sentences.front().substr(of.size());
      break;
    }
  }
}

void tell_windows(Explanation& e) {
  for (std::size_t i = 0; i < e.axes.size(); ++i) {
    const AxisFacts& axis = e.axes[i];
    if (axis.unread > 0 && axis.size.known())
      e.notes.push_back(fmt::format("{}: {} padded behind {} never read at this size", axis.name, cells(axis.unread),
                                    axis.unread == 1 ? "is" : "are"));
    if (std::ranges::any_of(axis.divisors, [&](Size d) { return d != axis.window.kernel; }))
      e.sentences.push_back(
          fmt::format("{}: the average divides by {} at the first window, {} in the middle, {} at the last.", axis.name,
                      axis.divisors[0], axis.divisors[1], axis.divisors[2]));
  }
  if (e.layer.does == Does::Maximum && std::ranges::any_of(e.axes, [](const AxisFacts& a) {
        return a.placed.empty() || a.placed[0].before + a.placed[0].after > 0;
      }))
    e.sentences.emplace_back("Padding is worth minus infinity, never zero.");
  if (std::ranges::any_of(e.lines, [](const Line& l) { return !l.equal && l.remark.starts_with("not equal"); }))
    e.comparison = compare(e.layer, 0);
}

void add_lines(Explanation& e) {
  for (const Framework framework : {Framework::Torch, Framework::Keras, Framework::TensorFlow, Framework::Onnx,
                                    Framework::Tflite, Framework::CoreMl}) {
    if (framework == e.framework) continue;
    for (Line& line : lines_in(framework, e.layer)) e.lines.push_back(std::move(line));
  }
}

Result<Explanation> complete(Explanation e) {
  auto axes = facts_of(e.layer);
  if (!axes) return pass(axes);
  e.axes = std::move(*axes);
  add_lines(e);
  if (e.layer.does == Does::Transpose) tell_transposed(e);
  else tell_windows(e);
  if (!e.layer.pools()) e.kernel = kernel_words(e.framework, e.layer);
  for (auto& note : deviations(e.framework, e.layer, e.axes)) e.notes.push_back(std::move(note));
  return e;
}

}  // namespace

Result<std::vector<Explanation>> explain(const Spoken& spoken) {
  std::vector<Explanation> all;
  const bool separable = spoken.function.find("eparable") != std::string::npos;
  for (Found& found : layers_of(spoken.graph)) {
    if (separable && !all.empty()) break;  // the 1x1 convolution behind the depthwise one has nothing to pad
    Explanation e{.framework = spoken.framework,
                  .function = spoken.function,
                  .words = spoken.words,
                  .layer = std::move(found.layer)};
    // Numbers that only had to fit are not told.
    e.layer.channels = spoken.channels;
    if (e.layer.pools()) e.layer.filters = spoken.channels;
    else e.layer.filters = spoken.filters;
    e.layer.depthwise = e.layer.depthwise || (spoken.depthwise && all.empty());
    e.notes = spoken.notes;
    if (separable) {
      e.layer.filters = {};
      e.notes.emplace_back(
          "this is the depthwise part; the 1x1 convolution to the filters behind it has nothing to pad");
    }
    if (!spoken.says_bias) e.layer.biased = true;
    auto done = complete(std::move(e));
    if (!done) return pass(done);
    all.push_back(std::move(*done));
  }
  if (all.empty()) return fail(Fault::Unsupported, spoken.function + " has no windows to explain");
  return all;
}

Result<Explanation> explain(Framework framework, const Found& found) {
  Explanation e{.framework = framework, .function = found.kind, .name = found.name, .words = {}, .layer = found.layer};
  const auto all = [&](Spelling s) {
    return !e.layer.paddings.empty() &&
           std::ranges::all_of(e.layer.paddings, [&](const Padding& p) { return p.spelling == s; });
  };
  if (framework != Framework::Keras) return complete(std::move(e));
  if (all(Spelling::SameUpper)) e.words.emplace_back("padding", "same");
  if (all(Spelling::Valid)) e.words.emplace_back("padding", "valid");
  if (all(Spelling::Causal)) e.words.emplace_back("padding", "causal");
  return complete(std::move(e));
}

}  // namespace convoy::explain
