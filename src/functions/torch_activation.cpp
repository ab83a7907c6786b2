// The activations of convoy/torch.h.
#include "functions/torch_call.h"

namespace convoy::torch {
namespace {

Result<Tensor> apply(const char* name, const View& input, const Json& arguments = Json::object()) {
  return call_one(name, {{"input", &input}}, arguments);
}

Result<Tensor> along(const char* name, const View& input, std::optional<Size> dim) {
  return apply(name, input, dim ? Json{{"dim", *dim}} : Json::object());
}

}  // namespace

Result<Tensor> relu(const View& input) { return apply("relu", input); }
Result<Tensor> relu6(const View& input) { return apply("relu6", input); }
Result<Tensor> leaky_relu(const View& input, double negative_slope) {
  return apply("leaky_relu", input, {{"negative_slope", negative_slope}});
}
Result<Tensor> elu(const View& input, double alpha) { return apply("elu", input, {{"alpha", alpha}}); }
Result<Tensor> selu(const View& input) { return apply("selu", input); }
Result<Tensor> celu(const View& input, double alpha) { return apply("celu", input, {{"alpha", alpha}}); }
Result<Tensor> gelu(const View& input, const std::string& approximate) {
  return apply("gelu", input, {{"approximate", approximate}});
}
Result<Tensor> silu(const View& input) { return apply("silu", input); }
Result<Tensor> mish(const View& input) { return apply("mish", input); }
Result<Tensor> softplus(const View& input, double beta, double threshold) {
  return apply("softplus", input, {{"beta", beta}, {"threshold", threshold}});
}
Result<Tensor> softsign(const View& input) { return apply("softsign", input); }
Result<Tensor> hardtanh(const View& input, double min_val, double max_val) {
  return apply("hardtanh", input, {{"min_val", min_val}, {"max_val", max_val}});
}
Result<Tensor> hardsigmoid(const View& input) { return apply("hardsigmoid", input); }
Result<Tensor> hardswish(const View& input) { return apply("hardswish", input); }
Result<Tensor> sigmoid(const View& input) { return apply("sigmoid", input); }
Result<Tensor> tanh(const View& input) { return apply("tanh", input); }
Result<Tensor> logsigmoid(const View& input) { return apply("logsigmoid", input); }
Result<Tensor> tanhshrink(const View& input) { return apply("tanhshrink", input); }
Result<Tensor> softshrink(const View& input, double lambd) { return apply("softshrink", input, {{"lambd", lambd}}); }
Result<Tensor> hardshrink(const View& input, double lambd) { return apply("hardshrink", input, {{"lambd", lambd}}); }
Result<Tensor> threshold(const View& input, double threshold, double value) {
  return apply("threshold", input, {{"threshold", threshold}, {"value", value}});
}
Result<Tensor> glu(const View& input, Size dim) { return apply("glu", input, {{"dim", dim}}); }
Result<Tensor> prelu(const View& input, const View& weight) {
  return call_one("prelu", {{"input", &input}, {"weight", &weight}});
}

Result<Tensor> softmax(const View& input, std::optional<Size> dim) { return along("softmax", input, dim); }
Result<Tensor> softmin(const View& input, std::optional<Size> dim) { return along("softmin", input, dim); }
Result<Tensor> log_softmax(const View& input, std::optional<Size> dim) { return along("log_softmax", input, dim); }

}  // namespace convoy::torch
