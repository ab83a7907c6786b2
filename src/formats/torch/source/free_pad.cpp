// SAME as programs write it: F.pad by numbers that are computed of the input's size, and a convolution behind it.
#include "formats/torch/source/functions.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace convoy::torch {

Result<std::optional<Value>> padded_freely(Tracer& tracer, Interpreter& in, const NamedValues& named) {
  auto* x = named.size() < 2 ? nullptr : named[0].second.as<SourceTensor>();
  const auto* pads = x ? named[1].second.as<python::Sequence>() : nullptr;
  const auto is_free = [](const Value& v) { return v.as<FreeSize>() != nullptr; };
  if (!pads || std::ranges::none_of(pads->items, is_free)) return std::nullopt;
  for (std::size_t i = 2; i < named.size(); ++i) {
    const Value& said = named[i].second;
    const auto* mode = said.as<python::Text>();
    const bool plain = mode ? mode->text == "constant" : said.is_none() || (said.is_number() && said.real() == 0);
    if (!plain) return fail(Fault::Usage, "pads by a size that is free with other than zeros; give --shape");
  }
  const auto value = tracer.value_of(*x);
  if (!value) return std::unexpected(value.error());
  const Size rank = tracer.graph[*value].type.rank();
  if (pads->items.size() % 2 != 0 || static_cast<Size>(pads->items.size()) > 2 * rank)
    return fail(Fault::Format, "pad() with " + std::to_string(pads->items.size()) + " numbers for a tensor of rank " +
                                   std::to_string(rank));
  auto pad = std::make_shared<FreePad>();
  pad->of = *value;
  pad->axes.resize(static_cast<std::size_t>(rank));
  for (FreePad::Axis& axis : pad->axes) axis.before = axis.after = Value::of(std::int64_t{0});
  for (std::size_t i = 0; 2 * i < pads->items.size(); ++i) {
    FreePad::Axis& axis = pad->axes[static_cast<std::size_t>(rank) - 1 - i];
    axis = {pads->items[2 * i], pads->items[2 * i + 1]};
    for (const Value& side : {axis.before, axis.after}) {
      const auto* free = side.as<FreeSize>();
      const bool own = free && free->axis == rank - 1 - static_cast<Size>(i) && free->tensor == *value;
      if (!own && !side.is_whole())
        return fail(Fault::Usage, "pads by " + (free ? free->text : python::repr(in, side)) +
                                      ", which is free; give the sizes of the input with --shape");
    }
  }
  const Value made = tracer.tensor(in, *value);
  made.as<SourceTensor>()->free_pad = std::move(pad);
  return made;
}

namespace {

Result<Size> pad_at(Interpreter& in, const Value& side, Size n) {
  const auto* free = side.as<FreeSize>();
  const auto number = free ? free->number(in, n) : Made(side);
  if (!number) return std::unexpected(number.error());
  if (!number->is_whole())
    return fail(Fault::Format, "pads by " + python::repr(in, *number) + ", which is no whole number");
  return number->whole();
}

// The spelling that places every window where these pads do, at every size that is tried.
Result<Padding> padding_of(Interpreter& in, const FreePad::Axis& axis, Window window) {
  std::string last;
  for (const Spelling spelling : {Spelling::SameUpper, Spelling::SameLower}) {
    bool same = true;
    for (const Size n : tried_sizes()) {
      const auto before = pad_at(in, axis.before, n), after = pad_at(in, axis.after, n);
      if (!before) return std::unexpected(before.error());
      if (!after) return std::unexpected(after.error());
      const auto wanted = place({spelling}, window, n), got = place({Spelling::Explicit, *before, *after}, window, n);
      same = wanted && got && wanted->reads_like(*got);
      if (same) continue;
      if (spelling == Spelling::SameUpper && wanted)
        last = "at size " + std::to_string(n) + " they are " + std::to_string(*before) + " and " +
               std::to_string(*after) + ", SAME's " + std::to_string(wanted->before) + " and " +
               std::to_string(wanted->after);
      break;
    }
    if (same) return Padding{spelling};
  }
  if (axis.before.is_whole() && axis.after.is_whole())
    return Padding{Spelling::Explicit, axis.before.whole(), axis.after.whole()};
  return fail(Fault::Usage, "the pads follow the size of the input, which is free, and are not SAME: " + last +
                                "; give the sizes of the input with --shape");
}

}  // namespace

Result<ValueId> Tracer::with_free_pad(Interpreter& in, const FreePad& pad, ValueId result) {
  const NodeId producer = graph[result].producer;
  auto* conv = producer ? std::get_if<Conv>(&graph[producer].op) : nullptr;
  if (!conv) return fail(Fault::Usage, "pads by a size that is free in front of no plain convolution; give --shape");
  const auto plain = [](const Padding& p) {
    return p.spelling == Spelling::Valid || (p.spelling == Spelling::Explicit && p.before == 0 && p.after == 0);
  };
  if (!std::ranges::all_of(conv->paddings, plain))
    return fail(Fault::Usage, "pads by a size that is free and once more in the convolution; give --shape");
  for (std::size_t i = 0; i < conv->windows.size(); ++i) {
    const FreePad::Axis& axis = pad.axes[pad.axes.size() - conv->windows.size() + i];
    auto padding = padding_of(in, axis, conv->windows[i]);
    if (!padding) return pass(padding);
    conv->paddings[i] = *padding;
  }
  if (std::ranges::any_of(conv->paddings, [&](const Padding& p) { return p.spelling != conv->paddings[0].spelling; }))
    return fail(
        Fault::Usage,
        "pads one axis as SAME by its size, which is free, and another one otherwise; give the sizes of the input "
        "with --shape");
  if (auto done = infer_all(graph); !done) return pass(done);
  return result;
}

}  // namespace convoy::torch
