// convoy pad 'F.pad(x, (1, 2, 3, 4))': a list of cells in every framework's order.
#include "explain/pad_list.h"
#include "cli/output.h"
#include "cli/pad.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>

namespace convoy::cli {

std::optional<int> pad_list(const PadWords& words) {
  const auto call = python::parse_expression(words.layer);
  if (!call || call->kind != python::Kind::Call || call->base.front().kind != python::Kind::Name ||
      !explain::is_pad_list(call->base.front().text))
    return std::nullopt;
  if (!words.svg.empty())
    return report({Fault::Usage, "--svg draws the windows of a layer, and this is a list of cells", {}});
  std::vector<std::optional<Size>> size;
  if (!words.size.empty()) {
    auto numbers = numbers_of_option(words.size, "--size");
    if (!numbers) return report(numbers.error());
    for (const auto& n : *numbers)
      if (n && *n < 1) return report({Fault::Usage, fmt::format("--size: {} is no size; sizes begin at 1", *n), {}});
    size = std::move(*numbers);
  }
  const auto list = explain::read_pad_list(*call, words.layout, size);
  if (!list) return report(list.error());
  if (words.json) print_json(explain::json_of(*list));
  else print("{}", explain::text_of(*list));
  return Done;
}

}  // namespace convoy::cli
