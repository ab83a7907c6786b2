#include "cli/real_types.h"

#include <fmt/format.h>

#include <array>

namespace convoy::cli {

namespace {

constexpr std::array offered{DType::F16, DType::BF16, DType::F32};

}  // namespace

void offer_real_types(CLI::App& command, std::string& chosen, const std::string& sentence) {
  std::vector<CLI::Option*> flags;
  for (const DType dtype : offered) {
    const std::string name(name_of(dtype));
    auto* flag = command.add_flag_callback(
        "--" + name, [&chosen, name] { chosen = name; }, fmt::format(fmt::runtime(sentence), name));
    for (CLI::Option* other : flags) flag->excludes(other);
    flags.push_back(flag);
  }
}

std::optional<DType> real_type_named(std::string_view name) {
  for (const DType dtype : offered)
    if (name == name_of(dtype)) return dtype;
  return std::nullopt;
}

}  // namespace convoy::cli
