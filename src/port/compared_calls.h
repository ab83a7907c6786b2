// Two calls as they stand in programs, held against each other: by their windows where both have some, or else by numbers, each
// as a model of one layer.
#pragma once
#include "diagnose/calls.h"
#include "diagnose/diagnose.h"

#include <optional>
#include <string>
#include <vector>

namespace convoy {

struct CallsByNumbers {
  diagnose::Diagnosis found;
  Shape input_a, input_b;  // each as its own framework has the axes
  std::string text_a, text_b, format_a, format_b;
};

struct ComparedCalls {
  std::optional<diagnose::CallsComparison> by_windows;
  std::optional<CallsByNumbers> by_numbers;  // otherwise
  bool same() const;
  std::vector<std::string> sentences() const;  // where they part
};

// `shape`: of a's input, which is then tried alone, by numbers. Without it the first of an image, a sequence, a vector and a
// volume that both calls take, with the channels and sizes of the questions. Weights are drawn, and b's are a's.
// Fails: of calls with windows, as diagnose/calls.h does; of others (Usage), a call that reads several values by name; else as
// a program with the call does.
Result<ComparedCalls> compare_calls(const explain::Question& a, const explain::Question& b,
                                    const std::optional<Shape>& shape = {});

}  // namespace convoy
