// Columns that line up, for a terminal or a file.
#pragma once
#include <string>
#include <vector>

namespace convoy {

class Table {
 public:
  // `align` holds one letter per column: 'l' or 'r'.
  explicit Table(std::string align) : align_(std::move(align)) {}
  // What would steer a terminal is written out, ends of lines too.
  void row(std::vector<std::string> cells);
  // Each line indented by two spaces; widths are counted in code points, trailing spaces cut.
  std::string text() const;

 private:
  std::string align_;
  std::vector<std::vector<std::string>> rows_;
};

// JSON has no infinity.
double finite(double value);

// 38960 -> "38,960"
std::string with_commas(long long n);

}  // namespace convoy
