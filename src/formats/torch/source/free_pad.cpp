// SAME as programs write it: F.pad by numbers that are computed of the input's size, and a convolution behind it.
#include "formats/free_length.h"
#include "formats/torch/source/functions.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace convoy::torch {

namespace {

constexpr FunctionRow padded_row{"pad", "input", read_padded_to};

// The number as the model counts it.
Result<ValueId> counted(Tracer& tracer, Interpreter& in, const Value& number) {
  const auto* free = number.as<FreeSize>();
  auto made = free ? number_of(tracer, in, *free)
                   : Made(tracer.constant(in, Tensor::of({}, std::vector<std::int64_t>{number.whole()})));
  if (!made) return std::unexpected(made.error());
  return tracer.value_of(*made->as<SourceTensor>());
}

// What is padded along each axis that a free size decides, or that pads are said of.
Result<ValueId> padded_by(Tracer& tracer, Interpreter& in, const FreePad& pad, const std::string& mode, double value) {
  ValueId x = pad.of;
  for (std::size_t i = 0; i < pad.axes.size(); ++i) {
    const FreePad::Axis& axis = pad.axes[i];
    if (axis.before.is_whole() && axis.before.whole() == 0 && axis.after.is_whole() && axis.after.whole() == 0)
      continue;
    const Dim own = tracer.graph[pad.of].type.shape[i];
    const Value size = own.known() ? Value::of(*own)
                                   : Value::of(in.make<FreeSize>(pad.of, static_cast<Size>(i),
                                                                 "size " + std::to_string(i) + " of " +
                                                                     text_of(tracer.graph[pad.of].type.shape)));
    auto total = in.binary("+", size, axis.before);
    if (total) total = in.binary("+", *total, axis.after);
    if (!total) return std::unexpected(total.error());
    const auto list = lengths_in(tracer, in, in.list({*total}));
    if (!list) return std::unexpected(list.error());
    const Value length = list->as<python::Sequence>()->items[0];
    TensorArguments tensors{{"input", x}};
    if (const auto* free = length.as<FreeSize>()) {
      auto ones = free->axis == 0 && tracer.graph[free->tensor].type.rank() == 1
                      ? Made(tracer.tensor(in, free->tensor))
                      : call_function_named(tracer, in, "ones", Arguments{{length}, {{"dtype", in.text("int64")}}});
      if (!ones) return std::unexpected(ones.error());
      const auto like = tracer.value_of(*ones->as<SourceTensor>());
      if (!like) return like;
      tensors["like"] = *like;
    } else {
      constexpr std::int64_t most = std::int64_t{1} << 24;
      if (!length.is_whole() || length.whole() < 0 || length.whole() > most)
        return fail(Fault::Limit, "pads an axis to " + python::repr(in, length) + " cells");
      const auto n = static_cast<std::size_t>(length.whole());
      const Value ones = tracer.constant(in, Tensor::of({length.whole()}, std::vector<std::int64_t>(n, 1)));
      tensors["like"] = ones.as<SourceTensor>()->value;
    }
    const auto before = counted(tracer, in, axis.before);
    if (!before) return before;
    tensors["before"] = *before;
    const auto made = tracer.call(in, padded_row, {{"dim", i}, {"mode", mode}, {"value", value}}, std::move(tensors));
    if (!made) return std::unexpected(made.error());
    x = made->front();
  }
  return x;
}

}  // namespace

Result<std::optional<Value>> padded_freely(Tracer& tracer, Interpreter& in, const NamedValues& named) {
  auto* x = named.size() < 2 ? nullptr : named[0].second.as<SourceTensor>();
  const auto* pads = x ? named[1].second.as<python::Sequence>() : nullptr;
  const auto is_free = [](const Value& v) { return v.as<FreeSize>() != nullptr; };
  if (!pads || std::ranges::none_of(pads->items, is_free)) return std::nullopt;
  std::string mode = "constant";
  double filling = 0;
  for (std::size_t i = 2; i < named.size(); ++i) {
    const Value& said = named[i].second;
    if (const auto* word = said.as<python::Text>()) mode = word->text;
    else if (said.is_number()) filling = said.real();
    else if (!said.is_none())
      return fail(Fault::Usage, "pads by a size that is free with a value that is free; give --shape");
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
    for (const Value& side : {axis.before, axis.after})
      if (!side.is_whole() && !side.as<FreeSize>())
        return fail(Fault::Format, "pads by " + python::repr(in, side) + ", which is no whole number");
  }
  const bool is_plain = std::ranges::all_of(pad->axes, [&](const FreePad::Axis& axis) {
    const Size at = &axis - pad->axes.data();
    return std::ranges::all_of(std::array{axis.before, axis.after}, [&](const Value& side) {
      const auto* free = side.as<FreeSize>();
      return side.is_whole() || (free && free->axis == at && free->tensor == *value);
    });
  });
  auto padded = padded_by(tracer, in, *pad, mode, filling);
  const bool may_be_same = is_plain && mode == "constant" && filling == 0;
  if (!padded && !may_be_same) return std::unexpected(padded.error());
  const Value made = tracer.tensor(in, padded ? *padded : ValueId{});
  if (may_be_same) made.as<SourceTensor>()->free_pad = std::move(pad);
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

Result<std::vector<ValueId>> Tracer::call_padded(Interpreter& in, const FunctionRow& row, const Json& arguments,
                                                 TensorArguments tensors, const SourceTensor& padded) {
  const std::shared_ptr<FreePad> pad = padded.free_pad;
  TensorArguments plain = tensors;
  plain["input"] = pad->of;
  auto made = call(in, row, arguments, std::move(plain));
  if (!made) return made;
  const auto same = with_free_pad(in, *pad, made->front());
  if (same) return std::vector{*same};
  if (!padded.value) return std::unexpected(same.error());
  tensors["input"] = padded.value;
  return call(in, row, arguments, std::move(tensors));
}

Result<ValueId> Tracer::with_free_pad(Interpreter& in, const FreePad& pad, ValueId result) {
  const NodeId producer = graph[result].producer;
  auto* conv = producer ? get_if<Conv>(&graph[producer].op) : nullptr;
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
