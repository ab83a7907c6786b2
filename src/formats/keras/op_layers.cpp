// TensorFlowOpLayer: a node of a graph in TensorFlow's own words, with the constants among its inputs, as the call of the function
// that it came from. Source: tensorflow/python/keras/engine/base_layer.py of TensorFlow 2.0 to 2.3; core/ops of its nodes.
#include "formats/keras/op_layers.h"

#include "base/words.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace convoy::keras {
namespace {

// Inputs in the node's order, by the function's names; "several..." takes all but those behind it.
struct NodeRow {
  std::string_view op, function, inputs;
};

// clang-format off
constexpr std::array node_rows{
    NodeRow{"Add", "math.add", "x y"}, NodeRow{"AddV2", "math.add", "x y"}, NodeRow{"Sub", "math.subtract", "x y"},
    NodeRow{"Mul", "math.multiply", "x y"}, NodeRow{"RealDiv", "math.divide", "x y"}, NodeRow{"Pow", "math.pow", "x y"},
    NodeRow{"FloorDiv", "math.floordiv", "x y"}, NodeRow{"FloorMod", "math.floormod", "x y"},
    NodeRow{"Maximum", "math.maximum", "x y"}, NodeRow{"Minimum", "math.minimum", "x y"},
    NodeRow{"SquaredDifference", "math.squared_difference", "x y"},
    NodeRow{"Neg", "math.negative", "x"}, NodeRow{"Abs", "math.abs", "x"}, NodeRow{"Exp", "math.exp", "x"},
    NodeRow{"Log", "math.log", "x"}, NodeRow{"Sqrt", "math.sqrt", "x"}, NodeRow{"Rsqrt", "math.rsqrt", "x"},
    NodeRow{"Square", "math.square", "x"}, NodeRow{"Sigmoid", "math.sigmoid", "x"}, NodeRow{"Tanh", "math.tanh", "x"},
    NodeRow{"Softplus", "math.softplus", "features"}, NodeRow{"Relu", "nn.relu", "features"},
    NodeRow{"Relu6", "nn.relu6", "features"}, NodeRow{"Elu", "nn.elu", "features"}, NodeRow{"Softmax", "nn.softmax", "logits"},
    NodeRow{"Mean", "math.reduce_mean", "input_tensor axis"}, NodeRow{"Sum", "math.reduce_sum", "input_tensor axis"},
    NodeRow{"Max", "math.reduce_max", "input_tensor axis"}, NodeRow{"Min", "math.reduce_min", "input_tensor axis"},
    NodeRow{"Prod", "math.reduce_prod", "input_tensor axis"},
    NodeRow{"Cast", "cast", "x"}, NodeRow{"Reshape", "reshape", "tensor shape"}, NodeRow{"Transpose", "transpose", "a perm"},
    NodeRow{"ExpandDims", "expand_dims", "input axis"}, NodeRow{"Squeeze", "squeeze", "input"},
    NodeRow{"ConcatV2", "concat", "values... axis"}, NodeRow{"Pack", "stack", "values..."},
    NodeRow{"Pad", "pad", "tensor paddings"}, NodeRow{"PadV2", "pad", "tensor paddings constant_values"},
    NodeRow{"MirrorPad", "pad", "tensor paddings"}, NodeRow{"Tile", "tile", "input multiples"},
    NodeRow{"BroadcastTo", "broadcast_to", "input shape"},
    NodeRow{"MatMul", "linalg.matmul", "a b"}, NodeRow{"BatchMatMulV2", "linalg.matmul", "a b"},
    NodeRow{"ResizeBilinear", "image.resize", "images size"},
    NodeRow{"ResizeNearestNeighbor", "image.resize", "images size"},
    NodeRow{"StridedSlice", "__operators__.getitem", "x begin end strides"}};
// clang-format on

// The node's attributes, as protobuf's JSON has them: integers are words, words are base64.
class NodeAttributes {
 public:
  explicit NodeAttributes(const Json& node) {
    if (const auto at = node.find("attr"); at != node.end() && at->is_object()) attributes_ = &*at;
  }
  const Json* value(std::string_view name, const char* kind) const {
    if (!attributes_) return nullptr;
    const auto at = attributes_->find(std::string(name));
    if (at == attributes_->end() || !at->is_object() || !at->contains(kind)) return nullptr;
    return &(*at)[kind];
  }
  bool truth(std::string_view name) const {
    const Json* said = value(name, "b");
    return said && *said == true;
  }
  static std::int64_t whole_of(const Json& said) {
    if (said.is_number_integer()) return said.get<std::int64_t>();
    std::int64_t n = 0;
    if (said.is_string())
      for (const char c : said.get<std::string>().substr(0, 9)) n = c >= '0' && c <= '9' ? 10 * n + (c - '0') : n;
    return said.is_string() && said.get<std::string>().starts_with('-') ? -n : n;
  }
  std::int64_t whole(std::string_view name) const {
    const Json* said = value(name, "i");
    return said ? whole_of(*said) : 0;
  }

 private:
  const Json* attributes_ = nullptr;
};

std::optional<std::string_view> element_type(const Json* said) {
  constexpr std::array types{std::pair{"DT_FLOAT", "float32"},  std::pair{"DT_HALF", "float16"},
                             std::pair{"DT_DOUBLE", "float64"}, std::pair{"DT_INT32", "int32"},
                             std::pair{"DT_INT64", "int64"},    std::pair{"DT_BOOL", "bool"},
                             std::pair{"DT_UINT8", "uint8"},    std::pair{"DT_INT8", "int8"}};
  for (const auto& [word, name] : types)
    if (said && *said == word) return name;
  return std::nullopt;
}

// x[...] of lists of bounds and bit masks.
Result<Json> slice_spec(const Json& begin, const Json& end, const Json& strides, const NodeAttributes& attributes) {
  if (!begin.is_array() || !end.is_array() || !strides.is_array() || begin.size() != end.size() ||
      begin.size() != strides.size() || begin.size() > 16)
    return fail(Fault::Unsupported, "slices by bounds that are computed");
  Json spec = Json::array();
  for (std::size_t i = 0; i < begin.size(); ++i) {
    const auto is_set = [&](const char* mask) { return (attributes.whole(mask) >> i & 1) != 0; };
    if (is_set("new_axis_mask")) return fail(Fault::Unsupported, "slices with a new axis");
    if (is_set("ellipsis_mask")) spec.push_back({{"class_name", "__ellipsis__"}});
    else if (is_set("shrink_axis_mask")) spec.push_back(begin[i]);
    else
      spec.push_back({{"start", is_set("begin_mask") ? Json() : begin[i]},
                      {"stop", is_set("end_mask") ? Json() : end[i]},
                      {"step", strides[i]}});
  }
  return spec;
}

// Files of Keras 3's form keep arrays with their types.
const Json& plain_constant(const Json& constant) {
  const bool is_array = constant.is_object() && constant.contains("config") && constant["config"].is_object() &&
                        constant["config"].contains("value");
  return is_array ? constant["config"]["value"] : constant;
}

Status add_attributes(FunctionOfNode& made, std::string_view op, const NodeAttributes& attributes) {
  Json& named = made.kwargs;
  if (made.function.starts_with("math.reduce_")) named["keepdims"] = attributes.truth("keep_dims");
  if (op == "Cast") {
    const auto dtype = element_type(attributes.value("DstT", "type"));
    if (!dtype) return fail(Fault::Unsupported, "casts to a type that this version does not carry");
    named["dtype"] = std::string(*dtype);
  }
  if (op == "Squeeze") {
    const Json* list = attributes.value("squeeze_dims", "list");
    Json axes = Json::array();
    if (list && list->contains("i") && (*list)["i"].is_array())
      for (const Json& axis : (*list)["i"]) axes.push_back(NodeAttributes::whole_of(axis));
    if (!axes.empty()) named["axis"] = std::move(axes);
  }
  if (op == "Pack") named["axis"] = attributes.whole("axis");
  if (op == "MirrorPad") {
    const Json* mode = attributes.value("mode", "s");
    const bool reflects = mode && *mode == "UkVGTEVDVA==", mirrors = mode && *mode == "U1lNTUVUUklD";  // base64
    if (!reflects && !mirrors) return fail(Fault::Format, "has no mode of padding");
    named["mode"] = reflects ? "REFLECT" : "SYMMETRIC";
  }
  if (op == "MatMul" || op == "BatchMatMulV2")
    for (const auto& [side, plain, batched] :
         {std::tuple{"a", "transpose_a", "adj_x"}, std::tuple{"b", "transpose_b", "adj_y"}})
      named[std::string("transpose_") + side] = attributes.truth(op == "MatMul" ? plain : batched);
  if (op.starts_with("Resize")) {
    if (!attributes.truth("half_pixel_centers") || attributes.truth("align_corners"))
      return fail(Fault::Unsupported, "resizes as TensorFlow 1 does, without half-pixel centres or by the corners");
    named["method"] = op == "ResizeBilinear" ? "bilinear" : "nearest";
  }
  if (op == "StridedSlice") {
    auto spec = slice_spec(named["begin"], named["end"], named["strides"], attributes);
    if (!spec) return pass(spec);
    made.args.push_back(named["x"]);
    named = Json{{"slice_spec", *std::move(spec)}};
  }
  return {};
}

}  // namespace

Result<FunctionOfNode> function_of_node(const Layer& layer, const LayerCall& call) {
  const Json nothing = Json::object();
  const Json& config = layer.config && layer.config->is_object() ? *layer.config : nothing;
  const auto node = config.find("node_def");
  if (node == config.end() || !node->is_object())
    return fail(Fault::Unsupported, "keeps its node in a binary form; save the model with TensorFlow 2.2 or later");
  const auto op = node->find("op");
  const auto row =
      std::ranges::find_if(node_rows, [&](const NodeRow& one) { return op != node->end() && *op == one.op; });
  if (row == node_rows.end())
    return fail(Fault::Unsupported,
                "is TensorFlow's operator '" + (op != node->end() && op->is_string() ? op->get<std::string>() : "") +
                    "', which this version does not carry as a layer; cut the model before it with --outputs");
  const auto constants = config.find("constants");
  const Json& known = constants != config.end() && constants->is_object() ? *constants : nothing;
  Json inputs = Json::array();
  const std::size_t count = call.tensors.size() + known.size();
  for (std::size_t i = 0, tensor = 0; i < count; ++i) {
    const auto constant = known.find(std::to_string(i));
    if (constant != known.end()) inputs.push_back(plain_constant(*constant));
    else if (tensor < call.tensors.size()) inputs.push_back({{"$tensor", tensor++}});
  }
  const auto names = words_in(row->inputs);
  const bool takes_several = names.front().ends_with("...");
  if (inputs.size() != count || (takes_several ? count < names.size() : count != names.size()))
    return fail(Fault::Format, "has " + std::to_string(count) + " inputs, expected " + std::to_string(names.size()));
  FunctionOfNode made{std::string(row->function), Json::array(), Json::object()};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t behind = names.size() - 1 - i;
    if (i == 0 && takes_several)
      made.kwargs["values"] = Json(inputs.begin(), inputs.end() - static_cast<std::ptrdiff_t>(behind));
    else made.kwargs[std::string(names[i])] = inputs[count - 1 - behind];
  }
  if (auto added = add_attributes(made, row->op, NodeAttributes(*node)); !added) return pass(added);
  return made;
}

}  // namespace convoy::keras
