// The module re on short texts: names of layers and settings that programs take apart.
#include "containers/python/modules.h"
#include "containers/python/unread.h"

#include <optional>
#include <regex>

namespace convoy::python {
namespace {

using Made = Result<Value>;

constexpr std::size_t longest_pattern = 60, longest_text = 100;

// The kind of matcher whose work is bounded by pattern times text; counted repeats would make the pattern itself long.
Result<std::regex> pattern_of(const std::string& text) {
  if (text.size() > longest_pattern || text.find('{') != std::string::npos || text.find("(?") != std::string::npos)
    return fail(Fault::Unsupported, "the pattern '" + text.substr(0, longest_pattern) +
                                        "' is not read: it is longer than 60, or holds counts or '(?'");
  try {
    return std::regex(text, std::regex::ECMAScript | std::regex_constants::__polynomial);
  } catch (const std::regex_error&) { return fail(Fault::Format, "the pattern '" + text + "' is none"); }
}

// Pattern and text among the arguments, the pattern first.
struct Asked {
  std::regex pattern;
  std::string text;
};
Result<Asked> asked(Interpreter& in, const Value& pattern, const Value& text) {
  const auto *said = pattern.as<Text>(), *over = text.as<Text>();
  if (!said || !over) return fail(Fault::Unsupported, "a pattern or a text that is not known");
  if (over->text.size() > longest_text) return fail(Fault::Limit, "a pattern over a text longer than 100");
  const auto work = static_cast<Size>(1 + said->text.size() * said->text.size() * over->text.size() / 16);
  if (auto paid = in.step(work); !paid) return pass(paid);
  auto made = pattern_of(said->text);
  if (!made) return pass(made);
  return Asked{std::move(*made), over->text};
}

Value part_of(Interpreter& in, const std::ssub_match& part) { return part.matched ? in.text(part.str()) : Value(); }

Value match_object(Interpreter& in, const std::smatch& found) {
  ValueList parts;
  for (const auto& part : found) parts.push_back(part_of(in, part));
  auto* made = in.make<Module>("match");
  made->attributes.set("group", in.native("group", [parts](Interpreter& with, Arguments& a) -> Made {
    const Value at = a.placed.empty() ? Value::of(std::int64_t{0}) : a.placed[0];
    if (a.placed.size() > 1 || !at.is_whole() || at.whole() < 0 || at.whole() >= std::ssize(parts))
      return fail(Fault::Format, "group() of a group that is not there: " + repr(with, at));
    return parts[static_cast<std::size_t>(at.whole())];
  }));
  made->attributes.set("groups", in.native("groups", [parts](Interpreter& with, Arguments&) -> Made {
    return with.tuple(ValueList(parts.begin() + 1, parts.end()));
  }));
  return Value::of(made);
}

enum class Where : std::uint8_t { Front, Anywhere, Whole };

Made matched(Interpreter& in, const Value& pattern, const Value& text, Where where) {
  const auto given = asked(in, pattern, text);
  if (!given) return std::unexpected(given.error());
  std::smatch found;
  const auto flags =
      where == Where::Front ? std::regex_constants::match_continuous : std::regex_constants::match_default;
  const bool is = where == Where::Whole ? std::regex_match(given->text, found, given->pattern)
                                        : std::regex_search(given->text, found, given->pattern, flags);
  return is ? match_object(in, found) : Value();
}

// What stands between the matches, and the groups of each match where it has some.
Made split(Interpreter& in, const Value& pattern, const Value& text) {
  const auto given = asked(in, pattern, text);
  if (!given) return std::unexpected(given.error());
  ValueList parts;
  auto rest = given->text.cbegin();
  for (std::sregex_iterator at(given->text.begin(), given->text.end(), given->pattern), end; at != end; ++at) {
    if (at->length() == 0) return fail(Fault::Unsupported, "split() by a pattern that matches nothing");
    parts.push_back(in.text(std::string(rest, (*at)[0].first)));
    for (std::size_t i = 1; i < at->size(); ++i) parts.push_back(part_of(in, (*at)[i]));
    rest = (*at)[0].second;
  }
  parts.push_back(in.text(std::string(rest, given->text.cend())));
  return in.list(std::move(parts));
}

Made find_all(Interpreter& in, const Value& pattern, const Value& text) {
  const auto given = asked(in, pattern, text);
  if (!given) return std::unexpected(given.error());
  ValueList all;
  for (std::sregex_iterator at(given->text.begin(), given->text.end(), given->pattern), end; at != end; ++at) {
    ValueList groups;
    for (std::size_t i = at->size() > 1 ? 1 : 0; i < at->size(); ++i) groups.push_back(in.text((*at)[i].str()));
    all.push_back(groups.size() == 1 ? groups[0] : in.tuple(std::move(groups)));
  }
  return in.list(std::move(all));
}

Made replaced(Interpreter& in, const Value& pattern, const Value& with, const Value& text) {
  const auto given = asked(in, pattern, text);
  if (!given) return std::unexpected(given.error());
  const auto* words = with.as<Text>();
  if (!words || words->text.find_first_of("\\$") != std::string::npos)
    return fail(Fault::Unsupported, "sub() by other than a plain text");
  return in.text(std::regex_replace(given->text, given->pattern, words->text));
}

using Taker = Made (*)(Interpreter&, const ValueList&);
struct Named {
  const char* name;
  std::size_t takes;  // the pattern among them
  Taker run;
};
constexpr Named functions[] = {
    {"match", 2, [](Interpreter& in, const ValueList& a) { return matched(in, a[0], a[1], Where::Front); }},
    {"search", 2, [](Interpreter& in, const ValueList& a) { return matched(in, a[0], a[1], Where::Anywhere); }},
    {"fullmatch", 2, [](Interpreter& in, const ValueList& a) { return matched(in, a[0], a[1], Where::Whole); }},
    {"split", 2, [](Interpreter& in, const ValueList& a) { return split(in, a[0], a[1]); }},
    {"findall", 2, [](Interpreter& in, const ValueList& a) { return find_all(in, a[0], a[1]); }},
    {"sub", 3, [](Interpreter& in, const ValueList& a) { return replaced(in, a[0], a[1], a[2]); }},
};

Made taken(Interpreter& in, const Named& function, ValueList placed, const Arguments& given) {
  placed.insert(placed.end(), given.placed.begin(), given.placed.end());
  if (placed.size() != function.takes || !given.named.empty())
    return fail(Fault::Unsupported, std::string("re.") + function.name + "() with other than " +
                                        std::to_string(function.takes) + " arguments by place");
  return function.run(in, placed);
}

// re.compile(pattern): the functions without their pattern.
Made compiled(Interpreter& in, Arguments& a) {
  if (a.placed.size() != 1 || !a.placed[0].as<Text>())
    return Value::of(in.make<Outside>("re.compile()"));  // with flags
  auto* made = in.make<Module>("pattern");
  made->attributes.set("pattern", a.placed[0]);
  for (const Named& function : functions)
    made->attributes.set(function.name, in.native(function.name, [&function, pattern = a.placed[0]](Interpreter& with,
                                                                                                    Arguments& given) {
      return taken(with, function, {pattern}, given);
    }));
  return Value::of(made);
}

}  // namespace

Module* regex_module(Interpreter& in) {
  auto* m = in.make<Module>("re");
  for (const Named& function : functions)
    m->attributes.set(function.name, in.native(function.name, [&function](Interpreter& with, Arguments& given) {
      return taken(with, function, {}, given);
    }));
  m->attributes.set("compile", in.native("compile", compiled));
  m->more = [](Interpreter& with, const std::string& word) -> Result<std::optional<Value>> {
    return Value::of(with.make<Outside>("re." + word));
  };
  return m;
}

}  // namespace convoy::python
