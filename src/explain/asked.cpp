#include "explain/asked.h"

#include <algorithm>

namespace convoy::explain {

Result<Channels> channels_of(const Asked& asked, std::string_view argument, Channels otherwise) {
  const python::Expression* value = asked.arguments.find(argument);
  if (!value || value->kind == python::Kind::None) return otherwise;
  if (value->kind == python::Kind::Name || value->kind == python::Kind::Opaque || value->kind == python::Kind::Call ||
      value->kind == python::Kind::Subscript || value->kind == python::Kind::Attribute)
    return Channels{{}, asked.arguments.source(*value)};
  constexpr Size most = Size{1} << 24;
  if (value->kind != python::Kind::Integer || value->integer < 1 || value->integer > most)
    return fail(Fault::Usage, std::string(argument) + " is " + asked.arguments.source(*value) +
                                  ", expected a whole number from 1 to " + std::to_string(most));
  return Channels{value->integer, {}};
}

Result<std::vector<Dim>> sizes_for(const Question& question, std::size_t axes) {
  if (question.size.empty()) return std::vector<Dim>(axes);
  if (question.size.size() == 1) return std::vector<Dim>(axes, question.size[0]);
  if (question.size.size() != axes)
    return fail(Fault::Usage, "--size has " + std::to_string(question.size.size()) + " numbers, this layer reads " +
                                  std::to_string(axes) + (axes == 1 ? " spatial axis" : " spatial axes"));
  return question.size;
}

Result<Sizes> kernel_for(const Question& question, std::size_t axes) {
  if (question.kernel.empty())
    return fail(Fault::Usage,
                "the call does not say how large its kernel is; add --kernel " + std::string(axes == 1   ? "3"
                                                                                             : axes == 2 ? "3x3"
                                                                                                         : "3x3x3"));
  if (question.kernel.size() == 1) return Sizes(axes, question.kernel[0]);
  if (question.kernel.size() != axes)
    return fail(Fault::Usage, "--kernel has " + std::to_string(question.kernel.size()) + " numbers, this layer has " +
                                  std::to_string(axes) + (axes == 1 ? " spatial axis" : " spatial axes"));
  return question.kernel;
}

Result<std::optional<Order>> order_for(const Question& question, std::size_t axes) {
  const std::string& word = question.layout;
  if (word.empty()) return std::nullopt;
  const std::string space = axes == 1 ? "W" : axes == 2 ? "HW" : "DHW";
  if (word == "channels_last" || word == "N" + space + "C") return Order::ChannelsLast;
  if (word == "channels_first" || word == "NC" + space) return Order::ChannelsFirst;
  return fail(Fault::Usage, "--layout is '" + word + "', expected NC" + space + " or N" + space + "C");
}

void note_inner(const Asked& asked, const python::Expression& inner, Spoken& spoken) {
  spoken.notes.push_back("the input is what " + asked.arguments.source(inner) + " gives, and the size is its size");
}

Result<ValueId> padded_input(const Asked& asked, std::string_view argument, std::span<const FunctionRow> rows,
                             Spoken& spoken, ValueId x) {
  const python::Expression* inner = asked.arguments.find(argument);
  if (!inner || inner->kind != python::Kind::Call || inner->base[0].kind != python::Kind::Name) return x;
  const auto named = resolve(inner->base[0].text, inner->arguments);
  if (!named || named->framework != asked.named.framework || named->function != "pad") {
    note_inner(asked, *inner, spoken);
    return x;
  }
  auto arguments = within("pad", Arguments::bind(*named, inner->arguments, asked.arguments.text()));
  if (!arguments) return pass(arguments);
  const std::string tensor = named->framework == Framework::TensorFlow ? "tensor" : "input";
  auto json = within("pad", arguments->json({tensor, "name"}));
  if (!json) return pass(json);
  auto made = within("pad", call_function(rows, spoken.graph, "pad", *json, {{tensor, x}}, asked.named.function));
  if (!made) return pass(made);
  return made->front();
}

TensorType input_type(Order order, Size channels, const std::vector<Dim>& sizes) {
  Shape shape{Dim::unknown()};
  if (order == Order::ChannelsFirst) shape.emplace_back(channels);
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  if (order == Order::ChannelsLast) shape.emplace_back(channels);
  return {DType::F32, std::move(shape)};
}

std::optional<std::size_t> axes_in(std::string_view name) {
  for (std::size_t i = 0; i + 1 < name.size(); ++i)
    if (name[i] >= '1' && name[i] <= '3' && (name[i + 1] == 'd' || name[i + 1] == 'D'))
      return static_cast<std::size_t>(name[i] - '0');
  return std::nullopt;
}

}  // namespace convoy::explain
