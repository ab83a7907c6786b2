// The pools of convoy/torch.h.
#include "functions/torch_call.h"

namespace convoy::torch {
namespace {

// Absent where the function's own default holds.
Json stride_of(const PerAxisOrNone& stride) { return stride.numbers() ? json_of(*stride.numbers()) : Json(); }

Json json_of(const PerAxis& kernel_size, const MaxPool& o) {
  return {{"kernel_size", json_of(kernel_size)},
          {"stride", stride_of(o.stride)},
          {"padding", json_of(o.padding)},
          {"dilation", json_of(o.dilation)},
          {"ceil_mode", o.ceil_mode}};
}

Json json_of(const PerAxis& kernel_size, const AvgPool& o) {
  Json arguments{{"kernel_size", json_of(kernel_size)},
                 {"stride", stride_of(o.stride)},
                 {"padding", json_of(o.padding)},
                 {"ceil_mode", o.ceil_mode},
                 {"count_include_pad", o.count_include_pad}};
  if (o.divisor_override) arguments["divisor_override"] = *o.divisor_override;
  return arguments;
}

Json json_of(double norm_type, const PerAxis& kernel_size, const LpPool& o) {
  return {{"norm_type", norm_type},
          {"kernel_size", json_of(kernel_size)},
          {"stride", stride_of(o.stride)},
          {"ceil_mode", o.ceil_mode}};
}

Json json_of(const OutputSize& size) {
  if (size.all()) return {{"output_size", *size.all()}};
  Json each = Json::array();
  for (const auto& one : size.each()) each.push_back(one ? Json(*one) : Json());
  return {{"output_size", each}};
}

Json json_of(const PerAxis& kernel_size, const MaxUnpool& o) {
  Json arguments{
      {"kernel_size", json_of(kernel_size)}, {"stride", stride_of(o.stride)}, {"padding", json_of(o.padding)}};
  if (!o.output_size.empty()) arguments["output_size"] = o.output_size;
  return arguments;
}

}  // namespace

Result<Tensor> max_pool1d(const View& input, const PerAxis& kernel_size, const MaxPool& o) {
  return call_one("max_pool1d", {{"input", &input}}, json_of(kernel_size, o));
}
Result<Tensor> max_pool2d(const View& input, const PerAxis& kernel_size, const MaxPool& o) {
  return call_one("max_pool2d", {{"input", &input}}, json_of(kernel_size, o));
}
Result<Tensor> max_pool3d(const View& input, const PerAxis& kernel_size, const MaxPool& o) {
  return call_one("max_pool3d", {{"input", &input}}, json_of(kernel_size, o));
}
Result<WithIndices> max_pool1d_with_indices(const View& input, const PerAxis& kernel_size, const MaxPool& o) {
  return call_two("max_pool1d", {{"input", &input}}, json_of(kernel_size, o));
}
Result<WithIndices> max_pool2d_with_indices(const View& input, const PerAxis& kernel_size, const MaxPool& o) {
  return call_two("max_pool2d", {{"input", &input}}, json_of(kernel_size, o));
}
Result<WithIndices> max_pool3d_with_indices(const View& input, const PerAxis& kernel_size, const MaxPool& o) {
  return call_two("max_pool3d", {{"input", &input}}, json_of(kernel_size, o));
}
Result<Tensor> avg_pool1d(const View& input, const PerAxis& kernel_size, const AvgPool& o) {
  return call_one("avg_pool1d", {{"input", &input}}, json_of(kernel_size, o));
}
Result<Tensor> avg_pool2d(const View& input, const PerAxis& kernel_size, const AvgPool& o) {
  return call_one("avg_pool2d", {{"input", &input}}, json_of(kernel_size, o));
}
Result<Tensor> avg_pool3d(const View& input, const PerAxis& kernel_size, const AvgPool& o) {
  return call_one("avg_pool3d", {{"input", &input}}, json_of(kernel_size, o));
}
Result<Tensor> lp_pool1d(const View& input, double norm_type, const PerAxis& kernel_size, const LpPool& o) {
  return call_one("lp_pool1d", {{"input", &input}}, json_of(norm_type, kernel_size, o));
}
Result<Tensor> lp_pool2d(const View& input, double norm_type, const PerAxis& kernel_size, const LpPool& o) {
  return call_one("lp_pool2d", {{"input", &input}}, json_of(norm_type, kernel_size, o));
}
Result<Tensor> lp_pool3d(const View& input, double norm_type, const PerAxis& kernel_size, const LpPool& o) {
  return call_one("lp_pool3d", {{"input", &input}}, json_of(norm_type, kernel_size, o));
}
Result<Tensor> adaptive_avg_pool1d(const View& input, const OutputSize& output_size) {
  return call_one("adaptive_avg_pool1d", {{"input", &input}}, json_of(output_size));
}
Result<Tensor> adaptive_avg_pool2d(const View& input, const OutputSize& output_size) {
  return call_one("adaptive_avg_pool2d", {{"input", &input}}, json_of(output_size));
}
Result<Tensor> adaptive_avg_pool3d(const View& input, const OutputSize& output_size) {
  return call_one("adaptive_avg_pool3d", {{"input", &input}}, json_of(output_size));
}
Result<Tensor> adaptive_max_pool1d(const View& input, const OutputSize& output_size) {
  return call_one("adaptive_max_pool1d", {{"input", &input}}, json_of(output_size));
}
Result<Tensor> adaptive_max_pool2d(const View& input, const OutputSize& output_size) {
  return call_one("adaptive_max_pool2d", {{"input", &input}}, json_of(output_size));
}
Result<Tensor> adaptive_max_pool3d(const View& input, const OutputSize& output_size) {
  return call_one("adaptive_max_pool3d", {{"input", &input}}, json_of(output_size));
}
Result<WithIndices> adaptive_max_pool1d_with_indices(const View& input, const OutputSize& output_size) {
  return call_two("adaptive_max_pool1d", {{"input", &input}}, json_of(output_size));
}
Result<WithIndices> adaptive_max_pool2d_with_indices(const View& input, const OutputSize& output_size) {
  return call_two("adaptive_max_pool2d", {{"input", &input}}, json_of(output_size));
}
Result<WithIndices> adaptive_max_pool3d_with_indices(const View& input, const OutputSize& output_size) {
  return call_two("adaptive_max_pool3d", {{"input", &input}}, json_of(output_size));
}
Result<Tensor> max_unpool1d(const View& input, const View& indices, const PerAxis& kernel_size, const MaxUnpool& o) {
  return call_one("max_unpool1d", {{"input", &input}, {"indices", &indices}}, json_of(kernel_size, o));
}
Result<Tensor> max_unpool2d(const View& input, const View& indices, const PerAxis& kernel_size, const MaxUnpool& o) {
  return call_one("max_unpool2d", {{"input", &input}, {"indices", &indices}}, json_of(kernel_size, o));
}
Result<Tensor> max_unpool3d(const View& input, const View& indices, const PerAxis& kernel_size, const MaxUnpool& o) {
  return call_one("max_unpool3d", {{"input", &input}, {"indices", &indices}}, json_of(kernel_size, o));
}

}  // namespace convoy::torch
