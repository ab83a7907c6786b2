#include "report/text_page.h"

namespace convoy {
namespace {

std::string as_html(std::string_view text) {
  std::string html;
  for (const char c : text) switch (c) {
      case '&': html += "&amp;"; break;
      case '<': html += "&lt;"; break;
      case '>': html += "&gt;"; break;
      case '"': html += "&quot;"; break;
      default: html += c;
    }
  return html;
}

}  // namespace

std::string text_page(std::string_view title, std::string_view text, std::string_view drawing) {
  std::string page =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>" +
      as_html(title) +
      "</title><style>:root{color-scheme:light dark}body{margin:1em}pre{overflow-x:auto;line-height:1.3}"
      "svg{max-width:100%;height:auto;background:#fff}</style></head><body>\n<pre>" +
      as_html(text) + "</pre>\n";
  if (!drawing.empty()) page += std::string(drawing) + "\n";
  return page + "</body></html>\n";
}

}  // namespace convoy
