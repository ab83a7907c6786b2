// What changes sizes in convoy/keras.h: padding, cropping, repeating, resizing.
#include "functions/keras_layer.h"

namespace convoy::keras {
namespace {

// Keras takes the one axis of a 1-D layer as a plain pair.
Json json_of(const Borders& borders, Size space) {
  if (borders.all()) return *borders.all();
  Json all = Json::array();
  for (const Sides& one : borders.each()) all.push_back(Json::array({one.before, one.after}));
  return space == 1 && all.size() == 1 ? all.front() : all;
}

Result<Tensor> pad(const char* layer, const char* function, Size space, const View& x, const Borders& padding,
                   const std::string& data_format) {
  return evaluate_layer(layer, function, {{"padding", json_of(padding, space)}, {"data_format", data_format}}, x);
}

Result<Tensor> crop(const char* layer, const char* function, Size space, const View& x, const Borders& cropping,
                    const std::string& data_format) {
  return evaluate_layer(layer, function, {{"cropping", json_of(cropping, space)}, {"data_format", data_format}}, x);
}

}  // namespace

Result<Tensor> zero_padding1d(const View& x, const Borders& padding, const std::string& data_format) {
  return pad("ZeroPadding1D", "zero_padding1d", 1, x, padding, data_format);
}
Result<Tensor> zero_padding2d(const View& x, const Borders& padding, const std::string& data_format) {
  return pad("ZeroPadding2D", "zero_padding2d", 2, x, padding, data_format);
}
Result<Tensor> zero_padding3d(const View& x, const Borders& padding, const std::string& data_format) {
  return pad("ZeroPadding3D", "zero_padding3d", 3, x, padding, data_format);
}

Result<Tensor> cropping1d(const View& x, const Borders& cropping) {
  return crop("Cropping1D", "cropping1d", 1, x, cropping, channels_last);
}
Result<Tensor> cropping2d(const View& x, const Borders& cropping, const std::string& data_format) {
  return crop("Cropping2D", "cropping2d", 2, x, cropping, data_format);
}
Result<Tensor> cropping3d(const View& x, const Borders& cropping, const std::string& data_format) {
  return crop("Cropping3D", "cropping3d", 3, x, cropping, data_format);
}

Result<Tensor> up_sampling1d(const View& x, Size size) {
  return evaluate_layer("UpSampling1D", "up_sampling1d", {{"size", size}}, x);
}
Result<Tensor> up_sampling2d(const View& x, const PerAxis& size, const std::string& interpolation,
                             const std::string& data_format) {
  return evaluate_layer("UpSampling2D", "up_sampling2d",
                        {{"size", json_of(size)}, {"interpolation", interpolation}, {"data_format", data_format}}, x);
}
Result<Tensor> up_sampling3d(const View& x, const PerAxis& size, const std::string& data_format) {
  return evaluate_layer("UpSampling3D", "up_sampling3d", {{"size", json_of(size)}, {"data_format", data_format}}, x);
}

Result<Tensor> resizing(const View& x, Size height, Size width, const Resizing& o) {
  return evaluate_layer("Resizing", "resizing",
                        {{"height", height},
                         {"width", width},
                         {"interpolation", o.interpolation},
                         {"antialias", o.antialias},
                         {"data_format", o.data_format}},
                        x);
}

}  // namespace convoy::keras
