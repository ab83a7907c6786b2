// The pools of convoy/keras.h.
#include "functions/keras_layer.h"

namespace convoy::keras {
namespace {

Result<Tensor> pool(const char* layer, const char* function, const View& x, const Pool& o) {
  return evaluate_layer(layer, function,
                        {{"pool_size", json_of(o.pool_size)},
                         {"strides", o.strides ? json_of(*o.strides) : Json()},
                         {"padding", o.padding},
                         {"data_format", o.data_format}},
                        x);
}

Result<Tensor> global(const char* layer, const char* function, const View& x, const GlobalPool& o) {
  return evaluate_layer(layer, function, {{"data_format", o.data_format}, {"keepdims", o.keepdims}}, x);
}

Result<Tensor> adaptive(const char* layer, const char* function, const View& x, const PerAxis& output_size,
                        const std::string& data_format) {
  return evaluate_layer(layer, function, {{"output_size", json_of(output_size)}, {"data_format", data_format}}, x);
}

}  // namespace

Result<Tensor> max_pooling1d(const View& x, const Pool& o) { return pool("MaxPooling1D", "max_pooling1d", x, o); }
Result<Tensor> max_pooling2d(const View& x, const Pool& o) { return pool("MaxPooling2D", "max_pooling2d", x, o); }
Result<Tensor> max_pooling3d(const View& x, const Pool& o) { return pool("MaxPooling3D", "max_pooling3d", x, o); }

Result<Tensor> average_pooling1d(const View& x, const Pool& o) {
  return pool("AveragePooling1D", "average_pooling1d", x, o);
}
Result<Tensor> average_pooling2d(const View& x, const Pool& o) {
  return pool("AveragePooling2D", "average_pooling2d", x, o);
}
Result<Tensor> average_pooling3d(const View& x, const Pool& o) {
  return pool("AveragePooling3D", "average_pooling3d", x, o);
}

Result<Tensor> global_max_pooling1d(const View& x, const GlobalPool& o) {
  return global("GlobalMaxPooling1D", "global_max_pooling1d", x, o);
}
Result<Tensor> global_max_pooling2d(const View& x, const GlobalPool& o) {
  return global("GlobalMaxPooling2D", "global_max_pooling2d", x, o);
}
Result<Tensor> global_max_pooling3d(const View& x, const GlobalPool& o) {
  return global("GlobalMaxPooling3D", "global_max_pooling3d", x, o);
}

Result<Tensor> global_average_pooling1d(const View& x, const GlobalPool& o) {
  return global("GlobalAveragePooling1D", "global_average_pooling1d", x, o);
}
Result<Tensor> global_average_pooling2d(const View& x, const GlobalPool& o) {
  return global("GlobalAveragePooling2D", "global_average_pooling2d", x, o);
}
Result<Tensor> global_average_pooling3d(const View& x, const GlobalPool& o) {
  return global("GlobalAveragePooling3D", "global_average_pooling3d", x, o);
}

Result<Tensor> adaptive_max_pooling1d(const View& x, const PerAxis& output_size, const std::string& data_format) {
  return adaptive("AdaptiveMaxPooling1D", "adaptive_max_pooling1d", x, output_size, data_format);
}
Result<Tensor> adaptive_max_pooling2d(const View& x, const PerAxis& output_size, const std::string& data_format) {
  return adaptive("AdaptiveMaxPooling2D", "adaptive_max_pooling2d", x, output_size, data_format);
}
Result<Tensor> adaptive_max_pooling3d(const View& x, const PerAxis& output_size, const std::string& data_format) {
  return adaptive("AdaptiveMaxPooling3D", "adaptive_max_pooling3d", x, output_size, data_format);
}

Result<Tensor> adaptive_average_pooling1d(const View& x, const PerAxis& output_size, const std::string& data_format) {
  return adaptive("AdaptiveAveragePooling1D", "adaptive_average_pooling1d", x, output_size, data_format);
}
Result<Tensor> adaptive_average_pooling2d(const View& x, const PerAxis& output_size, const std::string& data_format) {
  return adaptive("AdaptiveAveragePooling2D", "adaptive_average_pooling2d", x, output_size, data_format);
}
Result<Tensor> adaptive_average_pooling3d(const View& x, const PerAxis& output_size, const std::string& data_format) {
  return adaptive("AdaptiveAveragePooling3D", "adaptive_average_pooling3d", x, output_size, data_format);
}

}  // namespace convoy::keras
