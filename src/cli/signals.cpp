#include "cli/signals.h"

#include "base/budget.h"
#include "base/temporaries.h"

#include <unistd.h>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>

namespace convoy::cli {
namespace {

void say(const char* sentence) {
  // Only what a signal handler may call.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, sentence, std::strlen(sentence));
}

extern "C" void on_interrupt(int signal) {
  if (remove_temporaries_of_this_process(signal)) ::_exit(128 + signal);
}

// A mapped model that somebody shortens while it is read ends here.
extern "C" void on_bus_error(int signal) {
  remove_temporaries_of_this_process(signal);
  say("convoy: a file became shorter while it was read\n");
  ::_exit(5);
}

// What is over the budget where nothing may fail, such as a destructor, still ends with its sentence.
[[noreturn]] void on_terminate() {
  if (const char* sentence = budget::refused()) {
    remove_temporaries_of_this_process(SIGABRT);
    say("convoy: ");
    say(sentence);
    say("\n");
    ::_exit(6);
  }
  std::abort();
}

}  // namespace

void install_signal_handlers() {
  std::set_terminate(on_terminate);
  struct sigaction action = {};
  sigemptyset(&action.sa_mask);
  action.sa_handler = on_interrupt;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = on_bus_error;
  ::sigaction(SIGBUS, &action, nullptr);
  // A full disk or a file size limit is an error that writing reports, not the end of the process.
  ::signal(SIGXFSZ, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);
}

}  // namespace convoy::cli
