// convoy pad --about torch: one framework's padding on a page.
#include "cli/output.h"
#include "cli/pad.h"
#include "explain/about.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>

namespace convoy::cli {

int pad_about(const PadOptions& words) {
  const auto page = explain::about(words.about);
  if (!page) return report(page.error());
  if (words.json) print_json(explain::json_of(*page));
  else print("{}", explain::text_of(*page));
  return Done;
}

}  // namespace convoy::cli
