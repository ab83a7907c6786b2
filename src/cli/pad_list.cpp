// convoy pad 'F.pad(x, (1, 2, 3, 4))': a list of cells in every framework's order.
#include "explain/pad_list.h"
#include "cli/output.h"
#include "cli/pad.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>

namespace convoy::cli {

std::optional<Result<explain::PadList>> pad_list_of(const PadOptions& words) {
  const auto call = python::parse_expression(words.layer);
  if (!call || call->kind != python::Kind::Call || call->base.front().kind != python::Kind::Name ||
      !explain::is_pad_list(call->base.front().text))
    return std::nullopt;
  if (!words.svg.empty()) return fail(Fault::Usage, "--svg draws the windows of a layer, and this is a list of cells");
  std::vector<std::optional<Size>> size;
  if (!words.size.empty()) {
    auto numbers = numbers_of_option(words.size, "--size");
    if (!numbers) return pass(numbers);
    for (const auto& n : *numbers)
      if (n && *n < 1) return fail(Fault::Usage, fmt::format("--size: {} is no size; sizes begin at 1", *n));
    size = std::move(*numbers);
  }
  return explain::read_pad_list(*call, words.layout, size);
}

std::optional<int> pad_list(const PadOptions& words) {
  const auto list = pad_list_of(words);
  if (!list) return std::nullopt;
  if (!*list) return report(list->error());
  if (words.json) print_json(explain::json_of(**list));
  else print("{}", explain::text_of(**list));
  return Done;
}

}  // namespace convoy::cli
