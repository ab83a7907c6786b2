// What `convoy weights A B` prints: which tensor of a stands where in b, and whether b computes the same with them.
#pragma once
#include "containers/json.h"
#include "port/copy_weights.h"

#include <string>

namespace convoy {

// Both models matched, nothing copied: the last column compares b's own numbers with a's.
std::string matched_text(const MatchedModels& models, const std::string& file_a, const std::string& file_b);
Json matched_json(const MatchedModels& models);
bool all_equal(const MatchedModels& models);

std::string copied_text(const CopiedWeights& copied, const std::string& file_a, const std::string& file_b);
// Schema 1.
Json copied_json(const CopiedWeights& copied);
// Why the copy does not hold: one sentence. Empty: it does.
std::string reason_of(const CopiedWeights& copied);

}  // namespace convoy
