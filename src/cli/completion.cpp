// convoy completion: what a shell completes and the manual page says, made from the same description as --help.
#include "cli/command.h"
#include "cli/output.h"

#include <fmt/format.h>

#include <memory>

namespace convoy::cli {
namespace {

struct OptionNames {
  std::vector<std::string> names;  // "--output", "-o"
  std::string description;
  bool takes_value = false;
  std::vector<std::string> choices;
};
struct CommandNames {
  std::string name, description;
  std::vector<std::string> arguments;
  std::vector<OptionNames> options;
};

// "TEXT:{source,target}"
std::vector<std::string> choices_in(const std::string& type) {
  const auto from = type.find('{'), to = type.find('}');
  if (from == std::string::npos || to == std::string::npos || to < from) return {};
  return split(type.substr(from + 1, to - from - 1), ',');
}

std::vector<OptionNames> options_in(const CLI::App& app) {
  std::vector<OptionNames> all;
  for (const CLI::Option* option : app.get_options()) {
    OptionNames words{
        {}, option->get_description(), option->get_expected_max() > 0, choices_in(option->get_type_name())};
    for (const std::string& name : option->get_lnames()) words.names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) words.names.push_back("-" + name);
    if (!words.names.empty()) all.push_back(std::move(words));
  }
  return all;
}

std::vector<CommandNames> commands_in(const CLI::App& app) {
  std::vector<CommandNames> all;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    CommandNames words{command->get_name(), command->get_description(), {}, options_in(*command)};
    for (const CLI::Option* option : command->get_options())
      if (option->get_positional())
        words.arguments.push_back(option->get_required() ? option->get_name() : "[" + option->get_name() + "]");
    all.push_back(std::move(words));
  }
  return all;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : " ") + word;
  return all;
}

// With a backslash before each of these.
std::string escaped(const std::string& text, std::string_view marks) {
  std::string all;
  for (const char c : text) {
    if (marks.find(c) != marks.npos) all += '\\';
    all += c;
  }
  return all;
}

// Between single quotes of a shell.
std::string in_quotes(const std::string& text, std::string_view quote) {
  std::string all;
  for (const char c : text) all += c == '\'' ? std::string(quote) : std::string(1, c);
  return "'" + all + "'";
}

std::string all_names(const std::vector<OptionNames>& options) {
  std::vector<std::string> names;
  for (const OptionNames& option : options) names.insert(names.end(), option.names.begin(), option.names.end());
  return joined(names);
}

std::string for_bash(const CLI::App& app) {
  const auto commands = commands_in(app);
  std::vector<std::string> names;
  std::string options, choices;
  for (const CommandNames& command : commands) {
    names.push_back(command.name);
    options += fmt::format("    {}) options=\"{}\" ;;\n", command.name, all_names(command.options));
    for (const OptionNames& option : command.options)
      for (const std::string& name : option.choices.empty() ? std::vector<std::string>{} : option.names)
        choices += fmt::format("    {}:{}) choices=\"{}\" ;;\n", command.name, name, joined(option.choices));
  }
  return "# Completion of convoy in bash, made by `convoy completion bash`.\n"
         "_convoy() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]} command= options= choices= i\n"
         "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
         "    [[ ${COMP_WORDS[i]} == -* ]] || { command=${COMP_WORDS[i]}; break; }\n"
         "  done\n"
         "  case $command in\n"
         "    '') options=\"" +
         joined(names) + " " + all_names(options_in(app)) + "\" ;;\n" + options +
         "  esac\n"
         "  case $command:$last in\n" +
         choices +
         "  esac\n"
         "  if [[ -n $choices ]]; then COMPREPLY=($(compgen -W \"$choices\" -- \"$word\"))\n"
         "  elif [[ -z $command || $word == -* ]]; then COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
         "  else COMPREPLY=($(compgen -f -- \"$word\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _convoy convoy\n";
}

std::string for_zsh(const CLI::App& app) {
  const auto quoted = [](const std::string& text) { return in_quotes(text, "'\\''"); };
  const auto specification = [&](const OptionNames& option, const std::string& name) {
    std::string text = name + (option.takes_value && name.starts_with("--") ? "=" : "");
    text += "[" + escaped(first_line(option.description), "[]:\\") + "]";
    if (option.takes_value)
      text += option.choices.empty() ? ":value:_files" : ":value:(" + joined(option.choices) + ")";
    return quoted("*" + text);
  };
  std::string text =
      "#compdef convoy\n# Completion of convoy in zsh, made by `convoy completion zsh`.\n_convoy() {\n"
      "  local -a commands\n  commands=(\n";
  const auto commands = commands_in(app);
  for (const CommandNames& command : commands)
    text += "    " + quoted(command.name + ":" + escaped(first_line(command.description), ":\\")) + "\n";
  text += "  )\n  if ((CURRENT == 2)); then\n    _describe command commands\n    _arguments";
  for (const OptionNames& option : options_in(app))
    for (const std::string& name : option.names) text += " \\\n      " + specification(option, name);
  text += "\n    return\n  fi\n  local command=$words[2]\n  shift words\n  ((CURRENT--))\n  case $command in\n";
  for (const CommandNames& command : commands) {
    text += "    " + command.name + ")\n      _arguments";
    for (const OptionNames& option : command.options)
      for (const std::string& name : option.names) text += " \\\n        " + specification(option, name);
    text += " \\\n        '*:file:_files' ;;\n";
  }
  return text + "  esac\n}\n_convoy \"$@\"\n";
}

std::string for_fish(const CLI::App& app) {
  const auto quoted = [](const std::string& text) { return in_quotes(escaped(first_line(text), "\\"), "\\'"); };
  const auto line = [&](const OptionNames& option, const std::string& where) {
    std::string text = "complete -c convoy" + where;
    for (const std::string& name : option.names)
      text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (option.takes_value) text += option.choices.empty() ? " -r" : " -x -a '" + joined(option.choices) + "'";
    return text + " -d " + quoted(option.description) + "\n";
  };
  std::string text = "# Completion of convoy in fish, made by `convoy completion fish`.\n";
  for (const OptionNames& option : options_in(app)) text += line(option, " -n __fish_use_subcommand");
  for (const CommandNames& command : commands_in(app)) {
    text += "complete -c convoy -n __fish_use_subcommand -f -a " + command.name + " -d " + quoted(command.description) +
            "\n";
    for (const OptionNames& option : command.options)
      text += line(option, " -n '__fish_seen_subcommand_from " + command.name + "'");
  }
  return text;
}

// Text of a manual page: no line of it is a request, and minus signs stay.
std::string in_manual(const std::string& text) {
  std::string all;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (all.empty() || all.back() == '\n')) all += "\\&";
    if (c == '\\') all += "\\e";
    else if (c == '-') all += "\\-";
    else all += c;
  }
  return all;
}

std::string manual(const CLI::App& app) {
  const auto option_text = [](const OptionNames& option) {
    std::string names;
    for (const std::string& name : option.names) names += (names.empty() ? "" : ", ") + name;
    if (!option.choices.empty()) names += " {" + joined(option.choices) + "}";
    else if (option.takes_value) names += " VALUE";
    return ".TP\n.B " + in_manual(names) + "\n" + in_manual(option.description) + "\n";
  };
  std::string text = ".TH CONVOY 1 \"\" \"convoy " CONVOY_VERSION
                     "\" \"User Commands\"\n.SH NAME\nconvoy \\- carry "
                     "convolutional networks between frameworks, and prove it\n.SH SYNOPSIS\n.B convoy\nCOMMAND "
                     "[OPTION]... [FILE]...\n.SH DESCRIPTION\n.nf\n" +
                     in_manual(app.get_description()) + "\n.fi\n.SH OPTIONS\n";
  for (const OptionNames& option : options_in(app)) text += option_text(option);
  text += ".SH COMMANDS\n";
  for (const CommandNames& command : commands_in(app)) {
    text += ".SS " + in_manual("convoy " + command.name + " " + joined(command.arguments) + " [OPTION]...") +
            "\n.nf\n" + in_manual(command.description) + "\n.fi\n";
    for (const OptionNames& option : command.options) text += option_text(option);
  }
  return text + ".SH EXIT STATUS\n.nf\n" + in_manual(app.get_footer()) + "\n.fi\n";
}

}  // namespace

void offer_completion(CLI::App& app, int& code) {
  auto shell = std::make_shared<std::string>();
  auto* command = app.add_subcommand("completion",
                                     "what a shell needs to complete commands and options, or the manual page\n\n"
                                     "  source <(convoy completion bash)\n"
                                     "  convoy completion man >convoy.1\n\n"
                                     "cmake --install puts all of them where bash, zsh, fish and man look.");
  command->add_option("shell", *shell, "bash, zsh, fish or man")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish", "man"}));
  command->callback([shell, &app, &code] {
    print("{}", *shell == "bash"   ? for_bash(app)
                : *shell == "zsh"  ? for_zsh(app)
                : *shell == "fish" ? for_fish(app)
                                   : manual(app));
    code = Done;
  });
}

}  // namespace convoy::cli
