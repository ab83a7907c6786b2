// Two layers as they stand in programs, without weights: whether they read the same cells in the same way, at which sizes,
// and where they part. What `convoy diff 'LAYER A' 'LAYER B'` answers.
#pragma once
#include "explain/explanation.h"

#include <string>
#include <vector>

namespace convoy::diagnose {

// One spatial axis.
struct CallAxis {
  std::string name;  // "rows"
  std::string a, b;  // cells in front and behind, or cut: "1, 1"; "even n: 0, 1; odd n: 1, 1"
  std::string holds;  // the sizes at which both read the same: "odd sizes"
  bool is_same = true;  // at the size asked about, or at every one
};

struct CallFinding {
  std::string cause;  // an identifier of cause.h; "unknown": the two do different things
  std::string says;
};

struct CallsComparison {
  explain::Explanation a, b;
  std::vector<CallAxis> axes;
  std::vector<CallFinding> findings;
  std::vector<explain::Line> b_like_a, a_like_b;  // in b's framework what does as a does, and the other way round
  std::string kernel;  // how its axes move from a to b, where they lie in another order
  std::vector<std::string> notes;
  bool same() const { return findings.empty(); }
};

// Where one call leaves its kernel or its channels open, they are the other's. Fails as explain::read_question(); Usage:
// the calls are for inputs of another number of axes.
Result<CallsComparison> compare_calls(const explain::Question& a, const explain::Question& b);

// Whether a call's name is one that compare_calls() knows, with windows or without.
bool is_known_call(const std::string& text);

}  // namespace convoy::diagnose
