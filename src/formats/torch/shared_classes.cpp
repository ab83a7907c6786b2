#include "formats/torch/shared_classes.h"

#include "base/fresh_names.h"
#include "formats/numbered_text.h"
#include "formats/python.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace convoy::torch {
namespace {

using python::statement;

constexpr std::string_view opening = "    def __init__(self) -> None:\n        super().__init__()\n";
constexpr std::string_view sequence = " = nn.Sequential(";
constexpr std::size_t fewest_counted = 3;  // equal blocks that a loop is shorter for

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

// A constructor's text around its whole numbers, and what follows it.
struct Constructor {
  python::Numbered text;
  std::string rest;  // forward and what follows
};

Constructor constructor_of(const std::string& body) {
  const std::size_t end = std::min(body.find("\n    def ", opening.size()), body.size());
  return {python::numbered(std::string_view(body).substr(opening.size(), end - opening.size()), {}, true),
          body.substr(end)};
}

struct Argument {
  std::string_view constructor;
  std::array<std::string_view, 3> names;
};
constexpr std::array arguments{
    Argument{"Conv", {"in_channels", "out_channels", "kernel_size"}},
    Argument{"Linear", {"in_features", "out_features", ""}},
    Argument{"BatchNorm", {"channels", "", ""}},
    Argument{"InstanceNorm", {"channels", "", ""}},
    Argument{"GroupNorm", {"groups", "channels", ""}},
    Argument{"LayerNorm", {"features", "", ""}},
    Argument{"PReLU", {"channels", "", ""}},
    Argument{"MaxPool", {"kernel_size", "stride", ""}},
    Argument{"AvgPool", {"kernel_size", "stride", ""}},
    Argument{"Dropout", {"rate", "", ""}},
    Argument{"Embedding", {"words", "features", ""}},
};

using Signatures = std::map<std::string, std::vector<std::string>>;  // of classes that take arguments already

// What the number behind this text is called where it stands.
std::string name_of_number(const std::string& before, const Signatures& known) {
  auto [keyword, constructor, place] = python::argument_behind(before);
  if (!keyword.empty()) return keyword;
  if (const auto own = known.find(constructor); own != known.end())
    return place < own->second.size() ? own->second[place] : "size";
  if (constructor.starts_with("nn.")) constructor.erase(0, 3);
  for (const Argument& one : arguments)
    if (constructor.starts_with(one.constructor) && place < one.names.size() && !one.names[place].empty())
      return std::string(one.names[place]);
  return "size";
}

// Every `Name()` in the text, where Name is no part of a longer word.
void replace_calls(std::string& text, const std::string& name, const std::string& by) {
  const std::string call = name + "()";
  for (std::size_t at = text.find(call); at != std::string::npos; at = text.find(call, at)) {
    if (at > 0 && in_word(text[at - 1])) {
      at += call.size();
      continue;
    }
    text.replace(at, call.size(), by);
    at += by.size();
  }
}

bool uses(const std::string& text, const std::string& name) {
  for (std::size_t at = text.find(name + "("); at != std::string::npos; at = text.find(name + "(", at + 1))
    if (at == 0 || !in_word(text[at - 1])) return true;
  return false;
}

std::string type_of(const std::vector<std::string>& values) {
  const auto tuple = [](const std::string& value) { return value.starts_with('('); };
  const auto real = [&](const std::string& value) {
    return value.find_first_of("\"(") == std::string::npos && value.find_first_of(".e") != std::string::npos;
  };
  const auto word = [](const std::string& value) { return value.starts_with('"'); };
  if (std::ranges::all_of(values, word)) return "str";
  if (std::ranges::any_of(values, word)) {
    std::vector<std::string> others;
    std::ranges::remove_copy_if(values, std::back_inserter(others), word);
    return type_of(others) + " | str";
  }
  if (std::ranges::any_of(values, real)) return "float";
  if (std::ranges::none_of(values, tuple)) return "int";
  std::string type = "tuple[int";
  for (const char c : *std::ranges::find_if(values, tuple)) type += c == ',' ? ", int" : "";
  return (std::ranges::all_of(values, tuple) ? "" : "int | ") + type + "]";
}

// Every `Name(` in the text, where Name is no part of a longer word.
void rename_uses(std::string& text, const std::string& name, const std::string& by) {
  const std::string call = name + "(";
  for (std::size_t at = text.find(call); at != std::string::npos; at = text.find(call, at)) {
    if (at > 0 && in_word(text[at - 1])) {
      at += call.size();
      continue;
    }
    text.replace(at, name.size(), by);
    at += by.size() + 1;
  }
}

// Classes that have become one leave gaps behind them: Block, Block4 are Block, Block2.
void number_anew(std::vector<ClassText>& classes, std::string& top) {
  std::set<std::string> taken;
  for (const ClassText& one : classes) taken.insert(one.name);
  for (ClassText& one : classes) {
    const std::size_t digits = one.name.find_last_not_of("0123456789") + 1;
    if (digits == one.name.size()) continue;
    const std::string stem = one.name.substr(0, digits);
    if (!taken.contains(stem)) continue;  // its number is part of its name
    taken.erase(one.name);
    const std::string name = FreshNames(taken).take(stem, "");
    taken.insert(name);
    if (name == one.name) continue;
    for (ClassText& other : classes) rename_uses(other.body, one.name, name);
    rename_uses(top, one.name, name);
    one.name = name;
  }
}

// Drops what stands at its default in every use, and wraps the lines of __init__ that are too long.
std::string finished(const std::string& body) {
  const std::size_t rest = std::min(body.find("\n    def ", 1), body.size());
  std::string made;
  for (std::size_t from = 0; from < rest;) {
    const std::size_t to = std::min(body.find('\n', from), rest);
    std::string line = body.substr(from, to - from);
    from = to + 1;
    if (line.find(" = nn.Conv") != std::string::npos)
      for (const std::string_view usual : {", stride=1", ", padding=0"})
        if (const auto at = line.find(usual); at != std::string::npos && at + usual.size() < line.size())
          if (const char next = line[at + usual.size()]; next == ',' || next == ')') line.erase(at, usual.size());
    const bool whole =
        line.starts_with("        self.") && std::ranges::count(line, '(') == std::ranges::count(line, ')');
    if (whole && line.find(sequence) == std::string::npos && line.find("  # ") == std::string::npos)
      made += statement(8, line.substr(8));
    else made += line + "\n";
  }
  if (rest > 0 && body[rest - 1] != '\n') made.pop_back();
  return made + body.substr(rest);
}

// What counts channels is called after its place in the whole class: what comes in, what goes out, what lies between.
std::optional<std::string> name_of_width(const std::vector<std::size_t>& widths, std::size_t parameter,
                                         const std::set<std::string>& words) {
  if (std::ranges::find(widths, parameter) == widths.end()) return std::nullopt;
  const bool features = std::ranges::all_of(words, [](const std::string& w) { return w.ends_with("features"); });
  const std::string word = features ? "features" : "channels";
  const bool first = widths.front() == parameter, last = widths.back() == parameter;
  const std::set<std::size_t> all(widths.begin(), widths.end());
  if (first && last) return word;
  if (all.size() == 1) return std::nullopt;
  return (first ? "in_" : last ? "out_" : "hidden_") + word;
}

struct Merged {
  ClassText made;
  std::vector<std::string> signature;
  std::vector<std::string> calls;  // of each class, in their order
};

// One class for all of `same`, whose texts are alike but for their numbers.
Merged merged(const std::vector<const ClassText*>& same, const Signatures& known) {
  std::vector<python::Numbered> all;
  for (const ClassText* one : same) all.push_back(constructor_of(one->body).text);
  const std::string rest = constructor_of(same[0]->body).rest;
  const python::Variation varying = python::variation(all);
  Merged made;
  made.calls.resize(same.size());
  // A parameter is named after all places where it stands.
  std::vector<std::set<std::string>> spoken(varying.parameters.size());
  std::vector<std::size_t> widths;  // parameters that count channels, in the order of their places
  std::string before = all[0].words[0];
  for (std::size_t i = 0; i < varying.places.size(); ++i) {
    if (const auto parameter = varying.places[i]) {
      const std::string name = name_of_number(before, known);
      spoken[*parameter].insert(name);
      if (name.ends_with("channels") || name.ends_with("features")) widths.push_back(*parameter);
    }
    before += all[0].numbers[i] + all[0].words[i + 1];
  }
  FreshNames names({"self", "nn", "torch", "F", "x"});
  std::string body = all[0].words[0];
  for (std::size_t i = 0; i < varying.places.size(); ++i) {
    const auto parameter = varying.places[i];
    if (parameter && *parameter == made.signature.size()) {  // met for the first time
      made.signature.push_back(
          names.take(name_of_width(widths, *parameter, spoken[*parameter]).value_or(name_of_number(body, known))));
      for (std::size_t k = 0; k < same.size(); ++k)
        made.calls[k] += (made.calls[k].empty() ? "" : ", ") + varying.parameters[*parameter][k];
    }
    body += parameter ? made.signature[*parameter] : all[0].numbers[i];
    body += all[0].words[i + 1];
  }
  std::string parameter_text = "self";
  for (std::size_t i = 0; i < made.signature.size(); ++i)
    parameter_text += ", " + made.signature[i] + ": " + type_of(varying.parameters[i]);
  made.made.name = same[0]->name;
  made.made.body =
      statement(4, "def __init__(" + parameter_text + ") -> None:") + "        super().__init__()\n" + body + rest;
  for (std::string& call : made.calls) call = made.made.name + "(" + call + ")";
  return made;
}

}  // namespace

std::pair<std::string, std::vector<std::string>> kind_of_class(const std::string& body) {
  const Constructor parts = constructor_of(body);
  return {parts.text.skeleton() + parts.rest, parts.text.numbers};
}

double lines_of_class(const std::string& body) {
  const Constructor parts = constructor_of(body);
  std::string made;
  for (const std::string& word : parts.text.words) made += word;
  const auto forward = static_cast<double>(std::ranges::count(parts.rest, '\n')) - 2;
  return static_cast<double>(std::ranges::count(made, '\n')) + std::max(forward, 1.0) / 2;
}

std::vector<ClassText> shared(std::vector<ClassText> classes, std::string& top) {
  // How deep a class stands over those that it uses: inner ones are settled before outer ones are compared.
  std::map<std::string, std::size_t> depth;
  std::size_t deepest = 0;
  for (const ClassText& one : classes) {
    std::size_t own = 0;
    for (const ClassText& other : classes)
      if (&other != &one && depth.contains(other.name) && uses(one.body, other.name))
        own = std::max(own, depth[other.name] + 1);
    depth[one.name] = own;
    deepest = std::max(deepest, own);
  }
  Signatures known;
  for (std::size_t level = 0; level <= deepest; ++level) {
    std::map<std::string, std::vector<std::size_t>> alike;
    for (std::size_t i = 0; i < classes.size(); ++i) {
      if (depth[classes[i].name] != level || !classes[i].body.starts_with(opening)) continue;
      const Constructor parts = constructor_of(classes[i].body);
      alike[parts.text.skeleton() + parts.rest].push_back(i);
    }
    std::set<std::size_t> gone;
    for (const auto& [text, group] : alike) {
      if (group.size() < 2) continue;
      std::vector<const ClassText*> same;
      for (const std::size_t i : group) same.push_back(&classes[i]);
      const Merged one = merged(same, known);
      std::vector<std::string> names;
      for (const ClassText* each : same) names.push_back(each->name);
      known[one.made.name] = one.signature;
      for (std::size_t k = 0; k < group.size(); ++k) {
        for (ClassText& other : classes) replace_calls(other.body, names[k], one.calls[k]);
        replace_calls(top, names[k], one.calls[k]);
        if (k > 0) gone.insert(group[k]);
      }
      classes[group[0]] = one.made;
    }
    std::vector<ClassText> left;
    for (std::size_t i = 0; i < classes.size(); ++i)
      if (!gone.contains(i)) left.push_back(std::move(classes[i]));
    classes = std::move(left);
  }
  number_anew(classes, top);
  for (ClassText& one : classes) one.body = with_sequences(finished(one.body));
  top = with_sequences(top);
  return classes;
}

std::string sequence_line(const std::string& attribute, const std::vector<std::string>& blocks) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < blocks.size();) {
    std::size_t end = i;
    while (end < blocks.size() && blocks[end] == blocks[i]) ++end;
    if (end - i >= fewest_counted)
      parts.push_back("*(" + blocks[i] + " for _ in range(" + std::to_string(end - i) + "))");
    else
      for (std::size_t k = i; k < end; ++k) parts.push_back(blocks[k]);
    i = end;
  }
  return statement(8, "self." + attribute + std::string(sequence) + python::joined(parts) + ")");
}

std::string with_sequences(const std::string& body) {
  std::string made;
  for (std::size_t from = 0; from < body.size();) {
    const std::size_t to = std::min(body.find('\n', from), body.size());
    const std::string line = body.substr(from, to - from);
    from = to + 1;
    const std::size_t at = line.find(sequence);
    if (!line.starts_with("        self.") || at == std::string::npos || !line.ends_with(")")) {
      made += line + (to < body.size() ? "\n" : "");
      continue;
    }
    std::vector<std::string> blocks(1);
    int open = 0;
    for (std::size_t i = at + sequence.size(); i + 1 < line.size(); ++i) {
      const char c = line[i];
      if (c == '(') ++open;
      if (c == ')') --open;
      if (c == ',' && open == 0) {
        blocks.emplace_back();
        ++i;  // the blank behind it
      } else {
        blocks.back() += c;
      }
    }
    made += sequence_line(line.substr(13, at - 13), blocks);
  }
  return made;
}

}  // namespace convoy::torch
