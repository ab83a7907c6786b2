#include "explain/paste.h"

#include "containers/python/expression.h"
#include "explain/pad_list.h"
#include "explain/vocabularies.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>
#include <utility>

namespace convoy::explain {
namespace {

constexpr std::size_t most_text = 1 << 20, longest_call = 4000, most_depth = 64, most_calls = 500;

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool in_name(char c) { return begins_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }

// What web pages make of quotes and blanks, as a keyboard has them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 17> typed{{{"\xE2\x80\x98", "'"},
                                                                               {"\xE2\x80\x99", "'"},
                                                                               {"\xE2\x80\x9C", "\""},
                                                                               {"\xE2\x80\x9D", "\""},
                                                                               {"\xC2\xA0", " "},
                                                                               {"\xE2\x80\x8B", ""},
                                                                               {"\xE2\x80\x89", " "},
                                                                               {"\xE2\x80\xAF", " "},
                                                                               {"\xE3\x80\x80", " "},
                                                                               {"&nbsp;", " "},
                                                                               {"&quot;", "\""},
                                                                               {"&#34;", "\""},
                                                                               {"&#39;", "'"},
                                                                               {"&#x27;", "'"},
                                                                               {"&lt;", "<"},
                                                                               {"&gt;", ">"},
                                                                               {"&amp;", "&"}}};

// As it was typed, without a console's prompts: every line keeps its number.
std::string as_typed(std::string_view text) {
  const bool has_prompts = text.find(">>> ") != std::string_view::npos;
  bool is_front = true;  // of a line
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    if (has_prompts && is_front && (rest.starts_with(">>> ") || rest.starts_with("... "))) {
      i += 4;
      continue;
    }
    const bool may_be = text[i] == '&' || text[i] == '\xE2' || text[i] == '\xC2' || text[i] == '\xE3';
    const auto found = !may_be
                           ? typed.end()
                           : std::ranges::find_if(typed, [&](const auto& one) { return rest.starts_with(one.first); });
    if (found == typed.end()) {
      is_front = text[i] == '\n' || (is_front && (text[i] == ' ' || text[i] == '\t'));
      plain += text[i] == '\0' ? ' ' : text[i];
      ++i;
    } else {
      plain += found->second;
      i += found->first.size();
    }
  }
  return plain;
}

std::size_t behind_name(std::string_view text, std::size_t at = 0) {
  while (at < text.size() && in_name(text[at])) ++at;
  return at;
}

// Which names stand for which values where a call is, line by line down to it: a name is what the nearest line above made of
// it in the same block or one around it. What is a parameter, runs in a loop or is computed has no value here.
class Values {
 public:
  explicit Values(const std::string& text) : text_(text) {}

  // The lines before the one that `at` lies in, and the block that this one belongs to.
  void advance(std::size_t at) {
    while (true) {
      const std::size_t end = text_.find('\n', next_);
      const bool is_last = end == std::string::npos || end >= at;
      const std::string_view line = std::string_view(text_).substr(next_, is_last ? std::string::npos : end - next_);
      const std::size_t indent = line.find_first_not_of(" \t\r");
      if (indent != std::string_view::npos && line[indent] != '\n') {
        std::erase_if(known_, [&](const Known& one) { return one.indent > indent; });
        if (!is_last) read(line, indent);
      }
      if (is_last) return;
      next_ = end + 1;
    }
  }

  std::optional<std::string> of(std::string_view name) const {
    for (std::size_t i = known_.size(); i-- > 0;)
      if (known_[i].name == name) return known_[i].value;
    return std::nullopt;
  }

 private:
  struct Known {
    std::string name;
    std::size_t indent;
    std::optional<std::string> value;
  };

  void forget_all(std::string_view names, std::size_t indent) {
    for (std::size_t i = 0; i < names.size();) {
      const std::size_t end = behind_name(names, i);
      if (end > i) known_.push_back({std::string(names.substr(i, end - i)), indent, {}});
      i = std::max(end, i + 1);
    }
  }

  void read(std::string_view whole, std::size_t indent) {
    std::string_view line = whole.substr(indent);
    const bool goes_on = std::exchange(goes_on_, is_unfinished(line));
    if (line.starts_with("def ") || line.starts_with("lambda ")) {
      const std::size_t from = next_ + indent, end = std::min(text_.find(')', from), from + longest_call);
      forget_all(std::string_view(text_).substr(from, end - from), indent + 1);
      return;
    }
    if (line.starts_with("for ")) return forget_all(line.substr(4, line.find(" in ") - 4), indent);
    const std::size_t equals = line.find('=');
    if (goes_on || line.size() > 300 || equals == std::string_view::npos || equals == 0) return;
    const std::string_view names = line.substr(0, equals);
    if (names.find('(') != std::string_view::npos) return;  // a keyword
    const std::size_t end = behind_name(names);
    const bool is_one = end > 0 && names.find_first_not_of(' ', end) == std::string_view::npos;
    if (!is_one || line.substr(equals).starts_with("==")) return forget_all(names, indent);
    known_.push_back({std::string(names.substr(0, end)), indent, value_of(line.substr(equals + 1))});
  }

  static bool is_unfinished(std::string_view line) {
    line = line.substr(0, line.find('#'));
    const std::size_t last = line.find_last_not_of(" \t\r");
    return last != std::string_view::npos && std::string_view(",([{\\").find(line[last]) != std::string_view::npos;
  }

  // Numbers, words and lists of them, as they stand.
  static std::optional<std::string> value_of(std::string_view text) {
    text = text.substr(0, text.find('#'));
    if (is_unfinished(text)) return std::nullopt;
    const auto value = python::parse_expression(text);
    if (!value || !is_plain(*value)) return std::nullopt;
    return python::source_of(*value, text);
  }
  static bool is_plain(const python::Expression& value) {
    using enum python::Kind;
    if (value.kind == Tuple || value.kind == List) return std::ranges::all_of(value.items, is_plain);
    return value.kind == Integer || value.kind == Real || value.kind == String || value.kind == Truth;
  }

  const std::string& text_;
  std::size_t next_ = 0;  // line to be read
  bool goes_on_ = false;  // the line before ends within brackets
  std::vector<Known> known_;
};

// Where a string that begins here ends: behind its quote, or with its line.
std::size_t behind_string(const std::string& text, std::size_t at) {
  const char quote = text[at++];
  for (; at < text.size() && text[at] != '\n'; ++at) {
    if (text[at] == '\\') ++at;
    else if (text[at] == quote) return at + 1;
  }
  return std::min(at, text.size());
}

// Behind the bracket that closes the one here. Nothing: the text ends before, or goes on with an empty line or with another
// statement, so that the call was cut off.
std::optional<std::size_t> behind_brackets(const std::string& text, std::size_t open) {
  constexpr std::array<std::string_view, 7> statements{"def ", "class ", "return", "import ", "from ", "for ", "if "};
  std::string closing;
  for (std::size_t i = open; i < text.size() && i < open + longest_call;) {
    const char c = text[i];
    if (c == '\'' || c == '"') {
      i = behind_string(text, i);
      continue;
    }
    if (c == '#') i = std::min(text.find('\n', i), text.size());
    if (i >= text.size()) break;
    if (text[i] == '\n') {
      const std::size_t next = text.find_first_not_of(" \t\r", i + 1);
      if (next == std::string::npos) return std::nullopt;
      if (text[next] == '\n') {  // what goes on behind an empty line stands further in, or closes
        const std::size_t after = text.find_first_not_of("\r\n", next);
        if (after == std::string::npos || (text[after] != ' ' && text[after] != '\t' && text[after] != ')'))
          return std::nullopt;
      }
      const std::string_view rest = std::string_view(text).substr(next);
      if (std::ranges::any_of(statements, [&](std::string_view word) { return rest.starts_with(word); }))
        return std::nullopt;
    } else if (c == '(' || c == '[' || c == '{') {
      if (closing.size() == most_depth) return std::nullopt;
      closing += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == ')' || c == ']' || c == '}') {
      if (closing.empty() || closing.back() != c) return std::nullopt;
      closing.pop_back();
      if (closing.empty()) return i + 1;
    }
    ++i;
  }
  return std::nullopt;
}

// The call with known values in the place of their names; keywords and parts of longer names stay.
std::string with_values(std::string_view call, const Values& values) {
  std::string settled;
  const std::string text(call);
  const std::size_t open = text.find('(');
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '\'' || text[i] == '"') {
      const std::size_t end = behind_string(text, i);
      settled += text.substr(i, end - i);
      i = end;
    } else if (begins_name(text[i]) && (i == 0 || !in_name(text[i - 1]))) {
      std::size_t end = i;
      while (end < text.size() && in_name(text[end])) ++end;
      const std::string word = text.substr(i, end - i);
      const std::size_t next = text.find_first_not_of(" \t\n", end);
      const char behind = next == std::string::npos ? ' ' : text[next];
      const bool is_keyword = behind == '=' && text[std::min(next + 1, text.size() - 1)] != '=';
      const bool is_part = (i > 0 && text[i - 1] == '.') || behind == '.' || behind == '(';
      const bool may_stand = i > open && !is_keyword && !is_part;
      settled += may_stand ? values.of(word).value_or(word) : word;
      i = end;
    } else {
      settled += text[i++];
    }
  }
  return settled;
}

// A signature says what may stand there, not what does.
bool is_signature(std::string_view call) {
  return call.find("...") != std::string_view::npos || call.find("\xE2\x80\xA6") != std::string_view::npos;
}

bool follows(const std::string& text, std::size_t at, std::string_view word) {
  return at >= word.size() && text.compare(at - word.size(), word.size(), word) == 0;
}

}  // namespace

bool is_asked_about(std::string_view name) {
  static const auto words = [] {
    constexpr std::array keywords{"padding", "pads", "auto_pad", "kernel_size", "pool_size"};
    std::set<std::string, std::less<>> all{"make_node"};
    for (const Named& one : all_names())
      if (std::ranges::any_of(keywords, [&](const char* word) { return takes(one, word); }))
        all.insert(one.function.substr(one.function.rfind('.') + 1));
    return all;
  }();
  return is_pad_list(name) || words.contains(name.substr(name.rfind('.') + 1));
}

Result<Paste> calls_in(std::string_view pasted) {
  if (pasted.size() > most_text)
    return fail(Fault::Limit, "the text has " + std::to_string(pasted.size()) + " bytes; paste 1 MiB at most");
  const std::string text = as_typed(pasted);
  Values values(text);
  Paste paste;
  Size line = 1;
  std::size_t counted = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (!begins_name(text[i]) || (i > 0 && in_name(text[i - 1]))) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() &&
           (in_name(text[end]) || (text[end] == '.' && end + 1 < text.size() && begins_name(text[end + 1]))))
      ++end;
    const std::string_view name = std::string_view(text).substr(i, end - i);
    const bool is_called = end < text.size() && text[end] == '(';
    if (!is_called || !is_asked_about(name) || follows(text, i, "def ") || follows(text, i, "class ")) {
      i = end;
      continue;
    }
    line += std::count(text.begin() + static_cast<std::ptrdiff_t>(counted),
                       text.begin() + static_cast<std::ptrdiff_t>(i), '\n');
    counted = i;
    const auto behind = behind_brackets(text, end);
    if (!behind) {
      paste.cut_off.push_back("line " + std::to_string(line) + ": " + std::string(name) + "(");
      i = end + 1;
      continue;
    }
    const std::string_view call = std::string_view(text).substr(i, *behind - i);
    if (is_signature(call) || call.size() == name.size() + 2) {
      i = end + 1;
      continue;
    }
    if (paste.calls.size() == most_calls)
      return fail(Fault::Limit, "the text holds over " + std::to_string(most_calls) + " calls; paste a part of it");
    values.advance(i);
    paste.calls.push_back({with_values(call, values), line});
    i = *behind;
  }
  if (paste.calls.empty() && paste.cut_off.empty())
    return fail(Fault::Usage, "no call of a layer or a function with windows is in the text");
  return paste;
}

}  // namespace convoy::explain
