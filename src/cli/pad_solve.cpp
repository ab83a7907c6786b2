// convoy pad --solve: which padding gives this size?
#include "cli/output.h"
#include "cli/pad.h"
#include "explain/solve.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace convoy::cli {

Result<std::vector<std::optional<Size>>> numbers_of_option(const std::string& words, const std::string& option) {
  std::vector<std::optional<Size>> numbers;
  for (const auto& word : split(words, 'x')) {
    Size n = 0;
    const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), n);
    if (word == "?") numbers.push_back(std::nullopt);
    else if (fault == std::errc::result_out_of_range)
      return fail(Fault::Usage, fmt::format("{}: {} is more than any size can be", option, word));
    else if (fault != std::errc{} || end != word.data() + word.size())
      return fail(Fault::Usage,
                  fmt::format("{}: '{}' is not a number for each axis; write 3, or 3x5 for two axes", option, words));
    else numbers.push_back(n);
  }
  return numbers;
}

namespace {

struct Option {
  const char* name;
  const std::string* words;
  std::optional<Size> otherwise;
  bool may_be_free;
  std::vector<std::optional<Size>> numbers{};
};

Result<explain::SolveQuestion> solve_question_of(const PadOptions& words) {
  if (words.kernel.empty()) return fail(Fault::Usage, "--solve needs --kernel, such as --kernel 3 or --kernel 3x5");
  std::vector<Option> options{{"--kernel", &words.kernel, {}, false},
                              {"--stride", &words.stride, 1, false},
                              {"--dilation", &words.dilation, 1, false},
                              {"--in", &words.in, {}, true},
                              {"--out", &words.out, {}, true}};
  std::size_t axes = 1;
  const Option* widest = &options.front();
  for (Option& option : options) {
    if (option.words->empty()) {
      option.numbers = {option.otherwise};
      continue;
    }
    auto numbers = numbers_of_option(*option.words, option.name);
    if (!numbers) return pass(numbers);
    option.numbers = std::move(*numbers);
    if (!option.may_be_free && std::ranges::any_of(option.numbers, [](const auto& n) { return !n; }))
      return fail(Fault::Usage, fmt::format("{} is ?; only --in and --out may be left open", option.name));
    if (option.numbers.size() > axes) {
      axes = option.numbers.size();
      widest = &option;
    }
  }
  for (Option& option : options) {
    if (option.numbers.size() == 1) option.numbers.resize(axes, option.numbers.front());
    if (option.numbers.size() != axes)
      return fail(Fault::Usage, fmt::format("{} has {} numbers and {} has {}; write one, or one for each axis",
                                            option.name, option.numbers.size(), widest->name, axes));
  }
  explain::SolveQuestion question;
  for (std::size_t i = 0; i < axes; ++i)
    question.windows.push_back({*options[0].numbers[i], *options[1].numbers[i], *options[2].numbers[i]});
  question.in = options[3].numbers;
  question.out = options[4].numbers;
  question.transposed = words.transpose;
  return question;
}

}  // namespace

int pad_solve(const PadOptions& words) {
  const auto question = solve_question_of(words);
  if (!question) return report(question.error());
  const auto answer = explain::solve(*question);
  if (!answer) return report(answer.error());
  if (words.json) print_json(explain::json_of(*answer));
  else print("{}", explain::text_of(*answer));
  return Done;
}

}  // namespace convoy::cli
