// How a command says something: results on standard output, sentences on standard error. Nothing here throws: a stream that
// takes no more is remembered, and the program ends with an exit code of its own.
#pragma once
#include <fmt/format.h>
#include <nlohmann/json_fwd.hpp>

#include <string_view>

namespace convoy::cli {

// A closed stream gets a place that takes nothing: no file that is opened later may stand where messages go.
void keep_streams_apart();

// Control characters and bytes that are no text are written out ("\x1b"); ends of lines stay.
void write_result(std::string_view text);
void write_message(std::string_view text);

template <class... T>
void print(fmt::format_string<T...> format, T&&... parts) {
  write_result(fmt::format(format, std::forward<T>(parts)...));
}
template <class... T>
void say(fmt::format_string<T...> format, T&&... parts) {
  write_message(fmt::format(format, std::forward<T>(parts)...));
}
// The columns of the terminal that results go to; 0: they go elsewhere.
std::size_t result_width();
// The lines of a table; on a terminal, unless NO_COLOR is set, the one that begins with `heading` is bold and those that
// hold a mark "(!)" are yellow. Colour says nothing that the text does not.
void write_table(std::string_view text, std::string_view heading);

// One JSON object and the end of its line; bytes that are no text become the sign for that.
void print_json(const nlohmann::ordered_json& json);

// Writes out what still waits. False: something that was said did not arrive.
bool results_arrived();
bool messages_arrived();

}  // namespace convoy::cli
