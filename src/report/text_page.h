// A report in text as a page that needs nothing from elsewhere, for who shows it in a browser or a mail.
#pragma once
#include <string>
#include <string_view>

namespace convoy {

// Whatever comes from files stands as text and is never markup. `drawing` is SVG of our own, or empty.
std::string text_page(std::string_view title, std::string_view text, std::string_view drawing = {});

}  // namespace convoy
