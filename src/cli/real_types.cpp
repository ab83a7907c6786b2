#include "cli/real_types.h"

#include "port/element_types.h"

#include <fmt/format.h>

#include <vector>

namespace convoy::cli {

void offer_real_types(CLI::App& command, std::optional<DType>& chosen, const std::string& sentence) {
  std::vector<CLI::Option*> flags;
  for (const DType dtype : real_types) {
    const std::string name(name_of(dtype));
    auto* flag = command.add_flag_callback(
        "--" + name, [&chosen, dtype] { chosen = dtype; }, fmt::format(fmt::runtime(sentence), name));
    for (CLI::Option* other : flags) flag->excludes(other);
    flags.push_back(flag);
  }
}

}  // namespace convoy::cli
