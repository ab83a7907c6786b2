#include "run/quantized/quantized.h"

#include "run/quantized/numbers.h"

#include <cmath>
#include <cstring>

namespace convoy::quantized {

std::unexpected<Error> no_kernel(std::string_view what) {
  return fail(Fault::Unsupported, std::string(what) +
                                      " over quantised numbers is not run; --dequantize computes with the real numbers "
                                      "that they stand for");
}

std::vector<std::int32_t> steps_of(const Held& held) {
  const std::int64_t zero = held.quantization->zero_points.front();
  std::vector<std::int32_t> steps;
  steps.reserve(static_cast<std::size_t>(held.tensor->count()));
  for (const std::int64_t number : held.tensor->integers()) steps.push_back(static_cast<std::int32_t>(number - zero));
  return steps;
}

namespace {

template <class T>
Tensor stored_as(Sizes shape, const std::vector<std::int32_t>& steps, const Quantization& as) {
  std::vector<std::byte> bytes(steps.size() * sizeof(T));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto number = static_cast<T>(within_limits(steps[i], as) + zero_of(as));
    std::memcpy(bytes.data() + i * sizeof(T), &number, sizeof(T));
  }
  return *Tensor::owning(as.dtype, std::move(shape), std::move(bytes));
}

}  // namespace

Tensor held_steps(Sizes shape, const std::vector<std::int32_t>& steps, const Quantization& as) {
  switch (as.dtype) {
    case DType::I8: return stored_as<std::int8_t>(std::move(shape), steps, as);
    case DType::U8: return stored_as<std::uint8_t>(std::move(shape), steps, as);
    case DType::I16: return stored_as<std::int16_t>(std::move(shape), steps, as);
    default: return stored_as<std::int32_t>(std::move(shape), steps, as);
  }
}

std::vector<Size> spread_cells(const Sizes& of, const Sizes& shape) {
  const std::size_t more = shape.size() - of.size();
  Sizes strides(shape.size(), 0);
  for (std::size_t i = of.size(), step = 1; i-- > 0; step *= static_cast<std::size_t>(of[i]))
    strides[i + more] = of[i] == 1 ? 0 : static_cast<Size>(step);
  std::vector<Size> cells{0};
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    std::vector<Size> finer;
    finer.reserve(cells.size() * static_cast<std::size_t>(shape[axis]));
    for (const Size cell : cells)
      for (Size i = 0; i < shape[axis]; ++i) finer.push_back(cell + i * strides[axis]);
    cells = std::move(finer);
  }
  return cells;
}

namespace {

// Of one type, and taken as they are stored, whatever they stand for: what only moves numbers does not look at them. What puts
// zeros of its own beside them does: a zero is held as the zero point.
bool moves_bytes(const Op& op, const QuantizedCall& call) {
  const Quantization* out = call.out.empty() ? nullptr : call.out[0];
  const auto holds = [](const Held& held) { return held.tensor && held.quantization; };
  const bool is_choice = holds_alternative<Where>(op);
  return out && traits_of(op).moves_numbers() && traits_of(op).contents != Contents::Filled &&
         (is_choice || std::ranges::count_if(call.in, holds) == 1) &&
         std::ranges::all_of(call.in, [&](const Held& held) {
           return !holds(held) || (held.quantization->dtype == out->dtype && !held.quantization->per_axis());
         });
}

}  // namespace

Results chosen(const Op& op, const QuantizedCall& call) {
  const bool in_bytes = moves_bytes(op, call);
  const Quantization* steps = nullptr;
  std::vector<Tensor> numbers;
  numbers.reserve(call.in.size());
  std::vector<const Tensor*> inputs;
  for (const Held& held : call.in) {
    if (held.tensor && held.quantization) {
      if (!in_bytes && steps && !same_steps(*steps, *held.quantization))
        return no_kernel("numbers of unlike scales in '" + std::string(name_of(op)) + "'");
      steps = held.quantization;
      const std::int32_t more = in_bytes ? zero_of(*steps) : 0;
      std::vector<double> wide;
      for (const std::int32_t step : steps_of(held)) wide.push_back(step + more);
      numbers.push_back(Tensor::of(held.tensor->shape(), std::move(wide)));
      inputs.push_back(&numbers.back());
    } else {
      inputs.push_back(held.tensor);
    }
  }
  for (const Quantization* out : call.out)
    if (out && !in_bytes && (!steps || !same_steps(*steps, *out)))
      return no_kernel("another scale behind '" + std::string(name_of(op)) + "'");
  auto results = call.plain(op, inputs);
  if (!results) return results;
  for (std::size_t i = 0; i < results->size(); ++i) {
    if (!call.out[i]) continue;
    const std::int32_t less = in_bytes ? zero_of(*call.out[i]) : 0;
    std::vector<std::int32_t> whole;
    for (const double number : (*results)[i].doubles()) whole.push_back(static_cast<std::int32_t>(number) - less);
    (*results)[i] = held_steps((*results)[i].shape(), whole, *call.out[i]);
  }
  return results;
}

namespace {

template <class O>
constexpr bool has_kernel = requires(const O& op, const QuantizedCall& call) { run(op, call); };
template <class O>
constexpr bool tells_places = O::traits.indices != Indices::None;

}  // namespace

Results run_quantized(const Op& op, const QuantizedCall& call) {
  for (const Held& held : call.in)
    if (held.quantization && held.quantization->per_axis() &&
        held.quantization->zero_points != std::vector<std::int64_t>(held.quantization->scales.size(), 0))
      return no_kernel("a zero point for each channel");
  const auto is_shifted = [](const Quantization* q) {
    return q && q->dtype == DType::I16 && q->zero_points.front() != 0;
  };
  if (std::ranges::any_of(call.out, is_shifted) || std::ranges::any_of(call.in, is_shifted, &Held::quantization))
    return no_kernel("a zero point of 16-bit numbers");
  return op.visit([&]<class O>(const O& o) -> Results {
    if constexpr (std::is_same_v<O, Identity>) {
      return requantized(call);
    } else if constexpr (std::is_same_v<O, Pad>) {
      Pad pad = o;
      if (pad.mode == PadMode::Constant && call.in[0].quantization)
        pad.value = std::round(pad.value / scale_of(call.input()));
      return chosen(pad, call);
    } else if constexpr (has_kernel<O>) {
      return run(o, call);
    } else if constexpr (O::traits.moves_numbers() || std::is_same_v<O, MaxPool> || tells_places<O>) {
      return chosen(o, call);
    } else {
      return no_kernel("operator '" + std::string(name_of(op)) + "'");
    }
  });
}

}  // namespace convoy::quantized
