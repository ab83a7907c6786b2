// PyTorch's functions and layers: the row of torch.nn.functional or torch.nn, with a weight that fits the call.
#include "explain/asked.h"
#include "formats/torch/catalogue/catalogue.h"

#include <algorithm>

namespace convoy::explain {
namespace {

using python::Kind;

struct Weights {
  Channels channels{{}, "c"}, filters{{}, "filters"};
  Size groups = 1;
  bool depthwise = false, bias = false;
  Sizes kernel;
};

// groups=c beside in_channels=c is a depthwise layer, whatever c is.
Result<Weights> weights_of(const Asked& asked, const Question& question, std::size_t axes) {
  const bool layer = asked.named.function[0] == 'C';
  Weights w;
  if (question.channels) w.channels.number = *question.channels;
  auto in = channels_of(asked, "in_channels", w.channels), out = channels_of(asked, "out_channels", w.filters),
       groups = channels_of(asked, "groups", Channels{1, {}});
  for (auto* one : {&in, &out, &groups})
    if (!*one) return pass(*one);
  w.channels = *in;
  w.filters = *out;
  if (groups->number) {
    w.groups = *groups->number;
    w.depthwise = w.groups > 1 && w.channels.number == w.groups;
  } else if (!w.channels.number && (!layer || groups->name == w.channels.name)) {
    w.depthwise = true;
    w.channels.name = groups->name;
    // As many filters as channels, where nothing else is said.
    if (!layer) w.filters = w.channels;
  } else {
    return fail(Fault::Usage, "argument 'groups' is '" + groups->name + "', which is not evaluated; write the number");
  }
  if (layer) {
    const python::Expression* kernel = asked.arguments.find("kernel_size");
    if (!kernel) return fail(Fault::Usage, "argument 'kernel_size' is missing");
    auto numbers = within("argument 'kernel_size'", json_of(*kernel, asked.arguments.text()));
    if (!numbers)
      return fail(Fault::Usage, "argument 'kernel_size' is '" + asked.arguments.source(*kernel) +
                                    "', which is not evaluated; write the number");
    Json object = Json::object();
    object["kernel_size"] = std::move(*numbers);
    Attrs attrs(object);
    w.kernel = attrs.sizes("kernel_size", axes);
    if (auto s = attrs.done(); !s) return pass(s);
  } else {
    auto kernel = kernel_for(question, axes);
    if (!kernel) return pass(kernel);
    w.kernel = *kernel;
  }
  const python::Expression* bias = asked.arguments.find("bias");
  w.bias = layer ? !(bias && bias->kind == Kind::Truth && !bias->truth) : bias && bias->kind != Kind::None;
  return w;
}

Size number_or(const Channels& channels, Size otherwise) { return channels.number.value_or(otherwise); }

}  // namespace

Result<Spoken> ask_torch(const Asked& asked, const Question& question) {
  const std::string& name = asked.named.function;
  const auto axes = axes_in(name);
  if (!axes) return fail(Fault::Unsupported, "has no windows");
  auto sizes = sizes_for(question, *axes);
  if (!sizes) return pass(sizes);
  auto order = order_for(question, *axes);
  if (!order) return pass(order);
  if (*order == Order::ChannelsLast)
    return fail(Fault::Usage, "PyTorch's layers read channels first; leave out --layout");
  const bool convolves = name.starts_with("conv") || name.starts_with("Conv");
  const bool transposes = convolves && name.find("ranspose") != std::string::npos;
  if (!convolves && !question.kernel.empty()) return fail(Fault::Usage, "--kernel: the call says its own");
  auto json =
      asked.arguments.json({"input", "weight", "bias", "in_channels", "out_channels", "groups", "device", "dtype"});
  if (!json) return pass(json);
  if (asked.output_size) {
    auto size = json_of(*asked.output_size, asked.arguments.text());
    if (!size) return fail(Fault::Usage, "output_size is not evaluated; write its numbers");
    (*json)["output_size"] = std::move(*size);
  }
  Spoken spoken;
  TensorArguments tensors;
  Size channels = question.channels.value_or(1);
  if (convolves) {
    auto w = weights_of(asked, question, *axes);
    if (!w) return pass(w);
    channels = number_or(w->channels, w->groups);
    const Size filters = number_or(w->filters, w->groups);
    if (channels % w->groups != 0 || filters % w->groups != 0)
      return fail(Fault::Usage, "groups is " + std::to_string(w->groups) + ", which does not divide " +
                                    std::to_string(channels) + " and " + std::to_string(filters) + " channels");
    (*json)["groups"] = w->groups;
    Shape shape = transposes ? Shape{channels, filters / w->groups} : Shape{filters, channels / w->groups};
    shape.insert(shape.end(), w->kernel.begin(), w->kernel.end());
    if (name[0] == 'C') {
      (*json)["in_channels"] = channels;
      (*json)["out_channels"] = filters;
      (*json)["bias"] = w->bias;
    }
    tensors.emplace("weight", spoken.graph.input("w", {DType::F32, std::move(shape)}));
    if (w->bias) tensors.emplace("bias", spoken.graph.input("b", {DType::F32, {filters}}));
    spoken.channels = w->channels;
    spoken.filters = w->filters;
    spoken.depthwise = w->depthwise;
  } else if (question.channels) {
    spoken.channels = {*question.channels, {}};
  }
  const ValueId x = spoken.graph.input("x", input_type(Order::ChannelsFirst, channels, *sizes));
  const auto input = padded_input(asked, "input", torch::functions(), spoken, x);
  if (!input) return std::unexpected(input.error());
  tensors.emplace("input", *input);
  auto made = call_function(torch::functions(), spoken.graph, name, *json, std::move(tensors), name);
  if (!made) return pass(made);
  spoken.graph.outputs = *made;
  return spoken;
}

}  // namespace convoy::explain
