#include "cli/mistakes.h"

#include "base/nearest.h"
#include "base/shown.h"

#include <vector>

namespace convoy::cli {
namespace {

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

std::vector<std::string> options_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// Two dashes count for nothing: "-json" and "--jsn" are as far from "--json".
std::string nearest_option(const std::string& word, const std::vector<std::string>& names) {
  const auto bare = [](const std::string& name) {
    const auto at = name.find_first_not_of('-');
    return at == std::string::npos ? std::string() : name.substr(at);
  };
  std::vector<std::string> long_names, letters;
  for (const std::string& name : names)
    if (name.starts_with("--")) long_names.push_back(name), letters.push_back(bare(name));
  const auto place = nearest_place(bare(word), letters);
  return place ? long_names[*place] : std::string();
}

std::string unexpected_word(const CLI::App& command, const std::string& word) {
  if (!word.starts_with("-") || word == "-") return "there is no use for '" + shown(word) + "'";
  const std::string name = word.substr(0, word.find('='));
  const std::string near = nearest_option(name, options_of(command));
  return "there is no option '" + shown(name) + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?");
}

// The command that was called; the whole where none was.
const CLI::App& called(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  return commands.empty() ? app : *commands.front();
}

}  // namespace

std::string no_such_command(const CLI::App& app, const std::string& word) {
  return "there is no command '" + shown(word) + "'" + did_you_mean(word, commands_of(app)) +
         "\nconvoy --help shows all";
}

std::string wrong_command_line(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = called(app);
  const bool whole = &command == &app;
  std::string what = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error)) {
    const auto words = command.remaining();
    if (!words.empty()) what = unexpected_word(command, words.front());
  } else if (dynamic_cast<const CLI::RequiredError*>(&error)) {
    // Where a word is missing, an option that is none took it along.
    for (const std::string& word : command.remaining())
      if (word.size() > 1 && word.starts_with("-")) {
        what = unexpected_word(command, word);
        break;
      }
  }
  return (whole ? "" : command.get_name() + ": ") + what + "\nconvoy " + (whole ? "" : command.get_name() + " ") +
         "--help shows what there is";
}

}  // namespace convoy::cli
