// What each framework can say about the padding of one operator, on all axes at once, and how it says a given one.
// The words are those of the operator itself: no pad in front of it, no crop behind it.
#pragma once
#include "ops/agreement.h"

#include <span>
#include <utility>
#include <vector>

namespace convoy {

// Onnx is the specification's text; OnnxRuntime is what version 1.30 runs, with the specification's meaning.
enum class Framework : std::uint8_t { Torch, Keras, TensorFlow, Onnx, OnnxRuntime, Tflite, CoreMl };

// CountingAverages count padding cells as zeros, Averages leave them out.
enum class Windowed : std::uint8_t { Convolutions, Depthwise, MaxPools, Averages, CountingAverages };

struct Speaker {
  Framework framework = Framework::Torch;
  Windowed windowed = Windowed::Convolutions;
  int opset = 22;  // read for ONNX alone
  constexpr bool pools() const { return windowed != Windowed::Convolutions && windowed != Windowed::Depthwise; }
  constexpr bool averages() const { return windowed == Windowed::Averages || windowed == Windowed::CountingAverages; }
  constexpr bool onnx() const { return framework == Framework::Onnx || framework == Framework::OnnxRuntime; }
  constexpr Counting counting() const {
    return windowed == Windowed::CountingAverages ? Counting::WithPadding : Counting::Inside;
  }
};

// A word is one setting for all axes. Numbers are per axis; Valid beside numbers is zero. RoundedUp are numbers with
// ceil_mode, again one setting for all axes.
enum class Form : std::uint8_t { Valid, SameUpper, SameLower, Causal, Numbers, RoundedUp };

using Windows = std::span<const Window>;
using Paddings = std::span<const Padding>;
using FreeSizes = std::span<const std::optional<Size>>;  // nothing: the size of that axis is free

// Whether some axis has a stride, say, at all.
constexpr bool any_above_one(Windows windows, Size Window::* member) {
  for (const Window& w : windows)
    if (w.*member > 1) return true;
  return false;
}

namespace detail {

// Windows that the framework has at all, whatever the padding.
constexpr bool takes(Speaker s, Windows windows) {
  if (windows.empty() || windows.size() > 3) return false;
  const bool dilated = any_above_one(windows, &Window::dilation), strided = any_above_one(windows, &Window::stride);
  switch (s.framework) {
    case Framework::Torch: return !s.averages() || !dilated;
    // Keras refuses stride with dilation; its depthwise and separable layers run it since 3.15.
    case Framework::Keras: return s.pools() ? !dilated : s.windowed == Windowed::Depthwise || !strided || !dilated;
    // With both, TensorFlow's depthwise operator computes something else.
    case Framework::TensorFlow: return s.windowed != Windowed::Depthwise || !strided || !dilated;
    case Framework::Onnx:
    case Framework::OnnxRuntime:
      if (s.windowed == Windowed::MaxPools) return !dilated || s.opset >= 10;
      if (s.windowed == Windowed::CountingAverages && s.opset < 7) return false;
      return !s.averages() || !dilated || s.opset >= 19;
    case Framework::Tflite: return !s.pools() || (!dilated && windows.size() < 3);
    case Framework::CoreMl: return !s.pools() || !dilated;
  }
  return false;
}

// PyTorch's average over three axes refuses an input shorter than its window, whatever room padding makes.
constexpr bool accepts(Speaker s, Windows windows, FreeSizes sizes) {
  if (s.framework != Framework::Torch || !s.averages() || windows.size() != 3) return true;
  for (std::size_t i = 0; i < windows.size(); ++i)
    if (sizes[i] && *sizes[i] < windows[i].kernel) return false;
  return true;
}

// Does the framework have this form for these windows?
constexpr bool has(Speaker s, Form form, Windows windows) {
  const bool dilated = any_above_one(windows, &Window::dilation), strided = any_above_one(windows, &Window::stride);
  const bool word = form == Form::Valid || form == Form::SameUpper;
  // Padding that counts is unknown where an average leaves it out.
  const bool counts = s.windowed == Windowed::CountingAverages;
  switch (s.framework) {
    case Framework::Torch:
      if (form == Form::SameUpper) return !s.pools() && !strided;
      return form == Form::Valid || form == Form::Numbers || (form == Form::RoundedUp && s.pools());
    case Framework::Keras:
      if (form == Form::Causal) return s.windowed == Windowed::Convolutions && windows.size() == 1;
      return form == Form::Valid || (form == Form::SameUpper && !counts);
    case Framework::TensorFlow:
      if (s.pools() && dilated) return form == Form::Valid;
      if (form == Form::Numbers) return windows.size() == 2 && !s.averages();
      return form == Form::Valid || (form == Form::SameUpper && !counts);
    case Framework::OnnxRuntime:
    case Framework::Onnx:
      if (form == Form::RoundedUp) return s.pools() && s.opset >= 10;
      if (form == Form::SameUpper || form == Form::SameLower) {
        if (s.framework == Framework::Onnx) return true;
        // Its pads come from the kernel without dilation, and are negative where the stride is longer.
        for (const Window& w : windows)
          if (s.pools() && w.kernel < w.stride) return false;
        return !dilated;
      }
      return form != Form::Causal;
    case Framework::Tflite: return word && (form == Form::Valid || !counts);
    // Its own `same` is documented in two ways.
    case Framework::CoreMl:
      if (form == Form::RoundedUp) return s.pools() && windows.size() < 3;
      return form == Form::Valid || form == Form::Numbers;
  }
  return false;
}

// The numbers that one axis may carry.
constexpr bool allows(Speaker s, Form form, Padding p, Window w) {
  if (p.spelling != Spelling::Explicit && p.spelling != Spelling::Valid) return false;
  const Size before = p.spelling == Spelling::Valid ? 0 : p.before, after = p.spelling == Spelling::Valid ? 0 : p.after;
  if (before < 0 || after < 0) return false;
  const bool up = form == Form::RoundedUp;
  if (!up && p.leftover != Leftover::Drop) return false;
  // Core ML gives up a window that starts behind the input only where there is padding.
  const Leftover rounds =
      s.framework == Framework::CoreMl && before + after == 0 ? Leftover::Ceil : Leftover::CeilInside;
  if (up && p.leftover != rounds) return false;
  switch (s.framework) {
    case Framework::Torch: return before == after && (!s.pools() || before <= w.kernel / 2);
    case Framework::TensorFlow:
    case Framework::OnnxRuntime: return !s.pools() || (before < w.kernel && after < w.kernel);
    case Framework::CoreMl: return !up || before == after;
    default: return true;
  }
}

constexpr bool is_of(Speaker s, Form form, Padding p, Window w) {
  switch (form) {
    case Form::Valid: return p == Padding{Spelling::Valid};
    case Form::SameUpper: return p == Padding{Spelling::SameUpper};
    case Form::SameLower: return p == Padding{Spelling::SameLower};
    case Form::Causal: return p == Padding{Spelling::Causal};
    case Form::Numbers:
    case Form::RoundedUp: return allows(s, form, p, w);
  }
  return false;
}

// Numbers that might say `p` as `form`, the least trailing pad first.
constexpr std::vector<Padding> candidates(Form form, Padding p, Window w, std::optional<Size> in) {
  if (form == Form::Valid) return {{Spelling::Valid}};
  if (form == Form::SameUpper) return {{Spelling::SameUpper}};
  if (form == Form::SameLower) return {{Spelling::SameLower}};
  if (form == Form::Causal) return {{Spelling::Causal}};
  const auto cells = pads_in_front(p, w, in);
  if (!cells) return {};
  const Size up = form == Form::RoundedUp ? w.stride - 1 : 0;
  std::vector<Padding> all;
  const auto add = [&](Size after) {
    for (const Leftover leftover : {Leftover::Drop, Leftover::CeilInside, Leftover::Ceil})
      if ((leftover != Leftover::Drop) == (form == Form::RoundedUp)) {
        if (cells->before == 0 && after == 0 && form == Form::Numbers) all.push_back({Spelling::Valid});
        all.push_back({Spelling::Explicit, cells->before, after, leftover});
      }
  };
  // A divisor may depend on the declared pad, or on the longest that a runtime takes in its place.
  if (p.spelling == Spelling::Explicit) add(p.after);
  if (p.spelling == Spelling::Explicit && p.after >= w.kernel) add(w.kernel - 1);
  add(std::max<Size>(0, cells->after - up));
  add(cells->after);
  add(cells->before);
  return all;
}

}  // namespace detail

// `p` as one axis of `form`: `p` itself where it is of that form already.
constexpr std::optional<Padding> respell(Speaker s, Form form, Padding p, Window w, std::optional<Size> in) {
  if (detail::is_of(s, form, p, w)) return p;
  for (const Padding& q : detail::candidates(form, p, w, in))
    if (detail::is_of(s, form, q, w) && same_for(p, q, w, in, s.counting())) return q;
  return std::nullopt;
}

// The form that these paddings are, on all axes. Nothing: the framework cannot say them as they stand.
constexpr std::optional<Form> form_of(Speaker s, Paddings paddings, Windows windows) {
  if (paddings.size() != windows.size() || !detail::takes(s, windows)) return std::nullopt;
  for (const Form form :
       {Form::Valid, Form::SameUpper, Form::SameLower, Form::Causal, Form::Numbers, Form::RoundedUp}) {
    bool all = detail::has(s, form, windows);
    for (std::size_t i = 0; all && i < windows.size(); ++i) all = detail::is_of(s, form, paddings[i], windows[i]);
    if (all) return form;
  }
  return std::nullopt;
}
constexpr bool speaks(Speaker s, Paddings paddings, Windows windows) {
  return form_of(s, paddings, windows).has_value();
}

// All axes in this form. Nothing: the framework lacks the form, or an axis cannot be said in it.
constexpr std::optional<std::vector<Padding>> respell(Speaker s, Form form, Paddings paddings, Windows windows,
                                                      FreeSizes sizes) {
  if (paddings.size() != windows.size() || sizes.size() != windows.size()) return std::nullopt;
  if (!detail::takes(s, windows) || !detail::has(s, form, windows)) return std::nullopt;
  if (!detail::accepts(s, windows, sizes)) return std::nullopt;
  std::vector<Padding> all;
  for (std::size_t i = 0; i < windows.size(); ++i)
    if (const auto one = respell(s, form, paddings[i], windows[i], sizes[i])) all.push_back(*one);
  if (all.size() != windows.size()) return std::nullopt;
  return all;
}

struct Respelled {
  Form form = Form::Valid;
  std::vector<Padding> paddings;
};

// The same windows, and the same divisors of an average, in the framework's own words: for every size, or for those known.
// A word is preferred where the framework thinks in words, numbers elsewhere. Nothing: a Pad in front is needed.
constexpr std::optional<Respelled> respell(Speaker s, Paddings paddings, Windows windows, FreeSizes sizes) {
  if (sizes.size() != windows.size() || !detail::accepts(s, windows, sizes)) return std::nullopt;
  if (const auto form = form_of(s, paddings, windows))
    return Respelled{*form, std::vector<Padding>(paddings.begin(), paddings.end())};
  constexpr Form words_first[] = {Form::Valid,     Form::SameUpper, Form::Causal,
                                  Form::SameLower, Form::Numbers,   Form::RoundedUp};
  constexpr Form numbers_first[] = {Form::Valid,     Form::Numbers,   Form::RoundedUp,
                                    Form::SameUpper, Form::SameLower, Form::Causal};
  const bool words = s.framework == Framework::Keras || s.framework == Framework::TensorFlow;
  for (const Form form : words ? words_first : numbers_first)
    if (auto all = respell(s, form, paddings, windows, sizes)) return Respelled{form, std::move(*all)};
  return std::nullopt;
}

// An operator of its own that pads in front of `p`, with what `p` pads with itself, as one padding of what lies before it.
// `in`: the size before both. Nothing: the pad cuts cells off, or `p` depends on a size that is free.
constexpr std::optional<Padding> folded(Added front, Padding p, Window w, std::optional<Size> in) {
  if (front.before < 0 || front.after < 0 || front.before > most_cells || front.after > most_cells) return std::nullopt;
  auto own = pads_at_every_size(p, w);
  if (!own && in) own = pads_to_window(p, w, *in + front.before + front.after);
  if (!own) return std::nullopt;
  return Padding{Spelling::Explicit, front.before + own->before, front.after + own->after};
}

}  // namespace convoy
