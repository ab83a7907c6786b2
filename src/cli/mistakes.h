// What is wrong in a command line, in one sentence, with what was meant where that can be told.
#pragma once
#include <CLI/CLI.hpp>

#include <string>

namespace convoy::cli {

// The first word names no command.
std::string no_such_command(const CLI::App& app, const std::string& word);
// What CLI11 found wrong, and the line that shows what there is.
std::string wrong_command_line(const CLI::App& app, const CLI::ParseError& error);

}  // namespace convoy::cli
