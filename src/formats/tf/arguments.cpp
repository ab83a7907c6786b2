// The words of TensorFlow's arguments.
#include "formats/tf/arguments.h"

#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace convoy::tf {
namespace {

struct Format {
  std::string_view word;
  Axes axes;
};
constexpr std::array formats{Format{"NWC", {Order::ChannelsLast, 1}},   Format{"NCW", {Order::ChannelsFirst, 1}},
                             Format{"NHWC", {Order::ChannelsLast, 2}},  Format{"NCHW", {Order::ChannelsFirst, 2}},
                             Format{"NDHWC", {Order::ChannelsLast, 3}}, Format{"NCDHW", {Order::ChannelsFirst, 3}}};

void refuse_argument(FunctionCall& call, std::string_view argument, const std::string& what) {
  call.refuse(Fault::Format, "argument '" + std::string(argument) + "' " + what);
}

std::string counted(std::size_t count) { return "has " + std::to_string(count) + " numbers"; }

// The numbers of a list within a list as well; false where something else is among them.
bool collect(const Json& value, Sizes& all) {
  if (value.is_array()) return std::ranges::all_of(value, [&](const Json& one) { return collect(one, all); });
  if (!value.is_number_integer()) return false;
  all.push_back(value.get<Size>());
  return true;
}

}  // namespace

Axes axes_of(FunctionCall& call, Size space) {
  const std::string word = call.attrs.word("data_format", "");
  const Axes otherwise{Order::ChannelsLast, space};
  if (word.empty()) return otherwise;
  const auto found = std::ranges::find(formats, word, &Format::word);
  if (found != formats.end() && found->axes.space == space) return found->axes;
  refuse_argument(call, "data_format",
                  "is '" + word + "', which names no order of " + std::to_string(space) + " spatial axes");
  return otherwise;
}

Sizes per_axis(FunctionCall& call, std::string_view argument, const Axes& axes) {
  const auto space = static_cast<std::size_t>(axes.space);
  Sizes said = call.optional(argument) ? numbers(call, argument) : call.attrs.list(argument, Sizes{1});
  if (said.size() == 1 && space != 1) said.assign(space, said.front());
  if (said.size() == space + 2) {
    if (said[0] != 1 || at(said, axes.channel()) != 1)
      refuse_argument(call, argument, "is " + text_of(said) + ", which moves along batch or channels");
    Sizes spatial;
    for (Size i = 0; i < axes.space; ++i) spatial.push_back(at(said, axes.spatial(i)));
    said = spatial;
  }
  if (said.size() != space) {
    refuse_argument(
        call, argument,
        counted(said.size()) + ", expected 1, " + std::to_string(space) + " or " + std::to_string(space + 2));
    said.assign(space, 1);
  }
  if (std::ranges::any_of(said, [](Size n) { return n < 1; }))
    refuse_argument(call, argument, "is " + text_of(said) + ", expected positive numbers");
  return said;
}

Sizes spatial_only(FunctionCall& call, std::string_view argument, Size space) {
  const auto count = static_cast<std::size_t>(space);
  Sizes said = call.attrs.list(argument, Sizes(count, 1));
  if (said.size() != count) {
    refuse_argument(call, argument, counted(said.size()) + ", expected " + std::to_string(count));
    said.assign(count, 1);
  }
  if (std::ranges::any_of(said, [](Size n) { return n < 1; }))
    refuse_argument(call, argument, "is " + text_of(said) + ", expected positive numbers");
  return said;
}

Sizes numbers(FunctionCall& call, std::string_view argument) {
  if (const ValueId value = call.optional(argument)) {
    return call.known_integers(value, "argument '" + std::string(argument) + "'").value_or(Sizes{});
  }
  const Json* said = call.attrs.raw(argument);
  Sizes all;
  if (!said) refuse_argument(call, argument, "is missing");
  else if (!collect(*said, all)) refuse_argument(call, argument, "is not a list of whole numbers");
  return all;
}

std::vector<std::pair<Size, Size>> pairs(FunctionCall& call, std::string_view argument) {
  const Json* said = call.attrs.raw(argument);
  const bool in_pairs = !said || (said->is_array() && std::ranges::all_of(*said, [](const Json& pair) {
                                    return pair.is_array() && pair.size() == 2;
                                  }));
  const Sizes all = numbers(call, argument);
  if (!in_pairs || all.size() % 2 != 0) refuse_argument(call, argument, "is not a list of pairs");
  std::vector<std::pair<Size, Size>> result;
  for (std::size_t i = 0; i + 1 < all.size(); i += 2) result.emplace_back(all[i], all[i + 1]);
  return result;
}

std::vector<Padding> paddings_of(FunctionCall& call, const Axes& axes, bool lists) {
  std::vector<Padding> paddings(static_cast<std::size_t>(axes.space));
  const Json* said = call.attrs.raw("padding");
  if (!said || said->is_string()) {
    const std::string word = said ? said->get<std::string>() : "";
    if (word == "SAME") std::ranges::fill(paddings, Padding{Spelling::SameUpper});
    else if (word != "VALID")
      refuse_argument(call, "padding",
                      (said ? "is '" + word + "'" : std::string("is missing")) + ", expected 'SAME', 'VALID'" +
                          (lists ? " or a list of pairs" : ""));
    return paddings;
  }
  if (!lists) {
    refuse_argument(call, "padding", "is a list, which this function does not take: put tf.pad in front and use VALID");
    return paddings;
  }
  const auto each = pairs(call, "padding");
  if (static_cast<Size>(each.size()) != axes.rank()) {
    refuse_argument(call, "padding",
                    "has " + std::to_string(each.size()) + " pairs, expected " + std::to_string(axes.rank()) +
                        ", one for every axis");
    return paddings;
  }
  for (const auto& [before, after] : each)
    if (before < 0 || after < 0) refuse_argument(call, "padding", "holds a negative number");
  const std::pair<Size, Size> none;
  if (each[0] != none || each[static_cast<std::size_t>(axes.channel())] != none)
    refuse_argument(call, "padding", "pads batch or channels");
  for (Size i = 0; i < axes.space; ++i) {
    const auto& [before, after] = each[static_cast<std::size_t>(axes.spatial(i))];
    paddings[static_cast<std::size_t>(i)] = {Spelling::Explicit, before, after};
  }
  return paddings;
}

std::vector<Window> windows_of(const Sizes& kernel, const Sizes& stride, const Sizes& dilation) {
  std::vector<Window> windows;
  for (std::size_t i = 0; i < kernel.size(); ++i) windows.push_back({kernel[i], stride[i], dilation[i]});
  return windows;
}

Sizes kernel_of(FunctionCall& call, ValueId filters, Size space) {
  const Shape& shape = call.shape(filters);
  const auto sizes = sizes_of(shape);
  if (static_cast<Size>(shape.size()) == space + 2 && sizes) return {sizes->begin(), sizes->begin() + space};
  if (!call.failed())
    call.refuse(Fault::Format,
                "the kernel has shape " + text_of(shape) + ", expected " + std::to_string(space + 2) + " known sizes");
  return Sizes(static_cast<std::size_t>(space), 1);
}

Batches fold_batches(FunctionCall& call, ValueId x, const Axes& axes) {
  const Shape& shape = call.shape(x);
  const auto extra = static_cast<std::ptrdiff_t>(shape.size()) - axes.rank();
  if (extra <= 0 || call.failed()) return {x, {}};
  const auto sizes = sizes_of(shape);
  if (!sizes) {
    call.refuse(Fault::Unsupported, "the input has shape " + text_of(shape) + ", expected " +
                                        std::to_string(axes.rank()) + " axes where sizes are not known");
    return {x, {}};
  }
  Sizes folded{-1};
  folded.insert(folded.end(), sizes->begin() + extra + 1, sizes->end());
  return {call.add(Reshape{folded}, {x}), {sizes->begin(), sizes->begin() + extra + 1}};
}

ValueId unfold_batches(FunctionCall& call, ValueId y, const Batches& batches) {
  if (batches.sizes.empty() || call.failed()) return y;
  Sizes to = batches.sizes;
  for (std::size_t i = 1; i < call.shape(y).size(); ++i) to.push_back(*call.shape(y)[i]);
  return call.add(Reshape{to}, {y});
}

void require(FunctionCall& call, std::string_view argument) {
  if (!call.attrs.has(argument) && !call.optional(argument)) refuse_argument(call, argument, "is missing");
}

void ignore_name(FunctionCall& call) { call.attrs.ignore({"name"}); }

}  // namespace convoy::tf
