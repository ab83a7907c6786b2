// The functions of convoy/torch.h: their options become the arguments of the rows that read PyTorch's files and text.
#include "convoy/torch.h"

#include "formats/torch/functions/functions.h"
#include "functions/evaluate.h"

namespace convoy::torch {
namespace {

Json json_of(const Conv& o) {
  Json arguments{{"stride", convoy::json_of(o.stride)},
                 {"dilation", convoy::json_of(o.dilation)},
                 {"groups", o.groups},
                 {"padding_mode", o.padding_mode}};
  if (const auto* word = std::get_if<std::string>(&o.padding)) arguments["padding"] = *word;
  else arguments["padding"] = convoy::json_of(std::get<PerAxis>(o.padding));
  return arguments;
}

Result<Tensor> conv(const char* name, const View& input, const View& weight, const View* bias, const Conv& o) {
  return evaluate_one(functions(), name, {{"input", &input}, {"weight", &weight}, {"bias", bias}}, json_of(o));
}

}  // namespace

Result<Tensor> conv1d(const View& input, const View& weight, const View* bias, const Conv& o) {
  return conv("conv1d", input, weight, bias, o);
}
Result<Tensor> conv2d(const View& input, const View& weight, const View* bias, const Conv& o) {
  return conv("conv2d", input, weight, bias, o);
}
Result<Tensor> conv3d(const View& input, const View& weight, const View* bias, const Conv& o) {
  return conv("conv3d", input, weight, bias, o);
}

}  // namespace convoy::torch
