#include "graph/text_line.h"

namespace convoy::text {

std::string Line::quoted() {
  std::string result;
  expect("\"");
  while (ok()) {
    if (at_ == text_.size()) return complain("the closing quote is missing"), result;
    char c = text_[at_++];
    if (c == '"') return result;
    if (c == '\\') {
      c = at_ < text_.size() ? text_[at_++] : ' ';
      if (c == 'n') c = '\n';
      else if (c == 'u') {
        int code = -1;
        const std::string_view digits = text_.substr(at_, 4);
        const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
        if (digits.size() != 4 || end.ptr != digits.data() + 4 || code < 0 || code > 0x7F) {
          complain("an escape in quotes that is not \\u0000 to \\u007f");
        }
        at_ += 4;
        c = static_cast<char>(code);
      } else if (c != '"' && c != '\\') complain("an escape in quotes that is not \\\", \\\\, \\n or \\u");
    }
    result += c;
  }
  return result;
}

}  // namespace convoy::text
