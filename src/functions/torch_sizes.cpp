// What changes sizes in convoy/torch.h: padding, resizing, shuffling, windows as columns.
#include "functions/torch_call.h"

namespace convoy::torch {

Result<Tensor> pad(const View& input, const Sizes& pad, const Pad& o) {
  return call_one("pad", {{"input", &input}}, {{"pad", pad}, {"mode", o.mode}, {"value", o.value}});
}

Result<Tensor> interpolate(const View& input, const Interpolate& o) {
  Json arguments{{"mode", o.mode}, {"recompute_scale_factor", o.recompute_scale_factor}, {"antialias", o.antialias}};
  if (o.size.numbers()) arguments["size"] = json_of(*o.size.numbers());
  if (o.scale_factor.size() == 1) arguments["scale_factor"] = o.scale_factor.front();
  else if (!o.scale_factor.empty()) arguments["scale_factor"] = o.scale_factor;
  if (o.align_corners) arguments["align_corners"] = *o.align_corners;
  return call_one("interpolate", {{"input", &input}}, arguments);
}

Result<Tensor> pixel_shuffle(const View& input, Size upscale_factor) {
  return call_one("pixel_shuffle", {{"input", &input}}, {{"upscale_factor", upscale_factor}});
}
Result<Tensor> pixel_unshuffle(const View& input, Size downscale_factor) {
  return call_one("pixel_unshuffle", {{"input", &input}}, {{"downscale_factor", downscale_factor}});
}
Result<Tensor> channel_shuffle(const View& input, Size groups) {
  return call_one("channel_shuffle", {{"input", &input}}, {{"groups", groups}});
}

namespace {

Json json_of(const PerAxis& kernel_size, const Unfold& o) {
  return {{"kernel_size", json_of(kernel_size)},
          {"dilation", json_of(o.dilation)},
          {"padding", json_of(o.padding)},
          {"stride", json_of(o.stride)}};
}

}  // namespace

Result<Tensor> unfold(const View& input, const PerAxis& kernel_size, const Unfold& o) {
  return call_one("unfold", {{"input", &input}}, json_of(kernel_size, o));
}
Result<Tensor> fold(const View& input, const PerAxis& output_size, const PerAxis& kernel_size, const Unfold& o) {
  Json arguments = json_of(kernel_size, o);
  arguments["output_size"] = json_of(output_size);
  return call_one("fold", {{"input", &input}}, arguments);
}

}  // namespace convoy::torch
