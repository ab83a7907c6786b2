// Holds an answer against the wanted one, and says the first difference in words that can be redone by hand.
#pragma once
#include "golden/answer.h"

#include <map>

namespace convoy::golden {

enum class Verdict : std::uint8_t { Passed, Refused, Failed };

struct Judgement {
  Verdict verdict = Verdict::Passed;
  std::string reason;
};

// Nothing where they agree: bit for bit (zeros of either sign are one number), or within 2e-5 of the largest value.
std::optional<std::string> difference(const Tensor& got, const Tensor& want, bool exact);

// The same for positions of maxima. Where the maximum is minus infinity, the window read no cell, and its position says
// nothing.
std::optional<std::string> index_difference(const Tensor& got, const Tensor& want, const Tensor& maxima);

Judgement judge(const Case& c, const Result<Answer>& answer);

// Both channels-first or both in the second one's order. Layouts without the same letters cannot be compared.
Result<Tensor> in_layout(const Array& array, const std::string& layout);

// The relations between cases (`equals`, `differs`), on our answers.
Judgement judge_relations(const Case& c, const std::map<std::string, Array>& ours);

}  // namespace convoy::golden
