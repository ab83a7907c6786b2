// Parses rows, reads their models and compares answers number by number.
#include "semantics/row.h"

#include "containers/json.h"
#include "formats/keras/keras.h"
#include "formats/onnx/onnx.h"
#include "formats/source.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <memory>

namespace convoy::semantics {
namespace {

std::optional<double> number(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

Tensor truths(Sizes shape, const std::vector<std::int64_t>& numbers) {
  std::vector<std::byte> bytes;
  for (const std::int64_t n : numbers) bytes.push_back(static_cast<std::byte>(n != 0));
  return *Tensor::owning(DType::Bool, std::move(shape), std::move(bytes));
}

Result<Array> array(const Json& value) {
  if (!value.is_object() || !value.contains("shape") || !value.contains("data") || !value.contains("dtype"))
    return fail(Fault::Format, "an array needs 'dtype', 'shape' and 'data'");
  Array array;
  const auto word = value["dtype"].get<std::string>();
  bool known = false;
  for (const DType type : {DType::F32, DType::F64, DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::U16,
                           DType::U32, DType::U64, DType::Bool})
    if (name_of(type) == word) array.dtype = type, known = true;
  if (!known) return fail(Fault::Format, "an array is of '" + word + "'");
  const auto shape = value["shape"].get<Sizes>();
  if (checked_count(shape) != static_cast<Size>(value["data"].size()))
    return fail(Fault::Format, "an array has another count than its shape says");
  std::vector<float> floats;
  std::vector<std::int64_t> whole;
  for (const Json& one : value["data"]) {
    const auto x = number(one);
    if (!x) return fail(Fault::Format, "an array holds something that is no number");
    if (is_floating(array.dtype)) floats.push_back(static_cast<float>(*x));
    else whole.push_back(one.get<std::int64_t>());
  }
  if (is_floating(array.dtype)) array.tensor = Tensor::of(shape, std::move(floats));
  else if (array.dtype == DType::Bool) array.tensor = truths(shape, whole);
  else array.tensor = Tensor::of(shape, std::move(whole));
  return array;
}

Result<std::vector<Array>> arrays(const Json& list) {
  std::vector<Array> all;
  for (const Json& one : list) {
    auto read = array(one);
    if (!read) return pass(read);
    all.push_back(std::move(*read));
  }
  return all;
}

std::vector<std::byte> from_base64(std::string_view text) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::byte> bytes;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char letter : text) {
    const auto at = letters.find(letter);
    if (at == std::string_view::npos) break;
    bits = bits << 6 | static_cast<std::uint32_t>(at);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes.push_back(static_cast<std::byte>(bits >> held & 0xff));
  }
  return bytes;
}

std::string spelled(double value) { return std::signbit(value) && value == 0 ? "-0.0" : std::to_string(value); }

}  // namespace

Result<Row> parse_row(std::string_view line) {
  const auto parsed = parse_json(line);
  if (!parsed) return std::unexpected(parsed.error());
  const Json& object = *parsed;
  for (const char* field : {"id", "framework", "model", "exact", "signs", "inputs"})
    if (!object.is_object() || !object.contains(field))
      return fail(Fault::Format, std::string("field '") + field + "' is missing");
  Row row{.id = object["id"],
          .framework = object["framework"],
          .model = object["model"],
          .exact = object["exact"],
          .signs = object["signs"]};
  auto inputs = within("inputs", arrays(object["inputs"]));
  if (!inputs) return pass(inputs);
  row.inputs = std::move(*inputs);
  if (object.contains("error")) {
    row.error = object["error"];
    return row;
  }
  if (!object.contains("outputs")) return fail(Fault::Format, "neither 'outputs' nor 'error'");
  auto outputs = within("outputs", arrays(object["outputs"]));
  if (!outputs) return pass(outputs);
  row.outputs = std::move(*outputs);
  return row;
}

Result<Graph> read_model_of(const Row& row) {
  LoadOptions options;
  if (row.framework.starts_with("torch")) {
    const char* names[] = {"x", "y", "z"};
    for (std::size_t i = 0; i < row.inputs.size() && i < 3; ++i) {
      Shape shape;
      for (const Size n : row.inputs[i].tensor.shape()) shape.push_back(n);
      options.shapes[names[i]] = shape;
    }
    return read_source_text(row.model, "", options);
  }
  if (row.framework.starts_with("keras")) {
    options.structure_only = true;  // no model here has weights
    return keras::read_json(row.model, options);
  }
  if (row.framework.starts_with("tensorflow")) return read_source_text(row.model, "build", options);
  const auto bytes = std::make_shared<std::vector<std::byte>>(from_base64(row.model));
  return onnx::read_model({*bytes, bytes}, {}, options);
}

std::optional<std::string> difference(const Row& row, const Tensor& got, const Array& want) {
  if (got.shape() != want.tensor.shape()) {
    const auto text = [](const Tensor& t) {
      Shape shape;
      for (const Size n : t.shape()) shape.push_back(n);
      return text_of(shape);
    };
    return "shape " + text(got) + ", wanted " + text(want.tensor);
  }
  if (!is_floating(want.dtype) && !is_floating(got.dtype())) {
    const auto have = got.integers(), wanted = want.tensor.integers();
    for (std::size_t i = 0; i < have.size(); ++i)
      if (have[i] != wanted[i])
        return "number " + std::to_string(i) + " is " + std::to_string(have[i]) + ", wanted " +
               std::to_string(wanted[i]);
    return std::nullopt;
  }
  const auto have = got.doubles(), wanted = want.tensor.doubles();
  for (std::size_t i = 0; i < have.size(); ++i) {
    const double a = have[i], b = wanted[i];
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b && (!row.signs || std::signbit(a) == std::signbit(b))) continue;
    if (!row.exact && std::abs(a - b) <= 1e-5 * std::abs(b) + 1e-6) continue;
    return "number " + std::to_string(i) + " is " + spelled(a) + ", wanted " + spelled(b);
  }
  return std::nullopt;
}

}  // namespace convoy::semantics
