#include "formats/torch/source/conv_padding.h"

#include "containers/python/interpreter.h"
#include "formats/torch/source/functions.h"
#include "ops/padding.h"

#include <optional>
#include <vector>

namespace convoy::torch {

using python::Instance;
using python::Interpreter;
using python::Value;
using python::ValueList;

namespace {

constexpr const char* kept_pads = "_reversed_padding_repeated_twice";

// A number for every axis, or one for all.
std::optional<std::vector<std::int64_t>> numbers_of(const Value* said, std::size_t axes) {
  if (said && said->is_whole()) return std::vector<std::int64_t>(axes, said->whole());
  const auto* all = said ? said->as<python::Sequence>() : nullptr;
  if (!all) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const Value& one : all->items) {
    if (!one.is_whole()) return std::nullopt;
    numbers.push_back(one.whole());
  }
  return numbers;
}

// The pads of F.pad, the last axis first, as the layer's attributes are now.
std::optional<std::vector<std::int64_t>> reversed_padding(const Instance& layer) {
  const Value* kernel_size = layer.attributes.find("kernel_size");
  const auto* sizes = kernel_size ? kernel_size->as<python::Sequence>() : nullptr;
  if (!sizes) return std::nullopt;
  const std::size_t axes = sizes->items.size();
  const auto kernel = numbers_of(kernel_size, axes), dilation = numbers_of(layer.attributes.find("dilation"), axes);
  const Value* padding = layer.attributes.find("padding");
  const auto* word = padding ? padding->as<python::Text>() : nullptr;
  const auto pads = word ? std::vector<std::int64_t>(axes, 0) : numbers_of(padding, axes);
  if (!kernel || !dilation || !pads || dilation->size() != axes || pads->size() != axes) return std::nullopt;
  std::vector<std::int64_t> reversed;
  for (std::size_t i = axes; i-- > 0;) {
    const Padding same{Spelling::SameUpper};
    const auto at = word && word->text == "same" ? pads_at_every_size(same, {(*kernel)[i], 1, (*dilation)[i]})
                                                 : Added{(*pads)[i], (*pads)[i]};
    if (!at) return std::nullopt;
    reversed.push_back(at->before);
    reversed.push_back(at->after);
  }
  return reversed;
}

const python::Text* mode_of(const Instance& layer) {
  const Value* mode = layer.attributes.find("padding_mode");
  return mode ? mode->as<python::Text>() : nullptr;
}

}  // namespace

bool is_padding_convolution(const std::string& name) {
  return name.starts_with("Conv") && name.find("Transpose") == std::string::npos;
}

void keep_padding(Interpreter& in, Instance& layer) {
  const auto reversed = reversed_padding(layer);
  if (!reversed) return;
  ValueList pads;
  for (const std::int64_t pad : *reversed) pads.push_back(Value::of(pad));
  layer.attributes.set(kept_pads, in.list(std::move(pads)));
}

bool pads_in_front(const Instance& layer) {
  const auto* mode = mode_of(layer);
  return mode && mode->text != "zeros";
}

bool pads_otherwise(const Instance& layer) {
  if (!pads_in_front(layer)) return false;
  const Value* pads = layer.attributes.find(kept_pads);
  const auto now = reversed_padding(layer);
  return pads && (!now || numbers_of(pads, 0) != now);
}

Made padded_in_front(Tracer& tracer, Interpreter& in, const Instance& layer, const Value& input) {
  const Value* pads = layer.attributes.find(kept_pads);
  if (!pads) return fail(Fault::Unsupported, std::string("a convolution without ") + kept_pads);
  return call_function_named(tracer, in, "pad", python::Arguments{{input, *pads, in.text(mode_of(layer)->text)}, {}});
}

}  // namespace convoy::torch
