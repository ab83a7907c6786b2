// Parts taken out of tensors and tensors put side by side.
#include "formats/torch/aten/aten.h"
#include "formats/torch/functions/arguments.h"

#include <algorithm>
#include <array>
#include <limits>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

Size axis(FunctionCall& call, ValueId x) { return axis_of(call, call.attrs.integer("dim", 0), call.rank(x)); }

// A size that must be known to say what the call means.
Size known_size(FunctionCall& call, ValueId x, Size at) {
  const Dim size = call.dim(x, at);
  if (!size.known()) call.refuse(Fault::Unsupported, "cuts up an axis whose size is free");
  return size.known() ? *size : 1;
}

Results cat(FunctionCall& call) {
  const auto parts = call.several("tensors");
  if (parts.empty()) {
    call.refuse(Fault::Format, "argument 'tensors' is empty");
    return {};
  }
  const Size at = axis(call, parts[0]);
  if (parts.size() == 1) return {parts[0]};
  return {call.add(Concat{at}, parts)};
}

Results stack(FunctionCall& call) {
  auto parts = call.several("tensors");
  if (parts.empty()) {
    call.refuse(Fault::Format, "argument 'tensors' is empty");
    return {};
  }
  const Size at = axis_of(call, call.attrs.integer("dim", 0), call.rank(parts[0]) + 1);
  for (ValueId& part : parts) part = call.add(Unsqueeze{{at}}, {part});
  if (parts.size() == 1) return {parts[0]};
  return {call.add(Concat{at}, parts)};
}

// Parts of `size`, the last one shorter.
Results in_parts_of(FunctionCall& call, ValueId x, Size at, Size size) {
  const Size whole = known_size(call, x, at);
  if (size < 1) call.refuse(Fault::Format, "parts of size " + std::to_string(size));
  if (call.failed()) return {};
  Sizes sizes;
  for (Size first = 0; first < whole; first += size) sizes.push_back(std::min(size, whole - first));
  if (sizes.size() == 1) return {x};
  return call.add_all(Split{at, sizes}, {x});
}

Results chunk(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size at = axis(call, x), count = call.attrs.integer("chunks");
  if (count < 1) call.refuse(Fault::Format, "argument 'chunks' is " + std::to_string(count));
  if (call.failed()) return {};
  return in_parts_of(call, x, at, ceil_div(known_size(call, x, at), count));
}

Results split(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  return in_parts_of(call, x, axis(call, x), call.attrs.integer("split_size"));
}

Results split_with_sizes(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Sizes sizes = call.attrs.list("split_sizes");
  return call.add_all(Split{axis(call, x), sizes}, {x});
}

Results slice(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  Slice part{.axis = axis(call, x), .start = {}, .stop = {}, .step = call.attrs.integer("step", 1)};
  if (call.attrs.has("start")) part.start = call.attrs.integer("start");
  if (call.attrs.has("end")) part.stop = call.attrs.integer("end");
  if (part.start == 0) part.start.reset();
  if (part.stop == std::numeric_limits<Size>::max()) part.stop.reset();
  if (part.step < 1) call.refuse(Fault::Format, "argument 'step' is " + std::to_string(part.step));
  if (!part.start && !part.stop && part.step == 1) return {x};
  return {call.add(part, {x})};
}

Results narrow(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size start = call.attrs.integer("start"), length = call.attrs.integer("length");
  return {call.add(Slice{.axis = axis(call, x), .start = start, .stop = start + length}, {x})};
}

ValueId selected(FunctionCall& call, ValueId x, Size at, Size index) {
  Slice one{.axis = at, .start = index, .stop = index + 1};
  if (index == -1) one.stop.reset();
  return call.add(Squeeze{{at}}, {call.add(one, {x})});
}

Results select(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  return {selected(call, x, axis(call, x), call.attrs.integer("index"))};
}

Results unbind(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size at = axis(call, x), count = known_size(call, x, at);
  if (count > 65536) call.refuse(Fault::Limit, "takes " + std::to_string(count) + " tensors apart");
  Results parts;
  for (Size i = 0; i < count && !call.failed(); ++i) parts.push_back(selected(call, x, at, i));
  return parts;
}

// x[:, indices]: one list of whole numbers that are known beforehand.
Results index(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  std::optional<Take> take;
  for (Size at = 0; at < call.rank(x); ++at) {
    const ValueId given = call.optional("indices." + std::to_string(at));
    if (!given) continue;
    const Tensor* known = call.constant(given);
    if (take || !known || known->rank() != 1) {
      call.refuse(Fault::Unsupported, "picks by other than one list of known indices");
      return {};
    }
    take = Take{at, known->integers()};
    for (Size& i : take->indices)
      if (i < 0) i += known_size(call, x, at);
  }
  if (!take) return {x};
  return {call.add(*take, {x})};
}

Results index_select(FunctionCall& call) {
  const ValueId x = call.tensor("input"), given = call.tensor("index");
  const Tensor* known = call.constant(given);
  if (!known) {
    call.refuse(Fault::Unsupported, "picks by indices that the model computes");
    return {};
  }
  return {call.add(Take{axis(call, x), known->integers()}, {x})};
}

// Every number back to where the pool found it.
Results max_unpool(FunctionCall& call) {
  const ValueId x = call.tensor("input"), positions = call.tensor("indices");
  const Sizes out = call.attrs.list("output_size");
  const auto space = static_cast<Size>(out.size());
  if (call.rank(x) != space + 2) call.refuse(Fault::Unsupported, "an unpool of an input without a batch");
  return {call.add(MaxUnpool{{Order::ChannelsFirst, space}, out, Positions::Plane}, {x, positions})};
}

constexpr std::array rows{
    FunctionRow{"cat", "tensors... dim", cat},
    FunctionRow{"concat", "tensors... dim", cat},
    FunctionRow{"stack", "tensors... dim", stack},
    FunctionRow{"chunk", "input chunks dim", chunk},
    FunctionRow{"split.Tensor", "input split_size dim", split},
    FunctionRow{"split_with_sizes", "input split_sizes dim", split_with_sizes},
    FunctionRow{"slice.Tensor", "input dim start end step", slice},
    FunctionRow{"narrow", "input dim start length", narrow},
    FunctionRow{"select.int", "input dim index", select},
    FunctionRow{"unbind", "input dim", unbind},
    FunctionRow{"index.Tensor", "input indices", index},
    FunctionRow{"max_unpool2d", "input indices output_size", max_unpool},
    FunctionRow{"max_unpool3d", "input indices output_size", max_unpool},
    FunctionRow{"index_select", "input dim index", index_select},
};

}  // namespace

std::span<const FunctionRow> aten_parts() { return rows; }

}  // namespace convoy::torch
