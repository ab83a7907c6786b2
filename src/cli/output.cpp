#include "cli/output.h"

#include "base/shown.h"

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <unistd.h>
#include <cstdio>

namespace convoy::cli {
namespace {

void write(std::FILE* stream, std::string_view text) {
  // What is not taken marks the stream, and ferror() tells.
  [[maybe_unused]] const auto written = std::fwrite(text.data(), 1, text.size(), stream);
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

void print_json(const nlohmann::ordered_json& json) {
  write(stdout, json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

bool results_arrived() { return arrived(stdout); }
bool messages_arrived() { return arrived(stderr); }

}  // namespace convoy::cli
