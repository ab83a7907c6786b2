#include "report/table.h"

#include "base/shown.h"

#include <algorithm>
#include <cmath>

namespace convoy {
namespace {

// Code points, not bytes: layer names may hold any letter.
std::size_t width(const std::string& s) {
  return static_cast<std::size_t>(std::count_if(s.begin(), s.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

void Table::row(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = shown(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths(align_.size(), 0);
  for (const auto& cells : rows_)
    for (std::size_t i = 0; i < cells.size() && i < widths.size(); ++i)
      widths[i] = std::max(widths[i], width(cells[i]));
  std::string all;
  for (const auto& cells : rows_) {
    std::string line = " ";
    for (std::size_t i = 0; i < cells.size() && i < widths.size(); ++i) {
      const std::string fill(widths[i] - width(cells[i]), ' ');
      line += i == 0 ? " " : "  ";
      line += align_[i] == 'r' ? fill + cells[i] : cells[i] + fill;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    all += line + "\n";
  }
  return all;
}

double finite(double value) { return std::isfinite(value) ? value : 1e30; }

std::string with_commas(long long n) {
  std::string digits = std::to_string(n);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (n < 0 ? 1 : 0); at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

}  // namespace convoy
