// The command line: one subcommand per task, results on standard output, everything else on standard error.
#include "cli/command_line.h"

#include "base/budget.h"
#include "cli/command.h"
#include "cli/mistakes.h"
#include "cli/output.h"
#include "cli/signals.h"

#include <exception>
#include <new>
#include <string>

namespace {

constexpr const char* about =
    "convoy carries convolutional networks between frameworks so that the numbers agree, and proves it.\n"
    "\n"
    "  convoy port model.keras --to torch -o model.py     a Keras model as a PyTorch module, with proof\n"
    "  convoy diff model.keras port.pt2                   where two models part, why, and what to write instead\n"
    "  convoy diff --check model.proof.json               run the proof that port --report kept once more\n"
    "  convoy summary model.h5                            its layers, shapes and effective padding\n"
    "  convoy pad 'Conv2D(8, 3, strides=2, padding=\"same\")' --size 224x224      what a layer's padding does, "
    "everywhere\n"
    "  convoy run model.keras --input x.npy -o y.npy      run it without any framework\n"
    "  convoy weights model.h5                            its tensors: names, shapes, types, counts\n"
    "  convoy ops                                         which operator is carried where";

// An option that may be repeated takes one word each time: what follows is the command's own.
void one_word_each(CLI::App& command) {
  const auto is_repeated = [](const CLI::Option* option) {
    return !option->get_positional() && option->get_items_expected_max() > 1;
  };
  for (CLI::Option* option : command.get_options(is_repeated)) option->allow_extra_args(false);
}

// A variable of a script that holds nothing is no answer, except where nothing may be meant: arguments of a call.
void no_empty_words(CLI::App& command) {
  const auto takes_word = [](const CLI::Option* option) {
    return option->get_items_expected_max() > 0 && !option->check_lname("args");
  };
  for (CLI::Option* option : command.get_options(takes_word))
    option->check(CLI::Validator([](const std::string& word) { return word.empty() ? "is empty" : ""; }, "", ""));
}

int run(int argc, char** argv) {
  CLI::App app{about, "convoy"};
  app.set_version_flag("--version", "convoy " CONVOY_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done; 1 diff: they differ; 2 wrong command line; 3 not shown to be equal; 4 input or output; 5 "
      "broken file;\n"
      "6 understood but not supported, or over the budget; 70 a fault of convoy.");
  int code = convoy::cli::Done;
  convoy::cli::offer_port(app, code);
  convoy::cli::offer_diff(app, code);
  convoy::cli::offer_summary(app, code);
  convoy::cli::offer_run(app, code);
  convoy::cli::offer_bench(app, code);
  convoy::cli::offer_weights(app, code);
  convoy::cli::offer_pad(app, code);
  convoy::cli::offer_ops(app, code);
  convoy::cli::offer_completion(app, code);
  for (CLI::App* command : app.get_subcommands({})) one_word_each(*command), no_empty_words(*command);
  for (CLI::App* command : app.get_subcommands({}))
    if (!command->check_name("ops") && !command->check_name("completion")) convoy::cli::offer_budget(*command);
  if (argc < 2) {  // nothing was asked for, so nothing is done: help, and the exit code of a wrong command line
    convoy::cli::print("{}", app.help());
    return convoy::cli::BadCommandLine;
  }
  // CLI11 misses the command before it looks at a word that is none.
  const auto is_meant = [&](const CLI::App* command) { return command->check_name(argv[1]); };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(is_meant).empty()) {
    convoy::cli::say("convoy: {}\n", convoy::cli::no_such_command(app, argv[1]));
    return convoy::cli::BadCommandLine;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    app.exit(e);
    return convoy::cli::Done;
  } catch (const CLI::ParseError& e) {
    convoy::cli::say("convoy: {}\n", convoy::cli::wrong_command_line(app, e));
    return convoy::cli::BadCommandLine;
  }
  return code;
}

// What was said may still be on its way to a disk that is full, or to a reader who has gone.
int arrived(int code) {
  if (!convoy::cli::results_arrived())
    code = convoy::cli::report({convoy::Fault::Io, "standard output cannot be written", {}});
  return convoy::cli::messages_arrived() ? code : convoy::cli::InputOutput;
}

int attempt(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    const auto refusal = convoy::budget::refusal();
    return convoy::cli::report(
        refusal.value_or(convoy::Error{convoy::Fault::Budget, "the machine has not enough memory for this model", {}}));
  } catch (const std::exception& e) {
    return convoy::cli::report({convoy::Fault::Internal, std::string("stopped by: ") + e.what(), {}});
  }
}

}  // namespace

namespace convoy::cli {

int run_command_line(int argc, char** argv) {
  keep_streams_apart();
  install_signal_handlers();
  budget::begin();
  return arrived(attempt(argc, argv));
}

}  // namespace convoy::cli
