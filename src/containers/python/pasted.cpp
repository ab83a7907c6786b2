#include "containers/python/pasted.h"

#include <cctype>
#include <vector>

namespace convoy::python {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// The length of ">>> ", "... ", "In [3]: " or "   ...: " at the front of a line; 0: there is none.
std::size_t prompt_in(std::string_view line) {
  for (const std::string_view mark : {">>>", "..."})
    if (line.starts_with(mark) && (line.size() == 3 || line[3] == ' ')) return std::min<std::size_t>(4, line.size());
  if (line.starts_with("In [")) {
    std::size_t at = 4;
    while (at < line.size() && is_digit(line[at])) ++at;
    if (at > 4 && line.substr(at).starts_with("]:")) return std::min(at + 3, line.size());
  }
  const std::size_t dots = line.find_first_not_of(' ');
  if (dots != std::string_view::npos && dots > 0 && line.substr(dots).starts_with("...:"))
    return std::min(dots + 5, line.size());
  return 0;
}

bool of_notebook(std::string_view line) {
  if (line.size() < 2) return false;
  return (line[0] == '!' || line[0] == '%') && (is_letter(line[1]) || line[1] == line[0]);
}

}  // namespace

std::string as_typed(std::string_view text) {
  const auto lines = lines_of(text);
  // A console's text begins with a prompt: a comment or a blank line may stand before it.
  bool console = false;
  for (const std::string_view line : lines) {
    if (line.empty() || line[0] == '#' || line == "\r") continue;
    console = prompt_in(line) > 0 && !line.starts_with("...");
    break;
  }
  std::string typed;
  typed.reserve(text.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t prompt = console ? prompt_in(lines[i]) : 0;
    const bool spoken = !console || prompt > 0;
    if (spoken && !of_notebook(lines[i].substr(prompt))) typed += lines[i].substr(prompt);
    if (i + 1 < lines.size() || text.ends_with('\n')) typed += '\n';
  }
  return typed;
}

}  // namespace convoy::python
