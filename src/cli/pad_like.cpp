// convoy pad --solve --like LAYER: which other words read the same cells.
#include "cli/output.h"
#include "cli/pad.h"
#include "explain/like.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>

namespace convoy::cli {

int pad_like(const PadOptions& words) {
  for (const auto& [given, option] : {std::pair{&words.in, "--in"},
                                      {&words.out, "--out"},
                                      {&words.stride, "--stride"},
                                      {&words.dilation, "--dilation"},
                                      {&words.layer, "a second layer"}})
    if (!given->empty())
      return report({Fault::Usage, fmt::format("{}: the layer of --like says it; --size is its input", option), {}});
  PadOptions asked = words;
  asked.layer = words.like;
  const auto all = explanations_of(asked);
  if (!all) return report(all.error());
  Json layers = Json::array();
  std::string text;
  for (const auto& one : *all) {
    const auto answer = explain::like(one.layer);
    if (!answer) return report(answer.error());
    if (words.json) layers.push_back(explain::json_of(*answer));
    else text += (text.empty() ? "" : "\n") + (one.name.empty() ? "" : one.name + "\n") + explain::text_of(*answer);
  }
  if (words.json) print_json(Json{{"schema", 1}, {"layers", std::move(layers)}});
  else print("{}", text);
  return Done;
}

}  // namespace convoy::cli
