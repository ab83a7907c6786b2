// Parses golden lines. Every field is checked before it is used, so that a wrong file gets a sentence, not a crash.
#include "golden/case.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace convoy::golden {
namespace {

Result<std::string> text(const Json& object, const char* name) {
  const auto field = object.find(name);
  if (field == object.end() || !field->is_string())
    return fail(Fault::Format, std::string("field '") + name + "' is missing or no text");
  return field->get<std::string>();
}

std::optional<double> number(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  if (value.is_boolean()) return value.get<bool>() ? 1.0 : 0.0;
  return std::nullopt;
}

Result<Array> array(const Json& value) {
  if (!value.is_object() || !value.contains("shape") || !value["shape"].is_array() || !value.contains("data") ||
      !value["data"].is_array())
    return fail(Fault::Format, "a tensor needs 'shape' and 'data'");
  Sizes shape;
  for (const Json& n : value["shape"]) {
    if (!n.is_number_integer()) return fail(Fault::Format, "a size is no whole number");
    shape.push_back(n.get<Size>());
  }
  const auto count = checked_count(shape);
  if (!count || *count != static_cast<Size>(value["data"].size()))
    return fail(Fault::Format, "a tensor has " + std::to_string(value["data"].size()) + " numbers, its shape says " +
                                   (count ? std::to_string(*count) : std::string("nonsense")));
  const std::string dtype = value.value("dtype", std::string("float32"));
  std::vector<float> floats;
  std::vector<std::int64_t> integers;
  const bool whole = dtype.starts_with("int") || dtype.starts_with("uint");
  for (const Json& n : value["data"]) {
    const auto x = number(n);
    if (!x) return fail(Fault::Format, "a tensor holds something that is no number");
    if (whole) integers.push_back(static_cast<std::int64_t>(*x));
    else floats.push_back(static_cast<float>(*x));
  }
  Tensor tensor = whole ? Tensor::of(shape, std::move(integers)) : Tensor::of(shape, std::move(floats));
  return Array{std::move(tensor), value.value("layout", std::string())};
}

Status read_answer(Case& c, const Json& object) {
  if (object.contains("error")) {
    auto error = text(object, "error");
    if (!error) return pass(error);
    c.error = *error;
    return {};
  }
  const char* field = object.contains("expected") ? "expected" : "output";
  if (!object.contains(field)) return fail(Fault::Format, "neither 'output' nor 'error'");
  auto want = within(field, array(object[field]));
  if (!want) return pass(want);
  c.want = std::move(*want);
  return {};
}

Status read_questions(Case& c, const Json& object) {
  if (object.contains("equals")) {
    auto equals = text(object, "equals");
    if (!equals) return pass(equals);
    c.equals = *equals;
  }
  if (object.contains("differs")) {
    const Json& differs = object["differs"];
    if (!differs.is_object() || !differs.contains("mean_absolute_difference"))
      return fail(Fault::Format, "'differs' needs 'from' and 'mean_absolute_difference'");
    auto from = within("differs", text(differs, "from"));
    if (!from) return pass(from);
    c.differs_from = *from;
    c.mean_absolute_difference = number(differs["mean_absolute_difference"]).value_or(-1);
  }
  if (!object.contains("steps")) return {};
  for (const Json& step : object["steps"]) {
    auto layer = within("steps", text(step, "layer"));
    if (!layer) return pass(layer);
    if (!step.contains("output")) return fail(Fault::Format, "a step without 'output'");
    auto output = within("steps", array(step["output"]));
    if (!output) return pass(output);
    c.steps.push_back({*layer, std::move(*output)});
  }
  return {};
}

}  // namespace

const Array* Case::input(std::string_view name) const {
  for (const auto& [key, value] : inputs)
    if (key == name) return &value;
  return nullptr;
}

namespace {

bool whole(const Tensor& tensor) {
  return std::ranges::all_of(tensor.doubles(), [](double v) { return !std::isfinite(v) || v == std::trunc(v); });
}

}  // namespace

namespace {

// By the frameworks' words for it; by the call where the operator's name alone says it.
bool resizes_to_nearest(const Case& c) {
  for (const char* word : {"interpolation", "mode", "method"})
    if (const auto said = c.attrs.find(word); said != c.attrs.end() && said->is_string())
      return said->get<std::string>().starts_with("nearest");
  return c.call.find("bilinear") == std::string::npos;
}

}  // namespace

// Sums of products of whole numbers are exact in any order; of other numbers, only up to rounding.
bool Case::exact() const {
  if (op.find("conv") != std::string::npos)
    return std::ranges::all_of(inputs, [](const auto& named) { return whole(named.second.tensor); });
  const bool says_nearest = resizes_to_nearest(*this);
  if (op == "resize" && says_nearest) return true;
  constexpr std::array rounded{"avg_pool",          "lp_pool", "global_avg_pool", "global_lp_pool",
                               "adaptive_avg_pool", "resize",  "sequential"};
  for (const std::string_view word : rounded)
    if (op == word) return false;
  return op != "upsample" || says_nearest;
}

Result<Case> parse_case(std::string_view line) {
  auto parsed = parse_json(line);
  if (!parsed) return pass(parsed);
  const Json& object = *parsed;
  if (!object.is_object()) return fail(Fault::Format, "a golden case is a JSON object");
  Case c;
  for (const auto& [field, name] :
       {std::pair{&c.id, "id"}, {&c.framework, "framework"}, {&c.call, "call"}, {&c.op, "op"}}) {
    auto value = text(object, name);
    if (!value) return pass(value);
    *field = *value;
  }
  if (!object.contains("attrs") || !object["attrs"].is_object()) return fail(Fault::Format, "field 'attrs' is missing");
  if (!object.contains("inputs") || !object["inputs"].is_object())
    return fail(Fault::Format, "field 'inputs' is missing");
  c.attrs = object["attrs"];
  if (object.contains("indices")) {
    auto indices = within("indices", array(object["indices"]));
    if (!indices) return pass(indices);
    c.indices = std::move(*indices);
  }
  if (object.contains("rank") && object["rank"].is_number_integer()) c.rank = object["rank"].get<Size>();
  for (const auto& [name, value] : object["inputs"].items()) {
    auto input = within("input '" + name + "'", array(value));
    if (!input) return pass(input);
    c.inputs.emplace_back(name, std::move(*input));
  }
  if (auto read = read_answer(c, object); !read) return pass(read);
  if (auto read = read_questions(c, object); !read) return pass(read);
  return c;
}

}  // namespace convoy::golden
