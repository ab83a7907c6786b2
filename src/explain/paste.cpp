#include "explain/paste.h"

#include "containers/python/expression.h"
#include "explain/pad_list.h"
#include "explain/paste_values.h"
#include "explain/vocabularies.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

namespace convoy::explain {
namespace {

constexpr std::size_t most_text = 1 << 20, longest_call = 4000, most_depth = 64, most_calls = 500;

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
std::string with_values(std::string_view call, const PastedValues& values) {
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

// The size of the kernel that a function is called with, where the text says the shape of its weight: behind the channels in
// PyTorch, [out, in, k...], in front of them in TensorFlow and Keras, [k..., in, out].
Sizes kernel_of(std::string_view call, const PastedValues& values) {
  const auto whole = python::parse_expression(call);
  if (!whole || whole->kind != python::Kind::Call || whole->base[0].kind != python::Kind::Name) return {};
  const std::string& name = whole->base[0].text;
  const std::string last = name.substr(name.rfind('.') + 1);
  if (!last.starts_with("conv") && !last.starts_with("depthwise")) return {};
  const python::Expression* weight = nullptr;
  std::size_t place = 0;
  for (const auto& argument : whole->arguments) {
    if (argument.keyword.empty() && ++place == 2) weight = &argument.value;
    for (const char* word : {"weight", "filters", "filter", "kernel"})
      if (argument.keyword == word) weight = &argument.value;
  }
  const auto shape = weight ? values.shape_of(*weight) : std::nullopt;
  const auto named = shape ? resolve(name, whole->arguments) : Result<Named>(fail(Fault::Usage, ""));
  if (!named || shape->size() < 3) return {};
  return named->framework == Framework::Torch ? Sizes(shape->begin() + 2, shape->end())
                                              : Sizes(shape->begin(), shape->end() - 2);
}

// A signature says what may stand there, not what does.
bool is_signature(std::string_view call) {
  return call.find("...") != std::string_view::npos || call.find("\xE2\x80\xA6") != std::string_view::npos;
}

// Whether a name and a bracket that stand apart are a call all the same: `nn.Conv2d (3, 8, 3)`, not "conv2d (see above)".
bool is_code(const std::string& text, std::size_t begin, std::size_t end, std::size_t open) {
  const auto behind = behind_brackets(text, open);
  if (!behind) return false;
  const std::string call = text.substr(begin, end - begin) + text.substr(open, *behind - open);
  const auto whole = python::parse_expression(call);
  if (!whole || whole->kind != python::Kind::Call) return false;
  return std::ranges::any_of(whole->arguments, [](const python::Argument& argument) {
    using enum python::Kind;
    const auto kind = argument.value.kind;
    return !argument.keyword.empty() || kind == Integer || kind == Tuple || kind == List;
  });
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
  PastedValues values(text);
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
    const std::size_t open = text.find_first_not_of(' ', end);
    const bool is_called =
        open != std::string::npos && text[open] == '(' && (open == end || is_code(text, i, end, open));
    if (!is_called || !is_asked_about(name) || follows(text, i, "def ") || follows(text, i, "class ")) {
      i = end;
      continue;
    }
    line += std::count(text.begin() + static_cast<std::ptrdiff_t>(counted),
                       text.begin() + static_cast<std::ptrdiff_t>(i), '\n');
    counted = i;
    const auto behind = behind_brackets(text, open);
    if (!behind) {
      paste.cut_off.push_back("line " + std::to_string(line) + ": " + std::string(name) + "(");
      i = end + 1;
      continue;
    }
    const std::string_view call = std::string_view(text).substr(i, *behind - i);
    if (is_signature(call) || *behind == open + 2) {
      i = end + 1;
      continue;
    }
    if (paste.calls.size() == most_calls)
      return fail(Fault::Limit, "the text holds over " + std::to_string(most_calls) + " calls; paste a part of it");
    values.advance(i);
    paste.calls.push_back({with_values(call, values), line, kernel_of(call, values)});
    i = *behind;
  }
  if (paste.calls.empty() && paste.cut_off.empty())
    return fail(Fault::Usage, "no call of a layer or a function with windows is in the text");
  return paste;
}

}  // namespace convoy::explain
