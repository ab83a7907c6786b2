// The normalizations and the matrix product of convoy/torch.h.
#include "functions/torch_call.h"

namespace convoy::torch {

Result<Tensor> batch_norm(const View& input, const View* running_mean, const View* running_var, const BatchNorm& o) {
  return call_one("batch_norm",
                  {{"input", &input},
                   {"running_mean", running_mean},
                   {"running_var", running_var},
                   {"weight", o.weight},
                   {"bias", o.bias}},
                  {{"training", o.training}, {"eps", o.eps}});
}

Result<Tensor> instance_norm(const View& input, const InstanceNorm& o) {
  return call_one("instance_norm",
                  {{"input", &input},
                   {"running_mean", o.running_mean},
                   {"running_var", o.running_var},
                   {"weight", o.weight},
                   {"bias", o.bias}},
                  {{"use_input_stats", o.use_input_stats}, {"eps", o.eps}});
}

Result<Tensor> group_norm(const View& input, Size num_groups, const Norm& o) {
  return call_one("group_norm", {{"input", &input}, {"weight", o.weight}, {"bias", o.bias}},
                  {{"num_groups", num_groups}, {"eps", o.eps}});
}

Result<Tensor> layer_norm(const View& input, const Sizes& normalized_shape, const Norm& o) {
  return call_one("layer_norm", {{"input", &input}, {"weight", o.weight}, {"bias", o.bias}},
                  {{"normalized_shape", normalized_shape}, {"eps", o.eps}});
}

Result<Tensor> rms_norm(const View& input, const Sizes& normalized_shape, const RmsNorm& o) {
  Json arguments{{"normalized_shape", normalized_shape}};
  if (o.eps) arguments["eps"] = *o.eps;
  return call_one("rms_norm", {{"input", &input}, {"weight", o.weight}}, arguments);
}

Result<Tensor> local_response_norm(const View& input, Size size, const LocalResponseNorm& o) {
  return call_one("local_response_norm", {{"input", &input}},
                  {{"size", size}, {"alpha", o.alpha}, {"beta", o.beta}, {"k", o.k}});
}

Result<Tensor> normalize(const View& input, const Normalize& o) {
  return call_one("normalize", {{"input", &input}}, {{"p", o.p}, {"dim", o.dim}, {"eps", o.eps}});
}

Result<Tensor> linear(const View& input, const View& weight, const View* bias) {
  return call_one("linear", {{"input", &input}, {"weight", &weight}, {"bias", bias}});
}

}  // namespace convoy::torch
