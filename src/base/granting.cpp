#include "convoy/granting.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

namespace convoy {
namespace {

thread_local std::optional<Size> granted;

}  // namespace

Granting::Granting(Size bytes) noexcept : before_(std::exchange(granted, std::clamp(bytes, Size{1}, Size{1} << 60))) {}
Granting::~Granting() { granted = before_; }

std::optional<Size> Granting::current() noexcept { return granted; }

Result<Size> memory_of(std::string_view words) {
  Size bytes = 0;
  const char* const last = words.data() + words.size();
  const auto [end, fault] = std::from_chars(words.data(), last, bytes);
  const std::string_view unit(end, last);
  const auto at = std::string_view("KMGT").find(unit.empty() ? '?' : unit[0]);
  const int shift = at == std::string_view::npos ? 0 : 10 * (static_cast<int>(at) + 1);
  const bool has_unit = shift > 0 && (unit.size() == 1 || unit.substr(1) == "B" || unit.substr(1) == "iB");
  if (fault != std::errc{} || bytes < 1 || bytes > (Size{1} << 55 >> shift) || !(unit.empty() || has_unit))
    return fail(Fault::Usage, "'" + std::string(words) + "' is no amount of memory; write such as 512M or 8G");
  return bytes << shift;
}

}  // namespace convoy
