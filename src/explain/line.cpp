#include "explain/line.h"

#include <fmt/format.h>

#include <algorithm>

namespace convoy::explain {

std::optional<Direct> direct(Framework framework, const Layer& layer, Form form, bool at_every_size) {
  const Speaker s = speaker(framework, layer);
  if (!detail::takes(s, layer.windows) || !detail::has(s, form, layer.windows)) return std::nullopt;
  Direct found{form, {}, {}};
  for (std::size_t i = 0; i < layer.space(); ++i) {
    const auto in = at_every_size ? std::nullopt : layer.in[i].size();
    const auto one = respell(s, form, layer.paddings[i], layer.windows[i], in);
    if (!one) return std::nullopt;
    found.paddings.push_back(*one);
  }
  found.validity = validity(layer, found.paddings);
  return found;
}

std::optional<Direct> direct(Framework framework, const Layer& layer) {
  const bool words = framework == Framework::Keras || framework == Framework::TensorFlow;
  constexpr Form words_first[] = {Form::Valid,     Form::SameUpper, Form::Causal,
                                  Form::SameLower, Form::Numbers,   Form::RoundedUp};
  constexpr Form numbers_first[] = {Form::Valid,     Form::Numbers,   Form::RoundedUp,
                                    Form::SameUpper, Form::SameLower, Form::Causal};
  for (const bool at_every_size : {true, false})
    for (const Form form : words ? words_first : numbers_first) {
      // Rounding up says of a free size what nobody would look for; at a known one it is the short way.
      auto found = direct(framework, layer, form, at_every_size);
      if (found && (at_every_size || layer.size_known())) return found;
    }
  return std::nullopt;
}

bool InFront::none() const { return all_are(before, 0) && all_are(after, 0); }

std::optional<InFront> in_front(const Layer& layer) {
  InFront cells;
  std::vector<Padding> said;
  for (std::size_t i = 0; i < layer.space(); ++i) {
    // What holds at every size is preferred to what holds at this one.
    const Padding p = layer.paddings[i];
    auto added = pads_in_front(p, layer.windows[i], std::nullopt);
    if (!added || p.leftover != Leftover::Drop)
      if (const auto here = pads_in_front(p, layer.windows[i], layer.in[i].size())) added = here;
    if (!added) return std::nullopt;
    cells.before.push_back(added->before);
    cells.after.push_back(added->after);
    said.push_back({Spelling::Explicit, added->before, added->after});
  }
  cells.validity = validity(layer, said);
  return cells;
}

std::optional<Cuts> cuts_of(const Layer& layer) {
  Cuts all;
  for (std::size_t i = 0; i < layer.space(); ++i) {
    const auto crop = explicit_crops(layer.crops[i], layer.windows[i]);
    if (!crop) return std::nullopt;
    all.before.push_back(crop->before);
    all.after.push_back(crop->after);
  }
  return all;
}

std::vector<Line> lines_in(Framework framework, const Layer& layer) {
  switch (framework) {
    case Framework::Torch: return lines_in_torch(layer);
    case Framework::Keras: return lines_in_keras(layer);
    case Framework::TensorFlow: return lines_in_tensorflow(layer);
    case Framework::Onnx:
    case Framework::OnnxRuntime: return lines_in_onnx(layer);
    case Framework::Tflite: return lines_in_tflite(layer);
    case Framework::CoreMl: return lines_in_coreml(layer);
  }
  return {};
}

bool all_are(const Sizes& numbers, Size n) {
  return std::ranges::all_of(numbers, [&](Size one) { return one == n; });
}

std::string tuple_or_one(const Sizes& numbers) {
  if (!numbers.empty() && all_are(numbers, numbers.front())) return std::to_string(numbers.front());
  return fmt::format("({})", fmt::join(numbers, ", "));
}
std::string list(const Sizes& numbers) { return fmt::format("[{}]", fmt::join(numbers, ", ")); }

std::string pairs_of_all_axes(Order order, const Sizes& before, const Sizes& after) {
  std::string all = order == Order::ChannelsFirst ? "[[0, 0], [0, 0]" : "[[0, 0]";
  for (std::size_t i = 0; i < before.size(); ++i) all += fmt::format(", [{}, {}]", before[i], after[i]);
  return all + (order == Order::ChannelsLast ? ", [0, 0]]" : "]");
}

namespace {

Sizes member(const Layer& layer, Size Window::* which) {
  Sizes all;
  for (const Window& w : layer.windows) all.push_back(w.*which);
  return all;
}

}  // namespace

std::vector<std::string> with_border(const FrontPad& front, std::size_t i, std::string_view repeat) {
  std::string at = "x[:";
  for (std::size_t k = 0; k < i; ++k) at += ", :";
  const Size before = front.before[i], after = front.after[i];
  const bool wraps = front.mode == PadMode::Wrap;
  std::vector<std::string> parts{"x"};
  if (before > 0)
    parts.insert(parts.begin(), wraps ? fmt::format("{}, -{}:]", at, before)
                                      : fmt::format("{}({}, :1], {}, axis={})", repeat, at, before, i + 1));
  if (after > 0)
    parts.push_back(wraps ? fmt::format("{}, :{}]", at, after)
                          : fmt::format("{}({}, -1:], {}, axis={})", repeat, at, after, i + 1));
  return parts;
}

Sizes kernels(const Layer& layer) { return member(layer, &Window::kernel); }
Sizes strides(const Layer& layer) { return member(layer, &Window::stride); }
Sizes dilations(const Layer& layer) { return member(layer, &Window::dilation); }

std::string call(const std::string& name, const std::vector<std::string>& arguments) {
  return fmt::format("{}({})", name, fmt::join(arguments, ", "));
}

std::string dimensions(const Layer& layer) { return std::to_string(layer.space()) + "D"; }

std::string filters_text(const Layer& layer) {
  if (!layer.depthwise || layer.filters.number) return layer.filters.text();
  const std::string c = layer.channels.text();
  return layer.multiplier == 1 ? c : fmt::format("{} * {}", c, layer.multiplier);
}

}  // namespace convoy::explain
