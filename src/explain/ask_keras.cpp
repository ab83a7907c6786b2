// Keras' layers: the arguments become the config that a file would hold, which the reader of Keras files reads.
#include "explain/asked.h"
#include "formats/keras/keras.h"

#include <algorithm>
#include <array>

namespace convoy::explain {
namespace {

using python::Expression;
using python::Kind;

// What says no word about windows.
constexpr std::array not_windows{
    "activation",        "name",       "trainable", "dtype",        "autocast", "input_shape", "batch_shape",
    "batch_input_shape", "batch_size", "input_dim", "input_length", "init",     "weights"};

bool silent(std::string_view name) {
  return std::ranges::find(not_windows, name) != not_windows.end() || name.ends_with("_initializer") ||
         name.ends_with("_regularizer") || name.ends_with("_constraint");
}

// input_shape=(28, 28, 1) says the size and the channels, where the command line does not.
void read_input_shape(const Asked& asked, std::size_t axes, Order order, std::vector<Dim>& sizes, Channels& channels) {
  const Expression* shape = asked.arguments.find("input_shape");
  std::size_t from = 0;
  if (!shape) {
    shape = asked.arguments.find("batch_input_shape");
    from = 1;
  }
  if (!shape || shape->items.size() != axes + 1 + from) return;
  const auto number = [&](std::size_t i) {
    const Expression& e = shape->items[i + from];
    return e.kind == Kind::Integer && e.integer > 0 ? Dim(e.integer) : Dim::unknown();
  };
  const bool first = order == Order::ChannelsFirst;
  if (!channels.number) channels.number = number(first ? 0 : axes).size();
  if (std::ranges::any_of(sizes, &Dim::known)) return;
  for (std::size_t i = 0; i < axes; ++i) sizes[i] = number(i + first);
}

}  // namespace

Result<Spoken> ask_keras(const Asked& asked, const Question& question) {
  const std::string& name = asked.named.function;
  const auto axes = axes_in(name);
  if (!axes) return fail(Fault::Unsupported, "has no windows");
  if (!question.kernel.empty()) return fail(Fault::Usage, "--kernel: the layer says its own");
  auto sizes = sizes_for(question, *axes);
  if (!sizes) return pass(sizes);
  auto order = order_for(question, *axes);
  if (!order) return pass(order);
  Json config = Json::object();
  Spoken spoken;
  if (question.channels) spoken.channels.number = *question.channels;
  for (const auto& [argument, value] : asked.arguments.all()) {
    if (silent(argument) || value->kind == Kind::None || argument == "filters" || argument == "nb_filter") continue;
    auto json = within("argument '" + argument + "'", json_of(*value, asked.arguments.text()));
    if (!json)
      return fail(Fault::Usage, "argument '" + argument + "' is '" + asked.arguments.source(*value) +
                                    "', which is not evaluated; write the number or word");
    config[argument] = std::move(*json);
  }
  const auto said = config.find("data_format"), old = config.find("dim_ordering");
  if (*order && said == config.end() && old == config.end())
    config["data_format"] = **order == Order::ChannelsFirst ? "channels_first" : "channels_last";
  const bool first = (said != config.end() && *said == "channels_first") || (old != config.end() && *old == "th") ||
                     (said == config.end() && old == config.end() && *order == Order::ChannelsFirst);
  const Order layout = first ? Order::ChannelsFirst : Order::ChannelsLast;
  read_input_shape(asked, *axes, layout, *sizes, spoken.channels);

  const auto groups = config.find("groups");
  const Size least = groups != config.end() && groups->is_number_integer() ? groups->get<Size>() : 1;
  if (least < 1 || least > (Size{1} << 24))
    return fail(Fault::Usage, "groups is " + std::to_string(least) + ", expected 1 or more");
  const bool filtered =
      name.starts_with("Conv") || name.starts_with("Sep") || name.starts_with("Atrous") || name.starts_with("Deconv");
  if (filtered) {
    auto filters =
        channels_of(asked, asked.arguments.has("nb_filter") ? "nb_filter" : "filters", Channels{{}, "filters"});
    if (!filters) return pass(filters);
    if (!asked.arguments.has("filters") && !asked.arguments.has("nb_filter"))
      return fail(Fault::Usage, "argument 'filters' is missing");
    spoken.filters = *filters;
    config["filters"] = filters->number.value_or(least);
  }
  spoken.depthwise = name.starts_with("Depthwise") || name.starts_with("Sep");
  const Size channels = spoken.channels.number.value_or(least);
  auto graph = keras::graph_of_layer(name, config, {input_type(layout, channels, *sizes)}, {});
  if (!graph) {
    graph.error().where.clear();  // the name of the layer, which the caller adds
    return pass(graph);
  }
  spoken.graph = std::move(*graph);
  return spoken;
}

}  // namespace convoy::explain
