#include "formats/pasted.h"

#include <algorithm>
#include <utility>

namespace convoy::python {
namespace {

constexpr std::size_t longest_inside = 90;
constexpr int most_calls_inside = 2;

}  // namespace

// Nobody reads what x holds any more: not the operator that is being written, and no expression that waits.
bool Pasted::is_x_free() const {
  const auto is_live = [&](const auto& named) {
    return named.second == "x" && reads_.contains(named.first) && reads_.at(named.first) > 0;
  };
  return !has_read_ && pending_.empty() && std::ranges::none_of(names_of_, is_live);
}

void Pasted::line(const Pending& pending, const std::string& name) {
  const bool is_applied = !pending.layer.empty() && name == "x";
  lines_.push_back(is_applied ? pending.layer : name + " = " + pending.e.text);
}

void Pasted::assign(std::size_t value) {
  const Pending pending = pending_.extract(value).mapped();
  const std::string name = is_x_free() ? "x" : names_.take("y");
  line(pending, name);
  names_of_[value] = name;
}

Expression Pasted::read(std::size_t value, bool named) {
  if (const auto at = pending_.find(value); at != pending_.end()) {
    const Expression& e = at->second.e;
    const bool is_short = e.text.size() <= longest_inside && e.calls <= most_calls_inside;
    if (!named && reads_[value] == 1 && is_short) {
      reads_[value] = 0;
      has_read_ = true;
      return pending_.extract(at).mapped().e;
    }
    assign(value);
  }
  --reads_[value];
  has_read_ = true;
  return {names_of_[value], Binds::Atom, 0, true, {}};
}

void Pasted::made(std::size_t value, Expression e, std::string layer) {
  if (layer.empty() || e.text != layer + "(x)") layer.clear();
  pending_.insert_or_assign(value, Pending{std::move(e), std::move(layer)});
  has_read_ = false;
  if (reads_[value] > 1) assign(value);
}

std::vector<std::string> Pasted::lines(std::size_t value) {
  if (const auto at = pending_.find(value); at != pending_.end()) {
    if (lines_.empty()) return {at->second.layer.empty() ? at->second.e.text : at->second.layer};
    line(pending_.extract(at).mapped(), "x");
  }
  return std::move(lines_);
}

}  // namespace convoy::python
