// src/report/page.html, put into the program when it is built.
#pragma once
#include <string_view>

namespace convoy {

std::string_view page_template();

}  // namespace convoy
