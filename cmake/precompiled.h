// What nearly every batch of sources includes, for compilers that read it once (batches.cmake). No source relies on it:
// `make alone` compiles each without.
#pragma once
#include "graph/graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>
