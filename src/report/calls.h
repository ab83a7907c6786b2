// What `convoy diff 'LAYER A' 'LAYER B'` prints: where two calls read other cells, and what to write instead.
#pragma once
#include "containers/json.h"
#include "diagnose/calls.h"

#include <string>

namespace convoy {

std::string calls_text(const diagnose::CallsComparison& comparison);
// Schema 1.
Json calls_json(const diagnose::CallsComparison& comparison);

}  // namespace convoy
