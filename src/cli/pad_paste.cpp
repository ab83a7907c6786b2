// convoy pad - < post.txt: every call in text that was pasted whole, prose and code, in its order.
#include "cli/output.h"
#include "cli/pad.h"
#include "containers/python/expression.h"
#include "explain/paste.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <iostream>

namespace convoy::cli {

namespace {

// Of one call: what is said of it, or else what it leaves open.
struct Answered {
  std::string text;
  Json json = Json::array();
  std::optional<Error> asks;
};

// A question mark in the place of a number is the question itself.
bool asks_for_a_number(const std::string& call) {
  char quote = 0;
  for (const char c : call) {
    if (quote == 0 && c == '?') return true;
    if (c == '\'' || c == '"') quote = quote == 0 ? c : quote == c ? '\0' : quote;
  }
  return false;
}

Answered answered(const PadOptions& words) {
  Answered answer;
  if (asks_for_a_number(words.layer)) {
    answer.asks =
        Error{Fault::Usage,
              "'?' stands where a number is asked for; convoy pad --solve --like 'LAYER' says which numbers do "
              "as LAYER does, and convoy diff 'LAYER' 'CALL' whether a try does",
              {}};
    return answer;
  }
  if (const auto list = pad_list_of(words)) {
    if (!*list) answer.asks = list->error();
    else answer.text = explain::text_of(**list), answer.json.push_back(explain::json_of(**list));
    return answer;
  }
  const auto all = explanations_of(words);
  if (!all) answer.asks = all.error();
  else
    for (const auto& layer : *all) {
      answer.text += (answer.text.empty() ? "" : "\n") + explain::text_of(layer);
      answer.json.push_back(explain::json_of(layer));
    }
  return answer;
}

}  // namespace

bool is_paste(const std::string& text) {
  const auto whole = python::parse_expression(text);
  if (text.find('\n') == std::string::npos) {
    if (whole) return false;
    const auto paste = explain::calls_in(text);
    return paste && !paste->calls.empty() && !text.starts_with(paste->calls.front().text.substr(0, 4));
  }
  if (!whole || whole->kind != python::Kind::Call) return true;
  const python::Expression& callee = whole->base.front();
  return callee.kind == python::Kind::Name && !explain::is_asked_about(callee.text);
}

Result<std::string> text_on_standard_input() {
  constexpr std::size_t most = (1 << 20) + 1;
  std::string text(most, '\0');
  std::cin.read(text.data(), static_cast<std::streamsize>(most));
  text.resize(static_cast<std::size_t>(std::cin.gcount()));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  if (text.empty()) return fail(Fault::Usage, "'-' is standard input, and there is nothing on it");
  return text;
}

int pad_paste(PadOptions words) {
  const auto paste = explain::calls_in(words.layer);
  if (!paste) return report(paste.error());
  Json calls = Json::array();
  std::optional<Error> first;
  bool is_any_answered = false;
  const std::string asked_kernel = words.kernel;
  for (const explain::PastedCall& call : paste->calls) {
    words.layer = call.text;
    words.kernel = call.kernel.empty() ? asked_kernel : fmt::format("{}", fmt::join(call.kernel, "x"));
    const Answered answer = answered(words);
    is_any_answered = is_any_answered || !answer.asks;
    if (answer.asks && !first)
      first = Error{answer.asks->fault, answer.asks->what, "line " + std::to_string(call.line)};
    if (words.json) {
      Json one{{"line", call.line}, {"text", call.text}};
      if (answer.asks) one["asks"] = message(*answer.asks);
      else one["layers"] = answer.json;
      calls.push_back(std::move(one));
    } else {
      print("{}line {}: {}\n\n{}", &call == &paste->calls.front() ? "" : "\n", call.line, call.text,
            answer.asks ? "  " + message(*answer.asks) + "\n" : answer.text);
    }
  }
  constexpr std::size_t most_said = 8;
  for (std::size_t i = 0; !words.json && i < std::min(paste->cut_off.size(), most_said); ++i)
    print("{}{} ...  is cut off; give it whole\n", i == 0 && !paste->calls.empty() ? "\n" : "", paste->cut_off[i]);
  if (words.json) print_json({{"schema", 1}, {"calls", std::move(calls)}, {"cut_off", paste->cut_off}});
  if (is_any_answered) return Done;
  return report(first.value_or(Error{Fault::Usage, "no call in the text is whole", {}}));
}

}  // namespace convoy::cli
