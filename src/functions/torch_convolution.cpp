// The convolutions of convoy/torch.h.
#include "functions/torch_call.h"

namespace convoy::torch {
namespace {

Json json_of(const Conv& o) {
  Json arguments{{"stride", json_of(o.stride)},
                 {"dilation", json_of(o.dilation)},
                 {"groups", o.groups},
                 {"padding_mode", o.padding_mode}};
  arguments["padding"] = o.padding.word() ? Json(*o.padding.word()) : json_of(o.padding.cells());
  return arguments;
}

Json json_of(const ConvTranspose& o) {
  Json arguments{{"stride", json_of(o.stride)},
                 {"padding", json_of(o.padding)},
                 {"output_padding", json_of(o.output_padding)},
                 {"groups", o.groups},
                 {"dilation", json_of(o.dilation)}};
  if (!o.output_size.empty()) arguments["output_size"] = o.output_size;
  return arguments;
}

template <class Options>
Result<Tensor> convolve(const char* name, const View& input, const View& weight, const View* bias, const Options& o) {
  return call_one(name, {{"input", &input}, {"weight", &weight}, {"bias", bias}}, json_of(o));
}

}  // namespace

Result<Tensor> conv1d(const View& input, const View& weight, const View* bias, const Conv& o) {
  return convolve("conv1d", input, weight, bias, o);
}
Result<Tensor> conv2d(const View& input, const View& weight, const View* bias, const Conv& o) {
  return convolve("conv2d", input, weight, bias, o);
}
Result<Tensor> conv3d(const View& input, const View& weight, const View* bias, const Conv& o) {
  return convolve("conv3d", input, weight, bias, o);
}

Result<Tensor> conv_transpose1d(const View& input, const View& weight, const View* bias, const ConvTranspose& o) {
  return convolve("conv_transpose1d", input, weight, bias, o);
}
Result<Tensor> conv_transpose2d(const View& input, const View& weight, const View* bias, const ConvTranspose& o) {
  return convolve("conv_transpose2d", input, weight, bias, o);
}
Result<Tensor> conv_transpose3d(const View& input, const View& weight, const View* bias, const ConvTranspose& o) {
  return convolve("conv_transpose3d", input, weight, bias, o);
}

}  // namespace convoy::torch
