// TFLite's cases: the operator's options as the file holds them, its tensors by TFLite's names. Each is answered twice, as a
// call and as a file of one operator, and both have to give the same.
#include "formats/tflite/tflite.h"
#include "formats/tflite/catalogue/catalogue.h"
#include "formats/tflite/write/document.h"

#include "base/words.h"
#include "functions/evaluate.h"
#include "golden/answer.h"

#include <algorithm>
#include <array>
#include <map>

namespace convoy::golden {
namespace {

struct Name {
  std::string_view ours, theirs;  // in the case, in the row
};
constexpr std::array names{Name{"x", "input"},
                           Name{"w", "filter"},
                           Name{"b", "bias"},
                           Name{"output_shape", "output_shape"},
                           Name{"paddings", "paddings"},
                           Name{"value", "constant_values"},
                           Name{"size", "size"}};

// The numbers that the schema gives to words.
std::optional<tflite::OptionValue> option_of(const Json& said) {
  static const std::map<std::string, Size, std::less<>> words{
      {"SAME", 0}, {"VALID", 1}, {"NONE", 0}, {"RELU", 1}, {"REFLECT", 0}, {"SYMMETRIC", 1}, {"RELU6", 3}};
  if (said.is_boolean()) return Size{said.get<bool>()};
  if (said.is_number_integer()) return said.get<Size>();
  if (said.is_number()) return said.get<double>();
  const auto found = said.is_string() ? words.find(said.get<std::string>()) : words.end();
  return found == words.end() ? std::nullopt : std::optional<tflite::OptionValue>(found->second);
}

// The bytes of a model of this one operator.
Result<std::vector<std::byte>> file_of(const Case& c, const tflite::Operator& row, const Sizes& result) {
  tflite::Document document{.name = "case",
                            .description = "",
                            .tensors = {},
                            .operators = {},
                            .inputs = {},
                            .outputs = {},
                            .input_names = {},
                            .output_names = {}};
  tflite::DocumentOperator op{row.name, 1, {}, {}, {}};
  for (const std::string_view input : words_in(row.inputs)) {
    const auto known = std::ranges::find(names, input, &Name::theirs);
    const Array* array = known == names.end() ? nullptr : c.input(known->ours);
    if (!array) {
      op.inputs.push_back(-1);
      continue;
    }
    const Tensor numbers =
        array->tensor.dtype() == DType::F64 ? Tensor::of(array->tensor.shape(), array->tensor.floats()) : array->tensor;
    const auto place = static_cast<std::int32_t>(document.tensors.size());
    const bool is_input = known->ours == "x";
    document.tensors.push_back(
        {std::string(input), type_of(numbers), is_input ? std::nullopt : std::optional(numbers)});
    if (is_input) document.inputs = {place}, document.input_names = {std::string(input)};
    op.inputs.push_back(place);
  }
  while (!op.inputs.empty() && op.inputs.back() == -1) op.inputs.pop_back();
  for (const auto& [name, said] : c.attrs.items()) {
    const auto value = option_of(said);
    if (!value) return fail(Fault::Internal, "the option '" + name + "' is not written");
    op.options.push_back({name, *value});
  }
  Shape shape;
  for (const Size n : result) shape.emplace_back(n);
  op.outputs = {static_cast<std::int32_t>(document.tensors.size())};
  document.tensors.push_back({"y", {DType::F32, shape}, {}});
  document.outputs = op.outputs, document.output_names = {"y"};
  document.operators.push_back(std::move(op));
  std::vector<std::byte> bytes;
  const auto written = tflite::write_document(document, [&](std::span<const std::byte> more) -> Status {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return {};
  });
  if (!written) return std::unexpected(written.error());
  return bytes;
}

// Fails (Internal): the file answers otherwise than the call.
Status check_file(const Case& c, const tflite::Operator& row, const Tensor& y) {
  auto bytes = file_of(c, row, y.shape());
  if (!bytes) return pass(bytes);
  const auto kept = std::make_shared<const std::vector<std::byte>>(std::move(*bytes));
  auto graph = tflite::read_model({{kept->data(), kept->size()}, kept}, {});
  if (!graph) return fail(Fault::Internal, "its file is not read: " + message(graph.error()));
  auto got = answer_of(std::move(*graph), c.input("x")->tensor, Way::Plain);
  if (!got) return fail(Fault::Internal, "its file is not run: " + message(got.error()));
  if (got->shape() == y.shape() && got->doubles() == y.doubles()) return {};
  return fail(Fault::Internal, "its file gives other numbers than the call");
}

}  // namespace

Result<Answer> answer_tflite(const Case& c) {
  // "tflite/CONV_2D/0012" names the operator.
  const std::size_t begin = c.id.find('/') + 1;
  const std::string function = c.id.substr(begin, c.id.find('/', begin) - begin);
  if (!row_of(tflite::functions(), function)) return not_mapped("TFLite's " + function);
  std::vector<View> views;
  views.reserve(names.size());
  std::vector<ArrayArgument> arrays;
  for (const Name& name : names)
    if (const Array* array = c.input(name.ours)) arrays.push_back({name.theirs, &views.emplace_back(array->tensor)});
  auto y = evaluate_one(tflite::functions(), function, arrays, c.attrs);
  if (!y) return pass(y);
  if (auto same = check_file(c, *tflite::operator_named(function), *y); !same) return pass(same);
  return Answer{{std::move(*y), c.want ? c.want->layout : ""}, {}, {}};
}

}  // namespace convoy::golden
