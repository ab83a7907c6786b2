// The functions of convoy/call.h: PyTorch's, TensorFlow's and ONNX's are rows; Keras's are layers (keras_called.cpp).
#include "convoy/call.h"

#include "convoy/cancellation.h"

#include "base/nearest.h"
#include "formats/onnx/catalogue/catalogue.h"
#include "formats/tf/functions.h"
#include "formats/torch/catalogue/catalogue.h"
#include "functions/evaluate.h"
#include "functions/keras_called.h"
#include "run/run.h"

#include <algorithm>
#include <exception>
#include <optional>

namespace convoy {
namespace {

std::optional<std::span<const FunctionRow>> rows_of(std::string_view framework) {
  if (framework == "torch") return torch::functions();
  if (framework == "tf") return tf::functions();
  if (framework == "onnx") return onnx::functions();
  return std::nullopt;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find(' ', from), text.size());
    if (end > from) words.emplace_back(text.substr(from, end - from));
    from = end + 1;
  }
  return words;
}

std::unexpected<Error> no_such_framework(std::string_view framework) {
  return fail(Fault::Usage, "'" + std::string(framework) + "' is no framework: write torch, keras, tf or onnx");
}

Result<Json> arguments_of(const std::string& text) {
  Json arguments = Json::parse(text, nullptr, false);
  if (!arguments.is_object()) return fail(Fault::Usage, "the arguments are no JSON object");
  return arguments;
}

Result<std::vector<Tensor>> called(std::string_view framework, const std::string& function,
                                   const std::vector<NamedArray>& arrays, const std::string& text,
                                   const CallSettings& settings) {
  const auto arguments = arguments_of(text);
  if (!arguments) return std::unexpected(arguments.error());
  const auto doubles = std::ranges::any_of(arrays, [](const NamedArray& a) { return a.tensor.dtype() == DType::F64; });
  RunOptions options;
  options.precision = doubles ? Precision::Double : Precision::Single;
  if (framework == "keras") return keras::call_layer(function, arrays, *arguments, options);
  const auto rows = rows_of(framework);
  if (!rows) return no_such_framework(framework);
  if (!row_of(*rows, function)) {
    std::vector<std::string> names;
    for (const FunctionRow& row : *rows) names.emplace_back(row.name);
    return fail(Fault::Usage, "there is no function '" + function + "'" + did_you_mean(function, names));
  }
  CallSetting setting{.results = settings.results};
  if (framework == "onnx") setting.opset = settings.opset == 0 ? onnx::newest_read : settings.opset;
  if (framework == "onnx" && (setting.opset < onnx::oldest_read || setting.opset > onnx::newest_read))
    return fail(Fault::Usage, function + ": opset is " + std::to_string(setting.opset) + ", expected " +
                                  std::to_string(onnx::oldest_read) + " to " + std::to_string(onnx::newest_read));
  std::vector<View> views;
  views.reserve(arrays.size());
  std::vector<ArrayArgument> given;
  for (const auto& [name, tensor] : arrays) given.push_back({name, &views.emplace_back(tensor)});
  const auto call = one_call(*rows, function, given, *arguments, setting);
  if (!call) return std::unexpected(call.error());
  auto values = within(function, run(call->graph, call->inputs, options));
  if (!values) return pass(values);
  std::vector<Tensor> results;
  for (const ValueId v : call->graph.outputs) results.push_back(values->at(v));
  return results;
}

}  // namespace

inline namespace v0 {

Result<std::vector<CallableFunction>> functions_of(std::string_view framework) {
  if (framework == "keras") return keras::callable_layers();
  const auto rows = rows_of(framework);
  if (!rows) return no_such_framework(framework);
  std::vector<CallableFunction> all;
  for (const FunctionRow& row : *rows) all.push_back({std::string(row.name), words_of(row.parameters)});
  return all;
}

Result<std::vector<Tensor>> call(std::string_view framework, const std::string& function,
                                 const std::vector<NamedArray>& arrays, const std::string& arguments,
                                 const CallSettings& settings) {
  try {
    auto made = called(framework, function, arrays, arguments, settings);
    if (made && Listening::is_cancelled()) return fail(Fault::Cancelled, "was cancelled");
    return made;
  } catch (const std::bad_alloc&) {
    return fail(Fault::Budget, "there is not enough memory for this");
  } catch (const std::exception& error) { return fail(Fault::Internal, std::string("an exception: ") + error.what()); }
}

}  // namespace v0
}  // namespace convoy
