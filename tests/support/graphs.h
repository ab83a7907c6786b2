// Graphs from their text, for tests; a text that is none fails the test and gives an empty graph.
#pragma once
#include "graph/graph.h"
#include "graph/text.h"

#include <gtest/gtest.h>
#include <string_view>
#include <utility>

namespace convoy {

inline Graph graph_of(std::string_view text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.has_value()) << text << (graph ? "" : message(graph.error()));
  return graph ? *std::move(graph) : Graph{};
}

// A source as its target would be read: each value stands for the one of its name, except those named +..., which stand
// for nothing yet, and own/..., which are the target's own stepping stones.
inline Graph graph_with_origins(std::string_view text) {
  Graph graph = graph_of(text);
  for (Value& value : graph.values) {
    if (!value.origin && !value.name.starts_with("+")) value.origin = Origin{value.name, {}, {}};
    if (value.name.starts_with("own/")) value.origin.reset();
  }
  return graph;
}

}  // namespace convoy
