// What `convoy diff 'LAYER A' 'LAYER B'` prints: where two calls read other cells, and what to write instead.
#pragma once
#include "containers/json.h"
#include "port/compared_calls.h"

#include <string>

namespace convoy {

std::string calls_text(const ComparedCalls& compared);
// Schema 1.
Json calls_json(const ComparedCalls& compared);

}  // namespace convoy
