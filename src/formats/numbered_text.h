// Text of programs that is alike but for its numbers: where they stand, and which of them vary together. What source is
// written in blocks for: one class or function takes the numbers.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::python {

// words[0] numbers[0] words[1] ... words.back()
struct Numbered {
  std::vector<std::string> words, numbers;
  std::string skeleton() const;  // the words alone: equal for texts that are alike
};

// Whole numbers that stand by themselves, not in a name, 0.5 or 1e-05. Digits in quotes are words; behind `counted`
// ("name=") every row of digits in quotes is a number. `takes_reals`: so are 0.5 and 1e-05, (1, 7) is one number
// like 3, and so are the arguments "same" and "valid".
Numbered numbered(std::string_view text, std::string_view counted = {}, bool takes_reals = false);

// Of texts that are alike: numbers that vary alike are one parameter.
struct Variation {
  std::vector<std::vector<std::string>> parameters;  // their values, text by text, in the order in which they are met
  std::vector<std::optional<std::size_t>> places;  // of each number: its parameter; nothing where it never varies
};
Variation variation(const std::vector<Numbered>& texts);

// What the number behind this text is an argument of: `keyword` where it is named, else its place in a call of `function`.
struct ArgumentPlace {
  std::string keyword, function;
  std::size_t place = 0;
};
ArgumentPlace argument_behind(std::string_view before);

}  // namespace convoy::python
