// ONNX's operators: attributes by keyword, the kernel's size from kernel_shape or --kernel. The newest rules are taken.
#include "explain/asked.h"
#include "formats/onnx/catalogue/catalogue.h"

#include <algorithm>

namespace convoy::explain {
namespace {

constexpr Size opset = 22;

// The number of spatial axes that the attributes speak of.
Result<std::size_t> axes_of(const Json& json, const Question& question) {
  for (const char* key : {"kernel_shape", "strides", "dilations", "output_padding", "output_shape"})
    if (const auto found = json.find(key); found != json.end() && found->is_array()) return found->size();
  if (const auto pads = json.find("pads"); pads != json.end() && pads->is_array()) return pads->size() / 2;
  if (question.kernel.size() > 1) return question.kernel.size();
  if (!question.size.empty()) return question.size.size();
  return fail(Fault::Usage, "nothing says how many spatial axes there are; add --kernel 3x3 or kernel_shape=[3, 3]");
}

}  // namespace

Result<Spoken> ask_onnx(const Asked& asked, const Question& question) {
  const std::string& name = asked.named.function;
  auto json = asked.arguments.json({"X", "W", "B", "x", "data"});
  if (!json) return pass(json);
  auto axes = axes_of(*json, question);
  if (!axes) return pass(axes);
  if (*axes < 1 || *axes > 3) return fail(Fault::Unsupported, "reads " + std::to_string(*axes) + " spatial axes");
  auto sizes = sizes_for(question, *axes);
  if (!sizes) return pass(sizes);
  auto order = order_for(question, *axes);
  if (!order) return pass(order);
  if (*order == Order::ChannelsLast) return fail(Fault::Usage, "ONNX reads channels first; leave out --layout");
  Spoken spoken;
  if (question.channels) spoken.channels.number = *question.channels;
  TensorArguments tensors;
  Size channels = question.channels.value_or(1);
  if (name.starts_with("Conv")) {
    Attrs attrs(*json);
    const Size groups = attrs.integer("group", 1);
    if (attrs.failed() || groups < 1 || groups > (Size{1} << 24))
      return fail(Fault::Usage, "attribute 'group' is no number of groups");
    Sizes kernel;
    if (attrs.has("kernel_shape")) {
      kernel = attrs.sizes("kernel_shape", *axes);
      if (attrs.failed())
        return fail(Fault::Usage, "attribute 'kernel_shape' is not " + std::to_string(*axes) + " numbers");
      if (!question.kernel.empty()) return fail(Fault::Usage, "--kernel: kernel_shape says it");
    } else {
      auto asked_for = kernel_for(question, *axes);
      if (!asked_for) return pass(asked_for);
      kernel = *asked_for;
    }
    channels = question.channels.value_or(groups);
    if (channels % groups != 0)
      return fail(Fault::Usage, "group is " + std::to_string(groups) + ", which does not divide " +
                                    std::to_string(channels) + " channels");
    const bool transposes = name == "ConvTranspose";
    Shape shape = transposes ? Shape{channels, 1} : Shape{groups, channels / groups};
    shape.insert(shape.end(), kernel.begin(), kernel.end());
    tensors.emplace("W", spoken.graph.input("w", {DType::F32, std::move(shape)}));
    spoken.depthwise = groups > 1 && question.channels == groups;
  }
  tensors.emplace(name == "Pad" ? "data" : "X",
                  spoken.graph.input("x", input_type(Order::ChannelsFirst, channels, *sizes)));
  auto made =
      call_function(onnx::functions(), spoken.graph, name, *json, std::move(tensors), name, {opset, asked.results});
  if (!made) return pass(made);
  spoken.graph.outputs = *made;
  return spoken;
}

}  // namespace convoy::explain
