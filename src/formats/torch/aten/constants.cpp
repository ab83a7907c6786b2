// Tensors made of numbers alone, worked out while the program is read.
#include "formats/torch/aten/aten.h"

#include <array>
#include <cmath>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

constexpr Size most_numbers = Size{1} << 24;

void ignore_placement(FunctionCall& call) { call.attrs.ignore({"pin_memory", "layout", "device"}); }

Results made(FunctionCall& call, const Sizes& shape, std::vector<double> values, std::string_view usual) {
  ignore_placement(call);
  const std::string wanted = call.attrs.word("dtype", std::string(usual));
  if (call.failed()) return {};
  if (wanted == "int64")
    return {call.make_constant("numbers", Tensor::of(shape, std::vector<std::int64_t>(values.begin(), values.end())))};
  for (const DType dtype : {DType::F32, DType::F64, DType::F16})
    if (wanted == name_of(dtype))
      return {call.make_constant("numbers", Tensor::of(shape, std::move(values)).converted(dtype))};
  call.refuse(Fault::Unsupported, "a table of type '" + wanted + "'");
  return {};
}

bool fits(FunctionCall& call, double count) {
  if (count >= 0 && count <= static_cast<double>(most_numbers)) return true;
  call.refuse(Fault::Limit, "a table of " + std::to_string(count) + " numbers");
  return false;
}

Results filled(FunctionCall& call, double value) {
  const Sizes shape = call.attrs.list("size");
  const auto count = checked_count(shape);
  if (!count || !fits(call, static_cast<double>(*count))) return {};
  return made(call, shape, std::vector<double>(static_cast<std::size_t>(*count), value), "float32");
}
Results zeros(FunctionCall& call) { return filled(call, 0); }
Results ones(FunctionCall& call) { return filled(call, 1); }
Results full(FunctionCall& call) { return filled(call, call.attrs.number("fill_value")); }

Results arange(FunctionCall& call) {
  const double start = call.attrs.number("start", 0.0), end = call.attrs.number("end"),
               step = call.attrs.number("step", 1.0);
  if (step == 0) call.refuse(Fault::Format, "argument 'step' is 0");
  const double count = step == 0 ? 0 : std::max(0.0, std::ceil((end - start) / step));
  if (call.failed() || !fits(call, count)) return {};
  std::vector<double> values;
  for (Size i = 0; i < static_cast<Size>(count); ++i) values.push_back(start + static_cast<double>(i) * step);
  const bool whole = start == std::floor(start) && step == std::floor(step) && end == std::floor(end);
  return made(call, {static_cast<Size>(count)}, std::move(values), whole ? "int64" : "float32");
}

// From both ends toward the middle, as PyTorch does, so that the last number is `end`. Source: RangeFactories.cpp.
Results linspace(FunctionCall& call) {
  const double start = call.attrs.number("start"), end = call.attrs.number("end");
  const Size steps = call.attrs.integer("steps");
  if (!fits(call, static_cast<double>(steps))) return {};
  const auto step = static_cast<float>((end - start) / std::max<double>(1, static_cast<double>(steps - 1)));
  std::vector<double> values;
  for (Size i = 0; i < steps; ++i)
    values.push_back(i < steps / 2 ? static_cast<float>(start) + step * static_cast<float>(i)
                                   : static_cast<float>(end) - step * static_cast<float>(steps - i - 1));
  return made(call, {steps}, std::move(values), "float32");
}

constexpr std::array rows{
    FunctionRow{"zeros", "size dtype", zeros},
    FunctionRow{"ones", "size dtype", ones},
    FunctionRow{"full", "size fill_value dtype", full},
    FunctionRow{"arange", "start end step dtype", arange},
    FunctionRow{"linspace", "start end steps dtype", linspace},
};

}  // namespace

std::span<const FunctionRow> aten_constants() { return rows; }

}  // namespace convoy::torch
