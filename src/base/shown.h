// Texts that come out of files, as a terminal may get them: what would steer it is written out.
#pragma once
#include <string>
#include <string_view>

namespace convoy {

// Control characters, ends of lines, bytes that are no UTF-8, and characters that turn the direction of text, as
// "\n", "\x1b", "\u202e". Everything else as it is.
std::string shown(std::string_view text);
// The same, but ends of lines stay.
std::string shown_lines(std::string_view text);
// The same, but an end of a line stays only where the next line is indented: a sentence with a line of source below it.
std::string shown_sentence(std::string_view text);
// The text with U+FFFD for every byte that is no UTF-8: for formats whose names have to be.
std::string as_utf8(std::string_view text);
// Whether all of it is UTF-8.
bool is_utf8(std::string_view text);

}  // namespace convoy
