// The functions of convoy/onnx.h: their options become the attributes and inputs of the rows that read ONNX's files and
// text.
#include "convoy/onnx.h"

#include "formats/onnx/catalogue/catalogue.h"
#include "functions/evaluate.h"

namespace convoy::onnx {
namespace {

// Attributes that differ from "not given" are said; those that an opset does not know are then refused by the row.
void say(Json& attributes, const char* name, const std::optional<Sizes>& numbers) {
  if (numbers) attributes[name] = *numbers;
}

Json windows(const PerAxis& strides, const std::string& auto_pad, const std::optional<Sizes>& pads) {
  Json attributes{{"strides", json_of(strides)}, {"auto_pad", auto_pad}};
  say(attributes, "pads", pads);
  return attributes;
}

// Numbers that are an input of the operator; the view borrows them.
View numbers(const Sizes& all) { return View(std::span(all), {static_cast<Size>(all.size())}); }
View numbers(const std::vector<float>& all) { return View(std::span(all), {static_cast<Size>(all.size())}); }

Result<std::vector<Tensor>> call(const char* name, const std::vector<ArrayArgument>& arrays, const Json& attributes,
                                 Size opset, std::size_t results = 1) {
  if (opset < oldest_read || opset > newest_read)
    return fail(Fault::Usage, std::string(name) + ": opset is " + std::to_string(opset) + ", expected " +
                                  std::to_string(oldest_read) + " to " + std::to_string(newest_read));
  return evaluate(functions(), name, arrays, attributes, {.opset = opset, .results = results});
}

Result<Tensor> call_one(const char* name, const std::vector<ArrayArgument>& arrays, const Json& attributes,
                        Size opset) {
  auto results = call(name, arrays, attributes, opset);
  if (!results) return pass(results);
  return std::move(results->front());
}

Json json_of(const Sizes& kernel_shape, const Pool& o) {
  Json attributes = windows(o.strides, o.auto_pad, o.pads);
  attributes["kernel_shape"] = kernel_shape;
  if (o.dilations) attributes["dilations"] = convoy::json_of(*o.dilations);
  if (o.ceil_mode) attributes["ceil_mode"] = 1;
  return attributes;
}

Json json_of(const Resize& o) {
  Json attributes{{"mode", o.mode}};
  if (o.opset < 11) return attributes;
  attributes["coordinate_transformation_mode"] = o.coordinate_transformation_mode;
  attributes["nearest_mode"] = o.nearest_mode;
  attributes["cubic_coeff_a"] = o.cubic_coeff_a;
  attributes["extrapolation_value"] = o.extrapolation_value;
  attributes["exclude_outside"] = o.exclude_outside;
  if (o.antialias) attributes["antialias"] = 1;
  if (o.keep_aspect_ratio_policy != "stretch") attributes["keep_aspect_ratio_policy"] = o.keep_aspect_ratio_policy;
  say(attributes, "axes", o.axes);
  return attributes;
}

}  // namespace

Result<Tensor> conv(const View& x, const View& w, const View* b, const Conv& o) {
  Json attributes = windows(o.strides, o.auto_pad, o.pads);
  attributes["dilations"] = convoy::json_of(o.dilations);
  attributes["group"] = o.group;
  return call_one("Conv", {{"X", &x}, {"W", &w}, {"B", b}}, attributes, o.opset);
}

Result<Tensor> conv_transpose(const View& x, const View& w, const View* b, const ConvTranspose& o) {
  Json attributes = windows(o.strides, o.auto_pad, o.pads);
  attributes["dilations"] = convoy::json_of(o.dilations);
  attributes["output_padding"] = convoy::json_of(o.output_padding);
  attributes["group"] = o.group;
  say(attributes, "output_shape", o.output_shape);
  return call_one("ConvTranspose", {{"X", &x}, {"W", &w}, {"B", b}}, attributes, o.opset);
}

Result<Tensor> max_pool(const View& x, const Sizes& kernel_shape, const Pool& o) {
  return call_one("MaxPool", {{"X", &x}}, json_of(kernel_shape, o), o.opset);
}

Result<Maxima> max_pool_with_indices(const View& x, const Sizes& kernel_shape, const Pool& o, bool storage_order) {
  Json attributes = json_of(kernel_shape, o);
  attributes["storage_order"] = storage_order ? 1 : 0;
  auto results = call("MaxPool", {{"X", &x}}, attributes, o.opset, 2);
  if (!results) return pass(results);
  if (results->size() != 2) return fail(Fault::Internal, "MaxPool gives no indices");
  return Maxima{std::move((*results)[0]), std::move((*results)[1])};
}

Result<Tensor> average_pool(const View& x, const Sizes& kernel_shape, const Pool& o, bool count_include_pad) {
  Json attributes = json_of(kernel_shape, o);
  attributes["count_include_pad"] = count_include_pad ? 1 : 0;
  return call_one("AveragePool", {{"X", &x}}, attributes, o.opset);
}

Result<Tensor> lp_pool(const View& x, const Sizes& kernel_shape, const Pool& o, Size p) {
  Json attributes = json_of(kernel_shape, o);
  attributes["p"] = p;
  return call_one("LpPool", {{"X", &x}}, attributes, o.opset);
}

Result<Tensor> max_unpool(const View& x, const View& indices, const Sizes& kernel_shape, const MaxUnpool& o) {
  Json attributes{{"kernel_shape", kernel_shape}, {"strides", convoy::json_of(o.strides)}};
  say(attributes, "pads", o.pads);
  const Sizes sizes = o.output_shape.value_or(Sizes{});
  const View shape = numbers(sizes);
  return call_one("MaxUnpool", {{"X", &x}, {"I", &indices}, {"output_shape", o.output_shape ? &shape : nullptr}},
                  attributes, o.opset);
}

Result<Tensor> pad(const View& data, const Sizes& pads, const Pad& o) {
  Json attributes{{"mode", o.mode}};
  if (o.opset < 11) {
    attributes["pads"] = pads;
    attributes["value"] = o.constant_value;
    say(attributes, "axes", o.axes);
    return call_one("Pad", {{"data", &data}}, attributes, o.opset);
  }
  const std::vector<double> value{o.constant_value};
  const Sizes listed = o.axes.value_or(Sizes{});
  const View cells = numbers(pads), constant(std::span<const double>(value), Sizes{}), axes = numbers(listed);
  return call_one(
      "Pad", {{"data", &data}, {"pads", &cells}, {"constant_value", &constant}, {"axes", o.axes ? &axes : nullptr}},
      attributes, o.opset);
}

Result<Tensor> resize(const View& x, const std::vector<float>& scales, const Resize& o) {
  const View factors = numbers(scales), part = numbers(o.roi);
  return call_one("Resize", {{"X", &x}, {"roi", o.roi.empty() ? nullptr : &part}, {"scales", &factors}}, json_of(o),
                  o.opset);
}

Result<Tensor> resize_to(const View& x, const Sizes& sizes, const Resize& o) {
  const View lengths = numbers(sizes), part = numbers(o.roi);
  return call_one("Resize", {{"X", &x}, {"roi", o.roi.empty() ? nullptr : &part}, {"sizes", &lengths}}, json_of(o),
                  o.opset);
}

}  // namespace convoy::onnx
