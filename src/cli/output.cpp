#include "cli/output.h"

#include "base/shown.h"
#include "containers/json.h"

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace convoy::cli {
namespace {

void write(std::FILE* stream, std::string_view text) {
  // What is not taken marks the stream, and ferror() tells.
  [[maybe_unused]] const auto written = std::fwrite(text.data(), 1, text.size(), stream);
}

bool has_colours() {
  const char *const none = std::getenv("NO_COLOR"), *const terminal = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) != 0 && !(none && *none) && !(terminal && std::string_view(terminal) == "dumb");
}

bool arrived(std::FILE* stream) { return std::fflush(stream) == 0 && std::ferror(stream) == 0; }

}  // namespace

void keep_streams_apart() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) != -1) continue;
    // The lowest free number is this one. The wrong way round: reading and writing fail as on a closed one.
    [[maybe_unused]] const int opened = ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

void write_result(std::string_view text) { write(stdout, shown_lines(text)); }
void write_message(std::string_view text) { write(stderr, shown_lines(text)); }

std::size_t result_width() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) == 0 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

void write_table(std::string_view text, std::string_view heading) {
  const std::string lines = shown_lines(text);
  if (!has_colours()) return write(stdout, lines);
  std::string_view left = lines;
  while (!left.empty()) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    const std::string_view line = left.substr(0, end);
    const char* colour = line.starts_with(heading) ? "\x1b[1m" : line.find("(!)") != line.npos ? "\x1b[33m" : "";
    write(stdout, colour + std::string(line) + (*colour ? "\x1b[0m" : ""));
    if (end < left.size()) write(stdout, "\n");
    left.remove_prefix(std::min(end + 1, left.size()));
  }
}

void print_json(const nlohmann::ordered_json& json) { write(stdout, json_text(json, 1) + "\n"); }

bool results_arrived() { return arrived(stdout); }
bool messages_arrived() { return arrived(stderr); }

}  // namespace convoy::cli
